package lapsedb.mongo;

import static com.mongodb.client.model.Filters.and;
import static com.mongodb.client.model.Filters.elemMatch;
import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Filters.exists;
import static com.mongodb.client.model.Filters.expr;
import static com.mongodb.client.model.Filters.gt;
import static com.mongodb.client.model.Filters.gte;
import static com.mongodb.client.model.Filters.in;
import static com.mongodb.client.model.Filters.lt;
import static com.mongodb.client.model.Filters.mod;
import static com.mongodb.client.model.Filters.ne;
import static com.mongodb.client.model.Filters.nin;
import static com.mongodb.client.model.Filters.not;
import static com.mongodb.client.model.Filters.or;
import static com.mongodb.client.model.Filters.regex;
import static com.mongodb.client.model.Filters.size;
import static com.mongodb.client.model.Filters.type;
import static com.mongodb.client.model.Projections.computed;
import static com.mongodb.client.model.Projections.excludeId;
import static com.mongodb.client.model.Projections.fields;
import static com.mongodb.client.model.Projections.include;
import static com.mongodb.client.model.Projections.slice;
import static com.mongodb.client.model.Sorts.ascending;
import static com.mongodb.client.model.Sorts.descending;
import static com.mongodb.client.model.Sorts.orderBy;
import static com.mongodb.client.model.Updates.addEachToSet;
import static com.mongodb.client.model.Updates.combine;
import static com.mongodb.client.model.Updates.currentDate;
import static com.mongodb.client.model.Updates.inc;
import static com.mongodb.client.model.Updates.max;
import static com.mongodb.client.model.Updates.mul;
import static com.mongodb.client.model.Updates.popFirst;
import static com.mongodb.client.model.Updates.pull;
import static com.mongodb.client.model.Updates.pushEach;
import static com.mongodb.client.model.Updates.rename;
import static com.mongodb.client.model.Updates.set;
import static com.mongodb.client.model.Updates.setOnInsert;
import static com.mongodb.client.model.Updates.unset;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.mongodb.MongoWriteException;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.model.CountOptions;
import com.mongodb.client.model.FindOneAndReplaceOptions;
import com.mongodb.client.model.FindOneAndUpdateOptions;
import com.mongodb.client.model.PushOptions;
import com.mongodb.client.model.ReplaceOptions;
import com.mongodb.client.model.ReturnDocument;
import com.mongodb.client.model.UpdateOptions;
import com.mongodb.client.result.UpdateResult;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bson.BsonDocument;
import org.bson.BsonInt32;
import org.bson.Document;
import org.bson.conversions.Bson;
import org.junit.jupiter.api.Test;

/** Documents are inserted, found, changed and deleted one by one and many at once. */
class CrudTest extends MongoTest {
    @Test
    void whatIsInsertedIsFoundWithItsTypesAndInItsOrder() {
        BsonDocument document = BsonDocument.parse("""
                {_id: {$oid: '5f0000000000000000000001'}, text: 'ä\\u0000', whole: 1, long: {$numberLong: '9007199254740993'},
                 part: 1.5, decimal: {$numberDecimal: '1.10'}, nan: {$numberDouble: 'NaN'}, yes: true, none: null,
                 when: {$date: {$numberLong: '-1'}}, list: [1, [2], {a: []}], inner: {b: 1, a: {}},
                 bytes: {$binary: {base64: 'AAE=', subType: '80'}}, uuid: {$uuid: '01234567-89ab-cdef-0123-456789abcdef'},
                 pattern: {$regularExpression: {pattern: 'a', options: 'i'}}, stamp: {$timestamp: {t: 7, i: 8}},
                 code: {$code: 'f'}, scoped: {$code: 'f', $scope: {x: 1}}, symbol: {$symbol: 's'},
                 least: {$minKey: 1}, most: {$maxKey: 1}}""");
        MongoCollection<BsonDocument> typed = things.withDocumentClass(BsonDocument.class);
        typed.insertOne(document);
        BsonDocument found = typed.find().first();
        assertEquals(document, found);
        assertEquals(new ArrayList<>(document.keySet()), new ArrayList<>(found.keySet()));
    }

    @Test
    void aSecondDocumentWithAnIdIsRefusedAndItsKeyNamed() {
        things.insertOne(doc("{_id: 1, a: 'first'}"));
        MongoWriteException refusal = assertThrows(MongoWriteException.class, () -> things.insertOne(doc("{_id: 1.0}")));
        assertEquals(11000, refusal.getCode());
        assertTrue(refusal.getMessage().contains("index: _id_ dup key: { _id: 1.0 }"), refusal.getMessage());
        assertEquals(docs("{_id: 1, a: 'first'}"), list(things.find()));
    }

    @Test
    void filtersFindWhatTheySay() {
        things.insertMany(docs("{_id: 1, a: 1, s: 'Ab', l: [1, 2]}", "{_id: 2, a: 2.5, s: 'b', l: [{x: 1, y: 2}, {x: 2, y: 1}]}",
                "{_id: 3, a: null, l: []}", "{_id: 4, s: 'ac', d: {e: [{f: 7}]}}"));
        Map<Bson, List<Integer>> expected = new LinkedHashMap<>();
        expected.put(eq("a", 1.0), List.of(1));
        expected.put(eq("a", null), List.of(3, 4));
        expected.put(ne("a", 1), List.of(2, 3, 4));
        expected.put(and(gt("a", 1), lt("a", 3)), List.of(2));
        expected.put(in("a", 1, null), List.of(1, 3, 4));
        expected.put(nin("a", 1, null), List.of(2));
        expected.put(or(eq("s", "b"), size("l", 2)), List.of(1, 2));
        expected.put(not(gte("a", 2)), List.of(1, 3, 4));
        expected.put(exists("a"), List.of(1, 2, 3));
        expected.put(type("a", "number"), List.of(1, 2));
        expected.put(mod("a", 2, 1), List.of(1));
        expected.put(regex("s", "^a", "i"), List.of(1, 4));
        expected.put(elemMatch("l", and(eq("x", 1), eq("y", 2))), List.of(2));
        expected.put(elemMatch("l", and(eq("x", 1), eq("y", 1))), List.of());
        expected.put(and(eq("l.x", 1), eq("l.y", 1)), List.of(2));
        expected.put(eq("d.e.f", 7), List.of(4));
        expected.put(eq("l", 2), List.of(1));
        expected.put(expr(doc("{$gt: [{$strLenCP: {$ifNull: ['$s', '']}}, 1]}")), List.of(1, 4));
        expected.forEach((filter, found) -> assertEquals(found, ids(things.find(filter).sort(ascending("_id"))), filter::toString));
    }

    @Test
    void projectionsShowAndComputeFields() {
        things.insertOne(doc("{_id: 1, a: 2, b: {c: 3, d: 4}, l: [1, 2, 3]}"));
        assertEquals(doc("{_id: 1, b: {c: 3}}"), things.find().projection(include("b.c")).first());
        assertEquals(doc("{a: 2, twice: 4}"),
                things.find().projection(fields(include("a"), excludeId(), computed("twice", doc("{$multiply: ['$a', 2]}")))).first());
        assertEquals(List.of(2, 3), things.find().projection(slice("l", -2)).first().get("l"));
        refused(31253, () -> things.find().projection(doc("{a: 0, b: 1}")).first());
    }

    @Test
    void sortsOrderByTypeThenValueAndBySeveralFields() {
        things.insertMany(docs("{_id: 1, a: 'x'}", "{_id: 2, a: 5, b: 1}", "{_id: 3}", "{_id: 4, a: 5, b: 2}", "{_id: 5, a: true}"));
        assertEquals(List.of(3, 4, 2, 1, 5), ids(things.find().sort(orderBy(ascending("a"), descending("b")))));
        assertEquals(List.of(5, 1, 2, 4, 3), ids(things.find().sort(orderBy(descending("a"), ascending("b")))));
    }

    @Test
    void updateOperatorsChangeOneDocumentAndSayWhetherTheyDid() {
        things.insertOne(doc("{_id: 1, n: 1, m: 3, old: 'o', away: 1, l: [1, 2, 3], s: ['a'], p: [5, 6]}"));
        UpdateResult done = things.updateOne(eq(1), combine(inc("n", 2), mul("m", 1.5), rename("old", "new"), unset("away"),
                pushEach("l", List.of(9, 0), new PushOptions().sort(-1).slice(4)), addEachToSet("s", List.of("a", "b")), popFirst("p"),
                max("top", 4), set("deep.er", true)));
        assertEquals(UpdateResult.acknowledged(1, 1L, null), done);
        assertEquals(doc("{_id: 1, n: 3, m: 4.5, l: [9, 3, 2, 1], s: ['a', 'b'], p: [6], new: 'o', deep: {er: true}, top: 4}"),
                things.find().first());
        assertEquals(UpdateResult.acknowledged(1, 0L, null), things.updateOne(eq(1), set("n", 3)));
        assertEquals(UpdateResult.acknowledged(0, 0L, null), things.updateOne(eq(2), set("n", 3)));
        things.updateOne(eq(1), combine(pull("l", doc("{$gte: 2}")), currentDate("at")));
        assertEquals(List.of(1), things.find().first().get("l"));
        // The server's clock, not the machine's.
        assertEquals(date(server.advance("0ms")), things.find().first().getDate("at"));
    }

    @Test
    void anUpdateOfTheWrongTypeIsRefusedAndChangesNothing() {
        things.insertOne(doc("{_id: 1, s: 'text', n: 1}"));
        refused(14, () -> things.updateOne(eq(1), combine(set("n", 2), inc("s", 1))));
        refused(40, () -> things.updateOne(eq(1), combine(set("n", 2), inc("n", 1))));
        refused(66, () -> things.updateOne(eq(1), set("_id", 2)));
        assertEquals(doc("{_id: 1, s: 'text', n: 1}"), things.find().first());
    }

    @Test
    void updateManyChangesWhatMatchesAndArrayFiltersChooseElements() {
        things.insertMany(docs("{_id: 1, g: [{s: 50}, {s: 90}]}", "{_id: 2, g: [{s: 95}]}", "{_id: 3, g: [{s: 10}]}"));
        UpdateResult done = things.updateMany(exists("g"), set("g.$[high].passed", true),
                new UpdateOptions().arrayFilters(List.of(gte("high.s", 90))));
        assertEquals(UpdateResult.acknowledged(3, 2L, null), done);
        assertEquals(docs("{_id: 1, g: [{s: 50}, {s: 90, passed: true}]}", "{_id: 2, g: [{s: 95, passed: true}]}", "{_id: 3, g: [{s: 10}]}"),
                list(things.find()));
        things.updateOne(eq("g.s", 90), inc("g.$.s", 1));
        assertEquals(List.of(1), ids(things.find(eq("g.s", 91))));
    }

    @Test
    void aPipelineUpdatesFromTheDocumentItself() {
        things.insertMany(docs("{_id: 1, a: 1, b: 2}", "{_id: 2, a: 5, b: 5, x: 1}"));
        things.updateMany(new Document(), List.of(set("sum", doc("{$add: ['$a', '$b']}")), doc("{$unset: 'x'}")));
        assertEquals(docs("{_id: 1, a: 1, b: 2, sum: 3}", "{_id: 2, a: 5, b: 5, sum: 10}"), list(things.find()));
    }

    @Test
    void anUpsertInsertsWhatTheFilterAndTheUpdateSay() {
        UpdateResult done = things.updateOne(and(eq(7), eq("kind", "k")), combine(inc("n", 1), setOnInsert("first", true)),
                new UpdateOptions().upsert(true));
        assertEquals(UpdateResult.acknowledged(0, 0L, new BsonInt32(7)), done);
        assertEquals(doc("{_id: 7, kind: 'k', first: true, n: 1}"), things.find().first());
        things.updateOne(eq(7), combine(inc("n", 1), setOnInsert("first", false)), new UpdateOptions().upsert(true));
        assertEquals(doc("{_id: 7, kind: 'k', first: true, n: 2}"), things.find().first());
    }

    @Test
    void aReplacementKeepsTheIdAndNothingElse() {
        things.insertOne(doc("{_id: 1, a: 1, b: 2}"));
        assertEquals(UpdateResult.acknowledged(1, 1L, null), things.replaceOne(eq("a", 1), doc("{c: 3}")));
        assertEquals(doc("{_id: 1, c: 3}"), things.find().first());
        refused(66, () -> things.replaceOne(eq("c", 3), doc("{_id: 2, c: 3}")));
        UpdateResult upserted = things.replaceOne(eq(5), doc("{c: 4}"), new ReplaceOptions().upsert(true));
        assertEquals(new BsonInt32(5), upserted.getUpsertedId());
        assertEquals(docs("{_id: 1, c: 3}", "{_id: 5, c: 4}"), list(things.find()));
    }

    @Test
    void deletesRemoveOneOrAllThatMatch() {
        things.insertMany(numbered(6));
        assertEquals(1, things.deleteOne(gte("n", 3)).getDeletedCount());
        assertEquals(List.of(0, 1, 2, 4, 5), ids(things.find()));
        assertEquals(2, things.deleteMany(gte("n", 3)).getDeletedCount());
        assertEquals(0, things.deleteMany(gte("n", 3)).getDeletedCount());
        assertEquals(List.of(0, 1, 2), ids(things.find()));
    }

    @Test
    void findOneAndUpdateGivesTheDocumentBeforeOrAfter() {
        things.insertMany(numbered(3));
        assertEquals(doc("{_id: 2, n: 2}"),
                things.findOneAndUpdate(new Document(), inc("n", 10), new FindOneAndUpdateOptions().sort(descending("n"))));
        assertEquals(doc("{n: 22}"), things.findOneAndUpdate(eq(2), inc("n", 10),
                new FindOneAndUpdateOptions().returnDocument(ReturnDocument.AFTER).projection(fields(include("n"), excludeId()))));
        assertNull(things.findOneAndUpdate(eq(9), inc("n", 1)));
        assertEquals(doc("{_id: 9, n: 1}"), things.findOneAndUpdate(eq(9), inc("n", 1),
                new FindOneAndUpdateOptions().upsert(true).returnDocument(ReturnDocument.AFTER)));
    }

    @Test
    void findOneAndReplaceAndFindOneAndDeleteGiveWhatWasThere() {
        things.insertMany(numbered(3));
        assertEquals(doc("{_id: 1, n: 1}"), things.findOneAndReplace(eq(1), doc("{m: 1}")));
        assertEquals(doc("{_id: 1, m: 2}"), things.findOneAndReplace(eq(1), doc("{m: 2}"),
                new FindOneAndReplaceOptions().returnDocument(ReturnDocument.AFTER)));
        assertEquals(doc("{_id: 0, n: 0}"), things.findOneAndDelete(exists("n")));
        assertNull(things.findOneAndDelete(eq(0)));
        assertEquals(List.of(1, 2), ids(things.find()));
    }

    @Test
    void countsAndDistinctValuesAreThoseOfTheFilter() {
        things.insertMany(docs("{_id: 1, a: 1, t: ['x', 'y']}", "{_id: 2, a: 1.0, t: 'y'}", "{_id: 3, a: 2}", "{_id: 4}"));
        assertEquals(4, things.countDocuments());
        assertEquals(2, things.countDocuments(eq("a", 1)));
        assertEquals(1, things.countDocuments(exists("a"), new CountOptions().skip(1).limit(1)));
        assertEquals(4, things.estimatedDocumentCount());
        assertEquals(List.of(1, 2), things.distinct("a", Integer.class).into(new ArrayList<>()));
        assertEquals(List.of("x", "y"), things.distinct("t", String.class).into(new ArrayList<>()));
        assertEquals(List.of("y"), things.distinct("t", eq("_id", 2), String.class).into(new ArrayList<>()));
    }

    @Test
    void variablesOfLetAreReadInFiltersAndUpdates() {
        things.insertMany(numbered(4));
        assertEquals(List.of(2, 3), ids(things.find(expr(doc("{$gte: ['$n', '$$least']}"))).let(doc("{least: 2}"))));
        things.updateMany(expr(doc("{$lt: ['$n', '$$least']}")), List.of(set("n", "$$least")), new UpdateOptions().let(doc("{least: 2}")));
        assertEquals(List.of(2, 2, 2, 3), values(things.find(), "n"));
    }
}
