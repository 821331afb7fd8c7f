#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of containers that come and go, 50 a second, from the files of docker, podman and containerd. Needs root.
  containers.py [--sonde build/sonde] [--count 1000] [--rate 50]
Each container is a process in a cgroup of its own that writes when it starts and half a second later; its engine
has written its file before. The file is read beside the stream, and the first events wait for it. Prints how many
containers have an event with the right name, and how many events have it, none, or a wrong one; exit status 1 if
one is wrong, fewer than 99.9 % of the events have a name, or a container has no event."""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
import helpers  # noqa: E402  the path above is needed first

RIGHT = 0.999
LIFE_S = 0.5


class Host:
    """A host's root with the files of the three engines."""

    def __init__(self, root):
        self.root, self.podman = pathlib.Path(root), []
        self.names = {}
        for name in ("proc", "sys"):
            (self.root / name).mkdir(parents=True)
            subprocess.run(["mount", "--rbind", f"/{name}", self.root / name], check=True)
            subprocess.run(["mount", "--make-rprivate", self.root / name], check=True)

    def close(self):
        for name in ("proc", "sys"):
            subprocess.run(["umount", "-l", self.root / name], check=True)

    def put(self, path, value):
        """Whole or not at all, as engines do it."""
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".new").write_text(json.dumps(value), encoding="utf-8")
        path.with_suffix(".new").rename(path)

    def add(self, number):
        """(id, name of its cgroup)"""
        one = hashlib.sha256(b"%d" % number).hexdigest()
        self.names[one] = name = f"name-{number}"
        if number % 3 == 0:
            self.put(f"var/lib/docker/containers/{one}/config.v2.json",
                     {"ID": one, "Name": "/" + name, "Config": {"Image": "i"}})
            return one, f"docker-{one}.scope"
        if number % 3 == 1:
            self.podman.append({"id": one, "names": [name], "image": "i"})
            self.put("var/lib/containers/storage/overlay-containers/containers.json", self.podman)
            return one, f"libpod-{one}.scope"
        self.put(f"run/containerd/io.containerd.runtime.v2.task/k8s.io/{one}/config.json",
                 {"annotations": {"io.kubernetes.cri.container-name": name}})
        return one, f"cri-containerd-{one}.scope"


def run_containers(host, args):
    """At the rate, or as fast as this machine can."""
    top = pathlib.Path(helpers.cgroup_root())
    living, begin = collections.deque(), time.monotonic()

    def end_first():
        born, child, folder = living.popleft()
        time.sleep(max(0, born + LIFE_S - time.monotonic()))
        child.communicate(b"x", timeout=30)
        folder.rmdir()
    for number in range(args.count):
        time.sleep(max(0, begin + number / args.rate - time.monotonic()))
        while living and living[0][0] + LIFE_S < time.monotonic():
            end_first()
        folder = top / host.add(number)[1]
        folder.mkdir(exist_ok=True)     # of a run that was killed
        child = subprocess.Popen(["/bin/sh", "-c", f"echo $$ >{folder}/cgroup.procs; exec cat"],
                                 stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        living.append((time.monotonic(), child, folder))
        child.stdin.write(b"x")
        child.stdin.flush()
    while living:
        end_first()
    return args.count / (time.monotonic() - begin - LIFE_S)


def judge(lines, names, tally, seen, named):
    for line in lines:
        ev = json.loads(line)
        one = ev.get("proc", {}).get("container")
        if ev["type"] == "sys.exit" and one in names:
            name = ev.get("container_name")
            tally["right" if name == names[one] else "wrong" if name else "unknown"] += 1
            seen.add(one)
            named |= {one} if name == names[one] else set()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sonde", default=os.path.join(ROOT, "build", "sonde"))
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=50)
    args = parser.parse_args()
    if os.environ.get("SONDE_CONTAINERS_NS") != "1":     # killed, it leaves no mounts
        os.environ["SONDE_CONTAINERS_NS"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])
    tally, seen, named = collections.Counter(), set(), set()
    with tempfile.TemporaryDirectory(prefix="sonde-containers-") as folder:
        host = Host(f"{folder}/host")
        one = subprocess.Popen([args.sonde, "syscalls", "--agent=no", "-v", "--host-root", host.root, "--json",
                                "--where", "proc.name = cat and syscall.name = write"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        threads = [threading.Thread(target=judge, args=(one.stdout, host.names, tally, seen, named)),
                   threading.Thread(target=one.stderr.read)]
        try:
            while "ready" not in (said := one.stderr.readline()):
                assert said, "sonde did not get ready"
            for thread in threads:
                thread.start()
            rate = run_containers(host, args)
        finally:
            one.terminate()
            one.wait()
            host.close()
        for thread in threads:
            thread.join()
    print(f"{len(seen)} containers of {args.count}, {rate:.0f} a second: {len(named)} named; {tally['right']} events "
          f"with the right name, {tally['unknown']} with none, {tally['wrong']} with a wrong one")
    enough = tally["right"] >= RIGHT * sum(tally.values())
    return 0 if enough and not tally["wrong"] and len(seen) == args.count else 1


if __name__ == "__main__":
    sys.exit(main())
