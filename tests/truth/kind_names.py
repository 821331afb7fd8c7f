# SPDX-License-Identifier: GPL-2.0-or-later
"""Chains of vfork and exec beside two busy loops: each call has the name of the image that made it, in every
output."""
import collections
import os
import re
import shutil
import subprocess

import helpers
import markers

STAGES, CALLS, BUSY = 6, 200, 2
SHELL = "ls /; ls /etc; ls /tmp"
SHELL_RUNS = 50     # in each of two rounds
# calls that only one of the two programs makes
CALLER = {"getdents64": "ls", "wait4": "sh"}
LINE = {
    "txt": re.compile(r"^\S+ (\S+)\[\d+\] (getdents64|wait4)\("),
    "sysdig": re.compile(r"^\d+ \S+ \d+ (\S+) \(\d+\) [<>] (getdents64|wait4) "),
}
DUMP = re.compile(r"^(\S+) (getdents64|wait4)$")


def run(stage):
    chain = stage.compile("chain.c")
    for number in range(STAGES):
        shutil.copy(chain, stage.path("programs", f"stage{number}"))
    busy = [stage.start("busy", chain, "busy", stdin=subprocess.DEVNULL) for _ in range(BUSY)]
    try:
        chains(stage, chain)
        shells(stage, "shells", ())
        shells(stage, "shells-sysdig", ("--format", "sysdig"))
    finally:
        for child in busy:
            stage.stop(child)


def chains(stage, program):
    group = stage.cgroup()
    runs = max(10, stage.events // (STAGES * CALLS * 3))
    watch = stage.watch("chains", "syscalls", "--cgroup", os.path.basename(group))
    stage.run("chain", program, stage.path("programs"), STAGES, runs, CALLS, stage.random.randrange(1 << 30),
              cgroup=group)
    recording = stage.finish(watch)
    stages = collections.Counter()
    for ev in recording.events(b'"lseek"'):
        marker = markers.of(ev)
        if not marker:
            continue
        number, value = marker
        if number == markers.PID:
            stage.score("process").equal(ev["proc"].get("pid"), value)
        else:
            stages[value] += 1
            stage.score("chain").equal(ev["proc"].get("name"), f"stage{value}", f"pid {ev['proc'].get('pid')}")
    stage.score("stages").equal(len(stages), STAGES, "images of the chain made calls")
    stage.check_replay(recording)


def shells(stage, name, words):
    """The shell command in all outputs: what is in JSON must be in the others, with the right names."""
    group = stage.cgroup()
    runs = SHELL_RUNS if stage.events >= 50_000 else SHELL_RUNS // 5
    text = "sysdig" if words else "txt"
    watch = stage.watch(name, "syscalls", "--cgroup", os.path.basename(group), *words,
                        **{text: "text", "scap": "scap"})
    stage.run(name, "sh", "-c", f"for i in $(seq {runs}); do sh -c '{SHELL}'; done", cgroup=group,
              stdout=subprocess.DEVNULL)
    recording = stage.finish(watch)
    calls = collections.Counter()
    for ev in recording.events(b'"sys.exit"'):
        if ev["name"] in CALLER:
            calls[ev["name"]] += 1
            stage.score("json").equal(ev["proc"].get("name"), CALLER[ev["name"]], ev["name"])
    if calls["getdents64"] < runs * 6:
        stage.score("json").add_wrong(f"{calls} of {runs} runs")
    with open(recording.file(text), encoding="utf-8", errors="replace") as lines:
            check_lines(stage.score("text" if text == "txt" else text), LINE[text], lines, calls)
    if not shutil.which("sysdig"):
        stage.lacks("scap", "sysdig is not installed")
        return
    dump = helpers.sh("sysdig", "-r", recording.file("scap"), "-p", "%proc.name %evt.type",
                      "evt.type in (getdents64, wait4)", timeout=60).stdout.splitlines()
    check_lines(stage.score("scap"), DUMP, dump, calls)


def check_lines(score, pattern, lines, calls):
    """Names in @lines, and as many lines as JSON has @calls: a capture makes two events of each, entered and left."""
    seen = collections.Counter()
    for line in lines:
        match = pattern.match(line)
        if match:
            seen[match[2]] += 1
            score.equal(match[1], CALLER[match[2]], line.strip()[:100])
    for name, count in calls.items():
        if seen[name] != 2 * count:
            score.add_wrong(f"{seen[name]} lines of {name}, 2 for each of {count} calls")
