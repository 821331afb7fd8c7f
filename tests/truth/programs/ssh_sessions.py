# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions of ssh, one after the other, each with lines back and forth; prints an object for each: both processes, by
the session's shell, the connection, when it began, and from when to when it was surely theirs.

    ssh_sessions.py IP PORT KEY SESSIONS LINES
"""
import json
import subprocess
import sys
import time


def main(ip, port, key, sessions, lines):
    options = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "BatchMode=yes")
    words = ["ssh", "-q", "-i", key, "-p", port, *(word for option in options for word in ("-o", option)),
             f"root@{ip}", "echo $PPID $SSH_CONNECTION; cat"]
    for _ in range(int(sessions)):
        began = time.monotonic_ns()
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as ssh:
            server, *ends = ssh.stdout.readline().split()
            since = time.monotonic_ns()
            for line in range(int(lines)):
                ssh.stdin.write(f"{line}\n")
                ssh.stdout.readline()
            print(json.dumps({"client": ssh.pid, "server": int(server), "local": [ends[0], int(ends[1])],
                              "peer": [ends[2], int(ends[3])], "began": began, "since": since,
                              "until": time.monotonic_ns()}), flush=True)
            ssh.stdin.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
