# SPDX-License-Identifier: GPL-2.0-or-later
"""Views against an independent count over the events of the same recording."""
import collections
import json
import os
import re
import subprocess

import pytest

import view_counts
from helpers import BINARY, ROOT
from terminal import Terminal

DATA = os.path.join(ROOT, "tests", "data", "rec")
ALL, CHAIN, CPU, FLOWS, LOOPBACK = (os.path.join(DATA, name + ".rec")
                                    for name in ("all", "chain", "cpu", "flows", "loopback"))


def objects(*words):
    done = subprocess.run([BINARY, *words, "--json"], capture_output=True, text=True, timeout=60, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


RECORDINGS = [ALL, CHAIN, CPU, FLOWS, LOOPBACK]     # the first has events of each type


@pytest.mark.parametrize("recording", RECORDINGS, ids=os.path.basename)
def test_each_view_is_the_count_of_the_events(recording):
    events = objects("record", "-r", recording)
    wrong, compared = [], 0
    types = {event["type"] for event in events}
    for view in view_counts.views():
        assert recording != ALL or {column.type for column in view.columns} <= types, view.name
        if view.name == "functions":    # below
            continue
        rows = objects("top", view.name, "-r", recording)
        wrong += view_counts.differences(view, events, rows)
        compared += len(rows)
    assert not wrong and compared > 0, wrong


def test_flows_are_what_their_last_reports_say():
    last = {}
    for e in objects("record", "-r", FLOWS):
        if e["type"] == "net.flow":
            last[e["id"], e["is_reply"]] = e
    rows = objects("top", "talkers", "-r", FLOWS)
    assert sum(r["sent"] for r in rows) == sum(e["bytes"] for (_, reply), e in last.items() if not reply)
    assert sum(r["received"] for r in rows) == sum(e["bytes"] for (_, reply), e in last.items() if reply)
    assert sum(r["packets"] for r in rows) == sum(e["packets"] for e in last.values())
    assert sum(r["flows"] for r in rows) == len({flow for flow, _ in last})


def test_intervals_sum_to_the_total():
    rows = objects("top", "waits", "-r", CPU, "--interval", "200ms")
    sums, totals = collections.Counter(), {}
    for r in rows:
        key = tuple(r["key"].values())
        if r["final"]:
            totals[key] = r["time_ns"] and r["waits"]
        else:
            sums[key] += r["waits"]
    assert len(rows) > 2 * len(totals) and dict(sums) == totals


def test_a_filter_of_the_command_line():
    rows = objects("top", "syscalls", "-r", CHAIN, "proc.name=front and syscall.error exists")
    assert rows and all(r["errors"] == r["calls"] for r in rows)


def test_a_terminal_of_unknown_type():
    one = Terminal("top", "-r", CHAIN, TERM="no-such-terminal")
    status, err = one.end(b"")
    assert status == 1 and "cannot use this terminal (TERM=no-such-terminal)" in err


def test_a_view_that_does_not_exist():
    done = subprocess.run([BINARY, "top", "nosuchview", "-r", CHAIN], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "nosuchview" in done.stderr


def folded(recording, *words):
    """({function: samples in it}, {function: samples with it}) of a profile."""
    done = subprocess.run([BINARY, "profile", "-r", recording, "-o", "folded", *words],
                          capture_output=True, text=True, timeout=60, check=True)
    own, total = collections.Counter(), collections.Counter()
    for line in done.stdout.splitlines():
        stack, samples = line.rsplit(" ", 1)
        frames = stack.split(";")[1:]
        own[frames[-1]] += int(samples)
        for frame in set(frames):
            total[frame] += int(samples)
    return own, total


@pytest.mark.parametrize("recording", [ALL, CPU], ids=os.path.basename)
def test_functions_are_those_of_the_profile(recording):
    own, total = folded(recording, "evt.type=cpu.sample")
    rows = {r["key"]["stack.function"]: (r["self"], r["total"]) for r in objects("top", "functions", "-r", recording)}
    assert rows == {name: (own[name], total[name]) for name in total} and rows


def test_functions_select_events():
    """In a recording names follow the events: a filter has them from the first event on."""
    _, total = folded(CPU, "evt.type=cpu.sample")
    names = [name for name, _ in total.most_common() if re.fullmatch(r"[\w.]+", name)]
    assert len(names) > 3
    for name in (*names[:3], names[-1]):
        found = objects("record", "-r", CPU, "--where", f"evt.type=cpu.sample and stack.function={name}")
        assert sum(e["count"] for e in found if e["type"] == "cpu.sample") == total[name], name
    waits = [[e for e in objects("record", "-r", CPU, "--where", f"evt.type=cpu.block{part}")
              if e["type"] == "cpu.block"]
             for part in ("", " and stack.function glob '*poll*'", " and not stack.function glob '*poll*'")]
    assert waits[1] and len(waits[0]) == len(waits[1]) + len(waits[2])
