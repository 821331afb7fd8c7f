# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls of the C library that fail: a sentence, or a run with less, and nothing is left behind."""
import os
import subprocess

import pytest

import monitor_socket
from helpers import BINARY, READY_S, ROOT

pytestmark = pytest.mark.replay
RECORDING = os.path.join(ROOT, "tests", "data", "rec", "loopback.rec")


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """failing(call, words): a run of sonde in which @call fails."""
    library = tmp_path_factory.mktemp("faults") / "faults.so"
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faults.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", library, source, "-ldl"], check=True)

    def run(call, *words):
        return subprocess.run([BINARY, *words], capture_output=True, text=True, timeout=READY_S, check=False,
                              env={**os.environ, "LD_PRELOAD": str(library), "FAULT": call})
    return run


def test_without_a_list_of_interfaces_they_are_numbers(failing, tmp_path):
    row = monitor_socket.vectors()["drop-v3-tcp4-established"]
    peer = monitor_socket.Agent(tmp_path / "cilium.sock", [monitor_socket.message(bytes.fromhex(row["hex"]))])
    done = failing("if_nameindex", "monitor", "--cilium", peer.path, "--count", "1", "--format", "cilium")
    assert done.returncode == 0 and done.stdout, done


def test_a_socket_that_cannot_be_served_is_removed(failing, tmp_path):
    path = tmp_path / "ui.sock"
    done = failing("listen", "ui", "-r", RECORDING, "--listen", f"unix:{path}")
    assert done.returncode == 1 and "cannot serve" in done.stderr, done
    assert not path.exists()
