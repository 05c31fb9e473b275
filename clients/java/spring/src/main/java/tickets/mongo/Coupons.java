package tickets.mongo;

import java.util.List;
import org.springframework.data.mongodb.repository.MongoRepository;

public interface Coupons extends MongoRepository<Coupon, String> {
    List<Coupon> findByCampaignOrderByCode(String campaign);
}
