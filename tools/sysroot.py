#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A Debian root of another architecture to build against, with what a guest of tests/vm runs.

  sysroot.py ARCH FOLDER     makes FOLDER/root and FOLDER/cross.ini (meson setup --cross-file); kept when there

Packages are those of the list `build` in tools/setup.sh, of this machine's release.
"""
import glob
import os
import shlex
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import private_apt  # noqa: E402  found by the line above

CPUS = {"arm64": "aarch64", "amd64": "x86_64"}
GUEST = ["busybox-static", "iproute2"]

CROSS = """[binaries]
c = ['aarch64-linux-gnu-gcc']
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
[properties]
sys_root = '{root}'
pkg_config_libdir = '{root}/usr/lib/{cpu}-linux-gnu/pkgconfig:{root}/usr/share/pkgconfig'
needs_exe_wrapper = true
[built-in options]
c_args = ['--sysroot={root}']
c_link_args = ['--sysroot={root}']
[host_machine]
system = 'linux'
cpu_family = '{cpu}'
cpu = '{cpu}'
endian = 'little'
"""


def release():
    with open("/etc/os-release", encoding="utf-8") as f:
        words = dict(line.strip().split("=", 1) for line in f if "=" in line)
    return shlex.split(words["VERSION_CODENAME"])[0]


def libraries():
    """What of the list is built against; compilers and tools run here."""
    words = private_apt.run(os.path.join(private_apt.TOOLS, "setup.sh"), "--list", "build").stdout.split()
    return [word for word in words if word.startswith(("lib", "zlib"))]


def fetch(arch, folder):
    """Paths of all packages."""
    suite = release()
    newer = f"{suite}-backports"
    apt = private_apt.Apt(os.path.join(folder, "apt"), [suite, newer], arch)
    apt.update()
    words = [f"{name}/{newer}" if name.startswith("libbpf") else name for name in libraries() + GUEST]
    archives = os.path.join(folder, "apt", "cache", "archives")
    for old in glob.glob(f"{archives}/*.deb"):
        os.unlink(old)
    apt.run("apt-get", "-y", "-qq", "--no-install-recommends", "--download-only", "install", *words, timeout=600)
    return glob.glob(f"{archives}/*.deb")


def relative_links(root):
    """A linker follows absolute links out of the root."""
    for base, folders, files in os.walk(root):
        for path in (os.path.join(base, name) for name in folders + files):
            if os.path.islink(path) and os.path.isabs(os.readlink(path)):
                target = root + os.readlink(path)
                os.unlink(path)
                os.symlink(os.path.relpath(target, base), path)


def make(arch, folder):
    """The root; what is there is kept."""
    folder = os.path.abspath(folder)
    root = os.path.join(folder, "root")
    if not os.path.isdir(root):
        partial = root + ".partial"
        shutil.rmtree(partial, ignore_errors=True)
        os.makedirs(os.path.join(partial, "usr", "lib"))
        os.symlink("usr/lib", os.path.join(partial, "lib"))
        private_apt.unpack(fetch(arch, folder), partial)
        relative_links(partial)
        os.rename(partial, root)
    with open(os.path.join(folder, "cross.ini"), "w", encoding="utf-8") as f:
        f.write(CROSS.format(root=root, cpu=CPUS[arch]))
    return root


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in CPUS:
        sys.exit(__doc__)
    try:
        make(sys.argv[1], sys.argv[2])
    except private_apt.Unavailable as e:
        sys.exit(f"sysroot.py: {sys.argv[1]}: {e}")


if __name__ == "__main__":
    main()
