package tickets.cosmos;

import com.azure.spring.data.cosmos.repository.ReactiveCosmosRepository;
import org.springframework.data.domain.Sort;
import reactor.core.publisher.Flux;

public interface ReactiveCarts extends ReactiveCosmosRepository<Cart, String> {
    Flux<Cart> findByCustomer(String customer, Sort sort);
}
