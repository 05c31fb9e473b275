package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.await;
import static lapsedb.cosmos.Expect.item;
import static lapsedb.cosmos.Expect.key;
import static lapsedb.cosmos.Expect.query;
import static lapsedb.cosmos.Shared.DATABASE;
import static lapsedb.cosmos.Shared.SERVER;
import static lapsedb.cosmos.Shared.async;
import static lapsedb.cosmos.Shared.container;
import static lapsedb.cosmos.Shared.name;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.ChangeFeedProcessor;
import com.azure.cosmos.ChangeFeedProcessorBuilder;
import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDiagnosticsContext;
import com.azure.cosmos.models.ChangeFeedMetaData;
import com.azure.cosmos.models.ChangeFeedOperationType;
import com.azure.cosmos.models.ChangeFeedProcessorItem;
import com.azure.cosmos.models.ChangeFeedProcessorOptions;
import com.azure.cosmos.models.CosmosClientTelemetryConfig;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Processors that share a container of leases share the work. A container has one range and so one lease: one instance
 * works at a time, and another takes over when it stops.
 */
class ChangeFeedProcessorTest {
    /** The place in the log in the token of a lease. */
    private static final Pattern PLACE = Pattern.compile("\"token\":\"\\\\\"(\\d+)");

    /** So often an instance looks for a lease before it is sure that it takes none. */
    private static final int LOOKS = 3;

    private final CosmosContainer feed = container(properties -> properties.setDefaultTimeToLiveInSeconds(-1));
    private final CosmosContainer leases = container(new CosmosContainerProperties(name("leases"), "/id"));
    private final List<ChangeFeedProcessor> started = new ArrayList<>();
    /** The ids that each instance has handled, in their order. */
    private final Map<String, List<String>> handled = new ConcurrentHashMap<>();

    /** Quick to read and to acquire; a lease that is not given up is free only after a time that no busy machine uses up. */
    private static ChangeFeedProcessorOptions options() {
        return new ChangeFeedProcessorOptions()
                .setFeedPollDelay(Duration.ofMillis(50))
                .setLeaseAcquireInterval(Duration.ofMillis(200))
                .setLeaseRenewInterval(Duration.ofMillis(500))
                .setLeaseExpirationInterval(Duration.ofSeconds(20));
    }

    private ChangeFeedProcessorBuilder builder(String host) {
        return new ChangeFeedProcessorBuilder().hostName(host).feedContainer(async(feed)).leaseContainer(async(leases));
    }

    private ChangeFeedProcessor start(ChangeFeedProcessor processor) {
        processor.start().block();
        started.add(processor);
        return processor;
    }

    private ChangeFeedProcessor instance(String host) {
        return instance(host, builder(host));
    }

    private ChangeFeedProcessor instance(String host, ChangeFeedProcessorBuilder builder) {
        List<String> ids = handled.computeIfAbsent(host, any -> new CopyOnWriteArrayList<>());
        return start(builder.options(options().setStartFromBeginning(true))
                .handleLatestVersionChanges(items -> items.forEach(each -> ids.add(each.getCurrent().get("id").textValue())))
                .buildChangeFeedProcessor());
    }

    private List<String> owners() {
        return query(leases, "SELECT VALUE c.Owner FROM c WHERE IS_STRING(c.Owner)", String.class);
    }

    /** The ids that any instance has handled, each as often as it was. */
    private List<String> allHandled() {
        return handled.values().stream().flatMap(List::stream).sorted().toList();
    }

    private static long lsn(String sessionToken) {
        return Long.parseLong(sessionToken.substring(sessionToken.lastIndexOf('#') + 1));
    }

    /** Whether the lease says that everything up to a place in the log is handled. */
    private boolean leaseIsAt(long lsn) {
        String text = "SELECT VALUE c.ContinuationToken FROM c WHERE IS_STRING(c.ContinuationToken)";
        return query(leases, text, String.class).stream().anyMatch(token -> {
            Matcher place = PLACE.matcher(new String(Base64.getDecoder().decode(token)));
            return place.find() && Long.parseLong(place.group(1)) >= lsn;
        });
    }

    @AfterEach
    void stopAll() {
        started.forEach(processor -> processor.stop().block());
    }

    @Test
    void twoInstancesHandleEachItemOnceAndOneTakesOverFromTheOther() throws Exception {
        feed.createItem(item("1", "a"));
        feed.createItem(item("2", "b"));
        ChangeFeedProcessor first = instance("first");
        await("the first has the lease", () -> owners().equals(List.of("first")));
        await("what was there is handled", () -> handled.get("first").equals(List.of("1", "2")));
        AtomicInteger looks = new AtomicInteger();
        try (CosmosAsyncClient watched = Shared.builder(SERVER).clientTelemetryConfig(new CosmosClientTelemetryConfig()
                .diagnosticsHandler((request, context) -> looks.addAndGet(isLookAtLeases(request) ? 1 : 0))).buildAsyncClient()) {
            twoInstances(first, watched, looks);
        }
    }

    /** A processor reads all leases each time it looks for one to take. */
    private boolean isLookAtLeases(CosmosDiagnosticsContext request) {
        return leases.getId().equals(request.getContainerName()) && "Query".equals(request.getOperationType());
    }

    private void twoInstances(ChangeFeedProcessor first, CosmosAsyncClient watched, AtomicInteger looks) throws Exception {
        ChangeFeedProcessor second = instance("second", builder("second").leaseContainer(
                watched.getDatabase(DATABASE.getId()).getContainer(leases.getId())));
        int before = looks.get();
        await("the second has looked for a lease", () -> looks.get() >= before + LOOKS);
        long third = lsn(feed.createItem(item("3", "c")).getSessionToken());
        await("what came later is handled", () -> allHandled().equals(List.of("1", "2", "3")));
        assertEquals(List.of("first"), owners());
        await("the lease says so", () -> leaseIsAt(third));
        first.stop().block();
        started.remove(first);
        await("the second has the lease", () -> owners().equals(List.of("second")));
        feed.createItem(item("4", "a"));
        await("the second handles what is new", () -> handled.get("second").contains("4"));
        // The lease says how far the first had come.
        assertEquals(List.of("4"), handled.get("second"));
        assertEquals(List.of("1", "2", "3", "4"), allHandled());
        second.stop().block();
        started.remove(second);
    }

    @Test
    void anInstanceThatStartsAgainGoesOnWhereItStopped() throws Exception {
        ChangeFeedProcessor first = instance("first");
        long lsn = lsn(feed.createItem(item("1", "a")).getSessionToken());
        await("the first item is handled", () -> handled.get("first").equals(List.of("1")));
        await("the lease says so", () -> leaseIsAt(lsn));
        first.stop().block();
        started.remove(first);
        feed.createItem(item("2", "a"));
        start(first);
        await("the second item is handled", () -> handled.get("first").contains("2"));
        assertEquals(List.of("1", "2"), handled.get("first"));
    }

    @Test
    void anItemWhoseHandlerFailsIsHandledAgain() throws Exception {
        List<String> tried = new CopyOnWriteArrayList<>();
        start(builder("stumbling").options(options().setStartFromBeginning(true)).handleChanges(items -> {
            for (JsonNode each : items) {
                tried.add(each.get("id").textValue());
                if (tried.size() == 1) {
                    throw new IllegalStateException("this one fails the first time");
                }
            }
        }).buildChangeFeedProcessor());
        feed.createItem(item("1", "a"));
        await("it comes a second time", () -> tried.equals(List.of("1", "1")));
    }

    @Test
    void everyVersionAndTheExpiryAreHandled() throws Exception {
        List<String> events = new CopyOnWriteArrayList<>();
        start(builder("auditor").options(options()).handleAllVersionsAndDeletesChanges(
                (List<ChangeFeedProcessorItem> items) -> items.forEach(each -> events.add(described(each)))).buildChangeFeedProcessor());
        // It begins with what comes after its first read.
        await("the processor has begun", () -> {
            feed.upsertItem(item("begin", "a"));
            return !events.isEmpty();
        });
        feed.createItem(item("1", "a", "n", 1, "ttl", 10));
        feed.upsertItem(item("1", "a", "n", 2, "ttl", 10));
        feed.createItem(item("2", "a"));
        feed.deleteItem("2", key("a"), new CosmosItemRequestOptions());
        SERVER.advance("10s");
        feed.createItem(item("3", "a"));
        await("the last item is there", () -> events.contains("create 3"));
        List<String> found = events.stream().filter(event -> !event.endsWith("begin")).toList();
        assertEquals(List.of("create 1", "replace 1", "create 2", "delete 2"), found.subList(0, 4));
        await("the expiry is emitted", () -> events.contains("expiry 1"));
        assertEquals(6, events.stream().filter(event -> !event.endsWith("begin")).count(), events.toString());
    }

    /** What an event says, and of which item. */
    private static String described(ChangeFeedProcessorItem event) {
        ChangeFeedMetaData metadata = event.getChangeFeedMetaData();
        JsonNode version = metadata.getOperationType() == ChangeFeedOperationType.DELETE ? event.getPrevious() : event.getCurrent();
        String what = metadata.isTimeToLiveExpired() ? "expiry" : metadata.getOperationType().toString().toLowerCase(Locale.ROOT);
        return what + " " + version.get("id").textValue();
    }
}
