# SPDX-License-Identifier: GPL-2.0-or-later
"""Identity in sonde's JSON: one place that knows the names of the keys."""
import typing

NOT_ACCEPTED = "listener"       # the source that names the listening socket: nobody has accepted the connection yet


class Who(typing.NamedTuple):
    """A process that an event names, and the source of the answer. pid None = unknown."""
    pid: int
    start_ns: int
    cookie: int
    how: str
    name: str


def _who(process, cookie, how):
    process = process or {}
    return Who(process.get("pid"), process.get("start_ns"), cookie, how, process.get("name"))


def owner(ev):
    return _who(ev.get("proc"), ev.get("cookie"), ev.get("owner_how"))


def peer(ev):
    return Who(ev.get("peer_pid"), ev.get("peer_start_ns"), ev.get("peer_sock"), ev.get("peer_how"),
               ev.get("peer_name"))


def owner_is_sender(ev):
    """Without `owner_end` the owner is the end in the namespace where the packet was seen."""
    return ev["owner_end"] == "src" if "owner_end" in ev else ev.get("dir") == "out"


def sender(ev):
    return owner(ev) if owner_is_sender(ev) else peer(ev)


def receiver(ev):
    return peer(ev) if owner_is_sender(ev) else owner(ev)


def local_end(ev):
    """The socket in the namespace where the packet was seen."""
    if "dir" not in ev:     # a drop: its owner is the socket at hand
        return owner(ev)
    return sender(ev) if ev["dir"] == "out" else receiver(ev)


def tuple_of(ev):
    """(source, destination) as (ip, port) each; None for packets without ports."""
    conn = ev.get("conn") or {}
    if "sport" not in conn:
        return None
    return (conn["src"], conn["sport"]), (conn["dst"], conn["dport"])
