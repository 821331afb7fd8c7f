# SPDX-License-Identifier: GPL-2.0-or-later
"""curl in a namespace behind masquerade, directly and by a translated port, to nginx with two workers, which say who
serves: at each interface of the three namespaces a packet has the curl and the worker of its connection."""
import shutil
import subprocess

import fields
import helpers
import kind_nat
import kind_servers
import packets
import server_root
from stage import Lacking

NGINX = kind_servers.SERVERS[0]
OUTSIDE = NGINX.port + kind_nat.OUTSIDE     # of the router, leads to nginx
LEAST, MOST, EVENTS_OF_CONNECTION = 20, 1000, 44
RULES = """
table ip nat {{
  chain pre {{ type nat hook prerouting priority -100; ip daddr {outside} tcp dport {port} dnat to {server}; }}
  chain post {{ type nat hook postrouting priority 100; oifname "{out}" masquerade random; }}
}}"""


def prepare():
    server_root.path()


def run(stage):
    if not shutil.which("curl"):
        raise Lacking("package curl")
    place = helpers.Routed(stage.netns)
    for key, value in kind_nat.flow_truth.SYSCTLS_ROUTER.items():
        place.router.sysctl(key, value)
    place.router.nft(RULES.format(outside=place.left.b_ip, port=OUTSIDE, out=place.right.a_dev,
                                  server=f"{place.right.b_ip}:{NGINX.port}"))
    server = kind_servers.start(stage, NGINX, place.right)
    kind_servers.wait_listening(stage, NGINX, place.right, server)
    watch = stage.watch("monitor", "monitor", *(word for ns in (place.client, place.router, place.server)
                                                for word in ("--netns", ns.name)), "tcp")
    connections = max(LEAST, min(MOST, stage.events // EVENTS_OF_CONNECTION))
    for ip, port, share in ((place.right.b_ip, NGINX.port, connections // 2),
                            (place.left.b_ip, OUTSIDE, connections - connections // 2)):
        stage.run("client", *stage.python("curls.py"), f"http://{ip}:{port}/", share, netns=place.client,
                  stdin=subprocess.DEVNULL)
    table = kind_nat.flow_truth.conntrack(place.router)
    recording = stage.finish(watch)
    stage.stop(server)
    rows = {(tuple(row["local"]), tuple(row["peer"])): row for row in stage.truth("client")}
    stage.score("workers").equal(len({row["server"]["pid"] for row in rows.values()}), 2, "workers of nginx")
    check = kind_nat.Check(stage, place, table)
    check.servers = {back: packets.End(rows[there]["server"]) for (there, back), _ in check.flows.values()
                     if there in rows}
    for ev in recording.events(b'"type":"net.trace"'):
        if fields.tuple_of(ev):
            check.one(ev)
    stage.check_replay(recording)
