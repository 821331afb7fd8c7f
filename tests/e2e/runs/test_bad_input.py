# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad input gets one clear sentence that names the thing, the right exit status, and nothing is lost."""
import os
import shutil
import signal
import subprocess
import tempfile

import helpers
import pytest
from helpers import BINARY, Sonde, sh


def sonde(*words, **options):
    return subprocess.run([BINARY, *words], text=True, capture_output=True, timeout=20, stdin=subprocess.DEVNULL,
                          **options)


def only_line(text):
    lines = text.strip().splitlines()
    assert len(lines) == 1, text
    return lines[0]


def test_unknown_command():
    result = sonde("monitr")
    assert result.returncode == 2
    assert "monitr" in only_line(result.stderr)


def test_unknown_option_suggests_the_near_one():
    result = sonde("monitor", "--intreface", "lo")
    assert result.returncode == 2
    assert "--intreface" in only_line(result.stderr) and "--interface" in result.stderr


@pytest.mark.parametrize("words", [["monitor", "--duration", "1s"], ["syscalls", "--", "ls"],
                                   ["compat", "strace", "ls"]])
def test_not_root(words):
    # Root's folders may be closed to others, so the binary goes where everybody may read.
    with tempfile.TemporaryDirectory(prefix="sd-e2e-") as folder:
        os.chmod(folder, 0o755)
        copy = shutil.copy(BINARY, folder)
        result = subprocess.run([copy, *words], text=True, capture_output=True, timeout=20, cwd="/", user=65534,
                                group=65534, extra_groups=[], check=False)
    assert result.returncode == 3
    line = only_line(result.stderr)
    assert "root" in line and "CAP_BPF" in line
    assert result.stdout == ""


def test_unknown_interface():
    result = sonde("monitor", "-i", "nosuch0", "--duration", "1s")
    assert result.returncode == 2
    assert "nosuch0" in only_line(result.stderr)


def test_any_is_no_interface():
    result = sonde("monitor", "-i", "any", "--duration", "1s")
    assert result.returncode == 2
    assert only_line(result.stderr) == \
        "sonde: probe net: --interface any: interface not found (without --interface all are watched)"


@pytest.mark.parametrize("words, says", [(["--netns", "all"], "packets and drops of all network namespaces"),
                                         (["--netns", "all", "--where", "evt.type=drop"],
                                          "drops of all network namespaces")])
def test_all_is_no_name_of_a_namespace(words, says):
    one = Sonde("monitor", "--agent=no", *words, "-o", "null")
    one.stop()
    assert f"sonde: ready, watching {says}; ^C stops" in one.stderr


def test_unknown_event_type():
    result = sonde("monitor", "--where", "evt.type=dorp")
    assert result.returncode == 2
    assert "dorp" in result.stderr and "did you mean drop?" in result.stderr


def test_unknown_netns():
    result = sonde("monitor", "--netns", "nosuch", "--duration", "1s")
    assert result.returncode == 2
    assert "nosuch" in only_line(result.stderr)


@pytest.mark.parametrize("words, under", [
    (["tcp", "prot", "80"], "prot"),
    (["host", "1.2.3.4.5"], "1.2.3.4.5"),
])
def test_packet_filter_error_has_a_caret_under_the_word(words, under):
    result = sonde("monitor", *words)
    assert result.returncode == 2
    lines = result.stderr.rstrip("\n").splitlines()
    text, caret = lines[-2], lines[-1]
    assert caret.strip().startswith("^")
    assert text[caret.index("^"):].startswith(under), result.stderr


@pytest.mark.parametrize("expr, under", [
    ("proc.nmae=nginx", "proc.nmae"),
    ("proc.pid = ", None),
    ("evt.type in (a, b", None),
])
def test_event_filter_error_has_a_caret_under_the_word(expr, under):
    result = sonde("monitor", "--where", expr)
    assert result.returncode == 2
    lines = result.stderr.rstrip("\n").splitlines()
    assert "^" in lines[-1], result.stderr
    if under:
        assert lines[-2][lines[-1].index("^"):].startswith(under), result.stderr


def test_interface_vanishes_while_attached(netns):
    a, b = netns(), netns()
    link = helpers.Link(a, b)
    run = Sonde("monitor", "--json", netns=a)
    a.run("ping", "-q", "-c", "1", link.b_ip)
    run.wait_for(lambda ev: ev["type"] == "net.trace" and ev.get("iface") == link.a_dev)
    a.run("ip", "link", "del", link.a_dev)
    # interfaces are followed in order: packets of a later one show that the end of the first was seen
    later = helpers.Link(a, b)
    a.popen("ping", "-q", "-i", "0.05", later.b_ip)
    run.wait_for(lambda ev: ev["type"] == "net.trace" and ev.get("iface") == later.a_dev)
    a.run("ping", "-q", "-c", "1", "127.0.0.1")
    run.wait_for(lambda ev: ev["type"] == "net.trace" and ev.get("iface") == "lo")
    run.finish()


@pytest.fixture
def small_disk(disk_of):
    # A quarter of what the test writes; a recording begins with the processes of the host, which may be thousands.
    return disk_of("1m")


@pytest.mark.parametrize("kind", ["pcapng", "rec", "json"])
def test_full_disk_leaves_a_readable_file(netns, small_disk, kind):
    ns = netns()
    path = small_disk / f"out.{kind}"
    run = Sonde("monitor", "-o", f"{kind}:{path}", netns=ns)
    ns.run("ping", "-q", "-f", "-c", "4000", "127.0.0.1", timeout=30)
    status = run.child.wait(20)
    run.stop()
    assert status == 1, run.stderr
    assert str(path) in run.stderr and "No space left" in run.stderr
    if kind == "json":
        text = path.read_text()
        assert text.endswith("}\n") and len(text.splitlines()) > 50
        return
    result = sonde("monitor", "--json", "-r", str(path))
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("\n") > 50


def test_dev_full():
    with subprocess.Popen(["ping", "-q", "-i", "0.2", "127.0.0.1"], stdout=subprocess.DEVNULL) as ping:
        done = sonde("monitor", "-o", "json:/dev/full", "--duration", "5s")     # it may fail before it is ready
        ping.kill()
    assert done.returncode == 1 and "/dev/full" in done.stderr, done.stderr


def test_closed_stdout_from_the_start():
    script = f"exec {BINARY} monitor --duration 2s >&-"
    result = subprocess.run(["sh", "-c", script], text=True, capture_output=True, timeout=10)
    assert result.returncode == 1
    assert "standard output" in only_line(result.stderr)


def test_reader_of_stdout_goes_away():
    child = subprocess.Popen([BINARY, "monitor", "--json", "icmp and host 127.77.0.1"],    # others fill the pipe
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while "ready" not in child.stderr.readline():
        assert child.poll() is None
    child.stdout.close()
    sh("ping", "-q", "-c", "3", "-i", "0.2", "127.77.0.1")
    status = child.wait(10)
    text = child.stderr.read()
    child.stderr.close()
    assert status == 128 + signal.SIGPIPE, text
    assert not text


def test_file_that_is_not_there_or_not_known(tmp_path):
    missing = sonde("monitor", "-r", str(tmp_path / "missing.pcapng"))
    assert missing.returncode == 1 and "missing.pcapng" in only_line(missing.stderr)
    junk = tmp_path / "junk"
    junk.write_bytes(os.urandom(512))
    unknown = sonde("monitor", "-r", str(junk))
    assert unknown.returncode == 1 and "junk" in only_line(unknown.stderr)


def test_binary_output_refuses_a_terminal():
    import pty
    leader, follower = pty.openpty()
    result = subprocess.run([BINARY, "monitor", "-o", "pcapng", "--duration", "1s"], stdout=follower,
                            stderr=subprocess.PIPE, text=True, timeout=10)
    os.close(leader)
    os.close(follower)
    assert result.returncode == 2
    assert "pcapng" in only_line(result.stderr)
