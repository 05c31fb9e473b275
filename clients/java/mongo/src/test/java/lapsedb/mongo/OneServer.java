package lapsedb.mongo;

import com.mongodb.ConnectionString;
import com.mongodb.MongoClientSettings;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import java.util.function.Consumer;
import lapsedb.Server;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;

/** One server for all tests of this module, whose clock they move, and a client of it. Both are closed after the last test. */
final class OneServer implements BeforeAllCallback {
    private static Running running;

    private record Running(Server server, MongoClient client) implements AutoCloseable {
        @Override
        public void close() {
            client.close();
            server.close();
        }
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        running = context.getRoot().getStore(Namespace.GLOBAL).computeIfAbsent(OneServer.class, first -> {
            Server server = Server.start("--memory", "--virtual-clock", "--enable-test-commands");
            return new Running(server, client(server, settings -> {}));
        }, Running.class);
    }

    static Server server() {
        return running.server;
    }

    static MongoClient client() {
        return running.client;
    }

    /** Another client of the server, for the settings that the shared one does not have. */
    static MongoClient client(Consumer<MongoClientSettings.Builder> set) {
        return client(running.server, set);
    }

    static MongoClient client(Server server, Consumer<MongoClientSettings.Builder> set) {
        MongoClientSettings.Builder settings = MongoClientSettings.builder()
                .applyConnectionString(new ConnectionString(server.mongoUrl("") + "?directConnection=true"));
        set.accept(settings);
        return MongoClients.create(settings.build());
    }

    /** A client by a connection string, whose options follow the address: "?replicaSet=lapsedb". */
    static MongoClient client(String options) {
        return MongoClients.create(running.server.mongoUrl("") + options);
    }
}
