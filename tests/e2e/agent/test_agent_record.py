# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent records: its store against a subscriber's recording; killed, full, stalled, dumped, refused."""
import grp
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time

import pytest

import helpers

SET = "net:kinds=2,sys:syscall=openat"
LOAD = """
import os, signal, socket, sys, time
ended = []
signal.signal(signal.SIGTERM, lambda *_: ended.append(1))
one = socket.socket(fileno={fd})
end = time.monotonic() + {seconds}
n = 0
while time.monotonic() < end and not ended:
    one.sendto(b"x", ("127.0.0.1", 9))
    os.close(os.open("/proc/self/comm", os.O_RDONLY))
    n += 1
    time.sleep({pause})
print(n)
"""
HELD = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)     # what sends: no other program has its port
HELD.bind(("127.0.0.1", 0))
PORT = HELD.getsockname()[1]


class Load:
    """A process that opens a file and sends a datagram to nobody, again and again."""

    def __init__(self, seconds=2.0, pause=0.01):
        code = LOAD.format(seconds=seconds, pause=pause, fd=HELD.fileno())
        self.child = subprocess.Popen(["/usr/bin/python3", "-c", code], stdout=subprocess.PIPE, text=True,
                                      pass_fds=[HELD.fileno()])
        self.pid = self.child.pid

    def stop(self):
        """Ends before its time."""
        self.child.terminate()
        return self.finish()

    def finish(self):
        out, _ = self.child.communicate(timeout=60)
        return int(out)


def conf_of(path, **rows):
    """A configuration file."""
    path.write_text("".join(f"{name.replace('_', '-')} = {value}\n" for name, value in rows.items()),
                    encoding="ascii")
    path.chmod(0o644)
    return str(path)


@pytest.fixture
def start(sonde, tmp_path):
    """Starts an agent that records to tmp_path/store, unless the words say otherwise."""
    def run(*words, record=SET, where=None, ready=True, size="8M", keep=None):
        path = where or tmp_path / "store"
        rows = {"record_dir": path, "record_size": size}
        rows |= {"record": record} if record else {}
        rows |= {"record_keep": keep} if keep else {}
        one = sonde("agent", "--socket-dir", str(tmp_path / "run"), "--config",
                    conf_of(tmp_path / "agent.conf", **rows), *words)
        one.sock, one.control = str(tmp_path / "run" / "read.sock"), str(tmp_path / "run" / "control.sock")
        one.store = pathlib.Path(path)
        if record and ready:
            helpers.wait_until(lambda: "sonde: recording to" in one.stderr)
        return one
    return run


def control(agent, *words, check=True, timeout=30):
    return helpers.sh(helpers.BINARY, "control", "--socket", agent.control, *words, check=check, timeout=timeout)


def status(agent):
    return control(agent, "record", "status").stdout


def counters(agent):
    done = helpers.sh(helpers.BINARY, "status", "--socket", agent.sock, "--counters")
    found = re.findall(r"^(sonde_record_\w+) (\d+)$", done.stdout, re.M)
    return {name.removeprefix("sonde_record_").removesuffix("_total"): int(value) for name, value in found}


def events(path, *words, check=True):
    with tempfile.NamedTemporaryFile() as to:
        helpers.sh(helpers.BINARY, "record", "-q", "-r", str(path), "-o", f"json:{to.name}", *words, check=check,
                   timeout=60)
        return [json.loads(line) for line in pathlib.Path(to.name).read_text(encoding="utf-8").splitlines()]


def of_load(found, pid):
    """The events of the load, without what depends on where in the stream they are."""
    mine = []
    for ev in found:
        if ev["type"] == "net.drop" and ev.get("conn", {}).get("sport") != PORT:
            continue
        if ev["type"] == "sys.exit" and ev["proc"].get("pid") != pid:
            continue
        if ev["type"] in ("net.drop", "sys.exit"):
            mine.append({key: value for key, value in ev.items() if key not in ("seq", "instance")})
    return mine


def assert_same(here, there):
    """Without pytest's comparison of the lists, which takes minutes for a hundred thousand events."""
    differ = next((pair for pair in zip(here, there) if pair[0] != pair[1]), None)
    assert not differ, differ
    assert len(here) == len(there)


def segments(path):
    return sorted(name for name in os.listdir(path) if re.fullmatch(r"\d{16}\.(part|seg|keep)", name))


def is_sound(path):
    return "no damage" in helpers.sh(helpers.BINARY, "store", "check", str(path), timeout=60).stdout


def test_its_store_equals_what_a_subscriber_got(start, sonde, tmp_path):
    agent = start(size="4M")
    other = sonde("record", f"--agent={agent.sock}", "--set", SET, "-w", str(tmp_path / "one.rec"))
    load = Load(1)
    rounds = load.finish()
    time.sleep(0.3)
    other.finish()
    assert agent.stop(signal.SIGTERM) == 0
    here, there = (of_load(events(path), load.pid) for path in (agent.store, tmp_path / "one.rec"))
    assert sum(ev["type"] == "net.drop" for ev in here) == rounds
    assert sum(ev["type"] == "sys.exit" for ev in here) >= rounds
    assert_same(here, there)
    assert is_sound(agent.store)
    ledgers = [ev for ev in events(agent.store) if ev["type"] == "sonde.ledger"]
    assert ledgers and not any(ev["lost"] for ev in ledgers), ledgers


def test_parts_carry_state_and_lose_nothing_between_them(start):
    """Segments of 1 MB: each can be read alone, and all together have each datagram once."""
    agent = start(record=SET, size="64M")
    load = Load(60, pause=0.001)
    for _ in range(3):
        time.sleep(0.6)
        control(agent, "dump")
    time.sleep(0.6)
    rounds = load.stop()
    time.sleep(0.3)
    assert agent.stop(signal.SIGTERM) == 0
    names = segments(agent.store)
    assert len(names) >= 4 and all(name.endswith(".seg") for name in names)
    drops = [ev for ev in of_load(events(agent.store), load.pid) if ev["type"] == "net.drop"]
    assert len(drops) == rounds and len({ev["ts_ns"] for ev in drops}) == rounds
    alone = agent.store.parent / "alone"
    alone.mkdir()
    os.link(agent.store / names[2], alone / names[2])
    calls = [ev for ev in events(alone) if ev["type"] == "sys.exit" and ev["proc"].get("pid") == load.pid]
    assert calls and all("python3" in ev["proc"]["exe"] for ev in calls)


def test_retention_keeps_the_latest_segments_whole(start, sonde, tmp_path):
    """Segments of 1 MB end under load, the oldest leave, and the rest equals the end of a subscriber's recording."""
    agent = start(size="2M")
    other = sonde("record", f"--agent={agent.sock}", "--set", SET, "-w", str(tmp_path / "one.rec"))
    load = Load(60, pause=0)
    helpers.wait_until(lambda: segments(agent.store)[:1] > [f"{0:016}.seg"])    # the first has left
    time.sleep(1)       # of records in the segments that stay
    load.stop()
    time.sleep(0.5)
    other.finish()
    assert counters(agent)["lost"] == 0
    assert agent.stop(signal.SIGTERM) == 0
    names = segments(agent.store)
    assert names[0] != f"{0:016}.seg" and sum((agent.store / name).stat().st_size for name in names) < 3 << 20
    here, there = (of_load(events(path), load.pid) for path in (agent.store, tmp_path / "one.rec"))
    for ev in here + there:
        ev.pop("open_file", None)   # the kernel names a file once in a while, and that segment may have left
    assert 1000 < len(here) < len(there)
    assert_same(here, there[-len(here):])
    assert is_sound(agent.store)


def test_kill_9_and_a_restart_cost_at_most_a_second(start):
    first = start()
    load = Load(60)
    time.sleep(2)
    killed = time.clock_gettime(time.CLOCK_BOOTTIME)
    first.child.kill()
    first.child.wait()
    before = [ev["ts_ns"] for ev in of_load(events(first.store), load.pid)]
    assert before and killed - max(before) / 1e9 < 1.2
    second = start()
    began = time.clock_gettime(time.CLOCK_BOOTTIME)
    time.sleep(1)
    load.child.kill()
    load.child.communicate(timeout=30)
    time.sleep(0.3)
    assert second.stop(signal.SIGTERM) == 0
    assert all(name.endswith(".seg") for name in segments(second.store))
    both = [ev["ts_ns"] for ev in of_load(events(second.store), load.pid)]
    assert both[:len(before)] == before
    assert min(ts for ts in both[len(before):]) / 1e9 < began + 0.2
    assert is_sound(second.store)


def test_a_dump_while_traffic_runs(start):
    agent = start()
    load = Load(60)
    time.sleep(1.2)
    begun = time.clock_gettime(time.CLOCK_BOOTTIME)
    done = control(agent, "dump", "--last", "30s", "crash")
    assert done.stdout == f"{agent.store}/crash\n"
    got = [ev["ts_ns"] / 1e9 for ev in of_load(events(agent.store / "crash"), load.pid)]
    assert len(got) > 100 and begun - max(got) < 0.5
    control(agent, "dump", "--last", "500ms", "late")
    late = [ev["ts_ns"] / 1e9 for ev in of_load(events(agent.store / "late"), load.pid)]
    asked = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert late and min(late) > begun - 0.5 and max(late) - min(late) < 0.5 + asked - begun
    unnamed = pathlib.Path(control(agent, "dump").stdout.strip())
    assert unnamed.parent == agent.store and re.fullmatch(r"dump-\d{8}T\d{6}Z", unnamed.name)
    assert len(segments(unnamed)) > len(segments(agent.store / "crash"))
    done = control(agent, "dump", "crash", check=False)
    assert done.returncode == 1 and "File exists" in done.stderr
    rounds = load.stop()
    time.sleep(0.3)
    assert "4 dumps" not in status(agent) and "3 dumps" in status(agent)
    assert agent.stop(signal.SIGTERM) == 0
    drops = [ev for ev in of_load(events(agent.store), load.pid) if ev["type"] == "net.drop"]
    assert len(drops) == rounds             # no dump costs a record


def test_a_flight_recorder_writes_dumps_only(start):
    agent = start(keep="4s")
    load = Load(60)
    time.sleep(7)
    assert segments(agent.store) == []
    asked = time.clock_gettime(time.CLOCK_BOOTTIME)
    path = control(agent, "dump").stdout.strip()
    got = [ev["ts_ns"] / 1e9 for ev in of_load(events(path), load.pid)]
    assert asked - max(got) < 0.5 and 3.5 < asked - min(got) < 7
    assert segments(agent.store) == [] and segments(path)
    assert is_sound(path)
    done = control(agent, "dump", check=False)
    assert done.returncode == 1 and "a dump of the same time was made already" in done.stderr
    load.stop()
    assert "in memory, dumps to" in status(agent)
    assert agent.stop(signal.SIGTERM) == 0
    assert segments(agent.store) == []


def test_rights_of_its_files(start, tmp_path):
    agent = start()
    helpers.wait_until(lambda: segments(agent.store))
    control(agent, "dump", "one")
    modes = {p.name: p.stat().st_mode & 0o777 for p in [agent.store, *agent.store.rglob("*")]}
    assert modes.pop("store") == 0o700 and modes.pop("one") == 0o700
    assert set(modes.values()) == {0o600}, modes
    assert agent.stop(signal.SIGTERM) == 0
    group = grp.getgrgid(65534).gr_name
    shared = start("--allow-content", "group", "--group", group, where=tmp_path / "shared")
    helpers.wait_until(lambda: segments(shared.store))
    control(shared, "dump", "one")
    for path in shared.store, shared.store / "one":
        assert path.stat().st_mode & 0o777 == 0o750 and path.stat().st_gid == 65534
        for name in segments(path):
            assert (path / name).stat().st_mode & 0o777 == 0o640 and (path / name).stat().st_gid == 65534
    assert shared.stop(signal.SIGTERM) == 0


def recorder_of(agent):
    children = pathlib.Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text(encoding="ascii").split()
    found = [int(pid) for pid in children
             if pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip() == "sonde-record"]
    assert len(found) == 1, children
    return found[0]


def test_the_recorder_has_no_capability(start):
    agent = start()
    with open(f"/proc/{recorder_of(agent)}/status", encoding="ascii") as f:
        words = dict(line.split(":", 1) for line in f)
    assert {words[name].strip() for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {"0" * 16}
    assert words["NoNewPrivs"].strip() == "1" and words["Seccomp"].strip() == "2"


@pytest.fixture
def small_disk(disk_of):
    return disk_of("8M")


def test_a_full_disk_costs_records_that_are_counted(start, sonde, small_disk):
    """A subscriber notices nothing; with room again the recording goes on."""
    other = small_disk / "other"
    other.write_bytes(b"x" * ((8 << 20) - (100 << 10)))
    agent = start(record=f"{SET},sys:syscall=sendto", where=small_disk / "store")
    watch = sonde("monitor", "--where", "evt.type=drop", "--json", f"--agent={agent.sock}", "udp", "port", str(PORT))
    load = Load(60, pause=0.001)
    helpers.wait_until(lambda: counters(agent)["resting"], timeout=10)
    assert counters(agent)["on"] and "record: rests" in status(agent)
    done = control(agent, "dump", check=False)
    assert done.returncode == 1 and "the disk is full" in done.stderr
    helpers.wait_until(lambda: counters(agent)["lost"] > 100, timeout=10)
    time.sleep(6)       # the writer tries again each 5 s
    assert len(re.findall("recording rests: cannot write .*: No space left on device", agent.stderr)) == 1
    assert "recording goes on" not in agent.stderr and counters(agent)["resting"]
    other.unlink()
    helpers.wait_until(lambda: not counters(agent)["resting"], timeout=15)
    helpers.wait_until(lambda: "recording goes on" in agent.stderr)
    rounds = load.stop()
    watch.wait_for(lambda ev: ev["type"] == "net.drop", rounds)
    found = watch.finish()
    assert sum(ev["type"] == "net.drop" for ev in found) == rounds
    short = [ev for ev in found if ev["type"] == "sonde.ledger" and ev["probe"] == "net" and ev["lost"]]
    assert not short, short     # of other probes a busy host may lose some
    lost = counters(agent)["lost"]
    assert f"lost {lost}; last error: No space left on device" in status(agent)
    assert agent.stop(signal.SIGTERM) == 0
    assert not [held for held in re.findall(r"loop held .*\((\d+) ms of CPU time\): (?:recorder|client|record |dump)",
                                            agent.stderr) if int(held) > 50]
    told = [ev["count"] for ev in events(agent.store) if ev["type"] == "sonde.lost"]
    assert sum(told) >= lost and is_sound(agent.store)


def test_a_stalled_recorder_holds_nobody(start, sonde):
    """Stopped for as long as its queue takes to fill: what it lost stands in the store's ledger."""
    agent = start("--queue-size", "256k", record=f"{SET},sys:syscall=sendto")
    watch = sonde("monitor", "--where", "evt.type=drop", "--json", f"--agent={agent.sock}", "udp", "port", str(PORT))
    pid = recorder_of(agent)
    os.kill(pid, signal.SIGSTOP)
    try:
        load = Load(5, pause=0)
        watch.wait_for(lambda ev: ev["type"] == "net.drop", 100)
        rounds = load.finish()
    finally:
        os.kill(pid, signal.SIGCONT)
    found = watch.finish()
    got, lost = sum(ev["type"] == "net.drop" for ev in found), sum(
        ev["lost"] for ev in found if ev["type"] == "sonde.ledger")
    assert got + lost >= rounds and got > 0
    helpers.wait_until(lambda: counters(agent)["lost"] > 0)
    assert agent.stop(signal.SIGTERM) == 0
    ledgers = [ev for ev in events(agent.store) if ev["type"] == "sonde.ledger"]
    assert sum(ev["lost"] for ev in ledgers) > 0
    for ev in ledgers:
        assert ev["seen"] == ev["delivered"] + ev["filtered"] + ev["sampled"] + ev["lost"], ev
    assert is_sound(agent.store)


def test_signals_of_the_service_do_not_end_the_recorder_and_its_end_is_told(start, sonde):
    agent = start()
    pid = recorder_of(agent)
    for sig in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
        os.kill(pid, sig)
    assert control(agent, "dump", "one").stdout == f"{agent.store}/one\n"
    os.kill(pid, signal.SIGKILL)
    helpers.wait_until(lambda: "the recorder process ended: restart the agent" in agent.stderr)
    assert status(agent).startswith("record: ended") and counters(agent)["on"] == 0
    for words in ("dump",), ("record", "stop"), ("record", "start"):
        done = control(agent, *words, check=False)
        assert done.returncode == 1 and "the recorder process ended" in done.stderr, done
    watch = sonde("monitor", "--where", "evt.type=drop", "--json", f"--agent={agent.sock}", "udp", "port", str(PORT))
    rounds = Load(0.2).finish()
    watch.wait_for(lambda ev: ev["type"] == "net.drop", rounds)
    watch.finish()
    assert agent.stop(signal.SIGTERM) == 0


SEVEN = "+bpf,+perfmon,+net_admin,+sys_ptrace,+dac_read_search,+checkpoint_restore,+syslog"


def test_it_records_as_an_ordinary_user(sonde):
    """As the unit for systemd runs it: user, seven capabilities, a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="sd-record-") as folder:
        home = pathlib.Path(folder)
        home.chmod(0o755)
        (home / "sonde").mkdir()
        os.chown(home / "sonde", 65534, 65534)
        group = grp.getgrgid(65534).gr_name
        conf = conf_of(home / "agent.conf", record=SET, record_dir=home / "sonde/store", allow_content="group",
                       group=group)
        agent = sonde("agent", "--socket-dir", str(home / "sonde/run"), "--config", conf, before=(
            "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--bounding-set", f"-all,{SEVEN}",
            "--inh-caps", f"-all,{SEVEN}", "--ambient-caps", f"-all,{SEVEN}"))
        helpers.wait_until(lambda: "sonde: recording to" in agent.stderr)
        load = Load(1)
        rounds = load.finish()
        time.sleep(0.3)
        assert agent.stop(signal.SIGTERM) == 0
        store = home / "sonde/store"
        drops = [ev for ev in of_load(events(store), load.pid) if ev["type"] == "net.drop"]
        assert len(drops) == rounds
        held = {(store / name).stat() for name in segments(store)}
        assert {(st.st_mode & 0o777, st.st_uid, st.st_gid) for st in held} == {(0o640, 65534, 65534)}


def test_stacks_of_the_store_get_names_from_the_files_of_the_host(start):
    agent = start(record="cpu:frequency=199")
    code = "import time\nend = time.monotonic() + 2\nwhile time.monotonic() < end:\n    sum(range(10000))"
    subprocess.run(["/usr/bin/python3", "-c", code], check=True, timeout=30)
    time.sleep(0.3)
    assert agent.stop(signal.SIGTERM) == 0
    done = helpers.sh(helpers.BINARY, "profile", "-r", str(agent.store), "--symfs", "/", "proc.name=python3",
                      timeout=60)
    assert "_PyEval_EvalFrameDefault" in done.stdout, done.stdout[-2000:]
    for words, least in ((("symbolize",), 1), (("symbolize",), 0), (("check",), None), (("upgrade",), None)):
        said = helpers.sh(helpers.BINARY, "store", *words, str(agent.store), "--json", timeout=60).stdout
        if least is not None:
            assert (json.loads(said)["named"] >= 1) == bool(least), said
    done = helpers.sh(helpers.BINARY, "profile", "-r", str(agent.store), "proc.name=python3", timeout=60)
    assert "_PyEval_EvalFrameDefault" in done.stdout, done.stdout[-2000:]


def test_start_and_stop_by_a_verb(start):
    agent = start(record=None)
    assert status(agent).startswith(f"record: off, {agent.store},")
    assert not agent.store.exists()
    assert control(agent, "record", "start", SET).stdout == ""
    done = control(agent, "record", "start", SET, check=False)
    assert done.returncode == 1 and "the agent records already" in done.stderr
    load = Load(1)
    rounds = load.finish()
    time.sleep(0.3)
    control(agent, "record", "stop")
    assert [name[-4:] for name in segments(agent.store)] == [".seg"]
    assert status(agent).startswith("record: off")
    drops = [ev for ev in of_load(events(agent.store), load.pid) if ev["type"] == "net.drop"]
    assert len(drops) == rounds
    control(agent, "record", "start", "net:kinds=2")
    assert counters(agent)["on"]
    assert agent.stop(signal.SIGTERM) == 0
    assert len(segments(agent.store)) == 2


REFUSED = [
    (("dump",), "the agent does not record: sonde control record start begins"),
    (("dump", "a/b"), "a name of at most 64 bytes without slashes is expected"),
    (("dump", "a", "b"), "dump takes one name; b is another one"),
    (("dump", "last=soon"), "nanoseconds are expected"),
    (("record", "stop"), "the agent does not record"),
    (("record", "start"), "agent.conf has no record"),
    (("record", "start", "nonsense"), "record nonsense: expected light, normal, full"),
    (("record", "start", "net", "sys"), "takes one list of sets or probes"),
    (("record", "begin"), "record begin: start, stop or status is expected"),
    (("record", "status", "now"), "record status takes no further words; now is one"),
]


def test_refused_words_have_one_sentence(start):
    agent = start(record=None)
    for words, sentence in REFUSED:
        done = control(agent, *words, check=False)
        assert done.returncode and sentence in done.stderr, (words, done.stderr)
        assert done.stderr.count("\n") == 1 and not done.stdout
    done = control(agent, "record", "--last", "3s", check=False)
    assert done.returncode == 2 and "--last belongs to sonde control dump" in done.stderr


def test_without_record_rows_nothing_is_created(sonde, tmp_path):
    agent = sonde("agent", "--socket-dir", str(tmp_path / "run"))
    agent.control = str(tmp_path / "run" / "control.sock")
    for words in ("record", "start", "light"), ("record",), ("dump", "name"):
        done = control(agent, *words, check=False)
        assert done.returncode == 1 and "agent.conf has neither record nor record-dir" in done.stderr


@pytest.mark.parametrize("rows, sentence", [
    ({"record": "lots"}, "record lots: expected light, normal, full"),
    ({"record": "net:kind=2"}, "record net: "),
    ({"record": "light", "record_dir": "here"}, "record-dir here: an absolute path is expected"),
    ({"record_keep": "30s"}, "record-size, record-age and record-keep need record or record-dir"),
    ({"record": "light", "record_size": "1M"}, "the least that works is two segments"),
])
def test_bad_configuration_is_refused(tmp_path, rows, sentence):
    conf = conf_of(tmp_path / "agent.conf", **rows)
    done = helpers.sh(helpers.BINARY, "agent", "--check", "--config", conf, check=False)
    assert done.returncode and sentence in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_directory_that_cannot_be_made_leaves_the_agent_serving(start, tmp_path):
    (tmp_path / "file").write_text("", encoding="ascii")
    agent = start(where=tmp_path / "file", ready=False)
    helpers.wait_until(lambda: "not recording: " in agent.stderr)
    assert re.search("not recording: cannot .* the store .*file", agent.stderr), agent.stderr
    assert counters(agent)["on"] == 0
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(agent.sock)
    assert agent.stop(signal.SIGTERM) == 0
