# SPDX-License-Identifier: GPL-2.0-or-later
"""Names and images of containers, live and in captures, from the files that engines keep of them."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

import helpers

DOCKER, PODMAN, TASK, NOBODYS = ("d0" * 32, "ba" * 32, "7a" * 32, "00" * 32)
FORM = "*%proc.name %container.id %container.name %container.image %container.type"


@pytest.fixture
def host(tmp_path):
    """A host's root with the files of three engines."""
    root = tmp_path / "host"

    def put(path, value):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(json.dumps(value), encoding="utf-8")
    put(f"var/lib/docker/containers/{DOCKER}/config.v2.json",
        {"ID": DOCKER, "Name": "/web", "Image": "sha256:77", "Config": {"Image": "nginx:1.25"}})
    put("var/lib/containers/storage/overlay-containers/containers.json",
        [{"id": PODMAN, "names": ["bee"], "image": "9f", "metadata": json.dumps({"image-name": "alpine:3"})}])
    put(f"run/containerd/io.containerd.runtime.v2.task/k8s.io/{TASK}/config.json",
        {"annotations": {"io.kubernetes.cri.container-name": "app", "io.kubernetes.cri.image-name": "r.io/a:2",
                         "io.kubernetes.cri.sandbox-name": "pod-7"}})
    # what is not a file, and what leads elsewhere, is not waited for and not followed out
    trap = root / f"var/lib/docker/containers/{NOBODYS}"
    trap.mkdir()
    os.mkfifo(trap / "config.v2.json")
    for name in ("proc", "sys"):
        (root / name).mkdir()
        subprocess.run(["mount", "--rbind", f"/{name}", root / name], check=True)
        subprocess.run(["mount", "--make-rprivate", root / name], check=True)
    yield root
    for name in ("proc", "sys"):
        subprocess.run(["umount", "-l", root / name], check=True)


@pytest.fixture
def cgroups():
    top = helpers.cgroup_root()
    if not top:
        pytest.skip("no cgroup2 mount")
    made = [pathlib.Path(top) / name for name in (f"docker-{DOCKER}.scope", f"libpod-{PODMAN}.scope",
                                                  f"cri-containerd-{TASK}.scope", f"docker-{NOBODYS}.scope")]
    for folder in made:
        folder.mkdir()
    yield made
    for folder in made:
        folder.rmdir()


def entering(folder, *command):
    """As an engine starts one: moved between fork and exec."""
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=subprocess.PIPE,
                            preexec_fn=lambda: (folder / "cgroup.procs").write_text(str(os.getpid())))


def test_names(host, cgroups, tmp_path):
    # one is there before, the others come
    first = entering(cgroups[0], shutil.which("cat"))
    out, capture = tmp_path / "out", tmp_path / "a.scap"
    line = [helpers.BINARY, "syscalls", "--agent=no", "--host-root", str(host), "--format", FORM, "-o", f"text:{out}",
            "-o", f"scap:{capture}", "--where", "proc.name in (cat, true)"]
    with open(tmp_path / "err", "wb") as err:
        watch = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=err)
    try:
        end = time.monotonic() + 60
        while b"ready" not in (tmp_path / "err").read_bytes():
            assert watch.poll() is None and time.monotonic() < end, (tmp_path / "err").read_text()
            time.sleep(0.05)
        for folder in cgroups[1:]:
            entering(folder, shutil.which("true")).communicate(timeout=30)
        first.communicate(b"x", timeout=30)
    finally:
        first.kill()
        first.wait()
        watch.send_signal(signal.SIGINT)
        assert watch.wait(60) == 130, (tmp_path / "err").read_text()
    lines = set(out.read_text(encoding="utf-8").splitlines())
    wanted = {f"cat {DOCKER[:12]} web nginx:1.25 docker", f"true {PODMAN[:12]} bee alpine:3 podman",
              f"true {TASK[:12]} app r.io/a:2 cri"}
    assert wanted <= lines, lines
    assert any(line.startswith(f"true {NOBODYS[:12]} {NOBODYS[:12]} ") for line in lines), lines
    # the capture tells the same, to us and to sysdig
    ours = subprocess.run([helpers.BINARY, "syscalls", "-r", str(capture), "--format", FORM], capture_output=True,
                          check=True, text=True).stdout
    assert wanted <= set(ours.splitlines()), ours[:2000]
    helpers.need("sysdig")
    theirs = subprocess.run(["sysdig", "-r", str(capture), "-p", FORM], capture_output=True, check=False, text=True,
                            timeout=60).stdout
    # it has no name for podman's type
    known = {" ".join(line.split()[:4]) for line in theirs.splitlines()}
    assert {" ".join(line.split()[:4]) for line in wanted} <= known, theirs[:2000]
