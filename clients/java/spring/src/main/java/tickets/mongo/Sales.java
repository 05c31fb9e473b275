package tickets.mongo;

import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import org.springframework.data.mongodb.core.MongoTemplate;
import org.springframework.data.mongodb.core.query.Criteria;
import org.springframework.data.mongodb.core.query.Query;
import org.springframework.data.mongodb.core.query.Update;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** Sells tickets: both the tickets and the seats that are left change, or neither. */
@Service
public class Sales {
    private final MongoTemplate template;
    private final Clock clock;

    Sales(MongoTemplate template, Clock clock) {
        this.template = template;
        this.clock = clock;
    }

    public static class SoldOut extends RuntimeException {
        SoldOut(String show) {
            super("no seats are left for " + show);
        }
    }

    @Transactional
    public List<Ticket> sell(String show, String customer, int count) {
        List<Ticket> sold = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            sold.add(template.insert(new Ticket(null, show, customer, clock.instant())));
        }
        var changed = template.updateFirst(
                Query.query(Criteria.where("id").is(show).and("seatsLeft").gte(count)),
                new Update().inc("seatsLeft", -count),
                Show.class);
        if (changed.getModifiedCount() == 0) {
            throw new SoldOut(show);
        }
        return sold;
    }
}
