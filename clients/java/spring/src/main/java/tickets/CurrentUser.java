package tickets;

import java.util.Optional;
import java.util.function.Supplier;
import org.springframework.stereotype.Component;

/** Who the present thread works for. */
@Component
public class CurrentUser {
    private final ThreadLocal<String> name = new ThreadLocal<>();

    public Optional<String> name() {
        return Optional.ofNullable(name.get());
    }

    public <T> T as(String user, Supplier<T> work) {
        String before = name.get();
        name.set(user);
        try {
            return work.get();
        } finally {
            name.set(before);
        }
    }
}
