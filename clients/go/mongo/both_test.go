package mongo

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"go.mongodb.org/mongo-driver/v2/bson"

	"lapsedb/clients/check"
	"lapsedb/clients/lapsedb"
)

// container is the collection of these tests as the NoSQL API has it.
func container(t *testing.T, server *lapsedb.Server) *azcosmos.ContainerClient {
	t.Helper()
	own := &http.Transport{DialContext: lapsedb.Dialer{T: t}.DialContext}
	t.Cleanup(own.CloseIdleConnections)
	credential := check.Must(azcosmos.NewKeyCredential(lapsedb.Key))(t)
	options := &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: &http.Client{Transport: own}}}
	client := check.Must(azcosmos.NewClientWithKey(server.URL("http"), credential, options))(t)
	t.Cleanup(client.Close)
	return check.Must(client.NewContainer("d", "things"))(t)
}

func TestWhatTheDriverWritesIsReadWithTheNoSQLAPIUntilItExpires(t *testing.T) {
	t.Parallel()
	server, things := withCollection(t)
	expireAfter(t, things, "_ts", 10)
	insert(t, things, bson.M{"_id": "1", "n": 1}, bson.M{"_id": "2", "ttl": 20})
	items := container(t, server)
	properties := check.Must(items.Read(t.Context(), nil))(t).ContainerProperties
	check.Equal(t, *properties.DefaultTimeToLive, 10)

	ids := func() []string {
		t.Helper()
		found := []string{}
		for pager := items.NewQueryItemsPager("SELECT VALUE c.id FROM c ORDER BY c.id", azcosmos.NewPartitionKey(), nil); pager.More(); {
			for _, text := range check.Must(pager.NextPage(t.Context()))(t).Items {
				var id string
				check.NoError(t, json.Unmarshal(text, &id))
				found = append(found, id)
			}
		}
		return found
	}
	check.Equal(t, ids(), []string{"1", "2"})
	server.Advance("10s")
	check.Equal(t, ids(), []string{"2"})
	check.Equal(t, live(t, things), []any{"2"})

	// The setting is one: what azcosmos writes the driver lists.
	var seconds int32 = 15
	properties.DefaultTimeToLive = &seconds
	check.Must(items.Replace(t.Context(), *properties, nil))(t)
	check.Equal(t, expiresAfter(t, things, "_ts_1"), seconds)
	insert(t, things, bson.M{"_id": "3"})
	server.Advance("14999ms")
	check.Equal(t, ids(), []string{"3"})
	server.Advance("1ms")
	check.Equal(t, ids(), []string{})
	check.Equal(t, live(t, things), []any{})
}

func TestWhatAzcosmosWritesIsReadWithTheDriver(t *testing.T) {
	t.Parallel()
	server, things := withCollection(t)
	expireAfter(t, things, "_ts", 10)
	items := container(t, server)
	definition := check.Must(items.Read(t.Context(), nil))(t).ContainerProperties.PartitionKeyDefinition
	check.Equal(t, len(definition.Paths), 1)
	key := azcosmos.NewPartitionKeyString("1")
	stream := watch(t, things)
	check.Must(items.UpsertItem(context.Background(), key, []byte(`{"id": "1", "n": 1}`), nil))(t)
	check.Equal(t, next(t, stream)["operationType"], any("insert"))
	check.Equal(t, sorted(t, things, bson.M{"n": 1}), []any{"1"})
	check.Must(things.UpdateByID(t.Context(), "1", bson.M{"$inc": bson.M{"n": 1}}))(t)
	read := check.Must(items.ReadItem(t.Context(), key, "1", nil))(t)
	var found struct{ N int }
	check.NoError(t, json.Unmarshal(read.Value, &found))
	check.Equal(t, found.N, 2)
	server.Advance("10s")
	_, err := items.ReadItem(t.Context(), key, "1", nil)
	var answer *azcore.ResponseError
	check.True(t, errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound, "got %v", err)
}
