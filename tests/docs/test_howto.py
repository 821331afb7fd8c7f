# SPDX-License-Identifier: GPL-2.0-or-later
"""The HOWTOs, followed to the letter in a copy of the tree: what they promise builds and runs."""
import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import ROOT

BUILD_LIMIT_S = 240


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The tree as it is, with a build of its own."""
    folder = tmp_path_factory.mktemp("howto") / "sonde"
    shutil.copytree(ROOT, folder, ignore=lambda where, names: [
        n for n in names if n.startswith("build") or n in (".git", ".work", "__pycache__", ".cache")], symlinks=True)
    return folder


def blocks(page, language=""):
    with open(os.path.join(ROOT, "doc", page), encoding="utf-8") as f:
        found = re.findall(r"^```(\w*)\n(.*?)^```$", f.read(), re.M | re.S)
    return [text for kind, text in found if kind == language]


def build(tree):
    if not (tree / "build").exists():
        subprocess.run(["meson", "setup", "build", "-Dtests=disabled"], cwd=tree, check=True, capture_output=True)
    done = subprocess.run(["ninja", "-C", "build", "sonde"], cwd=tree, capture_output=True, text=True, check=False,
                          timeout=BUILD_LIMIT_S)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "warning:" not in done.stdout, done.stdout[-3000:]


def run(tree, *words):
    return subprocess.run([tree / "build" / "sonde", *words], capture_output=True, text=True, timeout=30, check=False)


def lint(tree):
    done = subprocess.run(["tools/lint/run", "deps", "headers", "spdx", "skeleton", "length"], cwd=tree,
                          env=dict(os.environ, LINT_ROOT=str(tree)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def both(tree):
    """The two pages' steps, then one build: a page is one file or folder and one row, so they cannot collide."""
    steps = blocks("HOWTO-add-a-probe.md")[0].split("\n")
    assert steps[0] == "tools/new-probe signals"
    subprocess.run(steps[0].split(), cwd=tree, check=True, capture_output=True)
    (tree / "src/sinks/csv.c").write_text(blocks("HOWTO-add-a-sink.md", "c")[0])
    row = blocks("HOWTO-add-a-sink.md")[0]
    assert row == "SINK(csv)\n"
    with open(tree / "src/sinks/sinks.def", "a", encoding="utf-8") as f:
        f.write(row)
    build(tree)
    lint(tree)
    return tree


def test_probe_is_listed(both):
    done = run(both, "probes")
    assert done.returncode == 0 and "signals.signal" in done.stdout
    assert "signal.number" in run(both, "help", "events").stdout


def test_sink_is_listed(both):
    assert re.search(r"-o csv +one line per field", run(both, "help", "outputs").stdout)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loads a BPF program")
def test_probe_shows_a_signal(both):
    """The event arrives in JSON and through the new sink, with the right sender, receiver and number."""
    out = both / "out.csv"
    child = subprocess.Popen([both / "build/sonde", "monitor", "--probe", "signals", "--where",
                              "evt.type=signals.signal",
                              "--json", "-o", f"csv:{out}", "--where", "signal.number=10"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert "ready" in child.stderr.readline()
        sleeper = subprocess.Popen(["sleep", "100"])
        subprocess.run(["/bin/kill", "-USR1", str(sleeper.pid)], check=True)
        sleeper.wait()
        event = json.loads(child.stdout.readline())
    finally:
        child.terminate()
        child.wait(10)
    assert event["type"] == "signals.signal"
    assert event["pid"] == sleeper.pid and event["comm"] == "sleep" and event["result"] == "delivered"
    text = out.read_text()
    assert text.startswith("ts_ns,type,tgid,field,value\n")
    assert f'signals.signal,{event["proc"]["pid"]},signal.pid,"{sleeper.pid}"\n' in text


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loads BPF programs")
def test_probe_is_in_doctor(both):
    hooks = [json.loads(line) for line in run(both, "doctor", "--json").stdout.split("\n") if line]
    assert [h["state"] for h in hooks if h.get("probe") == "signals"] == ["ok"]


def test_new_probe_refuses_nonsense(tree):
    for name in ("", "9x", "a/b", "net"):
        done = subprocess.run(["tools/new-probe", name], cwd=tree, capture_output=True, text=True, check=False)
        assert done.returncode != 0 and not (tree / "probes" / "9x").exists()
