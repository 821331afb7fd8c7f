# SPDX-License-Identifier: GPL-2.0-or-later
"""What other people's programs read from our pcapng files. The sample is written by the unit test's program."""
import os
import shutil
import subprocess

import pytest

from helpers import BINARY

WRITER = os.path.join(os.path.dirname(BINARY), "tests", "unit", "test_pcapng")

pytestmark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    if not os.path.exists(WRITER):
        pytest.skip(f"{WRITER} is not built")
    path = str(tmp_path_factory.mktemp("pcapng") / "sample.pcapng")
    subprocess.run([WRITER, "--write", path], check=True)
    return path


def fields(path, *names):
    command = ["tshark", "-r", path, "-T", "fields", "-E", "separator=/t", "-E", "aggregator=|"]
    for name in names:
        command += ["-e", name]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split("\t") for line in out.rstrip("\n").split("\n")]


def test_tshark_shows_interfaces_and_direction(sample):
    rows = fields(sample, "frame.interface_name", "frame.interface_description", "frame.packet_flags_direction")
    assert rows == [["if2", "netns blue", "0x00000002"], ["eth0", "netns [4026531840]", "0x00000001"],
                    ["eth0", "netns [4026531840]", "0x00000001"]]


def test_tshark_shows_nanoseconds_and_lengths(sample):
    rows = fields(sample, "frame.time_epoch", "frame.cap_len", "frame.len", "udp.dstport")
    assert rows == [["1700000001.000000001", "29", "129", "9"], ["1700000001.000000002", "43", "143", "9"],
                    ["1700000001.000000003", "43", "143", "9"]]


def test_tshark_shows_comments(sample):
    comments = [row[0].split("|") for row in fields(sample, "frame.comment")]
    assert comments[0] == ["evt.type=toy.gone gone.point=to-network"]
    assert "gone.reason=NO_SOCKET" in comments[1][0] and 'gone.point="to stack"' in comments[1][0]
    assert "proc.pid=4711 proc.name=curl" in comments[1][1] and "owner.by=rx_sk" in comments[1][1]
    shown = [text.replace("\\\\", "\\") for text in comments[1][2:]]     # Wireshark 4.4 doubles a backslash
    assert shown == ["stack=udp_rcv+0x10;0xffff800000002000", "first note", "second \\e note"]


def test_tshark_shows_losses_and_verdict(sample):
    rows = fields(sample, "frame.drop_count", "frame.verdict.ebpf_xdp")
    assert [row[0] for row in rows] == ["", "17", ""]
    assert rows[2][1] not in ("", "0")


def test_capinfos_shows_the_host(sample):
    out = subprocess.run(["capinfos", sample], check=True, capture_output=True, text=True).stdout
    for line in ("Linux 6.18.5", "x86_64", "sonde ", "Number of interfaces in file: 2", "Filter string = udp port 9"):
        assert line in out
