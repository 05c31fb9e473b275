package tickets;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.bson.Document;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.dao.OptimisticLockingFailureException;
import org.springframework.data.domain.Example;
import org.springframework.data.domain.ExampleMatcher;
import org.springframework.data.domain.Limit;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.domain.ScrollPosition;
import org.springframework.data.domain.Slice;
import org.springframework.data.domain.Sort;
import org.springframework.data.domain.Window;
import org.springframework.data.mongodb.core.MongoTemplate;
import org.springframework.data.mongodb.core.query.Criteria;
import org.springframework.data.mongodb.core.query.Query;
import org.springframework.data.mongodb.core.query.Update;
import org.springframework.data.mongodb.gridfs.GridFsOperations;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import tickets.mongo.Posters;
import tickets.mongo.Sales;
import tickets.mongo.SalesBoard;
import tickets.mongo.Show;
import tickets.mongo.Shows;
import tickets.mongo.Ticket;
import tickets.mongo.TicketRepository;

class MongoRepositoriesTest extends TicketsTest {
    @Autowired Shows shows;
    @Autowired TicketRepository tickets;
    @Autowired Sales sales;
    @Autowired SalesBoard board;
    @Autowired Posters posters;
    @Autowired GridFsOperations files;
    @Autowired MongoTemplate template;
    @Autowired PlatformTransactionManager transactions;
    @Autowired CurrentUser user;

    private Show hamlet;

    @BeforeEach
    void shows() {
        hamlet = user.as("ann", () -> shows.insert(Show.of(unique + " Hamlet", unique, 30, 5, "drama", "classic")));
        shows.insert(List.of(
                Show.of(unique + " Faust", unique, 20, 5, "drama"),
                Show.of(unique + " Tosca", unique, 90, 3, "opera", "classic", "italian"),
                Show.of(unique + " Cats", unique, 60, 9)));
    }

    private List<String> titles(Iterable<Show> found) {
        List<String> titles = new ArrayList<>();
        found.forEach(show -> titles.add(show.title.substring(unique.length() + 1)));
        return titles;
    }

    @Test
    void queries_are_derived_from_the_names_of_methods() {
        assertThat(shows.findByTitle(unique + " Hamlet").orElseThrow()).usingRecursiveComparison().isEqualTo(hamlet);
        assertThat(titles(shows.findByVenueAndPriceBetweenOrderByPriceDesc(unique, 20, 90))).containsExactly("Cats", "Hamlet");
        assertThat(titles(shows.findByVenueAndTagsContaining(unique, "classic"))).containsExactlyInAnyOrder("Hamlet", "Tosca");
        assertThat(titles(shows.findByVenueAndTitleStartingWithIgnoreCase(unique, unique + " hAM"))).containsExactly("Hamlet");
        assertThat(titles(shows.findByVenueInOrderByTitle(List.of("none", unique), Limit.of(2))))
                .containsExactly("Cats", "Faust");
        assertThat(shows.findTitledByVenue(unique, Sort.by("title").descending()))
                .extracting(Shows.Titled::getTitle).startsWith(unique + " Tosca");
        assertThat(shows.deleteByVenue(unique)).isEqualTo(4);
    }

    @Test
    void queries_updates_and_aggregations_are_written_in_annotations() {
        assertThat(titles(shows.findWithMoreTagsThan(unique, 1))).containsExactlyInAnyOrder("Hamlet", "Tosca");
        assertThat(shows.raisePrices(unique, 5)).isEqualTo(4);
        assertThat(shows.findById(hamlet.id).orElseThrow().price).isEqualTo(35);
        assertThat(shows.countTags(unique)).containsExactly(
                new Shows.TagCount("classic", 2, 8),
                new Shows.TagCount("drama", 2, 10),
                new Shows.TagCount("italian", 1, 3),
                new Shows.TagCount("opera", 1, 3));
        Show probe = new Show();
        probe.tags = null;
        probe.venue = unique;
        probe.price = 25;
        assertThat(titles(shows.findAll(Example.of(probe,
                ExampleMatcher.matching().withIgnorePaths("seatsLeft"))))).containsExactly("Faust");
    }

    @Test
    void slices_and_windows_follow_each_other() {
        Slice<Show> slice = shows.findByVenue(unique, PageRequest.of(0, 3, Sort.by("price")));
        assertThat(titles(slice)).containsExactly("Faust", "Hamlet", "Cats");
        assertThat(titles(shows.findByVenue(unique, slice.nextPageable()))).containsExactly("Tosca");

        List<String> scrolled = new ArrayList<>();
        ScrollPosition position = ScrollPosition.keyset();
        Window<Show> window;
        do {
            window = shows.findFirst2ByVenueOrderByPriceAsc(unique, position);
            scrolled.addAll(titles(window));
            position = window.isEmpty() ? position : window.positionAt(window.size() - 1);
        } while (window.hasNext());
        assertThat(scrolled).containsExactly("Faust", "Hamlet", "Cats", "Tosca");
    }

    @Test
    void auditing_says_who_made_and_changed_a_show_and_when() {
        var created = now();
        assertThat(hamlet.createdBy).isEqualTo("ann");
        assertThat(hamlet.createdAt).isEqualTo(created);
        advance("1m");
        hamlet.price = 31;
        user.as("bob", () -> shows.save(hamlet));
        Show read = shows.findById(hamlet.id).orElseThrow();
        assertThat(read.createdBy).isEqualTo("ann");
        assertThat(read.createdAt).isEqualTo(created);
        assertThat(read.changedBy).isEqualTo("bob");
        assertThat(read.changedAt).isEqualTo(now());
    }

    @Test
    void of_two_changes_to_the_same_version_the_second_is_refused() {
        Show yours = shows.findById(hamlet.id).orElseThrow();
        Show hers = shows.findById(hamlet.id).orElseThrow();
        hamlet.price = 31;
        shows.save(hamlet);
        assertThat(hamlet.version).isEqualTo(1);
        yours.price = 32;
        assertThatExceptionOfType(OptimisticLockingFailureException.class).isThrownBy(() -> shows.save(yours));
        assertThatExceptionOfType(OptimisticLockingFailureException.class).isThrownBy(() -> shows.delete(hers));
        assertThat(shows.findById(hamlet.id).orElseThrow().price).isEqualTo(31);
    }

    @Test
    void a_unique_index_refuses_a_second_title() {
        assertThatExceptionOfType(DuplicateKeyException.class)
                .isThrownBy(() -> shows.insert(Show.of(unique + " Hamlet", unique, 1, 1)));
    }

    @Test
    void a_transaction_writes_all_or_nothing() {
        assertThat(sales.sell(hamlet.id, "ann", 3)).hasSize(3);
        assertThat(tickets.countByShow(hamlet.id)).isEqualTo(3);
        assertThat(shows.findById(hamlet.id).orElseThrow().seatsLeft).isEqualTo(2);

        assertThatExceptionOfType(Sales.SoldOut.class).isThrownBy(() -> sales.sell(hamlet.id, "bob", 3));
        assertThat(tickets.findByShow(hamlet.id)).hasSize(3).allMatch(ticket -> ticket.customer().equals("ann"));
        assertThat(shows.findById(hamlet.id).orElseThrow().seatsLeft).isEqualTo(2);
    }

    @Test
    void what_a_transaction_writes_is_seen_by_others_when_it_has_committed() {
        Query count = Query.query(Criteria.where("show").is(hamlet.id));
        new TransactionTemplate(transactions).executeWithoutResult(status -> {
            tickets.insert(new Ticket(null, hamlet.id, "ann", now()));
            assertThat(tickets.countByShow(hamlet.id)).isEqualTo(1);
            assertThat(inAnotherThread(() -> template.count(count, Ticket.class))).isZero();
        });
        assertThat(template.count(count, Ticket.class)).isEqualTo(1);
    }

    @Test
    void two_transactions_that_change_the_same_document_conflict() {
        Query one = Query.query(Criteria.where("id").is(hamlet.id));
        var transaction = new TransactionTemplate(transactions);
        Throwable refused = transaction.execute(status -> {
            template.updateFirst(one, new Update().inc("price", 1), Show.class);
            return inAnotherThread(() -> {
                try {
                    transaction.executeWithoutResult(
                            other -> template.updateFirst(one, new Update().inc("price", 10), Show.class));
                    return null;
                } catch (RuntimeException conflict) {
                    return conflict;
                }
            });
        });
        assertThat(refused).hasStackTraceContaining("WriteConflict");
        assertThat(shows.findById(hamlet.id).orElseThrow().price).isEqualTo(31);
    }

    private static <T> T inAnotherThread(Supplier<T> work) {
        return CompletableFuture.supplyAsync(work).join();
    }

    @Test
    void a_listener_is_told_of_the_tickets_that_were_sold() throws InterruptedException {
        await("the listener has begun", board::isListening);
        sales.sell(hamlet.id, "ann", 2);
        sales.sell(hamlet.id, "bob", 1);
        assertThatExceptionOfType(Sales.SoldOut.class).isThrownBy(() -> sales.sell(hamlet.id, "eve", 9));
        await("three tickets are counted", () -> board.sold(hamlet.id) == 3);
        sales.sell(hamlet.id, "ann", 1);
        await("four tickets are counted", () -> board.sold(hamlet.id) == 4);
    }

    @Test
    void a_poster_of_many_chunks_is_kept_in_gridfs() throws IOException {
        byte[] picture = new byte[700_001];
        new Random(1).nextBytes(picture);
        posters.put(hamlet.id, new ByteArrayInputStream(picture), "image/png");
        assertThat(posters.content(hamlet.id)).isEqualTo(picture);
        var resource = posters.find(hamlet.id).orElseThrow();
        assertThat(resource.getContentType()).isEqualTo("image/png");
        assertThat(resource.contentLength()).isEqualTo(picture.length);
        assertThat(files.getResources(hamlet.id + ".*")).hasSize(1);

        posters.put(hamlet.id, new ByteArrayInputStream(new byte[] {1}), "image/png");
        assertThat(posters.content(hamlet.id)).containsExactly(1);
        assertThat(template.getCollection("fs.chunks").countDocuments(
                new Document("files_id", posters.find(hamlet.id).orElseThrow().getFileId()))).isEqualTo(1);
    }
}
