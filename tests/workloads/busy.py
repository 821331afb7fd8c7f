# SPDX-License-Identifier: GPL-2.0-or-later
"""An interpreter at work: calls, strings, a dictionary, a sort."""


def words(n):
    return [str(i * 2654435761 % 1000003) for i in range(n)]


def count(items):
    found = {}
    for item in items:
        found[item[:3]] = found.get(item[:3], 0) + 1
    return found


def main():
    while True:
        sorted(count(words(20000)).items(), key=lambda pair: (pair[1], pair[0]))


main()
