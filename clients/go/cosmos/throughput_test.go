package cosmos

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"lapsedb/clients/check"
	"lapsedb/clients/lapsedb"
)

// withThroughput creates a container that has the throughput asked for.
func withThroughput(t *testing.T, database *azcosmos.DatabaseClient, id string, throughput azcosmos.ThroughputProperties) *azcosmos.ContainerClient {
	t.Helper()
	properties := azcosmos.ContainerProperties{ID: id, PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}}}
	check.Must(database.CreateContainer(t.Context(), properties, &azcosmos.CreateContainerOptions{ThroughputProperties: &throughput}))(t)
	return check.Must(database.NewContainer(id))(t)
}

func manual(t *testing.T, answer azcosmos.ThroughputResponse) int32 {
	t.Helper()
	units, there := answer.ThroughputProperties.ManualThroughput()
	check.True(t, there, "no manual throughput")
	return units
}

func autoscale(t *testing.T, answer azcosmos.ThroughputResponse) int32 {
	t.Helper()
	units, there := answer.ThroughputProperties.AutoscaleMaxThroughput()
	check.True(t, there, "no autoscale throughput")
	return units
}

// hasNone holds to the error that the SDK makes of an empty list of offers.
func hasNone(t *testing.T, of interface {
	ReadThroughput(context.Context, *azcosmos.ThroughputOptions) (azcosmos.ThroughputResponse, error)
}) {
	t.Helper()
	_, err := of.ReadThroughput(t.Context(), nil)
	var missing *azcore.ResponseError
	check.True(t, errors.As(err, &missing) && missing.StatusCode == http.StatusNotFound, "got %v", err)
}

func TestManualThroughputIsReadAndReplaced(t *testing.T) {
	t.Parallel()
	database := createDatabase(t, connect(t, lapsedb.Start(t, "--memory"), "https"), "d")
	container := withThroughput(t, database, "c", azcosmos.NewManualThroughputProperties(500))
	first := check.Must(container.ReadThroughput(t.Context(), nil))(t)
	check.Equal(t, manual(t, first), 500)
	check.True(t, !first.IsReplacePending && *first.MinThroughput == 400 && first.RequestCharge > 0, "%v", first)

	replaced := check.Must(container.ReplaceThroughput(t.Context(), azcosmos.NewManualThroughputProperties(600), nil))(t)
	check.Equal(t, manual(t, replaced), 600)
	check.Equal(t, manual(t, check.Must(container.ReadThroughput(t.Context(), nil))(t)), 600)
	for _, units := range []int32{100, 450, 2_000_000} {
		_, err := container.ReplaceThroughput(t.Context(), azcosmos.NewManualThroughputProperties(units), nil)
		refused(t, err, http.StatusBadRequest)
	}
	old := azcore.ETag(`"old"`)
	_, err := container.ReplaceThroughput(t.Context(), azcosmos.NewManualThroughputProperties(700), &azcosmos.ThroughputOptions{IfMatchEtag: &old})
	refused(t, err, http.StatusPreconditionFailed)
	check.Equal(t, manual(t, check.Must(container.ReadThroughput(t.Context(), nil))(t)), 600)
}

func TestAutoscaleThroughputIsReadAndReplaced(t *testing.T) {
	t.Parallel()
	database := createDatabase(t, connect(t, lapsedb.Start(t, "--memory"), "https"), "d")
	container := withThroughput(t, database, "c", azcosmos.NewAutoscaleThroughputProperties(4000))
	check.Equal(t, autoscale(t, check.Must(container.ReadThroughput(t.Context(), nil))(t)), 4000)
	check.Must(container.ReplaceThroughput(t.Context(), azcosmos.NewAutoscaleThroughputProperties(5000), nil))(t)
	check.Equal(t, autoscale(t, check.Must(container.ReadThroughput(t.Context(), nil))(t)), 5000)

	growing := withThroughput(t, database, "growing", azcosmos.NewAutoscaleThroughputPropertiesWithIncrement(4000, 10))
	read := check.Must(growing.ReadThroughput(t.Context(), nil))(t)
	increment, there := read.ThroughputProperties.AutoscaleIncrement()
	check.True(t, there && increment == 10, "the increment is %d", increment)
}

func TestContainersShareTheThroughputOfTheirDatabase(t *testing.T) {
	t.Parallel()
	client := connect(t, lapsedb.Start(t, "--memory"), "https")
	units := azcosmos.NewManualThroughputProperties(700)
	check.Must(client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: "shared"}, &azcosmos.CreateDatabaseOptions{ThroughputProperties: &units}))(t)
	database := check.Must(client.NewDatabase("shared"))(t)
	check.Equal(t, manual(t, check.Must(database.ReadThroughput(t.Context(), nil))(t)), 700)
	check.Equal(t, manual(t, check.Must(database.ReplaceThroughput(t.Context(), azcosmos.NewManualThroughputProperties(800), nil))(t)), 800)
	container := createContainer(t, database, azcosmos.ContainerProperties{ID: "c"})
	hasNone(t, container)
	own := withThroughput(t, database, "own", azcosmos.NewManualThroughputProperties(400))
	check.Equal(t, manual(t, check.Must(own.ReadThroughput(t.Context(), nil))(t)), 400)

	without := createDatabase(t, client, "without")
	hasNone(t, without)
	standard := createContainer(t, without, azcosmos.ContainerProperties{ID: "c"})
	check.Equal(t, manual(t, check.Must(standard.ReadThroughput(t.Context(), nil))(t)), 400)
}

func TestTooManyRequestsAreRefusedUntilTheClientWaits(t *testing.T) {
	t.Parallel()
	server := lapsedb.Start(t, "--memory")
	withThroughput(t, createDatabase(t, connect(t, server, "https"), "d"), "c", azcosmos.NewManualThroughputProperties(400))
	large := body(t, item{"id": "1", "pk": "a", "text": strings.Repeat("x", 500_000)}) // One costs more than a second has.
	key := azcosmos.NewPartitionKeyString("a")
	options := clientOptions(transport(t, server))
	options.Retry.MaxRetries = -1
	client := check.Must(azcosmos.NewClientWithKey(server.URL("https"), check.Must(azcosmos.NewKeyCredential(lapsedb.Key))(t), options))(t)
	defer client.Close()
	hasty := check.Must(client.NewContainer("d", "c"))(t)
	for attempts := 0; ; attempts++ {
		check.True(t, attempts < 20, "all requests are served")
		_, err := hasty.UpsertItem(t.Context(), key, large, nil)
		if err != nil {
			answer := refused(t, err, http.StatusTooManyRequests)
			check.Equal(t, answer.RawResponse.Header.Get("x-ms-substatus"), "3200")
			check.True(t, answer.RawResponse.Header.Get("x-ms-retry-after-ms") != "", "nothing says when to come back")
			break
		}
	}
	// The SDK waits by itself.
	patient := clientOptions(transport(t, server))
	patient.Retry.MaxRetries = 100
	waiting := check.Must(azcosmos.NewClientWithKey(server.URL("https"), check.Must(azcosmos.NewKeyCredential(lapsedb.Key))(t), patient))(t)
	defer waiting.Close()
	check.Must(check.Must(waiting.NewContainer("d", "c"))(t).UpsertItem(t.Context(), key, large, nil))(t)
}
