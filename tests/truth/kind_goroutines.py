# SPDX-License-Identifier: GPL-2.0-or-later
"""Go programs of two releases, with and without cgo: a system call has the goroutine that made it, a sample the
goroutine that ran, as runtime.Stack numbers them."""
import collections
import os

import go_programs
import markers

GOROUTINES, BUSY_MS, HZ = 10_000, 800, 499
FUNCTIONS = 3
BUILDS = [(suite, variant) for suite in go_programs.SUITES for variant in ("nocgo", "cgo")]


def prepare():
    for build in BUILDS:
        go_programs.make("goroutines", *build)


def run(stage):
    group = stage.cgroup()
    goroutines = min(GOROUTINES, stage.events // 10)
    calls = max(2, stage.events // (2 * len(BUILDS) * goroutines))
    programs = [go_programs.build(stage, "goroutines", *build) for build in BUILDS]
    watch = stage.watch("record", "record", "--set", "sys,cpu", "--cgroup", os.path.basename(group), "-F", HZ)
    for turn in ("first", "second"):
        for build, program in zip(BUILDS, programs):
            stage.run("-".join((*build, turn)), program, goroutines, calls, BUSY_MS, cgroup=group)
    recording = stage.finish(watch)
    rows = {turn: [list(stage.truth("-".join((*build, turn)))) for build in BUILDS] for turn in ("first", "second")}
    first = {some[0]["pid"] for some in rows["first"]}
    check_calls(stage, recording, first)
    for turn in rows.values():
        for some in turn:
            check_samples(stage, recording, some, first)
    stage.check_replay(recording)


def judge(score, ev, expected, example, first):
    """@first: processes that were the first of their file, whose analysis takes a moment."""
    if "goid" not in ev and ev["proc"]["pid"] in first:
        score.add_excused("first run of a file")
    else:
        score.equal(ev.get("goid"), expected, example)


def check_calls(stage, recording, first):
    seen = collections.Counter()
    for ev in recording.events(b'"lseek"'):
        marker = markers.of(ev)
        if marker and marker[0] == markers.GOID:
            seen[ev["proc"]["pid"]] += 1
            judge(stage.score("call"), ev, marker[1], f"{ev['proc'].get('exe')} {ev['args']}", first)
    stage.score("generator").equal(len(seen), 4 * len(go_programs.SUITES), "programs made calls")


def check_samples(stage, samples, rows, first):
    """@rows: which goroutine ran which function."""
    goid = {row["function"]: row["goid"] for row in rows}
    found = set()
    for ev in samples.events(b'"cpu.sample"'):
        if not rows or ev["proc"].get("pid") != rows[0]["pid"]:
            continue
        names = {frame.partition("+")[0] for frame in ev.get("ustack") or []}
        for function in names & goid.keys():
            found.add(function)
            judge(stage.score("sample"), ev, goid[function], function, first)
    if rows[0]["pid"] not in first:
        stage.score("functions").equal(len(found), FUNCTIONS, "functions were sampled")
