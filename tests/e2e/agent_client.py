# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of the agent's protocol by doc/protocol.md alone, for tests of what sonde's own clients never do."""
import socket
import struct

HELLO, SUBSCRIBE, STOP, CALL = 1, 2, 3, 4
WELCOME, READY, RECORD, EVENT, END, REPLY, ERROR = range(128, 135)
LOST, LEDGER = 5, 4
REC = struct.Struct("<QIHHIIQIHH")     # include/sonde/wire.h: struct sonde_rec
SNAPSHOT, SUM, FACT = 0x0008, 0x0040, 0x0800


def frame(kind, payload=b""):
    whole = struct.pack("<IHH", 8 + len(payload), kind, 0) + payload
    return whole + bytes(-len(whole) % 8)


def words(*texts):
    return b"".join(text.encode() + b"\0" for text in texts)


class Client:
    def __init__(self, path, timeout=20):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(path)     # blocks while the backlog is full; with a time-out it would fail at once
        self.sock.settimeout(timeout)
        self.buf = b""

    def send(self, kind, payload=b""):
        self.sock.sendall(frame(kind, payload))

    def recv(self):
        """The next frame: (type, payload), or None at the end."""
        while True:
            if len(self.buf) >= 8:
                length, kind, zero = struct.unpack_from("<IHH", self.buf)
                assert zero == 0 and 8 <= length <= 1 << 20
                whole = -(-length // 8) * 8
                if len(self.buf) >= whole:
                    payload, self.buf = self.buf[8:length], self.buf[whole:]
                    return kind, payload
            more = self.sock.recv(1 << 18)
            if not more:
                return None
            self.buf += more

    def hello(self):
        self.send(HELLO, struct.pack("<HHI", 1, 0, 0) + b"test\0")
        kind, payload = self.recv()
        assert kind == WELCOME, payload
        return struct.unpack_from("<HHIIIQ", payload)

    def subscribe(self, *texts):
        self.send(SUBSCRIBE, words(*texts))
        kind, payload = self.recv()
        assert kind == READY, payload
        return [int(word.split()[0]) for word in payload.decode().split("\0") if word]

    def call(self, verb, *args):
        self.send(CALL, struct.pack("<II", 7, 0) + words(verb, *args))
        while True:
            kind, payload = self.recv()
            if kind == REPLY:
                number, code = struct.unpack_from("<II", payload)
                assert number == 7
                return code, payload[8:].rstrip(b"\0").decode()

    def books(self):
        """Reads to END. Per instance: records that count, those told as lost; and the agent's ledgers."""
        got, lost, ledgers = {}, {}, {}
        while True:
            kind, payload = self.recv()
            if kind == END:
                return got, lost, ledgers
            if kind != RECORD:
                continue
            _, length, event, _, _, _, _, _, instance, flags = REC.unpack_from(payload)
            assert length == len(payload)
            if event == LOST:
                cause, _, count = struct.unpack_from("<IIQ", payload, REC.size)
                if cause == 6:
                    lost[instance] = lost.get(instance, 0) + count
            elif event == LEDGER:
                ledgers[instance] = struct.unpack_from("<12Q", payload, REC.size)
            elif event >> 8 and not flags & (SNAPSHOT | SUM | FACT):
                got[instance] = got.get(instance, 0) + 1

    def close(self):
        self.sock.close()
