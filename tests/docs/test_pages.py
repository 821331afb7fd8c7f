# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages tell the truth: commands run, links lead somewhere, words are words of the program."""
import functools
import itertools
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import urllib.request

import pytest

from conftest import ROOT

PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *sorted(
    os.path.join(where, name)[len(ROOT) + 1:] for folder in ("doc", "probes", "tests")
    for where, _, names in os.walk(os.path.join(ROOT, folder)) for name in names
    if name.endswith(".md") and "/." not in where)]


def read(page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as f:
        return f.read()


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", read(page)):
        if not re.match(r"https?:", target):
            assert os.path.exists(os.path.join(ROOT, os.path.dirname(page), target)), f"{page}: {target}"


# HOWTOs speak of files that the reader makes; test_howto.py follows them. RENAMED lists what is gone.
@pytest.mark.parametrize("page", [page for page in PAGES
                                  if page not in ("doc/HOWTO-add-a-probe.md", "doc/RENAMED.md")])
def test_paths_exist(page):
    """`src/...` and the like in code quotes are there; names in <> and with * are patterns."""
    for path in re.findall(r"`((?:src|bpf|probes|tools|tests|doc|include)/[\w./*<>-]+)`", read(page)):
        if not re.search(r"[*<>]", path) and not re.search("csv|beanstalkd", path):
            assert os.path.exists(os.path.join(ROOT, path)), f"{page}: {path}"


@functools.lru_cache(None)
def file_names():
    return {name for _, _, names in os.walk(os.path.join(ROOT, "src")) for name in names} | {
        name for where in ("bpf", "probes", "include", "tools", "tests") for _, _, names in
        os.walk(os.path.join(ROOT, where)) for name in names}


@pytest.mark.parametrize("page", ["doc/ARCHITECTURE.md", *(page for page in PAGES if page.startswith("probes/"))])
def test_named_files_exist(page):
    """Files of C that a page names without their folder."""
    for name in re.findall(r"`([\w.]+\.(?:c|h|def))`", read(page)):
        assert name in file_names(), f"{page}: {name}"


KERNELS = ("5.10", "6.1", "6.12", "newest")


def hooks_of(kernel, probe):
    """{hook: does it work there?}, by what `make vm` expects."""
    found = re.findall(rf"^hook {probe} (.*): (\w+)$", read(f"tests/vm/expect/{kernel}.txt"), re.M)
    return {hook: state == "ok" for hook, state in found}


def test_hooks_that_kernels_lack():
    """The table of the net probe has each hook that one of the kernels lacks, and says which."""
    hooks, rows = {kernel: hooks_of(kernel, "net") for kernel in KERNELS}, {}
    for line in read("probes/net/README.md").split("| hook | 5.10 |")[1].split("\n\n")[0].splitlines()[2:]:
        names, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        names, before, _ = names.partition(" before translation")
        rows.update({name + before: [cell.startswith("yes") for cell in cells] for name in names.split(", ")})
    lacking = {name for kernel in KERNELS for name, works in hooks[kernel].items() if not works}
    assert rows == {name: [hooks[kernel][name] for kernel in KERNELS] for name in lacking}


def test_owners_that_kernels_know():
    """The other table, by what `make vm` expects."""
    rows = {}
    for line in read("probes/net/README.md").split("| owner of | 5.10 |")[1].split("\n\n")[0].splitlines()[2:]:
        what, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        rows.update({(kernel, what): cell for kernel, cell in zip(KERNELS, cells)})
    assert rows == {(kernel, what): who for kernel in KERNELS for what, who in
                    re.findall(r"^owner of (.*): (.*)$", read(f"tests/vm/expect/{kernel}.txt"), re.M)}


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", read("Makefile"), re.M))
    for target in re.findall(r"(?:`|^)make ([a-z][a-z0-9-]*)", read(page), re.M):
        assert target in targets, f"{page}: make {target}"


def usages():
    """Command lines of the README's list of uses: from two blanks on it is explanation."""
    block = re.search(r"## Use\n\n```\n(.*?)```", read("README.md"), re.S).group(1)
    return [re.split(r" {2,}", line)[0] for line in block.strip().split("\n")]


def ask_page(words, folder):
    """Starts a page that serves until it is ended, and asks it what it shows."""
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            address, token = server.stdout.readline().strip().split("/#t=")
            request = urllib.request.Request(f"{address}/api/v1/meta", headers={"Authorization": f"Bearer {token}"})
            with urllib.request.urlopen(request, timeout=30) as answer:
                assert json.load(answer)["api"] == 1
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(30) in (0, 130), server.stderr.read()


def test_every_usage_is_accepted(sonde, tmp_path):
    """In order, in one folder, so that what one writes another can read; live ones end by themselves."""
    if os.geteuid() != 0:
        pytest.skip("needs root: they are live commands")
    lines = usages()
    assert len(lines) >= 10
    (tmp_path / "examples").symlink_to(os.path.join(ROOT, "examples"))
    for line in lines:
        words = shlex.split(line)
        assert words[0] == "sonde"
        words[0] = sonde.path
        words = ["lo" if word == "eth0" else word for word in words]
        if words[1] == "monitor" and "-r" not in words:
            words[2:2] = ["--duration", "1s"]
        if words[1] == "ui":
            ask_page(words, tmp_path)
            continue
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        ok = (0, 1) if words[1] == "doctor" else (0,)
        assert done.returncode in ok, f"{line}: {done.stderr}"
        if words[1] == "profile" and "--" in words:
            assert re.search(r"^du;.* \d+$", done.stdout, re.M), f"{line} shows nothing: {done.stdout}{done.stderr}"


def test_examples_of_commands_are_accepted(sonde, tmp_path):
    """The examples in --help: their options exist. What they need (interfaces, files) may be missing here."""
    seen = 0
    for command in sonde.commands():
        text = sonde(command, "--help").stdout
        for line in re.findall(r"^  (sonde \S.*)$", text, re.M):
            seen += 1
            if command == "compat":     # a tool, and what it shows
                line = re.split(r" {2,}", line)[0] + " --help"
            words = [sonde.path, *shlex.split(line, comments=True)[1:]]
            if "help options" in text:
                words.insert(2, "--explain-filter")     # parses everything, attaches nothing
            if words[1] in ("agent", "ui"):
                words.insert(2, "--check")
            done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False)
            assert done.returncode != 2, f"{line}: {done.stderr}"
    assert seen >= 5


def test_changelog_has_short_versions():
    """The newest is unreleased or the version of the build; at most 45 lines each."""
    with open(os.path.join(ROOT, "meson.build"), encoding="utf-8") as f:
        version = re.search(r"version: '([^']+)'", f.read()).group(1)
    parts = re.split(r"^## ", read("CHANGELOG.md"), flags=re.M)[1:]
    assert re.match(rf"Unreleased\n|{re.escape(version)}, \d{{4}}-\d\d-\d\d\n", parts[0])
    assert all(len(part.splitlines()) <= 45 for part in parts)


# Time, arrow, point or reason with function, interface, packet, owner, place in its conversation: README and golden
# files must both have it.
OWNER = r"[^/\]]+/\d+(?: [a-z]+)?"
LINE = re.compile(r"\d\d:\d\d:\d\d\.\d{6} (?:(?:->|<-) [a-z]+|xx drop \([A-Z0-9_]+\) at \w+) [\w.-]+: \S+ -> \S+ "
                  r"(?:tcp(?: [A-Z]{3}(?:, [A-Z]{3})*)?|udp|icmp \S+|sctp)(?: \d+ B)?"
                  rf"(?:  \[{OWNER}(?: (?:->|<-) {OWNER})?\])?(?:  \{{[a-z]+\}})?")


def test_readme_shows_what_is_printed(sonde, tmp_path):
    """Each line of the README's picture has the form of what the binary prints now, for a drop and for packets."""
    picture = re.search(r"```\n(\d\d:.*?)```", read("README.md"), re.S).group(1).strip().split("\n")
    assert sum(" xx drop " in line for line in picture) >= 1 and len(picture) >= 5
    for line in picture:
        assert LINE.fullmatch(line), line
    assert sum(" tcp PSH, ACK " in line for line in picture) >= 1, "a segment with data shows its length"
    if os.geteuid() != 0:
        pytest.skip("needs root to see what is printed now")
    child = subprocess.Popen([sonde.path, "monitor", "--interface", "lo", "udp", "port", "9"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    try:
        assert "ready" in child.stderr.readline()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(b"x", ("127.0.0.1", 9))
        shown = (line.rstrip("\n") for line in child.stdout if " sonde.lost " not in line)
        printed = list(itertools.islice(shown, 3))
    finally:
        child.terminate()
        child.wait(10)
    for line in printed:
        assert LINE.fullmatch(line) and " udp 1 B" in line, line
    assert any(" xx drop (NO_SOCKET) at " in line for line in printed), printed


def test_makefile_is_a_menu():
    text = read("Makefile")
    assert text.count("\n") <= 95
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("run", "check", "vm", "fresh", "fuzz", "e2e", "golden-update"):
        assert f"make {target} " in listed
