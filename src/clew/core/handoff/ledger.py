"""The ledger of a window: what the next one must know, in four sections of a Markdown file that people may edit.

Clew refreshes it in place. It remembers by short marks in the front matter which lines it wrote itself: so it takes
back its own lines only, brings none back that a person took out, and leaves everything else as it is, byte for byte.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final, Literal

from clew.core.handoff.references import HANDOFF
from clew.core.text.frontmatter import Problem, Value, edit, parse, written
from clew.core.text.lazy import lazy_pattern
from clew.core.text.scalars import Given

Language = Literal["en", "zh"]
HEADINGS: Final[Mapping[str, tuple[str, str]]] = {
    "state": ("State", "任务状态"),
    "goal": ("Goal and decisions", "目标与决定"),
    "tried": ("Tried and why it failed", "已试方案与失败原因"),
    "progress": ("Progress and next step", "进度与下一步"),
}
"""Sections in their order, each with its heading in English and in Chinese."""
_ALIASES: Final[Mapping[str, str]] = {
    "state": r"(?:current |task )?(?:state|status)|任务状态|当前状态|状态|现状",
    "goal": (
        r"goals?(?: (?:and|&) decisions?)?|objectives?|decisions?|settled|"
        r"目标(?:(?:与|和|及)?(?:已?决定|已决))?|已决(?:事项)?|决定"
    ),
    "tried": r"tried.*|attempts?.*|dead ends?|failed.*|what (?:did not|didn't) work|已试.*|失败.*|试过.*",
    "progress": r"progress.*|next(?: steps?)?|to ?dos?|open|进度.*|下一步.*|待办.*|进展.*",
}
_HEADING = lazy_pattern(r"[ \t]{0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$|[ \t]{0,3}\*\*(.+?)\*\*[ \t]*[:：]?[ \t]*$")
_LINE = lazy_pattern(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_AHEAD = lazy_pattern(r"\s*(?:[-*+]\s+)?(?:next(?: step)?s?|下一步|接下来)\s*[:：]", re.IGNORECASE)
_FENCE = lazy_pattern(r"[ \t]{0,3}(```|~~~)")
_MARK: Final = 6
"""Hex digits of the mark of a line."""


@dataclass(frozen=True, slots=True)
class Sections:
    """The texts of the four sections, Markdown without headings."""

    state: str = ""
    goal: str = ""
    """Goal and decisions."""
    tried: str = ""
    """Tried and why it failed."""
    progress: str = ""
    """Progress and next step."""

    @property
    def empty(self) -> bool:
        """Whether nothing is said at all."""
        return not any(text.strip() for text in self.by_name().values())

    def by_name(self) -> dict[str, str]:
        """The texts by the names of the sections, in their order."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a file of the handoff folder says. A value that is missing there is empty here."""

    stem: str = ""
    """Name of the file without its ending: it opens as `clew://handoff/STEM`."""
    id: str = ""
    workspace: str = ""
    branch: str = ""
    trigger: str = ""
    session: str = ""
    window: int = 1
    """Which window of the session this is of, counted from 1."""
    thread: str = ""
    """The first of the sessions that continue one another; the session itself where nothing else is said."""
    supersedes: str = ""
    superseded_by: str = ""
    status: str = "active"
    created: datetime | None = None
    updated: datetime | None = None
    sections: Sections = Sections()
    problems: tuple[Problem, ...] = ()
    marks: frozenset[str] = field(default=frozenset(), compare=False)
    """Of the lines that Clew wrote."""

    @property
    def holds(self) -> bool:
        """Whether no later ledger takes its place."""
        return self.status == "active" and not self.superseded_by

    @property
    def ref(self) -> str:
        """The reference that opens it."""
        return f"{HANDOFF}{self.stem}"


def read_ledger(stem: str, text: str) -> Ledger:
    """The ledger in a file, however it was edited. Raises nothing."""
    front = parse(text)
    values = front.values
    session = _word(values.get("session"))
    number = _word(values.get("window"))
    body = Body(front.body)
    return Ledger(
        stem=stem,
        id=_word(values.get("id")),
        workspace=_word(values.get("workspace")),
        branch=_word(values.get("branch")),
        trigger=_word(values.get("trigger")),
        session=session,
        window=int(number) if number.isascii() and number.isdigit() and len(number) < 7 else 1,
        thread=_word(values.get("thread")) or session,
        supersedes=_word(values.get("supersedes")),
        superseded_by=_word(values.get("superseded_by")),
        status=_word(values.get("status")).lower() or "active",
        created=_moment(_word(values.get("created"))),
        updated=_moment(_word(values.get("updated"))),
        sections=body.sections(),
        problems=front.problems,
        marks=frozenset(_word(values.get("written")).split()),
    )


def sections_of(text: str) -> Sections:
    """The sections of a text that somebody hands over. What stands above the first known heading is the state. Of a
    text without any, all of it is, but lines that say what comes next."""
    clean = text.replace("\r\n", "\n").replace("\r", "\n")
    if any(map(kind_of, clean.split("\n"))):
        return Body(clean).sections()
    state, ahead = list[str](), list[str]()
    for line in clean.split("\n"):
        (ahead if _AHEAD.match(line) else state).append(line)
    return Sections(state=_trimmed("\n".join(state)), progress=_trimmed("\n".join(ahead)))


def ledger_text(ledger: Ledger, *, name: str, description: str, language: Language = "en", own: bool = True) -> str:
    """The text of a new file: front matter, then the four headings with their texts. `own`: Clew wrote the lines."""
    values: dict[str, Given] = {
        "id": ledger.id or None,
        "name": name,
        "description": description or None,
        "workspace": ledger.workspace or None,
        "branch": ledger.branch or None,
        "trigger": ledger.trigger or None,
        "session": ledger.session or None,
        "window": str(ledger.window),
        "thread": ledger.thread if ledger.thread != ledger.session else None,
        "status": "active",
        "created": ledger.created,
        "updated": ledger.updated or ledger.created,
        "supersedes": ledger.supersedes or None,
        "written": _marks(ledger.sections) if own else None,
    }
    column = 1 if language == "zh" else 0
    parts = [
        f"## {HEADINGS[key][column]}\n" + (f"\n{clean}\n" if (clean := _levelled(text)) else "")
        for key, text in ledger.sections.by_name().items()
    ]
    return written({key: value or None for key, value in values.items()}) + "\n" + "\n".join(parts)


def refreshed(
    text: str, sections: Sections, changes: Mapping[str, Given], *, language: Language = "en", own: bool = True
) -> str:
    """`text` with its sections brought up to `sections`.

    With `own` they are what Clew's rules say now: lines that Clew wrote before and that are not said any more go, new
    ones come, lines of others stay, and none that somebody took out comes back. Without it they are what a model or a
    person asked to stand there: each section that is given replaces the one in the file. `changes` are keys of the
    front matter, set only where a section changed. Where nothing is new the text is returned as it is.
    """
    front = parse(text)
    head = text[: len(text) - len(front.body)]
    known = frozenset(_word(front.values.get("written")).split())
    body = Body(front.body)
    before = body.sections().by_name()
    for key, given in sections.by_name().items():
        wanted = merged(before[key], _levelled(given), known, key) if own else _levelled(given) or before[key]
        if wanted.strip() != before[key].strip():
            body.put(key, wanted, language)
    made = head + body.text
    marks = _marks(sections) if own else " ".join(sorted(known)) or None
    if made == text and (not own or frozenset((marks or "").split()) == known):
        return text
    return edit(made, {**changes, "written": marks or None})


def added(text: str, sections: Sections, changes: Mapping[str, Given], *, language: Language = "en") -> str:
    """`text` with lines added to its sections, below what stands there; lines that are there already are not."""
    front = parse(text)
    body = Body(front.body)
    before = body.sections().by_name()
    for key, given in sections.by_name().items():
        there = {_bare(line) for line in before[key].splitlines()}
        more = [line for line in _levelled(given).splitlines() if not line.strip() or _bare(line) not in there]
        if any(line.strip() for line in more):
            body.put(key, f"{before[key].rstrip()}\n" + "\n".join(more).strip("\n"), language)
    made = text[: len(text) - len(front.body)] + body.text
    return text if made == text else edit(made, changes)


def merged(current: str, wanted: str, known: frozenset[str], section: str) -> str:
    """`wanted` with what others did to `current` since: their lines stay, behind the line that they stood behind, and
    lines that they took out stay out. `known` are the marks of the lines that Clew wrote into `current`."""
    own = {line for line in (*current.splitlines(), *wanted.splitlines()) if mark(line, section) in known}
    now = current.splitlines()
    there = {_bare(line) for line in now}
    new = [line for line in wanted.splitlines() if not line.strip() or _bare(line) in there or line not in own]
    placed: list[tuple[int, str]] = []
    behind = -1
    said = {_bare(line): at for at, line in enumerate(new) if line.strip()}
    for before, line in pairwise(("", *now)):
        bare = _bare(line)
        if bare in said:
            behind = max(behind, said[bare])
        elif bare and line not in own:
            # A paragraph stays one.
            placed += [(behind, one) for one in ((line,) if before.strip() else ("", line))]
    result = [line for at, line in placed if at == -1]
    for number, line in enumerate(new):
        result.append(line)
        result += [one for at, one in placed if at == number]
    return "\n".join(result).strip("\n")


def mark(line: str, section: str) -> str:
    """What a line of a section is known by: the same whatever blanks are around it."""
    said = f"{section} {_bare(line)}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=_MARK // 2).hexdigest()


def is_chinese(texts: Iterable[str]) -> bool:
    """Whether texts are written mostly in Chinese: a Han character says as much as two or three Latin ones."""
    joined = "".join(texts)
    han = sum("\u4e00" <= char <= "\u9fff" for char in joined)
    return 3 * han > sum(char.isascii() and char.isalpha() for char in joined)


class Body:
    """The text below the front matter, by sections. Lines keep their ends."""

    def __init__(self, text: str) -> None:
        self._lines: list[str] = _LINE.findall(text)
        match = re.search(r"\r\n|\n|\r", text)
        self._end = match[0] if match else "\n"

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._lines)

    def sections(self) -> Sections:
        """What the sections say; several of one kind are joined. What stands above all headings belongs to the state,
        what stands below a heading of no known kind to the section above it."""
        found: dict[str, list[str]] = {key: [] for key in HEADINGS}
        for key, first, last in self._ranges():
            text = "".join(self._lines[first:last]).replace("\r\n", "\n").replace("\r", "\n")
            found[key] += filter(None, [_trimmed(text)])
        return Sections(**{key: "\n\n".join(parts) for key, parts in found.items()})

    def put(self, key: str, text: str, language: Language) -> None:
        """Another text for a section; a heading is made where there is none. Further sections of the kind end."""
        lines = [f"{line}{self._end}" for line in text.strip("\n").split("\n")] if text.strip() else []
        places = [place for place in self._ranges() if place[0] == key]
        if not places:
            column = 1 if language == "zh" else 0
            tail = [] if not self._lines or not self._lines[-1].strip() else [self._end]
            if self._lines and not self._lines[-1].endswith(("\n", "\r")):
                self._lines[-1] += self._end
            self._lines += [*tail, f"## {HEADINGS[key][column]}{self._end}", self._end, *lines]
            return
        if len(places) > 1 and not places[0][1]:
            # What stands above all headings stays there, and is not said again below one.
            above = {_bare(line) for line in self._lines[: places[0][2]]}
            lines = [line for line in lines if not line.strip() or _bare(line) not in above]
            places = places[1:]
        for _, first, last in reversed(places[1:]):
            del self._lines[first:last]
        _, first, last = places[0]
        more = last < len(self._lines)
        self._lines[first:last] = [*([self._end] if first else []), *lines, *([self._end] if more and lines else [])]

    def _ranges(self) -> list[tuple[str, int, int]]:
        """Kind, first line and line behind the last of each section, without its heading. Indexes count from 0."""
        places: list[tuple[str, int, int]] = []
        key, first, fence = "state", 0, ""
        for at, line in enumerate(self._lines):
            if found := _FENCE.match(line):
                fence = "" if fence == found[1] else fence or found[1]
                continue
            named = "" if fence else kind_of(line)
            if named:
                if first or "".join(self._lines[:at]).strip():
                    places.append((key, first, at))
                key, first = named, at + 1
        if first or "".join(self._lines).strip():
            places.append((key, first, len(self._lines)))
        return places


def kind_of(line: str) -> str:
    """The section that a line is the heading of; empty where it is none of them."""
    match = _HEADING.match(line.rstrip("\r\n"))
    if match is None:
        return ""
    words = " ".join((match[2] if match[1] else match[3] or "").casefold().strip(" :：").split())
    return next((key for key, form in _ALIASES.items() if re.fullmatch(form, words)), "")


def _levelled(text: str) -> str:
    """A text in a section: without blank lines around it, and without headings that would begin another section."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")
    return "\n".join(f"**{_HEADING_WORDS.sub('', line)}** ·" if kind_of(line) else line.rstrip() for line in lines)


_HEADING_WORDS = lazy_pattern(r"^[ \t]*(?:#{1,6}[ \t]+|\*\*)|[ \t]*#*[ \t]*$|\*\*[ \t]*[:：]?[ \t]*$")


def _trimmed(text: str) -> str:
    lines = [line.rstrip() for line in text.split("\n")]
    return "\n".join(lines).strip("\n")


def _bare(line: str) -> str:
    return " ".join(line.split())


def _marks(sections: Sections) -> str:
    marks = [
        mark(line, key)
        for key, text in sections.by_name().items()
        for line in _levelled(text).splitlines()
        if line.strip()
    ]
    return " ".join(dict.fromkeys(marks))


def _word(value: Value) -> str:
    if isinstance(value, list):
        return ", ".join(one for one in value if isinstance(one, str))
    return value.strip() if isinstance(value, str) else ""


def _moment(text: str) -> datetime | None:
    """A time as written; a day alone is its first moment. None where it is no time."""
    try:
        return datetime.fromisoformat(text.strip()) if text else None
    except ValueError:
        return None


def newest(ledgers: Sequence[Ledger], *, branch: str = "", thread: str = "", session: str = "") -> Ledger | None:
    """The ledger that a window goes on from: of those that hold, the one of its own session or thread on its branch,
    else the latest of the branch. Where several were written at the same moment the later name counts."""
    here = [one for one in ledgers if one.holds and one.branch == branch]
    for near in (
        [one for one in here if session and one.session == session],
        [one for one in here if thread and one.thread == thread],
        here,
    ):
        if near:
            return max(near, key=age)
    return None


def of_window(ledgers: Sequence[Ledger], session: str, window: int, branch: str = "") -> Ledger | None:
    """The ledger of a session's window on a branch that still holds; the later one where two say so."""
    own = (session, window, branch)
    found = [one for one in ledgers if one.holds and (one.session, one.window, one.branch) == own and session]
    return max(found, key=age) if found else None


def age(one: Ledger) -> tuple[datetime, str]:
    """A key that sorts ledgers from the one that was changed first to the one that was changed last. A time without a
    zone counts as UTC."""
    changed = one.updated or one.created or datetime(1, 1, 1, tzinfo=UTC)
    return (changed if changed.tzinfo else changed.replace(tzinfo=UTC), one.stem)
