# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde ui on this host: its own probes and those of an agent, against what a program did."""
import json
import os
import socket
import subprocess
import time
import urllib.parse

from helpers import READY_S, sh, stop_process
from ui_client import Ui, parents

CALLS = 3000
WORK = f"""
import os, sys
print(os.getpid(), flush=True)
for line in sys.stdin:
    for _ in range({CALLS}):
        os.getsid(0)
    print("done", flush=True)
"""


class Work:
    """A program that makes CALLS calls whenever it is asked to: of a kind that programs at work hardly make."""

    def __init__(self):
        self.child = subprocess.Popen(["/usr/bin/python3", "-c", WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True)
        self.pid = int(self.child.stdout.readline())

    def run(self):
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        assert self.child.stdout.readline() == "done\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        stop_process(self.child)


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return {k: v.strip() for k, _, v in (line.partition(":") for line in f)}


def children_of(pid):
    return [int(p) for p in sh("ps", "-o", "pid=", "--ppid", str(pid), check=False).stdout.split()]


def counted(ui, pid):
    rows = ui.get("view/syscalls", q=f"proc.pid={pid}")["rows"]
    return {r["keys"][0]: r["values"][0] for r in rows}.get("getsid", 0)


def wait_for(ui, pid, n):
    """By the stream, until the table has the count; the lines of another second follow, and say the same."""
    deadline = time.monotonic() + READY_S
    for line in ui.stream(f"/view/syscalls?q=proc.pid%3D{pid}", "/meta"):
        if counted(ui, pid) == n:
            return
        assert time.monotonic() < deadline, line


def test_a_page_of_its_own_probes():
    with Ui("--agent=no", "--set", "sys:syscall=getsid") as ui, Work() as work:
        server = status_of(ui.child.pid)
        assert server["Uid"].split() == ["65534"] * 4 and int(server["CapPrm"], 16) == int(server["CapEff"], 16) == 0
        assert server["Seccomp"] == "2"
        probes = [p for p in children_of(ui.child.pid) if status_of(p)["Uid"].split()[0] == "0"]
        assert probes    # the process with the rights, and the opener, which parse no HTTP
        work.run()
        wait_for(ui, work.pid, CALLS)
        page = ui.get("events", q=f"proc.pid={work.pid} and evt.type=sys.exit", limit=1)
        assert page["n"] == CALLS and page["events"][0]["process"] == "python3"
        meta = ui.get("meta")
        assert meta["live"] and meta["content"] and {p["name"]: p["running"] for p in meta["probes"]} == \
            {"net": False, "cpu": False, "sys": True, "gohttp2": False, "call": False}
        recent = ui.get("view/syscalls", from_="-1h", to="now", series="calls", q=f"proc.pid={work.pid}")
        assert sum(recent["series"]["columns"]["calls"]) == CALLS
        assert parents(ui, from_="-1h")[str(work.pid)] == str(os.getpid())
        status, err = ui.close()
        assert status == 130 and "ledger" not in err
        assert not any(os.path.exists(f"/proc/{p}") for p in probes)


def test_a_connection_that_stays_is_a_talker():
    """It is counted while it lives, not at its end."""
    with Ui("--agent=no") as ui, socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as asks, server.accept()[0] as answers:
            deadline, sent = time.monotonic() + READY_S, 0
            for _ in ui.stream("/meta"):
                asks.sendall(b"x" * 1000)
                sent += len(answers.recv(1000))
                rows = ui.get("view/talkers", q=f"fd.port={port}")["rows"]
                if sum(row["values"][0] for row in rows) > 2000:
                    break
                assert time.monotonic() < deadline, (sent, rows)
        assert {row["keys"][1] for row in rows} == {str(os.getpid())}


def test_the_past_outlives_its_events():
    """2 MB keep a part of the calls; the table has all of them."""
    with Ui("--agent=no", "--set", "sys:syscall=getsid", "--memory", "2M") as ui, Work() as work:
        rounds = 4
        for _ in range(rounds):
            work.run()
        shown = next(view for view in ui.get("views")["views"] if view["name"] == "processes")
        at = [column["name"] for column in shown["cols"]].index("syscalls")
        deadline = time.monotonic() + READY_S
        for _ in ui.stream("/meta"):
            page = ui.get("view/processes", from_="-1h", series="syscalls", top=1000)
            syscalls = {r["keys"][0]: r["values"][at] for r in page["rows"]}.get(str(work.pid), 0)
            if syscalls == rounds * CALLS:
                break
            assert syscalls < rounds * CALLS and time.monotonic() < deadline
        assert page["past"] and ui.get("meta")["gone"] > 0
        assert parents(ui, from_="-1h")[str(work.pid)] == str(os.getpid())
        assert sum(page["series"]["columns"]["syscalls"]) >= rounds * CALLS    # other programs call, too
        assert sum(r["values"][at] for r in page["rows"]) == sum(page["series"]["columns"]["syscalls"])
        host = ui.get("view/host", from_="-1h", series="syscalls")      # the pictures of the overview
        assert host["past"] and sum(host["series"]["columns"]["syscalls"]) >= rounds * CALLS
        assert "past" not in ui.get("view/processes", from_="-1ms")
        assert "past" not in ui.get("view/processes", q="proc.name=python3")


def test_a_request_beyond_its_time_is_refused():
    """Many checks of many events: status 503 and what helps, while others are answered; it ends with the range."""
    with Ui("--agent=no", "--set", "sys:syscall=getsid") as ui, Work() as work:
        for _ in range(40):
            work.run()
        deadline = time.monotonic() + READY_S
        while ui.get("meta")["events"] < 50000:
            assert time.monotonic() < deadline
        end = ui.get("meta")["end"]
        q = "not (" + " or ".join(f"proc.args icontains x{i}" for i in range(160)) + ")"
        body = ui.get("view/syscalls", status=503, q=q, to=end, series="calls")
        assert body == {"error": "the request needs more than 2 s of CPU time: narrow the range"}
        assert ui.get("meta")["live"]
        assert "error" not in ui.get("view/syscalls", q=q, from_=int(end) - 10**6, to=end, series="calls")
        subs = ("/view/syscalls?" + urllib.parse.urlencode({"q": q, "to": end, "series": "calls"}),
                f"/events?limit=1&to={end}")
        said = {}
        for line in ui.stream(*subs):
            assert time.monotonic() < deadline
            if "sub" in line:
                said[line["sub"]] = line
            if len(said) == 2:
                break
        assert said[0]["status"] == 503 and "narrow the range" in said[0]["error"]
        assert said[1]["answer"]["n"] > 0    # the other subscription goes on


def test_a_page_of_an_agent(sonde, tmp_path):
    agent = sonde("agent", "--socket-dir", str(tmp_path / "run"))
    sock = str(tmp_path / "run" / "read.sock")
    with Ui(f"--agent={sock}", "--set", "sys:syscall=getsid") as ui, Work() as work:
        work.run()
        wait_for(ui, work.pid, CALLS)
        assert len(json.loads(sh("ip", "-j", "link").stdout)) > 0    # the host goes on
        agent.stop()
        assert ui.child.wait(timeout=READY_S) == 0


def test_a_user_without_rights():
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--",
                           *Ui.command("--agent=no")], capture_output=True, text=True, timeout=READY_S, check=False)
    assert done.returncode == 3
    assert "no agent answers and this user may not load BPF programs" in done.stderr
