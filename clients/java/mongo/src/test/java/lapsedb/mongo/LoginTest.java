package lapsedb.mongo;

import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Updates.set;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.mongodb.ConnectionString;
import com.mongodb.MongoCommandException;
import com.mongodb.MongoCredential;
import com.mongodb.MongoException;
import com.mongodb.MongoSecurityException;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoCollection;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import lapsedb.Server;
import org.bson.Document;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where logins are required: who may come in, and what they may do. */
class LoginTest {
    private static final int UNAUTHORIZED = 13;
    private static final String READER_KEY = "cmVhZGVyIGtleSB0aGF0IGlzIGxvbmcgZW5vdWdoIGZvciBhIGtleSBvZiB0aGlzIHNlcnZlci4uLi4uLi4uLi4=";
    private static final AtomicInteger NAMES = new AtomicInteger();
    private static Server server;
    private static MongoClient master;

    private final String database = "db" + NAMES.incrementAndGet();
    private final MongoCollection<Document> things = master.getDatabase(database).getCollection("things");

    @BeforeAll
    static void startServer() {
        server = Server.start("--memory", "--mongo-auth", "on", "--read-only-key", READER_KEY);
        master = login(MongoCredential.createCredential("lapsedb", "admin", Server.KEY.toCharArray()));
    }

    @AfterAll
    static void stopServer() {
        master.close();
        server.close();
    }

    private static MongoClient login(MongoCredential credential) {
        return OneServer.client(server, settings -> settings.credential(credential));
    }

    private MongoClient login(String user, String password) {
        return login(MongoCredential.createCredential(user, database, password.toCharArray()));
    }

    private void createUser(String user, String password, String role) {
        master.getDatabase(database).runCommand(new Document("createUser", user).append("pwd", password).append("roles", List.of(role)));
    }

    private MongoCollection<Document> by(MongoClient client) {
        return client.getDatabase(database).getCollection("things");
    }

    private static void refused(Executable request) {
        assertEquals(UNAUTHORIZED, assertThrows(MongoException.class, request).getCode());
    }

    private static void keptOut(MongoClient client) {
        try (client) {
            MongoSecurityException refusal = assertThrows(MongoSecurityException.class, () -> client.listDatabaseNames().first());
            assertEquals(18, ((MongoCommandException) refusal.getCause()).getCode());
        }
    }

    @BeforeEach
    void insertOne() {
        things.insertOne(Document.parse("{_id: 1}"));
    }

    @AfterEach
    void dropDatabase() {
        master.getDatabase(database).drop();
    }

    @Test
    void whoHasNotLoggedInMayOnlyGreet() {
        try (MongoClient client = OneServer.client(server, settings -> {})) {
            assertEquals(true, client.getDatabase("admin").runCommand(new Document("hello", 1)).get("isWritablePrimary"));
            refused(() -> by(client).find().first());
            refused(() -> by(client).insertOne(new Document()));
            refused(() -> client.listDatabaseNames().first());
            refused(() -> client.getDatabase("admin").runCommand(new Document("serverStatus", 1)));
        }
    }

    @Test
    void aWrongPasswordOrAnUnknownUserIsKeptOut() {
        createUser("ada", "right", "readWrite");
        keptOut(login("ada", "wrong"));
        keptOut(login("nobody", "right"));
        keptOut(login(MongoCredential.createCredential("lapsedb", "admin", "key".toCharArray())));
        // Users are known by their database.
        keptOut(login(MongoCredential.createCredential("ada", "admin", "right".toCharArray())));
    }

    @ParameterizedTest
    @ValueSource(strings = {"SCRAM-SHA-1", "SCRAM-SHA-256"})
    void aUserLogsInByEitherMechanism(String mechanism) {
        createUser("ada", "pä ss", "readWrite");
        char[] password = "pä ss".toCharArray();
        MongoCredential credential = mechanism.equals("SCRAM-SHA-1") ? MongoCredential.createScramSha1Credential("ada", database, password)
                : MongoCredential.createScramSha256Credential("ada", database, password);
        try (MongoClient client = login(credential)) {
            assertEquals(1, by(client).countDocuments());
            Document info = client.getDatabase(database).runCommand(new Document("connectionStatus", 1)).get("authInfo", Document.class);
            assertEquals(List.of(new Document("user", "ada").append("db", database)), info.get("authenticatedUsers"));
        }
    }

    @Test
    void aUserWritesWhereItMayAndNowhereElse() {
        createUser("ada", "p", "readWrite");
        try (MongoClient client = login("ada", "p")) {
            by(client).insertOne(Document.parse("{_id: 2}"));
            assertEquals(1, by(client).updateOne(eq(2), set("n", 1)).getModifiedCount());
            assertEquals(2, by(client).countDocuments());
            MongoCollection<Document> others = client.getDatabase(database + "x").getCollection("things");
            refused(() -> others.find().first());
            refused(() -> others.insertOne(new Document()));
            refused(() -> client.getDatabase(database).runCommand(new Document("createUser", "eve").append("pwd", "p").append("roles", List.of())));
        }
    }

    @Test
    void aReaderReadsAndWatchesAndChangesNothing() {
        createUser("bob", "p", "read");
        try (MongoClient client = login("bob", "p"); var cursor = by(client).watch().cursor()) {
            things.insertOne(Document.parse("{_id: 2}"));
            assertEquals(2, cursor.next().getDocumentKey().getInt32("_id").getValue());
            assertEquals(2, by(client).countDocuments());
            refused(() -> by(client).insertOne(new Document()));
            refused(() -> by(client).deleteOne(eq(1)));
            refused(() -> by(client).createIndex(new Document("a", 1)));
            refused(() -> by(client).drop());
            refused(() -> by(client).aggregate(List.of(new Document("$out", "copy"))).toCollection());
        }
        assertEquals(2, things.countDocuments());
    }

    @Test
    void aRoleOfItsOwnAllowsWhatItNames() {
        master.getDatabase(database).runCommand(Document.parse("""
                {createRole: 'counter', roles: [], privileges: [
                  {resource: {db: '%s', collection: 'things'}, actions: ['find']}]}""".formatted(database)));
        createUser("eve", "p", "counter");
        try (MongoClient client = login("eve", "p")) {
            assertEquals(1, by(client).countDocuments());
            refused(() -> by(client).insertOne(new Document()));
            refused(() -> client.getDatabase(database).getCollection("others").find().first());
        }
    }

    @Test
    void theReadOnlyKeyReadsEverythingAndWritesNothing() {
        try (MongoClient client = login(MongoCredential.createCredential("lapsedb-reader", "admin", READER_KEY.toCharArray()))) {
            assertEquals(1, by(client).countDocuments());
            refused(() -> by(client).insertOne(new Document()));
            refused(() -> client.getDatabase(database).runCommand(new Document("createUser", "x").append("pwd", "p").append("roles", List.of())));
        }
    }

    @Test
    void aChangedPasswordAndADroppedUserHoldForTheNextLogin() {
        createUser("ada", "old", "read");
        master.getDatabase(database).runCommand(new Document("updateUser", "ada").append("pwd", "new"));
        keptOut(login("ada", "old"));
        try (MongoClient client = login("ada", "new")) {
            assertEquals(1, by(client).countDocuments());
            master.getDatabase(database).runCommand(new Document("dropUser", "ada"));
            assertThrows(MongoException.class, () -> by(client).countDocuments());
        }
        keptOut(login("ada", "new"));
    }

    @Test
    void aLoginWorksOverTlsWithCompression() throws IOException, GeneralSecurityException {
        createUser("ada", "p", "readWrite");
        SSLContext context = ConnectionTest.trusting(server);
        try (MongoClient client = OneServer.client(server, settings -> settings
                .applyConnectionString(new ConnectionString(server.mongoUrl(database).replace("//", "//ada:p@")
                        + "?tls=true&replicaSet=lapsedb&compressors=zstd,snappy"))
                .applyToSslSettings(tls -> tls.context(context)))) {
            by(client).insertOne(Document.parse("{_id: 2}"));
            assertEquals(2, by(client).countDocuments());
        }
    }
}
