package tickets.cosmos;

import com.azure.cosmos.ConsistencyLevel;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.spring.data.cosmos.config.AbstractCosmosConfiguration;
import com.azure.spring.data.cosmos.core.mapping.EnableCosmosAuditing;
import com.azure.spring.data.cosmos.repository.config.EnableCosmosRepositories;
import com.azure.spring.data.cosmos.repository.config.EnableReactiveCosmosRepositories;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Configuration
@EnableCosmosRepositories
@EnableReactiveCosmosRepositories
@EnableCosmosAuditing(auditorAwareRef = "auditor", dateTimeProviderRef = "auditTime")
class CosmosConfiguration extends AbstractCosmosConfiguration {
    @Value("${tickets.cosmos.database}")
    private String database;

    @Bean
    CosmosClientBuilder cosmosClientBuilder(
            @Value("${tickets.cosmos.endpoint}") String endpoint, @Value("${tickets.cosmos.key}") String key) {
        return new CosmosClientBuilder()
                .endpoint(endpoint)
                .key(key)
                .gatewayMode()
                .consistencyLevel(ConsistencyLevel.SESSION);
    }

    @Override
    protected String getDatabaseName() {
        return database;
    }
}
