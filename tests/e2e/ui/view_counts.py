# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of a view counted a second time, from tables/views.def and events as JSON, without src/view."""
import collections
import os
import re

from helpers import ROOT

UNKNOWN = "(unknown)"
Column = collections.namedtuple("Column", "name type op field")
View = collections.namedtuple("View", "name keys columns")


def views():
    """All rows of tables/views.def."""
    found = []
    with open(os.path.join(ROOT, "tables", "views.def"), encoding="utf-8") as table:
        for line in table.read().split("*/")[-1].splitlines():
            words = re.match(r"\s*(VIEW|KEY|COL)\((.*)\)$", line)
            if not words:
                continue
            cells = [cell.strip().strip('"') for cell in re.split(r",\s*(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", words[2])]
            if words[1] == "VIEW":
                found.append(View(cells[0], [], []))
            elif words[1] == "KEY":
                found[-1].keys.append(cells[1])
            else:
                found[-1].columns.append(Column(cells[1], cells[2], cells[3],
                                                None if cells[4] == "NULL" else cells[4]))
    return found


# ---- fields in JSON ----

IO = {"I/O read": "syscall.read", "I/O write": "syscall.written"}
COUNTS_MESSAGES = {"recvmmsg", "recvmmsg_time64", "sendmmsg"}
JSON_NAMES = {"flow.id": "id", "stack.value": "value", "stack.wait": "wait", "tcp.retransmitted": "retransmitted"}
ENDS = {"client": ("src", "dst"), "server": ("dst", "src")}


def end_of_flow(event, word):
    """client.ip, server.port: of the flow's first packet."""
    group, name = word.split(".")
    end = ENDS[group][bool(event.get("is_reply"))]
    return event.get("conn", {}).get(end if name == "ip" else end[0] + "port")


def call_name(event):
    """What calls are counted by, of gRPC and of HTTP without numbers in its paths."""
    return event.get("method") if event["kind"] == "grpc" else f"{event['method']} {event['path']}"


def value_of(event, word):
    """None if the event does not have it."""
    group, _, name = word.partition(".")
    if group == "proc":
        return event.get("proc", {}).get(name)
    if group in ENDS:
        return end_of_flow(event, word)
    if word == "fd.l4proto":
        return event.get("conn", {}).get("proto")
    if word == "file.path":
        return event.get("open_file", {}).get("path")
    if word == "rpc.name":
        return call_name(event)
    if word in IO.values():
        moves = IO.get(event["class"]) == word and event["name"] not in COUNTS_MESSAGES
        return event["ret"] if moves and event["ret"] >= 0 else None
    return event.get(JSON_NAMES.get(word, name))


# ---- operations ----

class Flow:
    """What a flow has reported, by direction and column; the row that it counts in."""

    def __init__(self):
        self.totals, self.row, self.parts = collections.Counter(), None, collections.Counter()


def goes_there(op, event):
    return {
        "SENT": not event.get("is_reply"), "RECEIVED": bool(event.get("is_reply")),
        "FROM": event.get("owner_end") == "src", "TO": event.get("owner_end") == "dst",
        "IN": event.get("dir") == "in", "OUT": event.get("dir") == "out", "GROWTH": True,
    }[op]


def part_of_flow(column, event, flow):
    if column.op in ("FLOWS", "ACTIVE"):
        return not flow.parts[column.name]
    total = value_of(event, column.field)
    if total is None or not goes_there(column.op, event):
        return 0
    key = (column.name, bool(event.get("is_reply")))
    more = max(total - flow.totals[key], 0)
    flow.totals[key] += more
    return more


def part_of(column, event):
    if column.op == "COUNT":
        return 1
    value = value_of(event, column.field)
    if column.op == "TRUE":
        return int(bool(value))
    return max(value or 0, 0)


class Count:
    """Sums by row and column, and the values behind percentiles."""

    def __init__(self, view):
        self.view, self.flows = view, collections.defaultdict(Flow)
        self.sums = collections.defaultdict(collections.Counter)
        self.times = collections.defaultdict(lambda: collections.defaultdict(list))

    def add_flow(self, key, event):
        flow = self.flows[event["id"]]
        if flow.row not in (None, key):     # its process is known now: its sums go along
            self.sums[flow.row].subtract(flow.parts)
            self.sums[key].update(flow.parts)
        flow.row = key
        for column in self.view.columns:
            if column.type == "net.flow":
                part = int(part_of_flow(column, event, flow))
                self.sums[key][column.name] += part
                flow.parts[column.name] += part

    def add(self, event):
        if all(column.type != event["type"] for column in self.view.columns):
            return
        cells = (value_of(event, word) for word in self.view.keys)
        key = tuple(UNKNOWN if cell is None else str(cell) for cell in cells)
        if event["type"] == "net.flow":
            self.add_flow(key, event)
            return
        for column in self.view.columns:
            if column.type != event["type"]:
                continue
            if column.op not in ("P50", "P99", "MAX"):
                self.sums[key][column.name] += part_of(column, event)
            elif value_of(event, column.field) is not None:
                self.times[key][column.name].append(value_of(event, column.field))

    def rows(self):
        """Keys with a number that is not 0."""
        return {key for key, sums in self.sums.items() if any(sums.values())} | {
            key for key, times in self.times.items() if any(any(values) for values in times.values())}


def percentile(values, part):
    return sorted(values)[(len(values) * part + 999) // 1000 - 1]


def differences(view, events, rows):
    """Of rows as `sonde top VIEW --json` prints them from the count over the events. Percentiles: within 3.2 %."""
    count = Count(view)
    for event in events:
        count.add(event)
    got = {tuple(row["key"][word] for word in view.keys): row for row in rows}
    wrong = [f"{view.name}: row {key} in one of both" for key in got.keys() ^ count.rows()]
    for key in got.keys() & count.rows():
        for column in view.columns:
            value, times = got[key][column.name], count.times[key][column.name]
            if column.op in ("P50", "P99"):
                exact = percentile(times, 500 if column.op == "P50" else 990) if times else 0
                equal = abs(value - exact) <= exact * 0.032
            else:
                exact = max(times, default=0) if column.op == "MAX" else count.sums[key][column.name]
                equal = value == exact
            if not equal:
                wrong.append(f"{view.name}: {key} {column.name} {value}, counted {exact}")
    return wrong
