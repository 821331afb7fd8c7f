# SPDX-License-Identifier: GPL-2.0-or-later
"""doc/FLEET.md: its commands, against two servers of the test's own, and the page over both hosts. Apart from make
check: the page enters its hosts by ip netns, which a plain chroot refuses.
"""
import contextlib
import os
import re
import signal
import subprocess
import sys

import pytest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "e2e"), os.path.join(TESTS, "ui")]
import browser  # noqa: E402  found by the lines above
import clickhouse_server  # noqa: E402
import helpers  # noqa: E402
import ui_client  # noqa: E402

PAGE = os.path.join(helpers.ROOT, "doc", "FLEET.md")
BUILD = os.environ.get("SONDE_BUILD", os.path.join(helpers.ROOT, "build"))
PICTURE = os.path.join(BUILD, "check", "ui-pictures", "fleet.png")
MIDDLE = """let list = document.querySelector('.event');
while (list.scrollHeight <= list.clientHeight + 5) list = list.parentElement;
list.scrollTop = list.scrollHeight / 2"""
SIDES = "document.querySelector('aside table.sides')"


@pytest.fixture
def servers(tmp_path):
    helpers.need("clickhouse-server")
    every = clickhouse_server.cluster(tmp_path / "servers", "fleet", ["127.0.0.1", "127.0.0.2"])
    yield every
    for one in every:
        one.kill()
    for host in "web1", "web2":
        helpers.sh("ip", "netns", "del", host, check=False)


def commands(servers, tmp_path):
    """The blocks of the page, with addresses and a spool of the test's own."""
    with open(PAGE, encoding="utf-8") as f:
        script = "\n".join(re.findall(r"^```sh\n(.*?)^```", f.read(), re.M | re.S))
    script = script.replace("http://127.0.0.$i:8123/fleet", "http://$(base $i)/fleet?spool=" + f"{tmp_path}/spool")
    for i, one in enumerate(servers, 1):
        script = script.replace(f"127.0.0.{i}:8123", one.base)
    return "base() { case $1 in " + " ".join(
        f"{i}) echo {one.base};;" for i, one in enumerate(servers, 1)) + " esac; }\n" + script


def one_call(address, token):
    """A call whose two sides are known, on the page; its picture."""
    chromium = browser.Browser()
    try:
        page = chromium.page(width=1280, height=800)
        page.open(f"{address}/calls?q=rpc.side%3Dclient#t={token}")
        page.wait("document.querySelector('.event a')")
        page.eval(MIDDLE)   # at the ends of the recording one host may not have begun, or have ended
        page.wait("Number(document.querySelector('.event').getAttribute('aria-rowindex')) > 8")
        page.eval("document.querySelector('.event:nth-child(3) a').click()")
        page.wait(SIDES + " && document.querySelector('aside canvas')")
        rows = page.eval(f"[...{SIDES}.rows].map((r) => [...r.cells].map((c) => c.innerText))")
        os.makedirs(os.path.dirname(PICTURE), exist_ok=True)
        page.shot(PICTURE)
        assert page.problems == []
        return rows
    finally:
        chromium.close()


def test_the_page_works_as_it_stands(servers, tmp_path):
    env = dict(os.environ, PATH=f"{os.path.dirname(helpers.BINARY)}:{os.environ['PATH']}")
    shell = subprocess.Popen(["bash", "-euc", commands(servers, tmp_path)], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env=env, start_new_session=True)
    try:
        out, err = shell.communicate(timeout=100)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)    # what the page leaves running
    assert shell.returncode == 0, err
    rows = [line.split("\t") for line in out.split("\n")]
    assert [row[:2] for row in rows if row[0] in ("web1", "web2")][:2] == [["web1", "1"], ["web2", "1"]], out
    packets = {row[0]: int(row[1]) for row in rows if len(row) == 3 and row[0] in ("web1", "web2") and
               row[1].isdigit() and not row[2].startswith("20")}
    assert packets["web1"] >= 20 and packets["web2"] >= 20, out
    joined = [row for row in rows if row[:4] == ["web1", "web2", "http", "GET"]]
    assert len(joined) == 1 and int(joined[0][4]) >= 20 and float(joined[0][7]) > 0, out
    for one in servers:
        for table, (_, twice, missing) in one.holes("fleet").items():
            assert twice == missing == 0, table
    if browser.PROGRAM:
        with ui_client.Ui("-r", f"clickhouse://{servers[0].base}/fleet_all") as ui:
            ui.read_whole()
            _, client, server, network = one_call(f"http://127.0.0.1:{ui.port}", ui.token)
        assert client[:2] == ["client", "web1"] and server[:2] == ["server", "web2"]
        assert network[1] == "the client's latency minus the server's" and network[2] != "unknown"
