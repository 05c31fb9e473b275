package tickets.web;

import java.io.InputStream;
import java.time.Clock;
import java.util.List;
import org.springframework.core.io.Resource;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;
import tickets.mongo.Posters;
import tickets.mongo.Sales;
import tickets.mongo.SalesBoard;
import tickets.mongo.Session;
import tickets.mongo.Sessions;
import tickets.mongo.Ticket;

@RestController
@RequestMapping
class ShowsController {
    private final Sessions sessions;
    private final Sales sales;
    private final SalesBoard board;
    private final Posters posters;
    private final Clock clock;

    ShowsController(Sessions sessions, Sales sales, SalesBoard board, Posters posters, Clock clock) {
        this.sessions = sessions;
        this.sales = sales;
        this.board = board;
        this.posters = posters;
        this.clock = clock;
    }

    @PostMapping("/sessions")
    Session logIn(@RequestParam String customer) {
        return sessions.insert(new Session(null, customer, clock.instant()));
    }

    /** Who has no session, or had one and did not use it for too long, is told to log in. */
    @PostMapping("/shows/{show}/tickets")
    List<Ticket> buy(@PathVariable String show, @RequestParam int count, @RequestHeader("X-Session") String id) {
        Session session =
                sessions.findById(id).orElseThrow(() -> new ResponseStatusException(HttpStatus.UNAUTHORIZED));
        sessions.use(id, clock.instant());
        return sales.sell(show, session.customer(), count);
    }

    @GetMapping("/shows/{show}/sold")
    int sold(@PathVariable String show) {
        return board.sold(show);
    }

    @PutMapping("/shows/{show}/poster")
    void putPoster(@PathVariable String show, @RequestHeader("Content-Type") String type, InputStream content) {
        posters.put(show, content, type);
    }

    @GetMapping("/shows/{show}/poster")
    ResponseEntity<Resource> poster(@PathVariable String show) {
        var poster = posters.find(show).orElseThrow(() -> new ResponseStatusException(HttpStatus.NOT_FOUND));
        return ResponseEntity.ok().contentType(MediaType.parseMediaType(poster.getContentType())).body(poster);
    }

    @ExceptionHandler
    @ResponseStatus(HttpStatus.CONFLICT)
    void soldOut(Sales.SoldOut soldOut) {}
}
