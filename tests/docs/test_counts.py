# SPDX-License-Identifier: GPL-2.0-or-later
"""The closing line of `make check` tells the truth: failures, deaths and skips are counted as such."""
import importlib.util
import json
import os
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
spec = importlib.util.spec_from_file_location("check", os.path.join(ROOT, "tools", "check.py"))
check = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check)

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
    tally = check.count_cmocka(log)
    assert tally.failures == [f"rows: {row}" for row in dict.fromkeys(rows) if row in ("bad", "dies")]
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
    tally = check.count_cmocka(log)
    assert (tally.passed, tally.failed, tally.skipped, tally.failures) == (1, 1, 0, ["b"])


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
    """What check.py counts of a file of tests, and the status of pytest."""
    out = folder / "outcomes"
    (folder / "test_x.py").write_text(text)
    done = subprocess.run(["/usr/bin/python3", os.path.join(ROOT, "tools", "pytest_outcomes.py"), out, "-q", "-p",
                           "no:cacheprovider", "."], cwd=folder, check=False, capture_output=True)
    return check.count_pytest(out), done.returncode


def test_every_failed_test_is_named_also_if_its_fixture_failed(tmp_path):
    tally, status = pytest_tally(tmp_path, TESTS)
    assert (tally.passed, tally.failed, tally.skipped, status) == (1, 7, 1, 1)
    assert tally.reasons == ["test_c: Skipped: no moon"]
    names = ["test_b", *(f"test_d[{n}]" for n in range(5)), "test_e"]
    assert tally.failures == [f"test_x.py::{name}" for name in names]


def test_a_file_that_cannot_be_imported_is_named(tmp_path):
    tally, status = pytest_tally(tmp_path, "import nosuchmodule\n")
    assert (tally.failed, tally.failures, status) == (1, ["test_x.py"], 2)


def test_a_run_that_dies_names_what_it_was_at_and_what_it_left_out(tmp_path):
    tally, _ = pytest_tally(tmp_path, TESTS.replace("('no moon')", "('no moon')\ndef test_cc(): os._exit(0)"))
    assert (tally.passed, tally.failed, tally.skipped) == (1, 3, 1)
    assert tally.failures == ["test_x.py::test_b", "test_x.py::test_cc: it had not ended",
                              "6 tests did not begin, the first is test_x.py::test_d[0]"]


@pytest.mark.parametrize("script", ["exit 3", "true", "sleep 60", "echo junk >$OUT"])
def test_a_layer_that_dies_hangs_or_says_nothing_fails(tmp_path, monkeypatch, script):
    monkeypatch.setitem(check.LAYERS, "lint", (lambda args, out: ["sh", "-c", f"OUT={out}; {script}"],
                                               check.count_file, 1))
    args = type("Args", (), {"build": str(tmp_path)})()
    tally = check.run_layer("lint", args)
    assert (tally.passed, tally.failed, tally.skipped) == (0, 1, 0)
    assert len(tally.failures) == 1


def test_a_layer_without_a_result_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(check.LAYERS, "e2e", (lambda args, out: ["true"], check.count_pytest, 60))
    args = type("Args", (), {"build": str(tmp_path), "pytest_args": ""})()
    tally = check.run_layer("e2e", args)
    assert tally.failed == 1 and "no readable result" in tally.failures[0]


def test_a_layer_that_dies_names_the_test_it_was_at(tmp_path, monkeypatch):
    (tmp_path / "test_x.py").write_text("import os\ndef test_good(): pass\n"
                                        "def test_killed(): os.kill(os.getpid(), 9)\n")
    monkeypatch.setattr(check, "ROOT", str(tmp_path))
    monkeypatch.setitem(check.LAYERS, "e2e", (check.pytest_layer("."), check.count_pytest, 60))
    args = type("Args", (), {"build": str(tmp_path), "pytest_args": ""})()
    tally = check.run_layer("e2e", args)
    assert (tally.passed, tally.failures) == (1, ["test_x.py::test_killed: it had not ended"])


def test_layers_that_run_aside_count(tmp_path, monkeypatch, capsys):
    """Without a program the golden layer, a process of its own, fails; the one beside it passes."""
    (tmp_path / "test_x.py").write_text("def test_good(): pass\n")
    monkeypatch.setattr(check, "ASIDE", (("golden",), ("unit",)))
    monkeypatch.setattr(check, "AHEAD", {})
    monkeypatch.setitem(check.LAYERS, "e2e", (check.pytest_layer(str(tmp_path)), check.count_pytest, 60))
    args = type("Args", (), {"build": str(tmp_path), "pytest_args": "", "layer": ["golden", "e2e"], "kernels": "",
                             "fuzz_seconds": 1, "fuzz_target": ""})()
    tallies = check.run_layers(args)
    assert list(tallies) == ["golden", "e2e"]
    assert tallies["golden"].failed >= 1 and tallies["golden"].failures
    assert (tallies["e2e"].passed, tallies["e2e"].failed) == (1, 0)
    assert "== golden: 0 passed" in capsys.readouterr().out
