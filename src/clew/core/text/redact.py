"""Remove secrets from text by rule: known token shapes, private keys, values after a cue, passwords in addresses.

A rule that is not sure keeps the text: a variable reference, an obvious placeholder or a name is no secret.
The rules stand in the modules beside this one: `redact_tokens` (who gave a token), `redact_vendors` (behind whose name
a key stands), `redact_cues` (what a name says), `redact_places` and `redact_calls` (where it stands), `redact_files`
(what file is shown), `redact_blocks` (what takes several lines), `redact_views` (what was broken).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from clew.core.text.redact_find import Span, cleaned, names_with_tokens, spans
from clew.core.text.redact_paths import is_secret_path
from clew.core.text.redact_stream import RedactStream, without_private

__all__ = ["RedactStream", "Redacted", "Span", "is_secret_path", "names_with_tokens", "redact", "spans"]


@dataclass(frozen=True, slots=True)
class Redacted:
    """Text without its secrets. Redacting it again changes nothing."""

    text: str
    found: tuple[tuple[str, int], ...] = ()
    """Kind and number, by kind."""

    @property
    def count(self) -> int:
        """Number of secrets that were removed."""
        return sum(number for _, number in self.found)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the secrets that were removed, in alphabetical order."""
        return tuple(kind for kind, _ in self.found)


def redact(text: str, key: bytes = b"", *, strict: bool = False, known: Iterable[str] = ()) -> Redacted:
    """`text` with each secret replaced by `[REDACTED:kind]`, or `[REDACTED:kind:hash]` with a key.

    `key` is kept by the caller and secret: the same secret then has the same four digits of HMAC-SHA-256 everywhere,
    without them saying anything about it. `strict` is for files that exist to hold secrets: there every assigned value
    goes, unless it is plainly harmless. `known` are values that were found before: they go wherever they stand.
    A part between `<private>` and `</private>` goes whole, also where the end is missing.
    """
    found: Counter[str] = Counter()
    text = cleaned(without_private(text, found), key, found, set(known), strict=strict)
    return Redacted(text, tuple(sorted(found.items())))
