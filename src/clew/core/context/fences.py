"""Fences: where a fragment starts and ends, drawn so that nothing inside can pretend to be a fence.

A fence line carries a mark of eight hexadecimal digits. The mark is derived from the texts, so the same prompt has the
same bytes, and derived again until no text holds it; a text can therefore never close its own fence or open another.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from clew.core.context.fragment import Fragment
from clew.core.text.printable import printable

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_LINE_NOTE: Final = re.compile(r"(?P<shown>\d+) of (?P<all>\d+) lines")
_LINE_RANGE: Final = re.compile(r":(?P<first>\d+)-(?P<last>\d+)$")


def clean(text: str) -> str:
    """The text with lone surrogates, which no encoding can send, replaced by U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def mark_for(seed: Sequence[str], texts: Iterable[str]) -> str:
    """A mark derived from `seed` that occurs in none of `texts`."""
    digest = hashlib.sha256()
    for part in seed:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    held = tuple(texts)
    mark = digest.hexdigest()[:8]
    while any(mark in text for text in held):
        digest.update(b"again")
        mark = digest.hexdigest()[:8]
    return mark


def fenced(fragment: Fragment, mark: str) -> str:
    """The fragment as it is sent: header with source, reference and note, body, closing line."""
    named = f"{fragment.ref}:".startswith(f"{fragment.source}:")
    source = "" if named else f"{printable(fragment.source)} "
    note = f" ({printable(fragment.note)})" if fragment.note else ""
    body = f"{clean(fragment.text)}\n" if fragment.text else ""
    return f"<fragment {mark} {source}{printable(fragment.ref)}{note}>\n{body}</fragment {mark}>"


def listed(lines: Sequence[str], mark: str) -> str:
    """Reference lines and facts, one each, in a fence of their own; empty if there are none."""
    if not lines:
        return ""
    return "\n".join((f"<facts {mark}>", *lines, f"</facts {mark}>"))


def reference_line(fragment: Fragment) -> str:
    """The line an anchor keeps: its own, else reference and size."""
    if fragment.line:
        return f"- {printable(fragment.line)}"
    rows = fragment.text.count("\n") + 1 if fragment.text else 0
    size = len(clean(fragment.text).encode())
    return f"- {printable(fragment.ref)} ({rows} lines, {size} bytes)"


def first_lines(fragment: Fragment, rows: int) -> Fragment:
    """The fragment with its first `rows` lines only, saying so; a line range in the reference shrinks with it."""
    lines = fragment.text.split("\n")
    known = _LINE_NOTE.search(fragment.note)
    shown = f"{rows} of {known['all'] if known else len(lines)} lines"
    if known:
        note = fragment.note[: known.start()] + shown + fragment.note[known.end() :]
    else:
        note = f"{shown}; {fragment.note}" if fragment.note else shown
    ref = fragment.ref
    span = _LINE_RANGE.search(ref)
    if span and int(span["last"]) - int(span["first"]) + 1 == len(lines):
        ref = f"{ref[: span.start()]}:{span['first']}-{int(span['first']) + rows - 1}"
    return replace(fragment, text="\n".join(lines[:rows]), note=note, ref=ref)


def file_of(fragment: Fragment) -> str:
    """What the fragment is a part of: its group, else its reference without the line range."""
    return fragment.group or _LINE_RANGE.sub("", fragment.ref)
