package tickets.mongo;

import java.time.Instant;
import org.springframework.data.annotation.Id;
import org.springframework.data.mongodb.core.index.Indexed;
import org.springframework.data.mongodb.core.mapping.Document;

/** A lower price until a given instant. */
@Document("offers")
public record Offer(@Id String show, long price, @Indexed(expireAfter = "0s") Instant until) {}
