# SPDX-License-Identifier: GPL-2.0-or-later
"""What the probe reads at a place is what gdb says of the arguments there, by debug information that sonde did not
use: the same frames of the same process, seen by both."""
import json
import os
import resource
import shutil
import subprocess
import threading

import pytest

import helpers
from gocalls import Calls, gotree, name_of, program

HERE = os.path.dirname(os.path.abspath(__file__))
RULES = ("grpc.write-header", "grpc.server-headers", "grpc.client-headers")


def places(path, to):
    said = helpers.sh(helpers.BINARY, "rpc", "explain", "-v", "--json", path, timeout=60).stdout
    rows = [json.loads(line) for line in said.split("\n") if line]
    rows = [r for r in rows if r["type"] == "rule" and r["rule"] in RULES]
    assert all(r["state"] == "ready" and r["addr"] > r["entry"] for r in rows) and len(rows) == len(RULES)
    with open(to, "w", encoding="utf-8") as f:
        json.dump(rows, f)


class Gdb:
    def __init__(self, pid, tmp_path, words):
        self.out = str(tmp_path / "stops")
        self.child = subprocess.Popen(
            ["gdb", "-nx", "-q", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off",
             "-p", str(pid), "-ex", f"py argv = {[words, self.out]!r}", "-x", os.path.join(HERE, "gdb_args.py")],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
        self.timer = threading.Timer(90, self.child.kill)
        self.timer.start()
        self.said = []
        for line in self.child.stdout:
            self.said.append(line)
            if "gdb is ready" in line:
                return
        raise AssertionError("gdb does not start:\n" + "".join(self.said))

    def stops(self):
        """After the program's end."""
        try:
            self.said.append(self.child.communicate(timeout=60)[0])
        finally:
            self.child.kill()
            self.timer.cancel()
        with open(self.out, encoding="utf-8") as f:
            return [json.loads(line) for line in f]


def side_of(stop):
    """Whose call a frame is of, and whether it is a request."""
    request = ":path" in stop["headers"]
    if stop["rule"] == "grpc.write-header":
        return "client" if request else "server", request
    return "server" if stop["rule"] == "grpc.server-headers" else "client", request


@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
@pytest.mark.skipif(not gotree.ALL_BUILDS, reason="gdb takes long to read a program: with SONDE_GO_BUILDS=all only")
@pytest.mark.parametrize("suite", gotree.SUITES)
def test_gdb_says_the_same(sonde, tmp_path, suite):
    path = program(suite, "plain")
    places(path, str(tmp_path / "places"))
    one = Calls((path,), tmp_path)
    try:
        child = sonde("rpc", "--json", "--where", "evt.type=rpc.call", "--pid", str(one.pid), "--header", "x-call")
        gdb = Gdb(one.pid, tmp_path, str(tmp_path / "places"))
        one.run("run", "unary", 2)
        one.run("run", "fail", 1)
        one.run("run", "server", 1)
        one.quit()
    finally:
        one.kill()
    stops = gdb.stops()
    assert stops, "".join(gdb.said)
    seen = child.wait_for(lambda ev: ev["type"] == "rpc.call", 8)
    child.finish()
    by_key = {(ev["side"], ev["rpc_stream"]): ev for ev in seen}
    assert len(by_key) == 8

    compared = set()
    for stop in stops:
        side, request = side_of(stop)
        ev, sent = by_key[side, stop["stream"]], stop["headers"]
        assert int(ev["rpc_conn"], 16) == stop["conn"], (stop, ev)
        if request:
            assert (ev["path"], ev["authority"], name_of(ev)) == (sent[":path"], sent[":authority"], sent["x-call"])
            assert (ev["user_agent"], ev["content_type"]) == (sent["user-agent"], sent["content-type"])
        else:
            assert "content-type" not in sent or ev["http_status"] == int(sent[":status"])
        if stop["end_stream"]:
            assert {"OK": "0", "NOT_FOUND": "5"}[ev["status"]] == sent["grpc-status"], (stop, ev)
        compared.add((side, stop["stream"], request, stop["end_stream"]))
        assert ("streamID = %d" % stop["stream"] in stop["info_args"]) == (stop["rule"] == "grpc.write-header")
    for side, stream in by_key:     # both ends of each call were held against gdb
        assert (side, stream, True, False) in compared and (side, stream, False, True) in compared
