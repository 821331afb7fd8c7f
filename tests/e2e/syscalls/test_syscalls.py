# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde syscalls against a program that says what it calls, and against strace in the same run."""
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

import helpers

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs/driver.c")
LINE = re.compile(r"^(?:\S+ )?(\d+) +(\w+)\((.*)\) += (.*?)(?: <[\d.]+>)?$")


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    binary = str(tmp_path_factory.mktemp("driver") / "driver")
    subprocess.run(["cc", "-O1", "-Wall", "-o", binary, SOURCE], check=True)
    return binary


def expected_result(ret, code):
    if ret != -1 or not code:
        return str(ret)
    name = "EOPNOTSUPP" if code == errno.EOPNOTSUPP else errno.errorcode[code]
    return f"-1 {name} ({os.strerror(code)})"


def expected_calls(path):
    """(name, arguments, result as strace prints it) of every call that the driver made."""
    out = []
    with open(path, encoding="latin-1") as f:
        for line in f:
            text, ret, code = line.rstrip("\n").rsplit("\t", 2)
            name, args = text.split("(", 1)
            out.append((name, args[:-1], expected_result(int(ret), int(code))))
    return out


def parse(text):
    """(name, arguments, result) of every line that is a whole call."""
    return [(m[2], m[3], m[4]) for m in map(LINE.match, text.splitlines()) if m]


def as_number(text):
    return int(text, 0) if re.fullmatch(r"-?(0x)?[0-9a-f]+", text) else None


def same(want, got):
    """The result of calls that return addresses and modes is written in another base."""
    if want[:2] != got[:2]:
        return False
    if want[2] == got[2] or got[2].startswith(want[2] + " ("):     # what stands behind it the program does not say
        return True
    plain = re.sub(r" \(.*\)$", "", got[2])    # without the names of a number
    numbers = as_number(want[2]), as_number(plain) if not re.fullmatch(r"0[0-7]+", plain) else int(plain, 8)
    return None not in numbers and numbers[0] % 2**64 == numbers[1] % 2**64


def missing(want, got):
    """Those of @want that are not in @got, in order."""
    out, at = [], 0
    for call in want:
        found = next((i for i in range(at, len(got)) if same(call, got[i])), None)
        if found is None:
            near = [g for g in got[at:] if g[0] == call[0]][:2]
            out.append((call, near))
        else:
            at = found + 1
    return out


def trace(*words, **kwargs):
    out = () if "-o" in words[:words.index("--")] else ("-o", "text")
    line = [helpers.BINARY, "syscalls", "--format", "strace", "--agent=no", "-v", "-s", "64", "--time", "none", *out,
            *words]
    return subprocess.run(line, capture_output=True, check=False, timeout=60, **kwargs)


def test_arguments_are_what_the_program_passed(driver, tmp_path):
    said = tmp_path / "said"
    done = trace("--", driver, str(said))
    assert done.returncode == 0, done.stderr
    want, got = expected_calls(said), parse(done.stdout.decode("latin-1"))
    assert len({name for name, _, _ in want}) >= 220
    assert not missing(want, got)
    assert b"lost 0" in done.stderr


def test_arguments_are_as_they_were_given(tmp_path):
    """Not as the kernel, or the other task on that stack, left them."""
    program = str(tmp_path / "given")
    subprocess.run(["cc", "-O1", "-Wall", "-o", program, SOURCE.replace("driver", "given")], check=True)
    out = tmp_path / "lines"
    done = trace("--where", "syscall.name in (clone3, pselect6, ppoll, select)", "-o", f"text:{out}", "-o", "json",
                 "--", program)
    assert done.returncode == 0, done.stderr
    rows = [r for r in map(json.loads, done.stdout.decode().splitlines()) if r.get("name") == "clone3"]
    for flags in ("CLONE_VM|CLONE_VFORK|CLONE_PARENT_SETTID", "CLONE_VFORK|CLONE_PARENT_SETTID"):
        both = [r for r in rows if r["args"].startswith("{flags=" + flags + ",")]
        given = {re.sub(r" => {.*?}", "", r["args"]) for r in both}
        assert len(both) == 2 and len(given) == 1 and sum(r["ret"] == 0 for r in both) == 1, rows
    lines = out.read_text("utf-8")
    got = parse(lines)
    assert sum(name == "clone3" for name, _, _ in got) == 2     # strace's lines have no return in the child
    waits = {name: args for name, args, _ in got if name != "clone3"}
    assert re.match(r"\d+, \[\d \d\], NULL, NULL, {tv_sec=8, tv_nsec=0}, NULL", waits["pselect6"])
    assert "1, {tv_sec=0, tv_nsec=1000000}, NULL" in waits["ppoll"]
    # and what the kernel left there, as strace shows it
    assert re.search(r"pselect6\(.* = 1 \(in \[\d\], left {tv_sec=7, tv_nsec=\d+}\) <", lines, re.M), lines
    if "select" in waits:
        assert re.match(r"\d+, \[\d \d\], NULL, NULL, {tv_sec=7, tv_usec=0}", waits["select"])
        assert re.search(r"\bselect\(.* = 1 \(in \[\d\], left {tv_sec=6, tv_usec=\d+}\) <", lines, re.M), lines


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_strace_says_the_same(driver, tmp_path):
    """Both watch the same run; of strace's spellings only those that mean the same are made equal."""
    said, theirs = tmp_path / "said", tmp_path / "strace"
    done = trace("--", "strace", "-f", "-s", "64", "-o", str(theirs), driver, str(said))
    assert done.returncode == 0, done.stderr
    ours = parse(done.stdout.decode("latin-1"))
    with open(theirs, encoding="latin-1") as f:
        strace = parse(f.read())
    names = {name for name, _, _ in expected_calls(said)}
    agreed, at = set(), 0
    for call in strace:
        found = next((i for i in range(at, len(ours)) if same(call, ours[i])), None)
        if found is not None and call[0] in names:
            agreed.add(call[0])
            at = found + 1
    assert len(agreed) >= 100, sorted(names - agreed)


def strace_lines(text, pid):
    """The program's calls between its marks as strace writes them, without padding, times and signals."""
    mark, out = "close(-77) = -1 EBADF (Bad file descriptor)", []
    for found in re.finditer(rf"^{pid} +(\w+\(.*)$", text, re.M):
        line = re.sub(r" <[\d.]+>$", "", re.sub(r"\) {2,}= ", ") = ", found[1]))
        # strace 6.13 has one number where that is all
        line = re.sub(r"data=\{u32=(\d+), u64=\1\}", lambda m: f"data={int(m[1]):#x}", line)
        out.append(line)
    return out[out.index(mark):]


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
@pytest.mark.parametrize("name", ["answers", "narrow"])
def test_lines_are_those_of_strace(tmp_path, name):
    """Answers behind results, calls that a signal broke off, several messages, and those of 32-bit programs: each
    line of the program, from one mark to the other, while both watch it.
    """
    if name == "narrow" and os.uname().machine != "x86_64":
        pytest.skip("32-bit calls of x86_64")
    program, theirs = tmp_path / name, tmp_path / "strace"
    subprocess.run(["cc", "-O1", "-Wall", "-o", program, SOURCE.replace("driver", name)], check=True)
    if subprocess.run([program], check=False).returncode == 77:
        pytest.skip("the kernel runs no 32-bit programs")
    done = trace("--where", "proc.name!=strace", "--", "strace", "-v", "-s", "64", "-f", "-o", str(theirs),
                 str(program))
    assert done.returncode == 0, done.stderr
    text = theirs.read_text("latin-1")
    pid = re.match(r"\d+", text)[0]
    want = strace_lines(text, pid)
    assert len(want) > 25 and strace_lines(done.stdout.decode("latin-1"), pid) == want


def test_a_command_begins_with_its_exec():
    """The program is looked for and held before anybody watches: neither is a call of the command."""
    done = trace("--where", "proc.name!=strace", "--", "true")
    first = next(line for line in done.stdout.decode("latin-1").splitlines() if not line.startswith("sonde.lost"))
    assert re.search(r'execve\("[^"]*/true", \["true"\], .*\) = 0', first), first


def state_of(pid):
    """Its letter in /proc; Z when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def held_child(pid):
    """The child of a process that a tracer holds; None = it has none."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return next((child for child in f.read().split() if state_of(child) == "t"), None)


def test_a_command_that_is_held_goes_with_sonde(tmp_path):
    """Killed before it released the command, it leaves nothing, and the command never ran."""
    ran = tmp_path / "ran"
    with subprocess.Popen([helpers.BINARY, "syscalls", "--agent=no", "-o", "null", "--", "touch", str(ran)]) as one:
        while not (child := held_child(one.pid)):
            assert one.poll() is None
        one.kill()
    deadline = time.monotonic() + helpers.TIMEOUT_S
    while state_of(child) != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert not ran.exists()


def test_an_environment_is_counted():
    """A call that fails, and one that does not; -v of the tests' line shows them whole."""
    for code, shown in (("os.execve('/none', ['x'], {'A': '1', 'B': '2'})",
                         r"0x[0-9a-f]+ /\* 2 vars \*/\) = -1 ENOENT"),
                        ("os.execve('/bin/true', ['x'], {'A': '1'})", r"0x[0-9a-f]+ /\* 1 vars \*/\) = 0")):
        done = subprocess.run([helpers.BINARY, "syscalls", "--agent=no", "--format", "strace", "-o", "text", "--",
                               "python3",
                               "-c", "import os; " + code], capture_output=True, text=True, timeout=60, check=False)
        assert re.search(r'execve\("/[a-z/]*", \["x"\], ' + shown, done.stdout), done.stdout[-500:]


def test_children_are_followed():
    done = trace("--", "sh", "-c", "true; sh -c 'cat /dev/null; exit 3'; exit 0")
    execs = [args for name, args, result in parse(done.stdout.decode()) if name == "execve" and result == "0"]
    assert [e.split(",")[0] for e in execs][-1].endswith('cat"')
    assert re.search(r"^\d+ +exit_group\(3\) {17,} = \?$", done.stdout.decode(), re.M)


def test_only_what_was_asked_for():
    done = trace("--where", "syscall.name=openat", "--where", "syscall.error exists", "--", "cat", "/none")
    calls = parse(done.stdout.decode())
    assert {name for name, _, _ in calls} == {"openat"}
    assert all(result.startswith("-1 ") for _, _, result in calls)
    assert any('"/none"' in args for _, args, _ in calls)


def test_a_summary_counts_every_call(driver, tmp_path):
    """Counted in the kernel: as many calls and errors as the program made."""
    said = tmp_path / "said"
    done = trace("-c", "-o", "json", "--", driver, str(said))
    rows = {r["name"]: r for r in map(json.loads, done.stdout.decode().splitlines()) if r.get("type") == "sys.sum"}
    made = expected_calls(said)
    for name in ("setresuid", "renameat2", "wait4", "timerfd_create", "mq_open"):
        mine = [c for c in made if c[0] == name]
        assert rows[name]["calls"] == len(mine)
        assert rows[name]["errors"] == sum(c[2].startswith("-1 ") for c in mine)
        assert rows[name]["p50"] <= rows[name]["p99"] and rows[name]["total"] > 0


def test_times_of_a_summary_are_drawn_and_long_ones_kept():
    """Every call is counted; of a call that is made often one in four is timed, and one that takes long anyway."""
    work = "import time\nfor i in range(1500): time.sleep(0)\ntime.sleep(0.3)\nfor i in range(1500): time.sleep(0)"
    for more, timed in (((), lambda r: 1024 < r["timed"] < r["calls"]), (("--times", "all"), lambda r: True)):
        done = trace("-c", *more, "-o", "json", "--", "python3", "-c", work)
        rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
        row = next(r for r in rows if r.get("name") == "clock_nanosleep")
        assert row["calls"] == 3001 and timed(row)
        assert row["max"] >= 280e6 and row["total"] >= 280e6
        assert not more or row["timed"] == row["calls"]
    head = b"# counts: all calls; times: a random sample of one in 4 calls"
    assert trace("-c", "--", "true").stdout.startswith(head)


def sums(*words):
    done = trace("-c", *words, "-o", "json", "--", "sh", "-c", "cat /dev/null; cat /dev/null; exit 0")
    return [r for r in map(json.loads, done.stdout.decode().splitlines()) if r.get("type") == "sys.sum"]


def test_a_summary_of_each_process():
    """A table for each, with all its calls; and one for all of a name."""
    rows = sums("--by", "process")
    cats = {r["by_pid"] for r in rows if r["by_name"] == "cat"}
    assert len(cats) == 2 and all(r["by_pid"] and r["timed"] for r in rows if r["name"] == "execve")
    for pid in cats:
        mine = {r["name"]: r["calls"] for r in rows if (r["by_pid"], r["by_name"]) == (pid, "cat")}
        assert mine["execve"] == 1 and mine["close"] >= 3
    rows = sums("--by", "name")
    assert [r["calls"] for r in rows if (r["by_name"], r["name"]) == ("cat", "execve")] == [2]
    assert not any(r.get("by_pid") for r in rows)
    assert trace("--by", "name", "--", "true").returncode == 2


def test_a_summary_by_name_counts_what_runs_at_once():
    """Two processes of one name on all CPUs: none of their calls is missed."""
    one = "import os\nfor i in range(20000): os.getppid()"
    done = trace("-c", "--by", "name", "--where", "syscall.name=getppid", "-o", "json", "--", "sh", "-c",
                 'python3 -c "$0" & python3 -c "$0"; wait', one)
    rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert [r["calls"] for r in rows if r.get("name") == "getppid" and r["by_name"].startswith("python3")] == [40000]


def test_a_signal_pauses(sonde):
    """What is called in between is not shown, and counted as left out."""
    work = "import os, sys\nfor line in sys.stdin:\n for i in range(int(line)): os.getppid()\n print(flush=True)"
    with subprocess.Popen(["python3", "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        def make(n):
            child.stdin.write(f"{n}\n")
            child.stdin.flush()
            child.stdout.readline()

        one = sonde("syscalls", "--agent=no", "-v", "syscall.name=getppid", "-p", str(child.pid), "-o", "json")
        make(5)
        one.wait_for(lambda e: e.get("name") == "getppid", count=5)
        for word, n in (("paused; SIGUSR1 resumes", 7), ("sonde: resumed", 3)):
            os.kill(one.pid, signal.SIGUSR1)
            end = time.monotonic() + helpers.TIMEOUT_S
            while word not in one.stderr and time.monotonic() < end:
                time.sleep(0.01)
            make(n)
        one.wait_for(lambda e: e.get("name") == "getppid", count=8)
        shown = [e for e in one.finish() if e.get("name") == "getppid"]
        child.stdin.close()
    assert len(shown) == 8 and "does not close" not in one.stderr
    # others are left out too
    assert int(re.search(r"sys: seen \d+ = delivered 8, .*sampled (\d+), lost 0", one.stderr)[1]) >= 7


def test_status_says_which_records_were_lost(sonde, tmp_path):
    """By call, cause and CPU: of an agent that does not get to its rings."""
    agent = sonde("agent", "--socket-dir", str(tmp_path / "run"))
    sock = str(tmp_path / "run" / "read.sock")
    sonde("syscalls", f"--agent={sock}", "syscall.name=getppid", "-o", "json")
    os.kill(agent.pid, signal.SIGSTOP)
    subprocess.run(["python3", "-c", "import os\nfor i in range(300000): os.getppid()"], check=True)
    os.kill(agent.pid, signal.SIGCONT)
    end, found = time.monotonic() + helpers.TIMEOUT_S, None
    while not found and time.monotonic() < end:
        status = helpers.sh(helpers.BINARY, "status", "--socket", sock).stdout
        found = re.search(r"^  lost of getppid, ring_full: (\d+) \((cpu \d+: \d+.*)\)$", status, re.M)
    assert found and int(found[1]) == sum(map(int, re.findall(r"cpu \d+: (\d+)", found[2]))), status


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_signals_and_ends_are_those_of_strace(tmp_path):
    """And so is the column of results. A child's times are its own in each run, and may differ by who watches."""
    theirs = tmp_path / "strace"
    work = "kill -USR1 $$; sh -c 'kill -TERM $$'; sh -c 'exit 5'; exit 3"
    done = trace("--where", "proc.name!=strace", "--", "strace", "-f", "-o", str(theirs), "sh", "-c",
                 f"trap : USR1; {work}")
    assert done.returncode == 3, done.stderr
    text = theirs.read_text("latin-1")
    pid = re.match(r"\d+", text)[0]
    both = [re.sub(r", si_.time=\d+( /\*.*?\*/)?", "", lines) for lines in (text, done.stdout.decode("latin-1"))]
    theirs, ours = [re.findall(rf"^{pid} +(?:--- .*|\+\+\+ .*|kill.*?=)", lines, re.M) for lines in both]
    assert len(theirs) >= 5 and theirs == ours
    pids = "|".join(set(re.findall(r"^\d+", text, re.M)))    # not those that strace itself tries things with
    theirs, ours = [sorted(re.findall(rf"^(?:{pids}) +\+\+\+ .* \+\+\+$", lines, re.M)) for lines in both]
    assert len(theirs) == 3 and theirs == ours


CALLS_32 = """
static long call(long nr, long a, long b, long c, long d)
{
	long r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(nr), "b"(a), "c"(b), "d"(c), "S"(d), "D"(0) : "memory");
	return r;
}
void _start(void)
{
	volatile long un[6] = { 1, 1, 0 }, down[6] = { 0, 2 };
	down[0] = call(102, 1, (long)un, 0, 0);
	call(102, 13, (long)down, 0, 0);
	call(102, 1, 8, 0, 0);
	call(117, 24, -1, 0, 0);
	call(117, 13, 0x7fff1234, 0, 0);
	call(1, 0, 0, 0, 0);
}
"""


def runs(binary):
    """False also where the kernel or the machine runs no programs of its kind."""
    try:
        return subprocess.run([binary], check=False).returncode == 0
    except OSError:
        return False


def test_calls_inside_calls_of_32_bit_programs(tmp_path):
    """The program needs no library."""
    source, binary = tmp_path / "calls.c", str(tmp_path / "calls")
    source.write_text(CALLS_32)
    made = subprocess.run(["cc", "-m32", "-O1", "-static", "-nostdlib", "-fno-pic", "-fno-stack-protector", "-o",
                           binary, str(source)], check=False, capture_output=True)
    if made.returncode or not runs(binary):
        pytest.skip("no programs of 32 bits here")
    text = trace("--", binary).stdout.decode()
    calls = [line.split(None, 1)[1] for line in text.splitlines() if re.match(r"\d+ +(?!execve)\w+\(", line)]
    calls = [re.sub(" +=", " =", re.sub(r" <[\d.]+>$", "", line)) for line in calls]
    fd = re.match(r"socket\(AF_UNIX, SOCK_STREAM, 0\) = (\d+)$", calls[0])
    assert fd, text
    assert calls[1:5] == [
        f"shutdown({fd[1]}, SHUT_RDWR) = 0",
        "socketcall(SYS_SOCKET, 0x8) = -1 EFAULT (Bad address)",
        "shmctl(-1, IPC_RMID, NULL) = -1 EINVAL (Invalid argument)",
        "msgget(0x7fff1234, 000) = -1 ENOENT (No such file or directory)",
    ], text


@pytest.mark.parametrize("words", [(), ("-c",)])
def test_a_network_namespace_selects(sonde, netns, words):
    """Lines and the table in the kernel have calls of one namespace only."""
    inside, other = netns(), netns()
    child = sonde("syscalls", "--netns", inside.name, "--where", "syscall.name=getppid", *words)
    for ns, n in (other, 100), (inside, 7):
        ns.python(f"import os\nfor i in range({n}): os.getppid()")
    if not words:
        child.wait_for_line(lambda line: "getppid" in line)
    child.stop()
    lines = [line for line in child.lines if "getppid" in line]
    assert "7" in lines[0].split() and len(lines) == 1 if words else len(lines) == 7, lines
