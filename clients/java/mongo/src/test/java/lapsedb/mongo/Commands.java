package lapsedb.mongo;

import com.mongodb.event.CommandFailedEvent;
import com.mongodb.event.CommandListener;
import com.mongodb.event.CommandStartedEvent;
import com.mongodb.event.CommandSucceededEvent;
import java.util.ArrayList;
import java.util.List;
import org.bson.BsonDocument;

/** Notes what a client sends and what it is answered. */
final class Commands implements CommandListener {
    private final List<BsonDocument> sent = new ArrayList<>();
    private final List<BsonDocument> answers = new ArrayList<>();
    private final List<String> failed = new ArrayList<>();

    // The driver reuses the buffers behind its events.
    private static BsonDocument copy(BsonDocument document) {
        return BsonDocument.parse(document.toJson());
    }

    @Override
    public synchronized void commandStarted(CommandStartedEvent event) {
        sent.add(copy(event.getCommand()));
    }

    @Override
    public synchronized void commandSucceeded(CommandSucceededEvent event) {
        answers.add(copy(event.getResponse()));
    }

    @Override
    public synchronized void commandFailed(CommandFailedEvent event) {
        failed.add(event.getCommandName());
    }

    synchronized List<String> names() {
        return sent.stream().map(BsonDocument::getFirstKey).toList();
    }

    synchronized List<BsonDocument> sent(String name) {
        return sent.stream().filter(command -> command.getFirstKey().equals(name)).toList();
    }

    synchronized List<BsonDocument> answers() {
        return List.copyOf(answers);
    }

    synchronized List<String> failed() {
        return List.copyOf(failed);
    }

    /** How many documents each batch of cursors had. */
    synchronized List<Integer> batches() {
        return answers.stream().filter(answer -> answer.containsKey("cursor")).map(answer -> answer.getDocument("cursor"))
                .map(cursor -> cursor.getArray(cursor.containsKey("firstBatch") ? "firstBatch" : "nextBatch").size()).toList();
    }
}
