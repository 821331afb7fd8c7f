# SPDX-License-Identifier: GPL-2.0-or-later
"""What `-o pcapng` holds, against tcpdump on the same interface at the same time, and as tshark reads it."""
import json
import os
import struct
import subprocess

import pytest
from helpers import ROOT, sh, wait_until

TCP_PORT, UDP_PORT, CLOSED_PORT = 5301, 5302, 5303


def packets(path):
    """(original length, bytes) of each packet, through libpcap's own reader."""
    data = subprocess.run(["tcpdump", "-r", str(path), "-w", "-"], capture_output=True, check=True).stdout
    assert data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1")
    at, found = 24, []
    while at < len(data):
        _, _, caplen, length = struct.unpack_from("<IIII", data, at)
        found.append((length, data[at + 16:at + 16 + caplen]))
        at += 16 + caplen
    return found


def start_tcpdump(ns, device, path, words):
    child = ns.popen("tcpdump", "-i", device, "-s", "0", "-B", "16384", "-U", "--immediate-mode", "-w", str(path),
                     words)
    while "listening on" not in child.stderr.readline():
        assert child.poll() is None
    return child


def traffic(link):
    """A transfer with large segments, datagrams, fragments and echoes; both directions, both families."""
    server = link.b.python_popen(f"""
import socket, sys
for family in (socket.AF_INET, socket.AF_INET6):
    s = socket.create_server(("" if family == socket.AF_INET else "::", {TCP_PORT}), family=family)
    print("ready", flush=True)
    c, _ = s.accept()
    total = 0
    while chunk := c.recv(65536):
        total += len(chunk)
    c.sendall(str(total).encode())
    c.close()
    s.close()
""")
    for ip in (link.b_ip, link.b_ip6):
        assert server.stdout.readline().strip() == "ready"
        link.a.python(f"""
import socket
s = socket.create_connection(("{ip}", {TCP_PORT}))
s.sendall(bytes(range(256)) * 1200)
s.shutdown(socket.SHUT_WR)
assert s.recv(100) == b"307200"
u = socket.socket(s.family, socket.SOCK_DGRAM)
for size in (0, 1, 100, 1400, 4000):
    u.sendto(b"x" * size, ("{ip}", {UDP_PORT}))
""")
        link.a.run("ping", "-q", "-c", "2", "-i", "0.2", "-s", "3000", ip)


@pytest.fixture
def captured(link, sonde, tmp_path):
    ours, theirs = tmp_path / "ours.pcapng", tmp_path / "theirs.pcap"
    # What the kernel sends by itself may fall between the start of one and the start of the other.
    words = (f"(ip host {link.a_ip} or ip6 host {link.a_ip6}) and "
             "not (ip6[6] = 58 and ip6[40] >= 130 and ip6[40] <= 143)")
    run = sonde("monitor", "-i", link.a_dev, "--where", "evt.type=trace", "-o", f"pcapng:{ours}", words, netns=link.a)
    peer = start_tcpdump(link.a, link.a_dev, theirs, words)
    traffic(link)
    # behind the traffic: a datagram that nothing answers
    sink = link.b.python_popen(f"import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                               f"s.bind(('0.0.0.0', {UDP_PORT + 1}))\nprint('up', flush=True)\ntime.sleep(60)\n")
    sink.stdout.readline()
    link.a.python(f"import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                  f"s.sendto(b'end of the traffic', ('{link.b_ip}', {UDP_PORT + 1}))\n")
    wait_until(lambda: b"end of the traffic" in theirs.read_bytes())
    peer.terminate()
    peer.wait(5)
    run.finish()
    return link, ours, theirs


def test_bytes_equal_tcpdumps(captured):
    _, ours, theirs = captured
    mine, peers = packets(ours), packets(theirs)
    assert len(peers) > 60
    assert sorted(mine) == sorted(peers), f"{len(mine)} packets, tcpdump has {len(peers)}"


def test_tshark_reads_interface_direction_and_process(captured):
    link, ours, _ = captured
    out = sh("tshark", "-r", str(ours), "-T", "json",
             "-e", "frame.interface_name", "-e", "frame.packet_flags_direction",
             "-e", "frame.comment", "-e", "ip.src", "-e", "ipv6.src", "-e", "frame.time_epoch", timeout=30).stdout
    frames = [entry["_source"]["layers"] for entry in json.loads(out)]
    assert len(frames) > 60
    for frame in frames:
        assert frame["frame.interface_name"] == [link.a_dev]
        source = (frame.get("ip.src") or frame.get("ipv6.src") or [""])[0]
        direction = int(frame["frame.packet_flags_direction"][0], 0)
        if source in (link.a_ip, link.a_ip6):
            assert direction == 2, frame
        if source in (link.b_ip, link.b_ip6):
            assert direction == 1, frame
        comments = " ".join(frame["frame.comment"])
        assert "evt.type=net.trace" in comments
        assert len(frame["frame.time_epoch"][0].split(".")[1]) == 9
    assert sum("proc.name=python3" in " ".join(f["frame.comment"]) for f in frames) > 30


def test_drop_reason_stands_in_the_comment(link, sonde, tmp_path):
    path = tmp_path / "drops.pcapng"
    run = sonde("monitor", "--netns", link.b.name, "--where", "evt.type=drop", "-o", f"pcapng:{path}", "-o", "json")
    link.a.python(f"""
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("{link.b_ip}", {CLOSED_PORT}))
""")
    run.wait_for(lambda ev: ev["type"] == "net.drop" and ev.get("reason") == "NO_SOCKET")
    run.finish()
    out = sh("tshark", "-r", str(path), "-Y", f"udp.dstport=={CLOSED_PORT}", "-T", "fields", "-e", "frame.comment",
             timeout=30).stdout
    assert "drop.reason=NO_SOCKET" in out and "drop.func=__udp4_lib_rcv" in out


def test_snaplen_keeps_the_original_length(link, sonde, tmp_path):
    path = tmp_path / "short.pcapng"
    run = sonde("monitor", "-i", link.a_dev, "--where", "evt.type=trace", "-s", "60", "-o", f"pcapng:{path}", "-o",
                "json",
                "icmp", netns=link.a)
    link.a.run("ping", "-q", "-c", "1", "-s", "1000", link.b_ip)
    run.wait_for(lambda ev: ev["type"] == "net.trace", count=2)
    run.finish()
    assert [(length, len(data)) for length, data in packets(path)] == [(1042, 60), (1042, 60)]


LOOPBACK_TALK = """
import socket
s = socket.create_server(("127.0.0.1", 0))
for i in range(20):
    c = socket.create_connection(s.getsockname())
    p, _ = s.accept()
    c.sendall(b"q" * 3000)
    p.recv(3000, socket.MSG_WAITALL)
    p.sendall(b"a" * 50000)
    c.recv(50000, socket.MSG_WAITALL)
    c.close()
    p.close()
"""


def test_a_loopback_packet_is_there_once(sonde, netns, tmp_path):
    """Lines show both passes; in a file the second would be a retransmission. A recording of both gives the same."""
    ns, live, kept, again = netns(), tmp_path / "live.pcapng", tmp_path / "kept.rec", tmp_path / "again.pcap"
    run = sonde("monitor", "--where", "evt.type=trace", "-i", "lo", "-w", str(live), "-o", str(kept), "-o", "json",
                netns=ns)
    ns.python(LOOPBACK_TALK)
    run.stop()
    assert sonde.run("monitor", "-r", str(kept), "-w", str(again)).returncode == 0
    passes = [ev for ev in run.events if ev["type"] == "net.trace"]
    for path in (live, again):
        assert len(packets(path)) * 2 == len(passes) > 200
        tshark = sh("tshark", "-r", str(path), "-Y", "tcp.analysis.retransmission or tcp.analysis.duplicate_ack or "
                    "tcp.analysis.out_of_order", timeout=60)
        assert tshark.stdout == ""
    for ending in "pcap", "pcapng":     # a new file may begin between the two passes
        done = sonde.run("monitor", "-r", str(kept), "-o", f"{tmp_path}/ring.{ending}", "--rotate", "events=7")
        assert done.returncode == 0, done.stderr
        files = list(tmp_path.glob(f"ring*.{ending}"))
        assert sum(len(packets(path)) for path in files) * 2 == len(passes)
        assert len(files) == -(-len(passes) // 14)


@pytest.mark.parametrize("name, magic", [("x.pcap", b"\xd4\xc3\xb2\xa1"), ("x.pcapng", b"\x0a\x0d\x0d\x0a"),
                                         ("x.json", b'{"v":'), ("x.rec", b"\x93SONDE"), ("x", b"\x93SONDE")])
def test_w_writes_what_the_name_says(sonde, tmp_path, name, magic):
    """Also where the suffix stands behind the number of a rotated file."""
    source = os.path.join(ROOT, "tests", "data", "rec", "loopback.rec")
    done = sonde.run("monitor", "-r", source, "-w", name, cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / name).read_bytes().startswith(magic), done.stderr


@pytest.mark.parametrize("command", [("monitor", "-o"), ("capture", "-w")])
def test_the_number_of_a_rotated_file_stands_before_its_suffix(sonde, tmp_path, command):
    source = os.path.join(ROOT, "tests", "data", "rec", "loopback.rec")
    name, option = command
    done = sonde.run(name, "-r", source, option, "ring.pcapng", "--rotate", "events=5,files=3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(tmp_path)) == [f"ring{i}.pcapng" for i in range(3)]
    assert all(packets(tmp_path / f"ring{i}.pcapng") for i in range(3))


def test_replay_shows_what_live_showed(link, sonde, tmp_path):
    path = tmp_path / "all.rec"
    run = sonde("monitor", "--netns", link.b.name, "-o", f"rec:{path}", "-o", "json")
    link.a.run("ping", "-q", "-c", "2", "-i", "0.2", link.b_ip)
    link.a.python(f"""
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("{link.b_ip}", {CLOSED_PORT}))
""")
    run.wait_for(lambda ev: ev["type"] == "net.drop" and ev.get("reason") == "NO_SOCKET")
    run.finish()
    again = sonde.run("monitor", "-r", str(path), "--json")
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines() == run.lines
