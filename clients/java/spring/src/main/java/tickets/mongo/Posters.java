package tickets.mongo;

import com.mongodb.client.gridfs.model.GridFSFile;
import java.io.IOException;
import java.io.InputStream;
import java.util.Optional;
import org.bson.Document;
import org.springframework.data.mongodb.core.query.Criteria;
import org.springframework.data.mongodb.core.query.Query;
import org.springframework.data.mongodb.gridfs.GridFsOperations;
import org.springframework.data.mongodb.gridfs.GridFsResource;
import org.springframework.stereotype.Service;

/** One picture per show, in GridFS. */
@Service
public class Posters {
    private final GridFsOperations files;

    Posters(GridFsOperations files) {
        this.files = files;
    }

    /** Replaces the poster that the show had. */
    public void put(String show, InputStream content, String type) {
        files.delete(of(show));
        files.store(content, show + ".poster", type, new Document("show", show));
    }

    public Optional<GridFsResource> find(String show) {
        GridFSFile file = files.findOne(of(show));
        return Optional.ofNullable(file).map(files::getResource);
    }

    public byte[] content(String show) throws IOException {
        return find(show).orElseThrow().getContentAsByteArray();
    }

    private static Query of(String show) {
        return Query.query(Criteria.where("metadata.show").is(show));
    }
}
