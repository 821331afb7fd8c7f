# SPDX-License-Identifier: GPL-2.0-or-later
"""Our dissector against tshark's: the packets made by hand, and random ones, field by field."""
import os
import random
import shutil
import struct
import subprocess

import pytest

from helpers import BINARY, ROOT

DISSECT = os.path.join(os.path.dirname(BINARY), "tests", "unit", "test_packet")
MADE = os.path.join(ROOT, "tests", "data", "packets", "made.tsv")
TUNNEL_PORTS = ("-d", "udp.port==8472,vxlan")
NO_STATE = ("ip.defragment", "ipv6.defragment", "tcp.desegment_tcp_streams",
            "tcp.relative_sequence_numbers", "tcp.analyze_sequence_numbers")
PACKETS = 1000

FLOW = ("src", "dst", "family", "proto", "ttl", "sport", "dport", "flags", "seq", "ack", "icmp_type", "icmp_code")
OURS = ("name", "tunnel", "vni", "n_vlan", "vlan0", "vlan1", *("outer_" + f for f in FLOW),
        *("inner_" + f for f in FLOW), "payload")
THEIRS = ("frame.number", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "ip.ttl", "ipv6.hlim",
          "tcp.srcport", "tcp.dstport", "udp.srcport", "udp.dstport", "sctp.srcport",
          "sctp.dstport", "tcp.flags", "tcp.seq", "tcp.ack", "icmp.type", "icmp.code",
          "icmpv6.type", "icmpv6.code", "vlan.id", "ieee8021ad.id", "vxlan.vni", "geneve.vni",
          "tcp.len", "frame.protocols")

# Where we differ on purpose: by name, the beginning of the difference.
ON_PURPOSE = {
    "ipv4-frag-first": "outer_",    # no ports from fragments, the first included: as Cilium's monitor has it
    "ipv6-frag-first": "outer_",
    "vxlan-not": "vni",             # the port is VXLAN's, the flags are not
}

pytestmark = [pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed"), pytest.mark.replay]


def read_rows(path):
    with open(path, encoding="ascii") as f:
        return [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]


def our_fields(path):
    if not os.path.exists(DISSECT):
        pytest.skip(f"{DISSECT} is not built")
    out = subprocess.run([DISSECT, "--fields", path], check=True, capture_output=True, text=True).stdout
    return [dict(zip(OURS, line.split("\t"), strict=True)) for line in out.rstrip("\n").split("\n")]


def write_pcap(path, link, packets):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, link))
        for i, data in enumerate(packets):
            f.write(struct.pack("<IIII", i, 0, len(data), len(data)) + data)


def their_fields(path):
    command = ["tshark", "-r", path, "-T", "fields", "-E", "separator=/t", "-E", "aggregator=,", *TUNNEL_PORTS]
    for name in NO_STATE:
        command += ["-o", f"{name}:FALSE"]
    for name in THEIRS:
        command += ["-e", name]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [{name: value.split(",") if value else [] for name, value in zip(THEIRS, line.split("\t"))}
            for line in out.rstrip("\n").split("\n")]


def number(text):
    return int(text, 16) if text.startswith("0x") else int(text)


def occurrence(theirs, names, which):
    """First (0) or last (-1) value of the first of @names that is there."""
    for name in names:
        if theirs[name]:
            return theirs[name][which]
    return None


def flow_differences(ours, prefix, theirs, which):
    """Compares one flow with tshark's first or last occurrence of each field."""
    family = ours[prefix + "family"]
    ip = "ip" if family == "4" else "ipv6"
    want = {"src": occurrence(theirs, [ip + ".src"], which), "dst": occurrence(theirs, [ip + ".dst"], which),
            "ttl": occurrence(theirs, ["ip.ttl" if family == "4" else "ipv6.hlim"], which)}
    transport = {"6": "tcp", "17": "udp", "132": "sctp"}.get(ours[prefix + "proto"])
    if transport:
        want["sport"] = occurrence(theirs, [transport + ".srcport"], which)
        want["dport"] = occurrence(theirs, [transport + ".dstport"], which)
    if transport == "tcp":
        for field in ("flags", "seq", "ack"):
            want[field] = occurrence(theirs, ["tcp." + field], which)
    icmp = {"1": "icmp", "58": "icmpv6"}.get(ours[prefix + "proto"])
    if icmp:
        want["icmp_type"] = occurrence(theirs, [icmp + ".type"], which)
        want["icmp_code"] = occurrence(theirs, [icmp + ".code"], which)
    for field, value in want.items():
        mine = ours[prefix + field]
        if field in ("src", "dst"):
            same = mine == value
        elif value is None:
            same = mine == "0"      # e.g. a fragment: tshark sees no ports either
        else:
            same = number(mine) == number(value) & (0xff if field == "flags" else 0xffffffff)
        if not same:
            yield f"{prefix}{field}: {mine}, tshark {value}"


def differences(ours, theirs):
    if ours["outer_family"] != "0":
        yield from flow_differences(ours, "outer_", theirs, 0)
    elif theirs["ip.src"] or theirs["ipv6.src"]:
        yield f"no IP found, tshark {theirs['frame.protocols']}"
    if ours["inner_family"] != "0":
        yield from flow_differences(ours, "inner_", theirs, -1)
    vlans = [ours["vlan0"], ours["vlan1"]][:int(ours["n_vlan"])]
    their_vlans = (theirs["ieee8021ad.id"] + theirs["vlan.id"])[:2]
    if ours["tunnel"] == "0" and vlans != their_vlans:
        yield f"vlan: {vlans}, tshark {their_vlans}"
    vni = occurrence(theirs, ["vxlan.vni", "geneve.vni"], 0)
    if vni is not None and number(ours["vni"]) != number(vni):
        yield f"vni: {ours['vni']}, tshark {vni}"
    if theirs["tcp.len"] and ours["outer_proto"] == "6" and ours["payload"] != theirs["tcp.len"][0]:
        yield f"payload: {ours['payload']}, tshark {theirs['tcp.len']}"


def compare(tmp_path, rows):
    """rows: (name, link, hex); what differs, as text."""
    found = []
    for link in sorted({row[1] for row in rows}):
        some = [row for row in rows if row[1] == link]
        table, capture = tmp_path / f"{link}.tsv", tmp_path / f"{link}.pcap"
        table.write_text("".join(f"{name}\t{link}\t{data}\t-\t-\n" for name, _, data in some))
        write_pcap(capture, int(link), [bytes.fromhex(row[2]) for row in some])
        ours, theirs = our_fields(str(table)), their_fields(str(capture))
        assert len(ours) == len(theirs) == len(some)
        for mine, other, row in zip(ours, theirs, some):
            expected = ON_PURPOSE.get(row[0], "nothing")
            found += [f"{row[0]}: {text}\n  {row[2]}" for text in differences(mine, other)
                      if not text.startswith(expected)]
    return found


def test_packets_made_by_hand(tmp_path):
    rows = [row[:3] for row in read_rows(MADE) if row[3] != "[error]"]
    assert len(rows) > 70
    found = compare(tmp_path, rows)
    assert not found, "\n".join(found)


def random_packet(rng, scapy):
    """A random stack of headers: tags, one or two IP headers with or without a tunnel, a transport, payload."""
    s = scapy
    mac = lambda: "02:00:00:%02x:%02x:%02x" % tuple(rng.randrange(256) for _ in range(3))   # noqa: E731

    def ip():
        if rng.random() < 0.5:
            return s.IP(src=".".join(str(rng.randrange(1, 255)) for _ in range(4)), dst="10.0.0.1",
                        ttl=rng.randrange(1, 256), id=rng.randrange(65536), tos=rng.randrange(256),
                        options=[s.IPOption_Router_Alert()] if rng.random() < 0.2 else [])
        packet = s.IPv6(src="2001:db8::%x" % rng.randrange(1, 65536), dst="fd00::%x:%x" % (rng.randrange(65536),
                        rng.randrange(1, 65536)), hlim=rng.randrange(1, 256), tc=rng.randrange(256))
        if rng.random() < 0.2:
            packet /= s.IPv6ExtHdrHopByHop()
        if rng.random() < 0.2:
            packet /= s.IPv6ExtHdrDestOpt()
        return packet

    def transport(version):
        port = lambda: rng.randrange(20000, 60000)     # noqa: E731  away from ports that mean something
        kind = rng.randrange(4)
        if kind == 0:
            return s.TCP(sport=port(), dport=port(), seq=rng.randrange(2 ** 32), ack=rng.randrange(2 ** 32),
                         flags=rng.randrange(64),
                         options=rng.choice([[], [("MSS", 1400)], [("Timestamp", (1, 2))]]))
        if kind == 1:
            return s.UDP(sport=port(), dport=port())
        if kind == 2:
            return s.SCTP(sport=port(), dport=port()) / s.SCTPChunkShutdownComplete()
        return s.ICMP(type=8, id=1) if version == 4 else s.ICMPv6EchoRequest(id=1)

    def datagram():
        outer = ip()
        payload = bytes(rng.randrange(256) for _ in range(rng.randrange(40)))
        return outer / transport(outer.version) / s.Raw(payload)

    packet = s.Ether(src=mac(), dst=mac())
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        packet /= s.Dot1Q(vlan=rng.randrange(1, 4095), prio=rng.randrange(8))
    tunnel = rng.randrange(8)
    if tunnel == 0:
        vxlan = s.UDP(sport=40000, dport=4789) / s.VXLAN(vni=rng.randrange(2 ** 24), flags="Instance")
        return packet / ip() / vxlan / s.Ether(src=mac(), dst=mac()) / datagram()
    if tunnel == 1:
        return packet / ip() / s.GRE() / datagram()
    if tunnel == 2:
        return packet / ip() / datagram()
    return packet / datagram()


def test_random_packets(tmp_path):
    scapy = pytest.importorskip("scapy.all", reason="scapy is not installed")
    rng = random.Random(20)
    rows = [(f"random-{i}", "1", bytes(random_packet(rng, scapy)).hex()) for i in range(PACKETS)]
    found = compare(tmp_path, rows)
    assert not found, "\n".join(found[:20])
