package tickets.mongo;

import org.springframework.data.mongodb.repository.MongoRepository;

public interface Offers extends MongoRepository<Offer, String> {}
