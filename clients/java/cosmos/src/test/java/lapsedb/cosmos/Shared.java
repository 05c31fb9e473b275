package lapsedb.cosmos;

import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CosmosContainerProperties;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import lapsedb.Server;

/**
 * What the tests of this module share: one server whose clock they move, its clients over HTTPS, and one database.
 * Each test makes containers of its own.
 */
final class Shared {
    static final Server SERVER = Server.start("--memory", "--virtual-clock");
    static final CosmosClient CLIENT = builder(SERVER).buildClient();
    static final CosmosAsyncClient ASYNC = builder(SERVER).buildAsyncClient();
    static final CosmosDatabase DATABASE = database(CLIENT, "tests");

    private static final AtomicInteger NAMES = new AtomicInteger();

    private Shared() {}

    /** For clients over HTTPS with the account's key. */
    static CosmosClientBuilder builder(Server server) {
        return unauthorized(server).key(Server.KEY);
    }

    /** For clients over HTTPS that say by themselves what they may do. */
    static CosmosClientBuilder unauthorized(Server server) {
        trust(server);
        return at(server.url("https"));
    }

    /** For clients by an address: over HTTPS they trust whom the JVM trusts by then. */
    static CosmosClientBuilder at(String endpoint) {
        return new CosmosClientBuilder().endpoint(endpoint).gatewayMode().contentResponseOnWriteEnabled(true);
    }

    /**
     * Clients trust the server's certificate as those of any user: by the JVM's trust store. It is read when a client is built,
     * so it is set for each.
     */
    static void trust(Server server) {
        try {
            System.setProperty("javax.net.ssl.trustStore", server.trustStore().toString());
            System.setProperty("javax.net.ssl.trustStorePassword", "changeit");
        } catch (IOException | GeneralSecurityException cannot) {
            throw new IllegalStateException(cannot);
        }
    }

    static CosmosDatabase database(CosmosClient client, String name) {
        client.createDatabase(name);
        return client.getDatabase(name);
    }

    static String name(String prefix) {
        return prefix + NAMES.incrementAndGet();
    }

    /** A new container with the partition key `/pk`. */
    static CosmosContainer container() {
        return container(properties -> {});
    }

    static CosmosContainer container(Consumer<CosmosContainerProperties> set) {
        CosmosContainerProperties properties = new CosmosContainerProperties(name("c"), "/pk");
        set.accept(properties);
        return container(properties);
    }

    static CosmosContainer container(CosmosContainerProperties properties) {
        DATABASE.createContainer(properties);
        return DATABASE.getContainer(properties.getId());
    }

    /** The same container by the asynchronous client. */
    static CosmosAsyncContainer async(CosmosContainer container) {
        return ASYNC.getDatabase(DATABASE.getId()).getContainer(container.getId());
    }

    /** The same container by another client. */
    static CosmosContainer by(CosmosClient client, CosmosContainer container) {
        return client.getDatabase(DATABASE.getId()).getContainer(container.getId());
    }
}
