package lapsedb.mongo;

import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Updates.set;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.mongodb.ClientSessionOptions;
import com.mongodb.client.ClientSession;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoCursor;
import java.util.ArrayList;
import java.util.List;
import org.bson.BsonDocument;
import org.bson.BsonTimestamp;
import org.bson.Document;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What belongs together is sent in a session: reads after writes, snapshots, cursors. */
class SessionsTest extends MongoTest {
    private final Commands commands = new Commands();
    private final MongoClient own = OneServer.client(settings -> settings.addCommandListener(commands));
    private final MongoCollection<Document> watched = own.getDatabase(database.getName()).getCollection("things");

    @AfterEach
    void closeClient() {
        own.close();
    }

    @Test
    void aCausalSessionReadsAfterWhatItHasSeen() {
        try (ClientSession session = own.startSession(ClientSessionOptions.builder().causallyConsistent(true).build())) {
            watched.insertOne(session, doc("{_id: 1}"));
            BsonTimestamp written = session.getOperationTime();
            assertNotNull(written);
            assertEquals(List.of(1), ids(watched.find(session)));
            BsonDocument concern = commands.sent("find").get(0).getDocument("readConcern");
            assertEquals(written, concern.getTimestamp("afterClusterTime"));
            watched.updateOne(session, eq(1), set("n", 1));
            assertTrue(session.getOperationTime().compareTo(written) > 0);
        }
    }

    @Test
    void anotherClientReadsAfterTheTimeItIsGiven() {
        try (ClientSession writer = own.startSession(); ClientSession reader = client.startSession()) {
            for (int n = 0; n < 20; n++) {
                watched.insertOne(writer, new Document("_id", n));
                reader.advanceClusterTime(writer.getClusterTime());
                reader.advanceOperationTime(writer.getOperationTime());
                assertEquals(n + 1, things.countDocuments(reader));
            }
        }
    }

    @Test
    void aSnapshotSessionReadsTheStateOfItsFirstRead() {
        things.insertMany(numbered(3));
        try (ClientSession session = own.startSession(ClientSessionOptions.builder().snapshot(true).build())) {
            assertEquals(3, watched.countDocuments(session));
            things.insertOne(doc("{_id: 7}"));
            things.deleteOne(eq(0));
            assertEquals(numbered(3), list(watched.find(session)));
            assertEquals(List.of(0, 1, 2), watched.distinct(session, "n", Integer.class).into(new ArrayList<>()));
            BsonDocument first = commands.sent("aggregate").get(0).getDocument("readConcern");
            BsonDocument later = commands.sent("find").get(0).getDocument("readConcern");
            assertEquals("snapshot", first.getString("level").getValue());
            assertFalse(first.containsKey("atClusterTime"));
            assertNotNull(later.getTimestamp("atClusterTime"));
        }
        assertEquals(List.of(1, 2, 7), ids(things.find()));
    }

    @Test
    void everyCommandHasASessionAndTheBatchesOfACursorTheSame() {
        watched.insertMany(numbered(5));
        assertEquals(5, ids(watched.find().batchSize(2)).size());
        List<BsonDocument> more = commands.sent("getMore");
        assertEquals(2, more.size());
        BsonDocument opened = commands.sent("find").get(0);
        more.forEach(command -> assertEquals(opened.getDocument("lsid"), command.getDocument("lsid")));
        assertTrue(commands.sent("insert").get(0).containsKey("lsid"));
        own.close();
        assertFalse(commands.sent("endSessions").get(0).getArray("endSessions").isEmpty());
    }

    @Test
    void killingASessionClosesItsCursors() {
        things.insertMany(numbered(10));
        try (ClientSession session = own.startSession();
                MongoCursor<Document> cursor = watched.find(session).batchSize(2).iterator()) {
            cursor.next();
            cursor.next();
            client.getDatabase("admin").runCommand(
                    new Document("killSessions", List.of(new Document("id", session.getServerSession().getIdentifier().get("id")))));
            refused(43, cursor::next);
        }
    }
}
