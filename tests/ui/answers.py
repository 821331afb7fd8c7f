# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers of /api/v1 (doc/api.md) over the events of world.py, by an engine of its own."""
import bisect
import collections
import hashlib
import json
import math
import os
import re
import struct

import world

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STATES = ["running", "runnable", "poll", "futex", "disk", "socket read"]
HEAT = {"calls": ("rpc.call", "rpc.latency"), "syscalls": ("sys.exit", "syscall.latency"),
        "waits": ("cpu.block", "stack.value")}
UNKNOWN = "(unknown)"


class Refused(Exception):
    def __init__(self, status, text, **more):
        super().__init__(text)
        self.status, self.more = status, more


def views():
    """Rows of tables/views.def, as /views has them."""
    with open(os.path.join(ROOT, "tables", "views.def"), encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    ret = []
    for block in re.split(r"^VIEW\(", text, flags=re.M)[1:]:
        name, title, sort, drill = re.match(r'([\w-]+), "(.*?)", "(.*?)", "(.*?)"', block).groups()
        if name == "functions":     # of the terminal
            continue
        cols = re.findall(r'COL\("(.*?)", "(.*?)", "(.*?)", (\w+), (?:"(.*?)"|NULL), (\w+), (\d+)\)', block)
        ret.append({"name": name, "title": title, "sort": sort, "drill": drill.split(),
                    "keys": [{"head": h, "field": f} for h, f in re.findall(r'KEY\("(.*?)", "(.*?)"', block)],
                    "notes": [{"head": h, "field": f} for h, f in re.findall(r'NOTE\("(.*?)", "(.*?)"', block)],
                    "cols": [{"head": h, "name": n, "type": t, "op": o.lower(), "field": f, "unit": u.lower(),
                              "priority": int(p)} for h, n, t, o, f, u, p in cols]})
    return ret


VIEWS = {v["name"]: v for v in views()}


def shown_fields():
    """Fields of the events with their types, and in which events they are."""
    rows = {}
    for event in world.minute(0):
        for name, value in event.items():
            if name in ("time", "text", "stack"):
                continue
            row = rows.setdefault(name, {"name": name, "help": f"{name} of the event", "events": set(), "type":
                                         "bool" if isinstance(value, bool) else "ns" if "latency" in name else
                                         "number" if isinstance(value, int) else "text"})
            row["events"].add(event["evt.type"])
    return [dict(row, events=sorted(row["events"])) for row in rows.values()]


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else None


def column(col, events):
    """Value of a column over @events, all types among them."""
    mine = [e for e in events if e["evt.type"] == col["type"]]
    op, field = col["op"], col["field"]
    if op == "count" or (op == "share" and not field):
        return len(mine)
    if op == "true":
        return sum(1 for e in mine if e.get(field))
    if op in ("sum", "share", "growth"):
        return sum(e.get(field, 0) for e in mine)
    if op in ("sent", "received", "from", "to", "in", "out"):
        return sum(e.get(field, 0) for e in mine if e["flow.out"] == (op in ("sent", "from", "out")))
    if op in ("flows", "active"):
        return len({(e["client.port"], e["server.port"]) for e in mine})
    values = [e[field] for e in mine if field in e]
    return max(values, default=None) if op == "max" else percentile(values, 0.5 if op == "p50" else 0.99)


def counted(view, events):
    types = {c["type"] for c in view["cols"]}
    return [e for e in events if e["evt.type"] in types]


def text_of(value):
    if value is None or value == "":
        return UNKNOWN
    return str(value).lower() if isinstance(value, bool) else str(value)


def note_of(events, field):
    """The first value that the events have; None without one."""
    return next((str(e[field]) for e in events if e.get(field) not in (None, "")), None)


def clause(field, text):
    if text == UNKNOWN:
        return f"not {field}"
    if not re.fullmatch(r"[\w.:/-]+", text):
        text = re.sub(r'[\\"]', r"\\\g<0>", text)
        text = '"' + re.sub(r"[\x00-\x1f]", lambda m: f"\\x{ord(m[0]):02x}", text) + '"'
    return f"{field}={text}"


def times_as_text(value):
    """Of an object of sonde trace --json: times are strings, as /trace has them."""
    if isinstance(value, list):
        return [times_as_text(v) for v in value]
    if not isinstance(value, dict):
        return value
    return {k: str(v) if k in ("from", "to", "time_ns") else times_as_text(v) for k, v in value.items()}


class Host:
    """@end: ns, last moment that is known; moves on with now() if @live. Several @hosts: a key of each view."""

    def __init__(self, live, now, hosts=("web1",)):
        self.live, self.now, self.hosts = live, now, hosts
        self.tables = VIEWS if len(hosts) == 1 else {
            name: dict(v, keys=[{"head": "HOST", "field": "host"}, *v["keys"]]) for name, v in VIEWS.items()}
        self.begin = now() // world.SECOND * world.SECOND - world.LENGTH_NS if live else world.BEGIN_NS
        self.events, self.times, self.minutes = [], [], 0
        self.known = {f["name"] for f in shown_fields()} | {"evt.type", "host"}
        self.note, self.absent = "", ()     # of /meta: a sentence, probes without events
        self.ledger = [{"probe": "net", "seen": 432, "delivered": 420, "filtered": 0, "sampled": 0, "lost": 12,
                        "host": host} for host in hosts]
        self.kept = {}      # answers of a recording, which never change

    def end(self):
        return self.now() if self.live else self.begin + world.LENGTH_NS

    def grow(self):
        while self.begin + self.minutes * world.LENGTH_NS <= self.end():
            for event in world.minute(self.minutes, self.begin):
                event["seq"] = len(self.events) + 1
                event["host"] = self.hosts[event["proc.pid"] % len(self.hosts)]
                self.events.append(event)
                self.times.append(event["time"])
            self.minutes += 1

    def moment(self, text, otherwise):
        if not text:
            return otherwise
        if text == "now":
            return self.end()
        match = re.fullmatch(r"-(\d+)(ns|us|ms|s|m|h|d)", text)
        if match:
            unit = dict(world.UNITS, m=60 * world.SECOND, h=3600 * world.SECOND, d=86400 * world.SECOND)[match[2]]
            return self.end() - int(match[1]) * unit
        if not text.isdigit():
            raise Refused(400, f"'{text}' is not a time")
        return int(text)

    def range(self, p):
        self.grow()
        start, end = self.moment(p.get("from"), self.begin), self.moment(p.get("to"), self.end() + 1)
        if start > end:
            raise Refused(400, "from is behind to")
        return start, min(end, self.end() + 1)

    def select(self, p):
        start, end = self.range(p)
        keep = self.filter(p.get("q", ""))
        part = self.events[bisect.bisect_left(self.times, start):bisect.bisect_left(self.times, end)]
        return start, end, [e for e in part if keep(e)]

    def filter(self, text):
        try:
            return world.compile_filter(text, self.known)
        except world.FilterError as e:
            raise Refused(400, str(e), offset=e.offset) from e

    def lost(self, start, end):
        return sum(world.LOST for m in range(self.minutes)
                   if start <= self.begin + m * world.LENGTH_NS + world.LOST_AT * world.SECOND < end)

    def ranged(self, start, end, **more):
        return {"from": str(start), "to": str(end), "first": str(self.begin), "lost": self.lost(start, end), **more}

    def keep(self, key, make):
        if self.live:
            return make()
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    # ---- paths ----

    def meta(self, _p):
        self.grow()
        return {"version": "0.1.0", "api": 1, "host": self.hosts[0] if len(self.hosts) == 1 else "",
                "kernel": "6.1.0", "cpus": 2,
                "hosts": [{"name": n, "kernel": "6.1.0", "cpus": 2} for n in self.hosts],
                "input": "live" if self.live else "minute.rec", "live": self.live, "reading": False,
                "content": True, "note": self.note,
                "begin": str(self.times[0]), "end": str(self.end()), "now": str(self.now()),
                "events": bisect.bisect_left(self.times, self.end()), "gone": 0,
                "probes": [{"name": n, "running": n not in ("mem", *self.absent),
                            "hint": "start with --mem" if n == "mem" else ""}
                           for n in ("net", "sys", "cpu", "rpc", "mem")],
                "ledger": self.ledger,
                "lost": [{"cause": "ring_full", "count": 12}]}

    def fields(self, _p):
        return {"fields": shown_fields()}

    def check(self, p):
        try:
            world.compile_filter(p.get("q", ""), self.known)
        except world.FilterError as e:
            return {"ok": False, "error": str(e), "offset": e.offset}
        return {"ok": True, "text": p.get("q", "")}

    def views(self, _p):
        return {"views": [dict(v, cols=[{k: c[k] for k in c if k != "field"} for c in v["cols"]])
                          for v in self.tables.values()]}

    def view(self, p, name):
        if name not in self.tables:
            raise Refused(404, f"no view {name}")
        view = self.tables[name]
        start, end, events = self.select(p)
        events, groups = counted(view, events), collections.defaultdict(list)
        for e in events:
            groups[tuple(text_of(e.get(k["field"])) for k in view["keys"])].append(e)
        rows = [self.row(view, keys, mine) for keys, mine in groups.items()]
        self.sort(view, rows, p.get("sort") or view["sort"], p.get("reverse") == "1")
        top = int(p.get("top", 100))
        ret = self.ranged(start, end, view=name, events=len(events), groups=len(rows), rows=rows[:top])
        if rows[top:]:
            beyond = [e for keys, mine in groups.items() for e in mine
                      if keys in {tuple(r["keys"]) for r in rows[top:]}]
            ret["rest"] = {"rows": len(rows) - top, "events": len(beyond), "values": [
                None if c["op"] in ("p50", "p99", "max") else column(c, beyond) for c in view["cols"]]}
        if p.get("series"):
            ret["series"] = self.series(view, events, start, end, p)
        return ret

    def row(self, view, keys, events):
        key = hashlib.sha1("\0".join(keys).encode()).hexdigest()[:16]
        return {"id": key, "keys": list(keys), "events": len(events), "other": False,
                "values": [column(c, events) for c in view["cols"]],
                "notes": [note_of(events, n["field"]) for n in view["notes"]],
                "exact": not any(k["field"].startswith(("client.", "server.")) or not text.isprintable() or
                                 "\\" in text
                                 for k, text in zip(view["keys"], keys)),
                "filter": " and ".join(clause(k["field"], text) for k, text in zip(view["keys"], keys))}

    @staticmethod
    def sort(view, rows, head, reverse):
        for i, k in enumerate(view["keys"]):
            if k["head"] == head:
                rows.sort(key=lambda r: r["keys"][i], reverse=not reverse)
        for i, c in enumerate(view["cols"]):
            if c["head"] == head:
                rows.sort(key=lambda r: r["values"][i] or 0, reverse=not reverse)

    def series(self, view, events, start, end, p):
        step = int(p.get("step") or max(1, math.ceil((end - start) / 120 / world.SECOND))) * world.SECOND
        times = list(range(start, end, step))
        parts = [[] for _ in times]
        for e in events:
            parts[(e["time"] - start) // step].append(e)
        cols = {c["name"]: c for c in view["cols"]}
        names = [n for n in p["series"].split(",") if n in cols]
        if not names:
            raise Refused(400, "no such column")
        return {"step_ns": step, "times": [str(t) for t in times], "lost": [self.lost(t, t + step) for t in times],
                "columns": {n: [column(cols[n], part) for part in parts] for n in names}}

    def heat(self, p, name):
        if name not in HEAT:
            raise Refused(404, f"no heat map {name}")
        kind, field = HEAT[name]
        start, end, events = self.select(p)
        events = [e for e in events if e["evt.type"] == kind]
        width, height = int(p.get("width", 120)), int(p.get("height", 32))
        step = max(1, math.ceil((end - start) / width))
        low = min((e[field] for e in events), default=1)
        high = max((e[field] for e in events), default=2) + 1
        rows = [0] + [int(low * (high / low) ** (i / (height - 1))) for i in range(1, height)]
        rows = sorted(set(rows))
        times = list(range(start, end, step))
        counts = [[0] * len(times) for _ in rows]
        for e in events:
            counts[bisect.bisect_right(rows, e[field]) - 1][(e["time"] - start) // step] += 1
        ret = self.ranged(start, end, field=field, unit="ns", step_ns=step, times=[str(t) for t in times], rows=rows,
                          counts=counts, total=len(events), q=f"evt.type={kind}")
        return dict(ret, losses=[self.lost(t, t + step) for t in times])

    def stacks(self, p, events):
        mode = p.get("mode", "on")
        kinds = {"on": ("cpu.sample",), "off": ("cpu.block",), "both": ("cpu.sample", "cpu.block")}[mode]
        outer = {"process": "proc.name", "container": "container.id", "operation": "proc.name"}.get(p.get("by"))
        for e in events:
            if e["evt.type"] not in kinds:
                continue
            frames = [(n, world.part_of(n)) for n in e["stack"]]
            if p.get("focus"):
                names = [n for n, _part in frames]
                if p["focus"] not in names:
                    continue
                at = names.index(p["focus"])
                frames = frames[at::-1] if p.get("invert") == "1" else frames[at:]
            elif p.get("invert") == "1":
                frames = frames[::-1]
            weight = 1 if mode == "on" else e["stack.value"] // 1000
            yield [(text_of(e.get(outer)), 0)] * bool(outer) + frames, weight

    def flame(self, p):
        start, end, events = self.select(p)
        now = list(self.stacks(p, events))
        total = sum(v for _s, v in now)
        tree, old = self.tree(now), None
        ret = self.ranged(start, end, unit="samples" if p.get("mode", "on") == "on" else "us", total=total,
                          samples=len(now))
        if p.get("against"):
            a, b = p["against"].split("..")
            before = list(self.stacks(p, self.select(dict(p, **{"from": a, "to": b}))[2]))
            old, ret["total_old"] = self.tree(before), sum(v for _s, v in before)
        names, frames, cut = {}, [], [0, 0]
        least = total / int(p.get("px", 1280)) / 2

        def walk(path, depth, at):
            value, own, _below = tree[path]
            if value < least:
                cut[0] += 1
                cut[1] += value
                return
            name, part = path[-1] if path else ("all", 0)
            frame = [names.setdefault(name, len(names)), depth, at, value, own, part]
            frames.append(frame + ([old[path][0] if path in old else 0] if old is not None else []))
            for child in sorted(tree[path][2]):
                walk(child, depth + 1, at)
                at += tree[child][0]
        if total:
            walk((), 0, 0)
        frames.sort(key=lambda f: (f[1], f[2]))
        functions = collections.defaultdict(lambda: [0, 0])
        for stack, value in now:
            functions[stack[-1][0]][0] += value
            for name in {n for n, _part in stack}:
                functions[name][1] += value
        rows = sorted(({"name": n, "self": s, "total": t} for n, (s, t) in functions.items()),
                      key=lambda r: -r["self"])
        return dict(ret, trimmed={"frames": cut[0], "value": cut[1]}, names=list(names), frames=frames,
                    functions=rows[:1000])

    @staticmethod
    def tree(stacks):
        """{path: [value, own, paths of children]}."""
        tree = {(): [0, 0, set()]}
        for stack, value in stacks:
            for depth in range(len(stack) + 1):
                path = tuple(stack[:depth])
                if path not in tree:
                    tree[path] = [0, 0, set()]
                    tree[path[:-1]][2].add(path)
                tree[path][0] += value
            tree[tuple(stack)][1] += value
        return tree

    def tracks(self, p):
        start, end, events = self.select(p)
        pid = int(p["pid"])
        threads = collections.defaultdict(list)
        for e in events:
            if e.get("proc.pid") != pid or e["evt.type"] not in ("cpu.sample", "cpu.block"):
                continue
            kind = "running" if e["evt.type"] == "cpu.sample" else e["block.kind"]
            state = STATES.index("runnable" if kind == "cpu" else kind)
            begin = max(start, e["time"] - e["stack.value"])
            threads[e["thread.tid"]].append([begin - start, e["time"] - begin, state, 1])
        pixel = max(1, (end - start) // int(p.get("px", 1280)))
        at = self.begin + world.LOST_AT * world.SECOND
        lost = [at + m * world.LENGTH_NS for m in range(self.minutes)]
        losses = [[(t - start) // pixel * pixel, world.LOST] for t in lost if start <= t < end]
        return self.ranged(start, end, pid=pid, states=STATES, losses=losses, n_threads=len(threads), threads=[
            {"tid": tid, "name": world.PROCESSES[pid][0], "slices": sorted(slices)} for tid, slices in
            sorted(threads.items())])

    def rows(self, p):
        start, end, events = self.select(p)
        if p.get("view"):
            if p["view"] not in self.tables:
                raise Refused(404, f"no view {p['view']}")
            events = counted(self.tables[p["view"]], events)
        limit, n = int(p.get("limit", 200)), len(events)
        if "after" in p:
            part = [e for e in events if e["seq"] > int(p["after"])][:limit]
        else:
            before = int(p["before"]) if "before" in p else float("inf")
            part = [e for e in events if e["seq"] < before][-limit:]
        return start, end, n, part

    def list(self, p):
        start, end, n, part = self.rows(p)
        return self.ranged(start, end, kept={"first": 1, "last": len(self.events)}, n=n, events=[
            {"seq": e["seq"], "ts": str(e["time"]), "type": e["evt.type"], "pid": e["proc.pid"],
             "process": e["proc.name"], "host": e["host"], "text": e["text"]} for e in part])

    def event(self, _p, seq):
        self.grow()
        if not seq.isdigit() or not 1 <= int(seq) <= len(self.events):
            raise Refused(404, f"no event {seq}")
        e = self.events[int(seq) - 1]
        body = {"v": 1, "type": e["evt.type"], "seq": e["seq"],
                "proc": {"pid": e["proc.pid"], "name": e["proc.name"]}}
        body.update({k.replace("rpc.", ""): v for k, v in e.items() if k.startswith("rpc.")})
        links = [{"what": "process", "label": f"{e['proc.name']}[{e['proc.pid']}]", "q": f"proc.pid={e['proc.pid']}",
                  "page": "/processes"}]
        ret = {"event": body, "text": e["text"], "links": links}
        if "stack" in e:
            ret["stack"] = [{"name": n, "part": world.part_of(n)} for n in reversed(e["stack"])]
        if e["evt.type"] == "net.drop":
            ret["bytes"] = bytes(range(66)).hex()
        return ret

    def trace(self, p):
        self.grow()
        if not any(e.get("rpc.id") == p.get("call") for e in self.events):
            raise Refused(404, "no event of this call is kept")
        with open(os.path.join(ROOT, "tests/golden/trace/json"), encoding="utf-8") as f:
            trace = json.loads(f.readline())
        return dict(times_as_text(trace), call=p["call"])

    def sides(self, p):
        """The call alone, or with an other side that is made up."""
        own = next((e for e in self.events if e.get("rpc.id") == p.get("call")), None)
        if not own:
            raise Refused(404, "no event of this call is kept")
        other = {"client": "server", "server": "client"}[own["rpc.side"]]
        sides = [{"side": side, "host": host, "pid": own["proc.pid"] + i, "process": own["proc.name"],
                  "call": own["rpc.id"] if not i else "0123456789ab", "method": own["rpc.name"],
                  "status": own["rpc.status"], "error": own["rpc.error"], "latency": ns, "ts": str(own["time"]),
                  "event": own["seq"]} for i, (side, host, ns) in enumerate(
                      [(own["rpc.side"], own["host"], own["rpc.latency"]),
                       (other, self.hosts[-1], own["rpc.latency"] // 2)])]
        if len(self.hosts) == 1:
            return {"sides": sides[:1], "joined_by": "", "network": None, "why": f"the {other}'s side was not seen"}
        return {"sides": sides, "joined_by": "connection", "network": own["rpc.latency"] - own["rpc.latency"] // 2,
                "why": ""}

    def explain(self, p):
        start, end, events = self.select(p)
        groups = collections.defaultdict(list)
        for e in events:
            if e["evt.type"] == "rpc.call":
                groups[e["rpc.name"]].append(e)
        ret = []
        for method, calls in sorted(groups.items()):
            ids = [e["rpc.id"] for e in sorted(calls, key=lambda e: -e["rpc.latency"])[:3]]
            ret.append({"v": 1, "type": "explain", "method": method, "calls": len(calls), "failed": 3, "slow": 10,
                        "normal": 90, "slow_ns": 90_000_000, "normal_ns": 3_000_000, "not_compared": 0,
                        "other_ns": 12_000_000, "unknown_ns": 5_000_000,
                        "causes": [{"cause": "run queue", "more_ns": 70_000_000, "low_ns": 50_000_000,
                                    "high_ns": 80_000_000, "calls": ids, "why": [
                                        {"text": "preempted by <b>cron</b>", "calls": 9, "ns": 66_000_000}]}]})
        return self.ranged(start, end, operations=ret)

    def recordings(self, _p):
        return {"folder": "/var/lib/sonde", "files": [
            {"name": "minute.rec", "kind": "rec", "bytes": 1_200_000, "modified": str(self.begin)},
            {"name": "<script>alert(1)</script>.pcapng", "kind": "pcapng", "bytes": 12, "modified": str(self.begin)}]}


# ---- binary columns ----

def padded(data):
    return data + bytes(-len(data) % 8)


def text_column(texts):
    offsets, heap = [0], b""
    for text in texts:
        heap += text.encode()
        offsets.append(len(heap))
    return struct.pack(f"<{len(offsets)}I", *offsets) + heap


def frames(rows, most=1000):
    """Rows of each frame: a time is below 2^32 ns behind the frame's first."""
    part = []
    for e in rows:
        if part and (len(part) == most or e["time"] - part[0]["time"] >= 1 << 32):
            yield part
            part = []
        part.append(e)
    yield part


def columns(rows, n, lost):
    """The body of /events in frames (doc/api.md): an encoder apart from the server's and the page's."""
    words, out = {}, b""
    for part in frames(rows):
        fresh = []

        def word(text):
            if text not in words:
                words[text] = len(words)
                fresh.append(text)
            return words[text]
        base = part[0]["time"] if part else 0
        u32 = [("time", [e["time"] - base for e in part]), ("pid", [e["proc.pid"] for e in part]),
               ("tid", [e["thread.tid"] for e in part]), ("cpu", [e["evt.cpu"] for e in part])]
        body = [(word(name), 0, struct.pack(f"<{len(v)}I", *v)) for name, v in u32]
        body.append((word("seq"), 1, struct.pack(f"<{len(part)}Q", *(e["seq"] for e in part))))
        for name, key in (("type", "evt.type"), ("process", "proc.name"), ("host", "host")):
            values = [word(e[key]) for e in part]
            body.append((word(name), 2, struct.pack(f"<{len(values)}I", *values)))
        body.append((word("text"), 3, text_column([e["text"] for e in part])))
        said = padded(text_column(fresh))
        data = b"".join(struct.pack("<IIQ", name, kind, len(d)) + padded(d) for name, kind, d in body)
        head = struct.pack("<IQQQII", len(part), base, 0 if out else lost, 0 if out else n, len(body), len(fresh))
        out += struct.pack("<I", 4 + len(head) + len(said) + len(data)) + head + said + data
    return out
