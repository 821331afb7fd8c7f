# SPDX-License-Identifier: GPL-2.0-or-later
"""gRPC servers and clients of two Go releases behind five wrappers of net.Conn: each call once on either side,
with the process, the addresses and the cookie that the programs print; calls of the handler and of the goroutines it
starts belong to the call being served. Then short clients, one call each.
"""
import collections
import itertools
import os

import go_programs
import helpers
import markers

PORT, WRAPPERS, SHORT_RUNS = 8100, 5, 200
WARM = 900_000          # from here on: calls made until the goroutines of the running servers are known
SEEN_OF_CALL = 5 + 2    # markers, two ends


def prepare():
    for suite in go_programs.SUITES:
        go_programs.make("gowrap", suite, "plain")


def run(stage):
    link = helpers.Link(stage.netns(), stage.netns())
    calls = max(20, stage.events // (len(go_programs.SUITES) * WRAPPERS * SEEN_OF_CALL))
    programs = {suite: go_programs.build(stage, "gowrap", suite, "plain") for suite in go_programs.SUITES}
    servers, group = [], stage.cgroup()
    for number, (suite, program) in enumerate(programs.items()):
        servers.append(stage.start("server-" + suite, program, "serve", f"{link.b_ip}:{PORT + 100 * number}",
                                   netns=link.b, cgroup=group))
        stage.expect(servers[-1], "up")
    select = ("--cgroup", os.path.basename(group))
    watch = stage.watch("rpc", "rpc", *select, "--header", "x-call")
    both = stage.watch("record", "record", "--set", "sys,gohttp2", *select)
    for number, (suite, program) in enumerate(programs.items()):
        to, first = f"{link.b_ip}:{PORT + 100 * number}", 1_000_000 * (number + 1)
        names = itertools.count(first + WARM)
        warm_up(stage, watch, both, servers[number].pid, lambda _, to=to, names=names, program=program: stage.run(
            "warm", program, "once", to, next(names), netns=link.a))
        stage.run("client-" + suite, program, "talk", to, calls, first, netns=link.a, cgroup=group)
        for turn in range(SHORT_RUNS if stage.events > 100_000 else SHORT_RUNS // 10):
            stage.run("short-" + suite, program, "once", to, first + 500_000 + turn, netns=link.a, cgroup=group)
    recording, joined = stage.finish(watch), stage.finish(both)
    for server in servers:
        stage.stop(server)
    for suite in programs:
        names = check_suite(stage, recording, suite)
        check_served(stage, joined, {row["pid"] for row in stage.truth("server-" + suite)}, names,
                     go_programs.has_parents(suite))
    stage.check_replay(recording)
    stage.check_replay(joined)


def warm_up(stage, watch, both, pid, call):
    """
    Calls from outside the cgroup until the file of server @pid is watched and its goroutines are known: how soon
    depends on what else the machine does.
    """
    stage.repeat_until_seen(watch, b'"rpc.call"', lambda ev: ev["proc"].get("pid") == pid, call)
    stage.repeat_until_seen(both, b'"rpc.call"', lambda ev: ev["proc"].get("pid") == pid, call)
    stage.repeat_until_seen(both, b'"lseek"', lambda ev: ev["proc"].get("pid") == pid and "goid" in ev, call)


def name_of(ev):
    for line in ev.get("headers", "").split("\n"):
        if line.startswith("x-call: "):
            return int(line[8:])
    return None


def address(conn, end):
    return f"{conn['src']}:{conn['sport']}" if end == "src" else f"{conn['dst']}:{conn['dport']}"


def key_of(ev):
    """A call, in every run of sonde."""
    return ev["proc"].get("pid"), ev["side"], address(ev["conn"], "src"), address(ev["conn"], "dst"), ev["rpc_stream"]


def check_suite(stage, recording, suite):
    rows = [*stage.truth("server-" + suite), *stage.truth("client-" + suite)]
    short = sorted(stage.truth("short-" + suite), key=lambda row: row["name"])
    truth = {(row["side"], row["name"]): row for row in rows}
    late = {row["name"] for row in short[:1]}       # the first run of a file that sonde has not seen
    calls, names = collections.Counter(), {}
    for ev in recording.events(b'"rpc.call"'):
        name = name_of(ev)
        row = truth.get((ev["side"], name)) or next((r for r in short if r["name"] == name
                                                     and ev["side"] == "client"), None)
        if row and ev["proc"].get("pid") == row["pid"]:
            calls[ev["side"], name] += 1
            check_call(stage, ev, row)
            if "sport" in ev.get("conn", {}):
                names[key_of(ev)] = name
    for side, name in truth:
        stage.score("calls").equal(calls[side, name], 1, f"{side} {name} of {suite}")
    for row in short:
        if row["name"] in late and not calls["client", row["name"]]:
            stage.score("short").add_excused("first run of a file")
        else:
            stage.score("short").equal(calls["client", row["name"]], 1, f"run {row['name']} of {suite}")
    return names


def check_call(stage, ev, row):
    conn = ev.get("conn") or {}
    local = "src" if row["side"] == "client" else "dst"
    what = f"{row['side']} {row['name']} behind wrapper {row['wrap']}"
    got = (address(conn, local), address(conn, "src" if local == "dst" else "dst")) if "sport" in conn else None
    stage.score("peer").equal(got, (row["local"], row["peer"]), what)
    stage.score("socket").equal(ev.get("cookie"), row["cookie"], what)


def check_served(stage, recording, pids, names, has_parents):
    """System calls of handlers and of goroutines that they started. @names: {key of the call: name}"""
    numbers = {(ev["proc"].get("pid"), ev.get("call_id")): names.get(key_of(ev))
               for ev in recording.events(b'"rpc.call"') if ev["side"] == "server" and "sport" in ev.get("conn", {})}
    for ev in recording.events(b'"lseek"'):
        marker = markers.of(ev)
        if not marker or ev["proc"].get("pid") not in pids:
            continue
        number, name = marker
        if name % 1_000_000 >= WARM:
            continue
        served = numbers.get((ev["proc"]["pid"], ev.get("call_id")), "another call") if ev.get("call_id") else None
        score = stage.score("born" if number == markers.BORN else "served")
        if served is None and number == markers.HANDED_OVER:
            score.add_excused("handed over by a channel")
        elif served is None and number == markers.BORN and not has_parents:
            score.add_excused("no parents before Go 1.21")
        elif served is None:
            score.add_unknown(ev.get("call_how"), f"call {name}, goroutine {ev.get('goid')}")
        elif number == markers.HANDED_OVER:
            score.add_wrong(f"work handed over by a channel has call {served}")
        else:
            score.equal(served, name, f"goroutine {ev.get('goid')}", ev.get("call_how"))
