# SPDX-License-Identifier: GPL-2.0-or-later
"""-o clickhouse: and -r clickhouse://, against a real server: rows are there once, and a run that is read back is the
recording that was sent."""
import collections
import json
import os
import re
import subprocess
import sys
import urllib.parse

import pytest

import clickhouse_server
import helpers
import ui_client

sys.path.insert(0, os.path.join(helpers.ROOT, "tests", "golden"))
import trim  # noqa: E402  found by the line above

RECORDING = os.path.join(helpers.ROOT, "tests", "data", "rec", "loopback.rec")
CHAIN = os.path.join(helpers.ROOT, "tests", "data", "rec", "chain.rec")
ALL = os.path.join(helpers.ROOT, "tests", "data", "rec", "all.rec")


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
@pytest.mark.skipif(bool(clickhouse_server.NEWEST), reason="of ClickHouse 18")
def test_rows_in_a_form_are_the_rows(server):
    """ClickHouse 18 gets many rows with names as a form. A server that refuses that gets them as others do."""
    kinds = collections.defaultdict(set)

    class Notes(clickhouse_server.Proxy):
        def ask(self, path, body, kind):
            table = re.search(r"INSERT INTO (\w+) ", urllib.parse.unquote_plus(path))
            kinds[db].add((table and table[1], kind.split(";")[0]))
            if db == "plain" and kind.startswith("multipart"):
                return 404, b"no"
            return super().ask(path, body, kind)

    for db in "form", "plain":
        new_db(server, db)
        proxy = Notes(server, [])
        try:
            run("record", "-r", ALL, "-o", f"clickhouse:{proxy.url(db)}")
        finally:
            proxy.close()
    forms = {table for table, kind in kinds["form"] if kind == "multipart/form-data"}
    assert len(forms) > 1 and "record" not in forms and not {
        table for table, kind in kinds["form"] if kind != "multipart/form-data"} & forms
    assert {table for table, kind in kinds["plain"] if kind == "application/octet-stream"} >= forms
    for table, (_, twice, missing) in server.holes("form").items():
        assert twice == missing == 0
        if table not in forms:
            continue
        names = [n for n, in server.rows(f"SELECT name FROM system.columns WHERE database = 'form' AND table = "
                                         f"'{table}' AND name NOT IN ('run', 'host_id', 'boot_id')", "form")]
        one, other = (server.query(f"SELECT {', '.join(names)} FROM {table} ORDER BY seq", db)
                      for db in ("form", "plain"))
        parts = server.rows("SELECT name FROM system.parts WHERE active AND database = 'form' AND table = "
                            f"'{table}'", "form")
        assert one == other and len(parts) == 1, table


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


# ---- two hosts ----

HOSTS = {"web1": 19007, "web2": 19002}      # processes of CHAIN, the first calls the second


def write_host(host, pid, path):
    """What a host would have recorded on which this process of CHAIN runs alone."""
    with open(CHAIN, "rb") as f:
        data = f.read()
    out = [data[:trim.FILE_HEADER]]
    for r in trim.frames(data):
        _, _, kind, _, tgid, *_ = trim.header(r)
        if tgid not in (0, pid) and kind >> 8:
            continue
        if kind == trim.HOST:
            r = r[:trim.RELEASE_AT + 96] + host.encode().ljust(64, b"\0") + r[trim.RELEASE_AT + 160:]
        out.append(trim.frame(r))
    path.write_bytes(b"".join(out))
    return path


def truth():
    """Of each call between the two processes: latencies of the client's and of the server's side."""
    calls = collections.defaultdict(dict)
    for ev in lines(run("rpc", "-r", CHAIN, "--json").stdout):
        if ev["type"] == "rpc.call" and ev["method"] == "t.Back/Get" and ev["proc"]["pid"] in HOSTS.values():
            calls[tuple(sorted(ev["conn"].items())), ev["ordinal"]][ev["side"]] = ev["latency"]
    return sorted((c["client"], c["server"]) for c in calls.values())


@pytest.fixture(scope="module")
def fleet(server, tmp_path_factory):
    """Address of a database with a run of each host."""
    folder = tmp_path_factory.mktemp("fleet")
    url = new_db(server, "fleet")
    for host, pid in HOSTS.items():
        run("rpc", "-r", write_host(host, pid, folder / f"{host}.rec"), "-o", f"clickhouse:{url}")
    return url.replace("http:", "clickhouse:")


@pytest.mark.replay
def test_of_a_span_of_calls_only_its_rows_are_read(server):
    """Also where one side is before the span, by a clock that is 5 s off."""
    new_db(server, "spans")
    begin, rows = 1767225600, 400_000   # 2026-01-01; 5 h 33 min
    server.query(clickhouse_server.CALLS.format(
        begin=begin, first=0, rows=rows, hosts=2, apart=100_000_007, late=5 * 10**9), "spans")
    since, until = begin + 9000, begin + 9300
    sides = run("clickhouse", "sides", "--since", f"@{since}", "--until", f"@{until}").stdout

    def ask(calls):
        answer = json.loads(server.query("SELECT count(), sum(network_ns), min(client_host), max(server_host) "
                                         f"FROM {calls} unknown = '' FORMAT JSON", "spans"))
        return answer["data"], answer["statistics"]["rows_read"]

    got, read = ask(f"({sides}) WHERE")
    want, all_read = ask(f"call_sides WHERE time >= toDateTime({since}) AND time < toDateTime({until}) AND")
    assert got == want and int(got[0]["count()"]) == 3000
    assert all_read >= rows and read <= rows // 8, (read, all_read)
    # open to one side, or to both
    for words, beyond in ((("--since", f"@{until}"), f"time >= toDateTime({until}) AND"),
                          (("--until", f"@{since}"), f"time < toDateTime({since}) AND"), ((), "")):
        one = run("clickhouse", "sides", *words).stdout
        assert ask(f"({one}) WHERE")[0] == ask(f"call_sides WHERE {beyond}")[0]
    for words, text in ((("init", "--since", "1h", server.url("spans")), "clickhouse sides has them"),
                        (("sides", server.url("spans")), "asks no server"),
                        (("sides", "--since", "x"), "expected a")):
        r = run("clickhouse", *words, check=False)
        assert r.returncode == 2 and text in r.stderr and not r.stdout, r.stderr


@pytest.mark.replay
@pytest.mark.usefixtures("fleet")
def test_sql_joins_both_sides_of_a_call(server):
    rows = server.rows("SELECT client_ns, server_ns, network_ns FROM call_sides WHERE unknown = '' AND "
                       "client_host = 'web1' AND server_host = 'web2' ORDER BY client_ns", "fleet")
    sides = truth()
    assert len(sides) == 5
    assert [tuple(map(int, row)) for row in rows] == [(c, s, c - s) for c, s in sides]
    # the callers of web1 are on no host of the fleet
    assert server.rows("SELECT server_host, method, network_ns, count() FROM call_sides WHERE unknown = 'the side of "
                       "the client was not seen' GROUP BY server_host, method, network_ns", "fleet") == [
                           ["web1", "t.Front/Put", "\\N", "5"]]


@pytest.mark.replay
def test_the_page_shows_both_hosts(fleet):
    with ui_client.Ui("-r", fleet) as ui:
        ui.read_whole()
        meta = ui.get("meta")
        assert [one["name"] for one in meta["hosts"]] == list(HOSTS)
        assert {row["host"] for row in meta["ledger"]} == set(HOSTS)
        # the host is a key of each view, a word of filters, a column of the events
        assert all(v["keys"][0] == {"head": "HOST", "field": "host"} for v in ui.get("views")["views"])
        for host, pid in HOSTS.items():
            rows = ui.get("view/processes", q=f"host={host}")["rows"]
            assert [row["keys"][:2] for row in rows] == [[host, str(pid)]]
            assert rows[0]["filter"].startswith(f"host={host} and proc.pid={pid}")
        events = ui.get("events", limit=10000)["events"]
        assert len(events) == meta["events"] and {e["host"] for e in events} == set(HOSTS)
        assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
        assert [int(e["ts"]) for e in events] == sorted(int(e["ts"]) for e in events)
        # both sides of a call, and the time between them
        seen = []
        for e in ui.get("events", q="rpc.name=t.Back/Get and rpc.side=client")["events"]:
            answer = ui.get("sides", call=ui.get(f"event/{e['seq']}")["event"]["id"])
            client, served = answer["sides"]
            assert (client["host"], served["host"], answer["joined_by"]) == ("web1", "web2", "connection")
            assert answer["network"] == client["latency"] - served["latency"] and answer["why"] == ""
            assert ui.get("sides", call=served["call"]) == answer
            assert [s["pid"] for s in ui.get("trace", call=client["call"])["spans"]] == [HOSTS["web1"]]
            seen.append((client["latency"], served["latency"]))
        assert sorted(seen) == truth()
        lone = ui.get("events", q="rpc.name=t.Front/Put")["events"][0]
        answer = ui.get("sides", call=ui.get(f"event/{lone['seq']}")["event"]["id"])
        assert answer["network"] is None and answer["why"] == "the client's side was not seen"
    with ui_client.Ui("-r", f"{fleet}?host=web2") as ui:
        ui.read_whole()
        assert [one["name"] for one in ui.get("meta")["hosts"]] == ["web2"]
        assert ui.get("views")["views"][0]["keys"][0:1] != [{"head": "HOST", "field": "host"}]


@pytest.mark.replay
def test_two_servers_answer_as_one(tmp_path):
    """Each host writes to a server of its own; either one has the rows of both, and gives recordings back whole."""
    helpers.need("clickhouse-server")
    servers = clickhouse_server.cluster(tmp_path, "both", ["127.0.0.1", "127.0.0.2"])
    try:
        for one in servers:
            assert run("clickhouse", "init", one.url("fleet"), "--cluster", "both").stdout.count("\n") == 2
        for one, (host, pid) in zip(servers, HOSTS.items()):
            path = write_host(host, pid, tmp_path / f"{host}.rec")
            run("rpc", "-r", path, "-o", f"clickhouse:{one.url('fleet')}")
        for one in servers:
            assert [int(row[0]) for row in one.rows(
                "SELECT network_ns FROM call_sides WHERE unknown = '' ORDER BY client_ns", "fleet_all")] == [
                    c - s for c, s in truth()]
            for host in HOSTS:
                back = run("record", "-r", f"clickhouse://{one.base}/fleet_all?host={host}", "--json").stdout
                assert back == run("record", "-r", tmp_path / f"{host}.rec", "--json").stdout
            # each column travels between the servers
            for table in one.tables("fleet"):
                one.query(f"SELECT * FROM {table} FORMAT Null", "fleet_all")
        assert "0 tables" in run("clickhouse", "upgrade", servers[0].url("fleet"), "--cluster", "both").stdout
        r = run("clickhouse", "init", servers[0].url("other"), "--cluster", "none", check=False)
        assert r.returncode == 1 and "none" in r.stderr
        r = run("clickhouse", "ddl", "--cluster", "both", check=False)
        assert r.returncode == 2 and "--cluster" in r.stderr
    finally:
        for one in servers:
            one.kill()


SERVE = """import http.server, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        time.sleep(0.02)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
server = http.server.HTTPServer((sys.argv[1], 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""
CALL = """import http.client, sys, time
c = http.client.HTTPConnection(sys.argv[1], int(sys.argv[2]))
c.connect()
for i in range(int(sys.argv[3])):
    begin = time.monotonic_ns()
    c.request("GET", f"/number-{i}")
    c.getresponse().read()
    print(f"/number-{i}", time.monotonic_ns() - begin)
"""
CALLS = 20
SERVED_NS = 20_000_000


def test_two_hosts_with_an_agent_each_share_a_call(server, link, sonde, tmp_path):
    """A client on web1, a server on web2 that takes a time for each call: each is there once, and the network time is
    at most what the client's own clock has beyond that."""
    url, hosts = new_db(server, "hosts"), {"web1": link.a, "web2": link.b}
    clients = []
    for host, ns in hosts.items():
        folder = tmp_path / host
        sonde("agent", "--socket-dir", str(folder), before=(
            "unshare", "--uts", "sh", "-c", f'hostname {host}; exec "$@"', "-"))
        clients.append(sonde("rpc", f"--agent={folder}/read.sock", "--source", "http", "--payload", "1k", "--netns",
                             ns.path, "-o", f"clickhouse:{url}?spool={folder}/spool", "-v"))
    web = link.b.popen(sys.executable, "-c", SERVE, link.b_ip, stdout=subprocess.PIPE, text=True)
    try:
        took = dict(line.split() for line in link.a.run(
            sys.executable, "-c", CALL, link.b_ip, web.stdout.readline().strip(), str(CALLS)).stdout.splitlines())
    finally:
        web.kill()
        web.wait()
    for one in clients:
        one.stop()
    rows = server.rows("SELECT path, network_ns, server_ns FROM call_sides WHERE unknown = '' AND kind = 'http' AND "
                       "client_host = 'web1' AND server_host = 'web2'", "hosts")
    assert sorted(r[0] for r in rows) == sorted(took), server.rows("SELECT * FROM call_sides", "hosts")
    for path, network, served in rows:
        assert int(served) >= SERVED_NS and int(network) <= int(took[path]) - SERVED_NS, (path, took[path], network)
    assert server.rows("SELECT count(), uniq(host) FROM rpc_call WHERE rpc_kind = 'http'", "hosts") == [
        [str(2 * CALLS), "2"]]


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
