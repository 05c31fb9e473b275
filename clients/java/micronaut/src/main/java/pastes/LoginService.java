package pastes;

import com.mongodb.client.MongoClient;
import com.mongodb.client.model.IndexOptions;
import com.mongodb.client.model.Indexes;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.runtime.event.annotation.EventListener;
import jakarta.inject.Singleton;
import jakarta.transaction.Transactional;
import java.time.Clock;
import java.util.concurrent.TimeUnit;

@Singleton
public class LoginService {
    private final MongoClient client;
    private final Logins logins;
    private final Clock clock;

    LoginService(MongoClient client, Logins logins, Clock clock) {
        this.client = client;
        this.logins = logins;
        this.clock = clock;
    }

    /** Micronaut Data has no annotation for a time to live. */
    @EventListener
    void createIndex(StartupEvent started) {
        client.getDatabase("pastes").getCollection("logins").createIndex(
                Indexes.ascending("lastUsed"), new IndexOptions().expireAfter((long) Login.SECONDS, TimeUnit.SECONDS));
    }

    /** Logs out on all devices and in on one, or neither. */
    @Transactional
    public Login moveTo(String author, String device) {
        logins.deleteByAuthor(author);
        if (device.isBlank()) {
            throw new IllegalArgumentException("a device has a name");
        }
        return logins.save(Login.of(author, device, clock.instant()));
    }
}
