package tickets.mongo;

import java.time.Instant;
import org.springframework.data.annotation.Id;
import org.springframework.data.mongodb.core.index.Indexed;
import org.springframework.data.mongodb.core.mapping.Document;

/** A customer who is logged in; logged out half an hour after the last use. */
@Document("sessions")
public record Session(@Id String id, @Indexed String customer, @Indexed(expireAfter = "30m") Instant lastUsed) {
    public static final int SECONDS = 1800;
}
