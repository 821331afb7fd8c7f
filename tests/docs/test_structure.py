# SPDX-License-Identifier: GPL-2.0-or-later
"""The check of the product's shape counts what it says it counts, over small trees that are compiled here."""
import json
import os
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "tools/lint/structure.py")
TARGETS = {"circles": 0, "folder-circles": 0, "include-circles": 0, "include-folders": 0, "dead": 0,
           "tested-only": 0, "static": 0, "prefix": 0, "files": 30, "single": 0, "impl": 0, "options": 30, "help": 60}
MAIN = {"src/cmd/main.c": "void a_run(void);\nint main(void) { a_run(); }\n"}
PROGRAM = """#!/bin/sh
case $1 in
help) printf 'Commands:\\n  see  looks\\n\\n' ;;
*) seq -f '      --option%g WORD  text' 1 70 | tr 0123456789 abcdefghij ;;
esac
"""

# kind, {path: text}, each finding
CASES = [
    ("circles", {"src/x/a.c": "void b_run(void);\nvoid a_run(void) { b_run(); }\n",
                 "src/x/b.c": "void a_run(void);\nvoid b_run(void) { a_run(); }\n"},
     ["src/x/a.c:1: in a circle of 2, closed by src/x/b.c -> src/x/a.c (a_run)",
      "src/x/b.c:1: in a circle of 2, closed by src/x/b.c -> src/x/a.c (a_run)"]),
    ("circles", {"src/x/a.c": "void b_run(void);\nvoid a_run(void) { b_run(); }\n",
                 "src/x/b.c": "void b_run(void) {}\n"}, []),
    ("circles", {"src/packet/dissect.c": "void a_run(void);\nvoid b_run(void) { a_run(); }\n",
                 "src/packet/packet_ip.c": "void b_run(void);\nvoid a_run(void) { b_run(); }\n"}, []),
    ("folder-circles", {"src/x/a.c": "void b_run(void);\nvoid a_run(void) { b_run(); }\nvoid a_end(void) {}\n",
                        "src/y/b.c": "void a_end(void);\nvoid b_run(void) { a_end(); }\n"},
     ["src/x:1: in a circle of 2, closed by src/y -> src/x (a_end)",
      "src/y:1: in a circle of 2, closed by src/y -> src/x (a_end)"]),
    ("include-circles", {"src/x/a.c": '#include "b.h"\nvoid a_run(void) {}\n', "src/x/a.h": "", "src/x/b.h": "",
                         "src/x/b.c": '#include "a.h"\n', "src/x/c.h": '#include "x/a.h"\n'},
     ["src/x/a:1: in a circle of 2, closed by src/x/b -> src/x/a (a.h)",
      "src/x/b:1: in a circle of 2, closed by src/x/b -> src/x/a (a.h)"]),
    ("include-circles", {"src/x/a.c": '#include "a.h"\n#include "b.h"\nvoid a_run(void) {}\n', "src/x/a.h": "",
                         "src/x/b.h": "", "probes/x/b.bpf.c": '#include "x/a.h"\n'}, []),
    ("include-folders", {"src/x/a.c": "void a_run(void) {}\n", "src/x/a.h": '#include "y/b.h"\n',
                         "src/x/c/a.h": "", "src/y/b.h": '#include "x/c/a.h"\n'},
     ["src/x:1: in a circle of 2, closed by src/y -> src/x (a.h)",
      "src/y:1: in a circle of 2, closed by src/y -> src/x (a.h)"]),
    ("dead", {"src/x/a.c": "void a_run(void) {}\n\nvoid a_old(void)\n{\n}\n"},
     ["src/x/a.c:3: a_old(): unused: remove it"]),
    ("dead", {"src/x/a.c": "void a_run(void) {}\n", "src/x/h.h": "static inline void h_old(void) {}\n"},
     ["src/x/h.h:1: h_old(): unused: remove it"]),
    ("dead", {"src/x/a.c": "#include \"h.h\"\nvoid a_run(void) { h_get(); }\n",
              "src/x/h.h": "static inline void h_get(void) {}\n"}, []),
    ("tested-only", {"src/x/a.c": "void a_run(void) {}\nvoid a_old(void) {}\n",
                     "tests/t.c": "void a_old(void);\nint main(void) { a_old(); }\n"},
     ["src/x/a.c:2: a_old(): only tests use it: use it, or remove it with its test"]),
    ("static", {"src/x/a.c": "void a_in(void) {}\nvoid a_run(void) { a_in(); }\n"},
     ["src/x/a.c:1: a_in(): only its own file uses it: make it static"]),
    ("prefix", {"src/x/b.c": "void a_run(void) {}\n"}, ["src/x/b.c:1: a_run() (no header)"]),
    ("prefix", {"src/x/b.c": "void a_run(void) {}\n", "src/x/a.h": "void a_run(void);\n"}, []),
    ("prefix", {"src/a/run.c": "void a_run(void) {}\n"}, []),
    ("prefix", {"src/x/a.c": "void a_run(void) {}\n", "src/y/a.c": ""}, ["src/x/a.c:1: a_run() (no header)"]),
    ("single", {"src/x/a.c": "void a_run(void) {}\n", "probes/p/p.bpf.c": '#include "p_one.bpf.h"\n',
                "probes/p/p_one.bpf.h": ""}, ["probes/p/p_one.bpf.h:1: only probes/p/p.bpf.c includes it"]),
    ("impl", {"src/x/a.c": "void a_run(void) {}\n", "src/x/a_impl.h": ""},
     ["src/x/a_impl.h:1: shows one module's structs to its parts"]),
    ("files", {"src/x/a.c": "void a_run(void) {}\n", "src/x/a.h": "", "src/x/a.py": "", "tests/e2e/x/a.py": ""},
     ["src/cmd: 1 files", "src/x: 2 files", "tests/e2e/x: 1 files"]),
    ("options", {"src/x/a.c": "void a_run(void) {}\n"}, ["sonde see: 70 options"]),
    ("help", {"src/x/a.c": "void a_run(void) {}\n"}, ["sonde see --help: 70 lines"]),
]


def build(root, tree):
    """Writes and compiles @tree as meson would."""
    rows = []
    for path, text in {**MAIN, **tree, "build/sonde": PROGRAM}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
        if path.endswith(".c") and not path.endswith(".bpf.c"):
            rows.append({"directory": str(root / "build"), "file": f"../{path}",
                         "output": path.replace("/", "_") + ".o"})
    (root / "build/sonde").chmod(0o755)
    for row in rows:
        subprocess.run(["cc", "-O0", "-c", row["file"], "-o", row["output"]], cwd=root / "build", check=True)
    for row in rows:
        row["output"] = row["output"].replace("tests_", "tests/")
    (root / "build/compile_commands.json").write_text(json.dumps(rows))


def run(root, *words):
    env = dict(os.environ, LINT_ROOT=str(root), SONDE_BUILD=str(root / "build"))
    return subprocess.run(words, capture_output=True, text=True, check=False, env=env)


def limits(root, **most):
    path = root / "tools/lint/structure.max"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({kind: {"target": target, **most.get(kind, {})} for kind, target in TARGETS.items()}))
    return path


@pytest.mark.parametrize("kind,tree,found", CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_lists(tmp_path, kind, tree, found):
    build(tmp_path, tree)
    done = run(tmp_path, SCRIPT, "--list", kind)
    assert done.stdout.splitlines() == found, done.stderr


def test_every_kind_has_a_case_and_the_shipped_limits_name_its_target():
    with open(os.path.join(ROOT, "tools/lint/structure.max"), encoding="utf-8") as f:
        assert {kind: most["target"] for kind, most in json.load(f).items()} == TARGETS
    assert {case[0] for case in CASES} == set(TARGETS)


def test_a_number_may_fall_and_not_rise(tmp_path):
    build(tmp_path, {"src/x/a.c": "void a_run(void) {}\nvoid a_old(void) {}\n"})
    wide = {"options": {"see": 70}, "help": {"see": 90}}
    path = limits(tmp_path, **wide)
    done = run(tmp_path, os.path.join(ROOT, "tools/lint/run"), "structure")
    assert done.returncode == 1 and "src/x: 1 functions that nothing uses, 0 allowed" in done.stdout, done.stdout

    limits(tmp_path, dead={"src/x": 1}, static={"src/y": 3}, **wide)
    assert run(tmp_path, os.path.join(ROOT, "tools/lint/run"), "structure").returncode == 0
    assert run(tmp_path, SCRIPT, "--lower").returncode == 0
    rows = json.loads(path.read_text())
    assert (rows["dead"], rows["static"], rows["help"]) == ({"target": 0, "src/x": 1}, {"target": 0},
                                                            {"target": 60, "see": 70})


def test_an_outdated_build_is_a_finding(tmp_path):
    build(tmp_path, {"src/x/a.c": "void a_run(void) {}\n"})
    limits(tmp_path)
    os.utime(tmp_path / "src/x/a.c", (2**31, 2**31))
    done = run(tmp_path, os.path.join(ROOT, "tools/lint/run"), "structure")
    assert done.returncode == 1 and "older than src/x/a.c: run `make all`" in done.stdout
