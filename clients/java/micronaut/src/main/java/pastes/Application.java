package pastes;

import io.micronaut.context.annotation.Factory;
import io.micronaut.runtime.Micronaut;
import jakarta.inject.Singleton;
import java.time.Clock;

/** Keeps texts for as long as their authors wish. Texts are in the NoSQL API, who has logged in is in the MongoDB API. */
@Factory
public class Application {
    public static void main(String[] arguments) {
        Micronaut.run(Application.class, arguments);
    }

    @Singleton
    Clock clock() {
        return Clock.systemUTC();
    }
}
