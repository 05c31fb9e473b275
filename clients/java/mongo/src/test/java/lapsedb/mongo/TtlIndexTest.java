package lapsedb.mongo;

import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Filters.exists;
import static com.mongodb.client.model.Indexes.ascending;
import static com.mongodb.client.model.Indexes.descending;
import static com.mongodb.client.model.Updates.set;
import static com.mongodb.client.model.Updates.unset;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.mongodb.client.model.IndexOptions;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.bson.Document;
import org.bson.conversions.Bson;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** TTL indexes on dates: a document expires at the date it holds plus the seconds of the index, to the millisecond. */
class TtlIndexTest extends MongoTest {
    private long now;

    @BeforeEach
    void noteTheTime() {
        now = server.align();
    }

    private void expireAfter(long seconds, Bson key) {
        things.createIndex(key, new IndexOptions().expireAfter(seconds, TimeUnit.SECONDS));
    }

    private void insert(int id, Object until) {
        things.insertOne(new Document("_id", id).append("until", until));
    }

    private Document changeIndex(String index) {
        return database.runCommand(new Document("collMod", "things").append("index", doc(index)));
    }

    @Test
    void aDocumentExpiresAtTheMillisecondOfItsDate() {
        expireAfter(0, ascending("until"));
        insert(1, date(now + 5_000));
        insert(2, date(now + 5_001));
        server.advance("4999ms");
        assertEquals(List.of(1, 2), ids(things.find()));
        server.advance("1ms");
        assertEquals(List.of(2), ids(things.find()));
        server.advance("1ms");
        assertEquals(List.of(), ids(things.find()));
    }

    @Test
    void theSecondsOfTheIndexAreAddedToTheDate() {
        expireAfter(3600, descending("until"));
        insert(1, date(now + 250));
        insert(2, date(now - 3_600_000));
        assertEquals(List.of(1), ids(things.find()));
        server.advance("1h249ms");
        assertEquals(List.of(1), ids(things.find()));
        server.advance("1ms");
        assertEquals(List.of(), ids(things.find()));
    }

    @Test
    void aDocumentInsertedWithAPastDateIsNeverSeen() {
        expireAfter(0, ascending("until"));
        insert(1, date(now));
        insert(1, date(now - 1));
        insert(1, date(now + 1));
        assertEquals(List.of(date(now + 1)), values(things.find(), "until"));
    }

    @Test
    void theEarliestDateOfAnArrayCountsAndWhatIsNoDateDoesNot() {
        expireAfter(0, ascending("until"));
        insert(1, Arrays.asList(date(now + 9_000), "text", null, date(now + 1_000)));
        insert(2, List.of(now, "1970-01-01"));
        insert(3, now);
        insert(4, null);
        insert(5, "1970-01-01T00:00:00Z");
        insert(6, new Document("at", date(0)));
        things.insertOne(doc("{_id: 7}"));
        server.advance("999ms");
        assertEquals(List.of(1, 2, 3, 4, 5, 6, 7), ids(things.find()));
        server.advance("1ms");
        assertEquals(List.of(2, 3, 4, 5, 6, 7), ids(things.find()));
        server.advance("3650d");
        assertEquals(List.of(2, 3, 4, 5, 6, 7), ids(things.find()));
    }

    @Test
    void aDateBelowTheRootExpiresTheDocument() {
        expireAfter(0, ascending("a.until"));
        things.insertOne(new Document("_id", 1).append("a", List.of(new Document("until", date(now + 2_000)), doc("{}"))));
        server.advance("1999ms");
        assertEquals(1, things.countDocuments());
        server.advance("1ms");
        assertEquals(0, things.countDocuments());
    }

    @Test
    void changingTheDateMovesTheExpiryAndRemovingItEndsIt() {
        expireAfter(0, ascending("until"));
        for (int id = 1; id <= 3; id++) {
            insert(id, date(now + 1_000));
        }
        things.updateOne(eq(1), set("until", date(now + 2_000)));
        things.updateOne(eq(2), unset("until"));
        server.advance("1s");
        assertEquals(List.of(1, 2), ids(things.find()));
        assertEquals(0, things.updateOne(eq(3), set("until", date(now + 9_000))).getMatchedCount());
        server.advance("1s");
        assertEquals(List.of(2), ids(things.find()));
    }

    @Test
    void collModShortensTheLifeOfDocumentsAtOnce() {
        expireAfter(3600, ascending("until"));
        insert(1, date(now));
        insert(2, date(now + 30_000));
        server.advance("10s");
        Document changed = changeIndex("{keyPattern: {until: 1}, expireAfterSeconds: 10}");
        assertEquals(3600L, changed.get("expireAfterSeconds_old", Number.class).longValue());
        assertEquals(10L, changed.get("expireAfterSeconds_new", Number.class).longValue());
        assertEquals(List.of(2), ids(things.find()));
        server.advance("29999ms");
        assertEquals(List.of(2), ids(things.find()));
        server.advance("1ms");
        assertEquals(List.of(), ids(things.find()));
    }

    @Test
    void collModThatProlongsLifeBringsNothingBack() {
        expireAfter(10, ascending("until"));
        insert(1, date(now));
        insert(2, date(now + 1));
        server.advance("10s");
        changeIndex("{name: 'until_1', expireAfterSeconds: 100}");
        assertEquals(List.of(2), ids(things.find()));
        things.dropIndex("until_1");
        server.advance("1h");
        assertEquals(List.of(2), ids(things.find()));
    }

    @Test
    void collModMakesATtlIndexOfAnOrdinaryOne() {
        things.createIndex(ascending("until"));
        insert(1, date(now));
        assertEquals(1, things.countDocuments());
        assertNull(changeIndex("{keyPattern: {until: 1}, expireAfterSeconds: 1}").get("expireAfterSeconds_old"));
        server.advance("999ms");
        assertEquals(1, things.countDocuments());
        server.advance("1ms");
        assertEquals(0, things.countDocuments());
    }

    @Test
    void anIndexOverExistingDocumentsExpiresThemFromThenOn() {
        insert(1, date(now - 1));
        insert(2, date(now + 1));
        assertEquals(List.of(1, 2), ids(things.find()));
        expireAfter(0, ascending("until"));
        assertEquals(List.of(2), ids(things.find()));
    }

    @Test
    void theEarliestOfSeveralIndexesCounts() {
        expireAfter(0, ascending("until"));
        expireAfter(60, ascending("seen"));
        things.insertOne(new Document("_id", 1).append("until", date(now + 90_000)).append("seen", date(now)));
        things.insertOne(new Document("_id", 2).append("until", date(now + 30_000)).append("seen", date(now)));
        things.insertOne(new Document("_id", 3).append("until", date(now + 90_000)));
        server.advance("30s");
        assertEquals(List.of(1, 3), ids(things.find()));
        server.advance("30s");
        assertEquals(List.of(3), ids(things.find()));
    }

    @Test
    void aPartialTtlIndexExpiresOnlyWhatItsFilterMatches() {
        things.createIndex(ascending("until"), new IndexOptions().expireAfter(0L, TimeUnit.SECONDS)
                .partialFilterExpression(eq("draft", true)));
        things.insertOne(new Document("_id", 1).append("until", date(now)).append("draft", true));
        things.insertOne(new Document("_id", 2).append("until", date(now)));
        assertEquals(List.of(2), ids(things.find()));
        things.updateOne(eq(2), set("draft", true));
        assertEquals(List.of(), ids(things.find()));
    }

    @Test
    void indexesThatCannotExpireDocumentsAreRefused() {
        refused(67, () -> expireAfter(1, ascending("a", "b")));
        refused(67, () -> expireAfter(-1, ascending("a")));
        refused(67, () -> expireAfter(2_147_483_648L, ascending("a")));
        refused(197, () -> expireAfter(1, ascending("_id")));
        expireAfter(1, ascending("a"));
        refused(85, () -> expireAfter(2, ascending("a")));
        refused(27, () -> changeIndex("{keyPattern: {b: 1}, expireAfterSeconds: 1}"));
        refused(72, () -> changeIndex("{keyPattern: {_id: 1}, expireAfterSeconds: 1}"));
        assertEquals(List.of(1), list(things.listIndexes()).stream()
                .filter(index -> index.containsKey("expireAfterSeconds"))
                .map(index -> index.get("expireAfterSeconds", Number.class).intValue()).toList());
        assertEquals(0, things.countDocuments(exists("a")));
    }
}
