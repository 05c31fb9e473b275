package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.ids;
import static lapsedb.cosmos.Expect.item;
import static lapsedb.cosmos.Expect.key;
import static lapsedb.cosmos.Expect.list;
import static lapsedb.cosmos.Expect.query;
import static lapsedb.cosmos.Expect.refused;
import static lapsedb.cosmos.Shared.ASYNC;
import static lapsedb.cosmos.Shared.CLIENT;
import static lapsedb.cosmos.Shared.DATABASE;
import static lapsedb.cosmos.Shared.container;
import static lapsedb.cosmos.Shared.name;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CompositePath;
import com.azure.cosmos.models.CompositePathSortOrder;
import com.azure.cosmos.models.ComputedProperty;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosContainerRequestOptions;
import com.azure.cosmos.models.CosmosContainerResponse;
import com.azure.cosmos.models.CosmosDatabaseProperties;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.ExcludedPath;
import com.azure.cosmos.models.IncludedPath;
import com.azure.cosmos.models.IndexingMode;
import com.azure.cosmos.models.IndexingPolicy;
import com.azure.cosmos.models.PartitionKeyDefinition;
import com.azure.cosmos.models.SpatialSpec;
import com.azure.cosmos.models.SpatialType;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.azure.cosmos.models.UniqueKey;
import com.azure.cosmos.models.UniqueKeyPolicy;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Databases and containers, and what a container's definition does to its items. */
class ContainersTest {
    @Test
    void databasesAreMadeListedFoundAndDropped() {
        String id = name("db");
        assertEquals(201, CLIENT.createDatabase(id).getStatusCode());
        assertEquals(200, CLIENT.createDatabaseIfNotExists(id).getStatusCode());
        refused(409, 3206, () -> CLIENT.createDatabase(id));
        CosmosDatabase database = CLIENT.getDatabase(id);
        CosmosDatabaseProperties read = database.read().getProperties();
        assertEquals(id, read.getId());
        assertTrue(list(CLIENT.readAllDatabases()).stream().anyMatch(each -> each.getId().equals(id)));
        SqlQuerySpec byId = new SqlQuerySpec("SELECT * FROM d WHERE d.id = @id", new SqlParameter("@id", id));
        assertEquals(List.of(read.getResourceId()), list(CLIENT.queryDatabases(byId, null)).stream().map(CosmosDatabaseProperties::getResourceId).toList());
        assertEquals(204, database.delete().getStatusCode());
        refused(404, () -> database.read());
        refused(404, () -> ASYNC.getDatabase(id).read().block());
    }

    @Test
    void containersAreMadeListedFoundAndDropped() {
        String id = name("c");
        assertEquals(201, DATABASE.createContainerIfNotExists(id, "/pk").getStatusCode());
        assertEquals(200, DATABASE.createContainerIfNotExists(id, "/pk").getStatusCode());
        refused(409, 0, () -> DATABASE.createContainer(id, "/pk"));
        CosmosContainer container = DATABASE.getContainer(id);
        CosmosContainerResponse read = container.read();
        assertEquals(List.of("/pk"), read.getProperties().getPartitionKeyDefinition().getPaths());
        assertTrue(list(DATABASE.readAllContainers()).stream().anyMatch(each -> each.getId().equals(id)));
        SqlQuerySpec byId = new SqlQuerySpec("SELECT * FROM c WHERE c.id = @id", new SqlParameter("@id", id));
        assertEquals(List.of(id), list(DATABASE.queryContainers(byId)).stream().map(CosmosContainerProperties::getId).toList());
        assertEquals(204, container.delete().getStatusCode());
        refused(404, () -> container.read());
    }

    @Test
    void aReplaceWithAnOldEtagIsRefused() {
        CosmosContainer container = container();
        CosmosContainerProperties read = container.read().getProperties();
        container.replace(read.setDefaultTimeToLiveInSeconds(5));
        CosmosContainerRequestOptions old = new CosmosContainerRequestOptions().setIfMatchETag(read.getETag());
        refused(412, () -> container.replace(read.setDefaultTimeToLiveInSeconds(6), old));
        assertEquals(5, container.read().getProperties().getDefaultTimeToLiveInSeconds());
    }

    @Test
    void thePartitionKeyOfAContainerStays() {
        CosmosContainer container = container();
        CosmosContainerProperties changed = container.read().getProperties();
        changed.setPartitionKeyDefinition(new PartitionKeyDefinition().setPaths(List.of("/other")));
        refused(400, () -> container.replace(changed));
        assertEquals(List.of("/pk"), container.read().getProperties().getPartitionKeyDefinition().getPaths());
    }

    @Test
    void aContainerThatIsMadeAnewUnderTheSameNameIsFound() {
        CosmosContainer container = container();
        container.createItem(item("old", "a"));
        CosmosContainer sameByAnother = CLIENT.getDatabase(DATABASE.getId()).getContainer(container.getId());
        ASYNC.getDatabase(DATABASE.getId()).getContainer(container.getId()).delete().block();
        ASYNC.getDatabase(DATABASE.getId()).createContainer(container.getId(), "/key").block();
        // This client knows the old one's address and partition key.
        sameByAnother.createItem(item("new", "a", "key", "k"));
        assertEquals(List.of("new"), ids(query(container, "SELECT * FROM c", ObjectNode.class)));
        assertEquals("new", container.readItem("new", key("k"), ObjectNode.class).getItem().get("id").textValue());
    }

    @Test
    void uniqueKeysHoldWithinAPartition() {
        UniqueKeyPolicy keys = new UniqueKeyPolicy().setUniqueKeys(List.of(new UniqueKey(List.of("/email")), new UniqueKey(List.of("/first", "/last"))));
        CosmosContainer container = container(properties -> properties.setUniqueKeyPolicy(keys));
        assertEquals(2, container.read().getProperties().getUniqueKeyPolicy().getUniqueKeys().size());
        container.createItem(item("1", "a", "email", "x", "first", "f", "last", "l"));
        refused(409, () -> container.createItem(item("2", "a", "email", "x")));
        refused(409, () -> container.upsertItem(item("2", "a", "email", "y", "first", "f", "last", "l")));
        container.createItem(item("2", "a", "email", "y", "first", "f", "last", "m"));
        container.createItem(item("1", "b", "email", "x"));
        refused(409, () -> container.replaceItem(item("2", "a", "email", "x"), "2", key("a"), new CosmosItemRequestOptions()));
        container.deleteItem("1", key("a"), new CosmosItemRequestOptions());
        container.createItem(item("3", "a", "email", "x"));
    }

    @Test
    void anIndexingPolicyIsKeptAndDecidesWhatCanBeOrdered() {
        IndexingPolicy policy = new IndexingPolicy().setIndexingMode(IndexingMode.CONSISTENT)
                .setIncludedPaths(List.of(new IncludedPath("/*")))
                .setExcludedPaths(List.of(new ExcludedPath("/secret/?")))
                .setCompositeIndexes(List.of(List.of(
                        new CompositePath().setPath("/a").setOrder(CompositePathSortOrder.ASCENDING),
                        new CompositePath().setPath("/b").setOrder(CompositePathSortOrder.DESCENDING))))
                .setSpatialIndexes(List.of(new SpatialSpec().setPath("/at/*").setSpatialTypes(List.of(SpatialType.POINT))));
        CosmosContainer container = container(properties -> properties.setIndexingPolicy(policy));
        IndexingPolicy read = container.read().getProperties().getIndexingPolicy();
        assertEquals(IndexingMode.CONSISTENT, read.getIndexingMode());
        assertTrue(read.getExcludedPaths().stream().anyMatch(path -> path.getPath().equals("/secret/?")));
        assertEquals(CompositePathSortOrder.DESCENDING, read.getCompositeIndexes().get(0).get(1).getOrder());
        assertEquals(List.of(SpatialType.POINT), read.getSpatialIndexes().get(0).getSpatialTypes());
        container.createItem(item("1", "p", "a", 1, "b", 1, "secret", 1, "at", Map.of("type", "Point", "coordinates", List.of(10, 60))));
        container.createItem(item("2", "p", "a", 1, "b", 2, "secret", 2));
        container.createItem(item("3", "p", "a", 0, "b", 3, "secret", 3));
        assertEquals(List.of("3", "2", "1"), query(container, "SELECT VALUE c.id FROM c ORDER BY c.a, c.b DESC", String.class));
        refused(400, () -> query(container, "SELECT VALUE c.id FROM c ORDER BY c.a, c.b", String.class));
        // Not indexed, and found all the same.
        assertEquals(List.of("2"), query(container, "SELECT VALUE c.id FROM c WHERE c.secret = 2", String.class));
        String near = "SELECT VALUE c.id FROM c WHERE ST_DISTANCE(c.at, {'type': 'Point', 'coordinates': [10, 60.01]}) < 2000";
        assertEquals(List.of("1"), query(container, near, String.class));
        CosmosContainerProperties changed = container.read().getProperties();
        changed.getIndexingPolicy().setCompositeIndexes(List.of(List.of(
                new CompositePath().setPath("/a").setOrder(CompositePathSortOrder.ASCENDING),
                new CompositePath().setPath("/b").setOrder(CompositePathSortOrder.ASCENDING))));
        container.replace(changed);
        assertEquals(List.of("3", "1", "2"), query(container, "SELECT VALUE c.id FROM c ORDER BY c.a, c.b", String.class));
    }

    @Test
    void computedPropertiesAreMadeByQueries() {
        CosmosContainer container = container(properties -> properties.setComputedProperties(List.of(
                new ComputedProperty("lower", "SELECT VALUE LOWER(c.name) FROM c")))
                .setIndexingPolicy(new IndexingPolicy().setIncludedPaths(List.of(new IncludedPath("/*"), new IncludedPath("/lower/?")))));
        container.createItem(item("1", "a", "name", "TEA"));
        container.createItem(item("2", "a", "name", "Pot"));
        assertEquals(List.of("1"), query(container, "SELECT VALUE c.id FROM c WHERE c.lower = 'tea'", String.class));
        assertEquals(List.of("pot", "tea"), query(container, "SELECT VALUE c.lower FROM c ORDER BY c.lower", String.class));
        assertTrue(query(container, "SELECT * FROM c", ObjectNode.class).stream().noneMatch(each -> each.has("lower")));
        CosmosContainerProperties changed = container.read().getProperties();
        assertEquals("lower", changed.getComputedProperties().iterator().next().getName());
        container.replace(changed.setComputedProperties(List.of(new ComputedProperty("size", "SELECT VALUE LENGTH(c.name) FROM c"))));
        assertEquals(List.of(3, 3), query(container, "SELECT VALUE c.size FROM c", Integer.class));
        refused(400, () -> container(properties -> properties.setComputedProperties(List.of(new ComputedProperty("bad", "SELECT c.a FROM c")))));
    }

    @Test
    void aContainerIsReadWithItsUsage() {
        CosmosContainer container = container(properties -> properties.setDefaultTimeToLiveInSeconds(10));
        container.createItem(item("1", "a"));
        container.createItem(item("2", "a", "ttl", -1));
        CosmosContainerRequestOptions measured = new CosmosContainerRequestOptions().setQuotaInfoEnabled(true);
        assertEquals(2, usage(container.read(measured)));
        Shared.SERVER.advance("10s");
        assertEquals(1, usage(container.read(measured)));
        assertNotEquals("", container.read().getActivityId());
    }

    private static long usage(CosmosContainerResponse answer) {
        for (String part : answer.getResponseHeaders().get("x-ms-resource-usage").split(";")) {
            if (part.startsWith("documentsCount=")) {
                return Long.parseLong(part.substring("documentsCount=".length()));
            }
        }
        throw new AssertionError(answer.getResponseHeaders());
    }
}
