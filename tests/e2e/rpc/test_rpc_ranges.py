# SPDX-License-Identifier: GPL-2.0-or-later
"""The call of a packet that is sent, received, dropped and sent again, against the frames in the bytes."""
import collections
import json
import os
import shutil
import subprocess

import pytest

import helpers
from gocalls import gotree, program

pytestmark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
CALLS = 20
DROPS = """table ip t {{
 chain c {{
  type filter hook output priority 0;
  tcp dport {port} tcp flags & psh == psh numgen inc mod 10 == 3 drop
 }}
}}
"""


class Program:
    """Server and client, each in a process of its own inside @ns."""

    def __init__(self, ns, suite):
        path = program(suite)
        self.server = ns.popen(path, "-mode", "server", stdin=subprocess.PIPE)
        self.address = self.server.stdout.readline().split()[1]
        self.client = ns.popen(path, "-mode", "client", "-addr", self.address, stdin=subprocess.PIPE)
        assert self.client.stdout.readline().startswith("ready")

    @property
    def port(self):
        return int(self.address.rsplit(":", 1)[1])

    def run(self, scenario, *numbers):
        self.client.stdin.write(" ".join(map(str, ("run", scenario, *numbers))) + "\n")
        self.client.stdin.flush()
        assert self.client.stdout.readline().startswith("done")


def packets(path):
    """(connection and direction, sequence number, bytes of TCP) of each packet."""
    fields = ["tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.payload"]
    out = helpers.sh("tshark", "-r", path, "--disable-protocol", "http2", "-T", "fields", "-E", "separator=/t",
                     *[word for f in fields for word in ("-e", f)]).stdout
    for line in out.splitlines():
        source, dest, seq, data = line.split("\t")
        yield (source, dest), int(seq or 0), bytes.fromhex(data.replace(":", ""))


def streams_of(rows):
    """The HTTP/2 stream of each byte of each direction, by its distance from the first sequence number."""
    first, text = {}, collections.defaultdict(dict)
    for way, seq, data in rows:
        if data:
            at = (seq - first.setdefault(way, seq)) % 2**32
            text[way].update(enumerate(data, at))
    streams = {}
    for way, there in text.items():
        data = bytes(there[i] for i in range(len(there)))   # a byte that is missing is an error
        at = 24 if data.startswith(b"PRI ") else 0
        streams[way] = [0] * at
        while at + 9 <= len(data):
            end = at + 9 + int.from_bytes(data[at:at + 3], "big")
            streams[way] += [int.from_bytes(data[at + 5:at + 9], "big")] * (end - at)
            at = end
    return first, streams


def in_file(events, both_ends=True):
    """Packets that a capture has: one on loopback as it leaves only, if its sender is watched."""
    return [ev for ev in events if ev["type"] == "net.drop" or
            ev["type"] == "net.trace" and (ev["dir"] == "out" or not both_ends)]


def judge(events, rows, both_ends=True):
    """How many packets name their call, by type; how many carry several. Wrong and missing names fail."""
    first, streams = streams_of(rows)
    calls = {ev["call_id"]: ev["rpc_stream"] for ev in events if ev["type"] == "rpc.call"}
    named, several = collections.Counter(), 0
    shown = in_file(events, both_ends)
    assert len(shown) == len(rows)
    for ev, (way, seq, data) in zip(shown, rows):
        at = (seq - first[way]) % 2**32 if data else 0
        truth = set(streams[way][at:at + len(data)]) - {0} if data else set()
        if len(truth) > 1:
            assert "call_id" not in ev and ev["call_how"] == "group", (ev, truth)
            several += 1
        elif truth:
            assert ev.get("call_how") == "bytes" and {calls[ev["call_id"]]} == truth, (ev, truth)
            named[ev["type"]] += 1
        else:
            assert "call_id" not in ev and "call_how" not in ev, ev
    return named, several


def record(sonde, pids, *words):
    return sonde("record", "--set", "net:snaplen=65536,gohttp2", "--json", *words,
                 *[word for pid in pids for word in ("-p", str(pid))])


def both_calls(ev):
    return ev["type"] == "rpc.call"


def test_a_network_namespace_selects(sonde, netns):
    """Calls of the programs of one namespace, and none of another where the same programs called before."""
    inside, other = netns(), netns()
    within, without = (Program(ns, gotree.SUITES[-1]) for ns in (inside, other))
    one = sonde("rpc", "--source", "go", "--json", "--netns", inside.name)
    for program, n in (without, 9), (within, CALLS):
        program.run("unary", n, 1)
    one.wait_for(both_calls, 2 * CALLS)
    calls = [ev for ev in one.finish() if both_calls(ev)]
    assert {ev["proc"]["pid"] for ev in calls} == {within.server.pid, within.client.pid} and len(calls) == 2 * CALLS


@pytest.mark.parametrize("suite", gotree.SUITES)
def test_packets_of_a_call(sonde, netns, tmp_path, suite):
    """Both ends are watched; a tenth of the requests is dropped, and sent again."""
    ns, capture, rec = netns(), str(tmp_path / "out.pcapng"), str(tmp_path / "out.rec")
    calls = Program(ns, suite)
    one = record(sonde, [calls.server.pid, calls.client.pid], "--netns", ns.name, "-o", f"pcapng:{capture}", "-o",
                 f"rec:{rec}")
    calls.run("unary", 1, 1)
    ns.nft(DROPS.format(port=calls.port))
    calls.run("unary", 3 * CALLS, 1)    # six drops at least, some of window updates, which are of no call
    calls.run("unary", CALLS, 4)
    one.wait_for(both_calls, 2 * (4 * CALLS + 1))
    one.finish()
    rows = list(packets(capture))
    named, several = judge(one.events, rows)
    assert named["net.drop"] >= 2 and named["net.trace"] >= 2 * CALLS and several >= 1, (named, several)
    sent = collections.defaultdict(list)
    for ev, row in zip(in_file(one.events), rows):
        sent[row].append((ev["type"], ev.get("call_id")))
    # a segment that is sent again alone, not joined with the next: the same bytes, and the client's call
    again = [seen for seen in sent.values() if seen[0][0] == "net.drop" and seen[0][1] and len(seen) > 1]
    assert again and all(seen[1] == ("net.trace", seen[0][1]) for seen in again), again
    replay = helpers.sh(helpers.BINARY, "record", "-r", rec, "--json").stdout.splitlines()
    lines = [json.loads(line) for line in replay]
    kept = [ev for ev in lines if ev["type"] != "sonde.ledger"]
    assert kept == [ev for ev in one.events if ev["type"] != "sonde.ledger"]


def test_receiver_alone(sonde, netns, tmp_path):
    """Only the server is watched: what it receives has a call as soon as it is read."""
    ns, capture = netns(), str(tmp_path / "out.pcapng")
    calls = Program(ns, gotree.SUITES[-1])
    one = record(sonde, [calls.server.pid], "--netns", ns.name, "-o", f"pcapng:{capture}")
    calls.client.stdin.write("dial\n")
    calls.client.stdin.flush()
    assert calls.client.stdout.readline().startswith("done")
    calls.run("unary", CALLS, 1)
    one.wait_for(both_calls, CALLS)
    one.finish()
    rows = list(packets(capture))
    named, _ = judge(one.events, rows, both_ends=False)
    assert named["net.trace"] >= 2 * CALLS, named
    assert os.path.getsize(capture) > 0
