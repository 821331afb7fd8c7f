# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon and its clients: the same output as without it, nothing left behind."""
import contextlib
import errno
import grp
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

import helpers
import pytest
from agent_client import ERROR, EVENT, HELLO, LOST, READY, REC, RECORD, STOP, SUBSCRIBE, Client, frame

CALLS = 80000
COMM = f"sd{os.getpid() % 100000}"
LOOP = f"""
import ctypes, time
open("/proc/self/comm", "w").write("{COMM}")
call = ctypes.CDLL(None).getppid
for i in range({CALLS}):
    call()
    if i % 1000 == 0:
        time.sleep(0.02)
"""


@pytest.fixture
def agent(sonde, tmp_path):
    """A running agent; agent.sock is its socket."""
    one = sonde("agent", "--socket-dir", str(tmp_path / "run"))
    one.sock = str(tmp_path / "run" / "read.sock")
    one.control = str(tmp_path / "run" / "control.sock")
    return one


@pytest.fixture
def open_dir():
    """A directory that ordinary users may enter: pytest shuts its own whenever another pytest starts."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="sd-agent-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def send_udp(port, count=3):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for _ in range(count):
            s.sendto(b"x", ("127.0.0.1", port))


def test_monitor_shows_drops_through_the_agent(agent, sonde):
    port = 20000 + os.getpid() % 20000
    words = ("monitor", "--where", "evt.type=drop", "--json", f"udp port {port} or (icmp and host 127.0.0.77)")
    remote, local = sonde(*words, f"--agent={agent.sock}"), sonde(*words, "--agent=no")
    helpers.sh("ping", "-q", "-c", "1", "127.0.0.77")	# whose reply is freed as if nobody had wanted it: no drop
    send_udp(port)
    for one in remote, local:
        one.wait_for(lambda ev: ev["type"] == "net.drop", 3)
    there, here = ([ev for ev in one.finish() if ev["type"] == "net.drop"] for one in (remote, local))
    assert len(there) == len(here) == 3
    for a, b in zip(there, here):
        assert a.keys() == b.keys()
        same = {key for key in a if a[key] == b[key]}
        # When and where in the stream differs, and nothing else.
        assert set(a) - same <= {"ts_ns", "time", "seq", "instance"}, {key: (a[key], b[key]) for key in set(a) - same}
    assert agent.stop(signal.SIGTERM) == 0
    assert not os.path.exists(os.path.dirname(agent.sock))


def test_a_filter_is_evaluated_by_the_agent_and_the_books_close(agent, sonde):
    port = 20000 + os.getpid() % 20000
    one = sonde("monitor", "--where", "evt.type=drop", "--json", f"--agent={agent.sock}",
                "--where", f"conn.dport={port}")
    send_udp(port + 1, 5)
    send_udp(port, 2)
    one.wait_for(lambda ev: ev["type"] == "net.drop", 2)
    ledgers = [ev for ev in one.finish() if ev["type"] == "sonde.ledger"]
    assert ledgers
    for ev in ledgers:
        assert ev["seen"] == ev["delivered"] + ev["filtered"] + ev["sampled"] + ev["lost"], ev


def test_a_second_agent_is_refused(agent):
    done = helpers.sh(helpers.BINARY, "agent", "--socket-dir", os.path.dirname(agent.sock), check=False)
    assert done.returncode == 1 and "runs already" in done.stderr


def test_restart_after_kill(agent, sonde):
    agent.child.kill()
    agent.child.wait()
    again = sonde("agent", "--socket-dir", os.path.dirname(agent.sock))
    assert os.path.exists(agent.sock)
    assert again.stop(signal.SIGTERM) == 0


CAP_SETS = {"CapPrm": 0x1c4000811e4, "CapEff": 0, "CapAmb": 0, "NoNewPrivs": 1, "Seccomp": 2}
SEVEN = "+bpf,+perfmon,+net_admin,+sys_ptrace,+dac_read_search,+checkpoint_restore,+syslog"


def status_of(pid, *names):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        words = dict(line.split(":", 1) for line in f)
    return {name: int(words[name].split()[0], 16) for name in names}


def test_it_gives_up_its_rights(sonde, tmp_path):
    """As root: eleven capabilities, none while it waits. As an ordinary user seven, and it still serves."""
    agent = sonde("agent", "--no-admin", "--socket-dir", str(tmp_path / "run"))
    client = Client(str(tmp_path / "run" / "read.sock"))
    client.hello()
    client.subscribe("probe=net", "option=--interface=lo")
    had = status_of(os.getpid(), "CapPrm")["CapPrm"]
    helpers.wait_until(lambda: status_of(agent.pid, *CAP_SETS) == CAP_SETS | {"CapPrm": CAP_SETS["CapPrm"] & had})
    client.send(STOP)
    _, _, ledgers = client.books()
    assert ledgers
    assert agent.stop(signal.SIGTERM) == 0


def test_it_serves_as_an_ordinary_user(open_dir, sonde, netns):
    """What the unit for systemd gives it, and no more."""
    home = open_dir / "sonde"
    home.mkdir()
    os.chown(home, 65534, 65534)
    agent = sonde("agent", "--socket-dir", str(home / "run"), before=(
        "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--bounding-set", f"-all,{SEVEN}",
        "--inh-caps", f"-all,{SEVEN}", "--ambient-caps", f"-all,{SEVEN}"))
    port = 20000 + os.getpid() % 20000
    one = sonde("monitor", "--where", "evt.type=drop", "--json", f"--agent={home}/run/read.sock",
                "udp", "port", str(port))
    send_udp(port)
    one.wait_for(lambda ev: ev["type"] == "net.drop" and ev.get("proc", {}).get("exe"), 3)
    one.finish()
    assert status_of(agent.pid, "CapPrm")["CapPrm"] == 0x1c400081004
    words = "monitor", f"--agent={home}/run/read.sock", "--netns", netns().path
    done = helpers.sh(helpers.BINARY, *words, check=False)
    assert done.returncode and "not permitted" in done.stderr, done


def fds(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_a_client_that_stops_harms_nobody_and_its_books_are_exact(sonde, tmp_path):
    """Two clients do not read while a loop runs, two do: those lose nothing, and everybody's books are exact."""
    agent = sonde("agent", "--socket-dir", str(tmp_path / "run"), "--queue-size", "1M")
    sock = str(tmp_path / "run" / "read.sock")
    stuck = [Client(sock) for _ in range(2)]
    instances = []
    for client in stuck:
        client.hello()
        instances.append(client.subscribe("probe=sys", "option=--syscall=getppid", f"comm={COMM}"))
    assert instances[0] == instances[1]     # one instance serves both
    readers = [sonde("syscalls", f"--agent={sock}", "syscall.name=getppid", "--where", f"proc.name={COMM}", "-o",
                     "null") for _ in range(2)]
    subprocess.run(["/usr/bin/python3", "-c", LOOP], check=True, timeout=30)
    for reader in readers:
        ledger = [ev for ev in reader.finish() if ev.get("type") == "sonde.ledger"]
        delivered = sum(ev["delivered"] for ev in ledger if ev["delivered"] >= CALLS)
        assert delivered == CALLS and not any(ev["lost"] for ev in ledger), ledger
    for client in stuck:
        client.send(STOP)
    number = instances[0][0]
    for client in stuck:
        got, lost, ledgers = client.books()
        for instance, (seen, delivered, filtered, sampled, *by_cause) in ledgers.items():
            assert seen == delivered + filtered + sampled + sum(by_cause)
            assert got.get(instance, 0) == delivered and lost.get(instance, 0) == by_cause[6]
        # too much for queue and socket buffer, and told to the last record
        assert lost[number] > 0 and lost[number] + got[number] == CALLS
        client.close()
    assert agent.stop(signal.SIGTERM) == 0


def test_chosen_fields_of_events_without_a_decoder(agent):
    """The values of chosen words instead of records; what a filter refuses is in the books and not in the stream."""
    port = 20000 + os.getpid() % 20000
    client, other = Client(agent.sock), Client(agent.sock)
    for one in client, other:
        one.hello()
    (number,) = client.subscribe("probe=net", "option=--interface=lo", "fields=drop.reason,proc.pid,conn.dport",
                                 f"where=conn.dport={port} and evt.type=net.drop")
    send_udp(port, 3)
    send_udp(port + 1, 2)
    events = []
    while len(events) < 3:
        kind, payload = client.recv()
        if kind == EVENT:
            _, _, instance, _ = struct.unpack_from("<QIHH", payload)
            assert instance == number
            name, *values = payload[16:].rstrip(b"\0").decode().split("\0")
            events.append((name, dict(value.split("=", 1) for value in values)))
        else:
            assert kind != RECORD
    values = {"drop.reason": "NO_SOCKET", "proc.pid": str(os.getpid()), "conn.dport": str(port)}
    assert events == [("net.drop", values)] * 3
    client.send(STOP)
    _, _, ledgers = client.books()
    seen, delivered, filtered, sampled, *by_cause = ledgers[number]
    assert seen == delivered + filtered + sampled + sum(by_cause) and delivered >= 3 and filtered >= 2, ledgers
    other.send(SUBSCRIBE, b"probe=net\0fields=no.such.word\0")
    kind, payload = other.recv()
    assert kind == ERROR and b"no.such.word" in payload, payload


def test_a_probe_without_options_runs_as_its_command_does(agent):
    """What nobody names has the command's defaults; an option that is named counts, also when it takes one back."""
    client = Client(agent.sock)
    client.hello()
    flows = ["probe=net", "option=--flows"]
    for options in ["probe=cpu"], flows, [*flows, "option=--no-flow-dns"]:
        client.subscribe(*options)
        client.send(STOP)
        client.books()
    client.sock.sendall(frame(SUBSCRIBE, b"probe=cpu\0option=--kernel-depth=0\0"))
    kind, payload = client.recv()
    assert kind == ERROR and b"--kernel-depth 0: 1 to " in payload, payload
    client.close()


def test_who_may_do_what(agent):
    """Every verb on both sockets; who is outside of the group gets nowhere."""
    rights = {"status": 0, "counters": 0, "attach": errno.EPERM, "detach": errno.EPERM, "capture": errno.EPERM,
              "dump": errno.EPERM, "record": errno.EPERM, "record-part": errno.EPERM, "nonsense": errno.ENOSYS}
    for verb, code in rights.items():
        reader, controller = Client(agent.sock), Client(agent.control)
        assert reader.hello()[2] == 1 and controller.hello()[2] == 3
        assert reader.call(verb)[0] == code, verb
        assert controller.call(verb)[0] != errno.EPERM, verb
        reader.close()
        controller.close()
    code = "import socket,sys; s = socket.socket(socket.AF_UNIX)\ntry: s.connect(sys.argv[1])\n" \
           "except PermissionError: sys.exit(42)"
    for path in agent.sock, agent.control:
        done = helpers.sh("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c",
                          code, path, check=False)
        assert done.returncode == 42, done.stderr


def control(agent, *words, check=True):
    return helpers.sh(helpers.BINARY, "control", "--socket", agent.control, *words, check=check)


def drops_in(path):
    """Ports of the packets that a capture calls dropped."""
    rows = map(json.loads, helpers.sh(helpers.BINARY, "monitor", "-r", str(path), "--json").stdout.splitlines())
    return [row["conn"].get("dport") for row in rows if "evt.type=net.drop" in " ".join(row.get("comments", ()))]


def test_the_agent_writes_captures(agent, tmp_path):
    """Started and stopped by a request; the file is opened by who asks. What is no file to write to is refused."""
    port, path = 20000 + os.getpid() % 20000, tmp_path / "drops.pcapng"
    path.write_bytes(b"old" * 1000)
    words = "probe=net", "option=--interface=lo", f"where=drop.reason=NO_SOCKET and conn.dport={port}"
    assert control(agent, "capture", "start", str(path), *words).stdout == "capture 1\n"
    send_udp(port, 3)
    send_udp(port + 1, 3)
    helpers.wait_until(lambda: "capture 1: 3 events in" in control(agent, "capture").stdout)
    assert "capture 1: 3 events" in helpers.sh(helpers.BINARY, "status", "--socket", agent.sock).stdout
    fds_before = fds(agent.pid)
    done = control(agent, "capture", "stop")
    assert "3 events in" in done.stdout and str(path) in done.stdout
    assert drops_in(path) == [port] * 3
    assert fds(agent.pid) < fds_before
    for bad in ("stop",), ("start", "/dev/null"), ("start", str(tmp_path / "x.rec")), ("nonsense",), ("stop", "7"):
        done = control(agent, "capture", *bad, check=False)
        assert done.returncode and done.stderr, bad
    client = Client(agent.control)
    client.hello()
    assert client.call("capture", "start", "name")[0] == errno.EINVAL   # no descriptor came along
    client.close()


def test_a_flight_recorder_in_the_agent(agent, tmp_path):
    port, path = 20000 + os.getpid() % 20000, tmp_path / "why.pcapng"
    assert control(agent, "dump", check=False).returncode == 1      # nothing records
    control(agent, "capture", "start", str(path), "probe=net", "option=--interface=lo", "option=--keep=5s")
    send_udp(port, 4)
    assert control(agent, "dump").stdout == "instance 1 dumps\n"
    helpers.wait_until(lambda: "capture 1: 0 events" not in control(agent, "capture").stdout)
    control(agent, "capture", "stop")
    assert drops_in(path).count(port) == 4
    shown = helpers.sh("tcpdump", "-nr", str(path), "udp", "dst", "port", str(port)).stdout
    assert shown.count(" UDP, length 1") >= 4, shown


def test_attach_and_status(agent):
    client = Client(agent.control)
    client.hello()
    code, text = client.call("attach", "probe=net", "option=--interface=lo")
    assert code == 0 and text.startswith("instance "), text
    status = helpers.sh(helpers.BINARY, "status", "--socket", agent.sock).stdout
    assert ": net, 1 users (attached)" in status and "client 0, pid" in status
    metrics = helpers.sh(helpers.BINARY, "status", "--counters", "--socket", agent.sock).stdout
    assert 'sonde_events_total{instance="1",probe="net",outcome="delivered"}' in metrics
    assert client.call("detach", text.split()[1])[0] == 0
    assert client.call("detach", text.split()[1])[0] == errno.EINVAL
    client.close()


def test_bad_clients_leave_no_descriptor_behind(agent):
    """Half frames, wrong order, lengths that lie, descriptors nobody asked for, and many that come and go."""
    client = Client(agent.sock)
    client.hello()
    assert client.call("status")[0] == 0
    before = fds(agent.pid)
    bad = [b"\0" * 64, b"\xff" * 64, frame(STOP), frame(SUBSCRIBE, b"x\0"), frame(RECORD),
           struct.pack("<IHH", 1 << 30, HELLO, 0), frame(HELLO, b"\x09\0\0\0\0\0\0\0\0")]
    for data in bad:
        one = Client(agent.sock)
        one.sock.sendall(data)
        kind, payload = one.recv()
        assert kind == ERROR and struct.unpack_from("<II", payload)[1]
        assert one.recv() is None
        one.close()
    for _ in range(100):
        one = Client(agent.sock)
        with contextlib.suppress(BrokenPipeError):      # refused: those before it have not been closed yet
            one.sock.sendall(frame(HELLO, b"\1\0")[:5])
            socket.send_fds(one.sock, [b"\0"], [0, 1, 2] * 20)
        one.close()
    for _ in range(500):
        Client(agent.sock).close()
    helpers.wait_until(lambda: fds(agent.pid) == before)
    assert client.call("status")[0] == 0
    client.close()


def test_a_client_that_takes_nothing_is_cut_and_told_why(sonde, tmp_path):
    sonde("agent", "--socket-dir", str(tmp_path / "run"), "--stall-time", "1s", "--queue-size", "128k")
    sock = str(tmp_path / "run" / "read.sock")
    stuck, other = Client(sock), Client(sock)
    for one in stuck, other:
        one.hello()
    stuck.subscribe("probe=sys", "option=--syscall=getppid", f"comm={COMM}")
    subprocess.run(["/usr/bin/python3", "-c", LOOP], check=True, timeout=30)
    helpers.wait_until(lambda: " 1 disconnected" in other.call("status")[1])
    kind, lost = None, 0
    while (got := stuck.recv()) is not None:
        kind, payload = got
        if kind == RECORD and REC.unpack_from(payload)[2] == LOST:
            lost += struct.unpack_from("<IIQ", payload, REC.size)[2]
    assert kind == ERROR and b"reads nothing" in payload and lost > 0
    assert "client" in other.call("status")[1]


def test_the_group_reads_and_does_not_control(open_dir, sonde):
    agent = sonde("agent", "--socket-dir", str(open_dir / "run"), "--group", "games")
    assert os.stat(open_dir / "run").st_mode & 0o777 == 0o750
    code = "import socket,sys; s = socket.socket(socket.AF_UNIX)\ntry: s.connect(sys.argv[1])\n" \
           "except PermissionError: sys.exit(42)"
    games, other = str(grp.getgrnam("games").gr_gid), "65534"
    for groups, name, status in ((("--regid", games, "--clear-groups"), "read.sock", 0),
                                 (("--regid", other, "--groups", games), "read.sock", 0),
                                 (("--regid", games, "--clear-groups"), "control.sock", 42),
                                 (("--regid", other, "--clear-groups"), "read.sock", 42)):
        done = helpers.sh("setpriv", "--reuid", "65534", *groups, "/usr/bin/python3", "-c", code,
                          str(open_dir / "run" / name), check=False)
        assert done.returncode == status, (groups, name, done.stderr)
    assert agent.stop(signal.SIGTERM) == 0


def own_programs(pid):
    """Ids of the BPF programs and maps that a process holds."""
    ids = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as f:
                ids.update(line.strip() for line in f if line.startswith(("prog_id:", "map_id:")))
        except OSError:
            pass
    return {tuple(line.replace(":", " ").split()) for line in ids}


def there(kind):
    return {str(one["id"]) for one in json.loads(helpers.sh("bpftool", "-j", kind, "show").stdout)}


def test_killed_at_any_moment_it_leaves_nothing(sonde, tmp_path):
    """Killed while it starts, serves or loads a probe for a client: the next one is ready, and ours are gone."""
    directory, held = str(tmp_path / "run"), set()
    for number in range(8):
        agent = sonde("agent", "--socket-dir", directory, wait=number % 2 == 1)
        if number % 2:
            client = Client(os.path.join(directory, "read.sock"))
            client.hello()
            client.sock.sendall(frame(SUBSCRIBE, b"probe=net\0option=--interface=lo\0"))
        time.sleep(random.uniform(0, 0.4))
        held |= own_programs(agent.pid)
        agent.child.kill()
        agent.child.wait()
    last = sonde("agent", "--socket-dir", directory)
    assert last.stop(signal.SIGTERM) == 0
    assert not os.path.exists(os.path.join(directory, "read.sock"))
    assert len(held) > 20
    for what in "prog", "map":
        ids = {number for name, number in held if name == f"{what}_id"}
        helpers.wait_until(lambda what=what, ids=ids: not ids & there(what))


def program_names(pid):
    """Kinds and names of the BPF programs that a process holds."""
    ids = {number for name, number in own_programs(pid) if name == "prog_id"}
    return {(one["type"], one.get("name")) for one in json.loads(helpers.sh("bpftool", "-j", "prog", "show").stdout)
            if str(one["id"]) in ids}


def test_what_no_client_wants_is_not_produced(agent, sonde):
    """Programs come with the first client that wants their events and go with the last; equal wishes share them."""
    def traces():
        return {name for kind, name in program_names(agent.pid) if kind == "sched_cls"}
    sonde("monitor", "--where", "evt.type=drop", "-o", "null", f"--agent={agent.sock}")
    drops = program_names(agent.pid)
    assert not traces(), drops
    both = [sonde("monitor", "-i", "lo", "-o", "null", f"--agent={agent.sock}") for _ in range(2)]
    assert traces()
    status = helpers.sh(helpers.BINARY, "status", "--socket", agent.sock).stdout
    assert ": net, 2 users" in status and ": net, 1 users" in status, status
    both[0].finish()
    assert traces()
    both[1].finish()
    helpers.wait_until(lambda: not traces())
    # That one asks the kernel for names, once.
    assert program_names(agent.pid) - {("raw_tracepoint", "sonde_kname")} <= drops


def test_each_clients_filter_goes_down_to_the_kernel(agent):
    clients = [Client(agent.sock) for _ in range(2)]
    instances = []
    for client, pid in zip(clients, (os.getpid(), 1 << 22)):
        client.hello()
        instances += client.subscribe("probe=sys", "option=--syscall=getppid", f"option=--push=proc.pid={pid}")
    assert instances[0] != instances[1]
    for _ in range(50):
        os.getppid()
    for client in clients:
        client.send(STOP)
    (got, _, _), (none, _, ledgers) = (client.books() for client in clients)
    assert got[instances[0]] >= 50
    assert not none.get(instances[1]) and ledgers[instances[1]][2] >= 50    # filtered, before anything was written


def test_clients_may_name_any_cgroup_and_container(agent):
    """Looking for one reads files and opens others by their handles: with what the agent may do then."""
    own = os.stat(helpers.cgroup_root() or "/sys/fs/cgroup").st_ino
    for words in (f"cgroup={own}",), ("cgroup=1",), ("cgroup=18446744073709551615",), \
            ("where=container.name=none",), \
            ("option=--push=container.id=0123456789ab and proc.name=none",), ("where=cgroup.name contains x",), \
            ("fields=container.name,container.id,cgroup.name",):
        client = Client(agent.sock)
        client.hello()
        client.send(SUBSCRIBE, b"probe=sys\0option=--syscall=getppid\0option=--scan\0" + words[0].encode() + b"\0")
        kind, payload = client.recv()
        assert kind in (READY, ERROR), payload
        if kind == READY:
            os.getppid()
            client.send(STOP)
            client.books()
        client.close()
    assert agent.stop(signal.SIGTERM) == 0


def setpriv(uid, gid, *groups):
    return ("setpriv", "--reuid", str(uid), "--regid", str(gid),
            *(("--groups", ",".join(map(str, groups))) if groups else ("--clear-groups",)))


def documented_verbs():
    with open(os.path.join(helpers.ROOT, "doc", "protocol.md"), encoding="utf-8") as f:
        rows = [line.split("|") for line in f if line.startswith("| `")]
    return {row[1].strip(" `"): row[2].strip() for row in rows if row[2].strip() in ("read", "control")}


def test_rights_of_every_kind_of_user_and_verb(open_dir, sonde):
    """Sockets that anybody may connect to, as a careless unit makes them: the agent itself knows who it is."""
    games = grp.getgrnam("games").gr_gid
    users = {"root": (), "group": setpriv(65533, 65533, games), "primary group": setpriv(65533, games),
             "other group": setpriv(65533, grp.getgrnam("daemon").gr_gid, grp.getgrnam("mail").gr_gid),
             "no group": setpriv(65533, 65533), "nobody": setpriv(65534, 65534),
             "root of a namespace": (*setpriv(65533, 65533), "unshare", "--user", "--map-root-user")}
    paths, sockets = [str(open_dir / "read"), str(open_dir / "control")], []
    for path in paths:
        sockets.append(socket.socket(socket.AF_UNIX))
        sockets[-1].bind(path)
        os.chmod(path, 0o666)
        sockets[-1].listen(64)
    env = {"LISTEN_FDS": "2", "LISTEN_FDNAMES": "read:control"}
    fds_ = [one.fileno() for one in sockets]
    start = f'exec 3<&{fds_[0]} 4<&{fds_[1]}; LISTEN_PID=$$ exec "$@"'
    sonde("agent", "--group", "games", env=env, fds=tuple(fds_), before=("bash", "-c", start, "bash"))
    client = Client(paths[0])
    client.hello()
    verbs = dict(line.split() for line in client.call("verbs")[1].splitlines())
    assert verbs == documented_verbs()
    client.close()
    reads = {verb for verb, right in verbs.items() if right == "read"}
    asked = 0
    for script in ("agent/ask_agent.py", "agent_client.py"):   # this folder may be closed to ordinary users
        shutil.copy(os.path.join(helpers.ROOT, "tests", "e2e", script), open_dir)
    for name, command in users.items():
        done = helpers.sh(*command, "/usr/bin/python3", "ask_agent.py", *paths, ",".join(verbs), cwd=open_dir,
                          check=False)
        if name == "root of a namespace" and "unshare" in done.stderr:
            continue        # this kernel makes none for ordinary users
        read, control = json.loads(done.stdout)
        if name not in ("root", "group", "primary group"):
            assert read == errno.EACCES, (name, read)
        else:
            assert isinstance(read, dict), (name, read)
            assert read.pop("rights") == 1 and read.pop("subscribe") == 0, (name, read)
            assert {verb for verb, code in read.items() if code != errno.EPERM} == reads, (name, read)
        if name != "root":
            assert control == errno.EACCES, (name, control)
        else:
            assert control.pop("rights") == 3 and control.pop("subscribe") == 0, (name, control)
            assert errno.EPERM not in control.values(), (name, control)
        asked += 2 * len(verbs)
    assert asked >= 2 * 6 * len(verbs)
