# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile of one method: the samples of goroutines that serve it, and no others."""
import os
import subprocess

import pytest

import helpers
from gocalls import gotree

SOURCE = os.path.join(helpers.ROOT, "tests", "workloads", "go", "methods")


@pytest.fixture
def methods():
    """A server that is busy in main.add for /shop.Cart/Add and in main.list for /shop.Cart/List."""
    suite = gotree.SUITES[-1]
    try:
        path = gotree.Tree(suite).build(SOURCE, os.path.join(gotree.folder(), f"methods-{suite}-plain"))
    except gotree.Unavailable as e:
        pytest.skip(f"no Go of {suite}: {e}")
    child = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    yield child
    child.kill()
    child.communicate()


FUNCTIONS = {"Add": "main.add", "List": "main.list"}


def busy_in(event):
    return {name for name in FUNCTIONS.values() for frame in event.get("ustack", []) if frame.startswith(name)}


def test_samples_of_one_method(sonde, methods, tmp_path):
    """All samples of a method's function say its call; --where takes them by its name, for a flame graph too."""
    runs = {method: sonde("profile", "-o", "json", "-o", f"svg:{tmp_path}/{method}.svg", "-F", "997", "-p",
                          str(methods.pid), "--where", f"rpc.path=/shop.Cart/{method}", wait=False)
            for method in FUNCTIONS}
    for run in runs.values():
        run.wait_for(lambda ev: ev["type"] == "cpu.sample" and busy_in(ev), 100, timeout=40)
    for method, run in runs.items():
        run.finish()
        samples = [ev for ev in run.events if ev["type"] == "cpu.sample"]
        assert all("call_id" in ev for ev in samples) and not [ev for ev in run.events if ev["type"] == "rpc.call"]
        assert set().union(*map(busy_in, samples)) == {FUNCTIONS[method]}
        graph = (tmp_path / f"{method}.svg").read_text()
        assert {name for name in FUNCTIONS.values() if name in graph} == {FUNCTIONS[method]}
