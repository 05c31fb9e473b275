"""What tools/clients says where Java or Go is missing or too old."""

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
        self.command("mvn", "Java version: 17.0.15, vendor: Debian")
        self.assertEqual(self.skipped()["Java"], "javac is missing")

    def test_the_java_that_maven_runs_must_be_new_enough(self):
        self.command("javac", "javac 21")
        for version, reason in [
            ("11.0.2", "Maven runs Java 11, and 17 or newer is needed"),
            ("", "Maven runs Java unknown, and 17 or newer is needed"),
            ("17.0.15", None),
            ("25", None),
        ]:
            self.command("mvn", f"Java version: {version}, vendor: Debian")
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


if __name__ == "__main__":
    unittest.main()
