package lapsedb.mongo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.mongodb.MongoException;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoDatabase;
import com.mongodb.client.MongoIterable;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import lapsedb.Server;
import org.bson.Document;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.function.Executable;

/** What the tests share: the server, a client, and for each test a database of its own. */
@ExtendWith(OneServer.class)
abstract class MongoTest {
    private static final AtomicInteger DATABASES = new AtomicInteger();

    final Server server = OneServer.server();
    final MongoClient client = OneServer.client();
    final MongoDatabase database = client.getDatabase("db" + DATABASES.incrementAndGet());
    final MongoCollection<Document> things = database.getCollection("things");

    /** A document from JSON with plain names and single quotes. */
    static Document doc(String json) {
        return Document.parse(json);
    }

    static List<Document> docs(String... json) {
        return List.of(json).stream().map(Document::parse).toList();
    }

    /** Documents {_id: 0, n: 0}, {_id: 1, n: 1} and so on. */
    static List<Document> numbered(int count) {
        return IntStream.range(0, count).mapToObj(n -> new Document("_id", n).append("n", n)).toList();
    }

    static List<Document> list(MongoIterable<Document> found) {
        return found.into(new ArrayList<>());
    }

    static List<Object> ids(MongoIterable<Document> found) {
        return values(found, "_id");
    }

    static List<Object> values(MongoIterable<Document> found, String field) {
        return found.map(document -> document.get(field)).into(new ArrayList<>());
    }

    static Date date(long millis) {
        return new Date(millis);
    }

    /** Holds the server to a refusal with this code. */
    static MongoException refused(int code, Executable request) {
        MongoException refusal = assertThrows(MongoException.class, request);
        assertEquals(code, refusal.getCode(), refusal.getMessage());
        return refusal;
    }

    /** The name of an explained plan's index, or the stage it has instead of one. */
    static String plan(Document explained) {
        Document stage = explained.get("queryPlanner", Document.class).get("winningPlan", Document.class);
        while (!stage.containsKey("indexName") && stage.containsKey("inputStage")) {
            stage = stage.get("inputStage", Document.class);
        }
        return stage.containsKey("indexName") ? stage.getString("indexName") : stage.getString("stage");
    }
}
