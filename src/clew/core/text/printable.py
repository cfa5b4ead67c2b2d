"""Show text of foreign origin so that it can neither steer a terminal nor look like what it is not.

`printable` puts names and messages on one line, `visible` shows whole texts; `STEERS` tells what both are about.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode categories that are escaped: controls, formats (bidirectional overrides too), surrogates, line breaks."""

STEERS = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
"""Characters of a regular expression's class: controls but tab and the ends of lines, which could move a cursor, set a
title or write to the clipboard; marks of direction and foreign ends of lines, which let text look like another one;
tags, which a person does not see and a model reads; halves of pairs, which no encoding can send."""
MARKS = "\u180e\u200b-\u200d\u2060-\u2064\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0100-\U000e01ef"
"""As `STEERS`, characters without a width of their own: each is needed in some place (`is_needed`), and elsewhere parts
words that look like one, or holds what a person does not see."""
_STEERING = re.compile(f"[{STEERS}{MARKS}]|\r(?!\n)")
_MARK = "\ufffd"
_LONE = re.compile("[\ud800-\udfff]")
_JOINING = re.compile("[\u0600-\u085f\u0870-\u0dff\u1000-\u109f\u1780-\u18af\u1a20-\u1c4f\ufb50-\ufdff\ufe70-\ufefc]")
"""Letters and signs of scripts that join them: Arabic and its kin, those of India and of the lands around it."""
_UNPARTED = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df]")
"""Letters of scripts that set no blank between words."""
_PICTURE = re.compile("[\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff]")
_IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def visible(text: str) -> str:
    """`text` as people and models may get it: each character that steers or hides is one U+FFFD, all else is kept."""
    return text if text.isascii() and text.isprintable() else _STEERING.sub(_shown, text)


def steering(text: str) -> int:
    """How many characters of `text` are not shown as they are."""
    if text.isascii() and text.isprintable():
        return 0
    return sum(not is_needed(text, found.start()) for found in _STEERING.finditer(text))


def is_needed(text: str, at: int) -> bool:
    """Whether a character of `MARKS` is one that its neighbours need: a joiner, or none, behind a letter of a script
    that joins letters; a joiner between pictures; a place to break a line in a script without blanks; a variant of the
    character before it; the mark of byte order at the beginning."""
    char, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if char in "\u200c\u200d":
        pictures = char == "\u200d" and (_PICTURE.match(before) or before == "\ufe0f") and _PICTURE.match(after)
        return bool(pictures or _JOINING.match(before))
    if char == "\u200b":
        return bool(_UNPARTED.match(before) and _UNPARTED.match(after))
    if "\ufe00" <= char <= "\ufe0f":
        return bool(before) and not before.isspace() and unicodedata.category(before) not in ("Mn", *_HIDDEN)
    if "\U000e0100" <= char <= "\U000e01ef":
        return bool(_IDEOGRAPH.match(before))
    return char == "\ufeff" and at == 0


def _shown(found: re.Match[str]) -> str:
    return found[0] if is_needed(found.string, found.start()) else _MARK


def storable(text: str) -> str:
    """`text` as a file can hold it: each half of a surrogate pair, which no encoding knows, is one U+FFFD."""
    return text if text.isascii() else _LONE.sub(_MARK, text)


def printable(text: str, limit: int = 0) -> str:
    """`text` with invisible characters escaped, cut to `limit` characters with an ellipsis when `limit` is given.

    Bytes of a file name that are no UTF-8 (surrogates of Python's file system encoding) appear as `\\xNN`.
    """
    cut = bool(limit) and len(text) > limit
    kept = text[: limit - 1] if cut else text
    shown = kept if kept.isascii() and kept.isprintable() else "".join(map(_escaped, kept))
    return shown + "…" if cut else shown


def _escaped(char: str) -> str:
    if unicodedata.category(char) not in _HIDDEN:
        return char
    if char in _NAMED:
        return _NAMED[char]
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_CODE = re.compile(r"\\(?:[nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
_MEANT = {f"\\{letter}": char for char, letter in (("\n", "n"), ("\r", "r"), ("\t", "t"))}


def unescaped(shown: str) -> Iterator[str]:
    """The texts that `printable` may have shown so, the text itself first: a name may hold a backslash of its own.

    `\\x80` to `\\x9f` are bytes that are no UTF-8, or control characters: those come last.
    """
    yield shown
    if _CODE.search(shown):
        yield _CODE.sub(lambda found: _char(found[0], bytes_first=True), shown)
        yield _CODE.sub(lambda found: _char(found[0], bytes_first=False), shown)


def _char(code: str, *, bytes_first: bool) -> str:
    if code in _MEANT:
        return _MEANT[code]
    number = int(code[2:], 16)
    if number > 0x10FFFF:
        return code
    return chr(number + 0xDC00 if code[1] == "x" and number >= 0x80 and bytes_first else number)


def counted(number: int, thing: str) -> str:
    """A number with its noun: `1 secret`, `3 secrets`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
