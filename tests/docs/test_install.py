# SPDX-License-Identifier: GPL-2.0-or-later
"""`make install` and `make uninstall` with DESTDIR: which files, where, stripped; nothing is left."""
import os
import re
import subprocess

import pytest

from conftest import ROOT

LIBDIR = subprocess.run([os.path.join(ROOT, "tools", "libdir.sh"), "/usr/local"], capture_output=True, text=True,
                        check=True).stdout.strip()
UNINSTALL = os.path.join(ROOT, "tools", "uninstall.py")
FILES = {
    "bin/sonde", "bin/sonde-strace", "bin/sonde-sysdig", "bin/sonde-hubble",
    f"{LIBDIR}/libsonde.so", f"{LIBDIR}/libsonde.so.0", f"{LIBDIR}/libsonde.a",
    f"{LIBDIR}/pkgconfig/libsonde.pc", "share/sonde/gen_datapath.py",
    "include/sonde/sonde.h", "include/sonde/datapath.bpf.h", "include/sonde/wire.h", "include/sonde/rec.h",
    "include/sonde/notify_wire.h", "include/sonde/ratelimit.bpf.h",
    "lib/systemd/system/sonde-agent.service", "lib/systemd/system/sonde-agent-read.socket",
    "lib/systemd/system/sonde-agent-control.socket", "lib/sysusers.d/sonde.conf",
    "share/man/man1/sonde.1", "share/man/man1/sonde-agent.1", "share/man/man1/sonde-strace.1",
    "share/bash-completion/completions/sonde",
    "share/doc/sonde/README.md", "share/doc/sonde/LICENSE", "share/doc/sonde/LICENSES/GPL-2.0-or-later.txt",
    "share/doc/sonde/doc/ARCHITECTURE.md", "share/doc/sonde/doc/HOWTO-emit-events.md",
    "share/doc/sonde/examples/agent.conf", "share/doc/sonde/examples/syscalls/syscalls.c",
    "share/doc/sonde/examples/vpc/vpc.tsv", "share/doc/sonde/contrib/grafana/host.json",
    "share/doc/sonde/contrib/prometheus/sonde.rules.yml",
}


def make(target, build, tree):
    """Without configure, which installs packages."""
    done = subprocess.run(["make", target, "-o", "configure", f"B={build}", f"DESTDIR={tree}"], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def files(tree):
    return {os.path.relpath(os.path.join(where, name), tree) for where, _, names in os.walk(tree) for name in names}


@pytest.fixture(scope="module")
def tree(sonde, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    make("install", sonde.build, folder)
    return folder


@pytest.fixture(scope="module")
def local(tree):
    return tree / "usr" / "local"


def test_everything_that_the_pages_name_is_there(tree, local):
    found = files(tree)
    assert not {f"usr/local/{name}" for name in FILES} - found
    assert all(name.startswith("usr/local/") for name in found)
    assert not [name for name in found if name.endswith("meson.build")]
    for name in re.findall(r"`(?:sonde/)?(\w+\.bpf\.h|wire\.h)`", (local / "share/doc/sonde/doc/HOWTO-emit-events.md")
                           .read_text()):
        assert (local / "include/sonde" / name).exists()


def test_links_between_installed_pages_lead_somewhere(local):
    pages = local / "share/doc/sonde"
    for page in [pages / "README.md", *pages.glob("doc/*.md")]:
        for link in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text()):
            if not link.startswith(("../include", "../tools", "../src", "../probes", "../tests")):
                assert (page.parent / link).exists(), f"{page}: {link}"


def test_programs_and_library_are_stripped(local):
    for name in ("bin/sonde", f"{LIBDIR}/libsonde.so.0", f"{LIBDIR}/libsonde.a"):
        sections = subprocess.run(["readelf", "-SW", local / name], capture_output=True, text=True, check=True).stdout
        assert ".debug_info" not in sections and ("libsonde.a" in name or ".symtab" not in sections), name


def test_units_name_the_installed_program(local):
    unit = (local / "lib/systemd/system/sonde-agent.service").read_text()
    assert "ExecStart=/usr/local/bin/sonde agent\n" in unit


def test_the_sample_configuration_is_accepted_and_complete(sonde, local, tmp_path):
    text = (local / "share/doc/sonde/examples/agent.conf").read_text()
    names = set(re.findall(r"^#([a-z][a-z-]*) = ", text, re.M))
    recording = set(re.findall(r"^ +--([a-z-]+)", sonde("help", "recording").stdout, re.M))
    assert names == set(sonde.options("agent")) - {"config", "check", "help"} | recording
    assert len(names) > 10 and len(recording) > 3
    lines = [line.lstrip("#") if re.match(r"#[a-z-]+ = (?![A-Z])", line) else line for line in text.splitlines()]
    (tmp_path / "agent.conf").write_text("\n".join(lines) + "\n")
    done = sonde("agent", "--check", "--config", str(tmp_path / "agent.conf"))
    assert done.returncode == 0, done.stderr


def test_the_installed_generator_makes_a_header(local):
    table = local / "share/doc/sonde/examples/vpc/vpc.tsv"
    done = subprocess.run([local / "share/sonde/gen_datapath.py", "header", table], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0 and "#define" in done.stdout, done.stderr


def test_uninstall_removes_all_of_it_and_nothing_else(sonde, tmp_path):
    own = tmp_path / "usr/local/share/doc/sonde/mine"
    make("install", sonde.build, tmp_path)
    own.write_text("")
    make("uninstall", sonde.build, tmp_path)
    assert files(tmp_path) == {"usr/local/share/doc/sonde/mine"}
    make("install", sonde.build, tmp_path)
    own.unlink()
    assert "uninstalled" in make("uninstall", sonde.build, tmp_path)
    assert os.listdir(tmp_path) == []


def test_empty_directories_of_others_stay(tmp_path):
    """Without DESTDIR those go that the installation made, also when it is done twice."""
    source, build, prefix = tmp_path / "source", tmp_path / "build", tmp_path / "prefix"
    others = prefix / "share/zsh/site-functions"
    others.mkdir(parents=True)
    source.mkdir()
    places = {"a": "share/zsh/site-functions", "b": "share/fish/vendor_completions.d", "c": "share/sonde"}
    for name in places:
        (source / name).write_text("")
    (source / "meson.build").write_text("project('x')\n" + "".join(
        f"install_data('{name}', install_dir: '{place}')\n" for name, place in places.items()))

    def run(*words):
        return subprocess.run(words, capture_output=True, text=True, check=True,
                              env={**os.environ, "DESTDIR": ""}).stdout

    run("meson", "setup", f"-Dprefix={prefix}", str(build), str(source))
    for _ in range(2):
        made = run(UNINSTALL, "--missing", str(build))
        run("meson", "install", "-C", str(build))
        with open(prefix / "share/sonde/directories", "a", encoding="utf-8") as record:
            record.write(made)
    run(UNINSTALL, str(build))
    assert {os.path.relpath(where, prefix) for where, *_ in os.walk(prefix)} == {
        ".", "share", "share/zsh", "share/zsh/site-functions"}
