package tickets;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.PartitionKey;
import com.azure.spring.data.cosmos.core.query.CosmosPageRequest;
import com.azure.spring.data.cosmos.exception.CosmosConflictException;
import com.azure.spring.data.cosmos.exception.CosmosNotFoundException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.data.domain.Sort;
import tickets.cosmos.Cart;
import tickets.cosmos.Carts;
import tickets.cosmos.Hold;
import tickets.cosmos.Holds;
import tickets.cosmos.Purchase;
import tickets.cosmos.Purchases;
import tickets.cosmos.ReactiveCarts;

class CartsExpireTest extends TicketsTest {
    @Autowired Carts carts;
    @Autowired ReactiveCarts reactive;
    @Autowired Holds holds;
    @Autowired Purchases purchases;

    private Cart cart() {
        Cart cart = Cart.of(unique);
        cart.coupon = "spring";
        return cart;
    }

    private void assertLive(Cart cart) {
        assertThat(carts.findById(cart.id, new PartitionKey(unique))).isPresent();
        assertThat(carts.existsById(cart.id)).isTrue();
        assertThat(carts.existsByCustomerAndCoupon(unique, "spring")).isTrue();
        assertThat(carts.countByCustomer(unique)).isEqualTo(1);
        assertThat(carts.countOf(unique)).isEqualTo(1);
        assertThat(carts.findByCustomer(unique, new CosmosPageRequest(0, 10, null))).hasSize(1);
        assertThat(carts.findAll(new PartitionKey(unique))).hasSize(1);
        assertThat(reactive.findById(cart.id, new PartitionKey(unique)).block()).isNotNull();
    }

    private void assertExpired(Cart cart) {
        assertThat(carts.findById(cart.id, new PartitionKey(unique))).isEmpty();
        assertThat(carts.findById(cart.id)).isEmpty();
        assertThat(carts.existsById(cart.id)).isFalse();
        assertThat(carts.existsByCustomerAndCoupon(unique, "spring")).isFalse();
        assertThat(carts.countByCustomer(unique)).isZero();
        assertThat(carts.countOf(unique)).isZero();
        assertThat(carts.findByCustomer(unique)).isEmpty();
        assertThat(carts.findByCustomer(unique, new CosmosPageRequest(0, 10, null)).getTotalElements()).isZero();
        assertThat(carts.findSliceByCustomer(unique, new CosmosPageRequest(0, 10, null))).isEmpty();
        assertThat(carts.findAll(new PartitionKey(unique))).isEmpty();
        assertThat(reactive.findById(cart.id, new PartitionKey(unique)).block()).isNull();
        assertThat(reactive.findByCustomer(unique, Sort.by("id")).collectList().block()).isEmpty();
    }

    @Test
    void a_cart_expires_as_many_seconds_after_its_last_change_as_the_annotation_says() {
        Cart cart = carts.save(cart());
        advance(Cart.SECONDS - 1 + "s");
        advance("999ms");
        assertLive(cart);
        advance("1ms");
        assertExpired(cart);
    }

    @Test
    void a_cart_with_its_own_ttl_expires_then_and_one_with_minus_one_never() {
        Cart soon = cart();
        soon.ttl = 10;
        soon = carts.save(soon);
        advance("9999ms");
        assertLive(soon);
        advance("1ms");
        assertExpired(soon);

        Cart kept = cart();
        kept.ttl = -1;
        kept = carts.save(kept);
        advance("3650d");
        assertLive(kept);
    }

    @Test
    void saving_a_cart_and_patching_it_start_its_time_again() {
        Cart cart = carts.save(cart());
        advance(Cart.SECONDS - 1 + "s");
        cart = carts.save(cart);
        advance(Cart.SECONDS - 1 + "s");
        assertLive(cart);
        cart = carts.save(cart.id, new PartitionKey(unique), Cart.class, CosmosPatchOperations.create().set("/ttl", 5));
        assertThat(cart.ttl).isEqualTo(5);
        advance("4s");
        assertLive(cart);
        advance("1s");
        assertExpired(cart);
    }

    @Test
    void an_expired_cart_cannot_be_saved_patched_or_deleted() {
        Cart cart = carts.save(cart());
        advance(Cart.SECONDS + "s");
        PartitionKey partition = new PartitionKey(unique);
        assertThatExceptionOfType(CosmosNotFoundException.class)
                .isThrownBy(() -> carts.deleteById(cart.id, partition));
        assertThatExceptionOfType(CosmosNotFoundException.class)
                .isThrownBy(() -> carts.save(
                        cart.id, partition, Cart.class, CosmosPatchOperations.create().set("/total", 1)));
        assertThat(carts.deleteByCustomer(unique)).isEmpty();
        assertExpired(cart);
    }

    @Test
    void pages_begun_before_carts_expire_go_on_without_them() {
        List<Cart> all = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            Cart cart = Cart.of(unique, new Cart.Line("show", 1, i));
            cart.ttl = i % 2 == 0 ? 100 : 50;
            all.add(carts.save(cart));
        }
        var first = carts.findByCustomer(unique, new CosmosPageRequest(0, 2, null, Sort.by("total")));
        assertThat(first).extracting(cart -> cart.total).containsExactly(0L, 1L);
        advance("50s");
        var second = carts.findByCustomer(unique, first.nextPageable());
        assertThat(second).extracting(cart -> cart.total).containsExactly(2L, 4L);
        assertThat(carts.countByCustomer(unique)).isEqualTo(3);
    }

    @Test
    void a_seat_can_be_held_again_when_the_hold_has_expired() {
        holds.save(Hold.of(unique, "A1", "ann"));
        assertThatExceptionOfType(CosmosConflictException.class)
                .isThrownBy(() -> holds.save(Hold.of(unique, "A1", "bob")));
        holds.save(Hold.of(unique, "A2", "bob"));
        advance(Hold.SECONDS - 1 + "s");
        assertThat(holds.existsByShowAndSeat(unique, "A1")).isTrue();
        assertThatExceptionOfType(CosmosConflictException.class)
                .isThrownBy(() -> holds.save(Hold.of(unique, "A1", "bob")));
        advance("1s");
        assertThat(holds.existsByShowAndSeat(unique, "A1")).isFalse();
        assertThat(holds.countByShow(unique)).isZero();
        assertThat(holds.save(Hold.of(unique, "A1", "bob")).customer).isEqualTo("bob");
        assertThat(holds.countByShow(unique)).isEqualTo(1);
    }

    @Test
    void a_container_without_a_default_keeps_its_items() {
        Purchase purchase = purchases.save(Purchase.of("1", unique, "ann", "hamlet", 20));
        advance("3650d");
        assertThat(purchases.findById("1", purchase.partition())).isPresent();
    }
}
