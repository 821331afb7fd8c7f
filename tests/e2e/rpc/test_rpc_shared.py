# SPDX-License-Identifier: GPL-2.0-or-later
"""Go that a process loads while it runs: a library (-buildmode=c-shared) into a program that is no Go, here Python,
and a plugin into a Go program without gRPC.

Compiling the runtime once more for each takes a minute, so they are made with SONDE_GO_BUILDS=all only, and used when
they are there.
"""
import collections
import subprocess
import sys
import threading

import pytest

from gocalls import gotree, seen_calls, wait_for_calls

HOST = """
import ctypes, sys
for line in sys.stdin:
    word, *rest = line.split()
    if word == "load":
        lib = ctypes.CDLL(rest[0])
        port = lib.Serve()
    elif word == "call":
        assert lib.Call(port, int(rest[0])) == int(rest[0])
    print(word, "done", flush=True)
"""


class Host:
    def __init__(self, *words):
        self.child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.timer = threading.Timer(60, self.child.kill)
        self.timer.start()

    def ask(self, *words):
        self.child.stdin.write(" ".join(map(str, words)) + "\n")
        self.child.stdin.flush()
        assert self.child.stdout.readline() == f"{words[0]} done\n"

    def end(self):
        self.timer.cancel()
        self.child.kill()
        self.child.wait()


@pytest.fixture
def host():
    made = []

    def start(*words):
        made.append(Host(*words))
        return made[-1]
    yield start
    for one in made:
        one.end()


def counts(events, pid):
    return collections.Counter((ev["side"], ev["method"], ev["status"], ev["end"]) for ev in seen_calls(events, pid))


def watched(sonde, *words):
    return sonde("rpc", "--json", "--where", "evt.type in (rpc.program, rpc.call)", *words)


def check_loaded(sonde, one, library):
    pid = one.child.pid
    for number in (5, 3):   # loaded while sonde runs: --pid refuses it before; loaded before it starts
        child = watched(sonde, *(() if number == 5 else ("--pid", str(pid))))
        if number == 5:
            one.ask("load", library)
        child.wait_for(lambda ev: ev["type"] == "rpc.program" and ev["proc"]["pid"] == pid and ev.get("places"))
        one.ask("call", number)
        wait_for_calls(child, pid, 2 * number)
        child.finish()
        assert counts(child.events, pid) == {(side, "sonde.test.Shared/Echo", "OK", "done"): number
                                             for side in ("client", "server")}
        assert all(ev["conn"]["dst"] == "127.0.0.1" for ev in seen_calls(child.events, pid))


SUITES = gotree.SUITES if gotree.ALL_BUILDS else gotree.SUITES[-1:]


@pytest.mark.parametrize("suite", SUITES)
def test_library_in_a_program_that_is_no_go(sonde, host, suite):
    try:
        library = gotree.shared(suite, gotree.ALL_BUILDS)
    except gotree.Unavailable as e:
        pytest.skip(str(e))
    check_loaded(sonde, host(sys.executable, "-c", HOST), library)


@pytest.mark.parametrize("suite", SUITES)
def test_plugin_in_a_go_program(sonde, host, suite):
    """The runtime is the program's, the plugin's own functions are in another file."""
    try:
        library, program = gotree.plugin(suite, gotree.ALL_BUILDS)
    except gotree.Unavailable as e:
        pytest.skip(str(e))
    check_loaded(sonde, host(program), library)
