"""Find every form of one known secret in bytes: as it is, escaped, encoded, or broken over lines.

The redactor knows secrets by their shape; here the secret itself is given, so a form counts wherever it stands.
Nothing of a secret is kept but the patterns, and no text that is shown is made from them.
"""

from __future__ import annotations

import base64
import re
import string
import unicodedata
from collections.abc import Iterator, Sequence
from mmap import mmap
from typing import Final

LEAST: Final = 5
"""Characters of a secret. A shorter one would take ordinary words with it."""
MOST: Final = 5_000
_NEWLINE: Final = rb"(?:\r?\n|(?:\\{1,7}r)?\\{1,7}n){1,2}[ \t]{0,20}(?:(?:[+\-|>#]|\xe2\x94\x82)[ \t]{0,4})?"
_HIDDEN: Final = (
    rb"(?:\x1b|\\{1,4}(?:x1b|u001b))\[[0-9;?]{0,20}[A-Za-z]|\xc2\xad|\xe2\x80\x8b|\\{1,4}(?:xad|u00ad|u200b)"
)
_BREAK_OF_LINE: Final = rb"\\\r?\n[ \t]{0,20}|" + _NEWLINE
_JOINED: Final = rb"[\"'][ \t]{0,8}[+.&]?[ \t]{0,8}\\?\r?\n?[ \t]{0,40}[+.&]?[ \t]{0,8}[\"']"
_BREAK: Final = b"(?:" + b"|".join((_HIDDEN, _BREAK_OF_LINE, _JOINED)) + b")?"
"""What may stand between two characters of a value that a program or a terminal broke."""
_DERIVED_BREAK: Final = (
    rb"(?:(?:\xef\xbf\xbd)?\[[0-9;?]{0,20}m|\\{0,4}[ \t-]{1,8}(?:(?:[+|>#]|\xe2\x94\x82)[ \t-]{1,4})?|"
    rb"(?: \[#[0-9.]{1,12}\])?\r?\n- (?:[a-z]{1,12}: )?|" + b"|".join((_HIDDEN, _BREAK_OF_LINE, _JOINED)) + b")?"
)
"""What a break may have become where Clew put a text on one line, made a name of it, or wrote it as items of a list."""
_BLANKS: Final = rb"(?:[ \t\r\n]|\\[nrt]|%(?:25)?(?:0[aAdD9]|20)|\+|[|>#]|\xe2\x94\x82){1,40}"
_DERIVED_BLANKS: Final = rb"\\{0,4}(?:-|" + _BLANKS + b")"
_BLANK: Final = " \t\r\n"
_LETTERED: Final = {"\b": b"b", "\f": b"f"}
_NAMED: Final = {"&": b"amp", "<": b"lt", ">": b"gt", '"': b"quot", "'": b"apos"}
_NEWLINE_ONLY: Final = b"(?:" + _NEWLINE + b")?"
_DERIVED_NEWLINE: Final = rb"(?:[ \t]|" + _NEWLINE + b")?"
_LONG: Final = 200
"""Characters above which letters and digits are looked for as they are only: nobody escapes those of a private key."""
_JOINT: Final = rb"(?:(?:\\r)?\\n|\r?\n[ \t]{0,20})?"
_CUT: Final = (b"\xe2\x80\xa6", b"\\u2026")
"""How a text that was shortened ends."""
_JOINS: Final = b" \t\\-"
"""What stands where the ends of lines were taken out."""
_LEAST_CUT, _MOST_CUT = 6, 400
"""Bytes of a secret that was cut short: fewer tell nothing of it, and more are kept nowhere."""
_LONG_NAME: Final = 56
"""Characters of a name of a file that may have been cut."""
_STEM: Final = re.compile(r"(?:-\d{1,4})?(?:\.md)?\Z")
_SIGNS: Final = frozenset(string.ascii_letters.encode() + string.digits.encode() + b"+/_-")
_LEDGER: Final = re.compile(rb"clew://handoff/([^\s\"'`#,\\)\]}>]{6,200})")
Content = bytes | mmap
"""What is searched: the bytes of a file, or a map of it."""
Parts = Sequence[tuple[int, int]]
"""Start and end of parts of what is searched."""


class Traces:
    """Where one thing that is looked for stands in bytes. Values are safe to use from several threads."""

    def __init__(
        self,
        patterns: tuple[bytes, ...],
        plain: tuple[bytes, ...] = (),
        words: str = "",
        opened: frozenset[bytes] = frozenset(),
        written: frozenset[bytes] = frozenset(),
        derived: tuple[bytes, ...] = (),
    ) -> None:
        """Use `traces_of` or `marks_of`. `plain` is what may also stand cut short, `words` what an index may hold.

        A match of the patterns `opened` takes the sign of Base64 before it along. Those of `written` know capitals.
        Those of `derived` hold only for what was made from another text.
        """
        self._opened = opened
        self._exact = tuple(re.compile(pattern) for pattern in patterns)
        # What is encoded has its case; only what is written out stands in an index in another one.
        self._folded = tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns if pattern in written)
        self._folded += tuple(pattern for pattern in self._exact if pattern.pattern not in written)
        self._derived = tuple(re.compile(pattern, re.IGNORECASE) for pattern in derived)
        self._plain = plain
        self.words = words

    def spans(self, content: Content, *, folded: bool = False, derived: Parts = ()) -> list[tuple[int, int]]:
        """Start and end of each trace, in bytes and in order, none over another; `folded` takes any case.

        In the parts `derived`, which Clew made from a text, a blank may stand for the end of a line.
        """
        found = sorted({
            (self._start(match.start(), content, pattern.pattern), match.end())
            for pattern in (self._folded if folded else self._exact)
            for match in pattern.finditer(content)
        } | set(self._cut_short(content)) | set(self._in_parts(content, derived)))  # fmt: skip
        merged: list[tuple[int, int]] = []
        for start, end in found:
            if merged and start < merged[-1][1]:
                merged[-1] = merged[-1][0], max(merged[-1][1], end)
            else:
                merged.append((start, end))
        return merged

    def without(self, content: bytes, mark: str, *, derived: Parts = ()) -> tuple[bytes, int]:
        """The bytes with `mark` in the place of each trace, and how many there were; `derived` as for `spans`."""
        spans = self.spans(content, derived=derived)
        parts: list[bytes] = []
        place = 0
        for start, end in spans:
            parts += (content[place:start], _in_form(content[start:end], mark))
            place = end
        return b"".join((*parts, content[place:])), len(spans)

    def blotted(self, content: bytes) -> tuple[bytes, int]:
        """The bytes with each trace overwritten, at the same length: for files whose places must not move."""
        spans, done = self.spans(content, folded=True), bytearray(content)
        for start, end in spans:
            done[start:end] = b"x" * (end - start)
        return bytes(done), len(spans)

    def in_name(self, name: str) -> bool:
        """Whether the name of a file or folder holds it, also as names are made from titles."""
        if self.spans(name.encode("utf-8", "surrogateescape"), folded=True):
            return True
        told, wanted = _bare(name), _bare(self.words)
        if len(wanted) < LEAST:
            return False
        # The name of a file ends where it is long enough, without a sign.
        stem = _STEM.sub("", name)
        cut = _bare(stem) if len(stem) >= _LONG_NAME or len(stem.encode("utf-8", "replace")) >= 3 * _LONG_NAME else ""
        return wanted in told or any(cut.endswith(wanted[:length]) for length in range(_LEAST_CUT, len(wanted)))

    def _start(self, at: int, content: Content, pattern: bytes) -> int:
        return at - (pattern in self._opened and at > 0 and content[at - 1] in _SIGNS)

    def _in_parts(self, content: Content, parts: Parts) -> Iterator[tuple[int, int]]:
        for start, end in parts:
            for pattern in self._derived:
                yield from (match.span() for match in pattern.finditer(content, start, end))
            for plain in self._plain:
                yield from _cut_and_broken(plain, content, start, end)
        if self._derived:
            # The name of a ledger is made from words of its session.
            named = (match for match in _LEDGER.finditer(content) if self.in_name(match[1].decode("utf-8", "replace")))
            yield from (match.span(1) for match in named)

    def _cut_short(self, content: Content) -> Iterator[tuple[int, int]]:
        for plain in self._plain:
            if len(plain) > _LEAST_CUT:
                yield from _cut(plain, content)


def _cut(plain: bytes, content: Content) -> Iterator[tuple[int, int]]:
    """Where the beginning of a text stands before the sign of one that was shortened."""
    for sign in _CUT:
        at = content.find(sign)
        while at >= 0:
            before = content[max(0, at - _MOST_CUT) : at]
            for length in range(min(len(plain) - 1, len(before)), _LEAST_CUT - 1, -1):
                if before.endswith(plain[:length]):
                    yield at - length, at
                    break
            at = content.find(sign, at + 1)


def _cut_and_broken(plain: bytes, content: Content, start: int, end: int) -> Iterator[tuple[int, int]]:
    """As `_cut`, where blanks may stand for ends of lines."""
    wanted = plain.translate(None, _JOINS)
    for sign in _CUT:
        at = content.find(sign, start, end)
        while at >= 0:
            first = max(start, at - _MOST_CUT)
            places = [place for place, byte in enumerate(content[first:at], first) if byte not in _JOINS]
            before = content[first:at].translate(None, _JOINS)
            for length in range(min(len(wanted) - 1, len(before)), _LEAST_CUT - 1, -1):
                if before.endswith(wanted[:length]):
                    yield places[-length], at
                    break
            at = content.find(sign, at + 1, end)


def traces_of(secret: str, forms: Sequence[str] = ()) -> Traces:
    """The traces of a secret of LEAST to MOST characters, blanks around it left out; also in other normal forms.

    `forms` are what else was made of it, such as a tag, and is kept as it is or escaped.
    """
    said = secret.strip()
    patterns: list[bytes] = []
    opened, written = set[bytes](), set[bytes]()
    made = dict.fromkeys((said, *forms))
    derived: list[bytes] = []
    for form in dict.fromkeys(unicodedata.normalize(name, one) for one in forms for name in ("NFC", "NFD")):
        written.add(_written(form))
        patterns.append(_written(form))
    for form in dict.fromkeys((said, *(unicodedata.normalize(name, said) for name in ("NFC", "NFD")))):
        written.add(_written(form))
        patterns.append(_written(form))
        derived.append(_written(form, derived=True))
        raw = form.encode("utf-8", "surrogatepass")
        coded = [_base64(raw, offset) for offset in range(3)]
        opened.update(coded[1:])
        patterns += coded
        patterns.append(rb"(?:\\{0,2}x|[: ])?".join(_hex(byte) for byte in raw))
        patterns += [re.escape(form.encode(name, "surrogatepass")) for name in ("utf-16-le", "utf-16-be")]
    plain = tuple(one.encode("utf-8", "surrogatepass") for one in made)
    return Traces(tuple(patterns), plain, said, frozenset(opened), frozenset(written), tuple(derived))


def marks_of(digits: str) -> Traces:
    """The placeholders that carry these digits."""
    return Traces((rb"\[REDACTED:[\w.-]{1,40}:" + re.escape(digits.encode()) + rb"\]",))


def _in_form(found: bytes, mark: str) -> bytes:
    """The mark in the encoding of what it replaces."""
    for name, here, there in (("utf-16-le", 0, 1), ("utf-16-be", 1, 0)):
        if len(found) >= 2 * LEAST and not found[there] and not found[there + 2] and found[here]:
            return mark.encode(name)
    return mark.encode()


def _bare(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if char.isalnum())


def _written(secret: str, *, derived: bool = False) -> bytes:
    """The characters of a secret, each raw or escaped in any usual way, with breaks in between; for what is `derived`,
    with what breaks become there."""
    long = len(secret) > _LONG
    between = (_DERIVED_NEWLINE if derived else _NEWLINE_ONLY) if long else (_DERIVED_BREAK if derived else _BREAK)
    blanks = _DERIVED_BLANKS if derived else _BLANKS
    parts = [
        blanks if not part.strip(_BLANK) else between.join(_character(char, long) for char in part)
        for part in re.split(f"([{_BLANK}]+)", secret)
        if part
    ]
    return between.join(parts)


def _character(char: str, long: bool) -> bytes:
    if long and char.isascii() and char.isalnum():
        return char.encode()
    # Each form begins with a fixed byte: so the search can leap to where one may begin.
    raw = char.encode("utf-8", "surrogatepass")
    forms = [re.escape(raw), b"".join(b"%(?:25){0,2}" + _hex(byte) for byte in raw)]
    units = char.encode("utf-16-be", "surrogatepass")
    forms.append(b"".join(
        rb"\\\\{0,3}u" + _hex(units[at]) + _hex(units[at + 1]) for at in range(0, len(units), 2)
    ))  # fmt: skip
    if not char.isalnum():
        if len(raw) == 1:
            forms.append(rb"\\\\{0,6}" + re.escape(raw))
        forms.append(b"&#0{0,4}%d;" % ord(char))
        forms.append(b"&#[xX]0{0,4}" + b"".join(_digit(digit) for digit in f"{ord(char):x}") + b";")
    if char in _LETTERED:
        forms.append(rb"\\\\{0,6}" + _LETTERED[char])
    if char in _NAMED:
        forms.append(b"&" + _NAMED[char] + b";")
    return b"(?:" + b"|".join(forms) + b")"


def _digit(digit: str) -> bytes:
    return f"[{digit}{digit.upper()}]".encode() if digit.isalpha() else digit.encode()


def _hex(byte: int) -> bytes:
    return b"".join(map(_digit, f"{byte:02x}"))


def _base64(raw: bytes, offset: int) -> bytes:
    """The signs of Base64 that are the secret's alone when it begins at `offset` modulo 3 bytes.

    A sign on either side, which holds some bits of it, goes with them.
    """
    coded = base64.b64encode(bytes(offset) + raw + bytes(3))
    signs = coded[-(-8 * offset // 6) : 8 * (offset + len(raw)) // 6]
    forms = {ord("+"): rb"(?:\+|-|%2[bB])", ord("/"): rb"(?:/|_|%2[fF])"}
    inner = _JOINT.join(forms.get(sign, bytes((sign,))) for sign in signs)
    return inner + rb"[A-Za-z0-9+/_-]?" * bool(8 * (offset + len(raw)) % 6)
