# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde rpc from an agent: calls, and what its kernel side could not do, by place."""
import json
import re

import gocalls
import helpers
from gocalls import gotree
from helpers import wait_until
from test_rpc import calls  # noqa: F401  a fixture


def test_misses_are_told_by_place(sonde, calls, tmp_path):  # noqa: F811
    """A request has more headers than are looked at: the call is shown, status and counters say what is missing."""
    sock = str(tmp_path / "run" / "read.sock")
    sonde("agent", "--socket-dir", str(tmp_path / "run"))
    one = calls(gocalls.program(gotree.SUITES[-1]))
    child = sonde("rpc", f"--agent={sock}", "--json", "--where", "evt.type in (rpc.call, rpc.miss, rpc.program)",
                  "--pid", str(one.pid))
    child.wait_for(lambda ev: ev["type"] == "rpc.program" and ev["proc"]["pid"] == one.pid and ev.get("places"))
    ask = helpers.BINARY, "status", "--socket", sock
    assert " times: " not in helpers.sh(*ask).stdout
    one.run("run", "wide", 3)
    gocalls.wait_for_calls(child, one.pid, 6)
    missed = child.wait_for(lambda ev: ev["type"] == "rpc.miss" and "more headers" in ev["reason"])[0]
    place = f"{missed['file']}:{missed['line']}"
    # clients and servers look at a request each; what was counted is told when the next second begins
    wait_until(lambda: f"  6 times: a frame has more headers than are read ({place})" in
                       helpers.sh(*ask).stdout)
    counters = helpers.sh(*ask, "--counters").stdout
    found = re.findall(r'^sonde_misses_total\{instance="\d+",probe="gohttp2",site="(.*)"\} (\d+)$', counters, re.M)
    assert (place, "6") in found, (json.dumps(missed), counters)
