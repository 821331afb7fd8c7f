# SPDX-License-Identifier: GPL-2.0-or-later
"""sshd gives each connection to a child, which passes it on while the user is authenticated: from the first line of
the session on, packets belong to the parent of the session's shell, by that shell's word."""
import collections
import json
import os
import shutil
import subprocess

import fields
import helpers
import packets
import server_root
from kind_servers import Server, wait_listening

PORT, LINES = 8106, 20
LEAST, MOST, EVENTS_OF_SESSION = 5, 1000, 300
SERVER = Server("sshd", PORT, "ssh", """cd /truth
ssh-keygen -q -t ed25519 -N '' -f host
ssh-keygen -q -t ed25519 -N '' -f key
chmod 700 /truth
cp key.pub /etc/authorized
exec /usr/sbin/sshd -D -e -f /dev/null -h /truth/host -p %d -o ListenAddress={ip} -o UsePAM=no -o StrictModes=no \\
	-o PermitRootLogin=yes -o AuthorizedKeysFile=/etc/authorized -o PidFile=none
""" % PORT)
CLIENT = """cp /truth/key /tmp/key
chmod 600 /tmp/key
exec /usr/bin/python3 -B /truth/ssh_sessions.py {ip} {port} /tmp/key {sessions} {lines}
"""


def sessions(stage, link, files):
    """{(client's end, server's end): its rows}: a port may come again"""
    program, ret = "ssh_sessions.py", collections.defaultdict(list)
    shutil.copy(stage.path("programs", program), files)
    script = CLIENT.format(ip=link.b_ip, port=PORT, lines=LINES,
                           sessions=max(LEAST, min(MOST, stage.events // EVENTS_OF_SESSION)))
    child = stage.start("client", *server_root.command(stage.path("root-client"), script, {}, files), netns=link.a)
    for row in map(json.loads, child.stdout):
        ret[tuple(row["local"]), tuple(row["peer"])].append(row)
    stage.stop(child)
    return ret


def run(stage):
    link = helpers.Link(stage.netns(), stage.netns())
    folder = stage.path("root-sshd")
    server = stage.start("server", *server_root.command(folder, SERVER.script.replace("{ip}", link.b_ip), {}),
                         netns=link.b, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_listening(stage, SERVER, link, server)
    watch = stage.watch("monitor", "monitor", "--netns", link.a.name, "--netns", link.b.name, f"tcp port {PORT}")
    by_flow = sessions(stage, link, os.path.join(folder, "files"))
    recording = stage.finish(watch)
    stage.stop(server)
    for ev in packets.of_port(recording, PORT):
        judge(stage, ev, by_flow, link)
    stage.check_replay(recording)


def judge(stage, ev, by_flow, link):
    flow = fields.tuple_of(ev)
    session = [one for one in by_flow[flow if flow in by_flow else flow[::-1]] if one["began"] <= ev["ts_ns"]][-1]
    who = fields.local_end(ev)
    if ev["netns"] == link.a.inode:
        stage.score("client").equal(who.pid, session["client"], packets.short(ev), who.how)
    elif session["since"] <= ev["ts_ns"] <= session["until"]:
        stage.score("server").equal(who.pid, session["server"], packets.short(ev), who.how)
    else:
        stage.score("server").add_excused("outside the session")
