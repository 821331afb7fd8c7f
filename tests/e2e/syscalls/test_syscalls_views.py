# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables over calls, against what sysdig's words add up to on the same capture; letters; the live screen."""
import collections
import glob
import json
import os
import re
import shutil
import subprocess

import pytest

from helpers import BINARY, ROOT
from terminal import Terminal

SESSION = os.path.join(ROOT, "tests", "data", "scap", "session.scap")
SAMPLES = [SESSION] + sorted(glob.glob(os.path.join(ROOT, "..", "shared", "samples", "scap", "*.scap")))[:4]
needs_sysdig = pytest.mark.skipif(not shutil.which("sysdig"), reason="sysdig is not installed")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
SYSDIG = ("compat", "sysdig")
samples = pytest.mark.parametrize("sample", SAMPLES, ids=os.path.basename)


def run(*words, tool=("syscalls",), **kwargs):
    done = subprocess.run([BINARY, *tool, "--agent=no", *words], capture_output=True, timeout=60, check=False,
                          **kwargs)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "replace")


def table(view, *words):
    rows = [json.loads(line) for line in run("--json", "--view", f"{view}:100000", *words).splitlines()]
    assert all(row["type"] == "sys.view" and row["view"] == view for row in rows)
    assert [row["value"] for row in rows] == sorted((row["value"] for row in rows), reverse=True)
    return {row["key"]: row["value"] for row in rows}


def sums(sample, form, wanted):
    """What sysdig finds: form is "NUMBER TEST... | KEY"; the number is added up by key where wanted(tests)."""
    text = subprocess.run(["sysdig", "-r", sample, "-p", form], capture_output=True, check=False, timeout=60)
    out = collections.Counter()
    for line in text.stdout.decode("utf-8", "replace").splitlines():
        head, _, key = line.partition(" | ")
        number, *tests = head.split(" ")
        if int(number) and wanted(*tests):
            out[key] += int(number)
    return dict(out)


@needs_sysdig
@samples
def test_tables_are_what_sysdig_adds_up(sample):
    """No filter: what sysdig filters by direction it does not follow."""
    moved = "%evt.buflen %evt.dir %evt.is_io %fd.type | "
    assert table("files-bytes", "-r", sample) == sums(
        sample, moved + "%fd.name",
        lambda way, io, kind: way == "<" and io == "true" and kind in ("file", "directory"))
    assert table("procs-net", "-r", sample) == sums(
        sample, moved + "%proc.name (%proc.pid)",
        lambda way, io, kind: way == "<" and io == "true" and kind in ("ipv4", "ipv6"))
    assert table("calls", "-r", sample) == sums(sample, "%evt.count %evt.dir | %evt.type", lambda way: way == "<")
    assert table("calls-time", "-r", sample) == sums(
        sample, "%evt.latency %evt.dir | %evt.type", lambda way: way == "<")


@needs_root
def test_a_live_table_counts_what_a_command_did(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"x" * 70000)
    assert table("files-bytes", "--", "sh", "-c", f"cat {path} > /dev/null")[str(path)] == 70000


@needs_root
def test_processor_time_of_a_selection_is_its_own(tmp_path):
    """Only a part of the machine's switches is told: the time is that of the shell's own clock all the same."""
    out = tmp_path / "times"
    loop = f"i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; times > {out}"
    cpu = table("procs-cpu", "--", "bash", "-c", loop)
    seconds = [float(m) * 60 + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", out.read_text().splitlines()[0])]
    told = sum(value for key, value in cpu.items() if key.startswith("bash ")) / 1e9
    assert 0.7 * sum(seconds) < told < 1.5 * sum(seconds) + 0.05


def test_a_spectrogram_has_a_line_a_second():
    lines = run("-r", SESSION, "--view", "spectrogram").splitlines()
    assert lines[0].startswith("1us") and len(lines) >= 2
    assert all(len(line) == 70 and set(line) <= set(" .:-=+*#@") for line in lines[1:])
    assert "\033[48;5;" in run("-r", SESSION, "--view", "spectrogram", "--color", "always")


def test_an_unknown_view_is_told_those_that_are():
    done = subprocess.run([BINARY, "syscalls", "--view", "procs", "-r", SESSION], capture_output=True, check=False)
    assert done.returncode == 2 and b"procs-cpu" in done.stderr and done.stderr.count(b"\n") == 1


@needs_sysdig
@pytest.mark.parametrize("letter", ["-A", "-x", "-X", "-b"])
def test_data_is_shown_as_sysdig_shows_it(letter):
    words = "evt.buffer exists"
    theirs = subprocess.run(["sysdig", "-r", SESSION, letter, words], capture_output=True, check=True,
                            env=dict(os.environ, TZ="UTC")).stdout
    ours = run("-r", SESSION, letter, words, tool=SYSDIG, env=dict(os.environ, TZ="UTC"))
    assert [line.rstrip() for line in ours.splitlines()] == [
        line.rstrip() for line in theirs.decode("utf-8", "replace").splitlines()]


def test_sysdigs_letters_for_captures(tmp_path):
    path = str(tmp_path / "part")
    run("-r", SESSION, "-w", path, "-C", "1", "-W", "3", tool=SYSDIG)
    assert os.path.getsize(path + "0") > 0
    summary = run("-r", SESSION, "-S", tool=SYSDIG).splitlines()
    counts = [int(m[1]) for m in (re.match(r" +(\d+) +\d+  [<>] \w", line) for line in summary) if m]
    assert sum(counts) == len(run("-r", SESSION).splitlines())


@needs_root
def test_the_live_screen_shows_processes_and_leaves():
    """On a terminal of its own: processes, the calls of one after Enter, and q ends it."""
    one = Terminal("syscalls", "--agent=no", "--top")
    one.read_until(rb"CALLS/s")
    one.read_until(rb"[0-9][um]s")      # a latency: rows are there
    one.keys(b"\r", rb"> .*system calls")
    status, err = one.end(b"q")
    assert status == 0, err
