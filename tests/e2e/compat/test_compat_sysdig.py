# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde compat sysdig in place of sysdig: both read one capture, by the same command lines."""
import difflib
import glob
import gzip
import os
import shutil
import subprocess

import pytest

import helpers

pytestmark = [pytest.mark.replay, pytest.mark.skipif(not shutil.which("sysdig"), reason="sysdig is not installed")]

SONDE = [helpers.BINARY, "compat", "sysdig", "--agent=no"]
SCAP = f"{helpers.ROOT}/tests/data/scap/session.scap"


def run(tool, *words, status=0):
    done = subprocess.run([*tool, *words], capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "TZ": "UTC"})
    assert done.returncode == status, (words, done.stderr)
    return done.stdout


# Each with the number of lines that may differ: the capture's container event, which sysdig counts to its container.
COMMANDS = [
    ("", 0), ("-v", 0), ("-A", 0), ("-x", 0), ("-X", 0), ("-b", 0), ("-t h", 0), ("-t a", 0), ("-t r", 0),
    ("-t d", 0), ("-t D", 0),
    ("-pc", 1), ("-pk", 1), ("-n 5", 0), ("-s 20 -n 10", 0), ("-j", 0), ("-j -n 3 -X", 0), ("-q", 0),
    ("-P", 0), ("--unbuffered", 0), ("evt.type=open", 0), ("-d proc.name=demo", 0), ("fd.name contains notes", 0),
    ("-t a -X evt.type=read", 0), ("proc.name=demo and evt.dir=<", 0), ("evt.failed=true", 0),
    ("-j evt.type in (read, write)", 0), ("evt.rawres<0 -t r", 0), ("-pevt:%evt.num:%proc.name", 0),
    ("-j -p%evt.type%fd.type%proc.pid", 0), ("-x -t d -n 20", 0),
]


@pytest.mark.parametrize("words, unequal", COMMANDS)
def test_a_command_line_prints_what_sysdig_prints(words, unequal):
    """Byte by byte, but for the known ones."""
    theirs = run(["sysdig"], "-r", SCAP, *words.split())
    # at the end -v has sysdig's counts of its driver
    theirs = [line for line in theirs.splitlines() if not line.startswith(("Driver ", "Suppressed ", "Elapsed "))]
    ours = run(SONDE, "-r", SCAP, *words.split()).splitlines()
    blocks = difflib.SequenceMatcher(None, theirs, ours, autojunk=False).get_matching_blocks()
    wrong = len(theirs) - sum(block.size for block in blocks)
    assert wrong <= unequal and len(ours) == len(theirs), \
        "\n".join(difflib.unified_diff(theirs, ours, lineterm="", n=0))
    assert theirs or words == "-q"


def rows(text):
    """(value, rest) of a table, without its heading; the same bytes, counts and names stand in both tools'."""
    return [line.split() for line in text.splitlines() if line and line[0] != "-"][1:]


@pytest.mark.parametrize("chisel, key", [
    ("topprocs_net", "demo"), ("topfiles_bytes", "/srv/alice/notes"), ("topconns", "fd00::1:53"),
    ("topports_server", "80"),
])
def test_a_chisel_has_sysdigs_sums(chisel, key):
    theirs = [row[0] for row in rows(run(["sysdig"], "-r", SCAP, "-c", chisel)) if any(key in cell for cell in row)]
    ours = [row[0] for row in rows(run(SONDE, "-r", SCAP, "-c", chisel)) if any(key in cell for cell in row)]
    assert ours[:1] == theirs[:1] and ours, (ours, theirs)


def test_every_listed_chisel_runs():
    listed = [line.split()[0] for line in run(SONDE, "-cl").splitlines()]
    known = run(["sysdig"], "-cl")
    assert len(listed) >= 14 and all(name in known for name in listed)
    for name in listed:
        run(SONDE, "-r", SCAP, "-c", name)
        theirs, ours = run(["sysdig"], "-i", name).splitlines(), run(SONDE, "-i", name).splitlines()
        assert ours[:3] == theirs[:3] and ours[3].split()[0] == theirs[3].split()[0] and "--view" in "".join(ours)
    run(["sysdig"], "-i", "nosuch", status=1)
    run(SONDE, "-i", "nosuch", status=1)


def test_a_written_capture_is_read_by_sysdig(tmp_path):
    """-w prints too, as sysdig does, -q does not; the filter holds for both."""
    out = str(tmp_path / "out.scap")
    printed = run(SONDE, "-r", SCAP, "-w", out, "evt.type=read")
    assert printed == run(["sysdig"], "-r", SCAP, "evt.type=read") and printed
    assert run(["sysdig"], "-r", out, "-p%evt.type %evt.rawres") == run(["sysdig"], "-r", SCAP,
                                                                      "-p%evt.type %evt.rawres", "evt.type=read")
    assert run(SONDE, "-r", SCAP, "-q", "-w", out) == ""
    assert run(["sysdig"], "-r", out).count("\n") > 40


def test_a_compressed_capture_is_read_by_sysdig(tmp_path):
    """-z: gzip, smaller, with all events; in parts too, each readable alone."""
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    run(SONDE, "-r", SCAP, "-q", "-w", str(plain))
    run(SONDE, "-r", SCAP, "-q", "-z", "-w", str(packed))
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert packed.stat().st_size < plain.stat().st_size / 2
    assert run(["sysdig"], "-r", str(packed)) == run(["sysdig"], "-r", str(plain)) != ""
    (tmp_path / "parts").mkdir()
    run(SONDE, "-r", SCAP, "-q", "-z", "-e", "20", "-w", str(tmp_path / "parts" / "part"))
    parts = list((tmp_path / "parts").iterdir())
    assert len(parts) == 3 and all(part.read_bytes()[:2] == b"\x1f\x8b" for part in parts)
    assert sum(run(["sysdig"], "-r", str(part)).count("\n") for part in parts) == 47


def test_a_fat_file_has_the_state_of_its_events(tmp_path):
    """-F with a filter: names of descriptors and processes are those of the whole capture."""
    out, form, words = str(tmp_path / "out"), "-p%evt.type %proc.name %fd.name %proc.pid", "fd.type=ipv4"
    run(SONDE, "-r", SCAP, "-q", "-F", "-w", out, words)
    wanted = run(["sysdig"], "-r", SCAP, form, words + " and evt.type=write").splitlines()
    found = run(["sysdig"], "-r", out, form, "evt.type=write").splitlines()
    assert found == wanted and len(wanted) == 2 and "10.0.0.1:80" in wanted[0]


# ---- fields: one form of all of them, each a column

FIELDS = """
evt.type evt.reltime evt.rawtime.ns evt.reltime.ns evt.latency.ns container.id container.name evt.args evt.buffer
evt.buflen evt.category evt.count evt.count.error evt.count.error.file evt.count.error.net evt.count.error.other
evt.count.exit evt.cpu evt.datetime evt.dir evt.failed evt.info evt.io_dir evt.is_io evt.is_io_read evt.is_io_write
evt.is_open_exec evt.is_open_read evt.is_open_write evt.is_syslog evt.is_wait evt.latency.s evt.num evt.rawres
evt.rawtime evt.rawtime.s evt.reltime.s evt.res evt.time evt.wait_latency fd.cip fd.filename fd.sip fd.sockfamily
fd.sport fd.type group.name proc.args proc.cmdline proc.cwd proc.duration proc.env proc.exe proc.exepath
proc.fdopencount proc.is_exe_writable proc.loginshellid proc.name proc.nchilds proc.nthreads proc.pid proc.ppid
proc.sid proc.sname proc.tty proc.vmswap proc.vpgid proc.vpid syscall.type thread.exectime thread.ismain
thread.pfmajor thread.pfminor thread.tid thread.vtid user.homedir user.loginuid user.name user.shell user.uid
proc.aname[1] proc.apid[1] evt.arg[0] evt.arg.fd evt.arg.res evt.arg.size evt.arg.name evt.arg[1] proc.aname[2]
""".split()
CAPTURES = [SCAP] + sorted(glob.glob(os.path.join(helpers.ROOT, "..", "shared", "samples", "scap", "*.scap")))


@pytest.mark.parametrize("capture", CAPTURES, ids=os.path.basename)
def test_fields_have_sysdigs_values(capture):
    """Of more than 60 fields; 98 of 100 lines of each are equal. Container events are known to be different."""
    form = "-p*" + "~|~".join("%" + name for name in FIELDS) + "~.~"
    texts = [[row.strip("\n").split("~|~") for row in run(tool, "-r", capture, form).split("~.~")[:-1]]
             for tool in (["sysdig"], SONDE)]
    assert len(texts[0]) == len(texts[1]) >= 1
    rows = [(a, b) for a, b in zip(*texts) if a[0] != "container"]
    bad = {}
    for i, name in enumerate(FIELDS):
        wrong = [(a[i], b[i]) for a, b in rows if a[i] != b[i]]
        if len(wrong) > 0.02 * len(rows):
            bad[name] = wrong[:3]
    print(f"{len(rows)} lines, {len(FIELDS)} fields")
    assert len(FIELDS) > 60 and not bad, bad


@pytest.mark.parametrize("words", [["-C", "1", "-W", "3"], ["-q", "-C", "1"], ["-e", "20", "-W", "5"], ["-G", "60"]])
def test_captures_in_parts(tmp_path, words):
    run(SONDE, "-r", SCAP, "-w", str(tmp_path / "part"), *words)
    parts = list(tmp_path.iterdir())
    assert sum(run(["sysdig"], "-r", str(part)).count("\n") for part in parts) == 47
    assert len(parts) >= (3 if "-e" in words else 1)


def test_lists():
    assert "sys.event" in run(SONDE, "-L") and "proc.name" in run(SONDE, "-l")
    assert run(SONDE, "--version").startswith("sonde ")


@pytest.mark.parametrize("words, said", [
    (["-t", "x"], "expected h, a, r, d or D"), (["-c", "httplog"], "-cl lists"), (["-p", "m"], "or c or k"),
    (["-H", "x"], "sonde has no plugins"), (["-R"], "fd.sport=NAME"),
    (["-r", SCAP, "-n", "0"], '--numevents "0": expected a number above 0'),
])
def test_what_is_not_taken_is_said(words, said):
    done = subprocess.run([*SONDE, *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and said in done.stderr and not done.stdout


def test_a_full_disk_is_no_reader_that_went_away():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*SONDE, "-j", "-r", SCAP], stdout=full, stderr=subprocess.PIPE, timeout=60,
                              check=False)
    assert done.returncode == 1 and b"No space left on device" in done.stderr
