"""Remove secrets from text by rule: known token shapes, private keys, values after a cue, passwords in addresses.

A rule that is not sure keeps the text: a variable reference, an obvious placeholder or a name is no secret.
The rules stand in the modules beside this one: `redact_tokens` (who gave a token), `redact_cues` (what a name says),
`redact_places` (where it stands), `redact_blocks` (what takes several lines), `redact_views` (what was broken).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from clew.core.text.redact_blocks import blocks, decoded, is_login, tables
from clew.core.text.redact_cues import announced, assigned, chinese, cue_places
from clew.core.text.redact_paths import is_secret_path
from clew.core.text.redact_places import beside_key_ids, cookies, placed
from clew.core.text.redact_strict import strictly
from clew.core.text.redact_tokens import tokens
from clew.core.text.redact_values import harmless
from clew.core.text.redact_views import View, joined, without_colours

__all__ = ["Redacted", "Span", "is_secret_path", "known_values", "redact", "spans"]

_ROUNDS = 4
"""A text is looked through again after something was removed, until nothing is; so redacting twice changes nothing."""
_CLASSES = bytes(
    ord("a") if chr(code).isalnum() and code < 128 or chr(code) in "_-.~" else ord(" ") for code in range(256)
)
_RUN = re.compile(b"a" * 14 + b"a*")


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


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Where a secret stands in a text: start, end (in characters, end excluded) and kind."""

    start: int
    end: int
    kind: str


def redact(text: str, key: bytes = b"", *, strict: bool = False, known: Iterable[str] = ()) -> Redacted:
    """`text` with each secret replaced by `[REDACTED:kind]`, or `[REDACTED:kind:hash]` with a key.

    `key` is kept by the caller and secret: the same secret then has the same four digits of HMAC-SHA-256 everywhere,
    without them saying anything about it. `strict` is for files that exist to hold secrets: there every assigned value
    goes, unless it is plainly harmless. `known` are values that were found before: they go wherever they stand.
    A part between `<private>` and `</private>` goes whole, also where the end is missing.
    """
    found: Counter[str] = Counter()
    text = without_private(text, found)
    values = set(known)
    for _ in range(_ROUNDS):
        spans_ = spans(text, strict=strict, known=values)
        if not spans_:
            break
        values |= known_values(text, spans_)
        text = replaced(text, spans_, key, found)
    return Redacted(text, tuple(sorted(found.items())))


def spans(text: str, *, strict: bool = False, known: Iterable[str] = ()) -> list[Span]:
    """Where the secrets of a text stand: in order, none over another."""
    view = without_colours(text)
    found = [*_mapped(view, _found(view.text, strict=strict))]
    found += _mapped_joined(view)
    found = _merged(text, found)
    values = {*known, *known_values(text, found)}
    if not values:
        return found
    return _merged(text, [*found, *_again(text, values)])


def replaced(text: str, spans_: Iterable[Span], key: bytes, found: Counter[str]) -> str:
    """`text` with placeholders instead of the spans; counts them by kind."""
    parts: list[str] = []
    place = 0
    for span in spans_:
        parts += (text[place : span.start], placeholder(span.kind, text[span.start : span.end], key))
        found[span.kind] += 1
        place = span.end
    return "".join((*parts, text[place:])) if parts else text


def placeholder(kind: str, secret: str, key: bytes) -> str:
    """What stands instead of a secret: its kind and, with a key, four digits that are equal for equal secrets."""
    if not key:
        return f"[REDACTED:{kind}]"
    said = re.sub(r"\s+", "", secret).encode("utf-8", "surrogatepass")
    return f"[REDACTED:{kind}:{hmac.new(key, said, hashlib.sha256).hexdigest()[:4]}]"


def _found(text: str, *, strict: bool = False, whole: bool = True) -> Iterator[Span]:
    plain = text.encode("ascii", "replace")
    lower = plain.lower()
    ids: list[tuple[int, int]] = []
    for start, end in runs(plain):
        for one, two, kind in tokens(text, start, end):
            if not harmless(text[one:two]):
                yield Span(one, two, kind)
                if kind in ("aws-key-id", "cloud-key-id"):
                    ids.append((one, two))
        yield from _coded(text, start, end)
    places = cue_places(lower)
    rules = [assigned(text, places), placed(text, lower), cookies(text, lower), beside_key_ids(text, ids)]
    if whole:
        rules += [blocks(text, lower), tables(text, places), announced(text)]
    if not text.isascii():
        rules.append(chinese(text, places))
    if strict:
        rules.append(strictly(text))
    for found in rules:
        for one, two, kind in found:
            yield Span(one, two, kind)


def runs(plain: bytes) -> list[tuple[int, int]]:
    """Where fourteen token characters or more stand without a break."""
    return [match.span() for match in _RUN.finditer(plain.translate(_CLASSES))]


def _coded(text: str, start: int, end: int) -> Iterator[Span]:
    """Base64 of a login, a private key or a text with secrets."""
    if end - start < 16 and text[end : end + 1] not in "+/=":
        return
    known = decoded(text, start, end)
    if known is None:
        return
    one, two, said = known
    if "PRIVATE KEY-----" in said:
        yield Span(one, two, "private-key")
    elif is_login(said):
        yield Span(one, two, "login")
    elif len(said) > 16 and not said.startswith("{\"alg") and any(_found_once(said)):
        yield Span(one, two, "encoded")


def _found_once(said: str) -> Iterator[Span]:
    plain = said.encode("ascii", "replace")
    for one, two, kind in (*assigned(said, cue_places(plain.lower())), *placed(said, plain.lower())):
        yield Span(one, two, kind)
    for start, end in runs(plain):
        for one, two, kind in tokens(said, start, end):
            yield Span(one, two, kind)


def _mapped(view: View, found: Iterable[Span]) -> Iterator[Span]:
    for span in found:
        yield Span(*view.span(span.start, span.end), span.kind)


def _mapped_joined(view: View) -> Iterator[Span]:
    """Spans that only a view without breaks shows."""
    for window in joined(view.text, runs(view.text.encode("ascii", "replace"))):
        for span in _found(window.text, whole=False):
            if window.crosses(span.start, span.end):
                start, end = window.span(span.start, span.end)
                yield Span(*view.span(start, end), span.kind)


def _merged(text: str, found: Iterable[Span]) -> list[Span]:
    """The spans in order; those that overlap become one, under the kind of the most telling."""
    merged: list[Span] = []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if span.end <= span.start or "[REDACTED" in text[span.start : span.end]:
            continue
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            kind = span.kind if last.kind in _GENERAL and span.kind not in _GENERAL else last.kind
            merged[-1] = Span(last.start, max(last.end, span.end), kind)
        else:
            merged.append(span)
    return merged


_GENERAL = frozenset({"secret", "password", "authorization", "cookie", "encoded", "ai-key", "login"})


def known_values(text: str, found: Iterable[Span]) -> set[str]:
    """The values that are worth looking for wherever else they stand: no plain words, none too short."""
    values: set[str] = set()
    for span in found:
        value = text[span.start : span.end]
        if 5 <= len(value) <= 400 and "\n" not in value and not harmless(value):
            for one in {value, unquote(value)}:
                if len(one) >= 5 and " " not in one and re.fullmatch(r"[A-Za-z]*[+=]?[0-9]?", one) is None and not (one.isalpha() and len(one) < 12) and not (one.isdigit() and len(one) < 6):
                    values.add(one)
    return values


def _again(text: str, values: Iterable[str]) -> Iterator[Span]:
    for value in values:
        at = text.find(value)
        while at >= 0:
            end = at + len(value)
            if len(value) >= 16 or not (text[at - 1 : at].isalnum() and at or text[end : end + 1].isalnum()):
                yield Span(at, end, "secret")
            at = text.find(value, end)


_PRIVATE = re.compile(r"<private>.*?(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)


def without_private(text: str, found: Counter[str]) -> str:
    """`text` without the parts that are marked as private."""
    if "<private>" not in text.lower():
        return text
    cleaned, number = _PRIVATE.subn("[REDACTED:private]", text)
    found["private"] += number
    return cleaned




class RedactStream:
    def __init__(self, key: bytes = b"") -> None:
        self._b: list[str] = []
        self._k = key
    def feed(self, p: str) -> str:
        self._b.append(p)
        return ""
    def close(self) -> str:
        return redact("".join(self._b), self._k).text
