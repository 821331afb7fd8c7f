# SPDX-License-Identifier: GPL-2.0-or-later
"""A replay names what the live run named, of processes that live for a moment too, and nothing else."""
import os
import re
import shutil
import signal
import subprocess

import pytest

import helpers

# Runs for a twentieth of a second of CPU time in a function of its own, as a thread of its own name.
PROGRAM = """
#include <sys/prctl.h>
#include <time.h>
void @_spin(void) { while (clock() < CLOCKS_PER_SEC / 20) ; }
int main(void) { prctl(PR_SET_NAME, "@"); @_spin(); return 0; }
"""
FLAGS = {"shared": (), "static": ("-static",), "bare": ("-static", "-Wl,--build-id=none"), "stripped": ("-s",),
         "outside": (), "inside": (), "deleted": ()}

# The shell is there before the run: a child has its mappings, and those of the same file after an exec.
ROUNDS = """
work() { for ((i = 0; i < 5000; i++)); do :; done; }
while :; do
    (work); ./shell -c "$(declare -f work); work"
    ./shared; ./static; ./bare; ./stripped; ./outside
    unshare -m ./shell -c 'mount --bind inside outside; exec ./outside'
    cp deleted gone; ./gone & sleep 0.01; rm gone; wait
    echo round
done
"""


@pytest.fixture
def programs(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    shutil.copy("/bin/bash", folder / "shell")
    for name, flags in FLAGS.items():
        helpers.sh("cc", "-O1", "-o", str(folder / name), *flags, "-x", "c", "-",
                   input=PROGRAM.replace("@", name), timeout=60)
    return folder


def folded(*words):
    done = subprocess.run([helpers.BINARY, "profile", *map(str, words), "-o", "folded"], capture_output=True,
                          timeout=helpers.READY_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_short_processes_have_the_same_names(sonde, programs, tmp_path):
    """Whether their file is found by build id or by inode, has none of both, is another one elsewhere, or is gone."""
    live, recording = tmp_path / "live.folded", tmp_path / "x.rec"
    elsewhere = subprocess.run(["unshare", "-m", "true"], check=False).returncode == 0
    with subprocess.Popen(["./shell", "-c", ROUNDS], cwd=programs, stdout=subprocess.PIPE,
                          start_new_session=True) as rounds:
        rounds.stdout.readline()
        run = sonde("profile", "--agent=no", "-v", "-F", "499", "-o", f"rec:{recording}", "-o", f"folded:{live}")
        for _ in range(3):
            assert rounds.stdout.readline() == b"round\n"
        run.stop()
        os.killpg(rounds.pid, signal.SIGKILL)
    text = live.read_bytes()
    assert folded("-r", recording) == text
    shutil.move(programs, tmp_path / "elsewhere")
    assert folded("-r", recording) == text
    stacks = [line.rsplit(" ", 1)[0] for line in text.decode().splitlines()]
    for name in FLAGS if elsewhere else FLAGS.keys() - {"inside"}:
        of_it = [stack for stack in stacks if stack.startswith(f"{name};")]
        assert of_it and {found for stack in of_it for found in re.findall(r";([a-z]+)_spin\b", stack)} <= {name}
    for name in ("shared", "static", "bare", "outside"):
        assert any(f";{name}_spin" in stack for stack in stacks), name
    assert any(stack.startswith("shell;") and ";main;" in stack for stack in stacks)
    if not elsewhere:
        pytest.skip("inside alone was not run: unshare -m needs a root that is a mount point")
