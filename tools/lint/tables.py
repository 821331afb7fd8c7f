# SPDX-License-Identifier: GPL-2.0-or-later
"""The state engine (src/state) is the only place that keeps tables of processes, threads, descriptors and sockets.
The comment on a map names its key and value; a set of keys (-> u8, uint8_t) is not a table. A table of something
else by process, such as its mappings, carries its reason in place."""
import re

from common import Finding, c_files, text

ENGINE = "src/state/"
MAP = re.compile(r"^\s*struct map (\w+);\s*/\*([^\n]*?)->([^\n]*)", re.M)
KEY = re.compile(r"\b(tgid|tid|pid|process|cookie|inode|fd|descriptor|struct \w*(proc|process|sock|tuple)\w*)\b")
VALUE = re.compile(r"\bstruct (\w+_)?(proc|process|task|thread|sock|owner|fd)\b")
SET = re.compile(r"\s*(u8|uint8_t)\b")


def is_table(key, value):
    return not SET.match(value) and bool(KEY.search(key) or VALUE.search(value))


def check():
    for path in c_files("src/", "probes/"):
        if path.startswith(ENGINE):
            continue
        body = text(path)
        for m in MAP.finditer(body):
            if is_table(m.group(2), m.group(3)):
                yield Finding(path, body.count("\n", 0, m.start(1)) + 1,
                              f"table {m.group(1)}: ask the state engine (src/state) instead")
