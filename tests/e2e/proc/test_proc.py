# SPDX-License-Identifier: GPL-2.0-or-later
"""The proc probe: who is who, from the first moment on, and whose a socket is."""
import ctypes
import json
import os
import signal
import socket
import subprocess
import textwrap

import pytest

from helpers import READY_S, cgroup_root, sh

PYTHON = "/usr/bin/python3"
CHILDREN = 5000
libc = ctypes.CDLL(None, use_errno=True)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A static program that ends at once: 'tiny N' exits with N % 100."""
    folder = tmp_path_factory.mktemp("tiny")
    source, binary = folder / "tiny.c", folder / "tiny"
    source.write_text("#include <stdlib.h>\nint main(int n, char **v) { return n > 1 ? atoi(v[1]) % 100 : 0; }\n")
    sh("cc", "-static", "-O1", "-o", str(binary), str(source), timeout=60)
    return str(binary)


@pytest.fixture
def proc(sonde):
    """A sonde that prints the events of these types."""
    def start(*types, **options):
        words = ["--where", f"evt.type in ({', '.join(types)})"] if types else []
        return sonde("monitor", "--json", *words, **options)
    return start


def python_popen(code, **options):
    return subprocess.Popen([PYTHON, "-c", textwrap.dedent(code)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True, **options)


def of(pid, kind):
    return lambda ev: ev["type"] == kind and ev.get("proc", {}).get("pid") == pid


def test_five_thousand_short_programs(proc, tiny):
    """Every one has its own name and arguments, none has another's, although pids may come round."""
    watch = proc("proc.exec", "proc.exit", "proc.fork")
    names = [f"{os.path.dirname(tiny)}/n{i}" for i in range(10)]
    for name in names:
        os.symlink(tiny, name)
    truth = {}
    for i in range(CHILDREN):
        pid = os.posix_spawn(names[i % 10], [names[i % 10], str(i)], {})
        truth.setdefault(pid, []).append(i)
        os.waitpid(pid, 0)
        if (i + 1) % 500 == 0:      # its rings hold these, however long it waits for a CPU
            watch.wait_for(lambda ev: ev["type"] == "proc.exit" and ev.get("last") and ev["name"][0] == "n"
                           and ev["proc"]["pid"] in truth, i + 1, timeout=READY_S)
    events = watch.finish()
    ours = [ev for ev in events if ev.get("proc", {}).get("args", "").startswith(names[0][:-1])]
    execs = [ev for ev in ours if ev["type"] == "proc.exec"]
    exits = [ev for ev in ours if ev["type"] == "proc.exit"]
    assert len(execs) == CHILDREN
    assert len(exits) == CHILDREN
    seen = set()
    for ev in execs:
        i = int(ev["args"].split()[1])
        assert i in truth[ev["proc"]["pid"]]
        assert ev["comm"] == ev["proc"]["name"] == f"n{i % 10}"
        assert ev["args"] == f"{names[i % 10]} {i}"
        assert ev["exe"] == os.path.realpath(tiny)
        assert ev["file"] == names[i % 10]
        seen.add((ev["proc"]["pid"], ev["proc"]["start_ns"]))
    assert len(seen) == CHILDREN        # the process key never comes twice
    assert len({ev["proc"]["image_id"] for ev in execs}) == CHILDREN
    for ev in exits:                    # the name it gets is that of its own life
        i = int(ev["proc"]["args"].split()[1])
        assert (ev["proc"]["pid"], ev["proc"]["start_ns"]) in seen
        assert ev["proc"]["name"] == f"n{i % 10}"
        assert ev["code"] == i % 100
    ledger = [ev for ev in events if ev["type"] == "sonde.ledger" and ev["probe"] == "proc"][-1]
    # what else the host does then may be lost: mappings, sockets
    assert ledger["seen"] == ledger["delivered"] + ledger["lost"]


def test_a_chain_of_programs(proc):
    watch = proc("proc.exec", "proc.exit")
    child = subprocess.Popen(["/bin/sh", "-c", "exec env -i /bin/sh -c 'exec /bin/sleep 0.01'"])
    child.wait()
    ended = watch.wait_for(of(child.pid, "proc.exit"))[0]
    execs = [ev for ev in watch.finish() if of(child.pid, "proc.exec")(ev)]
    chain = [(ev["comm"], os.path.basename(ev["exe"]), ev["args"]) for ev in execs]
    shell = os.path.basename(os.path.realpath("/bin/sh"))
    assert chain == [("sh", shell, "/bin/sh -c exec env -i /bin/sh -c 'exec /bin/sleep 0.01'"),
                     ("env", "env", "env -i /bin/sh -c exec /bin/sleep 0.01"),
                     ("sh", shell, "/bin/sh -c exec /bin/sleep 0.01"),
                     ("sleep", "sleep", "/bin/sleep 0.01")]
    images = [ev["proc"]["image_id"] for ev in execs]
    assert len(set(images)) == 4 and ended["proc"]["image_id"] == images[-1]


def test_a_script_has_its_own_name_and_its_interpreters_program(proc, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nexit 7\n")
    script.chmod(0o755)
    watch = proc("proc.exec", "proc.exit")
    child = subprocess.Popen([str(script)])
    child.wait()
    ended = watch.wait_for(of(child.pid, "proc.exit"))[0]
    ran = watch.wait_for(of(child.pid, "proc.exec"))[0]
    assert ran["comm"] == "script" and ran["file"] == str(script) and ran["exe"] == os.path.realpath("/bin/sh")
    assert ended["code"] == 7 and ended["last"] and "signal" not in ended


def test_a_signal_ends_a_process(proc):
    watch = proc("proc.exit")
    child = subprocess.Popen(["/bin/sleep", "60"])
    child.send_signal(signal.SIGKILL)
    child.wait()
    ended = watch.wait_for(of(child.pid, "proc.exit"))[0]
    assert ended["signal"] == 9 and ended["last"] and "code" not in ended


def test_threads_have_names_and_ends_of_their_own(proc):
    watch = proc("proc.fork", "proc.exit", "proc.rename", "proc.exec")
    child = python_popen("""
        import ctypes, threading
        def run():
            ctypes.CDLL(None).prctl(15, b"worker", 0, 0, 0)
        for _ in range(3):
            t = threading.Thread(target=run)
            t.start()
            t.join()
    """)
    child.communicate()
    watch.wait_for(lambda ev: of(child.pid, "proc.exit")(ev) and ev["last"])
    events = [ev for ev in watch.finish() if ev.get("proc", {}).get("pid") == child.pid]
    threads = {ev["proc"]["tid"] for ev in events if ev["type"] == "proc.fork" and ev["thread"]}
    assert len(threads) == 3 and child.pid not in threads
    renames = [ev for ev in events if ev["type"] == "proc.rename" and ev["comm"] == "worker"]
    assert {ev["proc"]["tid"] for ev in renames} == threads
    exits = [ev for ev in events if ev["type"] == "proc.exit"]
    assert {ev["proc"]["tid"] for ev in exits} == threads | {child.pid}
    assert [ev["last"] for ev in exits] == [False, False, False, True]
    assert {ev["proc"]["name"] for ev in exits} == {"python3"}       # of the process, whoever of it ends


def test_exec_in_a_thread_keeps_the_process(proc, tmp_path):
    """exec by a thread other than the first: it becomes the process, whose key stays."""
    watch = proc("proc.fork", "proc.exec", "proc.exit")
    child = python_popen("""
        import os, threading
        threading.Thread(target=lambda: os.execv("/bin/true", ["true", "by-thread"])).start()
        threading.Event().wait()
    """)
    child.wait(10)
    ran = watch.wait_for(lambda ev: of(child.pid, "proc.exec")(ev) and ev["args"] == "true by-thread")[0]
    watch.wait_for(lambda ev: of(child.pid, "proc.exit")(ev) and ev["last"])
    first = [ev for ev in watch.finish() if of(child.pid, "proc.fork")(ev)][0]
    assert ran["proc"]["start_ns"] == first["proc"]["start_ns"]
    assert ran["proc"]["tid"] == child.pid and ran["old_tid"] != child.pid
    assert ran["comm"] == "true"


def test_namespaces_of_a_process(proc, netns):
    """After setns() a new process has the namespaces it was made in."""
    ns = netns()
    watch = proc("proc.exec")
    child = ns.popen("unshare", "--pid", "--fork", "/bin/sleep", "0.05")
    child.wait()
    inside = watch.wait_for(lambda ev: ev["type"] == "proc.exec" and ev["comm"] == "sleep"
                            and ev["netns"] == ns.inode)[0]
    assert inside["ns_pid"] == inside["proc"]["vpid"] == 1 and inside["proc"]["pid"] > 1
    assert inside["pidns"] != os.stat("/proc/self/ns/pid").st_ino


def test_what_was_there_before(proc, tmp_path):
    """Processes and their threads from before the start, with program, arguments, parent and all code mapped."""
    child = python_popen("""
        import mmap, threading
        made = mmap.mmap(-1, 8192, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
        e = threading.Event()
        threading.Thread(target=e.wait, daemon=True).start()
        print("up", flush=True)
        input()
    """)
    child.stdout.readline()
    watch = proc("proc.task", "proc.mmap")
    there = watch.wait_for(of(child.pid, "proc.task"), count=2)
    leader = [ev for ev in there if not ev["thread"]][0]
    assert leader["comm"] == leader["proc"]["name"] == "python3" and leader["snapshot"]
    assert leader["exe"] == os.path.realpath(PYTHON) and leader["args"].startswith(f"{PYTHON} -c")
    assert leader["ppid"] == os.getpid()
    last = 0
    with open(f"/proc/{child.pid}/maps", encoding="ascii") as f:
        truth = [line.split() for line in f]
    for words in truth:
        path = words[5] if len(words) > 5 else "//anon"
        if "x" not in words[1] or path == "[vsyscall]":
            continue
        start, end = (int(n, 16) for n in words[0].split("-"))
        ev = watch.wait_for(lambda ev, start=start: of(child.pid, "proc.mmap")(ev) and ev["addr"] == start)[0]
        assert ev["len"] == end - start and ev["path"] == path
        if path.startswith("/") and path != "//anon":
            assert ev["offset"] == int(words[2], 16) and ev["ino"] == int(words[4])
        last += 1
    maps = [ev["path"] for ev in watch.events if of(child.pid, "proc.mmap")(ev)]
    assert last == len(maps) > 3 and "//anon" in maps and "[vdso]" in maps
    child.communicate("\n")


def test_new_mappings(proc):
    watch = proc("proc.mmap", "proc.exec")
    child = python_popen("""
        import mmap
        input()
        mmap.mmap(-1, 8192, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
        print(1, flush=True)
        input()
    """)
    child.stdin.write("\n")
    child.stdin.flush()
    child.stdout.readline()
    truth = [line.split() for line in open(f"/proc/{child.pid}/maps", encoding="ascii")]
    wanted = {int(w[0].split("-")[0], 16): w[5] if len(w) > 5 else "//anon" for w in truth if "x" in w[1]}
    wanted = {addr: path for addr, path in wanted.items() if path != "[vsyscall]"}
    watch.wait_for(lambda ev: of(child.pid, "proc.mmap")(ev) and ev["path"] == "//anon")
    got = {ev["addr"]: ev for ev in watch.events if of(child.pid, "proc.mmap")(ev)}
    for addr, path in wanted.items():
        assert got[addr]["path"] == path
    ran = watch.wait_for(of(child.pid, "proc.exec"))[0]
    program = [ev for ev in got.values() if ev["path"] == os.path.realpath(PYTHON)][0]
    assert program["proc"]["start_ns"] == ran["proc"]["start_ns"]
    assert ran["proc"]["start_ns"] < ran["image_ns"] < program["ts_ns"] < ran["ts_ns"]
    libc_map = [ev for ev in got.values() if "/libc.so" in ev["path"]][0]
    note = sh("readelf", "-n", libc_map["path"]).stdout
    assert "".join(libc_map["build_id"].split()) in note
    child.communicate("\n")


@pytest.mark.parametrize("family", ["inet", "inet6"])
def test_tcp_sockets_have_owners(proc, family):
    """Listener, client and accepted connection; the server's listener from before the start and from after."""
    local = "127.0.0.1" if family == "inet" else "::1"
    server_code = f"""
        import socket
        s = socket.create_server(("{local}", 0), family=socket.AF_{family.upper()})
        print(s.getsockname()[1], flush=True)
        while True:
            s.accept()[0].close()
    """
    before = python_popen(server_code)
    ports = {before: int(before.stdout.readline())}
    watch = proc("proc.socket")
    after = python_popen(server_code)
    ports[after] = int(after.stdout.readline())
    held = watch.wait_for(lambda ev: ev["what"] == "held" and ev["conn"]["sport"] == ports[before])[0]
    assert held["proc"]["pid"] == before.pid
    for server, port in ports.items():
        with socket.create_connection((local, port)) as c:
            mine = c.getsockname()[1]
            c.recv(1)
        accepted = watch.wait_for(lambda ev: ev["what"] == "accept" and ev["conn"]["dport"] == mine)[0]
        assert accepted["proc"]["pid"] == server.pid and accepted["proc"]["name"] == "python3"
        assert accepted["conn"]["sport"] == port and accepted["listener"]
        made = watch.wait_for(lambda ev: ev["what"] == "connect" and ev["conn"]["sport"] == mine)[0]
        assert made["proc"]["pid"] == os.getpid()
        closed = watch.wait_for(lambda ev: ev["what"] == "close" and ev["cookie"] == made["cookie"])[0]
        assert closed["proc"]["pid"] == os.getpid()
    for server in ports:
        server.kill()
        server.wait()


def test_listeners_that_share_a_port_stay_apart(proc):
    """SO_REUSEPORT: a connection belongs to the process whose listener took it, not to the last that came."""
    code = """
        import socket, sys
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        s.bind(("127.0.0.1", int(sys.argv[1])))
        s.listen()
        print(s.getsockname()[1], flush=True)
        while True:
            c = s.accept()[0]
            print(c.getpeername()[1], flush=True)
            c.close()
    """
    watch = proc("proc.socket")
    servers, port = [], "0"
    for _ in range(3):
        servers.append(subprocess.Popen([PYTHON, "-c", textwrap.dedent(code), port], stdout=subprocess.PIPE,
                                        text=True))
        port = servers[-1].stdout.readline().strip()
    for _ in range(40):
        with socket.create_connection(("127.0.0.1", int(port))) as c:
            c.recv(1)
    accepted = watch.wait_for(lambda ev: ev["what"] == "accept" and ev["conn"]["sport"] == int(port), count=40)
    truth = {}
    for server in servers:
        server.kill()
        for line in server.stdout:
            truth[int(line)] = server.pid
        server.wait()
    assert len(truth) == 40 and len(set(truth.values())) > 1
    for ev in accepted:
        assert ev["proc"]["pid"] == truth[ev["conn"]["dport"]]


def test_sockets_of_other_namespaces(proc, link):
    """The snapshot reaches sockets of every network namespace, and so do events."""
    code = """
        import socket
        s = socket.create_server(("", 7000))
        print(1, flush=True)
        s.accept()[0].recv(1)
    """
    server = link.b.python_popen(textwrap.dedent(code))
    server.stdout.readline()
    watch = proc("proc.socket")
    held = watch.wait_for(lambda ev: ev["what"] == "held" and ev["netns"] == link.b.inode)[0]
    pid = held["proc"]["pid"]
    assert held["conn"]["sport"] == 7000 and os.readlink(f"/proc/{pid}/exe") == os.path.realpath(PYTHON)
    link.a.python(f"import socket; socket.create_connection(('{link.b_ip}', 7000)).close()")
    accepted = watch.wait_for(lambda ev: ev["what"] == "accept" and ev["netns"] == link.b.inode)[0]
    made = watch.wait_for(lambda ev: ev["what"] == "connect" and ev["netns"] == link.a.inode)[0]
    assert accepted["proc"]["pid"] == pid and accepted["conn"]["src"] == link.b_ip
    assert made["proc"]["name"] == "python3" and made["proc"]["pid"] != pid


def test_a_move_to_another_cgroup(proc):
    if not cgroup_root():
        pytest.skip("no cgroup2 mount")
    name = f"sd-e2e-{os.getpid()}"
    folder = os.path.join(cgroup_root(), name)
    os.mkdir(folder)
    try:
        watch = proc("proc.cgroup", "proc.exec")
        with subprocess.Popen(["/bin/sh", "-c", "read x; exec /bin/true"], stdin=subprocess.PIPE) as child:
            with open(os.path.join(folder, "cgroup.procs"), "w", encoding="ascii") as f:
                f.write(str(child.pid))
            child.communicate(b"\n")
        moved = watch.wait_for(of(child.pid, "proc.cgroup"))[0]
        ran = watch.wait_for(lambda ev: of(child.pid, "proc.exec")(ev) and ev["comm"] == "true")[0]
        assert moved["cgroup_id"] == ran["cgroup_id"] == os.stat(folder).st_ino
        assert moved["cgroup"] == ran["cgroup"] == f"/{name}"
    finally:
        os.rmdir(folder)


def test_a_recording_tells_the_same(sonde, proc, tmp_path, tiny):
    """Events of a replay are those of the live run, processes included."""
    path = str(tmp_path / "x.rec")
    watch = sonde("monitor", "--json", "--where", "evt.type in (proc.exec, proc.exit)", "-o", f"rec:{path}")
    for i in range(20):
        subprocess.run([tiny, str(i)], check=False)
    watch.wait_for(lambda ev: ev["type"] == "proc.exit" and ev["proc"].get("args") == f"{tiny} 19")
    live = [ev for ev in watch.finish() if ev["type"].startswith("proc.")]
    again = sonde.run("monitor", "--json", "--where", "evt.type in (proc.exec, proc.exit)", "-r", path)
    replayed = [ev for ev in map(json.loads, again.stdout.splitlines()) if ev["type"].startswith("proc.")]
    assert again.returncode == 0
    for ev in live + replayed:
        ev.pop("seq")
    assert replayed == live
