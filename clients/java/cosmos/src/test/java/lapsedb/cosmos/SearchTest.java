package lapsedb.cosmos;

import static lapsedb.cosmos.Expect.item;
import static lapsedb.cosmos.Expect.query;
import static lapsedb.cosmos.Shared.SERVER;
import static lapsedb.cosmos.Shared.async;
import static lapsedb.cosmos.Shared.container;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosFullTextIndex;
import com.azure.cosmos.models.CosmosFullTextPath;
import com.azure.cosmos.models.CosmosFullTextPolicy;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.CosmosVectorDataType;
import com.azure.cosmos.models.CosmosVectorDistanceFunction;
import com.azure.cosmos.models.CosmosVectorEmbedding;
import com.azure.cosmos.models.CosmosVectorEmbeddingPolicy;
import com.azure.cosmos.models.CosmosVectorIndexSpec;
import com.azure.cosmos.models.CosmosVectorIndexType;
import com.azure.cosmos.models.ExcludedPath;
import com.azure.cosmos.models.IncludedPath;
import com.azure.cosmos.models.IndexingPolicy;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Items are found by the distance of their vectors and by the words of their texts. */
class SearchTest {
    private static CosmosContainer container;

    @BeforeAll
    static void fill() {
        container = container(SearchTest::define);
        container.createItem(item("1", "a", "v", List.of(1, 0, 0), "text", "A blue mountain bicycle with two wheels"));
        container.createItem(item("2", "a", "v", List.of(0, 1, 0), "text", "A teapot, blue and round"));
        container.createItem(item("3", "b", "v", List.of(0.9, 0.1, 0), "text", "The bicycle race: a bicycle for everybody"));
        container.createItem(item("expired", "b", "v", List.of(1, 0, 0), "text", "bicycle bicycle bicycle", "ttl", 1));
        SERVER.advance("1s");
    }

    private static void define(CosmosContainerProperties properties) {
        CosmosVectorIndexSpec vectors = new CosmosVectorIndexSpec().setPath("/v").setType(CosmosVectorIndexType.FLAT.toString());
        CosmosVectorEmbeddingPolicy embeddings = new CosmosVectorEmbeddingPolicy();
        embeddings.setCosmosVectorEmbeddings(List.of(new CosmosVectorEmbedding().setPath("/v")
                .setDataType(CosmosVectorDataType.FLOAT32).setEmbeddingDimensions(3).setDistanceFunction(CosmosVectorDistanceFunction.COSINE)));
        properties.setDefaultTimeToLiveInSeconds(-1)
                .setVectorEmbeddingPolicy(embeddings)
                .setFullTextPolicy(new CosmosFullTextPolicy().setDefaultLanguage("en-US")
                        .setPaths(List.of(new CosmosFullTextPath().setPath("/text").setLanguage("en-US"))))
                .setIndexingPolicy(new IndexingPolicy().setIncludedPaths(List.of(new IncludedPath("/*")))
                        .setExcludedPaths(List.of(new ExcludedPath("/v/*")))
                        .setVectorIndexes(List.of(vectors))
                        .setCosmosFullTextIndexes(List.of(new CosmosFullTextIndex().setPath("/text"))));
    }

    @Test
    void theDefinitionIsKept() {
        CosmosContainerProperties read = container.read().getProperties();
        CosmosVectorEmbedding embedding = read.getVectorEmbeddingPolicy().getVectorEmbeddings().get(0);
        assertEquals(CosmosVectorDistanceFunction.COSINE, embedding.getDistanceFunction());
        assertEquals(3, embedding.getEmbeddingDimensions());
        assertEquals("/v", read.getIndexingPolicy().getVectorIndexes().get(0).getPath());
        assertEquals("en-US", read.getFullTextPolicy().getPaths().get(0).getLanguage());
        assertEquals("/text", read.getIndexingPolicy().getCosmosFullTextIndexes().get(0).getPath());
    }

    @Test
    void theOtherKindsOfVectorIndexesAreKept() {
        CosmosVectorEmbeddingPolicy embeddings = new CosmosVectorEmbeddingPolicy();
        embeddings.setCosmosVectorEmbeddings(List.of(new CosmosVectorEmbedding().setPath("/v").setDataType(CosmosVectorDataType.INT8)
                .setEmbeddingDimensions(256).setDistanceFunction(CosmosVectorDistanceFunction.DOT_PRODUCT)));
        CosmosVectorIndexSpec wanted = new CosmosVectorIndexSpec().setPath("/v").setType(CosmosVectorIndexType.DISK_ANN.toString())
                .setQuantizationSizeInBytes(64).setIndexingSearchListSize(100).setVectorIndexShardKeys(List.of("/pk"));
        CosmosVectorIndexSpec kept = container(properties -> properties.setVectorEmbeddingPolicy(embeddings)
                .setIndexingPolicy(new IndexingPolicy().setIncludedPaths(List.of(new IncludedPath("/*"))).setVectorIndexes(List.of(wanted))))
                .read().getProperties().getIndexingPolicy().getVectorIndexes().get(0);
        assertEquals("diskANN", kept.getType());
        assertEquals(64, kept.getQuantizationSizeInBytes());
        assertEquals(100, kept.getIndexingSearchListSize());
        assertEquals(List.of("/pk"), kept.getVectorIndexShardKeys());
    }

    @Test
    void theNearestVectorsComeFirst() {
        String nearest = "SELECT TOP 2 c.id, VectorDistance(c.v, [1, 0, 0]) AS score FROM c ORDER BY VectorDistance(c.v, [1, 0, 0])";
        List<ObjectNode> found = query(container, nearest, ObjectNode.class);
        assertEquals(List.of("1", "3"), Expect.ids(found));
        assertEquals(1.0, found.get(0).get("score").doubleValue(), 1e-6);
        List<ObjectNode> ofOnePartition = async(container).queryItems(
                nearest, new CosmosQueryRequestOptions().setPartitionKey(Expect.key("b")), ObjectNode.class).collectList().block();
        assertEquals(List.of("3"), Expect.ids(ofOnePartition));
    }

    @Test
    void itemsAreFoundByTheirWords() {
        assertEquals(List.of("1", "3"), query(container, "SELECT VALUE c.id FROM c WHERE FullTextContains(c.text, 'bicycle') ORDER BY c.id", String.class));
        assertEquals(List.of("1"), query(container, "SELECT VALUE c.id FROM c WHERE FullTextContainsAll(c.text, 'blue', 'bicycle')", String.class));
        assertEquals(List.of("1", "2", "3"),
                query(container, "SELECT VALUE c.id FROM c WHERE FullTextContainsAny(c.text, 'blue', 'bicycle') ORDER BY c.id", String.class));
    }

    @Test
    void theMostRelevantTextsComeFirst() {
        assertEquals(List.of("3", "1"),
                query(container, "SELECT TOP 2 VALUE c.id FROM c ORDER BY RANK FullTextScore(c.text, 'bicycle')", String.class));
    }

    @Test
    void textsAndVectorsAreRankedTogether() {
        String hybrid = "SELECT TOP 1 VALUE c.id FROM c ORDER BY RANK RRF(FullTextScore(c.text, 'blue', 'teapot'), VectorDistance(c.v, [0, 1, 0]))";
        assertEquals(List.of("2"), query(container, hybrid, String.class));
    }
}
