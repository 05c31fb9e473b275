package mongo

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"lapsedb/clients/check"
	"lapsedb/clients/lapsedb"
)

func TestOptionsOfFindAreHeeded(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	insert(t, things, bson.M{"_id": 1, "n": 3, "s": "b"}, bson.M{"_id": 2, "n": 1, "s": "B"}, bson.M{"_id": 3, "n": 2, "s": "a"})
	check.Must(things.Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.D{{Key: "n", Value: 1}}}))(t)
	strength := &options.Collation{Locale: "en", Strength: 2}
	for name, each := range map[string]struct {
		filter  bson.M
		options *options.FindOptionsBuilder
		wanted  []bson.M
	}{
		"hint and bounds": {bson.M{}, options.Find().SetHint("n_1").SetMin(bson.D{{Key: "n", Value: 2}}).SetMax(bson.D{{Key: "n", Value: 3}}).SetProjection(bson.M{"n": 1}),
			[]bson.M{{"_id": int32(3), "n": int32(2)}}},
		"keys alone": {bson.M{}, options.Find().SetHint("n_1").SetReturnKey(true).SetLimit(1), []bson.M{{"n": int32(1)}}},
		"let":        {bson.M{"$expr": bson.M{"$eq": bson.A{"$n", "$$wanted"}}}, options.Find().SetLet(bson.M{"wanted": 3}).SetProjection(bson.M{"_id": 1}), []bson.M{{"_id": int32(1)}}},
		"collation": {bson.M{"s": "b"}, options.Find().SetCollation(strength).SetSort(bson.M{"_id": 1}).SetProjection(bson.M{"s": 1}).SetComment("why"),
			[]bson.M{{"_id": int32(1), "s": "b"}, {"_id": int32(2), "s": "B"}}},
		"computed": {bson.M{"n": bson.M{"$gt": 2}}, options.Find().SetProjection(bson.M{"_id": 0, "twice": bson.M{"$multiply": bson.A{"$n", 2}}}), []bson.M{{"twice": int32(6)}}},
	} {
		t.Run(name, func(t *testing.T) {
			check.Equal(t, all(t)(things.Find(t.Context(), each.filter, each.options)), each.wanted)
		})
	}
	_, err := things.Find(t.Context(), bson.M{}, options.Find().SetHint("nothing_1"))
	failed(t, err, 2)
}

func TestATailableCursorWaitsForWhatComes(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	ring := things.Database().Collection("ring")
	check.NoError(t, things.Database().CreateCollection(t.Context(), "ring", options.CreateCollection().SetCapped(true).SetSizeInBytes(1<<20)))
	insert(t, ring, bson.M{"_id": 1})
	cursor := check.Must(ring.Find(t.Context(), bson.M{}, options.Find().SetCursorType(options.TailableAwait).SetMaxAwaitTime(time.Millisecond)))(t)
	defer func() { check.NoError(t, cursor.Close(t.Context())) }()
	check.True(t, cursor.Next(t.Context()), "nothing comes: %v", cursor.Err())
	check.True(t, !cursor.TryNext(t.Context()) && cursor.Err() == nil && cursor.ID() != 0, "the cursor ends: %v", cursor.Err())
	for n := range 3 {
		insert(t, ring, bson.M{"_id": n + 2})
		check.True(t, cursor.Next(t.Context()), "nothing comes: %v", cursor.Err())
		check.Equal(t, cursor.Current.Lookup("_id").Int32(), int32(n+2))
	}
}

func TestMeasurementsOfATimeSeriesExpire(t *testing.T) {
	t.Parallel()
	server, things := withCollection(t)
	series := options.TimeSeries().SetTimeField("at").SetMetaField("sensor")
	check.NoError(t, things.Database().CreateCollection(t.Context(), "measured",
		options.CreateCollection().SetTimeSeriesOptions(series).SetExpireAfterSeconds(60)))
	measured := things.Database().Collection("measured")
	now := server.Now()
	for n := range 3 {
		insert(t, measured, bson.M{"at": now.Add(time.Duration(n) * time.Second), "sensor": "a", "value": n})
	}
	count := func() int64 { return check.Must(measured.CountDocuments(t.Context(), bson.M{"sensor": "a"}))(t) }
	server.Advance("59999ms")
	check.Equal(t, count(), 3)
	server.Advance("1ms")
	check.Equal(t, count(), 2)
	server.Advance("2s")
	check.Equal(t, count(), 0)
}

func TestAnOperationEndsAtItsTimeLimit(t *testing.T) {
	t.Parallel()
	server := lapsedb.Start(t, "--memory", "--enable-test-commands")
	client := connect(t, clientOptions(t, server))
	things := client.Database("d").Collection("things")
	insert(t, things, bson.M{"_id": 1})
	failPoint := func(name string, mode any, data bson.M) {
		t.Helper()
		command := bson.D{{Key: "configureFailPoint", Value: name}, {Key: "mode", Value: mode}}
		if data != nil {
			command = append(command, bson.E{Key: "data", Value: data})
		}
		check.NoError(t, client.Database("admin").RunCommand(t.Context(), command).Err())
	}
	// The limit on the client.
	failPoint("failCommand", bson.M{"times": 1}, bson.M{"failCommands": bson.A{"find"}, "blockConnection": true, "blockTimeMS": 500})
	hasty, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := things.FindOne(hasty, bson.M{}).Err()
	check.True(t, mongo.IsTimeout(err), "got %v", err)
	// The limit on the server.
	// Not of a find: the server may not have read the one that was given up.
	failPoint("failCommand", bson.M{"times": 1}, bson.M{"failCommands": bson.A{"distinct"}, "errorCode": 50})
	err = things.Distinct(t.Context(), "_id", bson.M{}).Err()
	failed(t, err, 50)
	check.True(t, mongo.IsTimeout(err), "got %v", err)
	check.NoError(t, things.FindOne(t.Context(), bson.M{}).Err())
}

func TestCommandsWithCursorsAreReadToTheirEnd(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	for n := range 5 {
		insert(t, things, bson.M{"_id": n})
	}
	found := all(t)(things.Database().RunCommandCursor(t.Context(), bson.D{{Key: "find", Value: "things"}, {Key: "batchSize", Value: 2}}))
	check.Equal(t, len(found), 5)
	made := all(t)(things.Database().Aggregate(t.Context(), mongo.Pipeline{{{Key: "$documents", Value: bson.A{bson.M{"n": 1}, bson.M{"n": 2}}}}}))
	check.Equal(t, each(made, "n"), []any{int32(1), int32(2)})
	listed := check.Must(things.Database().ListCollectionSpecifications(t.Context(), bson.M{}))(t)
	check.Equal(t, len(listed), 1)
	check.True(t, listed[0].Name == "things" && listed[0].Type == "collection" && listed[0].UUID != nil, "%v", listed[0])
}
