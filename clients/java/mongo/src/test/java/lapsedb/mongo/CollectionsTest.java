package lapsedb.mongo;

import static com.mongodb.client.model.Aggregates.lookup;
import static com.mongodb.client.model.Aggregates.match;
import static com.mongodb.client.model.Aggregates.project;
import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Filters.gt;
import static com.mongodb.client.model.Filters.in;
import static com.mongodb.client.model.Projections.include;
import static com.mongodb.client.model.Sorts.ascending;
import static com.mongodb.client.model.Updates.inc;
import static com.mongodb.client.model.Updates.set;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.mongodb.MongoNamespace;
import com.mongodb.MongoWriteException;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.model.Collation;
import com.mongodb.client.model.CollationAlternate;
import com.mongodb.client.model.CollationStrength;
import com.mongodb.client.model.CreateCollectionOptions;
import com.mongodb.client.model.IndexOptions;
import com.mongodb.client.model.Indexes;
import com.mongodb.client.model.InsertOneOptions;
import com.mongodb.client.model.RenameCollectionOptions;
import com.mongodb.client.model.ValidationAction;
import com.mongodb.client.model.ValidationLevel;
import com.mongodb.client.model.ValidationOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.bson.Document;
import org.junit.jupiter.api.Test;

/** Collections are made, listed and renamed; views, validators and collations hold for all that is in them. */
class CollectionsTest extends MongoTest {
    private static final Collation CASELESS = Collation.builder().locale("en").collationStrength(CollationStrength.SECONDARY).build();

    private List<String> names() {
        return database.listCollectionNames().into(new ArrayList<>()).stream().sorted().toList();
    }

    private MongoCollection<Document> validated(ValidationOptions options) {
        database.createCollection("valid", new CreateCollectionOptions().validationOptions(options));
        return database.getCollection("valid");
    }

    @Test
    void collectionsAreMadeListedRenamedAndDropped() {
        database.createCollection("a");
        refused(48, () -> database.createCollection("a", new CreateCollectionOptions().capped(true).sizeInBytes(1000)));
        things.insertOne(doc("{_id: 1}"));
        things.createIndex(Indexes.ascending("n"));
        assertEquals(List.of("a", "things"), names());
        refused(48, () -> things.renameCollection(new MongoNamespace(database.getName(), "a")));
        things.renameCollection(new MongoNamespace(database.getName(), "a"), new RenameCollectionOptions().dropTarget(true));
        assertEquals(List.of("a"), names());
        MongoCollection<Document> renamed = database.getCollection("a");
        assertEquals(List.of(1), ids(renamed.find()));
        assertEquals(List.of("_id_", "n_1"), values(renamed.listIndexes(), "name"));
        renamed.drop();
        assertEquals(List.of(), names());
        refused(26, () -> renamed.renameCollection(new MongoNamespace(database.getName(), "b")));
    }

    @Test
    void aViewShowsWhatItsPipelineMakesOfTheCollection() {
        things.insertMany(numbered(5));
        database.getCollection("words").insertMany(docs("{_id: 3, w: 'three'}", "{_id: 4, w: 'four'}"));
        database.createView("large", "things", List.of(match(gt("n", 2)), lookup("words", "n", "_id", "word")));
        database.createView("words of large", "large", List.of(project(include("word.w"))));
        MongoCollection<Document> view = database.getCollection("words of large");
        assertEquals(docs("{_id: 3, word: [{w: 'three'}]}", "{_id: 4, word: [{w: 'four'}]}"), list(view.find()));
        assertEquals(2, view.countDocuments());
        assertEquals(2, view.estimatedDocumentCount());
        assertEquals(List.of(4), ids(view.find(eq("word.w", "four"))));
        things.insertOne(doc("{_id: 9, n: 9}"));
        assertEquals(List.of(3, 4, 9), ids(view.find().sort(ascending("_id"))));
        refused(166, () -> view.insertOne(doc("{_id: 10}")));
        assertEquals("view", database.listCollections().filter(eq("name", "large")).first().get("type"));
    }

    @Test
    void aViewDoesNotShowWhatHasExpired() {
        long now = server.align();
        things.createIndex(Indexes.ascending("until"), new IndexOptions().expireAfter(0L, TimeUnit.SECONDS));
        things.insertMany(List.of(new Document("_id", 1).append("until", date(now + 1_000)), doc("{_id: 2}")));
        database.createView("view", "things", List.of(match(gt("_id", 0))));
        assertEquals(List.of(1, 2), ids(database.getCollection("view").find()));
        server.advance("1s");
        assertEquals(List.of(2), ids(database.getCollection("view").find()));
        assertEquals(1, database.getCollection("view").countDocuments());
    }

    @Test
    void aSchemaRefusesWhatItDoesNotDescribeAndSaysWhy() {
        MongoCollection<Document> valid = validated(new ValidationOptions().validator(doc(
                "{$jsonSchema: {required: ['name'], properties: {age: {bsonType: 'int', minimum: 0}}}}")));
        valid.insertOne(doc("{_id: 1, name: 'n', age: 3}"));
        MongoWriteException refusal = assertThrows(MongoWriteException.class, () -> valid.insertOne(doc("{_id: 2, age: -1}")));
        assertEquals(121, refusal.getCode());
        assertEquals(2, refusal.getError().getDetails().getInt32("failingDocumentId").getValue());
        String details = refusal.getError().getDetails().toJson();
        assertTrue(details.contains("required") && details.contains("minimum"), details);
        refused(121, () -> valid.updateOne(eq(1), set("age", "old")));
        refused(121, () -> valid.replaceOne(eq(1), doc("{x: 1}")));
        refused(121, () -> valid.findOneAndUpdate(eq(1), inc("age", -10)));
        assertEquals(docs("{_id: 1, name: 'n', age: 3}"), list(valid.find()));
        valid.insertOne(doc("{_id: 2}"), new InsertOneOptions().bypassDocumentValidation(true));
        assertEquals(List.of(1, 2), ids(valid.find()));
    }

    @Test
    void aValidatorIsAFilterItMayOnlyWarnAndSpareWhatWasThere() {
        MongoCollection<Document> warned = validated(new ValidationOptions().validator(gt("n", 0)).validationAction(ValidationAction.WARN));
        warned.insertOne(doc("{_id: 1, n: -1}"));
        database.runCommand(doc("{collMod: 'valid', validationAction: 'error', validationLevel: 'moderate'}"));
        warned.updateOne(eq(1), inc("n", -1));
        refused(121, () -> warned.insertOne(doc("{_id: 2, n: 0}")));
        database.runCommand(doc("{collMod: 'valid', validationLevel: 'strict'}"));
        refused(121, () -> warned.updateOne(eq(1), inc("n", -1)));
        assertEquals(docs("{_id: 1, n: -2}"), list(warned.find()));
        assertEquals(ValidationLevel.STRICT.getValue(), database.listCollections().first().get("options", Document.class).get("validationLevel"));
    }

    @Test
    void aCollationOfAQueryComparesTextsAsItsLanguageDoes() {
        things.insertMany(docs("{_id: 1, s: 'côte'}", "{_id: 2, s: 'Cote'}", "{_id: 3, s: 'coté'}", "{_id: 4, s: 'a10'}", "{_id: 5, s: 'a9'}"));
        assertEquals(List.of(2), ids(things.find(eq("s", "cote")).collation(CASELESS)));
        Collation base = Collation.builder().locale("fr").collationStrength(CollationStrength.PRIMARY).build();
        assertEquals(List.of(1, 2, 3), ids(things.find(eq("s", "cote")).collation(base).sort(ascending("_id"))));
        Collation numbers = Collation.builder().locale("en").numericOrdering(true).build();
        assertEquals(List.of(5, 4), ids(things.find(in("_id", 4, 5)).collation(numbers).sort(ascending("s"))));
        assertEquals(List.of(4, 5), ids(things.find(in("_id", 4, 5)).sort(ascending("s"))));
        Collation shifted = Collation.builder().locale("en").collationAlternate(CollationAlternate.SHIFTED).build();
        assertEquals(List.of(5), ids(things.find(eq("s", "a-9")).collation(shifted)));
        refused(2, () -> things.find().collation(Collation.builder().locale("xx").build()).first());
    }

    @Test
    void aCollationOfACollectionHoldsForItsQueriesAndIndexes() {
        database.createCollection("names", new CreateCollectionOptions().collation(CASELESS));
        MongoCollection<Document> names = database.getCollection("names");
        names.createIndex(Indexes.ascending("s"), new IndexOptions().unique(true));
        names.insertMany(docs("{_id: 'A', s: 'x'}", "{_id: 'b', s: 'Y'}"));
        refused(11000, () -> names.insertOne(doc("{_id: 'c', s: 'y'}")));
        assertEquals(List.of("A"), ids(names.find(eq("s", "X"))));
        assertEquals("s_1", plan(names.find(eq("s", "X")).explain()));
        assertEquals(1, names.updateMany(eq("s", "y"), set("n", 1)).getModifiedCount());
        assertEquals(List.of("x", "Y"), names.distinct("s", String.class).into(new ArrayList<>()));
        assertEquals(1, names.deleteMany(eq("B")).getDeletedCount());
    }

    @Test
    void databasesAreSeparateAndDroppedWithAllTheyHold() {
        things.insertOne(doc("{_id: 1}"));
        MongoCollection<Document> twin = client.getDatabase(database.getName() + "x").getCollection("things");
        twin.insertOne(doc("{_id: 2}"));
        database.drop();
        assertEquals(0, things.countDocuments());
        assertEquals(List.of(2), ids(twin.find()));
        assertEquals(List.of(), names());
    }
}
