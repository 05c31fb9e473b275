package tickets;

import static org.assertj.core.api.Assertions.assertThat;

import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.fasterxml.jackson.databind.JsonNode;
import com.mongodb.client.model.changestream.OperationType;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import org.bson.Document;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.mongodb.core.MongoTemplate;
import org.springframework.data.mongodb.core.ReactiveMongoTemplate;
import org.springframework.data.mongodb.core.index.IndexInfo;
import org.springframework.data.mongodb.core.query.Criteria;
import reactor.core.Disposable;
import tickets.mongo.Coupon;
import tickets.mongo.Coupons;
import tickets.mongo.Offer;
import tickets.mongo.Offers;
import tickets.mongo.Session;
import tickets.mongo.Sessions;

class MongoExpiryTest extends TicketsTest {
    @Autowired Sessions sessions;
    @Autowired Offers offers;
    @Autowired Coupons coupons;
    @Autowired MongoTemplate template;
    @Autowired ReactiveMongoTemplate reactive;
    @Autowired CosmosAsyncClient cosmos;

    private void assertLive(Session session) {
        assertThat(sessions.findById(session.id())).contains(session);
        assertThat(sessions.existsById(session.id())).isTrue();
        assertThat(sessions.countByCustomer(unique)).isEqualTo(1);
        assertThat(sessions.findByCustomer(unique, PageRequest.of(0, 1)).getTotalElements()).isEqualTo(1);
        assertThat(sessions.aggregatedCount(unique)).containsExactly(1);
    }

    private void assertExpired(Session session) {
        assertThat(sessions.findById(session.id())).isEmpty();
        assertThat(sessions.existsById(session.id())).isFalse();
        assertThat(sessions.existsByCustomer(unique)).isFalse();
        assertThat(sessions.countByCustomer(unique)).isZero();
        assertThat(sessions.findByCustomer(unique)).isEmpty();
        assertThat(sessions.findByCustomer(unique, PageRequest.of(0, 1)).getTotalElements()).isZero();
        assertThat(sessions.aggregatedCount(unique)).isEmpty();
        assertThat(sessions.use(session.id(), now())).isZero();
    }

    @Test
    void the_annotated_indexes_were_created() {
        assertThat(template.indexOps(Session.class).getIndexInfo())
                .anySatisfy(index -> {
                    assertThat(index.getName()).isEqualTo("lastUsed");
                    assertThat(index.getExpireAfter()).hasValueSatisfying(after -> assertThat(after).hasSeconds(Session.SECONDS));
                })
                .extracting(IndexInfo::getName).contains("customer");
    }

    @Test
    void a_session_expires_as_many_seconds_after_its_last_use_as_the_annotation_says() {
        Session session = sessions.insert(new Session(null, unique, now()));
        advance(Session.SECONDS - 1 + "s");
        advance("999ms");
        assertLive(session);
        advance("1ms");
        assertExpired(session);
    }

    @Test
    void using_a_session_starts_its_time_again() {
        Session session = sessions.insert(new Session(null, unique, now()));
        advance(Session.SECONDS - 1 + "s");
        assertThat(sessions.use(session.id(), now())).isEqualTo(1);
        Session used = sessions.findById(session.id()).orElseThrow();
        advance(Session.SECONDS - 1 + "s");
        assertLive(used);
        advance("1s");
        assertExpired(used);
    }

    @Test
    void an_expired_id_can_be_inserted_again() {
        sessions.insert(new Session(unique, unique, now()));
        advance(Session.SECONDS + "s");
        Session again = sessions.insert(new Session(unique, unique, now()));
        assertLive(again);
    }

    @Test
    void a_session_is_an_item_of_the_nosql_api_until_it_expires() {
        sessions.insert(new Session(unique, "ann", now()));
        assertThat(items()).singleElement().satisfies(item -> assertThat(item.get("customer").asText()).isEqualTo("ann"));
        advance(Session.SECONDS - 1 + "s");
        assertThat(items()).hasSize(1);
        advance("1s");
        assertThat(items()).isEmpty();
    }

    private List<JsonNode> items() {
        var query = new SqlQuerySpec("SELECT * FROM c WHERE c.id = @id", new SqlParameter("@id", unique));
        return cosmos.getDatabase("tickets").getContainer("sessions")
                .queryItems(query, new CosmosQueryRequestOptions(), JsonNode.class)
                .collectList().block();
    }

    @Test
    void an_offer_ends_at_the_instant_it_names() {
        offers.save(new Offer(unique, 500, now().plusMillis(2500)));
        advance("2499ms");
        assertThat(offers.findById(unique)).isPresent();
        advance("1ms");
        assertThat(offers.findById(unique)).isEmpty();
        assertThat(offers.count()).isZero();
    }

    @Test
    void each_coupon_expires_by_its_own_ttl_or_by_that_of_the_collection() {
        coupons.saveAll(List.of(
                new Coupon(unique + "-day", unique, 10, null),
                new Coupon(unique + "-minute", unique, 50, 60),
                new Coupon(unique + "-always", unique, 1, -1)));
        advance("59999ms");
        assertThat(coupons.findByCampaignOrderByCode(unique)).hasSize(3);
        advance("1ms");
        assertThat(coupons.findByCampaignOrderByCode(unique)).extracting(Coupon::percent).containsExactly(1, 10);
        advance(Coupon.SECONDS - 60 + "s");
        assertThat(coupons.findByCampaignOrderByCode(unique)).extracting(Coupon::percent).containsExactly(1);
        advance("3650d");
        assertThat(coupons.findByCampaignOrderByCode(unique)).hasSize(1);
    }

    @Test
    void a_change_stream_shows_that_a_session_expired() throws InterruptedException {
        List<OperationType> events = new CopyOnWriteArrayList<>();
        List<Throwable> errors = new CopyOnWriteArrayList<>();
        Disposable stream = reactive.changeStream(Document.class)
                .watchCollection("sessions")
                .filter(Criteria.where("documentKey._id").is(unique))
                .listen()
                .subscribe(event -> events.add(event.getOperationType()), errors::add);
        try {
            // Nothing says when the stream has begun but the first event, and what changes nothing is no event.
            await("the stream has begun", () -> {
                sessions.save(new Session(unique, UUID.randomUUID().toString(), now()));
                return events.size() + errors.size() > 0;
            });
            assertThat(events).doesNotContain(OperationType.DELETE);
            advance(Session.SECONDS + "s");
            await("the expiry is shown", () -> events.contains(OperationType.DELETE) || !errors.isEmpty());
            assertThat(errors).isEmpty();
        } finally {
            stream.dispose();
        }
    }
}
