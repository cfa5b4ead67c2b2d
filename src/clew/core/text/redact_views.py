"""Text as it was before a terminal, a diff or a program broke it, with the way back to each place in the original."""

from __future__ import annotations

import re
import string
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact_tokens import may_begin
from clew.core.text.redact_values import identifier, is_hex, random_like

_ANSI = lazy_pattern(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[()][A-Z0-9])")
_TOKEN_SIGNS = string.ascii_letters + string.digits + "+/=_.%~-"
_RIGHT = lazy_pattern(r"(?!-----)[A-Za-z0-9+/_.%~-]+(?:={1,2}(?![A-Za-z0-9]))?")
_NEWLINE = lazy_pattern(r"\r?\n[ \t]{0,20}(?:[+\-|>│#][ \t]{0,4})?")
_SIGNS = lazy_pattern(r"\\\r?\n[ \t]{0,20}|([\"'])[ \t]{0,8}[+.&]?[ \t]{0,8}\\?\r?\n?[ \t]{0,40}[+.&]?[ \t]{0,8}\1")
_WORD = lazy_pattern(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}|[0-9]{1,7}|[0-9]{4}-[0-9]{2}-[0-9]{2}.*|[0-9]{1,2}:[0-9]{2}.*")
_CHECK = lazy_pattern(r"=[A-F0-9]{8}(?!\w)")
_SHORT = ("AKIA", "ASIA", "LTAI")
_NAMED = lazy_pattern(r"[\"']?[ \t]{0,8}(?:[:(]|={1,2}[ \t]?[\"'`]?[\w$<{/-])")


@dataclass(frozen=True, slots=True)
class View:
    """Text with parts cut out of another; `at` says where a place stands in the other one."""

    text: str
    base: int = 0
    kept: tuple[int, ...] = field(default=(0,))
    """Where each kept part begins in `text`."""
    origin: tuple[int, ...] = field(default=(0,))
    """Where each kept part begins in the original, from `base` on."""

    def at(self, place: int) -> int:
        """The place in the original of a character of `text`."""
        part = bisect_right(self.kept, place) - 1
        return self.base + self.origin[part] + place - self.kept[part]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """A span in the original, with all that was cut out inside of it."""
        return self.at(start), self.at(end - 1) + 1

    def crosses(self, start: int, end: int) -> bool:
        """Whether something was cut out inside of a span."""
        return bisect_right(self.kept, start) != bisect_right(self.kept, end - 1)


def without_colours(text: str) -> View:
    """The text without the codes of a terminal."""
    return _cut(text, 0, [match.span() for match in _ANSI.finditer(text)]) if "\x1b" in text else View(text)


def joined(text: str, runs: Iterable[tuple[int, int]]) -> Iterator[View]:
    """Windows of the text in which values broken over lines or by signs of a program are whole again.

    `runs` are the long runs of token characters: only they are looked at for breaks without any sign.
    """
    cuts = sorted({*_at_line_ends(text, [*runs, *_short_starts(text)]), *_at_signs(text)})
    group: list[tuple[int, int]] = []
    for cut in cuts:
        if group and cut[0] < group[-1][1]:
            continue
        if group and cut[0] - group[-1][1] > 2_000:
            yield _window(text, group)
            group = []
        group.append(cut)
    if group:
        yield _window(text, group)


def _short_starts(text: str) -> Iterator[tuple[int, int]]:
    """Beginnings of short tokens, too short to be a long run when they are cut."""
    for prefix in _SHORT:
        at = text.find(prefix)
        while at >= 0:
            yield at, _end(text, at)
            at = text.find(prefix, at + 4)


def _at_line_ends(text: str, runs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for _, end in runs:
        # Base64 goes on over signs that are no part of a run.
        end = _end(text, end)
        cut = _NEWLINE.match(text, end)
        if cut is None:
            continue
        left = left_of(text, end)
        right = _RIGHT.match(text, cut.end(), cut.end() + 2_000)
        if (
            left
            and right is not None
            and _one_value(left, right[0].rstrip("="), text, right.start() + len(right[0].rstrip("=")))
        ):
            yield cut.span()


def left_of(text: str, end: int, signs: str = _TOKEN_SIGNS, most: int = 200) -> str:
    """The characters among `signs` right before a place."""
    before = text[max(0, end - most) : end]
    return before[len(before.rstrip(signs)) :]


def _end(text: str, end: int) -> int:
    more = _RIGHT.match(text, end, end + 400)
    return more.end() if more else end


def _one_value(left: str, right: str, text: str, end: int) -> bool:
    """Whether a run at the end of a line and one at the start of the next may be one value."""
    value = left.rpartition("=")[2] or left.rstrip("=").rpartition("=")[2]
    if (
        len(value) < (8 if value[:4] in _SHORT else 12)
        or _NAMED.match(text, end)
        or not (random_like(value, 12) or _prefixed(value))
    ):
        return False
    if is_hex(value) and re.fullmatch(r"[0-9a-f]+", right):
        # Digests stand one below the other as well, whole: those are not joined.
        return len(value) not in (32, 40, 64) or len(right) != len(value)
    alone = end >= len(text) or text[end] in "=\r\n\"'`,;)]} \t│|。，"
    if identifier(right) and len(right) > 6 and not (_prefixed(value) and _fragment(right)):
        return False
    last = end >= len(text) or text[end] in "=\r\n\"'`"
    return (alone and _WORD.fullmatch(right) is None and len(right) > 2) or (last and len(right) <= 2)


def _prefixed(value: str) -> bool:
    return may_begin(value[:4].encode("ascii", "replace"))


def continued(text: str, start: int, end: int) -> int:
    """Where a secret ends that goes on over the next lines; `end` where it does not.

    A line goes on with it that begins with a run of token characters which is no word, no name before a sign and no
    date, stands alone or ends in a quote, and is of the same kind (base 16 after base 16).
    """
    piece = text[max(start, text.rfind("\n", start, end) + 1) : end]
    if end - start < 10:
        return end
    for _ in range(100):
        cut = _NEWLINE.match(text, end)
        right = _RIGHT.match(text, cut.end(), cut.end() + 2_000) if cut else None
        if right is None or not _goes_on(piece, right[0], text, right.end()):
            return end
        # A check sum after the sign of equality ends some tokens.
        tail = _CHECK.match(text, right.end())
        piece, end = right[0], tail.end() if tail else right.end()
    return end


def _goes_on(left: str, right: str, text: str, end: int) -> bool:
    bare = right.rstrip("=")
    named = _NAMED.match(text, end - len(right) + len(bare)) is not None and not random_like(bare, 12)
    if named or len(right) > len(left) + 1:
        return False
    last = end >= len(text) or text[end] in "\r\n\"'`"
    if is_hex(left):
        return last and re.fullmatch(r"[0-9a-fA-F]+", right) is not None
    if len(right) <= 2:
        return last and not bare.isalpha()
    word = _WORD.fullmatch(right) is not None or (identifier(right) and right == right.lower())
    if len(right) == len(left) and len(right) >= 14:
        return not (word and "-" in right)
    alone = last or text[end] in ",;)]} \t│|。，" or _CHECK.match(text, end) is not None
    return alone and not word and _fragment(right)


def _fragment(right: str) -> bool:
    """Whether a run looks cut out of something random: a digit in it, or no pieces as long as words."""
    pieces = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", right)
    return any(map(str.isdigit, right)) or not pieces or sum(map(len, pieces)) < 3.5 * len(pieces)


def _at_signs(text: str) -> Iterator[tuple[int, int]]:
    if "\\\n" not in text and "\\\r\n" not in text and not any(sign in text for sign in "\"'"):
        return
    for match in _joints(text):
        before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
        whole = before and after and _RIGHT.match(before) and _RIGHT.match(after)
        if whole and len(left_of(text, match.start())) >= 4:
            yield match.span()


def _joints(text: str) -> Iterator[re.Match[str]]:
    for sign in (
        "\\\n",
        '"\n',
        "'\n",
        "' +",
        "'+",
        "'\n",
        '" +',
        "' +",
        '"+',
        '" "',
        '" .',
        *(("\\\r\n", '"\r\n') if "\r" in text else ()),
    ):
        at = text.find(sign)
        while at >= 0:
            match = _SIGNS.match(text, at)
            if match is not None:
                yield match
            at = text.find(sign, at + 1)


def _window(text: str, cuts: list[tuple[int, int]]) -> View:
    start, end = cuts[0][0], cuts[-1][1]
    for _ in range(3):
        start = max(0, text.rfind("\n", max(0, start - 2_000), max(0, start - 1)) + 1, start - 2_000)
    for _ in range(2):
        found = text.find("\n", end, end + 2_000)
        end = min(len(text), found + 1 if found >= 0 else end + 2_000)
    return _cut(text[start:end], start, [(one - start, two - start) for one, two in cuts])


def _cut(text: str, base: int, cuts: list[tuple[int, int]]) -> View:
    parts: list[str] = []
    kept: list[int] = []
    origin: list[int] = []
    place = length = 0
    for start, end in (*cuts, (len(text), len(text))):
        if start > place or not kept:
            kept.append(length)
            origin.append(place)
            parts.append(text[place:start])
            length += start - place
        place = end
    return View("".join(parts), base, tuple(kept), tuple(origin))
