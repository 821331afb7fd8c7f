#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A server of the interface of `sonde ui` for the tests of the page: doc/api.md over made-up events.

  mock.py [--live] [--port N] [FOLDER]     prints its address with the token, serves the page from FOLDER (build/web)
"""
import argparse
import http.server
import json
import os
import sys
import threading
import time
import urllib.parse

import answers

TOKEN = "mock-0123456789abcdef0123456789"
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
          "trusted-types 'none'")
TYPES = {"app.js": "text/javascript", "app.css": "text/css", "index.html": "text/html", "icon.svg": "image/svg+xml"}
COLUMNS = "application/vnd.sonde.columns"
BEAT_S = 1.0


# Names of the interface, times, ids: what a host that is watched has no say in.
OURS = {"from", "to", "first", "times", "ts", "time_ns", "id", "filter", "q", "view", "views", "name", "field",
        "fields", "unit", "op", "type", "types", "sort", "drill", "cols", "begin", "end", "now", "page", "bytes",
        "modified", "call", "calls", "version", "states", "head", "title", "hint", "help", "cause", "causes", "probe",
        "kind", "what"}
THEIRS = {"threads", "functions", "names", "frames", "files", "stack"}    # `name` is a host's below these
BAD = "<img src=x onerror=alert(1)>\u202e\x1b[31m"


def hostile(value, key="", below=()):
    """The answer with a prefix to each text that comes from the host, as if its server did not escape any."""
    if isinstance(value, dict):
        return {k: hostile(v, k, (*below, k)) for k, v in value.items()}
    if isinstance(value, list):
        return [hostile(v, key, below) for v in value]
    ours = key in OURS and not (key == "name" and set(below) & THEIRS)
    return BAD + value if isinstance(value, str) and not ours and not value.isdigit() else value


class Server(http.server.ThreadingHTTPServer):
    daemon_threads, token = True, TOKEN

    def __init__(self, folder, live=False, port=0, now=time.time_ns, bad=False, hosts=("web1",)):
        super().__init__(("127.0.0.1", port), Handler)
        self.bad = bad      # texts are hostile
        self.folder, self.host = folder, answers.Host(live, now, hosts)
        self.lock, self.stop = threading.Lock(), threading.Event()
        self.asked = []     # (path, parameters) of each request below /api/v1
        self.busy = {}      # first word of a path -> the sentence of its status 503
        self.streams, self.changed = 0, threading.Condition()

    def end(self):
        self.stop.set()
        self.shutdown()
        self.server_close()

    def count_stream(self, by):
        with self.changed:
            self.streams += by
            self.changed.notify_all()

    def wait_streams(self, number, limit_s=30):
        """True once @number streams are open."""
        with self.changed:
            return self.changed.wait_for(lambda: self.streams == number, limit_s)

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):      # a page that went away
            super().handle_error(request, client_address)

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):     # the tests read Server.asked
        pass

    def send(self, status, body, kind="application/json", length=True):
        self.send_response(status)
        for name, value in (("Content-Type", f"{kind}; charset=utf-8" if kind != COLUMNS else kind),
                            ("Content-Security-Policy", POLICY), ("X-Content-Type-Options", "nosniff"),
                            ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Opener-Policy", "same-origin"),
                            ("Cross-Origin-Resource-Policy", "same-origin"), ("Cache-Control", "no-store")):
            self.send_header(name, value)
        if length:
            self.send_header("Content-Length", str(len(body)))
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def answer(self, path, p):
        host, parts = self.server.host, path.strip("/").split("/")
        known = {"meta": host.meta, "fields": host.fields, "check": host.check, "views": host.views,
                 "flame": host.flame, "tracks": host.tracks, "events": host.list,
                 "trace": host.trace, "sides": host.sides, "explain": host.explain, "recordings": host.recordings}
        if parts[0] in self.server.busy:
            raise answers.Refused(503, self.server.busy[parts[0]])
        with self.server.lock:
            if len(parts) == 1 and parts[0] in known:
                return host.keep((path, *sorted(p.items())), lambda: self.seen(known[parts[0]](p)))
            if len(parts) == 2 and parts[0] in ("view", "heat", "event"):
                return host.keep((path, *sorted(p.items())), lambda: self.seen(getattr(host, parts[0])(p, parts[1])))
        raise answers.Refused(404, f"no path {path}")

    def seen(self, answer):
        return hostile(answer) if self.server.bad else answer

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if not url.path.startswith("/api/v1/"):
            self.page(url.path)
            return
        path = url.path[len("/api/v1"):]
        pairs = urllib.parse.parse_qsl(url.query, keep_blank_values=True)
        self.server.asked.append((path, dict(pairs)))
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.send(401, json.dumps({"error": "run sonde ui again"}).encode())
            return
        try:
            if path == "/live":
                self.live([v for k, v in pairs if k == "sub"])
            elif path == "/events" and COLUMNS in self.headers.get("Accept", ""):
                with self.server.lock:
                    start, end, n, rows = self.server.host.rows(dict(pairs))
                    if self.server.bad:
                        rows = [dict(e, text=BAD + e["text"], host=BAD + e["host"],
                                     **{"proc.name": BAD + e["proc.name"]}) for e in rows]
                self.send(200, answers.columns(rows, n, self.server.host.lost(start, end)), COLUMNS)
            else:
                self.send(200, json.dumps(self.answer(path, dict(pairs))).encode())
        except answers.Refused as e:
            self.send(e.status, json.dumps({"error": str(e), **e.more}).encode())

    def page(self, path):
        name = os.path.basename(path)
        if name not in TYPES:
            if "." in name:
                self.send(404, b"", "text/plain")
                return
            name = "index.html"
        with open(os.path.join(self.server.folder, name), "rb") as f:
            self.send(200, f.read(), TYPES[name])

    def line(self, message):
        self.wfile.write(json.dumps(message).encode() + b"\n")
        self.wfile.flush()

    def live(self, subscriptions):
        if len(subscriptions) > 8:
            raise answers.Refused(400, "at most 8 subscriptions")
        self.send(200, b"", "application/x-ndjson", length=False)
        self.server.count_stream(1)
        last = {}
        try:
            while not self.server.stop.is_set():
                host = self.server.host
                end = host.end()
                lost = host.lost(host.begin, end)
                self.line({"beat": str(host.now()), "lost": lost, "events": len(host.events), "gone": 0,
                           "causes": [{"cause": "ring_full", "count": lost}] if lost else [], "end": str(end)})
                for i, sub in enumerate(subscriptions):
                    url = urllib.parse.urlsplit(sub)
                    try:
                        said = {"answer": self.answer(url.path, dict(urllib.parse.parse_qsl(url.query)))}
                    except answers.Refused as e:
                        said = {"status": e.status, "error": str(e)}
                    if last.get(i) != said:
                        last[i] = said
                        self.line({"sub": i, **said})
                self.server.stop.wait(BEAT_S)
        except OSError:
            pass        # the client went away
        finally:
            self.server.count_stream(-1)
            self.close_connection = True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("folder", nargs="?", default=os.path.join(answers.ROOT, "build", "web"))
    args = parser.parse_args()
    server = Server(args.folder, args.live, args.port)
    print(f"{server.address}/#t={TOKEN}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
