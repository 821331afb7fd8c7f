# SPDX-License-Identifier: GPL-2.0-or-later
"""From a clone to a binary: lists of packages, package sources, what is configured and what is built."""
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
    "id": 'echo 0',
    # installed: everything but the packages under test, until apt-get has been asked for them
    "dpkg-query": '''case "$*" in
*db:Status*) shift 3; for p; do case $p in libbpf-dev | bpftool | python3-opentelemetry-proto)
	grep -qs "install.*$p" "$LOG" && echo installed ;; *) echo installed ;; esac; done ;;
*) ls "$FOLDER"/*sonde* >/dev/null 2>&1 && echo 1:1.4.6-1~bpo12+1 || echo "$CANDIDATE" ;;
esac''',
    "apt-cache": '''case $1 in
policy) [ "$2" = libbpf-dev ] || CANDIDATE=$OTHERS; echo "$2:"; echo "  Candidate: $CANDIDATE" ;;
madison) echo "libbpf-dev | $CANDIDATE | http://mirror suite/main amd64 Packages" ;;
esac''',
    "apt-get": 'echo "$@" >>"$LOG"',
}


@pytest.fixture
def release(tmp_path):
    """release(CANDIDATE, OTHERS) runs setup.sh where apt offers that libbpf-dev and those other packages."""
    programs, apt = tmp_path / "bin", tmp_path / "apt"
    programs.mkdir()
    (apt / "sources.list.d").mkdir(parents=True)
    for name, text in STUBS.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    (tmp_path / "apt.conf").write_text(f'Dir::Etc "{apt}";\n')

    def run(candidate, others):
        env = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}", LOG=str(tmp_path / "log"),
                   CANDIDATE=candidate, OTHERS=others, FOLDER=str(apt / "sources.list.d"),
                   APT_CONFIG=str(tmp_path / "apt.conf"))
        done = subprocess.run([SETUP, "build", "test"], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout, (tmp_path / "log").read_text(), sorted((apt / "sources.list.d").iterdir())
    return run


@pytest.mark.skipif(not shutil.which("apt-get"), reason="needs apt")
def test_backports_are_added_where_libbpf_is_too_old_and_that_is_said(release):
    said, log, sources = release("1:1.1.2-0", "(none)")
    assert len(sources) == 1 and "-backports" in sources[0].read_text()
    assert f"adding package source {sources[0]}" in said and "libbpf-dev" in said.split("adding", 1)[1]
    assert re.search(r"install.* libbpf-dev/\S+-backports bpftool/\S+-backports", log)


@pytest.mark.skipif(not shutil.which("apt-get"), reason="needs apt")
def test_a_release_that_is_new_enough_gets_no_other_source(release):
    said, log, sources = release("1:1.5.0-3", "1.0")
    assert not sources and "adding" not in said and "backports" not in log
    assert re.search(r"install.* libbpf-dev", log)


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
    rule = re.search(r"^test-setup:.*\n(?:\t.*\n)*", read("Makefile"), re.M).group(0)
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


@pytest.mark.parametrize("steps, says", [(480, True), (3, False)])
def test_a_long_build_says_how_long(tmp_path, steps, says):
    ninja = tmp_path / "ninja"
    ninja.write_text('#!/bin/sh\ncase "$*" in *" -n "*) i=0; while [ $i -lt %d ]; do i=$((i + 1)); '
                     'echo "[$i/%d] CC"; done ;; *) echo built ;; esac\n' % (steps, steps))
    ninja.chmod(0o755)
    done = subprocess.run([os.path.join(ROOT, "tools", "build.sh"), "folder", "sonde"], capture_output=True,
                          text=True, check=True, env=dict(os.environ, PATH=f"{tmp_path}:{os.environ['PATH']}"))
    first, *rest = done.stdout.splitlines()
    if says:
        assert re.fullmatch(r"building folder/sonde: 480 steps, about [1-9]\d* s on \d+ CPUs", first)
    assert (rest or [first]) == ["built"]
