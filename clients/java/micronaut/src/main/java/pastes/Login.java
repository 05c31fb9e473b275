package pastes;

import io.micronaut.core.annotation.Nullable;
import io.micronaut.data.annotation.GeneratedValue;
import io.micronaut.data.annotation.Id;
import io.micronaut.data.annotation.MappedEntity;
import io.micronaut.data.annotation.Version;
import java.time.Instant;

/** A document of the MongoDB API. */
@MappedEntity("logins")
public record Login(
        @Id @GeneratedValue @Nullable String id,
        String author,
        String device,
        Instant lastUsed,
        @Version @Nullable Long version) {
    /** How long a login lasts that is not used. */
    public static final int SECONDS = 900;

    public static Login of(String author, String device, Instant now) {
        return new Login(null, author, device, now, null);
    }

    public Login used(Instant now) {
        return new Login(id, author, device, now, version);
    }
}
