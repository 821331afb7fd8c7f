#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs that profilers are judged by: built, started and ended, all at once or by name.

    workloads.py [--out DIR] [--seconds N] [NAME...]    builds, runs; prints what the self-timing ones measured
    workloads.py --list

Every workload runs under a name of its own (its `comm`), because that is all that some profilers print. Every process
is ended by its pid or, where it has children of its own, as the process group that it leads; a workload whose program
is not installed is left out with a reason. Standard library only.
"""
import argparse
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import own_mounts

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PR_SET_PDEATHSIG = 1
REDIS_PORT = "16390"
PLAIN = ("-O2", "-g0", "-fno-optimize-sibling-calls")
NO_FP = (*PLAIN, "-fomit-frame-pointer")
FP = (*PLAIN, "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer")
PAYLOAD_BYTES = 24 << 20

# What is compiled: name, source, flags.
BUILDS = {
    "split": ("split.c", NO_FP),
    "split_fp": ("split.c", FP),
    "split_static": ("split.c", (*NO_FP, "-static")),
    "split_stripped": ("split.c", (*NO_FP, "-s")),
    "callers": ("callers.c", NO_FP),
    "callers_fp": ("callers.c", FP),
    "kernuser": ("kernuser.c", NO_FP),
    "blocked": ("blocked.c", NO_FP),
    "paths": ("paths.c", NO_FP),
    "deep": ("deep.c", NO_FP),
    "threads": ("threads.c", (*NO_FP, "-pthread")),
    "short90": ("short90.c", NO_FP),
    "again": ("again.c", PLAIN),
    "hostile": ("hostile.c", NO_FP),
    "templates": ("templates.cc", NO_FP),
    "rusty": ("rusty.rs", ("-O",)),
    "gopher": ("gopher.go", ()),
}


class Missing(Exception):
    """The machine lacks what a workload is made of or runs on."""


def find(*names):
    """The first of these programs that is here; the distribution's before others."""
    for name in names:
        path = name if os.path.isabs(name) else shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin")
        path = path or shutil.which(name)
        if path and os.access(path, os.X_OK):
            return path
    raise Missing(f"{names[-1]} is not installed")


def compile_words(source, flags, out):
    path = os.path.join(HERE, source)
    if source.endswith(".c"):
        # -lrt: timer_create() of older C libraries
        return [find("cc"), *flags, "-o", out, path, "-lrt"]
    if source.endswith(".cc"):
        return [find("g++"), *flags, "-o", out, path]
    if source.endswith(".rs"):
        return [find("rustc"), *flags, "-o", out, path]
    return [find("go"), "build", "-o", out, path]


def build(out, name):
    """Path of the built program; made anew when its source is newer."""
    source, flags = BUILDS[name]
    os.makedirs(out, exist_ok=True)
    target = os.path.join(out, name)
    sources = [os.path.join(HERE, source), os.path.join(HERE, "timed.h"), os.path.abspath(__file__)]
    if os.path.exists(target) and os.path.getmtime(target) > max(map(os.path.getmtime, sources)):
        return target
    env = dict(os.environ, GOCACHE=os.path.join(out, "gocache"), GO111MODULE="off", GOFLAGS="", CGO_ENABLED="0")
    done = subprocess.run(compile_words(source, flags, target + ".new"), env=env, cwd=out, text=True,
                          capture_output=True, check=False, timeout=300)
    if done.returncode:
        raise RuntimeError(f"{name} does not build:\n{done.stderr}")
    os.replace(target + ".new", target)
    return target


def named(out, name, program):
    """A link by which @program runs under another name."""
    path = os.path.join(out, name)
    if not os.path.islink(path) or os.readlink(path) != program:
        if os.path.lexists(path):
            os.unlink(path)
        os.symlink(program, path)
    return path


def payload(out):
    """A file for the compressors: code and text of this machine."""
    path = os.path.join(out, "payload")
    if not os.path.exists(path):
        with open(path + ".new", "wb") as f:
            for base, _, files in os.walk("/usr/bin"):
                for name in sorted(files):
                    if f.tell() < PAYLOAD_BYTES and not os.path.islink(os.path.join(base, name)):
                        with open(os.path.join(base, name), "rb") as one:
                            f.write(one.read(1 << 20))
        os.replace(path + ".new", path)
    return path


def own(name):
    return lambda out: [build(out, name)]


def again(make):
    return lambda out: [build(out, "again"), *make(out)]


def contained(out):
    """In a mount and a pid namespace of its own; the file is inside only, another one has its name outside."""
    where = os.path.join(out, "inside")
    os.makedirs(where, exist_ok=True)
    shutil.copy(find("true"), os.path.join(where, "contained"))
    script = f"cp '{build(out, 'split')}' /dev/shm/.sonde-$$ && mount -t tmpfs none '{where}' && " \
             f"mv /dev/shm/.sonde-$$ '{where}/contained' && exec '{where}/contained'"
    return [*own_mounts.words("--pid", "--fork", "--kill-child", unshare=find("unshare")), "sh", "-c", script]


def deleted(out):
    path = os.path.join(out, "deleted")
    shutil.copy(build(out, "split"), path)
    return [path]


def node(name, *words):
    return lambda out: [named(out, name, find("node", "nodejs")), *words, os.path.join(HERE, "busy.js")]


def redis_server(out):
    # redis-tools has the server's program under this name too; the package of the server would start one.
    program = named(out, "redis-server", find("redis-server", "redis-check-rdb"))
    return [program, "--port", REDIS_PORT, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", out]


def redis_benchmark(_out):
    return [find("redis-benchmark"), "-p", REDIS_PORT, "-q", "-l", "-n", "1000000", "-t", "set,get,lpush,lrange_300"]


class Workload:
    """What it runs, the names its threads go by, and what must not be expected of it."""

    def __init__(self, make, comms=None, timed=False, nameless=None, service=False, unlinks=False):
        self.make, self.comms, self.timed, self.nameless = make, comms, timed, nameless
        self.service, self.unlinks = service, unlinks


STRIPPED = "stripped"

# The names of interpreted and compiled JavaScript are nowhere, unless V8 is told to write them down; and a stripped
# program, as distributions ship them, has few or none: nobody is judged by these, but by what the best peer found.
WORKLOADS = {
    "split": Workload(own("split"), timed=True),
    "split_fp": Workload(own("split_fp"), timed=True),
    "split_static": Workload(own("split_static"), timed=True),
    "split_stripped": Workload(own("split_stripped"), timed=True, nameless=STRIPPED),
    "deep": Workload(own("deep")),
    "templates": Workload(own("templates")),
    "rusty": Workload(own("rusty")),
    "gopher": Workload(own("gopher")),
    "threads": Workload(own("threads")),
    "python": Workload(lambda out: [named(out, "wl_python", find("python3")), "-I", os.path.join(HERE, "busy.py")],
                       comms=["wl_python"], nameless=STRIPPED),
    "node": Workload(node("wl_node"), comms=["wl_node"], nameless="JIT without a map"),
    "node_map": Workload(node("wl_node_map", "--perf-basic-prof", "--interpreted-frames-native-stack"),
                         comms=["wl_node_map"]),
    "redis": Workload(redis_server, comms=["redis-server"], service=True, nameless=STRIPPED),
    "redis_bench": Workload(redis_benchmark, comms=["redis-benchmark"], nameless=STRIPPED),
    "openssl": Workload(again(lambda out: [find("openssl"), "speed", "-seconds", "5", "sha256", "aes-128-cbc",
                                           "rsa2048"]), nameless=STRIPPED),
    "gzip": Workload(again(lambda out: [find("gzip"), "-9c", payload(out)]), nameless=STRIPPED),
    "xz": Workload(again(lambda out: [find("xz"), "-T1", "-6c", payload(out)]), nameless=STRIPPED),
    "short90": Workload(again(own("short90"))),
    "contained": Workload(contained, timed=True),
    # Not of the set that completeness is a mean over: for the tests of accuracy.
    "callers": Workload(own("callers"), timed=True),
    "callers_fp": Workload(own("callers_fp"), timed=True),
    "kernuser": Workload(own("kernuser"), timed=True),
    "blocked": Workload(own("blocked"), timed=True),
    "deleted": Workload(deleted, timed=True, unlinks=True),
}
SET = list(WORKLOADS)[:19]


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def descendants(pid):
    """Of the process @pid, itself first."""
    ret = [pid]
    for one in ret:
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{task}/children", encoding="ascii") as f:
                    ret += [int(word) for word in f.read().split()]
        except OSError:
            pass
    return ret


def bpf_ids(pid, what):
    """What process @pid holds descriptors of: "map_id" or "prog_id" (also by links)."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii", errors="replace") as f:
                found |= {int(line.split()[1]) for line in f if line.startswith(what + ":")}
        except OSError:
            pass
    return found


class Running:
    """A started workload."""

    def __init__(self, name, out, niceness=0):
        self.name, self.what = name, WORKLOADS[name]
        words = self.what.make(out)
        self.comms = self.what.comms or [name]
        self.truth = {}

        def before():
            die_with_parent()
            os.nice(niceness)
        self.child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True, start_new_session=True, preexec_fn=before,
                                      cwd=out)
        if self.what.timed and self.child.stdout.readline().strip() != "ready":
            self.stop()
            raise RuntimeError(f"{name} did not start: {' '.join(words)}")
        if self.what.unlinks:
            remove(words[0])

    @property
    def pids(self):
        return descendants(self.child.pid)

    @property
    def pid(self):
        """Of the process that does the work."""
        return self.pids[-1]

    def cpu_ns(self):
        """What its threads ran so far (those that are still there)."""
        total = 0
        for pid in self.pids:
            try:
                for task in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
                        total += int(f.read().split()[0])
            except OSError:
                pass
        return total

    def stop(self):
        """Ends it; self.truth has what it measured."""
        if self.what.timed and self.child.poll() is None:
            os.kill(self.pid, signal.SIGTERM)
            try:
                text, _ = self.child.communicate(timeout=10)
                self.truth = json.loads(text.strip().splitlines()[-1]) if text.strip() else {}
            except subprocess.TimeoutExpired:
                pass
        if self.child.poll() is None:
            # Its own session: the group is this workload and nothing else.
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
        self.child.stdout.close()
        if "--perf-basic-prof" in self.child.args:
            remove(f"/tmp/perf-{self.child.pid}.map")

    def shares(self):
        """The measured parts as fractions of one."""
        total = sum(self.truth.values())
        return {name: ns / total for name, ns in self.truth.items()} if total else {}


def remove(path):
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


class Runs:
    """Several workloads; a context manager that ends them all."""

    def __init__(self, names, out, niceness=0):
        self.names, self.out, self.niceness = names, out, niceness
        self.running, self.left_out = {}, {}

    def __enter__(self):
        try:
            for name in self.names:
                try:
                    self.running[name] = Running(name, self.out, self.niceness)
                except Missing as e:
                    self.left_out[name] = str(e)
                if WORKLOADS[name].service:
                    time.sleep(0.5)     # until it listens: the next one is its client
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        # The last one first: a client before its server.
        for one in reversed(self.running.values()):
            one.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "workloads"))
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("name", nargs="*")
    args = parser.parse_args()
    if args.list:
        print("\n".join(WORKLOADS))
        return 0
    unknown = [name for name in args.name if name not in WORKLOADS]
    if unknown:
        parser.error(f"no workload {unknown[0]}; --list names them")
    with Runs(args.name or SET, os.path.abspath(args.out)) as runs:
        for name, why in runs.left_out.items():
            print(f"{name}: left out: {why}", file=sys.stderr)
        time.sleep(args.seconds)
        running = dict(runs.running)
    for name, one in running.items():
        if one.truth:
            print(name, " ".join(f"{part}={share:.4f}" for part, share in one.shares().items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
