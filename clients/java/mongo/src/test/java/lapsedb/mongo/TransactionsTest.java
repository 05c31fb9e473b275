package lapsedb.mongo;

import static com.mongodb.client.model.Aggregates.group;
import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Filters.gte;
import static com.mongodb.client.model.Indexes.ascending;
import static com.mongodb.client.model.Updates.inc;
import static com.mongodb.client.model.Updates.set;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.mongodb.MongoException;
import com.mongodb.ReadConcern;
import com.mongodb.TransactionOptions;
import com.mongodb.WriteConcern;
import com.mongodb.client.ClientSession;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoCursor;
import com.mongodb.client.model.Accumulators;
import com.mongodb.client.model.FindOneAndUpdateOptions;
import com.mongodb.client.model.IndexOptions;
import com.mongodb.client.model.InsertOneModel;
import com.mongodb.client.model.ReturnDocument;
import com.mongodb.client.model.UpdateOneModel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.bson.BsonBoolean;
import org.bson.BsonDocument;
import org.bson.Document;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Several writes become visible together or not at all. */
class TransactionsTest extends MongoTest {
    private static final int WRITE_CONFLICT = 112;
    private static final int NO_SUCH_TRANSACTION = 251;

    private final MongoCollection<Document> others = database.getCollection("others");
    private final ClientSession session = client.startSession();
    private final ClientSession second = client.startSession();

    @AfterEach
    void closeSessions() {
        session.close();
        second.close();
    }

    @Test
    void whatIsCommittedIsSeenTogetherAndNotBefore() {
        others.insertOne(doc("{_id: 1, n: 1}"));
        session.startTransaction();
        things.insertOne(session, doc("{_id: 1}"));
        others.updateOne(session, eq(1), inc("n", 1));
        assertEquals(1, things.countDocuments(session));
        assertEquals(docs("{_id: 1, n: 2}"), list(others.find(session)));
        assertEquals(0, things.countDocuments());
        assertEquals(docs("{_id: 1, n: 1}"), list(others.find()));
        session.commitTransaction();
        assertEquals(1, things.countDocuments());
        assertEquals(docs("{_id: 1, n: 2}"), list(others.find()));
    }

    @Test
    void whatIsAbortedHasNotHappened() {
        things.insertOne(doc("{_id: 1, n: 1}"));
        session.startTransaction();
        things.updateOne(session, eq(1), inc("n", 1));
        things.insertOne(session, doc("{_id: 2}"));
        others.insertOne(session, doc("{_id: 1}"));
        session.abortTransaction();
        assertEquals(docs("{_id: 1, n: 1}"), list(things.find()));
        assertEquals(List.of("things"), database.listCollectionNames().into(new ArrayList<>()));
        session.startTransaction();
        things.deleteOne(session, eq(1));
        session.close();
        assertEquals(1, things.countDocuments());
    }

    @Test
    void aTransactionReadsTheStateOfItsFirstRead() {
        things.insertMany(numbered(3));
        session.startTransaction(TransactionOptions.builder().readConcern(ReadConcern.SNAPSHOT).build());
        assertEquals(3, things.countDocuments(session));
        things.deleteOne(eq(0));
        things.updateOne(eq(1), set("n", 100));
        things.insertOne(doc("{_id: 7}"));
        assertEquals(numbered(3), list(things.find(session)));
        assertEquals(docs("{_id: null, n: 3}"), list(things.aggregate(session, List.of(group(null, Accumulators.sum("n", "$n"))))));
        session.commitTransaction();
        assertEquals(List.of(1, 2, 7), ids(things.find()));
    }

    @Test
    void theSecondWriterOfADocumentIsRefusedAndItsTransactionIsOver() {
        things.insertOne(doc("{_id: 1, n: 0}"));
        session.startTransaction();
        second.startTransaction();
        things.updateOne(session, eq(1), set("n", 1));
        MongoException conflict = refused(WRITE_CONFLICT, () -> things.updateOne(second, eq(1), set("n", 2)));
        assertTrue(conflict.hasErrorLabel(MongoException.TRANSIENT_TRANSACTION_ERROR_LABEL));
        MongoException over = refused(NO_SUCH_TRANSACTION, () -> things.find(second).first());
        assertTrue(over.hasErrorLabel(MongoException.TRANSIENT_TRANSACTION_ERROR_LABEL));
        session.commitTransaction();
        assertEquals(docs("{_id: 1, n: 1}"), list(things.find()));
    }

    @Test
    void transactionsThatTouchDifferentDocumentsBothCommit() {
        things.insertMany(numbered(2));
        session.startTransaction();
        second.startTransaction();
        things.updateOne(session, eq(0), set("n", 10));
        things.updateOne(second, eq(1), set("n", 11));
        session.commitTransaction();
        second.commitTransaction();
        assertEquals(List.of(10, 11), values(things.find(), "n"));
    }

    @Test
    void withTransactionRunsItsBodyAgainAfterAConflict() {
        things.insertOne(doc("{_id: 1, n: 1}"));
        AtomicInteger runs = new AtomicInteger();
        String result = session.withTransaction(() -> {
            int n = things.find(session, eq(1)).first().getInteger("n");
            if (runs.incrementAndGet() == 1) {
                things.updateOne(eq(1), inc("n", 100));
            }
            things.updateOne(session, eq(1), set("n", n + 1));
            return "done";
        });
        assertEquals("done", result);
        assertEquals(2, runs.get());
        assertEquals(docs("{_id: 1, n: 102}"), list(things.find()));
    }

    @Test
    void aBodyThatThrowsIsRolledBack() {
        IllegalStateException thrown = assertThrows(IllegalStateException.class,
                () -> session.withTransaction(() -> {
                    things.insertOne(session, doc("{_id: 1}"));
                    throw new IllegalStateException("no");
                }));
        assertEquals("no", thrown.getMessage());
        assertEquals(0, things.countDocuments());
        assertFalse(session.hasActiveTransaction());
    }

    @Test
    void aDuplicateKeyEndsTheTransaction() {
        things.insertOne(doc("{_id: 1}"));
        session.startTransaction();
        things.insertOne(session, doc("{_id: 2}"));
        refused(11000, () -> things.insertOne(session, doc("{_id: 1}")));
        refused(NO_SUCH_TRANSACTION, () -> things.insertOne(session, doc("{_id: 3}")));
        session.abortTransaction();
        assertEquals(List.of(1), ids(things.find()));
    }

    @Test
    void writesOfAllKindsBelongToTheTransaction() {
        things.insertMany(numbered(4));
        session.startTransaction();
        things.bulkWrite(session, List.of(new InsertOneModel<>(doc("{_id: 9, n: 9}")), new UpdateOneModel<>(eq(0), set("n", 50))));
        things.deleteMany(session, eq("n", 1));
        things.replaceOne(session, eq(2), doc("{n: 60}"));
        assertEquals(doc("{_id: 3, n: 70}"), things.findOneAndUpdate(session, eq(3), set("n", 70),
                new FindOneAndUpdateOptions().returnDocument(ReturnDocument.AFTER)));
        assertEquals(List.of(50, 60, 70, 9), things.distinct(session, "n", Integer.class).into(new ArrayList<>()).stream()
                .sorted((a, b) -> Integer.compare(a == 9 ? 99 : a, b == 9 ? 99 : b)).toList());
        assertEquals(numbered(4), list(things.find()));
        session.commitTransaction();
        assertEquals(docs("{_id: 0, n: 50}", "{_id: 2, n: 60}", "{_id: 3, n: 70}", "{_id: 9, n: 9}"),
                list(things.find().sort(new Document("_id", 1))));
    }

    @Test
    void aCursorOfATransactionGoesOnInItsSnapshot() {
        things.insertMany(numbered(10));
        session.startTransaction();
        try (MongoCursor<Document> cursor = things.find(session, gte("n", 0)).batchSize(3).iterator()) {
            cursor.next();
            things.deleteMany(gte("n", 5));
            int rest = 0;
            while (cursor.hasNext()) {
                cursor.next();
                rest++;
            }
            assertEquals(9, rest);
        }
        session.commitTransaction();
    }

    @Test
    void documentsExpireDuringATransaction() {
        long now = server.align();
        things.createIndex(ascending("until"), new IndexOptions().expireAfter(0L, TimeUnit.SECONDS));
        things.insertOne(new Document("_id", 1).append("until", date(now + 1_000)));
        session.startTransaction();
        assertEquals(1, things.countDocuments(session));
        server.advance("1s");
        assertEquals(0, things.countDocuments(session));
        assertEquals(0, things.updateOne(session, eq(1), set("n", 1)).getMatchedCount());
        session.commitTransaction();
        assertEquals(0, things.countDocuments());
    }

    @Test
    void theOptionsOfATransactionAreSentWithItsFirstCommandAndItsCommit() {
        Commands commands = new Commands();
        try (var own = OneServer.client(settings -> settings.addCommandListener(commands)); ClientSession its = own.startSession()) {
            MongoCollection<Document> watched = own.getDatabase(database.getName()).getCollection("things");
            its.startTransaction(TransactionOptions.builder().readConcern(ReadConcern.SNAPSHOT).writeConcern(WriteConcern.MAJORITY).build());
            watched.insertOne(its, doc("{_id: 1}"));
            watched.insertOne(its, doc("{_id: 2}"));
            its.commitTransaction();
            // Committing again is allowed, and asks the server again.
            its.commitTransaction();
        }
        List<BsonDocument> inserts = commands.sent("insert");
        assertEquals(BsonBoolean.TRUE, inserts.get(0).get("startTransaction"));
        assertEquals("snapshot", inserts.get(0).getDocument("readConcern").getString("level").getValue());
        assertFalse(inserts.get(1).containsKey("startTransaction"));
        assertEquals(inserts.get(0).get("txnNumber"), inserts.get(1).get("txnNumber"));
        assertEquals(2, commands.sent("commitTransaction").size());
        assertEquals(List.of(), commands.failed());
        assertEquals(List.of(1, 2), ids(things.find()));
    }

    @Test
    void whatCannotBeInATransactionIsRefused() {
        things.insertOne(doc("{_id: 1}"));
        session.startTransaction();
        refused(263, () -> things.createIndex(session, ascending("a")));
        session.abortTransaction();
        session.startTransaction();
        refused(263, () -> database.runCommand(session, doc("{count: 'things'}")));
        session.abortTransaction();
    }
}
