"""The messages of git that name a document which is purged, and what is left of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_LEAST: Final = 5
"""Letters and digits of a name that is looked for in running text: a shorter one stands in any."""
_MARK: Final = "[REDACTED:document]"


class Told:
    """Takes names and references out of messages. Clew puts a name between backticks; people write it as it is."""

    def __init__(self, names: Iterable[str], refs: Iterable[str]) -> None:
        """`names` are those of documents, `refs` what leads to one and to nothing else: ids, paths, addresses."""
        self._names = frozenset(map(_plain, names)) - {""}
        parts = [_whole(ref) for ref in sorted(set(refs), key=len, reverse=True) if ref]
        self._refs = re.compile("|".join(parts) or r"(?!)")
        long = sorted((name for name in self._names if sum(map(str.isalnum, name)) >= _LEAST), key=len, reverse=True)
        words = [r"[\s_-]+".join(map(re.escape, name.split())) for name in long]
        self._said = re.compile("|".join((*parts, *(f"(?i:{_bounded(word)})" for word in words))) or r"(?!)")

    def without(self, message: bytes) -> bytes:
        """The message with a mark in the place of each name; one between backticks counts only as a whole."""
        pieces = message.decode("utf-8", "surrogateescape").split("`")
        for at, piece in enumerate(pieces):
            quoted = at % 2 and at + 1 < len(pieces)
            if quoted and _plain(piece) in self._names:
                pieces[at] = _MARK
            else:
                pieces[at] = (self._refs if quoted else self._said).sub(_MARK, piece)
        return "`".join(pieces).encode("utf-8", "surrogateescape")


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


def _whole(ref: str) -> str:
    return rf"{re.escape(ref)}(?![\w-])"


def _bounded(word: str) -> str:
    """A word that is not part of another; scripts without blanks have no such bounds."""
    return rf"(?<![a-z0-9_]){word}(?![a-z0-9_])"
