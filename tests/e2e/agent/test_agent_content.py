# SPDX-License-Identifier: GPL-2.0-or-later
"""Readers see the content of their own user's processes, and of others everything but content."""
import errno
import grp
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile

import helpers
import pytest
from agent_client import ERROR, STOP, SUBSCRIBE, Client, words

UID = 65533
GROUP = "games"
E2E = os.path.join(helpers.ROOT, "tests", "e2e")
# Puts a word into everything that a probe looks at, as "WORD-place".
PLANT = """
import ctypes, os, socket, sys
word, folder, port = sys.argv[1][:-4], sys.argv[2], int(sys.argv[3])
open("/proc/self/comm", "w").write("planter")
data = lambda place: (word + "-" + place).encode() * 4
path = os.path.join(folder, word + "-path")
with open(path, "wb") as f:
    f.write(data("write"))
os.read(os.open(path, os.O_RDONLY), 4096)
os.readlink("/proc/self/exe"), os.access("/" + word + "-access", 0)
os.setxattr(path, "user." + word, data("xattr"))
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
a.sendmsg([data("message")]), b.recv(4096)
try:
    socket.socket(socket.AF_UNIX).connect(os.path.join(folder, word + "-sock"))
except OSError:
    pass
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.sendto(data("payload"), ("127.0.0.1", port))      # dropped: no socket there
server = socket.create_server(("127.0.0.1", 0))
tcp = socket.create_connection(server.getsockname())
tcp.sendall(b"GET /" + data("http") + b" HTTP/1.1\\r\\nAuthorization: " + data("header") + b"\\r\\n\\r\\n")
server.accept()[0].recv(4096)
os.execve("/bin/true", ["true", word + "-exec"], {"X": word + "-env"})
"""
PROBES = {
    "sys": ("probe=sys", "option=--snaplen=1k", "option=--context", "option=--enter", "option=--scan",
            "option=--keep-state", "comm=planter", "comm=true"),
    "net": ("probe=net", "option=--interface=lo", "option=--whole-packets", "option=--verbose=1"),
    "sys fields": ("probe=sys", "option=--snaplen=1k", "option=--context", "option=--scan", "comm=planter",
                   "comm=true", "fields=evt.args,evt.buffer,"
                   "syscall.args,syscall.path,syscall.answer,fd.name,proc.cmdline,proc.env,proc.pcmdline,proc.cwd,"
                   "proc.args,proc.exeline,proc.pid,syscall.name,proc.name,evt.abspath,evt.arg.name,evt.info"),
    "net fields": ("probe=net", "option=--interface=lo", "option=--whole-packets",
                   "fields=proc.args,proc.pid,net.task"),
}


def as_user(uid, *groups):
    gids = ",".join(str(grp.getgrnam(one).gr_gid) for one in groups)
    return "setpriv", "--reuid", str(uid), "--regid", str(uid), *(("--groups", gids) if gids else ("--clear-groups",))


@pytest.fixture
def home():
    path = pathlib.Path(tempfile.mkdtemp(prefix="sd-content-"))
    path.chmod(0o777)
    for name in "agent/read_agent.py", "agent_client.py":
        shutil.copy(os.path.join(E2E, name), path)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def start_agent(sonde, home, *words):
    agent = sonde("agent", "--socket-dir", str(home / "run"), "--group", GROUP, *words)
    agent.sock, agent.control = str(home / "run" / "read.sock"), str(home / "run" / "control.sock")
    return agent


def plant(home, word, before=()):
    port = 20000 + os.getpid() % 20000
    folder = home / word
    folder.mkdir()
    folder.chmod(0o777)
    subprocess.run([*before, "/usr/bin/python3", "-c", PLANT, word + "-cmd", str(folder), str(port)], check=True,
                   env={"X": word + "-environ"}, timeout=30)


class Reader:
    def __init__(self, home, agent, name, texts, before):
        self.out = home / f"{name}.bytes".replace(" ", "-")
        command = *before, "/usr/bin/python3", str(home / "read_agent.py"), agent.sock, str(self.out), *texts
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=home)
        first = self.child.stdout.readline()
        assert first == "READY\n", first

    def finish(self):
        """The bytes that came."""
        out, _ = self.child.communicate(timeout=60)
        assert out == "exact\n", out
        return self.out.read_bytes()


def words_in(data, word):
    """Places where the word stands."""
    places = ("cmd", "path", "write", "access", "xattr", "message", "sock", "payload", "http", "header", "exec",
              "env", "environ")
    return {place for place in places if f"{word}-{place}".encode() in data}


@pytest.mark.parametrize("name", PROBES)
def test_a_reader_sees_content_of_its_own_processes_only(sonde, home, name):
    agent = start_agent(sonde, home)
    user = as_user(UID, GROUP)
    reader = Reader(home, agent, name, PROBES[name], user)
    root = Reader(home, agent, name + " root", PROBES[name], ())
    plant(home, "SeCrEt")
    plant(home, "OwNeD", user)
    data, all_data = reader.finish(), root.finish()
    assert b"SeCrEt" not in data, words_in(data, "SeCrEt")
    must = {"sys": {"write", "path", "message", "exec", "env"}, "sys fields": {"write", "path", "exec"},
            "net": {"payload", "header"}, "net fields": set()}[name]
    assert words_in(data, "OwNeD") >= must, words_in(data, "OwNeD")
    assert words_in(all_data, "SeCrEt") >= must, words_in(all_data, "SeCrEt")
    assert words_in(all_data, "OwNeD") >= must
    assert len(data) > 2000


COMM = "--where", "proc.name in (planter, true)"
COMMANDS = {
    "syscalls": ("syscalls", *COMM, "--snaplen", "1k"),
    "strace": ("syscalls", *COMM, "--format", "strace", "--snaplen", "1k"),
    "json": ("syscalls", *COMM, "--json", "--snaplen", "1k"), "scap": ("syscalls", *COMM, "-o", "scap:OUT"),
    "sysdig": ("syscalls", *COMM, "--snaplen", "1k", "--format", "%proc.cmdline %proc.pcmdline %evt.args %evt.buffer "
               "%proc.env"),
    "recording": ("syscalls", *COMM, "--snaplen", "1k", "-o", "rec:OUT"),
    "packets": ("monitor", "-i", "lo", "-vv"), "hex": ("monitor", "-i", "lo", "--data", "hex"),
    "pcapng": ("capture", "-i", "lo", "-w", "OUT"),
    "flows": ("flows",), "profile": ("profile", "-o", "rec:OUT"), "rpc": ("rpc", "--payload", "1k"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_a_reader(sonde, home, name):
    binary = home / "sonde"
    shutil.copy(helpers.BINARY, binary)
    agent = start_agent(sonde, home)
    out = home / "out.bytes"
    argv = [word.replace("OUT", str(out)) for word in COMMANDS[name]]
    with open(home / "stdout.bytes", "wb") as stdout:
        child = subprocess.Popen([*as_user(UID, GROUP), str(binary), *argv, f"--agent={agent.sock}"], stdout=stdout,
                                 stderr=subprocess.PIPE, cwd=home, env={"NO_COLOR": "1", "HOME": str(home)})
        status = Client(agent.sock)
        status.hello()
        helpers.wait_until(lambda: "streams" in status.call("status")[1] or child.poll() is not None)
        assert child.poll() is None, child.communicate()[1]
        plant(home, "SeCrEt")
        plant(home, "OwNeD", as_user(UID, GROUP))
        child.send_signal(2)
        _, errors = child.communicate(timeout=60)
    data = (home / "stdout.bytes").read_bytes() + (out.read_bytes() if out.exists() else b"") + errors
    assert b"SeCrEt" not in data, words_in(data, "SeCrEt")
    own = {"syscalls": {"path", "write"}, "strace": {"path", "write"}, "json": {"path", "write"},
           "recording": {"path", "write"}, "hex": {"payload"}, "pcapng": {"payload"}}.get(name, set())
    assert words_in(data, "OwNeD") >= own, data[-500:]


def connect(path):
    client = Client(path)
    client.hello()
    return client


def test_a_filter_tells_a_reader_nothing(sonde, home):
    """A filter by content matches no event of others; one that the kernel decides is refused, or not handed to it."""
    agent = start_agent(sonde, home)
    user = as_user(UID, GROUP)
    base = "probe=sys", "option=--snaplen=1k", "option=--syscall=%file,write", "comm=planter"
    where = 'where=evt.args contains "SeCrEt" or fd.name contains "SeCrEt" or evt.buffer contains "SeCrEt"'
    readers = [Reader(home, agent, f"asks {i}", texts, before) for i, (texts, before) in enumerate((
        ((*base, where, "fields=proc.pid"), user), ((*base, where, "fields=proc.pid"), ()),
        ((*base, 'option=--push=fd.name contains "SeCrEt"', "fields=proc.pid"), user)))]
    plant(home, "SeCrEt")
    data, all_data, pushed = (one.finish() for one in readers)
    assert b"proc.pid=" not in data and b"proc.pid=" in all_data
    assert pushed.count(b"proc.pid=") > 2 * all_data.count(b"proc.pid=")    # it is left out
    done = subprocess.run([*user, "/usr/bin/python3", "read_agent.py", agent.sock, "x", "probe=net", "option=--words="
                           "udp[8:4] = 0x53654372"], cwd=home, capture_output=True, text=True, check=True, timeout=30)
    assert "headers only" in done.stdout, done.stdout


def test_the_group_may_be_given_content(sonde, home):
    agent = start_agent(sonde, home, "--allow-content", "group")
    reader = Reader(home, agent, "group", PROBES["sys"], as_user(UID, GROUP))
    plant(home, "SeCrEt")
    assert words_in(reader.finish(), "SeCrEt") >= {"write", "path", "exec", "env"}
    helpers.wait_until(lambda: agent.stderr.count("content: ") >= 2)
    begin, end = [line for line in agent.stderr.splitlines() if "content: " in line][:2]
    assert f"user {UID}, pid " in begin and "sys --snaplen=1k" in begin, begin
    assert f"user {UID}, pid " in end and "ended" in end, end


def test_only_control_excludes_and_the_ledger_has_it(sonde, home):
    agent = start_agent(sonde, home)
    reader, control = connect(agent.sock), connect(agent.control)
    asked = "probe=sys", "option=--syscall=getppid", f"pid={os.getpid()}"
    reader.send(SUBSCRIBE, words(*asked, "exclude=self"))
    kind, payload = reader.recv()
    assert kind == ERROR and struct.unpack_from("<I", payload, 4)[0] == errno.EPERM, payload
    number = reader.subscribe(*asked)[0]
    assert control.subscribe(*asked, "exclude=self") == [number]        # both see what is left
    for _ in range(100):
        os.getppid()
    for client in reader, control:
        client.send(STOP)
        got, _, ledgers = client.books()
        seen, delivered, filtered, sampled, *lost = ledgers[number]
        assert got.get(number, 0) == delivered == 0 and filtered >= 100, ledgers
        assert seen == delivered + filtered + sampled + sum(lost)


DUMP = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
print("READY", flush=True)
with open(sys.argv[2], "wb") as f:
    while data := s.recv(1 << 16):
        f.write(data)
        f.flush()
"""


def test_clients_of_ciliums_socket_follow_the_same_rule(sonde, home):
    path = str(home / "cilium.sock")
    agent = start_agent(sonde, home, "--serve-cilium", path)
    os.chmod(path, 0o666)
    outs, children = [home / "user", home / "root"], []
    for out, before in zip(outs, (as_user(UID), ())):
        children.append(subprocess.Popen([*before, "/usr/bin/python3", "-c", DUMP, path, str(out)],
                                         stdout=subprocess.PIPE, text=True))
        assert children[-1].stdout.readline() == "READY\n"
    status = connect(agent.sock)
    helpers.wait_until(lambda: ": net, " in status.call("status")[1])
    plant(home, "SeCrEt")
    plant(home, "OwNeD", as_user(UID))
    for out in outs:
        helpers.wait_until(lambda out=out: words_in(out.read_bytes(), "OwNeD") >= {"payload"})
    agent.stop(15)
    for child in children:
        child.communicate(timeout=20)
    assert b"SeCrEt" not in outs[0].read_bytes() and words_in(outs[1].read_bytes(), "SeCrEt") >= {"payload"}
