# SPDX-License-Identifier: GPL-2.0-or-later
"""A process id that comes again and again with another executable file: each call belongs to its own generation."""
import collections
import os
import shutil

import markers

FILES, CALLS = 5, 10


def run(stage):
    program = stage.compile("reuse.c")
    for number in range(FILES):
        shutil.copy(program, stage.path("programs", f"other{number}"))
    group = stage.cgroup()
    generations = max(50, min(3000, stage.events // (CALLS * 8)))
    watch = stage.watch("syscalls", "syscalls", "--cgroup", os.path.basename(group))
    stage.run("reuse", program, stage.path("programs"), FILES, generations, CALLS, cgroup=group)
    recording = stage.finish(watch)
    truth = {row["generation"]: row for row in stage.truth("reuse")}
    most = collections.Counter(row["pid"] for row in truth.values()).most_common(1)
    stage.score("generator").equal(most[0][1] >= 20, True, "one process id at least twenty times")
    for ev in recording.events(b'"lseek"'):
        marker = markers.of(ev)
        if marker:
            judge(stage, ev["proc"], truth, *marker)
    stage.check_replay(recording)


def judge(stage, process, truth, number, value):
    if number == markers.PID:
        stage.score("process").equal(process.get("pid"), value)
    elif number == markers.STAGE:
        stage.score("name").equal(process.get("name"), f"other{value}", f"{process}")
    elif number == markers.GENERATION:
        row, start = truth[value], process.get("start_ns")
        good = row["before"] <= start <= row["after"] if start else None
        stage.score("start").equal(good, True, f"{process}, not {row}")
