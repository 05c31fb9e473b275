package lapsedb.mongo;

import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Updates.inc;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.mongodb.MongoException;
import com.mongodb.MongoSocketException;
import com.mongodb.WriteConcern;
import com.mongodb.client.ClientSession;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.model.InsertOneModel;
import com.mongodb.client.model.UpdateOneModel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.bson.Document;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The driver sends a command again when its answer was lost or was that of a server in trouble; the server does it once. */
class RetriesTest extends MongoTest {
    private final List<MongoClient> clients = new ArrayList<>();
    private final Commands commands = new Commands();
    private final MongoCollection<Document> retried = retrying(true);

    /** The collection by a client of its own, at which commands will fail. */
    private MongoCollection<Document> retrying(boolean retries) {
        MongoClient own = OneServer.client(settings -> settings.addCommandListener(commands).applicationName(database.getName())
                .retryWrites(retries).retryReads(retries)
                // After a lost connection the driver uses a server again when it has heard from it.
                .applyToServerSettings(beats -> beats.heartbeatFrequency(20, TimeUnit.MILLISECONDS)
                        .minHeartbeatFrequency(20, TimeUnit.MILLISECONDS)));
        clients.add(own);
        return own.getDatabase(database.getName()).getCollection("things");
    }

    /** Lets the next command of this name fail, of this test's clients alone. */
    private void failNext(String command, String how) {
        fail(command, 1, how);
    }

    private void fail(String command, int times, String how) {
        Document data = doc(how).append("failCommands", List.of(command)).append("appName", database.getName());
        client.getDatabase("admin").runCommand(new Document("configureFailPoint", "failCommand")
                .append("mode", new Document("times", times)).append("data", data));
    }

    @AfterEach
    void closeClients() {
        clients.forEach(MongoClient::close);
        client.getDatabase("admin").runCommand(doc("{configureFailPoint: 'failCommand', mode: 'off'}"));
    }

    @Test
    void aWriteIsSentAgainWhenItsConnectionIsClosed() {
        failNext("insert", "{closeConnection: true}");
        retried.insertOne(doc("{_id: 1}"));
        failNext("findAndModify", "{closeConnection: true}");
        assertEquals(doc("{_id: 1}"), retried.findOneAndUpdate(eq(1), inc("n", 1)));
        failNext("update", "{closeConnection: true}");
        retried.bulkWrite(List.of(new InsertOneModel<>(doc("{_id: 2}")), new UpdateOneModel<>(eq(1), inc("n", 1))));
        assertEquals(docs("{_id: 1, n: 2}", "{_id: 2}"), list(things.find()));
        assertEquals(List.of("insert", "insert", "findAndModify", "findAndModify", "insert", "update", "update"), commands.names());
        assertEquals(commands.sent("update").get(0).get("txnNumber"), commands.sent("update").get(1).get("txnNumber"));
    }

    @Test
    void aWriteThatWasDoneIsNotDoneAgain() {
        things.insertOne(doc("{_id: 1, n: 0}"));
        String lost = "{writeConcernError: {code: 91, errmsg: 'shutting down', errorLabels: ['RetryableWriteError']}}";
        failNext("update", lost);
        assertEquals(1, retried.updateOne(eq(1), inc("n", 1)).getModifiedCount());
        assertEquals(doc("{_id: 1, n: 1}"), things.find().first());
        failNext("findAndModify", lost);
        assertEquals(doc("{_id: 1, n: 1}"), retried.findOneAndUpdate(eq(1), inc("n", 1)));
        assertEquals(doc("{_id: 1, n: 2}"), things.find().first());
        failNext("insert", lost);
        retried.insertMany(docs("{_id: 2}", "{_id: 3}"));
        failNext("delete", lost);
        assertEquals(1, retried.deleteOne(eq(2)).getDeletedCount());
        assertEquals(List.of(1, 3), ids(things.find()));
        assertEquals(List.of("update", "update", "findAndModify", "findAndModify", "insert", "insert", "delete", "delete"), commands.names());
    }

    @Test
    void theServerLabelsErrorsAfterWhichAWriteMayBeSentAgain() {
        failNext("insert", "{errorCode: 10107}");
        retried.insertOne(doc("{_id: 1}"));
        failNext("insert", "{errorCode: 2}");
        refused(2, () -> retried.insertOne(doc("{_id: 2}")));
        assertEquals(3, commands.names().size());
        failNext("insert", "{errorCode: 10107}");
        MongoException refusal = refused(10107, () -> retrying(false).insertOne(doc("{_id: 2}")));
        assertFalse(refusal.hasErrorLabel("RetryableWriteError"));
        assertEquals(List.of(1), ids(things.find()));
    }

    @Test
    void whatCouldBeDoneTwiceIsNotSentAgain() {
        things.insertOne(doc("{_id: 1, n: 1}"));
        failNext("update", "{closeConnection: true}");
        assertThrows(MongoSocketException.class, () -> retried.updateMany(eq(1), inc("n", 1)));
        failNext("update", "{closeConnection: true}");
        assertThrows(MongoSocketException.class, () -> retrying(false).updateOne(eq(1), inc("n", 1)));
        assertEquals(docs("{_id: 1, n: 1}"), list(things.find()));
    }

    @Test
    void aReadIsSentAgain() {
        things.insertMany(numbered(3));
        failNext("find", "{closeConnection: true}");
        assertEquals(List.of(0, 1, 2), ids(retried.find()));
        failNext("aggregate", "{errorCode: 11600}");
        assertEquals(3, retried.countDocuments());
        failNext("distinct", "{errorCode: 91}");
        assertEquals(3, retried.distinct("n", Integer.class).into(new ArrayList<>()).size());
        failNext("find", "{closeConnection: true}");
        assertThrows(MongoSocketException.class, () -> retrying(false).find().first());
    }

    @Test
    void aCommitIsSentAgainAndDoneOnce() {
        things.insertOne(doc("{_id: 1, n: 0}"));
        for (String how : List.of("{closeConnection: true}", "{errorCode: 91, errorLabels: ['RetryableWriteError']}",
                "{writeConcernError: {code: 91, errmsg: 'shutting down', errorLabels: ['RetryableWriteError']}}")) {
            try (ClientSession session = clients.get(0).startSession()) {
                session.startTransaction();
                retried.updateOne(session, eq(1), inc("n", 1));
                failNext("commitTransaction", how);
                session.commitTransaction();
            }
        }
        assertEquals(docs("{_id: 1, n: 3}"), list(things.find()));
        assertEquals(6, commands.sent("commitTransaction").size());
    }

    @Test
    void withTransactionCommitsAgainWhenTheResultIsUnknown() {
        try (ClientSession session = clients.get(0).startSession()) {
            things.insertOne(doc("{_id: 0}"));
            fail("commitTransaction", 2, "{closeConnection: true}");
            session.withTransaction(() -> retried.insertOne(session, doc("{_id: 1}")));
        }
        assertEquals(List.of(0, 1), ids(things.find()));
        assertEquals(1, commands.sent("insert").size());
        assertEquals(3, commands.sent("commitTransaction").size());
    }

    @Test
    void aWriteConcernErrorIsReportedAndTheWriteKept() {
        failNext("insert", "{writeConcernError: {code: 64, errmsg: 'waiting for replication timed out'}}");
        refused(64, () -> retried.withWriteConcern(WriteConcern.MAJORITY.withWTimeout(1, TimeUnit.SECONDS)).insertOne(doc("{_id: 1}")));
        assertEquals(List.of(1), ids(things.find()));
    }
}
