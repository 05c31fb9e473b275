package tickets.cosmos;

import com.azure.spring.data.cosmos.repository.CosmosRepository;

public interface Holds extends CosmosRepository<Hold, String> {
    boolean existsByShowAndSeat(String show, String seat);

    long countByShow(String show);
}
