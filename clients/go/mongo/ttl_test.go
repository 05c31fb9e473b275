package mongo

import (
	"fmt"
	"math"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"lapsedb/clients/check"
)

// expireAfter creates the TTL index: on _ts it is the default of the collection, on any other field it counts from a date.
func expireAfter(t *testing.T, things *mongo.Collection, field string, seconds int32) {
	t.Helper()
	check.Must(things.Indexes().CreateOne(t.Context(), mongo.IndexModel{
		Keys: bson.D{{Key: field, Value: 1}}, Options: options.Index().SetExpireAfterSeconds(seconds),
	}))(t)
}

// live is what every way of looking agrees on.
func live(t *testing.T, things *mongo.Collection) []any {
	t.Helper()
	found := sorted(t, things, bson.M{})
	check.Equal(t, check.Must(things.CountDocuments(t.Context(), bson.M{}))(t), int64(len(found)))
	check.Equal(t, check.Must(things.EstimatedDocumentCount(t.Context()))(t), int64(len(found)))
	var distinct []any
	check.NoError(t, things.Distinct(t.Context(), "_id", bson.M{}).Decode(&distinct))
	check.Equal(t, fmt.Sprint(distinct), fmt.Sprint(found))
	grouped := all(t)(things.Aggregate(t.Context(), mongo.Pipeline{{{Key: "$count", Value: "n"}}}))
	if len(found) == 0 {
		check.Equal(t, len(grouped), 0)
	} else {
		check.Equal(t, grouped[0]["n"], any(int32(len(found))))
	}
	for _, id := range found {
		check.NoError(t, things.FindOne(t.Context(), bson.M{"_id": id}).Err())
	}
	return found
}

func TestADefaultOnTsAndDocumentsWithATTLOfTheirOwn(t *testing.T) {
	t.Parallel()
	server, things := withCollection(t)
	expireAfter(t, things, "_ts", 10)
	insert(t, things,
		bson.M{"_id": "double", "ttl": 20.0}, bson.M{"_id": "int", "ttl": int32(20)}, bson.M{"_id": "long", "ttl": int64(20)},
		bson.M{"_id": "never", "ttl": -1}, bson.M{"_id": "none"}, bson.M{"_id": "short", "ttl": 5},
		// These are no time to live, and so the default counts.
		bson.M{"_id": "wrong fraction", "ttl": 20.5}, bson.M{"_id": "wrong huge", "ttl": int64(1)<<32 + 20}, bson.M{"_id": "wrong nan", "ttl": math.NaN()},
		bson.M{"_id": "wrong text", "ttl": "20"}, bson.M{"_id": "wrong zero", "ttl": 0})
	check.Equal(t, len(live(t, things)), 11)
	server.Advance("4999ms")
	check.Equal(t, len(live(t, things)), 11)
	server.Advance("1ms")
	check.Equal(t, len(live(t, things)), 10)
	server.Advance("4999ms")
	check.Equal(t, len(live(t, things)), 10)
	server.Advance("1ms")
	check.Equal(t, live(t, things), []any{"double", "int", "long", "never"})
	server.Advance("9999ms")
	check.Equal(t, len(live(t, things)), 4)
	server.Advance("1ms")
	check.Equal(t, live(t, things), []any{"never"})
	server.Advance("3650d")
	check.Equal(t, live(t, things), []any{"never"})
}

// The example for mongosh in the README.
func TestAWriteRenewsTheTimeAndAReadDoesNot(t *testing.T) {
	t.Parallel()
	server, tokens := withCollection(t)
	expireAfter(t, tokens, "_ts", 3600)
	insert(t, tokens, bson.M{"_id": 1}, bson.M{"_id": 2, "ttl": 60}, bson.M{"_id": 3, "ttl": -1})
	server.Advance("59s")
	check.Must(tokens.UpdateByID(t.Context(), 2, bson.M{"$set": bson.M{"used": true}}))(t)
	server.Advance("59s")
	check.Equal(t, live(t, tokens), []any{int32(1), int32(2), int32(3)})
	server.Advance("1s")
	check.Equal(t, live(t, tokens), []any{int32(1), int32(3)})
	server.Advance("1h")
	check.Equal(t, live(t, tokens), []any{int32(3)})
}

func TestAnIndexOnADateExpiresToTheMillisecond(t *testing.T) {
	t.Parallel()
	server, things := withCollection(t)
	expireAfter(t, things, "until", 0)
	expireAfter(t, things, "begun", 2)
	now := server.Align()
	in := func(milliseconds int) time.Time { return now.Add(time.Duration(milliseconds) * time.Millisecond) }
	insert(t, things,
		bson.M{"_id": "begun", "begun": in(500)}, bson.M{"_id": "both", "begun": in(9000), "until": in(2001)},
		bson.M{"_id": "dates", "until": bson.A{in(9000), "x", in(2502)}}, bson.M{"_id": "none"},
		bson.M{"_id": "text", "until": "2020-01-01"}, bson.M{"_id": "until", "until": in(2000)})
	for _, step := range []struct{ at, count int }{{1999, 6}, {2000, 5}, {2001, 4}, {2499, 4}, {2500, 3}, {2501, 3}, {2502, 2}, {100_000, 2}} {
		server.Advance(fmt.Sprintf("%dms", max(1, in(step.at).Sub(server.Now()).Milliseconds())))
		check.Equal(t, len(live(t, things)), step.count)
	}
	check.Equal(t, live(t, things), []any{"none", "text"})
	check.NoError(t, things.Indexes().DropOne(t.Context(), "until_1"))
	check.Equal(t, live(t, things), []any{"none", "text"})
}

func TestCollModChangesTheDefaultAndBringsNothingBack(t *testing.T) {
	t.Parallel()
	server, things := withCollection(t)
	alter := func(seconds int) {
		t.Helper()
		check.NoError(t, things.Database().RunCommand(t.Context(), bson.D{
			{Key: "collMod", Value: "things"}, {Key: "index", Value: bson.M{"keyPattern": bson.M{"_ts": 1}, "expireAfterSeconds": seconds}},
		}).Err())
		check.Equal(t, expiresAfter(t, things, "_ts_1"), int32(seconds))
	}
	expireAfter(t, things, "_ts", 10)
	insert(t, things, bson.M{"_id": 1})
	server.Advance("9s")
	alter(20)
	server.Advance("5s")
	check.Equal(t, live(t, things), []any{int32(1)})
	alter(12)
	check.Equal(t, live(t, things), []any{})
	alter(1000)
	check.Equal(t, live(t, things), []any{})
	check.NoError(t, things.Indexes().DropOne(t.Context(), "_ts_1"))
	check.Equal(t, live(t, things), []any{})
}

func TestAnIndexWithAnotherTimeIsRefused(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	create := func(field string, seconds any) error {
		return things.Database().RunCommand(t.Context(), bson.D{{Key: "createIndexes", Value: "things"}, {Key: "indexes", Value: bson.A{
			bson.M{"key": bson.M{field: 1}, "name": field + "_1", "expireAfterSeconds": seconds},
		}}}).Err()
	}
	for _, seconds := range []any{0, -2, int64(1) << 31, 1.5, "10", true, math.NaN()} {
		failed(t, create("_ts", seconds), 67)
	}
	check.NoError(t, create("_ts", 10))
	failed(t, create("_ts", 20), 85)
}

func TestExpiredDocumentsAreInNobodysWay(t *testing.T) {
	t.Parallel()
	server, things := withCollection(t)
	expireAfter(t, things, "_ts", 10)
	check.Must(things.Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.M{"email": 1}, Options: options.Index().SetUnique(true)}))(t)
	insert(t, things, bson.M{"_id": 1, "email": "a"})
	server.Advance("10s")
	check.Equal(t, check.Must(things.UpdateMany(t.Context(), bson.M{}, bson.M{"$set": bson.M{"x": 1}}))(t).MatchedCount, 0)
	check.Equal(t, check.Must(things.DeleteMany(t.Context(), bson.M{}))(t).DeletedCount, 0)
	check.True(t, things.FindOneAndUpdate(t.Context(), bson.M{"_id": 1}, bson.M{"$set": bson.M{"x": 1}}).Err() == mongo.ErrNoDocuments, "it is found")
	upserted := check.Must(things.UpdateByID(t.Context(), 1, bson.M{"$set": bson.M{"email": "b"}}, options.UpdateOne().SetUpsert(true)))(t)
	check.Equal(t, upserted.UpsertedCount, 1)
	insert(t, things, bson.M{"_id": 2, "email": "a"})
	check.Equal(t, live(t, things), []any{int32(1), int32(2)})
}

func TestACursorLeavesOutWhatExpiresBetweenItsBatches(t *testing.T) {
	t.Parallel()
	server, things := withCollection(t)
	expireAfter(t, things, "_ts", -1)
	for n := range 10 {
		if n%2 == 0 {
			insert(t, things, bson.M{"_id": n})
		} else {
			insert(t, things, bson.M{"_id": n, "ttl": 10})
		}
	}
	cursor := check.Must(things.Find(t.Context(), bson.M{}, options.Find().SetBatchSize(3)))(t)
	var seen []int32
	for cursor.Next(t.Context()) {
		seen = append(seen, cursor.Current.Lookup("_id").Int32())
		if len(seen) == 3 {
			server.Advance("10s")
		}
	}
	check.NoError(t, cursor.Err())
	check.Equal(t, seen, []int32{0, 1, 2, 4, 6, 8})
}

func TestAChangeStreamShowsEachExpiryOnce(t *testing.T) {
	t.Parallel()
	server, things := withCollection(t)
	expireAfter(t, things, "_ts", -1)
	expireAfter(t, things, "until", 0)
	now := server.Now()
	stream := watch(t, things)
	insert(t, things, bson.M{"_id": 1, "ttl": 5}, bson.M{"_id": 2, "until": now.Add(4 * time.Second)}, bson.M{"_id": 3})
	for n := range 3 {
		check.Equal(t, next(t, stream)["documentKey"], any(bson.D{{Key: "_id", Value: int32(n + 1)}}))
	}
	server.Advance("3999ms")
	check.True(t, !stream.TryNext(t.Context()), "an expiry too early: %v", stream.Current)
	for _, id := range []int32{2, 1} {
		server.Advance("1s")
		event := next(t, stream)
		check.Equal(t, event["operationType"], any("delete"))
		check.Equal(t, event["documentKey"], any(bson.D{{Key: "_id", Value: id}}))
	}
	server.Advance("10d")
	check.True(t, !stream.TryNext(t.Context()), "more than there was: %v", stream.Current)
}
