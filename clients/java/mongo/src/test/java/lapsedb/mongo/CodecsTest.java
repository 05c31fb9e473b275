package lapsedb.mongo;

import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Filters.gt;
import static com.mongodb.client.model.Updates.push;
import static com.mongodb.client.model.Updates.set;
import static org.bson.codecs.configuration.CodecRegistries.fromProviders;
import static org.bson.codecs.configuration.CodecRegistries.fromRegistries;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import com.mongodb.MongoClientSettings;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.model.FindOneAndUpdateOptions;
import com.mongodb.client.model.ReturnDocument;
import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.bson.Document;
import org.bson.UuidRepresentation;
import org.bson.codecs.configuration.CodecRegistry;
import org.bson.codecs.pojo.PojoCodecProvider;
import org.bson.codecs.pojo.annotations.BsonDiscriminator;
import org.bson.codecs.pojo.annotations.BsonId;
import org.bson.codecs.pojo.annotations.BsonProperty;
import org.bson.types.Decimal128;
import org.bson.types.ObjectId;
import org.junit.jupiter.api.Test;

/** Applications keep objects of their own classes, without documents in between. */
class CodecsTest extends MongoTest {
    private static final CodecRegistry CLASSES = fromRegistries(MongoClientSettings.getDefaultCodecRegistry(),
            fromProviders(PojoCodecProvider.builder().automatic(true).build()));

    public record Line(String product, int count) {}

    public record Order(@BsonId ObjectId id, @BsonProperty("who") String customer, List<Line> lines, Map<String, Long> totals,
            Instant at, LocalDate due, BigDecimal price, UUID token) {}

    @BsonDiscriminator(key = "kind", value = "shape")
    public static class Shape {
        public int id;
        public String name;
    }

    @BsonDiscriminator(key = "kind", value = "circle")
    public static class Circle extends Shape {
        public double radius;
        public List<Shape> inner = new ArrayList<>();
    }

    @Test
    void recordsAreStoredFoundAndChanged() {
        try (var own = OneServer.client(settings -> settings.uuidRepresentation(UuidRepresentation.STANDARD))) {
            MongoCollection<Order> orders = own.getDatabase(database.getName()).getCollection("orders", Order.class);
            Order order = new Order(new ObjectId(), "ada", List.of(new Line("tea", 2)), Map.of("net", 3_000_000_000L),
                    Instant.ofEpochMilli(1), LocalDate.of(2030, 2, 3), new BigDecimal("9.90"), new UUID(1, 2));
            orders.insertOne(order);
            assertEquals(order, orders.find(eq("lines.product", "tea")).first());
            assertEquals(order, orders.find(eq("token", new UUID(1, 2))).first());
            Order after = orders.findOneAndUpdate(gt("price", new BigDecimal("9.8")), push("lines", new Line("milk", 1)),
                    new FindOneAndUpdateOptions().returnDocument(ReturnDocument.AFTER));
            assertNotNull(after);
            assertEquals(List.of(new Line("tea", 2), new Line("milk", 1)), after.lines());
            Document stored = database.getCollection("orders").find().first();
            assertEquals("ada", stored.get("who"));
            assertEquals(Decimal128.parse("9.90"), stored.get("price"));
            assertEquals(date(1), stored.get("at"));
        }
    }

    @Test
    void classesAreStoredWithTheirKindAndReadAsIt() {
        MongoCollection<Shape> shapes = database.getCollection("shapes", Shape.class).withCodecRegistry(CLASSES);
        Circle circle = new Circle();
        circle.id = 1;
        circle.name = "sun";
        circle.radius = 1.5;
        Shape inside = new Shape();
        inside.id = 2;
        circle.inner.add(inside);
        shapes.insertOne(circle);
        shapes.updateOne(eq("inner._id", 2), set("radius", 2.5));
        Circle found = assertInstanceOf(Circle.class, shapes.find(eq("kind", "circle")).first());
        assertEquals(2.5, found.radius);
        assertEquals("sun", found.name);
        assertEquals(2, found.inner.get(0).id);
        assertEquals("shape", database.getCollection("shapes").find().first().getList("inner", Document.class).get(0).get("kind"));
    }
}
