# SPDX-License-Identifier: GPL-2.0-or-later
"""Global symbols of the product's objects, as `nm` reads them: who defines, who uses. Not a check of its own."""
import collections
import functools
import json
import os
import subprocess

from common import ROOT

PRODUCT = ("src/", "probes/")

# @defines: {source: {symbol: type letter of nm}}, @uses: {source: {undefined symbol}}
Symbols = collections.namedtuple("Symbols", "defines uses")


class NoBuild(Exception):
    """The build folder lacks an object, or has one that is older than its source."""


def build_folder():
    return os.path.abspath(os.environ.get("SONDE_BUILD") or os.path.join(ROOT, "build"))


def compiled():
    """(object, source below ROOT) for each user-space object of the product; some sources have two objects."""
    folder = build_folder()
    try:
        with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as f:
            rows = json.load(f)
    except FileNotFoundError as e:
        raise NoBuild(f"{folder} is not a build folder: run `make all`") from e
    for row in rows:
        source = os.path.relpath(os.path.join(row["directory"], row["file"]), ROOT)
        if source.startswith(PRODUCT) and not row["output"].startswith("tests/"):
            yield os.path.join(row["directory"], row["output"]), source


def check_fresh(built, source):
    try:
        fresh = os.stat(built).st_mtime >= os.stat(os.path.join(ROOT, source)).st_mtime
    except FileNotFoundError:
        fresh = False
    if not fresh:
        raise NoBuild(f"{built} is missing or older than {source}: run `make all`")


@functools.lru_cache(None)
def symbols():
    source_of = {}
    for built, source in compiled():
        check_fresh(built, source)
        source_of[built] = source
    if not source_of:
        raise NoBuild(f"{build_folder()} builds no file of {' or '.join(PRODUCT)}")
    done = subprocess.run(["nm", "-A", "-P", "-g", *source_of], capture_output=True, text=True, check=True)
    found = Symbols(collections.defaultdict(dict), collections.defaultdict(set))
    for line in done.stdout.splitlines():
        built, rest = line.rsplit(": ", 1)
        name, letter = rest.split()[:2]
        if letter in "Uwv":
            found.uses[source_of[built]].add(name)
        else:
            found.defines[source_of[built]][name] = letter
    return found


@functools.lru_cache(None)
def edges():
    """{user: {definer: {symbol}}}, sources of the product only."""
    home = {name: source for source, names in symbols().defines.items() for name in names}
    graph = collections.defaultdict(lambda: collections.defaultdict(set))
    for user, names in symbols().uses.items():
        for name in names:
            if home.get(name, user) != user:
                graph[user][home[name]].add(name)
    return graph


def components(graph):
    """Strongly connected components of {node: {node: ...}} with more than one node (Tarjan, without recursion)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []

    def enter(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        return node, iter(sorted(graph.get(node, ())))

    def leave(node):
        if low[node] != index[node]:
            return
        members = set()
        while node not in members:
            members.add(stack.pop())
        on_stack.difference_update(members)
        if len(members) > 1:
            found.append(sorted(members))

    for root in sorted(graph):
        work = [enter(root)] if root not in index else []
        while work:
            node, rest = work[-1]
            below = next(rest, None)
            if below is None:
                work.pop()
                leave(node)
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
            elif below not in index:
                work.append(enter(below))
            elif below in on_stack:
                low[node] = min(low[node], index[below])
    return sorted(found)


def closing(graph, members):
    """Few edges (user, definer) whose removal leaves no circle among @members.

    Those are the edges that point backwards in a good order of the members, found by moving each member to its
    cheapest position until no move helps. An edge costs as many symbols as cross it.
    """
    def cost(order):
        return sum(len(graph.get(user, {}).get(definer, ())) for i, definer in enumerate(order)
                   for user in order[i + 1:])

    order, best = list(members), cost(members)
    improved = True
    while improved:
        improved = False
        for node in members:
            rest = [n for n in order if n != node]
            for i in range(len(order)):
                other = rest[:i] + [node] + rest[i:]
                if cost(other) < best:
                    order, best, improved = other, cost(other), True
    return sorted((user, definer) for i, definer in enumerate(order) for user in order[i + 1:]
                  if definer in graph.get(user, ()))
