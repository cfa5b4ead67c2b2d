"""Redact a text that comes in pieces, also where a secret is cut through by their joints."""

from __future__ import annotations

import re
from collections import Counter

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact_find import Span, cleaned, known_values, replaced, spans
from clew.core.text.redact_values import random_like
from clew.core.text.redact_views import NEXT_LINE

CONTEXT = 3_000
"""Characters of what was given out before that are looked at again: cues and heads of tables may stand there."""
LONGEST_HELD = 16_384
"""Most characters of one line, or of lines that may be one value, that are held back."""
LONGEST_KEY = 48_000
"""Most characters of a private key without its end that are held back; what follows is dropped until it ends."""
_KNOWN = 1_000
"""Values that are remembered, so that they also go where they stand again without a cue."""
_PRIVATE = lazy_pattern(r"<private>.*?(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)
_OPEN, _CLOSE = "<private>", "</private>"
_GOES_ON = lazy_pattern(
    rf"(?:[A-Za-z0-9+/=_.%~-]{{8}}|[\\\"'+.&,(=:\uff1a]|(?:{NEXT_LINE})[^\n]{{0,8}})[ \t]*(?:[│┃║][ \t]*)?\r?\n[ \t]*\Z"
)
_KEY_BEGIN = lazy_pattern(r"-----BEGIN [A-Z0-9 ]{0,80}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = lazy_pattern(r"-----END [A-Z0-9 ]{0,80}PRIVATE KEY(?: BLOCK)?-----")
_BOUNDARY = lazy_pattern(r"[\s,;}\]]")
_RUN = lazy_pattern(r"[A-Za-z0-9+/=_.%~-]*")
_KEY_BODY = lazy_pattern(r"[A-Za-z0-9+/=\s>|│]*")


def without_private(text: str, found: Counter[str]) -> str:
    """`text` without the parts that are marked as private."""
    if _OPEN not in text.lower():
        return text
    text, number = _PRIVATE.subn("[REDACTED:private]", text)
    found["private"] += number
    return text


class RedactStream:
    """Takes a text piece by piece and gives it back without its secrets.

    Held back is what may still be part of one: the unfinished line, lines before it that end in a long run of token
    characters or in a sign that goes on, a private key without its end; at most `LONGEST_HELD` characters, or
    `LONGEST_KEY` inside of a private key. What only later text tells to be a secret (a weak password before the
    sentence that names it) is seen as far as it is still held.
    """

    def __init__(self, key: bytes = b"") -> None:
        self._key = key
        self._found: Counter[str] = Counter()
        self._known: set[str] = set()
        self._context = ""
        self._held = ""
        self._tag = ""
        self._private = False
        self._dropping: re.Pattern[str] | None = None

    @property
    def found(self) -> tuple[tuple[str, int], ...]:
        """Kind and number of what was removed so far, by kind."""
        return tuple(sorted(self._found.items()))

    def feed(self, piece: str) -> str:
        """Take a piece; what is safe to give out, may be empty."""
        self._held += self._dropped(self._outside(piece))
        return self._given(final=False)

    def close(self) -> str:
        """The rest."""
        if not self._private:
            self._held += self._dropped(self._tag)
        self._tag = ""
        return self._given(final=True)

    def _outside(self, piece: str) -> str:
        """A piece without what is private; the beginning of a tag waits for its end."""
        text, self._tag = self._tag + piece, ""
        parts: list[str] = []
        while text:
            sign = _CLOSE if self._private else _OPEN
            at = text.lower().find(sign) if text.isascii() else _found_at(text, sign)
            if at >= 0:
                if not self._private:
                    parts += (text[:at], "[REDACTED:private]")
                    self._found["private"] += 1
                self._private, text = not self._private, text[at + len(sign) :]
                continue
            kept = next(
                (n for n in range(min(len(sign) - 1, len(text)), 0, -1) if sign.startswith(text[-n:].lower())), 0
            )
            self._tag = text[len(text) - kept :]
            if not self._private:
                parts.append(text[: len(text) - kept])
            break
        return "".join(parts)

    def _dropped(self, text: str) -> str:
        """A piece without the rest of a secret that was too long to be held."""
        if self._dropping is None or not text:
            return text
        match = self._dropping.match(text)
        stop = match.end() if match else 0
        if stop < len(text):
            self._dropping = None
        return text[stop:]

    def _given(self, *, final: bool) -> str:
        cut = len(self._held) if final else self._ready()
        if cut <= 0:
            return ""
        base, text = len(self._context), self._context + self._held
        found = [span for span in spans(text, known=self._known) if span.end > base]
        if self._dropping is not None and found and found[-1].kind == "private-key":
            found[-1] = Span(found[-1].start, len(text), "private-key")
        elif not final:
            cut = self._before_spans(found, base, cut)
            if cut <= 0:
                return ""
        self._known |= known_values(text, found)
        if len(self._known) > _KNOWN:
            self._known = set(list(self._known)[-_KNOWN // 2 :])
        inside = [
            Span(max(0, span.start - base), min(cut, span.end - base), span.kind)
            for span in found
            if span.start - base < cut
        ]
        out = replaced(self._held[:cut], inside, self._key, self._found)
        self._context, self._held = text[: base + cut][-CONTEXT:], self._held[cut:]
        return cleaned(out, self._key, self._found, self._known)

    def _ready(self) -> int:
        """How much of what is held can be given out."""
        held = self._held
        begins = [*_KEY_BEGIN.finditer(held)] if "PRIVATE KEY" in held else []
        begin = begins[-1] if begins else None
        if begin is not None and _KEY_END.search(held, begin.end()) is None and _open_key(held, begin.end()):
            line = held.rfind("\n", 0, begin.start()) + 1
            if len(held) - line <= LONGEST_KEY:
                return line
            self._dropping = _KEY_BODY
            return len(held)
        cut = held.rfind("\n") + 1
        while cut > 0 and len(held) - cut <= LONGEST_HELD and _GOES_ON.search(held, max(0, cut - 120), cut):
            cut = held.rfind("\n", 0, cut - 1) + 1
        if len(held) - cut <= LONGEST_HELD:
            return cut
        place = len(held) - LONGEST_HELD // 4
        boundary = max((match.end() for match in _BOUNDARY.finditer(held, cut, place)), default=0)
        return boundary or place

    def _before_spans(self, found: list[Span], base: int, cut: int) -> int:
        """`cut` moved before a secret that goes on after it, or after it where too much is held already."""
        for span in found:
            if span.start - base < cut < span.end - base or (span.end - base == cut == len(self._held)):
                if len(self._held) <= LONGEST_HELD and span.kind != "private-key":
                    return max(0, span.start - base)
                if len(self._held) > LONGEST_HELD:
                    self._dropping = _KEY_BODY if span.kind == "private-key" else _RUN
                    self._held = self._held[: span.end - base] + self._dropped(self._held[span.end - base :])
                return min(len(self._held), span.end - base)
        return cut


def _found_at(text: str, sign: str) -> int:
    match = re.compile(re.escape(sign), re.IGNORECASE).search(text)
    return match.start() if match else -1


def _open_key(text: str, start: int) -> bool:
    """Whether what follows the beginning of a key may still be its body."""
    body = text[start:]
    return all(len(line) < 100 or random_like(line[:80]) or "\\n" in line for line in body.split("\n")[:400])
