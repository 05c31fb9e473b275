package pastes;

import io.micronaut.data.annotation.Id;
import io.micronaut.data.model.Page;
import io.micronaut.data.model.Pageable;
import io.micronaut.data.mongodb.annotation.MongoAggregateQuery;
import io.micronaut.data.mongodb.annotation.MongoFindQuery;
import io.micronaut.data.mongodb.annotation.MongoRepository;
import io.micronaut.data.repository.PageableRepository;
import java.time.Instant;
import java.util.List;

@MongoRepository
public interface Logins extends PageableRepository<Login, String> {
    List<Login> findByAuthorOrderByDevice(String author);

    Page<Login> findByAuthor(String author, Pageable pageable);

    long countByAuthor(String author);

    boolean existsByAuthorAndDevice(String author, String device);

    long deleteByAuthor(String author);

    void update(@Id String id, Instant lastUsed);

    @MongoFindQuery(filter = "{ author: :author, device: { $regex: :pattern } }", sort = "{ device: -1 }")
    List<Login> matching(String author, String pattern);

    @MongoAggregateQuery("[ { $match: { author: :author } }, { $sort: { device: 1 } }, { $limit: 1 } ]")
    List<Login> first(String author);
}
