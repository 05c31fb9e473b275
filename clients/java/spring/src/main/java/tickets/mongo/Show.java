package tickets.mongo;

import java.time.Instant;
import java.util.List;
import org.springframework.data.annotation.CreatedBy;
import org.springframework.data.annotation.CreatedDate;
import org.springframework.data.annotation.Id;
import org.springframework.data.annotation.LastModifiedBy;
import org.springframework.data.annotation.LastModifiedDate;
import org.springframework.data.annotation.Version;
import org.springframework.data.mongodb.core.index.CompoundIndex;
import org.springframework.data.mongodb.core.index.Indexed;
import org.springframework.data.mongodb.core.mapping.Document;

@Document("shows")
@CompoundIndex(name = "venue_price", def = "{ venue: 1, price: -1 }")
public class Show {
    @Id
    public String id;

    @Indexed(unique = true)
    public String title;

    public String venue;
    public long price;
    public int seatsLeft;
    public List<String> tags = List.of();

    @Version
    public Long version;

    @CreatedDate
    public Instant createdAt;

    @LastModifiedDate
    public Instant changedAt;

    @CreatedBy
    public String createdBy;

    @LastModifiedBy
    public String changedBy;

    public static Show of(String title, String venue, long price, int seatsLeft, String... tags) {
        Show show = new Show();
        show.title = title;
        show.venue = venue;
        show.price = price;
        show.seatsLeft = seatsLeft;
        show.tags = List.of(tags);
        return show;
    }
}
