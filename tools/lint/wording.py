# SPDX-License-Identifier: GPL-2.0-or-later
"""Phrases that must be read twice, and private words where the field has a term (doc/GLOSSARY.md).

Their number may fall, never rise: tools/lint/wording.max holds the most of each kind of prose. `tools/prose-sample
--phrases` lists every place. Lower the number in the commit that removes some.
"""
import collections
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import prose  # noqa: E402  found by the line above

from common import Finding, files, text  # noqa: E402

MAX = "tools/lint/wording.max"

# Pattern: what to write instead.
PHRASES = {
    r"(?:^|(?<=[.;:] ))(?:What|Who|Nobody|Of an?)\b(?![^.]*\?)": "begin with the subject",
    r"\bis no\b(?! longer| more than)": "is not a",
    r"\bthere (?:is|are) none of\b": "no ... exists",
    r"\b(?:is|are|was|were|be|been) told\b|\btold of\b|\btells? of\b": "reported, reports",
    r"\blikewise\b": "repeat the words, or leave it out",
    r"\bnobody\b": "no process, no client, unused",
    r"\bso (?:many|long)\b(?! as)": "name the number or the time",
    r"\bgot at\b": "attached, reached",
    r"\bgoes on behind\b": "continues with",
    r"\bone that\b": "name the thing",
    r"\bstands for itself\b": "is literal",
    r"\bdid not get there\b": "lost",
    r"\bconversations?\b": "flow",
    r"\bdrawn\b": "sampled",
    r"\btwins?\b": "A/B pair",
    r"\bbooks\b": "ledger",
    r"\bhaste\b": "scheduling boost",
    r"\bwanted\b": "selected, requested, expected",
}
COMPILED = [(re.compile(pattern), advice) for pattern, advice in PHRASES.items()]


def hits():
    """(passage, matched words, advice) for each phrase in the tree."""
    for path in files():
        if not path.endswith((".c", ".h", ".md")):
            continue
        for passage in prose.passages(path, text(path)):
            for pattern, advice in COMPILED:
                for match in pattern.finditer(re.sub("`[^`]*`", "`CODE`", passage.text)):
                    yield passage, match.group(0), advice


def check():
    count = collections.Counter(passage.kind for passage, _words, _advice in hits())
    most = json.loads(text(MAX)) if MAX in files() else {}
    for kind in prose.KINDS:
        if count[kind] > most.get(kind, 0):
            yield Finding(MAX, 1, f"{count[kind]} phrases to reword in {kind}s, {most.get(kind, 0)} allowed: "
                                  "tools/prose-sample --phrases lists them", True)
