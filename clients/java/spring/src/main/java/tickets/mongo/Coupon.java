package tickets.mongo;

import org.springframework.data.annotation.Id;
import org.springframework.data.mongodb.core.mapping.Document;

/** A coupon is good for a day, or for as many seconds as its own `ttl` says. */
@Document("coupons")
public record Coupon(@Id String code, String campaign, int percent, Integer ttl) {
    public static final int SECONDS = 86_400;
}
