# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls of HTTP in a namespace, for tests whose receiver is away meanwhile: a server that fails every fifth request,
and callers that make one every 20 ms.
"""
AWAY_S = 30
CALL = """
import http.client, sys, time
c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
i, end = 0, time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    c.request("GET", f"/number-{i}" if i % 5 else f"/bad-{i}")
    c.getresponse().read()
    i += 1
    time.sleep(0.02)
print(i)
"""
SERVE = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(500 if self.path.startswith("/bad") else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


class Web:
    """The server; it ends with the namespace."""

    def __init__(self, ns):
        self.ns = ns
        self.port = ns.python_popen(SERVE).stdout.readline().strip()

    def call(self, seconds):
        """Prints at its end how many calls it made."""
        return self.ns.popen("/usr/bin/python3", "-c", CALL, self.port, str(seconds))
