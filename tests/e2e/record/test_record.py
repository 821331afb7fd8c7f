# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde record: several probes in one run, with one selection and one stream."""
import json
import subprocess

import pytest

import helpers

LOAD = """
import os, socket, sys, time
sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sink.bind(("127.0.0.1", 0))
source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print("up", flush=True)
for line in sys.stdin:
    source.sendto(b"x" * 100, sink.getsockname())
    sink.recv(200)
    end = time.process_time() + 0.2
    while time.process_time() < end:
        os.getppid()
        sum(range(20000))
    print("done", flush=True)
"""


@pytest.fixture
def load():
    child = subprocess.Popen(["/usr/bin/python3", "-c", LOAD], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True)
    assert child.stdout.readline() == "up\n"
    yield child
    child.kill()
    child.wait()


def work(child):
    child.stdin.write("\n")
    child.stdin.flush()
    assert child.stdout.readline() == "done\n"


def test_a_duration_begins_when_all_probes_are_attached(sonde):
    """Stacks come first, and loading the other probes takes longer than the run. The process runs no Go program."""
    with subprocess.Popen(["sh", "-c", "while sleep .005; do echo; done > /dev/null"]) as busy:
        try:
            run = sonde("record", "--set", "full", "-p", str(busy.pid), "--duration", "300ms", "--json")
            run.child.wait(timeout=60)
            run.stop()
        finally:
            busy.kill()
    times = [ev["ts_ns"] for ev in run.events if ev["type"] == "sys.exit"]
    assert times[-1] - times[0] > 150e6, times


def data(events):
    return [ev for ev in events if ev["type"] in ("net.trace", "cpu.sample", "sys.exit")]


def test_one_selection_one_stream_one_ledger_each(sonde, load, tmp_path):
    """Packets, samples and calls of one process, in the order of time; the recording replays to the same lines."""
    path = tmp_path / "all.rec"
    watch = sonde("record", "--set", "net,profile,syscalls", "-F", "199", "-p", str(load.pid), "--json",
                  "-o", f"rec:{path}")
    work(load)
    watch.wait_for(lambda ev: ev["type"] == "cpu.sample", count=3)
    watch.wait_for(lambda ev: ev["type"] == "net.trace")
    events = watch.finish()
    seen = data(events)
    assert {ev["type"] for ev in seen} == {"net.trace", "cpu.sample", "sys.exit"}
    assert {ev["proc"]["pid"] for ev in seen} == {load.pid}
    assert len({ev["proc"]["image_id"] for ev in seen if "image_id" in ev["proc"]}) == 1
    # a sample whose stack user space has to walk comes later
    times = [ev["ts_ns"] for ev in seen if ev["type"] != "cpu.sample"]
    assert times == sorted(times)
    ledgers = {ev["probe"]: ev for ev in events if ev["type"] == "sonde.ledger"}
    assert set(ledgers) == {"proc", "net", "cpu", "sys"}
    for one in ledgers.values():
        assert one["seen"] == one["delivered"] + one["filtered"] + one["sampled"] + one["lost"]
    again = sonde.run("record", "-r", str(path), "--set", "sys", "--json").stdout
    calls = [ev for ev in map(json.loads, again.splitlines()) if ev["type"] not in ("sonde.ledger", "cpu.totals")]
    assert {ev["type"] for ev in calls} == {"sys.exit"}
    assert [ev["ts_ns"] for ev in calls] == [ev["ts_ns"] for ev in seen if ev["type"] == "sys.exit"]


def test_a_filter_on_the_process_goes_to_every_probe(sonde, load):
    watch = sonde("record", "--set", "net,sys", "--json", f"proc.pid={load.pid}")
    work(load)
    watch.wait_for(lambda ev: ev["type"] == "net.trace")
    events = watch.finish()
    assert {ev["proc"]["pid"] for ev in data(events)} == {load.pid}
    calls = [ev for ev in events if ev["type"] == "sonde.ledger" and ev["probe"] == "sys"][-1]
    assert calls["filtered"] > 0        # in the kernel: user space got only the process's own
    assert calls["delivered"] == sum(ev["type"] == "sys.exit" for ev in events)


def test_the_end_has_a_ledger_for_each_probe():
    done = helpers.sh(helpers.BINARY, "--agent=no", "record", "--set", "net,sys", "-o", "json:/dev/null", "--",
                      "true", timeout=40)
    for probe in "proc", "sys":
        assert f"sonde: {probe}: seen " in done.stderr


def test_an_unknown_member_is_refused():
    done = helpers.sh(helpers.BINARY, "record", "--set", "net,disk", check=False)
    assert done.returncode == 2 and "--set disk: expected light, normal, full, or net, cpu" in done.stderr


BUSY = """
import os, time
print("up", flush=True)
while True:
    os.getppid()
    time.sleep(0.0005)
"""


@pytest.fixture
def busy():
    child = subprocess.Popen(["/usr/bin/python3", "-c", BUSY], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "up\n"
    yield child
    child.kill()
    child.wait()


def test_a_limit_of_cpu_time_is_over_all_probes(sonde, busy):
    """Each probe leaves out what it counts as sampled; the rates stand in the stream, with the records after them."""
    watch = sonde("record", "--set", "cpu:off-cpu,sys", "--max-cpu", "0.1%", "-p", str(busy.pid), "--json")
    for probe in "sys", "cpu":
        watch.wait_for(lambda ev, name=probe: ev["type"] == "sonde.sampling" and ev["probe"] == name and
                       ev["one_in"] > 2)
    watch.wait_for(lambda ev: ev["type"] == "cpu.block" and ev["count"] > 1)
    events = watch.finish()
    rates = [ev for ev in events if ev["type"] == "sonde.sampling"]
    assert {ev["budget"] for ev in rates} == {1} and rates[0]["cost"] > 1
    ledgers = {ev["probe"]: ev for ev in events if ev["type"] == "sonde.ledger"}
    for probe in "sys", "cpu":
        one = ledgers[probe]
        assert one["sampled"] > 100
        assert one["seen"] == one["delivered"] + one["filtered"] + one["sampled"] + one["lost"]


@pytest.mark.parametrize("words, says", [
    (["--max-cpu", "none"], "--max-cpu none: expected a percentage of one CPU"),
    (["--max-cpu", "2%", "-r", "/dev/null"], "--max-cpu limits live probes"),
    (["--max-cpu", "2%", "--set", "sys:max-cpu=1%"], "--max-cpu and sys:max-cpu exclude each other"),
])
def test_limits_of_cpu_time_that_cannot_be(words, says):
    done = helpers.sh(helpers.BINARY, "record", *words, "--duration", "1ms", check=False)
    assert done.returncode == 2 and says in done.stderr
