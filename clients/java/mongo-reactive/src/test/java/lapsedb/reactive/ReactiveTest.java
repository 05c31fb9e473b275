package lapsedb.reactive;

import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Filters.gte;
import static com.mongodb.client.model.Indexes.ascending;
import static com.mongodb.client.model.Updates.inc;
import static com.mongodb.client.model.Updates.set;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.mongodb.ClientSessionOptions;
import com.mongodb.ConnectionString;
import com.mongodb.MongoBulkWriteException;
import com.mongodb.MongoClientSettings;
import com.mongodb.MongoException;
import com.mongodb.MongoGridFSException;
import com.mongodb.client.model.BulkWriteOptions;
import com.mongodb.client.model.DeleteOneModel;
import com.mongodb.client.model.IndexOptions;
import com.mongodb.client.model.InsertOneModel;
import com.mongodb.client.model.UpdateOneModel;
import com.mongodb.client.model.UpdateOptions;
import com.mongodb.client.model.changestream.ChangeStreamDocument;
import com.mongodb.client.model.changestream.FullDocument;
import com.mongodb.client.model.changestream.OperationType;
import com.mongodb.client.result.UpdateResult;
import com.mongodb.event.CommandListener;
import com.mongodb.event.CommandStartedEvent;
import com.mongodb.reactivestreams.client.ClientSession;
import com.mongodb.reactivestreams.client.MongoClient;
import com.mongodb.reactivestreams.client.MongoClients;
import com.mongodb.reactivestreams.client.MongoCollection;
import com.mongodb.reactivestreams.client.MongoDatabase;
import com.mongodb.reactivestreams.client.gridfs.GridFSBucket;
import com.mongodb.reactivestreams.client.gridfs.GridFSBuckets;
import java.nio.ByteBuffer;
import java.util.Date;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import lapsedb.Server;
import org.bson.BsonDocument;
import org.bson.BsonInt32;
import org.bson.BsonTimestamp;
import org.bson.Document;
import org.bson.types.ObjectId;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** What is asked without waiting: results come as streams, as fast as they are asked for and no faster. */
class ReactiveTest {
    private static final AtomicInteger DATABASES = new AtomicInteger();
    /** The names of the commands of the running test. */
    private static final List<String> COMMANDS = new CopyOnWriteArrayList<>();
    /** The read concerns of those that have one. */
    private static final List<BsonDocument> READ_CONCERNS = new CopyOnWriteArrayList<>();
    private static Server server;
    private static MongoClient client;

    private final MongoDatabase database = client.getDatabase("db" + DATABASES.incrementAndGet());
    private final MongoCollection<Document> things = database.getCollection("things");

    @BeforeAll
    static void startServer() {
        server = Server.start("--memory", "--virtual-clock");
        client = MongoClients.create(MongoClientSettings.builder()
                .applyConnectionString(new ConnectionString(server.mongoUrl("") + "?replicaSet=lapsedb"))
                .addCommandListener(new CommandListener() {
                    @Override
                    public void commandStarted(CommandStartedEvent event) {
                        COMMANDS.add(event.getCommandName());
                        if (event.getCommand().get("readConcern") instanceof BsonDocument concern) {
                            READ_CONCERNS.add(concern.clone());
                        }
                    }
                }).build());
    }

    @AfterAll
    static void stopServer() {
        client.close();
        server.close();
    }

    @BeforeEach
    void forgetCommands() {
        COMMANDS.clear();
        READ_CONCERNS.clear();
    }

    private static Document doc(String json) {
        return Document.parse(json);
    }

    private static <T> T one(Publisher<T> answer) {
        return Mono.from(answer).block();
    }

    private static <T> List<T> all(Publisher<T> answers) {
        return Flux.from(answers).collectList().block();
    }

    private static List<Object> ids(Publisher<Document> found) {
        return Flux.from(found).map(document -> document.get("_id")).collectList().block();
    }

    private static List<Document> numbered(int count) {
        return IntStream.range(0, count).mapToObj(n -> new Document("_id", n).append("n", n)).toList();
    }

    /** Collects what comes, and asks for it only when told. */
    private static final class Asking<T> extends BaseSubscriber<T> {
        final BlockingQueue<T> received = new LinkedBlockingQueue<>();

        @Override
        protected void hookOnSubscribe(Subscription subscription) {
            // Nothing is asked for yet.
        }

        @Override
        protected void hookOnNext(T value) {
            received.add(value);
        }

        /** Asks for some, and waits until they have come. */
        List<T> next(int count) throws InterruptedException {
            request(count);
            List<T> taken = new CopyOnWriteArrayList<>();
            while (taken.size() < count) {
                taken.add(received.take());
            }
            return taken;
        }
    }

    @Test
    void documentsAreInsertedFoundChangedAndDeleted() {
        one(things.insertMany(numbered(5)));
        assertEquals(doc("{_id: 3, n: 3}"), one(things.find(eq(3)).first()));
        assertEquals(UpdateResult.acknowledged(3, 3L, null), one(things.updateMany(gte("n", 2), inc("n", 10))));
        assertEquals(List.of(2, 3, 4), ids(things.find(gte("n", 10))));
        one(things.replaceOne(eq(0), doc("{m: 1}")));
        assertEquals(doc("{_id: 0, m: 1}"), one(things.findOneAndDelete(eq(0))));
        assertEquals(new BsonInt32(9), one(things.updateOne(eq(9), set("n", 1), new UpdateOptions().upsert(true))).getUpsertedId());
        assertEquals(1, one(things.deleteOne(eq(1))).getDeletedCount());
        assertEquals(4, one(things.countDocuments()));
        assertEquals(List.of(12, 13, 14, 1), all(things.distinct("n", gte("n", 1), Integer.class)).stream().sorted((a, b) ->
                Integer.compare(a == 1 ? 99 : a, b == 1 ? 99 : b)).toList());
        assertNull(one(things.find(eq(77)).first()));
        MongoException refusal = assertThrows(MongoException.class, () -> one(things.insertOne(doc("{_id: 2}"))));
        assertEquals(11000, refusal.getCode());
    }

    @Test
    void aBulkSaysWhatItDidAndWhatFailed() {
        MongoBulkWriteException failure = assertThrows(MongoBulkWriteException.class, () -> one(things.bulkWrite(List.of(
                new InsertOneModel<>(doc("{_id: 1}")), new InsertOneModel<>(doc("{_id: 1}")),
                new UpdateOneModel<>(eq(1), set("n", 1)), new DeleteOneModel<>(eq(2))), new BulkWriteOptions().ordered(false))));
        assertEquals(1, failure.getWriteErrors().get(0).getIndex());
        assertEquals(1, failure.getWriteResult().getModifiedCount());
    }

    @Test
    void aCursorFetchesNoMoreThanIsAskedFor() throws InterruptedException {
        one(things.insertMany(numbered(100)));
        COMMANDS.clear();
        Asking<Document> asking = new Asking<>();
        things.find().batchSize(10).subscribe(asking);
        assertEquals(numbered(4), asking.next(4));
        assertEquals(numbered(100).subList(4, 10), asking.next(6));
        assertEquals(List.of("find"), COMMANDS);
        assertEquals(numbered(100).subList(10, 25), asking.next(15));
        assertEquals(List.of("find", "getMore", "getMore"), COMMANDS);
        asking.cancel();
        // A cursor that is given up is closed at the server; the next command comes after that.
        while (!COMMANDS.contains("killCursors")) {
            one(database.runCommand(doc("{ping: 1}")));
        }
        assertEquals(2, COMMANDS.stream().filter("getMore"::equals).count());
        assertTrue(asking.received.isEmpty());
    }

    @Test
    void manyReadersAtOnceEachSeeEverything() {
        one(things.insertMany(numbered(500)));
        List<Long> counts = Flux.range(0, 8).flatMap(reader -> Flux.from(things.find().batchSize(50)).count()).collectList().block();
        assertEquals(List.of(500L, 500L, 500L, 500L, 500L, 500L, 500L, 500L), counts);
    }

    @Test
    void documentsExpireBetweenTheBatchesOfACursor() throws InterruptedException {
        long now = server.align();
        one(things.createIndex(ascending("until"), new IndexOptions().expireAfter(0L, TimeUnit.SECONDS)));
        List<Document> documents = numbered(6);
        documents.forEach(document -> document.append("until", new Date(now + 1000 + document.getInteger("n") % 2)));
        one(things.insertMany(documents));
        Asking<Document> asking = new Asking<>();
        things.find().batchSize(2).subscribe(asking);
        assertEquals(List.of(0, 1), asking.next(2).stream().map(document -> document.get("_id")).toList());
        server.advance("1s");
        assertEquals(List.of(3, 5), asking.next(2).stream().map(document -> document.get("_id")).toList());
        server.advance("1ms");
        assertEquals(0, one(things.countDocuments()));
        assertEquals(0, one(things.estimatedDocumentCount()));
    }

    @Test
    void aChangeStreamEmitsWritesAndExpiryAsTheyAreAskedFor() throws InterruptedException {
        long now = server.align();
        one(things.createIndex(ascending("until"), new IndexOptions().expireAfter(0L, TimeUnit.SECONDS)));
        Asking<ChangeStreamDocument<Document>> first = new Asking<>();
        things.watch().subscribe(first);
        first.request(1);
        // The stream begins when the server has opened it: documents are written until one is emitted.
        int id = 0;
        while (first.received.isEmpty()) {
            one(things.insertOne(new Document("_id", id++)));
        }
        BsonDocument token = first.received.take().getResumeToken();
        first.cancel();
        one(things.insertOne(new Document("_id", "x").append("until", new Date(now + 1_000))));
        one(things.updateOne(eq("x"), set("n", 1)));
        server.advance("1s");
        Flux<ChangeStreamDocument<Document>> resumed = Flux.from(things.watch().resumeAfter(token).fullDocument(FullDocument.UPDATE_LOOKUP))
                .filter(event -> event.getDocumentKey().get("_id").isString());
        List<ChangeStreamDocument<Document>> events = resumed.take(3).collectList().block();
        assertEquals(List.of(OperationType.INSERT, OperationType.UPDATE, OperationType.DELETE),
                events.stream().map(ChangeStreamDocument::getOperationType).toList());
        assertNull(events.get(1).getFullDocument());
    }

    @Test
    void aTransactionCommitsOrAborts() {
        ClientSession session = one(client.startSession());
        try {
            session.startTransaction();
            one(things.insertOne(session, doc("{_id: 1}")));
            assertEquals(0, one(things.countDocuments()));
            one(session.commitTransaction());
            assertEquals(1, one(things.countDocuments()));
            session.startTransaction();
            one(things.deleteOne(session, eq(1)));
            assertEquals(0, one(things.countDocuments(session)));
            one(session.abortTransaction());
            assertEquals(1, one(things.countDocuments()));
            session.startTransaction();
            one(things.updateOne(session, eq(1), set("n", 1)));
            ClientSession other = one(client.startSession());
            other.startTransaction();
            MongoException conflict = assertThrows(MongoException.class, () -> one(things.updateOne(other, eq(1), set("n", 2))));
            assertEquals(112, conflict.getCode());
            assertTrue(conflict.hasErrorLabel(MongoException.TRANSIENT_TRANSACTION_ERROR_LABEL));
            other.close();
            one(session.commitTransaction());
            assertEquals(doc("{_id: 1, n: 1}"), one(things.find().first()));
        } finally {
            session.close();
        }
    }

    @Test
    void aCausalSessionReadsAfterWhatItHasSeen() {
        try (ClientSession session = one(client.startSession(ClientSessionOptions.builder().causallyConsistent(true).build()))) {
            one(things.insertOne(session, doc("{_id: 1}")));
            BsonTimestamp written = session.getOperationTime();
            assertEquals(List.of(1), ids(things.find(session)));
            assertEquals(List.of(written), READ_CONCERNS.stream().map(concern -> concern.getTimestamp("afterClusterTime")).toList());
        }
    }

    @Test
    void filesAreUploadedDownloadedAndDeleted() {
        GridFSBucket bucket = GridFSBuckets.create(database).withChunkSizeBytes(1000);
        byte[] content = new byte[123_456];
        new Random(1).nextBytes(content);
        Flux<ByteBuffer> parts = Flux.range(0, 13).map(n -> ByteBuffer.wrap(content, n * 10_000, Math.min(10_000, content.length - n * 10_000)));
        ObjectId id = one(bucket.uploadFromPublisher("f", parts));
        assertEquals(124, one(database.getCollection("fs.chunks").countDocuments()));
        ByteBuffer read = ByteBuffer.allocate(content.length);
        Flux.from(bucket.downloadToPublisher("f")).doOnNext(read::put).blockLast();
        assertArrayEquals(content, read.array());
        one(bucket.rename(id, "g"));
        assertThrows(MongoGridFSException.class, () -> all(bucket.downloadToPublisher("f")));
        one(bucket.delete(id));
        assertEquals(0, one(database.getCollection("fs.chunks").countDocuments()));
    }
}
