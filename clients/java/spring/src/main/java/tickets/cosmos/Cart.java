package tickets.cosmos;

import com.azure.spring.data.cosmos.core.mapping.Container;
import com.azure.spring.data.cosmos.core.mapping.GeneratedValue;
import com.azure.spring.data.cosmos.core.mapping.PartitionKey;
import com.fasterxml.jackson.annotation.JsonInclude;
import java.time.Instant;
import java.util.List;
import org.springframework.data.annotation.CreatedBy;
import org.springframework.data.annotation.CreatedDate;
import org.springframework.data.annotation.Id;
import org.springframework.data.annotation.LastModifiedBy;
import org.springframework.data.annotation.LastModifiedDate;
import org.springframework.data.annotation.Version;

/** What a customer is about to buy. Forgotten half an hour after it was last changed, unless it says otherwise itself. */
@Container(containerName = "carts", timeToLive = Cart.SECONDS)
public class Cart {
    public static final int SECONDS = 1800;

    @Id
    @GeneratedValue
    public String id;

    @PartitionKey
    public String customer;

    public List<Line> lines = List.of();

    /** In cents. */
    public long total;

    public String coupon;

    /** Seconds since the last change; -1 never expires; without it the container's time to live counts. */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public Integer ttl;

    @Version
    public String version;

    @CreatedDate
    public Instant createdAt;

    @LastModifiedDate
    public Instant changedAt;

    @CreatedBy
    public String createdBy;

    @LastModifiedBy
    public String changedBy;

    public record Line(String show, int count, long price) {}

    public static Cart of(String customer, Line... lines) {
        Cart cart = new Cart();
        cart.customer = customer;
        cart.put(lines);
        return cart;
    }

    public void put(Line... lines) {
        this.lines = List.of(lines);
        total = this.lines.stream().mapToLong(line -> line.count() * line.price()).sum();
    }
}
