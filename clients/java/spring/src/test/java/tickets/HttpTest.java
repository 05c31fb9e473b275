package tickets;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.web.server.LocalServerPort;
import tickets.cosmos.Cart;
import tickets.cosmos.Purchase;
import tickets.cosmos.Purchases;
import tickets.mongo.SalesBoard;
import tickets.mongo.Session;
import tickets.mongo.Show;
import tickets.mongo.Shows;

/** The application as its users see it. */
class HttpTest extends TicketsTest {
    @Autowired Shows shows;
    @Autowired Purchases purchases;
    @Autowired SalesBoard board;
    @LocalServerPort int port;

    private final HttpClient http = HttpClient.newHttpClient();

    private HttpResponse<String> send(String method, String path, String body, String... headers)
            throws IOException, InterruptedException {
        BodyPublisher content = body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body);
        var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .method(method, content)
                .header("content-type", "application/json");
        if (headers.length > 0) {
            request.headers(headers);
        }
        return http.send(request.build(), BodyHandlers.ofString());
    }

    private static String field(String json, String name) {
        return json.replaceFirst("(?s).*?\"" + name + "\" *: *\"([^\"]*)\".*", "$1");
    }

    @Test
    void a_cart_can_be_read_until_it_expires() throws Exception {
        var created = send("POST", "/customers/" + unique + "/carts", "[{\"show\":\"hamlet\",\"count\":2,\"price\":1500}]");
        assertThat(created.statusCode()).isEqualTo(201);
        String path = created.headers().firstValue("location").orElseThrow();
        advance(Cart.SECONDS - 1 + "s");
        var read = send("GET", path, null);
        assertThat(read.statusCode()).isEqualTo(200);
        assertThat(read.body()).contains("\"total\":3000");
        advance("1s");
        assertThat(send("GET", path, null).statusCode()).isEqualTo(404);
    }

    @Test
    void a_cart_changed_meanwhile_is_not_replaced() throws Exception {
        var created = send("POST", "/customers/" + unique + "/carts", "[]");
        String path = created.headers().firstValue("location").orElseThrow();
        String version = created.headers().firstValue("etag").orElseThrow();
        String lines = "[{\"show\":\"hamlet\",\"count\":1,\"price\":1500}]";
        assertThat(send("PUT", path, lines, "If-Match", version).statusCode()).isEqualTo(200);
        assertThat(send("PUT", path, "[]", "If-Match", version).statusCode()).isEqualTo(412);
        assertThat(send("GET", path, null).body()).contains("\"total\":1500");
    }

    @Test
    void purchases_come_in_pages() throws Exception {
        List<Purchase> all = new ArrayList<>();
        for (int i = 10; i < 15; i++) {
            all.add(Purchase.of("" + i, unique, "ann", "hamlet", i));
        }
        purchases.saveAll(all);
        List<String> found = new ArrayList<>();
        String continuation = "";
        do {
            String more = continuation.isEmpty() ? "" : "&continuation=" + URLEncoder.encode(continuation, StandardCharsets.UTF_8);
            var page = send("GET", "/venues/" + unique + "/customers/ann/purchases?size=2" + more, null);
            assertThat(page.statusCode()).isEqualTo(200);
            found.addAll(page.body().lines().flatMap(line -> List.of(line.split("\\{")).stream())
                    .filter(text -> text.contains("\"id\"")).map(text -> field(text, "id")).toList());
            continuation = page.headers().firstValue("continuation").orElse("");
        } while (!continuation.isEmpty());
        assertThat(found).containsExactly("10", "11", "12", "13", "14");
    }

    @Test
    void tickets_are_sold_to_whoever_has_a_session_until_there_is_none_left() throws Exception {
        await("the sales are counted", board::isListening);
        Show show = shows.insert(Show.of(unique, unique, 30, 3));
        String path = "/shows/" + show.id + "/tickets?count=2";
        var loggedIn = send("POST", "/sessions?customer=ann", null);
        assertThat(loggedIn.statusCode()).isEqualTo(200);
        String session = field(loggedIn.body(), "id");
        assertThat(send("POST", path, null, "X-Session", "unknown").statusCode()).isEqualTo(401);
        assertThat(send("POST", path, null, "X-Session", session).statusCode()).isEqualTo(200);
        assertThat(send("POST", path, null, "X-Session", session).statusCode()).isEqualTo(409);
        await("both tickets are counted", () -> {
            try {
                return send("GET", "/shows/" + show.id + "/sold", null).body().equals("2");
            } catch (IOException | InterruptedException cannot) {
                throw new IllegalStateException(cannot);
            }
        });
        advance(Session.SECONDS + "s");
        assertThat(send("POST", path, null, "X-Session", session).statusCode()).isEqualTo(401);
    }

    @Test
    void a_poster_is_stored_and_sent() throws Exception {
        String path = "/shows/" + unique + "/poster";
        assertThat(send("GET", path, null).statusCode()).isEqualTo(404);
        assertThat(send("PUT", path, "\"a picture\"").statusCode()).isEqualTo(200);
        assertThat(send("GET", path, null).body()).isEqualTo("\"a picture\"");
    }
}
