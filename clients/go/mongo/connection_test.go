package mongo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"lapsedb/clients/check"
	"lapsedb/clients/lapsedb"
)

func TestTheServerIsFoundAsAReplicaSet(t *testing.T) {
	t.Parallel()
	server := lapsedb.Start(t, "--memory")
	var mutex sync.Mutex
	var kinds []string
	monitor := &event.ServerMonitor{TopologyDescriptionChanged: func(changed *event.TopologyDescriptionChangedEvent) {
		mutex.Lock()
		defer mutex.Unlock()
		kinds = append(kinds, changed.NewDescription.Kind)
	}}
	client := connect(t, clientOptions(t, server).SetReplicaSet("lapsedb").SetServerMonitor(monitor))
	check.NoError(t, client.Ping(t.Context(), readpref.Primary()))
	mutex.Lock()
	check.True(t, slices.Contains(kinds, "ReplicaSetWithPrimary"), "%v", kinds)
	mutex.Unlock()

	var hello struct {
		SetName        string
		Hosts          []string
		Primary, Me    string
		MaxWireVersion int
	}
	check.NoError(t, client.Database("admin").RunCommand(t.Context(), bson.M{"hello": 1}).Decode(&hello))
	check.Equal(t, hello.SetName, "lapsedb")
	check.Equal(t, hello.Hosts, []string{hello.Primary})
	check.Equal(t, hello.Me, hello.Primary)
	check.True(t, strings.Contains(server.MongoURL(), hello.Me), "%s is not in %s", hello.Me, server.MongoURL())
	direct := connect(t, clientOptions(t, server).SetDirect(true))
	check.NoError(t, direct.Ping(t.Context(), nil))
}

func TestTLSWithTheServersCertificate(t *testing.T) {
	t.Parallel()
	server := lapsedb.Start(t, "--memory")
	client := connect(t, clientOptions(t, server).SetTLSConfig(server.TLS()))
	insert(t, client.Database("d").Collection("things"), bson.M{"_id": 1})
	check.Equal(t, sorted(t, client.Database("d").Collection("things"), bson.M{}), []any{int32(1)})

	// A client that trusts another certificate is not connected.
	refused := make(chan error, 1)
	monitor := &event.ServerMonitor{ServerHeartbeatFailed: func(failed *event.ServerHeartbeatFailedEvent) {
		select {
		case refused <- failed.Failure:
		default: // The first is enough.
		}
	}}
	other := connect(t, clientOptions(t, server).SetTLSConfig(lapsedb.Start(t, "--memory").TLS()).SetServerMonitor(monitor).
		SetServerSelectionTimeout(100*time.Millisecond))
	err := <-refused
	check.True(t, strings.Contains(err.Error(), "certificate signed by unknown authority"), "got %v", err)
	check.True(t, errors.As(other.Ping(t.Context(), nil), new(topology.ServerSelectionError)), "the client is connected")
}

func TestLoginsBySCRAM(t *testing.T) {
	t.Parallel()
	server := lapsedb.Start(t, "--memory", "--mongo-auth", "on")
	as := func(user, password, mechanism, source string) *mongo.Client {
		return connect(t, clientOptions(t, server).SetAuth(options.Credential{
			Username: user, Password: password, AuthMechanism: mechanism, AuthSource: source,
		}))
	}
	for _, mechanism := range []string{"", "SCRAM-SHA-256", "SCRAM-SHA-1"} {
		check.NoError(t, as("lapsedb", lapsedb.Key, mechanism, "admin").Ping(t.Context(), nil))
	}
	anonymous := connect(t, clientOptions(t, server))
	_, err := anonymous.Database("d").Collection("things").InsertOne(t.Context(), bson.M{})
	failed(t, err, 13)
	err = as("lapsedb", "wrong", "", "admin").Ping(t.Context(), nil)
	check.True(t, err != nil && strings.Contains(err.Error(), "AuthenticationFailed"), "got %v", err)

	admin := as("lapsedb", lapsedb.Key, "", "admin")
	check.NoError(t, admin.Database("d").RunCommand(t.Context(), bson.D{
		{Key: "createUser", Value: "reader"}, {Key: "pwd", Value: "secret"}, {Key: "roles", Value: bson.A{"read"}},
	}).Err())
	insert(t, admin.Database("d").Collection("things"), bson.M{"_id": 1})
	reader := as("reader", "secret", "SCRAM-SHA-256", "d")
	check.Equal(t, sorted(t, reader.Database("d").Collection("things"), bson.M{}), []any{int32(1)})
	_, err = reader.Database("d").Collection("things").InsertOne(t.Context(), bson.M{})
	failed(t, err, 13)
}

func TestMessagesMayBeCompressed(t *testing.T) {
	t.Parallel()
	server := lapsedb.Start(t, "--memory")
	for number, compressor := range []string{"snappy", "zlib", "zstd"} {
		dialer := compressing(lapsedb.Dialer{T: t})
		client := connect(t, clientOptions(t, server).SetDialer(dialer).SetCompressors([]string{compressor}))
		text := strings.Repeat("compress me ", 10_000)
		things := client.Database("d").Collection(compressor)
		insert(t, things, bson.M{"_id": text[:20], "text": text})
		var found bson.M
		check.NoError(t, things.FindOne(t.Context(), bson.M{}).Decode(&found))
		check.Equal(t, found["text"], any(text))
		dialer.only(byte(number + 1))
	}
}

func TestTheStableAPI(t *testing.T) {
	t.Parallel()
	server := lapsedb.Start(t, "--memory")
	strict := options.ServerAPI(options.ServerAPIVersion1).SetStrict(true).SetDeprecationErrors(true)
	client := connect(t, clientOptions(t, server).SetServerAPIOptions(strict))
	insert(t, client.Database("d").Collection("things"), bson.M{"_id": 1})
	check.Equal(t, sorted(t, client.Database("d").Collection("things"), bson.M{}), []any{int32(1)})
	failed(t, client.Database("d").RunCommand(t.Context(), bson.D{{Key: "distinct", Value: "things"}, {Key: "key", Value: "_id"}}).Err(), 323)
}

func TestTheDriversMonitorSeesCommandsAndTheirReplies(t *testing.T) {
	t.Parallel()
	server := lapsedb.Start(t, "--memory")
	var mutex sync.Mutex
	var seen []string
	note := func(text string) {
		mutex.Lock()
		defer mutex.Unlock()
		seen = append(seen, text)
	}
	client := connect(t, clientOptions(t, server).SetMonitor(&event.CommandMonitor{
		Started:   func(_ context.Context, started *event.CommandStartedEvent) { note("started " + started.CommandName) },
		Succeeded: func(_ context.Context, done *event.CommandSucceededEvent) { note("succeeded " + done.CommandName) },
		Failed:    func(_ context.Context, done *event.CommandFailedEvent) { note("failed " + done.CommandName) },
	}))
	things := client.Database("d").Collection("things")
	insert(t, things, bson.M{"_id": 1}, bson.M{"_id": 2}, bson.M{"_id": 3})
	all(t)(things.Find(t.Context(), bson.M{}, options.Find().SetBatchSize(2)))
	failed(t, client.Database("d").RunCommand(t.Context(), bson.M{"nothing": 1}).Err(), 59)
	check.Equal(t, seen, []string{
		"started insert", "succeeded insert", "started find", "succeeded find", "started getMore", "succeeded getMore", "started nothing", "failed nothing",
	})
}

func TestRetryableWritesAreDoneOnce(t *testing.T) {
	t.Parallel()
	server := lapsedb.Start(t, "--memory", "--enable-test-commands")
	settings, sent := monitored(clientOptions(t, server))
	client := connect(t, settings)
	things := client.Database("d").Collection("things")
	insert(t, things, bson.M{"_id": 1, "n": 0})
	failOnce := func(command string, data bson.M) {
		t.Helper()
		data["failCommands"] = bson.A{command}
		check.NoError(t, client.Database("admin").RunCommand(t.Context(), bson.D{
			{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: bson.M{"times": 1}}, {Key: "data", Value: data},
		}).Err())
	}
	failOnce("update", bson.M{"closeConnection": true})
	check.Equal(t, check.Must(things.UpdateByID(t.Context(), 1, bson.M{"$inc": bson.M{"n": 1}}))(t).ModifiedCount, 1)
	check.Equal(t, sent.of("update"), [2]int{2, 1})
	failOnce("update", bson.M{"writeConcernError": bson.M{"code": 262, "errmsg": "too slow", "errorLabels": bson.A{"RetryableWriteError"}}})
	check.Must(things.UpdateByID(t.Context(), 1, bson.M{"$inc": bson.M{"n": 1}}))(t)
	check.Equal(t, sent.of("update"), [2]int{4, 1})
	failOnce("find", bson.M{"closeConnection": true})
	check.Equal(t, sorted(t, things, bson.M{"n": 2}), []any{int32(1)})
	check.Equal(t, sent.of("find"), [2]int{2, 1})
}

// The command bulkWrite came with version 8; this server says that it is 7.
func TestABulkWriteOverSeveralCollectionsIsRefused(t *testing.T) {
	t.Parallel()
	server := lapsedb.Start(t, "--memory")
	_, err := connect(t, clientOptions(t, server)).BulkWrite(t.Context(), []mongo.ClientBulkWrite{
		{Database: "d", Collection: "things", Model: mongo.NewClientInsertOneModel().SetDocument(bson.M{"_id": 1})},
	})
	failed(t, err, 59)
}

func TestDocumentsOutliveARestart(t *testing.T) {
	t.Parallel()
	server := lapsedb.Start(t, "--virtual-clock")
	first := check.Must(mongo.Connect(clientOptions(t, server)))(t)
	things := first.Database("d").Collection("things")
	expireAfter(t, things, "_ts", 60)
	insert(t, things, bson.M{"_id": 1}, bson.M{"_id": 2, "ttl": -1})
	check.NoError(t, first.Disconnect(t.Context()))
	server.Stop()
	server.StartAgain()
	again := connect(t, clientOptions(t, server)).Database("d").Collection("things")
	check.Equal(t, live(t, again), []any{int32(1), int32(2)})
	server.Advance("60s")
	check.Equal(t, live(t, again), []any{int32(2)})
}
