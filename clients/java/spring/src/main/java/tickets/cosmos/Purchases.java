package tickets.cosmos;

import com.azure.spring.data.cosmos.repository.CosmosRepository;
import java.util.List;
import org.springframework.data.domain.Page;
import org.springframework.data.domain.Pageable;
import org.springframework.data.domain.Sort;

public interface Purchases extends CosmosRepository<Purchase, String> {
    List<Purchase> findByVenue(String venue, Sort sort);

    Page<Purchase> findByVenueAndCustomer(String venue, String customer, Pageable pageable);
}
