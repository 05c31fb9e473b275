"""Starts real servers for the tests, and gives the two Python clients one face."""

import asyncio
import json
import os
import select
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import azure.cosmos as sync_sdk
import azure.cosmos.aio as async_sdk

# The key every emulator publishes; a server on a loopback address takes it by default.
KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
READ_ONLY_KEY = "cmVhZCBvbmx5IGtleSBvZiB0aGUgY2xpZW50IHRlc3RzLCBub3QgYSBzZWNyZXQgYXQgYWxsLCA2NCBieXRlcyE="
READY_SECONDS_MAX = 30
STOP_SECONDS_MAX = 20


class Server:
    """One server process on a free port. Its store outlives `stop`, so that it can be started again."""

    def __init__(self, *flags, path=None, mongo=False):
        self.flags = list(flags)
        self.mongo = mongo
        self.store = path or tempfile.mkdtemp(prefix="lapsedb-")
        self.log = tempfile.NamedTemporaryFile("w+", prefix="lapsedb-", suffix=".log")
        self.process = None
        self.port = None
        self.mongo_port = None

    def start(self):
        binary = os.environ.get("LAPSEDB_BIN")
        assert binary, "LAPSEDB_BIN names the server to test; `make test` sets it"
        mongo = [] if "--mongo-port" in self.flags else ["--mongo-port", "0" if self.mongo else "off"]
        command = [binary, "--port", "0", *mongo, "--data-path", self.store, *self.flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        readable, _, _ = select.select([self.process.stdout], [], [], READY_SECONDS_MAX)
        line = self.process.stdout.readline() if readable else ""
        assert line.startswith("ready nosql=127.0.0.1:"), f"not ready: {line!r}\n{self.logged()}"
        doors = dict(word.split("=", 1) for word in line.split()[1:])
        self.port = int(doors["nosql"].rsplit(":", 1)[1])
        if "mongo" in doors:
            self.mongo_port = int(doors["mongo"].rsplit(":", 1)[1])
        return self

    def stop(self):
        """Asks the server to stop as an operator would, and holds it to exit code 0."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(STOP_SECONDS_MAX)
        self.process.stdout.close()
        self.process = None
        assert code == 0, f"exit code {code}\n{self.logged()}"

    def kill(self):
        """Ends the server as a crash would."""
        self.process.kill()
        self.process.wait(STOP_SECONDS_MAX)
        self.process.stdout.close()
        self.process = None

    def logged(self):
        self.log.flush()
        with open(self.log.name) as log:
            return log.read()[-4000:]

    def url(self, scheme="http"):
        return f"{scheme}://127.0.0.1:{self.port}/"

    def mongo_url(self):
        return f"mongodb://127.0.0.1:{self.mongo_port}/"

    def admin(self, method, path, body=None, key=KEY):
        """Calls the server's own API; returns the status and the parsed body."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url() + path.lstrip("/"), data=data, method=method)
        request.add_header("Authorization", f"Bearer {key}")
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as refusal:
            return refusal.code, json.loads(refusal.read() or b"null")

    def advance(self, span):
        """Moves the virtual clock: "30d", "1h30m", "1ms"."""
        status, body = self.admin("POST", "/_lapsedb/clock", {"advance": span})
        assert status == 200, body
        return body["nowMillis"]

    def align(self):
        """Moves the virtual clock to the start of a second, so that `_ts` is exact."""
        _, body = self.admin("GET", "/_lapsedb/clock")
        return self.advance(f"{1000 - body['nowMillis'] % 1000}ms")


class Blocking:
    """The async SDK behind the sync SDK's face: one test then exercises both."""

    def __init__(self, loop, inner):
        self._loop = loop
        self._inner = inner

    def __getattr__(self, name):
        found = getattr(self._inner, name)
        if not callable(found):
            return self._wrapped(found)

        def call(*args, **kwargs):
            args = [bare(arg) for arg in args]
            kwargs = {key: bare(value) for key, value in kwargs.items()}
            return self._wrapped(found(*args, **kwargs))

        return call

    def _wrapped(self, result):
        if asyncio.iscoroutine(result):
            result = self._loop.run_until_complete(result)
        if isinstance(result, tuple):
            return tuple(self._wrapped(part) for part in result)
        if hasattr(result, "__aiter__"):
            return BlockingPages(self._loop, result)
        if type(result).__module__.startswith("azure.cosmos.aio"):
            return Blocking(self._loop, result)
        return result


class BlockingPages:
    """An async iterator of items, of pages or of the items in a page, as a plain iterator."""

    def __init__(self, loop, inner):
        self._loop = loop
        self._inner = inner

    def __iter__(self):
        iterator = self._inner.__aiter__()
        while True:
            try:
                found = self._loop.run_until_complete(iterator.__anext__())
            except StopAsyncIteration:
                return
            yield BlockingPages(self._loop, found) if hasattr(found, "__aiter__") else found

    def by_page(self, continuation=None):
        return BlockingPager(self._loop, self._inner.by_page(continuation))

    def get_response_headers(self):
        return self._inner.get_response_headers()


class BlockingPager(BlockingPages):
    """An iterator of pages that also says where to go on."""

    def __next__(self):
        try:
            return list(BlockingPages(self._loop, self._loop.run_until_complete(self._inner.__anext__())))
        except StopAsyncIteration:
            raise StopIteration from None

    def __iter__(self):
        return self

    @property
    def continuation_token(self):
        return self._inner.continuation_token


def bare(value):
    return value._inner if isinstance(value, Blocking) else value


class Connector:
    """Opens clients of one kind, sync or async, and closes them all."""

    def __init__(self, kind):
        self.kind = kind
        self.loop = asyncio.new_event_loop() if kind == "async" else None
        self.open = []

    def connect(self, url, credential=KEY, **options):
        if self.kind == "sync":
            client = sync_sdk.CosmosClient(url, credential, **options)
        else:
            client = Blocking(self.loop, self.loop.run_until_complete(self._entered(url, credential, options)))
        self.open.append(client)
        return client

    @staticmethod
    async def _entered(url, credential, options):
        client = async_sdk.CosmosClient(url, credential, **options)
        try:
            return await client.__aenter__()
        except BaseException:
            await client.close()
            raise

    def close(self):
        for client in self.open:
            client.close()
        if self.loop:
            self.loop.run_until_complete(asyncio.sleep(0))
            self.loop.close()


def until(condition, seconds):
    """Polls for something the real clock brings about."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return condition()
