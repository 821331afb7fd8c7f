# SPDX-License-Identifier: GPL-2.0-or-later
"""--netns: one namespace, several, globs, all; text says whose an event is, the start line what is watched."""
import pytest

PING = ("ping", "-c", "1", "127.0.0.1")
PACKETS = 4     # of one ping on loopback: the request and the reply, out and in


def words_for(how, first, second):
    names = (first.name, second.name)
    return {"all": ("all",), "glob": (f"[{names[0][0]}]{names[0][1:-1]}?", f"{names[1][:-1]}[{names[1][-1]}]"),
            "twice": (*names, names[0], str(first.inode))}[how]


@pytest.mark.parametrize("how", ["all", "glob", "twice"])
def test_each_namespace_is_watched_once(netns, sonde, how):
    first, second = netns(), netns()
    options = [option for word in words_for(how, first, second) for option in ("--netns", word)]
    running = sonde("monitor", "--time", "none", *options, "icmp")
    for ns in (first, second):
        ns.run(*PING)
    running.wait_for_line(lambda line: line.startswith(f"<- stack {second.name}/lo: ") and "EchoReply" in line)
    running.stop()
    for ns in (first, second):
        assert sum(f" {ns.name}/lo: " in line for line in running.lines) == PACKETS, running.lines


def test_flows_name_the_namespace_as_monitor_does(netns, sonde):
    there = netns()
    running = sonde("flows", "--netns", there.name, "icmp")
    there.run(*PING)
    running.wait_for_line(lambda line: "icmp" in line)
    running.stop()
    lines = [line for line in running.lines if "icmp" in line]
    assert lines and all(f" {there.name}/lo: " in line for line in lines), running.lines


def test_own_namespace_has_no_label(netns, sonde):
    """Packets of the command's namespace alone, drops of all: these are named where they are from elsewhere."""
    own, other = netns(), netns()
    running = sonde("monitor", "--time", "none", "udp", "port", "4700", netns=own)
    assert "packets of this network namespace, drops of all" in running.stderr
    send = "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 4700))\n"
    for ns in (other, own):
        ns.python(send)
    running.wait_for_line(lambda line: line.startswith("xx drop ") and " lo: " in line)
    running.stop()
    there = [line for line in running.lines if f" {other.name}/lo: " in line]
    assert len(there) == 1 and there[0].startswith("xx drop (NO_SOCKET) at ")
    assert len([line for line in running.lines if " lo: " in line]) == 3    # out, in, dropped


@pytest.mark.parametrize("word", ["no-such-*", "no-such"])
def test_no_such_namespace(sonde, word):
    done = sonde.run("monitor", "--netns", word)
    assert done.returncode != 0 and f"--netns {word}: " in done.stderr
