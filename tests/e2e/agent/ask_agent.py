# SPDX-License-Identifier: GPL-2.0-or-later
"""ask_agent.py SOCKET... VERB,VERB,...: what each socket says to whoever runs this, as JSON: per socket the rights of
the greeting, the errno of every verb and of a subscription, or the errno that refuses the connection."""
import json
import struct
import sys

from agent_client import ERROR, READY, SUBSCRIBE, Client, words


def ask(path, verbs):
    try:
        client = Client(path)
    except OSError as e:
        return e.errno
    try:
        client.sock.sendall(struct.pack("<IHHHHI", 16, 1, 0, 1, 0, 0))
    except BrokenPipeError:
        pass        # it was refused before it could say anything; the reason is there to read
    got = client.recv()
    if got is None or got[0] == ERROR:
        return struct.unpack_from("<II", got[1])[1] if got else 0
    answers = {"rights": struct.unpack_from("<HHI", got[1])[2]}
    answers |= {verb: client.call(verb)[0] for verb in verbs}
    client.send(SUBSCRIBE, words("probe=net", "option=--interface=lo"))
    kind, payload = client.recv()
    answers["subscribe"] = 0 if kind == READY else struct.unpack_from("<II", payload)[1]
    return answers


print(json.dumps([ask(path, sys.argv[-1].split(",")) for path in sys.argv[1:-1]]))
