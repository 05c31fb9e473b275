package lapsedb.mongo;

import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Indexes.ascending;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.mongodb.MongoGridFSException;
import com.mongodb.client.ClientSession;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.gridfs.GridFSBucket;
import com.mongodb.client.gridfs.GridFSBuckets;
import com.mongodb.client.gridfs.GridFSDownloadStream;
import com.mongodb.client.gridfs.GridFSUploadStream;
import com.mongodb.client.gridfs.model.GridFSDownloadOptions;
import com.mongodb.client.gridfs.model.GridFSFile;
import com.mongodb.client.gridfs.model.GridFSUploadOptions;
import com.mongodb.client.model.IndexOptions;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.bson.BsonString;
import org.bson.Document;
import org.bson.types.ObjectId;
import org.junit.jupiter.api.Test;

/** Files in chunks: uploaded, read whole, in part and by revision, renamed, deleted, expired. */
class GridFsTest extends MongoTest {
    private final GridFSBucket bucket = GridFSBuckets.create(database, "files");
    private final MongoCollection<Document> files = database.getCollection("files.files");
    private final MongoCollection<Document> chunks = database.getCollection("files.chunks");

    private static byte[] bytes(int size) {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        return bytes;
    }

    private ObjectId upload(String name, byte[] content) {
        return bucket.uploadFromStream(name, new ByteArrayInputStream(content), new GridFSUploadOptions().chunkSizeBytes(1000));
    }

    private byte[] download(ObjectId id) {
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        bucket.downloadToStream(id, content);
        return content.toByteArray();
    }

    private byte[] revision(String name, int revision) {
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        bucket.downloadToStream(name, content, new GridFSDownloadOptions().revision(revision));
        return content.toByteArray();
    }

    @Test
    void aLargeFileIsKeptInChunksAndReadWhole() {
        byte[] content = bytes(5_000_123);
        ObjectId id = bucket.uploadFromStream("large", new ByteArrayInputStream(content),
                new GridFSUploadOptions().metadata(doc("{kind: 'k'}")));
        assertArrayEquals(content, download(id));
        GridFSFile file = bucket.find(eq("metadata.kind", "k")).first();
        assertEquals(5_000_123, file.getLength());
        assertEquals(255 * 1024, file.getChunkSize());
        assertEquals(20, chunks.countDocuments(eq("files_id", id)));
        assertEquals("files_id_1_n_1", list(chunks.listIndexes()).get(1).get("name"));
        assertEquals("filename_1_uploadDate_1", list(files.listIndexes()).get(1).get("name"));
    }

    @Test
    void filesOfAnySizeAreReadAsTheyWere() {
        for (int size : List.of(0, 1, 999, 1000, 1001, 2000)) {
            assertArrayEquals(bytes(size), download(upload("f" + size, bytes(size))));
            assertEquals((size + 999) / 1000, chunks.countDocuments(), "chunks of " + size);
            bucket.drop();
        }
    }

    @Test
    void revisionsOfANameAreCountedFromTheFirstAndTheLast() {
        // They are told apart by the time of their upload, which is the client's and may be the same for two.
        List<ObjectId> ids = new ArrayList<>();
        for (int n = 0; n < 3; n++) {
            ids.add(upload("name", bytes(n)));
            files.updateOne(eq(ids.get(n)), new Document("$set", new Document("uploadDate", date(n))));
        }
        assertArrayEquals(bytes(0), revision("name", 0));
        assertArrayEquals(bytes(1), revision("name", 1));
        assertArrayEquals(bytes(2), revision("name", -1));
        assertArrayEquals(bytes(1), revision("name", -2));
        assertThrows(MongoGridFSException.class, () -> revision("name", 3));
        bucket.rename(ids.get(2), "other");
        assertArrayEquals(bytes(1), revision("name", -1));
        assertArrayEquals(bytes(2), revision("other", 0));
        assertThrows(MongoGridFSException.class, () -> bucket.rename(new ObjectId(), "none"));
    }

    @Test
    void aDeletedFileLeavesNoChunks() {
        ObjectId first = upload("a", bytes(3000));
        ObjectId second = upload("b", bytes(3000));
        bucket.delete(first);
        assertThrows(MongoGridFSException.class, () -> download(first));
        assertThrows(MongoGridFSException.class, () -> bucket.delete(first));
        assertEquals(3, chunks.countDocuments());
        assertArrayEquals(bytes(3000), download(second));
        bucket.drop();
        assertEquals(List.of(), database.listCollectionNames().into(new ArrayList<>()));
    }

    @Test
    void aStreamReadsFromTheMiddleAndAgainFromAMark() {
        byte[] content = bytes(4500);
        ObjectId id = upload("f", content);
        try (GridFSDownloadStream stream = bucket.openDownloadStream(id).batchSize(1)) {
            assertEquals(2500, stream.skip(2500));
            stream.mark();
            assertEquals(content[2500] & 0xff, stream.read());
            stream.reset();
            byte[] rest = new byte[2000];
            int read = 0;
            while (read < rest.length) {
                read += stream.read(rest, read, rest.length - read);
            }
            assertArrayEquals(Arrays.copyOfRange(content, 2500, 4500), rest);
            assertEquals(-1, stream.read());
        }
    }

    @Test
    void anAbortedUploadLeavesNothing() {
        GridFSUploadStream stream = bucket.openUploadStream("f", new GridFSUploadOptions().chunkSizeBytes(100));
        stream.write(bytes(950));
        assertEquals(9, chunks.countDocuments());
        stream.abort();
        assertEquals(0, chunks.countDocuments());
        assertNull(bucket.find().first());
    }

    @Test
    void aMissingChunkIsNoticed() {
        ObjectId id = upload("f", bytes(3000));
        chunks.deleteOne(eq("n", 1));
        assertThrows(MongoGridFSException.class, () -> download(id));
    }

    @Test
    void filesHaveIdsOfAnyType() {
        bucket.uploadFromStream(new BsonString("own"), "f", new ByteArrayInputStream(bytes(10)));
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        bucket.downloadToStream(new BsonString("own"), content);
        assertArrayEquals(bytes(10), content.toByteArray());
        refused(11000, () -> bucket.uploadFromStream(new BsonString("own"), "f", new ByteArrayInputStream(bytes(10))));
    }

    @Test
    void anUploadInATransactionIsRolledBackWithIt() {
        upload("first", bytes(1));
        try (ClientSession session = client.startSession()) {
            session.startTransaction();
            ObjectId id = bucket.uploadFromStream(session, "f", new ByteArrayInputStream(bytes(10)));
            assertTrue(bucket.find(session, eq(id)).iterator().hasNext());
            session.abortTransaction();
        }
        assertEquals(List.of("first"), bucket.find().map(GridFSFile::getFilename).into(new ArrayList<>()));
        assertEquals(1, chunks.countDocuments());
    }

    @Test
    void filesExpireByTheirMetadata() {
        long now = server.align();
        upload("first", bytes(1));
        files.createIndex(ascending("metadata.until"), new IndexOptions().expireAfter(0L, TimeUnit.SECONDS));
        ObjectId id = bucket.uploadFromStream("f", new ByteArrayInputStream(bytes(10)),
                new GridFSUploadOptions().metadata(new Document("until", date(now + 1_000))));
        server.advance("999ms");
        assertArrayEquals(bytes(10), download(id));
        server.advance("1ms");
        assertThrows(MongoGridFSException.class, () -> download(id));
        assertEquals(List.of("first"), bucket.find().map(GridFSFile::getFilename).into(new ArrayList<>()));
    }
}
