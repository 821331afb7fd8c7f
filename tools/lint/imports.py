# SPDX-License-Identifier: GPL-2.0-or-later
"""Names that a Python file takes from another file of the project exist there: a test module that does not import
takes every test of its layer with it."""
import ast
import functools
import os

from common import Finding, files, text


@functools.lru_cache(None)
def tree(path):
    try:
        return ast.parse(text(path))
    except SyntaxError:     # a finding of `scripts`
        return ast.Module(body=[], type_ignores=[])


def targets(node):
    """Names that an assignment, import, function or class makes."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)


@functools.lru_cache(None)
def names(path):
    """Of a module, those inside its functions too: a name too many hides a finding, one too few invents one."""
    return {name for node in ast.walk(tree(path)) for name in targets(node)}


def modules(path):
    """{module: its possible files}: those of the same folder alone if there is one."""
    ret = {}
    for other in files():
        if other.endswith(".py"):
            ret.setdefault(os.path.basename(other)[:-3], []).append(other)
    here = os.path.dirname(path)
    return {module: [p for p in paths if os.path.dirname(p) == here] or paths for module, paths in ret.items()}


def uses(path, known):
    """(module, name, line) of each name that @path takes from a module of the project."""
    imported = {}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module in known and not node.level:
            yield from ((node.module, alias.name, node.lineno) for alias in node.names if alias.name != "*")
        elif isinstance(node, ast.Import):
            imported.update({alias.asname or alias.name: alias.name for alias in node.names if alias.name in known})
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported:
            if not node.attr.startswith("__"):
                yield imported[node.value.id], node.attr, node.lineno


def check():
    for path in files():
        if not path.endswith(".py"):
            continue
        known = modules(path)
        for module, name, line in uses(path, known):
            if not any(name in names(p) for p in known[module]):
                yield Finding(path, line, f"{name} is not in {known[module][0]}")
