"""A connection of the Mongo wire without a driver: sends exactly what it is told, numbers and all."""

import socket
import struct
import uuid

import bson
from bson.int64 import Int64

OP_MSG = 2013


class Wire:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.number = 0

    def send(self, database, body):
        self.number += 1
        document = bson.encode({**body, "$db": database})
        length = 16 + 4 + 1 + len(document)
        self.socket.sendall(struct.pack("<iiiiiB", length, self.number, 0, OP_MSG, 0, 0) + document)

    def receive(self):
        length = struct.unpack("<i", self._bytes(4))[0]
        return bson.decode(self._bytes(length - 4)[12 + 5 :])

    def command(self, database, body):
        """The reply, whether it says success or not."""
        self.send(database, body)
        return self.receive()

    def close(self):
        self.socket.close()

    def _bytes(self, count):
        parts = b""
        while len(parts) < count:
            part = self.socket.recv(count - len(parts))
            if not part:
                raise ConnectionError("the server closed the connection")
            parts += part
        return parts


def session():
    """A session of one's own."""
    return {"id": bson.Binary.from_uuid(uuid.uuid4())}


def within(lsid, number, start=False):
    """The members of a command in a transaction."""
    members = {"lsid": lsid, "txnNumber": Int64(number), "autocommit": False}
    return {**members, "startTransaction": True} if start else members


def retryable(lsid, number):
    """The members of a retryable write."""
    return {"lsid": lsid, "txnNumber": Int64(number)}
