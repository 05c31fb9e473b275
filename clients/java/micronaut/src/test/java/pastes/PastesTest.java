package pastes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosException;
import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.data.exceptions.OptimisticLockException;
import io.micronaut.data.model.Page;
import io.micronaut.data.model.Pageable;
import io.micronaut.data.model.Sort;
import io.micronaut.runtime.server.EmbeddedServer;
import io.micronaut.test.extensions.junit5.annotation.MicronautTest;
import io.micronaut.test.support.TestPropertyProvider;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import lapsedb.Server;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** One application and one server for all tests, so each takes an author of its own. The time moves for both together. */
@MicronautTest(transactional = false)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class PastesTest implements TestPropertyProvider {
    private static volatile Instant now;

    private final Server server = Server.start("--memory", "--virtual-clock");
    private final HttpClient http = HttpClient.newHttpClient();
    private String author;

    @Inject EmbeddedServer application;
    @Inject Pastes pastes;
    @Inject Logins logins;
    @Inject LoginService service;

    @Override
    public Map<String, String> getProperties() {
        return Map.of("pastes.endpoint", server.url("http"), "pastes.key", Server.KEY, "mongodb.uri", server.mongoUrl("pastes"));
    }

    /** Replaces the clock of the application. */
    @Factory
    static class Time {
        @Bean
        @Singleton
        @Replaces(bean = Clock.class, factory = Application.class)
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

    /** `_ts` counts whole seconds: from the start of one, a time to live is exact. */
    @BeforeEach
    void aligned() {
        author = UUID.randomUUID().toString();
        now = Instant.ofEpochMilli(server.align());
    }

    private void advance(String span) {
        now = Instant.ofEpochMilli(server.advance(span));
    }

    private HttpResponse<String> send(String method, String path, String body, String login) throws Exception {
        var request = HttpRequest.newBuilder(application.getURI().resolve(path))
                .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body))
                .header("content-type", "application/json");
        if (login != null) {
            request.header("X-Login", login);
        }
        return http.send(request.build(), BodyHandlers.ofString());
    }

    @Test
    void a_paste_is_created_read_changed_and_deleted() {
        Paste paste = pastes.create(author, "first", null);
        assertEquals(paste, pastes.find(author, paste.id()).orElseThrow());
        Paste changed = pastes.change(paste, "second").orElseThrow();
        assertEquals("second", pastes.find(author, paste.id()).orElseThrow().text());
        var stale = assertThrows(CosmosException.class, () -> pastes.change(paste, "third"));
        assertEquals(412, stale.getStatusCode());
        assertTrue(pastes.delete(author, changed.id()));
        assertFalse(pastes.delete(author, changed.id()));
        assertTrue(pastes.find(author, changed.id()).isEmpty());
    }

    @Test
    void a_paste_expires_by_its_own_ttl_or_by_that_of_the_container() {
        Paste minute = pastes.create(author, "minute", 60);
        Paste day = pastes.create(author, "day", null);
        Paste always = pastes.create(author, "always", -1);
        advance("59999ms");
        assertTrue(pastes.find(author, minute.id()).isPresent());
        assertEquals(3, pastes.count(author));
        advance("1ms");
        assertTrue(pastes.find(author, minute.id()).isEmpty());
        assertTrue(pastes.change(minute, "again").isEmpty());
        assertEquals(2, pastes.count(author));
        assertEquals(List.of("always", "day"), pastes.page(author, 10, null).pastes().stream().map(Paste::text).toList());
        advance(CosmosFactory.SECONDS - 60 + "s");
        assertTrue(pastes.find(author, day.id()).isEmpty());
        assertEquals(1, pastes.count(author));
        advance("3650d");
        assertTrue(pastes.find(author, always.id()).isPresent());
    }

    @Test
    void pastes_come_in_pages_and_those_that_expire_meanwhile_do_not_come() {
        for (int i = 9; i >= 0; i--) {
            pastes.create(author, "text " + i, i == 5 ? 10 : null);
        }
        List<String> texts = new ArrayList<>();
        Pastes.Page page = pastes.page(author, 4, null);
        assertEquals(4, page.pastes().size());
        advance("10s");
        page.pastes().forEach(paste -> texts.add(paste.text()));
        while (page.next() != null) {
            page = pastes.page(author, 4, page.next());
            page.pastes().forEach(paste -> texts.add(paste.text()));
        }
        assertEquals(List.of("text 0", "text 1", "text 2", "text 3", "text 4", "text 6", "text 7", "text 8", "text 9"), texts);
    }

    @Test
    void logins_are_saved_found_counted_and_deleted() {
        logins.saveAll(List.of(Login.of(author, "phone", now), Login.of(author, "laptop", now), Login.of(author, "watch", now)));
        assertEquals(List.of("laptop", "phone", "watch"),
                logins.findByAuthorOrderByDevice(author).stream().map(Login::device).toList());
        assertEquals(List.of("watch", "laptop"), logins.matching(author, "a").stream().map(Login::device).toList());
        assertEquals("laptop", logins.first(author).get(0).device());
        assertTrue(logins.existsByAuthorAndDevice(author, "phone"));

        Page<Login> page = logins.findByAuthor(author, Pageable.from(0, 2, Sort.of(Sort.Order.desc("device"))));
        assertEquals(3, page.getTotalSize());
        assertEquals(List.of("watch", "phone"), page.getContent().stream().map(Login::device).toList());
        assertEquals("laptop", logins.findByAuthor(author, page.nextPageable()).getContent().get(0).device());

        assertEquals(3, logins.deleteByAuthor(author));
        assertEquals(0, logins.countByAuthor(author));
    }

    @Test
    void of_two_changes_to_the_same_version_of_a_login_the_second_is_refused() {
        Login login = logins.save(Login.of(author, "phone", now));
        advance("1s");
        logins.update(login.used(now));
        assertThrows(OptimisticLockException.class, () -> logins.update(login.used(now)));
        assertEquals(now, logins.findById(login.id()).orElseThrow().lastUsed());
    }

    @Test
    void a_login_expires_as_many_seconds_after_its_last_use_as_the_index_says() {
        Login login = logins.save(Login.of(author, "phone", now));
        advance(Login.SECONDS - 1 + "s");
        logins.update(login.id(), now);
        advance(Login.SECONDS - 1 + "s");
        advance("999ms");
        assertTrue(logins.existsById(login.id()));
        assertEquals(1, logins.countByAuthor(author));
        advance("1ms");
        assertTrue(logins.findById(login.id()).isEmpty());
        assertFalse(logins.existsById(login.id()));
        assertEquals(0, logins.countByAuthor(author));
        assertEquals(0, logins.findByAuthor(author, Pageable.from(0, 2)).getTotalSize());
        assertTrue(logins.first(author).isEmpty());
    }

    @Test
    void a_transaction_that_fails_changes_nothing() {
        logins.saveAll(List.of(Login.of(author, "phone", now), Login.of(author, "laptop", now)));
        assertThrows(IllegalArgumentException.class, () -> service.moveTo(author, " "));
        assertEquals(2, logins.countByAuthor(author));
        service.moveTo(author, "watch");
        assertEquals(List.of("watch"), logins.findByAuthorOrderByDevice(author).stream().map(Login::device).toList());
    }

    @Test
    void over_http_pastes_and_logins_can_be_used_until_they_expire() throws Exception {
        String login = send("POST", "/logins?device=phone&author=" + author, null, null).body();
        var created = send("POST", "/pastes", "{\"text\":\"hello\",\"seconds\":1000}", login);
        assertEquals(201, created.statusCode());
        String path = "/pastes/" + author + "/" + created.body().replaceFirst(".*\"id\":\"([^\"]*)\".*", "$1");
        advance(Login.SECONDS + "s");
        assertEquals(200, send("GET", path, null, null).statusCode());
        assertEquals(401, send("POST", "/pastes", "{\"text\":\"hello\"}", login).statusCode());
        advance("100s");
        assertEquals(404, send("GET", path, null, null).statusCode());
        assertEquals(404, send("DELETE", path, null, null).statusCode());
    }
}
