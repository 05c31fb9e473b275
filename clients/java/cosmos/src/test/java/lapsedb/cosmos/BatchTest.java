package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.ids;
import static lapsedb.cosmos.Expect.item;
import static lapsedb.cosmos.Expect.key;
import static lapsedb.cosmos.Expect.refused;
import static lapsedb.cosmos.Shared.async;
import static lapsedb.cosmos.Shared.container;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosBatch;
import com.azure.cosmos.models.CosmosBatchItemRequestOptions;
import com.azure.cosmos.models.CosmosBatchOperationResult;
import com.azure.cosmos.models.CosmosBatchPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosBatchResponse;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A transactional batch does all of its operations or none. */
class BatchTest {
    private final CosmosContainer container = container();
    private final CosmosBatch batch = CosmosBatch.createCosmosBatch(key("a"));

    private static List<Integer> statuses(CosmosBatchResponse answer) {
        return answer.getResults().stream().map(CosmosBatchOperationResult::getStatusCode).toList();
    }

    private List<String> stored() {
        return ids(container.readAllItems(key("a"), ObjectNode.class));
    }

    @Test
    void everyOperationIsDoneAndAnswered() {
        for (String id : List.of("replaced", "deleted", "read", "patched", "upserted")) {
            container.createItem(item(id, "a", "n", 1));
        }
        batch.createItemOperation(item("created", "a"));
        batch.replaceItemOperation("replaced", item("replaced", "a", "n", 2));
        batch.upsertItemOperation(item("upserted", "a", "n", 3));
        batch.upsertItemOperation(item("new", "a"));
        batch.patchItemOperation("patched", CosmosPatchOperations.create().increment("/n", 4));
        batch.readItemOperation("read");
        batch.deleteItemOperation("deleted");
        CosmosBatchResponse answer = container.executeCosmosBatch(batch);
        assertEquals(200, answer.getStatusCode());
        assertEquals(List.of(201, 200, 200, 201, 200, 200, 204), statuses(answer));
        assertTrue(answer.getRequestCharge() > 0);
        assertEquals(answer.getRequestCharge(), answer.getResults().stream().mapToDouble(CosmosBatchOperationResult::getRequestCharge).sum(), 0.1);
        assertEquals(5, answer.getResults().get(4).getItem(ObjectNode.class).get("n").intValue());
        assertEquals(1, answer.getResults().get(5).getItem(ObjectNode.class).get("n").intValue());
        assertNull(answer.getResults().get(6).getItem(ObjectNode.class));
        assertEquals(List.of("replaced", "read", "patched", "upserted", "created", "new"), stored());
    }

    @Test
    void oneFailureUndoesEverything() {
        ObjectNode kept = container.createItem(item("1", "a", "n", 1)).getItem();
        batch.createItemOperation(item("2", "a"));
        batch.replaceItemOperation("1", item("1", "a", "n", 2));
        batch.createItemOperation(item("1", "a"));
        batch.createItemOperation(item("3", "a"));
        CosmosBatchResponse answer = async(container).executeCosmosBatch(batch).block();
        assertFalse(answer.isSuccessStatusCode());
        assertEquals(409, answer.getStatusCode());
        assertEquals(List.of(424, 424, 409, 424), statuses(answer));
        assertEquals(List.of("1"), stored());
        assertEquals(kept, container.readItem("1", key("a"), ObjectNode.class).getItem());
    }

    @Test
    void aReadSeesWhatTheBatchHasWritten() {
        batch.createItemOperation(item("1", "a", "n", 1));
        batch.patchItemOperation("1", CosmosPatchOperations.create().increment("/n", 1));
        batch.readItemOperation("1");
        CosmosBatchResponse answer = container.executeCosmosBatch(batch);
        assertEquals(List.of(201, 200, 200), statuses(answer));
        assertEquals(List.of(1, 2, 2), answer.getResults().stream().map(each -> each.getItem(ObjectNode.class).get("n").intValue()).toList());
    }

    @Test
    void anOldEtagFailsTheBatch() {
        String old = container.createItem(item("1", "a")).getETag();
        container.upsertItem(item("1", "a", "n", 2));
        batch.createItemOperation(item("2", "a"));
        batch.replaceItemOperation("1", item("1", "a"), new CosmosBatchItemRequestOptions().setIfMatchETag(old));
        assertEquals(List.of(424, 412), statuses(container.executeCosmosBatch(batch)));
        assertEquals(List.of("1"), stored());
    }

    @Test
    void aPatchWhoseConditionIsFalseFailsTheBatch() {
        container.createItem(item("1", "a", "n", 1));
        batch.patchItemOperation("1", CosmosPatchOperations.create().set("/n", 2),
                new CosmosBatchPatchItemRequestOptions().setFilterPredicate("FROM c WHERE c.n > 5"));
        batch.createItemOperation(item("2", "a"));
        assertEquals(List.of(412, 424), statuses(container.executeCosmosBatch(batch)));
        assertEquals(List.of("1"), stored());
    }

    @Test
    void aHundredOperationsAreDoneAndMoreAreRefused() {
        for (int n = 0; n < 100; n++) {
            batch.createItemOperation(item("" + n, "a"));
        }
        assertEquals(200, container.executeCosmosBatch(batch).getStatusCode());
        assertEquals(100, stored().size());
        CosmosBatch longer = CosmosBatch.createCosmosBatch(key("b"));
        for (int n = 0; n < 101; n++) {
            longer.createItemOperation(item("" + n, "b"));
        }
        refused(400, () -> container.executeCosmosBatch(longer));
        assertEquals(List.of(), ids(container.readAllItems(key("b"), ObjectNode.class)));
    }

    @Test
    void anItemOfAnotherPartitionIsRefused() {
        batch.createItemOperation(item("1", "a"));
        batch.createItemOperation(item("2", "b"));
        assertEquals(List.of(424, 400), statuses(container.executeCosmosBatch(batch)));
        assertEquals(List.of(), stored());
    }
}
