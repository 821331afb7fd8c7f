# SPDX-License-Identifier: GPL-2.0-or-later
"""Text files as a C string: embed.py NAME INPUT... OUTPUT. One literal per line; of several files each has its name
in front.
"""
import json
import os
import sys


def read(path, named):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    return f"/* ---- {os.path.basename(path)} ---- */\n\n{text}\n" if named else text


def main():
    name, *sources, target = sys.argv[1:]
    lines = "".join(read(path, len(sources) > 1) for path in sources).splitlines(keepends=True)
    # JSON's escapes of ASCII text are C's as well.
    body = "\n".join("\t" + json.dumps(line) for line in lines) or '\t""'
    with open(target, "w", encoding="utf-8") as f:
        f.write(f"static const char {name}[] =\n{body};\n")


if __name__ == "__main__":
    main()
