package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.await;
import static lapsedb.cosmos.Expect.ids;
import static lapsedb.cosmos.Expect.item;
import static lapsedb.cosmos.Expect.key;
import static lapsedb.cosmos.Expect.list;
import static lapsedb.cosmos.Expect.query;
import static lapsedb.cosmos.Shared.ASYNC;
import static lapsedb.cosmos.Shared.DATABASE;
import static lapsedb.cosmos.Shared.SERVER;
import static lapsedb.cosmos.Shared.async;
import static lapsedb.cosmos.Shared.builder;
import static lapsedb.cosmos.Shared.by;
import static lapsedb.cosmos.Shared.container;
import static lapsedb.cosmos.Shared.name;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosEndToEndOperationLatencyPolicyConfigBuilder;
import com.azure.cosmos.GatewayConnectionConfig;
import com.azure.cosmos.GlobalThroughputControlConfig;
import com.azure.cosmos.Http2ConnectionConfig;
import com.azure.cosmos.ThroughputControlGroupConfig;
import com.azure.cosmos.ThroughputControlGroupConfigBuilder;
import com.azure.cosmos.models.CosmosAdditionalHeaderName;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.DedicatedGatewayRequestOptions;
import com.azure.cosmos.models.PriorityLevel;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Settings of clients and requests that are for other servers, or for the SDK alone, change no answer. */
class OptionsTest {
    private final CosmosContainer container = container();

    private void worksBy(CosmosContainer seen) {
        assertEquals(201, seen.createItem(item("1", "a")).getStatusCode());
        assertEquals("1", seen.readItem("1", key("a"), ObjectNode.class).getItem().get("id").textValue());
        assertEquals(List.of(1), query(seen, "SELECT VALUE COUNT(1) FROM c", Integer.class));
        assertEquals(List.of("1"), ids(seen.readAllItems(key("a"), ObjectNode.class)));
    }

    @Test
    void aClientThatWouldSpeakHttp2IsServed() {
        GatewayConnectionConfig http2 = new GatewayConnectionConfig().setHttp2ConnectionConfig(new Http2ConnectionConfig().setEnabled(true));
        try (CosmosClient client = builder(SERVER).gatewayMode(http2).buildClient()) {
            worksBy(by(client, container));
        }
    }

    @Test
    void aClientThatNamesItselfAndItsWorkloadIsServed() {
        try (CosmosClient client = builder(SERVER).userAgentSuffix("carts ünïcödé")
                .additionalHeaders(Map.of(CosmosAdditionalHeaderName.WORKLOAD_ID, "7"))
                .preferredRegions(List.of("West Europe")).endpointDiscoveryEnabled(false).multipleWriteRegionsEnabled(true)
                .endToEndOperationLatencyPolicyConfig(new CosmosEndToEndOperationLatencyPolicyConfigBuilder(Duration.ofMinutes(1)).build())
                .buildClient()) {
            worksBy(by(client, container));
        }
    }

    @Test
    void optionsOfADedicatedGatewayAreIgnored() {
        DedicatedGatewayRequestOptions cached = new DedicatedGatewayRequestOptions().setMaxIntegratedCacheStaleness(Duration.ofMinutes(5));
        container.createItem(item("1", "a", "n", 1));
        container.upsertItem(item("1", "a", "n", 2));
        CosmosItemRequestOptions read = new CosmosItemRequestOptions().setDedicatedGatewayRequestOptions(cached);
        assertEquals(2, container.readItem("1", key("a"), read, ObjectNode.class).getItem().get("n").intValue());
        CosmosQueryRequestOptions options = new CosmosQueryRequestOptions().setDedicatedGatewayRequestOptions(cached).setQueryAdviceEnabled(true)
                .setMaxDegreeOfParallelism(-1).setMaxBufferedItemCount(10).setResponseContinuationTokenLimitInKb(1).setScanInQueryEnabled(true);
        assertEquals(List.of(2), list(container.queryItems("SELECT VALUE c.n FROM c", options, Integer.class)));
    }

    @Test
    void aGroupMayLimitItselfAndGiveWayToOthers() {
        CosmosAsyncContainer limited = async(container);
        limited.enableServerThroughputControlGroup(new ThroughputControlGroupConfigBuilder()
                .groupName("background").throughputBucket(2).priorityLevel(PriorityLevel.LOW).build());
        CosmosItemRequestOptions ofGroup = new CosmosItemRequestOptions();
        ofGroup.setThroughputControlGroupName("background");
        assertEquals(201, limited.createItem(item("1", "a"), ofGroup).block().getStatusCode());
    }

    /** Clients that share a budget announce themselves to each other by items that expire. */
    @Test
    void clientsMayShareABudgetByItemsThatExpire() throws Exception {
        String id = name("c");
        DATABASE.createContainer(new CosmosContainerProperties(id, "/pk"), ThroughputProperties.createManualThroughput(1000));
        CosmosContainer control = container(new CosmosContainerProperties(name("control"), "/groupId").setDefaultTimeToLiveInSeconds(-1));
        CosmosAsyncContainer limited = ASYNC.getDatabase(DATABASE.getId()).getContainer(id);
        ThroughputControlGroupConfig group = new ThroughputControlGroupConfigBuilder().groupName("shared").targetThroughput(500).build();
        GlobalThroughputControlConfig shared = ASYNC.createGlobalThroughputControlConfigBuilder(DATABASE.getId(), control.getId())
                .setControlItemRenewInterval(Duration.ofSeconds(5)).setControlItemExpireInterval(Duration.ofSeconds(11)).build();
        limited.enableGlobalThroughputControlGroup(group, shared);
        CosmosItemRequestOptions ofGroup = new CosmosItemRequestOptions();
        ofGroup.setThroughputControlGroupName("shared");
        assertEquals(201, limited.createItem(item("1", "a"), ofGroup).block().getStatusCode());
        await("the client has announced itself", () -> !query(control, "SELECT * FROM c WHERE c.ttl > 0", ObjectNode.class).isEmpty());
        List<ObjectNode> all = query(control, "SELECT * FROM c", ObjectNode.class);
        assertEquals(2, all.size(), all.toString());
        assertTrue(all.stream().anyMatch(each -> !each.has("ttl") || each.get("ttl").intValue() == -1), all.toString());
    }
}
