package tickets.mongo;

import java.time.Duration;
import org.springframework.boot.ApplicationRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.domain.Sort.Direction;
import org.springframework.data.mongodb.MongoDatabaseFactory;
import org.springframework.data.mongodb.MongoTransactionManager;
import org.springframework.data.mongodb.config.EnableMongoAuditing;
import org.springframework.data.mongodb.core.MongoTemplate;
import org.springframework.data.mongodb.core.index.Index;
import org.springframework.data.mongodb.core.messaging.DefaultMessageListenerContainer;
import org.springframework.data.mongodb.core.messaging.MessageListenerContainer;
import org.springframework.data.mongodb.repository.config.EnableMongoRepositories;
import org.springframework.transaction.annotation.EnableTransactionManagement;

@Configuration
@EnableMongoRepositories
@EnableMongoAuditing(auditorAwareRef = "auditor", dateTimeProviderRef = "auditTime")
@EnableTransactionManagement
class MongoConfiguration {
    @Bean
    MongoTransactionManager transactionManager(MongoDatabaseFactory factory) {
        return new MongoTransactionManager(factory);
    }

    /** Runs the listeners of change streams. */
    @Bean
    MessageListenerContainer messageListenerContainer(MongoTemplate template) {
        return new DefaultMessageListenerContainer(template);
    }

    /** No annotation names the index on `_ts`: it sets the time to live of the collection, and lets each coupon have its own. */
    @Bean
    ApplicationRunner couponsExpire(MongoTemplate template) {
        return arguments -> template.indexOps(Coupon.class)
                .createIndex(new Index("_ts", Direction.ASC).expire(Duration.ofSeconds(Coupon.SECONDS)));
    }
}
