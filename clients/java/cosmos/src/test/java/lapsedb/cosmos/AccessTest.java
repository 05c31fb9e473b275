package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.ids;
import static lapsedb.cosmos.Expect.item;
import static lapsedb.cosmos.Expect.key;
import static lapsedb.cosmos.Expect.list;
import static lapsedb.cosmos.Expect.query;
import static lapsedb.cosmos.Expect.refused;
import static lapsedb.cosmos.Shared.ASYNC;
import static lapsedb.cosmos.Shared.DATABASE;
import static lapsedb.cosmos.Shared.SERVER;
import static lapsedb.cosmos.Shared.by;
import static lapsedb.cosmos.Shared.container;
import static lapsedb.cosmos.Shared.name;
import static lapsedb.cosmos.Shared.unauthorized;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosAsyncUser;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosPermissionProperties;
import com.azure.cosmos.models.CosmosUserProperties;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.PermissionMode;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Keys, users, their permissions, and the resource tokens that come of them. */
class AccessTest {
    private final CosmosContainer container = container();
    private final CosmosContainer other = container();
    private final String user = name("user");

    @BeforeEach
    void aUserAndItems() {
        DATABASE.createUser(new CosmosUserProperties().setId(user));
        container.createItem(item("1", "mine"));
        container.createItem(item("2", "theirs"));
        other.createItem(item("1", "mine"));
    }

    private static CosmosAsyncUser users(String id) {
        return ASYNC.getDatabase(DATABASE.getId()).getUser(id);
    }

    private CosmosPermissionProperties permission(PermissionMode mode, PartitionKey partition) {
        CosmosPermissionProperties wanted = new CosmosPermissionProperties()
                .setId(name("p")).setContainerName(container.getId()).setPermissionMode(mode);
        if (partition != null) {
            wanted.setResourcePartitionKey(partition);
        }
        return users(user).createPermission(wanted, null).block().getProperties();
    }

    private static CosmosClientBuilder nobody() {
        return unauthorized(SERVER);
    }

    /**
     * A client with one token. Given permissions instead, this version of the SDK finds none of them for the ranges of a
     * container, which it reads by another address.
     */
    private static CosmosClient holding(CosmosPermissionProperties permission) {
        return nobody().resourceToken(permission.getToken()).buildClient();
    }

    @Test
    void usersAreMadeListedFoundRenamedAndRemoved() {
        refused(409, 0, () -> DATABASE.createUser(new CosmosUserProperties().setId(user)));
        DATABASE.upsertUser(new CosmosUserProperties().setId(user));
        assertTrue(list(DATABASE.readAllUsers()).stream().anyMatch(each -> each.getId().equals(user)));
        SqlQuerySpec byId = new SqlQuerySpec("SELECT * FROM u WHERE u.id = @id", new SqlParameter("@id", user));
        assertEquals(List.of(user), list(DATABASE.queryUsers(byId)).stream().map(CosmosUserProperties::getId).toList());
        String renamed = name("user");
        DATABASE.getUser(user).replace(DATABASE.getUser(user).read().getProperties().setId(renamed));
        refused(404, () -> DATABASE.getUser(user).read());
        assertEquals(204, DATABASE.getUser(renamed).delete().getStatusCode());
        refused(404, () -> DATABASE.getUser(renamed).read());
    }

    @Test
    void permissionsAreMadeListedReplacedAndRemoved() {
        CosmosPermissionProperties made = permission(PermissionMode.READ, null);
        assertEquals(container.getId(), made.getContainerName());
        assertTrue(made.getToken().startsWith("type=resource&ver=1"), made.getToken());
        assertEquals(List.of(made.getId()), users(user).readAllPermissions().map(CosmosPermissionProperties::getId).collectList().block());
        users(user).getPermission(made.getId()).replace(made.setPermissionMode(PermissionMode.ALL), null).block();
        assertEquals(PermissionMode.ALL, users(user).getPermission(made.getId()).read(null).block().getProperties().getPermissionMode());
        assertEquals(204, users(user).getPermission(made.getId()).delete(null).block().getStatusCode());
        refused(404, () -> users(user).getPermission(made.getId()).read(null).block());
    }

    @Test
    void aTokenToReadReadsAndDoesNotWrite() {
        try (CosmosClient reader = holding(permission(PermissionMode.READ, null))) {
            CosmosContainer seen = by(reader, container);
            assertEquals("1", seen.readItem("1", key("mine"), ObjectNode.class).getItem().get("id").textValue());
            assertEquals(List.of("1", "2"), ids(query(seen, "SELECT * FROM c ORDER BY c.id", ObjectNode.class)));
            refused(403, () -> seen.createItem(item("3", "mine")));
            refused(403, () -> seen.upsertItem(item("1", "mine", "n", 1)));
            refused(403, () -> seen.deleteItem("1", key("mine"), new CosmosItemRequestOptions()));
        }
        assertEquals(List.of(2), query(container, "SELECT VALUE COUNT(1) FROM c", Integer.class));
    }

    @Test
    void aTokenForEverythingWrites() {
        try (CosmosClient writer = holding(permission(PermissionMode.ALL, null))) {
            CosmosContainer seen = by(writer, container);
            seen.createItem(item("3", "mine"));
            seen.replaceItem(item("3", "mine", "n", 1), "3", key("mine"), new CosmosItemRequestOptions());
        }
        assertEquals(1, container.readItem("3", key("mine"), ObjectNode.class).getItem().get("n").intValue());
    }

    @Test
    void aTokenOfOneContainerOpensNoOther() {
        try (CosmosClient client = holding(permission(PermissionMode.ALL, null))) {
            refused(403, () -> by(client, other).readItem("1", key("mine"), ObjectNode.class));
        }
    }

    @Test
    void aTokenMayBeForOnePartition() {
        CosmosPermissionProperties mine = permission(PermissionMode.ALL, key("mine"));
        assertEquals(key("mine"), mine.getResourcePartitionKey());
        try (CosmosClient client = holding(mine)) {
            CosmosContainer seen = by(client, container);
            assertEquals("1", seen.readItem("1", key("mine"), ObjectNode.class).getItem().get("id").textValue());
            seen.createItem(item("3", "mine"));
            refused(403, () -> seen.readItem("2", key("theirs"), ObjectNode.class));
            refused(403, () -> seen.createItem(item("3", "theirs")));
        }
    }

    @Test
    void anApplicationMayHandOutTheTokensItself() {
        String token = permission(PermissionMode.READ, null).getToken();
        try (CosmosClient client = nobody().authorizationTokenResolver((method, resource, type, properties) -> token).buildClient()) {
            assertEquals("1", by(client, container).readItem("1", key("mine"), ObjectNode.class).getItem().get("id").textValue());
        }
    }

    @Test
    void anotherKeyOpensNothing() {
        String wrong = Base64.getEncoder().encodeToString(new byte[64]);
        Exception error = assertThrows(RuntimeException.class, () -> nobody().key(wrong).buildClient());
        assertEquals(401, ((CosmosException) error.getCause()).getStatusCode());
    }
}
