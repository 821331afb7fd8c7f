# SPDX-License-Identifier: GPL-2.0-or-later
"""What users and machines do wrong: one clear sentence, the right exit status, and files that can still be read."""
import os
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

import helpers

USAGE, FAILURE, DENIED = 2, 1, 3


def one_sentence(done, *words):
    """Standard error is one message that says all of @words; lines behind it only show where."""
    lines = done.stderr.rstrip("\n").split("\n")
    for word in words:
        assert word in done.stderr, done.stderr
    assert len(lines) in (1, 3), f"one line, or one with the text and a caret:\n{done.stderr}"
    assert "Traceback" not in done.stderr and "libbpf:" not in done.stderr
    return lines


def caret_under(lines, word):
    """The last two lines are what was typed and a caret under the beginning of @word."""
    typed, caret = lines[-2], lines[-1]
    assert caret.strip() == "^", lines
    assert typed[caret.index("^"):].startswith(word), lines


def test_not_root(sonde):
    # Root's folders may be closed to others, so the binary goes where everybody may read.
    folder = tempfile.mkdtemp(prefix="sd-e2e-")
    try:
        os.chmod(folder, 0o755)
        copy = shutil.copy(helpers.BINARY, folder)
        done = subprocess.run([copy, "monitor"], user=65534, group=65534, extra_groups=[], capture_output=True,
                              text=True, timeout=20, cwd="/", check=False)
    finally:
        shutil.rmtree(folder)
    assert done.returncode == DENIED
    one_sentence(done, "root")


@pytest.mark.parametrize("words,named", [
    (("monitor", "--iface", "sd-nosuch0"), "sd-nosuch0"),
    (("monitor", "--type", "nosuch"), "nosuch"),
    (("monitor", "--netns", "sd-nosuch"), "sd-nosuch"),
    (("monitor", "-o", "nosuch:file"), "nosuch"),
    (("monitor", "--count", "many"), "many"),
    (("monitor", "--pidd", "1"), "--pid"),
    (("nosuch",), "nosuch"),
])
def test_wrong_words_are_named(sonde, words, named):
    done = sonde.run(*words)
    assert done.returncode == USAGE, done.stderr
    one_sentence(done, named)


def test_files_that_cannot_be_read(sonde, tmp_path):
    done = sonde.run("monitor", "-r", str(tmp_path / "none.rec"))
    assert done.returncode == FAILURE
    one_sentence(done, "none.rec", "No such file")
    junk = tmp_path / "junk.bin"
    junk.write_bytes(b"this is no recording at all, whatever its name says\n" * 4)
    done = sonde.run("monitor", "-r", str(junk))
    assert done.returncode == FAILURE
    one_sentence(done, "junk.bin")


def test_output_that_cannot_be_made(sonde, tmp_path):
    done = sonde.run("monitor", "-o", f"pcapng:{tmp_path}/no/such/folder.pcapng")
    assert done.returncode == FAILURE
    one_sentence(done, "folder.pcapng", "No such file")


def test_packet_filter_error_has_a_caret(sonde):
    done = sonde.run("monitor", "tcp", "port", "80", "and", "prot", "443")
    assert done.returncode == USAGE
    caret_under(one_sentence(done, "syntax"), "prot")


def test_event_filter_error_has_a_caret(sonde):
    done = sonde.run("monitor", "--where", "proc.name=nginx and drop.reasn=NO_SOCKET")
    assert done.returncode == USAGE
    caret_under(one_sentence(done, "drop.reasn", "drop.reason"), "drop.reasn")


def udp_drops(ns, address, count=1, port=9):
    ns.python("import socket, time\n"
              "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
              f"for i in range({count}):\n"
              f"    s.sendto(b'x' * 900, ('{address}', {port}))\n"
              "    i % 50 or time.sleep(0.001)\n", timeout=60)


def is_drop_to(port):
    return lambda ev: ev["type"] == "net.drop" and ev.get("conn", {}).get("dport") == port


def test_interface_vanishes_while_attached(sonde, netns):
    link = helpers.Link(netns(), netns())
    running = sonde("monitor", "--json", "--netns", link.a.name, netns=link.a)
    udp_drops(link.a, link.b_ip, port=9001)
    running.wait_for(is_drop_to(9001))
    link.a.run("ip", "link", "del", link.a_dev)
    # It goes on, and an interface that comes up later is seen too.
    again = helpers.Link(link.a, link.b)
    seen = len(running.events)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        udp_drops(link.a, again.b_ip, port=9002)
        fresh = running.events[seen:]
        if any(ev["type"] == "net.trace" and ev.get("iface") == again.a_dev for ev in fresh) and \
                any(is_drop_to(9002)(ev) for ev in fresh):
            break
        time.sleep(0.3)
    else:
        raise AssertionError(f"nothing on {again.a_dev}: {running.events[-5:]}\n{running.stderr}")
    running.finish()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.parametrize("form", ["rec", "pcapng", "json"])
def test_full_disk_leaves_whole_records(sonde, link, small_disk, form):
    path = small_disk / f"out.{form}"
    running = sonde("monitor", "--netns", link.a.name, "-o", f"{form}:{path}", netns=link.a)
    for _ in range(20):
        if running.child.poll() is not None:
            break
        udp_drops(link.a, link.b_ip, count=200)
    running.child.wait(20)
    assert running.stop() == FAILURE, running.stderr
    said = [line for line in running.err_lines if "No space left" in line]
    assert len(said) == 1 and str(path) in said[0], running.stderr
    assert path.stat().st_size > 10000
    if form == "json":
        assert path.read_bytes().endswith(b"}\n")
        return
    done = sonde.run("monitor", "-r", str(path), "--json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"net.') > 10
    if form == "pcapng" and shutil.which("tshark"):
        done = helpers.sh("tshark", "-r", str(path), "-T", "fields", "-e", "frame.number", check=False, timeout=60)
        assert done.returncode == 0 and "cut short" not in done.stderr, done.stderr
        assert len(done.stdout.split()) > 10


def test_standard_output_is_full(sonde, link):
    with open("/dev/full", "w", encoding="utf-8") as full:
        child = subprocess.Popen([helpers.BINARY, "monitor", "--json", "--netns", link.a.name], stdout=full,
                                 stderr=subprocess.PIPE, text=True)
        try:
            assert "ready" in child.stderr.readline()
            udp_drops(link.a, link.b_ip, count=5)
            _, err = child.communicate(timeout=20)
        finally:
            if child.poll() is None:
                child.kill()
    assert child.returncode == FAILURE
    assert err.count("No space left") == 1, err


def test_reader_closes_standard_output(sonde, link):
    """`sonde monitor | head -1`: ends at once, quietly, with the status that says so."""
    child = subprocess.Popen([helpers.BINARY, "monitor", "--json", "--netns", link.a.name], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    try:
        assert "ready" in child.stderr.readline()
        udp_drops(link.a, link.b_ip, count=5)
        assert child.stdout.readline().startswith("{")
        child.stdout.close()
        for _ in range(20):
            if child.poll() is not None:
                break
            udp_drops(link.a, link.b_ip, count=5)
            time.sleep(0.2)
        assert child.wait(10) == 128 + signal.SIGPIPE
        err = child.stderr.read()
    finally:
        if child.poll() is None:
            child.kill()
    assert len(err.strip().split("\n")) <= 1, err
