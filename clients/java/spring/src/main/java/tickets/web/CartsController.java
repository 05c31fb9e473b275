package tickets.web;

import com.azure.cosmos.models.PartitionKey;
import com.azure.spring.data.cosmos.exception.CosmosPreconditionFailedException;
import java.net.URI;
import java.util.List;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;
import tickets.CurrentUser;
import tickets.cosmos.Cart;
import tickets.cosmos.Carts;

@RestController
@RequestMapping("/customers/{customer}/carts")
class CartsController {
    private final Carts carts;
    private final CurrentUser user;

    CartsController(Carts carts, CurrentUser user) {
        this.carts = carts;
        this.user = user;
    }

    record Body(String id, List<Cart.Line> lines, long total) {}

    @PostMapping
    ResponseEntity<Body> create(@PathVariable String customer, @RequestBody List<Cart.Line> lines) {
        Cart cart = Cart.of(customer, lines.toArray(Cart.Line[]::new));
        Cart saved = user.as(customer, () -> carts.save(cart));
        return answer(ResponseEntity.created(URI.create("/customers/" + customer + "/carts/" + saved.id)), saved);
    }

    @GetMapping("/{id}")
    ResponseEntity<Body> read(@PathVariable String customer, @PathVariable String id) {
        return answer(ResponseEntity.ok(), find(customer, id));
    }

    @PutMapping("/{id}")
    ResponseEntity<Body> replace(
            @PathVariable String customer,
            @PathVariable String id,
            @RequestHeader("If-Match") String version,
            @RequestBody List<Cart.Line> lines) {
        Cart cart = find(customer, id);
        cart.put(lines.toArray(Cart.Line[]::new));
        cart.version = version;
        return answer(ResponseEntity.ok(), user.as(customer, () -> carts.save(cart)));
    }

    @ExceptionHandler
    @ResponseStatus(HttpStatus.PRECONDITION_FAILED)
    void changedMeanwhile(CosmosPreconditionFailedException failed) {}

    private Cart find(String customer, String id) {
        return carts.findById(id, new PartitionKey(customer))
                .orElseThrow(() -> new ResponseStatusException(HttpStatus.NOT_FOUND));
    }

    private static ResponseEntity<Body> answer(ResponseEntity.BodyBuilder builder, Cart cart) {
        return builder.eTag(cart.version).body(new Body(cart.id, cart.lines, cart.total));
    }
}
