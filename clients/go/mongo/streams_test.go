package mongo

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"lapsedb/clients/check"
	"lapsedb/clients/lapsedb"
)

// watched is what has a change stream: a collection, a database, a client.
type watched interface {
	Watch(ctx context.Context, pipeline any, opts ...options.Lister[options.ChangeStreamOptions]) (*mongo.ChangeStream, error)
}

func watch(t *testing.T, of watched, opts ...options.Lister[options.ChangeStreamOptions]) *mongo.ChangeStream {
	t.Helper()
	opts = append(opts, options.ChangeStream().SetMaxAwaitTime(time.Millisecond))
	stream := check.Must(of.Watch(t.Context(), mongo.Pipeline{}, opts...))(t)
	t.Cleanup(func() { check.NoError(t, stream.Close(context.Background())) })
	return stream
}

func next(t *testing.T, stream *mongo.ChangeStream) bson.M {
	t.Helper()
	check.True(t, stream.Next(t.Context()), "the stream ends: %v", stream.Err())
	var event bson.M
	check.NoError(t, stream.Decode(&event))
	return event
}

func operations(t *testing.T, stream *mongo.ChangeStream, count int) []any {
	t.Helper()
	found := []any{}
	for range count {
		found = append(found, next(t, stream)["operationType"])
	}
	check.True(t, !stream.TryNext(t.Context()) && stream.Err() == nil, "one more: %v %v", stream.Current, stream.Err())
	return found
}

func TestAChangeStreamShowsEveryChange(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	check.NoError(t, things.Database().CreateCollection(t.Context(), "things"))
	stream := watch(t, things)
	check.Must(things.InsertOne(t.Context(), bson.D{{Key: "_id", Value: 1}, {Key: "n", Value: 1}, {Key: "old", Value: true}}))(t)
	check.Must(things.UpdateByID(t.Context(), 1, bson.M{"$set": bson.M{"n": 2}, "$unset": bson.M{"old": 1}}))(t)
	check.Must(things.ReplaceOne(t.Context(), bson.M{"_id": 1}, bson.M{"n": 3}))(t)
	check.Must(things.DeleteOne(t.Context(), bson.M{"_id": 1}))(t)

	event := next(t, stream)
	check.Equal(t, event["operationType"], any("insert"))
	check.Equal(t, event["fullDocument"], any(bson.D{{Key: "_id", Value: int32(1)}, {Key: "n", Value: int32(1)}, {Key: "old", Value: true}}))
	check.Equal(t, event["ns"], any(bson.D{{Key: "db", Value: "d"}, {Key: "coll", Value: "things"}}))
	event = next(t, stream)
	check.Equal(t, event["operationType"], any("update"))
	described := event["updateDescription"].(bson.D)
	check.Equal(t, described[0], bson.E{Key: "updatedFields", Value: bson.D{{Key: "n", Value: int32(2)}}})
	check.Equal(t, described[1], bson.E{Key: "removedFields", Value: bson.A{"old"}})
	check.Equal(t, next(t, stream)["operationType"], any("replace"))
	event = next(t, stream)
	check.Equal(t, event["operationType"], any("delete"))
	check.Equal(t, event["documentKey"], any(bson.D{{Key: "_id", Value: int32(1)}}))
	check.True(t, !stream.TryNext(t.Context()), "one more: %v", stream.Current)

	check.NoError(t, things.Drop(t.Context()))
	check.Equal(t, next(t, stream)["operationType"], any("drop"))
	check.Equal(t, next(t, stream)["operationType"], any("invalidate"))
	check.True(t, !stream.Next(t.Context()) && stream.ID() == 0, "the stream goes on after it is invalid")
}

func TestAChangeStreamIsResumedByANewClient(t *testing.T) {
	t.Parallel()
	server, things := withCollection(t)
	check.NoError(t, things.Database().CreateCollection(t.Context(), "things"))
	stream := watch(t, things)
	insert(t, things, bson.M{"_id": 1}, bson.M{"_id": 2}, bson.M{"_id": 3})
	first := next(t, stream)
	token := stream.ResumeToken()

	other := connect(t, clientOptions(t, server)).Database("d").Collection("things")
	after := watch(t, other, options.ChangeStream().SetResumeAfter(token))
	check.Equal(t, next(t, after)["documentKey"], any(bson.D{{Key: "_id", Value: int32(2)}}))
	started := watch(t, other, options.ChangeStream().SetStartAfter(token))
	check.Equal(t, operations(t, started, 2), []any{"insert", "insert"})
	moment := first["clusterTime"].(bson.Timestamp)
	since := watch(t, other, options.ChangeStream().SetStartAtOperationTime(&moment))
	check.Equal(t, next(t, since)["documentKey"], any(bson.D{{Key: "_id", Value: int32(1)}}))

	_, err := other.Watch(t.Context(), mongo.Pipeline{}, options.ChangeStream().SetResumeAfter(bson.M{"_data": "nonsense"}))
	check.True(t, err != nil, "a token that is none is taken")
}

func TestAChangeStreamShowsWholeDocumentsBeforeAndAfter(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	images := options.CreateCollection().SetChangeStreamPreAndPostImages(bson.M{"enabled": true})
	check.NoError(t, things.Database().CreateCollection(t.Context(), "things", images))
	insert(t, things, bson.D{{Key: "_id", Value: 1}, {Key: "n", Value: 1}})
	exact := watch(t, things, options.ChangeStream().SetFullDocument(options.Required).SetFullDocumentBeforeChange(options.Required))
	present := watch(t, things, options.ChangeStream().SetFullDocument(options.UpdateLookup))
	check.Must(things.UpdateByID(t.Context(), 1, bson.M{"$set": bson.M{"n": 2}}))(t)
	check.Must(things.UpdateByID(t.Context(), 1, bson.M{"$set": bson.M{"n": 3}}))(t)
	check.Must(things.DeleteOne(t.Context(), bson.M{"_id": 1}))(t)

	document := func(n int) any { return bson.D{{Key: "_id", Value: int32(1)}, {Key: "n", Value: int32(n)}} }
	for n := range 2 {
		event := next(t, exact)
		check.Equal(t, event["fullDocumentBeforeChange"], document(n+1))
		check.Equal(t, event["fullDocument"], document(n+2))
	}
	check.Equal(t, next(t, exact)["fullDocumentBeforeChange"], document(3))
	check.Equal(t, next(t, present)["fullDocument"], nil)
}

func TestAChangeStreamWithAPipelineOverADatabaseAndAClient(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	database, client := things.Database(), things.Database().Client()
	insert(t, things, bson.M{"_id": 0})
	insert(t, database.Collection("others"), bson.M{"_id": 0})
	insert(t, client.Database("e").Collection("others"), bson.M{"_id": 0})
	ofDatabase, ofClient := watch(t, database), watch(t, client)
	only := mongo.Pipeline{{{Key: "$match", Value: bson.M{"fullDocument.n": bson.M{"$gt": 1}}}}, {{Key: "$project", Value: bson.M{"fullDocument.n": 1}}}}
	filtered := check.Must(things.Watch(t.Context(), only, options.ChangeStream().SetMaxAwaitTime(time.Millisecond)))(t)
	defer func() { check.NoError(t, filtered.Close(t.Context())) }()
	insert(t, things, bson.M{"_id": 1, "n": 1}, bson.M{"_id": 2, "n": 2})
	insert(t, database.Collection("others"), bson.M{"_id": 1})
	insert(t, client.Database("e").Collection("others"), bson.M{"_id": 1})

	check.Equal(t, operations(t, ofDatabase, 3), []any{"insert", "insert", "insert"})
	check.Equal(t, operations(t, ofClient, 4), []any{"insert", "insert", "insert", "insert"})
	check.Equal(t, next(t, filtered)["fullDocument"], any(bson.D{{Key: "n", Value: int32(2)}}))
	check.True(t, !filtered.TryNext(t.Context()), "one more: %v", filtered.Current)
}

func TestAStreamThatWaitsEndsWithItsContext(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	insert(t, things, bson.M{"_id": 1})
	stream := check.Must(things.Watch(t.Context(), mongo.Pipeline{}))(t)
	defer func() { check.NoError(t, stream.Close(context.Background())) }()
	waiting, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	check.True(t, !stream.Next(waiting), "there is an event: %v", stream.Current)
	check.True(t, errors.Is(stream.Err(), context.Canceled), "got %v", stream.Err())
}

func TestAChangeStreamGoesOnAfterItsConnectionIsClosed(t *testing.T) {
	t.Parallel()
	server := lapsedb.Start(t, "--memory", "--enable-test-commands")
	settings, sent := monitored(clientOptions(t, server))
	client := connect(t, settings)
	things := client.Database("d").Collection("things")
	insert(t, things, bson.M{"_id": 0})
	stream := watch(t, things)
	for n := range 3 {
		check.NoError(t, client.Database("admin").RunCommand(t.Context(), bson.D{
			{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: bson.M{"times": 1}},
			{Key: "data", Value: bson.M{"failCommands": bson.A{"getMore"}, "closeConnection": true}},
		}).Err())
		insert(t, things, bson.M{"_id": n + 1})
		check.Equal(t, next(t, stream)["documentKey"], any(bson.D{{Key: "_id", Value: int32(n + 1)}}))
		check.Equal(t, sent.of("getMore")[1], n+1)
	}
}
