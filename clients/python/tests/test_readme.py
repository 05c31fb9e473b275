"""The examples of the README for Python and curl do what their comments say."""

import json
import re
import subprocess
import sys
from pathlib import Path

from conftest import running

README = Path(__file__).resolve().parents[3] / "README.md"
SECONDS_MAX = 60


def example(language, server):
    """The one block of code in that language, with the server's port instead of the usual one."""
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    assert "localhost:8081" in block
    return block.replace("localhost:8081", f"127.0.0.1:{server.port}")


def ran(command):
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_python_and_curl_examples_run():
    with running("--virtual-clock") as server:
        assert ran([sys.executable, "-c", example("python", server)]) == "2 has expired\n['3']\n"

        # Each of the three calls answers one object.
        decoder, rest, answers = json.JSONDecoder(), ran(["sh", "-c", example("sh", server)]), []
        while rest.strip():
            answer, end = decoder.raw_decode(rest.lstrip())
            answers.append(answer)
            rest = rest.lstrip()[end:]
        before, after, carts = answers
        assert after["nowMillis"] - before["nowMillis"] == 30 * 24 * 3600 * 1000
        assert carts["live"]["items"] == 1, carts
