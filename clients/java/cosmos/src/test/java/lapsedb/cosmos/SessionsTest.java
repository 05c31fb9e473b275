package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.item;
import static lapsedb.cosmos.Expect.key;
import static lapsedb.cosmos.Expect.list;
import static lapsedb.cosmos.Expect.refused;
import static lapsedb.cosmos.Shared.SERVER;
import static lapsedb.cosmos.Shared.async;
import static lapsedb.cosmos.Shared.builder;
import static lapsedb.cosmos.Shared.by;
import static lapsedb.cosmos.Shared.container;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.ConsistencyLevel;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.ReadConsistencyStrategy;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Session tokens go from one client to another, and weaker consistency levels are served. */
class SessionsTest {
    private final CosmosContainer container = container();

    private static CosmosItemRequestOptions with(String token) {
        return new CosmosItemRequestOptions().setSessionToken(token);
    }

    /** The token of a place in the log that is not reached yet. */
    private static String ahead(String token) {
        int at = token.lastIndexOf('#') + 1;
        return token.substring(0, at) + (Long.parseLong(token.substring(at)) + 1_000_000);
    }

    @Test
    void anotherClientReadsWhatASessionHasWritten() {
        String token = container.createItem(item("1", "a")).getSessionToken();
        assertTrue(token.contains("#"), token);
        try (CosmosClient another = builder(SERVER).buildClient()) {
            CosmosContainer seen = by(another, container);
            assertEquals(200, seen.readItem("1", key("a"), with(token), ObjectNode.class).getStatusCode());
            CosmosQueryRequestOptions query = new CosmosQueryRequestOptions().setSessionToken(token);
            assertEquals(List.of("1"), list(seen.queryItems("SELECT VALUE c.id FROM c", query, String.class)));
        }
    }

    @Test
    void tokensGoForwardWithEachWrite() {
        String first = container.createItem(item("1", "a")).getSessionToken();
        String second = container.upsertItem(item("1", "a")).getSessionToken();
        assertTrue(lsn(second) > lsn(first), first + " and " + second);
        assertTrue(lsn(container.readItem("1", key("a"), ObjectNode.class).getSessionToken()) >= lsn(second));
    }

    private static long lsn(String token) {
        return Long.parseLong(token.substring(token.lastIndexOf('#') + 1));
    }

    @Test
    void aReadThatAsksForWhatIsNotThereYetIsRefused() {
        String token = ahead(container.createItem(item("1", "a")).getSessionToken());
        refused(404, 1002, () -> container.readItem("1", key("a"), with(token), ObjectNode.class));
        CosmosQueryRequestOptions query = new CosmosQueryRequestOptions().setSessionToken(token);
        refused(404, 1002, () -> list(container.queryItems("SELECT * FROM c", query, ObjectNode.class)));
        // Who does not insist on the session is answered.
        CosmosItemRequestOptions eventual = with(token).setConsistencyLevel(ConsistencyLevel.EVENTUAL);
        assertEquals(200, container.readItem("1", key("a"), eventual, ObjectNode.class).getStatusCode());
    }

    @Test
    void aFailureCarriesTheTokenToo() {
        container.createItem(item("1", "a"));
        CosmosException missing = refused(404, 0, () -> container.readItem("2", key("a"), ObjectNode.class));
        assertTrue(missing.getResponseHeaders().get("x-ms-session-token").contains("#"));
    }

    @ParameterizedTest
    @EnumSource(value = ConsistencyLevel.class, names = {"SESSION", "CONSISTENT_PREFIX", "EVENTUAL"})
    void aClientMayHaveAWeakerLevelThanTheAccount(ConsistencyLevel level) {
        container.createItem(item("1", "a"));
        try (CosmosClient client = builder(SERVER).consistencyLevel(level).buildClient()) {
            CosmosContainer seen = by(client, container);
            seen.upsertItem(item("1", "a", "n", 1));
            assertEquals(1, seen.readItem("1", key("a"), ObjectNode.class).getItem().get("n").intValue());
            assertEquals(List.of(1), Expect.query(seen, "SELECT VALUE c.n FROM c", Integer.class));
        }
    }

    @ParameterizedTest
    @EnumSource(value = ReadConsistencyStrategy.class, names = {"DEFAULT", "SESSION", "EVENTUAL", "LATEST_COMMITTED"})
    void aReadMayNameItsStrategy(ReadConsistencyStrategy strategy) {
        container.createItem(item("1", "a"));
        CosmosItemRequestOptions options = new CosmosItemRequestOptions().setReadConsistencyStrategy(strategy);
        assertEquals(200, container.readItem("1", key("a"), options, ObjectNode.class).getStatusCode());
    }

    @ParameterizedTest
    @EnumSource(value = ConsistencyLevel.class, names = {"STRONG", "BOUNDED_STALENESS"})
    void aStrongerLevelThanTheAccountsIsRefused(ConsistencyLevel level) {
        container.createItem(item("1", "a"));
        CosmosItemRequestOptions stronger = new CosmosItemRequestOptions().setConsistencyLevel(level);
        refused(400, () -> container.readItem("1", key("a"), stronger, ObjectNode.class));
    }

    @Test
    void theAsynchronousClientFollowsSessionsToo() {
        CosmosAsyncContainer items = async(container);
        String token = items.createItem(item("1", "a")).block().getSessionToken();
        assertEquals(200, items.readItem("1", key("a"), with(token), ObjectNode.class).block().getStatusCode());
        refused(404, 1002, () -> items.readItem("1", key("a"), with(ahead(token)), ObjectNode.class).block());
        CosmosQueryRequestOptions query = new CosmosQueryRequestOptions().setSessionToken(ahead(token));
        refused(404, 1002, () -> items.queryItems("SELECT * FROM c", query, ObjectNode.class).collectList().block());
    }
}
