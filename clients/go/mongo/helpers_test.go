// Package mongo tests the MongoDB API with MongoDB's driver for Go.
package mongo

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"lapsedb/clients/check"
	"lapsedb/clients/lapsedb"
)

// clientOptions are those of all clients here: they connect to this machine alone, and ask nobody whether a certificate is revoked.
func clientOptions(t testing.TB, server *lapsedb.Server) *options.ClientOptions {
	return options.Client().ApplyURI(server.MongoURL()).SetDialer(lapsedb.Dialer{T: t}).SetDisableOCSPEndpointCheck(true)
}

func connect(t testing.TB, options *options.ClientOptions) *mongo.Client {
	t.Helper()
	client := check.Must(mongo.Connect(options))(t)
	t.Cleanup(func() { check.NoError(t, client.Disconnect(context.Background())) })
	return client
}

// withCollection is a server with a clock that stands at the start of a second, and a collection that does not exist yet.
func withCollection(t testing.TB) (*lapsedb.Server, *mongo.Collection) {
	t.Helper()
	server := lapsedb.Start(t, "--memory", "--virtual-clock")
	server.Align()
	return server, connect(t, clientOptions(t, server)).Database("d").Collection("things")
}

func insert(t testing.TB, collection *mongo.Collection, documents ...any) {
	t.Helper()
	check.Must(collection.InsertMany(t.Context(), documents))(t)
}

// all are the documents of a cursor.
func all(t testing.TB) func(*mongo.Cursor, error) []bson.M {
	return func(cursor *mongo.Cursor, err error) []bson.M {
		t.Helper()
		check.NoError(t, err)
		found := []bson.M{}
		check.NoError(t, cursor.All(t.Context(), &found))
		return found
	}
}

// each is one field of each document.
func each(documents []bson.M, field string) []any {
	found := []any{}
	for _, document := range documents {
		found = append(found, document[field])
	}
	return found
}

// sorted are the ids of what matches, in their order.
func sorted(t testing.TB, collection *mongo.Collection, filter any) []any {
	t.Helper()
	return each(all(t)(collection.Find(t.Context(), filter, options.Find().SetSort(bson.M{"_id": 1}))), "_id")
}

// expiresAfter is what the list of indexes says of the TTL of one, in seconds.
func expiresAfter(t testing.TB, collection *mongo.Collection, index string) int32 {
	t.Helper()
	for _, listed := range check.Must(collection.Indexes().ListSpecifications(t.Context()))(t) {
		if listed.Name == index && listed.ExpireAfterSeconds != nil {
			return *listed.ExpireAfterSeconds
		}
	}
	t.Fatalf("no TTL index %s is listed", index)
	return 0
}

// commands counts the commands of a client by their names: those it sent, and those that failed. It keeps the last of each name.
type commands struct {
	mutex        sync.Mutex
	sent, failed map[string]int
	newest       map[string]bson.Raw
}

func monitored(settings *options.ClientOptions) (*options.ClientOptions, *commands) {
	counted := &commands{sent: map[string]int{}, failed: map[string]int{}, newest: map[string]bson.Raw{}}
	return settings.SetMonitor(&event.CommandMonitor{
		Started: func(_ context.Context, started *event.CommandStartedEvent) {
			counted.mutex.Lock()
			defer counted.mutex.Unlock()
			counted.sent[started.CommandName]++
			counted.newest[started.CommandName] = slices.Clone(started.Command)
		},
		Failed: func(_ context.Context, failed *event.CommandFailedEvent) {
			counted.mutex.Lock()
			defer counted.mutex.Unlock()
			counted.failed[failed.CommandName]++
		},
	}), counted
}

// of says how often a command was sent and how often it failed.
func (c *commands) of(name string) [2]int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return [2]int{c.sent[name], c.failed[name]}
}

// last is the last command of a name that was sent.
func (c *commands) last(name string) bson.Raw {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.newest[name]
}

// failed holds an error to the code of the server.
func failed(t testing.TB, err error, code int) {
	t.Helper()
	var answer mongo.ServerError
	if !errors.As(err, &answer) || !answer.HasErrorCode(code) {
		t.Fatalf("wanted error %d, and got: %v", code, err)
	}
}
