package mongo

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"lapsedb/clients/check"
)

func TestDocumentsAreInsertedFoundUpdatedReplacedAndDeleted(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	check.Equal(t, check.Must(things.InsertOne(t.Context(), bson.M{"_id": 1, "n": 1}))(t).InsertedID, any(int32(1)))
	generated := check.Must(things.InsertOne(t.Context(), bson.M{"n": 2}))(t).InsertedID.(bson.ObjectID)
	_, err := things.InsertOne(t.Context(), bson.M{"_id": 1})
	check.True(t, mongo.IsDuplicateKeyError(err), "got %v", err)

	var found bson.M
	check.NoError(t, things.FindOne(t.Context(), bson.M{"_id": generated}).Decode(&found))
	check.Equal(t, found, bson.M{"_id": generated, "n": int32(2)})
	err = things.FindOne(t.Context(), bson.M{"_id": "none"}).Err()
	check.True(t, errors.Is(err, mongo.ErrNoDocuments), "got %v", err)

	updated := check.Must(things.UpdateMany(t.Context(), bson.M{}, bson.M{"$inc": bson.M{"n": 10}}))(t)
	check.Equal(t, *updated, mongo.UpdateResult{MatchedCount: 2, ModifiedCount: 2, Acknowledged: true})
	updated = check.Must(things.UpdateByID(t.Context(), 2, bson.M{"$set": bson.M{"n": 5}}, options.UpdateOne().SetUpsert(true)))(t)
	check.Equal(t, *updated, mongo.UpdateResult{UpsertedCount: 1, UpsertedID: int32(2), Acknowledged: true})
	updated = check.Must(things.UpdateOne(t.Context(), bson.M{"_id": 2},
		mongo.Pipeline{{{Key: "$set", Value: bson.M{"twice": bson.M{"$multiply": bson.A{"$n", 2}}}}}}))(t)
	check.Equal(t, updated.ModifiedCount, 1)
	replaced := check.Must(things.ReplaceOne(t.Context(), bson.M{"_id": 1}, bson.M{"n": 100}))(t)
	check.Equal(t, replaced.ModifiedCount, 1)

	after := options.FindOneAndUpdate().SetReturnDocument(options.After).SetProjection(bson.M{"_id": 0})
	check.NoError(t, things.FindOneAndUpdate(t.Context(), bson.M{"_id": 2}, bson.M{"$push": bson.M{"list": bson.M{"$each": bson.A{3, 1}, "$sort": 1}}}, after).Decode(&found))
	check.Equal(t, found["list"], any(bson.A{int32(1), int32(3)}))
	check.NoError(t, things.FindOneAndReplace(t.Context(), bson.M{"_id": 1}, bson.M{"n": 0}).Err())
	found = nil
	check.NoError(t, things.FindOneAndDelete(t.Context(), bson.M{"_id": 2}).Decode(&found))
	check.Equal(t, found["twice"], any(int32(10)))

	check.Equal(t, check.Must(things.CountDocuments(t.Context(), bson.M{"n": bson.M{"$gte": 0}}))(t), 2)
	check.Equal(t, check.Must(things.DeleteOne(t.Context(), bson.M{"_id": 1}))(t).DeletedCount, 1)
	check.Equal(t, check.Must(things.DeleteMany(t.Context(), bson.M{}))(t).DeletedCount, 1)
	check.Equal(t, check.Must(things.EstimatedDocumentCount(t.Context()))(t), 0)
}

func TestEveryTypeComesBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	decimal := check.Must(bson.ParseDecimal128("1234567890.123456789"))(t)
	written := bson.M{
		"_id": "1", "double": 1.5, "infinity": math.Inf(1), "text": "ünïcode 鱀", "document": bson.D{{Key: "b", Value: int32(1)}, {Key: "a", Value: int32(2)}},
		"array": bson.A{int32(1), "x", nil}, "binary": bson.Binary{Subtype: 0x80, Data: []byte{0, 255}}, "id": bson.NewObjectID(), "true": true,
		"date": bson.NewDateTimeFromTime(time.UnixMilli(-1)), "null": nil, "regex": bson.Regex{Pattern: "^a", Options: "i"}, "int": int32(math.MinInt32),
		"timestamp": bson.Timestamp{T: 5, I: 6}, "long": int64(math.MaxInt64), "decimal": decimal, "min": bson.MinKey{}, "max": bson.MaxKey{},
		"code": bson.JavaScript("x"), "uuid": bson.Binary{Subtype: 4, Data: make([]byte, 16)},
	}
	insert(t, things, written)
	var found bson.M
	check.NoError(t, things.FindOne(t.Context(), bson.M{}).Decode(&found))
	check.Equal(t, found, written)
	for _, field := range []string{"double", "text", "binary", "id", "date", "int", "long", "decimal", "uuid", "timestamp"} {
		check.Equal(t, sorted(t, things, bson.M{field: written[field]}), []any{"1"})
	}
}

type session struct {
	ID     string        `bson:"_id"`
	User   string        `bson:"user"`
	Scopes []string      `bson:"scopes,omitempty"`
	Length time.Duration `bson:"length"`
	Made   time.Time     `bson:"made"`
}

func TestStructsAreWrittenAndRead(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	written := session{ID: "s1", User: "ada", Scopes: []string{"read", "write"}, Length: time.Minute, Made: time.UnixMilli(1_700_000_000_123).UTC()}
	insert(t, things, written)
	var found session
	check.NoError(t, things.FindOne(t.Context(), bson.M{"scopes": "write"}).Decode(&found))
	check.Equal(t, found, written)
}

func TestBulkWritesSayWhatTheyDid(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	models := []mongo.WriteModel{
		mongo.NewInsertOneModel().SetDocument(bson.M{"_id": 1, "n": 1}),
		mongo.NewInsertOneModel().SetDocument(bson.M{"_id": 2, "n": 2}),
		mongo.NewUpdateOneModel().SetFilter(bson.M{"_id": 3}).SetUpdate(bson.M{"$set": bson.M{"n": 3}}).SetUpsert(true),
		mongo.NewUpdateManyModel().SetFilter(bson.M{"n": bson.M{"$gt": 1}}).SetUpdate(bson.M{"$inc": bson.M{"n": 10}}),
		mongo.NewReplaceOneModel().SetFilter(bson.M{"_id": 1}).SetReplacement(bson.M{"n": 100}),
		mongo.NewDeleteOneModel().SetFilter(bson.M{"_id": 2}),
		mongo.NewDeleteManyModel().SetFilter(bson.M{"n": 13}),
	}
	result := check.Must(things.BulkWrite(t.Context(), models))(t)
	check.Equal(t, *result, mongo.BulkWriteResult{
		InsertedCount: 2, MatchedCount: 3, ModifiedCount: 3, DeletedCount: 2, UpsertedCount: 1, UpsertedIDs: map[int64]any{2: int32(3)}, Acknowledged: true,
	})
	check.Equal(t, sorted(t, things, bson.M{}), []any{int32(1)})
}

func TestAnUnorderedBulkWriteGoesOnAfterAnError(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	models := func(from int) []mongo.WriteModel {
		var models []mongo.WriteModel
		for _, id := range []int{from, from, from + 1} {
			models = append(models, mongo.NewInsertOneModel().SetDocument(bson.M{"_id": id}))
		}
		return models
	}
	var failure mongo.BulkWriteException
	_, err := things.BulkWrite(t.Context(), models(1))
	check.True(t, errors.As(err, &failure) && len(failure.WriteErrors) == 1, "got %v", err)
	check.Equal(t, failure.WriteErrors[0].Index, 1)
	check.Equal(t, failure.WriteErrors[0].Code, 11000)
	check.Equal(t, sorted(t, things, bson.M{}), []any{int32(1)})

	_, err = things.BulkWrite(t.Context(), models(3), options.BulkWrite().SetOrdered(false))
	check.True(t, errors.As(err, &failure) && len(failure.WriteErrors) == 1, "got %v", err)
	check.Equal(t, sorted(t, things, bson.M{}), []any{int32(1), int32(3), int32(4)})
}

func TestCursorsFetchTheirBatchesOneAfterTheOther(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	var documents []any
	for n := range 1000 {
		documents = append(documents, bson.M{"_id": n, "pad": strings.Repeat("x", 100)})
	}
	insert(t, things, documents...)
	cursor := check.Must(things.Find(t.Context(), bson.M{}, options.Find().SetBatchSize(7).SetSort(bson.M{"_id": -1})))(t)
	for n := 999; n >= 0; n-- {
		check.True(t, cursor.Next(t.Context()), "ends before %d: %v", n, cursor.Err())
		check.Equal(t, cursor.Current.Lookup("_id").Int32(), int32(n))
		check.True(t, cursor.RemainingBatchLength() < 7, "a batch of more than 7")
	}
	check.True(t, !cursor.Next(t.Context()) && cursor.Err() == nil && cursor.ID() == 0, "does not end: %v", cursor.Err())

	page := each(all(t)(things.Find(t.Context(), bson.M{}, options.Find().SetSort(bson.M{"_id": 1}).SetSkip(500).SetLimit(3))), "_id")
	check.Equal(t, page, []any{int32(500), int32(501), int32(502)})

	early := check.Must(things.Find(t.Context(), bson.M{}, options.Find().SetBatchSize(2)))(t)
	id := early.ID()
	check.NoError(t, early.Close(t.Context()))
	failed(t, things.Database().RunCommand(t.Context(), bson.D{{Key: "getMore", Value: id}, {Key: "collection", Value: "things"}}).Err(), 43)
}

func TestPipelinesGroupJoinAndReshape(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	insert(t, things, bson.M{"_id": 1, "user": "ada", "n": 3}, bson.M{"_id": 2, "user": "bob", "n": 4}, bson.M{"_id": 3, "user": "ada", "n": 5})
	insert(t, things.Database().Collection("users"), bson.M{"_id": "ada", "name": "Ada"}, bson.M{"_id": "bob", "name": "Bob"})
	found := all(t)(things.Aggregate(t.Context(), mongo.Pipeline{
		{{Key: "$group", Value: bson.M{"_id": "$user", "sum": bson.M{"$sum": "$n"}}}},
		{{Key: "$lookup", Value: bson.M{"from": "users", "localField": "_id", "foreignField": "_id", "as": "user"}}},
		{{Key: "$project", Value: bson.M{"name": bson.M{"$first": "$user.name"}, "sum": 1}}},
		{{Key: "$sort", Value: bson.M{"_id": 1}}},
	}, options.Aggregate().SetBatchSize(1).SetAllowDiskUse(true)))
	check.Equal(t, found, []bson.M{{"_id": "ada", "name": "Ada", "sum": int32(8)}, {"_id": "bob", "name": "Bob", "sum": int32(4)}})

	found = all(t)(things.Aggregate(t.Context(), mongo.Pipeline{{{Key: "$match", Value: bson.M{"n": bson.M{"$gt": 3}}}}, {{Key: "$out", Value: "copied"}}}))
	check.Equal(t, len(found), 0)
	check.Equal(t, sorted(t, things.Database().Collection("copied"), bson.M{}), []any{int32(2), int32(3)})
	var users []string
	check.NoError(t, things.Distinct(t.Context(), "user", bson.M{}).Decode(&users))
	check.Equal(t, users, []string{"ada", "bob"})
	_, err := things.Aggregate(t.Context(), mongo.Pipeline{{{Key: "$nothing", Value: 1}}})
	failed(t, err, 40324)
}

func TestIndexesAreCreatedListedUsedAndDropped(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	names := check.Must(things.Indexes().CreateMany(t.Context(), []mongo.IndexModel{
		{Keys: bson.D{{Key: "email", Value: 1}}, Options: options.Index().SetUnique(true).SetPartialFilterExpression(bson.M{"email": bson.M{"$exists": true}})},
		{Keys: bson.D{{Key: "user", Value: 1}, {Key: "n", Value: -1}}},
		{Keys: bson.D{{Key: "text", Value: "text"}}},
		{Keys: bson.D{{Key: "place", Value: "2dsphere"}}},
	}))(t)
	check.Equal(t, names, []string{"email_1", "user_1_n_-1", "text_text", "place_2dsphere"})
	insert(t, things, bson.M{"_id": 1, "email": "x", "text": "red fox", "place": bson.A{0, 0}}, bson.M{"_id": 2}, bson.M{"_id": 3, "text": "grey wolf"})
	_, err := things.InsertOne(t.Context(), bson.M{"email": "x"})
	check.True(t, mongo.IsDuplicateKeyError(err), "got %v", err)
	check.Equal(t, sorted(t, things, bson.M{"$text": bson.M{"$search": "wolf"}}), []any{int32(3)})
	var listed []string
	for _, each := range check.Must(things.Indexes().ListSpecifications(t.Context()))(t) {
		listed = append(listed, each.Name)
	}
	check.Equal(t, listed, append([]string{"_id_"}, names...))
	check.NoError(t, things.Indexes().DropOne(t.Context(), "email_1"))
	insert(t, things, bson.M{"email": "x"})
	failed(t, things.Indexes().DropOne(t.Context(), "email_1"), 27)
}

func TestCollectionsHaveOptionsAndValidators(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	database := things.Database()
	check.NoError(t, database.CreateCollection(t.Context(), "checked", options.CreateCollection().SetValidator(bson.M{"n": bson.M{"$type": "int"}})))
	_, err := database.Collection("checked").InsertOne(t.Context(), bson.M{"n": "text"})
	failed(t, err, 121)
	check.NoError(t, database.CreateView(t.Context(), "large", "checked", mongo.Pipeline{{{Key: "$match", Value: bson.M{"n": bson.M{"$gt": 5}}}}}))
	insert(t, database.Collection("checked"), bson.M{"_id": 1, "n": 1}, bson.M{"_id": 2, "n": 9})
	check.Equal(t, sorted(t, database.Collection("large"), bson.M{}), []any{int32(2)})
	check.NoError(t, database.CreateCollection(t.Context(), "ring", options.CreateCollection().SetCapped(true).SetSizeInBytes(4096).SetMaxDocuments(2)))
	insert(t, database.Collection("ring"), bson.M{"_id": 1}, bson.M{"_id": 2}, bson.M{"_id": 3})
	check.Equal(t, sorted(t, database.Collection("ring"), bson.M{}), []any{int32(2), int32(3)})
	check.Equal(t, check.Must(database.ListCollectionNames(t.Context(), bson.M{"name": bson.M{"$in": bson.A{"checked", "large"}}}))(t), []string{"checked", "large"})
	check.NoError(t, database.Collection("checked").Drop(t.Context()))
	check.NoError(t, database.Drop(t.Context()))
	check.Equal(t, len(check.Must(database.Client().ListDatabaseNames(t.Context(), bson.M{"name": "d"}))(t)), 0)
}
