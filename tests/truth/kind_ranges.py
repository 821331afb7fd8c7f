# SPDX-License-Identifier: GPL-2.0-or-later
"""A TCP stream of which one packet in 40 is lost: the byte range of each write and read is the program's own, and all
of the drops are shown.

Both programs count from 0. The two offsets between their counts and sonde's sequence numbers must be one number.
"""
import json
import os

import drops
import helpers

PORT = 8001
CALLS = {"sendto": "sent", "recvfrom": "received"}
DROP = """
table ip lossy {{
  counter lost {{ }}
  chain pre {{ type filter hook prerouting priority 0;
    tcp dport {port} tcp flags & (syn | fin) == 0 numgen inc mod 40 == 0 counter name lost drop
  }}
}}"""


def run(stage):
    link = helpers.Link(stage.netns(), stage.netns())
    link.b.nft(DROP.format(port=PORT))
    writes = max(100, min(20_000, stage.events // 6))
    group = stage.cgroup()
    program = stage.python("stream.py")
    calls = stage.watch("syscalls", "syscalls", "--cgroup", os.path.basename(group))
    watch = stage.watch("monitor", "monitor", "--netns", link.b.name, "--where", "evt.type=drop", f"tcp port {PORT}")
    trace = stage.trace_drops()
    server = stage.start("server", *program, "receive", link.b_ip, PORT, stage.random.randrange(1 << 30),
                         netns=link.b, cgroup=group)
    stage.expect(server, "up")
    stage.run("client", *program, "send", link.b_ip, PORT, writes, stage.random.randrange(1 << 30), netns=link.a,
              cgroup=group)
    server.wait(30)
    traced = trace.counts()
    recordings = stage.finish(calls), stage.finish(watch)
    bases = [check(stage, recordings[0], role) for role in ("client", "server")]
    stage.score("base").equal(bases[0], bases[1], "sequence number of the first byte, at both ends")
    lost = json.loads(link.b.run("nft", "-j", "list", "counters").stdout)["nftables"]
    lost = next(row["counter"]["packets"] for row in lost if "counter" in row)
    of_port = (ev for ev in recordings[1].events(b'"net.drop"') if ev["conn"].get("dport") == PORT)
    drops.judge(stage.score("drops"), drops.shown(of_port), lost, traced, drops.init_threads())
    stage.check_replay(recordings[0])


def check(stage, recording, role):
    """Ranges of one end; returns the sequence number of its first byte."""
    end, sizes = stage.truth(role)
    offset, base, at = 0, None, 0
    for ev in recording.events(b'"sys.exit"'):
        if ev["proc"].get("pid") != end["pid"] or ev["name"] not in CALLS or ev["ret"] <= 0:
            continue
        if at == len(sizes["sizes"]):
            break
        size = sizes["sizes"][at]
        if ev["ret"] != size:
            stage.score("generator").add_wrong(f"{role}: call {at} returned {ev['ret']}, the program says {size}")
            return base
        judge(stage, ev, role, size, base, offset)
        tcp = ev.get("tcp")
        if base is None and tcp:
            base = (tcp["seq"] - offset) % (1 << 32)
        stage.score(role + "-socket").equal(ev.get("cookie"), end["cookie"], ev["args"][:40])
        offset, at = offset + size, at + 1
    stage.score("generator").equal(at, len(sizes["sizes"]), f"calls of the {role} are shown")
    return base


def judge(stage, ev, role, size, base, offset):
    tcp = ev.get("tcp")
    expected = CALLS[ev["name"]], size, None if base is None else (base + offset) % (1 << 32)
    got = tcp and (tcp["dir"], tcp["len"], expected[2] and tcp["seq"])
    stage.score(role + "-range").equal(got, expected, f"call at {offset}")
