package lapsedb.cosmos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import lapsedb.Server;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Java example of the README does what its comments say, over HTTP and over HTTPS. */
class ReadmeTest {
    private static final Path README = Path.of("../../../README.md");
    private static final String USUAL = "localhost:8081";
    private static final long SECONDS_MAX = 120;

    @TempDir
    Path folder;

    /** The section about Java, with the server's address instead of the usual one. */
    private static String section(Server server) throws IOException {
        String page = Files.readString(README);
        String section = only(page, "(?ms)^### Java$(.*?)^### ");
        assertTrue(section.contains(USUAL), section);
        return section.replace(USUAL, server.url("http").replaceAll("^http://|/$", ""));
    }

    private static String only(String text, String pattern) {
        List<String> found = Pattern.compile(pattern).matcher(text).results().map((MatchResult match) -> match.group(1)).toList();
        assertEquals(1, found.size(), pattern);
        return found.get(0);
    }

    private static String example(String section) {
        return only(section, "(?ms)^```java\n(.*?)^```$");
    }

    /** What the section says to type, the Maven command apart: it is what brought the SDK here. */
    private static List<String> commands(String section) {
        return Pattern.compile("(?m)^    ((?:curl|keytool|java) .*)$").matcher(section).results().map(match -> match.group(1)).toList();
    }

    /** Puts the SDK and what it needs where the Maven command of the section would put them. */
    private void copyDependencies(String section) throws IOException {
        Path dependencies = Files.createDirectories(folder.resolve("target/dependency"));
        for (String path : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (path.endsWith(".jar")) {
                Files.copy(Path.of(path), dependencies.resolve(Path.of(path).getFileName()));
            }
        }
        String version = only(section, "(?s)<artifactId>azure-cosmos</artifactId>\\s*<version>(.*?)</version>");
        assertTrue(Files.exists(dependencies.resolve("azure-cosmos-" + version + ".jar")), "the README names version " + version);
    }

    /** What the commands print, run beside the example. */
    private String ran(String section, String example, List<String> commands) throws IOException, InterruptedException {
        copyDependencies(section);
        Files.writeString(folder.resolve("Baskets.java"), example);
        Path output = folder.resolve("output");
        Path errors = folder.resolve("errors");
        ProcessBuilder shell = new ProcessBuilder("sh", "-ec", String.join("\n", commands))
                .directory(folder.toFile()).redirectOutput(output.toFile()).redirectError(errors.toFile());
        shell.environment().put("PATH", Path.of(System.getProperty("java.home"), "bin") + File.pathSeparator + System.getenv("PATH"));
        shell.environment().put("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -DCOSMOS.DISABLE_IMDS_ACCESS=true");
        Process process = shell.start();
        boolean ended = process.waitFor(SECONDS_MAX, TimeUnit.SECONDS);
        process.destroyForcibly().waitFor();
        assertTrue(ended && process.exitValue() == 0, Files.readString(errors));
        return Files.readString(output);
    }

    @Test
    void itRunsOverHttp() throws Exception {
        try (Server server = Server.start("--memory", "--virtual-clock")) {
            String section = section(server);
            assertEquals("2: 404\n3\n", ran(section, example(section), commands(section).subList(0, 1)));
        }
    }

    @Test
    void itRunsOverHttpsWithTheTrustStoreThatItSays() throws Exception {
        try (Server server = Server.start("--memory", "--virtual-clock")) {
            String section = section(server);
            String example = example(section).replace("\"http://", "\"https://");
            List<String> commands = commands(section);
            assertEquals("2: 404\n3\n", ran(section, example, commands.subList(1, commands.size())));
        }
    }
}
