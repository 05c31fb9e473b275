"""Snapshot isolation under load: transfers keep the sum, nobody sees half of a commit, documents die meanwhile."""

import random
import threading

from pymongo.errors import OperationFailure
from pymongo.read_concern import ReadConcern

from conftest import fresh
from mongo_door import client, mongo  # noqa: F401

ACCOUNTS = 8
BALANCE = 100
TRANSFERS = 25
WRITERS = 4


def test_transfers_keep_the_sum_while_documents_expire(client, mongo):
    """Each transfer also leaves a receipt of one second; readers count money in snapshots while the clock runs."""
    db = client[fresh("db")]
    mongo.align()
    db.accounts.insert_many([{"_id": n, "balance": BALANCE} for n in range(ACCOUNTS)])
    db.receipts.create_index("_ts", expireAfterSeconds=-1)
    db.receipts.insert_one({"_id": "first", "ttl": -1})
    stop, failures, done = threading.Event(), [], []

    def transfer(session, one, other, amount):
        db.accounts.update_one({"_id": one}, {"$inc": {"balance": -amount}}, session=session)
        db.receipts.insert_one({"ttl": 1, "from": one, "to": other, "amount": amount}, session=session)
        db.accounts.update_one({"_id": other}, {"$inc": {"balance": amount}}, session=session)

    def guarded(work):
        def run():
            try:
                work()
            except Exception as failure:
                failures.append(failure)
                stop.set()

        return threading.Thread(target=run)

    def writer(seed):
        def work():
            chance = random.Random(seed)
            for _ in range(TRANSFERS):
                one, other = chance.sample(range(ACCOUNTS), 2)
                with client.start_session() as session:
                    session.with_transaction(lambda s: transfer(s, one, other, chance.randint(1, 9)))
                done.append(1)

        return work

    def snapshot_reader():
        while not stop.is_set():
            with client.start_session(snapshot=True) as session:
                money = sum(d["balance"] for d in db.accounts.find({}, session=session))
                again = next(db.accounts.aggregate([{"$group": {"_id": None, "m": {"$sum": "$balance"}}}], session=session))["m"]
            assert money == again == ACCOUNTS * BALANCE, (money, again)

    def transaction_reader():
        while not stop.is_set():
            with client.start_session() as session:
                with session.start_transaction(read_concern=ReadConcern("snapshot")):
                    half = sum(d["balance"] for d in db.accounts.find({"_id": {"$lt": 4}}, session=session))
                    rest = sum(d["balance"] for d in db.accounts.find({"_id": {"$gte": 4}}, session=session))
            assert half + rest == ACCOUNTS * BALANCE, (half, rest)

    def meddler():
        while not stop.is_set():
            # Single writes among the transactions: they wait for them and never conflict.
            db.accounts.update_many({}, {"$inc": {"touched": 1}})

    def clock():
        while not stop.is_set():
            mongo.advance("500ms")
            for receipt in db.receipts.find({"ttl": 1}):
                assert receipt["amount"] > 0

    others = [guarded(work) for work in (snapshot_reader, transaction_reader, meddler, clock)]
    writers = [guarded(writer(seed)) for seed in range(WRITERS)]
    for thread in others + writers:
        thread.start()
    for thread in writers:
        thread.join(240)
    stop.set()
    for thread in others:
        thread.join(60)
    assert not failures, failures
    assert len(done) == WRITERS * TRANSFERS
    assert sum(d["balance"] for d in db.accounts.find()) == ACCOUNTS * BALANCE
    mongo.advance("1s")
    assert [d["_id"] for d in db.receipts.find()] == ["first"], "all receipts are dead"


def test_counters_lose_no_increment(client):
    db = client[fresh("db")]
    db.c.insert_one({"_id": 0, "n": 0})
    failures = []

    def work():
        try:
            for _ in range(20):
                with client.start_session() as session:
                    session.with_transaction(lambda s: add(s))
                db.c.update_one({"_id": 0}, {"$inc": {"n": 1}})
        except Exception as failure:
            failures.append(failure)

    def add(session):
        n = db.c.find_one({"_id": 0}, session=session)["n"]
        db.c.update_one({"_id": 0}, {"$set": {"n": n + 1}}, session=session)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    assert not failures, failures
    assert db.c.find_one()["n"] == 3 * 20 * 2


def test_write_skew_is_permitted(client):
    """Two transactions that each read what the other writes: as MongoDB's snapshot isolation, both commit."""
    db = client[fresh("db")]
    db.c.insert_many([{"_id": "a", "on": True}, {"_id": "b", "on": True}])
    with client.start_session() as one, client.start_session() as two:
        for session in (one, two):
            session.start_transaction(read_concern=ReadConcern("snapshot"))
            assert db.c.count_documents({"on": True}, session=session) == 2
        db.c.update_one({"_id": "a"}, {"$set": {"on": False}}, session=one)
        db.c.update_one({"_id": "b"}, {"$set": {"on": False}}, session=two)
        one.commit_transaction()
        two.commit_transaction()
    assert db.c.count_documents({"on": True}) == 0


def test_a_reader_sees_all_of_a_commit_or_nothing(client):
    db = client[fresh("db")]
    names = [f"c{n}" for n in range(4)]
    for name in names:
        db[name].insert_one({"_id": 0, "v": 0})
    stop, failures = threading.Event(), []

    def read():
        try:
            while not stop.is_set():
                with client.start_session(snapshot=True) as session:
                    values = {db[name].find_one({}, session=session)["v"] for name in names}
                assert len(values) == 1, values
        except Exception as failure:
            failures.append(failure)

    reader = threading.Thread(target=read)
    reader.start()
    for value in range(1, 60):
        with client.start_session() as session:
            with session.start_transaction():
                for name in names:
                    db[name].update_one({}, {"$set": {"v": value}}, session=session)
    stop.set()
    reader.join(60)
    assert not failures, failures


def test_a_conflict_is_never_told_to_a_single_write(client):
    db = client[fresh("db")]
    db.c.insert_many([{"_id": n, "n": 0} for n in range(4)])
    failures = []

    def work(seed):
        chance = random.Random(seed)
        try:
            for _ in range(40):
                db.c.update_many({}, {"$inc": {"n": 1}})
                db.c.find_one_and_update({"_id": chance.randrange(4)}, {"$inc": {"m": 1}})
        except OperationFailure as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    assert not failures, failures
    assert [d["n"] for d in db.c.find()] == [160] * 4
    assert sum(d.get("m", 0) for d in db.c.find()) == 160
