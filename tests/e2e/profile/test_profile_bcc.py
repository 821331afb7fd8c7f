# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde profile beside the installed profile-bpfcc (bcc_profile.py): one recording, the same bytes."""
import collections
import json
import os
import re
import subprocess

import pytest

import helpers
from helpers import ROOT

COMPAT = ("compat", "profile-bpfcc")
HERE = os.path.join(ROOT, "tests", "e2e", "profile")
PROGRAM = "/usr/sbin/profile-bpfcc"
REMARK = "[truncated: "
PLACE = re.compile(r"\[[^];]+\+0x[0-9a-f]+\]")       # sonde's word for a frame that bcc calls [unknown]
pytestmark = pytest.mark.skipif(not os.path.exists(PROGRAM), reason="needs profile-bpfcc (Debian: bpfcc-tools)")

# A kernel stack with and without user part, threads of one name in two processes, deep and shallow: any machine's.
WORK = "for i in 1 2 3 4; do od -An -N300000 /dev/urandom | sort | uniq -c | gzip >/dev/null; done"
ONLY = ["--where", "proc.name in (sh, od, sort, uniq, gzip)"]


def profile(*words):
    return subprocess.run([helpers.BINARY, *COMPAT, *map(str, words)], capture_output=True, text=True,
                          timeout=helpers.READY_S, check=False)


def bcc(stacks, *words):
    done = subprocess.run(["/usr/bin/python3", os.path.join(HERE, "bcc_profile.py"), stacks, *map(str, words)],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done


def frame_of(line):
    """Of perf's text: address, name or nothing, offset, module or nothing; and whether it is the kernel's."""
    match = re.match(r"\s+([0-9a-f]+) (.*?)(?:\+0x([0-9a-f]+))? \((.*)\)$", line)
    address, name, offset, module = match.groups()
    kernel = int(address, 16) >> 47 != 0
    if module == "[kernel.kallsyms]":
        module = "kernel"
    elif kernel:
        module = module.strip("[]")
    module = None if module == "[unknown]" else module
    nameless = name == "[unknown]" or PLACE.fullmatch(name)
    return [int(address, 16), None if nameless else name, int(offset or "0", 16), module], kernel


def stacks_of(text):
    """perf's text as rows for bcc_profile.py: counted, in the order of the first sample."""
    counts = collections.OrderedDict()
    for block in text.strip().split("\n\n"):
        head, *lines = block.split("\n")
        match = re.match(r"(.*?) (\d+)/\d+ \[\d+\] [\d.]+: \d+ \S+:$", head)
        frames = [frame_of(line) for line in lines]
        key = json.dumps([match[1], int(match[2]), [f for f, kernel in frames if kernel],
                          [f for f, kernel in frames if not kernel]])
        counts[key] = counts.get(key, 0) + 1
    rows = []
    for key, count in counts.items():
        comm, pid, kern, user = json.loads(key)
        rows.append({"comm": comm, "pid": pid, "kern": kern or "none", "user": user or "none", "count": count})
    return rows


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bcc")
    done = profile("-F", "997", "-o", f"rec:{folder}/x.rec", "--", "sh", "-c", WORK)
    assert done.returncode == 0, done.stderr
    done = profile("-r", folder / "x.rec", *ONLY, "-o", f"perf:{folder}/x.perf")
    assert done.returncode == 0, done.stderr
    rows = [row for row in stacks_of((folder / "x.perf").read_text()) if REMARK not in json.dumps(row)]
    assert len(rows) > 30 and any(row["kern"] != "none" for row in rows)
    (folder / "stacks").write_text(json.dumps(rows))
    return folder


def without_remarks(text, separator):
    """What sonde says in a frame of a stack that it could not follow, bcc does not say."""
    return separator.join(part for part in text.split(separator) if REMARK not in part)


def difference(mine, theirs):
    """The first line that differs, or nothing: short, since pytest compares long texts for minutes."""
    both = zip(mine.splitlines() + ["(end)"], theirs.splitlines() + ["(end)"])
    return next((f"{a!r} here, {b!r} there" for a, b in both if a != b), "") if mine != theirs else ""


def by_count(text):
    """Paragraphs in an order of their own: of stacks with one count the first in the stream is the first in the text,
    and the stacks that bcc gets here are in the order of time."""
    return "\n\n".join(sorted(text.split("\n\n"), key=lambda part: (int((part.split() or ["0"])[-1]), part)))


@pytest.mark.parametrize("words", [[], ["-d"]])
def test_the_default_text_is_the_same(recording, words):
    mine = profile("-r", recording / "x.rec", *ONLY, *words)
    head, empty, theirs = bcc(recording / "stacks", *words).stdout.split("\n", 2)
    assert head.startswith("Sampling at 49 Hertz of all threads") and empty == ""
    mine = without_remarks(mine.stdout, "\n\n")
    counts = [int(part.split()[-1]) for part in mine.split("\n\n") if part]
    assert counts == sorted(counts)
    assert not difference(by_count(mine), by_count(theirs))


def merged(text):
    """What bcc repeats is one line here, and it has one word for all frames without a name."""
    counts = collections.Counter()
    for line in PLACE.sub("[unknown]", text).splitlines():
        stack, count = line.rsplit(" ", 1)
        counts[stack.replace("; ", ": ")] += int(count)
    return counts


@pytest.mark.parametrize("words", [[], ["-d"], ["-a"], ["-d", "-a"]])
def test_the_folded_text_is_the_same_but_merged(recording, words):
    mine = profile("-r", recording / "x.rec", *ONLY, "-f", *words).stdout
    mine = without_remarks(mine, "\n")
    theirs = bcc(recording / "stacks", "-f", *words).stdout
    assert not merged(mine) - merged(theirs) and not merged(theirs) - merged(mine)
    lines = mine.splitlines()
    assert len(set(line.rsplit(" ", 1)[0] for line in lines)) == len(lines)
    counts = [int(line.rsplit(" ", 1)[1]) for line in lines]
    assert counts == sorted(counts)


def test_stacks_that_are_missing_have_the_same_words(tmp_path):
    """The feed of the unit test's golden files, said to bcc by hand."""
    rows = [{"comm": "server", "pid": 101, "count": 5, "kern": [[1, "k2", 9, "kernel"]], "user": "missed"},
            {"comm": "server", "pid": 100, "count": 8, "kern": "missed", "user": [
                [1, "tiny", 0, "/opt/my app/server"], [2, "f5", 0x30, "/opt/my app/server"],
                [3, "f1", 0x24, "/opt/my app/server"]]}]
    (tmp_path / "stacks").write_text(json.dumps(rows))
    done = bcc(tmp_path / "stacks")
    with open(os.path.join(ROOT, "tests", "golden", "profile", "bcc"), encoding="utf-8") as f:
        golden = f.read().split("\n\n")
    theirs = done.stdout.split("\n\n")
    assert theirs[1] == golden[5]
    assert theirs[2].replace("tiny+0x0", "tiny") == golden[8]
    assert done.stderr == "WARNING: 2 stack traces could not be displayed. " \
        "Consider increasing --stack-storage-size.\n"


@pytest.mark.parametrize("words", [
    ["-F", "199", "1"], ["-K", "-C", "0", "1"], ["-c", "20000000", "1"], ["-p", "1,PID", "-U", "1"],
    ["-L", "PID", "1"],
])
def test_the_header_is_the_same(tmp_path, words):
    """-c: bcc's form of the long option is --count."""
    words = [word.replace("PID", str(os.getpid())) for word in words]
    (tmp_path / "stacks").write_text("[]")
    mine = profile(*words)
    assert mine.returncode == 0, mine.stderr
    assert mine.stdout.split("\n")[0] == bcc(tmp_path / "stacks", *words).stdout.split("\n")[0]


def test_a_run_without_end_is_told_how_to_end(tmp_path):
    (tmp_path / "stacks").write_text("[]")
    child = helpers.Sonde(*COMPAT, "-v", "-p", str(os.getpid()))
    child.stop()
    assert child.lines[0] == bcc(tmp_path / "stacks", "-p", os.getpid()).stdout.split("\n")[0]


# ---- command lines of its help, manual page and examples, with a recording in place of the host

COMMANDS = [
    "", "5", "-F 99", "-F 99 5", "-F 9", "-c 1000000", "-c 1000000 5", "-f 5", "-p PID", "-p PID,1", "-L PID", "-U",
    "-K", "-I", "-d", "-df 5", "-p PID -d", "-p PID 5", "-f -p PID 5", "-df -p PID 5", "-adf -p PID 10", "-C 0 2",
    "-a -f 1", "-U -f --stack-storage-size 4096", "--stack-storage-size 16384 -K 1", "--frequency 199 --folded 1",
    "--pid PID --user-stacks-only", "--tid PID --kernel-stacks-only 2", "--delimited --annotations --folded",
    "--count 100 --include-idle 1", "--cpu 0 -f",
]


@pytest.fixture(scope="module")
def pid(recording):
    """Of the process with the most samples."""
    counts = collections.Counter()
    for row in json.loads((recording / "stacks").read_text()):
        counts[row["pid"]] += row["count"]
    return str(counts.most_common(1)[0][0])


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_line_runs_unchanged(recording, pid, words):
    """It takes the line; what it selects has samples, and the text has the form that the line asks for."""
    done = profile("-r", recording / "x.rec", *words.replace("PID", pid).split())
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if re.search(r"(?:^| )\d+$", line)]
    assert rows
    folded = re.search(r"-\w*f|--folded", words)
    assert any(";" in line for line in rows) if folded else done.stdout.count("\n\n") >= 1
    if "PID" in words and not folded:
        who = re.findall(r"\((\d+)\)$", done.stdout, re.M)
        assert who and set(who) <= {pid, "1"}


@pytest.mark.parametrize("words, said", [
    (["-p", "1", "-L", "1"], "exclude each other"), (["-U", "-K"], "exclude each other"),
    (["-F", "9", "-c", "9"], "exclude each other"), (["0"], "not a duration"), (["5", "6"], "too many"),
    (["--cgroupmap", "/nonexistent"], "/nonexistent"), (["--mntnsmap", "/nonexistent"], "/nonexistent"),
])
def test_what_bcc_does_not_take_either(words, said):
    done = profile(*words)
    assert done.returncode in (1, 2) and said in done.stderr and not done.stdout
