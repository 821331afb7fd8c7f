#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Go toolchains with gRPC of several ages, and stripped Go programs, out of distribution packages, without network.

    gotree.py tree SUITE...                  fetches and unpacks; prints where each is and what it has
    gotree.py env SUITE                      the variables of a build, for eval
    gotree.py build SUITE DIR OUT [VARIANT]  builds the program in DIR
    gotree.py program SUITE NAME             path of a program of a distribution
    gotree.py calls SUITE VARIANT            path of the test program of every kind of call
    gotree.py collector                      path of the OpenTelemetry Collector of sid, 305 MB of packages
    gotree.py prepare                        all that the live tests ask for, ahead of them

Everything lies below one folder (--dir, else $SONDE_GO_DIR, else build/go) and is kept between runs. Packages come
through an apt of their own (tools/private_apt.py).
"""
import argparse
import fcntl
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import private_apt  # noqa: E402  found by the line above
from private_apt import Unavailable  # noqa: E402

LIBRARIES = ["golang-google-grpc-dev", "golang-google-protobuf-dev", "golang-golang-x-net-dev"]
COLLECTOR = ["golang-opentelemetry-collector-dev"]     # sid alone has it
# bookworm: the 1-3 alternative satisfies the dependency and panics at run time.
PINNED = {"bookworm": ["golang-github-golang-protobuf-1-5-dev"]}
# Without these a suite gives its newest.
GO = {"bookworm": "1.19", "trixie": "1.24"}
# Programs of distributions that were stripped when they were packaged: package, path.
PROGRAMS = {
    "prometheus": ("prometheus", "usr/bin/prometheus"),
    "nats-server": ("nats-server", "usr/sbin/nats-server"),
    "victoria-metrics": ("victoria-metrics", "usr/bin/victoria-metrics"),
}
# Programs that run in live tests: each with what it asks.
ETCD = {"etcd": ("etcd-server", "usr/bin/etcd"), "etcdctl": ("etcd-client", "usr/bin/etcdctl")}
# Programs of long runs (tests/soak/go_servers.py).
SOAK = {
    "containerd": ("containerd", "usr/bin/containerd"),
    "ctr": ("containerd", "usr/bin/ctr"),
    "caddy": ("caddy", "usr/bin/caddy"),
}
VARIANTS = {
    "plain": ([], {}),
    "stripped": (["-ldflags=-s -w"], {}),
    "nodwarf": (["-ldflags=-w"], {}),
    "pie": (["-buildmode=pie"], {}),
    "stripped-pie": (["-buildmode=pie", "-ldflags=-s -w"], {}),
    "nocgo": ([], {"CGO_ENABLED": "0"}),
    "cgo": ([], {"CGO_ENABLED": "1"}),
    "trimpath": (["-trimpath"], {}),
    "arm64": ([], {"CGO_ENABLED": "0", "GOARCH": "arm64"}),
    "c-shared": (["-buildmode=c-shared"], {"CGO_ENABLED": "1"}),
    "plugin": (["-buildmode=plugin"], {"CGO_ENABLED": "1"}),
    "cmux": (["-tags=cmux"], {}),
}
# What a variant needs besides LIBRARIES.
MORE = {"cmux": "golang-github-soheilhy-cmux-dev"}
# What the live tests run. bookworm: Go 1.19 with gRPC 1.33; trixie: Go 1.24 with gRPC 1.64. Each way to build is
# there once; all of them for both suites (SONDE_GO_BUILDS=all) cost minutes of compiling. SONDE_GO_SUITES names
# others: sid has the newest of both (make rpc-newest).
SUITES = tuple(os.environ.get("SONDE_GO_SUITES", "bookworm trixie").split())
ALL_BUILDS = os.environ.get("SONDE_GO_BUILDS") == "all"
BUILDS = [(suite, variant) for suite in SUITES for variant in ("plain", "stripped", "pie", "stripped-pie", "nocgo")
          if ALL_BUILDS or variant in ("plain", "stripped") or (suite == "bookworm") != ("pie" in variant)]
# For what does not depend on how a program was linked: one build of each suite, or the newest suite's.
SUITE_BUILDS = BUILDS if ALL_BUILDS else [(suite, "plain") for suite in SUITES]
ONE_BUILD = BUILDS if ALL_BUILDS else [(SUITES[-1], "plain")]


class BuildError(Exception):
    """A program does not compile: no reason to skip a test."""


def folder():
    return os.environ.get("SONDE_GO_DIR") or os.path.join(ROOT, "build", "go")


def run(*words, **options):
    try:
        return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout
    except subprocess.CalledProcessError as e:
        last = (e.stderr.strip() or e.stdout.strip() or "failed").splitlines()[-1]
        raise BuildError(f"{os.path.basename(words[0])} {words[-1]}: {last}") from e
    except FileNotFoundError as e:
        raise Unavailable(f"{words[0]} is not installed") from e


class Apt(private_apt.Apt):
    """Of one suite."""

    def __init__(self, suite):
        super().__init__(os.path.join(folder(), "apt-" + suite), [suite], "amd64")
        self.suite = suite
        self.update()

    def closure(self, packages, pattern):
        """What installing @packages on nothing would bring, of names that match."""
        out = self.run("apt-get", "-s", "install", *packages)
        return sorted(set(re.findall(rf"^Inst ({pattern}) ", out, re.M)))

    def newest_go(self):
        out = self.run("apt-cache", "pkgnames", "golang-1.")
        found = [int(n) for n in re.findall(r"^golang-1\.(\d+)-go$", out, re.M)]
        if not found:
            raise Unavailable(f"{self.suite} has no Go")
        return f"1.{max(found)}"

    def unpack(self, packages, target):
        """All or nothing: @target appears when it is complete."""
        debs, partial = target + ".debs", target + ".partial"
        for path in (debs, partial):
            shutil.rmtree(path, ignore_errors=True)
        os.makedirs(debs)
        self.run("apt-get", "-qq", "download", *packages, cwd=debs, timeout=600)
        private_apt.unpack(glob.glob(os.path.join(debs, "*.deb")), partial)
        shutil.rmtree(debs)
        os.rename(partial, target)


class Lock:
    """One fetch at a time, and one build of a program: several test runs share the folder."""

    def __init__(self, name=""):
        self.name = name

    def __enter__(self):
        os.makedirs(folder(), exist_ok=True)
        self.file = open(os.path.join(folder(), self.name + ".lock"), "w", encoding="utf-8")
        fcntl.flock(self.file, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_):
        self.file.close()


class Tree:
    """A Go release of one suite and, in a folder of that name, packages: those of gRPC if not said otherwise."""

    def __init__(self, suite, name="", libraries=tuple(LIBRARIES)):
        self.suite, self.libraries = suite, list(libraries)
        self.path = os.path.join(folder(), name or suite)
        with Lock():
            if not os.path.isdir(self.path):
                self._fetch()
        roots = glob.glob(os.path.join(self.path, "usr/lib/go-1.*"))
        if not roots:
            raise Unavailable(f"{self.path} has no Go release")
        self.root = max(roots, key=lambda p: int(p.rsplit(".", 1)[1]))
        self.gopath = os.path.join(self.path, "usr/share/gocode")

    def _fetch(self):
        apt = Apt(self.suite)
        go = GO.get(self.suite) or apt.newest_go()
        wanted = self.libraries + PINNED.get(self.suite, [])
        libraries = [p for p in apt.closure(wanted, r"golang-\S+") if p.endswith("-dev")]
        # The release's own packages stand beside, whatever the suite's default is.
        apt.unpack(libraries + [f"golang-{go}-go", f"golang-{go}-src"], self.path)
        self._join(go)

    def _join(self, go):
        """The release links to absolute paths; here they point into the tree."""
        root = os.path.join(self.path, f"usr/lib/go-{go}")
        share = os.path.join(self.path, f"usr/share/go-{go}")
        for name in os.listdir(share):
            link = os.path.join(root, name)
            if not os.path.exists(link):
                if os.path.islink(link):
                    os.unlink(link)
                os.symlink(os.path.join(share, name), link)

    def version(self):
        with open(os.path.join(self.root, "VERSION"), encoding="utf-8") as f:
            return f.readline().strip()

    def grpc(self):
        with open(os.path.join(self.gopath, "src/google.golang.org/grpc/version.go"), encoding="utf-8") as f:
            return re.search(r'Version = "(.*)"', f.read()).group(1)

    def env(self):
        own = os.path.join(folder(), "own-" + os.path.basename(self.path))
        return {"GOROOT": self.root, "GOPATH": own + ":" + self.gopath, "GOCACHE": own + "/cache",
                "GO111MODULE": "off", "GOTOOLCHAIN": "local", "GOPROXY": "off", "GOENV": "off", "GOFLAGS": ""}

    def build(self, source, out, variant="plain"):
        """Builds the program in the folder @source as @out; made anew when a source is newer. Returns @out."""
        with Lock(os.path.basename(out)):
            return self._build(source, out, variant)

    def _build(self, source, out, variant):
        flags, more = VARIANTS[variant]
        sources = glob.glob(os.path.join(source, "*.go"))
        if os.path.exists(out) and all(os.path.getmtime(out) > os.path.getmtime(s) for s in sources):
            return out
        os.makedirs(os.path.dirname(os.path.abspath(out)), exist_ok=True)
        env = self.env()
        if variant in MORE:
            env["GOPATH"] += ":" + os.path.join(unpacked(self.suite, variant, MORE[variant]), "usr/share/gocode")
        run(os.path.join(self.root, "bin/go"), "build", *flags, "-o", os.path.abspath(out), ".", cwd=source,
            env=dict(os.environ, **env, **more))
        return out


def unpacked(suite, name, package):
    """Folder of a package that is unpacked and never installed."""
    target = os.path.join(folder(), f"{suite}-{name}")
    with Lock():
        if not os.path.isdir(target):
            Apt(suite).unpack([package], target)
    return target


def program(suite, name):
    """Path of a distribution's program."""
    package, path = {**PROGRAMS, **ETCD, **SOAK}[name]
    return os.path.join(unpacked(suite, name, package), path)


def calls(suite, variant):
    """Path of the test program of every kind of call, built if it is not there."""
    source = os.path.join(HERE, "calls")
    return Tree(suite).build(source, os.path.join(folder(), f"calls-{suite}-{variant}"), variant)


def conns(suite):
    """Path of the test program with wrapped connections."""
    return Tree(suite).build(os.path.join(HERE, "conns"), os.path.join(folder(), f"conns-{suite}"))


def tls(suite, variant):
    """Path of the test program that speaks HTTP/1 over TLS."""
    return Tree(suite).build(os.path.join(HERE, "tls"), os.path.join(folder(), f"tls-{suite}-{variant}"), variant)


def _shared(suite, name, variant, build):
    out = os.path.join(folder(), f"{name}-{suite}.so")
    if not build and not os.path.exists(out):
        raise Unavailable("what programs load is built with SONDE_GO_BUILDS=all only")
    return Tree(suite).build(os.path.join(HERE, "shared"), out, variant)


def shared(suite, build=True):
    """Path of the library that other programs load; without @build only if it was built before."""
    return _shared(suite, "libshared", "c-shared", build)


def plugin(suite, build=True):
    """Likewise of a plugin, and of the Go program that loads it."""
    made = _shared(suite, "plugin", "plugin", build)
    host = os.path.join(folder(), f"host-{suite}")
    return made, Tree(suite).build(os.path.join(HERE, "host"), host, "cgo")


def collector():
    """Path of the OpenTelemetry Collector, built of Debian's packages."""
    return Tree("sid", "sid-collector", COLLECTOR).build(os.path.join(HERE, "collector"),
                                                         os.path.join(folder(), "collector-sid"))


def prepare():
    for suite, variant in sorted({*BUILDS, *((suite, "stripped-pie") for suite in SUITES)}):
        calls(suite, variant)
    for suite in SUITES:
        conns(suite)
        tls(suite, "stripped" if suite == "bookworm" else "stripped-pie")
        for name in (*PROGRAMS, *ETCD):
            program(suite, name)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--dir")
    p.add_argument("what", choices=("tree", "env", "build", "calls", "collector", "program", "prepare"))
    p.add_argument("words", nargs="*")
    a = p.parse_args()
    if a.dir:
        os.environ["SONDE_GO_DIR"] = os.path.abspath(a.dir)
    try:
        if a.what == "tree":
            for suite in a.words:
                t = Tree(suite)
                print(f"{suite} {t.version()} grpc {t.grpc()} {t.path}")
        elif a.what == "env":
            for name, value in Tree(a.words[0]).env().items():
                print(f"export {name}='{value}'")
        elif a.what == "build":
            print(Tree(a.words[0]).build(*a.words[1:]))
        elif a.what == "calls":
            print(calls(*a.words))
        elif a.what == "collector":
            print(collector())
        elif a.what == "prepare":
            prepare()
        else:
            print(program(*a.words))
    except (BuildError, Unavailable) as e:
        print(f"gotree.py: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
