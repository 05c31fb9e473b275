package lapsedb.cosmos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.fail;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.SqlQuerySpec;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.function.Executable;

/** Items, and what is expected of answers. */
final class Expect {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration WAIT_MAX = Duration.ofSeconds(60);
    private static final Duration POLL = Duration.ofMillis(20);

    private Expect() {}

    /** An item of a container with the partition key `/pk`, and its other members by name and value in turn. */
    static ObjectNode item(String id, String pk, Object... members) {
        ObjectNode item = JSON.createObjectNode().put("id", id).put("pk", pk);
        for (int at = 0; at < members.length; at += 2) {
            item.set((String) members[at], JSON.valueToTree(members[at + 1]));
        }
        return item;
    }

    /** A value as JSON text. */
    static JsonNode json(String text) {
        try {
            return JSON.readTree(text);
        } catch (IOException invalid) {
            throw new IllegalArgumentException(invalid);
        }
    }

    static PartitionKey key(String value) {
        return new PartitionKey(value);
    }

    static CosmosException refused(int status, Executable request) {
        CosmosException error = assertThrows(CosmosException.class, request);
        assertEquals(status, error.getStatusCode(), error.getShortMessage());
        return error;
    }

    static CosmosException refused(int status, int substatus, Executable request) {
        CosmosException error = refused(status, request);
        assertEquals(substatus, error.getSubStatusCode(), error.getShortMessage());
        return error;
    }

    static <T> List<T> list(Iterable<T> rows) {
        return StreamSupport.stream(rows.spliterator(), false).toList();
    }

    static List<String> ids(Iterable<? extends JsonNode> items) {
        return list(items).stream().map(item -> item.get("id").textValue()).toList();
    }

    static <T> List<T> query(CosmosContainer container, String text, Class<T> type) {
        return list(container.queryItems(text, new CosmosQueryRequestOptions(), type));
    }

    static <T> List<T> query(CosmosContainer container, SqlQuerySpec query, Class<T> type) {
        return list(container.queryItems(query, new CosmosQueryRequestOptions(), type));
    }

    /** Asks again until the state is there, for at most a minute. */
    static void await(String state, Callable<Boolean> reached) throws Exception {
        long start = System.nanoTime();
        while (!reached.call()) {
            if (System.nanoTime() - start > WAIT_MAX.toNanos()) {
                fail("not reached: " + state);
            }
            Thread.sleep(POLL.toMillis());
        }
    }
}
