package lapsedb.mongo;

import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Indexes.ascending;
import static com.mongodb.client.model.Updates.inc;
import static com.mongodb.client.model.Updates.set;
import static com.mongodb.client.model.Updates.unset;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.mongodb.client.model.IndexOptions;
import com.mongodb.client.model.UpdateOptions;
import com.mongodb.client.result.UpdateResult;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.bson.Document;
import org.bson.types.Decimal128;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The index on `_ts` is the default time to live of a collection, and with it a document's `ttl` counts. */
class DefaultTtlTest extends MongoTest {
    /** `_ts` is whole seconds: what is written at the start of one lives to the millisecond. */
    @BeforeEach
    void startASecond() {
        server.align();
    }

    private void defaultTtl(long seconds) {
        things.createIndex(ascending("_ts"), new IndexOptions().expireAfter(seconds, TimeUnit.SECONDS));
    }

    private void changeDefaultTtl(int seconds) {
        Document index = new Document("keyPattern", doc("{_ts: 1}")).append("expireAfterSeconds", seconds);
        database.runCommand(new Document("collMod", "things").append("index", index));
    }

    private void insert(int id, Object ttl) {
        things.insertOne(new Document("_id", id).append("ttl", ttl));
    }

    @Test
    void documentsExpireByTheDefaultByTheirOwnTtlOrNever() {
        defaultTtl(3600);
        things.insertMany(docs("{_id: 1}", "{_id: 2, ttl: 60}", "{_id: 3, ttl: -1}", "{_id: 4, ttl: 7200}"));
        server.advance("59999ms");
        assertEquals(List.of(1, 2, 3, 4), ids(things.find()));
        server.advance("1ms");
        assertEquals(List.of(1, 3, 4), ids(things.find()));
        server.advance("3539999ms");
        assertEquals(List.of(1, 3, 4), ids(things.find()));
        server.advance("1ms");
        assertEquals(List.of(3, 4), ids(things.find()));
        server.advance("1h");
        assertEquals(List.of(3), ids(things.find()));
        server.advance("3650d");
        assertEquals(List.of(3), ids(things.find()));
    }

    @Test
    void aDocumentLivesFromTheSecondOfItsWrite() {
        defaultTtl(1);
        server.advance("999ms");
        insert(1, null);
        assertEquals(List.of(1), ids(things.find()));
        server.advance("1ms");
        assertEquals(List.of(), ids(things.find()));
    }

    @Test
    void withADefaultOfMinusOneOnlyTheirOwnTtlExpiresDocuments() {
        defaultTtl(-1);
        things.insertMany(docs("{_id: 1}", "{_id: 2, ttl: 5}"));
        server.advance("5s");
        assertEquals(List.of(1), ids(things.find()));
        server.advance("3650d");
        assertEquals(List.of(1), ids(things.find()));
    }

    @Test
    void withoutTheIndexOnTsATtlIsPlainData() {
        things.insertOne(doc("{_id: 1, ttl: 1}"));
        things.createIndex(ascending("until"), new IndexOptions().expireAfter(0L, TimeUnit.SECONDS));
        server.advance("1h");
        assertEquals(docs("{_id: 1, ttl: 1}"), list(things.find()));
    }

    @Test
    void integralNumbersOfAnyTypeAreATtl() {
        defaultTtl(1000);
        insert(1, 10);
        insert(2, 10L);
        insert(3, 10.0);
        insert(4, -1L);
        insert(5, -1.0);
        server.advance("9999ms");
        assertEquals(List.of(1, 2, 3, 4, 5), ids(things.find()));
        server.advance("1ms");
        assertEquals(List.of(4, 5), ids(things.find()));
        server.advance("990s");
        assertEquals(List.of(4, 5), ids(things.find()));
    }

    @Test
    void whatIsNoTtlIsKeptAndTheDefaultCounts() {
        defaultTtl(1000);
        List<Object> ignored = List.of(0, -2, 2_147_483_648L, 4_294_967_297L, 1.5, Double.NaN, Double.POSITIVE_INFINITY, "60", true,
                List.of(60), doc("{ttl: 60}"), date(1), Decimal128.parse("60"));
        for (int id = 0; id < ignored.size(); id++) {
            insert(id, ignored.get(id));
        }
        server.advance("999999ms");
        assertEquals(ignored, values(things.find(), "ttl"));
        server.advance("1ms");
        assertEquals(List.of(), ids(things.find()));
    }

    @Test
    void aChangeRenewsADocumentAndAReadOrAChangeOfNothingDoesNot() {
        defaultTtl(10);
        things.insertMany(docs("{_id: 1, n: 1}", "{_id: 2, n: 1}", "{_id: 3, n: 1}", "{_id: 4, n: 1}"));
        server.advance("9s");
        things.updateOne(eq(1), inc("n", 1));
        things.replaceOne(eq(2), doc("{n: 2}"));
        assertEquals(UpdateResult.acknowledged(1, 0L, null), things.updateOne(eq(3), set("n", 1)));
        things.find(eq(4)).first();
        server.advance("1s");
        assertEquals(List.of(1, 2), ids(things.find()));
        server.advance("8999ms");
        assertEquals(List.of(1, 2), ids(things.find()));
        server.advance("1ms");
        assertEquals(List.of(), ids(things.find()));
    }

    @Test
    void anUpdateOfTheTtlCountsFromItsOwnTime() {
        defaultTtl(100);
        things.insertMany(docs("{_id: 1, ttl: 10}", "{_id: 2, ttl: 10}", "{_id: 3, ttl: 10}"));
        server.advance("5s");
        things.updateOne(eq(1), set("ttl", 20));
        things.updateOne(eq(2), unset("ttl"));
        things.findOneAndUpdate(eq(3), inc("ttl", -11));
        server.advance("19999ms");
        assertEquals(List.of(1, 2, 3), ids(things.find()));
        server.advance("1ms");
        assertEquals(List.of(2, 3), ids(things.find()));
        server.advance("80s");
        assertEquals(List.of(3), ids(things.find()));
    }

    @Test
    void anUpsertOfAnExpiredDocumentStartsANewOne() {
        defaultTtl(10);
        things.insertOne(doc("{_id: 1, old: true}"));
        server.advance("10s");
        UpdateResult done = things.updateOne(eq(1), set("n", 1), new UpdateOptions().upsert(true));
        assertEquals(0, done.getMatchedCount());
        assertEquals(1, done.getUpsertedId().asInt32().getValue());
        assertEquals(docs("{_id: 1, n: 1}"), list(things.find()));
    }

    @Test
    void collModChangesTheDefaultAndBringsNothingBack() {
        defaultTtl(10);
        things.insertMany(docs("{_id: 1}", "{_id: 2, ttl: 1000}"));
        server.advance("10s");
        things.insertOne(doc("{_id: 3}"));
        changeDefaultTtl(100);
        assertEquals(List.of(2, 3), ids(things.find()));
        server.advance("50s");
        assertEquals(List.of(2, 3), ids(things.find()));
        changeDefaultTtl(50);
        assertEquals(List.of(2), ids(things.find()));
        changeDefaultTtl(-1);
        assertEquals(List.of(2), ids(things.find()));
    }

    @Test
    void droppingTheIndexEndsExpiryAndBringsNothingBack() {
        defaultTtl(10);
        things.insertOne(doc("{_id: 1}"));
        server.advance("1s");
        things.insertMany(docs("{_id: 2}", "{_id: 3, ttl: 5}"));
        server.advance("9s");
        things.dropIndex("_ts_1");
        assertEquals(List.of(2), ids(things.find()));
        server.advance("3650d");
        assertEquals(List.of(2), ids(things.find()));
    }

    @Test
    void theIndexIsListedAndASecondOneWithAnotherTimeIsRefused() {
        refused(67, () -> defaultTtl(0));
        refused(67, () -> defaultTtl(-2));
        defaultTtl(30);
        refused(85, () -> defaultTtl(31));
        Document index = list(things.listIndexes()).get(1);
        assertEquals(doc("{_ts: 1}"), index.get("key"));
        assertEquals("_ts_1", index.get("name"));
        assertEquals(30L, index.get("expireAfterSeconds", Number.class).longValue());
    }
}
