package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.item;
import static lapsedb.cosmos.Expect.key;
import static lapsedb.cosmos.Expect.refused;
import static lapsedb.cosmos.Shared.CLIENT;
import static lapsedb.cosmos.Shared.DATABASE;
import static lapsedb.cosmos.Shared.async;
import static lapsedb.cosmos.Shared.container;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

/** What the SDK makes of refusals. */
class ErrorsTest {
    private final CosmosContainer container = container();

    @Test
    void aRefusalSaysWhatItWasAbout() {
        container.createItem(item("1", "a"));
        CosmosException error = refused(409, 0, () -> container.createItem(item("1", "a")));
        assertTrue(error.getRequestCharge() > 0);
        assertFalse(error.getActivityId().isEmpty());
        assertTrue(error.getMessage().contains("already exists"), error.getMessage());
        assertTrue(error.getDiagnostics().toString().contains("409"));
        refused(412, 0, () -> container.upsertItem(item("1", "a"), new CosmosItemRequestOptions().setIfMatchETag("\"x\"")));
    }

    @Test
    void aMissingItemAndAMissingContainerHaveTheirOwnCodes() {
        refused(404, 0, () -> container.readItem("1", key("a"), ObjectNode.class));
        refused(404, 1003, () -> DATABASE.getContainer("none").readItem("1", key("a"), ObjectNode.class));
        refused(404, 1003, () -> CLIENT.getDatabase("none").getContainer("none").createItem(item("1", "a")));
    }

    @Test
    void anApplicationGoesOnAfterARefusal() {
        ObjectNode found = async(container).readItem("1", key("a"), ObjectNode.class)
                .map(answer -> answer.getItem())
                .onErrorResume(CosmosException.class, error -> error.getStatusCode() == 404
                        ? async(container).createItem(item("1", "a")).map(answer -> answer.getItem())
                        : Mono.error(error))
                .block();
        assertEquals("1", found.get("id").textValue());
    }
}
