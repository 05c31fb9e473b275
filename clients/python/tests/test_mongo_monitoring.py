"""How drivers watch the server: they wait on it for changes instead of asking, and notice at once that it stops."""

import socket
import threading

import pymongo
import pytest
from pymongo import monitoring

from conftest import running
from mongo_door import SELECTION_MS_MAX

WAIT_SECONDS_MAX = 60


class Heartbeats(monitoring.ServerHeartbeatListener):
    def __init__(self):
        self.changed = threading.Condition()
        self.awaited = self.failed = 0

    def started(self, event):
        pass

    def succeeded(self, event):
        with self.changed:
            self.awaited += event.awaited
            self.changed.notify_all()

    def failed_(self, event):
        with self.changed:
            self.failed += 1
            self.changed.notify_all()

    def wait(self, condition):
        with self.changed:
            assert self.changed.wait_for(lambda: condition(self), WAIT_SECONDS_MAX)


class Listener(monitoring.ServerHeartbeatListener):
    """What the driver calls; its third method has the name of a counter above."""

    def __init__(self, heard):
        self.started, self.succeeded, self.failed = heard.started, heard.succeeded, heard.failed_


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_driver_waits_on_the_server_and_comes_back_to_it():
    heard = Heartbeats()
    options = {"heartbeatFrequencyMS": 500, "serverSelectionTimeoutMS": SELECTION_MS_MAX, "event_listeners": [Listener(heard)]}
    with running("--mongo-port", str(free_port())) as server:
        with pymongo.MongoClient(server.mongo_url(), **options) as client:
            assert client.admin.command("hello")["topologyVersion"]["counter"] >= 0
            heard.wait(lambda heard: heard.awaited >= 3)
            # What the driver waits for does not count as running, and does not hold the server up when it stops.
            running_now = client.admin.command("currentOp")["inprog"]
            assert all("hello" not in one["command"] for one in running_now)
            server.stop()
            heard.wait(lambda heard: heard.failed >= 1)
            server.start()
            client.db.c.insert_one({"_id": 1})
            before = heard.awaited
            heard.wait(lambda heard: heard.awaited >= before + 2)
            assert client.db.c.find_one() == {"_id": 1}


@pytest.mark.parametrize("mode", ["poll", "stream"])
def test_both_ways_to_watch_work(mode):
    with running("--mongo-port", "0") as server:
        with pymongo.MongoClient(server.mongo_url(), serverMonitoringMode=mode, heartbeatFrequencyMS=500, serverSelectionTimeoutMS=SELECTION_MS_MAX) as client:
            client.db.c.insert_one({"_id": 1})
            assert client.db.c.find_one() == {"_id": 1}
