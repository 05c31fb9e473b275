package tickets;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.models.CompositePathSortOrder;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.PartitionKeyBuilder;
import com.azure.cosmos.models.PartitionKind;
import com.azure.spring.data.cosmos.core.CosmosOperations;
import com.azure.spring.data.cosmos.core.query.CosmosPageRequest;
import com.azure.spring.data.cosmos.exception.CosmosBadRequestException;
import com.azure.spring.data.cosmos.repository.support.CosmosEntityInformation;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.data.domain.Sort;
import tickets.cosmos.Cart;
import tickets.cosmos.Hold;
import tickets.cosmos.Purchase;
import tickets.cosmos.Purchases;

/** The repositories have created the containers, as the annotations of the entities say. */
class ContainersTest extends TicketsTest {
    @Autowired CosmosOperations operations;
    @Autowired CosmosAsyncClient client;
    @Autowired Purchases purchases;

    @Test
    void containers_have_the_time_to_live_of_their_entities() {
        assertThat(operations.getContainerProperties("carts").getDefaultTimeToLiveInSeconds()).isEqualTo(Cart.SECONDS);
        assertThat(operations.getContainerProperties("holds").getDefaultTimeToLiveInSeconds()).isEqualTo(Hold.SECONDS);
        assertThat(operations.getContainerProperties("purchases").getDefaultTimeToLiveInSeconds()).isEqualTo(-1);
    }

    @Test
    void containers_have_the_keys_and_indexes_of_their_entities() {
        CosmosContainerProperties carts = operations.getContainerProperties("carts");
        assertThat(carts.getPartitionKeyDefinition().getPaths()).containsExactly("/customer");

        var unique = operations.getContainerProperties("holds").getUniqueKeyPolicy().getUniqueKeys();
        assertThat(unique).singleElement().satisfies(key -> assertThat(key.getPaths()).containsExactly("/seat"));

        CosmosContainerProperties bought = operations.getContainerProperties("purchases");
        assertThat(bought.getPartitionKeyDefinition().getKind()).isEqualTo(PartitionKind.MULTI_HASH);
        assertThat(bought.getPartitionKeyDefinition().getPaths()).containsExactly("/venue", "/customer");
        assertThat(bought.getIndexingPolicy().getExcludedPaths()).extracting(path -> path.getPath()).contains("/note/?");
        var composite = bought.getIndexingPolicy().getCompositeIndexes();
        assertThat(composite).singleElement().satisfies(paths -> {
            assertThat(paths).extracting(path -> path.getPath()).containsExactly("/show", "/total");
            assertThat(paths).extracting(path -> path.getOrder())
                    .containsExactly(CompositePathSortOrder.ASCENDING, CompositePathSortOrder.DESCENDING);
        });
    }

    @Test
    void a_container_has_the_throughput_of_its_entity() {
        CosmosAsyncContainer container = client.getDatabase("tickets").getContainer("purchases");
        assertThat(container.readThroughput().block().getProperties().getManualThroughput()).isEqualTo(400);
    }

    @Test
    void purchases_are_found_by_the_whole_hierarchical_key_and_by_its_start() {
        purchases.saveAll(List.of(
                Purchase.of("1", unique, "ann", "hamlet", 30),
                Purchase.of("2", unique, "ann", "faust", 20),
                Purchase.of("1", unique, "bob", "faust", 50),
                Purchase.of("1", "other-" + unique, "ann", "faust", 70)));

        var whole = new PartitionKeyBuilder().add(unique).add("bob").build();
        assertThat(purchases.findById("1", whole).orElseThrow().total).isEqualTo(50);
        assertThat(purchases.findAll(new PartitionKeyBuilder().add(unique).add("ann").build())).hasSize(2);
        assertThat(purchases.findAll(new PartitionKeyBuilder().add(unique).build())).hasSize(3);
        assertThat(purchases.findByVenueAndCustomer(unique, "ann", new CosmosPageRequest(0, 1, null)).getTotalElements())
                .isEqualTo(2);
        purchases.deleteById("1", whole);
        assertThat(purchases.findById("1", whole)).isEmpty();
        assertThat(purchases.findAll(new PartitionKeyBuilder().add(unique).build())).hasSize(2);
    }

    @Test
    void two_fields_are_sorted_by_the_composite_index_and_only_as_it_says() {
        purchases.saveAll(List.of(
                Purchase.of("1", unique, "ann", "hamlet", 30),
                Purchase.of("2", unique, "ann", "faust", 20),
                Purchase.of("3", unique, "ann", "faust", 50)));
        assertThat(purchases.findByVenue(unique, Sort.by(Sort.Order.asc("show"), Sort.Order.desc("total"))))
                .extracting(purchase -> purchase.id).containsExactly("3", "2", "1");
        assertThatThrownBy(() -> purchases.findByVenue(unique, Sort.by("show", "total")).size())
                .hasStackTraceContaining(CosmosBadRequestException.class.getName())
                .hasStackTraceContaining("composite index");
    }

    @Test
    void a_container_that_is_there_is_taken_as_it_is() {
        var information = CosmosEntityInformation.getInstance(Hold.class);
        assertThat(operations.createContainerIfNotExists(information).getId()).isEqualTo("holds");
    }
}
