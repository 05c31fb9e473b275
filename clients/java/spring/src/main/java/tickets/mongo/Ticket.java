package tickets.mongo;

import java.time.Instant;
import org.springframework.data.annotation.Id;
import org.springframework.data.mongodb.core.mapping.Document;

@Document("tickets")
public record Ticket(@Id String id, String show, String customer, Instant soldAt) {}
