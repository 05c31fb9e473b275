package pastes;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CosmosContainerProperties;
import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Property;
import jakarta.inject.Singleton;

@Factory
class CosmosFactory {
    /** How long a paste is kept that does not say. */
    static final int SECONDS = 86_400;

    @Bean(preDestroy = "close")
    @Singleton
    CosmosClient client(@Property(name = "pastes.endpoint") String endpoint, @Property(name = "pastes.key") String key) {
        return new CosmosClientBuilder()
                .endpoint(endpoint)
                .key(key)
                .gatewayMode()
                .contentResponseOnWriteEnabled(true)
                .buildClient();
    }

    @Singleton
    CosmosContainer container(CosmosClient client) {
        client.createDatabaseIfNotExists("pastes");
        CosmosDatabase database = client.getDatabase("pastes");
        database.createContainerIfNotExists(
                new CosmosContainerProperties("pastes", "/author").setDefaultTimeToLiveInSeconds(SECONDS));
        return database.getContainer("pastes");
    }
}
