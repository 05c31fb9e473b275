package tickets.cosmos;

import com.azure.spring.data.cosmos.core.mapping.Container;
import com.azure.spring.data.cosmos.core.mapping.CosmosUniqueKey;
import com.azure.spring.data.cosmos.core.mapping.CosmosUniqueKeyPolicy;
import com.azure.spring.data.cosmos.core.mapping.GeneratedValue;
import com.azure.spring.data.cosmos.core.mapping.PartitionKey;
import org.springframework.data.annotation.Id;

/** A seat that somebody may buy for ten minutes. While the hold is live, nobody else can have one for this seat. */
@Container(containerName = "holds", timeToLive = Hold.SECONDS)
@CosmosUniqueKeyPolicy(uniqueKeys = @CosmosUniqueKey(paths = "/seat"))
public class Hold {
    public static final int SECONDS = 600;

    @Id
    @GeneratedValue
    public String id;

    @PartitionKey
    public String show;

    public String seat;
    public String customer;

    public static Hold of(String show, String seat, String customer) {
        Hold hold = new Hold();
        hold.show = show;
        hold.seat = seat;
        hold.customer = customer;
        return hold;
    }
}
