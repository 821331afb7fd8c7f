# SPDX-License-Identifier: GPL-2.0-or-later
"""-o clickhouse: and -r clickhouse://, against a real server: rows are there once, and a run that is read back is the
recording that was sent."""
import collections
import json
import os
import re

import pytest

import clickhouse_server
import helpers

RECORDING = os.path.join(helpers.ROOT, "tests", "data", "rec", "loopback.rec")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    helpers.need("clickhouse-server")
    one = clickhouse_server.Server(tmp_path_factory.mktemp("clickhouse"))
    yield one
    one.kill()


def run(*words, check=True):
    return helpers.sh(helpers.BINARY, *words, check=check, timeout=60)


def new_db(server, name):
    run("clickhouse", "init", server.url(name))
    return server.url(name)


def lines(text):
    return [json.loads(line) for line in text.split("\n") if line]


@pytest.mark.replay
def test_a_recording_comes_back_as_it_was(server):
    url = new_db(server, "back")
    run("monitor", "-r", RECORDING, "-o", f"clickhouse:{url}")
    want = run("monitor", "-r", RECORDING, "--json").stdout
    back = run("monitor", "-r", url.replace("http:", "clickhouse:"), "--json").stdout
    assert back == want
    made = collections.Counter(ev["type"].replace(".", "_").replace("-", "_") for ev in lines(want))
    holes = server.holes("back")
    assert {t: n for t, (n, _, _) in holes.items() if t not in ("record", "run", "ledger")} == made
    assert all(twice == missing == 0 for _, twice, missing in holes.values())
    drops = sorted((ev["reason"], ev["proc"]["pid"] if "proc" in ev else 0, ev["ts_ns"]) for ev in lines(want)
                   if ev["type"] == "net.drop")
    rows = server.rows("SELECT drop_reason, proc_pid, ts_ns FROM net_drop", "back")
    assert sorted(r for r, _, _ in drops) == sorted(r for r, _, _ in rows)
    assert len({int(ts) for _, _, ts in rows}) == len({ts for _, _, ts in drops})
    # the ledger says the same
    assert all(made == delivered for _, made, delivered in server.rows(
        "SELECT tbl, max(made), max(delivered) FROM ledger GROUP BY tbl", "back"))


@pytest.mark.replay
def test_broken_connections_neither_lose_nor_repeat_rows(server):
    new_db(server, "cut")
    proxy = clickhouse_server.Proxy(server, ["before", "behind", "busy", "pass", "behind"])
    try:
        run("monitor", "-r", RECORDING, "-o", f"clickhouse:{proxy.url('cut')}")
    finally:
        proxy.close()
    assert proxy.cut.count("behind") == 2
    holes = server.holes("cut")
    assert holes["record"][0] > 100
    assert all(twice == missing == 0 for _, twice, missing in holes.values())


@pytest.mark.replay
def test_a_killed_sender_neither_loses_nor_repeats_rows(server):
    """The server has the rows, the process that sent them is gone before it knows."""
    new_db(server, "killed")
    proxy = clickhouse_server.Proxy(server, ["pass", "killed"])
    try:
        r = run("monitor", "-r", RECORDING, "-o", f"clickhouse:{proxy.url('killed')}")
    finally:
        proxy.close()
    assert proxy.cut == ["killed"]
    assert r.stderr.count("is started again") == 1, r.stderr
    holes = server.holes("killed")
    assert holes["record"][0] > 100
    assert all(twice == missing == 0 for _, twice, missing in holes.values())
    assert all(made == delivered for _, made, delivered in server.rows(
        "SELECT tbl, max(made), max(delivered) FROM ledger GROUP BY tbl", "killed"))


@pytest.mark.replay
def test_a_time_to_live_is_never_left_out_silently(server):
    for words in ("init", server.url("ttl"), "--ttl", "168h"), ("ddl", "--ttl", "168h"):
        r = run("clickhouse", *words, check=False)
        assert r.returncode == 2 and "no TTL" in r.stderr and not r.stdout, r.stderr
    assert "TTL date + INTERVAL 7 DAY" in run("clickhouse", "ddl", "--ttl", "168h", "--profile", "26").stdout


@pytest.mark.replay
def test_what_cannot_work_says_why(server):
    port = clickhouse_server.free_port()
    for words, text in (
            (("-r", RECORDING, "-o", f"clickhouse:http://127.0.0.1:{port}/x"), "onnect"),
            (("-r", RECORDING, "-o", f"clickhouse:{server.url('nowhere')}"), "nowhere"),
            (("-r", RECORDING, "-o", f"clickhouse:{server.url('default')}"), "sonde clickhouse init"),
            (("-r", f"clickhouse://{server.base}/nowhere"), "nowhere"),
            (("-r", f"clickhouse://127.0.0.1:{port}/x"), "onnect"),
    ):
        r = run("monitor", *words, check=False)
        assert r.returncode == 1 and text in r.stderr, (words, r.stderr)


@pytest.mark.replay
def test_lost_rows_are_rows_that_were_made():
    """Also those of the ledger itself."""
    columns = "".join(f"record\t{name}\n" for name in ("host", "run", "seq", "ts_ns", "data")).encode()
    answers = clickhouse_server.Answers({"SELECT table": (200, columns), "": (400, b"no")})
    try:
        r = run("monitor", "-r", RECORDING, "-o", f"clickhouse:http://{answers.base}/x", check=False)
    finally:
        answers.close()
    counts = re.search(r"lost (\d+) of (\d+) rows \((\d+) refused", r.stderr)
    assert r.returncode == 1 and counts and len(set(counts.groups())) == 1, r.stderr


@pytest.mark.replay
def test_an_error_in_place_of_rows_is_no_loss():
    """Its text is no row, though its first bytes would be a number."""
    error = b"Code: 241, e.displayText() = DB::Exception: Memory limit (for query) exceeded: would use 9.31 GiB"
    answers = clickhouse_server.Answers({"SELECT host": (200, b"h\t5\n"), "SELECT count": (200, b"10\n"),
                                         "SELECT seq": (500, error)})
    try:
        r = run("monitor", "-r", f"clickhouse://{answers.base}/x", "--json", check=False)
    finally:
        answers.close()
    assert r.returncode == 1 and "Memory limit" in r.stderr
    assert all("lost" not in ev["type"] and not ev.get("lost") for ev in lines(r.stdout)), r.stdout


@pytest.mark.replay
def test_an_older_database_gets_the_new_columns(server):
    url = new_db(server, "old")
    server.query("ALTER TABLE net_drop DROP COLUMN drop_reason", "old")
    server.query("DROP TABLE net_flow", "old")
    run("monitor", "-r", RECORDING, "-o", f"clickhouse:{url}")    # leaves the column out
    rows = int(server.rows("SELECT count() FROM net_drop", "old")[0][0])
    assert rows
    assert "2 tables and columns added" in run("clickhouse", "upgrade", url).stdout
    assert "0 tables and columns added" in run("clickhouse", "upgrade", url).stdout
    run("monitor", "-r", RECORDING, "-o", f"clickhouse:{url}")
    both = server.rows("SELECT count(), countIf(drop_reason != '') FROM net_drop", "old")
    assert both == [[str(2 * rows), str(rows)]]


def test_a_killed_server_gets_each_row_once(server, link, sonde, tmp_path):
    url = new_db(server, "live")
    one = sonde("monitor", "--netns", link.a.name, "-o", f"clickhouse:{url}?spool={tmp_path}/spool", "-v")
    link.a.run("ping", "-q", "-c", "20", "-i", "0.01", link.b_ip)
    server.kill()
    link.a.run("ping", "-q", "-c", "20", "-i", "0.01", link.b_ip)
    server.start()
    one.stop()
    holes = server.holes("live")
    assert holes["record"][0] > 80 and all(twice == missing == 0 for _, twice, missing in holes.values())
