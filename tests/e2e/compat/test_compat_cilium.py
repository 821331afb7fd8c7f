# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde compat cilium-dbg monitor in place of the client: its own output of every notification, and command lines."""
import json
import os
import re
import signal
import subprocess

import pytest

import helpers
import monitor_socket

SONDE = [helpers.BINARY, "compat", "cilium-dbg", "monitor", "--agent=no"]
LEVELS = {"text": [], "text_numeric": ["-n"], "verbose": ["-v"], "vv": ["-v", "-v"], "vv_hex": ["-vv", "--hex"],
          "json": ["-j"]}
# Defects of the client; each has its reason in doc/COMPATIBILITY.md.
NOT_COMPARED = {(name, key) for name in ("debug-66", "debug-67", "debug-68") for key in LEVELS} | \
    {("drop-v3-vrrp", "vv"), ("drop-v3-vrrp", "json")}
OF_1_18 = ("pv32-", "sock38-", "recorder-")     # release 1.20 misreads these records
RULE = "-" * 78 + "\n"


def wanted(name, row, key):
    """The client's output with its three mended defects."""
    if row["type"] == 9 and row["hex"].startswith("01") and key.startswith("vv"):   # it swaps them for drops
        key = "vv_hex" if key == "vv" else "vv"
    text = row[key]
    if row["release"] != "1.20" and not name.startswith(OF_1_18):
        text = row.get("other_release", {}).get(key, text)
    if name.startswith("capture-") and key.startswith("vv") and text:    # it lacks a newline behind the header
        at = min((text.find(word, len(RULE)) for word in ("Ethernet\t", "00000000  ") if word in text), default=-1)
        text = text[:at] + "\n" + text[at:] if at > 0 else text + "\n"
    return text


def play(ns, path, rows, *words):
    """Standard output of a run that hears of @rows."""
    agent = monitor_socket.Agent(path, [monitor_socket.message(bytes.fromhex(row["hex"]), row["cpu"], row["lost"],
                                                               row["type"]) for row in rows])
    out, err = path.with_suffix(".out"), path.with_suffix(".err")
    with open(out, "w", encoding="utf-8") as o, open(err, "w", encoding="utf-8") as e, ns.popen(
            *SONDE, "--monitor-socket", agent.path, "--reconnect", "10ms", *words, stdout=o, stderr=e) as child:
        heard = agent.read.wait(10)
        child.send_signal(signal.SIGINT)
        status = child.wait(30)
    assert heard and status in (0, 128 + signal.SIGINT), err.read_text("utf-8")
    return out.read_text("utf-8")


@pytest.fixture(scope="module")
def ns():
    made = helpers.Netns()
    made.run("ip", "link", "add", "p0", "type", "veth", "peer", "name", "eth0")
    yield made
    made.close()


@pytest.fixture(scope="module")
def rows():
    return monitor_socket.vectors()


@pytest.mark.parametrize("key", LEVELS)
def test_lines_are_those_of_the_client(ns, rows, tmp_path, key):
    """Byte by byte, all of them but for the named defects."""
    names = [name for name in rows if (name, key) not in NOT_COMPARED]
    out = play(ns, tmp_path / "sock", [rows[name] for name in names], *LEVELS[key])
    wants = [wanted(name, rows[name], key) for name in names]
    at, wrong = 0, []
    for name, want in zip(names, wants):
        if out[at:at + len(want)] == want:
            at += len(want)
        else:
            wrong.append((name, want, out[at:at + len(want) + 40]))
            break
    print(f"{key}: {len(names)} notifications, {out.count(chr(10))} lines")
    assert not wrong, wrong
    assert at == len(out) and len(names) > 715


# ---- filters, by the fields of the notification itself

def u16(row, at):
    return int.from_bytes(bytes.fromhex(row["hex"])[at:at + 2], "little")


def ends(row):
    """Source and destination as the client compares them."""
    kind = row["hex"][:2]
    if kind in ("01", "04"):
        return u16(row, 2), u16(row, 24)
    return (u16(row, 2), u16(row, 16)) if kind == "05" else (u16(row, 2), 0)


NAMES = {"drop": "01", "debug": "02", "capture": "03", "trace": "04", "policy-verdict": "05", "recorder": "06",
         "l7": "81", "agent": "82"}


def decodable(rows):
    """The client tells of records that it cannot read before it looks at filters."""
    return {name: row for name, row in rows.items() if not name.startswith("debug-6")
            and "cannot decode" not in wanted(name, row, "text") + wanted(name, row, "verbose")}


@pytest.mark.parametrize("types", [["drop"], ["trace"], ["policy-verdict", "agent"], ["debug"], ["capture"], ["l7"],
                                   ["recorder"]])
def test_a_type_selects_its_notifications(ns, rows, tmp_path, types):
    words = [word for name in types for word in ("-t", name)]
    some = decodable(rows)
    out = play(ns, tmp_path / "sock", some.values(), "-v", *words)
    numbers = [NAMES[kind] for kind in types]
    want = "".join(wanted(name, row, "verbose") for name, row in some.items() if row["hex"][:2] in numbers)
    assert out == want and want


@pytest.mark.parametrize("words, test", [
    (["--from", "1234"], lambda src, dst: src == 1234), (["--to", "4321"], lambda src, dst: dst == 4321),
    (["--related-to", "77"], lambda src, dst: 77 in (src, dst)),
    (["--from", "1234", "--from", "77"], lambda src, dst: src in (77, 1234)),
    (["--from", "1234", "--to", "4321"], lambda src, dst: (src, dst) == (1234, 4321)),
])
def test_endpoints_select_as_in_the_client(ns, rows, tmp_path, words, test):
    some = {name: row for name, row in decodable(rows).items() if row["hex"][:2] in ("01", "04", "05")}
    out = play(ns, tmp_path / "sock", some.values(), *words)
    want = "".join(wanted(name, row, "text") for name, row in some.items() if test(*ends(row)))
    assert out == want and want


def test_losses_are_never_filtered(ns, tmp_path):
    lost = {"hex": "", "cpu": 3, "lost": 17, "type": 2}
    assert play(ns, tmp_path / "sock", [lost], "-t", "drop", "--from", "5") == "CPU 03: Lost 17 events\n"


# ---- command lines of the client's help and documentation

COMMANDS = [
    "", "-v", "-vv", "-v -v", "--verbose", "--hex", "-vv --hex", "-n", "--numeric -v", "-j", "--json", "-t drop",
    "--type drop", "--type=drop --type=trace", "-t drop,trace", "-t drop -v", "-t trace -j", "-t policy-verdict",
    "-t debug -v", "-t l7", "-t agent", "-t capture -vv", "-t trace-sock -v", "--from 1234", "--to 4321",
    "--related-to 1234 -t drop", "--from 1234 --to 4321 -vv", "-t drop -t trace --related-to 77 -n",
]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_line_runs_unchanged(ns, rows, tmp_path, words):
    out = play(ns, tmp_path / "sock", rows.values(), *words.split())
    assert out.count("\n") >= 1
    if words in ("-j", "--json", "-t trace -j"):
        objects = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        assert len(objects) > 100 and (" " not in words or {row["type"] for row in objects} == {"trace"})


def test_the_environment_names_the_socket(ns, rows, tmp_path):
    drop = monitor_socket.message(bytes.fromhex(rows["drop-v3-vrrp"]["hex"]))
    agent = monitor_socket.Agent(tmp_path / "sock", [drop])
    done = subprocess.run([*SONDE, "-n", "--count", "1"], capture_output=True, text=True, timeout=60, check=True,
                          env={**os.environ, "CILIUM_MONITOR_SOCK": agent.path})
    assert re.match(r"xx drop \(.*vrrp", done.stdout)


@pytest.mark.parametrize("words, said", [
    (["-t", "nosuch"], "expected drop, debug"), (["-t", "drop,"], "expected drop, debug"),
    (["--monitor-socket", "/nonexistent/sock"], "/nonexistent/sock"), (["--host", "x"], "use --monitor-socket PATH"),
])
def test_what_is_wrong_is_said(words, said):
    done = subprocess.run([*SONDE, *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (1, 2) and said in done.stderr and not done.stdout
