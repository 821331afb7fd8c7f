#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How many system calls a second reach a null sink: two CPUs, on each a producer and a spinning process beside it,
the reader at normal priority. Paced to a million calls a second together, then unpaced, then with a reader that
gets less and less of the CPUs until four times as much is made as it reads: what is lost must be counted, and nothing
of it be of the life-cycle lane. --seconds 60 is the length of the claim; the default is short.
"""
import argparse
import os
import re
import subprocess
import time

import veth

OVERLOAD = 4
LOST_OF = re.compile(r"sonde: lost of (\w+): (\d+)")
LEDGER = re.compile(r"sonde: (\w+): seen (\d+) = delivered (\d+), filtered (\d+), sampled (\d+), lost (.*)")


def start(build):
    """Watches getppid and every call that changes what a process is."""
    line = [f"{build}/sonde", "syscalls", "--agent=no", "-v",
            "syscall.name in (getppid, clone, clone3, fork, vfork, execve, execveat, exit, exit_group)", "-o", "null",
            "--ring-size", "8M"]
    veth.receive_sigint()
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as child:
        said = ""
        while "ready" not in said:
            said = child.stderr.readline()
            assert said, "sonde did not get ready"
        yield child
        with veth.ending(child):
            rest = child.stderr.read()
            _, _, usage = os.wait4(child.pid, 0)
            child.returncode = 0
        rows = {m[0]: m[1:] for m in LEDGER.findall(rest)}
        rows["calls"] = {name: int(n) for name, n in LOST_OF.findall(rest)}
        yield rows, usage.ru_utime, usage.ru_stime


def run(build, seconds, rate, cpus, nice=0):
    watch = start(build)
    child = next(watch)
    os.setpriority(os.PRIO_PROCESS, child.pid, nice)
    with open(f"/proc/{child.pid}/stat", encoding="ascii") as f:
        before = sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
    tool = f"{build}/tests/bench/bench_sys_produce"
    makers = [subprocess.Popen([tool, str(c), str(seconds), str(rate)], stdout=subprocess.PIPE, text=True)
              for c in cpus]
    for m in makers if nice else ():
        os.setpriority(os.PRIO_PROCESS, m.pid, -nice)
    with subprocess.Popen(["sh", "-c", "while :; do /bin/true; done"]) as starter:  # for the life-cycle lane
        made = finish(tool, makers, seconds, cpus)
        starter.kill()
    time.sleep(0.2)
    rows, user, system = next(watch)
    return made, rows, user + system - before


def finish(tool, makers, seconds, cpus):
    spinners = [subprocess.Popen([tool, str(c), str(seconds), "spin"], stdout=subprocess.DEVNULL) for c in cpus]
    made = sum(int(m.communicate()[0]) for m in makers)
    for s in spinners:
        s.wait()
    return made


def lost(text):
    return sum(int(n) for n in re.findall(r"\d+", text))


def report(name, made, rows, cpu_s, seconds):
    seen, delivered, filtered, sampled, text = rows["sys"]
    n_lost = lost(text)
    print(f"figure\t{name}: made\t{made / seconds / 1e6:.3f}\tmillion/s")
    print(f"figure\t{name}: reader's CPU time\t{cpu_s * 1e9 / max(int(delivered), 1):.0f}\tns an event")
    print(f"figure\t{name}: lost\t{n_lost}\tevents")
    by_call = rows.pop("calls")
    for probe, row in rows.items():
        print(f"note\t{probe}: seen {row[0]}, lost {row[4]}")
    closes = int(seen) == int(delivered) + int(filtered) + int(sampled) + n_lost and int(seen) >= made
    print(f"check\t{name}: every call is in one column\t{'exact' if closes else 'WRONG'}")
    print(f"check\t{name}: life-cycle lane of proc\t{'whole' if lost(rows['proc'][4]) == 0 else 'WRONG'}")
    life = sum(n for call, n in by_call.items() if call != "getppid")
    exact = sum(by_call.values()) == n_lost and not life
    print(f"check\t{name}: life-cycle lane of sys\t{'whole' if exact else f'WRONG: {by_call}'}")
    return n_lost


def overload(build, seconds, cpus):
    """A reader of lower and lower priority, until it falls behind so far. Its lane must be whole each time."""
    for nice in (0, 5, 10, 15, 19):
        made, rows, cpu_s = run(build, seconds, 0, cpus, nice)
        times = int(rows["sys"][0]) / max(int(rows["sys"][1]), 1)
        if times >= OVERLOAD or nice == 19:
            break
    report(f"overload, nice {nice}", made, rows, cpu_s, seconds)
    print(f"ratio\toverload: made, of what was read\t{times:.1f}\t>=\t{OVERLOAD:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--seconds", type=int, default=5)
    args = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))[:2]
    made, rows, cpu_s = run(args.build, args.seconds, 1000000 // len(cpus), cpus)
    n_lost = report("paced", made, rows, cpu_s, args.seconds)
    print(f"ratio\tpaced: lost of a million\t{n_lost * 1e6 / max(made, 1):.2f}\t<=\t0.00")
    report("unpaced", *run(args.build, args.seconds, 0, cpus), args.seconds)
    overload(args.build, args.seconds, cpus)


if __name__ == "__main__":
    main()
