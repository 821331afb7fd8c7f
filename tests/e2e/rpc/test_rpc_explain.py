# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of Go programs is true: DWARF agrees, stripping changes nothing, and broken programs break nothing."""
import json
import os
import subprocess
import sys

import pytest
from helpers import BINARY, ROOT

GO = os.path.join(ROOT, "tests", "workloads", "go")
sys.path.insert(0, GO)
import craft  # noqa: E402  the path above is needed first
import gotree  # noqa: E402

THREE = ["grpc.write-header", "grpc.server-headers", "grpc.client-headers"]


def explain(what, *words):
    return subprocess.run([BINARY, "rpc", "explain", "--source", "go", "--json", "-v", *words, str(what)],
                          capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)


def lines(what):
    done = explain(what)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def rules(all_lines):
    return {line["rule"]: line for line in all_lines if line["type"] == "rule"}


def built(suite, variant):
    """The program that makes calls of every kind, built with the suite's Go and gRPC."""
    try:
        return gotree.calls(suite, variant)
    except gotree.Unavailable as e:
        pytest.skip(str(e))


@pytest.mark.parametrize("suite", gotree.SUITES)
def test_types_and_dwarf_agree(suite):
    told = lines(built(suite, "plain"))
    both = [m for m in told if m["type"] == "member" and m["by_types"] >= 0 and m["by_dwarf"] >= 0]
    assert len(both) > 80
    assert [m for m in both if m["by_types"] != m["by_dwarf"] or m["offset"] != m["by_types"]] == []
    types = [t for t in told if t["type"] == "descriptor" and t["by_types"] and t["by_dwarf"]]
    assert len(types) > 8
    assert [t for t in types if t["by_types"] != t["by_dwarf"]] == []
    ready = [r for r in rules(told).values() if r["state"] == "ready"]
    assert len(ready) > 25
    for rule in ready:
        assert {"symtab", "pclntab"} <= set(rule["sources"]), rule
    for name in THREE:
        rule = rules(told)[name]
        assert rule["place"] == "branch of the stack check"
        assert all({"abi", "dwarf"} <= set(a["sources"]) for a in rule["args"]), rule
    states = {r["state"] for r in rules(told).values()}
    assert states <= {"ready", "function missing", "not needed"}, states


@pytest.mark.parametrize("suite", gotree.SUITES)
def test_stripped_and_moved(suite):
    """Without symbols and DWARF, at an address that the loader chooses: the same is known."""
    plain, bare = lines(built(suite, "plain")), lines(built(suite, "stripped-pie"))
    assert bare[0]["mode"] == "position-independent executable" and bare[0]["no_dwarf"] == "the file has none"
    assert {n: r["state"] for n, r in rules(plain).items()} == {n: r["state"] for n, r in rules(bare).items()}

    def members(told):
        return {m["row"]: m["offset"] for m in told if m["type"] == "member"}
    assert members(plain) == members(bare)
    for name, rule in rules(bare).items():
        args = [(a["name"], a.get("reg"), a.get("sp")) for a in rule.get("args", [])]
        assert args == [(a["name"], a.get("reg"), a.get("sp")) for a in rules(plain)[name].get("args", [])]


def test_process(tmp_path):
    program = built("trixie", "stripped-pie")
    with subprocess.Popen([program, "-mode", "server", "-kind", "grpc", "-addr", f"unix:{tmp_path}/s"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline().startswith("ready")
        assert rules(lines(child.pid)) == rules(lines(program))
        child.stdin.close()
        child.terminate()


@pytest.mark.parametrize("suite", gotree.SUITES)
@pytest.mark.parametrize("name", sorted(gotree.PROGRAMS))
def test_distribution_programs(suite, name):
    """Stripped by those who packaged them, and without module versions."""
    try:
        told = lines(gotree.program(suite, name))
    except gotree.Unavailable as e:
        pytest.skip(str(e))
    assert told[0]["go"].startswith("go1.") and told[0]["grpc"] == "" and told[0]["no_types"] == ""
    states = {r["state"] for r in rules(told).values()}
    assert states <= {"ready", "function missing", "not needed", "not in the program"}, states
    assert rules(told)["std.server-headers"]["state"] == "ready"
    # bookworm's Prometheus is a client of gRPC only: the linker dropped the server.
    expected = {"grpc.write-header", "grpc.client-headers"} if suite == "bookworm" else set(THREE)
    ready = {n for n in THREE if rules(told)[n]["state"] == "ready"}
    assert ready == (expected if name == "prometheus" else set())
    members = {m["row"]: m for m in told if m["type"] == "member"}
    assert members["POLL FD.Sysfd"]["offset"] == 16 and members["RUNTIME g.goid"]["sources"] == ["types"]


def test_no_go_program():
    done = explain(os.getpid())
    assert done.returncode == 1 and "not a Go program" in done.stderr and done.stderr.count("\n") == 1


def test_broken_programs(tmp_path):
    """Each is told of or refused in one sentence, soon; nothing crashes."""
    craft.write_all(tmp_path)
    assert len(craft.BROKEN) >= 100
    good = rules(lines(tmp_path / "good"))
    assert {n for n, r in good.items() if r["state"] == "ready"} == set(craft.READY)
    for name in craft.BROKEN:
        done = explain(tmp_path / name)
        assert done.returncode in (0, 1), (name, done)
        if done.returncode:
            assert done.stderr.count("\n") == 1 and str(tmp_path / name) in done.stderr, (name, done.stderr)
            continue
        for rule in rules([json.loads(line) for line in done.stdout.splitlines()]).values():
            assert (rule["state"] == "ready") == (rule["why"] == ""), (name, rule)


def test_connections_of_a_crafted_program(tmp_path):
    """Embedded behind another field, ambiguous, and behind an interface that is not net.Conn."""
    craft.write_all(tmp_path)
    told = {c["name"].split(".")[-1]: c for c in lines(tmp_path / "good") if c["type"] == "connection"}
    assert {n: (c.get("offset"), c.get("inside")) for n, c in told.items()} == {
        "TCPConn": (0, "descriptor"), "bufConn": (8, "net.Conn"), "twoConn": (None, None),
        "anyConn": (0, "interface, tried")}


def test_sources_that_disagree(tmp_path):
    craft.write_all(tmp_path)
    told = lines(tmp_path / "dwarf-contradicts")
    framer = [m for m in told if m.get("row") == "TRANSPORT loopyWriter.framer"][0]
    assert (framer["offset"], framer["by_types"], framer["by_dwarf"]) == (-1, 40, 41)
    elsewhere = rules(lines(tmp_path / "dwarf-argument-elsewhere"))
    assert elsewhere["grpc.write-header"]["state"] == "sources disagree"
    assert {n for n, r in elsewhere.items() if r["state"] == "ready"} == set(craft.READY) - {"grpc.write-header"}
    old = lines(tmp_path / "buildinfo-version-old")
    assert "not believed" in old[0]["go_source"] and rules(old)["grpc.write-header"]["state"] == "ready"
