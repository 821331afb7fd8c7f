# SPDX-License-Identifier: GPL-2.0-or-later
"""/metrics of the agent, read by Prometheus and judged by its promtool."""
import http.client
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request

import helpers
import pytest
from agent_client import Client

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
CONFIG = """
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - {job_name: sonde, static_configs: [{targets: ["%s"]}]}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(address, path="/metrics", accept=None, method="GET"):
    c = http.client.HTTPConnection(address, timeout=20)
    c.request(method, path, headers={"Accept": accept} if accept else {})
    reply = c.getresponse()
    return reply.status, reply.headers["Content-Type"], reply.read().decode()


def samples(text):
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line[:1] != "#"}


@pytest.fixture
def served(sonde, tmp_path):
    address = f"127.0.0.1:{free_port()}"
    (tmp_path / "conf").write_text("cost-every = 2s\n")
    agent = sonde("agent", "--socket-dir", str(tmp_path / "run"), "--metrics", address, "--config",
                  str(tmp_path / "conf"))
    agent.sock, agent.address = str(tmp_path / "run" / "read.sock"), address
    return agent


def test_both_formats_say_what_status_says(served):
    client = Client(served.sock)
    client.hello()
    number = client.subscribe("probe=net", "option=--interface=lo")[0]
    status, kind, text = get(served.address)
    assert status == 200 and kind.startswith("text/plain; version=0.0.4")
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True,
                              timeout=30, check=False)
        assert done.returncode == 0 and not done.stderr + done.stdout, done
    have = samples(text)
    assert have["sonde_clients"] == 1 and have[f'sonde_probe_users{{instance="{number}",probe="net"}}'] == 1
    assert have[f'sonde_probe_programs{{instance="{number}",probe="net"}}'] > 1
    assert have['sonde_client_lost_total{client="0"}'] == 0 and have["sonde_resident_memory_bytes"] > 1 << 20
    assert len([key for key in have if key.startswith("sonde_lost_total{instance=\"0\"")]) > 5
    runs = 'sonde_probe_sampled_runs_total{instance="0",probe="proc"}'
    end = time.monotonic() + 30
    while not have[runs] and time.monotonic() < end:
        subprocess.run(["/bin/true"], check=True)
        have = samples(get(served.address)[2])
    assert have[runs] and have[runs.replace("runs", "run_seconds")] > 0
    status, kind, text = get(served.address, accept=OPENMETRICS)
    assert status == 200 and kind.startswith("application/openmetrics-text; version=1.0.0")
    assert text.endswith("# EOF\n") and "# TYPE sonde_events counter" in text
    assert have.keys() == samples(text).keys()
    assert get(served.address, "/nothing")[0] == 404 and get(served.address, method="POST")[0] == 405
    out = helpers.sh(helpers.BINARY, "status", "--socket", served.sock).stdout
    assert f"instance {number}: net, 1 users" in out and "runs measured" in out and "ms behind" in out


@pytest.mark.skipif(not shutil.which("prometheus"), reason="the package prometheus is not there")
def test_prometheus_scrapes_it(served, tmp_path):
    (tmp_path / "prometheus.yml").write_text(CONFIG % served.address)
    web = f"127.0.0.1:{free_port()}"
    child = subprocess.Popen(["prometheus", f"--config.file={tmp_path}/prometheus.yml",
                              f"--storage.tsdb.path={tmp_path}/data", f"--web.listen-address={web}"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"http://{web}/api/v1/query?query=sonde_events_total"
        end, found = time.monotonic() + 60, []
        while not found and time.monotonic() < end:
            try:
                with urllib.request.urlopen(url, timeout=5) as reply:
                    found = json.load(reply)["data"]["result"]
            except OSError:
                pass
            if not found:
                time.sleep(0.1)
        assert {one["metric"]["outcome"] for one in found} == {"delivered", "filtered", "sampled", "lost"}
        assert {one["metric"]["probe"] for one in found} == {"proc"}
    finally:
        child.kill()
        child.wait()


def test_a_unix_socket_and_no_other_address(sonde, tmp_path):
    path = str(tmp_path / "metrics.sock")
    sonde("agent", "--socket-dir", str(tmp_path / "run"), "--metrics", path)
    assert os.stat(path).st_mode & 0o777 == 0o600
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect(path)
        s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        text = b"".join(iter(lambda: s.recv(65536), b""))
    assert b"sonde_events_total" in text
    for address in "0.0.0.0:9777", "[::]:9777", "192.0.2.1:9777", "example.org:80", "127.0.0.1", "127.0.0.1:0":
        done = sonde.run("agent", "--check", "--metrics", address)
        assert done.returncode and "expected 127.0.0.1:PORT" in done.stderr, (address, done.stderr)


def test_only_names_of_this_host_are_answered(sonde, tmp_path):
    """A web page whose name was made to resolve to 127.0.0.1 cannot read the numbers."""
    address = f"127.0.0.1:{free_port()}"
    sonde("agent", "--socket-dir", str(tmp_path / "run"), "--metrics", address,
          "--metrics-host", "box, metrics.example")
    port = address.split(":")[1]
    for host, status in ((address, 200), ("localhost", 200), (f"localhost:{port}", 200), (f"[::1]:{port}", 200),
                         ("box", 200), (f"metrics.example:{port}", 200), ("evil.example", 403),
                         (f"evil.example:{port}", 403), ("127.0.0.1.evil.example", 403)):
        c = http.client.HTTPConnection(address, timeout=20)
        c.request("GET", "/metrics", headers={"Host": host})
        assert c.getresponse().status == status, host
