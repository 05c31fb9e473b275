package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.item;
import static lapsedb.cosmos.Expect.key;
import static lapsedb.cosmos.Expect.list;
import static lapsedb.cosmos.Expect.query;
import static lapsedb.cosmos.Expect.refused;
import static lapsedb.cosmos.Shared.container;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.CosmosScripts;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosStoredProcedureProperties;
import com.azure.cosmos.models.CosmosStoredProcedureRequestOptions;
import com.azure.cosmos.models.CosmosTriggerProperties;
import com.azure.cosmos.models.CosmosUserDefinedFunctionProperties;
import com.azure.cosmos.models.TriggerOperation;
import com.azure.cosmos.models.TriggerType;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Scripts are kept as they are, and nothing that would need to run one is done. */
class ScriptsTest {
    private static final String BODY = "function () {}";

    private final CosmosContainer container = container();
    private final CosmosScripts scripts = container.getScripts();

    @Test
    void storedProceduresAreKeptAndNotRun() {
        assertEquals(201, scripts.createStoredProcedure(new CosmosStoredProcedureProperties("s", BODY)).getStatusCode());
        refused(409, 0, () -> scripts.createStoredProcedure(new CosmosStoredProcedureProperties("s", BODY)));
        CosmosStoredProcedureProperties read = scripts.getStoredProcedure("s").read().getProperties();
        assertEquals(BODY, read.getBody());
        scripts.getStoredProcedure("s").replace(read.setBody("function () { return 1 }"));
        assertEquals(List.of("function () { return 1 }"), list(scripts.readAllStoredProcedures()).stream().map(CosmosStoredProcedureProperties::getBody).toList());
        CosmosStoredProcedureRequestOptions ofA = new CosmosStoredProcedureRequestOptions().setPartitionKey(key("a"));
        CosmosException error = refused(400, () -> scripts.getStoredProcedure("s").execute(List.of(), ofA));
        assertTrue(error.getMessage().contains("does not execute JavaScript"), error.getMessage());
        assertEquals(204, scripts.getStoredProcedure("s").delete().getStatusCode());
        refused(404, () -> scripts.getStoredProcedure("s").read());
    }

    @Test
    void aWriteThatNamesATriggerIsNotDone() {
        CosmosTriggerProperties trigger = new CosmosTriggerProperties("t", BODY);
        trigger.setTriggerOperation(TriggerOperation.CREATE).setTriggerType(TriggerType.PRE);
        assertEquals(201, scripts.createTrigger(trigger).getStatusCode());
        assertEquals(TriggerType.PRE, scripts.getTrigger("t").read().getProperties().getTriggerType());
        refused(400, () -> container.createItem(item("1", "a"), new CosmosItemRequestOptions().setPreTriggerInclude(List.of("t"))));
        assertEquals(List.of(), query(container, "SELECT * FROM c", JsonNode.class));
    }

    @Test
    void functionsAreKeptAndNotCalled() {
        assertEquals(201, scripts.createUserDefinedFunction(new CosmosUserDefinedFunctionProperties("f", BODY)).getStatusCode());
        assertEquals(BODY, list(scripts.readAllUserDefinedFunctions()).get(0).getBody());
        refused(400, () -> query(container, "SELECT VALUE udf.f(c.n) FROM c", JsonNode.class));
    }
}
