package lapsedb.mongo;

import static com.mongodb.client.model.Accumulators.addToSet;
import static com.mongodb.client.model.Accumulators.avg;
import static com.mongodb.client.model.Accumulators.first;
import static com.mongodb.client.model.Accumulators.max;
import static com.mongodb.client.model.Accumulators.push;
import static com.mongodb.client.model.Accumulators.sum;
import static com.mongodb.client.model.Accumulators.topN;
import static com.mongodb.client.model.Aggregates.addFields;
import static com.mongodb.client.model.Aggregates.bucket;
import static com.mongodb.client.model.Aggregates.bucketAuto;
import static com.mongodb.client.model.Aggregates.count;
import static com.mongodb.client.model.Aggregates.densify;
import static com.mongodb.client.model.Aggregates.facet;
import static com.mongodb.client.model.Aggregates.fill;
import static com.mongodb.client.model.Aggregates.graphLookup;
import static com.mongodb.client.model.Aggregates.group;
import static com.mongodb.client.model.Aggregates.limit;
import static com.mongodb.client.model.Aggregates.lookup;
import static com.mongodb.client.model.Aggregates.match;
import static com.mongodb.client.model.Aggregates.merge;
import static com.mongodb.client.model.Aggregates.out;
import static com.mongodb.client.model.Aggregates.project;
import static com.mongodb.client.model.Aggregates.replaceRoot;
import static com.mongodb.client.model.Aggregates.setWindowFields;
import static com.mongodb.client.model.Aggregates.skip;
import static com.mongodb.client.model.Aggregates.sort;
import static com.mongodb.client.model.Aggregates.sortByCount;
import static com.mongodb.client.model.Aggregates.unionWith;
import static com.mongodb.client.model.Aggregates.unset;
import static com.mongodb.client.model.Aggregates.unwind;
import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Filters.expr;
import static com.mongodb.client.model.Filters.gt;
import static com.mongodb.client.model.Projections.computed;
import static com.mongodb.client.model.Projections.excludeId;
import static com.mongodb.client.model.Projections.fields;
import static com.mongodb.client.model.Projections.include;
import static com.mongodb.client.model.Sorts.ascending;
import static com.mongodb.client.model.Sorts.descending;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.mongodb.ExplainVerbosity;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.model.BucketAutoOptions;
import com.mongodb.client.model.BucketOptions;
import com.mongodb.client.model.Facet;
import com.mongodb.client.model.Field;
import com.mongodb.client.model.GraphLookupOptions;
import com.mongodb.client.model.Indexes;
import com.mongodb.client.model.MergeOptions;
import com.mongodb.client.model.UnwindOptions;
import com.mongodb.client.model.Variable;
import com.mongodb.client.model.WindowOutputFields;
import com.mongodb.client.model.Windows;
import com.mongodb.client.model.densify.DensifyRange;
import com.mongodb.client.model.fill.FillOptions;
import com.mongodb.client.model.fill.FillOutputField;
import com.mongodb.client.model.mql.MqlValues;
import java.util.List;
import org.bson.Document;
import org.bson.conversions.Bson;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Pipelines made with the driver's builders. */
class AggregationTest extends MongoTest {
    private final MongoCollection<Document> goods = database.getCollection("goods");

    @BeforeEach
    void insertSales() {
        things.insertMany(docs("{_id: 1, shop: 'a', good: 'tea', n: 2, day: 1, tags: ['x', 'y']}",
                "{_id: 2, shop: 'a', good: 'milk', n: 5, day: 2, tags: []}",
                "{_id: 3, shop: 'b', good: 'tea', n: 1, day: 1, tags: ['x']}",
                "{_id: 4, shop: 'b', good: 'salt', n: 4, day: 4}",
                "{_id: 5, shop: 'a', good: 'tea', n: 3, day: 5, tags: ['y', 'z']}"));
        goods.insertMany(docs("{_id: 'tea', price: 3, kind: 'drinks'}", "{_id: 'milk', price: 1, kind: 'drinks'}",
                "{_id: 'drinks', kind: 'food'}", "{_id: 'food'}"));
    }

    private List<Document> aggregate(Bson... stages) {
        return list(things.aggregate(List.of(stages)));
    }

    @Test
    void groupsAccumulateTheirDocuments() {
        assertEquals(docs("{_id: 'a', n: 10, mean: 3.3333333333333335, most: 5, first: 1, best: ['milk', 'tea']}",
                        "{_id: 'b', n: 5, mean: 2.5, most: 4, first: 3, best: ['salt', 'tea']}"),
                aggregate(sort(ascending("_id")), group("$shop", sum("n", "$n"), avg("mean", "$n"), max("most", "$n"), first("first", "$_id"),
                        topN("best", descending("n"), "$good", 2)), sort(ascending("_id"))));
        assertEquals(docs("{_id: {s: 'a', g: 'tea'}, ids: [1, 5]}"),
                aggregate(sort(ascending("_id")), group(doc("{s: '$shop', g: '$good'}"), push("ids", "$_id")), match(eq("_id", doc("{s: 'a', g: 'tea'}")))));
        List<Document> sets = aggregate(group(null, addToSet("goods", "$good")), project(fields(excludeId(),
                computed("goods", doc("{$sortArray: {input: '$goods', sortBy: 1}}")))));
        assertEquals(docs("{goods: ['milk', 'salt', 'tea']}"), sets);
        assertEquals(docs("{_id: 'tea', count: 3}"), aggregate(sortByCount("$good"), limit(1)));
    }

    @Test
    void lookupsJoinByAFieldOrByAPipeline() {
        assertEquals(docs("{_id: 1, found: [{_id: 'tea', price: 3, kind: 'drinks'}]}", "{_id: 4, found: []}"),
                aggregate(match(doc("{_id: {$in: [1, 4]}}")), lookup("goods", "good", "_id", "found"), project(include("found"))));
        assertEquals(docs("{_id: 1, cost: [{price: 6}]}", "{_id: 2, cost: [{price: 5}]}", "{_id: 3, cost: []}"),
                aggregate(limit(3), lookup("goods", List.of(new Variable<>("good", "$good"), new Variable<>("n", "$n")),
                        List.of(match(expr(doc("{$and: [{$eq: ['$_id', '$$good']}, {$gt: ['$$n', 1]}]}"))),
                                project(fields(excludeId(), computed("price", doc("{$multiply: ['$price', '$$n']}"))))), "cost"),
                        project(include("cost"))));
    }

    @Test
    void graphLookupsFollowReferences() {
        List<Document> found = list(goods.aggregate(List.of(match(eq("tea")),
                graphLookup("goods", "$kind", "kind", "_id", "above", new GraphLookupOptions().depthField("depth").maxDepth(5)),
                unwind("$above"), replaceRoot("$above"), sort(ascending("depth")))));
        assertEquals(docs("{_id: 'drinks', kind: 'food', depth: 0}", "{_id: 'food', depth: 1}"),
                found.stream().map(document -> document.append("depth", document.get("depth", Number.class).intValue())).toList());
    }

    @Test
    void facetsRunSeveralPipelinesOverTheSameDocuments() {
        assertEquals(docs("{top: [{_id: 2}, {_id: 4}], shops: [{_id: 'a', count: 3}, {_id: 'b', count: 2}], all: [{count: 5}]}"),
                aggregate(facet(new Facet("top", sort(descending("n")), limit(2), project(include("_id"))),
                        new Facet("shops", sortByCount("$shop")), new Facet("all", count()))));
    }

    @Test
    void windowsComputeOverNeighbours() {
        List<Document> rows = aggregate(setWindowFields("$shop", ascending("day"),
                        WindowOutputFields.sum("running", "$n", Windows.documents(Windows.Bound.UNBOUNDED, Windows.Bound.CURRENT)),
                        WindowOutputFields.rank("rank"), WindowOutputFields.shift("before", "$n", 0, -1),
                        WindowOutputFields.sum("near", "$n", Windows.range(-1, 1))),
                sort(ascending("_id")), project(include("running", "rank", "before", "near")));
        assertEquals(docs("{_id: 1, running: 2, rank: 1, before: 0, near: 7}", "{_id: 2, running: 7, rank: 2, before: 2, near: 7}",
                "{_id: 3, running: 1, rank: 1, before: 0, near: 1}", "{_id: 4, running: 5, rank: 2, before: 1, near: 4}",
                "{_id: 5, running: 10, rank: 3, before: 5, near: 3}"), rows);
    }

    @Test
    void bucketsSortDocumentsIntoRanges() {
        assertEquals(docs("{_id: 0, count: 3}", "{_id: 3, count: 1}", "{_id: 'more', count: 1}"),
                aggregate(bucket("$day", List.of(0, 3, 5), new BucketOptions().defaultBucket("more"))));
        assertEquals(docs("{_id: {min: 1, max: 4}, n: 3}", "{_id: {min: 4, max: 5}, n: 2}"),
                aggregate(bucketAuto("$n", 2, new BucketAutoOptions().output(sum("n", 1)))));
    }

    @Test
    void gapsAreFilledByDensifyAndFill() {
        assertEquals(docs("{day: 1, n: 2}", "{day: 2, n: 5}", "{day: 3, n: 4}", "{day: 4, n: 3.5}", "{day: 5, n: 3}"),
                aggregate(match(eq("shop", "a")), densify("day", DensifyRange.fullRangeWithStep(1)),
                        addFields(new Field<>("n", doc("{$cond: [{$eq: ['$day', 3]}, 4, '$n']}"))),
                        fill(FillOptions.fillOptions().sortBy(ascending("day")), FillOutputField.linear("n")),
                        project(fields(include("day", "n"), excludeId()))));
    }

    @Test
    void arraysUnwindWithTheirIndexes() {
        assertEquals(docs("{_id: 1, tags: 'x'}", "{_id: 1, tags: 'y'}", "{_id: 3, tags: 'x'}", "{_id: 5, tags: 'y'}", "{_id: 5, tags: 'z'}"),
                aggregate(unwind("$tags"), project(include("tags"))));
        assertEquals(7, aggregate(unwind("$tags", new UnwindOptions().preserveNullAndEmptyArrays(true).includeArrayIndex("i"))).size());
    }

    @Test
    void unionsAppendOtherCollections() {
        assertEquals(docs("{_id: 4}", "{_id: 5}", "{_id: 'milk'}"),
                aggregate(sort(ascending("_id")), skip(3), unset("shop", "good", "n", "day", "tags"),
                        unionWith("goods", List.of(match(eq("price", 1)), project(include("_id"))))));
    }

    @Test
    void outReplacesACollectionAndMergeAddsToIt() {
        MongoCollection<Document> totals = database.getCollection("totals");
        totals.insertOne(doc("{_id: 'old'}"));
        things.aggregate(List.of(group("$shop", sum("n", "$n")), out("totals"))).toCollection();
        assertEquals(docs("{_id: 'a', n: 10}", "{_id: 'b', n: 5}"), list(totals.find().sort(ascending("_id"))));
        things.aggregate(List.of(match(gt("_id", 3)), group("$good", sum("n", "$n")),
                merge("totals", new MergeOptions().whenNotMatched(MergeOptions.WhenNotMatched.INSERT)))).toCollection();
        things.aggregate(List.of(group("$shop", sum("days", "$day")), merge("totals"))).toCollection();
        assertEquals(docs("{_id: 'a', n: 10, days: 8}", "{_id: 'b', n: 5, days: 5}", "{_id: 'salt', n: 4}", "{_id: 'tea', n: 3}"),
                list(totals.find().sort(ascending("_id"))));
        refused(11000, () -> things.aggregate(List.of(project(computed("_id", "a")),
                merge("totals", new MergeOptions().whenMatched(MergeOptions.WhenMatched.FAIL)))).toCollection());
    }

    @Test
    void expressionsOfTheDriversOwnLanguageAreUnderstood() {
        var current = MqlValues.current();
        Bson bill = addFields(new Field<>("bill", current.getInteger("n").multiply(MqlValues.of(2)).add(MqlValues.of(1))),
                new Field<>("tagged", current.getArray("tags", MqlValues.ofStringArray()).map(tag -> MqlValues.of("#").append(tag.asString()))));
        assertEquals(docs("{_id: 1, bill: 5, tagged: ['#x', '#y']}"), aggregate(limit(1), bill, project(include("bill", "tagged"))));
    }

    @Test
    void aMatchUsesAnIndexAndAPipelineIsReadInBatches() {
        things.createIndex(Indexes.ascending("shop"));
        Document explained = things.aggregate(List.of(match(eq("shop", "a")))).explain(ExplainVerbosity.QUERY_PLANNER);
        assertEquals("shop_1", plan(explained));
        assertEquals(List.of(1, 2, 5), ids(things.aggregate(List.of(match(eq("shop", "a")))).batchSize(1)));
        assertEquals(List.of(1, 2, 5), ids(things.aggregate(List.of(match(eq("shop", "a")))).hint(Indexes.ascending("_id")).batchSize(2)));
    }

    @Test
    void whatIsNoPipelineIsRefused() {
        assertTrue(refused(40324, () -> aggregate(doc("{$nothing: 1}"))).getMessage().contains("$nothing"));
        refused(2, () -> aggregate(project(computed("x", doc("{$divide: ['$n', 0]}")))));
        refused(40601, () -> things.aggregate(List.of(out("a"), out("b"))).toCollection());
        refused(15958, () -> aggregate(limit(0)));
    }
}
