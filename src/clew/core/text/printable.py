"""Show names and messages of foreign origin on one line, so that they can neither break a line nor steer a terminal."""

from __future__ import annotations

import unicodedata

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode categories that are escaped: controls, formats (bidirectional overrides too), surrogates, line breaks."""


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
