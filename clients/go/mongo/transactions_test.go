package mongo

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"lapsedb/clients/check"
)

func begin(t *testing.T, client *mongo.Client, opts ...options.Lister[options.TransactionOptions]) (*mongo.Session, context.Context) {
	t.Helper()
	session := check.Must(client.StartSession())(t)
	t.Cleanup(func() { session.EndSession(context.Background()) })
	check.NoError(t, session.StartTransaction(opts...))
	return session, mongo.NewSessionContext(t.Context(), session)
}

func TestATransactionIsSeenByOthersOnceItCommits(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	insert(t, things, bson.M{"_id": 1, "n": 1})
	session, within := begin(t, things.Database().Client())
	check.Must(things.InsertOne(within, bson.M{"_id": 2}))(t)
	check.Must(things.UpdateByID(within, 1, bson.M{"$inc": bson.M{"n": 1}}))(t)
	check.Must(things.Database().Collection("new").InsertOne(within, bson.M{"_id": 1}))(t)
	check.Equal(t, check.Must(things.CountDocuments(within, bson.M{}))(t), 2)
	check.Equal(t, sorted(t, things, bson.M{}), []any{int32(1)})
	check.NoError(t, session.CommitTransaction(t.Context()))
	check.Equal(t, sorted(t, things, bson.M{}), []any{int32(1), int32(2)})
	check.Equal(t, sorted(t, things, bson.M{"n": 2}), []any{int32(1)})
	check.Equal(t, sorted(t, things.Database().Collection("new"), bson.M{}), []any{int32(1)})
	// A commit may be sent again.
	check.NoError(t, session.CommitTransaction(t.Context()))
}

func TestAnAbortedTransactionLeavesNothing(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	insert(t, things, bson.M{"_id": 1, "n": 1})
	session, within := begin(t, things.Database().Client())
	check.Must(things.DeleteMany(within, bson.M{}))(t)
	check.Must(things.Database().Collection("new").InsertOne(within, bson.M{"_id": 1}))(t)
	check.NoError(t, session.AbortTransaction(t.Context()))
	check.Equal(t, sorted(t, things, bson.M{}), []any{int32(1)})
	check.Equal(t, check.Must(things.Database().ListCollectionNames(t.Context(), bson.M{}))(t), []string{"things"})
}

func TestTheSecondOfTwoWritersHasAConflict(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	insert(t, things, bson.M{"_id": 1, "n": 0})
	_, first := begin(t, things.Database().Client())
	check.Must(things.UpdateByID(first, 1, bson.M{"$inc": bson.M{"n": 1}}))(t)
	_, second := begin(t, things.Database().Client())
	_, err := things.UpdateByID(second, 1, bson.M{"$inc": bson.M{"n": 1}})
	failed(t, err, 112)
	var answer mongo.ServerError
	check.True(t, errors.As(err, &answer) && answer.HasErrorLabel("TransientTransactionError"), "no label: %v", err)
	check.NoError(t, mongo.SessionFromContext(first).CommitTransaction(t.Context()))
}

func TestWritersWithTransactionsLoseNothing(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	insert(t, things, bson.M{"_id": 1, "n": 0})
	client := things.Database().Client()
	const writers = 4
	const rounds = 5
	results := make(chan error, writers)
	for range writers {
		go func() {
			results <- client.UseSession(t.Context(), func(within context.Context) error {
				for range rounds {
					_, err := mongo.SessionFromContext(within).WithTransaction(within, func(within context.Context) (any, error) {
						var found struct{ N int }
						if err := things.FindOne(within, bson.M{"_id": 1}).Decode(&found); err != nil {
							return nil, err
						}
						return things.UpdateByID(within, 1, bson.M{"$set": bson.M{"n": found.N + 1}})
					})
					if err != nil {
						return err
					}
				}
				return nil
			})
		}()
	}
	for range writers {
		check.NoError(t, <-results)
	}
	check.Equal(t, sorted(t, things, bson.M{"n": writers * rounds}), []any{int32(1)})
}

func TestWithTransactionRunsItsBodyAgainAfterAConflict(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	insert(t, things, bson.M{"_id": 1, "n": 0})
	session := check.Must(things.Database().Client().StartSession())(t)
	defer session.EndSession(t.Context())
	runs := 0
	_, err := session.WithTransaction(t.Context(), func(within context.Context) (any, error) {
		runs++
		if err := things.FindOne(within, bson.M{"_id": 1}).Err(); err != nil {
			return nil, err
		}
		if runs == 1 {
			// Another client writes what this transaction has read and is about to write.
			check.Must(things.UpdateByID(t.Context(), 1, bson.M{"$inc": bson.M{"n": 10}}))(t)
		}
		return things.UpdateByID(within, 1, bson.M{"$inc": bson.M{"n": 1}})
	})
	check.NoError(t, err)
	check.Equal(t, runs, 2)
	check.Equal(t, sorted(t, things, bson.M{"n": 11}), []any{int32(1)})
}

func TestWithTransactionAbortsOnTheCallersError(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	session := check.Must(things.Database().Client().StartSession())(t)
	defer session.EndSession(t.Context())
	own := errors.New("changed my mind")
	_, err := session.WithTransaction(t.Context(), func(within context.Context) (any, error) {
		if _, err := things.InsertOne(within, bson.M{"_id": 1}); err != nil {
			return nil, err
		}
		return nil, own
	})
	check.True(t, errors.Is(err, own), "got %v", err)
	check.Equal(t, sorted(t, things, bson.M{}), []any{})
}

func TestATransactionReadsItsSnapshot(t *testing.T) {
	t.Parallel()
	server, things := withCollection(t)
	expireAfter(t, things, "_ts", -1)
	insert(t, things, bson.M{"_id": 1}, bson.M{"_id": 2, "ttl": 5})
	concerns := options.Transaction().SetReadConcern(readconcern.Snapshot()).SetWriteConcern(writeconcern.Majority())
	session, within := begin(t, things.Database().Client(), concerns)
	check.Equal(t, check.Must(things.CountDocuments(within, bson.M{}))(t), 2)
	insert(t, things, bson.M{"_id": 3})
	check.Equal(t, check.Must(things.CountDocuments(within, bson.M{}))(t), 2)
	// What others write is not seen; what expires is not seen either.
	server.Advance("5s")
	check.Equal(t, check.Must(things.CountDocuments(within, bson.M{}))(t), 1)
	check.NoError(t, session.CommitTransaction(t.Context()))
	check.Equal(t, sorted(t, things, bson.M{}), []any{int32(1), int32(3)})
}

func TestACausalSessionReadsItsOwnWrites(t *testing.T) {
	t.Parallel()
	server, things := withCollection(t)
	client := things.Database().Client()
	majority := options.Collection().SetReadConcern(readconcern.Majority()).SetWriteConcern(writeconcern.Majority()).SetReadPreference(readpref.PrimaryPreferred())
	first := check.Must(client.StartSession(options.Session().SetCausalConsistency(true)))(t)
	defer first.EndSession(t.Context())
	careful := things.Clone(majority)
	check.Must(careful.InsertOne(mongo.NewSessionContext(t.Context(), first), bson.M{"_id": 1}))(t)
	check.True(t, first.OperationTime() != nil && first.ClusterTime() != nil, "the session has no time")

	// Another client goes on where this one was.
	settings, counted := monitored(clientOptions(t, server))
	other := connect(t, settings)
	second := check.Must(other.StartSession())(t)
	defer second.EndSession(t.Context())
	check.NoError(t, second.AdvanceClusterTime(first.ClusterTime()))
	check.NoError(t, second.AdvanceOperationTime(first.OperationTime()))
	within := mongo.NewSessionContext(t.Context(), second)
	check.NoError(t, other.Database("d").Collection("things", majority).FindOne(within, bson.M{"_id": 1}).Err())
	seconds, counter := counted.last("find").Lookup("readConcern", "afterClusterTime").Timestamp()
	check.Equal(t, bson.Timestamp{T: seconds, I: counter}, *first.OperationTime())

	// Of a time that has not come yet nothing can be read.
	check.NoError(t, second.AdvanceOperationTime(&bson.Timestamp{T: seconds + 1_000_000, I: 1}))
	err := other.Database("d").Collection("things", majority).FindOne(within, bson.M{"_id": 1}).Err()
	check.True(t, err != nil, "a read after a time to come succeeds")
}

func TestASnapshotSessionReadsOneMoment(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	insert(t, things, bson.M{"_id": 1})
	session := check.Must(things.Database().Client().StartSession(options.Session().SetSnapshot(true)))(t)
	defer session.EndSession(t.Context())
	within := mongo.NewSessionContext(t.Context(), session)
	check.Equal(t, check.Must(things.CountDocuments(within, bson.M{}))(t), 1)
	insert(t, things, bson.M{"_id": 2})
	check.Equal(t, check.Must(things.CountDocuments(within, bson.M{}))(t), 1)
	check.Equal(t, sorted(t, things, bson.M{}), []any{int32(1), int32(2)})
}

func TestConcernsAndPreferencesAreHeeded(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	insert(t, things, bson.M{"_id": 0})
	for _, concern := range []*writeconcern.WriteConcern{writeconcern.W1(), writeconcern.Majority(), writeconcern.Journaled(), writeconcern.Unacknowledged()} {
		result := check.Must(things.Clone(options.Collection().SetWriteConcern(concern)).InsertOne(t.Context(), bson.M{}))(t)
		check.Equal(t, result.Acknowledged, concern.Acknowledged())
	}
	_, err := things.Clone(options.Collection().SetWriteConcern(&writeconcern.WriteConcern{W: 3})).InsertOne(t.Context(), bson.M{})
	var failure mongo.WriteException
	check.True(t, errors.As(err, &failure) && failure.WriteConcernError != nil && failure.WriteConcernError.Code == 100, "got %v", err)
	for _, concern := range []*readconcern.ReadConcern{readconcern.Local(), readconcern.Available(), readconcern.Majority(), readconcern.Linearizable(), readconcern.Snapshot()} {
		check.Equal(t, sorted(t, things.Clone(options.Collection().SetReadConcern(concern)), bson.M{"_id": 0}), []any{int32(0)})
	}
	_, err = things.Clone(options.Collection().SetReadConcern(&readconcern.ReadConcern{Level: "nearly"})).Find(t.Context(), bson.M{})
	failed(t, err, 9)
	for _, preference := range []*readpref.ReadPref{readpref.Primary(), readpref.PrimaryPreferred(), readpref.SecondaryPreferred(), readpref.Nearest()} {
		check.Equal(t, sorted(t, things.Clone(options.Collection().SetReadPreference(preference)), bson.M{"_id": 0}), []any{int32(0)})
	}
}
