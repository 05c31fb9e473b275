package lapsedb.mongo;

import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Filters.gt;
import static com.mongodb.client.model.Filters.gte;
import static com.mongodb.client.model.Sorts.ascending;
import static com.mongodb.client.model.Sorts.descending;
import static com.mongodb.client.model.Sorts.orderBy;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.mongodb.CursorType;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoCursor;
import com.mongodb.client.model.CreateCollectionOptions;
import com.mongodb.client.model.Indexes;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.bson.Document;
import org.bson.conversions.Bson;
import org.junit.jupiter.api.Test;

/** Results come in batches: each document once, in the order that was asked for, until the cursor is closed. */
class CursorsTest extends MongoTest {
    private static List<Object> range(int from, int to) {
        return IntStream.range(from, to).mapToObj(n -> (Object) n).toList();
    }

    @Test
    void aCursorFetchesItsBatchesOneAfterTheOther() {
        Commands commands = new Commands();
        try (var own = OneServer.client(settings -> settings.addCommandListener(commands))) {
            MongoCollection<Document> watched = own.getDatabase(database.getName()).getCollection("things");
            watched.insertMany(numbered(25));
            assertEquals(range(0, 25), ids(watched.find().batchSize(10)));
            assertEquals(List.of("insert", "find", "getMore", "getMore"), commands.names());
            assertEquals(List.of(10, 10, 5), commands.batches());
        }
    }

    @Test
    void aFirstBatchHasHundredAndOneDocumentsByDefault() {
        things.insertMany(numbered(150));
        try (MongoCursor<Document> cursor = things.find().iterator()) {
            cursor.next();
            assertEquals(100, cursor.available());
        }
        Document all = database.runCommand(doc("{find: 'things', batchSize: 200}")).get("cursor", Document.class);
        assertEquals(0L, all.get("id"));
        assertEquals(150, all.getList("firstBatch", Document.class).size());
    }

    @Test
    void aLimitEndsTheCursorAndANegativeOneGivesASingleBatch() {
        things.insertMany(numbered(20));
        assertEquals(range(0, 7), ids(things.find().limit(7).batchSize(3)));
        try (MongoCursor<Document> cursor = things.find().limit(-5).iterator()) {
            assertNull(cursor.getServerCursor());
            assertEquals(5, cursor.available());
        }
        assertEquals(range(15, 20), ids(things.find().skip(15).limit(10)));
    }

    @Test
    void pagesBySkipAndLimitAndByTheLastKeyCoverAll() {
        things.createIndex(Indexes.compoundIndex(Indexes.ascending("g"), Indexes.descending("n")));
        List<Document> documents = numbered(53);
        documents.forEach(document -> document.append("g", document.getInteger("n") % 3));
        things.insertMany(documents);
        Bson order = orderBy(ascending("g"), descending("n"));
        List<Object> expected = ids(things.find().sort(order));
        List<Object> skipped = new ArrayList<>();
        for (int page = 0; page * 10 < 53; page++) {
            skipped.addAll(ids(things.find().sort(order).skip(page * 10).limit(10)));
        }
        assertEquals(expected, skipped);
        assertEquals(53, expected.stream().distinct().count());
        assertEquals("g_1_n_-1", plan(things.find().sort(order).limit(10).explain()));

        List<Object> followed = new ArrayList<>();
        Object last = -1;
        while (followed.size() < 53) {
            List<Object> page = ids(things.find(gt("_id", last)).sort(ascending("_id")).limit(10));
            followed.addAll(page);
            last = page.get(page.size() - 1);
        }
        assertEquals(range(0, 53), followed);
    }

    @Test
    void aSortReadsTheIndexBothWays() {
        things.createIndex(Indexes.ascending("n"));
        things.insertMany(numbered(30));
        assertEquals("n_1", plan(things.find(gte("n", 10)).sort(descending("n")).explain()));
        assertEquals(List.of(29, 28, 27), ids(things.find(gte("n", 10)).sort(descending("n")).limit(3)));
        assertEquals(List.of(10, 11), ids(things.find(gte("n", 10)).sort(ascending("n")).limit(2)));
        assertEquals("SORT", things.find().sort(ascending("x")).explain().get("queryPlanner", Document.class)
                .get("winningPlan", Document.class).get("stage"));
    }

    @Test
    void aCursorGivesNoDocumentTwiceThatChangesMeanwhile() {
        things.createIndex(Indexes.ascending("n"));
        things.insertMany(numbered(10));
        List<Object> seen = new ArrayList<>();
        try (MongoCursor<Document> cursor = things.find().sort(ascending("_id")).batchSize(2).iterator()) {
            while (cursor.hasNext()) {
                Object id = cursor.next().get("_id");
                seen.add(id);
                things.updateOne(eq(id), new Document("$inc", doc("{n: 100}")));
            }
        }
        assertEquals(range(0, 10), seen);
    }

    @Test
    void aClosedCursorCannotBeContinued() {
        things.insertMany(numbered(10));
        long id;
        try (MongoCursor<Document> cursor = things.find().batchSize(2).iterator()) {
            assertNotNull(cursor.getServerCursor());
            id = cursor.getServerCursor().getId();
        }
        refused(43, () -> database.runCommand(new Document("getMore", id).append("collection", "things")));
    }

    @Test
    void aTailableCursorWaitsForWhatIsInsertedNext() {
        database.createCollection("log", new CreateCollectionOptions().capped(true).sizeInBytes(100_000).maxDocuments(3));
        MongoCollection<Document> log = database.getCollection("log");
        log.insertMany(numbered(5));
        assertEquals(range(2, 5), ids(log.find()));
        try (MongoCursor<Document> cursor = log.find().cursorType(CursorType.TailableAwait).iterator()) {
            for (int id = 2; id < 5; id++) {
                assertEquals(id, cursor.next().get("_id"));
            }
            Thread writer = new Thread(() -> log.insertOne(doc("{_id: 9}")));
            writer.start();
            assertEquals(9, cursor.next().get("_id"));
            writer.join();
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }
}
