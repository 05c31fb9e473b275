package tickets.web;

import com.azure.spring.data.cosmos.core.query.CosmosPageRequest;
import java.util.List;
import org.springframework.data.domain.Sort;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import tickets.cosmos.Purchase;
import tickets.cosmos.Purchases;

@RestController
class PurchasesController {
    private final Purchases purchases;

    PurchasesController(Purchases purchases) {
        this.purchases = purchases;
    }

    /** A page of purchases; the header names the next one, and is missing from the last. */
    @GetMapping("/venues/{venue}/customers/{customer}/purchases")
    ResponseEntity<List<Purchase>> page(
            @PathVariable String venue,
            @PathVariable String customer,
            @RequestParam int size,
            @RequestParam(required = false) String continuation) {
        var page = purchases.findByVenueAndCustomer(
                venue, customer, new CosmosPageRequest(0, size, continuation, Sort.by("id")));
        String next = ((CosmosPageRequest) page.getPageable()).getRequestContinuation();
        var answer = ResponseEntity.ok();
        if (next != null) {
            answer.header("continuation", next);
        }
        return answer.body(page.getContent());
    }
}
