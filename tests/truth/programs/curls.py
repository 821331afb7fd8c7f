# SPDX-License-Identifier: GPL-2.0-or-later
"""curl, one process for each connection, to a server that answers with the id of the process that serves it.

    curls.py URL CONNECTIONS
"""
import subprocess
import sys

from log import Log

ENDS = "\n%{local_ip} %{local_port} %{remote_ip} %{remote_port}"


def start_of(pid):
    """Of a process that may have ended, but was not waited for."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        return int(f.read().rpartition(")")[2].split()[19])


def main(url, connections):
    log = Log()
    for _ in range(connections):
        with subprocess.Popen(["curl", "-sS", "-w", ENDS, url], stdout=subprocess.PIPE, text=True) as curl:
            body, ends = curl.stdout.read().split("\n")
            ends, server = ends.split(), int(body.split()[0])
            served = {"role": "server", "pid": server, "start": start_of(server), "comm": "nginx", "cookie": 0}
            log.write(role="client", pid=curl.pid, start=start_of(curl.pid), comm="curl", cookie=0,
                      local=[ends[0], int(ends[1])], peer=[ends[2], int(ends[3])], server=served)
        if curl.returncode:
            sys.exit(f"curl ended with {curl.returncode}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
