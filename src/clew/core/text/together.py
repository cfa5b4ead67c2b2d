"""Takes secrets out of several texts that belong together: what one of them reveals goes from all of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact import redact
from clew.core.text.redact_find import cleaned, placeholder
from clew.core.text.redact_stream import without_private

_LEAST: Final = 6
"""Letters and digits of a value that is also looked for as a file name or a tag would write it."""
_LEAST_VALUE: Final = 5
"""Characters of a value that is looked for elsewhere."""
_LONG_WORD: Final = 12
"""Letters of a word of another script that may be a value as it is."""
_SURE: Final = 16
"""Characters of a value that is known also within a longer word."""
_DONE = lazy_pattern(r"\[REDACTED(?::[\w.-]{1,40}){0,2}\]")
_WORD = lazy_pattern(r"[^\W_]+")
_ASCII_WORD = lazy_pattern(r"[0-9a-z]+")
_CODED = lazy_pattern(r"%[0-9a-f]{2}")
_AROUND: Final = ".,;:?()[]{}<>\"'`"
"""What stands around a word and is no part of it."""


@dataclass(frozen=True, slots=True)
class Redactor:
    """Takes secrets out of texts; equal ones leave equal marks, by the key of this installation."""

    key: bytes

    def __call__(self, text: str) -> str:
        """`text` without its secrets."""
        return redact(text, self.key).text

    def together(self, texts: Sequence[str]) -> list[str]:
        """The texts without their secrets. A password that one of them calls so goes from the others as well, also in
        another case and with other signs between its letters, as in tags and names of files."""
        known, found = set[str](), Counter[str]()
        # Even an empty text costs as much as a line.
        clean = [text and cleaned(without_private(text, found), self.key, found, known) for text in texts]
        if not known:
            return clean
        forms = re.compile("|".join(_forms(known)), re.IGNORECASE)
        return [redact(text, self.key, known=known | set(forms.findall(text))).text for text in texts]

    def revealed(self, texts: Iterable[str]) -> frozenset[str]:
        """The values that the texts call secrets and that are worth looking for wherever else they stand."""
        known, found = set[str](), Counter[str]()
        for text in texts:
            cleaned(without_private(text, found), self.key, found, known)
        return frozenset(known)

    def without(self, text: str, values: Collection[str]) -> str:
        """`text` without these values, in the forms that `together` knows; nothing else of it is touched."""
        if not values:
            return text
        forms = re.compile(f"{_DONE.pattern}|({'|'.join(_forms(values))})", re.IGNORECASE)
        return forms.sub(self._marked, text)

    def _marked(self, found: re.Match[str]) -> str:
        before, after = found.string[: found.start()][-1:], found.string[found.end() :][:1]
        inside = len(found[0]) < _SURE and (before.isalnum() or after.isalnum())
        return found[0] if found[1] is None or inside else placeholder("secret", found[0], self.key)


def together(redact: Callable[[str], str], *texts: str) -> list[str]:
    """The texts without their secrets: each by itself, unless `redact` is a Redactor, which takes them together."""
    return redact.together(texts) if isinstance(redact, Redactor) else list(map(redact, texts))


def revealed(redact: Callable[[str], str], *texts: str) -> frozenset[str]:
    """As `Redactor.revealed`; nothing where `redact` is none."""
    return redact.revealed(texts) if isinstance(redact, Redactor) else frozenset()


def without(redact: Callable[[str], str], text: str, values: Collection[str]) -> str:
    """As `Redactor.without`; `text` as it is where `redact` is none."""
    return redact.without(text, values) if isinstance(redact, Redactor) else text


def may_share(text: str, other: str) -> bool:
    """Whether `text` may hold a value that `other` calls a secret. Where not, `other` need not be looked through for
    it, which takes ten times longer than this: no word that a value could be stands in both."""
    here, there = text.lower(), other.lower()
    words = " ".join(_WORD.findall(here))
    if not there.isascii() and any(len(word) >= _LONG_WORD and word.isalpha() for word in _WORD.findall(here)):
        return True
    for chunk in set(there.split()):
        if len(chunk) < _LEAST_VALUE or ((bare := chunk.strip(_AROUND)).isalpha() and bare.isascii()):
            continue
        parts = (_WORD if bare.isascii() else _ASCII_WORD).findall(bare)
        wanted = [f"{one} {two}" for one, two in pairwise(parts)] if len(parts) > 1 else parts
        if any(one in words for one in wanted) or ("%" in bare and _CODED.search(bare)):
            return True
    return False


def _forms(values: Iterable[str]) -> list[str]:
    found: list[str] = []
    for value in sorted(values, key=len, reverse=True):
        found.append(re.escape(value))
        words = re.findall(r"[^\W_]+", value)
        if len(words) > 1 and sum(map(len, words)) >= _LEAST:
            found.append(r"(?:[^\w\n]|_){1,3}".join(words))
    return found
