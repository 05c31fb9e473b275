package tickets.cosmos;

import com.azure.cosmos.models.CompositePathSortOrder;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.PartitionKeyBuilder;
import com.azure.spring.data.cosmos.core.mapping.CompositeIndex;
import com.azure.spring.data.cosmos.core.mapping.CompositeIndexPath;
import com.azure.spring.data.cosmos.core.mapping.Container;
import com.azure.spring.data.cosmos.core.mapping.CosmosIndexingPolicy;
import org.springframework.data.annotation.Id;

/** What a customer has bought. Kept for good, unless a purchase has a time to live of its own. */
@Container(
        containerName = "purchases",
        hierarchicalPartitionKeyPaths = {"/venue", "/customer"},
        timeToLive = -1,
        ru = "400")
@CosmosIndexingPolicy(
        includePaths = "/*",
        excludePaths = "/note/?",
        compositeIndexes =
                @CompositeIndex(
                        paths = {
                            @CompositeIndexPath(path = "/show"),
                            @CompositeIndexPath(path = "/total", order = CompositePathSortOrder.DESCENDING)
                        }))
public class Purchase {
    @Id
    public String id;

    public String venue;
    public String customer;
    public String show;
    public long total;
    public String note;

    public static Purchase of(String id, String venue, String customer, String show, long total) {
        Purchase purchase = new Purchase();
        purchase.id = id;
        purchase.venue = venue;
        purchase.customer = customer;
        purchase.show = show;
        purchase.total = total;
        return purchase;
    }

    public PartitionKey partition() {
        return new PartitionKeyBuilder().add(venue).add(customer).build();
    }
}
