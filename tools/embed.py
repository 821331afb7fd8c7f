# SPDX-License-Identifier: GPL-2.0-or-later
"""Files as C.

  embed.py NAME INPUT... OUTPUT       text as one string, a literal per line; several files with their names
  embed.py --assets INPUT... OUTPUT   files of a page as the table of src/ui/ui_assets.h, compressed; equal files give
                                      equal bytes
"""
import gzip
import json
import os
import sys

TYPES = {
    ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml", ".png": "image/png", ".txt": "text/plain; charset=utf-8",
}


def read(path, named):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    return f"/* ---- {os.path.basename(path)} ---- */\n\n{text}\n" if named else text


def table(paths):
    text, rows = '#include "ui/ui_assets.h"\n\n', ""
    for number, path in enumerate(paths):
        with open(path, "rb") as f:
            data = gzip.compress(f.read(), 9, mtime=0)
        name, kind = os.path.basename(path), TYPES[os.path.splitext(path)[1]]
        lines = "".join("\t" + "".join(f"{byte}," for byte in data[i:i + 24]) + "\n" for i in range(0, len(data), 24))
        text += f"static const unsigned char file_{number}[] = {{\n{lines}}};\n\n"
        rows += f'\t{{ "/{name}", "{kind}", file_{number}, sizeof(file_{number}), true }},\n'
    return text + f"const struct ui_asset ui_assets[] = {{\n{rows}}};\nconst size_t ui_asset_n = {len(paths)};\n"


def main():
    if sys.argv[1] == "--assets":
        with open(sys.argv[-1], "w", encoding="utf-8") as f:
            f.write(table(sys.argv[2:-1]))
        return
    name, *sources, target = sys.argv[1:]
    lines = "".join(read(path, len(sources) > 1) for path in sources).splitlines(keepends=True)
    # JSON's escapes of ASCII text are C's as well.
    body = "\n".join("\t" + json.dumps(line) for line in lines) or '\t""'
    with open(target, "w", encoding="utf-8") as f:
        f.write(f"static const char {name}[] =\n{body};\n")


if __name__ == "__main__":
    main()
