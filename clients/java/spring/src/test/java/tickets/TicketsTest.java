package tickets;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import lapsedb.Server;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.BeforeEach;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Primary;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** All tests share one application and one server, so each takes names of its own. The time moves for both together. */
@SpringBootTest(
        webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT,
        // The server ends with this process, and not after the application: who waited for it would wait long.
        properties = "spring.main.register-shutdown-hook=false")
@Import(TicketsTest.Time.class)
public abstract class TicketsTest {
    private static final Server SERVER = Server.start("--memory", "--virtual-clock");
    private static final long STATE_SECONDS_MAX = 60;
    private static volatile Instant now;

    static {
        try {
            // As an operator does with -D; the SDK reads these when the first client is made.
            System.setProperty("javax.net.ssl.trustStore", SERVER.trustStore().toString());
            System.setProperty("javax.net.ssl.trustStorePassword", "changeit");
        } catch (Exception cannot) {
            throw new ExceptionInInitializerError(cannot);
        }
        startOfSecond();
    }

    /** No other test uses this name. */
    protected final String unique = UUID.randomUUID().toString();

    @DynamicPropertySource
    static void addresses(DynamicPropertyRegistry registry) {
        registry.add("tickets.cosmos.endpoint", () -> SERVER.url("https"));
        registry.add("tickets.cosmos.key", () -> Server.KEY);
        registry.add("spring.mongodb.uri", () -> SERVER.mongoUrl("tickets"));
    }

    /** `_ts` counts whole seconds: from the start of one, a time to live is exact. */
    @BeforeEach
    void aligned() {
        startOfSecond();
    }

    protected static void startOfSecond() {
        now = Instant.ofEpochMilli(SERVER.align());
    }

    protected static void advance(String span) {
        now = Instant.ofEpochMilli(SERVER.advance(span));
    }

    protected static Instant now() {
        return now;
    }

    /** Waits until something is so that another thread brings about. */
    protected static void await(String what, BooleanSupplier state) throws InterruptedException {
        long start = System.nanoTime();
        while (!state.getAsBoolean()) {
            if (System.nanoTime() - start > Duration.ofSeconds(STATE_SECONDS_MAX).toNanos()) {
                Assertions.fail("not so after " + STATE_SECONDS_MAX + " s: " + what);
            }
            Thread.sleep(10);
        }
    }

    @TestConfiguration
    static class Time {
        @Bean
        @Primary
        Clock serverClock() {
            return new Clock() {
                @Override
                public Instant instant() {
                    return now;
                }

                @Override
                public ZoneId getZone() {
                    return ZoneOffset.UTC;
                }

                @Override
                public Clock withZone(ZoneId zone) {
                    return this;
                }
            };
        }
    }
}
