# SPDX-License-Identifier: GPL-2.0-or-later
"""Real servers, each against its own truth: nginx, gunicorn, php-fpm, postgres, haproxy say which of their processes
serves a connection, unbound and dnsmasq have one, and its packets belong to that process from its first data on.
"""
import os
import subprocess
import time
import typing

import fields
import helpers
import packets
import server_root
import stage as stages

READY_S = 30
REQUESTS = 5
LEAST, MOST = 20, 1000      # connections to each server
EVENTS_OF_CONNECTION = 35


EACH = -1


class Server(typing.NamedTuple):
    name: str
    port: int
    protocol: str
    script: str         # of /bin/sh in the root; {ip}: its address
    files: dict = {}    # below /truth
    holders: int = 2    # at least this number of processes serve the connections; 0 = the server does not say,
                        # EACH = one for each connection
    forks: bool = False # the main process accepts, and has the connection until its child uses it


NGINX = """daemon off; user root; worker_processes 2; pid /run/nginx.pid; error_log stderr;
events { worker_connections 64; }
http { access_log off; client_body_temp_path /tmp; proxy_temp_path /tmp; fastcgi_temp_path /tmp; uwsgi_temp_path /tmp;
scgi_temp_path /tmp; server { listen 8101 reuseport; location / { return 200 "$pid $connection"; } } }
"""
GUNICORN = """import os
def app(environ, start):
    body = str(os.getpid()).encode()
    start("200 OK", [("Content-Length", str(len(body)))])
    return [body]
"""
PHP = """[global]
error_log = /dev/stderr
[www]
listen = {ip}:8103
user = root
group = root
pm = static
pm.max_children = 3
"""
UNBOUND = """server:
  interface: {ip}@8105
  num-threads: 2
  so-reuseport: yes
  username: ""
  chroot: ""
  do-daemonize: no
  use-syslog: no
  pidfile: ""
  access-control: 0.0.0.0/0 allow
  module-config: "iterator"
  local-zone: "truth.test." static
  local-data: "truth.test. IN A 192.0.2.1"
"""
POSTGRES = """p=/usr/lib/postgresql/15/bin
mkdir -p /run/postgresql /tmp/db
chown postgres:postgres /run/postgresql /tmp/db
run() { chroot --userspec=postgres:postgres / "$@"; }
run $p/initdb --locale=C -A trust -D /tmp/db >/dev/null
echo 'host all all 0.0.0.0/0 trust' >>/tmp/db/pg_hba.conf
exec chroot --userspec=postgres:postgres / $p/postgres -D /tmp/db -k /tmp -h {ip} -p 8104
"""
HAPROXY = """global
  nbthread 2
defaults
  mode http
  timeout client 60s
  timeout connect 5s
  timeout server 60s
frontend truth
  bind {ip}:8107
  http-request return status 200 content-type text/plain lf-string "%pid"
"""
DNSMASQ = """exec /usr/sbin/dnsmasq -k -C /dev/null -u root -x '' -p 8108 -a {ip} --bind-interfaces \\
  --no-resolv --no-hosts --address=/truth.test/192.0.2.1
"""
SERVERS = (
    Server("nginx", 8101, "http", "exec /usr/sbin/nginx -c /truth/nginx.conf", {"nginx.conf": NGINX}),
    Server("gunicorn", 8102, "http", "cd /truth && exec /usr/bin/python3 -B /usr/bin/gunicorn -w 3 -k gthread "
           "--threads 2 -b {ip}:8102 pids:app", {"pids.py": GUNICORN}),
    Server("php", 8103, "fastcgi", "exec /usr/sbin/php-fpm8.2 -n -F -R -y /truth/php.conf",
           {"php.conf": PHP, "pid.php": "<?php echo getmypid();"}),
    Server("postgres", 8104, "postgres", POSTGRES, holders=EACH, forks=True),
    Server("unbound", 8105, "dns", "exec /usr/sbin/unbound -d -c /truth/unbound.conf", {"unbound.conf": UNBOUND}, 0),
    Server("haproxy", 8107, "http", "exec /usr/sbin/haproxy -W -db -f /truth/haproxy.conf", {"haproxy.conf": HAPROXY},
           holders=1),
    Server("dnsmasq", 8108, "dns", DNSMASQ, holders=0),
)


def prepare():
    server_root.path()


def run(stage):
    link = helpers.Link(stage.netns(), stage.netns())
    running = []
    for server, child in [(server, start(stage, server, link)) for server in SERVERS]:
        try:
            wait_listening(stage, server, link, child)
            running.append((server, child))
        except stages.Unchecked as e:
            stage.unchecked(server.name, str(e))
    watch = stage.watch("monitor", "monitor", "--netns", link.a.name, "--netns", link.b.name, "tcp or udp")
    program, connections = stage.python("clients.py"), max(LEAST, min(MOST, stage.events // EVENTS_OF_CONNECTION))
    for server, _ in running:
        try:
            stage.run("client-" + server.name, *program, server.protocol, link.b_ip, server.port, connections,
                      REQUESTS, netns=link.a)
        except stages.Unchecked as e:
            stage.unchecked(server.name, str(e))
    recording = stage.finish(watch)
    for server, child in running:
        check(stage, recording, server, link, child.pid)
    for _, child in running:
        stage.stop(child)
    stage.check_replay(recording)


def start(stage, server, link):
    files = {name: text.replace("{ip}", link.b_ip) for name, text in server.files.items()}
    words = server_root.command(stage.path("root-" + server.name), server.script.replace("{ip}", link.b_ip), files)
    with open(stage.path(server.name + ".log"), "wb") as log:
        return stage.start("server-" + server.name, *words, netns=link.b, stdin=subprocess.DEVNULL, stdout=log,
                           stderr=log)


def wait_listening(stage, server, link, child):
    """By ss in the namespace: a probing connection would be one more to explain."""
    deadline = time.monotonic() + READY_S
    while child.poll() is None and time.monotonic() < deadline:
        if f":{server.port} " in link.b.run("ss", "-Hlntu").stdout:
            return
        time.sleep(0.05)
    log, text = stage.path(server.name + ".log"), ""
    if os.path.exists(log):
        with open(log, encoding="utf-8", errors="replace") as f:
            text = f.read()[-300:]
    raise stages.Unchecked(f"{server.name} did not start: {text}")


def check(stage, recording, server, link, main_pid):
    """Both ends; the server's process is known from its first data on, before that the answer of a listener is."""
    rows = list(stage.truth("client-" + server.name))
    clients = packets.ends_of(row for row in rows if row["role"] == "client")
    servers = {(tuple(row["peer"][:2]), tuple(row["local"][:2])): row for row in rows if row["role"] == "served"}
    holders = {pid for row in servers.values() for pid in row["servers"] if pid}
    least = len(servers) if server.holders == EACH else server.holders
    stage.score("processes").equal(len(holders) >= least, True, f"{server.name}: {holders}")
    spoke = {}
    score = stage.score(server.name)
    for ev in packets.of_port(recording, server.port):
        local = packets.local_tuple(ev, clients if ev["netns"] == link.a.inode else servers)
        if ev["netns"] == link.a.inode and local in clients:
            packets.judge_process(score, ev, fields.local_end(ev), clients[local])
        elif ev["netns"] == link.b.inode and local in servers:
            if ev.get("dir") == "out" and "PSH" in (ev.get("flags") or ["PSH"]):
                spoke.setdefault(local, ev["ts_ns"])
            judge_server(score, ev, servers[local]["servers"], main_pid, local in spoke, server.forks)


def judge_server(score, ev, pids, main_pid, spoke, forks):
    """@pids: who served the connection, by the server itself; [0] = the only process of the server."""
    who, right = fields.local_end(ev), {pid or main_pid for pid in pids}
    if who.pid in right and len(right) == 1:
        score.add_right(who.how)
    elif not spoke and (who.pid is None or who.how == fields.NOT_ACCEPTED):
        score.add_excused("before accept")
    elif not spoke and forks and who.pid == main_pid:
        score.add_excused("accepted by the main process")
    elif who.pid is None:
        score.add_unknown(who.how, packets.short(ev))
    else:
        score.add_wrong(f"{who.pid} by {who.how}, not {sorted(right)} (main {main_pid}): {packets.short(ev)}")
