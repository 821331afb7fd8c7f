# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures of the live tests. Everything they make is gone when the test ends, also when it fails."""
import os
import signal
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, *(entry.path for entry in os.scandir(HERE) if entry.is_dir())]   # modules of all rooms
import helpers  # noqa: E402  the path above is needed first
import older_kernel  # noqa: E402


# Tests end programs by SIGINT, which a shell that runs pytest in the background has them ignore.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    config.addinivalue_line("markers", "replay: reads files only; runs beside the live ones (tools/check.py)")


def pytest_collection_modifyitems(items):
    reason = None
    if os.geteuid() != 0:
        reason = "needs root: network namespaces and BPF"
    elif not os.access(helpers.BINARY, os.X_OK):
        pytest.exit(f"{helpers.BINARY} is not built", returncode=1)
    if reason:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session", autouse=True)
def clean_start():
    if os.geteuid() == 0:
        helpers.remove_leftovers()


@pytest.fixture
def netns():
    """netns() makes a namespace."""
    made = []

    def make():
        made.append(helpers.Netns())
        return made[-1]
    yield make
    for ns in made:
        ns.close()


@pytest.fixture
def link(netns):
    """Two namespaces and a veth pair: link.a, link.b, link.a_dev, link.a_ip, link.a_ip6, ..."""
    return helpers.Link(netns(), netns())


@pytest.fixture
def routed(netns):
    """Three namespaces in a row, the middle one forwards: routed.left.a - .b = router = .a - right.b"""
    return helpers.Routed(netns)


@pytest.fixture
def sonde():
    """sonde("monitor", "--json", ...) starts one and waits until it is ready; sonde.run(...) runs one to its end."""
    started = []

    def start(*words, **options):
        started.append(helpers.Sonde(*words, **options))
        return started[-1]

    def run(*words, **options):
        return helpers.sh(helpers.BINARY, *words, check=False, **options)
    start.run = run
    yield start
    for one in started:
        if one.child.poll() is None:
            one.child.kill()
            one.child.wait()


@pytest.fixture(params=["this", "6.1"])
def kernel(request, tmp_path):
    """What stands before sonde for this kernel, or for one as old."""
    lacks = older_kernel.LACKS.get(request.param)
    return older_kernel.without(tmp_path, *lacks) if lacks else ()


@pytest.fixture
def disk_of(tmp_path):
    """disk_of(size): a folder on a tmpfs of that size, as "8M"."""
    path = tmp_path / "disk"

    def make(size):
        path.mkdir()
        helpers.sh("mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(path))
        return path
    yield make
    helpers.sh("umount", "-l", str(path), check=False)      # a program of a failed test may still use it
