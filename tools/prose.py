# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the prose of the tree: comments, documentation, option help and messages, split into sentences.

Imported by tools/prose-sample (a random sample for review) and tools/lint/wording.py (patterns that are counted).
`passages(path, text)` yields Passage(kind, path, line, text); kind is one of KINDS. Markdown code blocks, tables,
SPDX lines, lint waivers and comments without a letter are left out.
"""
import collections
import re

KINDS = ("comment", "doc", "help", "message")
USER_KINDS = ("doc", "help", "message")     # text that a user of the program reads

Passage = collections.namedtuple("Passage", "kind path line text")

STRING = r'"(?:\\.|[^"\\\n])*"'
STRINGS = re.compile(rf"{STRING}(?:\s*{STRING})*")
BLOCK_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
MESSAGE_CALL = re.compile(r"\b(?:err_set|err_errno|err_add|log_error|log_warn|log_info|load_warn)\s*\(")
OPTION_ROW = re.compile(r"\b(?:OPT_)?ROW\s*\(|\.(?:help|summary|what|usage)\s*=")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z@`(\"])")
NOT_PROSE = re.compile(r"SPDX-License-Identifier|lint-ok\(|^-+ .* -+$")


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def unquote(literals):
    parts = re.findall(STRING, literals)
    return "".join(p[1:-1] for p in parts).replace('\\"', '"').replace("\\n", " ").replace("\\t", " ")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def comment_text(raw):
    body = raw[2:-2] if raw.startswith("/*") else raw[2:]
    lines = (re.sub(r"^\s*\*? ?", "", line).rstrip() for line in body.split("\n"))
    return re.sub(r"\s+", " ", " ".join(lines)).strip()


def comments(path, text):
    for match in BLOCK_COMMENT.finditer(re.sub(STRING, blank, text)):
        words = comment_text(text[match.start():match.end()])
        if re.search("[a-z]", words) and not NOT_PROSE.search(words):
            yield Passage("comment", path, line_of(text, match.start()), words)


def call_end(text, start):
    """Offset of the parenthesis that closes the call whose arguments begin at @start; strings must be blanked."""
    depth = 1
    for i in range(start, min(len(text), start + 2000)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return len(text)


def prose_strings(text, start, end):
    """String literals with at least two words; the last one of a call is its help or format."""
    for match in STRINGS.finditer(text, start, end):
        words = unquote(match.group(0))
        if len(words.split()) > 1 and re.search("[a-z]{3}", words):
            yield match.start(), words


def literals(path, text):
    source = BLOCK_COMMENT.sub(lambda m: blank(m) if m.group(0)[0] == "/" else m.group(0),
                               re.sub(r'//(?=[^\n"]*"[^\n]*\n)', "  ", text))
    blanked = re.sub(STRING, lambda m: '"' + " " * (len(m.group(0)) - 2) + '"', source)
    for kind, pattern in (("message", MESSAGE_CALL), ("help", OPTION_ROW)):
        for match in pattern.finditer(blanked):
            if match.group(0).endswith("("):
                end = call_end(blanked, match.end())
            else:
                end = match.end() + len(re.match(rf"\s*(?:{STRING}\s*)*", source[match.end():]).group(0))
            for offset, words in prose_strings(source, match.end(), end):
                yield Passage(kind, path, line_of(text, offset), words)


def markdown(path, text):
    text = re.sub(r"^```.*?^```", blank, text, flags=re.S | re.M)
    text = re.sub(r"^(?:\s*\||#|<).*$", blank, text, flags=re.M)
    for match in re.finditer(r"[^\n]+(?:\n(?![ \t]*(?:[*-]|\d+\.) )[^\n]+)*", text):
        words = re.sub(r"\s+", " ", re.sub(r"^\s*(?:[*-]|\d+\.) ", "", match.group(0))).strip()
        if re.search("[a-z]{3}", words):
            yield Passage("doc", path, line_of(text, match.start()), words)


def passages(path, text):
    if path.endswith(".md"):
        yield from markdown(path, text)
    elif path.endswith((".c", ".h")):
        yield from comments(path, text)
        if not path.startswith("tests/"):
            yield from literals(path, text)


def sentences(passage):
    for words in SENTENCE_END.split(passage.text):
        if len(words.split()) > 3:
            yield passage._replace(text=words)
