# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of a made-up host for the tests of the page: the same ones on every run, with hostile names among them.

An event is a flat dict of fields as filters name them, with `time` (ns since 1970), `seq` and `text`. Also a reader
of the filter language, as far as the page writes it.
"""
import random
import re

BEGIN_NS = 1_795_506_217_000_000_000
SECOND = 1_000_000_000
LENGTH_NS = 60 * SECOND
LOST_AT, LOST = 30, 12          # second of the minute in which records were lost, and how many

# pid: name, parent, address
PROCESSES = {
    1: ("systemd", 0, "10.0.0.1"),
    812: ("nginx", 1, "10.0.0.1"),
    813: ("nginx", 812, "10.0.0.1"),
    900: ("web", 1, "10.0.0.2"),
    1001: ("cart-server", 900, "10.0.0.3"),
    1200: ("redis-server", 1, "10.0.0.4"),
    1301: ("<img src=x onerror=alert(1)>", 900, "10.0.0.5"),
    1302: ("evil\u202eexe.sh\x1b[31m", 900, "10.0.0.6"),
}
SYSCALLS = {"read": 3_000, "write": 5_000, "epoll_wait": 900_000, "futex": 60_000, "openat": 9_000, "connect": 40_000}
METHODS = {"/Cart/Add": (900, 1001), "/Cart/Get": (900, 1001), "/Pay/Charge": (1001, 1200),
           "GET /index.html": (812, 900)}
REASONS = {"NO_SOCKET": "tcp_v4_rcv", "TCP_CSUM": "tcp_v4_rcv", "NETFILTER_DROP": "nf_hook_slow"}
STACKS = [
    ["main", "serve", "handle", "json.Marshal", "reflect.Value.Field"],
    ["main", "serve", "handle", "json.Marshal"],
    ["main", "serve", "handle", "db.Query", "net.Write", "entry_SYSCALL_64", "do_syscall_64", "tcp_sendmsg"],
    ["main", "serve", "read_request", "entry_SYSCALL_64", "do_syscall_64", "tcp_recvmsg"],
    ["main", "gc", "gc.mark", "gc.scanobject"],
    ["main", "[unknown]"],
    ["ngx_worker_process_cycle", "ngx_process_events_and_timers", "ngx_http_process_request"],
]
KERNEL = {"entry_SYSCALL_64", "do_syscall_64", "tcp_sendmsg", "tcp_recvmsg"}


def part_of(name):
    return 3 if name.startswith("[") else 2 if name in KERNEL else 1


def latency(rng, typical, slow):
    return int(typical * rng.lognormvariate(0, 0.7) * (40 if slow else 1))


def base(rng, at, pid, kind):
    name, parent, _address = PROCESSES[pid]
    tid = pid + rng.choice((0, 0, 1, 2))
    return {"time": at, "evt.type": kind, "proc.pid": pid, "proc.name": name, "proc.ppid": parent, "thread.tid": tid,
            "evt.cpu": rng.randrange(2), "container.id": "4f1c9a2b77d0" if pid > 899 else ""}


def sys_exit(rng, at):
    pid = rng.choice(list(PROCESSES))
    name = rng.choice(list(SYSCALLS))
    fails = rng.random() < 0.05
    ns = latency(rng, SYSCALLS[name], rng.random() < 0.02)
    return dict(base(rng, at, pid, "sys.exit"), **{
        "syscall.name": name, "syscall.latency": ns,
        "syscall.error": rng.choice(("EAGAIN", "ENOENT")) if fails else "",
        "file.path": rng.choice(("/etc/hosts", "/var/log/a.log", "/srv/<b>bold</b>")) if name == "openat" else "",
        "text": f"{PROCESSES[pid][0]}[{pid}] {name}() = {-11 if fails else 7} <{ns / 1e9:.6f}>"})


def rpc_call(rng, at):
    method = rng.choice(list(METHODS))
    pid = rng.choice(METHODS[method])
    side = "client" if pid == METHODS[method][0] else "server"
    slow = 30 * SECOND < at % LENGTH_NS < 36 * SECOND
    ns = latency(rng, 3_000_000, slow and rng.random() < 0.5)
    fails = rng.random() < 0.04
    status = "UNAVAILABLE" if fails else "OK"
    return dict(base(rng, at, pid, "rpc.call"), **{
        "rpc.side": side, "rpc.name": method, "rpc.method": method.split()[0], "rpc.latency": ns,
        "rpc.status": status,
        "rpc.error": fails, "rpc.id": f"{rng.getrandbits(48):012x}",
        "text": f"{PROCESSES[pid][0]}[{pid}] {method} {status} {ns / 1e6:.2f}ms"})


def net_drop(rng, at):
    reason = rng.choice(list(REASONS))
    pid = rng.choice(list(PROCESSES))
    size = rng.choice((66, 74, 1514))
    return dict(base(rng, at, pid, "net.drop"), **{
        "drop.reason": reason, "drop.func": REASONS[reason], "net.len": size, "net.iface": "eth0",
        "text": f"xx drop ({reason}) at {REASONS[reason]} eth0: 10.0.0.9:443 -> {PROCESSES[pid][2]}:40000 tcp"})


def net_flow(rng, at):
    client, server = rng.choice([pair for pair in METHODS.values()] + [(1301, 1200), (1302, 900)])
    sent = rng.randrange(100, 90_000)
    return dict(base(rng, at, client, "net.flow"), **{
        "client.ip": PROCESSES[client][2], "server.ip": PROCESSES[server][2], "client.port": 40000 + client,
        "server.port": 8000 + server, "fd.l4proto": "tcp", "net.iface": "eth0", "flow.bytes": sent,
        "flow.packets": sent // 1000 + 1, "flow.out": rng.random() < 0.6,
        "text": f"closed -> eth0: {PROCESSES[client][2]} -> {PROCESSES[server][2]} tcp {sent} B"})


def cpu_sample(rng, at):
    pid = rng.choice((812, 813, 900, 1001, 1001, 1001, 1200))
    stack = STACKS[-1] if pid < 900 else rng.choice(STACKS[:-1])
    return dict(base(rng, at, pid, "cpu.sample"), **{
        "stack.value": 20_408_163, "stack": stack, "stack.function": stack,
        "text": f"cpu 1 runs {PROCESSES[pid][0]}[{pid}] in {stack[-1]}"})


def cpu_block(rng, at):
    pid = rng.choice((812, 900, 1001, 1200))
    kind = rng.choice(("poll", "futex", "disk", "socket read", "cpu"))
    ns = latency(rng, 8_000_000, False)
    stack = [*rng.choice(STACKS[:3]), "schedule"]
    return dict(base(rng, at, pid, "cpu.block"), **{
        "block.kind": kind, "stack.value": ns, "stack.wait": ns if kind == "cpu" else ns // 20,
        "stack": stack, "stack.function": stack,
        "text": f"{PROCESSES[pid][0]}[{pid}] off for {ns / 1e6:.3f} ms"})


MAKERS = [(sys_exit, 3000), (rpc_call, 800), (net_drop, 120), (net_flow, 300), (cpu_sample, 900), (cpu_block, 600)]


def minute(number, begin=BEGIN_NS):
    """Events of one minute, by time, without `seq`."""
    rng = random.Random(number)
    start = begin + number * LENGTH_NS
    events = []
    for make, count in MAKERS:
        events += [make(rng, start + rng.randrange(LENGTH_NS)) for _ in range(count)]
    return sorted(events, key=lambda e: e["time"])


# ---- filters ----

TOKEN = re.compile(r"""\s*("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[()]|,|!=|==|<=|>=|=|<|>|[^\s()=!<>,"']+)""")
UNITS = {"ns": 1, "us": 1000, "ms": 10**6, "s": 10**9}


class FilterError(Exception):
    def __init__(self, text, offset):
        super().__init__(text)
        self.offset = offset


def number(text):
    match = re.fullmatch(r"(-?\d+)(ns|us|ms|s|k)?", text)
    return int(match[1]) * UNITS.get(match[2], 1000 if match[2] == "k" else 1) if match else None


def unquote(word):
    if word[:1] not in "\"'":
        return word
    return re.sub(r"\\x([0-9a-f]{2})|\\(.)", lambda m: chr(int(m[1], 16)) if m[1] else m[2], word[1:-1])


def compare(have, op, want):
    if isinstance(have, list):
        found = any(compare(one, "=" if op == "!=" else op, want) for one in have)
        return found != (op == "!=")
    if isinstance(have, bool):
        have = str(have).lower()
    if isinstance(have, int):
        as_number = number(want)
        if as_number is None:
            return op == "!="
        return {"=": have == as_number, "==": have == as_number, "!=": have != as_number, "<": have < as_number,
                "<=": have <= as_number, ">": have > as_number, ">=": have >= as_number}[op]
    return {"=": have == want, "==": have == want, "!=": have != want, "contains": want in have,
            "startswith": have.startswith(want)}.get(op, False)


class Parser:
    def __init__(self, text, fields):
        self.text, self.fields, self.tokens, at = text, fields, [], 0
        while text[at:].strip():
            match = TOKEN.match(text, at)
            if not match:
                raise FilterError("not a filter", at)
            self.tokens.append((match[1], len(text[:match.start(1)].encode())))
            at = match.end()
        self.at = 0

    def peek(self):
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self, what=None):
        if self.at >= len(self.tokens):
            raise FilterError(f"the filter ends where {what or 'a field'} is expected", len(self.text.encode()))
        word, offset = self.tokens[self.at]
        if what and word != what:
            raise FilterError(f"expected {what}", offset)
        self.at += 1
        return word

    def expr(self):
        terms = [self.term()]
        while self.peek() == "or":
            self.take()
            terms.append(self.term())
        return lambda e: any(t(e) for t in terms)

    def term(self):
        factors = [self.factor()]
        while self.peek() == "and":
            self.take()
            factors.append(self.factor())
        return lambda e: all(f(e) for f in factors)

    def factor(self):
        if self.peek() == "not":
            self.take()
            inner = self.factor()
            return lambda e: not inner(e)
        if self.peek() == "(":
            self.take()
            inner = self.expr()
            self.take(")")
            return inner
        return self.check()

    def check(self):
        offset = self.tokens[self.at][1] if self.at < len(self.tokens) else len(self.text.encode())
        field = self.take()
        if field not in self.fields:
            raise FilterError(f"{field} is not a field", offset)
        op = self.peek()
        if op == "in":
            self.take()
            self.take("(")
            values = [unquote(self.take())]
            while self.peek() == ",":
                self.take()
                values.append(unquote(self.take()))
            self.take(")")
            return lambda e: field in e and any(compare(e[field], "=", v) for v in values)
        if op in ("=", "==", "!=", "<", "<=", ">", ">=", "contains", "startswith"):
            self.take()
            want = unquote(self.take("a value") if self.at >= len(self.tokens) else self.take())
            return lambda e: field in e and compare(e[field], op, want)
        return lambda e: bool(e.get(field))


def compile_filter(text, fields):
    if not text.strip():
        return lambda e: True
    parser = Parser(text, fields)
    ret = parser.expr()
    if parser.at < len(parser.tokens):
        raise FilterError("expected and, or", parser.tokens[parser.at][1])
    return ret
