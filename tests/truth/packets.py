# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets against the sockets that the programs printed."""
import fields
from stage import TICK_NS


class End:
    """One socket of the truth: its process and cookie; a server's process has it for sure once it sent data."""

    def __init__(self, row):
        self.pid, self.start, self.cookie, self.comm = row["pid"], row["start"], row["cookie"], row["comm"]
        self.sure = row["role"] != "server"

    def sends(self, ev):
        """A packet from this end, in the order of events."""
        self.sure = self.sure or "PSH" in ev.get("flags", ["PSH"])

    def is_process(self, who):
        return who.pid == self.pid and (not who.start_ns or who.start_ns // TICK_NS == self.start)

    def __str__(self):
        return f"{self.pid} started {self.start}"


def ends_of(rows):
    """{((ip, port) local, (ip, port) peer): End} of connected sockets."""
    return {(tuple(row["local"][:2]), tuple(row["peer"][:2])): End(row) for row in rows if "local" in row}


def short(ev):
    source, destination = fields.tuple_of(ev)
    return (f"{source[0]}:{source[1]} -> {destination[0]}:{destination[1]} {ev.get('flags')} {ev['type']} "
            f"{ev.get('point', '')} at {ev['ts_ns']}")


def judge_process(score, ev, who, end):
    """
    Is @who the process behind the socket @end? Until the program has accepted and used the connection, the listener's
    owner with that source and an unknown process are exceptions.
    """
    early = not end.sure
    if who.pid is None:
        if early:
            score.add_excused("before accept")
        else:
            score.add_unknown(who.how, short(ev))
    elif end.is_process(who):
        score.add_right(who.how)
    elif early and who.how == fields.NOT_ACCEPTED:
        score.add_excused(who.how)
    else:
        score.add_wrong(f"{who.pid} started {who.start_ns} by {who.how}, not {end}: {short(ev)}")


def judge_cookie(score, ev, who, end):
    early = not end.sure
    if who.cookie == end.cookie:
        score.add_right(who.how)
    elif early:
        score.add_excused("before accept")
    elif who.cookie is None:
        score.add_unknown(who.how, short(ev))
    else:
        score.add_wrong(f"cookie {who.cookie}, not {end.cookie}: {short(ev)}")


def local_tuple(ev, ends):
    """(local, peer) of the socket in the namespace where the packet was seen; a drop does not say its direction."""
    flow = fields.tuple_of(ev)
    is_out = ev["dir"] == "out" if "dir" in ev else flow in ends
    return flow if is_out else flow[::-1]


def of_port(recording, port):
    """Events of packets from or to @port."""
    for ev in recording.events(b'"type":"net.'):
        conn = ev.get("conn") or {}
        if port in (conn.get("sport"), conn.get("dport")):
            yield ev


def check_local(stage, events, ends, suffix=""):
    """The socket in the namespace where the packet was seen. @ends: {inode of the namespace: ends_of()}"""
    process, sock, name = (stage.score(what + suffix) for what in ("process", "socket", "name"))
    for ev in events:
        end = ends[ev["netns"]].get(local_tuple(ev, ends[ev["netns"]]))
        if not end:
            process.add_wrong(f"no program has this socket: {short(ev)}")
            continue
        if ev.get("dir") == "out":
            end.sends(ev)
        judge_process(process, ev, fields.local_end(ev), end)
        judge_cookie(sock, ev, fields.local_end(ev), end)
        if end.is_process(fields.local_end(ev)):
            name.equal(fields.local_end(ev).name, end.comm, short(ev))
