#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde flows against the truth: N connections (IPv4, IPv6, TCP, UDP) through a router that translates sources,
destinations, both or nothing; closed, reset by either end, refused, half open, left open, with ports used again.

Every conversation at each of the four interfaces that it passes is compared with
  - connection tracking in the router: packets and bytes of both directions, both tuples;
  - the generator (flow_traffic.py): payload bytes, datagrams, what the server saw as its peer, how it ended, who
    spoke.

    tests/soak/flow_truth.py [N]        N connections, 2000 without; exit status 0 = all of it equal
"""
import collections
import ipaddress
import json
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
import helpers  # noqa: E402  the path above is needed first

TRAFFIC = os.path.join(HERE, "flow_traffic.py")
WORKERS = 4
FIRST_PORT = 20000      # of the clients, each its own: what the kernel gives away comes again after some thousand
DIRECT, SNAT, DNAT, BOTH, SILENT, HALF = 7000, 7002, 7003, 7004, 7010, 7011
REFUSED = 7009
NAT_KEYS = ("nat_saddr", "nat_sport", "nat_daddr", "nat_dport")
OUTSIDE = {DNAT: 8003, BOTH: 8004}      # the ports of the router that lead to these of the server
ETHER, L4 = 14, {"tcp": 20, "udp": 8}
MSS_OPTION = 4      # all that a SYN has besides: time stamps, SACK and scaling are off
TCP_KINDS = ["closed"] * 8 + ["client-reset", "server-reset"] * 2 + ["refused", "half-open-silent",
                                                                  "half-open-answered", "kept", "reused", "reused"]
STATES = {"closed": "closed", "client-reset": "reset", "server-reset": "reset", "refused": "reset",
          "half-open-silent": "syn-sent", "half-open-answered": "syn-recv", "kept": "established", "reused": "reset"}
SYSCTLS_ENDS = {"net.ipv4.tcp_timestamps": 0, "net.ipv4.tcp_sack": 0, "net.ipv4.tcp_window_scaling": 0,
                "net.ipv4.tcp_synack_retries": 0}
CT = "net.netfilter.nf_conntrack_"
SYSCTLS_ROUTER = {CT + "acct": 1, **{CT + name: 1800 for name in (
    "tcp_timeout_close", "tcp_timeout_time_wait", "tcp_timeout_last_ack", "tcp_timeout_fin_wait",
    "tcp_timeout_close_wait", "tcp_timeout_syn_sent", "tcp_timeout_syn_recv", "udp_timeout", "udp_timeout_stream")}}


# ---- what is to happen ----

def spec_of(i, place):
    v6 = i % 2
    port = (DIRECT, SNAT, DNAT, BOTH)[i // 2 % 4]
    spec = {"i": i, "request": 40 + i % 900, "answer": 80 + i * 37 % 3000, "manner": "close"}
    if i // 8 % 4 == 3:
        spec |= {"proto": "udp", "kind": "mute" if i % 5 == 0 else "udp", "times": 1 + i % 4}
        spec["answer"] = 0 if spec["kind"] == "mute" else 80 + i % 1300
    else:
        spec |= {"proto": "tcp", "kind": TCP_KINDS[(i // 8 * 7 + i % 8) % len(TCP_KINDS)]}
        if spec["kind"] in ("server-reset", "kept"):
            spec["manner"] = {"server-reset": "reset", "kept": "keep"}[spec["kind"]]
        port = {"refused": REFUSED, "half-open-silent": SILENT, "half-open-answered": HALF}.get(spec["kind"], port)
    near = place.left.b_ip6 if v6 else place.left.b_ip
    far = place.right.b_ip6 if v6 else place.right.b_ip
    return spec | {"ip": near if port in OUTSIDE else far, "port": OUTSIDE.get(port, port), "server_port": port}


def specs_of(n, place):
    """One that uses its ports again counts twice."""
    ret = []
    while len(ret) < n:
        spec = spec_of(len(ret), place) | {"bind": FIRST_PORT + len(ret)}
        if spec["kind"] == "reused":
            spec |= {"sport": spec["bind"], "manner": "reset"}
            ret.append(spec)
            spec = spec | {"i": len(ret)}
        ret.append(spec)
    return ret


def pin(ns, dev, mac, *addresses):
    for ip in addresses:
        ns.run("ip", "neigh", "replace", ip, "lladdr", mac, "dev", dev, "nud", "permanent")


def prepare(place):
    for key, value in SYSCTLS_ENDS.items():
        place.client.sysctl(key, value)
        place.server.sysctl(key, value)
    place.router.nft(f"""
table inet nat {{
  chain pre {{ type nat hook prerouting priority -100;
    meta nfproto ipv4 meta l4proto {{ tcp, udp }} th dport {OUTSIDE[DNAT]} dnat ip to {place.right.b_ip}:{DNAT}
    meta nfproto ipv4 meta l4proto {{ tcp, udp }} th dport {OUTSIDE[BOTH]} dnat ip to {place.right.b_ip}:{BOTH}
    meta nfproto ipv6 meta l4proto {{ tcp, udp }} th dport {OUTSIDE[DNAT]} dnat ip6 to [{place.right.b_ip6}]:{DNAT}
    meta nfproto ipv6 meta l4proto {{ tcp, udp }} th dport {OUTSIDE[BOTH]} dnat ip6 to [{place.right.b_ip6}]:{BOTH}
  }}
  chain post {{ type nat hook postrouting priority 100;
    meta l4proto {{ tcp, udp }} th dport {{ {SNAT}, {BOTH} }} masquerade
  }}
}}""")
    drop = "table inet f {{\n chain i {{\n type filter hook input priority 0;\n tcp {} drop\n }}\n}}\n"
    place.server.nft(drop.format(f"dport {SILENT}"))
    place.client.nft(drop.format(f"sport {HALF}"))
    for link in (place.left, place.right):  # what cannot be resolved on a busy machine is sent twice
        pin(link.a, link.a_dev, link.b.mac(link.b_dev), link.b_ip, link.b_ip6)
        pin(link.b, link.b_dev, link.a.mac(link.a_dev), link.a_ip, link.a_ip6)
    for key, value in SYSCTLS_ROUTER.items():
        place.router.sysctl(key, value)


def start_servers(place):
    """{port: its process}; one of them has a socket for both families."""
    ports = (DIRECT, SNAT, DNAT, BOTH, HALF)
    ret = {port: place.server.popen("/usr/bin/python3", TRAFFIC, "serve", str(port),
                                    "dual" if port == SNAT else "one") for port in ports}
    for child in ret.values():
        assert child.stdout.readline() == "up\n", child.stderr.read()
    return {port: child.pid for port, child in ret.items()}


def talk(place, specs):
    """All of it happens; what the workers told, and the workers, which keep some connections."""
    workers = [place.client.popen("/usr/bin/python3", TRAFFIC, "talk", stdin=subprocess.PIPE) for _ in range(WORKERS)]
    for w, worker in enumerate(workers):
        mine = [s for s in specs if (s.get("sport", s["i"])) % WORKERS == w]   # ports are used again in order
        worker.stdin.write("".join(json.dumps(s) + "\n" for s in mine) + "\n")
        worker.stdin.flush()
    told = []
    for worker in workers:
        for line in worker.stdout:
            if line == "done\n":
                break
            told.append(json.loads(line))
    assert len(told) == len(specs), [w.stderr.read() for w in workers if w.poll() is not None]
    return told, workers


# ---- what connection tracking says ----

def conntrack(ns):
    """{(proto, ip, port, ip, port) as the client sees it: (reply tuple, packets and bytes both ways)}"""
    ret = {}
    for line in ns.run("cat", "/proc/net/nf_conntrack").stdout.splitlines():
        if "dport=" not in line:
            continue
        proto = line.split()[2]
        one = [{k: v for k, v in re.findall(r"(\w+)=(\S+)", part)}
               for part in re.split(r"(?= src=)", line)[1:]]
        tuples = [(short(d["src"]), int(d["sport"]), short(d["dst"]), int(d["dport"])) for d in one]
        ret[(proto, *tuples[0])] = (tuples[1], [(int(d["packets"]), int(d["bytes"])) for d in one])
    return ret


def short(ip):
    return str(ipaddress.ip_address(ip))


def settled(ns):
    """The table once it has stopped changing."""
    last, same = conntrack(ns), 0
    while same < 4:
        time.sleep(0.15)
        now = conntrack(ns)
        same = same + 1 if now == last else 0
        last = now
    return last


# ---- what sonde says ----

def flows_of(events):
    """{(interface, proto, src, sport, dst, dport) forward: [{False: last report, True: of the way back}, ...]}"""
    by_id = collections.OrderedDict()
    for ev in events:
        if ev["type"] == "net.flow" and ev["conn"]["proto"] in L4:
            pid = ev.get("proc", {}).get("pid")
            by_id.setdefault(ev["id"], {})[ev["is_reply"]] = {**ev, **ev["conn"], "pid": pid}
    ret = collections.defaultdict(list)
    for ways in by_id.values():
        f = ways[False]
        ret[f["iface"], f["proto"], f["src"], f["sport"], f["dst"], f["dport"]].append(ways)
    return ret


def counts(ways):
    """Packets and bytes of IP, forward and back."""
    return [(w["packets"], w["bytes"] - ETHER * w["packets"]) if w else (0, 0)
            for w in (ways.get(False), ways.get(True))]


class Check:
    def __init__(self, place, servers, table, flows):
        self.place, self.servers, self.table, self.flows = place, servers, table, flows
        self.wrong, self.did = [], collections.Counter()

    def equal(self, what, spec, got, want):
        self.did[what] += 1
        if got != want:
            self.wrong.append(f"{what}: {got}, not {want}; {json.dumps(spec)}")

    def payload(self, spec, ways):
        """The generator's bytes, where nothing was sent twice."""
        got = counts(ways)
        head = (40 if ":" in spec["ip"] else 20) + L4[spec["proto"]]
        data = [size - head * packets for packets, size in got]
        if spec["proto"] == "udp":
            back = 0 if spec["kind"] == "mute" else spec["times"]
            want = [(spec["times"], spec["times"] * spec["request"]), (back, back * spec["answer"])]
            self.equal("datagrams and their bytes", spec, [(p, d) for (p, _), d in zip(got, data)], want)
        elif "sent" in spec and not any(w.get("retransmitted") for w in ways.values()):
            self.equal("payload of TCP", spec, data, [spec["sent"] + MSS_OPTION, spec["received"] + MSS_OPTION])

    def nat(self, spec, ways, other):
        """@other: the far tuple of a translation, forward; None = there is none."""
        for is_reply, w in ways.items():
            s, sp, d, dp = other or (None,) * 4
            want = (d, dp, s, sp) if is_reply else (s, sp, d, dp)
            self.equal("NAT tuple", spec, tuple(w.get(k) for k in NAT_KEYS), want)

    @staticmethod
    def whole(have, numbers, spec):
        """What conntrack's @numbers stand for. The next connection of the same ports may be counted into the entry
        of the first; then the SYN that begins it is let through uncounted (nf_conntrack_proto_tcp.c, IGNORE).
        """
        last, (forward, back) = counts(have[-1]), [tuple(map(sum, zip(*way))) for way in zip(*map(counts, have))]
        if len(have) < 2 or last == numbers:
            return last
        return [(forward[0] - 1, forward[1] - (64 if ":" in spec["ip"] else 44)), back]

    def place_of(self, spec, iface, tup, turn, pid, other):
        have = self.flows.get((iface, spec["proto"], *tup), [])
        if not have:
            self.wrong.append(f"no flow at {iface}: {tup}; {json.dumps(spec)}")
            return
        ways = have[min(turn, len(have) - 1)]
        last = turn == len(have) - 1
        self.equal("conversations of these ports", spec, len(have), 2 if spec["kind"] == "reused" else 1)
        self.payload(spec, ways)
        numbers = self.table[spec["proto"], *self.outer(spec)][1] if spec["kind"] != "refused" else (
            [(1, 64), (1, 60)] if ":" in spec["ip"] else [(1, 44), (1, 40)])
        if last and any(w.get("retransmitted") for h in have for w in h.values()):
            self.did["sent twice, packets not compared"] += 1   # conntrack does not count a SYN that is repeated
        elif last:
            self.equal("packets and bytes of conntrack", spec, self.whole(have, numbers, spec), numbers)
        if iface in (self.place.left.b_dev, self.place.right.a_dev):
            self.nat(spec, ways, other)
            if spec["kind"] != "refused":
                self.equal("conntrack's state", spec, ways[False].get("ct_state"),
                           "established" if True in ways else "new")
        else:
            # where nobody is an end of it, the sender's socket may still be on the packet: it is who it is
            got = ways[False]["pid"]
            self.equal("process", spec, got, pid or (got and spec["pid"]))
        if spec["proto"] == "tcp":
            self.equal("TCP state", spec, ways[False]["state"], STATES[spec["kind"]])

    def outer(self, spec):
        ip, port = spec["local"]
        return (ip or (self.place.left.a_ip6 if ":" in spec["ip"] else self.place.left.a_ip), port, spec["ip"],
                spec["port"])

    def one(self, spec, turn):
        p, outer = self.place, self.outer(spec)
        if spec["kind"] != "refused" and (spec["proto"], *outer) not in self.table:
            self.wrong.append(f"connection tracking does not know {outer}; {json.dumps(spec)}")
            return
        if spec["kind"] == "refused":   # connection tracking forgets it at once
            inner = outer
        else:
            reply, _ = self.table[spec["proto"], *outer]
            inner = (reply[2], reply[3], reply[0], reply[1])
        if "peer" in spec and spec["kind"] != "reused":
            self.equal("peer that the server saw", spec, spec["peer"], list(inner[:2]))
        translated = inner != outer
        self.equal("translation as it was set up", spec, translated, spec["server_port"] in (SNAT, DNAT, BOTH))
        self.place_of(spec, p.left.a_dev, outer, turn, spec["pid"], None)
        self.place_of(spec, p.left.b_dev, outer, turn, None, inner if translated else None)
        if spec["kind"] == "reused" and turn == 0 and spec["server_port"] in (SNAT, BOTH):
            inner = (inner[0], spec["peer"][1], *inner[2:])
        self.place_of(spec, p.right.a_dev, inner, turn, None, outer if translated else None)
        self.place_of(spec, p.right.b_dev, inner, turn, self.servers.get(spec["server_port"]), None)


def check(place, sonde, n):
    """What was compared, by kind; what was wrong, as sentences."""
    prepare(place)
    servers = start_servers(place)
    one = sonde("flows", "--json", *(w for ns in (place.client, place.router, place.server)
                                     for w in ("--netns", ns.name)))
    told, workers = talk(place, specs_of(n, place))
    table = settled(place.router)
    one.finish()
    assert conntrack(place.router) == table, "connections moved while sonde stopped"
    for worker in workers:
        helpers.stop_process(worker)
    result = Check(place, servers, table, flows_of(one.events))
    seen = set()
    for spec in sorted(told, key=lambda s: s["i"]):
        port = spec.get("sport")
        result.one(spec, int(port in seen))
        if port:
            seen.add(port)
    result.did["connections"] = len(told)
    result.did["ports used again"] = len(seen)
    lost = [ev for ev in one.events if ev["type"] == "sonde.ledger" and ev.get("probe") == "net" and ev["lost"]]
    result.wrong += [f"lost: {json.dumps(ev)}" for ev in lost]
    return result


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    made, running = [], []

    def netns():
        made.append(helpers.Netns())
        return made[-1]

    def sonde(*words):
        running.append(helpers.Sonde(*words))
        return running[-1]
    helpers.remove_leftovers()
    try:
        result = check(helpers.Routed(netns), sonde, n)
    finally:
        for one in running:
            helpers.stop_process(one.child)
        for ns in made:
            ns.close()
    for what, times in sorted(result.did.items()):
        print(f"{times:8} {what}")
    print(f"{len(result.wrong):8} wrong")
    print("\n".join(result.wrong[:40]))
    return 1 if result.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
