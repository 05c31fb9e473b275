package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.ids;
import static lapsedb.cosmos.Expect.item;
import static lapsedb.cosmos.Expect.json;
import static lapsedb.cosmos.Expect.key;
import static lapsedb.cosmos.Expect.list;
import static lapsedb.cosmos.Expect.refused;
import static lapsedb.cosmos.Shared.async;
import static lapsedb.cosmos.Shared.container;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What queries find, with parameters, in one partition and across all. */
class QueryTest {
    private static CosmosContainer container;

    /** Five items in three partitions, written in another order than any the tests ask for. */
    @BeforeAll
    static void fill() {
        container = container();
        container.createItem(item("3", "b", "n", 30, "kind", "tea", "tags", List.of("x", "y")));
        container.createItem(item("1", "a", "n", 10, "kind", "tea", "tags", List.of("x")));
        container.createItem(item("5", "c", "n", 50, "kind", "pot", "price", 2.5));
        container.createItem(item("2", "a", "n", 20, "kind", "pot", "at", Map.of("city", "Oslo")));
        container.createItem(item("4", "b", "n", 40));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
        "SELECT VALUE c.id FROM c ORDER BY c.n | [\"1\",\"2\",\"3\",\"4\",\"5\"]",
        "SELECT VALUE c.id FROM c ORDER BY c.n DESC | [\"5\",\"4\",\"3\",\"2\",\"1\"]",
        "SELECT VALUE c.id FROM c WHERE c.n BETWEEN 20 AND 40 ORDER BY c.n | [\"2\",\"3\",\"4\"]",
        "SELECT VALUE c.id FROM c WHERE c.at.city = 'Oslo' | [\"2\"]",
        "SELECT VALUE c.id FROM c WHERE NOT IS_DEFINED(c.kind) | [\"4\"]",
        "SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.tags, 'y') | [\"3\"]",
        "SELECT VALUE COUNT(1) FROM c | [5]",
        "SELECT VALUE SUM(c.n) FROM c | [150]",
        "SELECT VALUE AVG(c.n) FROM c WHERE c.n > 10 | [35]",
        "SELECT VALUE MIN(c.n) FROM c WHERE c.pk = 'b' | [30]",
        "SELECT VALUE MAX(c.price) FROM c | [2.5]",
        "SELECT COUNT(1) AS many, SUM(c.n) AS total FROM c | [{\"many\":5,\"total\":150}]",
        "SELECT DISTINCT VALUE c.kind FROM c ORDER BY c.kind | [\"pot\",\"tea\"]",
        "SELECT c.kind, COUNT(1) AS many, SUM(c.n) AS total FROM c WHERE IS_DEFINED(c.kind) GROUP BY c.kind ORDER BY c.kind"
                + " | [{\"kind\":\"pot\",\"many\":2,\"total\":70},{\"kind\":\"tea\",\"many\":2,\"total\":40}]",
        "SELECT c.id, t AS tag FROM c JOIN t IN c.tags WHERE c.id = '3' | [{\"id\":\"3\",\"tag\":\"x\"},{\"id\":\"3\",\"tag\":\"y\"}]",
        "SELECT VALUE COUNT(1) FROM t IN c.tags | [3]",
        "SELECT TOP 2 VALUE c.id FROM c ORDER BY c.n DESC | [\"5\",\"4\"]",
        "SELECT VALUE c.id FROM c ORDER BY c.n OFFSET 1 LIMIT 2 | [\"2\",\"3\"]",
        "SELECT VALUE UPPER(c.kind) FROM c WHERE c.id = '5' | [\"POT\"]",
        "SELECT VALUE c.id FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 'x') ORDER BY c.id | [\"1\",\"3\"]",
        "SELECT VALUE {\"id\": c.id, \"big\": c.n > 25 ? 'yes' : 'no'} FROM c WHERE c.pk = 'a' ORDER BY c.id"
                + " | [{\"id\":\"1\",\"big\":\"no\"},{\"id\":\"2\",\"big\":\"no\"}]",
        "SELECT VALUE c.id FROM c WHERE c.kind LIKE 't%' ORDER BY c.id | [\"1\",\"3\"]",
        "SELECT VALUE 1 + 1 | [2]",
        "SELECT VALUE c.id FROM c WHERE c.n > 1000 | []",
    })
    void aQueryFinds(String text, String rows) {
        JsonNode wanted = json(rows);
        assertEquals(list(wanted), Expect.query(container, text, JsonNode.class));
        assertEquals(list(wanted), async(container).queryItems(text, JsonNode.class).collectList().block());
    }

    @Test
    void parametersOfEveryTypeAreFilledIn() {
        assertEquals(List.of("3"), found("SELECT VALUE c.id FROM c WHERE c.n = @n AND c.kind = @kind",
                new SqlParameter("@n", 30), new SqlParameter("@kind", "tea")));
        assertEquals(List.of("1", "4"), found("SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(@ids, c.id) ORDER BY c.id",
                new SqlParameter("@ids", List.of("4", "1"))));
        assertEquals(List.of("2"), found("SELECT VALUE c.id FROM c WHERE c.at = @at", new SqlParameter("@at", Map.of("city", "Oslo"))));
        assertEquals(List.of(), found("SELECT VALUE c.id FROM c WHERE c.kind = @kind", new SqlParameter("@kind", "' OR true --")));
        assertEquals(List.of("5"), found("SELECT TOP @top VALUE c.id FROM c ORDER BY c.n DESC", new SqlParameter("@top", 1)));
        assertEquals(List.of(true, false), list(container.queryItems(
                new SqlQuerySpec("SELECT VALUE c.n > @n FROM c WHERE c.pk = 'b' ORDER BY c.n DESC", new SqlParameter("@n", 30)), null, Boolean.class)));
    }

    private static List<String> found(String text, SqlParameter... parameters) {
        return Expect.query(container, new SqlQuerySpec(text, parameters), String.class);
    }

    @Test
    void aQueryOfOnePartitionFindsNothingOfTheOthers() {
        CosmosQueryRequestOptions inA = new CosmosQueryRequestOptions().setPartitionKey(key("a"));
        assertEquals(List.of("1", "2"), ids(container.queryItems("SELECT * FROM c ORDER BY c.id", inA, ObjectNode.class)));
        assertEquals(List.of(2), list(container.queryItems("SELECT VALUE COUNT(1) FROM c", inA, Integer.class)));
        assertEquals(List.of(), list(container.queryItems("SELECT * FROM c WHERE c.pk = 'b'", inA, ObjectNode.class)));
    }

    @Test
    void feedRangesTogetherHoldEveryItemOnce() {
        List<FeedRange> ranges = container.getFeedRanges();
        List<String> found = ranges.stream().flatMap(range -> ids(container.queryItems(
                "SELECT * FROM c", new CosmosQueryRequestOptions().setFeedRange(FeedRange.fromString(range.toString())), ObjectNode.class)).stream())
                .sorted().toList();
        assertEquals(List.of("1", "2", "3", "4", "5"), found);
        CosmosQueryRequestOptions inB = new CosmosQueryRequestOptions().setFeedRange(FeedRange.forLogicalPartition(key("b")));
        assertEquals(List.of("3", "4"), ids(container.queryItems("SELECT * FROM c ORDER BY c.id", inB, ObjectNode.class)));
    }

    @Test
    void aQueryThatDoesNotParseIsRefusedWithItsReason() {
        CosmosException error = refused(400, () -> Expect.query(container, "SELECT * FROM c WHERE", ObjectNode.class));
        assertTrue(error.getMessage().contains("Syntax error"), error.getMessage());
        refused(400, () -> Expect.query(container, "SELECT NOSUCH(c.n) FROM c", ObjectNode.class));
        refused(400, () -> async(container).queryItems("SELEC * FROM c", ObjectNode.class).collectList().block());
    }

    @Test
    void aQueryAnswersItsChargeAndItsMetrics() {
        CosmosQueryRequestOptions measured = new CosmosQueryRequestOptions().setQueryMetricsEnabled(true).setIndexMetricsEnabled(true);
        FeedResponse<ObjectNode> page = container.queryItems("SELECT * FROM c WHERE c.n > 20", measured, ObjectNode.class)
                .iterableByPage().iterator().next();
        assertEquals(3, page.getResults().size());
        assertTrue(page.getRequestCharge() > 0);
        String diagnostics = page.getCosmosDiagnostics().toString();
        assertTrue(diagnostics.contains("\"/n/?\"") || diagnostics.contains("/n/?"), diagnostics);
        assertTrue(diagnostics.contains("retrievedDocumentCount"), diagnostics);
    }
}
