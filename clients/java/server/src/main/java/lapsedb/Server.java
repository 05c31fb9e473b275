package lapsedb;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One server process on free ports. Its store outlives {@link #stop}, so that it can be started again. */
public final class Server implements AutoCloseable {
    /** The key every emulator publishes; a server on a loopback address takes it by default. */
    public static final String KEY =
            "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

    private static final Pattern READY = Pattern.compile("ready nosql=127\\.0\\.0\\.1:(\\d+)(?: mongo=127\\.0\\.0\\.1:(\\d+))?");
    private static final Pattern NOW = Pattern.compile("\"nowMillis\"\\s*:\\s*(\\d+)");
    private static final long STOP_SECONDS_MAX = 20;
    private static final Set<Server> RUNNING = ConcurrentHashMap.newKeySet();

    private final HttpClient http = HttpClient.newHttpClient();
    private final List<String> flags;
    private final Path folder;
    private Process process;
    private int port;
    private int mongoPort;

    private Server(List<String> flags) throws IOException {
        this.flags = flags;
        this.folder = Files.createTempDirectory("lapsedb-");
    }

    /** Starts a server with a new store, both APIs on free ports. */
    public static Server start(String... flags) {
        try {
            Server server = new Server(List.of(flags));
            server.start();
            return server;
        } catch (IOException cannot) {
            throw new UncheckedIOException(cannot);
        }
    }

    /** Starts the server again on the store it had; its ports are others. */
    public void start() throws IOException {
        String binary = System.getenv("LAPSEDB_BIN");
        if (binary == null) {
            throw new IllegalStateException("LAPSEDB_BIN names the server to test; `make test` sets it");
        }
        List<String> command = new ArrayList<>(List.of(binary, "--port", "0", "--mongo-port", "0"));
        if (!flags.contains("--memory")) {
            command.addAll(List.of("--data-path", folder.resolve("data").toString()));
        }
        command.addAll(flags);
        process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.appendTo(log().toFile()))
                .start();
        // A test process that ends without closing the server leaves neither it nor its store behind.
        Runtime.getRuntime().addShutdownHook(new Thread(this::abandon));
        String line = new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
        Matcher ready = READY.matcher(line == null ? "" : line);
        if (!ready.find()) {
            throw new IOException("not ready: " + line + "\n" + Files.readString(log()));
        }
        RUNNING.add(this);
        port = Integer.parseInt(ready.group(1));
        mongoPort = Integer.parseInt(ready.group(2));
    }

    /** Asks the server to stop as an operator would, and holds it to exit code 0. */
    public void stop() throws IOException, InterruptedException {
        RUNNING.remove(this);
        process.destroy();
        if (!process.waitFor(STOP_SECONDS_MAX, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new IOException("the server does not stop\n" + Files.readString(log()));
        }
        if (process.exitValue() != 0) {
            throw new IOException("exit code " + process.exitValue() + "\n" + Files.readString(log()));
        }
    }

    /** Stops the server and removes its store. */
    @Override
    public void close() {
        try {
            stop();
            removeFolder();
        } catch (IOException cannot) {
            throw new UncheckedIOException(cannot);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Closes the servers that nobody has closed. */
    static void closeAll() {
        List.copyOf(RUNNING).forEach(Server::close);
    }

    private void abandon() {
        try {
            process.destroyForcibly().waitFor();
            removeFolder();
        } catch (IOException | InterruptedException cannot) {
            // The process ends: there is nobody to report it to.
        }
    }

    private void removeFolder() throws IOException {
        if (Files.exists(folder)) {
            try (var paths = Files.walk(folder)) {
                for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(path);
                }
            }
        }
    }

    /** Where the NoSQL API listens: "https" or "http", on one port. */
    public String url(String scheme) {
        return scheme + "://localhost:" + port + "/";
    }

    /** Where the MongoDB API listens. */
    public String mongoUrl(String database) {
        return "mongodb://127.0.0.1:" + mongoPort + "/" + database;
    }

    /** The certificate the server made for itself. */
    public X509Certificate certificate() throws IOException, GeneralSecurityException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url("http") + "_explorer/emulator.pem")).build();
        byte[] pem = bytes(send(request));
        return (X509Certificate) CertificateFactory.getInstance("X.509")
                .generateCertificate(new ByteArrayInputStream(pem));
    }

    /** A trust store with the server's certificate alone, as a file; its password is "changeit". */
    public Path trustStore() throws IOException, GeneralSecurityException {
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("lapsedb", certificate());
        Path file = folder.resolve("trust.p12");
        try (var out = Files.newOutputStream(file)) {
            trusted.store(out, "changeit".toCharArray());
        }
        return file;
    }

    /** Moves the virtual clock: "30d", "1h30m", "1ms"; returns the new time in milliseconds. */
    public long advance(String span) {
        return clock(BodyPublishers.ofString("{\"advance\":\"" + span + "\"}"), "POST");
    }

    /** Moves the virtual clock to the start of a second, so that `_ts` is exact. */
    public long align() {
        long now = clock(BodyPublishers.noBody(), "GET");
        return advance((1000 - now % 1000) + "ms");
    }

    private long clock(HttpRequest.BodyPublisher body, String method) {
        String answer = new String(bytes(send(HttpRequest.newBuilder(URI.create(url("http") + "_lapsedb/clock"))
                .header("authorization", "Bearer " + KEY)
                .method(method, body)
                .build())));
        Matcher now = NOW.matcher(answer);
        if (!now.find()) {
            throw new IllegalStateException("clock: " + answer);
        }
        return Long.parseLong(now.group(1));
    }

    private HttpResponse<byte[]> send(HttpRequest request) {
        try {
            return http.send(request, BodyHandlers.ofByteArray());
        } catch (IOException cannot) {
            throw new UncheckedIOException(cannot);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(interrupted);
        }
    }

    private static byte[] bytes(HttpResponse<byte[]> answer) {
        if (answer.statusCode() != 200) {
            throw new IllegalStateException(answer.statusCode() + " " + new String(answer.body()));
        }
        return answer.body();
    }

    private Path log() {
        return folder.resolve("log");
    }
}
