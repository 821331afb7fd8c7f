# SPDX-License-Identifier: GPL-2.0-or-later
"""Stores of sonde record: written over real load, read back whole, in part and by key; killed, full, shared."""
import datetime
import json
import os
import re
import signal
import subprocess
import tempfile
import time

import pytest

import helpers

LOAD = """
import os, socket, subprocess, time
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
for _ in range({rounds}):
    for _ in range(20):
        with socket.create_connection(server.getsockname()) as one, server.accept()[0] as other:
            one.send(b"x" * 100)
            other.recv(200)
    subprocess.run(["ls", "/nonexistent"], stderr=subprocess.DEVNULL)
    sum(range(10 ** 6))
    time.sleep(0.11)
"""
SET = "net,net:flows,cpu,cpu:off-cpu,sys:syscall=%net:syscall=openat"


def load(rounds):
    return "--", "/usr/bin/python3", "-c", LOAD.format(rounds=rounds)


def record(*words, timeout=60, check=True):
    return helpers.sh(helpers.BINARY, "--agent=no", "record", "-q", *words, timeout=timeout, check=check)


def comparable(path):
    """Of JSON lines: without the sums of the run, without what only a reader that knows the names at once prints."""
    with open(path) as lines:
        found = [json.loads(line) for line in lines if line.endswith("\n")]
    assert not [ev for ev in found if ev["type"] == "sys.gap"]
    for ev in found:
        for key in "seq", "ustack", "kstack":
            ev.pop(key, None)
    return [ev for ev in found if ev["type"] not in ("sonde.ledger", "cpu.totals")]


def events(path, *words, check=True):
    """Of the stream of a store or recording."""
    with tempfile.NamedTemporaryFile() as to:
        helpers.sh(helpers.BINARY, "record", "-q", "-r", str(path), "-o", f"json:{to.name}", *words, check=check,
                   timeout=60)
        return comparable(to.name)


def ledgers(path):
    done = helpers.sh(helpers.BINARY, "record", "-q", "-r", str(path), "--json", timeout=60)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {(ev["probe"], ev.get("instance")): (ev["seen"], ev["delivered"], ev["lost"])
            for ev in found if ev["type"] == "sonde.ledger"}


def segments(path):
    return sorted(name for name in os.listdir(path) if re.fullmatch(r"\d{16}\.(part|seg|keep)", name))


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The same run as a store of many segments and as a recording."""
    folder = tmp_path_factory.mktemp("both")
    record("-w", str(folder / "store"), "-o", f"rec:{folder}/one.rec", "--set", SET, "--segment", "100k", *load(15))
    return folder


def test_it_equals_a_recording_of_the_same_run(both):
    assert len(segments(both / "store")) > 3
    whole = events(both / "store")
    assert {"net.trace", "net.flow", "cpu.sample", "cpu.block", "sys.exit"} <= {ev["type"] for ev in whole}
    assert whole == events(both / "one.rec")
    assert ledgers(both / "store") == ledgers(both / "one.rec")


def test_a_part_equals_that_part_of_the_recording(both):
    whole = events(both / "one.rec")
    pids = {ev["proc"]["pid"] for ev in whole if "pid" in ev.get("proc", {})}
    assert len(pids) > 5
    for pid in sorted(pids)[::4]:
        for words in (("-p", str(pid)), ("--where", f"proc.pid={pid} and evt.type=sys.exit")):
            assert events(both / "store", *words) == events(both / "one.rec", *words)
    assert events(both / "store", "--where", "evt.type=net.flow") == [ev for ev in whole if ev["type"] == "net.flow"]


def test_a_span_of_time(both):
    whole = events(both / "one.rec")
    first, last = (sorted(ev["time"] for ev in whole)[len(whole) * third // 3][:19] for third in (1, 2))
    since = datetime.datetime.fromisoformat(first + "+00:00").timestamp() + 0.25
    until = datetime.datetime.fromisoformat(last + "+00:00").timestamp() + 0.75
    part = events(both / "store", "--since", f"@{since:.2f}", "--until", f"@{until:.2f}")
    assert part == [ev for ev in whole if f"{first}.250000000Z" <= ev["time"] <= f"{last}.750000000Z"]
    assert 10 < len(part) < len(whole)


def test_each_segment_alone_knows_the_processes(both):
    """The state at its start is in it: of processes that began before."""
    name = segments(both / "store")[-2]
    alone = events(both / "store" / name)
    of_process = [ev for ev in alone if ev.get("proc", {}).get("pid")]
    unnamed = {ev["proc"]["pid"] for ev in of_process if not ev["proc"].get("name")}
    assert len(of_process) > 100 and len(unnamed) <= 1      # one may end while the state is read


# The kernel answers for a client that has ended: its peer closes the connection a moment later.
ENDED = """
import os, socket, threading, time
server = socket.create_server(("127.0.0.1", 0), backlog=128)
def serve():
    while True:
        threading.Timer(0.1, server.accept()[0].close).start()
threading.Thread(target=serve, daemon=True).start()
for _ in range(800):
    pid = os.fork()
    if not pid:
        socket.create_connection(server.getsockname())
        os._exit(0)
    os.waitpid(pid, 0)
"""


def test_each_segment_alone_knows_processes_that_have_ended(tmp_path):
    """Packets of a process may come after its end, in a segment that has nothing else of it."""
    path = tmp_path / "store"
    record("-w", str(path), "--set", "net", "--segment", "100k", "--", "/usr/bin/python3", "-c", ENDED)
    names, unnamed = segments(path), []
    for name in names[1:]:
        unnamed += [ev for ev in events(path / name) if ev["type"] == "net.trace" and ev.get("proc", {}).get("pid")
                    and not ev["proc"].get("name")]
    assert len(names) > 3 and not unnamed, (len(names), len(unnamed), unnamed[:1])


OTHER = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 0))
print("up", flush=True)
while True:
    s.sendto(b"x" * 100, s.getsockname())
    s.recv(100)
"""


def test_a_command_is_recorded_without_packets_of_others(tmp_path):
    """Those of its children are, also after their end: seven of a connection, each as it leaves and comes in."""
    with subprocess.Popen(["/usr/bin/python3", "-c", OTHER], stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        record("-w", str(tmp_path / "one.rec"), "--set", "net,net:flows", "--", "/usr/bin/python3", "-c",
               ENDED.replace("800", "50") + "time.sleep(0.5)\n")
        other.kill()
    packets = [ev for ev in events(tmp_path / "one.rec") if ev["type"] in ("net.trace", "net.flow")]
    assert {ev["conn"]["proto"] for ev in packets} == {"tcp"} and all(ev["proc"]["name"] for ev in packets)
    assert len([ev for ev in packets if ev["type"] == "net.trace"]) == 50 * 14
    assert len({ev["proc"]["pid"] for ev in packets}) == 51


def test_check_compares_with_the_ledgers(both):
    done = helpers.sh(helpers.BINARY, "store", "check", str(both / "store"), timeout=60)
    assert "no damage" in done.stdout and not done.stderr


def test_a_directory_here_needs_no_slash(both):
    """sonde record -w NAME makes one."""
    done = helpers.sh(helpers.BINARY, "store", "info", "store", cwd=both)
    assert f"./store: {len(segments(both / 'store'))} segments" in done.stdout
    missing = helpers.sh(helpers.BINARY, "store", "info", "other", cwd=both, check=False)
    assert "cannot open the store /var/lib/sonde/other" in missing.stderr and missing.returncode == 1


def test_only_root_may_read(both):
    assert os.stat(both / "store").st_mode & 0o777 == 0o700
    assert {os.stat(both / "store" / name).st_mode & 0o777 for name in segments(both / "store")} == {0o600}


def test_a_second_writer_is_refused_and_a_reader_is_not(sonde, tmp_path):
    path = tmp_path / "live"
    watch = sonde("record", "-w", str(path), "--set", "sys:syscall=openat")
    done = record("-w", str(path), "--set", "sys", check=False)
    assert done.returncode == 1 and f"is being written by pid {watch.pid};" in done.stderr
    helpers.sh("ls", "/")
    helpers.wait_until(lambda: any(ev["type"] == "sys.exit" for ev in events(path)))
    assert [name for name in segments(path) if name.endswith(".part")]
    assert f"being written by pid {watch.pid}" in helpers.sh(helpers.BINARY, "store", "info", str(path)).stdout
    watch.child.send_signal(signal.SIGINT)
    watch.child.wait(timeout=30)
    assert not [name for name in segments(path) if name.endswith(".part")]


def test_kill_9_costs_less_than_a_second(tmp_path):
    path = tmp_path / "killed"
    with subprocess.Popen([helpers.BINARY, "--agent=no", "record", "-w", str(path), "--set", "sys:syscall=openat"],
                          stderr=subprocess.PIPE, text=True) as child:
        assert "ready" in child.stderr.readline()
        end = time.monotonic() + 3
        while time.monotonic() < end:
            helpers.sh("ls", "/")
        killed = time.clock_gettime(time.CLOCK_BOOTTIME)
        child.kill()
    seen = [ev["ts_ns"] for ev in events(path)]
    assert seen and killed - max(seen) / 1e9 < 1.2
    record("-w", str(path), "--set", "sys:syscall=openat", "--", "true")
    assert all(name.endswith(".seg") for name in segments(path))
    again = [ev["ts_ns"] for ev in events(path)]
    assert again[:len(seen)] == seen and len(again) > len(seen)


@pytest.fixture
def small_disk(disk_of):
    return disk_of("400k")


def test_on_a_full_disk_the_oldest_segment_makes_room(small_disk):
    record("-w", str(small_disk / "store"), "--set", "sys,net", "--segment", "100k", "--min-free", "0%", *load(20))
    left = segments(small_disk / "store")
    assert left[0] != f"{0:016}.seg"        # the first ones made room
    assert events(small_disk / "store")
    assert "no damage" in helpers.sh(helpers.BINARY, "store", "check", str(small_disk / "store")).stdout


def test_without_room_records_are_left_out_and_counted(small_disk):
    (small_disk / "other").write_bytes(b"x" * (360 << 10))
    done = record("-w", str(small_disk / "store"), "--set", "sys,net", *load(12), check=False)
    assert done.returncode == 1
    assert re.search(r"cannot write .*: No space left on device; \d+ records lost", done.stderr)
    assert "no damage" in helpers.sh(helpers.BINARY, "store", "check", str(small_disk / "store")).stdout


def test_damage_is_told_and_costs_its_block(both, tmp_path):
    helpers.sh("cp", "-r", str(both / "store"), str(tmp_path / "hurt"))
    name = tmp_path / "hurt" / segments(both / "store")[1]
    data = bytearray(name.read_bytes())
    for at in range(60000, 60100):
        data[at] ^= 0xff
    name.write_bytes(data)
    done = helpers.sh(helpers.BINARY, "record", "-q", "-r", str(tmp_path / "hurt"), "--json", check=False, timeout=60)
    assert done.returncode == 1 and "unreadable" in done.stderr
    assert 100 < len(done.stdout.splitlines()) < len(events(both / "one.rec"))
    done = helpers.sh(helpers.BINARY, "store", "check", str(tmp_path / "hurt"), check=False, timeout=60)
    assert done.returncode == 1 and "segment 1: " in done.stderr
    assert name.read_bytes() == bytes(data)     # nothing is mended or removed


def test_a_replay_writes_no_store(both, tmp_path):
    done = record("-r", str(both / "one.rec"), "-w", str(tmp_path / "again"), check=False)
    assert done.returncode == 2 and "only a live run writes one" in done.stderr


def test_bad_input(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    for words, said in ((("-r", str(tmp_path / "empty")), "is a directory without segments of a store"),
                        (("-w", str(tmp_path / "s"), "--max-size", "64M"), "the least that works is two segments"),
                        (("--store", "a/b"), "a name without slashes"),
                        (("--set", "disk"), "expected light, normal, full, or net, cpu, sys, gohttp2 or call"),
                        (("--set", "sys:slow=1"), "--set sys: "),
                        (("--since", "10m"), "-r names it"),
                        (("-r", str(tmp_path / "empty"), "--since", "2026-02-30"), "expected a span that ends now"),
                        (("-r", str(tmp_path / "empty"), "--since", "yesterday"), "expected a span that ends now")):
        done = record(*words, check=False)
        assert done.returncode in (1, 2) and said in done.stderr, words


def test_a_later_version_is_named_and_the_rest_is_read(both, tmp_path):
    helpers.sh("cp", "-r", str(both / "store"), str(tmp_path / "later"))
    (tmp_path / "later" / f"{7:016}.seg").write_bytes(b"\x93SONDST\n\x09\x00" + b"\0" * 5000)
    (tmp_path / "later" / "notes.txt").write_text("not a segment")
    done = helpers.sh(helpers.BINARY, "record", "-q", "-r", str(tmp_path / "later"), "--json", check=False,
                      timeout=60)
    assert done.returncode == 1 and "segment 7: " in done.stderr
    assert len(done.stdout.splitlines()) > 100


def test_keep_and_drop(both, tmp_path):
    helpers.sh("cp", "-r", str(both / "store"), str(tmp_path / "kept"))
    helpers.sh(helpers.BINARY, "store", "keep", str(tmp_path / "kept"), "0")
    assert segments(tmp_path / "kept")[0] == f"{0:016}.keep"
    assert events(tmp_path / "kept") == events(both / "store")
    helpers.sh(helpers.BINARY, "store", "drop", str(tmp_path / "kept"), "1")
    assert f"{1:016}.seg" not in segments(tmp_path / "kept")
    helpers.sh(helpers.BINARY, "store", "drop", str(tmp_path / "kept"))
    assert not os.path.exists(tmp_path / "kept")


def opened(path, name):
    return [ev["ts_ns"] for ev in events(path) if ev["type"] == "sys.exit" and f'"{name}"' in ev["args"]]


def test_a_flight_recorder_dumps_on_an_event_and_goes_on(sonde, tmp_path):
    path = tmp_path / "kept"
    said = tmp_path / "said"
    watch = sonde("record", "-w", str(path), "--set", "sys:syscall=openat,cpu", "--keep", "3s", "--after", "1s",
                  "--on", "syscall.path=/nonexistent-trigger", "--exec", f"echo $SONDE_DUMP $SONDE_STORE >> {said}")
    helpers.sh("cat", "/nonexistent-early", check=False)
    time.sleep(7)
    helpers.sh("cat", "/nonexistent-before", check=False)
    time.sleep(1)
    assert not segments(path)
    helpers.sh("cat", "/nonexistent-trigger", check=False)
    helpers.sh("cat", "/nonexistent-trigger", check=False)      # counted only
    time.sleep(0.3)
    helpers.sh("cat", "/nonexistent-after", check=False)
    helpers.wait_until(said.exists)
    assert said.read_text() == f"1 {path}\n"
    first = segments(path)
    assert opened(path, "/nonexistent-before") and opened(path, "/nonexistent-after")
    assert not opened(path, "/nonexistent-early")
    assert len(opened(path, "/nonexistent-trigger")) == 2
    assert "no damage" in helpers.sh(helpers.BINARY, "store", "check", str(path)).stdout
    time.sleep(4)
    os.kill(watch.pid, signal.SIGUSR2)
    helpers.wait_until(lambda: segments(path) != first)
    watch.child.send_signal(signal.SIGINT)
    watch.child.wait(timeout=30)
    assert "1 further triggers" in watch.stderr


def test_a_trigger_that_nothing_makes_is_refused(tmp_path):
    for words, said in ((("--keep", "3s", "--on", "evt.type=net.trace"), "nothing in this set makes net.trace"),
                        (("--on", "evt.type=net.drop"), "belong to --keep"),
                        (("--keep", "3s", "--json"), "names it")):
        done = record(*words, *(() if "--json" in words else ("-w", str(tmp_path / "s"))), check=False)
        assert done.returncode == 2 and said in done.stderr, done.stderr


SECRETS = """
import os, socket
open("/tmp/path-5ecret", "w").write("payload-5ecret")
with socket.create_server(("127.0.0.1", 0)) as server:
    with socket.create_connection(server.getsockname()) as one, server.accept()[0] as other:
        one.send(b"payload-5ecret")
        other.recv(20)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"dns-5ecret" * 2, ("127.0.0.1", 53))
os.execve("/usr/bin/true", ["true", "args-5ecret"], {"ENV": "env-5ecret"})
"""


@pytest.mark.parametrize("words", [[], ["args,env,paths,payload,dns"]])
def test_redacted_fields_are_in_no_byte_of_the_recording(tmp_path, words):
    script = tmp_path / "secrets.py"
    script.write_text(SECRETS)
    record("-o", f"rec:{tmp_path}/one.rec", "--set", "net:snaplen=200,sys:syscall=%net:syscall=%file:syscall=write",
           "--snaplen", "100", *(["--redact", *words] if words else []), "--", "/usr/bin/python3", str(script))
    os.unlink("/tmp/path-5ecret")
    raw = (tmp_path / "one.rec").read_bytes()
    found = {kind for kind in ("path", "payload", "dns", "args", "env") if f"{kind}-5ecret".encode() in raw}
    assert found == (set() if words else {"path", "payload", "dns", "args", "env"})
    assert (b"<redacted:" in raw) == bool(words)
    shown = events(tmp_path / "one.rec")
    assert {"net.trace", "sys.exit"} <= {ev["type"] for ev in shown}
    assert not [ev for ev in shown if ev["type"] == "sonde.lost" and ev["cause"] == "sink"]


def test_redaction_of_other_outputs_is_refused(tmp_path):
    done = record("--json", "--redact", "args", "--duration", "1s", check=False)
    assert done.returncode == 2 and "-o json: --redact applies to records" in done.stderr
    done = record("-o", f"rec:{tmp_path}/x.rec", "--redact", "arguments", check=False)
    assert done.returncode == 2 and "--redact arguments: expected args, env" in done.stderr


def test_follow_shows_a_growing_store_up_to_its_last_record(tmp_path):
    store, seen = tmp_path / "store", tmp_path / "seen"
    writer = subprocess.Popen([helpers.BINARY, "--agent=no", "record", "-q", "-w", str(store), "--set", SET,
                               "--segment", "64k", *load(10)])
    while not (store / "0000000000000000.part").exists():
        assert writer.poll() is None
        time.sleep(0.01)
    with seen.open("w") as to:
        reader = subprocess.Popen([helpers.BINARY, "record", "-q", "-r", str(store), "--follow", "--json"], stdout=to)
    try:
        assert writer.wait(60) == 0
        assert len(segments(store)) >= 2
        whole = events(store)
        deadline = time.monotonic() + 10
        while len(comparable(seen)) < len(whole) and time.monotonic() < deadline:
            time.sleep(0.05)    # the reader polls
        assert reader.poll() is None, "it waits for more"
        assert comparable(seen) == whole
    finally:
        reader.send_signal(signal.SIGINT)
        reader.wait(10)


def test_follow_of_a_file_is_refused(both):
    done = helpers.sh(helpers.BINARY, "record", "-r", str(both / "one.rec"), "--follow", check=False)
    assert done.returncode == 2 and "--follow waits for records of a store" in done.stderr
