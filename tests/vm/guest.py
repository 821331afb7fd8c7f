# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels and guests: fetches distribution kernels, packs an initial file system, boots it under emulation.

Kernels come through an apt of their own (tools/private_apt.py).
"""
import glob
import lzma
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WORK = os.path.join(HERE, ".work")
sys.path.insert(0, os.path.join(ROOT, "tools"))
from private_apt import Apt, Unavailable, run, unpack  # noqa: E402  found by the line above

MODULES = ["veth", "sch_ingress", "cls_bpf", "act_bpf", "cls_matchall", "act_gact",
           "8021q", "vxlan", "geneve", "dummy", "sctp", "nf_tables"]
LOADS = ["libpcap.so.0.8"]     # libraries that our binary asks for when it needs them
PROGRAMS = ["busybox", "ip", "tc"]
MEMORY_MIB = 512
CPUS = 2
BOOT_LIMIT_S = 900     # 60 s beside another on two CPUs; make check runs them at the lowest priority
# One thread for all CPUs of a guest. With a thread for each, one of them now and then executes a breakpoint that the
# kernel, which patches its own code so, took away before ("Oops: int3" where a tracepoint is switched on).
ACCELERATOR = "tcg,thread=single"


class Machine:
    """What differs between architectures. Results go to a serial port of their own."""

    def __init__(self, arch, command, console, results, port):
        self.arch, self.command = arch, command
        self.console, self.results, self.port = console, results, port
        self.meta = f"linux-image-cloud-{arch}"
        self.part = re.compile(rf"linux-(image|binary|modules)-[0-9].*-cloud-{arch}$")


MACHINES = {
    "amd64": Machine("amd64", ["qemu-system-x86_64", "-machine", "q35", "-cpu", "max"],
                     "ttyS0", "ttyS1", "isa-serial"),
    # Not "max": kernels from 6.12 on do not start on that of older emulators.
    "arm64": Machine("arm64", ["qemu-system-aarch64", "-machine", "virt", "-cpu", "neoverse-n1"],
                     "ttyAMA0", "ttyS0", "pci-serial"),
}


class Kernel:
    """A row of tests/vm/kernels."""

    def __init__(self, label, arch, suites):
        self.label, self.machine, self.suites = label, MACHINES[arch], suites
        self.folder = os.path.join(WORK, label)
        self.files = os.path.join(self.folder, "kernel")

    def find(self, pattern):
        return glob.glob(f"{self.files}/{pattern}", recursive=True)[0]


def kernel_packages(apt, machine):
    """The packages behind the suite's meta package: one image, or since 6.19 a shell, a binary and modules."""
    found, todo = [], [machine.meta]
    while todo:
        out = apt.run("apt-cache", "depends", "--important", todo.pop(0))
        for name in re.findall(r"^\s+(?:Pre)?Depends: (\S+)$", out, re.M):
            if machine.part.match(name) and name not in found:
                found.append(name)
                todo.append(name)
    return found


def fetch_from(kernel, suite):
    apt = Apt(os.path.join(kernel.folder, "apt-" + suite), [suite], kernel.machine.arch)
    apt.update()
    packages = kernel_packages(apt, kernel.machine)
    if not packages:
        raise Unavailable(f"no {kernel.machine.meta}")
    debs = os.path.join(kernel.folder, "debs")
    shutil.rmtree(debs, ignore_errors=True)
    os.makedirs(debs)
    apt.run("apt-get", "-qq", "download", *packages, cwd=debs)
    partial = kernel.files + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    unpack(glob.glob(os.path.join(debs, "*.deb")), partial)
    shutil.rmtree(debs)
    os.rename(partial, kernel.files)


def fetch(kernel):
    """Makes kernel.files, the unpacked kernel; kept between runs."""
    problems = []
    for suite in [] if os.path.isdir(kernel.files) else kernel.suites:
        try:
            fetch_from(kernel, suite)
            break
        except Unavailable as e:
            problems.append(f"{suite}: {e}")
    if not os.path.isdir(kernel.files):
        raise Unavailable("; ".join(problems))


def module_files(kernel):
    """Paths of the wanted modules and what they need, in load order."""
    folder = os.path.dirname(kernel.find("**/lib/modules/*/kernel"))
    if not os.path.exists(os.path.join(kernel.files, "lib", "modules")):     # depmod looks nowhere else
        os.symlink("usr/lib", os.path.join(kernel.files, "lib"))
    run("/sbin/depmod", "-b", kernel.files, os.path.basename(folder))
    needs = {}
    with open(os.path.join(folder, "modules.dep"), encoding="utf-8") as f:
        for line in f:
            path, below = line.rstrip("\n").split(":")
            name = os.path.basename(path).split(".ko")[0].replace("-", "_")
            needs[name] = [path, *below.split()]
    ordered = []
    for name in MODULES:
        for path in reversed(needs.get(name, [])):
            if path not in ordered:
                ordered.append(path)
    return [os.path.join(folder, path) for path in ordered]


def copy_module(source, target):
    if source.endswith(".xz"):
        with lzma.open(source) as packed, open(target, "wb") as f:
            shutil.copyfileobj(packed, f)
    elif source.endswith(".zst"):
        run("zstd", "-qdf", source, "-o", target)
    else:
        shutil.copy(source, target)


def find(root, patterns):
    return next(path for pattern in patterns for path in glob.glob(f"{root}/{pattern}"))


def linked_with(path):
    """(names of libraries, path of the loader) that a program or library was linked with."""
    out = run("readelf", "-dlW", path).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", out), re.findall(r"program interpreter: (.+)\]", out)


def copy_program(program, image, name, source, loads=()):
    """
    A program and the libraries it is linked with or @loads, which are below @source, to where the loader looks.
    """
    shutil.copy(program, os.path.join(image, "bin", name))
    todo, done = [program], set()
    while todo:
        path = todo.pop()
        names, loaders = linked_with(path)
        if path == program:
            names += loads
        for loader in loaders:
            target = image + loader
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(source + loader, target)
        for library in names:
            if library in done:
                continue
            done.add(library)
            path = find(source, [f"lib/*-linux-gnu/{library}", f"usr/lib/*-linux-gnu/{library}", f"lib64/{library}"])
            target = os.path.join(image, "lib", os.path.basename(os.path.dirname(path)), library)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(path, target)
            todo.append(path)


def pack(kernel, ours, helpers, source, programs):
    """
    An initial file system with our binaries in it (the product, then those of folders *-clang-N), the programs of
    the folder @helpers, those of the Debian root
    @source ("" = this machine), and the paths @programs; its path.
    """
    root = os.path.join(kernel.folder, "root")
    shutil.rmtree(root, ignore_errors=True)
    for name in ("bin", "sbin", "etc", "proc", "sys", "dev", "tmp", "run", "lib/modules"):
        os.makedirs(os.path.join(root, name))
    for program in PROGRAMS:
        path = find(source, [f"{folder}/{program}" for folder in ("bin", "sbin", "usr/bin", "usr/sbin")])
        copy_program(path, root, program, source)
    os.symlink("busybox", os.path.join(root, "bin", "sh"))
    copy_program(ours[0], root, "sonde", source, LOADS)
    for path in ours[1:]:
        compiler = re.search(r"clang-\d+$", os.path.dirname(path)).group()
        copy_program(path, root, "doctor-" + compiler, source, LOADS)
    for name in ("calls", "send", "serve", "spin"):
        copy_program(os.path.join(helpers, "vm-" + name), root, name, source)
    for path in programs:
        copy_program(path, root, os.path.basename(path), source)
    shutil.copy(os.path.join(HERE, "init"), os.path.join(root, "init"))
    names = []
    for path in module_files(kernel):
        names.append(os.path.basename(path).split(".ko")[0])
        copy_module(path, os.path.join(root, "lib", "modules", names[-1] + ".ko"))
    with open(os.path.join(root, "etc", "modules"), "w", encoding="utf-8") as f:
        f.write("\n".join(names) + "\n")
    image = os.path.join(kernel.folder, "initrd")
    run("sh", "-c", 'cd "$1" && find . | cpio -o -H newc --quiet | gzip -1 >"$2"', "sh", root, image)
    return image


def boot(kernel, initrd):
    """
    (lines of the result port, text of the console, how the emulator ended). On a starved host an emulated kernel may
    give up on its own hardware before our init has run: such a boot says nothing about us and is done again, at most
    twice.
    """
    for _ in range(3):
        lines, console, end = boot_once(kernel, initrd)
        if any(line.startswith("kernel ") for line in lines):
            break
    return lines, console, end


def boot_once(kernel, initrd):
    console, results = (os.path.join(kernel.folder, name) for name in ("console", "results"))
    for path in (console, results):
        if os.path.exists(path):
            os.unlink(path)
    machine = kernel.machine
    command = [*machine.command, "-accel", ACCELERATOR,
               "-smp", str(CPUS), "-m", str(MEMORY_MIB), "-nodefaults", "-no-reboot", "-display", "none",
               "-serial", f"file:{console}", "-chardev", f"file,id=results,path={results}",
               "-device", f"{machine.port},chardev=results", "-kernel",
               kernel.find("**/vmlinu[zx]*"), "-initrd", initrd,
               "-append", f"console={machine.console} quiet panic=-1 net.ifnames=0 no_timer_check "
                          f"RESULTS={machine.results}"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=BOOT_LIMIT_S, check=False)
        end = f"emulator: exit status {done.returncode} {done.stderr.strip()}"
    except subprocess.TimeoutExpired:   # what it wrote so far is looked at, and the missing "end" is a failure
        end = f"emulator: ended after {BOOT_LIMIT_S} s"
    texts = []
    for path in (results, console):
        with open(path, encoding="utf-8", errors="backslashreplace") as f:
            texts.append(f.read().replace("\r", ""))
    return texts[0].split("\n"), texts[1], end
