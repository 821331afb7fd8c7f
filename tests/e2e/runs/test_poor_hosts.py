# SPDX-License-Identifier: GPL-2.0-or-later
"""Containers and services that lack something: one sentence with the cause and what to do, or a run with less."""
import json
import os
import re
import resource
import signal
import subprocess

import pytest

from helpers import BINARY, ROOT
import older_kernel
from older_kernel import own_mounts

RUN = ["--duration", "0.2s"]
COMMANDS = ["monitor", "profile", "syscalls"]
# Lines about the run itself: a busy or idle machine, sums at the end.
OF_THE_RUN = re.compile(r"ready|WARNING|were lost|nothing shown|(^|: )[\d,]+ (packet|call|sample|flow|event)s?\b")


def run(*words, before=(), preexec=None):
    done = subprocess.run([*before, BINARY, *words, *RUN], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, timeout=60, preexec_fn=preexec, check=False)
    lines = [line for line in done.stderr.splitlines() if not OF_THE_RUN.search(line)]
    return done.returncode, lines


def without(*mounts):
    """A mount namespace of its own without these mounts, or with an empty file system there."""
    steps = [f"umount -l {path}" if os.path.ismount(path) else f"mount -t tmpfs none {path}" for path in mounts]
    return [*own_mounts.words(), "sh", "-c", " && ".join([*steps, 'exec "$0" "$@"'])]


def lacking(*caps):
    return ["setpriv", "--bounding-set", ",".join(f"-{cap}" for cap in caps), "--inh-caps=-all"]


@pytest.mark.parametrize("command", COMMANDS)
def test_too_few_descriptors(command):
    status, lines = run(command, preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60)))
    assert status == 1 and len(lines) == 1, lines
    assert "at most 60 files may be open" in lines[0] and "ulimit" in lines[0]


DATA = os.path.join(ROOT, "tests", "data")


@pytest.mark.parametrize("words", [["monitor"], ["profile"], ["syscalls"], ["rpc"], ["agent"], ["ui"],
                                   ["help", "events"], ["monitor", "-r", f"{DATA}/rec/loopback.rec"],
                                   ["record", "-r", f"{DATA}/scap/session.scap"]], ids=lambda words: words[0])
def test_hardly_any_descriptor(words, tmp_path):
    """The sentence names what failed, at whichever step."""
    place = ["--socket-dir", str(tmp_path)] if words == ["agent"] else []
    for limit in range(4, 13):
        done = subprocess.run([BINARY, *words, *place], capture_output=True, text=True, timeout=60, check=False,
                              preexec_fn=lambda n=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
        lines = done.stderr.splitlines()
        assert done.returncode == 0 or re.match(r"sonde: \S+ \S+", lines[-1]), (limit, done)
        assert not [line for line in lines if re.fullmatch(r"sonde: *", line)], (limit, lines)


def test_a_soft_limit_of_descriptors_is_raised():
    assert run("monitor", preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (60, 4096))) == (0, [])


@pytest.mark.parametrize("command", COMMANDS)
def test_without_sysfs(command):
    status, lines = run(command, before=without("/sys"))
    assert status == 1 and len(lines) == 1, lines
    assert "sysfs is not mounted here (mount -t sysfs sysfs /sys)" in lines[0]


HIDDEN = without("/sys/kernel/btf")
# BTF by id needs the first, the thread with a root directory of its own the second.
UNPRIVILEGED = lacking("sys_admin", "sys_chroot")


@pytest.mark.parametrize("command", COMMANDS)
def test_without_btf_the_kernel_is_asked(command):
    assert run(command, before=HIDDEN) == (0, [])


def test_hidden_btf_that_the_kernel_does_not_hand_out():
    status, lines = run("syscalls", before=[*HIDDEN, *UNPRIVILEGED])
    assert status == 1 and len(lines) == 1, lines
    assert "/sys/kernel/btf/vmlinux is hidden here" in lines[0]
    assert "CAP_SYS_ADMIN and CAP_SYS_CHROOT" in lines[0] and "--btf FILE" in lines[0]


@pytest.fixture(scope="module", name="types")
def make_types(tmp_path_factory):
    """The kernel's types: as they are, and in an ELF file as in a vmlinux."""
    raw = tmp_path_factory.mktemp("btf") / "raw"
    with open("/sys/kernel/btf/vmlinux", "rb") as f:
        raw.write_bytes(f.read())
    elf = raw.with_name("vmlinux")
    subprocess.run(["gcc", "-x", "c", "-c", "-o", elf, "/dev/null"], check=True)
    subprocess.run(["objcopy", "--add-section", f".BTF={raw}", elf], check=True)
    return {"raw": raw, "elf": elf}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("form", ["raw", "elf"])
def test_btf_of_a_file(types, command, form):
    assert run(command, "--btf", types[form], before=HIDDEN) == (0, [])


def test_btf_of_a_file_without_rights_to_mount(types):
    """The ids of the file are compared with the kernel's; the folder in /tmp is removed."""
    assert run("syscalls", "--btf", types["raw"], before=[*HIDDEN, *lacking("sys_admin")]) == (0, [])
    assert not [name for name in os.listdir("/tmp") if name.startswith("sonde-btf-")]


@pytest.mark.parametrize("place", [[], HIDDEN, [*HIDDEN, *lacking("sys_admin")]],
                         ids=["visible", "by id", "by tracepoints"])
def test_files_that_are_not_the_btf_of_this_kernel(types, tmp_path, place):
    (tmp_path / "text").write_text("no types here\n")
    # The ids are right, the names of tracepoints are not.
    (tmp_path / "other").write_bytes(re.sub(rb"\0btf_trace_.", b"\0btf_trace_X", types["raw"].read_bytes()))
    for name, said in (("none", "cannot open {}: No such file or directory"), ("text", "{} holds no BTF"),
                       ("other", f"{{}} describes another kernel than the running {os.uname().release}")):
        status, lines = run("syscalls", "--btf", tmp_path / name, before=place)
        assert status == 1 and len(lines) == 1 and said.format(tmp_path / name) in lines[0], lines


def status_of_threads(pid, key):
    folder = f"/proc/{pid}/task"
    return [re.search(rf"^{key}:\s*(\w+)", open(f"{folder}/{tid}/status", encoding="ascii").read(), re.M)[1]
            for tid in os.listdir(folder)]


@pytest.mark.parametrize("admin", ["", "no-admin = yes\n"], ids=["admin", "no admin"])
def test_agent_without_btf(sonde, types, tmp_path, admin):
    """The thread that hands the file to libbpf is confined as the others are."""
    (tmp_path / "agent.conf").write_text(f"btf = {types['raw']}\n{admin}")
    agent = sonde("agent", "--config", tmp_path / "agent.conf", "--socket-dir", tmp_path / "run", before=HIDDEN)
    assert run("syscalls", f"--agent={tmp_path}/run/control.sock") == (0, [])
    rights = status_of_threads(agent.pid, "CapPrm")
    assert len(rights) == 3 and len(set(rights)) == 1, rights
    assert set(status_of_threads(agent.pid, "Seccomp")) == {"2"}
    assert agent.stop(signal.SIGTERM) == 0


OWN = "/proc/self/ns/net"
NO_DROPS = "drops (kfree_skb) does not work here: the tracepoint kfree_skb has 0 arguments; 2, 3 or 4 are known"


def said(*words, **options):
    done = subprocess.run([*options.pop("before", ()), BINARY, *words, *RUN], capture_output=True, text=True,
                          timeout=60, check=True, **options)
    return done.stderr.splitlines()


def test_the_first_line_says_what_is_watched(tmp_path):
    for options, ready in (([], "packets of this network namespace, but no drops"),
                           (["--netns", OWN], f"packets of network namespace {OWN}, but no drops"),
                           (["--where", "evt.type in (drop, refused, mib)"], "no drops"),
                           (["--where", "evt.type=trace"], "packets of this network namespace")):
        lines = said("monitor", "-v", *options, before=older_kernel.without(tmp_path, "btf_trace_kfree_skb"))
        assert f"sonde: ready, watching {ready}; ^C stops" in lines, lines
        lacks = "no drops" in ready
        assert sum(NO_DROPS in line for line in lines) == lacks, lines
        assert any("no drops watched" in line for line in lines) == lacks, lines


def test_the_first_line_of_a_root_that_may_not_load_tc_programs():
    lines = said("monitor", "-v", before=lacking("sys_admin", "net_admin"))
    assert "sonde: ready, watching drops of all network namespaces, but no packets; ^C stops" in lines, lines
    assert any(re.match(r"no packets watched, [\d,]+ drops? in ", line) for line in lines), lines


def test_clients_of_an_agent_are_told_what_does_not_work(sonde, tmp_path):
    """Those that subscribed to the probe whose hook it is."""
    older = older_kernel.without(tmp_path, "btf_trace_kfree_skb")
    agent = sonde("agent", "--socket-dir", tmp_path / "run", before=older)
    at = f"--agent={tmp_path}/run/control.sock"
    for _ in range(2):      # of an instance that starts
        lines = said("monitor", at)
        assert sum(NO_DROPS in line for line in lines) == 1, lines
        assert "sonde: ready, watching packets of this network namespace, but no drops; ^C stops" in lines
    first = sonde("monitor", at)
    second = sonde("monitor", at)       # that shares the instance of the first
    for client in (first, second):
        client.stop()
        assert client.stderr.count(NO_DROPS) == 1, client.stderr
    assert not [line for line in said("profile", at) if "does not work" in line]
    assert agent.stop(signal.SIGTERM) == 0
    assert NO_DROPS in agent.stderr


def test_types_below_boot(types):
    boot = f"mount -t tmpfs none /boot && cp {types['raw']} /boot/vmlinux-{os.uname().release}"
    place = [*without("/sys/kernel/btf"), *UNPRIVILEGED]
    script = HIDDEN.index("-c") + 1
    place[script] = f"{boot} && {place[script]}"
    assert run("syscalls", before=place) == (0, [])


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


SECCOMP = """
import ctypes, os, struct, sys
code = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, {bpf}, 0x06, 0, 0, 0x50001, 0x06, 0, 0, 0x7fff0000)
text = ctypes.create_string_buffer(code, len(code))
assert ctypes.CDLL(None).prctl(22, 2, struct.pack("HP", 4, ctypes.addressof(text)), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.parametrize("before, says", [
    (["unshare", "--user", "--map-root-user"], "this is not the host's user namespace"),
    (["/usr/bin/python3", "-c", SECCOMP.format(bpf={"x86_64": 321, "aarch64": 280}[os.uname().machine])],
     "a seccomp filter is active")], ids=["namespace", "seccomp"])
def test_what_limits_a_root_with_every_capability(before, says):
    """Facts alone: what the kernel does not tell is not guessed."""
    if before[0] == "unshare" and subprocess.run([*before, "true"], check=False).returncode != 0:
        pytest.skip("the kernel makes no user namespace in a chroot")
    status, lines = run("syscalls", before=before)
    assert status == 3 and lines[-1].endswith(f"does not permit BPF programs of this kind here: {says}"), lines


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


@pytest.mark.parametrize("command", ["monitor", "syscalls", "flows", "rpc", "profile"])
def test_small_memory_cgroup(cgroup, command):
    def enter():
        with open(os.path.join(cgroup, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write(str(os.getpid()))
    status, lines = run(command, preexec=enter)
    assert status == 0, lines
    said = [line for line in lines if "limit of the cgroup): " in line]
    assert len(said) == 1 and "small tables" in said[0], lines


def doctor(*words, before=()):
    done = subprocess.run([*before, BINARY, "doctor", *words], capture_output=True, text=True, timeout=60,
                          check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr


JUDGED = "monitor", "capture", "flows", "counters", "policy", "profile", "syscalls", "rpc", "rpc --source socket"
VERDICT = re.compile(rf"^(works|partly|not) +((?:{'|'.join(JUDGED)})(?:, (?:{'|'.join(JUDGED)}))*)(?:: (.+))?$")


def verdicts(lines):
    """{command: (verdict, reason)}. No two lines have the same verdict for the same reason."""
    found = [m for m in map(VERDICT.match, lines) if m]
    assert len({m.group(1, 3) for m in found if m.group(3)}) == len([m for m in found if m.group(3)]), lines
    return {command: m.group(1, 3) for m in found for command in m.group(2).split(", ")}


def test_doctor_says_what_works():
    """Every command stands in a line, and on request the hooks, as they are tried."""
    status, lines, _ = doctor("-v")
    found = verdicts(lines)
    assert status == 0 and tuple(found) == JUDGED, lines
    assert found["profile"] == ("works", None) and found["syscalls"] == ("works", None), found
    hooks = [i for i, line in enumerate(lines) if re.match(r"  (ok|absent|refused|failed) +\w+ +\S", line)]
    commands = [i for i, line in enumerate(lines) if VERDICT.match(line)]
    assert len(hooks) > 40 and hooks[0] < commands[0] < hooks[-1]


def test_doctor_names_the_reason():
    status, lines, _ = doctor(before=without("/sys"))
    found = verdicts(lines)
    assert status == 1 and {v for v, _ in found.values()} == {"not"} and tuple(found) == JUDGED
    assert all("sysfs is not mounted here" in why for _, why in found.values())
    assert len([line for line in lines if "sysfs" in line]) == 1, lines
    _, lines, _ = doctor(before=lacking("sys_admin", "perfmon"))
    assert all(v == "not" for v, _ in verdicts(lines).values()), lines
    assert not any(line.startswith("  ") for line in lines)


def test_doctor_names_the_btf(types):
    """In its second line, before it tries the hooks; the first needs no search."""
    for place, words, source in (([], [], "/sys/kernel/btf/vmlinux"), (HIDDEN, [], "the kernel by id 1"),
                                 (HIDDEN, ["--btf", types["raw"]], types["raw"])):
        with subprocess.Popen([*place, BINARY, "doctor", *words], stdout=subprocess.PIPE, text=True) as child:
            assert re.fullmatch(r"Linux \S+ on \S+, \d+ CPUs\.\n", child.stdout.readline())
            assert child.stdout.readline() == f"Type information (BTF) from {source}.\n"
            child.terminate()
    status, lines, said = doctor("--btf", "/none")
    assert (status, len(lines)) == (1, 1) and "cannot open /none" in said


def test_doctor_in_json():
    _, lines, _ = doctor("--json", before=without("/sys"))
    objects = [json.loads(line) for line in lines]
    assert [o["type"] for o in objects] == ["host"] + ["command"] * 9
    assert {o["state"] for o in objects[1:]} == {"not"}
