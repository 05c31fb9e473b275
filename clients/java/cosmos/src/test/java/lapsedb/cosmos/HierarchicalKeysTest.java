package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.ids;
import static lapsedb.cosmos.Expect.list;
import static lapsedb.cosmos.Expect.refused;
import static lapsedb.cosmos.Shared.async;
import static lapsedb.cosmos.Shared.container;
import static lapsedb.cosmos.Shared.name;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosBatch;
import com.azure.cosmos.models.CosmosBulkOperations;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemIdentity;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.PartitionKeyBuilder;
import com.azure.cosmos.models.PartitionKeyDefinition;
import com.azure.cosmos.models.PartitionKeyDefinitionVersion;
import com.azure.cosmos.models.PartitionKind;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Keys of several levels: items by the whole key, queries also by its first levels. */
class HierarchicalKeysTest {
    private final CosmosContainer container = container(new CosmosContainerProperties(name("c"), new PartitionKeyDefinition()
            .setKind(PartitionKind.MULTI_HASH).setVersion(PartitionKeyDefinitionVersion.V2).setPaths(List.of("/tenant", "/user", "/session"))));

    private static PartitionKey key(String... levels) {
        PartitionKeyBuilder builder = new PartitionKeyBuilder();
        for (String level : levels) {
            builder.add(level);
        }
        return builder.build();
    }

    private static ObjectNode item(String id, String tenant, String user, String session) {
        return new ObjectMapper().createObjectNode().put("id", id).put("tenant", tenant).put("user", user).put("session", session);
    }

    @BeforeEach
    void fill() {
        container.createItem(item("1", "x", "ada", "s1"));
        container.createItem(item("2", "x", "ada", "s2"), key("x", "ada", "s2"), null);
        container.createItem(item("3", "x", "bob", "s1"));
        container.createItem(item("4", "y", "ada", "s1"));
    }

    private List<String> under(PartitionKey prefix) {
        return ids(container.queryItems("SELECT * FROM c ORDER BY c.id", new CosmosQueryRequestOptions().setPartitionKey(prefix), ObjectNode.class));
    }

    @Test
    void anItemIsFoundByItsWholeKeyAlone() {
        assertEquals("ada", container.readItem("1", key("x", "ada", "s1"), ObjectNode.class).getItem().get("user").textValue());
        refused(404, 0, () -> container.readItem("1", key("x", "ada", "s2"), ObjectNode.class));
        refused(400, () -> container.createItem(item("5", "x", "ada", "s1"), key("x", "ada", "s2"), null));
    }

    @Test
    void writesGoByTheWholeKey() {
        PartitionKey key = key("x", "ada", "s1");
        CosmosItemRequestOptions plain = new CosmosItemRequestOptions();
        assertEquals(200, container.upsertItem(item("1", "x", "ada", "s1").put("n", 1)).getStatusCode());
        assertEquals(200, container.replaceItem(item("1", "x", "ada", "s1").put("n", 2), "1", key, plain).getStatusCode());
        assertEquals(3, container.patchItem("1", key, CosmosPatchOperations.create().increment("/n", 1), ObjectNode.class).getItem().get("n").intValue());
        assertEquals(204, container.deleteItem("1", key, plain).getStatusCode());
        assertEquals(List.of("2", "3", "4"), under(null));
    }

    @Test
    void aQueryIsOfOneKeyOrOfItsFirstLevels() {
        assertEquals(List.of("1"), under(key("x", "ada", "s1")));
        assertEquals(List.of("1", "2"), under(key("x", "ada")));
        assertEquals(List.of("1", "2", "3"), under(key("x")));
        assertEquals(List.of(), under(key("z")));
        CosmosQueryRequestOptions ofX = new CosmosQueryRequestOptions().setPartitionKey(key("x"));
        assertEquals(List.of(3), list(container.queryItems("SELECT VALUE COUNT(1) FROM c", ofX, Integer.class)));
        assertEquals(List.of("1", "2"), ids(container.readAllItems(key("x", "ada"), ObjectNode.class)));
        List<Integer> sizes = async(container).queryItems("SELECT * FROM c", ofX, ObjectNode.class).byPage(2)
                .map(page -> page.getResults().size()).collectList().block();
        assertEquals(List.of(2, 1), sizes);
    }

    @Test
    void aFeedRangeIsOfTheFirstLevelsToo() {
        CosmosChangeFeedRequestOptions ofAda = CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(
                FeedRange.forLogicalPartition(key("x", "ada", "s2")));
        assertEquals(List.of("2"), ids(container.queryChangeFeed(ofAda, ObjectNode.class)));
    }

    @Test
    void batchBulkAndReadManyTakeTheWholeKey() {
        CosmosBatch batch = CosmosBatch.createCosmosBatch(key("x", "ada", "s1"));
        batch.createItemOperation(item("5", "x", "ada", "s1"));
        batch.readItemOperation("1");
        assertEquals(200, container.executeCosmosBatch(batch).getStatusCode());
        var bulk = list(container.executeBulkOperations(List.of(
                CosmosBulkOperations.getCreateItemOperation(item("6", "y", "bob", "s1"), key("y", "bob", "s1")),
                CosmosBulkOperations.getReadItemOperation("1", key("y", "bob", "s1")))));
        assertEquals(List.of(201, 404), bulk.stream().map(each -> each.getResponse().getStatusCode()).sorted().toList());
        assertEquals(List.of("1", "5", "6"), ids(container.readMany(List.of(
                new CosmosItemIdentity(key("x", "ada", "s1"), "1"), new CosmosItemIdentity(key("x", "ada", "s1"), "5"),
                new CosmosItemIdentity(key("y", "bob", "s1"), "6"), new CosmosItemIdentity(key("y", "ada", "s1"), "1")),
                ObjectNode.class).getResults()).stream().sorted().toList());
        assertEquals(List.of("1", "2", "5"), ids(container.readManyByPartitionKeys(List.of(key("x", "ada")), ObjectNode.class)).stream().sorted().toList());
    }
}
