package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.ids;
import static lapsedb.cosmos.Expect.item;
import static lapsedb.cosmos.Expect.json;
import static lapsedb.cosmos.Expect.key;
import static lapsedb.cosmos.Expect.list;
import static lapsedb.cosmos.Expect.query;
import static lapsedb.cosmos.Expect.refused;
import static lapsedb.cosmos.Shared.SERVER;
import static lapsedb.cosmos.Shared.async;
import static lapsedb.cosmos.Shared.container;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosBatch;
import com.azure.cosmos.models.CosmosBatchResponse;
import com.azure.cosmos.models.CosmosBulkOperations;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemIdentity;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.UniqueKey;
import com.azure.cosmos.models.UniqueKeyPolicy;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Time to live on a clock that the test moves: `_ts + ttl` is the first second without the item. */
class TtlTest {
    private CosmosContainer container = withDefault(10);

    private static CosmosContainer withDefault(Integer seconds) {
        return container(properties -> properties.setDefaultTimeToLiveInSeconds(seconds));
    }

    @BeforeEach
    void atTheStartOfASecond() {
        SERVER.align();
    }

    private ObjectNode read(String id) {
        return container.readItem(id, key("a"), ObjectNode.class).getItem();
    }

    private void absent(String id) {
        refused(404, 0, () -> read(id));
    }

    private void setDefault(Integer seconds) {
        CosmosContainerProperties properties = container.read().getProperties();
        container.replace(properties.setDefaultTimeToLiveInSeconds(seconds));
    }

    /** The ids on which every way of listing agrees. */
    private List<String> everyListing() {
        List<String> found = ids(query(container, "SELECT * FROM c ORDER BY c.id", ObjectNode.class));
        assertEquals(List.of(found.size()), query(container, "SELECT VALUE COUNT(1) FROM c", Integer.class));
        assertEquals(found, ids(container.readAllItems(key("a"), ObjectNode.class)).stream().sorted().toList());
        assertEquals(found, query(container, "SELECT DISTINCT VALUE c.id FROM c ORDER BY c.id", String.class));
        List<CosmosItemIdentity> all = Stream.of("1", "2", "3", "short", "default", "long", "never", "kept", "bad")
                .map(id -> new CosmosItemIdentity(key("a"), id)).toList();
        assertEquals(found, ids(container.readMany(all, ObjectNode.class).getResults()).stream().sorted().toList());
        assertEquals(found, ids(async(container).readMany(all, ObjectNode.class).block().getResults()).stream().sorted().toList());
        CosmosChangeFeedRequestOptions changes = CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(FeedRange.forFullRange());
        assertEquals(found, ids(container.queryChangeFeed(changes, ObjectNode.class)).stream().sorted().toList());
        return found;
    }

    @Test
    void anItemLivesToTheLastMillisecond() {
        ObjectNode created = container.createItem(item("1", "a")).getItem();
        assertEquals((created.get("_ts").longValue() + 10) * 1000 - 1, SERVER.advance("9999ms"));
        assertEquals(created, read("1"));
        assertEquals(List.of("1"), everyListing());
        SERVER.advance("1ms");
        absent("1");
        refused(404, 0, () -> async(container).readItem("1", key("a"), ObjectNode.class).block());
        assertEquals(List.of(), everyListing());
    }

    @Test
    void theItemsOwnTimeToLiveWinsShorterAndLonger() {
        container.createItem(item("short", "a", "ttl", 5));
        container.createItem(item("default", "a"));
        container.createItem(item("long", "a", "ttl", 20));
        container.createItem(item("never", "a", "ttl", -1));
        SERVER.advance("5s");
        assertEquals(List.of("default", "long", "never"), everyListing());
        SERVER.advance("5s");
        assertEquals(List.of("long", "never"), everyListing());
        SERVER.advance("3650d");
        assertEquals(List.of("never"), everyListing());
    }

    @Test
    void withoutADefaultOnlyItemsThatSaySoExpire() {
        container = withDefault(-1);
        container.createItem(item("1", "a"));
        container.createItem(item("2", "a", "ttl", 1));
        SERVER.advance("1s");
        assertEquals(List.of("1"), everyListing());
    }

    @Test
    void whileTimeToLiveIsOffNothingExpires() {
        container = withDefault(null);
        container.createItem(item("1", "a", "ttl", 5));
        SERVER.advance("5s");
        assertEquals(List.of("1"), everyListing());
        setDefault(-1);
        assertEquals(List.of(), everyListing());
    }

    @Test
    void aWriteRenewsAndAReadDoesNot() {
        for (String id : List.of("1", "2", "3")) {
            container.createItem(item(id, "a"));
        }
        SERVER.advance("9s");
        container.patchItem("1", key("a"), CosmosPatchOperations.create().set("/n", 1), ObjectNode.class);
        container.upsertItem(item("2", "a"));
        read("3");
        SERVER.advance("9s");
        assertEquals(List.of("1", "2"), everyListing());
    }

    @Test
    void aPatchMayChangeOrRemoveTheTimeToLive() {
        for (String id : List.of("1", "2", "3")) {
            container.createItem(item(id, "a", "ttl", 30));
        }
        SERVER.advance("8s");
        container.patchItem("1", key("a"), CosmosPatchOperations.create().set("/ttl", 5), ObjectNode.class);
        container.patchItem("2", key("a"), CosmosPatchOperations.create().remove("/ttl"), ObjectNode.class);
        container.patchItem("3", key("a"), CosmosPatchOperations.create().increment("/ttl", -29), ObjectNode.class);
        SERVER.advance("1s");
        assertEquals(List.of("1", "2"), everyListing());
        SERVER.advance("4s");
        assertEquals(List.of("2"), everyListing());
        SERVER.advance("5s");
        assertEquals(List.of(), everyListing());
    }

    @Test
    void noWriteFindsAnExpiredItemAndItsIdIsFree() {
        ObjectNode expired = container.createItem(item("1", "a", "old", true)).getItem();
        CosmosItemRequestOptions same = new CosmosItemRequestOptions().setIfMatchETag(expired.get("_etag").textValue());
        SERVER.advance("10s");
        refused(404, 0, () -> container.replaceItem(item("1", "a"), "1", key("a"), same));
        refused(404, 0, () -> container.patchItem("1", key("a"), CosmosPatchOperations.create().set("/n", 1), ObjectNode.class));
        refused(404, 0, () -> container.deleteItem("1", key("a"), same));
        var upserted = container.upsertItem(item("1", "a"));
        assertEquals(201, upserted.getStatusCode());
        assertNotEquals(expired.get("_rid"), upserted.getItem().get("_rid"));
        assertFalse(read("1").has("old"));
    }

    @Test
    void anExpiredItemHoldsNoUniqueKey() {
        UniqueKeyPolicy byEmail = new UniqueKeyPolicy().setUniqueKeys(List.of(new UniqueKey(List.of("/email"))));
        container = container(properties -> properties.setDefaultTimeToLiveInSeconds(10).setUniqueKeyPolicy(byEmail));
        container.createItem(item("1", "a", "email", "x"));
        SERVER.advance("9999ms");
        refused(409, () -> container.createItem(item("2", "a", "email", "x")));
        SERVER.advance("1ms");
        container.createItem(item("2", "a", "email", "x"));
        assertEquals(List.of("2"), everyListing());
    }

    @ParameterizedTest
    @NullSource
    @ValueSource(ints = {20, -1})
    void expiredItemsStayExpiredWhateverTheDefaultBecomes(Integer later) {
        container.createItem(item("1", "a"));
        SERVER.advance("10s");
        setDefault(later);
        assertEquals(later, container.read().getProperties().getDefaultTimeToLiveInSeconds());
        absent("1");
        assertEquals(List.of(), everyListing());
    }

    @Test
    void aLongerDefaultHoldsForLiveItemsAndAShorterOneAtOnce() {
        container.createItem(item("1", "a"));
        SERVER.advance("9s");
        setDefault(20);
        SERVER.advance("5s");
        assertEquals(List.of("1"), everyListing());
        setDefault(12);
        assertEquals(List.of(), everyListing());
    }

    @Test
    void aDefaultThatIsTakenAwayLeavesLiveItems() {
        container.createItem(item("1", "a"));
        SERVER.advance("9s");
        setDefault(null);
        assertNull(container.read().getProperties().getDefaultTimeToLiveInSeconds());
        SERVER.advance("3650d");
        assertEquals(List.of("1"), everyListing());
    }

    @Test
    void batchAndBulkSeeNoExpiredItems() {
        container.createItem(item("1", "a"));
        SERVER.advance("10s");
        CosmosBatch batch = CosmosBatch.createCosmosBatch(key("a"));
        batch.createItemOperation(item("2", "a"));
        batch.readItemOperation("1");
        CosmosBatchResponse answer = container.executeCosmosBatch(batch);
        assertEquals(404, answer.getStatusCode());
        assertEquals(List.of(424, 404), answer.getResults().stream().map(each -> each.getStatusCode()).toList());
        var statuses = list(container.executeBulkOperations(List.of(
                CosmosBulkOperations.getDeleteItemOperation("1", key("a"))))).stream()
                .map(each -> each.getResponse().getStatusCode()).toList();
        assertEquals(List.of(404), statuses);
        assertEquals(List.of(), everyListing());
    }

    @Test
    void aPageTurnedAfterTheEdgeLeavesOutWhatHasExpired() {
        container.createItem(item("1", "a"));
        container.createItem(item("2", "a", "ttl", 5));
        container.createItem(item("3", "a"));
        var pages = container.queryItems("SELECT * FROM c ORDER BY c.id", null, ObjectNode.class).iterableByPage(1).iterator();
        assertEquals(List.of("1"), ids(pages.next().getResults()));
        var second = pages.next();
        String token = second.getContinuationToken();
        assertEquals(List.of("2"), ids(second.getResults()));
        SERVER.advance("5s");
        var again = container.queryItems("SELECT * FROM c ORDER BY c.id", null, ObjectNode.class);
        assertEquals(List.of("3"), ids(again.iterableByPage(token, 10).iterator().next().getResults()));
        assertEquals(List.of("1", "3"), ids(again));
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "-2", "2147483648", "4294967297", "1.5", "\"60\"", "null", "true", "[]", "{}"})
    void anItemWithABadTimeToLiveIsRefusedByEveryWayIn(String ttl) {
        ObjectNode kept = container.createItem(item("kept", "a")).getItem();
        ObjectNode bad = item("bad", "a", "ttl", json(ttl));
        refused(400, 0, () -> container.createItem(bad));
        refused(400, 0, () -> container.upsertItem(bad));
        refused(400, 0, () -> async(container).createItem(bad).block());
        refused(400, 0, () -> container.replaceItem(bad.deepCopy().put("id", "kept"), "kept", key("a"), new CosmosItemRequestOptions()));
        refused(400, () -> container.patchItem("kept", key("a"), CosmosPatchOperations.create().set("/ttl", json(ttl)), ObjectNode.class));
        CosmosBatch batch = CosmosBatch.createCosmosBatch(key("a"));
        batch.createItemOperation(bad);
        assertEquals(400, container.executeCosmosBatch(batch).getResults().get(0).getStatusCode());
        var bulk = list(container.executeBulkOperations(List.of(CosmosBulkOperations.getCreateItemOperation(bad, key("a")))));
        assertEquals(400, bulk.get(0).getResponse().getStatusCode());
        assertEquals(List.of("kept"), everyListing());
        assertEquals(kept, read("kept"));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -2, Integer.MIN_VALUE})
    void aBadDefaultIsRefusedAndChangesNothing(int seconds) {
        refused(400, () -> withDefault(seconds));
        refused(400, () -> setDefault(seconds));
        assertEquals(10, container.read().getProperties().getDefaultTimeToLiveInSeconds());
        container.createItem(item("1", "a"));
        SERVER.advance("10s");
        assertEquals(List.of(), everyListing());
    }

    @Test
    void theLongestTimeToLiveHolds() {
        container = withDefault(Integer.MAX_VALUE);
        container.createItem(item("1", "a"));
        SERVER.advance("3650d");
        assertEquals(List.of("1"), everyListing());
    }
}
