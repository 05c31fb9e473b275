package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.item;
import static lapsedb.cosmos.Expect.key;
import static lapsedb.cosmos.Shared.SERVER;
import static lapsedb.cosmos.Shared.at;
import static lapsedb.cosmos.Shared.builder;
import static lapsedb.cosmos.Shared.by;
import static lapsedb.cosmos.Shared.container;
import static lapsedb.cosmos.Shared.trust;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintWriter;
import java.io.StringWriter;
import lapsedb.Server;
import org.junit.jupiter.api.Test;

/** HTTPS with the server's certificate in the JVM's trust store, which every other test uses, and plain HTTP. */
class TransportTest {
    private final CosmosContainer container = container();

    @Test
    void plainHttpIsSpokenWhereTheJvmAllowsIt() {
        container.createItem(item("1", "a"));
        try (Server stranger = Server.start("--memory")) {
            trust(stranger); // The JVM does not trust the server that is spoken to: TLS would fail.
            plainHttpIsSpoken();
        }
    }

    private void plainHttpIsSpoken() {
        try (CosmosClient plain = at(SERVER.url("http")).key(Server.KEY).buildClient();
                CosmosAsyncClient async = at(SERVER.url("http")).key(Server.KEY).buildAsyncClient()) {
            CosmosContainer seen = by(plain, container);
            assertEquals("1", seen.readItem("1", key("a"), ObjectNode.class).getItem().get("id").textValue());
            seen.upsertItem(item("1", "a", "n", 1));
            assertEquals(1, async.getDatabase("tests").getContainer(container.getId())
                    .readItem("1", key("a"), ObjectNode.class).block().getItem().get("n").intValue());
        }
    }

    @Test
    void aServerWhoseCertificateIsNotTrustedIsNotSpokenTo() {
        try (Server stranger = Server.start("--memory")) {
            trust(SERVER); // The JVM trusts the server of the other tests alone.
            Exception error = assertThrows(Exception.class, () ->
                    at(stranger.url("https")).key(Server.KEY).buildClient().createDatabase("db"));
            StringWriter trace = new StringWriter();
            error.printStackTrace(new PrintWriter(trace));
            assertTrue(trace.toString().contains("ValidatorException"), trace.toString());
            // The same server, trusted.
            try (CosmosClient client = builder(stranger).buildClient()) {
                assertEquals(201, client.createDatabase("db").getStatusCode());
            }
        }
    }
}
