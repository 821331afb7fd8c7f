# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde-tcpdump in place of tcpdump: lines of captures, made by hand and by traffic, and of packets live."""
import difflib
import gzip
import os
import re
import shutil
import socket
import struct
import subprocess
import time

import pytest

import helpers
import tcpdump_packets

pytestmark = pytest.mark.skipif(not shutil.which("tcpdump"), reason="tcpdump is not installed")

SONDE = [helpers.BINARY, "compat", "tcpdump", "--agent=no"]
WAYS = ["-n", "-nv", "-nX", "-nvv", "-ne", "-nev", "-nq", "-nA", "-nx", "-nxx", "-nXX", "-nS", "-nK -v", "-n -t",
        "-n -tt", "-n -ttt", "-n -tttt", "-n -ttttt", "-n --number", "-n --nano", "-n -c 5"]
NAMED = ["-K", "-v", "-vv", "-X", "-e", "-q"]    # of ports, protocols and vendors; hosts have no names


def named(text):
    """tcpdump 4.99.3 (Debian 12) has no name for this type of record, 4.99.5 has."""
    return text.replace(b"Type65", b"HTTPS")


def lines(tool, *words):
    done = subprocess.run([*tool, *words], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return named(done.stdout).decode("latin-1").splitlines()


def unequal(theirs, ours):
    """Lines of tcpdump without an equal one."""
    blocks = difflib.SequenceMatcher(None, theirs, ours, autojunk=False).get_matching_blocks()
    return len(theirs) - sum(block.size for block in blocks)


TRAFFIC = """
ip link set lo up
tcpdump -Z root -i lo -B 65536 -U --immediate-mode -w $1 2>$1.err &
pid=$!
until grep -q listening $1.err; do sleep 0.1; done
ping -c 2 127.0.0.1; ping -6 -c 1 ::1; ping -c 1 -s 3000 127.0.0.1
python3 - <<'END'
import socket, threading
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    for port in (80, 7777):
        listener = socket.socket(family)
        listener.bind((address, port))
        listener.listen()
        client = socket.create_connection((address, port))
        server, _ = listener.accept()
        client.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" * (1 if port == 80 else 90))
        server.recv(100)
        server.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nhi")
        client.recv(100)
        server.close()
        client.close()
    datagrams = socket.socket(family, socket.SOCK_DGRAM)
    datagrams.sendto(b"hello", (address, 9))
    datagrams.sendto(b"hello" * 400, (address, 9999))
END
ping -c 1 127.0.0.9
until tcpdump -nr $1 2>/dev/null | grep -q '127.0.0.9 >.*reply'; do sleep 0.1; done    # it ends with what it has read
kill $pid
wait $pid
"""


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("captures")
    paths = {name: str(folder / f"{name}.pcap") for name in ("made", "cut", "traffic")}
    tcpdump_packets.write(paths["made"])
    tcpdump_packets.write(paths["cut"], cut=True)
    subprocess.run(["unshare", "-n", "bash", "-c", TRAFFIC, "traffic", paths["traffic"]], check=False, timeout=60,
                   capture_output=True)
    assert len(lines(["tcpdump"], "-nr", paths["traffic"])) > 40
    return paths


@pytest.mark.parametrize("way, name, share", [
    *((way, *row) for way in WAYS for row in (("made", 0.98), ("traffic", 0.98), ("cut", 0.75))),
    *((way, *row) for way in NAMED for row in (("made", 0.98), ("cut", 0.75)))])
def test_lines_of_a_capture_are_those_of_tcpdump(captures, way, name, share):
    """At least these shares are equal, byte by byte; of packets that were cut it matters most that nothing breaks.
    Of those tcpdump 4.99.5 dumps the link's header too, so dumps are not compared.
    """
    theirs, ours = (lines(tool, *way.split(), "-r", captures[name]) for tool in (["tcpdump"], SONDE))
    if name == "cut" and any(" IP  [|ip]" in line for line in theirs):
        theirs, ours = ([line for line in found if not line.startswith("\t0x")] for found in (theirs, ours))
    wrong = unequal(theirs, ours)
    assert wrong <= (1 - share) * len(theirs), "\n".join(difflib.unified_diff(theirs, ours, lineterm="", n=0))
    assert len(theirs) >= 5


PARTS = [("made", "tcp"), ("made", "udp port 53"), ("made", "icmp"), ("made", "udp and not port 53"),
         ("made", "arp or vlan"),
         ("traffic", "tcp"), ("traffic", "tcp port 80"), ("traffic", "ip6"), ("traffic", "icmp"),
         ("traffic", "icmp6"), ("traffic", "udp"), ("traffic", "ip6 and udp")]


@pytest.mark.parametrize("way", ["-n", "-nv", "-nX"])
def test_lines_of_twelve_captures_are_those_of_tcpdump(captures, tmp_path, way):
    """At least 95 of 100 lines of each, byte by byte."""
    shares = {}
    for i, (name, expr) in enumerate(PARTS):
        part = str(tmp_path / str(i))
        subprocess.run(["tcpdump", "-Z", "root", "-r", captures[name], "-w", part, *expr.split()], check=True,
                       capture_output=True, timeout=60)
        theirs = lines(["tcpdump"], way, "-r", part)
        shares[name, expr] = 1 - unequal(theirs, lines(SONDE, way, "-r", part)) / len(theirs)
    print(way, {" ".join(part): f"{share:.1%}" for part, share in shares.items()})
    assert len(shares) == 12 and min(shares.values()) >= 0.95, shares


def test_a_filter_selects_what_it_selects_there(captures):
    for words in (["tcp", "port", "80"], ["icmp"], ["udp", "and", "not", "port", "53"], ["vlan"]):
        ours = lines(SONDE, "-nr", captures["made"], *words)
        assert ours == lines(["tcpdump"], "-nr", captures["made"], *words) and ours


def test_packets_are_counted(captures):
    assert lines(SONDE, "--count", "-r", captures["made"]) == [f"{len(tcpdump_packets.PACKETS)} packets"]


def test_ports_have_names_without_n(captures):
    words = ["-r", captures["made"], "tcp", "port", "25"]
    assert re.search(r" > 10\.1\.2\.4\.smtp: Flags", lines(SONDE, *words)[0])


# ---- command lines of its manual page and of its tutorials, with a file in place of the network

COMMANDS = [
    "{} -nr in host 10.1.2.3", "{} -nr in ip host 10.1.2.3 and not 10.1.2.9", "{} -nr in net 10.1",
    "{} -nr in 'ip and not net 192.168.0.0/16'",
    "{} -nr in 'tcp[tcpflags] & (tcp-syn|tcp-fin) != 0 and not src and dst net 10.9.0.0/16'",
    "{} -nr in 'tcp[tcpflags] & (tcp-rst|tcp-ack) == (tcp-rst|tcp-ack)'",
    "{} -nr in 'tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)'",
    "{} -nr in 'ip[2:2] > 76'", "{} -nr in 'ether[0] & 1 = 0 and ip[16] < 224'",
    "{} -nr in 'icmp[icmptype] != icmp-echo and icmp[icmptype] != icmp-echoreply'",
    "{} -nn -r in -c 3", "{} -nevr in vlan", "{} -nvvXr in icmp", "{} -ttttnnr in", "{} -qnr in",
    "{} -Anr in port 80",
    "{} -xx -nr in -c 2", "{} -K -nvr in tcp", "{} -Snr in tcp", "{} -lnr in icmp | head -3", "{} --count -r in",
    "{} --number -tnr in -c 4", "{} -nF expr -r in", "{} -nF expr -r in icmp", "{} -n -r - udp < in",
    "{} -d -i lo tcp port 80", "{} -dd -i lo icmp", "{} -ddd -i lo udp and not port 53", "{} -d -i any tcp",
    "{} -r in -w out icmp", "{} -r in -w - udp | {} -nr -", "{} -U -r in -w out", "{} -r in --print -w out -n udp",
    "{} --nano -r in -w out", "{} -r in -w out -G 0 udp port 9", "{} -Z root -r big -C 1 -w out",
    "{} -Z root -r big -C 1 -W 1 -w out", "{} -Z root -r big -C 1 -W 2 -w out",
    "{} -Z root -r big -C 1 -W 12 -w out port 9",
    "{} -Z root -r big --print -C 1 -nw out -c 1500",
]


@pytest.fixture(scope="module")
def inputs(captures, tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    shutil.copy(captures["made"], folder / "in")
    (folder / "expr").write_text("udp # names\nand port 53\n")
    with open(folder / "big", "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))
        for i in range(2500):
            packet = tcpdump_packets.ethernet(tcpdump_packets.ip4(17, tcpdump_packets.udp(20000 + i, 9, b"x" * 950)))
            f.write(struct.pack("<IIII", 1700000000, i, len(packet), len(packet)) + packet)
    return folder


def run_in(folder, line, tool, inputs):
    """(status, output, {file: bytes}) of a shell's line."""
    folder.mkdir()
    for name in ("in", "expr", "big"):
        (folder / name).symlink_to(inputs / name)
    done = subprocess.run(["sh", "-c", line.replace("{}", tool)], cwd=folder, capture_output=True, timeout=60,
                          check=False)
    return done, {path.name: path.read_bytes() for path in folder.iterdir() if not path.is_symlink()}


@pytest.mark.replay
@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_line_of_tcpdump_runs_unchanged(inputs, tmp_path, line):
    """The same output and the same files, byte by byte."""
    theirs, their_files = run_in(tmp_path / "theirs", line, "tcpdump", inputs)
    ours, our_files = run_in(tmp_path / "ours", line, " ".join(SONDE), inputs)
    assert ours.returncode == theirs.returncode == 0, ours.stderr
    assert ours.stdout == named(theirs.stdout)
    assert our_files.keys() == their_files.keys() and ("-w out" not in line or our_files)
    assert all(our_files[name] == their_files[name] for name in our_files)


@pytest.mark.replay
def test_a_command_gets_each_full_file(inputs, tmp_path):
    """-z: all files but the last, which is not full; the command has ended when sonde ends."""
    _, plain = run_in(tmp_path / "plain", "{} -Z root -r big -C 1 -w out", "tcpdump", inputs)
    done, packed = run_in(tmp_path / "packed", "{} -Z root -r big -C 1 -z gzip -w out", " ".join(SONDE), inputs)
    assert done.returncode == 0 and sorted(packed) == ["out.gz", "out1.gz", "out2"]
    assert {name.removesuffix(".gz"): gzip.decompress(data) if name.endswith(".gz") else data
            for name, data in packed.items()} == plain
    done, _ = run_in(tmp_path / "none", "{} -r big -C 1 -z ./nosuch -w out", " ".join(SONDE), inputs)
    assert b"cannot run ./nosuch out: " in done.stderr


@pytest.mark.replay
def test_a_full_disk_is_no_reader_that_went_away(inputs):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*SONDE, "-nr", inputs / "big"], stdout=full, stderr=subprocess.PIPE, timeout=60,
                              check=False)
    assert done.returncode == 1 and b"No space left on device" in done.stderr


@pytest.mark.replay
@pytest.mark.parametrize("words", ["-C 0", "-G -1", "-W 0 -C 1", "-W x -C 1"])
def test_numbers_that_tcpdump_refuses(inputs, tmp_path, words):
    for tool in ["tcpdump"], SONDE:
        done = subprocess.run([*tool, "-r", inputs / "in", "-w", tmp_path / "out", *words.split()], text=True,
                              capture_output=True, timeout=60, check=False)
        assert done.returncode != 0 and "invalid" in done.stderr, done.stderr


@pytest.mark.replay
@pytest.mark.parametrize("count", ["0", "x"])
def test_a_count_of_packets_is_above_0(inputs, count):
    theirs, ours = (subprocess.run([*tool, "-r", inputs / "in", "-c", count], text=True, capture_output=True,
                                   timeout=60, check=False) for tool in (["tcpdump"], SONDE))
    assert theirs.returncode and ours.returncode == 2 and not theirs.stdout + ours.stdout
    assert f'-c "{count}": expected a number above 0' in ours.stderr


@pytest.mark.replay
def test_the_last_of_a_number_of_files_is_full(tmp_path):
    """-G and -W: tcpdump runs the command for the last file, too."""
    with open(tmp_path / "in", "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))
        for second in range(0, 8, 2):
            packet = tcpdump_packets.PACKETS[0][:56]
            f.write(struct.pack("<IIII", 1700000000 + second, 0, len(packet), len(packet)) + packet)
    (tmp_path / "note").write_text("#!/bin/sh\necho $1 >>notes\n")
    (tmp_path / "note").chmod(0o700)
    done = subprocess.run([*SONDE, "-r", "in", "-G", "1", "-W", "2", "-z", "./note", "-w", "out.%Y"], cwd=tmp_path,
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in tmp_path.glob("out.*"))
    assert len(names) == 2 and "out.2023" in names      # the first is named after the start
    assert sorted((tmp_path / "notes").read_text().split()) == names


@pytest.mark.replay
def test_packets_of_another_link_end_a_file(tmp_path):
    """pcap has room for one link type; the message says so."""
    both = tmp_path / "both.pcapng"
    blocks = struct.pack("<IIIHHqI", 0x0a0d0d0a, 28, 0x1a2b3c4d, 1, 0, -1, 28)
    for link in (1, 101):
        blocks += struct.pack("<IIHHII", 1, 20, link, 0, 0, 20)
    for i, data in enumerate((tcpdump_packets.PACKETS[0][:56], tcpdump_packets.INNER[:36])):
        blocks += struct.pack("<IIIIIII", 6, 32 + len(data), i, 0, 0, len(data), len(data)) + data + \
            struct.pack("<I", 32 + len(data))
    both.write_bytes(blocks)
    done = subprocess.run([*SONDE, "-r", both, "-w", tmp_path / "out"], capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 1 and "packets of one link type, -o pcapng has room" in done.stderr
    assert len(lines(["tcpdump"], "-nr", str(tmp_path / "out"))) == 1


def test_interfaces_are_listed():
    listed = lines(SONDE, "-D")
    assert any(re.match(r"\d+\.lo \[Up, Running, Loopback\]", line) for line in listed)
    assert re.match(rf"{len(listed)}\.any ", listed[-1])


def wait_for(path, text):
    end = time.monotonic() + 60
    while text not in path.read_text("utf-8", "replace"):
        assert time.monotonic() < end, path.read_text("utf-8", "replace")
        time.sleep(0.05)


@pytest.mark.parametrize("way", [["-t"], ["-vXt"]])
def test_live_packets_are_those_that_tcpdump_sees(tmp_path, way):
    """Both watch one interface; a datagram to a port of its own ends the run of each."""
    err, their_err, port = tmp_path / "err", tmp_path / "their_err", 41999
    with open(err, "wb") as e, open(their_err, "wb") as t, \
            subprocess.Popen([*SONDE, "-n", *way, "-i", "lo", "-c", "20", "udp", "port", str(port)],
                             stdout=subprocess.PIPE, stderr=e) as ours, \
            subprocess.Popen(["tcpdump", "-l", "-n", *way, "-i", "lo", "-c", "20", "udp", "port", str(port)],
                             stdout=subprocess.PIPE, stderr=t) as theirs:
        wait_for(err, "ready")
        wait_for(their_err, "listening")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as r:
            r.bind(("127.0.0.1", port))
            for i in range(20):
                s.sendto(b"x" * i, ("127.0.0.1", port))
        assert ours.stdout.read() == theirs.stdout.read()
        assert ours.wait(60) == 0 and theirs.wait(60) == 0


def test_any_shows_the_interface(tmp_path):
    err = tmp_path / "err"
    with open(err, "wb") as e, subprocess.Popen([*SONDE, "-n", "-t", "-i", "any", "-c", "1", "udp", "port", "41998"],
                                                stdout=subprocess.PIPE, stderr=e) as ours:
        wait_for(err, "ready")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(b"x", ("127.0.0.1", 41998))
        line = ours.stdout.read().decode()
        assert re.fullmatch(r"lo    (?:In |Out) IP 127\.0\.0\.1\.\d+ > 127\.0\.0\.1\.41998: UDP, length 1\n",
                            line), line
        assert ours.wait(60) == 0


def test_a_file_of_all_interfaces_is_cooked(tmp_path):
    """-i any -w: tcpdump reads it with the interface, and so does the dialect, to the same lines."""
    err, out = tmp_path / "err", str(tmp_path / "out")
    with open(err, "wb") as e, subprocess.Popen([*SONDE, "-i", "any", "-w", out, "-c", "3", "udp", "port", "41997"],
                                                stderr=e) as ours:
        wait_for(err, "ready, listening on any, link-type LINUX_SLL2")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            for _ in range(3):
                s.sendto(b"hello", ("127.0.0.1", 41997))
        assert ours.wait(60) == 0
    theirs = lines(["tcpdump"], "-ner", out)
    assert len(theirs) == 3 and all(re.search(r" lo    (In|Out) .*41997: UDP, length 5$", x) for x in theirs), theirs
    assert lines(SONDE, "-ner", out) == theirs
