# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of sysdig against its own reader, and ours against tshark. Samples of other people's are not part of this
repository; where they lie beside it they are read too."""
import glob
import gzip
import importlib.util
import json
import os
import shutil
import struct
import subprocess

import pytest

import helpers
from helpers import BINARY, ROOT

SESSION = os.path.join(ROOT, "tests", "data", "scap", "session.scap")
SAMPLES = [SESSION] + sorted(glob.glob(os.path.join(ROOT, "..", "shared", "samples", "scap", "*.scap")))
ENV = dict(os.environ, TZ="UTC")
EVENTS = {0x204: (1, 0), 0x208: (1, 4), 0x216: (2, 0), 0x217: (2, 4), 0x221: (3, 0), 0x222: (3, 4)}

samples = pytest.mark.parametrize("sample", SAMPLES, ids=os.path.basename)
needs_sysdig = pytest.mark.skipif(not shutil.which("sysdig"), reason="sysdig is not installed")
needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")


def output(*words):
    done = subprocess.run(words, env=ENV, capture_output=True, timeout=60, check=False)
    return done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"), done.returncode


def sonde(*words):
    out, err, status = output(BINARY, "record", "-q", *words)
    assert status == 0, err
    return out


def sysdig(path, *words):
    return output("sysdig", "-r", path, *words)[0]


def lines(text):
    """A raw line feed in a value (JSON of container events) breaks sysdig's line; ours says \\n."""
    return [line.rstrip().removesuffix("\\n") for line in text.split("\n") if line.strip()]


def events(path):
    """(time, tid, type, cpu, parameters) of each event, whatever block it is in."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    at, found = 0, []
    while at < len(data):
        kind, total = struct.unpack_from("<II", data, at)
        if kind in EVENTS:
            version, skip = EVENTS[kind]
            cpu, word = struct.unpack_from("<HI", data, at + 8)
            if skip and word & 1:
                at += total     # for the reader's state: introduces a thread
                continue
            start = at + 10 + skip
            ts, tid, length, number = struct.unpack_from("<QqIH", data, start)
            header = 22 if version == 1 else 26
            rest = data[start + header:start + length]
            found.append((ts, tid, number, cpu, rest if version < 3 else ("large", rest)))
        at += total
    return found


@needs_sysdig
@samples
def test_lines_are_those_of_sysdig(sample):
    assert lines(sonde("-r", sample, "--format", "sysdig")) == lines(sysdig(sample))


@needs_sysdig
@samples
@pytest.mark.parametrize("form", [
    "%evt.num %evt.type %evt.dir %fd.num %fd.type %fd.typechar %fd.name",
    "%evt.num %proc.pid %proc.name %proc.exe %proc.args|%proc.cwd|%proc.ppid %thread.tid %thread.vtid",
    "%evt.num %fd.cip %fd.cport %fd.sip %fd.sport %fd.l4proto",
    "%evt.num %evt.res %evt.rawres %evt.failed %evt.is_io %evt.is_wait %evt.rawtime %evt.cpu",
    "%evt.num %user.name %user.uid %group.gid %proc.cmdline %proc.exeline",
    "%evt.num %fd.directory %fd.filename",
    "%evt.num %evt.count.error", "%evt.num %evt.count.error.file", "%evt.num %evt.count.error.net",
    "%evt.num %evt.count.error.other", "%evt.num %evt.is_open_exec %thread.exectime %thread.totexectime",
    "%evt.num %fdlist.nums %fdlist.names", "%evt.num %fdlist.cips", "%evt.num %fdlist.sports",
    "%evt.num %container.image.repository %container.image.tag", "%evt.num %container.image.id",
    "%evt.num %evt.type %evt.category",
])
def test_forms_are_those_of_sysdig(sample, form):
    # What belongs to no thread has one that sysdig makes up.
    words = "not evt.type=container"
    assert lines(sonde("-r", sample, "--format", form, "--where", words)) == lines(sysdig(sample, "-p", form, words))


@needs_sysdig
@samples
@pytest.mark.parametrize("words", [
    "evt.type=open and evt.dir=<", "evt.failed=true", "fd.name contains etc", "proc.name in (cat, curl, demo)",
    "evt.is_io_read=true and fd.type=file", "fd.sport=53 or fd.cport=53", "evt.arg.flags contains CLOEXEC",
    "proc.aname[1]=bash", "not proc.name exists", "fd.name startswith /etc or fd.filename=passwd",
    "evt.rawres<0", "fd.ip=192.168.1.5", "evt.buffer contains GET",
    "evt.category=IPC", "evt.category=ipc", "fd.sport=http", "fd.port in (domain, http-alt)", "proc.name in ()",
    "not proc.name in ()",
])
def test_words_choose_what_sysdig_chooses(sample, words):
    assert lines(sonde("-r", sample, "--format", "sysdig", "--where", words)) == lines(sysdig(sample, words))


def maker():
    """What wrote session.scap, for captures of one's own."""
    spec = importlib.util.spec_from_file_location("make", os.path.join(ROOT, "tests", "data", "scap", "make.py"))
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    return make


@pytest.fixture(scope="module")
def scheduled(tmp_path_factory):
    """Switches to threads with a name, without one and to none; signals; an event that comes late."""
    make = maker()
    e = make.Events()

    def switch(tid, following):
        e.add(152, [make.i64(following), make.u64(1), make.u64(2), make.u32(3), make.u32(4), make.u32(5)], tid=tid)
    for tid, following in ((make.TID, 0), (0, make.TID), (make.TID, 0), (make.TID, 9999), (9999, 1),
                           (make.TID, 9999)):
        switch(tid, following)
    for signo in range(1, 65):
        e.add(232, [make.i64(make.TID), make.i64(1), bytes([signo])])
    e.ts -= 5000000
    switch(make.TID, 1)
    path = str(tmp_path_factory.mktemp("scheduled") / "x.scap")
    with open(path, "wb") as f:
        f.write(make.tables() + e.out)
    return path


@needs_sysdig
def test_switches_and_signals_are_those_of_sysdig(scheduled):
    assert lines(sonde("-r", scheduled, "--format", "sysdig")) == lines(sysdig(scheduled))
    for words in ("evt.arg.sig=SIGIO", "evt.arg.sig in (SIGIO, SIGCHLD)", "evt.category=scheduler"):
        found = lines(sonde("-r", scheduled, "--format", "sysdig", "--where", words))
        assert found and found == lines(sysdig(scheduled, words)), words


def test_time_since_the_first_event_does_not_wrap(scheduled):
    found = [int(n) for n in sonde("-r", scheduled, "--format", "%evt.reltime").split()]
    assert found == [*range(0, 70000, 1000), 0]


# What rules of Falco ask for, in words of our own: every field and operator of its stable rules.
CONDITIONS = [
    "evt.type in (open, openat, openat2) and evt.is_open_read=true and fd.name startswith /etc/ssh and fd.num>=0",
    "evt.dir=< and evt.is_open_write=true and fd.typechar='f' and fd.directory in (/bin, /usr/bin) and "
    "not container.id=host",
    "fd.name glob '/home/*/.ssh/*' or fd.name pmatch (/root/.aws, /root/.kube)",
    "evt.type in (symlink, symlinkat) and (evt.arg.target in (/etc, /root) or evt.arg.linkpath contains ..)",
    "evt.type in (link, linkat) and evt.arg.oldpath in (/etc/shadow, /etc/sudoers) and evt.arg.newpath exists",
    "proc.pname in (mysqld, postgres) and proc.name in (sh, bash) and not proc.pcmdline startswith 'pg_ctl -D'",
    "proc.aname[2] in (sshd, login) or proc.aname[3]=cron or proc.aname[7] startswith runc or proc.aname=systemd",
    "proc.tty!=0 and proc.is_vpgid_leader=true and proc.vpgid.name=sh and proc.vpgid.exe endswith sh",
    "proc.pexe in (/bin/sh, sh) and proc.pexepath exists and proc.aexepath[2] contains /opt and proc.exe!=''",
    "user.loginuid>=0 and user.loginuid!=-1 and user.uid<1000 and user.name!=root and user.loginname!='<NA>'",
    "thread.cap_effective icontains sys_module or thread.cap_effective contains CAP_SYS_ADMIN",
    "proc.is_exe_upper_layer=true and not proc.is_exe_from_memfd=true and container.privileged=true",
    "proc.exe_ino.ctime_duration_proc_start<5s and proc.exe_ino.mtime>0 and proc.ppid.duration>=10ms and "
    "proc.duration>1s",
    "container.image.repository endswith /busybox or container.image.repository in (docker.io/alpine, "
    "k8s.gcr.io/pause)",
    "k8s.ns.name in (kube-system) and k8s.pod.name startswith web and not container.start_ts=0",
    "evt.type=ptrace and (evt.arg.request contains PTRACE_POKETEXT or evt.arg.request contains PTRACE_ATTACH)",
    "evt.type=socket and evt.arg.domain contains AF_PACKET and not proc.name in ()",
    "fd.l4proto!=tcp and fd.connected=false and fd.name_changed=true and fd.typechar=6",
    "not fd.snet in (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16) and fd.net!=127.0.0.0/8 and "
    "(evt.rawres>=0 or evt.res=EINPROGRESS)",
    "fd.sip.name=example.org or fd.sip in (169.254.169.254) or fd.rport=443 or fd.lport in (22, ssh)",
    "evt.type in (dup, dup2, dup3) and evt.rawres in (0, 1, 2) and fd.type in (ipv4, ipv6) and fd.types[0] in (ipv4)",
    "evt.arg.flags contains O_TRUNC and fd.filename in (.bash_history) and fd.nameraw icontains HISTORY",
    "evt.type in (execve, execveat) and proc.cmdline contains '/dev/tcp' and proc.args intersects (a, b)",
    "proc.name=runc:[1:CHILD] or proc.name = \"runc:[0:PARENT]\" or evt.hostname contains xyz",
    "group.gid=0 and group.name=root and proc.sname exists and proc.cwd startswith /tmp and evt.num>0 "
    "and evt.args exists",
]


@pytest.mark.parametrize("words", CONDITIONS)
def test_what_rules_of_falco_ask_for_is_understood(words):
    sonde("-r", SESSION, "--format", "sysdig", "--where", words)
    sonde("-r", SESSION, "--format", "sysdig", "--where", f"not ({words})")


def test_words_of_falco_have_values():
    form = "%proc.pname|%proc.pexe|%proc.pexepath|%proc.aexe[1]|%proc.aexepath[1]|%proc.acmdline[1]|%fd.types[0]"
    found = lines(sonde("-r", SESSION, "--format", form, "--where", "evt.num=1"))
    assert found == ["init|init|/sbin/init|init|/sbin/init|init|file"]
    words = "proc.is_vpgid_leader=false and proc.is_exe_from_memfd=false and fd.nameraw startswith /srv"
    assert lines(sonde("-r", SESSION, "--format", "%evt.num", "--where", words))


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A capture of writes to /dev/log, one in a microsecond, and to another socket."""
    make = maker()
    e = make.Events()
    for fd, path in ((16, b"/dev/log"), (17, b"/run/other.sock")):
        e.call(18, [make.u32(1), make.u32(2), make.u32(0)], [make.i64(fd)])
        pair = b"\1" + make.u64(7) + make.u64(8) + path + b"\0"
        e.call(22, [make.i64(fd), b"\1" + path + b"\0"], [make.i64(0), pair])
    for i in range(24):
        text = b"<%d>message %d" % (i * 8 + i % 8, i)
        e.call(8, [make.i64(16), make.u32(len(text))], [make.i64(len(text)), text])
    none = [(16, text) for text in (b"no priority", b"<13", b"<x>y", b"<>y", b"")]
    for fd, text in none + [(17, b"<13>elsewhere")]:
        e.call(8, [make.i64(fd), make.u32(len(text))], [make.i64(len(text)), text])
    path = str(tmp_path_factory.mktemp("log") / "log.scap")
    with open(path, "wb") as f:
        f.write(make.tables() + e.out)
    return path


LOG_FORM = ("*%evt.num %evt.is_syslog %syslog.facility %syslog.facility.str %syslog.severity %syslog.severity.str "
            "%syslog.message")


def test_messages_to_the_log_are_read(log):
    found = lines(sonde("-r", log, "--format", LOG_FORM, "--where", "syslog.message exists"))
    assert len(found) == 24
    assert found[0] == "10 true 0 kern 0 emerg message 0"
    assert found[9] == "28 true 9 clock 1 alert message 9"
    assert found[23] == "56 true 23 local7 7 debug message 23"
    for words, n in (("evt.is_syslog=true", 58), ("syslog.severity.str=emerg", 3), ("syslog.facility > 20", 3),
                     ("syslog.facility.str in (cron, ftp)", 2), ("syslog.message endswith 3", 3)):
        assert len(lines(sonde("-r", log, "--format", "%evt.num", "--where", words))) == n, words


@needs_sysdig
def test_messages_to_the_log_are_those_of_sysdig(log):
    """Its lines, that is: its filters let none of them through."""
    assert lines(sonde("-r", log, "--format", LOG_FORM)) == lines(sysdig(log, "-p", LOG_FORM))


MOUNTS = [{"Source": "/srv/a b", "Destination": "/data", "Mode": "z", "RW": True, "Propagation": "rprivate"},
          {"Source": "", "Destination": "/tmp", "Mode": "", "RW": False, "Propagation": ""}]


@pytest.mark.parametrize("mounts", [MOUNTS, MOUNTS[:1], []])
def test_mounts_of_a_container(mounts, tmp_path):
    """Other members of the same names around them are not theirs."""
    make = maker()
    e = make.Events()
    told = {"Labels": {"Source": "x"}, "id": "3ad7b26ded6d", "name": "web", "image": "nginx", "Mounts": mounts,
            "env": ["Mounts={}"], "port_mappings": [{"Source": "y"}]}
    e.add(324, [json.dumps({"container": told}).encode() + b"\0"], large=True)
    e.add(6, [make.i64(0), make.u32(16)])
    path = tmp_path / "mounts.scap"
    path.write_bytes(make.tables() + e.out)
    form = "*%evt.num %container.name %container.mounts"
    ours = lines(sonde("-r", str(path), "--format", form))
    want = ",".join(":".join((m["Source"], m["Destination"], m["Mode"], str(m["RW"]).lower(), m["Propagation"]))
                    for m in mounts)
    assert ours[-1] == f"2 web {want or '<NA>'}"
    if mounts:
        helpers.need("sysdig")
        assert ours[-1] == lines(sysdig(str(path), "-p", form))[-1]


@samples
def test_what_is_near_a_time(sample):
    """In whole ms, both ends included; sysdig says the same."""
    times = [int(t) for t in lines(sonde("-r", sample, "--format", "%evt.rawtime"))]
    middle = times[len(times) // 2]
    compared = []
    for at in (middle, middle + 1000000, middle + 1000001):
        for ms in (0, 1, 3):
            words = f"evt.around[{at}]={ms}"
            found = lines(sonde("-r", sample, "--format", "%evt.rawtime", "--where", words))
            assert [int(t) for t in found] == [t for t in times if abs(t - at) <= ms * 1000000], words
            compared.append((found, words))
    helpers.need("sysdig")
    for found, words in compared:
        assert found == lines(sysdig(sample, "-p", "%evt.rawtime", words)), words


@pytest.mark.parametrize("words, problem", [
    ("evt.around=1", "a time in ns is missing"), ("evt.around[x]=1", "a time in ns is missing"),
    ("evt.around[1]", "needs an operator"), ("evt.around[1] != 1", "!= cannot be used"),
    ("evt.around[1]=x", "expects a number"),
])
def test_what_is_near_a_time_says_what_it_wants(words, problem):
    out, err, status = output(BINARY, "monitor", "-r", SESSION, "--where", words)
    assert status == 2 and problem in err and not out


@samples
def test_what_is_read_is_written(tmp_path, sample):
    once, twice = str(tmp_path / "once.scap"), str(tmp_path / "twice.scap")
    sonde("-r", sample, "-o", f"scap:{once}")
    sonde("-r", once, "-o", f"scap:{twice}")
    assert events(once) == events(sample)
    with open(once, "rb") as a, open(twice, "rb") as b:
        assert a.read() == b.read()


@needs_sysdig
@samples
def test_sysdig_reads_what_we_write(tmp_path, sample):
    path = str(tmp_path / "copy.scap")
    sonde("-r", sample, "-o", f"scap:{path}")
    assert sysdig(path) == sysdig(sample)


@needs_tshark
def test_tshark_reads_what_we_write(tmp_path):
    path = str(tmp_path / "copy.scap")
    sonde("-r", SESSION, "-o", f"scap:{path}")
    out, err, status = output("tshark", "-r", path, "-T", "fields", "-e", "sysdig.event_type")
    assert status == 0, err
    rows = [line.split("\t") for line in out.strip().split("\n")]
    assert [int(row[0]) for row in rows] == [event[2] for event in events(path)]


@needs_sysdig
@samples
@pytest.mark.parametrize("words", ["fd.name contains etc", "evt.type=read and fd.type=file",
                                   "proc.name in (curl, ls)"])
def test_a_filtered_capture_keeps_names(tmp_path, sample, words):
    """What the filter left out is still known where what it kept needs it: processes and open files."""
    path = str(tmp_path / "part.scap")
    sonde("-r", sample, "--where", words, "-o", f"scap:{path}")
    without_number = [line.split(" ", 1)[1] for line in lines(sysdig(sample, words))]
    for text in (sysdig(path), sonde("-r", path, "--format", "sysdig")):
        assert [line.split(" ", 1)[1] for line in lines(text)] == without_number


@needs_sysdig
def test_a_filter_decides_of_the_tables_too(tmp_path):
    whole, part = str(tmp_path / "whole.scap"), str(tmp_path / "part.scap")
    sonde("-r", SESSION, "-o", f"scap:{whole}")
    sonde("-r", SESSION, "--where", "proc.name=ls", "-o", f"scap:{part}")
    assert os.path.getsize(part) < os.path.getsize(whole) * 0.6
    assert [line.split(" ", 1)[1] for line in lines(sysdig(part)) if " ls " in line]


@pytest.mark.parametrize("pack", ["gzip", "zstd"])
def test_compression_is_seen_through(tmp_path, pack):
    if not shutil.which(pack):
        pytest.skip(f"{pack} is not installed")
    path = tmp_path / "packed"
    path.write_bytes(subprocess.run([pack, "-c", SESSION], check=True, capture_output=True).stdout)
    assert sonde("-r", str(path)) == sonde("-r", SESSION)
    path.write_bytes(path.read_bytes()[:-200])
    out, err, status = output(BINARY, "record", "-q", "-r", str(path))
    assert status in (0, 1) and ("ends" in err or "empty" in err) and err.count("\n") == 1, err


def test_a_cut_file_is_read_to_its_last_block(tmp_path):
    path = tmp_path / "cut.scap"
    with open(SESSION, "rb") as f:
        path.write_bytes(f.read()[:-7])
    out, err, status = output(BINARY, "record", "-q", "-r", str(path), "--format", "sysdig")
    assert status == 0 and "warning" in err and "ends inside a block" in err
    assert lines(out) == lines(sonde("-r", SESSION, "--format", "sysdig"))[:-1]


def test_files_are_rotated(tmp_path):
    path = str(tmp_path / "part")
    sonde("-r", SESSION, "-o", f"scap:{path}", "--rotate", "size=3k")
    parts = sorted(glob.glob(path + "*"))
    assert len(parts) > 1
    assert sum((events(p) for p in parts), []) == events(SESSION)
    sonde("-r", SESSION, "-o", f"text:{path}.txt", "--rotate", "size=64,files=3")
    assert sorted(glob.glob(path + "*.txt")) == [f"{path}{i}.txt" for i in range(3)]


def test_concatenated_captures_are_one(tmp_path):
    path = tmp_path / "two.scap"
    with open(SESSION, "rb") as f:
        path.write_bytes(f.read() * 2)
    one = lines(sonde("-r", SESSION, "--format", "%evt.type %proc.name %fd.name"))
    assert lines(sonde("-r", str(path), "--format", "%evt.type %proc.name %fd.name")) == one * 2


