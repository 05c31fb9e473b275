package pastes;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import io.micronaut.core.annotation.Nullable;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

@Singleton
public class Pastes {
    private final CosmosContainer container;

    Pastes(CosmosContainer container) {
        this.container = container;
    }

    /** With `ttl` the paste is kept for as many seconds, with -1 for good. */
    public Paste create(String author, String text, @Nullable Integer ttl) {
        Paste paste = new Paste(UUID.randomUUID().toString(), author, text, ttl, null);
        return container.createItem(paste, new PartitionKey(author), null).getItem();
    }

    public Optional<Paste> find(String author, String id) {
        try {
            return Optional.of(container.readItem(id, new PartitionKey(author), Paste.class).getItem());
        } catch (CosmosException failed) {
            return none(failed);
        }
    }

    /** The paste with the new text, or nothing if it has expired; fails if the paste is no longer the one given. */
    public Optional<Paste> change(Paste paste, String text) {
        Paste changed = new Paste(paste.id(), paste.author(), text, paste.ttl(), null);
        var options = new CosmosItemRequestOptions().setIfMatchETag(paste.etag());
        try {
            return Optional.of(container.replaceItem(changed, paste.id(), new PartitionKey(paste.author()), options).getItem());
        } catch (CosmosException failed) {
            return none(failed);
        }
    }

    public boolean delete(String author, String id) {
        try {
            container.deleteItem(id, new PartitionKey(author), null);
            return true;
        } catch (CosmosException failed) {
            return none(failed).isPresent();
        }
    }

    public record Page(List<Paste> pastes, @Nullable String next) {}

    /** A page of the author's pastes in the order of their texts; `next` of one page continues with the following. */
    public Page page(String author, int size, @Nullable String next) {
        var query = new SqlQuerySpec(
                "SELECT * FROM c WHERE c.author = @author ORDER BY c.text", new SqlParameter("@author", author));
        FeedResponse<Paste> page = container.queryItems(query, new CosmosQueryRequestOptions(), Paste.class)
                .iterableByPage(next, size)
                .iterator()
                .next();
        return new Page(page.getResults(), page.getContinuationToken());
    }

    public int count(String author) {
        var query = new SqlQuerySpec(
                "SELECT VALUE COUNT(1) FROM c WHERE c.author = @author", new SqlParameter("@author", author));
        return container.queryItems(query, new CosmosQueryRequestOptions(), Integer.class).iterator().next();
    }

    private static Optional<Paste> none(CosmosException failed) {
        if (failed.getStatusCode() != 404) {
            throw failed;
        }
        return Optional.empty();
    }
}
