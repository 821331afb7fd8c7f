# SPDX-License-Identifier: GPL-2.0-or-later
"""What a hand types that knows tcpdump, strace and perf gets one line that says what to type here."""
import pytest

HINTS = [
    ("monitor -c 5", "unknown option -c; -n COUNT stops after COUNT events"),
    ("capture -c5 -w x.pcapng", "unknown option -c; -n COUNT stops after COUNT events"),
    ("monitor -nn", "unknown option -nn; --numeric prints numbers instead of names"),
    ("flows -nnvv", "unknown option -nnvv; --numeric prints numbers instead of names"),
    ("monitor -tttt", "unknown option -t; --time MODE sets the time column: none, epoch, delta, rfc3339"),
    ("monitor -X", "unknown option -X; --data hex-ascii shows the bytes of packets"),
    ("capture -C 100 -w x", "unknown option -C; --rotate size=100M,files=10 begins new files"),
    ("syscalls -e trace=openat", "unknown option -e; syscall.name=openat selects calls; sonde compat strace takes"),
    ("syscalls -f -- ls", "unknown option -f; descendants of a command behind -- are followed anyway"),
    ("profile -ag", "unknown option -a; all processes are sampled unless -p or a command selects some"),
    ("strace ls", "no command strace; sonde compat strace takes its options"),
    ("tcpdump -ni any", "no command tcpdump; sonde compat tcpdump takes its options"),
    ("perf record", "no command perf; sonde compat perf takes its options"),
    ("syscalls openat", "openat is a system call, not a filter: syscall.name=openat selects it"),
    ("syscalls openat close", "openat, close are system calls, not a filter: 'syscall.name in (openat, close)'"),
    ("syscalls ls -n 1", 'filter (a command goes behind --): no event has a field "ls"'),
    ("rpc rpc.mehtod=x", 'filter: no event has a field "rpc.mehtod"; did you mean rpc.method?'),
    ("profile -F 0", "--frequency 0: expected samples per second, at least 1"),
    ("record -F 0", "--frequency 0: expected samples per second, at least 1"),
    ("compat profile-bpfcc -F 0", "--frequency 0: expected samples per second, at least 1"),
    ("monitor --netns nosuch", "--netns nosuch: network namespace not found (no /run/netns/nosuch)"),
    ("syscalls --since 10m", "--since and --until select from a recording: -r names it"),
    ("rpc --follow", "--follow waits for records of a store: -r DIR names it"),
    ("syscalls -c -r tests/data/rec/all.rec", "-c counts in the kernel: sonde top syscalls -r tests/data/"),
    ("top proceses", "no view proceses; did you mean processes?"),
    ("top zzz", "no view zzz; the views are host, processes, "),
    ("doctor foo", "doctor takes no arguments: foo"),
    ("probes foo", "probes takes no arguments: foo"),
    ("control", "control needs a verb: status, "),
    ("clickhouse", "clickhouse: expected ddl, init, upgrade or sides"),
    ("trace zzz", 'not the id of a call; as a filter: no event has a field "zzz"'),
    ("top --since 10m", "--since and --until select from a recording: -r names it"),
]


@pytest.mark.parametrize("line, says", HINTS, ids=[line for line, _ in HINTS])
def test_a_habit_gets_a_hint(sonde, line, says):
    done = sonde(*line.split())
    said = done.stderr.splitlines()
    assert done.returncode == 2 and not done.stdout, done
    assert said[0].startswith(f"sonde: {says}"), said
    assert "--where" not in said[0] and said[0].count("lists the options") <= 1 and "Invalid argument" not in said[0]


@pytest.mark.parametrize("option", ["--zzzzzz", "-z"])
def test_the_list_of_options_is_named_once(sonde, option):
    done = sonde("monitor", option)
    assert (done.returncode, done.stderr) == (
        2, f"sonde: unknown option {option} (sonde monitor --help lists the options)\n")


def test_status_says_how_an_agent_is_started(sonde, tmp_path):
    path = tmp_path / "none.sock"
    for words in (("status",), ("control", "status")):
        done = sonde(*words, "--socket", str(path))
        assert (done.returncode, done.stderr) == (
            1, f"sonde: no agent listens at {path} (sonde agent, or systemctl start sonde-agent, starts one)\n")
