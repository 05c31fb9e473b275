package tickets.mongo;

import java.util.List;
import org.springframework.data.mongodb.repository.MongoRepository;

public interface TicketRepository extends MongoRepository<Ticket, String> {
    List<Ticket> findByShow(String show);

    long countByShow(String show);
}
