"""Text as it was before a terminal, a diff or a program broke it, with the way back to each place in the original."""

from __future__ import annotations

import re
import string
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact_tokens import complete, may_begin, shapes_of, tokens
from clew.core.text.redact_values import Words, harmless, identifier, is_hex, is_uuid, random_like, stem_of

_ANSI = lazy_pattern(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[()][A-Z0-9])")
_UNSEEN = lazy_pattern(
    "[\u00ad\u200b-\u200d\u2060\ufeff]+|\x1b(?:\\[[0-9;?]*[A-Za-z]|\\][^\x07\x1b]{0,200}(?:\x07|\x1b\\\\)|[()][A-Z0-9])"
)
_WIDE_SIGN = lazy_pattern("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]")
_WIDE = {ord(wide): ord(wide) - 0xFEE0 for wide in map(chr, range(0xFF10, 0xFF5B)) if wide.isalnum()}
_TOKEN_SIGNS = string.ascii_letters + string.digits + "+/=_.%~-"
_RIGHT = lazy_pattern(r"(?![-=_.~%/+]{2})[A-Za-z0-9+/_.%~-]+(?:={1,2}(?![A-Za-z0-9]))?")
_NEWLINE = lazy_pattern(r"(?:[ \t]{0,200}[│┃║])?[ \t]{0,8}\r?\n[ \t]{0,20}([+\-|>│┃║#][ \t]{0,4})?")
_SIGNS = lazy_pattern(r"\\\r?\n[ \t]{0,20}|([\"'])[ \t]{0,8}[+.&]?[ \t]{0,8}\\?\r?\n?[ \t]{0,40}[+.&]?[ \t]{0,8}\1")
NEXT_LINE = "如下|见下|下面|是这个|就这个|这个|在这里|在这儿|在这|给你|发你|贴在"
"""What says in Chinese that a value stands on the next line, for a pattern."""
_BEFORE_BREAK = frozenset("\r\n \t│┃║")
_PIECES = 8
"""Lines that one token may take."""
_CHECK = lazy_pattern(r"=[A-F0-9]{8}(?!\w)")
_SHORT = (
    "AKIA", "ASIA", "LTAI", "glpat-", "ghp_", "ghs_", "gho_", "xoxb-", "xoxp-", "dt0c", "hvs.", "npm_", "hf_",
    "dop_v1_", "GOCSPX-", "AIza", "shpat_", "glsa_", "sntrys_",
)  # fmt: skip
_STEMS = {prefix: stem_of(prefix.lower().encode()) for prefix in _SHORT}
_LINE_END = lazy_pattern(r"[ \t]{0,200}[│┃║|]?[ \t]{0,20}(?:\r?\n|\r?\Z)")
_RUN_SIGNS = string.ascii_letters + string.digits + "_.~-"


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
    """The text without the codes of a terminal and without signs of no width; wide letters as narrow ones."""
    if not text.isascii():
        if _WIDE_SIGN.search(text):
            text = text.translate(_WIDE)
        cuts = [match.span() for match in _UNSEEN.finditer(text)]
        return _cut(text, 0, cuts) if cuts else View(text)
    return _cut(text, 0, [match.span() for match in _ANSI.finditer(text)]) if "\x1b" in text else View(text)


def joined(text: str, runs: Iterable[tuple[int, int]], words: Words) -> Iterator[View]:
    """Windows of the text in which values broken over lines or by signs of a program are whole again.

    `runs` are the long runs of token characters: only they are looked at for breaks without any sign. `words`: the
    different words of the text.
    """
    cuts = sorted({*_at_line_ends(text, [*runs, *_short_starts(text, words)]), *_at_signs(text)})
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


def _short_starts(text: str, words: Words) -> Iterator[tuple[int, int]]:
    """Beginnings of short tokens, too short to be a long run when they are cut."""
    for prefix in _SHORT:
        at = text.find(prefix) if _STEMS[prefix] in words.all else -1
        while at >= 0:
            yield at, _end(text, at)
            at = text.find(prefix, at + 4)


def _at_line_ends(text: str, runs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for _, end in runs:
        # Base64 goes on over signs that are no part of a run.
        end = _end(text, end)
        left = left_of(text, end)
        value = left.rpartition("=")[2] or left.rstrip("=").rpartition("=")[2]
        if text[end : end + 1] in _BEFORE_BREAK and len(value) >= 6:
            whole = _shape_goes_on(text, value, end)
            if whole:
                yield from whole
                continue
        if len(value) < (8 if value.startswith(_SHORT) else 12) or not (random_like(value, 12) or _prefixed(value)):
            continue
        right = _next_piece(text, value, end)
        if right is not None:
            yield end, right[0]


def left_of(text: str, end: int, signs: str = _TOKEN_SIGNS, most: int = 2_000) -> str:
    """The characters among `signs` right before a place."""
    before = text[max(0, end - most) : end]
    return before[len(before.rstrip(signs)) :]


def _end(text: str, end: int) -> int:
    more = _RIGHT.match(text, end, end + 400)
    return more.end() if more else end


def _next_piece(text: str, value: str, end: int) -> tuple[int, int] | None:
    """Where the rest of a value stands that was wrapped at the end of a line; None where the next line is another.

    `value` is the part before `end`. Only what is plainly the rest of it counts: the value is not complete by its own
    rule, and the next line, no longer than this one, holds nothing but random characters of the same classes.
    """
    cut = _NEWLINE.match(text, end)
    if cut is None or (is_hex(value) and len(value) in (32, 40, 64, 128)) or _complete_at(text, end):
        return None
    line = text[max(text.rfind("\n", max(0, end - 4_000), end) + 1, end - 4_000) : end]
    sign = cut[1] or ""
    if sign and (line.lstrip()[:1] != sign[0] or sign in ("- ", "+ ")):
        return None
    right = _RIGHT.match(text, cut.end(), cut.end() + 2_000)
    if right is None or len(right[0]) > len(line) + 2 or not _rest_of(value, right[0]):
        return None
    if any(one == right.start() for one, _, _ in tokens(text, right.start(), right.end())):
        # Tokens stand one below the other as well, whole.
        return None
    tail = _CHECK.match(text, right.end())
    stop = tail.end() if tail else right.end()
    quoted = text[stop : stop + 1] in ('"', "'", "`") and line.count(text[stop]) % 2 == 1
    return (cut.end(), stop) if quoted or _LINE_END.match(text, stop) else None


def _shape_goes_on(text: str, value: str, end: int) -> list[tuple[int, int]]:
    """The breaks of a token whose own form shows that it goes on below: it fits with the next lines, not without."""
    shapes = shapes_of(value)
    if not shapes or any(shape.match(value) for shape in shapes):
        return []
    line = text[max(text.rfind("\n", max(0, end - 4_000), end) + 1, end - 4_000) : end]
    cuts: list[tuple[int, int]] = []
    for _ in range(_PIECES):
        cut = _NEWLINE.match(text, end)
        right = _RIGHT.match(text, cut.end(), cut.end() + 2_000) if cut is not None else None
        if cut is None or right is None or not _LINE_END.match(text, right.end()):
            return []
        if cut[1] and line.lstrip()[:1] != cut[1][0]:
            return []
        piece = right[0]
        if len(piece) >= 12 and (not any(map(str.isdigit, piece)) or identifier(piece)):
            return []
        cuts.append((end, cut.end()))
        value, end = value + piece, right.end()
        if any(match and match.end() == len(value) for match in (shape.match(value) for shape in shapes)):
            return cuts
    return []


def _rest_of(value: str, right: str) -> bool:
    """Whether a run looks as if cut out of the same random value: long enough, mixed, and with the same classes."""
    bare = right.rstrip("=")
    if len(bare) < 8 or harmless(bare) or is_uuid(bare):
        return False
    if any(map(str.isupper, value)) != any(map(str.isupper, bare)):
        return False
    if any(map(str.islower, value)) != any(map(str.islower, bare)) or not any(map(str.isdigit, bare)):
        return False
    if is_hex(value):
        return is_hex(bare)
    if len(bare) >= 14:
        return random_like(bare, 14) and not identifier(bare) and not _made_of_words(bare)
    changes = sum(_class(one) != _class(two) for one, two in pairwise(bare))
    return changes * 3 >= len(bare) and random_like(bare, 8) and bare.isalnum()


def _made_of_words(run: str) -> bool:
    """Whether a run is a name in camel or snake case: its pieces are longer than chance makes them.

    Letters drawn from both cases change the piece after two of them on average, names after three and more.
    """
    if run != run.lower() and run != run.upper():
        pieces = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", run)
        return sum(map(len, pieces)) >= 3 * len(pieces)
    return any(len(part) < 8 or not any(map(str.isdigit, part)) for part in re.split(r"[-_.]", run))


def _class(char: str) -> int:
    return 0 if char.isdigit() else 1 if char.islower() else 2


def _complete_at(text: str, end: int) -> bool:
    """Whether a token that ends at a place is whole by the rule of whoever gave it."""
    start = end - len(left_of(text, end, _RUN_SIGNS))
    return any(two == end and complete(text[one:two]) for one, two, _ in tokens(text, start, end))


def _prefixed(value: str) -> bool:
    return may_begin(value[:4].encode("ascii", "replace"))


def continued(text: str, start: int, end: int) -> int:
    """Where a secret ends that goes on over the next lines; `end` where it does not."""
    piece = text[max(start, text.rfind("\n", start, end) + 1) : end]
    if end - start < 10 or complete(text[start:end]):
        return end
    for _ in range(100):
        right = _next_piece(text, piece, end)
        if right is None:
            return end
        piece, end = text[slice(*right)], right[1]
    return end


def _at_signs(text: str) -> Iterator[tuple[int, int]]:
    if "\\\n" not in text and "\\\r\n" not in text and not any(sign in text for sign in "\"'"):
        return
    for match in _joints(text):
        before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
        whole = before and after and _RIGHT.match(before) and _RIGHT.match(after)
        if whole and len(left_of(text, match.start())) >= 4 and _signed(text, match):
            yield match.span()


def _signed(text: str, cut: re.Match[str]) -> bool:
    """Whether a sign of a program joins two parts of a value, and does not only stand between a token and a line."""
    end = cut.start()
    start = end - len(left_of(text, end, _RUN_SIGNS))
    held = [text[one:two] for one, two, _ in tokens(text, start, end) if two == end]
    right = _RIGHT.match(text, cut.end(), cut.end() + 2_000)
    if right is None or any(map(complete, held)):
        return False
    return not held or "\n" not in cut[0] or _rest_of(held[0], right[0])


def _joints(text: str) -> Iterator[re.Match[str]]:
    for sign in (
        "\\\n",
        '"\n',
        "'\n",
        "' +",
        "'+",
        '" +',
        '"+',
        '" "',
        '" .',
        *(("\\\r\n", '"\r\n') if "\r" in text else ()),
    ):
        at = text.find(sign)
        while at >= 0:
            match = _SIGNS.match(text, at) if at and text[at - 1] in _TOKEN_SIGNS else None
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
