"""What matters in attached text that no model reads: lines that tell of an error or hold words of the question."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clew.core.context.anchors import error_in
from clew.core.context.fragment import Fragment
from clew.core.index.kinds import Kind, kind
from clew.core.text.redact import redact
from clew.core.text.terms import terms
from clew.services.answer import Cited

STDIN = "stdin"
"""Reference of what was piped in."""
PASSAGES = 3
"""Passages of one attached text."""
MOST = 9
"""Passages of all attached texts together."""
_BEFORE, _AFTER = 4, 3
"""Lines shown around one that matters: what led to an error stands before it."""
_NAMED, _ERROR, _WARNING = 4, 3, 1
"""What a line that tells of an error counts, in words of the question."""
_ERROR_LINE = re.compile(
    r"\b(?:error|exception|traceback|fatal|panic|critical|emerg|fail(?:ed|ure|s)?|segmentation fault|abort(?:ed)?"
    r"|denied|refused|timed out|time-?out|cannot|can't|unable to|not found|no such|killed|out of memory|oom)\b"
    r"|报错|错误|异常|失败|崩溃|超时|无法|拒绝|找不到",
    re.IGNORECASE,
)
_WARNING_LINE = re.compile(r"\bwarn(?:ing)?\b|警告", re.IGNORECASE)
_CODE = frozenset({Kind.SOURCE, Kind.TEST, Kind.EXAMPLE})
_DIFF = re.compile(r"(?m)^(?:diff --git |@@ -\d)")
_RANGE = re.compile(r"(?P<path>.+):(?P<first>\d+)(?:-\d+)?")
_VARYING = re.compile(r"\d+|0x[0-9a-f]+|[0-9a-f]{8,}", re.IGNORECASE)


def quote(attached: Sequence[Fragment], words: Sequence[str]) -> list[Cited]:
    """The passages of attached texts that matter most, in the order in which they stand; none where no line does.

    `words` are the index terms of the question. Errors count in what a program printed, not in what speaks of them:
    source code and changes of it.
    """
    return [cited for fragment in attached for cited in _passages(fragment, frozenset(words))][:MOST]


def _passages(fragment: Fragment, words: frozenset[str]) -> list[Cited]:
    named = _RANGE.fullmatch(fragment.ref)
    path, begin = (named["path"], int(named["first"])) if named else (fragment.ref, 1)
    printed = (path == STDIN or kind(path) not in _CODE) and not _DIFF.search(fragment.text)
    lines = fragment.text.split("\n")
    worth = [_worth(line, words, printed) for line in lines]
    chosen: list[tuple[int, int]] = []
    told: set[str] = set()
    # Of equals the last: the end of a log is what was seen.
    for at in sorted((at for at, value in enumerate(worth) if value), key=lambda at: (-worth[at], -at)):
        same = _VARYING.sub("0", lines[at]).strip()
        if same in told or any(first <= at <= last for first, last in chosen):
            continue
        told.add(same)
        chosen.append((max(at - _BEFORE, 0), min(at + _AFTER, len(lines) - 1)))
        if len(chosen) == PASSAGES:
            break
    return [
        Cited(path, begin + first, begin + last, "", redact("\n".join(lines[first : last + 1])).text)
        for first, last in _joined(sorted(chosen))
    ]


def _worth(line: str, words: frozenset[str], printed: bool) -> int:
    value = len(words.intersection(terms(line))) if words else 0
    if printed:
        if error_in(line):
            value += _NAMED
        elif _ERROR_LINE.search(line):
            value += _ERROR
        elif _WARNING_LINE.search(line):
            value += _WARNING
    return value


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans that touch or overlap become one."""
    found: list[tuple[int, int]] = []
    for first, last in spans:
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found
