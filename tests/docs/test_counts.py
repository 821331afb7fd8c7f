# SPDX-License-Identifier: GPL-2.0-or-later
"""The closing lines of `make check` tell the truth: failures, deaths, hangs, skips and noise are counted as such."""
import importlib.machinery
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time

import pytest

from conftest import ROOT

sys.path.insert(0, os.path.join(ROOT, "tools"))
import check  # noqa: E402  found by the line above
import check_results  # noqa: E402

CASES = """
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>
static void good(void **s) { (void)s; assert_int_equal(1, 1); }
static void bad(void **s) { (void)s; assert_int_equal(1, 2); }
static void skipped(void **s) { (void)s; skip(); }
static void dies(void **s) { (void)s; abort(); }
int main(void)
{
	const struct CMUnitTest tests[] = { ROWS };
	(void)good; (void)bad; (void)skipped; (void)dies;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
"""


def counts(tmp_path, rows):
    """What check.py counts for a test program with these rows."""
    source, program, log = tmp_path / "t.c", tmp_path / "t", tmp_path / "testlog.json"
    source.write_text(CASES.replace("ROWS", ", ".join(f"cmocka_unit_test({row})" for row in rows)))
    subprocess.run(["cc", "-o", program, source, "-lcmocka"], check=True, capture_output=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    log.write_text(json.dumps({"name": "rows", "stdout": done.stdout, "stderr": done.stderr,
                               "result": "OK" if done.returncode == 0 else "FAIL"}) + "\n")
    tally = check_results.count_cmocka(log)
    assert tally.lines() == [f"rows: {row}" for row in dict.fromkeys(rows) if row in ("bad", "dies")]
    return tally.passed, tally.failed, tally.skipped


@pytest.mark.parametrize("rows,expected", [
    (["good", "good"], (2, 0, 0)),
    (["good", "bad"], (1, 1, 0)),
    (["bad", "bad", "good"], (1, 2, 0)),
    (["good", "skipped"], (1, 0, 1)),
    (["bad", "skipped", "good"], (1, 1, 1)),
    (["good", "dies"], (1, 1, 0)),
])
def test_cmocka(tmp_path, rows, expected):
    assert counts(tmp_path, rows) == expected


def test_program_without_cases_counts_by_status(tmp_path):
    log = tmp_path / "log"
    log.write_text('{"name": "a", "stdout": "", "stderr": "", "result": "OK"}\n'
                   '{"name": "b", "stdout": "", "result": "TIMEOUT"}\n')
    tally = check_results.count_cmocka(log)
    assert (tally.passed, tally.failed, tally.skipped, tally.lines()) == (1, 1, 0, ["b"])


TESTS = """\
import os, pytest
def test_a(): pass
def test_b(): assert 0
def test_c(): pytest.skip('no moon')
@pytest.fixture
def f(): raise ValueError
@pytest.fixture
def g():
    yield
    raise ValueError
@pytest.mark.parametrize("n", range(5))
def test_d(f, n): pass
def test_e(g): pass
"""


def pytest_tally(folder, text):
    """What is counted of a file of tests, and the status of pytest."""
    out = folder / "outcomes"
    (folder / "test_x.py").write_text(text)
    done = subprocess.run(["/usr/bin/python3", os.path.join(ROOT, "tools", "pytest_outcomes.py"), out, "-q", "-p",
                           "no:cacheprovider", "."], cwd=folder, check=False, capture_output=True)
    return check_results.count_pytest(out), done.returncode


def test_every_failed_test_is_named_also_if_its_fixture_failed(tmp_path):
    tally, status = pytest_tally(tmp_path, TESTS)
    assert (tally.passed, tally.failed, tally.skipped, status) == (1, 7, 1, 1)
    assert tally.reasons == ["test_c: Skipped: no moon"]
    names = ["test_b", *(f"test_d[{n}]" for n in range(5)), "test_e"]
    assert tally.lines() == [f"test_x.py::{name}" for name in names]


def test_a_file_that_cannot_be_imported_is_named(tmp_path):
    tally, status = pytest_tally(tmp_path, "import nosuchmodule\n")
    assert (tally.failed, tally.lines(), status) == (1, ["test_x.py"], 2)


def test_a_run_that_dies_names_what_it_was_at_and_what_it_left_out(tmp_path):
    tally, _ = pytest_tally(tmp_path, TESTS.replace("('no moon')", "('no moon')\ndef test_cc(): os._exit(0)"))
    assert (tally.passed, tally.failed, tally.skipped) == (1, 3, 1)
    assert tally.lines() == ["test_x.py::test_b", "test_x.py::test_cc: it had not ended",
                             "(not begun): 6 tests did not begin, the first is test_x.py::test_d[0]"]


# ---- whole runs, of layers made up here ----

def shell_layer(script):
    return lambda args, out, *_: ["sh", "-c", f"OUT={out}; {script}"], check.count_file


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    """checked(tests, {layer: script}, option...) runs check.py in a folder that has the one file of tests, as layer
    e2e, and layers that are a shell's. (exit status, what was printed)
    """
    monkeypatch.setattr(check, "ROOT", str(tmp_path))
    monkeypatch.setattr(check, "AHEAD", {})
    monkeypatch.setattr(check, "ASIDE", ())
    monkeypatch.setattr(check, "END_S", 2)
    monkeypatch.setattr(check.signal, "signal", lambda *_: None)
    monkeypatch.setattr(check_results, "QUARANTINE", str(tmp_path / "quarantine.tsv"))
    (tmp_path / "quarantine.tsv").write_text("# none\n")

    def run(tests="def test_good(): pass\n", layers=(), *options):
        (tmp_path / "test_x.py").write_text(tests)
        monkeypatch.setitem(check.LAYERS, "e2e", (check.pytest_layer("."), check.count_pytest))
        for name, script in dict(layers or {"lint": PASSES}).items():
            monkeypatch.setitem(check.LAYERS, name, shell_layer(script))
        words = [*options, *(layers or ["lint"]), "e2e"]
        monkeypatch.setattr(sys, "argv", ["check.py", "--build", str(tmp_path / "build"), *words])
        status = check.main()
        return status, capsys.readouterr().out
    return run


PASSES = """echo '{"passed": 1, "failed": 0, "skipped": 0}' >$OUT"""
ONCE = """
import os
def test_noisy():
    before = os.path.exists("seen")
    open("seen", "w").close()
    assert before
"""


@pytest.mark.parametrize("script", ["exit 3", "true", "echo junk >$OUT"])
def test_a_layer_that_dies_or_says_nothing_fails(checked, script):
    status, out = checked(layers={"lint": script})
    assert status == 1 and out.endswith("1 passed, 1 failed, 0 skipped\n")
    assert out.count("failed: lint: ") == 1


def test_unit_tests_that_were_not_built_are_a_failure(checked, tmp_path):
    (tmp_path / "build").mkdir()
    for has, failed in ("#define HAVE_CMOCKA\n", 0), ("#undef HAVE_CMOCKA\n#undef HAVE_JSON_C\n", 2):
        (tmp_path / "build" / "test-packages.h").write_text(has)
        status, out = checked(layers={"unit": "mkdir -p build/meson-logs; " + PASSES.replace(
            "$OUT", "build/meson-logs/testlog.json")})
        assert out.endswith(f"2 passed, {failed} failed, 0 skipped\n") and status == bool(failed)
        assert out.count("failed: unit: configured without ") == failed
    assert "configured without cmocka, whose tests are missing (tools/setup.sh quick)" in out


def test_a_layer_that_hangs_is_ended(checked, monkeypatch):
    monkeypatch.setattr(check, "COMMAND_LIMIT_S", 1)
    status, out = checked(layers={"lint": "sleep 60"})
    assert status == 1 and "failed: lint: lint ended after 1 s\n" in out
    assert out.endswith("1 passed, 1 failed, 0 skipped\n")


def test_a_layer_without_a_result_says_so(checked):
    status, out = checked(layers={"lint": "true"})
    assert status == 1 and "failed: lint: no readable result" in out


def test_a_test_that_hangs_is_ended_and_the_next_begins(checked, monkeypatch):
    monkeypatch.setattr(check, "TEST_LIMIT_S", 3)
    monkeypatch.setattr(check, "END_S", 30)     # the fixture ends in time also where the machine is busy
    monkeypatch.setattr(check, "TRIES", 0)
    began = time.monotonic()
    status, out = checked("""
import pytest, subprocess, time
def test_before(): pass
@pytest.fixture
def tidy():
    yield
    open("tidied", "w").close()
def test_hangs(tidy): subprocess.run(["sleep", "600"])
@pytest.mark.limit(600)
def test_longer(): time.sleep(4)
def test_after():
    open("tidied").close()
""")
    assert time.monotonic() - began < 60
    assert status == 1 and out.endswith("4 passed, 1 failed, 0 skipped\n")
    assert "failed: e2e: test_x.py::test_hangs: hung: ended after 3 s\n" in out


def test_a_test_that_cannot_be_interrupted_is_killed(checked, monkeypatch):
    monkeypatch.setattr(check, "TEST_LIMIT_S", 1)
    monkeypatch.setattr(check, "TRIES", 0)
    status, out = checked("import signal, time\ndef test_deaf():\n    signal.signal(2, signal.SIG_IGN)\n"
                          "    time.sleep(600)\ndef test_after(): pass\n")
    assert status == 1 and "failed: e2e: test_x.py::test_deaf: hung: ended after 1 s\n" in out
    assert out.endswith("2 passed, 1 failed, 0 skipped\n")


def test_a_test_that_ends_pytest_is_named_and_the_next_begins(checked, monkeypatch):
    monkeypatch.setattr(check, "TRIES", 0)
    status, out = checked("import os\ndef test_killed(): os.kill(os.getpid(), 9)\ndef test_after(): pass\n")
    assert status == 1 and "failed: e2e: test_x.py::test_killed: it had not ended\n" in out
    assert out.endswith("2 passed, 1 failed, 0 skipped\n")


def test_what_passes_at_another_try_is_flaky(checked):
    status, out = checked(ONCE)
    assert status == 0 and "flaky: e2e: test_x.py::test_noisy (2 tries)\n" in out
    assert out.endswith("2 passed, 0 failed, 0 skipped\n")


def test_what_fails_each_time_has_failed(checked):
    status, out = checked("def test_bad():\n    open('tries', 'a').write('x')\n    assert 0\n"
                          "def test_last(): assert open('tries').read() != 'xxx'\n")
    assert status == 1 and "failed: e2e: test_x.py::test_bad\n" in out and "flaky" not in out
    assert out.count(" again, try ") == 2 and out.endswith("2 passed, 1 failed, 0 skipped\n")


def test_many_failures_are_not_noise(checked):
    tests = "import pytest\n@pytest.mark.parametrize('n', range(16))\ndef test_bad(n): assert 0\n"
    status, out = checked(tests)
    assert status == 1 and " again, try " not in out and out.endswith("1 passed, 16 failed, 0 skipped\n")


def test_a_layer_that_only_computes_gets_no_other_try(checked):
    script = """echo '{"passed": 0, "failed": 1, "skipped": 0, "failures": ["spdx"]}' >$OUT; exit 1"""
    status, out = checked(layers={"lint": script})
    assert status == 1 and " again, try " not in out and "failed: lint: spdx\n" in out


def test_a_kernel_is_tried_again_alone(checked, tmp_path):
    script = f"""if test -e {tmp_path}/booted
        then echo '{{"parts": {{"6.1": [9, 0, 0]}}}}' >$OUT
        else touch {tmp_path}/booted
            echo '{{"parts": {{"6.1": [8, 2, 0], "5.10": [7, 0, 0]}}, "failures": ["6.1: missing: cpu"]}}' >$OUT
            exit 1
        fi"""
    status, out = checked(layers={"vm": script})
    assert status == 0 and "flaky: vm: 6.1 (2 tries)\n" in out and out.endswith("17 passed, 0 failed, 0 skipped\n")


def test_a_test_in_quarantine_runs_and_does_not_count_as_passed(checked, tmp_path):
    (tmp_path / "quarantine.tsv").write_text("test_x.py::test_bad\t2026-11-01\tlate\tto be mended\n")
    status, out = checked("def test_bad(): assert 0\ndef test_good(): pass\n")
    assert status == 0 and out.endswith("2 passed, 0 failed, 1 skipped\n")
    assert "quarantined: e2e: test_x.py::test_bad (since 2026-11-01: late; to be mended)\n" in out
    status, out = checked("def test_bad(): pass\ndef test_good(): pass\n")
    assert out.endswith("3 passed, 0 failed, 0 skipped\n") and "quarantined" not in out


def test_everything_ends_in_time_with_the_counts(checked):
    """What is at work is ended, what comes behind does not begin, and both are failures."""
    began = time.monotonic()
    status, out = checked("import time\ndef test_long(): time.sleep(60)\ndef test_after(): pass\n",
                          {"unit": PASSES, "lint": "sleep 60", "golden": PASSES},
                          "--until", str(time.monotonic() + 1))
    assert status == 1 and time.monotonic() - began < 30
    for layer in ("lint", "golden", "e2e"):
        assert f"failed: {layer}: " in out
    assert " again, try " not in out


def test_out_of_time_in_pytest_names_what_was_left(checked):
    status, out = checked("import time\ndef test_first(): pass\ndef test_long(): time.sleep(60)\n"
                          "def test_after(): pass\n", {"lint": PASSES}, "--until", str(time.monotonic() + 4))
    assert status == 1 and "failed: e2e: test_x.py::test_long: it had not ended\n" in out
    assert "1 tests did not begin, the first is test_x.py::test_after\n" in out
    assert out.endswith("2 passed, 2 failed, 0 skipped\n")


def test_a_broken_build_runs_nothing_and_says_so(checked, tmp_path):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "build.sh").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "tools" / "build.sh").chmod(0o755)
    status, out = checked("", None, "--make")
    assert status == 1 and "== e2e" not in out
    assert "failed: build: it does not build: nothing ran\n" in out
    assert out.endswith("0 passed, 1 failed, 0 skipped\n")


def test_layers_that_run_aside_count(tmp_path, monkeypatch, capsys):
    """Without a program the golden layer, a process of its own, fails; the one beside it passes."""
    (tmp_path / "test_x.py").write_text("def test_good(): pass\n")
    monkeypatch.setattr(check, "ASIDE", (("golden",), ("unit",)))
    monkeypatch.setattr(check, "AHEAD", {})
    monkeypatch.setattr(check.signal, "signal", lambda *_: None)
    monkeypatch.setitem(check.LAYERS, "e2e", (check.pytest_layer(str(tmp_path)), check.count_pytest))
    monkeypatch.setattr(sys, "argv", ["check.py", "--build", str(tmp_path), "golden", "e2e"])
    assert check.main() == 1
    out = capsys.readouterr().out
    assert "== golden: 0 passed" in out and "failed: golden: " in out
    assert "e2e      1 passed, 0 failed, 0 skipped\n" in out


def test_the_truth_gate_skips_what_lacks_a_package(tmp_path, monkeypatch):
    """What could not be checked for another reason is red."""
    monkeypatch.syspath_prepend(os.path.join(ROOT, "tests", "truth"))
    loader = importlib.machinery.SourceFileLoader("truth", os.path.join(ROOT, "tests", "truth", "run"))
    truth = importlib.util.module_from_spec(importlib.util.spec_from_loader("truth", loader))
    loader.exec_module(truth)
    score = importlib.import_module("score")
    right = score.Score()
    right.add_right()
    bars = [score.Bar(name, "") for name in ("files.name", "files.scap", "go.calls", "servers.php")]
    done = truth.judge(bars, {"files.name": right}, {"servers.php": "php did not start"},
                       {"files.scap": "sysdig is not installed", "go.*": "no Go"})
    truth.write_tally(tmp_path / "tally", *done)
    tally = check_results.count_file(tmp_path / "tally")
    assert (tally.passed, tally.failed, tally.skipped) == (1, 1, 2)
    assert tally.reasons == ["files.scap: sysdig is not installed", "go.calls: no Go"]
    assert tally.lines() == ["servers.php: php did not start"]
