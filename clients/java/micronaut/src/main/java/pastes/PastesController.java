package pastes;

import io.micronaut.core.annotation.Nullable;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Delete;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Header;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import io.micronaut.serde.annotation.Serdeable;
import java.time.Clock;

/** Everybody may read; who writes names a login. */
@Controller
@ExecuteOn(TaskExecutors.BLOCKING)
class PastesController {
    private final Pastes pastes;
    private final Logins logins;
    private final Clock clock;

    PastesController(Pastes pastes, Logins logins, Clock clock) {
        this.pastes = pastes;
        this.logins = logins;
        this.clock = clock;
    }

    @Serdeable
    record New(String text, @Nullable Integer seconds) {}

    @Serdeable
    record Shown(String id, String author, String text) {}

    @Post("/logins")
    String logIn(@QueryValue String author, @QueryValue String device) {
        return logins.save(Login.of(author, device, clock.instant())).id();
    }

    @Post("/pastes")
    HttpResponse<Shown> create(@Header("X-Login") String id, @Body New paste) {
        var login = logins.findById(id);
        if (login.isEmpty()) {
            return HttpResponse.unauthorized();
        }
        logins.update(id, clock.instant());
        return HttpResponse.created(shown(pastes.create(login.get().author(), paste.text(), paste.seconds())));
    }

    @Get("/pastes/{author}/{id}")
    HttpResponse<Shown> read(String author, String id) {
        return pastes.find(author, id)
                .map(paste -> HttpResponse.ok(shown(paste)))
                .orElseGet(HttpResponse::notFound);
    }

    @Delete("/pastes/{author}/{id}")
    HttpStatus delete(String author, String id) {
        return pastes.delete(author, id) ? HttpStatus.NO_CONTENT : HttpStatus.NOT_FOUND;
    }

    private static Shown shown(Paste paste) {
        return new Shown(paste.id(), paste.author(), paste.text());
    }
}
