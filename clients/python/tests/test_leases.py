"""The pattern of the change feed processor: leases in a container of their own, guarded by etags, held by several workers.

A worker takes a lease that nobody has renewed for a while, reads a page of its range, works on it, and notes how far it came
in the lease, on the condition that the lease is still its own. So the pages that were noted are, together and in order, the
feed: nothing is lost, and nothing is noted twice, whoever stalls, restarts or loses a lease, over days.
"""

import random

import pytest
from azure.core import MatchConditions
from azure.cosmos.exceptions import CosmosAccessConditionFailedError

from conftest import make

LEASE_SECONDS = 60
BOUNDS = ["", "0FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "2FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "FF"]


def feed_range(low, high):
    return {"Range": {"min": low, "max": high, "isMinInclusive": True, "isMaxInclusive": False}}


class Processor:
    """Several workers and what they have noted, by lease."""

    def __init__(self, feed, leases, mode):
        self.feed, self.leases, self.mode = feed, leases, mode
        self.noted = {}
        self.lost = 0
        for at, (low, high) in enumerate(zip(BOUNDS, BOUNDS[1:])):
            start = self.page(feed_range=feed_range(low, high), start_time="Now")[1]
            self.noted[f"lease-{at}"] = []
            lease = {"id": f"lease-{at}", "owner": None, "until": 0, "continuation": start}
            leases.create_item(lease)

    def page(self, **options):
        """One page of the feed and the continuation behind it."""
        answers = []
        hook = {"response_hook": lambda headers, _: answers.append(headers)}
        pages = self.feed.query_items_change_feed(mode=self.mode, max_item_count=3, **hook, **options).by_page()
        page = list(next(iter(pages), []))
        return page, answers[-1]["etag"]

    def take(self, worker, name, now):
        """Makes a lease this worker's own, if it is free; the lease, or none if another was faster."""
        lease = self.leases.read_item(name, name)
        if lease["owner"] not in (None, worker) and lease["until"] > now:
            return None
        lease.update(owner=worker, until=now + LEASE_SECONDS)
        return self.save(lease)

    def save(self, lease):
        try:
            return self.leases.replace_item(
                lease["id"], lease, etag=lease["_etag"], match_condition=MatchConditions.IfNotModified
            )
        except CosmosAccessConditionFailedError:
            self.lost += 1
            return None

    def work(self, lease):
        """Reads a page and notes it, unless the lease has been lost meanwhile; says whether there was more."""
        page, continuation = self.page(continuation=lease["continuation"])
        return page, {**lease, "continuation": continuation}

    def note(self, page, lease):
        saved = self.save(lease)
        if saved is not None:
            self.noted[lease["id"]] += page
        return saved


def run(virtual, feed, leases, mode, dice, write):
    """Four workers over some days, each step one of: write, move the clock, take and work, stall with a page in hand."""
    processor = Processor(feed, leases, mode)
    names = list(processor.noted)
    in_hand = []
    seconds = lambda: virtual.admin("GET", "/_lapsedb/clock")[1]["nowMillis"] // 1000  # noqa: E731
    for step in range(200):
        match dice.randrange(6):
            case 0 | 1:
                write(step)
            case 2:
                virtual.advance(dice.choice(["1s", "61s", "61s", "2h"]))
            case 3 | 4:
                worker, name = f"worker-{dice.randrange(4)}", dice.choice(names)
                lease = processor.take(worker, name, seconds())
                if lease is None:
                    continue
                page, lease = processor.work(lease)
                if dice.random() < 0.6:
                    # It stalls here: perhaps another takes the lease over before it notes what it did.
                    in_hand.append((page, lease))
                else:
                    processor.note(page, lease)
            case 5 if in_hand:
                processor.note(*in_hand.pop(dice.randrange(len(in_hand))))
    virtual.advance("2h")
    for name in names:
        lease = processor.take("the last", name, seconds())
        while True:
            page, lease = processor.work(lease)
            lease = processor.note(page, lease)
            if not page:
                break
    return processor


@pytest.mark.parametrize("seed", range(3))
def test_every_version_is_noted_once_and_in_order(virtual, virtual_db, seed):
    dice = random.Random(seed)
    virtual.align()
    feed, leases = make(virtual_db, default_ttl=3600), make(virtual_db, path="/id")
    told = []

    def write(step):
        item = {"id": f"i{dice.randrange(8)}", "step": step}
        item["pk"] = item["id"]
        if dice.random() < 0.3 and list(feed.query_items("SELECT c.id FROM c", partition_key=item["pk"])):
            feed.delete_item(item["id"], item["pk"])
            told.append(("delete", item["id"], None))
        else:
            answer = feed.upsert_item({**item, "ttl": dice.choice([-1, 20, 3600])})
            told.append(("put", item["id"], answer["step"]))

    processor = run(virtual, feed, leases, "AllVersionsAndDeletes", dice, write)
    found = {}
    for events in processor.noted.values():
        places = [event["metadata"]["lsn"] for event in events]
        assert places == sorted(places)
        for event in events:
            metadata = event["metadata"]
            name = metadata["id"] if metadata["operationType"] == "delete" else event["current"]["id"]
            found.setdefault(name, []).append((metadata, event["current"].get("step")))
    for name in {name for _, name, _ in told} | set(found):
        own = [(kind, step) for kind, other, step in told if other == name]
        noted = [("delete" if metadata["operationType"] == "delete" else "put", step)
                 for metadata, step in found.get(name, []) if not metadata["timeToLiveExpired"]]
        assert noted == own
        alive = False
        for metadata, _ in found.get(name, []):
            # Lives follow each other: each begins with a create and ends with a delete or an expiry.
            assert (metadata["operationType"] == "create") == (not alive)
            alive = metadata["operationType"] != "delete"
        assert alive == bool(list(feed.query_items("SELECT c.id FROM c", partition_key=name)))
    assert processor.lost > 0, "no lease was ever lost: the test shows nothing"


@pytest.mark.parametrize("seed", range(2))
def test_the_latest_version_of_whatever_lives_is_noted(virtual, virtual_db, seed):
    dice = random.Random(seed)
    feed, leases = make(virtual_db), make(virtual_db, path="/id")
    latest = {}

    def write(step):
        name = f"i{dice.randrange(30)}"
        latest[name] = feed.upsert_item({"id": name, "pk": name, "step": step})["step"]

    processor = run(virtual, feed, leases, "LatestVersion", dice, write)
    last = {}
    for items in processor.noted.values():
        for item in items:
            assert item["step"] > last.get(item["id"], -1), "an older version after a newer one, or one twice"
            last[item["id"]] = item["step"]
    assert last == latest
