package lapsedb.mongo;

import static com.mongodb.client.model.Filters.and;
import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Filters.geoWithinBox;
import static com.mongodb.client.model.Filters.geoWithinCenterSphere;
import static com.mongodb.client.model.Filters.gt;
import static com.mongodb.client.model.Filters.gte;
import static com.mongodb.client.model.Filters.nearSphere;
import static com.mongodb.client.model.Filters.text;
import static com.mongodb.client.model.Updates.set;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.mongodb.client.model.Collation;
import com.mongodb.client.model.CollationStrength;
import com.mongodb.client.model.CreateIndexOptions;
import com.mongodb.client.model.IndexModel;
import com.mongodb.client.model.IndexOptions;
import com.mongodb.client.model.Indexes;
import com.mongodb.client.model.Projections;
import com.mongodb.client.model.Sorts;
import com.mongodb.client.model.TextSearchOptions;
import com.mongodb.client.model.geojson.Point;
import com.mongodb.client.model.geojson.Position;
import java.util.List;
import org.bson.Document;
import org.junit.jupiter.api.Test;

/** Indexes of every kind answer queries and hold to what they promise. */
class IndexesTest extends MongoTest {
    private static Point point(double longitude, double latitude) {
        return new Point(new Position(longitude, latitude));
    }

    private List<String> names() {
        return list(things.listIndexes()).stream().map(index -> index.getString("name")).toList();
    }

    @Test
    void indexesAreMadeListedAndDropped() {
        assertEquals("a_1", things.createIndex(Indexes.ascending("a")));
        assertEquals(List.of("b_-1_c_1", "own"), things.createIndexes(List.of(
                new IndexModel(Indexes.compoundIndex(Indexes.descending("b"), Indexes.ascending("c"))),
                new IndexModel(Indexes.ascending("d"), new IndexOptions().name("own").sparse(true)))));
        assertEquals(List.of("_id_", "a_1", "b_-1_c_1", "own"), names());
        Document own = list(things.listIndexes()).get(3);
        assertEquals(doc("{d: 1}"), own.get("key"));
        assertEquals(true, own.get("sparse"));
        things.dropIndex("own");
        things.dropIndex(Indexes.ascending("a"));
        assertEquals(List.of("_id_", "b_-1_c_1"), names());
        refused(27, () -> things.dropIndex("none"));
        things.dropIndexes();
        assertEquals(List.of("_id_"), names());
    }

    @Test
    void anIndexIsChangedOnlyByDroppingIt() {
        things.createIndex(Indexes.ascending("a"));
        things.createIndex(Indexes.ascending("a"));
        refused(86, () -> things.createIndex(Indexes.ascending("b"), new IndexOptions().name("a_1")));
        refused(85, () -> things.createIndex(Indexes.ascending("a"), new IndexOptions().name("other")));
        assertEquals(List.of("_id_", "a_1"), names());
    }

    @Test
    void aUniqueIndexRefusesASecondHolderOfAKey() {
        things.createIndex(Indexes.ascending("a", "b"), new IndexOptions().unique(true));
        things.insertMany(docs("{_id: 1, a: 1, b: 1}", "{_id: 2, a: 1, b: 2}", "{_id: 3, a: 1}"));
        refused(11000, () -> things.insertOne(doc("{_id: 4, a: 1.0, b: 2}")));
        refused(11000, () -> things.insertOne(doc("{_id: 4, a: 1, b: null}")));
        assertTrue(refused(11000, () -> things.updateOne(eq(1), set("b", 2))).getMessage().contains("index: a_1_b_1 dup key: { a: 1, b: 2 }"));
        assertEquals(List.of(1, 2, 3), ids(things.find()));
        things.deleteOne(eq(2));
        things.updateOne(eq(1), set("b", 2));
        refused(11000, () -> things.createIndex(Indexes.ascending("a"), new IndexOptions().unique(true)));
        assertEquals(List.of("_id_", "a_1_b_1"), names());
    }

    @Test
    void aPartialUniqueIndexHoldsOnlyForWhatItsFilterMatches() {
        things.createIndex(Indexes.ascending("mail"), new IndexOptions().unique(true).partialFilterExpression(eq("active", true)));
        things.insertMany(docs("{_id: 1, mail: 'm', active: true}", "{_id: 2, mail: 'm', active: false}", "{_id: 3, mail: 'm'}"));
        refused(11000, () -> things.insertOne(doc("{_id: 4, mail: 'm', active: true}")));
        refused(11000, () -> things.updateOne(eq(2), set("active", true)));
        assertEquals("mail_1", plan(things.find(and(eq("mail", "m"), eq("active", true))).explain()));
        assertEquals("COLLSCAN", plan(things.find(eq("mail", "m")).explain()));
        assertEquals(List.of(1, 2, 3), ids(things.find(eq("mail", "m"))));
    }

    @Test
    void aCompoundIndexFindsByItsFirstFieldsAndSortsByTheRest() {
        things.createIndex(Indexes.ascending("a", "b"));
        for (int n = 0; n < 20; n++) {
            things.insertOne(new Document("_id", n).append("a", n % 4).append("b", n));
        }
        assertEquals("a_1_b_1", plan(things.find(eq("a", 2)).explain()));
        assertEquals("COLLSCAN", plan(things.find(eq("b", 2)).explain()));
        assertEquals(List.of(10, 14, 18), ids(things.find(and(eq("a", 2), gt("b", 6)))));
        assertEquals(List.of(18, 14), ids(things.find(eq("a", 2)).sort(Sorts.descending("b")).limit(2)));
    }

    @Test
    void aTextIndexFindsWordsByTheirStemAndScoresThem() {
        things.createIndex(Indexes.compoundIndex(Indexes.text("title"), Indexes.text("body")),
                new IndexOptions().weights(doc("{title: 10, body: 1}")));
        things.insertMany(docs("{_id: 1, title: 'Running', body: 'shoes'}", "{_id: 2, title: 'Shoes', body: 'for runners who run'}",
                "{_id: 3, title: 'Hats', body: 'none'}"));
        assertEquals(List.of(1, 2), ids(things.find(text("runs")).projection(Projections.metaTextScore("score"))
                .sort(Sorts.metaTextScore("score"))));
        assertEquals(List.of(1), ids(things.find(text("run -runners"))));
        assertEquals(List.of(2), ids(things.find(text("\"who run\""))));
        assertEquals(List.of(), ids(things.find(text("SHOES", new TextSearchOptions().caseSensitive(true)))));
    }

    @Test
    void aSphericalIndexFindsWhatIsNear() {
        things.createIndex(Indexes.geo2dsphere("at"));
        things.insertMany(List.of(new Document("_id", "berlin").append("at", point(13.4, 52.5)),
                new Document("_id", "paris").append("at", point(2.35, 48.86)),
                new Document("_id", "rome").append("at", point(12.5, 41.9))));
        assertEquals(List.of("berlin", "paris", "rome"), ids(things.find(nearSphere("at", point(13.0, 52.4), null, null))));
        assertEquals(List.of("paris"), ids(things.find(nearSphere("at", point(2.0, 49.0), 100_000.0, 1_000.0))));
        assertEquals(List.of("rome"), ids(things.find(geoWithinCenterSphere("at", 12.0, 42.0, 300 / 6378.1))));
        assertEquals(List.of("berlin"), ids(things.find(geoWithinBox("at", 10, 50, 15, 55))));
        refused(16755, () -> things.insertOne(new Document("at", doc("{type: 'Point', coordinates: [200, 0]}"))));
    }

    @Test
    void aWildcardIndexServesAnyField() {
        things.createIndex(new Document("$**", 1), new IndexOptions().wildcardProjection(doc("{secret: 0}")));
        things.insertMany(docs("{_id: 1, a: {b: 1}, secret: 1}", "{_id: 2, a: {b: 2}, c: ['x', 'y']}"));
        assertEquals("$**_1", plan(things.find(eq("a.b", 2)).explain()));
        assertEquals("$**_1", plan(things.find(eq("c", "y")).explain()));
        assertEquals("COLLSCAN", plan(things.find(eq("secret", 1)).explain()));
        assertEquals(List.of(2), ids(things.find(eq("c", "y"))));
        assertEquals(List.of(1), ids(things.find(eq("secret", 1))));
    }

    @Test
    void aHashedIndexServesEqualityAlone() {
        things.createIndex(Indexes.hashed("a"));
        things.insertMany(docs("{_id: 1, a: 1}", "{_id: 2, a: 1.0}", "{_id: 3, a: 'x'}", "{_id: 4}"));
        assertEquals("a_hashed", plan(things.find(eq("a", "x")).explain()));
        assertEquals("COLLSCAN", plan(things.find(gte("a", 1)).explain()));
        assertEquals(List.of(1, 2), ids(things.find(eq("a", 1)).sort(Sorts.ascending("_id"))));
        refused(16766, () -> things.insertOne(doc("{a: [1, 2]}")));
    }

    @Test
    void anIndexWithACollationServesQueriesOfTheSame() {
        Collation caseless = Collation.builder().locale("en").collationStrength(CollationStrength.SECONDARY).build();
        things.createIndex(Indexes.ascending("s"), new IndexOptions().unique(true).collation(caseless));
        things.insertOne(doc("{_id: 1, s: 'Ab'}"));
        refused(11000, () -> things.insertOne(doc("{_id: 2, s: 'aB'}")));
        assertEquals("s_1", plan(things.find(eq("s", "AB")).collation(caseless).explain()));
        assertEquals("COLLSCAN", plan(things.find(eq("s", "AB")).explain()));
        assertEquals(List.of(1), ids(things.find(eq("s", "AB")).collation(caseless)));
        assertEquals(List.of(), ids(things.find(eq("s", "AB"))));
    }

    @Test
    void aHiddenIndexIsKeptAndNotUsed() {
        things.createIndex(Indexes.ascending("a"), new IndexOptions().hidden(true).unique(true));
        things.insertOne(doc("{_id: 1, a: 1}"));
        assertEquals("COLLSCAN", plan(things.find(eq("a", 1)).explain()));
        refused(11000, () -> things.insertOne(doc("{_id: 2, a: 1}")));
        database.runCommand(doc("{collMod: 'things', index: {name: 'a_1', hidden: false}}"));
        assertEquals("a_1", plan(things.find(eq("a", 1)).explain()));
    }

    @Test
    void aHintChoosesTheIndexAndAnUnknownOneIsRefused() {
        things.createIndex(Indexes.ascending("a"));
        things.insertMany(numbered(5));
        assertEquals("a_1", plan(things.find(eq("n", 1)).hint(Indexes.ascending("a")).explain()));
        assertEquals(List.of(1), ids(things.find(eq("n", 1)).hintString("a_1")));
        refused(2, () -> things.find().hintString("none").first());
    }

    @Test
    void indexesOfALargeCollectionAreMadeInOneRequest() {
        things.insertMany(numbered(2000));
        things.createIndexes(List.of(new IndexModel(Indexes.ascending("n")), new IndexModel(Indexes.descending("n", "_id"))),
                new CreateIndexOptions());
        assertEquals(List.of(1999, 1998), ids(things.find(gt("n", 10)).sort(Sorts.descending("n")).limit(2)));
    }
}
