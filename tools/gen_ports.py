#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""tables/ports.tsv to C rows for src/cilium/ports.h.   gen_ports.py TABLE OUTPUT"""
import sys

TRANSPORTS = {"tcp": "PORT_TCP", "udp": "PORT_UDP", "sctp": "PORT_SCTP"}


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write('#include "cilium/ports.h"\n\nconst struct port_row port_rows[] = {\n')
        for port, name, transports in rows:
            bits = " | ".join(TRANSPORTS[t] for t in transports.split() if t in TRANSPORTS)
            if bits:
                f.write(f'\t{{ {port}, {bits}, "{name}" }},\n')
        f.write("};\nconst size_t n_port_rows = sizeof(port_rows) / sizeof(*port_rows);\n")


main()
