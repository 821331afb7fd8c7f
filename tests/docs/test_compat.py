# SPDX-License-Identifier: GPL-2.0-or-later
"""Dialects of other tools: every row of their tables, the page that is made of them, and the tools' own help."""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT, Binary

ROWS = [json.loads(line) for line in Binary()("compat", "--json").stdout.splitlines()]
REFUSED = [row for row in ROWS if row["status"] == "refused"]
TOOLS = sorted({row["tool"] for row in ROWS})


def words_of(row):
    """The option by each of its names, with a value where one belongs."""
    value = row.get("arg") and not row["optional"]
    for dash, name in (("-", row.get("letter")), ("--", row.get("option"))):
        if name:
            yield [dash + name, "value"] if value else [dash + name]


def test_there_are_rows_of_each_status():
    assert len(TOOLS) >= 5 and len(REFUSED) > 80
    assert {row["status"] for row in ROWS} == {"same", "different", "refused"}


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row['tool']} {row.get('option') or row['letter']}")
def test_a_refused_option_is_refused_by_name(sonde, row):
    """One sentence with its name and the native way, exit status 2, nothing on standard output."""
    for words in words_of(row):
        done = sonde("compat", *row["tool"].split(), *words)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, words
        assert words[0] in done.stderr and f"is not supported: {row['text']}" in done.stderr


@pytest.mark.parametrize("tool", TOOLS)
def test_help_has_every_option_once(sonde, tool):
    text = sonde("compat", *tool.split(), "--help").stdout
    listed = re.findall(r"^  (?:-(\w)(?:, --([\w-]+))?|    --([\w-]+))(?= |\[|$)", text, re.M)
    shown = [(letter, name or alone) for letter, name, alone in listed]
    assert sorted(shown) == sorted((row.get("letter", ""), row.get("option", "")) for row in ROWS
                                   if row["tool"] == tool)
    assert max(map(len, text.split("\n"))) <= 100


def test_the_page_has_the_rows(sonde):
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "compat_tables.py"), sonde.path, "--check"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# Names in the tools' help that are no options of their command line.
NOT_OPTIONS = {
    "strace": set(), "sysdig": {"-cl", "-Il"}, "profile-bpfcc": set(),
}


@pytest.mark.parametrize("tool", sorted(NOT_OPTIONS))
def test_no_option_of_the_tool_is_forgotten(tool):
    """Each option that the installed tool's help names has a row."""
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    done = subprocess.run([tool, "--help"], capture_output=True, text=True, check=False)
    text = (done.stdout + done.stderr).split("examples:")[0]
    letters = {row["letter"] for row in ROWS if row["tool"] == tool and "letter" in row} | {"h"}
    names = {row["option"] for row in ROWS if row["tool"] == tool and "option" in row} | {"help"}
    found = set()
    for line in text.split("\n"):
        m = re.match(r" {1,8}(-.*?)(?: {2,}|$)", line)
        for word in re.findall(r"(?<![\w-])-{1,2}[\w-]+", re.sub(r"[=\[<].*?(?=,|$)", "", m[1])) if m else ():
            if word in NOT_OPTIONS[tool]:
                continue
            found.add(word)
            if word.startswith("--"):
                assert word[2:] in names, word
            else:
                assert set(word[1:]) <= letters, word
    assert len(found) > 10


def test_no_option_of_tcpdump_is_forgotten():
    """Its usage has letters in one group and further ones in brackets; -# is --number here."""
    if not shutil.which("tcpdump"):
        pytest.skip("tcpdump is not installed")
    done = subprocess.run(["tcpdump", "--help"], capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    rows = [row for row in ROWS if row["tool"] == "tcpdump"]
    letters = set(re.search(r"\[-(\w+#?)\]", text)[1]) | set(re.findall(r"\[ -(\w) ", text))
    names = set(re.findall(r"\[ ?--([\w-]+)", text))
    assert len(letters) > 30 and len(names) > 5
    assert letters - {"#"} <= {row.get("letter") for row in rows}
    assert names <= {row.get("option") for row in rows}


@pytest.mark.parametrize("verb", ["record", "script", "report", "top", "trace"])
def test_no_option_of_perf_is_forgotten(verb):
    """Each option that the installed perf's usage lists has a row, and no row has another name."""
    if not shutil.which("perf"):
        pytest.skip("perf is not installed")
    done = subprocess.run(["perf", verb, "-h"], capture_output=True, text=True, check=False)
    listed = re.findall(r"^ {4}(?:-(\w), |-(\w)(?= )|    )(?:--([\w-]+))?", done.stdout + done.stderr, re.M)
    theirs = {(a or b, name) for a, b, name in listed if a or b or name}
    ours = {(row.get("letter", ""), row.get("option", "")) for row in ROWS if row["tool"] == f"perf {verb}"}
    assert len(theirs) > 30 and theirs <= ours, theirs - ours


@pytest.mark.parametrize("words, said", [
    (["--help"], "Usage: sonde compat strace"), (["-V"], "sonde "), (["-d", "ls"], "-d (--debug)"),
])
def test_a_link_runs_its_dialect(sonde, tmp_path, words, said):
    link = tmp_path / "sonde-strace"
    link.symlink_to(sonde.path)
    done = subprocess.run([link, *words], capture_output=True, text=True, timeout=30, check=False)
    assert said in done.stdout + done.stderr and done.returncode == (2 if "-d" in words else 0)


def test_a_link_of_no_tool_says_so(sonde, tmp_path):
    link = tmp_path / "sonde-nosuch"
    link.symlink_to(sonde.path)
    done = subprocess.run([link], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2 and "no tool nosuch here" in done.stderr


@pytest.mark.parametrize("words, said", [
    ([], "must have PROG [ARGS] or -p PID"), (["-p", "x"], "invalid process id: 'x'"),
    (["-e", "trace=nosuch", "ls"], "invalid system call 'nosuch'"), (["-e", "trace=/(", "ls"], "regular expression"),
    (["-e", "signal=SIGNO", "ls"], "invalid signal 'SIGNO'"), (["-e", "what=x", "ls"], "unknown qualifier"),
    (["-e", "status=odd", "ls"], "odd is not one of"), (["-e", "read=x", "ls"], "invalid descriptor 'x'"),
    (["-e", "trace=open@32", "ls"], "not selected by ABI"), (["-X", "raw", "ls"], "-X raw is not supported"),
    (["-S", "size", "ls"], "invalid sortby"), (["-U", "calls,calls", "ls"], "more than once"),
    (["-U", "size", "ls"], "unknown column"), (["-s", "x", "ls"], "invalid -s argument"),
    (["-c", "-ff", "-o", "/dev/null", "ls"], "mutually exclusive"), (["-p", "1", "ls"], "one sonde for each"),
    (["-ff", "-o", "|cat", "ls"], "mutually exclusive"), (["--time", "rel", "ls"], "sonde syscalls --format strace"),
    (["--absolute-timestamps=odd", "ls"], "expected s, ms, us or ns"),
    (["-e", "inject=open:error=1", "ls"], "changes no call"),
    (["-e", "fault=open", "ls"], "changes no call"), (["-e", "kvm=vcpu", "ls"], "virtual machines"),
    (["-D", "-p", "1"], "PROG [ARGS] must be specified"), (["-b", "open", "ls"], "only execve"),
    (["--daemonize=x", "ls"], "expected grandchild"),
    (["--decode-pids=pidns", "ls"], "pidns is not supported"), (["--strings-in-hex=odd", "ls"], "expected all"),
])
def test_what_strace_would_not_take_either(sonde, words, said):
    done = sonde("compat", "strace", *words)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""
