package lapsedb.mongo;

import static com.mongodb.client.model.Aggregates.match;
import static com.mongodb.client.model.Aggregates.project;
import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Filters.gte;
import static com.mongodb.client.model.Filters.in;
import static com.mongodb.client.model.Projections.exclude;
import static com.mongodb.client.model.Updates.combine;
import static com.mongodb.client.model.Updates.inc;
import static com.mongodb.client.model.Updates.set;
import static com.mongodb.client.model.Updates.unset;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.mongodb.MongoNamespace;
import com.mongodb.client.ChangeStreamIterable;
import com.mongodb.client.ClientSession;
import com.mongodb.client.MongoChangeStreamCursor;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.model.ChangeStreamPreAndPostImagesOptions;
import com.mongodb.client.model.CreateCollectionOptions;
import com.mongodb.client.model.changestream.ChangeStreamDocument;
import com.mongodb.client.model.changestream.FullDocument;
import com.mongodb.client.model.changestream.FullDocumentBeforeChange;
import com.mongodb.client.model.changestream.OperationType;
import java.util.ArrayList;
import java.util.List;
import org.bson.BsonDocument;
import org.bson.BsonInt32;
import org.bson.BsonTimestamp;
import org.bson.Document;
import org.junit.jupiter.api.Test;

/** Every write is emitted to change streams in its order, and a stream can be resumed. */
class ChangeStreamsTest extends MongoTest {
    private static List<ChangeStreamDocument<Document>> next(MongoChangeStreamCursor<ChangeStreamDocument<Document>> cursor, int count) {
        List<ChangeStreamDocument<Document>> events = new ArrayList<>();
        for (int n = 0; n < count; n++) {
            events.add(cursor.next());
        }
        return events;
    }

    private static List<OperationType> types(List<ChangeStreamDocument<Document>> events) {
        return events.stream().map(ChangeStreamDocument::getOperationType).toList();
    }

    private static int id(ChangeStreamDocument<Document> event) {
        return event.getDocumentKey().getInt32("_id").getValue();
    }

    private static List<Integer> changed(ChangeStreamIterable<Document> changes, int count) {
        try (var cursor = changes.cursor()) {
            return next(cursor, count).stream().map(ChangeStreamsTest::id).toList();
        }
    }

    @Test
    void eachKindOfWriteIsAnEvent() {
        try (var cursor = things.watch().cursor()) {
            things.insertOne(doc("{_id: 1, a: 1, b: 2, l: [1, 2, 3]}"));
            things.updateOne(eq(1), combine(set("a", 5), set("c.d", 1), unset("b")));
            things.updateOne(eq(1), List.of(set("l", List.of(1))));
            things.updateOne(eq(1), set("a", 5));
            things.replaceOne(eq(1), doc("{z: 1}"));
            things.deleteOne(eq(1));
            List<ChangeStreamDocument<Document>> events = next(cursor, 5);
            assertEquals(List.of(OperationType.INSERT, OperationType.UPDATE, OperationType.UPDATE, OperationType.REPLACE, OperationType.DELETE),
                    types(events));
            events.forEach(event -> {
                assertEquals(new BsonDocument("_id", new BsonInt32(1)), event.getDocumentKey());
                assertEquals(things.getNamespace(), event.getNamespace());
                assertNotNull(event.getClusterTime());
            });
            assertEquals(doc("{_id: 1, a: 1, b: 2, l: [1, 2, 3]}"), events.get(0).getFullDocument());
            assertEquals(BsonDocument.parse("{a: 5, c: {d: 1}}"), events.get(1).getUpdateDescription().getUpdatedFields());
            assertEquals(List.of("b"), events.get(1).getUpdateDescription().getRemovedFields());
            assertNull(events.get(1).getFullDocument());
            assertEquals(BsonDocument.parse("{l: [1]}"), events.get(2).getUpdateDescription().getUpdatedFields());
            assertEquals(doc("{_id: 1, z: 1}"), events.get(3).getFullDocument());
        }
    }

    @Test
    void aStreamResumesRightAfterAnEvent() {
        List<BsonDocument> tokens = new ArrayList<>();
        try (var cursor = things.watch().cursor()) {
            things.insertMany(numbered(5));
            next(cursor, 3).forEach(event -> tokens.add(event.getResumeToken()));
            assertEquals(tokens.get(2), cursor.getResumeToken());
        }
        things.insertOne(doc("{_id: 5}"));
        assertEquals(List.of(1, 2, 3, 4, 5), changed(things.watch().resumeAfter(tokens.get(0)), 5));
        assertEquals(List.of(3, 4, 5), changed(things.watch().startAfter(tokens.get(2)), 3));
    }

    @Test
    void aStreamThatHasSeenNothingResumesByTheTokenOfItsBatch() {
        BsonDocument token;
        try (var cursor = things.watch().cursor()) {
            assertNull(cursor.tryNext());
            token = cursor.getResumeToken();
        }
        things.insertOne(doc("{_id: 1}"));
        assertEquals(List.of(1), changed(things.watch().resumeAfter(token), 1));
    }

    @Test
    void aStreamStartsAtATime() {
        BsonTimestamp second;
        // The changes of a collection are kept from its first stream on.
        try (var first = things.watch().cursor(); ClientSession session = client.startSession()) {
            things.insertOne(session, doc("{_id: 1}"));
            things.insertOne(session, doc("{_id: 2}"));
            second = session.getOperationTime();
            things.insertOne(session, doc("{_id: 3}"));
            assertEquals(1, id(first.next()));
        }
        assertEquals(List.of(2, 3), changed(things.watch().startAtOperationTime(second), 2));
    }

    @Test
    void anUpdateShowsTheDocumentAsItIsNow() {
        try (var cursor = things.watch().fullDocument(FullDocument.UPDATE_LOOKUP).cursor()) {
            things.insertOne(doc("{_id: 1, n: 1}"));
            things.updateOne(eq(1), inc("n", 1));
            things.updateOne(eq(1), inc("n", 1));
            List<ChangeStreamDocument<Document>> events = next(cursor, 3);
            assertEquals(doc("{_id: 1, n: 3}"), events.get(2).getFullDocument());
        }
    }

    @Test
    void imagesShowTheDocumentBeforeAndAfterEachChange() {
        database.createCollection("kept", new CreateCollectionOptions()
                .changeStreamPreAndPostImagesOptions(new ChangeStreamPreAndPostImagesOptions(true)));
        MongoCollection<Document> kept = database.getCollection("kept");
        ChangeStreamIterable<Document> changes = kept.watch().fullDocument(FullDocument.REQUIRED)
                .fullDocumentBeforeChange(FullDocumentBeforeChange.WHEN_AVAILABLE);
        try (var cursor = changes.cursor()) {
            kept.insertOne(doc("{_id: 1, n: 1}"));
            kept.updateOne(eq(1), inc("n", 1));
            kept.updateOne(eq(1), inc("n", 1));
            kept.replaceOne(eq(1), doc("{m: 1}"));
            kept.deleteOne(eq(1));
            List<ChangeStreamDocument<Document>> events = next(cursor, 5);
            List<Document> states = docs("{_id: 1, n: 1}", "{_id: 1, n: 2}", "{_id: 1, n: 3}", "{_id: 1, m: 1}");
            assertNull(events.get(0).getFullDocumentBeforeChange());
            for (int n = 0; n < 4; n++) {
                assertEquals(states.get(n), events.get(n).getFullDocument());
                assertEquals(states.get(n), events.get(n + 1).getFullDocumentBeforeChange());
            }
            assertNull(events.get(4).getFullDocument());
        }
    }

    @Test
    void imagesThatAreRequiredAndNotKeptEndTheStream() {
        things.insertOne(doc("{_id: 1, n: 1}"));
        try (var cursor = things.watch().fullDocumentBeforeChange(FullDocumentBeforeChange.REQUIRED).cursor()) {
            things.updateOne(eq(1), inc("n", 1));
            refused(47, cursor::next);
        }
        try (var cursor = things.watch().fullDocumentBeforeChange(FullDocumentBeforeChange.WHEN_AVAILABLE).cursor()) {
            things.updateOne(eq(1), inc("n", 1));
            assertNull(cursor.next().getFullDocumentBeforeChange());
        }
    }

    @Test
    void aPipelineChoosesAndShapesEvents() {
        var changes = things.watch(List.of(match(in("operationType", "insert", "delete")), match(gte("documentKey._id", 2)),
                project(exclude("fullDocument.secret"))));
        try (var cursor = changes.cursor()) {
            things.insertMany(docs("{_id: 1}", "{_id: 2, secret: 1, n: 2}"));
            things.updateOne(eq(2), set("n", 3));
            things.deleteOne(eq(2));
            List<ChangeStreamDocument<Document>> events = next(cursor, 2);
            assertEquals(List.of(OperationType.INSERT, OperationType.DELETE), types(events));
            assertEquals(doc("{_id: 2, n: 2}"), events.get(0).getFullDocument());
        }
    }

    @Test
    void aDatabaseAndTheWholeServerAreWatched() {
        try (var ofDatabase = database.watch().cursor();
                var ofServer = client.watch(List.of(match(eq("ns.db", database.getName())))).cursor()) {
            things.insertOne(doc("{_id: 1}"));
            database.getCollection("others").insertOne(doc("{_id: 2}"));
            for (var cursor : List.of(ofDatabase, ofServer)) {
                List<ChangeStreamDocument<Document>> events = next(cursor, 2);
                assertEquals(List.of("things", "others"), events.stream().map(event -> event.getNamespace().getCollectionName()).toList());
            }
            database.drop();
            assertEquals(List.of(OperationType.DROP, OperationType.DROP, OperationType.DROP_DATABASE, OperationType.INVALIDATE),
                    types(next(ofDatabase, 4)));
            assertEquals(List.of(OperationType.DROP, OperationType.DROP, OperationType.DROP_DATABASE), types(next(ofServer, 3)));
        }
    }

    @Test
    void droppingACollectionInvalidatesItsStream() {
        things.insertOne(doc("{_id: 1}"));
        BsonDocument invalidated;
        try (var cursor = things.watch().cursor()) {
            things.drop();
            assertEquals(OperationType.DROP, cursor.next().getOperationType());
            ChangeStreamDocument<Document> last = cursor.next();
            assertEquals(OperationType.INVALIDATE, last.getOperationType());
            assertNull(cursor.getServerCursor());
            invalidated = last.getResumeToken();
        }
        things.insertOne(doc("{_id: 2}"));
        refused(260, () -> things.watch().resumeAfter(invalidated).cursor());
        assertEquals(List.of(2), changed(things.watch().startAfter(invalidated), 1));
    }

    @Test
    void renamingACollectionInvalidatesItsStream() {
        things.insertOne(doc("{_id: 1}"));
        try (var cursor = things.watch().cursor()) {
            MongoNamespace other = new MongoNamespace(database.getName(), "renamed");
            things.renameCollection(other);
            ChangeStreamDocument<Document> rename = cursor.next();
            assertEquals(OperationType.RENAME, rename.getOperationType());
            assertEquals(other, rename.getDestinationNamespace());
            assertEquals(OperationType.INVALIDATE, cursor.next().getOperationType());
        }
    }

    @Test
    void theEventsOfATransactionComeTogetherWhenItCommits() {
        database.createCollection("things");
        try (var cursor = things.watch().cursor(); ClientSession session = client.startSession()) {
            session.startTransaction();
            things.insertOne(session, doc("{_id: 1}"));
            session.abortTransaction();
            session.startTransaction();
            things.insertOne(session, doc("{_id: 2}"));
            things.insertOne(session, doc("{_id: 3}"));
            things.insertOne(doc("{_id: 4}"));
            session.commitTransaction();
            List<ChangeStreamDocument<Document>> events = next(cursor, 3);
            assertEquals(List.of(4, 2, 3), events.stream().map(ChangeStreamsTest::id).toList());
            assertNull(events.get(0).getTxnNumber());
            assertNotNull(events.get(1).getTxnNumber());
            assertEquals(events.get(1).getTxnNumber(), events.get(2).getTxnNumber());
            assertEquals(events.get(1).getLsid(), events.get(2).getLsid());
            assertEquals(events.get(1).getClusterTime(), events.get(2).getClusterTime());
        }
    }

    @Test
    void definitionsAreEventsToThoseWhoAskForThem() {
        try (var cursor = things.watch().showExpandedEvents(true).cursor()) {
            things.createIndex(new Document("a", 1));
            things.insertOne(doc("{_id: 1}"));
            List<ChangeStreamDocument<Document>> events = next(cursor, 3);
            assertEquals(List.of("create", "createIndexes", "insert"),
                    events.stream().map(ChangeStreamDocument::getOperationTypeString).toList());
        }
    }

    @Test
    void everyWriteOfADocumentIsEmittedInItsOrder() {
        try (var cursor = things.watch().batchSize(7).cursor()) {
            things.insertOne(doc("{_id: 1, n: 0}"));
            for (int n = 1; n <= 50; n++) {
                things.updateOne(eq(1), set("n", n));
            }
            assertEquals(OperationType.INSERT, cursor.next().getOperationType());
            for (int n = 1; n <= 50; n++) {
                assertEquals(new BsonInt32(n), cursor.next().getUpdateDescription().getUpdatedFields().get("n"));
            }
            assertFalse(cursor.available() > 0);
            assertTrue(cursor.getResumeToken().containsKey("_data"));
        }
    }
}
