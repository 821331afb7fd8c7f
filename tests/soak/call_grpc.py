#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""For tests/soak/calls.py: python3-grpcio (gRPC's C core), a server and clients in processes of their own.

    call_grpc.py serve                   prints its port, and at the end of its input what it served
    call_grpc.py ask PORT CHANNELS CALLS prints what it asked for: [[method, status, calls]...]
"""
import collections
import concurrent.futures
import json
import os
import random
import subprocess
import sys
import threading

HERE = os.path.abspath(__file__)
STATUSES = {"Get": "OK", "Large": "OK", "Absent": "NOT_FOUND", "Broken": "INTERNAL", "Denied": "PERMISSION_DENIED",
            "List": "OK"}
LARGE = b"x" * 50000
SHARES = 4      # processes of the clients


def bare(message):
    return message


class Service:
    def __init__(self):
        self.counts, self.lock = collections.Counter(), threading.Lock()

    def answer(self, name):
        import grpc

        def count():
            with self.lock:
                self.counts[name, STATUSES[name]] += 1

        def unary(request, context):
            count()
            if STATUSES[name] != "OK":
                context.abort(grpc.StatusCode[STATUSES[name]], "as asked for")
            return LARGE if name == "Large" else request

        def stream(request, _context):
            count()
            for _ in range(3):
                yield request
        make = grpc.unary_stream_rpc_method_handler if name == "List" else grpc.unary_unary_rpc_method_handler
        return make(stream if name == "List" else unary, bare, bare)


def serve():
    import grpc
    service = Service()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(16))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(
        "calls.Store", {name: service.answer(name) for name in STATUSES})])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    sys.stdin.read()
    server.stop(5).wait()
    print(json.dumps([[*key, n] for key, n in service.counts.items()]))


def ask_by_one(channel, calls, rng, done):
    import grpc
    methods = {name: (channel.unary_stream if name == "List" else channel.unary_unary)(
        f"/calls.Store/{name}", bare, bare) for name in STATUSES}
    for _ in range(calls):
        name = rng.choice(list(STATUSES))
        try:
            answer = methods[name](b"y" * rng.choice((10, 3000)))
            if name == "List":
                list(answer)
            status = "OK"
        except grpc.RpcError as e:
            status = e.code().name
        done[name, status] += 1


def ask(port, channels, calls):
    import grpc
    counts = [collections.Counter() for _ in range(channels)]
    threads = []
    for i, mine in enumerate(counts):
        channel = grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.use_local_subchannel_pool", 1)])
        share = calls // channels + (i < calls % channels)
        threads.append(threading.Thread(target=ask_by_one, args=(channel, share, random.Random(port + i), mine)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps([[*key, n] for key, n in sum(counts, collections.Counter()).items()]))


def counted(rows):
    return collections.Counter({("POST", f"/calls.Store/{name}", status): n for name, status, n in rows})


class Grpc:
    """The server; counts() ends it."""

    def __init__(self):
        self.child = subprocess.Popen(["/usr/bin/python3", HERE, "serve"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        self.port = int(self.child.stdout.readline())

    def generate(self, connections, calls):
        each = connections // SHARES
        children = [subprocess.Popen(["/usr/bin/python3", HERE, "ask", str(self.port), str(each),
                                      str(calls // SHARES + (i < calls % SHARES))], stdout=subprocess.PIPE, text=True)
                    for i in range(SHARES)]
        return sum((counted(json.loads(child.communicate(timeout=1200)[0])) for child in children),
                   collections.Counter())

    def counts(self):
        if self.child.poll() is None:
            self.served = counted(json.loads(self.child.communicate("", timeout=60)[0]))
        return self.served

    @staticmethod
    def compared(done):
        return done

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        ask(*map(int, sys.argv[2:5]))
