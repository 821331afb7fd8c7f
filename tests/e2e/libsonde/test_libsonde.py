# SPDX-License-Identifier: GPL-2.0-or-later
"""libsonde as its users have it: installed below a folder, found by pkg-config, linked both ways."""
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

import helpers

BUILD = os.path.dirname(helpers.BINARY)
CAPTURE = os.path.join(helpers.ROOT, "tests", "data", "scap", "session.scap")
EXAMPLE = os.path.join(helpers.ROOT, "examples", "syscalls", "syscalls.c")
USERS = os.path.join(helpers.ROOT, "tests", "e2e", "libsonde", "libsonde_user")
USER = os.path.join(helpers.ROOT, "tests", "e2e", "libsonde", "libsonde_user.c")
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")


def words(*command, env=None):
    return helpers.sh(*command, env=env, timeout=120).stdout.split()


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """installed(source, static=False) compiles a program against the installed tree; .tree is that."""
    tree = tmp_path_factory.mktemp("tree")
    helpers.sh("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", tree, timeout=120)
    pc = next(tree.rglob("libsonde.pc"))
    env = dict(os.environ, PKG_CONFIG_PATH=str(pc.parent), PKG_CONFIG_SYSROOT_DIR=str(tree),
               LD_LIBRARY_PATH=str(pc.parent.parent))
    numbers = iter(range(100))

    def build(source, static=False):
        out = tree / f"program{next(numbers)}"
        flags = words("pkg-config", "--cflags", "--libs", *(("--static",) if static else ()), "libsonde", env=env)
        if static:  # the library alone: those of the system stay what they are
            flags = [str(pc.parent.parent / "libsonde.a") if flag == "-lsonde" else flag for flag in flags]
        helpers.sh("cc", "-std=gnu11", *STRICT, "-o", out, source, *flags, timeout=120)
        return out
    build.tree, build.env, build.lib = tree, env, pc.parent.parent
    return build


def run(installed, program, *args, **options):
    return helpers.sh(program, *args, env=installed.env, check=False, **options)


@pytest.mark.parametrize("static", [False, True])
def test_the_example_counts_the_events_of_a_capture(installed, sonde, static):
    program = installed(EXAMPLE, static)
    linked = "libsonde" in helpers.sh("ldd", program, env=installed.env).stdout
    assert linked is not static
    lines = len(sonde.run("syscalls", "-r", CAPTURE).stdout.splitlines())
    done = run(installed, program, CAPTURE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:3] == [f"events captured: {lines}", f"seen by driver: {lines}",
                                            "Number of dropped events: 0"]
    assert len(done.stdout.splitlines()) == 9


def test_events_are_those_of_the_command(installed, sonde):
    got = run(installed, installed(USER), "file", CAPTURE).stdout.splitlines()
    want = sonde.run("syscalls", "-r", CAPTURE, "--format", "%thread.tid %evt.type").stdout.splitlines()
    assert got[-1] == "end: 6 "
    assert len(got) - 1 == len(want)
    for mine, theirs in zip(got, want):     # a call without an event of its own is a "syscall", as in libscap
        (tid, name), (its_tid, its_name) = mine.split()[:2], theirs.split()
        assert tid == its_tid and name in (its_name, "syscall")


@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
def test_users_in_other_languages_read_the_same(installed, sonde, tmp_path):
    """C++ and Python (ctypes): events by type, and what is wrong with a file."""
    flags = words("pkg-config", "--cflags", "--libs", "libsonde", env=installed.env)
    program = str(tmp_path / "user")
    helpers.sh("g++", "-std=c++17", *STRICT, "-o", program, USERS + ".cc", *flags, timeout=120)
    commands = [program], ["/usr/bin/python3", USERS + ".py"]
    counts = [run(installed, *command, CAPTURE) for command in commands]
    assert counts[0].returncode == counts[1].returncode == 0, counts
    assert counts[0].stdout == counts[1].stdout
    events = len(sonde.run("syscalls", "-r", CAPTURE).stdout.splitlines())
    assert sum(int(row.split()[0]) for row in counts[0].stdout.splitlines()) == events
    for command in commands:
        done = run(installed, *command, tmp_path / "none.scap")
        assert done.returncode == 1 and "none.scap" in done.stderr and "(4)" in done.stderr


def test_bad_files_say_what_they_are(installed, tmp_path):
    user = installed(USER)
    none = run(installed, user, "file", tmp_path / "none.scap")
    assert none.returncode == 1 and none.stdout.startswith("open: 4: ") and "none.scap" in none.stdout
    text = run(installed, user, "file", EXAMPLE)
    assert text.returncode == 1 and text.stdout.startswith("open: 3: ")
    with open(CAPTURE, "rb") as f:
        (tmp_path / "cut.scap").write_bytes(f.read()[:-7])
    cut = run(installed, user, "file", tmp_path / "cut.scap").stdout.splitlines()
    assert len(cut) > 40 and cut[-1].startswith("end: 3 ") and "cut.scap" in cut[-1]


def test_only_its_own_names_can_be_seen(installed):
    lib = next(installed.lib.glob("libsonde.so.0.*"))
    names = [line.split()[-1] for line in helpers.sh("nm", "-D", "--defined-only", lib).stdout.splitlines()]
    functions = {name.split("@")[0] for name in names if not name.startswith("SONDE_")}
    assert functions and all(name.startswith("sonde_") for name in functions)
    static = helpers.sh("nm", "-g", "--defined-only", installed.lib / "libsonde.a").stdout.splitlines()
    assert {line.split()[-1] for line in static if " T " in line} == functions
    header = (installed.tree / "usr/local/include/sonde/sonde.h").read_text()
    assert all(f"{name}(" in header for name in functions)


@pytest.mark.parametrize("compiler", [("cc", "-std=c11", "-xc"), ("c++", "-std=c++11", "-xc++")])
def test_the_header_compiles_alone(installed, compiler):
    if not shutil.which(compiler[0]):
        pytest.skip(f"no {compiler[0]} here")
    flags = words("pkg-config", "--cflags", "libsonde", env=installed.env)
    helpers.sh(*compiler, "-fsyntax-only", *STRICT, *flags, "-", input="#include <sonde/sonde.h>\n")


def test_live(installed, tmp_path):
    """What was there is told, a suppressed program is not, stopping stops, and the counters agree."""
    quiet = tmp_path / "sd-quiet"
    shutil.copy("/bin/cat", quiet)
    child = subprocess.Popen([installed(USER), "live", "1500", "sd-quiet"], env=installed.env, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert child.stderr.readline() == "ready\n"
        for _ in range(5):
            subprocess.run([quiet, "/etc/passwd"], stdout=subprocess.DEVNULL, check=True)
        out, err = child.communicate(timeout=helpers.READY_S)
    finally:
        child.kill()
    assert child.returncode == 0, err
    got = json.loads(out)
    with open(f"/proc/{os.getpid()}/comm", encoding="utf-8") as f:
        assert got["parent"] == f.read().strip()
    assert got["threads"] > 10 and got["user"] == "root"
    assert got["n_suppressed"] > (0 if got["n_drops"] else 500), got
    assert got["events"] > 100 and got["stopped"] == 0
    assert got["n_drops"] == got["sum"]
    assert got["n_evts"] >= got["events"]


def test_the_example_live(installed):
    child = subprocess.Popen([installed(EXAMPLE)], env=installed.env, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    try:
        assert child.stderr.readline() == "capturing\n"
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            helpers.sh("true")
        child.send_signal(signal.SIGINT)
        out = child.communicate(timeout=helpers.READY_S)[0]
    finally:
        child.kill()
    counts = [int(line.rsplit(" ", 1)[1]) for line in out.splitlines()]
    assert len(counts) == 9 and counts[0] > 500 and counts[1] >= counts[0]
