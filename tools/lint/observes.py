# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde changes nothing on the host: a program whose return value decides about a packet or socket returns "pass" on
every path, and no program writes to its context or calls a helper that writes to packets, sockets or processes."""
import collections
import re

from common import Finding, c_files, match_lines, text

# Kinds of programs whose return value the kernel acts on: the one value to return, and its definition.
PASS = {"tc": ("TC_NEXT", "(-1)"), "xdp": ("XDP_PASS", "2"), "cgroup": ("1", None), "sockops": ("1", None)}
# Kinds whose return value has no effect, and sections of data.
OTHER = ("fentry", "fexit", "iter", "iter.s", "perf_event", "raw_tp", "tp_btf", "uprobe", "uprobe.multi",
         "uretprobe", "uretprobe.multi", ".maps", "license")

HELPERS = (r"\bbpf_(override_return|probe_write_user|send_signal\w*|skb_(store_bytes|change_\w+|adjust_room|vlan_\w+|"
           r"set_\w+)|xdp_(adjust_\w+|store_bytes)|l[34]_csum_\w+|(clone_|sk_)?redirect\w*|set_hash\w*|setsockopt|"
           r"bind|sk_assign|msg_\w+|dynptr_write|set_retval)\s*\(")
CONTEXT = r"\b(?:ctx|skb|xdp)->(\w+)(?:\[[^]]*\])?\s*(?:[-+|&^]|<<|>>)?=(?!=)"
PROGRAM = r'\b(?:SEC|PROGRAM)\("([^"]*)"(?:\)\nint (\w+)|, \w+,\s+(\w+)\([^()]*\),\s[^,]*\)$)?'
FUNCTION = r"^(?:static __always_inline )?int (\w+)\([^;{]*\)\n\{\n((?:[^}].*\n|\n)*)\}"


def functions(paths):
    """{name: [(path, line of the body, body)]} of those that return int; static ones may share a name."""
    found = collections.defaultdict(list)
    for path in paths:
        for line, m in match_lines(path, FUNCTION):
            found[m.group(1)].append((path, line + m.group(0).count("\n", 0, m.start(2) - m.start()), m.group(2)))
    return found


def check_returns(name, kind, funcs, seen):
    """Follows `return f(...)` from the program @name."""
    if name in seen:
        return
    seen.add(name)
    for path, first, body in funcs[name]:
        for m in re.finditer(r"\breturn\b\s*([^;]*);", body):
            call = re.fullmatch(r"(\w+)\([^()]*\)", m.group(1))
            if call and call.group(1) in funcs:
                yield from check_returns(call.group(1), kind, funcs, seen)
            elif m.group(1) != PASS[kind][0]:
                yield Finding(path, first + body.count("\n", 0, m.start()),
                              f"{name}() returns {m.group(1)} from a {kind} program: only {PASS[kind][0]} is allowed")


def check_sections(path, funcs):
    """Names of sections are in strings, which code() blanks. The third argument of PROGRAM() is the call."""
    for line, m in match_lines(path, PROGRAM, text(path)):
        kind, name = m.group(1).split("/")[0], m.group(2) or m.group(3)
        if kind in PASS and name in funcs:
            yield from check_returns(name, kind, funcs, set())
        elif kind in PASS:
            yield Finding(path, line, f"{kind} program: expected `int NAME(...)` on the next line")
        elif kind not in OTHER:
            yield Finding(path, line, f"program of kind {kind}: its return value may affect the host")


def check_text(path):
    for line, m in match_lines(path, HELPERS):
        yield Finding(path, line, f"{m.group(0)[:-1].rstrip()}() changes the host")
    for line, m in match_lines(path, CONTEXT):
        yield Finding(path, line, f"assignment to {m.group(1)} of the context")
    for name, value in filter(lambda row: row[1], PASS.values()):
        for line, m in match_lines(path, rf"^#define {name}\s+(\S+)"):
            if m.group(1) != value:
                yield Finding(path, line, f"{name} is {m.group(1)}, expected {value}")


def check():
    paths = c_files("bpf/", "probes/", suffix=(".bpf.c", ".bpf.h"))
    funcs = functions(paths)
    for path in paths:
        yield from check_sections(path, funcs)
        yield from check_text(path)
