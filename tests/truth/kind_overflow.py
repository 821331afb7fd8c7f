# SPDX-License-Identifier: GPL-2.0-or-later
"""A listener whose accept queue is full: each refused SYN is shown, with the listener and the port of the client, and
their number is that of nstat."""
import collections
import json

import helpers

PORT, BACKLOG = 8001, 4
COUNTERS = ("TcpExtListenOverflows", "TcpExtListenDrops")


def nstat(ns):
    return json.loads(ns.run("nstat", "-asjz", *COUNTERS).stdout)["kernel"]


def run(stage):
    link = helpers.Link(stage.netns(), stage.netns())
    syns = max(200, min(20_000, stage.events // 4))
    program = stage.python("overflow.py")
    server = stage.start("server", *program, "serve", link.b_ip, PORT, BACKLOG, netns=link.b)
    stage.expect(server, "up")
    holder = stage.start("holder", *program, "fill", link.b_ip, PORT, BACKLOG + 1, netns=link.a)
    stage.expect(holder, "full")
    watch = stage.watch("monitor", "monitor", "--netns", link.b.name, f"tcp port {PORT}")
    before = nstat(link.b)
    stage.run("client", *program, "knock", link.b_ip, PORT, syns, netns=link.a)
    after = nstat(link.b)
    recording = stage.finish(watch)
    for child in (server, holder):
        stage.stop(child)
    drops = {name: after[name] - before[name] for name in COUNTERS}
    stage.score("generator").equal(drops["TcpExtListenDrops"], syns, "SYNs were refused by nstat")
    check(stage, recording, drops["TcpExtListenDrops"])
    stage.check_replay(recording)


def check(stage, recording, drops):
    ports = collections.Counter(row["port"] for row in stage.truth("client"))
    listener = next(stage.truth("server"))
    shown = collections.Counter()
    for ev in recording.events(b'"net.refused"'):
        conn = ev.get("conn") or {}
        shown[conn.get("sport")] += 1
        stage.score("listener").equal(ev.get("cookie"), listener["cookie"], f"port {conn.get('sport')}")
        stage.score("owner").equal((ev.get("proc") or {}).get("pid"), listener["pid"], f"port {conn.get('sport')}")
    stage.score("count").equal(sum(shown.values()), drops, "refused SYNs are shown, by nstat")
    for port, count in ports.items():
        stage.score("port").equal(shown[port], count, f"events of client port {port}")
