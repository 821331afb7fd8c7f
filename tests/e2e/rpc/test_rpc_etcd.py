# SPDX-License-Identifier: GPL-2.0-or-later
"""etcd and etcdctl as distributions package them: stripped, connections behind cmux, clients that live for one call.
Process ids and ss say what is true."""
import os
import re
import subprocess
import time

import pytest

from gocalls import gotree
from helpers import wait_until

RUNS = int(os.environ.get("SONDE_RUNS", "25"))      # of etcdctl at each distance
DISTANCES_S = [float(word) for word in os.environ.get("SONDE_DISTANCES", "0").split()]
URL = "http://127.0.0.1:2379"
PUT, WATCH = "/etcdserverpb.KV/Put", "/etcdserverpb.Watch/Watch"


class Etcd:
    def __init__(self, ns, suite, folder):
        try:
            self.server, self.client = (gotree.program(suite, name) for name in ("etcd", "etcdctl"))
        except gotree.Unavailable as e:
            pytest.skip(f"no etcd of {suite}: {e}")
        self.ns, self.env = ns, dict(os.environ, ETCDCTL_API="3")
        self.child = ns.popen(self.server, "--data-dir", folder, "--listen-client-urls", URL,
                              "--advertise-client-urls", URL, "--listen-peer-urls", "http://127.0.0.1:2380",
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: self.control("endpoint", "health")[0] == 0)

    def start(self, *words):
        return self.ns.popen(self.client, "--endpoints", "127.0.0.1:2379", *words, env=self.env)

    def control(self, *words):
        """(exit status, process)"""
        child = self.start(*words)
        child.communicate(timeout=20)
        return child.returncode, child.pid


@pytest.fixture(params=gotree.SUITES)
def etcd(request, netns, tmp_path):
    return Etcd(netns(), request.param, tmp_path / "data")


def addresses(conn):
    return (conn["src"], conn["sport"]), (conn["dst"], conn["dport"])


def is_call(path, side=None):
    return lambda ev: ev["type"] == "rpc.call" and ev.get("path") == path and side in (None, ev["side"])


def test_each_call_of_each_short_client(sonde, etcd):
    """From the second run of the file on, both ends, with the connection that both name alike."""
    one = sonde("rpc", "--json", "--where", f"rpc.path={PUT}")
    warm_up(etcd, one)
    pids = []
    for distance in DISTANCES_S:
        for number in range(RUNS):
            status, pid = etcd.control("put", f"key{number}", "value")
            assert status == 0
            pids.append(pid)
            time.sleep(distance)
    clients = one.wait_for(lambda ev: is_call(PUT, "client")(ev) and ev["proc"]["pid"] in pids, len(pids))
    flows = {addresses(ev["conn"]) for ev in clients}
    servers = one.wait_for(lambda ev: is_call(PUT, "server")(ev) and addresses(ev["conn"]) in flows, len(pids))
    one.finish()
    assert sorted(ev["proc"]["pid"] for ev in clients) == sorted(pids) and len(flows) == len(pids)
    assert {ev["proc"]["pid"] for ev in servers} == {etcd.child.pid}
    for ev in clients + servers:
        assert (ev["status"], ev["end"], ev["conn"]["dport"]) == ("OK", "done", 2379) and ev["cookie"], ev


def warm_up(etcd, one):
    """Runs etcdctl until the server's file and the client's are watched."""
    for _ in range(100):
        assert etcd.control("put", "warm", "up")[0] == 0
        if {ev["side"] for ev in list(one.events) if is_call(PUT)(ev)} == {"client", "server"}:
            return
    pytest.fail("no call of etcdctl was seen in 100 runs")


def connections(ns):
    """Lines of ss."""
    return ns.run("ss", "-Htnpe", "state", "established", "( dport = :2379 or sport = :2379 )").stdout.splitlines()


def test_a_watch_has_the_socket_that_ss_shows(sonde, etcd):
    """A stream that lasts: addresses, process and cookie of both ends."""
    one = sonde("rpc", "--json", "--prefetch", etcd.client, "--where", f"rpc.path={WATCH}")
    watch = etcd.start("watch", "key")
    lines = connections(etcd.ns)
    while sum(f"pid={watch.pid}," in line for line in lines) != 1 or not all("pid=" in line for line in lines):
        assert watch.poll() is None
        lines = connections(etcd.ns)
    etcd.control("put", "key", "value")
    assert watch.stdout.readline() == "PUT\n"
    watch.terminate()
    watch.wait()
    calls = one.wait_for(is_call(WATCH), 2)
    one.finish()
    truth = {}
    for line in lines:
        pid, cookie = re.search(r"pid=(\d+)", line), re.search(r" sk:([0-9a-f]+)", line)
        local, peer = (tuple(word.rsplit(":", 1)) for word in line.split()[2:4])
        truth[int(pid[1]), int(cookie[1], 16)] = local, peer
    for ev in calls:
        ends = [(ip, str(port)) for ip, port in addresses(ev["conn"])]
        assert truth[ev["proc"]["pid"], ev["cookie"]] == tuple(ends if ev["side"] == "client" else ends[::-1]), ev
    assert {(ev["side"], ev["proc"]["pid"]) for ev in calls} == {("client", watch.pid), ("server", etcd.child.pid)}
