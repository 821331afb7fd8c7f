# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of the tests and benchmarks end their children by SIGINT, also below a shell that ignores it."""
import os
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WATCHER = ["sh", "-c", "echo ready >&2; exec sleep 1000"]
BENCH = """
import sys
sys.path.insert(0, "tests/bench")
import veth
child = veth.start({words}, "ready")
veth.stop(child, {limit})
print(child.returncode)
"""
# Benchmarks with waits of their own: their `sonde` is one that does not end.
HELPERS = """
import sys
sys.path.insert(0, "tests/bench")
import sys_rate, sys_times, veth
veth.END_S = 0.2
{wait}
"""
WAITS = ("watch = sys_rate.start(sys.argv[1]); next(watch); next(watch)",
         "sys_times.rows(sys_times.watch(sys.argv[1], 1))")
DEAF = "#!/bin/sh\ntrap '{on_signal}' INT\necho ready >&2\nexec sleep 1000\n"
LAYER = """
import sys
sys.path.insert(0, "tools")
import check
check.LAYERS = {"lint": (lambda args, out: [sys.executable, "-c", PROGRAM.format(out=out)], check.count_file)}
sys.argv = ["check.py", "--build", sys.argv[1], "lint"]
sys.exit(check.main())
"""
TEST = """
import json, os, signal
ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
json.dump({{"passed": int(not ignored), "failed": int(ignored)}}, open("{out}", "w"))
"""


def in_background(code, *args):
    """Runs Python code as `sh` runs a job in the background."""
    shell = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
    return subprocess.run([*shell, "/usr/bin/python3", "-c", code, *args], cwd=ROOT, capture_output=True, text=True,
                          timeout=60, check=False)


def test_a_watcher_of_the_benchmarks_ends():
    done = in_background(BENCH.format(words=WATCHER, limit=30))
    assert done.stdout == "-2\n", done.stderr


def test_a_watcher_that_does_not_end_is_killed():
    deaf = ["sh", "-c", "trap '' INT; echo ready >&2; exec sleep 1000"]
    done = in_background(BENCH.format(words=deaf, limit=0.2))
    assert done.returncode == 1 and "did not end" in done.stderr and done.stdout == ""


@pytest.mark.parametrize("wait", WAITS, ids=("sys_rate", "sys_times"))
@pytest.mark.parametrize("on_signal, says", (("", "did not end within"), ("-", "")), ids=("deaf", "hears"))
def test_benchmarks_end_their_watchers(tmp_path, wait, on_signal, says):
    (tmp_path / "sonde").write_text(DEAF.format(on_signal=on_signal))
    (tmp_path / "sonde").chmod(0o755)
    done = in_background(HELPERS.format(wait=wait), str(tmp_path))
    assert says in done.stderr and ("did not end" in done.stderr) == bool(says)


def test_layers_of_make_check_receive_it(tmp_path):
    done = in_background(f"PROGRAM = {TEST!r}\n{LAYER}", str(tmp_path))
    assert done.stdout.endswith("1 passed, 0 failed, 0 skipped\n"), done.stdout + done.stderr
