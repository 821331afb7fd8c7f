# SPDX-License-Identifier: GPL-2.0-or-later
"""Each lint check finds what it is for, and leaves alone what is right."""
import datetime
import hashlib
import os
import runpy
import shutil
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
C = "// SPDX-License-Identifier: GPL-2.0-or-later\n"
H = "/* SPDX-License-Identifier: GPL-2.0-or-later */\n"
DUAL = "/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */\n"
LONG = "int f(void)\n{\n" + "\tg();\n" * 90 + "\treturn 0;\n}\n"
TC = 'SEC("tc")\nint p(struct __sk_buff *skb)\n{{\n\treturn {};\n}}\n'
ROW = 'PROGRAM("tc", p, {}, struct __sk_buff *skb)\n'
ROW_OF = "static __always_inline int f(int a)\n{\n\treturn 2;\n}\n\n"
HUGE = "int f(void)\n{\n" + "\tg();\n" * 170 + "\treturn 0;\n}\n"
with open(os.path.join(ROOT, "tools/vendor-web.py"), encoding="utf-8") as tool:
    VENDOR = tool.read()
TODAY = datetime.date.today().isoformat()
TYPES = '{"compilerOptions": {"strict": true, "noEmit": true, "types": []}, "include": ["src"]}'
SUMS = '{"x": {"folder": "web/vendor/x", "version": "1", "sums": {"a.js": "%s"}}}'

# check, {path: text}, what must be said
BAD = [
    ("quarantine", {"tests/quarantine.tsv": "a.py::b\t2020-01-01\tlate\tmend\n"}, "days old, the limit is 21"),
    ("quarantine", {"tests/quarantine.tsv": "a.py::b\tlate\n"}, "other than the four columns"),
    ("quarantine", {"tests/quarantine.tsv": f"vm: 6.1\t{TODAY}\tlate\tmend\n" * 11}, "11 rows, the limit is 10"),
    ("quarantine", {"tests/quarantine.tsv": f"a.py::b\t{TODAY}\tlate\tmend\n"}, "a.py, which is no file"),
    ("vendored", {"tools/vendor-web.py": VENDOR, "web/vendor/versions.json": SUMS % "0",
                  "web/vendor/x/a.js": "f()\n"}, "a.js is not the file of x 1"),
    ("vendored", {"tools/vendor-web.py": VENDOR, "web/vendor/versions.json": "{}", "web/vendor/y/b.js": "f()\n"},
     "is not in versions.json"),
    ("webtypes", {"web/tsconfig.json": TYPES, "web/src/a.ts": "export const a: number = 'x';\n"}, "not assignable"),
    ("deps", {"src/sinks/a.c": C + '#include "ipc/proto.h"\n'}, "may not include ipc/proto.h"),
    ("deps", {"src/base/a.c": C + "#include <bpf/libbpf.h>\n"}, "may not include bpf/libbpf.h"),
    ("deps", {"src/event/a.c": C + '#include "probes/net/net_conf.h"\n'}, "may not include probes/net/net_conf.h"),
    ("deps", {"probes/x/meson.build": "probe_decode = files('d.c')\n",
              "probes/x/d.c": C + '#include "probe/env.h"\n'},
     "may not include probe/env.h"),
    ("deps", {"probes/x/x.c": C + '#include "probes/y/y_wire.h"\n'}, "may not include probes/y/y_wire.h"),
    ("deps", {"bpf/a.bpf.h": DUAL + '#include "base/err.h"\n'}, "may not include base/err.h"),
    ("skeleton", {"probes/x/a.c": C + '#include "x.skel.h"\n', "probes/x/b.c": C + '#include "x.skel.h"\n'},
     "included by 2 files"),
    ("skeleton", {"probes/x/x.h": H + '#include "x.skel.h"\n'}, "by a header"),
    ("headers", {"src/base/a.h": H + "size_t f(void);\n"}, "does not compile alone"),
    ("spdx", {"src/base/a.c": "int x;\n"}, "no SPDX"),
    ("spdx", {"bpf/a.bpf.h": H}, "expected GPL-2.0-or-later OR BSD-2-Clause"),
    ("phrases", {"doc/a.md": "must be keep in" + " sync with b\n"}, "generate one"),
    ("phrases", {"src/base/a.c": C + "/* TO" + "DO: later */\n"}, "do it, or leave it out"),
    ("phrases", {"tools/a.sh": "curl http://deb.debi" + "an.org/x\n"}, "package hosts"),
    ("length", {"src/base/a.c": C + LONG}, "f() has 94 lines"),
    ("length", {"src/base/a.c": C + "/* lint-ok(length): a table */\n" + HUGE}, "f() has 174 lines"),
    ("length", {"src/base/a.c": C + "int x;\n" * 1100}, "1101 lines"),
    ("errno_sign", {"src/base/a.c": C + "int f(void) { return EINVAL; }\n"}, "positive EINVAL"),
    ("errno_sign", {"src/base/a.c": C + "int f(int a) { return a ? -EPERM : EIO; }\n"}, "positive EIO"),
    ("kernel_ints", {"src/base/a.c": C + "static __u32 x;\n"}, "__u32"),
    ("kernel_ints", {"src/base/a.c": C + "static u64 *x;\n"}, "u64"),
    ("printing", {"src/event/a.c": C + 'void f(void) { printf("x"); }\n'}, "prints"),
    ("printing", {"src/agent/a.c": C + 'void f(void) { fprintf(stderr, "x"); }\n'}, "prints"),
    ("printing", {"src/event/a.c": C + 'void f(void) { log_warn("x"); }\n'}, "a library logs"),
    ("rec_casts", {"src/sinks/a.c": C + "void f(const void *p) { g((const struct sonde_rec *)p); }\n"},
     "cast to struct"),
    ("enums", {"src/base/a.h": H + "enum colour { RED, GREEN };\n"}, "enum colour"),
    ("macros", {"src/base/a.h": H + "#define TRY(x) \\\n\tif (x) \\\n\t\treturn 1\n"}, "return inside the macro TRY"),
    ("mutable_globals", {"src/base/a.c": C + "static int counter;\n"}, "counter can change"),
    ("mutable_globals", {"src/base/a.c": C + "static struct foo state = { 0 };\n"}, "state can change"),
    ("mutable_globals", {"src/base/a.c": C + "static char *name[] = { 0 };\n"}, "name can change"),
    ("layout", {"src/base/a.c": C + "int x; \n"}, "blank at the end"),
    ("layout", {"src/base/a.c": C + "int f(void)\n{\n        return 0;\n}\n"}, "indented by blanks"),
    ("layout", {"src/base/a.c": C + "/* " + "x" * 120 + " */\n"}, "columns"),
    ("layout", {"src/base/a.c": C + "int x;"}, "no newline"),
    ("wording", {"src/base/a.c": C + "/* Nobody reads it. */\n"}, "1 phrases to reword in comments, 0 allowed"),
    ("wording", {"src/base/a.c": C + 'int f(struct err *e) { return err_set(e, -1, "%s is no file", "x"); }\n'},
     "1 phrases to reword in messages, 0 allowed"),
    ("observes", {"probes/x/a.bpf.c": DUAL + TC.format("skb->len ? 2 : TC_NEXT")}, "only TC_NEXT is allowed"),
    ("observes", {"probes/x/a.bpf.c": DUAL + ROW_OF + TC.format("f(1)")}, "f() returns 2 from a tc program"),
    ("observes", {"probes/x/a.bpf.c": DUAL + ROW_OF + ROW.format("f(1)")}, "f() returns 2 from a tc program"),
    ("observes", {"probes/x/a.bpf.c": DUAL + ROW_OF + ROW.format("f(1) | f(0)")}, "expected `int NAME(...)`"),
    ("observes", {"probes/x/a.bpf.h": DUAL + "#define TC_NEXT 2\n"}, "TC_NEXT is 2"),
    ("observes", {"probes/x/a.bpf.c": DUAL + 'SEC("fmod_ret/x")\nint p(void *ctx)\n{\n\treturn 0;\n}\n'},
     "kind fmod_ret"),
    ("observes", {"bpf/a.bpf.h": DUAL + "void f(struct __sk_buff *skb) { skb->mark = 1; }\n"}, "assignment to mark"),
    ("observes", {"bpf/a.bpf.h": DUAL + "void f(void) { bpf_override_return(ctx, 1); }\n"}, "changes the host"),
    ("datasecs", {"src/base/a.c": C}, "has no BPF programs: run `make all`"),
    ("stack", {"src/base/a.c": C}, "has no BPF programs: run `make all`"),
    ("typed", {"bpf/a.bpf.h": DUAL + "int f(void) { return bpf_core_type_id_kernel(struct sock); }\n"},
     "use TYPED()"),
    ("structure", {"src/base/a.c": C, "tools/lint/structure.max": '{"circles": {"target": 0}}'},
     "is not a build folder: run `make all`"),
    ("imports", {"tests/e2e/a.py": "def wait():\n    pass\n", "tests/e2e/b.py": "from a import wait_until\n"},
     "wait_until is not in tests/e2e/a.py"),
    ("imports", {"tests/e2e/a.py": "def wait():\n    pass\n", "tests/e2e/b.py": "import a\n\na.wait_until()\n"},
     "wait_until is not in tests/e2e/a.py"),
    ("tables", {"src/cmd/a.h": H + "struct a {\n\tstruct map procs; /* tgid -> struct a_proc */\n};\n"},
     "table procs: ask the state engine"),
    ("scripts", {"tools/a.sh": "#!/bin/sh\nif true\n"}, "not sh"),
    ("scripts", {"tools/a.py": "def f(:\n"}, "not Python"),
]

GOOD = [
    ("quarantine", {"tests/quarantine.tsv": f"# none\nvm: 6.1\t{TODAY}\tlate\tmend\n"}),
    ("deps", {"src/sinks/a.c": C + '#include <stdio.h>\n#include "event/event.h"\n#include "sinks/b.h"\n'}),
    ("deps", {"src/cmd/a.c": C + '#include "pipeline/pipeline.h"\n#include "probe/env.h"\n'}),
    ("phrases", {"src/base/a.c": C + "/* in sync again */\n"}),
    ("length", {"src/base/a.c": C + "/* lint-ok(length): a table of cases */\n" + LONG}),
    ("errno_sign", {"src/base/a.c": C + "int f(void) { return -EINVAL; }\n"}),
    ("kernel_ints", {"probes/x/x_wire.h": DUAL + "struct x { __u32 y; };\n", "src/base/a.c": C + "F(u8, uint8_t)\n"}),
    ("printing", {"src/event/a.c": C + 'void f(char *b) { snprintf(b, 1, "printf(x)"); }\n'}),
    ("enums", {"src/base/a.h": H + "enum colour { RED, GREEN, COLOUR__MAX };\nenum { SIZE = 3 };\n"}),
    ("mutable_globals", {"src/base/a.c": C + "static const int x = 1;\nstatic const char *const n[] = { 0 };\n"
                                             "static int f(void)\n{\n\tint y = 1;\n\n\treturn y;\n}\n"}),
    ("macros", {"src/base/a.h": H + "#define ADD(a, b) ((a) + (b)) /* return of the sum */\n"}),
    ("imports", {"tests/e2e/a.py": "LIMIT = 1\n", "tests/truth/b.py": "import os\n\nimport a\n\nos.nice(a.LIMIT)\n"}),
    ("tables", {"src/cmd/a.h": H + "struct a {\n\tstruct map seen; /* tgid -> u8 */\n"
                                   "\tstruct map names; /* address -> char * */\n};\n",
                "src/state/a.h": H + "struct a {\n\tstruct map procs; /* tgid -> struct proc */\n};\n"}),
    ("headers", {"src/base/a.h": H + "#include <stddef.h>\nsize_t f(void);\n"}),
    ("observes", {"probes/x/a.bpf.c": DUAL + "#define TC_NEXT (-1)\nstatic __always_inline int f(void)\n{\n\t"
                  "return TC_NEXT;\n}\n\n" + TC.format("f()")}),
    ("vendored", {"tools/vendor-web.py": VENDOR, "web/vendor/x/a.js": "f()\n", "web/vendor/versions.json":
                  SUMS % hashlib.sha256(b"f()\n").hexdigest()}),
    ("webtypes", {"web/tsconfig.json": TYPES, "web/src/a.ts": "export const a: number = 1;\n"}),
    ("wording", {"src/base/a.c": C + "/* No process reads it. */\n",
                 "doc/a.md": "Code: `nobody`.\n\n```\nnobody\n```\n"}),
]


def lint(tmp_path, check, tree):
    for path, text in {"bpf/kernel.h": DUAL + "typedef unsigned int __u32;\n", **tree}.items():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return subprocess.run([os.path.join(ROOT, "tools/lint/run"), check], capture_output=True, text=True, check=False,
                          env=dict(os.environ, LINT_ROOT=str(tmp_path), SONDE_BUILD=str(tmp_path / "build")))


@pytest.mark.parametrize("check,tree,said", BAD, ids=lambda v: v if isinstance(v, str) else "")
def test_finds(tmp_path, check, tree, said):
    done = lint(tmp_path, check, tree)
    assert done.returncode == 1, done.stdout
    assert said in done.stdout


@pytest.mark.parametrize("check,tree", GOOD, ids=lambda v: v if isinstance(v, str) else "")
def test_leaves_alone(tmp_path, check, tree):
    done = lint(tmp_path, check, tree)
    assert done.returncode == 0, done.stdout


def test_a_check_without_its_tool_is_skipped(tmp_path):
    """And says so: it does not count as passed."""
    (tmp_path / "web").mkdir()
    (tmp_path / "web/tsconfig.json").write_text(TYPES)
    (tmp_path / "git").symlink_to(shutil.which("git"))
    done = subprocess.run([os.path.join(ROOT, "tools/lint/run"), "webtypes"], capture_output=True, text=True,
                          check=False, env={"PATH": str(tmp_path), "LINT_ROOT": str(tmp_path)})
    assert "skipped webtypes: tsc is not installed" in done.stdout and "0 checks over" in done.stdout


@pytest.mark.parametrize("leaf,said", [
    (64, None), (72, "544 bytes of stack, 512 are allowed: p() 256, middle() 192, leaf() 96"),
])
def test_stack(tmp_path, leaf, said):
    """A callback of bpf_loop() counts like a call; the other branch is not as deep."""
    program = tmp_path / "probes/x/x.bpf.c"
    program.parent.mkdir(parents=True)
    (tmp_path / "build/probes").mkdir(parents=True)
    program.write_text(DUAL + f"""
static long (*const loop)(int n, void *f, void *ctx, long flags) = (void *)181;

static __attribute__((noinline)) long leaf(int i, void *p)
{{
	volatile char room[{leaf}];

	return room[i] = 1;
}}

static __attribute__((noinline)) int middle(int n)
{{
	volatile char room[176];

	room[n] = 1;
	return loop(n, leaf, (void *)room, 0);
}}

static __attribute__((noinline)) int other(int n)
{{
	volatile char room[200];

	return room[n] = 1;
}}

__attribute__((section("tc"))) int p(int *ctx)
{{
	volatile char room[248];

	room[*ctx] = 1;
	return middle(*ctx) + other(*ctx);
}}
""")
    subprocess.run(["clang", "-target", "bpf", "-g", "-O2", "-mcpu=v3", "-c", program, "-o",
                    tmp_path / "build/probes/x.bpf.o"], check=True)
    done = lint(tmp_path, "stack", {})
    assert (done.returncode == 0 if said is None else f"probes/x/x.bpf.c:1: {said}" in done.stdout), done.stdout


@pytest.mark.parametrize("values,said", [
    ("3, 2", "table has another variable's place in .rodata"), ("3, 2, 1", None),
])
def test_datasecs(tmp_path, values, said):
    program, plain = tmp_path / "probes/x/x.bpf.c", tmp_path / "x.o"
    program.parent.mkdir(parents=True)
    (tmp_path / "build/probes").mkdir(parents=True)
    program.write_text(DUAL + f"""
const volatile int first = 1;
static const int table[] = {{ {values} }};

__attribute__((section("tc"))) int x(int *ctx)
{{
	return table[ctx[0] & 1] + first;
}}
""")
    subprocess.run(["clang", "-target", "bpf", "-g", "-O2", "-mcpu=v3", "-c", program, "-o", plain], check=True)
    subprocess.run(["bpftool", "gen", "object", tmp_path / "build/probes/x.bpf.o", plain], check=True)
    done = lint(tmp_path, "datasecs", {})
    assert (done.returncode == 0 if said is None else f"probes/x/x.bpf.c:1: {said}" in done.stdout), done.stdout


def test_every_check_has_a_case():
    names = {f[:-3] for f in os.listdir(os.path.join(ROOT, "tools/lint")) if f.endswith(".py")}
    assert names - {"common", "objects"} == {case[0] for case in BAD}


def test_only_some_files(tmp_path):
    tree = {"src/base/a.c": C + "int x; \n", "src/base/b.c": C + "int y; \n"}
    assert "a.c:" in lint(tmp_path, "layout", tree).stdout
    done = subprocess.run([os.path.join(ROOT, "tools/lint/run"), "layout", "--only", "src/base/b.c"], check=False,
                          capture_output=True, text=True, env=dict(os.environ, LINT_ROOT=str(tmp_path)))
    assert done.returncode == 1 and "b.c:" in done.stdout and "a.c:" not in done.stdout


HUNK = "--- a/src/a.c\n+++ b/src/a.c\n@@ -1,3 +1,3 @@\n{}"


@pytest.mark.parametrize("hunk,refused", [
    ("-  x = 1;\n+\tx = 1;\n", True), ("-\tf(a,b);\n+\tf(a, b);\n", True),
    ("-\tf(a,\n-\t  b);\n+\tf(a, b);\n", False), ("-\tint x;\t/* y */\n+\tint x; /* y */\n", False),
    ("-\t{ 1,  2 },\n+\t{ 1, 2 },\n", False)])
def test_format_of_a_commit(hunk, refused):
    hook = runpy.run_path(os.path.join(ROOT, "tools/pre-commit"))
    assert bool(list(hook["hunks"](HUNK.format(hunk)))) == refused
