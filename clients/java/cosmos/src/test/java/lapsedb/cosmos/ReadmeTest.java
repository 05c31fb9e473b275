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

    private static String block(String section, String language) {
        return only(section, "(?ms)^```" + language + "\n(.*?)^```$");
    }

    /** What the section says to type, in the order of the page. */
    private static List<String> commands(String section, String pattern) {
        return Pattern.compile("(?m)^    (" + pattern + ".*)$").matcher(section).results().map(match -> match.group(1)).toList();
    }

    /** What the commands print, run in the folder as a user would. */
    private String ran(List<String> commands) throws IOException, InterruptedException {
        Path output = folder.resolve("output");
        Path errors = folder.resolve("errors");
        // Maven stays offline, and uses the repository, as the one that runs this test.
        String maven = """
                mvn() {
                    command mvn $LAPSEDB_MAVEN_OFFLINE "-Dmaven.repo.local=${LAPSEDB_MAVEN_REPOSITORY:-$HOME/.m2/repository}" "$@"
                }
                """;
        ProcessBuilder shell = new ProcessBuilder("sh", "-ec", maven + String.join("\n", commands))
                .directory(folder.toFile()).redirectOutput(output.toFile()).redirectError(errors.toFile());
        shell.environment().put("PATH", Path.of(System.getProperty("java.home"), "bin") + File.pathSeparator + System.getenv("PATH"));
        shell.environment().put("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -DCOSMOS.DISABLE_IMDS_ACCESS=true");
        Process process = shell.start();
        boolean ended = process.waitFor(SECONDS_MAX, TimeUnit.SECONDS);
        process.destroyForcibly().waitFor();
        assertTrue(ended && process.exitValue() == 0, Files.readString(output) + Files.readString(errors));
        return Files.readString(output);
    }

    @Test
    void itRunsOverHttpAndOverHttpsWithTheTrustStoreThatItSays() throws Exception {
        try (Server server = Server.start("--memory", "--virtual-clock")) {
            String section = section(server);
            List<String> plain = commands(section, "(?:mvn|java) (?!-D)");
            List<String> trusting = commands(section, "(?:curl |keytool |java -D)");
            assertEquals(2, plain.size(), section);
            assertEquals(3, trusting.size(), section);
            Files.writeString(folder.resolve("pom.xml"), block(section, "xml"));
            Files.writeString(folder.resolve("Baskets.java"), block(section, "java"));
            ran(plain.subList(0, 1)); // Maven prints codes for colours.
            assertEquals("2: 404\n3\n", ran(plain.subList(1, 2)));
            Files.writeString(folder.resolve("Baskets.java"), block(section, "java").replace("\"http://", "\"https://"));
            assertEquals("2: 404\n3\n", ran(trusting));
        }
    }
}
