# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent as a service: what it and a service manager say to each other, and its units."""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import helpers
import pytest
from agent_client import Client
from ui_client import Ui, free_port

UNITS = pathlib.Path(helpers.ROOT) / "contrib" / "systemd"
SEVEN = "+bpf,+perfmon,+net_admin,+sys_ptrace,+dac_read_search,+checkpoint_restore,+syslog"
AS_THE_UNIT = ("setpriv", "--reuid", "65533", "--regid", "65533", "--clear-groups", "--bounding-set", f"-all,{SEVEN}",
               "--inh-caps", f"-all,{SEVEN}", "--ambient-caps", f"-all,{SEVEN}")
SET = "sys:syscall=rmdir"
CALLS = 60000
FAILS = """
import os, sys
for line in sys.stdin:
    for _ in range(int(line)):
        try:
            os.rmdir("/no-such-secret")
        except OSError:
            pass
    print("done", flush=True)
"""


def test_it_says_when_it_is_ready_and_when_it_stops(sonde, tmp_path):
    """sd_notify(3), both kinds of address."""
    for address in str(tmp_path / "notify"), f"\0sonde-test-{os.getpid()}":
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(address)
            manager.settimeout(helpers.TIMEOUT_S)
            agent = sonde("agent", "--socket-dir", str(tmp_path / "run"),
                          env={"NOTIFY_SOCKET": address.replace("\0", "@")})
            assert manager.recv(100) == b"READY=1"
            Client(str(tmp_path / "run" / "read.sock")).hello()     # and it is
            assert agent.stop(signal.SIGTERM) == 0
            assert manager.recv(100) == b"STOPPING=1"


def test_a_hangup_reads_the_configuration_again(sonde, tmp_path):
    """Limits of clients change at once; a file with a mistake changes nothing and is named."""
    conf, sock = tmp_path / "agent.conf", str(tmp_path / "run" / "read.sock")
    conf.write_text("max-clients = 1\n")
    agent = sonde("agent", "--config", str(conf), "--socket-dir", str(tmp_path / "run"))
    first, second = Client(sock), Client(sock)
    first.hello()
    assert second.recv()[1] and second.recv() is None       # an error, and the end
    conf.write_text("max-clients = 3\nqueue-size = 1M\n")
    os.kill(agent.pid, signal.SIGHUP)
    helpers.wait_until(lambda: "configuration read again: 3 clients, 1048576 bytes" in agent.stderr)
    second = Client(sock)
    second.hello()
    assert "clients: 2 of 3," in second.call("status")[1]
    conf.write_text("max-clients = 3\nno-such-thing = 1\n")
    os.kill(agent.pid, signal.SIGHUP)
    helpers.wait_until(lambda: "the configuration stays as it was" in agent.stderr)
    assert "no-such-thing" in agent.stderr
    assert second.call("status")[0] == 0 and first.call("status")[0] == 0
    assert agent.stop(signal.SIGTERM) == 0


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_takes_the_units(tmp_path):
    for unit in UNITS.iterdir():
        text = unit.read_text().replace("ExecStart=/usr/local/bin/sonde", "ExecStart=/bin/true")
        (tmp_path / unit.name).write_text(text)
    units = sorted(str(tmp_path / unit.name) for unit in UNITS.iterdir() if unit.suffix != ".sysusers")
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True,
                          env=dict(os.environ, SYSTEMD_UNIT_PATH=f"{tmp_path}:"), check=False)
    assert done.returncode == 0 and len(units) == 3 and not done.stderr.strip(), done.stderr


def test_a_removed_socket_is_made_again(sonde, tmp_path):
    """New clients get in with the rights of before, those that are there stay."""
    run = tmp_path / "run"
    sonde("agent", "--socket-dir", str(run), "--group", "games")
    old = {}
    for name in "read.sock", "control.sock":
        path = run / name
        client, before = Client(str(path)), path.stat()
        client.hello()
        path.unlink()
        helpers.wait_until(path.exists)
        after = path.stat()
        assert after.st_ino != before.st_ino or after.st_ctime_ns != before.st_ctime_ns
        assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
        helpers.wait_until(lambda path=path: connects(path))
        old[name] = client
    for client in old.values():
        assert client.call("status")[0] == 0


def connects(path):
    try:
        Client(str(path)).hello()
        return True
    except OSError:
        return False


class Failing:
    """A program of the agent's user whose calls fail when it is asked to."""

    def __init__(self, before):
        self.child = subprocess.Popen([*before, "/usr/bin/python3", "-c", FAILS], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)

    def fail(self, times):
        self.child.stdin.write(f"{times}\n")
        self.child.stdin.flush()
        assert self.child.stdout.readline() == "done\n"

    def events(self, ui):
        self.fail(1)
        return ui.get("events", q=f"proc.pid={self.child.pid} and syscall.name=rmdir")["events"]

    def counted(self, ui):
        return ui.get("events", q=f"proc.pid={self.child.pid} and syscall.name=rmdir", limit=1)["n"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        helpers.stop_process(self.child)


def page_of(sock):
    """Of the status: address with the token, pid, number of starts; None while it starts."""
    client = Client(sock)
    client.hello()
    found = re.search(r"^page: (.*), pid (\d+), (\d+) starts$", client.call("status")[1], re.M)
    client.sock.close()
    return found and (found[1], int(found[2]), int(found[3]))


def when_there(what):
    seen = []
    helpers.wait_until(lambda: seen.append(what()) or seen[-1])
    return seen[-1]


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").split()[3])


def rights_of(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return {k: v.split() for k, v in re.findall(r"^(Uid|Groups|CapPrm|CapEff|NoNewPrivs):(.*)$", text, re.M)}


@pytest.mark.parametrize("before, uid, content", [((), "65534", "group"), (AS_THE_UNIT, "65533", "none")],
                         ids=["root", "unit"])
def test_it_serves_the_page(sonde, tmp_path_factory, before, uid, content):
    """By a process without rights, which comes back with the same address and shows what the agent lets it."""
    home = pathlib.Path(tmp_path_factory.mktemp("page"))
    if before:
        for folder in home, *list(home.parents)[:2]:
            folder.chmod(0o755)
        os.chown(home, int(uid), int(uid))
    sock, port = str(home / "run" / "read.sock"), free_port()
    (home / "agent.conf").write_text(f"ui-set = {SET}\nallow-content = {content}\n")
    agent = sonde("agent", "--socket-dir", str(home / "run"), "--config", str(home / "agent.conf"),
                  "--ui", f"127.0.0.1:{port}", before=before)
    address, pid, starts = when_there(lambda: page_of(sock))
    assert address.startswith(f"http://127.0.0.1:{port}/#t=") and starts == 1
    ui = Ui.at(address)
    assert ui.token not in agent.stderr and ui.token not in "".join(agent.lines)
    assert ui.ask("/api/v1/meta", token=False)[0] == 401
    with Failing(before[:6]) as failing:
        event = when_there(lambda: failing.events(ui))[0]
        assert event["process"] == "python3" and ("secret" in str(event)) == (content == "group"), event
        assert rights_of(pid) == {"Uid": [uid] * 4, "Groups": [], "CapPrm": ["0" * 16], "CapEff": ["0" * 16],
                                  "NoNewPrivs": ["1"]}
        assert len(os.listdir(f"/proc/{parent_of(pid)}/fd")) == 5     # three of them, the agent, the page
        os.kill(pid, signal.SIGKILL)
        _, again, _ = when_there(lambda: (page_of(sock) or (0, 0, 0))[2] == 2 and page_of(sock))
        assert again != pid and page_of(sock)[0] == address
        assert when_there(lambda: failing.events(ui))
    assert "the page ended (Killed); it starts again in 250 ms" in agent.stderr
    if before:      # a killed agent takes its page along
        agent.child.kill()
        helpers.wait_until(lambda: not os.path.exists(f"/proc/{again}"))
    assert agent.stop(signal.SIGTERM) == (-signal.SIGKILL if before else 0)
    assert not os.path.exists(f"/proc/{again}")
    with pytest.raises(ConnectionRefusedError):
        ui.connect()


def test_a_page_that_gets_no_time_loses_nothing(sonde, tmp_path):
    """More than the queue of other clients holds waits for it."""
    sock, port = str(tmp_path / "run" / "read.sock"), free_port()
    (tmp_path / "agent.conf").write_text(f"ui-set = {SET}\nallow-content = group\n")
    sonde("agent", "--socket-dir", str(tmp_path / "run"), "--config", str(tmp_path / "agent.conf"),
          "--ui", f"127.0.0.1:{port}")
    address, pid, _ = when_there(lambda: page_of(sock))
    ui = Ui.at(address)
    with Failing(()) as failing:
        when_there(lambda: failing.events(ui))
        before = failing.counted(ui)
        os.kill(pid, signal.SIGSTOP)
        failing.fail(CALLS)
        client = Client(sock, helpers.READY_S)
        client.hello()
        when_there(lambda: max(map(int, re.findall(r"queue (\d+) bytes", client.call("status")[1]))) > 4 << 20)
        os.kill(pid, signal.SIGCONT)
        when_there(lambda: failing.counted(ui) >= before + CALLS - sum(c["count"] for c in ui.get("meta")["lost"]))
    assert "queue" not in {c["cause"] for c in ui.get("meta")["lost"]}


def test_a_page_on_a_socket_for_the_group(sonde, tmp_path):
    """Of agent.conf."""
    conf, path = tmp_path / "agent.conf", tmp_path / "run" / "ui.sock"
    conf.write_text(f"ui = unix:{path}\nui-set = {SET}\ngroup = games\n")
    agent = sonde("agent", "--config", str(conf), "--socket-dir", str(tmp_path / "run"))
    assert path.stat().st_mode & 0o777 == 0o660 and path.group() == "games"
    with socket.socket(socket.AF_UNIX) as browser:
        browser.settimeout(helpers.READY_S)
        browser.connect(str(path))
        browser.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert browser.recv(100).split()[1] == b"200"
    assert agent.stop(signal.SIGTERM) == 0 and not path.exists()


@pytest.mark.replay
@pytest.mark.parametrize("address", ["0.0.0.0:9778", "[::]:9778", "example.org:80", "127.0.0.1", "127.0.0.1:0"])
def test_a_page_for_other_hosts_is_refused(sonde, tmp_path, address):
    conf = tmp_path / "agent.conf"
    conf.write_text(f"ui = {address}\n")
    done = sonde.run("agent", "--check", "--config", str(conf))
    assert done.returncode == 2 and f"ui: {address}: expected 127.0.0.1:PORT" in done.stderr, done.stderr
    conf.write_text(f"ui = 127.0.0.1:9778\nui-set = {SET}\n")
    assert sonde.run("agent", "--check", "--config", str(conf)).returncode == 0
    conf.write_text("ui = 127.0.0.1:9778\nui-set = lots\n")
    assert "ui-set lots: expected light" in sonde.run("agent", "--check", "--config", str(conf)).stderr
