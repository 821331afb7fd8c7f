# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of containers and pods in every event, live and in recordings, from the files that engines keep of them."""
import json
import pathlib
import shutil
import subprocess

import pytest

import helpers
from test_syscalls_container import DOCKER, NOBODYS, PODMAN, TASK, entering, host  # noqa: F401  host: a fixture

POD_UID = "12345678-9abc-4def-8123-456789abcdef"
SLICE = f"kubepods-besteffort-pod{POD_UID.replace('-', '_')}.slice"
NAMES = {DOCKER: ("web", "nginx:1.25", None, None), PODMAN: ("bee", "alpine:3", None, None),
         TASK: ("app", "r.io/a:2", "pod-7", POD_UID), NOBODYS: (None, None, None, None)}


@pytest.fixture
def cgroups():
    top = helpers.cgroup_root()
    if not top:
        pytest.skip("no cgroup2 mount")
    top = pathlib.Path(top)
    made = [top / f"docker-{DOCKER}.scope", top / f"libpod-{PODMAN}.scope", top / SLICE,
            top / SLICE / f"cri-containerd-{TASK}.scope", top / f"docker-{NOBODYS}.scope"]
    for folder in made:
        folder.mkdir()
    yield [folder for folder in made if folder.name != SLICE]
    for folder in reversed(made):
        folder.rmdir()


def named(ev):
    return tuple(ev.get(key) for key in ("container_name", "container_image", "pod", "pod_uid"))


def test_every_event_has_the_names_of_its_container(host, cgroups, sonde, tmp_path):  # noqa: F811
    rec = tmp_path / "c.rec"
    one = sonde("syscalls", "--agent=no", "--host-root", str(host), "--json", "-o", f"rec:{rec}",
                "--where", "proc.name = cat and syscall.name in (read, write)")
    children = [entering(folder, shutil.which("cat")) for folder in cgroups]
    try:
        def speak():
            for child in children:
                child.stdin.write(b"x")
                child.stdin.flush()
            events = list(one.events)
            return all(any(ev["proc"].get("container") == id_ and named(ev) == names for ev in events
                           if ev.get("type") == "sys.exit" and "proc" in ev) for id_, names in NAMES.items())
        helpers.wait_until(speak)
    finally:
        for child in children:
            child.kill()
            child.wait()
    events = [ev for ev in one.finish() if ev["type"] == "sys.exit"]
    for id_, names in NAMES.items():    # unknown at first, never another's
        assert {named(ev) for ev in events if ev["proc"].get("container") == id_} - {names} <= {
            (None, None, None, names[3])}
    for words, id_ in (("container.name=web", DOCKER), ("container.image=alpine:3", PODMAN),
                       (f"k8s.pod=pod-7 and k8s.container=app and k8s.uid={POD_UID}", TASK)):
        calls = f"{words} and syscall.name in (read, write)"    # the recording has those that open files too
        done = subprocess.run([helpers.BINARY, "syscalls", "-r", str(rec), "--json", "--where", calls],
                              capture_output=True, text=True, check=True, timeout=60)
        found = [ev for ev in map(json.loads, done.stdout.splitlines()) if ev["type"] == "sys.exit"]
        assert found and {ev["proc"]["container"] for ev in found} == {id_}, words
        live = [ev for ev in events if ev["proc"].get("container") == id_ and named(ev) == NAMES[id_]]
        assert len(found) == len(live)
