"""Values as YAML on one line, in a form that every reader takes for the same."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Final, TypeAlias

from clew.core.text.lazy import lazy_pattern
from clew.errors import UsageError

Given: TypeAlias = "str | date | Sequence[str] | None"
"""What a key may be set to. None takes the key out."""
_MOST_KEY: Final = 200
PLAIN = lazy_pattern(r"[A-Za-z\u4e00-\u9fff](?:[\w ./+-]*[\w.])?")
"""A text that needs no quotes, reserved words aside."""
_PLAIN_KEY = lazy_pattern(r"[A-Za-z_\u4e00-\u9fff][\w-]*")
_RESERVED: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def key_text(key: str) -> str:
    """A key. Raises UsageError for one that is empty or too long."""
    if not key or len(key) > _MOST_KEY:
        raise UsageError(f"a key of the front matter has 1 to {_MOST_KEY} characters", hint="choose a shorter one")
    return key if _PLAIN_KEY.fullmatch(key) and key.lower() not in _RESERVED else quoted(key)


def value_text(value: Given) -> str:
    """A value: a date or a text as a scalar, several texts as a list in brackets."""
    if value is None:
        return "null"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        return scalar_text(value)
    return f"[{', '.join(map(scalar_text, value))}]"


def scalar_text(text: str) -> str:
    """As it is where every reader takes it for this text, else in double quotes."""
    return text if PLAIN.fullmatch(text) and text.lower() not in _RESERVED and len(text) < 80 else quoted(text)


def quoted(text: str) -> str:
    """`text` in double quotes. What no reader accepts becomes U+FFFD."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    code = ord(char)
    if 0xD800 <= code <= 0xDFFF or code in (0xFFFE, 0xFFFF):
        return "\ufffd"
    if code < 0x20 or 0x7F <= code < 0xA0:
        return f"\\x{code:02x}"
    if code in (0x2028, 0x2029, 0xFEFF):
        return f"\\u{code:04x}"
    return char
