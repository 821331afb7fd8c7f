# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels and guests: fetches distribution kernels, packs an initial file system, boots it under emulation.

Kernels come through apt from suites derived from the package source that this machine uses, into folders of
their own: signatures and checksums are apt's business, and the machine's package state is not touched.
"""
import glob
import lzma
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WORK = os.path.join(HERE, ".work")

META = "linux-image-cloud-amd64"
PART = re.compile(r"linux-(image|binary|modules)-[0-9].*-cloud-amd64$")
MODULES = ["veth", "sch_ingress", "cls_bpf", "act_bpf", "cls_matchall", "act_gact",
           "8021q", "vxlan", "geneve", "dummy", "sctp", "nf_tables"]
PROGRAMS = ["ip", "tc"]
MEMORY_MIB = 512
CPUS = 2
BOOT_LIMIT_S = 280     # 40 s alone on two CPUs; a busy machine may be many times slower


class Unavailable(Exception):
    """The kernel cannot be had here; the text says why."""


def run(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, **options)


def apt_folder(label, suite):
    """A private apt: one source, own lists and cache. The environment that selects it."""
    folder = os.path.join(WORK, label, "apt-" + suite)
    for name in ("lists/partial", "cache/archives/partial", "sources"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    try:
        entry = run(os.path.join(ROOT, "tools", "apt-suite.sh"), suite).stdout
    except subprocess.CalledProcessError as e:
        raise Unavailable(e.stderr.strip()) from e
    name = "suite.list" if entry.startswith("deb ") else "suite.sources"
    with open(os.path.join(folder, "sources", name), "w", encoding="utf-8") as f:
        f.write(entry)
    with open(os.path.join(folder, "apt.conf"), "w", encoding="utf-8") as f:
        f.write(f'''Dir::State::Lists "{folder}/lists";
Dir::State::status "/dev/null";
Dir::Cache "{folder}/cache";
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "{folder}/sources";
APT::Sandbox::User "";
APT::Architecture "amd64";
APT::Architectures {{ "amd64"; }};
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
Acquire::Retries "2";
Acquire::http::Timeout "20";
''')
    return dict(os.environ, APT_CONFIG=os.path.join(folder, "apt.conf"), LC_ALL="C")


def kernel_packages(env):
    """The packages behind the suite's meta package: one image, or since 6.19 a shell, a binary and modules."""
    found, todo = [], [META]
    while todo:
        out = run("apt-cache", "depends", "--important", todo.pop(0), env=env).stdout
        for name in re.findall(r"^\s+(?:Pre)?Depends: (\S+)$", out, re.M):
            if PART.match(name) and name not in found:
                found.append(name)
                todo.append(name)
    return found


def fetch_from(label, suite, target):
    env = apt_folder(label, suite)
    try:
        run("apt-get", "-qq", "update", env=env, timeout=120)
        packages = kernel_packages(env)
        if not packages:
            raise Unavailable(f"{suite} has no {META}")
        debs = os.path.join(WORK, label, "debs")
        shutil.rmtree(debs, ignore_errors=True)
        os.makedirs(debs)
        run("apt-get", "-qq", "download", *packages, env=env, cwd=debs, timeout=300)
    except subprocess.CalledProcessError as e:
        raise Unavailable(f"{suite}: {e.stderr.strip().splitlines()[-1] if e.stderr.strip() else e}") from e
    except subprocess.TimeoutExpired as e:
        raise Unavailable(f"{suite}: no answer from the package source within {e.timeout:.0f} s") from e
    partial = target + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    for deb in glob.glob(os.path.join(debs, "*.deb")):
        run("dpkg", "-x", deb, partial)
    shutil.rmtree(debs)
    shutil.rmtree(target, ignore_errors=True)
    os.rename(partial, target)


def fetch(label, suites):
    """Folder with the unpacked kernel; kept between runs."""
    target = os.path.join(WORK, label, "kernel")
    problems = []
    for suite in [] if os.path.isdir(target) else suites:
        try:
            fetch_from(label, suite, target)
            break
        except Unavailable as e:
            problems.append(str(e))
    if not os.path.isdir(target):
        raise Unavailable("; ".join(problems))
    return target


def module_files(kernel):
    """Paths of the wanted modules and what they need, in load order."""
    folder = os.path.dirname(glob.glob(f"{kernel}/**/lib/modules/*/kernel", recursive=True)[0])
    if not os.path.exists(os.path.join(kernel, "lib", "modules")):     # depmod looks nowhere else
        os.symlink("usr/lib", os.path.join(kernel, "lib"))
    run("/sbin/depmod", "-b", kernel, os.path.basename(folder))
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


def copy_program(program, root, name):
    """A program and the libraries it is linked with, at the paths where the loader looks."""
    shutil.copy(program, os.path.join(root, "bin", name))
    for library in re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", program], capture_output=True, text=True,
                                                             check=False).stdout):
        target = root + library
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target):
            shutil.copy(library, target)


def pack(label, kernel, sonde, helpers):
    """An initial file system with our binary in it and the programs of the folder @helpers; its path."""
    root = os.path.join(WORK, label, "root")
    shutil.rmtree(root, ignore_errors=True)
    for name in ("bin", "sbin", "etc", "proc", "sys", "dev", "tmp", "run", "lib/modules"):
        os.makedirs(os.path.join(root, name))
    shutil.copy("/bin/busybox", os.path.join(root, "bin", "busybox"))
    os.symlink("busybox", os.path.join(root, "bin", "sh"))
    for program in PROGRAMS:
        copy_program(shutil.which(program, path="/bin:/sbin:/usr/bin:/usr/sbin"), root, program)
    copy_program(sonde, root, "sonde")
    for name in ("send", "spin"):
        copy_program(os.path.join(helpers, "vm-" + name), root, name)
    shutil.copy(os.path.join(HERE, "init"), os.path.join(root, "init"))
    names = []
    for path in module_files(kernel):
        names.append(os.path.basename(path).split(".ko")[0])
        copy_module(path, os.path.join(root, "lib", "modules", names[-1] + ".ko"))
    with open(os.path.join(root, "etc", "modules"), "w", encoding="utf-8") as f:
        f.write("\n".join(names) + "\n")
    image = os.path.join(WORK, label, "initrd")
    run("sh", "-c", 'cd "$1" && find . | cpio -o -H newc --quiet | gzip -1 >"$2"', "sh", root, image)
    return image


def boot(label, kernel, initrd):
    """
    (lines of the result port, text of the console). On a starved host an emulated kernel may give up on its own
    hardware before our init has run: such a boot says nothing about us and is done again, at most twice.
    """
    for _ in range(3):
        lines, console = boot_once(label, kernel, initrd)
        if any(line.startswith("kernel ") for line in lines):
            break
    return lines, console


def boot_once(label, kernel, initrd):
    console, results = (os.path.join(WORK, label, name) for name in ("console", "results"))
    for path in (console, results):
        if os.path.exists(path):
            os.unlink(path)
    vmlinuz = glob.glob(f"{kernel}/**/vmlinu[zx]*", recursive=True)[0]
    command = ["qemu-system-x86_64", "-machine", "q35", "-cpu", "max", "-accel", "tcg,thread=multi",
               "-smp", str(CPUS), "-m", str(MEMORY_MIB), "-nodefaults", "-no-reboot", "-display", "none",
               "-serial", f"file:{console}", "-serial", f"file:{results}", "-kernel", vmlinuz, "-initrd", initrd,
               "-append", "console=ttyS0 quiet panic=-1 net.ifnames=0 no_timer_check"]
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=BOOT_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        pass    # what it wrote so far is looked at, and the missing "end" is a failure
    texts = []
    for path in (results, console):
        with open(path, encoding="utf-8", errors="backslashreplace") as f:
            texts.append(f.read().replace("\r", ""))
    return texts[0].split("\n"), texts[1]
