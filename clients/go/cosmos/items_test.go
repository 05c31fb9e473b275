package cosmos

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"lapsedb/clients/check"
	"lapsedb/clients/lapsedb"
)

func TestItemsAreCreatedReadReplacedUpsertedAndDeleted(t *testing.T) {
	t.Parallel()
	_, container := withContainer(t, azcosmos.ContainerProperties{})
	key := azcosmos.NewPartitionKeyString("a")

	created := check.Must(container.CreateItem(t.Context(), key, body(t, item{"id": "1", "pk": "a", "n": 1}), nil))(t)
	check.Equal(t, created.RawResponse.StatusCode, http.StatusCreated)
	stored := parsed(t, created.Value)
	check.Equal(t, string(created.ETag), stored["_etag"].(string))
	for _, property := range []string{"_rid", "_self", "_ts"} {
		check.True(t, stored[property] != nil, "no %s in %v", property, stored)
	}
	check.True(t, created.RequestCharge > 0 && created.ActivityID != "" && *created.SessionToken != "", "%v", created)
	_, err := container.CreateItem(t.Context(), key, body(t, item{"id": "1", "pk": "a"}), nil)
	refused(t, err, http.StatusConflict)
	check.Equal(t, read(t, container, "a", "1"), stored)

	replaced := check.Must(container.ReplaceItem(t.Context(), key, "1", body(t, item{"id": "1", "pk": "a", "n": 2}), nil))(t)
	check.True(t, replaced.ETag != created.ETag, "the etag stays %s", replaced.ETag)
	check.Equal(t, read(t, container, "a", "1")["n"], any(2.0))
	_, err = container.ReplaceItem(t.Context(), key, "2", body(t, item{"id": "2", "pk": "a"}), nil)
	refused(t, err, http.StatusNotFound)

	for _, status := range []int{http.StatusCreated, http.StatusOK} {
		upserted := check.Must(container.UpsertItem(t.Context(), key, body(t, item{"id": "2", "pk": "a"}), nil))(t)
		check.Equal(t, upserted.RawResponse.StatusCode, status)
	}

	check.Must(container.DeleteItem(t.Context(), key, "1", nil))(t)
	_, err = container.ReadItem(t.Context(), key, "1", nil)
	refused(t, err, http.StatusNotFound)
	_, err = container.DeleteItem(t.Context(), key, "1", nil)
	refused(t, err, http.StatusNotFound)
}

func TestAWriteWithAnOldEtagIsRefused(t *testing.T) {
	t.Parallel()
	_, container := withContainer(t, azcosmos.ContainerProperties{})
	key := azcosmos.NewPartitionKeyString("a")
	old := azcore.ETag(create(t, container, item{"id": "1", "pk": "a"})["_etag"].(string))
	onlyOld := &azcosmos.ItemOptions{IfMatchEtag: &old}
	check.Must(container.ReplaceItem(t.Context(), key, "1", body(t, item{"id": "1", "pk": "a", "n": 1}), onlyOld))(t)

	var one azcosmos.PatchOperations
	one.AppendSet("/n", 2)
	_, err := container.ReplaceItem(t.Context(), key, "1", body(t, item{"id": "1", "pk": "a"}), onlyOld)
	refused(t, err, http.StatusPreconditionFailed)
	_, err = container.UpsertItem(t.Context(), key, body(t, item{"id": "1", "pk": "a"}), onlyOld)
	refused(t, err, http.StatusPreconditionFailed)
	_, err = container.PatchItem(t.Context(), key, "1", one, onlyOld)
	refused(t, err, http.StatusPreconditionFailed)
	_, err = container.DeleteItem(t.Context(), key, "1", onlyOld)
	refused(t, err, http.StatusPreconditionFailed)
	check.Equal(t, read(t, container, "a", "1")["n"], any(1.0))
}

func TestAWriteAnswersTheItemOnlyIfTheClientWantsIt(t *testing.T) {
	t.Parallel()
	server, container := withContainer(t, azcosmos.ContainerProperties{})
	credential := check.Must(azcosmos.NewKeyCredential(lapsedb.Key))(t)
	options := clientOptions(transport(t, server))
	options.EnableContentResponseOnWrite = false
	client := check.Must(azcosmos.NewClientWithKey(server.URL("https"), credential, options))(t)
	defer client.Close()
	quiet := check.Must(client.NewContainer("d", container.ID()))(t)
	key := azcosmos.NewPartitionKeyString("a")

	created := check.Must(quiet.CreateItem(t.Context(), key, body(t, item{"id": "1", "pk": "a"}), nil))(t)
	check.Equal(t, len(created.Value), 0)
	wanted := &azcosmos.ItemOptions{EnableContentResponseOnWrite: true}
	replaced := check.Must(quiet.ReplaceItem(t.Context(), key, "1", body(t, item{"id": "1", "pk": "a"}), wanted))(t)
	check.Equal(t, parsed(t, replaced.Value)["id"], any("1"))
}

func TestPartitionKeysOfEveryType(t *testing.T) {
	t.Parallel()
	_, container := withContainer(t, azcosmos.ContainerProperties{})
	cases := []struct {
		key   azcosmos.PartitionKey
		value any
	}{
		{azcosmos.NewPartitionKeyString("text"), "text"},
		{azcosmos.NewPartitionKeyString(""), ""},
		{azcosmos.NewPartitionKeyString("ключ 鍵"), "ключ 鍵"},
		{azcosmos.NewPartitionKeyNumber(1.5), 1.5},
		{azcosmos.NewPartitionKeyBool(true), true},
		{azcosmos.NewPartitionKeyBool(false), false},
		{azcosmos.NullPartitionKey, nil},
	}
	for n, each := range cases {
		check.Must(container.CreateItem(t.Context(), each.key, body(t, item{"id": "same", "pk": each.value, "n": n}), nil))(t)
	}
	for n, each := range cases {
		found := parsed(t, check.Must(container.ReadItem(t.Context(), each.key, "same", nil))(t).Value)
		check.Equal(t, found["n"], any(float64(n)))
		check.Equal(t, rows(t, container, "SELECT VALUE c.n FROM c", each.key, nil), []any{float64(n)})
		many := check.Must(container.ReadManyItems(t.Context(), []azcosmos.ItemIdentity{{ID: "same", PartitionKey: each.key}}, nil))(t)
		check.Equal(t, len(many.Items), 1)
	}
	_, err := container.CreateItem(t.Context(), azcosmos.NewPartitionKeyString("a"), body(t, item{"id": "1", "pk": "b"}), nil)
	refused(t, err, http.StatusBadRequest)
}

func TestHierarchicalPartitionKeys(t *testing.T) {
	t.Parallel()
	server, _ := withContainer(t, azcosmos.ContainerProperties{})
	database := check.Must(connect(t, server, "https").NewDatabase("d"))(t)
	container := createContainer(t, database, azcosmos.ContainerProperties{
		ID: "tree",
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{
			Kind: azcosmos.PartitionKeyKindMultiHash, Paths: []string{"/tenant", "/user", "/session"}, Version: 2,
		},
	})
	key := func(levels ...string) azcosmos.PartitionKey {
		key := azcosmos.NewPartitionKey()
		for _, level := range levels {
			key = key.AppendString(level)
		}
		return key
	}
	for _, path := range []string{"a b c", "a b d", "a e c", "f b c"} {
		levels := strings.Fields(path)
		it := item{"id": "1", "tenant": levels[0], "user": levels[1], "session": levels[2], "path": path}
		check.Must(container.CreateItem(t.Context(), key(levels...), body(t, it), nil))(t)
	}
	found := parsed(t, check.Must(container.ReadItem(t.Context(), key("a", "b", "d"), "1", nil))(t).Value)
	check.Equal(t, found["path"], any("a b d"))
	query := "SELECT VALUE c.path FROM c ORDER BY c.path"
	check.Equal(t, rows(t, container, query, key("a", "b", "d"), nil), []any{"a b d"})
	check.Equal(t, rows(t, container, query, everywhere(), nil), []any{"a b c", "a b d", "a e c", "f b c"})
	byPrefix := "SELECT VALUE c.path FROM c WHERE c.tenant = 'a' AND c.user = 'b' ORDER BY c.path"
	check.Equal(t, rows(t, container, byPrefix, everywhere(), nil), []any{"a b c", "a b d"})

	identities := []azcosmos.ItemIdentity{{ID: "1", PartitionKey: key("a", "e", "c")}, {ID: "1", PartitionKey: key("f", "b", "c")}}
	many := check.Must(container.ReadManyItems(t.Context(), identities, nil))(t)
	check.Equal(t, len(many.Items), 2)
	_, err := container.CreateItem(t.Context(), key("a", "b"), body(t, item{"id": "2", "tenant": "a", "user": "b", "session": "c"}), nil)
	refused(t, err, http.StatusBadRequest)
}

func TestPatchesChangePartsOfAnItem(t *testing.T) {
	t.Parallel()
	_, container := withContainer(t, azcosmos.ContainerProperties{})
	key := azcosmos.NewPartitionKeyString("a")
	create(t, container, item{"id": "1", "pk": "a", "n": 1, "list": []int{1, 3}, "old": "x", "inner": item{"v": 1}})

	var changes azcosmos.PatchOperations
	changes.AppendAdd("/list/1", 2)
	changes.AppendSet("/inner/w", "new")
	changes.AppendReplace("/inner/v", 2)
	changes.AppendRemove("/old")
	changes.AppendIncrement("/n", 41)
	patched := parsed(t, check.Must(container.PatchItem(t.Context(), key, "1", changes, nil))(t).Value)
	check.Equal(t, patched["list"], any([]any{1.0, 2.0, 3.0}))
	check.Equal(t, patched["inner"], any(map[string]any{"v": 2.0, "w": "new"}))
	check.Equal(t, patched["n"], any(42.0))
	_, there := patched["old"]
	check.True(t, !there, "the removed property is still there: %v", patched)
	check.Equal(t, read(t, container, "a", "1"), patched)

	var conditional azcosmos.PatchOperations
	conditional.AppendSet("/n", 0)
	conditional.SetCondition("FROM c WHERE c.n = 42")
	check.Must(container.PatchItem(t.Context(), key, "1", conditional, nil))(t)
	_, err := container.PatchItem(t.Context(), key, "1", conditional, nil)
	refused(t, err, http.StatusPreconditionFailed)

	var missing azcosmos.PatchOperations
	missing.AppendReplace("/nothing/here", 1)
	_, err = container.PatchItem(t.Context(), key, "1", missing, nil)
	refused(t, err, http.StatusBadRequest)
	_, err = container.PatchItem(t.Context(), key, "2", changes, nil)
	refused(t, err, http.StatusNotFound)
}

func TestManyItemsAreReadAtOnce(t *testing.T) {
	t.Parallel()
	_, container := withContainer(t, azcosmos.ContainerProperties{})
	var identities []azcosmos.ItemIdentity
	for n := range 30 {
		it := item{"id": string(rune('A' + n)), "pk": string(rune('a' + n%3)), "n": n}
		create(t, container, it)
		identities = append(identities, azcosmos.ItemIdentity{ID: it["id"].(string), PartitionKey: keyOf(it)})
	}
	identities = append(identities, azcosmos.ItemIdentity{ID: "none", PartitionKey: azcosmos.NewPartitionKeyString("a")})
	many := check.Must(container.ReadManyItems(t.Context(), identities, &azcosmos.ReadManyItemsOptions{MaxConcurrency: to.Ptr(int32(4))}))(t)
	seen := map[any]bool{}
	for _, text := range many.Items {
		seen[parsed(t, text)["n"]] = true
	}
	check.Equal(t, len(many.Items), 30)
	check.Equal(t, len(seen), 30)
	check.True(t, many.RequestCharge > 0, "reading costs nothing")
}

// The SDK asks for at most a thousand items with one query, and for items of one key otherwise than for items of many.
func TestThousandsOfItemsAreReadAtOnce(t *testing.T) {
	t.Parallel()
	_, container := withContainer(t, azcosmos.ContainerProperties{})
	const count, perBatch = 1200, 100
	var ofMany, ofOne []azcosmos.ItemIdentity
	for first := 0; first < count; first += perBatch {
		key := azcosmos.NewPartitionKeyString(fmt.Sprint(first))
		batch := container.NewTransactionalBatch(key)
		for n := first; n < first+perBatch; n++ {
			batch.CreateItem(body(t, item{"id": fmt.Sprint(n), "pk": fmt.Sprint(first)}), nil)
			ofMany = append(ofMany, azcosmos.ItemIdentity{ID: fmt.Sprint(n), PartitionKey: key})
			ofOne = append(ofOne, azcosmos.ItemIdentity{ID: fmt.Sprint(n), PartitionKey: azcosmos.NewPartitionKeyString("0")})
		}
		check.True(t, check.Must(container.ExecuteTransactionalBatch(t.Context(), batch, nil))(t).Success, "a batch has failed")
	}
	check.Equal(t, len(check.Must(container.ReadManyItems(t.Context(), ofMany, nil))(t).Items), count)
	check.Equal(t, len(check.Must(container.ReadManyItems(t.Context(), ofOne, nil))(t).Items), perBatch)
}

func TestSessionTokensAndConsistencyLevels(t *testing.T) {
	t.Parallel()
	server, container := withContainer(t, azcosmos.ContainerProperties{})
	key := azcosmos.NewPartitionKeyString("a")
	written := check.Must(container.CreateItem(t.Context(), key, body(t, item{"id": "1", "pk": "a"}), nil))(t)

	// What one client has written another one reads with its token.
	other := check.Must(connect(t, server, "https").NewContainer("d", container.ID()))(t)
	levels := []azcosmos.ConsistencyLevel{azcosmos.ConsistencyLevelSession, azcosmos.ConsistencyLevelConsistentPrefix, azcosmos.ConsistencyLevelEventual}
	for _, level := range levels {
		options := azcosmos.ItemOptions{SessionToken: written.SessionToken, ConsistencyLevel: level.ToPtr()}
		check.Must(other.ReadItem(t.Context(), key, "1", &options))(t)
		query := azcosmos.QueryOptions{SessionToken: written.SessionToken, ConsistencyLevel: level.ToPtr()}
		check.Equal(t, rows(t, other, "SELECT VALUE c.id FROM c", key, &query), []any{"1"})
	}
	strong := azcosmos.ItemOptions{ConsistencyLevel: azcosmos.ConsistencyLevelStrong.ToPtr()}
	_, err := other.ReadItem(t.Context(), key, "1", &strong)
	refused(t, err, http.StatusBadRequest)

	ahead := azcosmos.ItemOptions{SessionToken: to.Ptr("0:-1#999999999")}
	_, err = other.ReadItem(t.Context(), key, "1", &ahead)
	answer := refused(t, err, http.StatusNotFound)
	check.Equal(t, answer.RawResponse.Header.Get("x-ms-substatus"), "1002")
	_, err = other.ReadItem(t.Context(), key, "1", &azcosmos.ItemOptions{SessionToken: to.Ptr("nonsense")})
	refused(t, err, http.StatusBadRequest)
}

func TestIdsThatNeedEscapingInAddresses(t *testing.T) {
	t.Parallel()
	_, container := withContainer(t, azcosmos.ContainerProperties{})
	for _, id := range []string{"with space", " before", "after ", "%20", "a%2Fb", "q?x", "plus+minus", "ünïcode 鱀", "a=b,c:d;e@f"} {
		key := azcosmos.NewPartitionKeyString(id)
		check.Must(container.CreateItem(t.Context(), key, body(t, item{"id": id, "pk": id}), nil))(t)
		check.Equal(t, read(t, container, id, id)["id"], any(id))
		check.Must(container.ReplaceItem(t.Context(), key, id, body(t, item{"id": id, "pk": id}), nil))(t)
		check.Must(container.DeleteItem(t.Context(), key, id, nil))(t)
	}
}

func TestAnErrorCarriesStatusCodeAndDiagnostics(t *testing.T) {
	t.Parallel()
	_, container := withContainer(t, azcosmos.ContainerProperties{})
	_, err := container.ReadItem(t.Context(), azcosmos.NewPartitionKeyString("a"), "none", nil)
	answer := refused(t, err, http.StatusNotFound)
	check.True(t, strings.Contains(answer.Error(), `"code": "NotFound"`), "the code of the service is missing: %v", answer)
	check.True(t, answer.RawResponse.Header.Get("x-ms-activity-id") != "", "no activity id")
	diagnostics, there := azcosmos.DiagnosticsFromError(err)
	check.True(t, there && strings.Contains(diagnostics.String(), "404"), "no diagnostics: %v", diagnostics.String())

	_, err = container.CreateItem(t.Context(), azcosmos.NewPartitionKeyString("a"), []byte(`{"id":"1","pk":"a"`), nil)
	refused(t, err, http.StatusBadRequest)
	large := item{"id": "1", "pk": "a", "text": strings.Repeat("x", 3<<20)}
	_, err = container.CreateItem(t.Context(), azcosmos.NewPartitionKeyString("a"), body(t, large), nil)
	refused(t, err, http.StatusRequestEntityTooLarge)
}

func TestOptionsThatOnlyTheServiceHasAUseForAreAccepted(t *testing.T) {
	t.Parallel()
	server, container := withContainer(t, azcosmos.ContainerProperties{})
	key := azcosmos.NewPartitionKeyString("a")
	gateway := &azcosmos.DedicatedGatewayRequestOptions{MaxIntegratedCacheStaleness: to.Ptr(time.Minute), BypassIntegratedCache: true}
	options := clientOptions(transport(t, server))
	options.PreferredRegions = []string{"West Europe", "South Central US"}
	options.PriorityLevel = to.Ptr(azcosmos.PriorityLevelLow)
	options.ThroughputBucket = to.Ptr(int32(2))
	client := check.Must(azcosmos.NewClientWithKey(server.URL("https"), check.Must(azcosmos.NewKeyCredential(lapsedb.Key))(t), options))(t)
	defer client.Close()
	low := check.Must(client.NewContainer("d", container.ID()))(t)
	directive := &azcosmos.ItemOptions{IndexingDirective: azcosmos.IndexingDirectiveInclude.ToPtr()}
	check.Must(low.CreateItem(t.Context(), key, body(t, item{"id": "1", "pk": "a"}), directive))(t)
	check.Must(low.ReadItem(t.Context(), key, "1", &azcosmos.ItemOptions{DedicatedGatewayRequestOptions: gateway}))(t)
	query := azcosmos.QueryOptions{DedicatedGatewayRequestOptions: gateway, EnableScanInQuery: true, ResponseContinuationTokenLimitInKB: 2}
	check.Equal(t, rows(t, low, "SELECT VALUE c.id FROM c", key, &query), []any{"1"})
}
