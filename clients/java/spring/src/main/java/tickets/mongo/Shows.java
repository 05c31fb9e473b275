package tickets.mongo;

import java.util.Collection;
import java.util.List;
import java.util.Optional;
import org.springframework.data.domain.Limit;
import org.springframework.data.domain.Pageable;
import org.springframework.data.domain.ScrollPosition;
import org.springframework.data.domain.Slice;
import org.springframework.data.domain.Sort;
import org.springframework.data.domain.Window;
import org.springframework.data.mongodb.repository.Aggregation;
import org.springframework.data.mongodb.repository.MongoRepository;
import org.springframework.data.mongodb.repository.Query;
import org.springframework.data.mongodb.repository.Update;

public interface Shows extends MongoRepository<Show, String> {
    Optional<Show> findByTitle(String title);

    List<Show> findByVenueAndPriceBetweenOrderByPriceDesc(String venue, long above, long below);

    List<Show> findByVenueAndTagsContaining(String venue, String tag);

    List<Show> findByVenueAndTitleStartingWithIgnoreCase(String venue, String start);

    List<Show> findByVenueInOrderByTitle(Collection<String> venues, Limit limit);

    Slice<Show> findByVenue(String venue, Pageable pageable);

    Window<Show> findFirst2ByVenueOrderByPriceAsc(String venue, ScrollPosition position);

    List<Titled> findTitledByVenue(String venue, Sort sort);

    @Query("{ venue: ?0, $expr: { $gt: [ { $size: '$tags' }, ?1 ] } }")
    List<Show> findWithMoreTagsThan(String venue, int tags);

    @Query("{ venue: ?0 }")
    @Update("{ $inc: { price: ?1 } }")
    long raisePrices(String venue, long by);

    @Aggregation({
        "{ $match: { venue: ?0 } }",
        "{ $unwind: '$tags' }",
        "{ $group: { _id: '$tags', shows: { $sum: 1 }, seats: { $sum: '$seatsLeft' } } }",
        "{ $sort: { shows: -1, _id: 1 } }"
    })
    List<TagCount> countTags(String venue);

    long deleteByVenue(String venue);

    interface Titled {
        String getTitle();
    }

    record TagCount(String id, int shows, int seats) {}
}
