package tickets.mongo;

import java.time.Instant;
import java.util.List;
import org.springframework.data.domain.Page;
import org.springframework.data.domain.Pageable;
import org.springframework.data.mongodb.repository.Aggregation;
import org.springframework.data.mongodb.repository.MongoRepository;
import org.springframework.data.mongodb.repository.Query;
import org.springframework.data.mongodb.repository.Update;

public interface Sessions extends MongoRepository<Session, String> {
    List<Session> findByCustomer(String customer);

    Page<Session> findByCustomer(String customer, Pageable pageable);

    long countByCustomer(String customer);

    boolean existsByCustomer(String customer);

    @Aggregation({
        "{ $match: { customer: ?0 } }",
        "{ $group: { _id: null, n: { $sum: 1 } } }",
        "{ $project: { _id: 0, n: 1 } }"
    })
    List<Integer> aggregatedCount(String customer);

    /** Starts the session's time again; returns how many sessions that changed. */
    @Query("{ _id: ?0 }")
    @Update("{ $set: { lastUsed: ?1 } }")
    long use(String id, Instant now);
}
