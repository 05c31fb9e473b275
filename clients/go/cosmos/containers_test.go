package cosmos

import (
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"lapsedb/clients/check"
	"lapsedb/clients/lapsedb"
)

func TestContainersAreCreatedReadReplacedQueriedAndDeleted(t *testing.T) {
	t.Parallel()
	server, container := withContainer(t, azcosmos.ContainerProperties{})
	database := check.Must(connect(t, server, "https").NewDatabase("d"))(t)
	_, err := database.CreateContainer(t.Context(), azcosmos.ContainerProperties{
		ID: container.ID(), PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}},
	}, nil)
	refused(t, err, http.StatusConflict)

	answer := check.Must(container.Read(t.Context(), &azcosmos.ReadContainerOptions{PopulateQuotaInfo: true}))(t)
	read := answer.ContainerProperties
	check.Equal(t, read.PartitionKeyDefinition, azcosmos.PartitionKeyDefinition{
		Kind: azcosmos.PartitionKeyKindHash, Paths: []string{"/pk"}, Version: 2,
	})
	check.True(t, read.ResourceID != "" && read.SelfLink != "" && *read.ETag == answer.ETag, "%v", read)
	check.Equal(t, read.LastModified.Unix(), server.Advance("1ms").Unix())
	check.Equal(t, read.ConflictResolutionPolicy.Mode, azcosmos.ConflictResolutionModeLastWriteWins)
	check.True(t, strings.Contains(answer.RawResponse.Header.Get("x-ms-resource-usage"), "documentsCount=0"), "no usage")

	// What was read can be sent back.
	read.DefaultTimeToLive = to.Ptr(int32(60))
	replaced := check.Must(container.Replace(t.Context(), *read, nil))(t)
	check.Equal(t, *replaced.ContainerProperties.DefaultTimeToLive, 60)
	check.True(t, replaced.ETag != answer.ETag, "the etag stays %s", replaced.ETag)
	another := *read
	another.PartitionKeyDefinition.Paths = []string{"/other"}
	_, err = container.Replace(t.Context(), another, nil)
	refused(t, err, http.StatusBadRequest)

	createContainer(t, database, azcosmos.ContainerProperties{ID: "second"})
	check.Equal(t, containers(t, database, "SELECT * FROM root r", nil), []string{"items", "second"})
	byID := azcosmos.QueryContainersOptions{QueryParameters: []azcosmos.QueryParameter{{Name: "@id", Value: "second"}}}
	check.Equal(t, containers(t, database, "SELECT * FROM root r WHERE r.id = @id", &byID), []string{"second"})

	check.Must(container.Delete(t.Context(), nil))(t)
	_, err = container.Read(t.Context(), nil)
	refused(t, err, http.StatusNotFound)
	check.Equal(t, containers(t, database, "SELECT * FROM root r", nil), []string{"second"})
}

func TestAContainerKeepsItsPolicies(t *testing.T) {
	t.Parallel()
	_, container := withContainer(t, azcosmos.ContainerProperties{
		DefaultTimeToLive: to.Ptr(int32(-1)),
		IndexingPolicy: &azcosmos.IndexingPolicy{
			Automatic:     true,
			IndexingMode:  azcosmos.IndexingModeConsistent,
			IncludedPaths: []azcosmos.IncludedPath{{Path: "/*"}},
			ExcludedPaths: []azcosmos.ExcludedPath{{Path: "/large/*"}, {Path: "/vector/*"}, {Path: `/"_etag"/?`}},
			SpatialIndexes: []azcosmos.SpatialIndex{{Path: "/place/*", SpatialTypes: []azcosmos.SpatialType{
				azcosmos.SpatialTypePoint, azcosmos.SpatialTypeLineString, azcosmos.SpatialTypePolygon, azcosmos.SpatialTypeMultiPolygon,
			}}},
			CompositeIndexes: [][]azcosmos.CompositeIndex{{
				{Path: "/n", Order: azcosmos.CompositeIndexAscending}, {Path: "/m", Order: azcosmos.CompositeIndexDescending},
			}},
			VectorIndexes:   []azcosmos.VectorIndex{{Path: "/vector", Type: azcosmos.VectorIndexTypeFlat}},
			FullTextIndexes: []azcosmos.FullTextIndex{{Path: "/text"}},
		},
		UniqueKeyPolicy:          &azcosmos.UniqueKeyPolicy{UniqueKeys: []azcosmos.UniqueKey{{Paths: []string{"/email", "/kind"}}}},
		ConflictResolutionPolicy: &azcosmos.ConflictResolutionPolicy{Mode: azcosmos.ConflictResolutionModeLastWriteWins, ResolutionPath: "/rank"},
		VectorEmbeddingPolicy: &azcosmos.VectorEmbeddingPolicy{VectorEmbeddings: []azcosmos.VectorEmbedding{{
			Path: "/vector", DataType: azcosmos.VectorDataTypeFloat32, Dimensions: 2, DistanceFunction: azcosmos.VectorDistanceFunctionEuclidean,
		}}},
		FullTextPolicy: &azcosmos.FullTextPolicy{
			DefaultLanguage: "en-US", FullTextPaths: []azcosmos.FullTextPath{{Path: "/text", Language: "en-US"}},
		},
	})
	read := check.Must(container.Read(t.Context(), nil))(t).ContainerProperties
	check.Equal(t, *read.DefaultTimeToLive, -1)
	policy := read.IndexingPolicy
	check.True(t, strings.EqualFold(string(policy.IndexingMode), "consistent") && policy.Automatic, "%v", policy)
	check.Equal(t, policy.IncludedPaths, []azcosmos.IncludedPath{{Path: "/*"}})
	check.Equal(t, policy.ExcludedPaths, []azcosmos.ExcludedPath{{Path: "/large/*"}, {Path: "/vector/*"}, {Path: `/"_etag"/?`}})
	check.Equal(t, len(policy.SpatialIndexes[0].SpatialTypes), 4)
	check.Equal(t, policy.CompositeIndexes[0][1], azcosmos.CompositeIndex{Path: "/m", Order: azcosmos.CompositeIndexDescending})
	check.Equal(t, policy.VectorIndexes, []azcosmos.VectorIndex{{Path: "/vector", Type: azcosmos.VectorIndexTypeFlat}})
	check.Equal(t, policy.FullTextIndexes, []azcosmos.FullTextIndex{{Path: "/text"}})
	check.Equal(t, read.UniqueKeyPolicy.UniqueKeys, []azcosmos.UniqueKey{{Paths: []string{"/email", "/kind"}}})
	check.Equal(t, read.ConflictResolutionPolicy.ResolutionPath, "/rank")
	check.Equal(t, read.VectorEmbeddingPolicy.VectorEmbeddings[0].Dimensions, 2)
	check.Equal(t, read.FullTextPolicy.FullTextPaths, []azcosmos.FullTextPath{{Path: "/text", Language: "en-US"}})

	create(t, container, item{"id": "1", "pk": "a", "email": "x", "n": 1, "m": 1, "vector": []float64{0, 3}, "text": "red fox", "large": "y"})
	create(t, container, item{"id": "2", "pk": "a", "email": "y", "n": 1, "m": 2, "vector": []float64{4, 0}, "text": "grey wolf"})
	key := azcosmos.NewPartitionKeyString("a")
	for query, wanted := range map[string][]any{
		"SELECT VALUE c.id FROM c ORDER BY c.n, c.m DESC":                                {"2", "1"},
		"SELECT VALUE c.id FROM c ORDER BY VectorDistance(c.vector, [0, 0])":             {"1", "2"},
		"SELECT VALUE c.id FROM c WHERE FullTextContains(c.text, 'wolf')":                {"2"},
		"SELECT TOP 1 VALUE c.id FROM c ORDER BY RANK FullTextScore(c.text, 'fox')":      {"1"},
		"SELECT VALUE VectorDistance(c.vector, [0, 0]) FROM c WHERE c.id = '2'":          {4.0},
		"SELECT VALUE c.id FROM c WHERE c.large = 'y'":                                   {"1"},
		"SELECT VALUE ST_DISTANCE({'type':'Point','coordinates':[0,0]}, c.place) FROM c": {},
	} {
		check.Equal(t, rows(t, container, query, key, nil), wanted)
	}
	_, err := container.CreateItem(t.Context(), key, body(t, item{"id": "3", "pk": "a", "email": "x"}), nil)
	refused(t, err, http.StatusConflict)
}

func TestAWrongDefinitionOfAContainerIsRefused(t *testing.T) {
	t.Parallel()
	database := createDatabase(t, connect(t, lapsedb.Start(t, "--memory"), "https"), "d")
	path := azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}}
	for name, properties := range map[string]azcosmos.ContainerProperties{
		"no partition key":   {ID: "c"},
		"four levels":        {ID: "c", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/a", "/b", "/c", "/d"}, Version: 2}},
		"name with a slash":  {ID: "a/b", PartitionKeyDefinition: path},
		"path without slash": {ID: "c", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"pk"}}},
		"index of nothing":   {ID: "c", PartitionKeyDefinition: path, IndexingPolicy: &azcosmos.IndexingPolicy{IncludedPaths: []azcosmos.IncludedPath{{Path: "x"}}}},
		"vector without policy": {ID: "c", PartitionKeyDefinition: path, IndexingPolicy: &azcosmos.IndexingPolicy{
			VectorIndexes: []azcosmos.VectorIndex{{Path: "/v", Type: azcosmos.VectorIndexTypeFlat}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := database.CreateContainer(t.Context(), properties, nil)
			refused(t, err, http.StatusBadRequest)
		})
	}
}

func containers(t *testing.T, database *azcosmos.DatabaseClient, query string, options *azcosmos.QueryContainersOptions) []string {
	t.Helper()
	var ids []string
	for pager := database.NewQueryContainersPager(query, options); pager.More(); {
		for _, each := range check.Must(pager.NextPage(t.Context()))(t).Containers {
			ids = append(ids, each.ID)
		}
	}
	return ids
}
