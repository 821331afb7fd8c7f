# SPDX-License-Identifier: GPL-2.0-or-later
"""sshd gives each connection to a child, which passes it on while the user is authenticated: from the first line of
the session on, packets belong to the parent of the session's shell, by that shell's word."""
import os
import subprocess
import time

import fields
import helpers
import packets
import server_root
from kind_servers import Server, wait_listening

PORT, LINES = 8106, 20
LEAST, MOST, EVENTS_OF_SESSION = 5, 100, 300
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
exec /usr/bin/ssh -q -i /tmp/key -p {port} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \\
	-o BatchMode=yes root@{ip} 'echo $PPID $SSH_CONNECTION; cat'
"""


class Session:
    """One ssh; the process of the server that serves it, its connection, and since when that is sure."""

    def __init__(self, stage, link, number, files):
        script = CLIENT.replace("{ip}", link.b_ip).replace("{port}", str(PORT))
        words = server_root.command(stage.path(f"root-client-{number}"), script, {}, files)
        self.child = stage.start("client", *words, netns=link.a)
        said = self.child.stdout.readline().split()
        self.server_pid, self.local = int(said[0]), (said[1], int(said[2]))
        self.peer = said[3], int(said[4])
        self.client_pid, self.since = self.child.pid, time.monotonic_ns()
        for line in range(LINES):
            self.child.stdin.write(f"{line}\n")
            self.child.stdin.flush()
            self.child.stdout.readline()
        self.until = time.monotonic_ns()
        stage.stop(self.child)


def run(stage):
    link = helpers.Link(stage.netns(), stage.netns())
    folder = stage.path("root-sshd")
    server = stage.start("server", *server_root.command(folder, SERVER.script.replace("{ip}", link.b_ip), {}),
                         netns=link.b, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_listening(stage, SERVER, link, server)
    watch = stage.watch("monitor", "monitor", "--netns", link.a.name, "--netns", link.b.name, f"tcp port {PORT}")
    sessions = [Session(stage, link, number, os.path.join(folder, "files")) for number in range(
        max(LEAST, min(MOST, stage.events // EVENTS_OF_SESSION)))]
    recording = stage.finish(watch)
    stage.stop(server)
    by_flow = {}
    for one in sessions:    # None: a port of two sessions
        by_flow[one.local, one.peer] = None if (one.local, one.peer) in by_flow else one
    for ev in packets.of_port(recording, PORT):
        judge(stage, ev, by_flow, link)
    stage.check_replay(recording)


def judge(stage, ev, by_flow, link):
    flow = fields.tuple_of(ev)
    session = by_flow[flow if flow in by_flow else flow[::-1]]
    who = fields.local_end(ev)
    if not session:
        stage.score("client").add_excused("port of two sessions")
    elif ev["netns"] == link.a.inode:
        stage.score("client").equal(who.pid, session.client_pid, packets.short(ev), who.how)
    elif session.since <= ev["ts_ns"] <= session.until:
        stage.score("server").equal(who.pid, session.server_pid, packets.short(ev), who.how)
    else:
        stage.score("server").add_excused("outside the session")
