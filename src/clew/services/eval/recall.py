"""`clew eval recall`: which labelled notes come to mind for labelled messages, and in conversations.

A folder holds `memories/*.md`, `messages.jsonl` and, if there are any, `conversations.jsonl`. Every message is judged
on its own; a conversation is a session in which each turn is a run, with its record of hints.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

from clew.core.memory.document import read_document
from clew.core.memory.recall import MOST_HINTS, Note
from clew.core.memory.shelf import days
from clew.core.memory.window import WINDOW
from clew.errors import NotFound, UsageError
from clew.services.eval.labelled import read_labelled, share, text_of
from clew.services.recall import Recaller
from clew.services.recall_shelf import make_shelf, note_of, open_engines
from clew.services.words import load_glossary
from clew.stores.seen import Seen

_MESSAGE = (
    '{"id": "m1", "text": "drop the old table", "role": "user", "relevant": ["mem_1"], "acceptable": [], "harmful": []}'
)
_CONVERSATION = '{"id": "c1", "turns": [{"n": 1, "text": "…", "relevant": [], "expect": [], "suppressed": []}]}'
_COUNTS: tuple[str, ...] = ("turns", "violations", "expected", "hit", "late", "noise", "harmful")

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class RecallItem:
    """One message or turn: the hints that were given, and where they are wrong."""

    id: str
    text: str
    hints: tuple[str, ...]
    missed: tuple[str, ...]
    wrong: tuple[str, ...]
    harmful: tuple[str, ...]
    silence: str


@dataclass(frozen=True, slots=True)
class RecallResult:
    """Figures over labelled messages and conversations.

    `messages`: n, shares precision, emitted_recall, recall_at_3 (ranking without threshold; also by language and for
    messages that share no word with their note), counts false_hits (of messages without a relevant note), harmful and
    stale. `conversations`: turns, violations of the window, expected, hit, late, noise, harmful. `engine`: what judged.
    """

    engine: str
    today: str
    messages: Mapping[str, float]
    by_role: Mapping[str, Mapping[str, float]]
    by_trait: Mapping[str, Mapping[str, float]]
    conversations: Mapping[str, int]
    items: tuple[RecallItem, ...]


@dataclass(frozen=True, slots=True)
class _Labelled:
    id: str
    text: str
    role: str
    relevant: tuple[str, ...]
    acceptable: tuple[str, ...]
    harmful: tuple[str, ...]
    traits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Judged:
    said: _Labelled
    hints: tuple[str, ...]
    ranked: tuple[str, ...]

    @property
    def recall(self) -> float:
        """Share of the relevant notes among the first three."""
        return sum(id_ in self.ranked[:MOST_HINTS] for id_ in self.said.relevant) / max(1, len(self.said.relevant))

    @property
    def wrong(self) -> tuple[str, ...]:
        """Hints that are neither relevant nor acceptable."""
        return tuple(id_ for id_ in self.hints if id_ not in self.said.relevant + self.said.acceptable)


def evaluate_recall(
    folder: Path,
    today: str,
    *,
    memories: str = "memories",
    engines: Sequence[str] = ("e5", "static"),
    progress: Progress | None = None,
) -> RecallResult:
    """Judge every message and conversation of a folder.

    `today` (YYYY-MM-DD) decides what has expired: what `expires` on that day or before. Raises NotFound without the
    files, UsageError where they are something else, or where `today` is no date.
    """
    if days(today) == days("never"):
        raise UsageError(f"`{today}` is no date", hint="write it as 2026-06-15")
    notes = read_notes(folder / memories)
    stale = {note.id for note in notes if not note.hintable or days(note.expires or "9999-12-31") < days(today)}
    opened = open_engines(engines)
    shelf = make_shelf(notes, load_glossary(), {name: (one.lookup, one.means) for name, one in opened.items()})
    recaller = Recaller(shelf, {name: one.open for name, one in opened.items()})
    rows = [_labelled(where, row) for where, row in read_labelled(folder / "messages.jsonl", _MESSAGE)]
    judged: list[_Judged] = []
    items: list[RecallItem] = []
    used: dict[str, None] = {}
    for at, said in enumerate(rows):
        found = recaller.hints(said.text, role=said.role, today=today)
        used[found.engine] = None
        ids = tuple(one.id for one in found.hints)
        judged.append(_Judged(said, ids, tuple(one.id for one in found.considered[:MOST_HINTS])))
        items.append(_item(said, ids, found.silence))
        if progress:
            progress(at + 1, len(rows))
    conversations, turns = _conversations(folder / "conversations.jsonl", recaller, today)
    traits = sorted({trait for one in judged for trait in one.said.traits})
    return RecallResult(
        engine="+".join(filter(None, used)),
        today=today,
        messages=_figures(judged, stale),
        by_role={role: _figures([one for one in judged if one.said.role == role], stale)
                 for role in sorted({one.said.role for one in judged})},
        by_trait={trait: _figures([one for one in judged if trait in one.said.traits], stale) for trait in traits},
        conversations=conversations,
        items=(*items, *turns),
    )  # fmt: skip


def read_notes(folder: Path) -> list[Note]:
    """The notes of a folder. Raises NotFound where there are none.

    In labelled folders a note is stale from the day that `expires` names; in memory that is the last day on which it
    holds, so the day before takes its place.
    """
    documents = [
        read_document(f"user/{path.name}", path.read_text(encoding="utf-8", errors="replace"))
        for path in sorted(folder.glob("*.md"))
    ]
    notes = [
        note_of(replace(one, expires=one.expires - timedelta(days=1)) if one.expires else one) for one in documents
    ]
    if not notes:
        raise NotFound(f"no notes in {folder}", hint="the folder holds `memories/*.md` and `messages.jsonl`")
    return notes


def _figures(judged: Sequence[_Judged], stale: set[str]) -> dict[str, float]:
    wanting = [one for one in judged if one.said.relevant]
    hits = sum(id_ in one.said.relevant for one in judged for id_ in one.hints)
    wrong = sum(len(one.wrong) for one in judged)
    wanted = sum(len(one.said.relevant) for one in wanting)

    def recall(trait: str, *, without: bool = False) -> float:
        return share([one.recall for one in wanting if (trait in one.said.traits) != without])

    return {
        "n": len(judged),
        "precision": round(hits / (hits + wrong), 4) if hits + wrong else 0.0,
        "emitted_recall": round(hits / wanted, 4) if wanted else 0.0,
        "recall_at_3": share([one.recall for one in wanting]),
        "recall_at_3_same_language": recall("cross_language", without=True),
        "recall_at_3_cross_language": recall("cross_language"),
        "recall_at_3_no_overlap": recall("no_overlap"),
        "false_hits": sum(bool(one.wrong) for one in judged if not one.said.relevant),
        "harmful": sum(id_ in one.said.harmful for one in judged for id_ in one.hints),
        "stale": sum(id_ in stale for one in judged for id_ in one.hints),
    }


def _item(said: _Labelled, ids: tuple[str, ...], silence: str) -> RecallItem:
    return RecallItem(
        id=said.id,
        text=said.text,
        hints=ids,
        missed=tuple(id_ for id_ in said.relevant if id_ not in ids),
        wrong=tuple(id_ for id_ in ids if id_ not in said.relevant + said.acceptable),
        harmful=tuple(id_ for id_ in ids if id_ in said.harmful),
        silence=silence,
    )


def _conversations(path: Path, recaller: Recaller, today: str) -> tuple[dict[str, int], list[RecallItem]]:
    """Figures of the conversations, and their turns as items; zeros without the file."""
    counts = dict.fromkeys(_COUNTS, 0)
    items: list[RecallItem] = []
    if not path.is_file():
        return counts, items
    with tempfile.TemporaryDirectory(prefix="clew-recall-") as folder:
        seen = Seen(Path(folder) / "seen.db")
        session = Recaller(recaller.shelf, recaller.engines, seen, weights=recaller.weights)
        for where, row in read_labelled(path, _CONVERSATION):
            turns = row.get("turns")
            if not isinstance(turns, list):
                raise UsageError(f'{where}: "turns" must be a list', hint=_CONVERSATION)
            shown: dict[str, int] = {}
            for turn in cast("list[dict[str, Any]]", turns):
                run = int(turn["n"])
                said = _labelled(f"{where} turn {run}", {"id": f"{row.get('id', where)}.{run}", **turn})
                found = session.hints(said.text, today=today, session=str(row.get("id", where)), run=run)
                ids = tuple(one.id for one in found.hints)
                _count(counts, turn, said, ids, run, shown)
                items.append(_item(said, ids, found.silence))
    return counts, items


def _count(
    counts: dict[str, int],
    turn: Mapping[str, Any],
    said: _Labelled,
    ids: Sequence[str],
    run: int,
    shown: dict[str, int],
) -> None:
    """Add one turn. `shown` holds the run in which each id was last given, and is brought up to date."""
    expect, suppressed = _ids(turn, "expect"), _ids(turn, "suppressed")
    counts["turns"] += 1
    for id_ in expect:
        blocked = id_ in shown and run - shown[id_] <= WINDOW
        counts["expected"] += not blocked or id_ in ids
        counts["hit"] += id_ in ids
    for id_ in ids:
        violates = id_ in shown and run - shown[id_] <= WINDOW
        counts["violations"] += violates
        counts["late"] += id_ in suppressed and not violates
        counts["harmful"] += id_ in said.harmful
        counts["noise"] += id_ not in said.relevant + said.acceptable and id_ not in expect + suppressed
        shown[id_] = run


def _labelled(where: str, row: dict[str, Any]) -> _Labelled:
    role = row.get("role", "user")
    if role not in ("user", "assistant"):
        raise UsageError(f'{where}: "role" must be user or assistant, not {role!r}', hint=_MESSAGE)
    relevant = _ids(row, "relevant")
    traits = tuple(str(trait) for trait in cast("Sequence[object]", row.get("traits") or ()))
    return _Labelled(
        str(row.get("id", where)), text_of(row, where, "text", _MESSAGE), str(role), relevant,
        _ids(row, "acceptable"), _ids(row, "harmful"), traits,
    )  # fmt: skip


def _ids(row: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = row.get(name) or []
    if not isinstance(value, list):
        raise UsageError(f'"{name}" must be a list of ids, not {value!r}', hint=_MESSAGE)
    return tuple(str(one) for one in cast("list[object]", value))
