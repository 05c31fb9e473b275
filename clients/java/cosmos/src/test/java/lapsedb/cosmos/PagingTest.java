package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.ids;
import static lapsedb.cosmos.Expect.item;
import static lapsedb.cosmos.Expect.json;
import static lapsedb.cosmos.Expect.key;
import static lapsedb.cosmos.Expect.refused;
import static lapsedb.cosmos.Shared.SERVER;
import static lapsedb.cosmos.Shared.async;
import static lapsedb.cosmos.Shared.builder;
import static lapsedb.cosmos.Shared.by;
import static lapsedb.cosmos.Shared.container;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedResponse;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Long results come in pages, and a continuation token goes on where its page ended. */
class PagingTest {
    private static final int ITEMS = 25;
    private static CosmosContainer container;

    @BeforeAll
    static void fill() {
        container = container();
        for (int n = 0; n < ITEMS; n++) {
            container.createItem(item(String.valueOf(n), n % 2 == 0 ? "even" : "odd", "n", n, "rest", n % 7));
        }
    }

    /** Every row, each page asked for with the token of the one before in an iteration of its own. */
    private static List<JsonNode> byTokens(CosmosContainer container, String text, int size) {
        List<JsonNode> rows = new ArrayList<>();
        String token = null;
        do {
            FeedResponse<JsonNode> page = container.queryItems(text, new CosmosQueryRequestOptions(), JsonNode.class)
                    .iterableByPage(token, size).iterator().next();
            assertTrue(page.getResults().size() <= size, "a page holds at most " + size);
            rows.addAll(page.getResults());
            token = page.getContinuationToken();
        } while (token != null);
        return rows;
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "SELECT * FROM c",
        "SELECT * FROM c WHERE c.n >= 3",
        "SELECT * FROM c ORDER BY c.n DESC",
        "SELECT VALUE c.n FROM c ORDER BY c.rest",
        "SELECT DISTINCT c.rest FROM c",
        "SELECT DISTINCT VALUE c.rest FROM c ORDER BY c.rest",
        "SELECT c.rest, COUNT(1) AS many FROM c GROUP BY c.rest",
        "SELECT TOP 11 VALUE c.n FROM c ORDER BY c.n",
        "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 5 LIMIT 13",
    })
    void pagesTogetherAreTheWholeResult(String text) {
        List<JsonNode> whole = Expect.query(container, text, JsonNode.class);
        assertTrue(whole.size() >= 7, whole.toString());
        for (int size : List.of(1, 4, 100)) {
            assertEquals(whole, byTokens(container, text, size), text + " by " + size);
        }
    }

    @Test
    void pagesHaveTheSizeThatIsAskedFor() {
        List<Integer> sizes = new ArrayList<>();
        container.queryItems("SELECT * FROM c", null, ObjectNode.class).iterableByPage(10)
                .forEach(page -> sizes.add(page.getResults().size()));
        assertEquals(List.of(10, 10, 5), sizes);
        assertEquals(List.of(10, 10, 5), async(container).queryItems("SELECT * FROM c ORDER BY c.n", ObjectNode.class).byPage(10)
                .map(page -> page.getResults().size()).collectList().block());
    }

    @Test
    void anotherClientGoesOnWithAToken() {
        FeedResponse<ObjectNode> first = container.queryItems("SELECT * FROM c ORDER BY c.n", null, ObjectNode.class)
                .iterableByPage(10).iterator().next();
        assertNotNull(first.getContinuationToken());
        List<String> found = new ArrayList<>(ids(first.getResults()));
        try (CosmosClient another = builder(SERVER).buildClient()) {
            by(another, container).queryItems("SELECT * FROM c ORDER BY c.n", null, ObjectNode.class)
                    .iterableByPage(first.getContinuationToken(), 10).forEach(page -> found.addAll(ids(page.getResults())));
        }
        List<ObjectNode> byAsync = async(container).queryItems("SELECT * FROM c ORDER BY c.n", ObjectNode.class)
                .byPage(first.getContinuationToken(), 3).flatMapIterable(FeedResponse::getResults).collectList().block();
        assertEquals(found.subList(10, ITEMS), ids(byAsync));
        assertEquals(IntStream.range(0, ITEMS).mapToObj(String::valueOf).toList(), found);
    }

    @Test
    void whatIsWrittenBetweenTwoPagesMovesNoOther() {
        CosmosContainer container = container();
        for (int n = 0; n < 10; n++) {
            container.createItem(item("" + n, "a", "n", n * 10));
        }
        String text = "SELECT * FROM c ORDER BY c.n";
        FeedResponse<ObjectNode> first = container.queryItems(text, null, ObjectNode.class).iterableByPage(4).iterator().next();
        container.createItem(item("before", "a", "n", 5));
        container.createItem(item("behind", "a", "n", 55));
        container.deleteItem("7", key("a"), null);
        List<String> rest = new ArrayList<>();
        container.queryItems(text, null, ObjectNode.class).iterableByPage(first.getContinuationToken(), 4)
                .forEach(page -> rest.addAll(ids(page.getResults())));
        assertEquals(List.of("4", "5", "behind", "6", "8", "9"), rest);
    }

    @Test
    void allItemsOfAPartitionComeInPages() {
        List<String> found = new ArrayList<>();
        String token = null;
        do {
            FeedResponse<ObjectNode> page = container.readAllItems(key("odd"), ObjectNode.class).iterableByPage(token, 5).iterator().next();
            found.addAll(ids(page.getResults()));
            token = page.getContinuationToken();
        } while (token != null);
        assertEquals(12, found.size());
        assertEquals(12, new HashSet<>(found).size());
    }

    @Test
    void theLastPageHasNoToken() {
        assertNull(container.queryItems("SELECT * FROM c", null, ObjectNode.class).iterableByPage(100).iterator().next().getContinuationToken());
    }

    @Test
    void aTokenThatNobodyGaveIsRefused() {
        refused(400, () -> container.queryItems("SELECT * FROM c", null, ObjectNode.class).iterableByPage("nonsense", 10).iterator().next());
        assertEquals(List.of(json("1")), Expect.query(container, "SELECT VALUE 1", JsonNode.class));
    }
}
