# SPDX-License-Identifier: GPL-2.0-or-later
"""Three processes with a socket each in one SO_REUSEPORT group, chosen by the kernel's hash or by a program (classic
BPF, eBPF): each datagram belongs to the process that received it."""
import helpers
import packets

PORTS, SOCKETS, DATAGRAMS = {"hash": 8001, "cbpf": 8002, "ebpf": 8003}, 3, 2


def run(stage):
    link = helpers.Link(stage.netns(), stage.netns())
    flows = max(30, stage.events // (len(PORTS) * DATAGRAMS * 4))
    servers = []
    for steering, port in PORTS.items():
        servers.append(stage.start("server-" + steering, *stage.python("udp.py"), "serve", link.b_ip, port, SOCKETS,
                                   steering, netns=link.b))
        stage.expect(servers[-1], "up")
    watch = stage.watch("monitor", "monitor", "--netns", link.a.name, "--netns", link.b.name, "udp")
    for steering, port in PORTS.items():
        stage.run("client-" + steering, *stage.python("udp.py"), "talk", link.b_ip, port, flows, DATAGRAMS, 1,
                  netns=link.a)
    recording = stage.finish(watch)
    for server in servers:
        stage.stop(server)
    for steering, port in PORTS.items():
        ends = {ns.inode: packets.ends_of(stage.truth(f"{role}-{steering}"))
                for ns, role in ((link.a, "client"), (link.b, "server"))}
        holders = {end.pid for end in ends[link.b.inode].values()}
        stage.score("sockets").equal(len(holders), SOCKETS, f"processes received by {steering}")
        packets.check_local(stage, packets.of_port(recording, port), ends, "-" + steering)
    stage.check_replay(recording)
