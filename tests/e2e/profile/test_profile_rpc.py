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


def busy_in(event):
    return {name for name in ("main.add", "main.list") for frame in event.get("ustack", []) if frame.startswith(name)}


def test_samples_of_one_method(sonde, methods, tmp_path):
    """All samples of main.add say its call; --where takes them by the method's name, for a flame graph too."""
    graph = tmp_path / "add.svg"
    one = sonde("profile", "-o", "json", "-o", f"svg:{graph}", "-F", "997", "-p", str(methods.pid), "--where",
                "rpc.path=/shop.Cart/Add", wait=False)
    one.wait_for(lambda ev: ev["type"] == "cpu.sample" and busy_in(ev), 100, timeout=40)
    one.finish()
    samples = [ev for ev in one.events if ev["type"] == "cpu.sample"]
    assert all("call_id" in ev for ev in samples) and not [ev for ev in one.events if ev["type"] == "rpc.call"]
    assert set().union(*map(busy_in, samples)) == {"main.add"}
    assert "main.add" in graph.read_text() and "main.list" not in graph.read_text()
