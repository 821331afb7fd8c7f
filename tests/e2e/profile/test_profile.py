# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde profile from end to end: real samples of a program whose functions are known, in every output."""
import collections
import gzip
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import time

import pytest

import helpers

COMPAT = ("compat", "profile-bpfcc")
SOURCE = """
#include <time.h>
volatile unsigned long sink;
__attribute__((noinline)) void burn(int n) { for (int i = 0; i < n; i++) sink += i; sink++; }
__attribute__((noinline)) void hot_often(void) { burn(300000); sink++; }
__attribute__((noinline)) void hot_seldom(void) { burn(100000); sink++; }
int main(int argc, char **argv)
{
	struct timespec t;
	do {
		hot_often();
		hot_seldom();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while (t.tv_sec * 10 + t.tv_nsec / 100000000 < 10);
	return 7;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profile")
    (folder / "hot.c").write_text(SOURCE)
    subprocess.run(["cc", "-O1", "-fno-omit-frame-pointer", "-o", folder / "hot", folder / "hot.c"], check=True)
    return str(folder / "hot")


def native(*words):
    return subprocess.run([helpers.BINARY, "profile", *map(str, words)], capture_output=True, text=True,
                          timeout=helpers.TIMEOUT_S, check=False)


def profile(*words, **options):
    return subprocess.run([helpers.BINARY, *COMPAT, *map(str, words)], capture_output=True, text=True,
                          timeout=helpers.READY_S, check=False, **options)


@pytest.fixture(scope="module")
def run(program, tmp_path_factory):
    """One run of the program with all outputs; the folder with them."""
    folder = tmp_path_factory.mktemp("outputs")
    names = ["x.folded", "x.svg", "x.pb.gz", "x.speedscope.json", "x.perf", "x.rec"]
    done = profile("-F", "499", *[w for n in names for w in ("-o", folder / n)], "--", program)
    assert done.returncode == 7, done.stderr
    return folder


def folded(text):
    lines = [line.rsplit(" ", 1) for line in text.splitlines()]
    assert len({stack for stack, _ in lines}) == len(lines), "equal lines are merged"
    return {stack: int(count) for stack, count in lines}


def test_functions_and_their_shares(run):
    stacks = folded((run / "x.folded").read_text())
    total = sum(stacks.values())
    often = sum(n for stack, n in stacks.items() if ";hot_often;" in stack + ";")
    seldom = sum(n for stack, n in stacks.items() if ";hot_seldom;" in stack + ";")
    whole = sum(n for stack, n in stacks.items() if ";main;" in stack)  # the others came before the unwind tables
    assert total > 100 and all(stack.startswith("hot;") for stack in stacks if ";burn" in stack)
    assert whole > 100 and often + seldom > 0.9 * whole
    assert 0.60 < often / (often + seldom) < 0.90


def collapse(text):
    """perf-script text to folded stacks, as flame graph programs do it: a reader of its own."""
    stacks, comm, frames = collections.Counter(), None, []
    for line in text.splitlines():
        head = re.match(r"(\S.*?) \d+/\d+ \[\d+\] [\d.]+: \d+ \S+:$", line)
        frame = re.match(r"\s+[0-9a-f]+ (.*) \((.*)\)$", line)
        if head:
            comm, frames = head[1], []
        elif frame:
            frames.append(re.sub(r"\+0x[0-9a-f]+$", "", frame[1]).replace(";", ":"))
        else:
            assert line == "", line
            stacks[";".join([comm.replace(";", ":"), *reversed(frames)])] += 1
    return stacks


def test_perf_text_folds_to_the_folded_output(run):
    assert collapse((run / "x.perf").read_text()) == folded((run / "x.folded").read_text())


def test_a_recording_gives_the_same(run):
    def counted(text):
        return {s: n for s, n in folded(text).items() if s.startswith("hot;")}
    done = profile("-r", run / "x.rec", "-f", "--where", "thread.name=hot")
    assert done.returncode == 0 and counted(done.stdout) == counted((run / "x.folded").read_text())


IMPOSTOR = """
int hot_impostor(void) { return 1; }
int main(void) { return hot_impostor(); }
"""


def test_a_recording_needs_no_file_of_the_host(program, tmp_path):
    """The replay prints the live run's bytes although another program has the file's name, also below --symfs."""
    binary, names = tmp_path / "hot", ("folded", "perf", "speedscope.json")
    shutil.copy(program, binary)
    live = native("-F", "499", *[w for n in names for w in ("-o", tmp_path / f"live.{n}")], "-w", tmp_path / "x.rec",
                  "--", binary)
    assert live.returncode == 7, live.stderr
    binary.unlink()
    (tmp_path / "impostor.c").write_text(IMPOSTOR)
    subprocess.run(["cc", "-O0", "-o", binary, tmp_path / "impostor.c"], check=True)
    for more in (), ("--symfs", "/"):
        done = native("-r", tmp_path / "x.rec", *[w for n in names for w in ("-o", tmp_path / f"again.{n}")], *more)
        assert done.returncode == 0, done.stderr
        for name in names:
            assert (tmp_path / f"again.{name}").read_bytes() == (tmp_path / f"live.{name}").read_bytes(), (name, more)
    assert ";hot_often;" in (tmp_path / "again.folded").read_text()


def test_the_names_of_json_lines_are_recorded_too(program, tmp_path):
    binary = tmp_path / "hot"
    shutil.copy(program, binary)
    live = subprocess.run([helpers.BINARY, "--agent=no", "record", "--set", "cpu", "-F", "199", "--json", "-w",
                           tmp_path / "x.rec", "--", binary], capture_output=True, text=True, timeout=helpers.READY_S,
                          check=False)
    binary.unlink()
    again = subprocess.run([helpers.BINARY, "record", "-r", tmp_path / "x.rec", "--json"], capture_output=True,
                           text=True, timeout=helpers.READY_S, check=True)

    def samples(text):
        return {ev["ts_ns"]: ev["ustack"] for ev in map(json.loads, text.splitlines()) if ev["type"] == "cpu.sample"}
    assert samples(again.stdout) == samples(live.stdout)
    assert any("hot_often" in frame for stack in samples(again.stdout).values() for frame in stack)


def test_a_recording_of_a_command_holds_its_processes_only(program, tmp_path):
    other = subprocess.Popen([program])
    command = "ls -R /usr/share/doc | sort | cksum; perl -e '$x = \"1\" x (100 << 20)'; true"
    done = profile("-F", "999", "-o", tmp_path / "x.rec", "--", "sh", "-c", command)
    other.kill()
    other.wait()
    assert done.returncode == 0, done.stderr
    read = subprocess.run([helpers.BINARY, "monitor", "-r", tmp_path / "x.rec", "--json", "--where",
                           "evt.type=cpu.sample"],
                          capture_output=True, text=True, check=True)
    samples = [ev for ev in map(json.loads, read.stdout.splitlines()) if ev["type"] == "cpu.sample"]
    read = subprocess.run([helpers.BINARY, "monitor", "-r", tmp_path / "x.rec", "--json", "--where",
                           "evt.type in (proc.task, proc.exec, proc.exit, proc.mmap)"],
                          capture_output=True, text=True, check=True)
    around = [ev for ev in map(json.loads, read.stdout.splitlines()) if ev["type"].startswith("proc.")]
    mine = {ev["proc"]["pid"] for ev in around if ev["type"] == "proc.exec"}
    assert mine and {ev["proc"]["pid"] for ev in around if ev["type"] == "proc.mmap"} <= mine
    assert other.pid not in {ev["proc"]["pid"] for ev in around} and os.getpid() not in mine
    names = {ev["name"] for ev in samples}
    assert {"ls", "sort", "perl"} <= names <= {"sonde", "sh", "ls", "sort", "cksum", "perl"}
    assert any(f.startswith("do_exit") for ev in samples for f in ev.get("kstack", ())), "also while they end"


def test_speedscope_follows_its_schema(run):
    data = json.loads((run / "x.speedscope.json").read_text())
    assert data["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    n_frames = len(data["shared"]["frames"])
    assert all(isinstance(f["name"], str) and f["name"] for f in data["shared"]["frames"])
    for p in data["profiles"]:
        assert set(p) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert p["type"] == "sampled" and p["unit"] == "none" and len(p["samples"]) == len(p["weights"])
        assert p["startValue"] == 0 and p["endValue"] == sum(p["weights"])
        assert all(0 <= i < n_frames for stack in p["samples"] for i in stack)
    total = sum(folded((run / "x.folded").read_text()).values())
    assert sum(p["endValue"] for p in data["profiles"]) == total


def test_go_reads_the_pprof_file(run, tmp_path):
    if not shutil.which("go"):
        pytest.skip("needs go (Debian: golang-go)")
    env = {**os.environ, "HOME": str(tmp_path), "PPROF_TMPDIR": str(tmp_path)}
    for mode in ("-top", "-raw", "-peek=hot_often"):
        done = subprocess.run(["go", "tool", "pprof", mode, run / "x.pb.gz"], env=env, capture_output=True, text=True,
                              timeout=60, check=False)
        assert done.returncode == 0 and "hot_often" in done.stdout, done.stderr
    assert gzip.decompress((run / "x.pb.gz").read_bytes())


def test_the_flame_graph_stands_alone(run):
    import xml.etree.ElementTree as tree
    text = (run / "x.svg").read_text()
    root = tree.fromstring(text)
    names = [g.get("data-n") for g in root.iter("{http://www.w3.org/2000/svg}g") if g.get("data-n")]
    assert {"all", "hot", "hot_often", "burn"} <= set(names)
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"], "nothing is loaded"


def test_bcc_text_and_duration(program):
    child = subprocess.Popen([program])
    begin = time.monotonic()
    done = profile("-F", "199", "-p", child.pid, "-U", "1")
    took = time.monotonic() - begin
    child.kill()
    child.wait()
    assert done.returncode == 0 and took >= 1
    head, *stacks = done.stdout.split("\n\n")
    assert head == f"Sampling at 199 Hertz of PID [{child.pid}] by user stack for 1 secs."
    assert stacks[-1] == "" and len(stacks) > 1
    assert all(re.search(rf"    -                hot \({child.pid}\)\n        \d+$", s) for s in stacks[:-1])
    assert "[kernel]" not in done.stdout


def test_the_end_by_a_signal_is_clean(program):
    child = subprocess.Popen([helpers.BINARY, *COMPAT, "-f"], stdout=subprocess.PIPE, text=True)
    time.sleep(2)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=helpers.READY_S)
    assert child.returncode == 130
    folded(out)


def test_diff_takes_two_recordings():
    done = native("diff", "one.rec")
    assert done.returncode == 2 and "two recordings" in done.stderr


@pytest.mark.parametrize("words, sentence", [
    (["-p", "1", "-L", "1"], "exclude each other"),
    (["-U", "-K"], "exclude each other"),
    (["-F", "9", "-c", "9"], "exclude each other"),
    (["fast"], "not a duration"),
    (["0"], "not a duration"),
    (["1", "2"], "too many"),
    (["-o", "x.png"], "unknown output format"),
    (["-F", "x"], "--frequency"),
    (["-f", "-o", "x.svg"], "-f and -o exclude each other: -o folded:FILE"),
    (["-f", "--json"], "-f and --json exclude each other"),
    (["-o", "hubble:x"], "format hubble is for flows, not for stacks"),
    (["-o", "x.pcapng"], "format pcapng is for packets"),
])
def test_mistakes_are_one_sentence(words, sentence):
    done = profile(*words)
    assert done.returncode == 2 and done.stdout == ""
    assert sentence in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_top_without_a_terminal():
    done = profile("--top", "1")
    assert done.returncode == 1 and "needs a terminal" in done.stderr


def test_a_command_that_cannot_run():
    done = profile("-f", "--", "/nonexistent/program")
    assert done.returncode == 1 and "cannot run /nonexistent/program" in done.stderr


def test_a_full_disk_and_a_closed_pipe(run):
    done = profile("-r", run / "x.rec", "-o", "folded:/dev/full")
    assert done.returncode == 1 and "/dev/full" in done.stderr
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([helpers.BINARY, "profile", "-r", run / "x.rec"], stdout=writer, stderr=subprocess.PIPE,
                          timeout=helpers.READY_S, check=False)
    os.close(writer)
    assert done.returncode == 128 + signal.SIGPIPE


def test_two_recordings_compared(run, tmp_path):
    done = native("diff", run / "x.rec", run / "x.rec")
    rows = [line.rsplit(" ", 2) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and rows and all(old == new for _, old, new in rows)
    done = native("diff", run / "x.rec", run / "x.rec", "-o", tmp_path / "d.svg")
    assert done.returncode == 0, done.stderr
    assert "red grew, blue shrank" in (tmp_path / "d.svg").read_text()


def test_stats_add_up(run):
    done = profile("-r", run / "x.rec", "-o", "null", "--stats", "--where", "proc.name=hot")
    row = re.search(r"^hot +\d+ +(\d+) ", done.stderr, re.M)
    mine = sum(n for s, n in folded((run / "x.folded").read_text()).items() if s.startswith("hot;"))
    assert row and int(row[1]) == mine, done.stderr


def at_a_terminal(*words):
    """stderr of `sonde profile` when it is a terminal."""
    mine, theirs = os.openpty()
    done = subprocess.run([helpers.BINARY, *COMPAT, *map(str, words)], stderr=theirs, check=False,
                          timeout=helpers.READY_S)
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(mine, 4096):
            text += chunk
    except OSError:     # the other end is closed
        pass
    os.close(mine)
    assert done.returncode == 0, text
    return text.decode()


def test_the_end_of_a_file_is_said(run, tmp_path):
    words = ["-r", run / "x.rec", "-o", tmp_path / "x.svg", "-o", tmp_path / "x.pb.gz"]
    samples = sum(folded((run / "x.folded").read_text()).values())
    end = rf"{samples:,} samples, [\d,]+ process(es)?, \d+\.\d % \[unknown\]\n"
    said = profile("-v", *words).stderr
    assert re.search(rf"^{tmp_path}/x\.svg: {end}{tmp_path}/x\.pb\.gz: {end}", said, re.M), said
    assert re.sub(r"WARNING: .* sampling periods .*\n", "", profile(*words).stderr) == "", "only a person reads it"
    assert re.search(end.replace("\\n", "\\r\\n"), at_a_terminal(*words))
    assert "samples, " not in at_a_terminal("-q", *words)
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as busy:     # an idle host has no samples
        live = at_a_terminal("-F", "199", "-o", tmp_path / "y.svg", "3")
        busy.kill()
    assert re.search(r"\r[123] s of 3, [\d,]+ samples?\x1b\[K.*\r\x1b\[K\S+y\.svg: ", live, re.S), live


def test_a_file_without_unwind_table_is_named(sonde, tmp_path):
    """Its .eh_frame claims 200 MB, more than is read of a file."""
    source, path = tmp_path / "spin.c", tmp_path / "huge"
    source.write_text("int main(void) { for (volatile long i = 0;; i++); }")
    subprocess.run(["cc", "-O0", "-o", path, source], check=True)
    data = bytearray(path.read_bytes())
    sections, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    text, = struct.unpack_from("<Q", data, sections + names * size + 24)
    for at in range(sections, sections + count * size, size):
        if data[text + struct.unpack_from("<I", data, at)[0]:].startswith(b".eh_frame\0"):
            struct.pack_into("<Q", data, at + 32, 200 << 20)
    path.write_bytes(data)
    os.truncate(path, 256 << 20)
    with subprocess.Popen([path]) as child:
        one = sonde("profile", "--agent=no", "-v", "-F", "199", "-o", "null", "-p", str(child.pid), wait=False)
        helpers.wait_until(lambda: " is walked by frame pointers: " in one.stderr)
        one.stop()
        child.kill()
    assert f": {path} is walked by frame pointers: its unwind information exceeds 128 MB" in one.stderr


def test_stacks_without_room_are_told(sonde):
    """An output that has no memory for a stack leaves its samples out: never without a word."""
    done = sonde.run(*COMPAT, "-F", "999", "-f", "--hash-storage-size", "1", "--", "python3", "-c",
                     "import re\nfor i in range(20000): re.compile('a%d' % (i % 50)); sorted(range(i % 99))")
    assert done.returncode == 0
    shown = sum(int(line.rsplit(" ", 1)[1]) for line in done.stdout.splitlines() if line)
    found = re.search(r"hash table full.*\nWARNING: (\d+) samples have stacks that found no room", done.stderr)
    assert found and int(found.group(1)) > 0 and shown > 0, done.stderr
