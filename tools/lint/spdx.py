# SPDX-License-Identifier: GPL-2.0-or-later
"""Each source file says its licence near its top: the kernel side and the shared headers are dual."""
import re

from common import Finding, files, is_kernel_side, text

SOURCES = (".c", ".h", ".py", ".sh", ".def", ".ts", ".tsx", ".css")
NO_COMMENTS = ("probes/probes.def", "src/sinks/sinks.def", "src/source/sources.def", "src/main/cmds.def")
OTHERS = ("tests/data/", "tests/fuzz/corpus/", "web/vendor/", "tests/ui/vendor/")
OURS = "GPL-2.0-or-later"
DUAL = "GPL-2.0-or-later OR BSD-2-Clause"


def is_source(path):
    return path.endswith(SOURCES) or path == "Makefile" or text(path).startswith("#!")


def check():
    for path in files():
        if path in NO_COMMENTS or path.startswith(OTHERS) or not is_source(path):
            continue
        match = re.search(r"SPDX-License-Identifier: (.*?)\s*(\*/)?$", "\n".join(text(path).split("\n")[:3]), re.M)
        if not match:
            yield Finding(path, 1, "no SPDX-License-Identifier in the first three lines")
            continue
        want = DUAL if is_kernel_side(path) and not path.startswith("tests/") else OURS
        if match.group(1) not in (want, DUAL):
            yield Finding(path, 1, f"licence is {match.group(1)}, expected {want}")
