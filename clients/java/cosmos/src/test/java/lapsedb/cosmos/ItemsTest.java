package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.ids;
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
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosItemIdentity;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.CosmosPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Items are created, read, replaced and deleted one by one, with conditions on their etags. */
class ItemsTest {
    private static final CosmosItemRequestOptions PLAIN = new CosmosItemRequestOptions();

    private final CosmosContainer container = container();

    /** An item as an application has it: a class. */
    public static final class Cart {
        public String id;
        public String pk;
        public long total;
        public List<String> goods;
        public Map<String, Double> prices;
    }

    private static CosmosItemRequestOptions ifMatch(String etag) {
        return new CosmosItemRequestOptions().setIfMatchETag(etag);
    }

    private ObjectNode read(String id) {
        return container.readItem(id, key("a"), ObjectNode.class).getItem();
    }

    @Test
    void aCreatedItemIsReadWithItsSystemProperties() {
        CosmosItemResponse<ObjectNode> created = container.createItem(item("1", "a", "n", 1));
        assertEquals(201, created.getStatusCode());
        assertTrue(created.getRequestCharge() > 0);
        assertNotNull(created.getActivityId());
        CosmosItemResponse<ObjectNode> read = container.readItem("1", key("a"), ObjectNode.class);
        assertEquals(200, read.getStatusCode());
        assertEquals(created.getItem(), read.getItem());
        assertEquals(created.getETag(), read.getItem().get("_etag").textValue());
        assertEquals(1, read.getItem().get("n").intValue());
        for (String system : List.of("_rid", "_self", "_ts", "_attachments")) {
            assertTrue(read.getItem().hasNonNull(system), system);
        }
    }

    @Test
    void theAsynchronousClientDoesTheSame() {
        CosmosAsyncContainer container = async(this.container);
        assertEquals(201, container.createItem(item("1", "a")).block().getStatusCode());
        assertEquals(200, container.upsertItem(item("1", "a", "n", 1)).block().getStatusCode());
        assertEquals(200, container.replaceItem(item("1", "a", "n", 2), "1", key("a")).block().getStatusCode());
        assertEquals(2, container.readItem("1", key("a"), ObjectNode.class).block().getItem().get("n").intValue());
        assertEquals(204, container.deleteItem("1", key("a")).block().getStatusCode());
        refused(404, 0, () -> container.readItem("1", key("a"), ObjectNode.class).block());
    }

    @Test
    void aClassIsWrittenAndReadAsItIs() {
        Cart cart = new Cart();
        cart.id = "1";
        cart.pk = "a";
        cart.total = Long.MAX_VALUE;
        cart.goods = List.of("tea", "ünïcödé ☕ 🫖", "");
        cart.prices = Map.of("tea", 0.1, "pot", 1e300);
        container.createItem(cart);
        Cart read = container.readItem("1", key("a"), Cart.class).getItem();
        assertEquals(cart.total, read.total);
        assertEquals(cart.goods, read.goods);
        assertEquals(cart.prices, read.prices);
    }

    @Test
    void anIdIsTakenInItsPartitionAlone() {
        container.createItem(item("1", "a", "n", 1));
        refused(409, 0, () -> container.createItem(item("1", "a", "n", 2)));
        assertEquals(201, container.createItem(item("1", "b")).getStatusCode());
        assertEquals(1, read("1").get("n").intValue());
    }

    @Test
    void idsAndKeysWithSignsOfTheirOwnAreFound() {
        for (String id : List.of("with space", "100%", "ünïcödé ☕", "a+b&c=d", "'\"<>[]{}|^`", "a:b;c,d@e$f!g*h(i)")) {
            container.createItem(item(id, id));
            assertEquals(id, container.readItem(id, key(id), ObjectNode.class).getItem().get("id").textValue());
            assertEquals(204, container.deleteItem(id, key(id), PLAIN).getStatusCode());
        }
    }

    @Test
    void partitionKeysOfEveryTypeAreApart() {
        Map<String, PartitionKey> keys = Map.of(
                "'1'", new PartitionKey("1"), "1", new PartitionKey(1), "1.5", new PartitionKey(1.5), "true", new PartitionKey(true),
                "null", new PartitionKey(null), "none", PartitionKey.NONE);
        keys.forEach((name, key) -> {
            ObjectNode body = item("1", "x", "name", name);
            body.remove("pk");
            switch (name) {
                case "'1'" -> body.put("pk", "1");
                case "1" -> body.put("pk", 1);
                case "1.5" -> body.put("pk", 1.5);
                case "true" -> body.put("pk", true);
                case "null" -> body.putNull("pk");
                default -> {}
            }
            assertEquals(201, container.createItem(body, key, PLAIN).getStatusCode(), name);
        });
        keys.forEach((name, key) -> {
            assertEquals(name, container.readItem("1", key, ObjectNode.class).getItem().get("name").textValue());
            if (key != PartitionKey.NONE) { // The SDK sends a query with this one as a query of all partitions.
                CosmosQueryRequestOptions inOne = new CosmosQueryRequestOptions().setPartitionKey(key);
                assertEquals(List.of(name), list(container.queryItems("SELECT VALUE c.name FROM c", inOne, String.class)));
            }
        });
        refused(400, () -> container.createItem(item("2", "a"), key("b"), PLAIN));
    }

    @Test
    void anUpsertCreatesOrReplaces() {
        CosmosItemResponse<ObjectNode> first = container.upsertItem(item("1", "a", "old", true));
        assertEquals(201, first.getStatusCode());
        CosmosItemResponse<ObjectNode> second = container.upsertItem(item("1", "a", "n", 2));
        assertEquals(200, second.getStatusCode());
        assertNotEquals(first.getETag(), second.getETag());
        assertEquals(first.getItem().get("_rid"), second.getItem().get("_rid"));
        assertFalse(read("1").has("old"));
    }

    @Test
    void aReplaceNeedsTheItemAndKeepsNothingOfIt() {
        refused(404, 0, () -> container.replaceItem(item("1", "a"), "1", key("a"), PLAIN));
        container.createItem(item("1", "a", "old", true));
        assertEquals(200, container.replaceItem(item("1", "a", "n", 2), "1", key("a"), PLAIN).getStatusCode());
        assertFalse(read("1").has("old"));
        assertEquals(2, read("1").get("n").intValue());
    }

    @Test
    void aDeletedItemIsGone() {
        ObjectNode created = container.createItem(item("1", "a")).getItem();
        assertEquals(204, container.deleteItem(created, PLAIN).getStatusCode());
        refused(404, 0, () -> read("1"));
        refused(404, 0, () -> container.deleteItem("1", key("a"), PLAIN));
        assertEquals(201, container.createItem(item("1", "a")).getStatusCode());
    }

    @Test
    void aWriteWithAnOldEtagChangesNothing() {
        String old = container.createItem(item("1", "a", "n", 1)).getETag();
        ObjectNode kept = container.upsertItem(item("1", "a", "n", 2)).getItem();
        CosmosPatchItemRequestOptions patch = new CosmosPatchItemRequestOptions();
        patch.setIfMatchETag(old);
        refused(412, 0, () -> container.replaceItem(item("1", "a"), "1", key("a"), ifMatch(old)));
        refused(412, 0, () -> container.upsertItem(item("1", "a"), ifMatch(old)));
        refused(412, 0, () -> container.deleteItem("1", key("a"), ifMatch(old)));
        refused(412, 0, () -> container.patchItem("1", key("a"), CosmosPatchOperations.create().set("/n", 3), patch, ObjectNode.class));
        assertEquals(kept, read("1"));
    }

    @Test
    void aWriteWithTheEtagReadSucceeds() {
        String first = container.createItem(item("1", "a")).getETag();
        String second = container.replaceItem(item("1", "a", "n", 2), "1", key("a"), ifMatch(first)).getETag();
        CosmosPatchItemRequestOptions patch = new CosmosPatchItemRequestOptions();
        patch.setIfMatchETag(second);
        String third = container.patchItem("1", key("a"), CosmosPatchOperations.create().set("/n", 3), patch, ObjectNode.class).getETag();
        String fourth = container.upsertItem(item("1", "a", "n", 4), ifMatch(third)).getETag();
        assertEquals(4, read("1").get("n").intValue());
        assertEquals(204, container.deleteItem("1", key("a"), ifMatch(fourth)).getStatusCode());
    }

    @Test
    void aReadOfWhatIsKnownAlreadyAnswersNotModified() {
        String etag = container.createItem(item("1", "a")).getETag();
        CosmosItemRequestOptions known = new CosmosItemRequestOptions().setIfNoneMatchETag(etag);
        CosmosItemResponse<ObjectNode> unchanged = container.readItem("1", key("a"), known, ObjectNode.class);
        assertEquals(304, unchanged.getStatusCode());
        container.upsertItem(item("1", "a", "n", 2));
        CosmosItemResponse<ObjectNode> changed = container.readItem("1", key("a"), known, ObjectNode.class);
        assertEquals(200, changed.getStatusCode());
        assertEquals(2, changed.getItem().get("n").intValue());
    }

    @Test
    void readManyFindsWhatIsThere() {
        for (String pk : List.of("a", "b")) {
            for (String id : List.of("1", "2", "3")) {
                container.createItem(item(id, pk, "at", pk + id));
            }
        }
        List<CosmosItemIdentity> wanted = List.of(
                new CosmosItemIdentity(key("a"), "1"), new CosmosItemIdentity(key("a"), "3"), new CosmosItemIdentity(key("a"), "none"),
                new CosmosItemIdentity(key("b"), "2"), new CosmosItemIdentity(key("none"), "1"));
        List<String> found = container.readMany(wanted, ObjectNode.class).getResults().stream()
                .map(item -> item.get("at").textValue()).sorted().toList();
        assertEquals(List.of("a1", "a3", "b2"), found);
        assertEquals(3, async(container).readMany(wanted, ObjectNode.class).block().getResults().size());
        // One alone is a point read.
        assertEquals(1, container.readMany(wanted.subList(0, 1), ObjectNode.class).getResults().size());
        assertEquals(0, container.readMany(wanted.subList(2, 3), ObjectNode.class).getResults().size());
    }

    @Test
    void readManyByPartitionKeysFindsAllOfTheirItems() {
        for (String pk : List.of("a", "b", "c")) {
            container.createItem(item("1", pk));
            container.createItem(item("2", pk));
        }
        List<ObjectNode> found = list(container.readManyByPartitionKeys(List.of(key("a"), key("c"), key("none")), ObjectNode.class));
        assertEquals(List.of("a1", "a2", "c1", "c2"), found.stream()
                .map(item -> item.get("pk").textValue() + item.get("id").textValue()).sorted().toList());
    }

    @Test
    void answersToWritesComeWithoutTheItemIfTheClientWantsNone() {
        CosmosItemRequestOptions without = new CosmosItemRequestOptions().setContentResponseOnWriteEnabled(false);
        CosmosItemResponse<ObjectNode> created = container.createItem(item("1", "a"), without);
        assertEquals(201, created.getStatusCode());
        assertNull(created.getItem());
        assertEquals(created.getETag(), read("1").get("_etag").textValue());
        try (CosmosClient sparing = builder(SERVER).contentResponseOnWriteEnabled(false).buildClient()) {
            CosmosContainer seen = by(sparing, container);
            assertNull(seen.upsertItem(item("1", "a", "n", 2)).getItem());
            assertNull(seen.replaceItem(item("1", "a", "n", 3), "1", key("a"), PLAIN).getItem());
            assertNull(seen.patchItem("1", key("a"), CosmosPatchOperations.create().increment("/n", 1), ObjectNode.class).getItem());
            assertEquals(4, seen.readItem("1", key("a"), ObjectNode.class).getItem().get("n").intValue());
        }
    }

    @Test
    void allItemsOfAPartitionAreReadAndDeletedAtOnce() {
        for (String pk : List.of("a", "b")) {
            container.createItem(item("1", pk));
            container.createItem(item("2", pk));
        }
        assertEquals(List.of("1", "2"), ids(container.readAllItems(key("a"), ObjectNode.class)));
        assertEquals(200, container.deleteAllItemsByPartitionKey(key("a"), PLAIN).getStatusCode());
        assertEquals(List.of(), ids(container.readAllItems(key("a"), ObjectNode.class)));
        assertEquals(List.of("1", "2"), ids(container.readAllItems(key("b"), ObjectNode.class)));
    }

    @Test
    void anItemOfMoreThanTwoMegabytesIsRefused() {
        refused(413, () -> container.createItem(item("1", "a", "text", "x".repeat(2 * 1024 * 1024 + 1))));
        assertEquals(List.of(), ids(container.readAllItems(key("a"), ObjectNode.class)));
    }

    @Test
    void anItemWithoutAnIdOrWithOneThatIsNotTextIsRefused() {
        ObjectNode without = item("1", "a");
        without.remove("id");
        refused(400, () -> container.createItem(without));
        refused(400, () -> container.createItem(without.deepCopy().put("id", 1), key("a"), PLAIN));
    }
}
