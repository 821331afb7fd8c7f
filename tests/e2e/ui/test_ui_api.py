# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers of sonde ui over recordings against an independent count of the same events as JSON, and its walls."""
import collections
import json
import os
import socket
import subprocess
import sys

import pytest

from helpers import BINARY, READY_S, ROOT
from test_top import CHAIN, CPU, FLOWS, LOOPBACK, objects
from ui_client import Ui, frames, parents, raw
import view_counts

sys.path.insert(0, os.path.join(ROOT, "tests", "golden"))
import calls  # noqa: E402  the path above is needed first

pytestmark = pytest.mark.replay

COLUMNS = "application/vnd.sonde.columns"
RECORDINGS = [CHAIN, CPU, FLOWS, LOOPBACK]
# named types are shown whatever the command is about, and without --symbols, as the page has them
EVERY = "evt.type in (net.trace, net.drop, net.flow, cpu.sample, cpu.block, sys.exit, rpc.call)"
SCAP = os.path.join(ROOT, "tests", "data", "scap", "session.scap")


@pytest.fixture(params=RECORDINGS, ids=os.path.basename)
def recorded(request):
    """A page of a recording, and the recording's events of data, by sonde's own JSON."""
    events = [e for e in objects("monitor", "-r", request.param, "--where", EVERY)
              if not e["type"].startswith("sonde.") and e["type"] != "cpu.totals"]
    with Ui("-r", request.param) as ui:
        yield ui.read_whole(), events


@pytest.fixture
def chain():
    with Ui("-r", CHAIN) as ui:
        yield ui.read_whole()


# ---- numbers ----

def test_events_are_those_of_the_recording(recorded):
    ui, events = recorded
    page = ui.get("events", limit=10000)
    assert page["n"] == len(events)
    assert [(e["seq"], e["type"], e["pid"]) for e in page["events"]] == \
        [(e["seq"], e["type"], e.get("proc", {}).get("pid", 0)) for e in events]


def test_pages_of_events_leave_none_out(recorded):
    ui, events = recorded
    seen, at = [], 0
    while True:
        rows = ui.get("events", after=at, limit=97)["events"]
        if not rows:
            break
        seen += [e["seq"] for e in rows]
        at = seen[-1]
    assert seen == [e["seq"] for e in events]
    back = ui.get("events", before=seen[-1], limit=5)["events"]
    assert [e["seq"] for e in back] == seen[-6:-1]


def test_views_are_the_count_of_the_events(recorded):
    ui, events = recorded
    shown = {view["name"]: [c["name"] for c in view["cols"]] for view in ui.get("views")["views"]}
    compared = 0
    for view in view_counts.views():
        if view.name not in shown:
            continue        # functions, which are named stacks
        rows = [{"key": dict(zip(view.keys, row["keys"])), **dict(zip(shown[view.name], row["values"]))}
                for row in ui.get(f"view/{view.name}", top=1000)["rows"]]
        assert view_counts.differences(view, events, rows) == []
        compared += len(rows)
    assert compared


def test_a_count_leads_to_as_many_events(recorded):
    ui, _ = recorded
    for view in ui.get("views")["views"]:
        name = view["name"]
        page = ui.get(f"view/{name}", top=3)
        assert sum(r["events"] for r in page["rows"]) + page["rest"]["events"] == page["events"]
        assert ui.get("events", view=name, limit=1)["n"] == page["events"], name
        for row in page["rows"]:
            if row["filter"] and row["exact"]:
                assert ui.get("events", view=name, q=row["filter"], limit=1)["n"] == row["events"], (name, row)


def test_parents_of_processes_are_those_of_the_events(recorded):
    ui, events = recorded
    said, shown = collections.defaultdict(set), parents(ui)
    for e in events:
        if "ppid" in e.get("proc", {}):
            said[str(e["proc"]["pid"])].add(str(e["proc"]["ppid"]))
    known = {pid: ppid for pid, ppid in shown.items() if ppid is not None}
    assert all(ppid in said[pid] for pid, ppid in known.items())
    assert {pid for pid in shown if said[pid]} == known.keys()
    for view in ui.get("views")["views"]:
        for row in ui.get(f"view/{view['name']}")["rows"]:
            assert len(row["notes"]) == len(view["notes"])


def test_a_course_sums_to_the_table(recorded):
    ui, events = recorded
    if not any(e["type"] == "sys.exit" for e in events):
        return
    page = ui.get("view/syscalls", series="calls,p99_ns", step=1, top=1000)
    assert sum(page["series"]["columns"]["calls"]) == sum(r["values"][0] for r in page["rows"])
    first = int(page["from"])
    assert [int(t) for t in page["series"]["times"]] == \
        [first + i * 10**9 for i in range(len(page["series"]["times"]))]


def test_flows_are_what_their_last_reports_say():
    last = {}
    for e in objects("record", "-r", FLOWS):
        if e["type"] == "net.flow":
            last[e["id"], e["is_reply"]] = e
    with Ui("-r", FLOWS) as ui:
        page = ui.read_whole().get("view/talkers", top=1000)
        talkers = next(v for v in ui.get("views")["views"] if v["name"] == "talkers")
        at = [[c["name"] for c in talkers["cols"]].index(name) for name in ("sent", "received", "packets", "flows")]
        sums = [sum(r["values"][i] for r in page["rows"]) for i in at]
        assert sums == [sum(e["bytes"] for (_, reply), e in last.items() if not reply),
                        sum(e["bytes"] for (_, reply), e in last.items() if reply),
                        sum(e["packets"] for e in last.values()), len({flow for flow, _ in last})]
        # a range takes the totals before it as read
        middle = (int(page["from"]) + int(page["to"])) // 2
        halves = [ui.get("view/talkers", top=1000, to=middle), ui.get("view/talkers", top=1000, from_=middle)]
        for i, total in zip(at[:3], sums):
            assert sum(r["values"][i] for h in halves for r in h["rows"]) == total


def test_ranges_split_the_events(recorded):
    ui, events = recorded
    whole = ui.get("events", limit=1)
    middle = (int(whole["from"]) + int(whole["to"])) // 2
    parts = [ui.get("events", to=middle, limit=10000), ui.get("events", from_=middle, limit=10000)]
    assert sum(p["n"] for p in parts) == len(events)
    assert all(int(e["ts"]) < middle for e in parts[0]["events"])
    assert all(int(e["ts"]) >= middle for e in parts[1]["events"])


@pytest.mark.parametrize("name,kind,value", [("calls", "rpc.call", "latency"), ("syscalls", "sys.exit", "latency"),
                                             ("waits", "cpu.block", "value")])
def test_a_heat_map_counts_each_duration(recorded, name, kind, value):
    ui, events = recorded
    times = [e[value] for e in events if e["type"] == kind and value in e]
    page = ui.get(f"heat/{name}", width=7, height=5)
    assert page["lost"] == sum(page["losses"]) and len(page["losses"]) == len(page["times"])
    assert page["total"] == len(times) == sum(map(sum, page["counts"]))
    assert len(page["rows"]) <= 5 and len(page["times"]) <= 7
    edges = page["rows"] + [2**64]
    for row, low, high in zip(page["counts"], edges, edges[1:]):
        assert sum(row) == sum(low <= t < high for t in times)


def test_frames_add_up(recorded):
    ui, events = recorded
    samples = [e for e in events if e["type"] == "cpu.sample"]
    for by in ("none", "process", "container", "operation"):
        page = ui.get("flame", by=by, px=10000)
        assert page["samples"] == len(samples) and page["total"] == sum(e["count"] for e in samples)
        assert sum(f[4] for f in page["frames"]) == page["total"]
        level = collections.Counter()
        for _, depth, start, total, *_ in page["frames"]:
            assert start >= level[depth]    # from left to right, none over another
            level[depth] = start + total
    waits = ui.get("flame", mode="off")
    assert waits["samples"] == sum(e["type"] == "cpu.block" for e in events)


def test_a_function_leads_to_its_samples():
    with Ui("-r", CPU) as ui:
        page = ui.read_whole().get("flame", px=10000)
        for f in page["functions"][:5] + page["functions"][-2:]:
            q = "evt.type=cpu.sample and stack.function=" + json.dumps(f["name"])
            assert ui.get("events", q=q, limit=1)["n"] == f["total"], f
        whole = ui.get("flame", q="stack.function=" + json.dumps(page["functions"][0]["name"]))
        assert whole["total"] == page["functions"][0]["total"]


def test_a_thread_has_the_lengths_of_its_waits():
    with Ui("-r", CPU) as ui:
        events = [e for e in objects("record", "-r", CPU) if e["type"] == "cpu.block"]
        pid = collections.Counter(e["proc"]["pid"] for e in events).most_common(1)[0][0]
        page = ui.read_whole().get("tracks", pid=pid, px=10000)
        ends = {e["seq"]: int(e["ts"]) for e in ui.get("events", limit=10000)["events"]}
        lengths, expected = collections.Counter(), collections.Counter()
        for t in page["threads"]:
            for offset, length, state, _ in t["slices"]:
                assert 0 <= offset and offset + length <= int(page["to"]) - int(page["from"])
                if page["states"][state] != "sampled":
                    lengths[t["tid"]] += length
        for e in (e for e in events if e["proc"]["pid"] == pid):
            end = ends[e["seq"]]
            expected[e["proc"]["tid"]] += end - max(end - e["value"], int(page["from"]))
        assert expected and lengths.keys() == expected.keys()
        for tid, length in expected.items():
            assert abs(lengths[tid] - length) <= length // 100    # gaps below a pixel are filled


def test_losses_have_their_place_among_threads(tmp_path):
    table, path = tmp_path / "lost.calls", tmp_path / "lost.rec"
    lost = {100: 3, 400: 5, 900: 7}     # ms, records
    rows = ["0\t100\ttask\tcomm=a\texe=/bin/a"]
    for ms, stream in (1, 1), (1001, 3):
        head = f"100\theaders\tside=client\tconn=1\tstream={stream}"
        rows.append(f"{ms}\t{head}\tflags=sent,end\t:method=POST\t:path=/s.S/m\tcontent-type=application/grpc")
        rows.append(f"{ms + 1}\t{head}\tflags=end\t:status=200\tgrpc-status=0")
    rows[3:3] = [f"{ms}\t0\tlost\tcause=0\tcount={n}" for ms, n in lost.items()]
    table.write_text("\n".join(rows) + "\n")
    path.write_bytes(calls.to_rec(str(table)))
    with Ui("-r", str(path)) as ui:
        page = ui.read_whole().get("tracks", pid=100)
        pixel = (int(page["to"]) - int(page["from"])) // 1280
        begin = calls.WALL_NS - int(page["from"])
        assert page["lost"] == sum(lost.values())
        assert [n for _, n in page["losses"]] == list(lost.values())
        for (offset, _), ms in zip(page["losses"], lost):
            assert 0 <= begin + ms * 10**6 - offset < pixel
        before = ui.get("tracks", pid=100, px=100, to=int(page["from"]) + 500 * 10**6)
        assert [n for _, n in before["losses"]] == [3, 5]
        half = ui.get("tracks", pid=100, from_=int(page["from"]) + 500 * 10**6)
        assert half["lost"] == 7 and [n for _, n in half["losses"]] == [7]


def test_one_event_has_all_fields(recorded):
    ui, events = recorded
    for e in (events[0], events[-1], events[len(events) // 2]):
        page = ui.get(f"event/{e['seq']}")
        assert e.items() <= page["event"].items()    # names may have become known later
        assert {"what": "type", "label": e["type"], "q": f"evt.type={e['type']}", "page": "/events"} in page["links"]
    ui.get("event/99999999", status=404)


def test_links_of_an_event_find_it(chain):
    for e in chain.get("events", limit=50)["events"]:
        for link in chain.get(f"event/{e['seq']}")["links"]:
            found = chain.get("events", q=link["q"], limit=10000)["events"]
            assert e["seq"] in {f["seq"] for f in found}, link


def times_as_text(value):
    """Times are strings: numbers of JSON are exact up to 2^53 ns, 104 days of uptime."""
    if isinstance(value, list):
        return [times_as_text(v) for v in value]
    if not isinstance(value, dict):
        return value
    return {k: str(v) if k in ("from", "to", "time_ns") else times_as_text(v) for k, v in value.items()}


def test_a_trace_is_that_of_the_command(chain):
    call = next(e["id"] for e in objects("record", "-r", CHAIN) if e["type"] == "rpc.call" and e["side"] == "client")
    said = objects("trace", "-r", CHAIN, call)[0]
    assert chain.get("trace", call=call) == times_as_text(said)
    chain.get("trace", call="0123456789ab", status=404)
    chain.get("trace", call="x", status=400)
    assert chain.get("explain")["operations"] == objects("explain", "-r", CHAIN)


def test_columns_are_the_rows_of_json(recorded):
    ui, _ = recorded
    page = ui.get("events", limit=10000)
    _, headers, body = ui.ask("/api/v1/events?limit=10000", {"Accept": COLUMNS})
    assert headers["Content-Type"] == COLUMNS
    rows = []
    for i, (head, table) in enumerate(frames(body)):
        assert head["n"] == (page["n"] if i == 0 else 0)
        for k in range(head["rows"]):
            rows.append({"seq": table["seq"][k], "ts": str(head["base"] + table["time"][k]),
                         "type": table["type"][k], "pid": table["pid"][k], "tid": table["tid"][k],
                         "cpu": table["cpu"][k], "process": table["process"][k], "host": table["host"][k],
                         "text": table["text"][k]})
    assert rows == page["events"]


def test_filters_and_errors(chain):
    assert chain.get("check", q="proc.name = front")["ok"]
    wrong = chain.get("check", q="proc.name=front and proc.nam=1")
    assert not wrong["ok"] and wrong["offset"] == 20 and "proc.name" in wrong["error"]
    assert chain.get("events", status=400, q="proc.name=front and proc.nam=1")["offset"] == 20
    assert not chain.get("check", q="evt.type=proc.exec")["ok"]    # of state: not kept
    for path in ("view/processes?top=0", "view/processes?top=1001", "view/processes?sort=X", "view/calls?series=x",
                 "heat/calls?width=401", "events?limit=10001", "events?after=1&before=2", "events?from=5&to=4",
                 "events?from=x", "events?q=%", "events?q=a%00", "events?limit=1&limit=1", "events?nope=1",
                 "flame?mode=x", "tracks", "tracks?pid=0", "check", "view/calls?step=1&series=calls&from=1",
                 "events?q=" + "(" * 500):
        status, _, body = chain.ask(f"/api/v1/{path}")
        assert status == 400 and json.loads(body)["error"], path
    for path in ("", "x", "view", "view/x", "view/functions", "heat/x", "event/x", "meta/x", "events/"):
        assert chain.ask(f"/api/v1/{path}")[0] == 404, path


@pytest.mark.parametrize("name, probes", [("chain", {"net", "cpu", "sys", "gohttp2"}),
                                          ("all", {"net", "cpu", "sys", "call"})])
def test_probes_of_a_recording(name, probes):
    """Calls of two probes are events of one type: those in the ledger were recorded."""
    with Ui("-r", os.path.join(os.path.dirname(CHAIN), f"{name}.rec")) as ui:
        meta = ui.read_whole().get("meta")
        assert {p["name"] for p in meta["probes"] if p["running"]} == probes
        assert {line["probe"] for line in meta["ledger"] if line["delivered"]} - {"proc"} == probes


def test_lists(chain):
    meta = chain.get("meta")
    assert not meta["live"] and meta["input"] == "chain.rec" and meta["events"] == 830
    assert {p["name"]: p["running"] for p in meta["probes"]}["sys"]
    assert sum(row["seen"] for row in meta["ledger"]) > 0
    fields = {f["name"]: f for f in chain.get("fields")["fields"]}
    assert fields["proc.name"]["events"] == [] and fields["syscall.latency"]["type"] == "ns"
    assert "sys.exit" in fields["syscall.latency"]["events"]
    files = {f["name"]: f for f in chain.get("recordings")["files"]}
    assert files["chain.rec"]["bytes"] == os.path.getsize(CHAIN)


def lines_of(capture, *words):
    """Each event of the capture in a form of sysdig's words."""
    done = subprocess.run([BINARY, "syscalls", "-r", capture, *words], capture_output=True, text=True,
                          timeout=READY_S, check=True)
    return [line.split("|", 6) for line in done.stdout.splitlines()]


def test_a_capture_has_its_system_calls(chain):
    """Against the state of processes and descriptors at each event, which a kept event does not have any more."""
    assert chain.get("meta")["note"] == ""
    form = ("--format", "*%evt.num|%evt.dir|%evt.type|%evt.res|%fd.name|%proc.name|%evt.args")
    expected = lines_of(SCAP, *form)
    with Ui("-r", SCAP) as ui:
        meta = ui.read_whole().get("meta")
        assert {p["name"]: p["running"] for p in meta["probes"]}["sys"] and "evt.arg.fd" in meta["note"]
        shown = ui.get("events", limit=10000)["events"]
        assert [e["seq"] for e in shown] == [int(e[0]) for e in expected]
        for e, (_, direction, call, _, _, process, args) in zip(shown, expected):
            assert f" {direction} {call} " in e["text"] and args in e["text"], e
            assert e["process"] == process.replace("<NA>", "") or not e["pid"], e
        leaves = collections.Counter(e[2] for e in expected if e[1] == "<")
        rows = {r["keys"][0]: r for r in ui.get("view/syscalls")["rows"]}
        assert {call: r["values"][0] for call, r in rows.items() if call in leaves} == \
            {call: n for call, n in leaves.items() if call in rows} and rows
        for call, row in rows.items():
            assert ui.get("events", view="syscalls", q=row["filter"], limit=1)["n"] == row["events"], call
        for field, at in (("fd.name", 4), ("file.path", 4), ("evt.res", 3), ("proc.name", 5)):
            for value in {e[at] for e in expected} - {"", "<NA>"}:
                n = ui.get("events", q=f"{field}={json.dumps(value)}", limit=1)["n"]
                assert n == sum(e[at] == value for e in expected), (field, value)
        heat = ui.get("heat/syscalls")
        assert heat["total"] == ui.get("events", q=heat["q"], limit=1)["n"] > 0


def test_a_stream_of_answers(chain):
    whole = chain.get("view/processes")
    answers, beats = {}, 0
    for line in chain.stream("/view/processes", "/view/nope", "/events?limit=1"):
        beats += "beat" in line
        if "sub" in line:
            assert line["sub"] not in answers    # nothing changes in a recording
            answers[line["sub"]] = line
        if beats == 3 and len(answers) == 3:
            break
    assert answers[0]["answer"] == whole
    assert answers[1]["status"] == 404 and answers[1]["error"]
    assert answers[2]["answer"]["n"] == 830


# ---- hostile content ----

HOSTILE = ["<script>alert(1)</script>", "\x1b[31mred", "a\u202eb", "\u2066x\u2069", "\"quote\"", "back\\slash",
           "new\nline"]


def test_hostile_names_arrive_harmless(tmp_path):
    table, path = tmp_path / "hostile.calls", tmp_path / "hostile.rec"
    rows = []
    for i, name in enumerate(HOSTILE):
        text = "".join(f"\\x{b:02x}" for b in name.encode())[:60]
        rows.append(f"0\t{100 + i}\ttask\tcomm={text}\texe=/bin/{text}")
        rows.append(f"{10 + i}\t{100 + i}\theaders\tside=client\tconn=1\tstream=1\tflags=sent,end\t:method=POST\t"
                    f":path=/s.S/{text}\tcontent-type=application/grpc")
        rows.append(f"{10.5 + i}\t{100 + i}\theaders\tside=client\tconn=1\tstream=1\tflags=end\t:status=200\t"
                    f"grpc-status=0\tgrpc-message={text}")
    table.write_text("\n".join(rows) + "\n")
    path.write_bytes(calls.to_rec(str(table)))
    with Ui("-r", str(path)) as ui:
        ui.read_whole()
        assert len(ui.get("view/calls")["rows"]) == len(HOSTILE)
        answers = [ui.ask(f"/api/v1/{p}")[2] for p in ("view/calls", "view/processes", "events", "explain", "flame")]
        answers += [ui.ask(f"/api/v1/event/{e['seq']}")[2] for e in ui.get("events")["events"]]
        columns = ui.ask("/api/v1/events", {"Accept": COLUMNS})[2]     # numbers may have any byte
        answers += [text.encode() for _, table in frames(columns) for column in table.values() for text in column
                    if isinstance(text, str)]
        for body in answers:
            for bad in ("\u202e", "\u2066", "\u2069", "\x1b"):
                assert bad.encode() not in body
        names = {r["keys"][1] for r in ui.get("view/calls")["rows"]}
        assert "<script>alert(1)</script>"[:15] in {n[:15] for n in names}    # as text, and only as text
        for row in ui.get("view/calls")["rows"]:
            if row["exact"]:
                assert ui.get("events", view="calls", q=row["filter"])["n"] == row["events"], row


# ---- walls ----

def headers_of(ui, **more):
    return {"Host": f"127.0.0.1:{ui.port}", "Authorization": f"Bearer {ui.token}", **more}


ATTACKS = [
    ("no token", 401, "/api/v1/meta", {"Authorization": None}),
    ("wrong token", 401, "/api/v1/meta", {"Authorization": "Bearer " + "A" * 43}),
    ("prefix of the token", 401, "/api/v1/meta", {"Authorization": lambda t: "Bearer " + t[:-1]}),
    ("token and more", 401, "/api/v1/meta", {"Authorization": lambda t: "Bearer " + t + "A"}),
    ("other scheme", 401, "/api/v1/meta", {"Authorization": lambda t: "Basic " + t}),
    ("token in a cookie", 401, "/api/v1/meta", {"Authorization": None, "Cookie": lambda t: "t=" + t}),
    ("token in the query", 401, lambda t: f"/api/v1/meta?t={t}", {"Authorization": None}),
    ("empty token", 401, "/api/v1/meta", {"Authorization": "Bearer "}),
    ("name of another host", 421, "/api/v1/meta", {"Host": "evil.example"}),
    ("name that begins like one", 421, "/api/v1/meta", {"Host": "127.0.0.1.evil.example"}),
    ("localhost of another", 421, "/", {"Host": "localhost.evil.example"}),
    ("any address", 421, "/api/v1/meta", {"Host": "0.0.0.0:9778"}),
    ("another address", 421, "/api/v1/meta", {"Host": "10.0.0.1"}),
    ("user in the host", 421, "/api/v1/meta", {"Host": "127.0.0.1@evil.example"}),
    ("foreign origin", 403, "/api/v1/meta", {"Origin": "http://evil.example"}),
    ("null origin", 403, "/api/v1/meta", {"Origin": "null"}),
    ("origin of another port", 403, "/api/v1/meta", {"Origin": "http://127.0.0.1:1"}),
    ("https origin", 403, "/api/v1/meta", {"Origin": lambda t: "https://127.0.0.1"}),
    ("cross site", 403, "/api/v1/meta", {"Sec-Fetch-Site": "cross-site"}),
    ("same site", 403, "/", {"Sec-Fetch-Site": "same-site"}),
    ("up by dots", 404, "/../etc/passwd", {}),
    ("up by encoded dots", 404, "/%2e%2e/%2e%2e/etc/passwd.txt", {}),
    ("up by an encoded slash", 404, "/..%2fetc%2fpasswd", {}),
    ("up in the API", 404, "/api/v1/../../etc/passwd", {}),
    ("long headers", 431, "/api/v1/meta", {"X-Long": "x" * 70000}),
    ("long address", 414, "/api/v1/events?q=" + "x" * 9000, {}),
]


def resolve(value, token):
    return value(token) if callable(value) else value


def test_attacks(chain):
    for what, status, path, headers in ATTACKS:
        sent = {k: resolve(v, chain.token) for k, v in headers_of(chain, **headers).items()}
        got, _, body = chain.ask(resolve(path, chain.token), sent, token=False)
        assert got == status, (what, got, body[:200])
        assert chain.token.encode() not in body
    assert chain.ask("/api/v1/meta", headers_of(chain, Origin=f"http://127.0.0.1:{chain.port}",
                                                **{"Sec-Fetch-Site": "same-origin"}), token=False)[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_only_reads(chain, method):
    status, headers, _ = chain.ask("/api/v1/meta", method=method)
    assert status == 405 and "Access-Control-Allow-Origin" not in headers


def test_no_host_and_two_hosts(chain):
    token = f"Authorization: Bearer {chain.token}\r\n".encode()
    one = b"Host: 127.0.0.1\r\n"
    for head, statuses in ((b"GET /api/v1/meta HTTP/1.0\r\n" + token, (b"421",)),
                           (b"GET /api/v1/meta HTTP/1.1\r\n" + token, (b"421", b"400")),
                           (b"GET /api/v1/meta HTTP/1.1\r\n" + one + one + token, (b"400",)),
                           (b"GET /api/v1/meta HTTP/1.1\r\n" + one + token + token, (b"400",))):
        answer = raw(chain.port, head + b"\r\n")
        assert answer.split(b" ")[1] in statuses, (head, answer[:100])


def test_every_answer_has_the_headers(chain):
    for path, token in (("/", False), ("/calls", False), ("/api/v1/meta", True), ("/api/v1/meta", False),
                        ("/api/v1/nope", True), ("/no.such.file", False)):
        _, headers, _ = chain.ask(path, token=token)
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "trusted-types" in policy and "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Opener-Policy"] == headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "Set-Cookie" not in headers and "Access-Control-Allow-Origin" not in headers


def test_the_server_has_no_rights(chain):
    with open(f"/proc/{chain.child.pid}/status", encoding="utf-8") as f:
        status = {k: v.strip() for k, _, v in (line.partition(":") for line in f)}
    assert status["Uid"].split() == ["65534"] * 4 and int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
    assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1"


def test_slow_and_many_clients(chain):
    """Clients that send or read nothing hold no place for long, and others are answered meanwhile."""
    mute = [chain.connect() for _ in range(20)]
    slow = chain.connect()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.sendall(f"GET /api/v1/events?limit=10000 HTTP/1.1\r\nHost: localhost\r\n"
                 f"Authorization: Bearer {chain.token}\r\n\r\n".encode())
    assert chain.get("meta")["events"] == 830
    for s in mute:
        s.settimeout(READY_S)
        s.sendall(b"GET / HT" if s.fileno() % 2 else b"\x16\x03\x01\x02\x00\x01\x00")
    for s in mute:
        assert s.recv(1) == b""    # it was closed
        s.close()
    slow.close()
    many = []
    for _ in range(1000):
        many.append(chain.connect())
        many[-1].close()
    assert chain.get("meta")["events"] == 830


def test_a_socket_of_one_user(tmp_path):
    path = str(tmp_path / "ui.sock")
    with Ui("-r", CHAIN, listen=f"unix:{path}") as ui:
        assert os.stat(path).st_mode & 0o777 == 0o600
        asked = ("GET /api/v1/meta HTTP/1.1\r\nHost: localhost:9000\r\n"
                 f"Authorization: Bearer {ui.token}\r\n\r\n").encode()
        idle = []
        for _ in range(12):
            idle.append(socket.socket(socket.AF_UNIX))
            idle[-1].settimeout(READY_S)
            idle[-1].connect(path)
        answered = 0
        for s in idle:
            try:
                s.sendall(asked)
                answered += s.recv(12).startswith(b"HTTP/1.1 200")
            except OSError:
                pass
        assert answered == 8
        for s in idle:
            s.close()
        assert ui.close()[0] == 130 and not os.path.exists(path)


@pytest.mark.parametrize("address", ["0.0.0.0:9778", "10.0.0.1:9778", "[::]:9778", "9778x", "unix:"])
def test_other_addresses_are_refused(address):
    done = subprocess.run([BINARY, "ui", "-r", CHAIN, "--listen", address], capture_output=True, text=True,
                          timeout=READY_S, check=False)
    assert done.returncode == 2 and "127.0.0.1:PORT" in done.stderr
