# SPDX-License-Identifier: GPL-2.0-or-later
"""doc/FLEET.md: its commands, against a server of the test's own. Apart from make check: the page enters its hosts
by ip netns, which a plain chroot refuses.
"""
import os
import re
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import clickhouse_server  # noqa: E402  found by the line above
import helpers  # noqa: E402

PAGE = os.path.join(helpers.ROOT, "doc", "FLEET.md")


@pytest.fixture
def server(tmp_path):
    helpers.need("clickhouse-server")
    one = clickhouse_server.Server(tmp_path / "server")
    yield one
    one.kill()
    for host in "web1", "web2":
        helpers.sh("ip", "netns", "del", host, check=False)


def test_the_page_works_as_it_stands(server, tmp_path):
    with open(PAGE, encoding="utf-8") as f:
        script = "\n".join(re.findall(r"^```sh\n(.*?)^```", f.read(), re.M | re.S))
    script = script.replace("127.0.0.1:8123/fleet?host", f"{server.base}/fleet?host").replace(
        "127.0.0.1:8123/fleet", f"{server.base}/fleet?spool={tmp_path}/spool").replace("127.0.0.1:8123", server.base)
    env = dict(os.environ, PATH=f"{os.path.dirname(helpers.BINARY)}:{os.environ['PATH']}")
    r = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, timeout=120, check=False, env=env)
    assert r.returncode == 0, r.stderr
    rows = [line.split("\t") for line in r.stdout.split("\n")]
    assert [row[:2] for row in rows if row[0] in ("web1", "web2")][:2] == [["web1", "1"], ["web2", "1"]], r.stdout
    packets = {row[0]: int(row[1]) for row in rows if len(row) == 3 and row[0] in ("web1", "web2") and
               not row[2].startswith("20")}
    assert packets["web1"] >= 20 and packets["web2"] >= 20, r.stdout
    for table, (_, twice, missing) in server.holes("fleet").items():
        assert twice == missing == 0, table
