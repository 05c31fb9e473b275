package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.item;
import static lapsedb.cosmos.Expect.json;
import static lapsedb.cosmos.Expect.key;
import static lapsedb.cosmos.Expect.refused;
import static lapsedb.cosmos.Shared.async;
import static lapsedb.cosmos.Shared.container;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.CosmosPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;

/** Parts of an item are changed in place, all operations of a patch or none. */
class PatchTest {
    private final CosmosContainer container = container();
    private ObjectNode before;

    @BeforeEach
    void anItem() {
        before = container.createItem(item("1", "a", "n", 1, "list", List.of(1, 2), "deep", Map.of("x", 1))).getItem();
    }

    private ObjectNode patched(UnaryOperator<CosmosPatchOperations> operations) {
        CosmosItemResponse<ObjectNode> answer =
                container.patchItem("1", key("a"), operations.apply(CosmosPatchOperations.create()), ObjectNode.class);
        assertEquals(200, answer.getStatusCode());
        assertEquals(answer.getItem(), read());
        assertNotEquals(before.get("_etag"), answer.getItem().get("_etag"));
        return answer.getItem();
    }

    private ObjectNode read() {
        return container.readItem("1", key("a"), ObjectNode.class).getItem();
    }

    private CosmosException refusedPatch(UnaryOperator<CosmosPatchOperations> operations) {
        CosmosException error = refused(400, () -> container.patchItem("1", key("a"), operations.apply(CosmosPatchOperations.create()), ObjectNode.class));
        assertEquals(before, read());
        return error;
    }

    @Test
    void addMakesMembersAndPutsIntoArrays() {
        ObjectNode item = patched(patch -> patch.add("/new", "text").add("/list/1", 9).add("/list/-", 3).add("/deep/y", List.of(true)));
        assertEquals("text", item.get("new").textValue());
        assertEquals(json("[1,9,2,3]"), item.get("list"));
        assertEquals(json("{\"x\":1,\"y\":[true]}"), item.get("deep"));
    }

    @Test
    void setMakesOrReplaces() {
        ObjectNode item = patched(patch -> patch.set("/n", 2.5).set("/new", null).set("/list/0", "first"));
        assertEquals(json("2.5"), item.get("n"));
        assertTrue(item.get("new").isNull());
        assertEquals(json("[\"first\",2]"), item.get("list"));
    }

    @Test
    void replaceNeedsWhatItReplaces() {
        assertEquals(5, patched(patch -> patch.replace("/deep/x", 5)).get("deep").get("x").intValue());
        before = read();
        refusedPatch(patch -> patch.replace("/none", 5));
    }

    @Test
    void removeTakesMembersAndElements() {
        ObjectNode item = patched(patch -> patch.remove("/n").remove("/list/0"));
        assertTrue(item.get("n") == null);
        assertEquals(json("[2]"), item.get("list"));
        before = read();
        refusedPatch(patch -> patch.remove("/n"));
    }

    @Test
    void incrementAddsWholeAndBrokenNumbers() {
        ObjectNode item = patched(patch -> patch.increment("/n", 41L).increment("/deep/x", -0.5).increment("/new", 7L));
        assertEquals(json("42"), item.get("n"));
        assertEquals(json("0.5"), item.get("deep").get("x"));
        assertEquals(json("7"), item.get("new"));
        before = read();
        refusedPatch(patch -> patch.increment("/list", 1L));
    }

    @Test
    void moveTakesAValueElsewhere() {
        ObjectNode item = patched(patch -> patch.move("/deep/x", "/moved"));
        assertEquals(json("1"), item.get("moved"));
        assertEquals(json("{}"), item.get("deep"));
    }

    @Test
    void operationsActInTheirOrder() {
        JsonNode list = patched(patch -> patch.set("/list", List.of()).add("/list/-", "a").add("/list/0", "b").replace("/list/1", "c")).get("list");
        assertEquals(json("[\"b\",\"c\"]"), list);
    }

    @Test
    void oneOperationThatFailsUndoesAll() {
        refusedPatch(patch -> patch.set("/n", 100).remove("/none").set("/new", 1));
        refusedPatch(patch -> patch.set("/n", 100).set("/id", "2"));
        refusedPatch(patch -> patch.set("/n", 100).set("/pk", "b"));
    }

    @Test
    void moreThanTenOperationsAreRefused() {
        refusedPatch(patch -> {
            for (int n = 0; n < 11; n++) {
                patch.set("/m" + n, n);
            }
            return patch;
        });
    }

    @Test
    void aConditionDecidesWhetherThePatchIsDone() {
        CosmosPatchOperations patch = CosmosPatchOperations.create().increment("/n", 1);
        CosmosPatchItemRequestOptions above = new CosmosPatchItemRequestOptions().setFilterPredicate("FROM c WHERE c.n > 1");
        refused(412, () -> container.patchItem("1", key("a"), patch, above, ObjectNode.class));
        assertEquals(before, read());
        CosmosPatchItemRequestOptions one = new CosmosPatchItemRequestOptions().setFilterPredicate("FROM c WHERE c.n = 1 AND ARRAY_CONTAINS(c.list, 2)");
        assertEquals(2, async(container).patchItem("1", key("a"), patch, one, ObjectNode.class).block().getItem().get("n").intValue());
        CosmosPatchItemRequestOptions nonsense = new CosmosPatchItemRequestOptions().setFilterPredicate("WHERE nonsense");
        refused(400, () -> container.patchItem("1", key("a"), patch, nonsense, ObjectNode.class));
    }

    @Test
    void anItemThatIsNotThereIsNotPatched() {
        refused(404, 0, () -> container.patchItem("2", key("a"), CosmosPatchOperations.create().set("/n", 1), ObjectNode.class));
        refused(404, 0, () -> container.patchItem("1", key("b"), CosmosPatchOperations.create().set("/n", 1), ObjectNode.class));
    }

    @Test
    void concurrentIncrementsAllCount() {
        Flux.range(0, 40)
                .flatMap(n -> async(container).patchItem("1", key("a"), CosmosPatchOperations.create().increment("/n", 1), ObjectNode.class), 8)
                .blockLast();
        assertEquals(41, read().get("n").intValue());
    }
}
