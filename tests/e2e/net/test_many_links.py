# SPDX-License-Identifier: GPL-2.0-or-later
"""A namespace with many interfaces: the first are watched by links, the others by filters, with the same events."""
import json
import signal
import subprocess

import pytest

from helpers import wait_until

LINKS = 40
PORT = 4300
KEYS = ("iface", "ifindex", "netns", "dir", "point", "conn", "proc", "owner", "len", "cap_len", "verdict", "state")
# Both send a datagram to each address of the other, and print the number of datagrams received.
END = f"""
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('0.0.0.0', {PORT}))
print('ready', flush=True)
for word in sys.stdin:
    if word.startswith('send'):
        for i in range({LINKS}):
            s.sendto(b'x' * (20 + i), (f'10.99.{{i}}.' + word.split()[1], {PORT}))
    else:
        for i in range({LINKS}):
            s.recv(2000)
    print('done', flush=True)
"""


def batch(ns, lines):
    ns.run("ip", "-batch", "-", input="\n".join(lines) + "\n")


@pytest.fixture
def many(netns):
    """Two namespaces with 40 veth pairs between them, and a program in each."""
    a, b = netns(), netns()
    batch(a, [f"link add ma{i} type veth peer name mb{i} netns {b.name}" for i in range(LINKS)])
    for ns, end, host in ((a, "ma", 1), (b, "mb", 2)):
        batch(ns, [line for i in range(LINKS) for line in (
            f"addr add 10.99.{i}.{host}/24 dev {end}{i}", f"link set {end}{i} up")])
    children = [ns.python_popen(END, stdin=subprocess.PIPE) for ns in (a, b)]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    return a, children


def tell(child, word):
    child.stdin.write(word + "\n")
    child.stdin.flush()
    assert child.stdout.readline() == "done\n"


def exchange(children):
    tell(children[0], "send 2")
    tell(children[1], "receive")
    tell(children[1], "send 1")
    tell(children[0], "receive")


def packets(sonde, many, attach):
    a, children = many
    running = sonde("monitor", "--json", "--netns", a.name, "--attach", attach, "--where", "evt.type=trace",
                    f"udp port {PORT}")
    exchange(children)
    running.wait_for(lambda ev: ev["type"] == "net.trace", 2 * LINKS)
    qdiscs = a.run("tc", "qdisc", "show").stdout.count("clsact")
    seen = [{key: ev[key] for key in KEYS if key in ev} for ev in running.finish() if ev["type"] == "net.trace"]
    return sorted(seen, key=lambda ev: json.dumps(ev, sort_keys=True)), qdiscs


def test_filters_and_links_have_the_same_events(sonde, many):
    exchange(many[1])   # neighbours are known
    by_links, none = packets(sonde, many, "tcx")
    by_both, some = packets(sonde, many, "auto")
    assert len(by_links) == 2 * LINKS and len({ev["iface"] for ev in by_links}) == LINKS
    assert {ev["proc"]["pid"] for ev in by_links if ev["dir"] == "out"} == {many[1][0].pid}
    assert by_both == by_links
    assert none == 0 and 0 < some < LINKS
    assert "clsact" not in many[0].run("tc", "qdisc", "show").stdout


def test_foreign_tcx_programs_run_ahead_of_filters(sonde, many):
    """An interface that has one gets links, as every interface did."""
    a = many[0]
    other = sonde("monitor", "--json", "--netns", a.name, "--attach", "tcx", "-i", f"ma{LINKS - 1}")
    running = sonde("monitor", "--json", "--netns", a.name)
    assert "clsact" in a.run("tc", "qdisc", "show", "dev", f"ma{LINKS - 2}").stdout
    assert "clsact" not in a.run("tc", "qdisc", "show", "dev", f"ma{LINKS - 1}").stdout
    running.finish()
    other.finish()


def test_a_killed_one_leaves_no_filters(sonde, many):
    a = many[0]
    running = sonde("monitor", "--json", "--netns", a.name)
    assert "clsact" in a.run("tc", "qdisc", "show").stdout
    running.stop(signal.SIGKILL)
    wait_until(lambda: "clsact" not in a.run("tc", "qdisc", "show").stdout)
