# SPDX-License-Identifier: GPL-2.0-or-later
"""From a clone to a binary: lists of packages, package sources, what is configured and what is built."""
import argparse
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess

import pytest

from conftest import ROOT

SETUP = os.path.join(ROOT, "tools", "setup.sh")
OPTIONAL = {"cmocka": "cmocka", "json-c": "json-c", "ncursesw": "ncurses*", "libcurl": "libcurl*"}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


# ---- packages ----

@pytest.mark.parametrize("kind", ["build", "test"])
def test_readme_has_the_packages_that_are_installed(kind):
    text = read("README.md")
    block = re.search(r"```\n(.*?)```", text[text.index(f"`tools/setup.sh --list {kind}`"):], re.S).group(1)
    listed = subprocess.run([SETUP, "--list", kind], capture_output=True, text=True, check=True).stdout
    assert block.split() == listed.split()


STUBS = {
    "id": 'echo "${USER_ID:-0}"',
    # installed: everything but MISSING, until apt-get has been asked for it
    "dpkg-query": '''case "$*" in
*db:Status*) shift 3; for p; do case " $MISSING " in
	*" $p "*) grep -qsE "^done.* $p(/| |$)" "$LOG" && echo installed ;; *) echo installed ;; esac; done ;;
*) ls "$FOLDER"/*sonde* >/dev/null 2>&1 && echo 1:1.4.6-1~bpo12+1 || echo "$OFFERED" ;;
esac''',
    "apt-cache": '''case $1 in
policy) c=1.0; case " $LACKING " in *" $2 "*) c='(none)' ;; esac
	[ "$2" != libbpf-dev ] || c=$OFFERED
	echo "$2:"; echo "  Candidate: $c" ;;
madison) echo "libbpf-dev | $OFFERED | http://mirror suite/main amd64 Packages" ;;
esac''',
    # a package of DEAD is on a mirror that does not answer
    "apt-get": '''case "$*" in *install*) for p; do case " $DEAD " in *" $p "*)
	echo "tried $*" >>"$LOG"; echo "E: Failed to fetch $p" >&2; exit 100 ;; esac; done ;; esac
echo "done $*" >>"$LOG"''',
}
NEWER = "libbpf-dev bpftool python3-opentelemetry-proto"
OLD, NEW = "1:1.1.2-0", "1:1.5.0-3"
needs_apt = pytest.mark.skipif(not shutil.which("apt-get"), reason="needs apt")


@pytest.fixture
def release(tmp_path):
    """release(LIBBPF, MISSING, LACKING, DEAD) runs setup.sh where packages of MISSING are not installed; apt offers
    that libbpf-dev, nothing of LACKING, and cannot fetch those of DEAD."""
    programs, apt = tmp_path / "bin", tmp_path / "apt"
    programs.mkdir()
    (apt / "sources.list.d").mkdir(parents=True)
    for name, text in STUBS.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    (tmp_path / "apt.conf").write_text(f'Dir::Etc "{apt}";\n')

    def run(libbpf, missing, lacking="", dead="", user=0, kinds=("build", "test"), status=0):
        env = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}", LOG=str(tmp_path / "log"), OFFERED=libbpf,
                   MISSING=missing, LACKING=lacking, DEAD=dead, USER_ID=str(user),
                   FOLDER=str(apt / "sources.list.d"), APT_CONFIG=str(tmp_path / "apt.conf"))
        (tmp_path / "log").write_text("")
        done = subprocess.run([SETUP, *kinds], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr, (tmp_path / "log").read_text(), sorted((apt / "sources.list.d").iterdir())
    return run


@needs_apt
def test_backports_are_added_where_libbpf_is_too_old_and_that_is_said(release):
    said, log, sources = release(OLD, NEWER, lacking="python3-opentelemetry-proto")
    assert len(sources) == 1 and "-backports" in sources[0].read_text()
    assert f"adding package source {sources[0]}" in said and "libbpf-dev" in said.split("adding", 1)[1]
    assert re.search(r"install.* libbpf-dev/\S+-backports bpftool/\S+-backports", log)


@needs_apt
@pytest.mark.parametrize("lacking", ["", "sysdig clickhouse-server"])
def test_a_release_that_is_new_enough_gets_no_other_source(release, lacking):
    said, log, sources = release(NEW, f"{NEWER} sysdig clickhouse-server gdb", lacking)
    assert not sources and "adding" not in said and "backports" not in log
    assert re.search(r"^done.*install.* libbpf-dev", log, re.M) and re.search(r"^done.*install.* gdb", log, re.M)
    assert ("tests that need them are skipped: sysdig clickhouse-server" in said) == bool(lacking)


@needs_apt
def test_a_mirror_that_does_not_answer_costs_only_what_is_there(release):
    said, log, _ = release(NEW, "git chromium gdb", dead="chromium")
    assert re.search(r"^done.*install.* git$", log, re.M) and re.search(r"^done.*install.* gdb$", log, re.M)
    assert "not to be had here, tests that need them are skipped: chromium" in said
    said, _, _ = release(NEW, "git", dead="git", status=1)
    assert "Failed to fetch git" in said and "could not install all of: git" in said


@needs_apt
def test_what_no_release_has_is_not_asked_for_again(release):
    for user in 0, 1000:
        said, log, _ = release(NEW, "sysdig", lacking="sysdig", user=user)
        assert said.endswith("tests that need them are skipped: sysdig \n") and not log


@needs_apt
def test_a_package_that_must_be_there_and_is_nowhere_is_named(release):
    said, log, sources = release(NEW, "tshark", lacking="tshark", status=1)
    assert "no tshark" in said and "install" not in log and not sources


@needs_apt
def test_quick_takes_the_packages_of_its_tests_or_says_what_is_missing(release):
    said, log, _ = release(NEW, "libcmocka-dev libjson-c-dev tshark", kinds=("build", "quick"))
    assert re.search(r"^done.*install.* libcmocka-dev libjson-c-dev$", log, re.M) and "tshark" not in log + said
    said, log, _ = release(NEW, "libcmocka-dev", kinds=("build", "quick"), user=1000, status=3)
    assert "install: libcmocka-dev" in said and not log
    rule = subprocess.run(["make", "-n", "quick"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert rule.index("tools/setup.sh build quick") < rule.index("tools/build.sh") < rule.index("tools/check.py")


# ---- both releases from nothing ----

def test_fresh_proves_each_release_that_readme_names(monkeypatch, tmp_path):
    """One that fails, or cannot be set up, hides no other."""
    loader = importlib.machinery.SourceFileLoader("fresh", os.path.join(ROOT, "tests", "fresh", "run"))
    fresh = importlib.util.module_from_spec(importlib.util.spec_from_loader("fresh", loader))
    loader.exec_module(fresh)
    named = {"12": "bookworm", "13": "trixie"}
    assert fresh.SUITES.split(",") == [named[number] for number in sorted(set(re.findall(
        r"Debian (1\d)", read("README.md"))))]
    asked = []

    def prove(suite, _folder, _args):
        asked.append(suite)
        if suite == "bookworm":
            raise subprocess.CalledProcessError(1, "debootstrap")
        return True
    monkeypatch.setattr(fresh, "prove", prove)
    passed = fresh.prove_all(argparse.Namespace(suites=fresh.SUITES, folder=str(tmp_path)))
    assert asked == ["bookworm", "trixie"] and passed == {"bookworm": False, "trixie": True}


# ---- configuring and building ----

@pytest.fixture
def configure(tmp_path):
    """configure(PACKAGE...) configures a new folder as if those packages were not there."""
    native, folder = tmp_path / "native", tmp_path / "build"
    native.write_text("[binaries]\ncmake = '/nonexistent'\n")      # it would find them without their .pc files
    places = subprocess.run(["pkg-config", "--variable", "pc_path", "pkg-config"], capture_output=True, text=True,
                            check=True).stdout.strip()

    def run(*missing, again=False):
        pc = tmp_path / f"pc{len(missing)}"
        pc.mkdir()
        for place in reversed(places.split(":")):
            for name in os.listdir(place) if os.path.isdir(place) else ():
                (pc / name).unlink(missing_ok=True)
                (pc / name).symlink_to(os.path.join(place, name))
        for name in missing:
            for path in pc.glob(OPTIONAL[name] + ".pc"):
                path.unlink()
        words = ["--reconfigure"] if again else ["--native-file", native]
        return subprocess.run(["meson", "setup", *words, folder], cwd=ROOT, capture_output=True, text=True,
                              check=False, env=dict(os.environ, PKG_CONFIG_LIBDIR=str(pc)))
    run.folder = folder
    return run


def commands(folder, target):
    return subprocess.run(["ninja", "-C", folder, "-t", "commands", target], capture_output=True, text=True,
                          check=True).stdout


def test_missing_optional_packages_do_not_end_configure(configure):
    done = configure("json-c")
    assert done.returncode == 0, done.stdout[-2000:]
    tests = commands(configure.folder, "all")
    assert "tests/unit/test_base" in tests and "tests/unit/test_foreign" not in tests
    shutil.rmtree(configure.folder)
    done = configure(*OPTIONAL)
    assert done.returncode == 0, done.stdout[-2000:]
    for name in OPTIONAL:
        assert re.search(rf"{name} found: .*NO", done.stdout), done.stdout


def test_test_packages_that_come_later_leave_what_is_built(configure):
    """By the same commands; ninja builds again what has another one. `make` configures again only if they lacked."""
    assert configure("cmocka", "json-c").returncode == 0
    before = commands(configure.folder, "sonde")
    rule = re.search(r"^%-setup:.*\n(?:\t.*\n)*", read("Makefile"), re.M).group(0)
    assert "grep -qs '#undef' $(B)/test-packages.h" in rule and "--wipe" not in rule
    assert "#undef HAVE_JSON_C" in (configure.folder / "test-packages.h").read_text()
    assert configure(again=True).returncode == 0
    assert "#undef" not in (configure.folder / "test-packages.h").read_text()
    assert commands(configure.folder, "sonde") == before
    assert "tests/unit/test_foreign" in commands(configure.folder, "all")


def test_make_run_builds_what_it_runs(sonde):
    rule = subprocess.run(["make", "-n", "run", f"B={sonde.build}"], cwd=ROOT, capture_output=True, text=True,
                          check=True).stdout
    assert f"tools/build.sh {sonde.build} sonde\n" in rule and "build.sh" not in rule.split("sonde\n", 1)[1]
    outputs = re.findall(r" -o (\S+)", commands(sonde.build, "sonde"))
    assert len(outputs) > 300
    assert not [path for path in outputs if path.startswith(("tests/", "examples/"))]


@pytest.mark.parametrize("steps, says", [(840, True), (3, False)])
def test_a_long_build_says_how_long(tmp_path, steps, says):
    """At most half as much again as was measured: 98 s of CPU for 944 steps."""
    ninja = tmp_path / "ninja"
    ninja.write_text('#!/bin/sh\ncase "$*" in *" -n "*) i=0; while [ $i -lt %d ]; do i=$((i + 1)); '
                     'echo "[$i/%d] CC"; done ;; *) echo built ;; esac\n' % (steps, steps))
    ninja.chmod(0o755)
    (tmp_path / "nproc").write_text("#!/bin/sh\necho 2\n")
    (tmp_path / "nproc").chmod(0o755)
    done = subprocess.run([os.path.join(ROOT, "tools", "build.sh"), "folder", "sonde"], capture_output=True,
                          text=True, check=True, env=dict(os.environ, PATH=f"{tmp_path}:{os.environ['PATH']}"))
    first, *rest = done.stdout.splitlines()
    if says:
        said = re.fullmatch(r"building folder/sonde: 840 steps, about (\d+) s on 2 CPUs", first)
        assert 0.7 <= int(said[1]) / (840 * 98 / 944 / 2) <= 1.5
    assert (rest or [first]) == ["built"]
