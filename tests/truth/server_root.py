# SPDX-License-Identifier: GPL-2.0-or-later
"""Real servers in a root of their own: packages are fetched and unpacked, never installed, so no server of the
machine starts and none of its files changes. The root is kept beside the Go programs; a run writes to memory over it.
"""
import os
import shutil
import subprocess
import sys

import own_mounts
from stage import HERE, Lacking

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "workloads", "go"))
import gotree  # noqa: E402  the path above is needed first

SUITE = "bookworm"
PACKAGES = ["nginx-light", "gunicorn", "postgresql-15", "openssh-server", "openssh-client", "php8.2-fpm", "unbound",
            "haproxy", "dnsmasq-base", "libc-bin", "dash", "bash", "coreutils"]
LIST = "packages"       # in the root: what it was made of
USERS = {"root": 0, "www-data": 33, "postgres": 101, "sshd": 102, "nobody": 65534}


def path(name="servers", packages=tuple(PACKAGES)):
    """The root with this name, complete."""
    root = os.path.join(gotree.folder(), f"{name}-{SUITE}")
    try:
        with gotree.Lock(name):
            if listed(root) != list(packages):
                shutil.rmtree(root, ignore_errors=True)
                fetch(root, packages)
    except gotree.Unavailable as e:
        raise Lacking(f"packages of {SUITE}: {e}") from e
    return root


def listed(root):
    """The packages that @root was made of."""
    try:
        with open(os.path.join(root, LIST), encoding="utf-8") as f:
            return f.read().split()
    except FileNotFoundError:
        return []


def fetch(root, packages):
    apt = gotree.Apt(SUITE)
    work = root + ".new"
    apt.unpack(apt.closure(packages, r"\S+"), work)
    with open(os.path.join(work, "etc/passwd"), "w", encoding="utf-8") as f:
        f.writelines(f"{name}:x:{uid}:{uid}::{'/root' if name == 'root' else '/run'}:/bin/sh\n"
                     for name, uid in USERS.items())
    with open(os.path.join(work, "etc/group"), "w", encoding="utf-8") as f:
        f.writelines(f"{name}:x:{uid}:\n" for name, uid in {**USERS, "nogroup": 65534}.items())
    with open(os.path.join(work, LIST), "w", encoding="utf-8") as f:
        f.write("\n".join(packages))
    subprocess.run(["chroot", work, "/sbin/ldconfig"], check=True)
    os.rename(work, root)


# In a mount namespace: a file system in memory over the root, so that nothing in it changes.
INSIDE = """set -e
root=$1 work=$2 files=$3; shift 3
mount -t tmpfs none "$work"
mkdir "$work/up" "$work/job" "$work/root"
mount -t overlay none -o "lowerdir=$root,upperdir=$work/up,workdir=$work/job" "$work/root"
root=$work/root
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
[ -e "$root/var/run" ] || ln -s /run "$root/var/run"
mkdir -p "$root/truth" "$root/run/sshd" "$root/root"
chmod 1777 "$root/tmp"
mount --bind "$files" "$root/truth"
exec chroot "$root" /bin/sh -ec "$@"
"""


def command(folder, script, files, shared=None, root=None):
    """Words that run the shell script @script inside (@root: another one), with @files (name: text) or the folder
    @shared below /truth."""
    root, work = root or path(), os.path.join(folder, "root")
    os.makedirs(work)
    below = shared or os.path.join(folder, "files")
    os.makedirs(below, exist_ok=True)
    for name, text in files.items():
        with open(os.path.join(below, name), "w", encoding="utf-8") as f:
            f.write(text)
    return [*own_mounts.words(), "sh", "-c", INSIDE, "-", root, work, below, script]
