# SPDX-License-Identifier: GPL-2.0-or-later
"""read_agent.py SOCKET FILE WORD...: every byte that a subscription sends goes to FILE, from READY to END. Prints
READY or the agent's load_error; stops when standard input ends, and prints whether the ledgers match the frames."""
import struct
import sys
import threading

from agent_client import (END, ERROR, EVENT, FACT, LEDGER, READY, REC, RECORD, SNAPSHOT, STOP, SUBSCRIBE, SUM, Client,
                          words)


def main(path, out, *texts):
    client = Client(path, timeout=60)
    client.hello()
    client.send(SUBSCRIBE, words(*texts))
    kind, payload = client.recv()
    if kind == ERROR:
        print(payload[8:].rstrip(b"\0").decode(), flush=True)
        return
    assert kind == READY
    print("READY", flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), client.send(STOP)), daemon=True).start()
    got, ledgers, data = {}, {}, []     # in memory: calls that this makes are events of the stream
    while (frame := client.recv())[0] != END:
        kind, payload = frame
        data.append(payload)
        if kind == EVENT:
            _, _, instance, flags = struct.unpack_from("<QIHH", payload)
            got[instance] = got.get(instance, 0) + (flags & 1)
        if kind != RECORD:
            continue
        event, instance, flags = (REC.unpack_from(payload)[i] for i in (2, 8, 9))
        if event == LEDGER:
            ledgers[instance] = struct.unpack_from("<12Q", payload, REC.size)
        elif event >> 8 and not flags & (SNAPSHOT | SUM | FACT):
            got[instance] = got.get(instance, 0) + 1
    with open(out, "wb") as f:
        f.writelines(data)
    if any(text.startswith("fields=") for text in texts):
        ledgers.pop(0, None)            # its records are not sent
    right = all(seen == delivered + filtered + sampled + sum(lost) and got.get(number, 0) == delivered
                for number, (seen, delivered, filtered, sampled, *lost) in ledgers.items())
    print("exact" if right and ledgers else f"{got} {ledgers}", flush=True)


main(*sys.argv[1:])
