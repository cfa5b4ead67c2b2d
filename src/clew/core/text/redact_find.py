"""Find the secrets of a text with all rules, and put placeholders in their places."""

from __future__ import annotations

import hashlib
import hmac
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from urllib.parse import unquote

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact_blocks import blocks, decoded, is_login, tables
from clew.core.text.redact_calls import argument
from clew.core.text.redact_chinese import chinese
from clew.core.text.redact_cues import announced, assigned, cue_places
from clew.core.text.redact_files import filed
from clew.core.text.redact_places import beside_key_ids, cookies, placed
from clew.core.text.redact_prose import good_once
from clew.core.text.redact_shown import grouped, printed
from clew.core.text.redact_strict import strictly
from clew.core.text.redact_tokens import may_begin, tokens
from clew.core.text.redact_values import Words, harmless, words_of
from clew.core.text.redact_vendors import of_environment, of_vendors
from clew.core.text.redact_views import View, continued, joined, without_colours

_ROUNDS = 4
"""A text is looked through again after something was removed, until nothing is; so redacting twice changes nothing."""
_LETTER, _DIGIT = ord("a"), ord("0")
_CLASSES = bytes(
    (_DIGIT if chr(code).isdigit() else _LETTER) if code < 128 and (chr(code).isalnum() or chr(code) in "_-.~") else 32
    for code in range(256)
)
_ARGUMENT_BEFORE = frozenset("'\":+/=")
_RUN = lazy_pattern(b"[a0]{16,}")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Where a secret stands in a text: start, end (in characters, end excluded) and kind."""

    start: int
    end: int
    kind: str


def cleaned(text: str, key: bytes, found: Counter[str], known: set[str], *, strict: bool = False) -> str:
    """`text` without its secrets; counts them in `found` and adds their values to `known`."""
    for _ in range(_ROUNDS):
        spans_ = spans(text, strict=strict, known=known)
        if not spans_:
            break
        known |= known_values(text, spans_)
        text = replaced(text, spans_, key, found)
    return text


def spans(text: str, *, strict: bool = False, known: Iterable[str] = ()) -> list[Span]:
    """Where the secrets of a text stand: in order, none over another."""
    view = without_colours(text)
    plain = view.text.encode("ascii", "replace")
    runs_ = runs(plain)
    lower = plain.lower()
    words = words_of(lower)
    found = _found(view.text, runs_, lower, words, strict=strict)
    inside = _merged(view.text, [*found, *_broken(view, runs_, words)])
    found = _merged(text, _mapped(view, _merged(view.text, [_whole(view.text, span) for span in inside])))
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


def _found(
    text: str, runs_: list[tuple[int, int]], lower: bytes, words: Words, *, strict: bool = False, whole: bool = True
) -> Iterator[Span]:
    """What each rule finds. `lower` is the text in lower case with `?` for what is no ASCII, so places are the same."""
    ids: list[tuple[int, int]] = []
    for start, end in runs_:
        for one, two, kind in tokens(text, start, end):
            if not harmless(text[one:two]):
                yield Span(one, two, kind)
                if kind in ("aws-key-id", "cloud-key-id"):
                    ids.append((one, two))
        yield from _coded(text, start, end)
        if text[start - 1 : start] in _ARGUMENT_BEFORE:
            for one, two, kind in (*argument(text, start, end), *of_environment(text, start, end)):
                yield Span(one, two, kind)
    places = cue_places(lower, words)
    rules = [assigned(text, places), placed(text, lower, words), cookies(text, lower), beside_key_ids(text, ids)]
    rules.append(of_vendors(text, lower, words))
    if whole:
        rules += [blocks(text, lower, words), filed(text, lower, words), tables(text, places), announced(text, words)]
        rules += [good_once(text, lower, words), printed(text), grouped(text, places)]
    if not text.isascii():
        rules.append(chinese(text, places))
    if strict:
        rules.append(strictly(text))
    for found in rules:
        for one, two, kind in found:
            yield Span(one, two, kind)


def runs(plain: bytes) -> list[tuple[int, int]]:
    """Where sixteen token characters or more stand without a break."""
    mask = plain.translate(_CLASSES)
    # A long word without a digit is a name; only few tokens are letters alone, and those have a prefix.
    return [
        (start, end)
        for start, end in (match.span() for match in _RUN.finditer(mask))
        if mask.find(b"0", start, end) >= 0 or may_begin(plain[start : start + 4])
    ]


def names_with_tokens(names: Iterable[str]) -> set[str]:
    """Those of many names of files that hold a token of a known form: what only a sentence tells is none in a name."""
    listed = list(names)
    text = "\n".join(listed)
    begins: list[int] = []
    found: set[str] = set()
    for start, end in runs(text.encode("ascii", "replace")):
        for one, two, _ in tokens(text, start, end):
            if not harmless(text[one:two]):
                begins = begins or [0, *accumulate(len(name) + 1 for name in listed)]
                found.add(listed[bisect_right(begins, one) - 1])
    return found


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
    elif len(said) > 16 and not said.startswith('{"alg') and any(_found_once(said)):
        yield Span(one, two, "encoded")


def _found_once(said: str) -> Iterator[Span]:
    plain = said.encode("ascii", "replace")
    lower = plain.lower()
    words = words_of(lower)
    for one, two, kind in (*assigned(said, cue_places(lower, words)), *placed(said, lower, words)):
        yield Span(one, two, kind)
    for start, end in runs(plain):
        for one, two, kind in tokens(said, start, end):
            yield Span(one, two, kind)


def _mapped(view: View, found: Iterable[Span]) -> Iterator[Span]:
    for span in found:
        yield Span(*view.span(span.start, span.end), span.kind)


def _whole(text: str, span: Span) -> Span:
    """A span with the lines that go on with it."""
    if span.kind in ("private-key", "seed-phrase", "recovery-code", "password"):
        return span
    return Span(span.start, continued(text, span.start, span.end), span.kind)


def _broken(view: View, runs_: list[tuple[int, int]], words: Words) -> Iterator[Span]:
    """Spans that only a view without breaks shows."""
    for window in joined(view.text, runs_, words):
        plain = window.text.encode("ascii", "replace")
        lower = plain.lower()
        for span in _found(window.text, runs(plain), lower, words_of(lower), whole=False):
            if window.crosses(span.start, span.end):
                yield Span(*window.span(span.start, span.end), span.kind)


def _merged(text: str, found: Iterable[Span]) -> list[Span]:
    """The spans in order; those that overlap become one, under the kind of the most telling."""
    merged: list[Span] = []
    done = [match.span() for match in _DONE.finditer(text)] if "[REDACTED" in text else []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if span.end <= span.start or any(one < span.end and span.start < two for one, two in done):
            continue
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            kind = span.kind if last.kind in _GENERAL and span.kind not in _GENERAL else last.kind
            merged[-1] = Span(last.start, max(last.end, span.end), kind)
        else:
            merged.append(span)
    return merged


_DONE = lazy_pattern(r"\[REDACTED(?::[\w.-]{1,40}){0,2}\]?")
_GENERAL = frozenset({"secret", "token", "password", "authorization", "cookie", "encoded", "ai-key", "login"})


def known_values(text: str, found: Iterable[Span]) -> set[str]:
    """The values that are worth looking for wherever else they stand: no plain words, none too short."""
    values: set[str] = set()
    for span in found:
        value = text[span.start : span.end]
        if 5 <= len(value) <= 400 and "\n" not in value and not harmless(value):
            for one in {value, unquote(value)}:
                if (
                    len(one) >= 5
                    and " " not in one
                    and re.fullmatch(r"[A-Za-z]*[+=]?[0-9]?", one) is None
                    and not (one.isalpha() and len(one) < 12)
                    and not (one.isdigit() and len(one) < 6)
                ):
                    values.add(one)
    return values


def _again(text: str, values: Iterable[str]) -> Iterator[Span]:
    for value in values:
        at = text.find(value)
        while at >= 0:
            end = at + len(value)
            if len(value) >= 16 or not ((text[at - 1 : at].isalnum() and at) or text[end : end + 1].isalnum()):
                yield Span(at, end, "secret")
            at = text.find(value, end)
