package lapsedb.mongo;

import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Filters.gte;
import static com.mongodb.client.model.Updates.inc;
import static com.mongodb.client.model.Updates.set;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.mongodb.MongoBulkWriteException;
import com.mongodb.MongoNamespace;
import com.mongodb.bulk.BulkWriteError;
import com.mongodb.bulk.BulkWriteResult;
import com.mongodb.client.model.BulkWriteOptions;
import com.mongodb.client.model.DeleteManyModel;
import com.mongodb.client.model.DeleteOneModel;
import com.mongodb.client.model.InsertManyOptions;
import com.mongodb.client.model.InsertOneModel;
import com.mongodb.client.model.ReplaceOneModel;
import com.mongodb.client.model.UpdateManyModel;
import com.mongodb.client.model.UpdateOneModel;
import com.mongodb.client.model.UpdateOptions;
import com.mongodb.client.model.WriteModel;
import com.mongodb.client.model.bulk.ClientNamespacedWriteModel;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.bson.BsonInt32;
import org.bson.Document;
import org.junit.jupiter.api.Test;

/** Many writes in one request: what they did is counted, and what failed is named by its place. */
class BulkTest extends MongoTest {
    private static final UpdateOptions UPSERT = new UpdateOptions().upsert(true);

    private static InsertOneModel<Document> insert(String document) {
        return new InsertOneModel<>(doc(document));
    }

    private MongoBulkWriteException failed(boolean ordered, List<WriteModel<Document>> writes) {
        return assertThrows(MongoBulkWriteException.class,
                () -> things.bulkWrite(writes, new BulkWriteOptions().ordered(ordered)));
    }

    private static Map<Integer, Integer> codes(MongoBulkWriteException failure) {
        return failure.getWriteErrors().stream().collect(Collectors.toMap(BulkWriteError::getIndex, BulkWriteError::getCode));
    }

    @Test
    void writesOfAllKindsAreDoneInTheirOrderAndCounted() {
        BulkWriteResult done = things.bulkWrite(List.of(
                insert("{_id: 1, n: 1}"),
                insert("{_id: 2, n: 1}"),
                new UpdateOneModel<>(eq(1), inc("n", 1)),
                new UpdateManyModel<>(gte("n", 1), set("seen", true)),
                new UpdateOneModel<>(eq(3), set("n", 5), UPSERT),
                new ReplaceOneModel<>(eq(3), doc("{n: 6}")),
                new UpdateOneModel<>(eq(3), set("n", 6)),
                new DeleteOneModel<>(eq(1)),
                new DeleteManyModel<>(eq("n", 9)),
                new UpdateOneModel<>(eq(4), set("n", 7), UPSERT)));
        assertEquals(2, done.getInsertedCount());
        assertEquals(5, done.getMatchedCount());
        assertEquals(4, done.getModifiedCount());
        assertEquals(1, done.getDeletedCount());
        assertEquals(Map.of(4, new BsonInt32(3), 9, new BsonInt32(4)),
                done.getUpserts().stream().collect(Collectors.toMap(upsert -> upsert.getIndex(), upsert -> upsert.getId())));
        assertEquals(docs("{_id: 2, n: 1, seen: true}", "{_id: 3, n: 6}", "{_id: 4, n: 7}"), list(things.find()));
    }

    @Test
    void anOrderedBulkStopsAtTheFirstFailure() {
        MongoBulkWriteException failure = failed(true, List.of(
                insert("{_id: 1}"), new UpdateOneModel<>(eq(2), set("x", 1), UPSERT), insert("{_id: 1}"), insert("{_id: 3}"),
                new DeleteOneModel<>(eq(1))));
        assertEquals(Map.of(2, 11000), codes(failure));
        assertEquals(1, failure.getWriteResult().getInsertedCount());
        assertEquals(List.of(1), failure.getWriteResult().getUpserts().stream().map(upsert -> upsert.getIndex()).toList());
        assertEquals(List.of(1, 2), ids(things.find()));
    }

    @Test
    void anUnorderedBulkDoesAllThatCanBeDone() {
        MongoBulkWriteException failure = failed(false, List.of(
                insert("{_id: 1}"), insert("{_id: 1}"), insert("{_id: 2, s: 'text'}"), insert("{_id: 2}"),
                new UpdateOneModel<>(eq(2), inc("s", 1)), new UpdateOneModel<>(eq(9), set("x", 1), UPSERT), new DeleteOneModel<>(eq(1))));
        assertEquals(Map.of(1, 11000, 3, 11000, 4, 14), codes(failure));
        assertEquals(2, failure.getWriteResult().getInsertedCount());
        assertEquals(1, failure.getWriteResult().getDeletedCount());
        assertEquals(List.of(5), failure.getWriteResult().getUpserts().stream().map(upsert -> upsert.getIndex()).toList());
        assertEquals(List.of(2, 9), ids(things.find()));
    }

    @Test
    void insertManyNamesEachDocumentThatFailed() {
        List<Document> documents = docs("{_id: 1}", "{_id: 1}", "{_id: 2}", "{_id: 2}", "{_id: 3}");
        MongoBulkWriteException unordered = assertThrows(MongoBulkWriteException.class,
                () -> things.insertMany(documents, new InsertManyOptions().ordered(false)));
        assertEquals(Map.of(1, 11000, 3, 11000), codes(unordered));
        assertEquals(3, unordered.getWriteResult().getInsertedCount());
        assertTrue(unordered.getWriteErrors().get(0).getMessage().contains("dup key: { _id: 1 }"));
        MongoBulkWriteException ordered = assertThrows(MongoBulkWriteException.class,
                () -> things.insertMany(docs("{_id: 4}", "{_id: 4}", "{_id: 5}")));
        assertEquals(Map.of(1, 11000), codes(ordered));
        assertEquals(List.of(1, 2, 3, 4), ids(things.find()));
    }

    @Test
    void thousandsOfWritesAreOneBulk() {
        List<WriteModel<Document>> writes = new ArrayList<>();
        numbered(3000).forEach(document -> writes.add(new InsertOneModel<>(document)));
        for (int id = 0; id < 3000; id += 3) {
            writes.add(new DeleteOneModel<>(eq(id)));
        }
        BulkWriteResult done = things.bulkWrite(writes, new BulkWriteOptions().ordered(false));
        assertEquals(3000, done.getInsertedCount());
        assertEquals(1000, done.getDeletedCount());
        assertEquals(2000, things.countDocuments());
    }

    @Test
    void documentsBeyondOneMessageAreSentInSeveral() {
        String text = "x".repeat(10_000_000);
        List<Document> documents = numbered(6);
        documents.forEach(document -> document.append("text", text));
        things.insertMany(documents);
        assertEquals(6, things.countDocuments());
        things.drop();
    }

    /** The command that does this came with MongoDB 8.0; the server is of an earlier version. */
    @Test
    void aBulkOfSeveralCollectionsIsRefused() {
        MongoNamespace namespace = things.getNamespace();
        refused(59, () -> client.bulkWrite(List.of(ClientNamespacedWriteModel.insertOne(namespace, doc("{_id: 1}")))));
        assertEquals(0, things.countDocuments());
    }
}
