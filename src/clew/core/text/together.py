"""Takes secrets out of several texts that belong together: what one of them reveals goes from all of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from clew.core.text.redact import redact
from clew.core.text.redact_find import cleaned
from clew.core.text.redact_stream import without_private

_LEAST: Final = 6
"""Letters and digits of a value that is also looked for as a file name or a tag would write it."""


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
        clean = [cleaned(without_private(text, found), self.key, found, known) for text in texts]
        if not known:
            return clean
        forms = re.compile("|".join(_forms(known)), re.IGNORECASE)
        return [redact(text, self.key, known=known | set(forms.findall(text))).text for text in texts]


def together(redact: Callable[[str], str], *texts: str) -> list[str]:
    """The texts without their secrets: each by itself, unless `redact` is a Redactor, which takes them together."""
    return redact.together(texts) if isinstance(redact, Redactor) else list(map(redact, texts))


def _forms(values: Iterable[str]) -> list[str]:
    found: list[str] = []
    for value in sorted(values, key=len, reverse=True):
        found.append(re.escape(value))
        words = re.findall(r"[^\W_]+", value)
        if len(words) > 1 and sum(map(len, words)) >= _LEAST:
            found.append(r"(?:[^\w\n]|_){1,3}".join(words))
    return found
