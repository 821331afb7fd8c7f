# SPDX-License-Identifier: GPL-2.0-or-later
"""-o perfetto: what is in a recording is in its trace, by a reader of its own (perfetto_reader.py)."""
import collections
import json
import os
import sys

import pytest

import helpers
from perfetto_reader import INSTANT, Trace

sys.path.insert(0, os.path.join(helpers.ROOT, "tests", "golden"))
import calls  # noqa: E402  found by the line above

DATA = os.path.join(helpers.ROOT, "tests", "data")
LOAD = """
import os, socket, subprocess, time
for _ in range(10):
    subprocess.run(["ls", "/nonexistent"], stderr=subprocess.DEVNULL)
    sum(range(10 ** 6))
    time.sleep(0.02)
"""


def export(recording, tmp_path):
    """The trace, and the events as JSON, of one pass."""
    out = tmp_path / "out.perfetto-trace"
    helpers.sh(helpers.BINARY, "export", "-q", "-r", str(recording), "-o", f"perfetto:{out}", "-o",
               f"json:{tmp_path}/out.json", timeout=60)
    found = [json.loads(line) for line in (tmp_path / "out.json").read_text().splitlines()]
    return Trace(out.read_bytes()), found


def of_type(found, name):
    return [ev for ev in found if ev["type"] == name]


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "store"
    helpers.sh(helpers.BINARY, "--agent=no", "record", "-q", "-w", str(path), "--set", "net,cpu,cpu:off-cpu,sys",
               "-F", "499", "--", "/usr/bin/python3", "-c", LOAD, timeout=60)
    return path


def test_every_call_is_a_slice_of_its_thread(live, tmp_path):
    trace, found = export(live, tmp_path)
    timed = [ev for ev in of_type(found, "sys.exit") if ev.get("latency")]
    want = sorted((ev["ts_ns"] - ev["latency"], ev["ts_ns"], ev["name"], ev["proc"]["pid"]) for ev in timed)
    assert len(want) > 500
    assert sorted(s[:4] for s in trace.slices if s[4] == "syscall") == want


def test_samples_have_named_stacks(live, tmp_path):
    trace, found = export(live, tmp_path)
    samples = of_type(found, "cpu.sample")
    assert len(trace.samples) == len(samples) > 20
    assert sum("_start" in stack[0] or "_start" in "".join(stack[:3]) for stack in trace.samples if stack) > 5
    assert sum(len(stack) > 3 for stack in trace.samples) > len(samples) / 2


def test_waits_are_states(live, tmp_path):
    trace, found = export(live, tmp_path)
    blocks = of_type(found, "cpu.block")
    running = collections.Counter((ts, tid) for ts, tid, state in trace.states if state == 3)
    assert running == collections.Counter((ev["ts_ns"], ev["proc"]["tid"]) for ev in blocks)
    assert running


def test_all_else_are_instants(live, tmp_path):
    trace, found = export(live, tmp_path)
    shown = sum(kind == INSTANT for _, _, kind, _, _ in trace.events)
    other = [ev for ev in found if ev["type"].split(".")[0] in ("net", "sys", "cpu") and
             ev["type"] not in ("cpu.sample", "cpu.block", "cpu.totals") and
             not (ev["type"] == "sys.exit" and ev.get("latency"))]
    assert shown == len(other)
    assert len(trace.clocks) == 1


@pytest.mark.parametrize("name", sorted(n for n in os.listdir(os.path.join(DATA, "rpc")) if n.endswith(".calls")))
def test_rpcs_are_slices_and_arrows(name, tmp_path):
    recording = tmp_path / "calls.rec"
    recording.write_bytes(calls.to_rec(os.path.join(DATA, "rpc", name)))
    trace, found = export(recording, tmp_path)
    timed = [ev for ev in of_type(found, "rpc.call") if ev.get("latency")]
    want = sorted((ev["ts_ns"] - ev["latency"], ev["ts_ns"], ev["proc"]["pid"]) for ev in timed)
    assert sorted((s[0], s[1], s[3]) for s in trace.slices if s[4] == "rpc") == want
    assert max(trace.flows.values(), default=0) <= 2


@pytest.mark.parametrize("name", sorted(os.listdir(os.path.join(DATA, "rec"))))
def test_recordings_of_the_tree(name, tmp_path):
    trace, found = export(os.path.join(DATA, "rec", name), tmp_path)
    assert len(trace.samples) == len(of_type(found, "cpu.sample"))
