# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent as a service: what it and a service manager say to each other, and its units."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import helpers
import pytest
from agent_client import Client

UNITS = pathlib.Path(helpers.ROOT) / "contrib" / "systemd"


def wait_until(wanted, timeout=helpers.TIMEOUT_S):
    end = time.monotonic() + timeout
    while not wanted():
        assert time.monotonic() < end
        time.sleep(0.02)



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
    wait_until(lambda: "configuration read again: 3 clients, 1048576 bytes" in agent.stderr)
    second = Client(sock)
    second.hello()
    assert "clients: 2 of 3," in second.call("status")[1]
    conf.write_text("max-clients = 3\nno-such-thing = 1\n")
    os.kill(agent.pid, signal.SIGHUP)
    wait_until(lambda: "the configuration stays as it was" in agent.stderr)
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
        wait_until(path.exists)
        after = path.stat()
        assert after.st_ino != before.st_ino or after.st_ctime_ns != before.st_ctime_ns
        assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
        wait_until(lambda path=path: connects(path))
        old[name] = client
    for client in old.values():
        assert client.call("status")[0] == 0


def connects(path):
    try:
        Client(str(path)).hello()
        return True
    except OSError:
        return False
