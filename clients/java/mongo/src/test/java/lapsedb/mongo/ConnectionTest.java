package lapsedb.mongo;

import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Updates.inc;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.mongodb.ConnectionString;
import com.mongodb.MongoException;
import com.mongodb.MongoTimeoutException;
import com.mongodb.ReadConcern;
import com.mongodb.ReadConcernLevel;
import com.mongodb.ReadPreference;
import com.mongodb.ServerApi;
import com.mongodb.ServerApiVersion;
import com.mongodb.WriteConcern;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoCollection;
import com.mongodb.connection.ClusterType;
import com.mongodb.connection.ServerDescription;
import com.mongodb.connection.ServerType;
import com.mongodb.event.ServerHeartbeatFailedEvent;
import com.mongodb.event.ServerMonitorListener;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.TrustManagerFactory;
import lapsedb.Server;
import org.bson.BsonDocument;
import org.bson.Document;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How clients reach the server, and what they agree with it. */
class ConnectionTest extends MongoTest {
    /** For clients that are to find no server. */
    private static final String SOON = "&serverSelectionTimeoutMS=300";

    private MongoCollection<Document> by(MongoClient other) {
        return other.getDatabase(database.getName()).getCollection("things");
    }

    private int port() {
        return URI.create(server.mongoUrl("")).getPort();
    }

    /** What trusts the server's own certificate. */
    static SSLContext trusting(Server server) throws IOException, GeneralSecurityException {
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        try (var in = Files.newInputStream(server.trustStore())) {
            trusted.load(in, "changeit".toCharArray());
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, factory.getTrustManagers(), null);
        return context;
    }

    @Test
    void theServerIsFoundAsAReplicaSetWithOnePrimary() {
        try (MongoClient other = OneServer.client("?replicaSet=lapsedb")) {
            by(other).insertOne(doc("{_id: 1}"));
            assertEquals(ClusterType.REPLICA_SET, other.getClusterDescription().getType());
            ServerDescription primary = other.getClusterDescription().getServerDescriptions().get(0);
            assertEquals(ServerType.REPLICA_SET_PRIMARY, primary.getType());
            assertEquals("lapsedb", primary.getSetName());
            assertEquals("127.0.0.1:" + port(), primary.getAddress().toString());
            assertEquals(Set.of("127.0.0.1:" + port()), primary.getHosts());
        }
        try (MongoClient other = OneServer.client("?replicaSet=other" + SOON)) {
            assertThrows(MongoTimeoutException.class, () -> by(other).countDocuments());
        }
    }

    @Test
    void readsGoWhereThePreferenceAllows() {
        things.insertOne(doc("{_id: 1}"));
        try (MongoClient other = OneServer.client("?replicaSet=lapsedb")) {
            for (ReadPreference preference : List.of(ReadPreference.primaryPreferred(), ReadPreference.secondaryPreferred(), ReadPreference.nearest())) {
                assertEquals(1, by(other).withReadPreference(preference).countDocuments());
            }
        }
        try (MongoClient other = OneServer.client("?replicaSet=lapsedb" + SOON)) {
            assertThrows(MongoTimeoutException.class, () -> by(other).withReadPreference(ReadPreference.secondary()).countDocuments());
        }
    }

    @ParameterizedTest
    @CsvSource({"snappy, 1", "zlib, 2", "zstd, 3"})
    void messagesAreCompressedBothWays(String compressor, byte number) throws IOException {
        try (Relay relay = new Relay(port());
                MongoClient other = MongoClients.create("mongodb://127.0.0.1:" + relay.port() + "/?directConnection=true&compressors=" + compressor)) {
            List<Document> documents = numbered(200);
            documents.forEach(document -> document.append("text", "x".repeat(document.getInteger("n") * 10)));
            by(other).insertMany(documents);
            assertEquals(documents, list(by(other).find()));
            refused(11000, () -> by(other).insertOne(doc("{_id: 1}")));
            assertEquals(Set.of(number), relay.requests());
            assertEquals(Set.of(number), relay.answers());
        }
        assertEquals(200, things.countDocuments());
    }

    @Test
    void withoutCompressorsNothingIsCompressed() throws IOException {
        try (Relay relay = new Relay(port());
                MongoClient other = MongoClients.create("mongodb://127.0.0.1:" + relay.port() + "/?directConnection=true")) {
            by(other).insertMany(numbered(200));
            assertEquals(200, list(by(other).find()).size());
            assertEquals(Set.of(), relay.requests());
            assertEquals(Set.of(), relay.answers());
        }
    }

    @Test
    void tlsIsSpokenOnTheSamePortWithTheServersCertificate() throws IOException, GeneralSecurityException {
        SSLContext context = trusting(server);
        ConnectionString string = new ConnectionString(server.mongoUrl("") + "?replicaSet=lapsedb&tls=true&compressors=zlib");
        try (MongoClient other = OneServer.client(settings -> settings.applyConnectionString(string)
                .applyToSslSettings(tls -> tls.context(context)))) {
            by(other).insertMany(numbered(10));
            assertEquals(10, by(other).countDocuments());
        }
        assertEquals(10, things.countDocuments());
    }

    @Test
    void aClientThatDoesNotTrustTheCertificateDoesNotConnect() throws Exception {
        ConnectionString string = new ConnectionString(server.mongoUrl("") + "?tls=true" + SOON);
        CompletableFuture<Throwable> refused = new CompletableFuture<>();
        ServerMonitorListener listener = new ServerMonitorListener() {
            @Override
            public void serverHeartbeatFailed(ServerHeartbeatFailedEvent event) {
                refused.complete(event.getThrowable());
            }
        };
        try (MongoClient other = OneServer.client(settings -> settings.applyConnectionString(string)
                .applyToServerSettings(servers -> servers.addServerMonitorListener(listener)))) {
            assertInstanceOf(SSLHandshakeException.class, refused.get(60, TimeUnit.SECONDS).getCause());
            assertThrows(MongoTimeoutException.class, () -> by(other).countDocuments());
        }
    }

    @Test
    void theStableApiAllowsWhatItHasAndNothingElse() {
        ServerApi strict = ServerApi.builder().version(ServerApiVersion.V1).strict(true).deprecationErrors(true).build();
        Commands commands = new Commands();
        try (MongoClient other = OneServer.client(settings -> settings.serverApi(strict).addCommandListener(commands))) {
            by(other).insertMany(numbered(5));
            by(other).updateOne(eq(1), inc("n", 1));
            assertEquals(5, by(other).countDocuments());
            assertEquals(5, list(by(other).find().batchSize(2)).size());
            by(other).createIndex(new Document("n", 1));
            refused(323, () -> other.getDatabase("admin").runCommand(doc("{serverStatus: 1}")));
            refused(323, () -> by(other).distinct("n", Integer.class).first());
            BsonDocument sent = commands.sent("insert").get(0);
            assertEquals("1", sent.getString("apiVersion").getValue());
            assertTrue(sent.getBoolean("apiStrict").getValue());
        }
        refused(322, () -> database.runCommand(doc("{ping: 1, apiVersion: '2'}")));
    }

    @Test
    void anUnacknowledgedWriteIsDoneBeforeTheNextRequestOfItsConnection() {
        try (MongoClient other = OneServer.client(settings -> settings.applyToConnectionPoolSettings(pool -> pool.maxSize(1)))) {
            MongoCollection<Document> unheard = by(other).withWriteConcern(WriteConcern.UNACKNOWLEDGED);
            assertFalse(unheard.insertOne(doc("{_id: 1, n: 1}")).wasAcknowledged());
            assertFalse(unheard.insertOne(doc("{_id: 1, n: 2}")).wasAcknowledged());
            assertFalse(unheard.updateOne(eq(1), inc("n", 5)).wasAcknowledged());
            assertFalse(unheard.insertMany(docs("{_id: 2}", "{_id: 3}")).wasAcknowledged());
            assertFalse(unheard.deleteOne(eq(2)).wasAcknowledged());
            assertEquals(docs("{_id: 1, n: 6}", "{_id: 3}"), list(by(other).find()));
        }
    }

    @Test
    void aWriteConcernThatCannotBeMetIsAnError() {
        for (WriteConcern concern : List.of(WriteConcern.W1, WriteConcern.MAJORITY, WriteConcern.JOURNALED,
                WriteConcern.MAJORITY.withJournal(true).withWTimeout(10, TimeUnit.SECONDS))) {
            assertTrue(things.withWriteConcern(concern).insertOne(new Document()).wasAcknowledged());
        }
        MongoException unmet = refused(100, () -> things.withWriteConcern(WriteConcern.W3).insertOne(doc("{_id: 'kept'}")));
        assertTrue(unmet.getMessage().contains("Not enough data-bearing nodes"), unmet.getMessage());
        assertEquals(1, things.countDocuments(eq("kept")));
    }

    @Test
    void readConcernsOfEveryLevelSeeWhatWasWritten() {
        things.insertMany(numbered(3));
        for (ReadConcernLevel level : List.of(ReadConcernLevel.LOCAL, ReadConcernLevel.AVAILABLE, ReadConcernLevel.MAJORITY,
                ReadConcernLevel.LINEARIZABLE, ReadConcernLevel.SNAPSHOT)) {
            assertEquals(3, list(things.withReadConcern(new ReadConcern(level)).find()).size(), level::getValue);
        }
    }

    @Test
    void commandsAreMonitoredWithWhatTheyWereAnswered() {
        Commands commands = new Commands();
        try (MongoClient other = OneServer.client(settings -> settings.addCommandListener(commands))) {
            by(other).insertOne(doc("{_id: 1}"));
            refused(11000, () -> by(other).insertOne(doc("{_id: 1}")));
            refused(59, () -> other.getDatabase("admin").runCommand(doc("{nothing: 1}")));
        }
        assertEquals(List.of("insert", "insert", "nothing", "endSessions"), commands.names());
        assertEquals(List.of("nothing"), commands.failed());
        BsonDocument second = commands.answers().get(1);
        assertEquals(1.0, second.getNumber("ok").doubleValue());
        assertEquals(11000, second.getArray("writeErrors").get(0).asDocument().getInt32("code").getValue());
        assertTrue(commands.answers().stream().allMatch(answer -> answer.containsKey("operationTime") && answer.containsKey("$clusterTime")));
    }

    @Test
    void theServerSaysWhatItIs() {
        for (String command : List.of("ping", "buildInfo", "hello", "connectionStatus", "listDatabases", "replSetGetStatus", "serverStatus")) {
            assertEquals(1.0, client.getDatabase("admin").runCommand(new Document(command, 1)).get("ok"), command);
        }
        things.insertOne(doc("{_id: 1}"));
        assertTrue(client.listDatabaseNames().into(new ArrayList<>()).contains(database.getName()));
        database.drop();
        assertFalse(client.listDatabaseNames().into(new ArrayList<>()).contains(database.getName()));
    }
}
