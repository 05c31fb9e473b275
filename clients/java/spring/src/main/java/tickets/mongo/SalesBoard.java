package tickets.mongo;

import com.mongodb.client.model.changestream.ChangeStreamDocument;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.bson.Document;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.data.mongodb.core.aggregation.Aggregation;
import org.springframework.data.mongodb.core.messaging.ChangeStreamRequest;
import org.springframework.data.mongodb.core.messaging.MessageListener;
import org.springframework.data.mongodb.core.messaging.MessageListenerContainer;
import org.springframework.data.mongodb.core.messaging.Subscription;
import org.springframework.data.mongodb.core.query.Criteria;
import org.springframework.stereotype.Component;

/** Counts the tickets sold while this application runs, as the change stream shows them. */
@Component
public class SalesBoard implements InitializingBean {
    private final Map<String, Integer> sold = new ConcurrentHashMap<>();
    private final MessageListenerContainer container;
    private Subscription subscription;

    SalesBoard(MessageListenerContainer container) {
        this.container = container;
    }

    @Override
    public void afterPropertiesSet() {
        MessageListener<ChangeStreamDocument<Document>, Ticket> count =
                message -> sold.merge(message.getBody().show(), 1, Integer::sum);
        subscription = container.register(
                ChangeStreamRequest.builder(count)
                        .collection("tickets")
                        .filter(Aggregation.newAggregation(
                                Aggregation.match(Criteria.where("operationType").is("insert"))))
                        .build(),
                Ticket.class);
    }

    public boolean isListening() {
        return subscription.isActive();
    }

    public int sold(String show) {
        return sold.getOrDefault(show, 0);
    }
}
