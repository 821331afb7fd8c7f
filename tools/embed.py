# SPDX-License-Identifier: GPL-2.0-or-later
"""A text file as a C string: embed.py NAME INPUT OUTPUT. One literal per line of the file."""
import json
import sys


def main():
    name, source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as f:
        lines = f.read().splitlines(keepends=True)
    # JSON's escapes of ASCII text are C's as well.
    body = "\n".join("\t" + json.dumps(line) for line in lines) or '\t""'
    with open(target, "w", encoding="utf-8") as f:
        f.write(f"static const char {name}[] =\n{body};\n")


if __name__ == "__main__":
    main()
