"""What tools/clients says where Java or Go is missing or too old, and when Maven stays offline."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

CLIENTS = Path(__file__).resolve().parent.parent / "clients"
NEEDED = ["bash", "cat", "cut", "dirname", "head", "sed", "sort"]


class Toolchains(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name in NEEDED:
            (self.folder / name).symlink_to(shutil.which(name))

    def command(self, name, answer):
        """Puts a command on the path that prints one line."""
        path = self.folder / name
        path.write_text(f"#!/bin/sh\necho '{answer}'\n")
        path.chmod(0o755)

    def skipped(self):
        """Language -> why its tests are skipped."""
        ended = subprocess.run(
            [shutil.which("bash"), CLIENTS, "toolchains"],
            env={"PATH": str(self.folder), "HOME": str(self.folder)},
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(ended.stderr, "")
        lines = [line.split(": ", 3) for line in ended.stdout.splitlines()]
        self.assertTrue(all(line[0] == "clients" and line[2] == "skipped" for line in lines), ended.stdout)
        return {line[1]: line[3] for line in lines}

    def test_a_missing_command_is_named(self):
        self.assertEqual(self.skipped(), {"Java": "mvn is missing", "Go": "go is missing"})

    def test_maven_without_a_compiler_does_not_do(self):
        # Another Java's compiler, on the path, is not the one that Maven runs.
        self.command("javac", "javac 21")
        self.command("mvn", "Java version: 17.0.15, vendor: Debian, runtime: /nowhere")
        self.assertEqual(self.skipped()["Java"], "there is no javac in the Java that Maven runs (/nowhere)")

    def test_a_maven_that_does_not_run_fails_and_says_why(self):
        (self.folder / "mvn").write_text("#!/bin/sh\necho JAVA_HOME is wrong >&2\nexit 1\n")
        (self.folder / "mvn").chmod(0o755)
        ended = subprocess.run(
            [shutil.which("bash"), CLIENTS, "toolchains"],
            env={"PATH": str(self.folder), "HOME": str(self.folder)},
            capture_output=True,
            text=True,
        )
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("JAVA_HOME is wrong", ended.stderr)

    def test_the_java_that_maven_runs_must_be_new_enough(self):
        home = self.folder / "home"
        (home / "bin").mkdir(parents=True)
        self.command("home/bin/javac", "javac 21")
        for version, reason in [
            ("11.0.2", "Maven runs Java 11, and 17 or newer is needed"),
            ("1.8.0_292", "Maven runs Java 8, and 17 or newer is needed"),
            ("", "Maven runs Java unknown, and 17 or newer is needed"),
            ("17.0.15", None),
            ("25", None),
        ]:
            self.command("mvn", f"Java version: {version}, vendor: Debian, runtime: {home}")
            self.assertEqual(self.skipped().get("Java"), reason, version)

    def test_go_must_be_as_new_as_the_module_says(self):
        for version, reason in [
            ("go1.19.8", "this is Go 1.19.8, and 1.25.0 or newer is needed"),
            ("", "this is Go unknown, and 1.25.0 or newer is needed"),
            ("go1.25.0", None),
            ("go1.100.1", None),
        ]:
            self.command("go", version)
            self.assertEqual(self.skipped().get("Go"), reason, version)


class Maven(unittest.TestCase):
    """A clone with nothing but a module for Java, and a Maven that notes its arguments."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(suffix=" with a blank"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "tools").mkdir()
        shutil.copy(CLIENTS, self.folder / "tools")
        self.pom = self.folder / "clients" / "java" / "pom.xml"
        (self.pom.parent / "module").mkdir(parents=True)
        self.pom.write_text("<maven.compiler.release>17</maven.compiler.release>\n")
        (self.pom.parent / "module" / "pom.xml").touch()
        self.home = self.folder / "home"
        self.repository = self.home / ".m2" / "repository"
        self.repository.mkdir(parents=True)
        (self.folder / "bin").mkdir()
        for name in [*NEEDED, "cmp", "grep", "sha256sum", "timeout"]:
            (self.folder / "bin" / name).symlink_to(shutil.which(name))
        self.maven("exit 0")
        (self.home / "bin").mkdir()
        (self.home / "bin" / "javac").touch(mode=0o755)

    def command(self, name, script):
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def maven(self, ends):
        self.command("mvn", f"""echo "$*" >>"$HOME/calls"; echo "Java version: 17.0.1, vendor: X, runtime: $HOME"; echo '[INFO] Tests run: 1'; {ends}""")

    def ran(self):
        """Whether the tests pass, and of each call of Maven for a phase whether it may use the network."""
        (self.home / "calls").unlink(missing_ok=True)
        ended = subprocess.run(
            [self.folder / "tools" / "clients", "test"],
            env={"PATH": str(self.folder / "bin"), "HOME": str(self.home), "CARGO_TARGET_DIR": "target"},
            capture_output=True,
            text=True,
        )
        calls = [line for line in (self.home / "calls").read_text().splitlines() if line != "-v"]
        self.assertTrue(all(f"-Dmaven.repo.local={self.repository}" in line for line in calls), calls)
        return ended.returncode == 0, ["offline" if "--offline" in line else "online" for line in calls]

    def test_maven_stays_offline_after_the_first_run_that_passes(self):
        self.assertEqual(self.ran(), (True, ["online", "online"]))
        self.assertEqual(self.ran(), (True, ["offline"]))
        self.pom.write_text(self.pom.read_text() + "<!-- another version -->\n")
        self.assertEqual(self.ran(), (True, ["online", "online"]))
        self.assertEqual(self.ran(), (True, ["offline"]))

    def test_a_run_that_fails_installs_nothing(self):
        self.maven('case "$*" in *-v | *compile) ;; *) exit 1 ;; esac')
        self.assertEqual(self.ran(), (False, ["online", "online"]))
        self.assertEqual(self.ran(), (False, ["online", "online"]))
        self.maven('case "$*" in *-v) ;; *) exit 1 ;; esac')
        self.assertEqual(self.ran(), (False, ["online"]))

    def test_what_maven_says_before_it_begins_is_shown(self):
        for line, ended in [
            (r"\033[0m[ERROR] Could not create local repository", "Maven ended with 3"),
            ("[FATAL] Non-readable settings", "Maven ended with 3"),
        ]:
            self.maven(f"""case "$*" in *-v | *compile) exit 0 ;; esac; printf '{line}\\n'; exit 3""")
            output = self.output()
            self.assertIn(line.split("m", 1)[-1] if line[0] != "[" else line, output)
            self.assertIn(ended, output)

    def test_a_run_without_a_test_fails(self):
        self.command("mvn", f"""case "$*" in *-v) echo "Java version: 17.0.1, vendor: X, runtime: $HOME" ;; esac""")
        self.assertIn("Maven printed no result", self.output())

    def output(self):
        """What is printed when the tests fail."""
        ended = subprocess.run(
            [self.folder / "tools" / "clients", "test"],
            env={"PATH": str(self.folder / "bin"), "HOME": str(self.home), "CARGO_TARGET_DIR": "target"},
            capture_output=True,
            text=True,
        )
        self.assertNotEqual(ended.returncode, 0)
        return ended.stdout + ended.stderr

    def test_a_removed_repository_is_filled_again(self):
        self.ran()
        shutil.rmtree(self.repository)
        self.repository.mkdir()
        self.assertEqual(self.ran(), (True, ["online", "online"]))

    def test_a_repository_that_cannot_be_written_fails_no_test(self):
        shutil.rmtree(self.repository)
        self.repository.write_text("a file, which holds for root too")
        self.assertEqual(self.ran(), (True, ["online", "online"]))


if __name__ == "__main__":
    unittest.main()
