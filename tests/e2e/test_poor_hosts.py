# SPDX-License-Identifier: GPL-2.0-or-later
"""Containers and services that lack something: one sentence with the cause and what to do, or a run with less."""
import json
import os
import re
import resource
import subprocess
import sys

import pytest

from helpers import BINARY, ROOT

OWN_MOUNTS = os.path.join(ROOT, "tests", "workloads", "own_mounts.py")
RUN = ["--duration", "0.2s"]
COMMANDS = ["monitor", "profile", "syscalls"]
# Lines about the run itself: a busy or idle machine, sums at the end.
OF_THE_RUN = re.compile(r"ready|WARNING|were lost|nothing shown|: \d+ (packets|calls|samples|flows|events)")


def run(*words, before=(), preexec=None):
    done = subprocess.run([*before, BINARY, *words, *RUN], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, timeout=60, preexec_fn=preexec, check=False)
    lines = [line for line in done.stderr.splitlines() if not OF_THE_RUN.search(line)]
    return done.returncode, lines


def without(*mounts):
    """A mount namespace of its own without these mounts, or with an empty file system there."""
    steps = [f"umount -l {path}" if os.path.ismount(path) else f"mount -t tmpfs none {path}" for path in mounts]
    return ["unshare", "--mount", "--propagation", "unchanged", sys.executable, OWN_MOUNTS, "sh", "-c",
            " && ".join([*steps, 'exec "$0" "$@"'])]


def lacking(*caps):
    return ["setpriv", "--bounding-set", ",".join(f"-{cap}" for cap in caps), "--inh-caps=-all"]


@pytest.mark.parametrize("command", COMMANDS)
def test_too_few_descriptors(command):
    status, lines = run(command, preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60)))
    assert status == 1 and len(lines) == 1, lines
    assert "at most 60 files may be open" in lines[0] and "ulimit" in lines[0]


def test_a_soft_limit_of_descriptors_is_raised():
    assert run("monitor", preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (60, 4096))) == (0, [])


@pytest.mark.parametrize("command", COMMANDS)
def test_without_sysfs(command):
    status, lines = run(command, before=without("/sys"))
    assert status == 1 and len(lines) == 1, lines
    assert "sysfs is not mounted here (mount -t sysfs sysfs /sys)" in lines[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_without_btf(command):
    status, lines = run(command, before=without("/sys/kernel/btf"))
    assert status == 1 and len(lines) == 1, lines
    assert "/sys/kernel/btf/vmlinux is hidden here" in lines[0]
    assert f"/boot/vmlinux-{os.uname().release}" in lines[0]


def test_types_below_boot(tmp_path):
    """The advice of the message before works."""
    with open("/sys/kernel/btf/vmlinux", "rb") as f:
        (tmp_path / "types").write_bytes(f.read())
    boot = f"mount -t tmpfs none /boot && cp {tmp_path}/types /boot/vmlinux-{os.uname().release}"
    place = without("/sys/kernel/btf")
    place[-1] = f"{boot} && {place[-1]}"
    for command in COMMANDS:
        assert run(command, before=place) == (0, []), command


def test_owners_of_sockets_concern_packets_only():
    """Cgroup programs find owners of UDP sockets; profiles and system calls have no use for these."""
    place = without("/sys/fs/cgroup")
    assert run("profile", before=place) == (0, [])
    assert run("syscalls", before=place) == (0, [])
    status, lines = run("monitor", before=place)
    assert status == 0 and len(lines) == 4 and all("cgroup2" in line for line in lines), lines


@pytest.mark.parametrize("caps", [["bpf"], ["perfmon"], ["bpf", "perfmon", "net_admin"]], ids=",".join)
def test_root_without_capabilities(caps):
    """sys_admin implies the first two, so it goes too. Root is not advised to become root."""
    status, lines = run("syscalls", before=lacking("sys_admin", *caps))
    assert status == 3, lines
    assert all(f"CAP_{cap.upper()}" in lines[-1] for cap in caps) and "run as root" not in lines[-1], lines


@pytest.fixture
def cgroup():
    """The folder of a memory cgroup of 50 MB."""
    for mount, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                         ("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/unified", "memory.max")):
        path = os.path.join(mount, f"sonde-test-{os.getpid()}")
        try:
            os.mkdir(path)
        except OSError:
            continue
        if os.path.exists(os.path.join(path, limit)):
            break
        os.rmdir(path)
    else:
        pytest.skip("there is no memory controller")
    with open(os.path.join(path, limit), "w", encoding="ascii") as f:
        f.write(str(50 << 20))
    yield path
    os.rmdir(path)


@pytest.mark.parametrize("command", ["monitor", "syscalls", "flows"])
def test_small_memory_cgroup(cgroup, command):
    def enter():
        with open(os.path.join(cgroup, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write(str(os.getpid()))
    status, lines = run(command, preexec=enter)
    assert status == 0, lines
    said = [line for line in lines if "limit of the cgroup): rings of" in line]
    assert len(said) == 1, lines


def doctor(*words, before=()):
    done = subprocess.run([*before, BINARY, "doctor", *words], capture_output=True, text=True, timeout=60,
                          check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr


VERDICT = re.compile(r"^(monitor|capture|flows|counters|policy|profile|syscalls|rpc) +(works|partly|not)(?:: (.+))?$")


def verdicts(lines):
    return {m.group(1): m.group(2, 3) for m in map(VERDICT.match, lines) if m}


def test_doctor_says_what_works():
    """A line per command, and on request the hooks, as they are tried."""
    status, lines, _ = doctor("-v")
    found = verdicts(lines)
    assert status == 0 and len(found) == 8, lines
    assert found["profile"] == ("works", None) and found["syscalls"] == ("works", None), found
    hooks = [i for i, line in enumerate(lines) if re.match(r"  (ok|absent|refused|failed) +\w+ +\S", line)]
    commands = [i for i, line in enumerate(lines) if VERDICT.match(line)]
    assert len(hooks) > 40 and hooks[0] < commands[0] < hooks[-1]


def test_doctor_names_the_reason():
    status, lines, _ = doctor(before=without("/sys"))
    found = verdicts(lines)
    assert status == 1 and {v for v, _ in found.values()} == {"not"} and len(found) == 8
    assert all("sysfs is not mounted here" in why for _, why in found.values())
    _, lines, _ = doctor(before=lacking("sys_admin", "perfmon"))
    assert all(v == "not" for v, _ in verdicts(lines).values()), lines
    assert not any(line.startswith("  ") for line in lines)


def test_doctor_in_json():
    _, lines, _ = doctor("--json", before=without("/sys"))
    objects = [json.loads(line) for line in lines]
    assert [o["type"] for o in objects] == ["host"] + ["command"] * 8
    assert {o["state"] for o in objects[1:]} == {"not"}
