# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile held against programs that know where their time went."""
import math

# Of the samples of a program: these have one of its parts, the rest is in between and at the beginning.
LEAST = 0.8


def allowed(p, n):
    """How far a share measured by n samples may be from the true share p: three standard errors and half a point."""
    return 3 * math.sqrt(p * (1 - p) / n) + 0.005 if n else 0


def has(stack, function):
    return any(frame.split("+")[0] == function for frame in stack.user)


def shares(stacks, functions):
    """(samples that have one of the functions, {function: share of these})."""
    counts = {f: sum(s.count for s in stacks if has(s, f)) for f in functions}
    total = sum(counts.values())
    return total, {f: count / total if total else 0.0 for f, count in counts.items()}


def kernel_share(stacks):
    """(samples, {"kernel": share with a kernel frame, "user": the rest})."""
    total = sum(s.count for s in stacks)
    kernel = sum(s.count for s in stacks if s.kern)
    return total, {"kernel": kernel / total if total else 0.0, "user": 1 - kernel / total if total else 0.0}


def deviations(true, total, measured, samples):
    """[(part, true, measured, difference, allowed, is it good)]; few of the @samples in any part are no proof."""
    ret = []
    for part, p in true.items():
        limit = allowed(p, total)
        off = abs(measured.get(part, 0.0) - p)
        ret.append((part, p, measured.get(part, 0.0), off, limit, total > LEAST * samples and off <= limit))
    return ret


def compare(name, true, stacks):
    """The deviations of workload @name, whichever way its truth is told."""
    if name == "kernuser":
        return deviations(true, *kernel_share(stacks), 1)
    return deviations(true, *shares(stacks, list(true)), sum(s.count for s in stacks))


def paths_of(stacks, levels=5):
    """The numbers of the paths (tests/workloads/paths.c) that are among the stacks."""
    found = set()
    for stack in stacks:
        digits = {}
        for frame in stack.user:
            if len(frame) >= 4 and frame[0] == "f" and frame[2] == "_" and frame[1].isdigit() and frame[3].isdigit():
                digits[int(frame[1])] = int(frame[3])
        if len(digits) == levels:
            number = 0
            for level in range(levels):
                number = number * 8 + digits[level]
            found.add(number)
    return found
