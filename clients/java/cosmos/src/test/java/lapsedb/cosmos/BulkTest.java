package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.item;
import static lapsedb.cosmos.Expect.key;
import static lapsedb.cosmos.Expect.list;
import static lapsedb.cosmos.Expect.query;
import static lapsedb.cosmos.Shared.async;
import static lapsedb.cosmos.Shared.container;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosBulkExecutionOptions;
import com.azure.cosmos.models.CosmosBulkItemRequestOptions;
import com.azure.cosmos.models.CosmosBulkItemResponse;
import com.azure.cosmos.models.CosmosBulkOperationResponse;
import com.azure.cosmos.models.CosmosBulkOperations;
import com.azure.cosmos.models.CosmosBulkPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosItemOperation;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;

/** A bulk does each operation by itself, of any partition, and answers each by itself. */
class BulkTest {
    private final CosmosContainer container = container();

    private static CosmosBulkItemRequestOptions ifMatch(String etag) {
        return new CosmosBulkItemRequestOptions().setIfMatchETag(etag);
    }

    /** The status of each operation by its context. */
    private Map<String, Integer> statuses(List<CosmosItemOperation> operations) {
        Map<String, Integer> statuses = new TreeMap<>();
        for (CosmosBulkOperationResponse<String> each : container.<String>executeBulkOperations(operations)) {
            assertNull(each.getException(), String.valueOf(each.getException()));
            statuses.put(each.getOperation().getContext(), each.getResponse().getStatusCode());
        }
        return statuses;
    }

    @Test
    void manyItemsOfManyPartitionsAreWritten() {
        List<CosmosItemOperation> operations = IntStream.range(0, 1000)
                .mapToObj(n -> CosmosBulkOperations.getCreateItemOperation(item("" + n, "p" + n % 7, "n", n), key("p" + n % 7)))
                .toList();
        List<CosmosBulkOperationResponse<Object>> answers =
                async(container).executeBulkOperations(Flux.fromIterable(operations), new CosmosBulkExecutionOptions()).collectList().block();
        assertEquals(1000, answers.stream().filter(each -> each.getResponse().getStatusCode() == 201).count());
        assertEquals(List.of(1000), query(container, "SELECT VALUE COUNT(1) FROM c", Integer.class));
        assertEquals(List.of(499500), query(container, "SELECT VALUE SUM(c.n) FROM c", Integer.class));
    }

    @Test
    void oneFailureLeavesTheOthersAlone() {
        String etag = container.createItem(item("old", "a", "n", 1)).getETag();
        container.createItem(item("read", "b", "n", 7));
        container.createItem(item("deleted", "b"));
        container.createItem(item("patched", "c", "n", 1));
        container.createItem(item("kept", "c", "n", 1));
        CosmosPatchOperations increment = CosmosPatchOperations.create().increment("/n", 1);
        CosmosBulkPatchItemRequestOptions never = new CosmosBulkPatchItemRequestOptions().setFilterPredicate("FROM c WHERE c.n > 100");
        Map<String, Integer> statuses = statuses(List.of(
                CosmosBulkOperations.getCreateItemOperation(item("new", "a"), key("a"), "created"),
                CosmosBulkOperations.getCreateItemOperation(item("old", "a"), key("a"), "conflict"),
                CosmosBulkOperations.getCreateItemOperation(item("bad", "a", "ttl", 0), key("a"), "bad ttl"),
                CosmosBulkOperations.getUpsertItemOperation(item("upserted", "b"), key("b"), "upserted"),
                CosmosBulkOperations.getReplaceItemOperation("old", item("old", "a", "n", 2), key("a"), ifMatch("\"x\""), "old etag"),
                CosmosBulkOperations.getReplaceItemOperation("none", item("none", "a"), key("a"), "replace of nothing"),
                CosmosBulkOperations.getReadItemOperation("read", key("b"), "read"),
                CosmosBulkOperations.getReadItemOperation("none", key("b"), "read of nothing"),
                CosmosBulkOperations.getDeleteItemOperation("deleted", key("b"), "deleted"),
                CosmosBulkOperations.getDeleteItemOperation("none", key("b"), "delete of nothing"),
                CosmosBulkOperations.getPatchItemOperation("patched", key("c"), increment, "patched"),
                CosmosBulkOperations.getPatchItemOperation("kept", key("c"), increment, never, "condition is false")));
        assertEquals(new TreeMap<>(Map.ofEntries(
                Map.entry("created", 201), Map.entry("conflict", 409), Map.entry("bad ttl", 400), Map.entry("upserted", 201),
                Map.entry("old etag", 412), Map.entry("replace of nothing", 404), Map.entry("read", 200), Map.entry("read of nothing", 404),
                Map.entry("deleted", 204), Map.entry("delete of nothing", 404), Map.entry("patched", 200), Map.entry("condition is false", 412))),
                statuses);
        assertEquals(List.of("kept", "new", "old", "patched", "read", "upserted"), query(container, "SELECT VALUE c.id FROM c ORDER BY c.id", String.class));
        assertEquals(etag, container.readItem("old", key("a"), ObjectNode.class).getETag());
        assertEquals(List.of(1, 2), query(container, "SELECT VALUE c.n FROM c WHERE c.pk = 'c' ORDER BY c.n", Integer.class));
    }

    @Test
    void whatIsReadAndWrittenComesWithItsItem() {
        container.createItem(item("1", "a", "n", 1));
        CosmosBulkItemRequestOptions whole = new CosmosBulkItemRequestOptions().setContentResponseOnWriteEnabled(true);
        List<CosmosBulkItemResponse> answers = new ArrayList<>(list(container.executeBulkOperations(List.of(
                CosmosBulkOperations.getReadItemOperation("1", key("a"))))).stream().map(CosmosBulkOperationResponse::getResponse).toList());
        answers.addAll(list(container.executeBulkOperations(List.of(
                CosmosBulkOperations.getUpsertItemOperation(item("1", "a", "n", 2), key("a"), whole)))).stream()
                .map(CosmosBulkOperationResponse::getResponse).toList());
        assertEquals(1, answers.get(0).getItem(ObjectNode.class).get("n").intValue());
        assertEquals(2, answers.get(1).getItem(ObjectNode.class).get("n").intValue());
        assertEquals(answers.get(1).getETag(), container.readItem("1", key("a"), ObjectNode.class).getETag());
    }
}
