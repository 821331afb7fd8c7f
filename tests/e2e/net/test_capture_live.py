# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde capture against what was sent and what tcpdump and tshark read of it: each packet once, files in turn."""
import glob
import os
import shutil
import signal
import struct
import subprocess
import time

import pytest

from helpers import BINARY, READY_S, sh

PACKET = bytes.fromhex("0200000000020200000000010800" "4500001c000000004011f96b0a0000010a000002" "30391b580008ca7f")
needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")


def tshark(path, *names, wanted=None):
    command = ["tshark", "-n", "-r", path, "-T", "fields", "-E", "separator=/t", "-E", "aggregator=|"]
    for name in names:
        command += ["-e", name]
    command += ["-Y", wanted] if wanted else []
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split("\t") for line in out.splitlines()]


def write_pcap(path, packets, size):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for i in range(packets):
            data = PACKET + struct.pack("<I", i) + bytes(size - len(PACKET) - 4)
            f.write(struct.pack("<IIII", 1700000000 + i // 100, i, size, size) + data)


def names_of(folder):
    return sorted(os.path.basename(p) for p in glob.glob(f"{folder}/out*"))


@pytest.mark.skipif(not shutil.which("tcpdump"), reason="tcpdump is not installed")
@pytest.mark.parametrize("options", [["-C", "1"], ["-C", "1", "-W", "3"], ["-C", "1", "-W", "12"], []])
def test_files_have_the_names_of_tcpdump(tmp_path, options):
    source = str(tmp_path / "in.pcap")
    write_pcap(source, 3400, 1000)
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    ours.mkdir()
    sh("tcpdump", "-Z", "root", "-r", source, "-w", str(theirs / "out"), *options)
    spec = ",".join(f"{name}={value}" for name, value in zip(("size", "files"), options[1::2]))
    rotate = ["--rotate", spec.replace("size=1", "size=1000000")] if options else []
    sh(BINARY, "capture", "-r", source, "-w", str(ours / "out"), *rotate)
    assert names_of(ours) == names_of(theirs)
    for name in names_of(ours):     # each is a file of its own, whole
        assert sh("tcpdump", "-nn", "-r", str(ours / name)).stdout.count(" IP ") > 0


def test_files_by_number_of_packets(tmp_path):
    source = str(tmp_path / "in.pcap")
    write_pcap(source, 70, 60)
    sh(BINARY, "capture", "-r", source, "-w", str(tmp_path / "out"), "--rotate", "events=30")
    counts = [sh("tcpdump", "-nn", "-r", str(tmp_path / name)).stdout.count(" IP ") for name in names_of(tmp_path)]
    assert (names_of(tmp_path), counts) == (["out", "out1", "out2"], [30, 30, 10])


def test_wrong_words_are_refused(tmp_path):
    for words in (["--rotate", "size=0"], ["--rotate", "size=x"], ["--rotate", "files=3"], ["-Q", "up"]):
        done = sh(BINARY, "capture", "-r", str(tmp_path / "none"), "-w", str(tmp_path / "out"), *words, check=False)
        assert done.returncode == 2 and done.stderr.strip(), words
    assert not names_of(tmp_path)


ECHO = """
import socket
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("{ip}", 7000))
print("up", flush=True)
while True:
    d, a = u.recvfrom(2000)
    u.sendto(d, a)
"""
ASK = """
import socket
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.connect(("{ip}", 7000))
for i in range(25):
    u.send(b"%d" % i + b"x" * 300)
    u.recv(2000)
"""
REFUSED = """
import socket
for i in range(3):
    try:
        socket.create_connection(("{ip}", 7009))
    except ConnectionRefusedError:
        pass
"""


@needs_tshark
def test_each_packet_once(sonde, link, tmp_path):
    """Both directions, one of them, loopback (where each packet passes twice), and only what is dropped."""
    every, inward, dropped = (str(tmp_path / name) for name in ("every", "in", "dropped"))
    words = ["--agent=no", "--netns", link.b.name]
    port = ["udp", "port", "7000"]
    runs = [sonde("capture", *words, "-i", f"{link.b_dev},lo", "-w", every, *port, wait=False),
            sonde("capture", *words, "-i", link.b_dev, "-Q", "in", "-s", "60", "-w", inward, *port, wait=False),
            sonde("capture", *words, "--where", "evt.type=drop", "-w", dropped, "tcp", "port", "7009", wait=False)]
    for run in runs:
        run.wait_ready()
    server = link.b.python_popen(ECHO.format(ip="0.0.0.0"))
    assert server.stdout.readline() == "up\n"
    link.a.python(ASK.format(ip=link.b_ip))
    link.b.python(ASK.format(ip="127.0.0.1"))
    link.a.python(REFUSED.format(ip=link.b_ip))
    assert [run.stop() for run in runs] == [130] * 3, [run.stderr for run in runs]
    for there in (f"ip.addr == {link.b_ip}", "ip.addr == 127.0.0.1"):
        rows = tshark(every, "udp.dstport", "frame.len", "frame.cap_len", "frame.comment", wanted=there)
        assert len(rows) == 50 and sum(row[0] == "7000" for row in rows) == 25
        assert all(row[1] == row[2] for row in rows)
        assert all(f"proc.pid={server.pid} " in row[3] for row in rows if row[0] != "7000")
    rows = tshark(inward, "udp.dstport", "frame.len", "frame.cap_len")
    assert len(rows) == 25 and all(row[0] == "7000" and int(row[1]) > 300 and row[2] == "60" for row in rows)
    rows = tshark(dropped, "tcp.dstport", "frame.comment")
    assert len(rows) == 3
    assert all(row[0] == "7009" and "evt.type=net.drop" in row[1] and "drop.reason=NO_SOCKET" in row[1]
               for row in rows)


@needs_tshark
def test_standard_output_is_a_stream(link, tmp_path):
    """A reader behind a pipe has packets while the capture runs."""
    command = [BINARY, "capture", "--agent=no", "--netns", link.b.name, "-i", link.b_dev, "-w", "-", "icmp"]
    with open(tmp_path / "err", "w+", encoding="utf-8") as err, \
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err) as writer, \
            subprocess.Popen(["tshark", "-n", "-l", "-r", "-", "-c", "2"], stdin=writer.stdout,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as reader:
        try:
            deadline = time.monotonic() + READY_S
            while "ready" not in (tmp_path / "err").read_text(encoding="utf-8"):
                assert time.monotonic() < deadline and writer.poll() is None
                time.sleep(0.02)
            link.a.run("ping", "-q", "-c", "1", link.b_ip)
            lines = reader.communicate(timeout=READY_S)[0].splitlines()
        finally:
            writer.terminate()
            reader.kill()
    assert len(lines) == 2 and "request" in lines[0] and "reply" in lines[1]


def wait_said(run, text):
    deadline = time.monotonic() + READY_S
    with run.changed:
        while not any(text in line for line in run.err_lines):
            assert time.monotonic() < deadline and run.child.poll() is None, run.stderr
            run.changed.wait(0.2)


@needs_tshark
def test_flight_recorder(sonde, link, tmp_path):
    """Nothing before the trigger, then all of the time before it in order, marked; no packet in two dumps."""
    path = str(tmp_path / "kept")
    run = sonde("capture", "--agent=no", "--netns", link.b.name, "-i", link.b_dev, "--keep", "60s", "--after",
                "100ms",
                "--on", "drop.reason=NO_SOCKET and net.dport=7009", "-w", path, "port", "7000", "or", "7009")
    server = link.b.python_popen(ECHO.format(ip="0.0.0.0"))
    assert server.stdout.readline() == "up\n"
    link.a.python(ASK.format(ip=link.b_ip))
    assert os.stat(path).st_size == 0
    link.a.python(REFUSED.format(ip=link.b_ip))
    wait_said(run, "dump 1: ")
    link.a.python(ASK.format(ip=link.b_ip))
    os.kill(run.pid, signal.SIGUSR2)
    wait_said(run, "dump 2: ")
    os.kill(run.pid, signal.SIGUSR1)
    wait_said(run, "2 dumps, ")
    link.a.python(ASK.format(ip=link.b_ip))     # nobody asks for these
    assert run.stop() == 130, run.stderr
    assert "warning" not in run.stderr
    rows = tshark(path, "frame.time_epoch", "udp.dstport", "tcp.dstport", "frame.len", "frame.cap_len",
                  "frame.comment", "data")
    times = [row[0] for row in rows]
    assert times == sorted(times)
    asked = [bytes.fromhex(row[6]).split(b"x")[0] for row in rows if row[1] == "7000"]
    assert asked == [b"%d" % i for i in range(25)] * 2
    answers = [row for row in rows if row[1] and row[1] != "7000"]
    assert len(answers) == 50 and all(f"proc.pid={server.pid} " in row[5] for row in answers)
    assert all(int(row[3]) > 300 and row[4] == "200" for row in answers)
    drops = [row for row in rows if "drop.reason=NO_SOCKET" in row[5]]
    assert len(drops) == 3 and "recorder.trigger=true" in drops[0][5]
    # two of them may have come before the first was noticed; SIGUSR2 marks the last packet before it
    marked = [row for row in rows if "recorder.trigger=true" in row[5]]
    assert {row[2] for row in marked[:-1]} == {"7009"} and marked[-1] == answers[-1]


def test_recorder_options_make_sense(tmp_path):
    for words in (["--on", "net.len>1"], ["--dumps", "1"], ["--keep", "5s", "-r", "x"],
                  ["--keep", "1s", "--on", "no.word"], ["--keep", "1s", "--memory", "1k"]):
        done = sh(BINARY, "capture", "--agent=no", "-w", str(tmp_path / "out"), *words, check=False, timeout=READY_S)
        assert done.returncode in (1, 2) and done.stderr.startswith("sonde: "), words
