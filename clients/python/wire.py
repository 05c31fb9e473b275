"""The Mongo wire by hand: frames that no driver would send."""

import itertools
import socket
import struct
import zlib

import bson

OP_REPLY, OP_QUERY, OP_COMPRESSED, OP_MSG = 1, 2004, 2012, 2013
HEADER = struct.Struct("<iiii")
NUMBERS = itertools.count(1)


def crc32c(data):
    """The checksum of messages, bit by bit: slow, and nobody's table to trust."""
    rest = 0xFFFFFFFF
    for byte in data:
        rest ^= byte
        for _ in range(8):
            rest = rest >> 1 ^ (0x82F63B78 if rest & 1 else 0)
    return rest ^ 0xFFFFFFFF


def frame(payload, op=OP_MSG, length=None, number=None):
    length = HEADER.size + len(payload) if length is None else length
    return HEADER.pack(length, next(NUMBERS) if number is None else number, 0, op) + payload


def body(document):
    return b"\0" + (document if isinstance(document, bytes) else bson.encode(document))


def sequence(name, documents):
    inner = (name if isinstance(name, bytes) else name.encode()) + b"\0" + b"".join(d if isinstance(d, bytes) else bson.encode(d) for d in documents)
    return b"\1" + struct.pack("<i", len(inner) + 4) + inner


def msg(*sections, flags=0):
    """The payload of a message: its flags and its sections."""
    return struct.pack("<I", flags) + b"".join(sections)


def command(document, flags=0, db="admin"):
    return frame(msg(body({**document, "$db": db}), flags=flags))


def query(document, namespace="admin.$cmd"):
    name = namespace if isinstance(namespace, bytes) else namespace.encode()
    document = document if isinstance(document, bytes) else bson.encode(document)
    return frame(struct.pack("<i", 0) + name + b"\0" + struct.pack("<ii", 0, -1) + document, OP_QUERY)


def compressed(payload, compressor=2, claim=None, op=OP_MSG, packed=None):
    packed = (zlib.compress(payload) if compressor == 2 else payload) if packed is None else packed
    return frame(struct.pack("<iiB", op, len(payload) if claim is None else claim, compressor) + packed, OP_COMPRESSED)


class Raw:
    """One connection."""

    def __init__(self, port, timeout=20):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)
        return self

    def exactly(self, count):
        """That many bytes; none if the other side has closed."""
        data = b""
        while len(data) < count:
            try:
                some = self.socket.recv(min(count - len(data), 1 << 20))
            except ConnectionResetError:
                return b""
            if not some:
                return b""
            data += some
        return data

    def frame(self):
        """The next reply: its header's numbers and what follows. None if the other side has closed."""
        head = self.exactly(HEADER.size)
        if not head:
            return None
        length, number, answers, op = HEADER.unpack(head)
        return number, answers, op, self.exactly(length - HEADER.size)

    def reply(self):
        """The document of the next reply, uncompressed; None if the other side has closed."""
        got = self.frame()
        if got is None:
            return None
        _, _, op, payload = got
        if op == OP_COMPRESSED:
            op, _, compressor = struct.unpack("<iiB", payload[:9])
            payload = zlib.decompress(payload[9:]) if compressor == 2 else payload[9:]
        return bson.decode(payload[20:] if op == OP_REPLY else payload[5:])

    def ask(self, document, **options):
        return self.send(command(document, **options)).reply()

    def is_closed(self):
        """Whether the other side says nothing more."""
        return self.exactly(1) == b""
