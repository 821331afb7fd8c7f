# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde-strace in place of strace: the same command lines, lines, files and exit statuses."""
import difflib
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

import helpers
import strace_lines

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")


@pytest.fixture(scope="module")
def link(tmp_path_factory):
    path = tmp_path_factory.mktemp("bin") / "sonde-strace"
    path.symlink_to(os.path.abspath(helpers.BINARY))
    return str(path)


def run(words, cwd, **options):
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=60, check=False,
                          stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"}, **options)


# ---- lines: both watch one run

PROGRAMS = [
    "ls -l /usr/bin | head -5", "ps aux", "id; groups", "date; uname -a",
    "getent hosts localhost; getent passwd root",
    "df -h; free", "tar czf x.tgz /etc/default; tar tzf x.tgz", "cp -a /etc/default copy; rm -r copy",
    "find /etc/default -name '*s*'", "for i in 1 2 3; do echo $i | cat; done", "x=$(date); echo $x", "make --version",
    "grep -r o /etc/default", "sed -e s/a/b/ /etc/passwd", "awk '{ print $1 }' /etc/passwd", "openssl version",
    "perl -e 'system(\"true\"); print 1'", "git --version", "script -qc 'stty -a' /dev/null", "seq 9000 | sort -R",
    "taskset -p 1", "ip link set lo up; ping -c 1 127.0.0.1", "echo hi | socat - TCP:127.0.0.1:1",
    "sleep 0.1 & wait", "sh -c 'kill -TERM $$'", "touch a b; mv a c; ln c d; ln -s d e; readlink e; stat c",
    "dd if=/dev/zero of=z bs=4k count=20", "head -c 100000 /dev/urandom | gzip -c | gunzip | md5sum",
    "mkfifo f; cat f & echo x > f; wait", "python3 -c 'import json, threading; print(json.dumps([1]))'",
]


def test_lines_of_thirty_programs_are_those_of_strace():
    """At least 97 of 100 are equal, byte by byte."""
    lines, pairs = 0, []
    assert len(PROGRAMS) == 30
    for program in PROGRAMS:
        n, unequal = strace_lines.compare(["unshare", "-n", "sh", "-c", program], timeout=60,
                                          tool=("compat", "strace", "-f"))
        lines, pairs = lines + n, pairs + unequal
    print(f"{lines} lines, {100 - 100 * len(pairs) / lines:.2f} % equal")
    assert lines > 8000 and len(pairs) <= 0.03 * lines, pairs[:20]


# ---- command lines: a run of each

def normal(text):
    """Lines without what differs between two runs of one program, thread by thread, calls in one piece."""
    first = re.match(r"(\d+) +\w+\(", text)
    if first:       # in the order of their ids, which may begin anew
        threads = strace_lines.threads_of(text)
        order = sorted(threads, key=lambda tid: (int(tid) < int(first[1]), int(tid)))
        text = "\n".join(line for tid in order for line in threads[tid])
    text = re.sub(r"0x[0-9a-f]{6,}", "ADDR", text)
    text = re.sub(r"\[[0-9a-f]{16}\]", "[IP]", text)
    text = re.sub(r"\d\d:\d\d:\d\d(?:\.\d+)?|\b1[0-9]{9}\.\d+", "TIME", text)
    text = re.sub(r" <\d+\.\d+>$", " <TOOK>", text, flags=re.M)
    text = re.sub(r"^( *)\d+\.\d{6} ", r"\1REL ", text, flags=re.M)
    text = re.sub(r"\[pid +\d+", "[pid N", text)
    text = re.sub(r"^\d+ +", "N ", text, flags=re.M)
    text = re.sub(r"(si_[us]time|si_pid|si_uid|tv_nsec|tv_usec|st_[acm]time(?:_nsec)?|st_ino)=[^,}]+", r"\1=X", text)
    text = re.sub(r"\[\d{4,}\]", "[N]", text)
    text = re.sub(r"\b\d{3,7}(?=<|\)|$|,)", "N", text, flags=re.M)
    text = re.sub(r'"(?:\\x[0-9a-f]{2}|[^"\\]|\\.){8}"(?=, \d+, GRND)', '"RANDOM"', text)
    return re.sub(r" +=", " =", text).splitlines()


def alike(theirs, ours):
    """Share of equal lines."""
    return difflib.SequenceMatcher(None, normal(theirs), normal(ours), autojunk=False).ratio()


def outputs(folder):
    """All files but the programs' own, with process ids left out of their names."""
    out = {}
    for path in sorted(folder.iterdir()):
        if path.name != "in" and path.is_file():
            out.setdefault(re.sub(r"\.\d+$", ".PID", path.name), []).append(path.read_text("utf-8", "replace"))
    return {name: "\n".join(texts) for name, texts in out.items()}


# As strace's manual page and its examples of each option give them.
LINES = [
    "{} true",
    "{} -e openat true",
    "{} -e open,openat,close cat in",
    "{} -e trace=openat,close,read,write cat in",
    "{} -e trace=!openat,mmap,mprotect cat in",
    "{} -e trace=%file cat in",
    "{} -e trace=/^(open|close) cat in",
    "{} -e trace=file,%desc cat in",
    "{} -e '?gone,openat' cat in",
    "{} -e trace=none -e signal=all sh -c 'kill -CHLD $$'",
    "{} -e trace=kill -e signal=!USR1 sh -c 'trap : USR1 USR2; kill -USR1 $$; kill -USR2 $$; true'",
    "{} -f -o out -e trace=%process sh -c '/bin/sleep 0.1; /bin/sleep 0.1'",
    "{} -o out -f sh -c '/bin/true'",
    "{} -ff -o out sh -c '/bin/true; :'",
    "{} -o '|cat > piped' -e openat cat in",
    "{} -t -e openat true",
    "{} -tt -T -e openat true",
    "{} -ttt -e openat true",
    "{} -r -e openat true",
    "{} -y -e trace=openat,read,close cat in",
    "{} -s 5 -a 20 -e trace=read,write cat in",
    "{} -x -e trace=read,write cat in",
    "{} -xx -e trace=openat,write cat in",
    "{} -v -e trace=execve,newfstatat,fstat env -i cat in",
    "{} -z -o out -e trace=openat cat in nothing",
    "{} -Z -o out -e trace=openat cat in nothing",
    "{} -e status=failed -o out -e trace=openat cat in nothing",
    "{} -P in -P /etc/passwd cat in /etc/passwd",
    "{} -q -qq -e trace=openat true",
    "{} -e quiet=exit -e trace=openat true",
    "{} -n -e trace=openat,close,exit_group true",
    "{} -e raw=openat -e trace=openat true",
    "{} -e abbrev=none -e trace=execve env -i /bin/true",
    "{} -e read=0 -e trace=read sh -c 'read line < in'",
    "{} -e write=1 -e trace=write cat in",
    "{} -E NAME=value -E HOME -e trace=none sh -c 'echo $NAME-$HOME'",
    "{} -A -o in.log -e openat true",
    "{} --trace=openat --string-limit=3 --columns=10 cat in",
    "{} -e trace=%net -e signal=none true",
    "{} -i -e trace=openat,exit_group true",
    "{} -i -tt -T -e openat true",
    "{} -f -b execve -o out -e trace=execve,exit_group sh -c '/bin/true; :'",
]


def pair(line, link, tmp_path):
    """(strace's run, sonde's run, their files), each in a folder of its own."""
    out = []
    for tool in ("strace", link):
        folder = tmp_path / "work"
        folder.mkdir()
        (folder / "in").write_bytes(b"hello world, this is a line\nand \x01\x02 another\n")
        done = run(["sh", "-c", line.format(tool)], folder)
        out.append((done, outputs(folder)))
        shutil.rmtree(folder)
    (a, a_files), (b, b_files) = out
    return a, b, a_files, b_files


@pytest.mark.parametrize("line", LINES)
def test_a_command_line_of_strace_runs_unchanged(line, link, tmp_path):
    a, b, a_files, b_files = pair(line, link, tmp_path)
    assert b.returncode == a.returncode and b.stdout == a.stdout, b.stderr
    assert a_files.keys() == b_files.keys()
    for name, theirs, ours in [("stderr", a.stderr, b.stderr), *((n, a_files[n], b_files[n]) for n in a_files)]:
        assert alike(theirs, ours) >= 0.9, f"{name}:\n{theirs}\n----\n{ours}"


@pytest.mark.parametrize("how, status", [("exit 7", 7), ("kill -TERM $$", -signal.SIGTERM),
                                         ("kill -KILL $$", -signal.SIGKILL), ("ulimit -c 0; kill -SEGV $$", -11)])
def test_the_exit_status_is_that_of_the_command(how, status, link, tmp_path):
    assert run([link, "-o", "out", "sh", "-c", how], tmp_path).returncode == status
    assert run(["strace", "-o", "out", "sh", "-c", how], tmp_path).returncode == status


def columns(text):
    """{call: (calls, errors)} of a table, and its first two lines."""
    rows = {}
    for line in text.splitlines():
        m = re.match(r" *[\d.]+ +[\d.]+ +\d+ +(\d+) +(\d*) *(\w+)$", line)
        if m:
            rows[m[3]] = (int(m[1]), int(m[2] or 0))
    return rows, text.splitlines()[:2]


def test_the_table_counts_what_strace_counts(link, tmp_path):
    (tmp_path / "in").write_text("x")
    theirs, ours = (run([tool, "-c", "-o", name, "cat", "in", "nothing"], tmp_path) and
                    (tmp_path / name).read_text() for tool, name in (("strace", "a"), (link, "b")))
    assert columns(ours) == columns(theirs) and len(columns(ours)[0]) > 8


def test_the_table_has_the_columns_asked_for(link, tmp_path):
    words = ["-U", "name,max-time,min-time,avg-time,calls", "-S", "name", "-o"]
    texts = []
    for tool, name in (("strace", "a"), (link, "b")):
        run([tool, "-c", *words, name, "true"], tmp_path)
        texts.append([re.sub(r"\d+\.\d{6} +\d+\.\d{6} +\d+ ", "T ", line)
                      for line in (tmp_path / name).read_text().splitlines()])
    assert texts[0] == texts[1]


def test_lines_and_a_table(link, tmp_path):
    done = run([link, "-C", "-S", "calls", "-e", "openat", "true"], tmp_path)
    assert re.search(r"^openat\(", done.stderr, re.M) and re.search(r"^% time +seconds", done.stderr, re.M)


SLEEPER = "import os, sys, time\nprint(os.getpid(), flush=True)\nsys.stdin.readline()\n" \
          "os.stat('/etc')\nif os.fork() == 0:\n os.stat('/usr')\n os._exit(0)\nos.wait()\n"


@pytest.mark.parametrize("words, child", [([], False), (["-f"], True)])
def test_a_running_process(link, tmp_path, words, child):
    """It is named when it is attached; its children with -f; the run ends with it, with status 0."""
    with subprocess.Popen([sys.executable, "-c", SLEEPER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:
        program.stdout.readline()
        with subprocess.Popen([link, *words, "-e", "trace=newfstatat,stat", "-p", str(program.pid)],
                              stderr=subprocess.PIPE, text=True, cwd=tmp_path) as tracer:
            assert tracer.stderr.readline() == f"strace: Process {program.pid} attached\n"
            program.stdin.write("\n")
            program.stdin.flush()
            text = tracer.stderr.read()
            assert tracer.wait(60) == 0
    assert '"/etc"' in text and ('"/usr"' in text) == child and "+++ exited with 0 +++" in text


FRAMES = """
#include <fcntl.h>
#include <unistd.h>
__attribute__((noinline)) int inner(const char *path) { int fd = open(path, O_RDONLY); close(fd); return fd; }
__attribute__((noinline)) int outer(const char *path) { return inner(path) + 1; }
int main(void) { int sum = 0; for (int i = 0; i < 3; i++) sum += outer("/etc/passwd"); return sum < 0; }
"""
FRAME = re.compile(r" > (.*)\((.*?)(?:\+0x([0-9a-f]+))?\) \[0x([0-9a-f]+)\]$")


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="strace finds no stacks elsewhere")
def test_stacks_of_calls_are_those_of_strace(link, tmp_path):
    """-k: of each call the same frames, by file and place; names where both have one; lines in the same order."""
    subprocess.run(["cc", "-O1", "-fno-optimize-sibling-calls", "-o", tmp_path / "calls", "-x", "c", "-"], check=True,
                   input=FRAMES, text=True)
    texts = []
    for tool, name in (("strace", "a"), (link, "b")):
        done = run([tool, "-k", "-e", "trace=openat,close", "-o", name, "./calls"], tmp_path)
        assert done.returncode == 0, done.stderr
        texts.append((tmp_path / name).read_text().splitlines())
    theirs, ours = ([FRAME.match(line) or line for line in lines] for lines in texts)
    places = [[(m[1], m[4]) if isinstance(m, re.Match) else re.sub(" += ", " = ", m) for m in lines]
              for lines in (theirs, ours)]
    assert places[1] == places[0], "\n".join(texts[1])
    assert sum(isinstance(m, re.Match) for m in ours) > 30
    named = [(a[2], a[3], b[2], b[3]) for a, b in zip(theirs, ours) if isinstance(a, re.Match) and "calls" in a[1]]
    mine = [row for row in named if row[0] in ("inner", "outer", "main")]
    assert len(mine) >= 18 and all(row[:2] == row[2:] for row in mine), mine


def test_a_stack_stands_behind_the_exit_that_it_leads_to(link, tmp_path):
    done = run([link, "-k", "-e", "trace=exit_group", "true"], tmp_path)
    assert re.search(r"^exit_group\(0\) += \?\n\+\+\+ exited with 0 \+\+\+\n > \S*libc", done.stderr), done.stderr


@pytest.mark.parametrize("words", [["-D"], ["-DD"], ["--daemonize=session"]])
def test_a_command_with_the_tracer_behind_it(link, tmp_path, words):
    """The process that was started is the command: its status, its parent, no tracer as parent."""
    done = run([link, "-f", *words, "-o", "out", "-e", "trace=%process,write", "sh", "-c",
                "echo $PPID; /bin/true; exit 7"], tmp_path)
    assert done.returncode == 7 and done.stdout == f"{os.getpid()}\n", done.stderr
    helpers.wait_until(lambda: "+++ exited with 7 +++" in (tmp_path / "out").read_text())
    text = (tmp_path / "out").read_text()
    assert re.match(r"\d+ +execve\(\"\S+/sh\"", text) and re.search(r"execve\(\"/bin/true\"", text)


# The second program of the parent ends with its child, which goes on when the first one has gone.
LEAVER = "import os\nr, w = os.pipe()\nends, held = os.pipe()\nif os.fork() == 0:\n os.close(w)\n os.read(r, 1)\n" \
         " os.stat('/usr/share')\n os._exit(0)\nos.dup2(ends, 0)\nos.close(held)\nos.execvp('cat', ['cat'])\n"


def test_children_from_before_are_not_left(link, tmp_path):
    """-b execve leaves the process, and what it makes from then on."""
    for tool, name in (("strace", "a"), (link, "b")):
        words = ["-f", "-b", "execve", "-e", "trace=execve,newfstatat", "-o", name]
        done = run([tool, *words, sys.executable, "-c", LEAVER], tmp_path)
        text = (tmp_path / name).read_text()
        assert done.returncode == 0 and '"/usr/share"' in text, text


def test_a_file_has_the_lines_while_it_grows(link, tmp_path):
    waiter = SLEEPER.split("if os.fork")[0] + "sys.stdin.readline()\n"
    with subprocess.Popen([sys.executable, "-c", waiter], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:
        program.stdout.readline()
        with subprocess.Popen([link, "-f", "-e", "trace=newfstatat,stat", "-o", tmp_path / "out", "-p",
                               str(program.pid)], stderr=subprocess.PIPE, text=True) as tracer:
            try:
                assert "attached" in tracer.stderr.readline()
                program.stdin.write("\n")
                program.stdin.flush()
                helpers.wait_until(lambda: '"/etc"' in (tmp_path / "out").read_text())
            finally:
                tracer.kill()
                program.kill()


def test_a_user(link, tmp_path):
    tmp_path.chmod(0o755)
    done = run([link, "-u", "nobody", "-o", "out", "id", "-un"], tmp_path)
    assert done.stdout == "nobody\n" and done.returncode == 0
    wrong = run([link, "-u", "no-such-user", "true"], tmp_path)
    assert wrong.returncode != 0 and "unknown user no-such-user" in wrong.stderr


def test_names_of_processes(link, tmp_path):
    done = run([link, "-f", "-Y", "-o", "out", "-e", "trace=kill", "sh", "-c", "trap : USR1; kill -USR1 $$"],
               tmp_path)
    text = (tmp_path / "out").read_text()
    assert done.returncode == 0 and re.search(r"^\d+<sh> kill\(\d+<sh>, SIGUSR1\) += 0$", text, re.M), text


def test_addresses_of_sockets(link, tmp_path):
    program = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); " \
              "c = socket.create_connection(s.getsockname()); c.send(b'x')"
    done = run([link, "-yy", "-e", "trace=sendto", sys.executable, "-c", program], tmp_path)
    assert re.search(r"sendto\(\d+<TCP:\[127\.0\.0\.1:\d+->127\.0\.0\.1:\d+\]>, \"x\", 1", done.stderr), done.stderr


def members(words, folder):
    """Calls whose arguments strace leaves undecoded with @words: none of them is executed."""
    done = run(["strace", *words, "-e", "inject=all:error=ENOSYS", "-o", "calls", "./every"], folder)
    assert done.returncode == -signal.SIGILL
    return (folder / "calls").read_text().splitlines()


EVERY = """
static long call(long n, long arg) {
	long r; register long r10 __asm__("r10") = arg, r8 __asm__("r8") = arg, r9 __asm__("r9") = arg;
	__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(arg), "S"(arg), "d"(arg), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
}
void _start(void) {
	for (long n = 0; n < 470; n++)
		if (n != 335 && n != 15) { call(n, ARG); }
	__asm__ volatile("ud2");
}
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of x86_64")
@pytest.mark.parametrize("name", ["%file", "%process", "%net", "%signal", "%ipc", "%desc", "%memory", "%creds",
                                  "%stat", "%lstat", "%fstat", "%%stat", "%statfs", "%fstatfs", "%%statfs",
                                  "%clock"])
def test_classes_have_the_calls_that_they_have_in_strace(name, link, tmp_path):
    """Those that strace -e raw=CLASS prints in another way; calls without arguments look the same."""
    theirs = set()
    for arg in ("0L", "0x11L"):
        subprocess.run(["cc", "-O1", "-static", "-nostdlib", f"-DARG={arg}", "-o", tmp_path / "every", "-x", "c",
                        "-"], input=EVERY, text=True, check=True)
        plain, raw = members([], tmp_path), members(["-e", f"raw={name}"], tmp_path)
        theirs |= {b.split("(")[0] for a, b in zip(plain[1:], raw[1:]) if a != b}
    done = run([link, "-e", f"trace={name}", "--explain-filter", "true"], tmp_path)
    ours = set(re.search(r"Selected calls \((.*)\)", done.stdout)[1].split(","))
    assert not theirs - ours, theirs - ours
    known = {line.split("(")[0] for line in plain if "()" not in line}
    assert not (ours & known) - theirs - {"execve"}, (ours & known) - theirs
