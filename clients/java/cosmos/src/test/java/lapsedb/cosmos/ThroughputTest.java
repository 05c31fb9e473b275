package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.await;
import static lapsedb.cosmos.Expect.item;
import static lapsedb.cosmos.Expect.key;
import static lapsedb.cosmos.Expect.refused;
import static lapsedb.cosmos.Shared.CLIENT;
import static lapsedb.cosmos.Shared.DATABASE;
import static lapsedb.cosmos.Shared.SERVER;
import static lapsedb.cosmos.Shared.builder;
import static lapsedb.cosmos.Shared.container;
import static lapsedb.cosmos.Shared.database;
import static lapsedb.cosmos.Shared.name;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.ThrottlingRetryOptions;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.ThroughputProperties;
import com.azure.cosmos.models.ThroughputResponse;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import lapsedb.Server;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Throughput of containers and databases, and what happens when it is used up. */
class ThroughputTest {
    private static final int ATTEMPTS_MAX = 20;
    /** To write it costs more than a second of the smallest throughput has. */
    private static final ObjectNode LARGE = item("1", "a", "text", "x".repeat(500_000));

    private static CosmosContainer with(ThroughputProperties throughput) {
        String id = name("c");
        DATABASE.createContainer(new CosmosContainerProperties(id, "/pk"), throughput);
        return DATABASE.getContainer(id);
    }

    private static ThroughputProperties manual(int units) {
        return ThroughputProperties.createManualThroughput(units);
    }

    private static ThroughputProperties autoscale(int units) {
        return ThroughputProperties.createAutoscaledThroughput(units);
    }

    /** A client that takes no for an answer. */
    private static CosmosClient hasty(Server server) {
        return builder(server).throttlingRetryOptions(new ThrottlingRetryOptions()
                .setMaxRetryAttemptsOnThrottledRequests(0).setMaxRetryWaitTime(Duration.ZERO)).buildClient();
    }

    private static CosmosException throttled(CosmosContainer container) {
        return refused(429, 3200, () -> {
            for (int attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
                container.upsertItem(LARGE);
            }
        });
    }

    @Test
    void aContainerHasTheThroughputItWasMadeWith() {
        CosmosContainer container = with(manual(500));
        ThroughputResponse read = container.readThroughput();
        assertEquals(500, read.getProperties().getManualThroughput());
        assertTrue(read.getMinThroughput() >= 400);
        assertEquals(600, container.replaceThroughput(manual(600)).getProperties().getManualThroughput());
        assertEquals(600, container.readThroughput().getProperties().getManualThroughput());
    }

    @Test
    void aContainerThatNobodyAskedThroughputForHasTheStandardOffer() {
        assertEquals(400, container().readThroughput().getProperties().getManualThroughput());
    }

    @Test
    void autoscaleHasAMaximum() {
        CosmosContainer container = with(autoscale(4000));
        assertEquals(4000, container.readThroughput().getProperties().getAutoscaleMaxThroughput());
        container.replaceThroughput(autoscale(5000));
        assertEquals(5000, container.readThroughput().getProperties().getAutoscaleMaxThroughput());
    }

    @Test
    void theAsynchronousClientReadsAndReplacesThroughput() {
        CosmosAsyncContainer container = Shared.async(with(manual(400)));
        assertEquals(400, container.readThroughput().block().getProperties().getManualThroughput());
        assertEquals(900, container.replaceThroughput(manual(900)).block().getProperties().getManualThroughput());
        assertEquals(900, container.readThroughput().block().getProperties().getManualThroughput());
        refused(400, () -> container.replaceThroughput(manual(951)).block());
    }

    @Test
    void aDatabaseSharesItsThroughputWithContainersThatHaveNone() {
        String id = name("db");
        CLIENT.createDatabase(id, manual(700));
        CosmosDatabase database = CLIENT.getDatabase(id);
        assertEquals(700, database.readThroughput().getProperties().getManualThroughput());
        database.replaceThroughput(manual(800));
        assertEquals(800, database.readThroughput().getProperties().getManualThroughput());
        database.createContainer("shared", "/pk");
        database.createContainer("own", "/pk", manual(400));
        CosmosException none = assertThrows(CosmosException.class, () -> database.getContainer("shared").readThroughput());
        assertTrue(none.getStatusCode() == 400 || none.getStatusCode() == 404, none.getShortMessage());
        assertEquals(400, database.getContainer("own").readThroughput().getProperties().getManualThroughput());
    }

    @ParameterizedTest
    @ValueSource(ints = {100, 450, 2_000_000})
    void throughputThatIsTooLittleOrNoMultipleOrTooMuchIsRefused(int units) {
        refused(400, () -> with(manual(units)));
        CosmosContainer container = with(manual(400));
        refused(400, () -> container.replaceThroughput(manual(units)));
        assertEquals(400, container.readThroughput().getProperties().getManualThroughput());
    }

    @Test
    void tooMuchWorkIsRefusedWithATimeToComeBack() {
        CosmosContainer container = with(manual(400));
        try (CosmosClient hasty = hasty(SERVER)) {
            CosmosException error = throttled(Shared.by(hasty, container));
            assertTrue(error.getRetryAfterDuration().toMillis() > 0);
        }
        // The client of the other tests waits as it is told.
        container.upsertItem(LARGE.deepCopy().put("n", 1));
        assertEquals(1, container.readItem("1", key("a"), ObjectNode.class).getItem().get("n").intValue());
    }

    @Test
    void moreThroughputEndsTheRefusals() throws Exception {
        CosmosContainer container = with(manual(400));
        try (CosmosClient hasty = hasty(SERVER)) {
            CosmosContainer seen = Shared.by(hasty, container);
            throttled(seen);
            container.replaceThroughput(manual(1_000_000));
            await("a write succeeds again", () -> {
                try {
                    return seen.upsertItem(LARGE).getStatusCode() == 200;
                } catch (CosmosException error) {
                    return false;
                }
            });
            for (int attempt = 0; attempt < 20; attempt++) {
                seen.upsertItem(LARGE);
            }
        }
    }

    @Test
    void theStandardOfferHoldsWhereTheServerSaysSo() {
        try (Server strict = Server.start("--memory", "--rate-limiting", "on"); CosmosClient hasty = hasty(strict)) {
            CosmosDatabase database = database(hasty, "strict");
            database.createContainer("c", "/pk");
            throttled(database.getContainer("c"));
        }
        try (CosmosClient hasty = hasty(SERVER)) {
            CosmosContainer unlimited = Shared.by(hasty, container());
            for (int attempt = 0; attempt < 20; attempt++) {
                unlimited.upsertItem(LARGE);
            }
        }
    }
}
