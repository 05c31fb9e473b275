package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.ids;
import static lapsedb.cosmos.Expect.item;
import static lapsedb.cosmos.Expect.key;
import static lapsedb.cosmos.Shared.SERVER;
import static lapsedb.cosmos.Shared.async;
import static lapsedb.cosmos.Shared.builder;
import static lapsedb.cosmos.Shared.by;
import static lapsedb.cosmos.Shared.container;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.ChangeFeedPolicy;
import com.azure.cosmos.models.CosmosBatch;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.FeedResponse;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Changes are read page by page, from any start, and from where an earlier reader stopped. */
class ChangeFeedTest {
    private static final FeedRange ALL = FeedRange.forFullRange();

    private CosmosContainer container = container();

    private static CosmosChangeFeedRequestOptions fromBeginning(FeedRange range) {
        return CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(range);
    }

    /** What one reader finds until there is nothing new, and the token it goes on with. */
    private record Read<T>(List<T> found, String token) {
        static Read<JsonNode> of(CosmosContainer container, CosmosChangeFeedRequestOptions options) {
            List<JsonNode> found = new ArrayList<>();
            String token = null;
            for (FeedResponse<JsonNode> page : container.queryChangeFeed(options, JsonNode.class).iterableByPage()) {
                found.addAll(page.getResults());
                token = page.getContinuationToken();
            }
            return new Read<>(found, token);
        }
    }

    private List<String> after(String token) {
        return ids(Read.of(container, CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(token)).found());
    }

    @Test
    void fromTheBeginningEachItemComesOnceAtItsNewestChange() {
        for (String id : List.of("1", "2", "3")) {
            container.createItem(item(id, "a", "n", 1));
        }
        container.upsertItem(item("1", "a", "n", 2));
        container.deleteItem("2", key("a"), new CosmosItemRequestOptions());
        List<JsonNode> found = Read.of(container, fromBeginning(ALL)).found();
        assertEquals(List.of("3", "1"), ids(found));
        assertEquals(2, found.get(1).get("n").intValue());
        List<ObjectNode> byAsync = async(container).queryChangeFeed(fromBeginning(ALL), ObjectNode.class).collectList().block();
        assertEquals(List.of("3", "1"), ids(byAsync));
    }

    @Test
    void fromNowOnlyWhatComesLaterIsThere() {
        container.createItem(item("1", "a"));
        Read<JsonNode> first = Read.of(container, CosmosChangeFeedRequestOptions.createForProcessingFromNow(ALL));
        assertEquals(List.of(), first.found());
        container.createItem(item("2", "a"));
        assertEquals(List.of("2"), after(first.token()));
    }

    @Test
    void fromAPointInTimeWhatIsLaterIsThere() {
        SERVER.align();
        container.createItem(item("1", "a"));
        long second = container.createItem(item("2", "a")).getItem().get("_ts").longValue();
        SERVER.advance("2s");
        container.createItem(item("3", "a"));
        List<JsonNode> found = Read.of(container, CosmosChangeFeedRequestOptions.createForProcessingFromPointInTime(Instant.ofEpochSecond(second), ALL)).found();
        assertEquals(List.of("3"), ids(found));
        found = Read.of(container, CosmosChangeFeedRequestOptions.createForProcessingFromPointInTime(Instant.ofEpochSecond(second - 1), ALL)).found();
        assertEquals(List.of("1", "2", "3"), ids(found));
    }

    @Test
    void aReaderGoesOnWhereAnotherStopped() {
        for (int n = 0; n < 10; n++) {
            container.createItem(item("" + n, "p" + n % 3));
        }
        FeedResponse<ObjectNode> page = container.queryChangeFeed(fromBeginning(ALL).setMaxItemCount(4), ObjectNode.class).iterableByPage().iterator().next();
        assertEquals(List.of("0", "1", "2", "3"), ids(page.getResults()));
        Read<JsonNode> rest;
        try (CosmosClient another = builder(SERVER).buildClient()) {
            rest = Read.of(by(another, container), CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(page.getContinuationToken()));
        }
        assertEquals(List.of("4", "5", "6", "7", "8", "9"), ids(rest.found()));
        assertEquals(List.of(), after(rest.token()));
        container.upsertItem(item("0", "p0"));
        assertEquals(List.of("0"), after(rest.token()));
    }

    @Test
    void aFeedMayBeOfOnePartitionOrOneRange() {
        container.createItem(item("1", "a"));
        container.createItem(item("2", "b"));
        assertEquals(List.of("2"), ids(Read.of(container, fromBeginning(FeedRange.forLogicalPartition(key("b")))).found()));
        List<String> ofRanges = new ArrayList<>();
        container.getFeedRanges().forEach(range -> ofRanges.addAll(ids(Read.of(container, fromBeginning(range)).found())));
        assertEquals(List.of("1", "2"), ofRanges);
    }

    @Test
    void everyVersionAndEveryDeleteIsAnEvent() {
        Read<JsonNode> start = Read.of(container, CosmosChangeFeedRequestOptions.createForProcessingFromNow(ALL).allVersionsAndDeletes());
        assertEquals(List.of(), start.found());
        container.createItem(item("1", "a", "n", 1));
        container.upsertItem(item("1", "a", "n", 2));
        container.patchItem("1", key("a"), CosmosPatchOperations.create().increment("/n", 1), ObjectNode.class);
        container.deleteItem("1", key("a"), new CosmosItemRequestOptions());
        List<JsonNode> events = Read.of(container, CosmosChangeFeedRequestOptions
                .createForProcessingFromContinuation(start.token()).allVersionsAndDeletes()).found();
        assertEquals(List.of("create", "replace", "replace", "delete"),
                events.stream().map(event -> event.get("metadata").get("operationType").textValue()).toList());
        assertEquals(List.of(1, 2, 3), events.subList(0, 3).stream().map(event -> event.get("current").get("n").intValue()).toList());
        assertEquals(3, events.get(3).get("previous").get("n").intValue());
        assertTrue(events.get(1).get("metadata").get("lsn").longValue() > events.get(0).get("metadata").get("lsn").longValue());
    }

    @Test
    void anExpiryIsADeleteThatSaysSo() {
        container = container(properties -> properties.setDefaultTimeToLiveInSeconds(10)
                .setChangeFeedPolicy(ChangeFeedPolicy.createAllVersionsAndDeletesPolicy(Duration.ofMinutes(10))));
        assertEquals(Duration.ofMinutes(10), container.read().getProperties().getChangeFeedPolicy().getRetentionDurationForAllVersionsAndDeletesPolicy());
        Read<JsonNode> start = Read.of(container, CosmosChangeFeedRequestOptions.createForProcessingFromNow(ALL).allVersionsAndDeletes());
        SERVER.align();
        long written = container.createItem(item("1", "a")).getItem().get("_ts").longValue();
        container.createItem(item("2", "a", "ttl", -1));
        SERVER.advance("10s");
        List<JsonNode> events = Read.of(container, CosmosChangeFeedRequestOptions
                .createForProcessingFromContinuation(start.token()).allVersionsAndDeletes()).found();
        assertEquals(List.of("create", "create", "delete"),
                events.stream().map(event -> event.get("metadata").get("operationType").textValue()).toList());
        JsonNode expiry = events.get(2).get("metadata");
        assertTrue(expiry.get("timeToLiveExpired").booleanValue());
        assertEquals(written + 10, expiry.get("crts").longValue());
        assertEquals("1", events.get(2).get("previous").get("id").textValue());
        assertEquals(List.of("2"), ids(Read.of(container, fromBeginning(ALL)).found()));
    }

    @Test
    void theItemsOfABatchComeTogether() {
        CosmosBatch batch = CosmosBatch.createCosmosBatch(key("a"));
        for (String id : List.of("1", "2", "3")) {
            batch.createItemOperation(item(id, "a"));
        }
        container.executeCosmosBatch(batch);
        FeedResponse<ObjectNode> page = container.queryChangeFeed(fromBeginning(ALL).setMaxItemCount(1), ObjectNode.class).iterableByPage().iterator().next();
        assertEquals(List.of("1", "2", "3"), ids(page.getResults()));
    }
}
