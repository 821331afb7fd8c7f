# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that leaves accepted connections to others, with one packet in 40 lost on the way: each packet belongs to
the process that used the socket last, from that process's first read on."""
import collections
import json

import drops
import fields
import helpers
import packets
from stage import TICK_NS

PORT, THREADS, REQUESTS = 8001, 8, 20
EVENTS_OF_CONNECTION = 2 * 2 * REQUESTS     # both ends see request and answer
WAYS = {"acceptor", "self", "child", "scm", "pidfd"}
LOSS = """
table ip lossy {{
  counter lost {{ }}
  chain pre {{ type filter hook prerouting priority 0;
    tcp {end} {port} tcp flags & (syn | fin) == 0 numgen inc mod 40 == 0 counter name lost drop
  }}
}}"""


def lossy(ns, dev, peer, end):
    """What is lost is sent again soon."""
    ns.nft(LOSS.format(end=end, port=PORT))
    ns.run("ip", "route", "replace", peer, "dev", dev, "rto_min", "5ms")


def lost(ns):
    rows = json.loads(ns.run("nft", "-j", "list", "counters").stdout)["nftables"]
    return next(row["counter"]["packets"] for row in rows if "counter" in row)


def run(stage):
    link = helpers.Link(stage.netns(), stage.netns())
    lossy(link.a, link.a_dev, link.b_ip, "sport")
    lossy(link.b, link.b_dev, link.a_ip, "dport")
    server = stage.start("server", *stage.python("passed.py"), "serve", link.b_ip, PORT, netns=link.b)
    stage.expect(server, "up")
    watch = stage.watch("monitor", "monitor", "--netns", link.a.name, "--netns", link.b.name, f"tcp port {PORT}")
    trace = stage.trace_drops()
    stage.run("client", *stage.python("prefork.py"), "talk", link.b_ip, PORT,
              max(2 * THREADS, stage.events // EVENTS_OF_CONNECTION), REQUESTS, THREADS,
              stage.random.randrange(1 << 30), netns=link.a)
    dropped, traced = lost(link.a) + lost(link.b), trace.counts()
    recording = stage.finish(watch)
    stage.stop(server)
    check(stage, recording, link)
    drops.judge(stage.score("lost-packets"), drops.shown(packets.of_port(recording, PORT)), dropped, traced,
                drops.init_threads())
    stage.check_replay(recording)


def check(stage, recording, link):
    clients, users = packets.ends_of(stage.truth("client")), collections.defaultdict(list)
    for row in sorted(stage.truth("server"), key=lambda row: row["before"]):
        users[tuple(row["local"]), tuple(row["peer"])].append(row)
    stage.score("ways").equal({row["way"] for rows in users.values() for row in rows}, WAYS, "ways to a user")
    for ev in packets.of_port(recording, PORT):
        local = packets.local_tuple(ev, clients if ev["netns"] == link.a.inode else users)
        if ev["netns"] == link.a.inode:
            packets.judge_process(stage.score("client"), ev, fields.local_end(ev), clients[local])
        else:
            judge(stage, ev, users[local])


def judge(stage, ev, rows):
    """@rows: the users of the connection, in order."""
    who, at, score = fields.local_end(ev), ev["ts_ns"], stage.score("server")
    now = [row for row, following in zip(rows, [*rows[1:], None])
           if row["before"] <= at and (not following or at < following["after"])]
    early = not now or at < rows[0]["after"]
    if any(who.pid == row["pid"] and who.start_ns // TICK_NS == row["start"] for row in now or rows[:1]):
        score.add_right(who.how)
    elif early and (who.pid is None or who.how == fields.NOT_ACCEPTED):
        score.add_excused("before accept")
    elif who.pid is None:
        score.add_unknown(who.how, packets.short(ev))
    else:
        score.add_wrong(f"{who.pid} by {who.how}, not {[row['pid'] for row in now]}: {packets.short(ev)}")
    if who.cookie == rows[0]["cookie"]:
        stage.score("socket").add_right(who.how)
    elif early:
        stage.score("socket").add_excused("before accept")
    else:
        stage.score("socket").equal(who.cookie, rows[0]["cookie"], packets.short(ev), who.how)
