"""What a search of memory shows: passages cut to the words that matched, under a budget of bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from clew.core.text.terms import terms

SNIPPET = 400
"""Bytes of the text that is shown of one passage."""
_WORD = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]|[^\W\u3400-\u9fff\uf900-\ufaff]+(?:[.-]\w+)*")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_SENTENCE_END = re.compile(r"[.!?]\s+|[\u3002\uff01\uff1f\uff1b]|\n+")
_OVERHEAD = 40
"""Bytes that a face adds around a hit."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage that answers, or the reference to it."""

    reference: str
    """What opens it: `clew://memory/<id>#L12-20`, or the path with lines; of a conversation its turn."""
    path: str
    name: str
    tier: str
    workspace: str
    at: str
    """When, as ISO 8601 text; empty where nothing says so."""
    first: int
    last: int
    """Lines of the file, from 1."""
    heading: str
    speaker: str
    score: float
    stale: str
    """Why its document does not hold any more; empty while it does."""
    snippet: str
    """Empty where only the reference found room."""
    about: str = ""
    """What its front matter says of it beside the name: description, tags and cues."""

    @property
    def told(self) -> tuple[str, ...]:
        """What says where it stands, each thing once: the name, the day where the name has none, the headings below
        the title. Names and headings are as somebody wrote them."""
        day, parts = self.at[:10], self.heading.split(" > ")
        if parts[0] == self.name or (day and day in parts[0]):
            del parts[0]
        return tuple(filter(None, (self.name, "" if day in self.name else day, " > ".join(parts))))


@dataclass(frozen=True, slots=True)
class Packed:
    """Hits under a budget."""

    hits: tuple[Hit, ...]
    """Best first: with their text as far as there was room, the rest by reference."""
    left_out: int
    """Hits for whose references there was no room either."""
    size: int
    """Bytes that were counted."""


def pack(hits: Iterable[Hit], budget: int) -> Packed:
    """As many hits as fit into `budget` bytes, the best with their text.

    Text may take three quarters; the rest is for references. One hit with its text is always there.
    """
    shown: list[Hit] = []
    used = left_out = 0
    full = True
    for hit in hits:
        bare = _OVERHEAD + sum(len(part.encode()) for part in (hit.reference, hit.name, hit.at, hit.stale))
        whole = bare + len(hit.snippet.encode()) + len(hit.heading.encode())
        full = full and used + whole <= budget * 3 // 4
        if full or not shown:
            shown.append(hit)
            used += whole
        elif used + bare <= budget:
            shown.append(replace(hit, snippet=""))
            used += bare
        else:
            left_out += 1
    return Packed(tuple(shown), left_out, used)


def snippet(text: str, matched: Sequence[str], most: int = SNIPPET) -> str:
    """At most `most` bytes of `text`, in whole characters, around where most different matching terms stand.

    It begins at a sentence or a word where one begins near enough; `…` stands where text was left out.
    """
    flat = text.strip()
    if len(flat.encode()) <= most:
        return flat
    room = most - 2 * len("…".encode())
    begin = _begin(flat, _places(flat, set(matched)), room)
    part = _within(flat[begin:], room)
    end = begin + len(part)
    if end < len(flat) and not _HAN.match(flat[end]) and " " in part[len(part) * 2 // 3 :]:
        part = part[: part.rindex(" ")]
    return ("…" if begin else "") + part.strip() + ("…" if begin + len(part) < len(flat) else "")


def _places(text: str, wanted: set[str]) -> list[tuple[int, str]]:
    """Where terms stand, in order: Chinese pairs at their first character."""
    found: list[tuple[int, str]] = []
    for match in _WORD.finditer(text):
        if _HAN.match(match[0]):
            pair = text[match.start() : match.start() + 2]
            found += [(match.start(), term) for term in (pair, match[0]) if term in wanted]
        else:
            found += [(match.start(), term) for term in terms(match[0]) if term in wanted]
    return found


def _begin(text: str, places: Sequence[tuple[int, str]], room: int) -> int:
    """Where a window of `room` bytes begins that holds most different terms, of several the first."""
    best, begin = 0, 0
    for at, (start, _) in enumerate(places):
        reach = start + len(_within(text[start : start + room], room))
        held = len({term for place, term in places[at:] if place < reach})
        if held > best:
            best, begin = held, start
    if not best or len(text[:begin].encode()) <= room // 4:
        return 0
    # Some words before the first match, from the beginning of a sentence where one is near.
    early = max(begin - room // 4, 0)
    while len(text[early:begin].encode()) > room // 3:
        early += 1
    ends = [match.end() for match in _SENTENCE_END.finditer(text, early, begin)]
    if ends:
        return ends[0]
    blank = text.find(" ", early, begin)
    return blank + 1 if blank >= 0 else early


def _within(text: str, most: int) -> str:
    """The longest beginning of at most `most` bytes, in whole characters."""
    return text.encode()[:most].decode("utf-8", "ignore")
