// Package cosmos tests the NoSQL API with azcosmos, Microsoft's SDK for Go. The SDK has no users, permissions, resource tokens, stored
// procedures, conflicts, lists without a query, bulk requests, delete by partition key or change feed of all versions: they are
// tested with the other SDKs.
package cosmos

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"lapsedb/clients/check"
	"lapsedb/clients/lapsedb"
)

// item is an item as JSON has it: numbers are float64.
type item map[string]any

// clientOptions are those of all clients here: what is written comes back.
func clientOptions(transport *http.Client) *azcosmos.ClientOptions {
	return &azcosmos.ClientOptions{
		ClientOptions:                azcore.ClientOptions{Transport: transport},
		EnableContentResponseOnWrite: true,
	}
}

// transport trusts the server's own certificate and connects to this machine alone.
func transport(t testing.TB, server *lapsedb.Server) *http.Client {
	own := &http.Transport{TLSClientConfig: server.TLS(), DialContext: lapsedb.Dialer{T: t}.DialContext}
	t.Cleanup(own.CloseIdleConnections)
	return &http.Client{Transport: own}
}

// connect opens a client of the server, by "https" or "http".
func connect(t testing.TB, server *lapsedb.Server, scheme string) *azcosmos.Client {
	t.Helper()
	credential := check.Must(azcosmos.NewKeyCredential(lapsedb.Key))(t)
	client := check.Must(azcosmos.NewClientWithKey(server.URL(scheme), credential, clientOptions(transport(t, server))))(t)
	t.Cleanup(client.Close)
	return client
}

func createDatabase(t testing.TB, client *azcosmos.Client, id string) *azcosmos.DatabaseClient {
	t.Helper()
	check.Must(client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: id}, nil))(t)
	return check.Must(client.NewDatabase(id))(t)
}

// createContainer creates a container whose partition key is /pk, unless the properties say another.
func createContainer(t testing.TB, database *azcosmos.DatabaseClient, properties azcosmos.ContainerProperties) *azcosmos.ContainerClient {
	t.Helper()
	if properties.PartitionKeyDefinition.Paths == nil {
		properties.PartitionKeyDefinition = azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2}
	}
	check.Must(database.CreateContainer(t.Context(), properties, nil))(t)
	return check.Must(database.NewContainer(properties.ID))(t)
}

// withContainer is a server with a clock that stands at the start of a second, and a container of these properties.
func withContainer(t testing.TB, properties azcosmos.ContainerProperties) (*lapsedb.Server, *azcosmos.ContainerClient) {
	t.Helper()
	server := lapsedb.Start(t, "--memory", "--virtual-clock")
	server.Align()
	properties.ID = "items"
	return server, createContainer(t, createDatabase(t, connect(t, server, "https"), "d"), properties)
}

func body(t testing.TB, value any) []byte {
	t.Helper()
	return check.Must(json.Marshal(value))(t)
}

func parsed(t testing.TB, text []byte) item {
	t.Helper()
	var value item
	check.NoError(t, json.Unmarshal(text, &value))
	return value
}

func keyOf(of item) azcosmos.PartitionKey { return azcosmos.NewPartitionKeyString(of["pk"].(string)) }

func create(t testing.TB, container *azcosmos.ContainerClient, of item) item {
	t.Helper()
	return parsed(t, check.Must(container.CreateItem(t.Context(), keyOf(of), body(t, of), nil))(t).Value)
}

func read(t testing.TB, container *azcosmos.ContainerClient, key, id string) item {
	t.Helper()
	return parsed(t, check.Must(container.ReadItem(t.Context(), azcosmos.NewPartitionKeyString(key), id, nil))(t).Value)
}

// rows are the results of a query, each as JSON has it; over all partition keys unless one is given.
func rows(t testing.TB, container *azcosmos.ContainerClient, query string, key azcosmos.PartitionKey, options *azcosmos.QueryOptions) []any {
	t.Helper()
	found := []any{}
	for _, page := range pages(t, container, query, key, options) {
		found = append(found, page...)
	}
	return found
}

func pages(t testing.TB, container *azcosmos.ContainerClient, query string, key azcosmos.PartitionKey, options *azcosmos.QueryOptions) [][]any {
	t.Helper()
	var found [][]any
	for pager := container.NewQueryItemsPager(query, key, options); pager.More(); {
		found = append(found, values(t, check.Must(pager.NextPage(t.Context()))(t).Items))
	}
	return found
}

func values(t testing.TB, texts [][]byte) []any {
	t.Helper()
	found := []any{}
	for _, text := range texts {
		var value any
		check.NoError(t, json.Unmarshal(text, &value))
		found = append(found, value)
	}
	return found
}

// everywhere is the key of a query over all partition keys.
func everywhere() azcosmos.PartitionKey { return azcosmos.NewPartitionKey() }

// refused holds an error to the status that the service would answer. The SDK's error code is the status line.
func refused(t testing.TB, err error, status int) *azcore.ResponseError {
	t.Helper()
	var answer *azcore.ResponseError
	if !errors.As(err, &answer) {
		t.Fatalf("wanted an answer with status %d, and got: %v", status, err)
	}
	if answer.StatusCode != status || !strings.HasPrefix(answer.ErrorCode, fmt.Sprintf("%d ", status)) {
		t.Fatalf("wanted %d, and got %d %q: %v", status, answer.StatusCode, answer.ErrorCode, err)
	}
	return answer
}
