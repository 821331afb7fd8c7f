# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde compat hubble observe: lines of notifications whose content Cilium's own client prints, and command lines."""
import json
import re
import signal
import subprocess

import pytest

import helpers
import monitor_socket

SONDE = [helpers.BINARY, "compat", "hubble", "observe", "--agent=no"]
REC = f"{helpers.ROOT}/tests/data/rec"
LINE = re.compile(r"\w{3} [ \d]\d \d\d:\d\d:\d\d\.\d{3}: (\S*) \((.*?)\) (<>|->|<-) (\S*) \((.*?)\) "
                  r"(.*) ([A-Z]+) \((.*)\)$")


def observe(*words, status=0):
    done = subprocess.run([*SONDE, *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status, (words, done.stderr)
    return done.stdout if status == 0 else done.stderr


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Every notification in a recording; its line, by name."""
    folder = tmp_path_factory.mktemp("hubble")
    rows, lines = monitor_socket.vectors(), {}
    for name, row in rows.items():      # one CPU for each, so that a flow finds its notification
        row["cpu"] = len(lines)
        lines[name] = None
    agent = monitor_socket.Agent(folder / "sock", [
        monitor_socket.message(bytes.fromhex(row["hex"]), row["cpu"], row["lost"], row["type"])
        for row in rows.values()])
    with subprocess.Popen([helpers.BINARY, "monitor", "--agent=no", "--cilium", agent.path, "--reconnect", "10ms",
                           "-w", folder / "rec"], stderr=subprocess.DEVNULL) as child:
        assert agent.read.wait(60)
        child.send_signal(signal.SIGINT)
        assert child.wait(60) in (0, 128 + signal.SIGINT)
    events = subprocess.run([helpers.BINARY, "monitor", "-r", folder / "rec", "--format", "%evt.cpu %evt.type"],
                            capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    names = list(rows)
    flows = [names[int(cpu)] for cpu, kind in map(str.split, events)
             if kind in ("net.drop", "net.trace", "net.policy-verdict", "net.trace-sock", "net.capture")]
    found = observe("-r", str(folder / "rec"), "--color", "never").splitlines()
    return rows, dict(zip(flows, found)), len(flows), len(found), str(folder / "rec")


def test_there_is_a_line_for_each_flow(played):
    _, lines, flows, found, _ = played
    assert flows == found == len(lines) > 600


def identity(word):
    return word if not word.isdigit() else f"ID:{word}"


def ends_of(summary):
    """Both ends and the transport of the client's summary; None where it has no packet to show."""
    m = re.match(r"(\S+) -> (\S+)(?: (tcp|udp|sctp|icmp)(.*?))?(?: \[tunnel .*)?$", summary)
    if not m:
        return None
    return m[1], m[2], m[3], {flag.strip() for flag in m[4].split(",")} if m[3] == "tcp" else None


def expected(text, row):
    """(source, identity, arrow, destination, identity, type, verdict) and the transport, from the client's texts."""
    drop = re.match(r"xx drop \((.*?)\) flow .*identity (\S+?)->(\S+): (.*)\n", text)
    trace = re.match(r".* flow 0x\w+ ,.* identity (\S+?)->(\S+) state (\S+) ifindex .*?: (.*)\n", text)
    policy = re.match(r"Policy .*remote ID (\S+), proto \d+, (\w+), action (\w+), auth: .*?, match (\S+), (.*)\n",
                      text)
    if drop:
        reason = re.sub(r"^(\d+), .*", r"\1, 0", drop[1])
        reason = reason if reason[0].isdigit() else re.sub(r", -?\d+$", "", reason)
        return [identity(drop[2]), "<>", identity(drop[3]), reason, "DROPPED"], ends_of(drop[4])
    if trace and row["json"].startswith("{"):
        known = trace[3] not in ("unknown", "srv6-encap", "srv6-decap")
        arrow = "<-" if trace[3] == "reply" else "->" if known else "<>"
        point = json.loads(row["json"])["observationPoint"]
        return [identity(trace[1]), arrow, identity(trace[2]), point, "FORWARDED"], ends_of(trace[4])
    if policy:
        verdict = {"allow": "ALLOWED", "redirect": "ALLOWED", "deny": "DENIED", "audit": "AUDITED"}[policy[3]]
        if int.from_bytes(bytes.fromhex(row["hex"])[20:24], "little", signed=True) < 0:     # audited or not
            verdict = "DENIED"
        ids = [identity(policy[1]), "unknown"]
        ids = ids if policy[2] == "ingress" else ids[::-1]
        kind = f"policy-verdict:{policy[4]} {policy[2].upper()}"
        return [ids[0], "<>" if verdict == "DENIED" else "->", ids[1], kind, verdict], ends_of(policy[5])
    return None, None


def agrees(line, want, ends):
    m = LINE.match(line)
    if not m:
        return False
    src, src_id, arrow, dst, dst_id, kind, verdict, summary = m.groups()
    if arrow == "<-":
        src, src_id, dst, dst_id = dst, dst_id, src, src_id
    flags = set(re.findall(r"SYN|ACK|RST|FIN", summary))
    transport = {"tcp": "TCP", "udp": "UDP", "sctp": "SCTP", "icmp": "ICMP"}.get(ends[2], "")
    return [src_id, arrow, dst_id, kind, verdict] == want and (src, dst) == ends[:2] and \
        summary.startswith(transport) and (ends[3] is None or flags == ends[3] - {""})


# Ethernet that a flag calls IPv6 without a link header: the client shows it as addresses, sonde as no packet.
NO_PACKET = re.compile(r"orig-.*-3$|drop-version-3-flags$")


def test_lines_say_what_the_client_says(played):
    """Either release's: of the records that one misreads, the other's (doc/COMPATIBILITY.md)."""
    rows, lines, *_ = played
    compared, wrong = 0, []
    assert sum(map(bool, map(NO_PACKET.match, lines))) == 11
    for name, line in lines.items():
        if NO_PACKET.match(name):
            continue
        texts = [rows[name]["text"], rows[name].get("other_release", {}).get("text", "")]
        wants = [(want, ends) for want, ends in (expected(text, rows[name]) for text in texts) if want and ends]
        if wants:
            compared += 1
            if not any(agrees(line, *want) for want in wants):
                wrong.append((name, line, wants))
    print(f"{compared} lines compared, {len(wrong)} unequal")
    assert compared > 550 and not wrong, "\n".join(map(str, wrong))


def test_a_socket_is_shown_as_by_the_client(played):
    rows, lines, *_ = played
    done = 0
    for name, line in lines.items():
        m = re.search(r": \[(.*?)\] cgroup_id: \d+ sock_cookie: \d+, dst (\S+) (tcp|udp)", rows[name]["verbose"])
        if not m or m[1] == "unknown":
            continue
        done += 1
        where = m[2] if ":" in m[2][1:m[2].rindex("]")] else re.sub(r"[\[\]]", "", m[2])
        assert m[1] in line and where in line and m[3].upper() in line
        assert ("TRANSLATED" if m[1].startswith("post") else "TRACED") in line
    assert done >= 5


# ---- forms, as Hubble's own tests have them

def test_forms_of_one_flow_have_the_same_content():
    compact = observe("-r", f"{REC}/flows.rec", "--first", "3").splitlines()
    table = observe("-r", f"{REC}/flows.rec", "--first", "3", "-o", "table").splitlines()
    dicts = observe("-r", f"{REC}/flows.rec", "--first", "3", "-o", "dict").split("------------\n")
    flows = [json.loads(line)["flow"] for line in observe("-r", f"{REC}/flows.rec", "--first", "3", "-o",
                                                          "jsonpb").splitlines()]
    assert len(compact) == len(dicts) == len(flows) == len(table) - 1 == 3
    assert table[0].split() == ["TIMESTAMP", "SOURCE", "DESTINATION", "TYPE", "VERDICT", "SUMMARY"]
    for line, row, block, flow in zip(compact, table[1:], dicts, flows):
        cells = re.split(r" {3,}", row)
        src, _, _, dst, _, kind, verdict, summary = LINE.match(line).groups()
        assert cells == [line[:19], src, dst, kind, verdict, summary]
        assert block == (f"  TIMESTAMP: {line[:19]}\n     SOURCE: {src}\nDESTINATION: {dst}\n       TYPE: {kind}\n"
                         f"    VERDICT: {verdict}\n    SUMMARY: {summary}\n")
        assert flow["Summary"] == summary and flow["verdict"] == verdict
    starts = {re.search(rf"{title}", table[0]).start() for title in ("SOURCE", "TYPE", "VERDICT", "SUMMARY")}
    assert all(row[at - 3:at] == "   " for row in table for at in starts)


def test_a_line_byte_by_byte():
    words = ["-r", f"{REC}/flows.rec", "--to-port", "7000", "--first", "1"]
    assert observe(*words, "--print-node-name") == \
        "Nov 22 02:40:55.761 [host]: 10.77.0.2:44372 (host) -> www.example.org:7000 (unknown) from-endpoint " \
        "FORWARDED (TCP Flags: SYN)\n"
    assert observe(*words, "--numeric", "--color", "always") == \
        "Nov 22 02:40:55.761: \x1b[36m10.77.0.2:\x1b[33m44372\x1b[0m\x1b[0m \x1b[35m(host)\x1b[0m -> " \
        "\x1b[36m10.77.1.2:\x1b[33m7000\x1b[0m\x1b[0m \x1b[35m(unknown)\x1b[0m from-endpoint " \
        "\x1b[32mFORWARDED\x1b[0m (TCP Flags: SYN)\n"


@pytest.mark.parametrize("form, stamp", [
    ("StampMilli", "Nov 22 02:40:58.360"), ("YearMonthDay", "2026-11-22"), ("YearMonthDayHour", "2026-11-22T02Z"),
    ("YearMonthDayHourMinute", "2026-11-22T02:40Z"), ("RFC3339", "2026-11-22T02:40:58Z"),
    ("RFC3339Milli", "2026-11-22T02:40:58.36Z"), ("rfc3339micro", "2026-11-22T02:40:58.36009Z"),
    ("RFC3339Nano", "2026-11-22T02:40:58.360090437Z"), ("RFC1123Z", "Sun, 22 Nov 2026 02:40:58 +0000"),
])
def test_times(form, stamp):
    line = observe("-r", f"{REC}/flows.rec", "--last", "1", "--time-format", form)
    assert line.startswith(f"{stamp}: ")


def test_last_and_first_are_parts_of_all():
    every = observe("-r", f"{REC}/flows.rec").splitlines()
    assert len(every) > 25
    assert observe("-r", f"{REC}/flows.rec", "--last", "7").splitlines() == every[-7:]
    assert observe("-r", f"{REC}/flows.rec", "--first", "7").splitlines() == every[:7]
    assert observe("--input-file", f"{REC}/flows.rec", "--all").splitlines() == every
    assert observe("-r", f"{REC}/flows.rec", "--last", "1000000").splitlines() == every


def test_losses_are_told(tmp_path):
    agent = monitor_socket.Agent(tmp_path / "sock", [monitor_socket.message(b"", 3, 17, 2)])
    with subprocess.Popen([helpers.BINARY, "monitor", "--agent=no", "--cilium", agent.path, "--reconnect", "10ms",
                           "-w", tmp_path / "rec"], stderr=subprocess.DEVNULL) as child:
        assert agent.read.wait(60)
        child.send_signal(signal.SIGINT)
    text = observe("-r", str(tmp_path / "rec"))
    assert text == "EVENTS LOST: PERF_EVENT_RING_BUFFER CPU(3) 17\n"


# ---- command lines of Hubble's documentation and help, with a recording in place of the server

COMMANDS = [
    "", "--last 10", "--first 5 --protocol udp", "-f --verdict FORWARDED", "--all -o json",
    "-o compact --print-node-name",
    "-o dict --last 3", "-o table --protocol tcp", "-o tab --port 53", "-o jsonpb --to-port 7000",
    "--since 2026-11-22T02:40:56Z --until 2026-11-22T02:41Z", "--since 2026-11-22 --to-ip 10.77.1.0/24",
    "--from-ip 10.77.0.2 --to-ip 10.77.1.2", "--ip 10.77.1.2 --not --protocol udp", "--to-fqdn *.example.org",
    "--fqdn www.example.org -4", "--tcp-flags SYN", "--tcp-flags SYN,ACK --not --from-port 7000",
    "-t trace:to-endpoint", "--type trace --type drop", "--type 4:5", "--traffic-direction egress",
    "--interface r0 --ip-version v4", "--time-format RFC3339Nano --numeric", "--color never --last 2 -s",
    "--ip-translation=false --protocol icmpv4", "--snat-ip 10.77.1.1", "--workload python3",
    "--print-raw-filters --port 1",
]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_line_runs_unchanged(words):
    """It shows something, and with the rest of it taken away it shows more or the same."""
    lines = observe("-r", f"{REC}/flows.rec", *words.split()).splitlines()
    assert lines
    if not re.search(r"-o|--print|--time|--ip-tr|--numeric", words):
        assert set(lines) <= set(observe("-r", f"{REC}/flows.rec").splitlines())


@pytest.mark.parametrize("words, said", [
    (["-o", "text"], "expected compact, dict"), (["--first", "1", "--last", "1"], "exclude each other"),
    (["--first", "1", "-f"], "exclude each other"), (["--last", "1", "--all"], "exclude each other"),
    (["-f", "-o", "table"], "use -o compact"), (["--server", "localhost:4245"], "unix:///run/sonde/read.sock"),
    (["--time", "rel"], "--time-format"), (["--time-format", "x"], "expected StampMilli"),
    (["-t", "l7"], "use sonde rpc"), (["-t", "nosuch"], "nosuch"), (["--protocol", "http"], "use sonde rpc"),
    (["--pod", "a b"], "[NAMESPACE/]NAME"), (["--not"], "--not"), (["--since", "soon"], "expected a time"),
    (["--ip-translation=no"], "true or false"), (["--last", "2000000"], "at most 1000000"),
])
def test_what_is_wrong_is_said(words, said):
    assert said in observe("-r", f"{REC}/flows.rec", *words, status=2)


def test_live_flows_end_after_their_number(netns):
    """Without -f it ends by itself; datagrams of a namespace are its flows."""
    ns = netns()
    words = [*SONDE, "--first", "2", "--to-port", "9", "--aggregation", "none"]
    with ns.popen(*words) as child:
        while "ready" not in child.stderr.readline():
            assert child.poll() is None
        ns.python("import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                  "for i in range(5): s.sendto(b'x', ('127.0.0.1', 9)) if i % 2 == 0 else None")
        out = child.communicate(timeout=60)[0].splitlines()
    assert child.returncode == 0 and len(out) == 2
    assert all(re.search(r" (->|<>) 127\.0\.0\.1:9 \(\w+\) .*(FORWARDED|DROPPED) \(UDP", line) for line in out), out
