# SPDX-License-Identifier: GPL-2.0-or-later
"""A prefork server with four workers: each packet belongs to the worker that accepted the connection, not to the
master that made the listening socket."""
import helpers
import packets

PORT, WORKERS, THREADS, REQUESTS = 8001, 4, 8, 20
EVENTS_OF_CONNECTION = 2 * 3 * REQUESTS     # both ends see request, answer and some acknowledgements


def run(stage):
    link = helpers.Link(stage.netns(), stage.netns())
    connections = max(THREADS, stage.events // EVENTS_OF_CONNECTION)
    server = stage.start("server", *stage.python("prefork.py"), "serve", link.b_ip, PORT, WORKERS, netns=link.b)
    stage.expect(server, "up")
    watch = stage.watch("monitor", "monitor", "--netns", link.a.name, "--netns", link.b.name, f"tcp port {PORT}")
    stage.run("client", *stage.python("prefork.py"), "talk", link.b_ip, PORT, connections, REQUESTS, THREADS,
              stage.random.randrange(1 << 30), netns=link.a)
    recording = stage.finish(watch)
    stage.stop(server)
    ends = {ns.inode: packets.ends_of(stage.truth(role)) for ns, role in ((link.a, "client"), (link.b, "server"))}
    workers = {end.pid for end in ends[link.b.inode].values()}
    stage.score("workers").equal(len(workers), WORKERS, "workers had connections")
    packets.check_local(stage, packets.of_port(recording, PORT), ends)
    stage.check_replay(recording)
