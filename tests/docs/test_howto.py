# SPDX-License-Identifier: GPL-2.0-or-later
"""The HOWTOs, followed to the letter in a copy of the tree: what they promise builds and runs."""
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time

import pytest

from conftest import ROOT

BUILD_LIMIT_S = 2000      # of everything, at a low priority, beside live tests
AT_ROOT = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$1" && cd "$1" && shift && exec "$@"']


def mount_above(folder):
    """A layer above the tree in @folder/sonde, which takes all changes. False where that cannot be."""
    upper, work, merged = (folder / name for name in ("upper", "work", "sonde"))
    for name in (upper, work, merged):
        name.mkdir()
    options = f"lowerdir={ROOT},upperdir={upper},workdir={work}"
    made = subprocess.run(["mount", "-t", "overlay", "sonde-howto", "-o", options, merged], check=False,
                          capture_output=True).returncode == 0
    if made and subprocess.run([*AT_ROOT, merged, ROOT, "true"], check=False, capture_output=True).returncode:
        subprocess.run(["umount", merged], check=True)
        return False
    return made


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The tree as it is, built. A copy is built from scratch where no layer can be mounted above the tree."""
    folder = tmp_path_factory.mktemp("howto")
    merged = folder / "sonde"
    layer = os.path.exists(os.path.join(ROOT, "build/build.ninja")) and mount_above(folder)
    if not layer:
        shutil.copytree(ROOT, merged, dirs_exist_ok=True, symlinks=True, ignore=lambda where, names: [
            n for n in names if n.startswith("build") or n in (".git", ".work", "__pycache__", ".cache")])
    yield merged
    if layer:
        subprocess.run(["umount", "--lazy", merged], check=True)


def blocks(page, language=""):
    with open(os.path.join(ROOT, "doc", page), encoding="utf-8") as f:
        found = re.findall(r"^```(\w*)\n(.*?)^```$", f.read(), re.M | re.S)
    return [text for kind, text in found if kind == language]


def build(tree):
    words = ["ninja", "-C", "build", "sonde", "tests/unit/test_call_beanstalkd"]
    if os.path.ismount(tree):
        words = [*AT_ROOT, tree, ROOT, *words]      # what is built names absolute paths
    else:
        subprocess.run(["meson", "setup", "build"], cwd=tree, check=True, capture_output=True)
    done = subprocess.run(words, cwd=tree, capture_output=True, text=True, check=False, timeout=BUILD_LIMIT_S)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "warning:" not in done.stdout, done.stdout[-3000:]


def run(tree, *words):
    return subprocess.run([tree / "build" / "sonde", *words], capture_output=True, text=True, timeout=30, check=False)


def lint(tree):
    done = subprocess.run(["tools/lint/run", "deps", "headers", "spdx", "skeleton", "length"], cwd=tree,
                          env=dict(os.environ, LINT_ROOT=str(tree)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def insert_behind(path, start, text):
    """Puts @text behind the last line that begins with @start."""
    lines = path.read_text().splitlines(keepends=True)
    at = max(i for i, line in enumerate(lines) if line.startswith(start))
    path.write_text("".join(lines[:at + 1]) + text + "".join(lines[at + 1:]))


def add_protocol(tree):
    page = "HOWTO-add-a-protocol.md"
    parser, guess, line, test, fuzz = blocks(page, "c")
    kind_row, guess_row = blocks(page)[:2]
    (tree / "src/call/protocol/beanstalkd.c").write_text(parser)
    (tree / "tests/unit/call/test_call_beanstalkd.c").write_text(test)
    (tree / "tests/fuzz/call/fuzz_call_beanstalkd.c").write_text(fuzz)
    insert_behind(tree / "src/call/call_protocols.def", "CALL_KIND(", kind_row)
    insert_behind(tree / "probes/call/call_guess.def", "CALL_GUESS(", guess_row)
    programs = tree / "probes/call/bpf/call_guess.bpf.c"
    text = programs.read_text()
    head = text.index("static __noinline int guess_others(")
    before = text.rindex("/*", 0, head)     # its comment
    body = text.index("{\n", head) + 2
    programs.write_text(text[:before] + guess + "\n" + text[before:body] + line + text[body:])


@pytest.fixture(scope="module")
def built(tree):
    """The pages' steps, then one build: a page is one file or folder and a row, so they cannot collide."""
    add_protocol(tree)
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


def test_probe_is_listed(built):
    done = run(built, "probes")
    assert done.returncode == 0 and "signals.signal" in done.stdout
    assert "signal.number" in run(built, "help", "events").stdout


def test_sink_is_listed(built):
    assert re.search(r"-o csv +one line per field", run(built, "help", "outputs").stdout)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loads a BPF program")
def test_probe_shows_a_signal(built):
    """The event arrives in JSON and through the new sink, with the right sender, receiver and number."""
    out = built / "out.csv"
    child = subprocess.Popen([built / "build/sonde", "monitor", "--probe", "signals", "--where",
                              "evt.type=signals.signal",
                              "--json", "-o", f"csv:{out}", "--where", "signal.number=10"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert "ready" in child.stderr.readline()
        sleeper = subprocess.Popen(["sleep", "100"])
        # execve() closes descriptors, which ends Popen(), before it sets the name
        while open(f"/proc/{sleeper.pid}/comm", encoding="ascii").read() != "sleep\n":
            time.sleep(0.01)
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
def test_probe_is_in_doctor(built):
    hooks = [json.loads(line) for line in run(built, "doctor", "--json").stdout.split("\n") if line]
    assert [h["state"] for h in hooks if h.get("probe") == "signals"] == ["ok"]


def test_new_probe_refuses_nonsense(tree):
    for name in ("", "9x", "a/b", "net"):
        done = subprocess.run(["tools/new-probe", name], cwd=tree, capture_output=True, text=True, check=False)
        assert done.returncode != 0 and not (tree / "probes" / "9x").exists()


def test_protocol_is_a_source(built):
    assert " cql beanstalkd" in run(built, "rpc", "--source", "?").stderr
    done = run(built, "rpc", "--source", "beanstalk")
    assert done.returncode == 2 and "did you mean beanstalkd?" in done.stderr


def test_protocol_has_a_test_and_a_fuzz_target(built):
    done = subprocess.run([built / "build/tests/unit/test_call_beanstalkd"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    subprocess.run(["clang", "-fsyntax-only", "-Werror", "-Wall", "-D_GNU_SOURCE", "-Isrc", "-Iinclude", "-I.",
                    "tests/fuzz/call/fuzz_call_beanstalkd.c"], cwd=built, check=True)


class Queue:
    """A beanstalkd that knows three commands."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        conn, _ = self.listener.accept()
        with conn, conn.makefile("rb") as lines:
            for line in lines:
                if line.startswith(b"put "):
                    lines.readline()
                conn.sendall({b"use": b"USING mail\r\n", b"put": b"INSERTED 7\r\n"}.get(line[:3], b"NOT_FOUND\r\n"))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loads BPF programs")
def test_protocol_shows_calls(built):
    """Both ends are this process."""
    one = Queue()
    child = subprocess.Popen([built / "build/sonde", "rpc", "--source", "beanstalkd", "--json", "--port",
                              str(one.address[1]), "-n", "6"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = child.stderr.readline()
        if "6.3" in line:
            pytest.skip(line)
        assert "ready" in line
        with socket.create_connection(one.address) as s:
            for asked in (b"use mail\r\n", b"put 1 0 60 5\r\nhello\r\n", b"delete 8\r\n"):
                s.sendall(asked)
                assert s.recv(100)
        calls = [json.loads(child.stdout.readline()) for _ in range(6)]
    finally:
        child.terminate()
        child.wait(10)
        one.listener.close()
    assert {ev["kind"] for ev in calls} == {"beanstalkd"}
    seen = sorted((ev["side"], ev["operation"], ev.get("resource"), ev.get("status")) for ev in calls)
    assert seen == sorted((side, *call) for side in ("client", "server")
                          for call in (("use", "mail", None), ("put", None, None), ("delete", None, "NOT_FOUND")))
