#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The shape of the product: circles of calls and of includes, dead functions, prefixes, crowded folders, options.

Symbols come from the objects of the build folder (SONDE_BUILD, build), options from its program: `make lint` builds
both first, and a missing or outdated build is a finding. tools/lint/structure.max holds for each kind the target and
the places that still exceed it; a number there may fall, never rise.

    tools/lint/structure.py --list KIND     every finding of a kind
    tools/lint/structure.py --lower         lower structure.max to the numbers of today
"""
import argparse
import collections
import functools
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import objects  # noqa: E402
from common import ROOT, Finding, c_files, code, files, is_kernel_side, match_lines, text  # noqa: E402

MAX = "tools/lint/structure.max"
EXPORTED = ("src/lib/", "sonde_")   # libsonde's interface: src/lib/libsonde.map
INSTALLED = "include/sonde/"        # headers of programs and datapaths that are not ours

# Files that call each other because their input nests, and why.
RECURSIONS = {
    "a packet within a packet: tunnels, and the header that an ICMP error quotes": {
        "src/packet/" + name for name in ("dissect.c", "packet_icmp.c", "packet_ip.c", "packet_link.c",
                                          "packet_transport.c", "packet_tunnel.c", "print.c")},
}

# Functions that only tests use, and why the product keeps them.
TEST_INTERFACES = {
    "ehframe_table_find": "user-space counterpart of the lookup that the BPF unwinder does in a table",
    "agent_inst_check": "a subscription's options without an agent",
    "jitdump_lookup_mem": "input from memory",
    "json_line_reserves": "key names that no event may use, for the test of all descriptors",
    "outfile_mem": "output to memory",
    "perfmap_lookup_mem": "input from memory",
    "perf_rings_n": "CPUs with a ring",
    "perf_rings_resume": "counterpart of perf_rings_pause()",
    "pktfilter_compile_here": "compilation in this process; the product runs it in a sandboxed worker",
    "ring_reader_add_mem": "a ring in memory, without BPF",
    "ring_reader_set_merge": "baseline of the benchmark of merging",
    "session_held": "bytes that a session keeps of an unfinished frame",
    "source_format": "NULL until the input's format is known",
}

# @place: what structure.max counts by, @weight: how much it counts
Hit = collections.namedtuple("Hit", "place path line text weight", defaults=(1,))


def folder(path):
    return os.path.dirname(path)


def module(path):
    """src/NAME or probes/NAME: its sub-folders are rooms of one module."""
    return "/".join(path.split("/")[:2])


def definition(path, name):
    """Line of a function's definition."""
    return next((number for number, _ in match_lines(path, rf"^(?!\s).*\b{name}\s*\([^;]*?\)\s*\{{")), 1)


@functools.lru_cache(None)
def words():
    """{identifier: files of C that contain it, strings and comments aside}"""
    found = collections.defaultdict(set)
    for path in files():
        if path.endswith((".c", ".h", ".def")):
            for word in set(re.findall(r"\w+", code(path))):
                found[word].add(path)
    return found


def is_test(path):
    return path.startswith(("tests/", "examples/"))


def functions():
    """(source, name) of the product's global functions but those of libsonde's interface."""
    for source, names in sorted(objects.symbols().defines.items()):
        for name, letter in sorted(names.items()):
            if letter in "TW" and name != "main" and not (source.startswith(EXPORTED[0]) and
                                                          name.startswith(EXPORTED[1])):
                yield source, name


# -- circles

def circle_hits(graph, home):
    for members in objects.components(graph):
        if any(allowed.issuperset(members) for allowed in RECURSIONS.values()):
            continue
        closed = "; ".join(f"{user} -> {definer} ({', '.join(sorted(graph[user][definer]))})"
                           for user, definer in objects.closing(graph, members))
        for member in members:
            yield Hit(home(member), member, 1, f"in a circle of {len(members)}, closed by {closed}")


def circles():
    yield from circle_hits(objects.edges(), folder)


def folder_circles():
    graph = collections.defaultdict(lambda: collections.defaultdict(set))
    for user, definers in objects.edges().items():
        for definer, names in definers.items():
            if module(user) != module(definer):
                graph[module(user)][module(definer)] |= names
    yield from circle_hits(graph, lambda member: member)


# -- circles of includes

INCLUDED_FROM = ("src/", "", "include/")


def unit(path):
    """A .c file and its header are one; a BPF file, or a header of both worlds, is one of its own."""
    return path if is_kernel_side(path) else os.path.splitext(path)[0]


@functools.lru_cache(None)
def includes():
    """(path, included path), files of the product only."""
    known = set(c_files("src/", "probes/", "bpf/", "include/"))
    found = []
    for path in sorted(known):
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text(path), re.M):
            places = [folder + name for folder in (*INCLUDED_FROM, os.path.dirname(path) + "/")]
            found += [(path, place) for place in places if place in known][:1]
    return found


def include_hits(node, home):
    graph = collections.defaultdict(lambda: collections.defaultdict(set))
    for path, included in includes():
        if node(path) != node(included):
            graph[node(path)][node(included)].add(os.path.basename(included))
    yield from circle_hits(graph, home)


def include_circles():
    yield from include_hits(unit, module)


def include_folders():
    yield from include_hits(module, module)


# -- dead functions

@functools.lru_cache(None)
def lonely():
    """(source, name, used in its own file, used by tests) of functions that no other object of the product uses."""
    users = collections.defaultdict(set)
    for user, names in objects.symbols().uses.items():
        for name in names:
            users[name].add(user)
    return [(source, name, len(re.findall(rf"\b{name}\b", code(source))) > 1, any(map(is_test, words()[name])))
            for source, name in functions() if not users[name] - {source}]


def lonely_hits(own, tests, advice):
    for source, name, own_here, tests_here in lonely():
        if (own_here, tests_here) == (own, tests) and name not in TEST_INTERFACES:
            yield Hit(folder(source), source, definition(source, name), f"{name}(): {advice}")


def header_functions():
    """(path, line, name) of static functions that a header or a BPF program defines."""
    for path in c_files("src/", "probes/", "bpf/", "include/"):
        if (path.endswith(".h") or is_kernel_side(path)) and not path.startswith(INSTALLED):
            for line, match in match_lines(path, r"^static\b[^;={}()]*?\b(\w+)\((?:[^;{}]*)\)\s*\{"):
                yield path, line, match.group(1)


def lonely_in_headers(tests, advice):
    for path, line, name in header_functions():
        others = words()[name] - {path}
        if len(re.findall(rf"\b{name}\b", code(path))) == 1 and all(map(is_test, others)) and bool(others) == tests:
            yield Hit(folder(path), path, line, f"{name}(): {advice}")


def dead():
    advice = "unused: remove it"
    yield from lonely_hits(False, False, advice)
    yield from lonely_in_headers(False, advice)


def idle_interfaces():
    """Rows of TEST_INTERFACES that are no longer true."""
    for name in sorted(TEST_INTERFACES.keys() - {name for _, name, own, tests in lonely() if tests and not own}):
        if any(name in names for names in objects.symbols().defines.values()):
            yield Hit("tools/lint", "tools/lint/structure.py", 1, f"{name} is not an interface for tests only")


def tested_only():
    yield from idle_interfaces()
    advice = "only tests use it: use it, or remove it with its test"
    yield from lonely_hits(False, True, advice)
    yield from lonely_in_headers(True, advice)


def to_static():
    yield from lonely_hits(True, False, "only its own file uses it: make it static")


# -- prefixes

@functools.lru_cache(None)
def namesakes():
    """{(stem, suffix): number of files}; a probe's two halves share a name, a header and that of its parts another"""
    return collections.Counter((stem(path), path[-2:]) for path in c_files("src/", "probes/")
                               if not is_kernel_side(path) and not path.endswith("_impl.h"))


def stem(path):
    return re.sub(r"_impl$", "", os.path.basename(path).split(".")[0])


def prefixes_of(path):
    """A function of @path begins with module and stem, or with the stem alone if no other file has that name."""
    name, room = stem(path), os.path.basename(module(path))
    both = name if name == room or name.startswith(room + "_") else f"{room}_{name}"
    return {both, name} if namesakes()[name, path[-2:]] == 1 or name == room else {both}


@functools.lru_cache(None)
def declared_in(name):
    return [path for path in words()[name] if path.endswith(".h") and not is_test(path) and
            re.search(rf"\b{name}\(", code(path))]


def prefix():
    for source, name in functions():
        allowed = set().union(*(prefixes_of(path) for path in [source, *declared_in(name)]))
        if not any(name == p or name.startswith(p + "_") for p in allowed):
            headers = ", ".join(sorted(declared_in(name))) or "no header"
            yield Hit(folder(source), source, definition(source, name), f"{name}() ({headers})")


# -- rooms

def crowded():
    """Files of C of the product, files of any kind of tests."""
    tests = [path for path in files() if path.startswith(("tests/e2e/", "tests/fuzz/", "tests/unit/"))
             and not path.startswith("tests/fuzz/corpus/")]
    for place, count in sorted(collections.Counter(
            folder(path) for path in [*c_files("src/", "probes/", "bpf/", "include/"), *tests]).items()):
        yield Hit(place, place, 0, f"{count} files", count)


def single():
    """BPF headers that one file includes."""
    includers = collections.defaultdict(set)
    for path in c_files("src/", "probes/", "bpf/", "include/"):
        for included in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text(path), re.M):
            includers[os.path.basename(included)].add(path)
    for path in c_files("probes/", "bpf/"):
        users = includers[os.path.basename(path)]
        if path.endswith(".bpf.h") and len(users) == 1:
            yield Hit(folder(path), path, 1, f"only {users.pop()} includes it")


def impl():
    for path in c_files("src/", "probes/"):
        if path.endswith(("_impl.h", "/impl.h")):
            yield Hit(folder(path), path, 1, "shows one module's structs to its parts")


# -- command line

@functools.lru_cache(None)
def helps():
    """{command: the text of its --help}"""
    program = os.path.join(objects.build_folder(), "sonde")

    def ask(*args):
        try:
            return subprocess.run([program, *args], capture_output=True, text=True, check=True, timeout=20).stdout
        except FileNotFoundError as e:
            raise objects.NoBuild(f"{program} is missing: run `make all`") from e
    commands = re.findall(r"^  (\S+)", ask("help").split("Commands:\n")[1].split("\n\n")[0], re.M)
    return {command: ask(command, "--help") for command in commands}


def options():
    for command, body in helps().items():
        names = set(re.findall(r"^ {2,}(?:-\w, )? *--([a-z][a-z0-9-]*)", body, re.M))
        yield Hit(command, f"sonde {command}", 0, f"{len(names)} options", len(names))


def help_lines():
    for command, body in helps().items():
        yield Hit(command, f"sonde {command} --help", 0, f"{body.count(chr(10))} lines", body.count("\n"))


KINDS = {
    "circles": (circles, "files in circles of calls"),
    "folder-circles": (folder_circles, "folders in circles of calls"),
    "include-circles": (include_circles, "files in circles of includes"),
    "include-folders": (include_folders, "folders in circles of includes"),
    "dead": (dead, "functions that nothing uses"),
    "tested-only": (tested_only, "functions that only tests use"),
    "static": (to_static, "functions to make static"),
    "prefix": (prefix, "public functions without their file's prefix"),
    "files": (crowded, "files"),
    "single": (single, "BPF headers that one file includes"),
    "impl": (impl, "_impl.h headers"),
    "options": (options, "options"),
    "help": (help_lines, "lines of --help"),
}


def counts(kind):
    found = collections.Counter()
    for hit in KINDS[kind][0]():
        found[hit.place] += hit.weight
    return found


def limits():
    """{kind: {"target": number, place: number above the target that is still allowed}}"""
    return json.loads(text(MAX)) if MAX in files() else {}


def check():
    try:
        for kind, (_find, noun) in KINDS.items():
            most = limits().get(kind)
            if most is None:
                yield Finding(MAX, 1, f"no limit of {kind}", True)
                continue
            for place, count in sorted(counts(kind).items()):
                allowed = max(most.get(place, 0), most["target"])
                if count > allowed:
                    yield Finding(MAX, 1, f"{place}: {count} {noun}, {allowed} allowed: "
                                          f"tools/lint/structure.py --list {kind}", True)
    except objects.NoBuild as e:
        yield Finding(MAX, 1, str(e), True)


def written(rows):
    """JSON with one number a line, so that branches that lower different ones merge."""
    return json.dumps(rows, indent=1) + "\n"


def lower():
    rows = limits()
    for kind, most in rows.items():
        now = counts(kind)
        for place in [p for p in most if p != "target"]:
            most[place] = min(most[place], now[place])
            if most[place] <= most["target"]:
                del most[place]
    with open(os.path.join(ROOT, MAX), "w", encoding="utf-8") as f:
        f.write(written(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--list", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    group.add_argument("--lower", action="store_true")
    args = parser.parse_args()
    try:
        if args.lower:
            lower()
            return
        for hit in KINDS[args.list][0]():
            print(f"{hit.path}:{hit.line}: {hit.text}" if hit.line else f"{hit.path}: {hit.text}")
    except objects.NoBuild as e:
        sys.exit(f"structure: {e}")


if __name__ == "__main__":
    main()
