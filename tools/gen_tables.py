#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes C of the system-call tables: what the kernel side reads for each call, and names for the decoder.

  gen_tables.py bpf TABLES ARCH   header for the BPF programs (plans by ABI and number)
  gen_tables.py user TABLES       source for the decoder (calls, structures, names)
"""
import os
import re
import sys

NR_MAX = 512
ABIS = ("x86_64", "i386", "arm64")
SCALARS = ("int uint long ulong u64 hex ptr fd ufd dirfd pid spid uid gid sig mode size off dev fcntl sockopt "
           "u32v").split()
CLASSES = ("other file net ipc memory process sleep system signal user time io-read io-write io-other wait").split()
MEMBERS = ("i8 i16 i32 i64 u8 u16 u32 u64 h32 h64 dev mode mode2 u64mode sigset sig sig64 fd uid gid wstatus rlim "
           "time_nsec sighandler ip4 c x").split()
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


class Xlat:
    def __init__(self, where, line):
        kind, name, *items = line.split()
        need(kind in ("flags", "enum", "base", "low", "perm", "futex"), where, f"kind {kind}")
        self.kind, self.name = kind, name
        self.vals = []
        for item in items:
            m = re.fullmatch(r"(\w+)=(0x[0-9a-fA-F]+|\d+)", item)
            need(m, where, f"not NAME=VALUE: {item}")
            self.vals.append((m[1], int(m[2], 0)))
        if kind in ("flags", "low", "perm"):  # several bits before one of them: O_SYNC before O_DSYNC
            self.vals.sort(key=lambda v: -bin(v[1]).count("1") if v[1] else 0)


class Struct:
    def __init__(self, where, line):
        self.name, size, *members = line.split()
        self.same32 = size.endswith("=")    # 32-bit programs have the same layout
        self.size = int(size.rstrip("="))
        self.members = []
        for text in members:
            m = re.fullmatch(r"([\w.]*):(c\d+|x=\w+/\d|\w+(?:/4)?)@(\d+)", text)
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
            self.members.append((m[1], kind, size, ref, int(m[3])))


class Arg:
    def __init__(self, where, text, names):
        self.name, kind = text.split(":")
        word, _, rest = kind.partition("=")
        self.ref = self.count = None
        self.kind = word
        parts = rest.split(",") if rest else []
        if word in SCALARS or word in ("path", "str", "strv", "msg", "omsg"):
            need(not parts, where, f"{kind} takes nothing")
        elif word in ("x", "s", "o", "io", "rest"):
            self.ref = parts[0]
        elif word in ("a", "oa"):
            self.ref, self.count = parts
        else:
            need(word in ("in", "out", "outp", "sa", "osa", "iov", "oiov", "mmsg", "ommsg", "fdset"), where,
                 f"kind {kind}")
            self.count = parts[0]
        self.n = NONE
        if self.count is not None:
            need(self.count == "ret" or self.count in names, where, f"no argument {self.count}")
            self.n = RET if self.count == "ret" else names.index(self.count)


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
        self.args = [Arg(where, t, names) for t in texts]


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
            for arg in call.args:
                if arg.kind == "x":
                    self.xlat(arg.ref, call.where)
                elif arg.ref:
                    self.struct(arg.ref, call.where)
            if call.ret.startswith("x="):
                self.xlat(call.ret[2:], call.where)
            else:
                need(call.ret in SCALARS or call.ret == "none", call.where, f"ret {call.ret}")
        for s in self.structs:
            for _, kind, _, ref, _ in s.members:
                if kind == "x":
                    self.xlat(ref, f"structs.in {s.name}")


# ---- the kernel side ----

IN, OUT, KEEP, BROKEN = 1, 2, 4, 8
OPS = {  # kind: (op, when)
    "path": ("STR", IN), "str": ("STR", IN), "strv": ("STRV", IN), "in": ("DATA", IN), "out": ("DATA", OUT),
    "outp": ("DATA_LENP", OUT), "sa": ("SOCKADDR", IN), "osa": ("SOCKADDR_LENP", OUT), "iov": ("IOV", IN),
    "oiov": ("IOV", IN | OUT), "msg": ("MSG", IN), "omsg": ("MSG", OUT), "mmsg": ("MMSG", IN), "ommsg": ("MMSG", OUT),
    "fdset": ("FDSET", IN | OUT), "s": ("MEM", IN), "o": ("MEM", OUT), "io": ("MEM", IN | OUT),
    "rest": ("MEM", BROKEN), "a": ("ARRAY", IN | OUT), "oa": ("ARRAY", OUT),
}


def kept(call, arg):
    """Is another one's by the time the call is left: the kernel writes over it, or its maker goes on."""
    time = arg.kind == "io" and arg.ref in ("timeval", "timespec", "timespec64")
    return arg.kind == "fdset" or time or call.name == "clone3"


def plan_ops(tables, call, abi):
    arch = "arm64" if abi == "arm64" else "x86_64"
    ops = []
    for i, arg in enumerate(call.args):
        if arg.kind not in OPS:
            continue
        op, when = OPS[arg.kind]
        when |= KEEP if kept(call, arg) else 0
        struct = None
        if arg.ref:
            struct = tables.struct32(arg.ref) if abi == "i386" else tables.struct(arg.ref, call.where, arch)
            if struct is None:
                continue
        size = tables.structs[struct].size if arg.ref else 0
        ops.append((op, when, i, arg.n, size))
    if call.name in CONTEXT:
        op, arg = CONTEXT[call.name]
        ops.append((op, OUT, arg, NONE, 0))
    need(len(ops) <= 6, call.where, "more than six things to read")
    return ops


def emit_bpf(tables, arch):
    abis = ("x86_64", "i386") if arch == "x86" else ("arm64",)
    print("/* Made by tools/gen_tables.py from tables/syscalls.tsv. */")
    print("#define SYS_PLANS \\")
    for slot, abi in enumerate(abis):
        for nr, index in sorted(tables.by_nr[abi].items()):
            call = tables.calls[index]
            ops = plan_ops(tables, call, abi)
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
            text = ", ".join(f"{{ SYS_OP_{op}, {when}, {arg}, {n}, {size} }}" for op, when, arg, n, size in ops)
            n_mem = sum(op not in CONTEXT_OPS for op, *_ in ops)
            print(f"\t[{slot * NR_MAX + nr}] = {{ {len(call.args)}, {n_mem}, {len(ops)}, {' | '.join(flags)}, "
                  f"{{ {text} }} }}, \\")
    print()


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
        print(f"\t{{ {{ {c_string(base)}, xv{i}, {len(x.vals)}, {flags} }}, SYS_XLAT_{x.kind.upper()}, {arm} }},")
    print("};")
    print(f"const unsigned sys_n_xlats = {len(tables.xlats)};")


def emit_structs(tables):
    for i, s in enumerate(tables.structs):
        print(f"static const struct sys_member sm{i}[] = {{")
        for name, kind, size, ref, off in s.members:
            x = tables.xlat(ref) if kind == "x" else 0
            print(f"\t{{ {c_string(name)}, SYS_MEMBER_{kind.upper()}, {size}, {off}, {x} }},")
        print("};")
    print("const struct sys_struct sys_structs[] = {")
    for i, s in enumerate(tables.structs):
        base = s.name.split("@")[0]
        arm = tables.struct(base, arch="arm64")
        narrow = tables.struct32(base)
        print(f"\t{{ {c_string(base)}, sm{i}, {len(s.members)}, {s.size}, {arm}, "
              f"{'SYS_STRUCT_NONE' if narrow is None else narrow} }},")
    print("};")
    print(f"const unsigned sys_n_structs = {len(tables.structs)};")


def kind_name(kind):
    return "SYS_ARG_" + {"x": "XLAT", "s": "MEM", "o": "MEM_OUT", "io": "MEM_IO", "rest": "MEM_REST",
                         "a": "ARRAY", "oa": "ARRAY_OUT",
                         "in": "DATA", "out": "DATA_OUT", "outp": "DATA_LENP"}.get(kind, kind.upper())


def emit_args(tables, call):
    out = []
    for arg in call.args:
        ref = 0
        if arg.kind == "x":
            ref = tables.xlat(arg.ref)
        elif arg.ref:
            ref = tables.struct(arg.ref)
        out.append(f"{{ {c_string(arg.name)}, {kind_name(arg.kind)}, {arg.n}, {ref} }}")
    return ", ".join(out)


def emit_user(tables):
    print("/* Made by tools/gen_tables.py from tables/. */")
    print('#include <stddef.h>\n#include "probes/sys/sys_table.h"\n')
    emit_xlats(tables)
    emit_structs(tables)
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
        print(f"\t{{ {c_string(call.name)}, SYS_CLASS_{call.cls.upper().replace('-', '_')}, {kind_name(ret)}, "
              f"{len(call.args)}, {bits}, {ref}, {{ {emit_args(tables, call)} }} }},")
    print("};")
    print(f"const unsigned sys_n_calls = {len(tables.calls)};")
    print(f"const uint16_t sys_numbers[][{NR_MAX}] = {{")
    for abi in ABIS:
        print("\t{")
        for nr, index in sorted(tables.by_nr[abi].items()):
            print(f"\t\t[{nr}] = {index + 1},")
        print("\t},")
    print("};")


def main(argv):
    try:
        tables = Tables(argv[2])
        if argv[1] == "bpf":
            emit_bpf(tables, argv[3])
        else:
            emit_user(tables)
    except TableError as e:
        sys.exit(f"gen_tables.py: {e}")


if __name__ == "__main__":
    main(sys.argv)
