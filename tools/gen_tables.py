#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes C of the system-call tables: what the kernel side reads for each call, and names for the decoder.

  gen_tables.py bpf TABLES ARCH   header for the BPF programs (plans by ABI and number)
  gen_tables.py user TABLES       source for the decoder (calls, structures, names)
"""
import collections
import os
import re
import sys

NR_MAX = 512
ABIS = ("x86_64", "i386", "arm64")
SCALARS = ("int uint long ulong u64 hex ptr fd ufd dirfd pid spid uid gid sig mode fmode size off dev sockopt "
           "u32v").split()
CLASSES = ("other file net ipc memory process sleep system signal user time io-read io-write io-other wait").split()
MEMBERS = ("i8 i16 i32 i64 u8 u16 u32 u64 h8 h16 h32 h64 ptr dev mode mode2 u64mode sigset sig sig64 fd uid gid "
           "wstatus rlim time_nsec sighandler ip4 port utime utimeval date ticks caps termios termio error mac "
           "addr c x more").split()
RET, NONE = 6, 7
# Calls that change what a process is: their records go through the lossless lane.
LIFE = set("fork vfork clone clone3 execve execveat exit exit_group setuid setgid setreuid setregid setresuid "
           "setresgid setgroups chroot chdir fchdir setsid setpgid unshare setns capset prctl pivot_root".split())
NO_RETURN = {"exit", "exit_group"}
BIRTH = {"fork", "vfork", "clone", "clone3"}
# What the kernel knows about the file or process of a call: op and the argument that names it.
CONTEXT = {
    "connect": ("SOCK", 0), "accept": ("SOCK", RET), "accept4": ("SOCK", RET), "sendto": ("SOCK", 0),
    "recvfrom": ("SOCK", 0), "sendmsg": ("SOCK", 0), "recvmsg": ("SOCK", 0), "socketpair": ("PAIR", 3),
    "open": ("FILE", RET), "openat": ("FILE", RET), "openat2": ("FILE", RET), "creat": ("FILE", RET),
    "open_by_handle_at": ("FILE", RET), "pipe": ("PAIR", 0), "pipe2": ("PAIR", 0),
    "execve": ("PROC", NONE), "execveat": ("PROC", NONE), "fork": ("PROC", NONE), "vfork": ("PROC", NONE),
    "clone": ("PROC", NONE), "clone3": ("PROC", NONE), "brk": ("VM", NONE), "mmap": ("VM", NONE),
    "munmap": ("VM", NONE),
}
CONTEXT_OPS = {op for op, _ in CONTEXT.values()}


class TableError(Exception):
    pass


def need(condition, where, message):
    if not condition:
        raise TableError(f"{where}: {message}")


def lines_of(path):
    """Lines without comments; a line that starts with a tab goes on with the one before."""
    out = []
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            if line.startswith("\t"):
                out[-1] = (out[-1][0], out[-1][1] + " " + line.strip())
            else:
                out.append((f"{os.path.basename(path)}:{number}", line))
    return out


SOCKOPTS = {"SOL_SOCKET": "so", "SOL_IP": "ipopt", "SOL_IPV6": "ip6opt", "SOL_TCP": "tcpopt",
            "SOL_NETLINK": "nlopt", "SOL_PACKET": "packetopt", "SOL_UDP": "udpopt", "SOL_RAW": "rawopt",
            "SOL_ICMPV6": "icmp6opt"}


class Ioctl:
    """NAME NUMBER [KIND]: - takes nothing; without a kind its argument is an address."""
    def __init__(self, where, line):
        fields = line.split("\t")
        need(len(fields) in (2, 3), where, "two or three columns")
        self.where, self.name, self.number = where, fields[0], int(fields[1], 0)
        self.kind = fields[2] if len(fields) == 3 else None


class Xlat:
    def __init__(self, where, line):
        kind, name, *items = line.split()
        need(kind in ("flags", "enum", "base", "low", "perm", "futex"), where, f"kind {kind}")
        self.kind, self.name = kind, name
        self.vals, self.unknown = [], None
        if items and items[-1].endswith("??"):
            self.unknown = items.pop()
        for item in items:
            m = re.fullmatch(r"((?:1<<)?\w+)=(0x[0-9a-fA-F]+|\d+)", item)
            need(m, where, f"not NAME=VALUE: {item}")
            self.vals.append((m[1], int(m[2], 0)))
        if kind in ("flags", "low", "perm"):
            self.check_order(where)

    def check_order(self, where):
        for i, (name, value) in enumerate(self.vals):
            for later, whole in self.vals[i + 1:]:
                need(not value or value == whole or whole & value != value, where, f"{later} behind its part {name}")


Member = collections.namedtuple("Member", "name kind size ref off n short cond answer")


class Struct:
    def __init__(self, where, line):
        self.name, size, *members = line.split()
        self.same32 = size.endswith("=")    # 32-bit programs have the same layout
        self.size = int(size.rstrip("="))
        self.members = [self.member(where, text) for text in members]

    @staticmethod
    def member(where, text):
        m = re.fullmatch(r"([\w.]*):(c\d+|x=\w+/\d|\w+(?:/4)?)(?:\*(\d+))?@(\d+)"
                         r"(?:\?([^!>]+(?:!=[^!>]+)?))?(!?)(>?)", text)
        need(m, where, f"not NAME:KIND@OFFSET: {text}")
        kind, size, ref = m[2], 0, None
        if re.fullmatch(r"c\d+", kind):
            kind, size = "c", int(kind[1:])
        elif kind.startswith("x="):
            ref, size = kind[2:].split("/")
            kind, size = "x", int(size)
        elif kind.endswith("/4"):
            kind, size = kind[:-2], 4
        need(kind in MEMBERS, where, f"kind {kind}")
        return Member(m[1], kind, size, ref, int(m[4]), int(m[3] or 0), bool(m[6]), condition(where, m[5]),
                      bool(m[7]))


def condition(where, text):
    """OFFSET/SIZE[&MASK](=|!=)VALUE as (offset, size, mask, value, negated); all zero without one."""
    if not text:
        return (0, 0, 0, 0, False)
    m = re.fullmatch(r"(\d+)/(\d)(?:&(\w+))?(!?=)(\w+)", text)
    need(m, where, f"not OFFSET/SIZE&MASK=VALUE: {text}")
    return (int(m[1]), int(m[2]), int(m[3] or "0xffffffffffffffff", 0), int(m[5], 0), m[4] == "!=")


class Arg:
    def __init__(self, where, text, names, reg=None):
        self.name, kind = text.split(":")
        self.reg = names.index(self.name) if reg is None else reg
        word, _, rest = kind.partition("=")
        self.ref = self.count = None
        self.kind = word
        parts = rest.split(",") if rest else []
        if word in SCALARS or word in ("path", "str", "strv", "msg", "omsg", "sigframe"):
            need(not parts, where, f"{kind} takes nothing")
        elif word in ("x", "s", "o", "io", "rest"):
            self.ref = parts[0]
        elif word in ("a", "oa"):
            self.ref, self.count = parts
        else:
            need(word in COUNTED, where, f"kind {kind}")
            self.count = parts[0]
        self.n = NONE
        if self.count is not None:
            need(self.count == "ret" or self.count in names, where, f"no argument {self.count}")
            self.n = RET if self.count == "ret" else names.index(self.count)


COUNTED = ("in out outp hexout strout dirents cpus nodes onodes ival oval sa osa iov oiov mmsg ommsg fdset").split()


class Call:
    def __init__(self, where, line):
        self.where = where
        fields = line.split("\t")
        need(len(fields) in (6, 7), where, "six or seven columns")
        self.name, x86_64, arm64, i386, self.cls, self.ret = fields[:6]
        self.nr = {"x86_64": x86_64, "arm64": arm64, "i386": i386}
        texts = fields[6].split() if len(fields) == 7 else []
        names = [t.split(":")[0] for t in texts]
        need(len(texts) <= 6, where, "more than six arguments")
        need(self.cls in CLASSES, where, f"class {self.cls}")
        self.texts = dict(t.split(":") for t in texts)
        self.args = [Arg(where, t, names, i) for i, t in enumerate(texts)]
        self.forms = []     # of one call: sorted by value
        self.selector = ((), 0xffffffff)

    def form_args(self, where, words):
        names = list(self.texts)
        out = []
        for word in words:
            name, _, kind = word.partition(":")
            need(name in names, where, f"{self.name} has no argument {name}")
            out.append(Arg(where, f"{name}:{kind or self.texts[name]}", names))
        return out


class Form:
    """Arguments of a call, and names of its result, for one value of one or two of them."""
    def __init__(self, value, args, ret=None):
        self.value, self.args, self.ret = value, args, ret


class Tables:
    def __init__(self, folder):
        self.xlats = [Xlat(*row) for row in lines_of(os.path.join(folder, "xlat.in"))]
        self.structs = [Struct(*row) for row in lines_of(os.path.join(folder, "structs.in"))]
        self.calls = [Call(*row) for row in lines_of(os.path.join(folder, "syscalls.tsv"))]
        self.xlat_ids = {x.name: i for i, x in enumerate(self.xlats)}
        self.struct_ids = {s.name: i for i, s in enumerate(self.structs)}
        need(len(self.xlat_ids) == len(self.xlats), "xlat.in", "a name twice")
        need(len(self.struct_ids) == len(self.structs), "structs.in", "a name twice")
        self.by_nr = {abi: self.numbers(abi) for abi in ABIS}
        self.ioctls = [Ioctl(*row) for row in lines_of(os.path.join(folder, "ioctls.tsv"))]
        self.add_ioctl_names()
        for where, line in lines_of(os.path.join(folder, "forms.tsv")):
            self.add_forms(where, *line.split("\t"))
        self.add_ioctl_forms()
        self.check_refs()

    def numbers(self, abi):
        out = {}
        for i, call in enumerate(self.calls):
            if call.nr[abi] == "-":
                continue
            nr = int(call.nr[abi])
            need(nr < NR_MAX, call.where, f"number {nr}")
            need(nr not in out, call.where, f"{abi} number {nr} is taken")
            out[nr] = i
        return out

    def xlat(self, name, where="", arch=None):
        for full in ([f"{name}@{arch}"] if arch else []) + [name]:
            if full in self.xlat_ids:
                return self.xlat_ids[full]
        raise TableError(f"{where}: no names {name}")

    def add_ioctl_names(self):
        x = Xlat("ioctls.tsv", "enum ioctl")
        x.vals = [(row.name.replace("_or_", " or "), row.number) for row in self.ioctls]
        need(len({v for _, v in x.vals}) == len(x.vals), "ioctls.tsv", "a number twice")
        self.xlat_ids[x.name] = len(self.xlats)
        self.xlats.append(x)

    def selector_of(self, where, call, text):
        """NAME[&MASK] or NAME,NAME as (registers, mask)."""
        words, _, mask = text.partition("&")
        names = words.split(",")
        need(len(names) <= 2 and all(n in call.texts for n in names), where, f"selector {text}")
        return tuple(list(call.texts).index(n) for n in names), int(mask or "0xffffffff", 0)

    def value_of(self, where, call, regs, text):
        """A name of the selector's table, a number, or LEVEL/NAME."""
        parts, tables = text.split("/"), []
        need(len(parts) == len(regs), where, f"value {text}")
        for reg in regs:
            arg = call.args[reg]
            tables.append(SOCKOPTS.get(parts[0]) if arg.kind == "sockopt" else arg.ref)
        out = 0
        for part, table in zip(parts, tables):
            vals = dict(self.xlats[self.xlat(table, where)].vals) if table else {}
            need(part in vals or re.fullmatch(r"(0x)?[0-9a-f]+", part), where, f"no value {part}")
            number = vals[part] if part in vals else int(part, 0)
            out = out << 16 | number
        return out & 0xffffffff

    def add_forms(self, where, names, selector, values, args, ret=None):
        for name in names.split(","):
            for call in (c for c in self.calls if c.name == name):
                call.selector = self.selector_of(where, call, selector)
                for value in values.split(","):
                    form = Form(self.value_of(where, call, call.selector[0], value),
                                call.form_args(where, args.split()), ret and ret.removeprefix("x="))
                    need(all(f.value != form.value for f in call.forms), where, f"{name} {value} twice")
                    call.forms.append(form)
                call.forms.sort(key=lambda f: f.value)

    def add_ioctl_forms(self):
        for row in self.ioctls:
            if row.kind:
                words = ["fd", "cmd"] + ([] if row.kind == "-" else [f"arg:{row.kind}"])
                call = next(c for c in self.calls if c.name == "ioctl")
                call.selector = ((1,), 0xffffffff)
                call.forms.append(Form(row.number, call.form_args(row.where, words)))
                call.forms.sort(key=lambda f: f.value)

    def struct(self, name, where="", arch="x86_64"):
        for full in (f"{name}@{arch}", name):
            if full in self.struct_ids:
                return self.struct_ids[full]
        raise TableError(f"{where}: no structure {name}")

    def struct32(self, name, where=""):
        """As 32-bit programs have it; None when that is not known."""
        if f"{name}@i386" in self.struct_ids:
            return self.struct_ids[f"{name}@i386"]
        index = self.struct(name, where)
        return index if self.structs[index].same32 else None

    def check_refs(self):
        for call in self.calls:
            for arg in call.args + [a for f in call.forms for a in f.args]:
                if arg.kind == "x":
                    self.xlat(arg.ref, call.where)
                elif arg.ref:
                    self.struct(arg.ref, call.where)
            if call.ret.startswith("x="):
                self.xlat(call.ret[2:], call.where)
            else:
                need(call.ret in SCALARS or call.ret == "none", call.where, f"ret {call.ret}")
        for s in self.structs:
            for m in s.members:
                if m.kind == "x":
                    self.xlat(m.ref, f"structs.in {s.name}")


# ---- the kernel side ----

IN, OUT, KEEP, BROKEN = 1, 2, 4, 8
OPS = {  # kind: (op, when)
    "path": ("STR", IN), "str": ("STR", IN), "strv": ("STRV", IN), "in": ("DATA", IN), "out": ("DATA", OUT),
    "outp": ("DATA_LENP", OUT), "sa": ("SOCKADDR", IN), "osa": ("SOCKADDR_LENP", OUT), "iov": ("IOV", IN),
    "oiov": ("IOV", IN | OUT), "msg": ("MSG", IN), "omsg": ("MSG", IN | OUT), "mmsg": ("MMSG", IN),
    "ommsg": ("MMSG", OUT),
    "fdset": ("FDSET", IN | OUT), "nodes": ("NODES", IN), "onodes": ("NODES", OUT),
    "s": ("MEM", IN), "o": ("MEM", OUT), "io": ("MEM", IN | OUT),
    "rest": ("MEM", BROKEN), "a": ("ARRAY", IN | OUT), "oa": ("ARRAY", OUT), "hexout": ("DATA", OUT),
    "strout": ("DATA", OUT), "dirents": ("DIRENTS", OUT), "ival": ("DATA", IN), "oval": ("DATA_LENP", OUT),
}
LENGTHS = ("accept", "accept4", "getsockname", "getpeername")


def kept(call, arg):
    """Is another one's by the time the call is left: the kernel writes over it, or its maker goes on."""
    time = arg.kind == "io" and arg.ref in ("timeval", "timespec", "timespec64")
    length = call.name in LENGTHS and arg.ref == "socklen"
    return arg.kind == "fdset" or time or length or call.name == "clone3"


def arg_op(call, arg):
    """(operation, when) or None."""
    if arg.kind == "cpus":
        return "MEM_N", OUT if arg.n == RET else IN
    return OPS.get(arg.kind)


def special_ops(call, abi):
    """What has to be noted at the entry because it is gone when the call is left."""
    if call.name in ("execve", "execveat"):
        return [("ADDR", KEEP, list(call.texts).index("envp"), NONE, 0)]
    if call.name == "rt_sigreturn" and abi != "i386":
        return [("SIGMASK", KEEP, 0, NONE, 8)]
    return []


def plan_ops(tables, call, abi, args=None):
    arch = "arm64" if abi == "arm64" else "x86_64"
    ops = special_ops(call, abi)
    for arg in call.args if args is None else args:
        i = arg.reg
        if not arg_op(call, arg):
            continue
        op, when = arg_op(call, arg)
        when |= KEEP if kept(call, arg) else 0
        struct = None
        if arg.ref:
            struct = tables.struct32(arg.ref) if abi == "i386" else tables.struct(arg.ref, call.where, arch)
            if struct is None:
                continue
        size = tables.structs[struct].size if arg.ref else 0
        if arg.kind == "dirents":   # offset of d_reclen
            size = 8 if (abi, call.name) == ("i386", "getdents") else 16
        ops.append((op, when, i, arg.n, size))
    if call.name in CONTEXT:
        op, arg = CONTEXT[call.name]
        ops.append((op, OUT, arg, NONE, 0))
    need(len(ops) <= 6, call.where, "more than six things to read")
    return ops


def emit_bpf(tables, arch):
    abis = ("x86_64", "i386") if arch == "x86" else ("arm64",)
    print("/* Made by tools/gen_tables.py from tables/. */")
    forms, lines = [], []
    for slot, abi in enumerate(abis):
        for nr, index in sorted(tables.by_nr[abi].items()):
            call = tables.calls[index]
            ops = plan_ops(tables, call, abi)
            first = len(forms)
            mine = [(form.value, plan_ops(tables, call, abi, form.args)) for form in call.forms]
            forms += [(value, other, len(call.args)) for value, other in mine if other != ops]
            flags = ["SYS_PLAN_KNOWN"]
            if call.name in LIFE:
                flags.append("SYS_PLAN_LIFE")
            if call.name in BIRTH:
                flags.append("SYS_PLAN_BIRTH")
            if call.name in NO_RETURN:
                flags.append("SYS_PLAN_NO_RETURN")
            if call.name in ("execve", "execveat"):
                flags.append("SYS_PLAN_EXEC")
            if call.name in ("rt_sigreturn", "sigreturn"):
                flags.append("SYS_PLAN_NO_ARGS")
            if len(forms) > first:
                flags.append("SYS_PLAN_FORMS")
            regs, mask = call.selector
            by = f"{{ {regs[0] if regs else 0}, {regs[-1] if regs else 0} }}, {mask:#x}"
            select = f"{first}, {len(forms) - first}, {by}"
            lines.append(plan_text(slot * NR_MAX + nr, len(call.args), ops, " | ".join(flags), select))
    print("#define SYS_PLANS \\")
    print(" \\\n".join(lines))
    print(f"#define SYS_N_FORMS {len(forms)}")
    print("#define SYS_FORMS \\")
    print(" \\\n".join(plan_text(i, n, ops, "SYS_PLAN_KNOWN", f"0, 0, {{ 0, 0 }}, {value:#x}")
                        for i, (value, ops, n) in enumerate(forms)))
    print()


def plan_text(at, n_args, ops, flags, select):
    text = ", ".join(f"{{ SYS_OP_{op}, {when}, {arg}, {n}, {size} }}" for op, when, arg, n, size in ops)
    n_mem = sum(op not in CONTEXT_OPS for op, *_ in ops)
    return f"\t[{at}] = {{ {n_args}, {n_mem}, {len(ops)}, {flags}, {select}, {{ {text} }} }},"


# ---- the decoder's side ----

def c_string(s):
    return "NULL" if s is None else '"' + s.replace("\\", "\\\\").replace('"', '\\"') + '"'


def emit_xlats(tables):
    for i, x in enumerate(tables.xlats):
        print(f"static const struct xlat_val xv{i}[] = {{")
        for name, value in x.vals:
            print(f"\t{{ {value:#x}, {c_string(name)} }},")
        print("};")
    print("const struct sys_xlat sys_xlats[] = {")
    for i, x in enumerate(tables.xlats):
        base = x.name.split("@")[0]
        arm = tables.xlat(base, arch="arm64")
        flags = "true" if x.kind in ("flags", "low", "perm") else "false"
        print(f"\t{{ {{ {c_string(base)}, xv{i}, {len(x.vals)}, {flags} }}, SYS_XLAT_{x.kind.upper()}, {arm}, "
              f"{c_string(x.unknown)} }},")
    print("};")
    print(f"const unsigned sys_n_xlats = {len(tables.xlats)};")
    for name in ("af", "errno", "icmp6opt", "ip6opt", "ipopt", "ipproto", "mpol_flags", "msg", "netlink", "nlopt",
                 "packetopt", "poll", "rawopt", "signum", "so", "sockflags", "tcpopt", "udpopt"):
        print(f"const struct sys_xlat *const sys_xlat_{name} = &sys_xlats[{tables.xlat_ids[name]}];")


def emit_structs(tables):
    for i, s in enumerate(tables.structs):
        print(f"static const struct sys_member sm{i}[] = {{")
        for m in s.members:
            x = tables.xlat(m.ref) if m.kind == "x" else 0
            off, size, mask, value, negated = m.cond
            print(f"\t{{ {c_string(m.name)}, SYS_MEMBER_{m.kind.upper()}, {m.size}, {m.off}, {x}, {m.n}, "
                  f"{str(m.short).lower()}, {str(m.answer).lower()}, "
                  f"{{ {off}, {size}, {str(negated).lower()}, {mask:#x}, {value:#x} }} }},")
        print("};")
    print("const struct sys_struct sys_structs[] = {")
    for i, s in enumerate(tables.structs):
        base = s.name.split("@")[0]
        arm = tables.struct(base, arch="arm64")
        narrow = tables.struct32(base)
        short = str(any(m.short for m in s.members)).lower()
        print(f"\t{{ {c_string(base)}, sm{i}, {len(s.members)}, {s.size}, {arm}, "
              f"{'SYS_STRUCT_NONE' if narrow is None else narrow}, {short} }},")
    print("};")
    print(f"const unsigned sys_n_structs = {len(tables.structs)};")


def kind_name(kind):
    return "SYS_ARG_" + {"x": "XLAT", "s": "MEM", "o": "MEM_OUT", "io": "MEM_IO", "rest": "MEM_REST",
                         "a": "ARRAY", "oa": "ARRAY_OUT",
                         "in": "DATA", "out": "DATA_OUT", "outp": "DATA_LENP", "hexout": "DATA_HEX",
                         "strout": "DATA_STR", "ival": "OPT_IN", "oval": "OPT_OUT"}.get(kind, kind.upper())


def emit_args(tables, args):
    out = []
    for arg in args:
        ref = 0
        if arg.kind == "x":
            ref = tables.xlat(arg.ref)
        elif arg.ref:
            ref = tables.struct(arg.ref)
        out.append(f"{{ {c_string(arg.name)}, {kind_name(arg.kind)}, {arg.n}, {ref}, {arg.reg} }}")
    return ", ".join(out)


def descriptor_of(call):
    """Register of the descriptor that a call is about."""
    regs = [arg.reg for arg in call.args if arg.kind in ("fd", "dirfd")]
    return "SYS_N_RET" if call.ret == "fd" else regs[0] if regs else "SYS_N_NONE"


def emit_forms(tables):
    """Returns {call: index of its first form}."""
    first, n = {}, 0
    print("const struct sys_form sys_forms[] = {")
    for call in tables.calls:
        first[call] = n
        for form in call.forms:
            ret = tables.xlat(form.ret) + 1 if form.ret else 0
            print(f"\t{{ {form.value:#x}, {len(form.args)}, {ret}, {{ {emit_args(tables, form.args)} }} }},")
            n += 1
    print("};")
    return first


def emit_user(tables):
    print("/* Made by tools/gen_tables.py from tables/. */")
    print('#include <stddef.h>\n#include "probes/sys/sys_plan_wire.h"\n#include "probes/sys/sys_table.h"\n')
    emit_xlats(tables)
    emit_structs(tables)
    first_form = emit_forms(tables)
    print("const struct sys_call sys_calls[] = {")
    for call in tables.calls:
        ret, ref = call.ret, 0
        if ret.startswith("x="):
            ret, ref = "x", tables.xlat(ret[2:])
        flags = []
        for arg in call.args:
            if arg.kind == "path":
                flags.append("SYS_CALL_PATH")
            if arg.kind in ("fd", "dirfd"):
                flags.append("SYS_CALL_DESC")
        if call.name in LIFE:
            flags.append("SYS_CALL_LIFE")
        bits = " | ".join(sorted(set(flags))) or "0"
        regs, mask = call.selector
        print(f"\t{{ {c_string(call.name)}, SYS_CLASS_{call.cls.upper().replace('-', '_')}, {kind_name(ret)}, "
              f"{len(call.args)}, {bits}, {ref}, {first_form[call]}, {len(call.forms)}, {descriptor_of(call)}, "
              f"{{ {regs[0] if regs else 0}, {regs[-1] if regs else 0} }}, {mask:#x}, "
              f"{{ {emit_args(tables, call.args)} }} }},")
    print("};")
    print(f"const unsigned sys_n_calls = {len(tables.calls)};")
    print(f"const uint16_t sys_numbers[][{NR_MAX}] = {{")
    for abi in ABIS:
        print("\t{")
        for nr, index in sorted(tables.by_nr[abi].items()):
            print(f"\t\t[{nr}] = {index + 1},")
        print("\t},")
    print("};")


def emit_ioctls(tables):
    """Rows of a test: what the uapi headers say of each name, where they have it."""
    print("/* Made by tools/gen_tables.py from tables/. */")
    for row in tables.ioctls:
        for name in row.name.split("_or_"):
            print(f"#ifdef {name}\n{{ {c_string(name)}, {name}, {row.number:#x} }},\n#endif")


def main(argv):
    try:
        tables = Tables(argv[2])
        if argv[1] == "bpf":
            emit_bpf(tables, argv[3])
        elif argv[1] == "ioctls":
            emit_ioctls(tables)
        else:
            emit_user(tables)
    except TableError as e:
        sys.exit(f"gen_tables.py: {e}")


if __name__ == "__main__":
    main(sys.argv)
