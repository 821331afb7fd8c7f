# SPDX-License-Identifier: GPL-2.0-or-later
"""For tests/soak/calls.py: how long calls took, by a client's clock and by nginx's $request_time. One client at a
time asks for answers of nginx itself, of a slow server behind it, and for ones that nginx sends slowly."""
import collections
import http.server
import multiprocessing
import os
import random
import socket
import time

import call_servers as servers

CONF = """daemon off; user root; worker_processes 1; pid /run/nginx.pid; error_log stderr;
events { worker_connections 512; }
http { log_format one "$request_uri $request_time"; access_log /truth/log one; keepalive_requests 1000000;
client_body_temp_path /tmp; proxy_temp_path /tmp; fastcgi_temp_path /tmp; uwsgi_temp_path /tmp; scgi_temp_path /tmp;
sendfile on; root /truth;
server { listen 127.0.0.1:PORT;
location /ok/ { return 200 "fine"; }
location /slow/ { proxy_pass http://127.0.0.1:BEHIND; }
location /limited/ { limit_rate 1m; rewrite ^ /large.html break; } } }
"""
KINDS = ["ok"] * 16 + ["slow"] * 3 + ["limited"]
SLOWEST_S = 0.03
CLIENT_NS, CLIENT_SHARE = 50000, 0.01   # the larger of both is allowed
OF_CALLS = 0.99


class Behind(http.server.BaseHTTPRequestHandler):
    """The last segment of the path is the time until the answer, in microseconds."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        time.sleep(int(self.path.rpartition("/")[2]) / 1e6)
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"later")

    def log_message(self, *_):
        pass


class Nginx(servers.Server):
    script = "exec /usr/sbin/nginx -c /truth/conf"
    files = {"conf": CONF, "large.html": "x" * 100000}

    def __init__(self):
        self.behind = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Behind)
        # another process: a thread that holds the interpreter's lock would be in the client's time
        self.process = multiprocessing.Process(target=self.behind.serve_forever, daemon=True)
        self.process.start()
        super().__init__()

    def fill(self, text):
        return super().fill(text).replace("BEHIND", str(self.behind.server_port))

    def times(self):
        """Path -> milliseconds."""
        with open(os.path.join(self.folder, "files", "log"), encoding="utf-8") as f:
            return {path: round(float(seconds) * 1000) for path, seconds in map(str.split, f)}

    def close(self):
        super().close()
        self.process.kill()
        self.process.join()
        self.behind.server_close()


def ask(port, calls):
    """Path -> nanoseconds by our clock: from before the request is sent until the answer's last bytes are there."""
    rng, took, room = random.Random(1), {}, bytearray(1 << 20)
    with socket.create_connection(("127.0.0.1", port)) as s:
        for number in range(calls):
            kind = rng.choice(KINDS)
            path = f"/{kind}/{number}/{rng.randrange(int(SLOWEST_S * 1e6))}"
            request = f"GET {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode()
            begin, got = time.monotonic_ns(), b""
            s.sendall(request)
            while (head := got.find(b"\r\n\r\n")) < 0 or len(got) < head + 4 + length_of(got):
                n = s.recv_into(room)
                end = time.monotonic_ns()
                got += room[:n]
            took[path] = end - begin
    return took


def length_of(head):
    return int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])


def judge(calls, took, times):
    """(text, is it within bounds); calls by path and side."""
    mine = {(ev["side"], ev["path"]): ev["latency"] for ev in calls}
    seen = collections.Counter(side for side, path in mine if path in took)
    off = sorted(abs(mine["client", path] - ns) for path, ns in took.items() if ("client", path) in mine)
    far = sum(abs(mine["client", path] - ns) > max(CLIENT_NS, CLIENT_SHARE * ns)
              for path, ns in took.items() if ("client", path) in mine)
    wrong = [(path, mine["server", path] / 1e6, ms) for path, ms in times.items()
             if ("server", path) in mine and abs(mine["server", path] / 1e6 - ms) > 1]
    n, worst = len(took), max(wrong, key=lambda row: abs(row[1] - row[2]), default=None)
    text = (f"{n} calls, {seen['client']} and {seen['server']} shown; client's clock: median "
            f"{off[len(off) // 2] / 1e3:.0f} us off, 99 % within {off[int(len(off) * OF_CALLS)] / 1e3:.0f} us, most "
            f"{off[-1] / 1e3:.0f} us, {far} beyond 50 us or 1 %; nginx's $request_time: "
            f"{len(wrong)} of {len(times)} further off than 1 ms, most {worst}")
    ok = seen["client"] == seen["server"] == n and far <= n * (1 - OF_CALLS) and len(wrong) <= n * (1 - OF_CALLS)
    return text, ok
