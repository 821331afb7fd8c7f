# SPDX-License-Identifier: GPL-2.0-or-later
"""Three namespaces in a row; the middle one translates sources (masquerade) and destinations (DNAT). At each
interface of all three a packet has the process that sent it and the one that gets it.

conntrack in the router says which tuples are one flow; the programs say whose sockets its ends are.
"""
import collections
import os
import sys

import drops
import fields
import helpers
import packets

sys.path.insert(0, os.path.join(helpers.ROOT, "tests", "soak"))
import flow_truth  # noqa: E402  the path above is needed first

TCP, UDP, OUTSIDE = 8001, 8002, 1000        # the router's port 9001 leads to the server's 8001
DROPS = {"forward": 8003, "postrouting": 8004}
REQUESTS, THREADS, DATAGRAMS = 5, 4, 3
PACKETS_OF_FLOW, PLACES = 12, 4


def rules(place):
    """Masquerade for one port of each protocol, DNAT for the other way in, drops before and after translation."""
    dnat = "\n".join(f"ip daddr {place.left.b_ip} {proto} dport {port + OUTSIDE} dnat to {place.right.b_ip}:{port}"
                     for proto, port in (("tcp", TCP), ("udp", UDP)))
    return f"""
table ip nat {{
  chain pre {{ type nat hook prerouting priority -100;
    {dnat}
  }}
  chain post {{ type nat hook postrouting priority 100;
    oifname "{place.right.a_dev}" masquerade random
  }}
}}
table ip f {{
  chain forward {{ type filter hook forward priority 0;
    udp dport {DROPS["forward"]} counter drop
  }}
  chain post {{ type filter hook postrouting priority 200;
    udp dport {DROPS["postrouting"]} counter drop
  }}
}}"""


def run(stage):
    place = helpers.Routed(stage.netns)
    for key, value in flow_truth.SYSCTLS_ROUTER.items():
        place.router.sysctl(key, value)
    place.router.nft(rules(place))
    servers = [
        stage.start("tcp-server", *stage.python("prefork.py"), "serve", place.right.b_ip, TCP, 2, netns=place.server),
        stage.start("udp-server", *stage.python("udp.py"), "serve", place.right.b_ip, UDP, 1, "hash",
                    netns=place.server),
    ]
    for server in servers:
        stage.expect(server, "up")
    watch = stage.watch("monitor", "monitor", "--netns", place.client.name, "--netns", place.router.name, "--netns",
                        place.server.name, "tcp or udp")
    trace = stage.trace_drops()
    talk(stage, place, max(8, stage.events // (4 * PACKETS_OF_FLOW * PLACES)))
    traced = trace.counts()
    table = flow_truth.conntrack(place.router)
    recording = stage.finish(watch)
    for server in servers:
        stage.stop(server)
    Check(stage, place, table).all(recording, traced)
    stage.check_replay(recording)


def talk(stage, place, flows):
    seed = stage.random.randrange(1 << 30)
    for ip, more in ((place.right.b_ip, 0), (place.left.b_ip, OUTSIDE)):
        stage.run("client", *stage.python("prefork.py"), "talk", ip, TCP + more, flows, REQUESTS, THREADS, seed,
                  netns=place.client)
        stage.run("client", *stage.python("udp.py"), "talk", ip, UDP + more, flows, DATAGRAMS, 1, netns=place.client)
    for port in DROPS.values():
        stage.run("client", *stage.python("udp.py"), "talk", place.right.b_ip, port, flows, 1, 0, netns=place.client)


class Check:
    """The two ends of each packet, wherever it was seen."""

    def __init__(self, stage, place, table):
        self.stage, self.place = stage, place
        self.clients = packets.ends_of(stage.truth("client"))
        self.servers = packets.ends_of([*stage.truth("tcp-server"), *stage.truth("udp-server")])
        self.flows = {}         # (source, destination) as seen anywhere: (flow, forward?)
        for (_, *original), (reply, _) in table.items():
            there, back = (tuple(original[:2]), tuple(original[2:])), (tuple(reply[:2]), tuple(reply[2:]))
            self.flows[there] = self.flows[back[::-1]] = (there, back), True
            self.flows[back] = self.flows[there[::-1]] = (there, back), False
        self.spoke = collections.defaultdict(dict)      # flow: {forward?: first packet}

    def ends(self, ev):
        """(sender, receiver, has the receiver sent before?) by the truth, or None."""
        known = self.flows.get(fields.tuple_of(ev))
        if not known:
            return None
        (there, back), forward = known
        client, server = self.clients.get(there), self.servers.get(back)
        first = self.spoke[there]
        first.setdefault(forward, ev["ts_ns"])
        sender, receiver = (client, server) if forward else (server, client)
        return sender, receiver, (not forward) in first

    def all(self, recording, traced):
        dropped = []
        for ev in recording.events(b'"type":"net.'):
            if not fields.tuple_of(ev):
                continue
            if ev["type"] != "net.drop":
                self.one(ev)
            elif ev["conn"]["dport"] in DROPS.values():
                self.drop(ev)
                dropped.append(ev)
        sent = sum(peer[1] in DROPS.values() for (_, peer) in self.clients)
        drops.judge(self.stage.score("dropped"), drops.shown(dropped), sent, traced, drops.init_threads())

    def drop(self, ev):
        """A drop inside the router, before or after translation: the sender is known."""
        port = ev["conn"]["dport"]
        # one program sent all to this port; after the translation its tuple is another
        client = next(end for (_, peer), end in self.clients.items() if peer[1] == port)
        packets.judge_process(self.stage.score("drop"), ev, fields.sender(ev), client)

    def one(self, ev):
        ends = self.ends(ev)
        if not ends or not all(ends[:2]):
            if ev["conn"]["dport"] not in DROPS.values():
                self.stage.score("flows").add_wrong(f"no program has this flow: {packets.short(ev)}")
            return
        sender, receiver, met = ends
        sender.sends(ev)
        where = "router" if ev["netns"] == self.place.router.inode else "end"
        packets.judge_process(self.stage.score(where + "-sender"), ev, fields.sender(ev), sender)
        who = fields.receiver(ev)
        if who.pid is None and not met:
            self.stage.score(where + "-receiver").add_excused("receiver has not sent yet")
        else:
            packets.judge_process(self.stage.score(where + "-receiver"), ev, who, receiver)
        self.stage.score("flows").add_right()
