"""What the model may see of a text: without secrets and without characters that steer, line for line the same text.

Where something was taken out over several lines, each of them bears the mark, so that numbers of lines hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from clew.core.text.printable import visible
from clew.core.text.redact import is_secret_path, redact

_MARK = re.compile(r"\[REDACTED:[^\[\]\s]{1,80}\]")
_PLACEHOLDER = re.compile(r"\[REDACTED[^\]\n]{0,80}\]|\[not shown: [^\]\n]{0,80}\]", re.IGNORECASE)
"""Whatever looks like a mark, also one that nobody was shown."""
_DIGITS = re.compile(r":[0-9a-f]{4}\]$")
_MOST_WHOLE = 256 * 1024
"""Characters of a text that is looked at as a whole; of a longer one the part that is shown, and its surroundings."""
_AROUND = 500
"""Lines on either side that are looked at with a part: more than a private key has."""
_HIDDEN = "[not shown: it could not be told from a secret]"


@dataclass(frozen=True, slots=True)
class Cleaner:
    """Takes secrets out of what is shown. Without `redact`, the user wants to have them shown."""

    redact: Callable[[str], str] | None = None
    strictly: Callable[[str], str] | None = None
    """For files that exist to hold secrets."""
    shown: set[str] = field(default_factory=set[str], compare=False)
    """Marks with digits that stood for a secret in what was shown so far."""

    def sight(self, path: str, lines: list[str]) -> Sight:
        """The lines (without ends) of a file as they may be shown."""
        return Sight(self, path, lines)

    def redacted(self, path: str, text: str) -> str:
        """A text without its secrets."""
        if self.redact is None:
            return text
        clean = self.redact(text)
        if is_secret_path(path):
            clean = self.strictly(text) if self.strictly else redact(clean, strict=True).text
        self.shown.update(mark for mark in marks(clean) - marks(text) if _DIGITS.search(mark))
        return clean


class Sight:
    """What may be shown of the lines of a file; a short one is looked at once, and as a whole."""

    def __init__(self, cleaner: Cleaner, path: str, lines: list[str]) -> None:
        self._cleaner = cleaner
        self._path = path
        self._raw = lines
        self._whole = sum(map(len, lines)) <= _MOST_WHOLE or any("<private>" in one for one in lines)
        self._clean: list[str] | None = None

    def lines(self, first: int, last: int) -> list[str]:
        """Those from the index `first` to before `last`."""
        if self._clean is None and not self._whole:
            start = max(first - _AROUND, 0)
            return self._cleaned(self._raw[start : last + _AROUND])[first - start : last - start]
        return self.all()[first:last]

    def all(self) -> list[str]:
        """All of them, looked at as a whole."""
        if self._clean is None:
            self._clean = self._cleaned(self._raw)
        return self._clean

    def _cleaned(self, lines: list[str]) -> list[str]:
        text = "\n".join(lines)
        return [visible(one) for one in aligned(text, self._cleaner.redacted(self._path, text)).split("\n")]


def marks(text: str) -> set[str]:
    """The marks of secrets that were taken out."""
    return set(_MARK.findall(text)) if "[REDACTED:" in text else set()


def placeholder(text: str) -> str:
    """The first thing in a text that is shaped like a mark; empty where there is none."""
    found = _PLACEHOLDER.search(text)
    return found[0] if found else ""


def aligned(text: str, clean: str) -> str:
    """The clean text with as many lines as the text has: a mark for each line that what was taken out went over.

    The parts between marks stand in the text, one behind the other; where they do not, nothing is shown.
    """
    if text == clean:
        return text
    kept = _MARK.split(clean)
    found = _MARK.findall(clean)
    place = len(kept[0])
    parts = [kept[0]]
    if not text.startswith(kept[0]):
        return "\n".join([_HIDDEN] * (text.count("\n") + 1))
    for at, (mark, after) in enumerate(zip(found, kept[1:], strict=True), 1):
        last = at == len(found)
        end = len(text) - len(after) if last else text.find(after, place + 1)
        if end <= place or not text.startswith(after, end):
            return "\n".join([_HIDDEN] * (text.count("\n") + 1))
        parts.append("\n".join([mark] * (text.count("\n", place, end) + 1)) + after)
        place = end + len(after)
    return "".join(parts)
