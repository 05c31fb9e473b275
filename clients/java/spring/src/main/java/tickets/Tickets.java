package tickets;

import java.time.Clock;
import java.util.Optional;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.data.auditing.DateTimeProvider;
import org.springframework.data.domain.AuditorAware;

/** A ticket shop. Carts, holds and purchases are kept through the NoSQL API, the rest through the MongoDB API. */
@SpringBootApplication
public class Tickets {
    public static void main(String[] arguments) {
        SpringApplication.run(Tickets.class, arguments);
    }

    @Bean
    Clock clock() {
        return Clock.systemUTC();
    }

    /** The time in fields that auditing fills. */
    @Bean
    DateTimeProvider auditTime(Clock clock) {
        return () -> Optional.of(clock.instant());
    }

    /** The user in fields that auditing fills. */
    @Bean
    AuditorAware<String> auditor(CurrentUser user) {
        return user::name;
    }
}
