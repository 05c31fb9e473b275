package tickets;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.azure.cosmos.models.CosmosPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.PartitionKey;
import com.azure.spring.data.cosmos.core.query.CosmosPageRequest;
import com.azure.spring.data.cosmos.exception.CosmosConflictException;
import com.azure.spring.data.cosmos.exception.CosmosPreconditionFailedException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.data.domain.Page;
import org.springframework.data.domain.Pageable;
import org.springframework.data.domain.Slice;
import org.springframework.data.domain.Sort;
import reactor.core.publisher.Flux;
import tickets.cosmos.Cart;
import tickets.cosmos.Carts;
import tickets.cosmos.Hold;
import tickets.cosmos.Holds;
import tickets.cosmos.ReactiveCarts;

class CosmosRepositoriesTest extends TicketsTest {
    @Autowired Carts carts;
    @Autowired ReactiveCarts reactive;
    @Autowired Holds holds;
    @Autowired CurrentUser user;

    private Cart save(String customer, String coupon, Cart.Line... lines) {
        Cart cart = Cart.of(customer, lines);
        cart.coupon = coupon;
        return carts.save(cart);
    }

    private List<Long> totals(Iterable<Cart> found) {
        List<Long> totals = new ArrayList<>();
        found.forEach(cart -> totals.add(cart.total));
        return totals;
    }

    @Test
    void a_saved_cart_is_read_with_all_that_it_holds() {
        Cart saved = save(unique, "ü/?#", new Cart.Line("hamlet", 2, 1500), new Cart.Line("faust", 1, 99));
        Cart read = carts.findById(saved.id, new PartitionKey(unique)).orElseThrow();
        assertThat(read).usingRecursiveComparison().isEqualTo(saved);
        assertThat(read.total).isEqualTo(3099);
        assertThat(carts.findById(saved.id, new PartitionKey("other"))).isEmpty();
        carts.deleteById(saved.id, new PartitionKey(unique));
        assertThat(carts.findById(saved.id)).isEmpty();
    }

    @Test
    void queries_are_derived_from_the_names_of_methods() {
        String other = unique + "-other";
        save(unique, null, new Cart.Line("hamlet", 1, 10));
        save(unique, "Spring", new Cart.Line("hamlet", 2, 10));
        save(unique, "summer", new Cart.Line("faust", 3, 10));
        save(other, "spring", new Cart.Line("faust", 4, 10));

        assertThat(totals(carts.findByCustomer(unique, Sort.by("total").descending()))).containsExactly(30L, 20L, 10L);
        assertThat(totals(carts.findByCustomerAndTotalGreaterThanEqualOrderByTotalDesc(unique, 20)))
                .containsExactly(30L, 20L);
        assertThat(totals(carts.findByCustomerAndTotalBetween(unique, 10, 20))).containsExactlyInAnyOrder(10L, 20L);
        assertThat(totals(carts.findByCustomerInAndTotalLessThan(List.of(unique, other), 41)))
                .containsExactlyInAnyOrder(10L, 20L, 30L, 40L);
        assertThat(totals(carts.findByCustomerAndCouponIsNull(unique))).containsExactly(10L);
        assertThat(totals(carts.findByCustomerAndCouponStartsWithIgnoreCase(unique, "sPRI"))).containsExactly(20L);
        assertThat(totals(carts.findByCustomerAndCouponContainingOrCustomerAndTotal(unique, "umm", unique, 10)))
                .containsExactlyInAnyOrder(10L, 30L);
        assertThat(carts.countByCustomer(unique)).isEqualTo(3);
        assertThat(carts.existsByCustomerAndCoupon(unique, "summer")).isTrue();
        assertThat(carts.existsByCustomerAndCoupon(unique, "winter")).isFalse();
        assertThat(totals(carts.deleteByCustomer(unique))).containsExactlyInAnyOrder(10L, 20L, 30L);
        assertThat(carts.countByCustomer(unique)).isZero();
        assertThat(carts.countByCustomer(other)).isEqualTo(1);
    }

    @Test
    void queries_are_written_in_annotations() {
        save(unique, null, new Cart.Line("hamlet", 1, 10), new Cart.Line("faust", 2, 10));
        save(unique, null, new Cart.Line("hamlet", 4, 10));

        assertThat(totals(carts.findWithShow(unique, "faust"))).containsExactly(30L);
        assertThat(totals(carts.findAbove(List.of("nobody", unique), 20, Sort.by("total").descending())))
                .containsExactly(40L, 30L);
        assertThat(carts.sumOf(unique)).isEqualTo(70);
        assertThat(carts.countOf(unique)).isEqualTo(2);
        assertThat(carts.countByShow(unique))
                .extracting(row -> row.get("show").asText() + " " + row.get("count").asInt())
                .containsExactlyInAnyOrder("hamlet 5", "faust 2");
    }

    /** Twenty carts of totals 0 to 19, written in another order. */
    private void saveTwenty() {
        carts.saveAll(IntStream.range(0, 20)
                .mapToObj(i -> Cart.of(unique, new Cart.Line("hamlet", 1, i * 7 % 20)))
                .toList());
    }

    @Test
    void pages_follow_each_other_by_continuation_tokens() {
        saveTwenty();
        for (Sort sort : List.of(Sort.unsorted(), Sort.by("total"), Sort.by("total").descending())) {
            List<Long> all = new ArrayList<>();
            Pageable next = new CosmosPageRequest(0, 7, null, sort);
            int pages = 0;
            Page<Cart> page;
            do {
                page = carts.findByCustomer(unique, next);
                assertThat(page.getTotalElements()).isEqualTo(20);
                assertThat(page.getTotalPages()).isEqualTo(3);
                assertThat(page).hasSize(++pages < 3 ? 7 : 6);
                all.addAll(totals(page));
                next = page.nextPageable();
            } while (page.hasNext());
            assertThat(pages).isEqualTo(3);
            if (sort.isSorted()) {
                assertThat(all).isSortedAccordingTo(
                        sort.iterator().next().isAscending() ? Comparator.naturalOrder() : Comparator.reverseOrder());
            }
            assertThat(all).containsExactlyInAnyOrderElementsOf(LongStream.range(0, 20).boxed().toList());
        }
    }

    @Test
    void a_token_kept_by_the_caller_continues_a_query_of_an_annotation() {
        saveTwenty();
        Page<Cart> first = carts.findQueried(unique, new CosmosPageRequest(0, 15, null, Sort.by("total")));
        String token = ((CosmosPageRequest) first.getPageable()).getRequestContinuation();
        assertThat(token).isNotEmpty();
        Page<Cart> second = carts.findQueried(unique, new CosmosPageRequest(0, 15, token, Sort.by("total")));
        assertThat(totals(second)).containsExactly(15L, 16L, 17L, 18L, 19L);
        assertThat(((CosmosPageRequest) second.getPageable()).getRequestContinuation()).isNull();
    }

    @Test
    void slices_follow_each_other_without_a_count() {
        saveTwenty();
        Slice<Cart> slice = carts.findSliceByCustomer(unique, new CosmosPageRequest(0, 8, null, Sort.by("total")));
        List<Long> all = totals(slice);
        while (slice.hasNext()) {
            slice = carts.findSliceByCustomer(unique, slice.nextPageable());
            all.addAll(totals(slice));
        }
        assertThat(all).containsExactlyElementsOf(LongStream.range(0, 20).boxed().toList());
    }

    @Test
    void auditing_says_who_made_and_changed_a_cart_and_when() {
        Cart cart = user.as("ann", () -> save(unique, null));
        assertThat(cart.createdBy).isEqualTo("ann");
        assertThat(cart.changedBy).isEqualTo("ann");
        assertThat(cart.createdAt).isEqualTo(now());
        var created = now();
        advance("1m");
        cart.coupon = "spring";
        Cart unaudited = cart;
        Cart changed = user.as("bob", () -> carts.save(unaudited));
        assertThat(changed.createdBy).isEqualTo("ann");
        assertThat(changed.changedBy).isEqualTo("bob");
        assertThat(changed.createdAt).isEqualTo(created);
        assertThat(changed.changedAt).isEqualTo(now());
    }

    @Test
    void of_two_changes_to_the_same_version_the_second_is_refused() {
        Cart cart = save(unique, null);
        Cart mine = carts.findById(cart.id, new PartitionKey(unique)).orElseThrow();
        Cart yours = carts.findById(cart.id, new PartitionKey(unique)).orElseThrow();
        assertThat(mine.version).isNotEmpty().isEqualTo(yours.version);
        mine.coupon = "mine";
        mine = carts.save(mine);
        assertThat(mine.version).isNotEqualTo(yours.version);
        yours.coupon = "yours";
        assertThatExceptionOfType(CosmosPreconditionFailedException.class).isThrownBy(() -> carts.save(yours));
        assertThatExceptionOfType(CosmosPreconditionFailedException.class).isThrownBy(() -> carts.delete(yours));
        mine.coupon = "mine again";
        carts.save(mine);
        assertThat(carts.findById(cart.id).orElseThrow().coupon).isEqualTo("mine again");
    }

    @Test
    void a_patch_changes_what_it_names_if_its_condition_holds() {
        Cart cart = save(unique, "spring", new Cart.Line("hamlet", 1, 10));
        PartitionKey partition = new PartitionKey(unique);
        var raise = CosmosPatchOperations.create().increment("/total", 5).remove("/coupon");
        Cart patched = carts.save(cart.id, partition, Cart.class, raise,
                new CosmosPatchItemRequestOptions().setFilterPredicate("FROM c WHERE c.total = 10"));
        assertThat(patched.total).isEqualTo(15);
        assertThat(patched.coupon).isNull();
        assertThat(patched.lines).hasSize(1);
        assertThatExceptionOfType(CosmosPreconditionFailedException.class)
                .isThrownBy(() -> carts.save(cart.id, partition, Cart.class, CosmosPatchOperations.create().set("/total", 0),
                        new CosmosPatchItemRequestOptions().setFilterPredicate("FROM c WHERE c.total = 10")));
    }

    @Test
    void many_carts_are_saved_and_deleted_in_bulk() {
        List<Cart> many = new ArrayList<>();
        for (int i = 0; i < 150; i++) {
            many.add(Cart.of(unique + i % 3, new Cart.Line("hamlet", 1, i)));
        }
        List<Cart> saved = new ArrayList<>();
        carts.saveAll(many).forEach(saved::add);
        assertThat(saved).hasSize(150).allMatch(cart -> cart.id != null && !cart.version.isEmpty());
        assertThat(carts.countByCustomer(unique + "1")).isEqualTo(50);
        assertThat(carts.findAllById(saved.subList(0, 10).stream().map(cart -> cart.id).toList())).hasSize(10);
        carts.deleteAll(saved);
        assertThat(carts.countByCustomer(unique + "1")).isZero();
    }

    @Test
    void a_unique_key_holds_within_its_partition() {
        holds.save(Hold.of(unique, "A1", "ann"));
        Hold other = holds.save(Hold.of(unique + "-other", "A1", "ann"));
        assertThatExceptionOfType(CosmosConflictException.class)
                .isThrownBy(() -> holds.save(Hold.of(unique, "A1", "bob")));
        holds.delete(other);
        assertThat(holds.existsByShowAndSeat(unique, "A1")).isTrue();
        assertThat(holds.existsByShowAndSeat(unique + "-other", "A1")).isFalse();
    }

    @Test
    void the_reactive_repository_reads_and_writes_the_same_carts() {
        List<Cart> saved = reactive.saveAll(Flux.range(0, 5).map(i -> Cart.of(unique, new Cart.Line("hamlet", 1, i))))
                .collectList().block();
        assertThat(saved).hasSize(5);
        assertThat(totals(reactive.findByCustomer(unique, Sort.by("total")).collectList().block()))
                .containsExactly(0L, 1L, 2L, 3L, 4L);
        assertThat(carts.countByCustomer(unique)).isEqualTo(5);
        reactive.deleteById(saved.get(0).id, new PartitionKey(unique)).block();
        assertThat(reactive.existsById(saved.get(0).id).block()).isFalse();
        assertThat(reactive.findAll(new PartitionKey(unique)).collectList().block()).hasSize(4);
    }
}
