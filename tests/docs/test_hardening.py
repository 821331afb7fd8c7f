# SPDX-License-Identifier: GPL-2.0-or-later
"""How the binary was built, and what the unit takes away from the agent: doc/SECURITY.md."""
import os
import re
import shutil
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SERVICE = os.path.join(ROOT, "contrib", "systemd", "sonde-agent.service")
HAS_ADDRESS_SANITIZER = "__asan_init"
needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")


def readelf(path, *options):
    return subprocess.run(["readelf", "-W", *options, path], capture_output=True, text=True, check=True).stdout


def test_position_and_relocations(sonde):
    assert re.search(r"Type: +DYN ", readelf(sonde.path, "-h"))
    assert "GNU_RELRO" in readelf(sonde.path, "-l")
    assert re.search(r"GNU_STACK.* RW ", readelf(sonde.path, "-l"))
    dynamic = readelf(sonde.path, "-d")
    assert "BIND_NOW" in dynamic and re.search(r"FLAGS_1.*NOW.*PIE", dynamic)


def test_checked_buffers_and_stacks(sonde):
    symbols = readelf(sonde.path, "--dyn-syms")
    if HAS_ADDRESS_SANITIZER in symbols:
        pytest.skip("sanitizers bring checks of their own")
    assert "__stack_chk_fail" in symbols
    assert {"__snprintf_chk", "__memcpy_chk"} <= set(re.findall(r"__\w+_chk\b", symbols))


def test_branch_targets_are_marked(sonde):
    with open("/proc/sys/kernel/arch", encoding="ascii") as f:
        if f.read().strip() != "x86_64":
            pytest.skip("CET is x86's")
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "--disassemble=main", sonde.path],
                          capture_output=True, text=True, check=True).stdout
    assert re.search(r"<main>:\n\s+[0-9a-f]+:\s+endbr64", code), code[:400]


@needs_systemd
def test_exposure_of_the_unit():
    """systemd's own judgement, ten times its figure."""
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=25", SERVICE],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def calls_of(group):
    """Names of the system calls in a group of systemd, those of groups in it too."""
    lines = subprocess.run(["systemd-analyze", "syscall-filter", group], capture_output=True, text=True,
                           check=True).stdout.splitlines()[1:]
    names = set()
    for name in (line.strip() for line in lines):
        if name.startswith("@"):
            names |= calls_of(name)
        elif name and not name.startswith("#"):
            names.add(name)
    return names


def allowed_by_unit():
    allowed = set()
    with open(SERVICE, encoding="utf-8") as f:
        for words in re.findall(r"^SystemCallFilter=(.*)$", f.read(), re.M):
            for word in words.replace("~", "").split():
                names = calls_of(word) if word.startswith("@") else {word}
                allowed = allowed - names if words.startswith("~") else allowed | names
    return allowed


@needs_systemd
def test_unit_lets_the_agent_call_what_it_needs():
    """Its own lists are the measure; priorities of workers and a limit's old name it can do without."""
    with open(os.path.join(ROOT, "src", "agent", "access", "agent_rights.c"), encoding="utf-8") as f:
        text = f.read()
    lists = text[text.index("allowed[] = {"):text.index("deadly[] = {")]
    needed = set(re.findall(r"SCMP_SYS\((\w+)\)", lists)) | set(re.findall(r"\{ SCMP_SYS\((\w+)\)", text))
    assert len(needed) > 80
    assert needed - allowed_by_unit() <= {"setpriority", "setrlimit"}
