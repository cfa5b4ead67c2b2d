"""`clew eval locomo`: whether the search finds the turns of a long conversation that hold what a question asks for.

Reads the format of LoCoMo (Maharana et al. 2024): a JSON list of {"sample_id", "conversation", "qa"}. A conversation
has lists `session_1`, `session_2`… of turns {"speaker", "dia_id", "text"} and times `session_1_date_time`; of a shared
picture only its caption counts. Each question names its evidence by `dia_id`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from clew.core.memory.document import Document
from clew.core.memory.passages import Piece
from clew.errors import NotFound, UsageError
from clew.services.eval.labelled import share
from clew.services.memory_search import MemorySearch
from clew.services.relevance import load_table
from clew.stores.memory_index import MemoryIndex
from clew.stores.memory_reading import Filter
from clew.stores.memory_writing import Loaded

DEPTHS = (5, 10, 25)
"""How many turns are looked at."""
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
"""What the authors' numbers stand for."""
_SHAPE = '[{"sample_id": "1", "conversation": {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": \
[{"speaker": "A", "dia_id": "D1:1", "text": "…"}]}, "qa": [{"question": "…", "evidence": ["D1:1"], "category": 4}]}]'
_TURN = re.compile(r"D\d+:\d+")
_SESSION = re.compile(r"session_(\d+)")
_DATE_FORMATS = ("%I:%M %p on %d %B, %Y", "%I:%M %p on %d %B %Y", "%d %B, %Y", "%Y-%m-%d")


@dataclass(frozen=True, slots=True)
class LocomoItem:
    """One question with the ten best turns."""

    id: str
    conversation: str
    category: str
    question: str
    gold: tuple[str, ...]
    ranked: tuple[str, ...]
    """As many turns as the greatest of DEPTHS."""
    ms: float
    """Of the search alone, the index being open."""

    def recall(self, depth: int) -> float:
        """Share of the evidence within the first `depth` turns."""
        return len(set(self.gold) & set(self.ranked[:depth])) / len(self.gold)


@dataclass(frozen=True, slots=True)
class LocomoResult:
    """Figures over a file: `recall` by depth, as text, is the mean share of evidence turns within the first turns."""

    n: int
    turns: int
    recall: Mapping[str, float]
    per_category: Mapping[str, Mapping[str, Any]]
    per_conversation: Mapping[str, Mapping[str, Any]]
    p50_ms: float
    p95_ms: float
    skipped: int
    """Questions without evidence."""
    items: tuple[LocomoItem, ...]


@dataclass(frozen=True, slots=True)
class _Session:
    path: str
    pieces: tuple[Piece, ...]
    size: int = 0
    mtime_ns: int = 0
    inode: int = 0
    ctime_ns: int = 0


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation with its questions."""

    name: str
    sessions: tuple[_Session, ...]
    questions: tuple[Mapping[str, Any], ...]

    def index(self, folder: Path) -> MemoryIndex:
        """A new index of its turns, in the same tables that hold notes. The caller closes it."""
        index = MemoryIndex.open(folder / f"{hashlib.blake2b(self.name.encode(), digest_size=8).hexdigest()}.db")
        sessions = {session.path: session for session in self.sessions}
        index.refresh(self.sessions, lambda path, _: _loaded(sessions[path], self.name))
        if (table := load_table()) is not None:
            index.embed(table.encode)
        return index


def evaluate_locomo(path: Path, progress: Callable[[int, int], None] | None = None) -> LocomoResult:
    """Search every conversation for the evidence of its questions. Raises NotFound, UsageError, StoreError."""
    conversations = read_conversations(path)
    total = sum(len(one.questions) for one in conversations)
    items: list[LocomoItem] = []
    skipped = 0
    with tempfile.TemporaryDirectory(prefix="clew-locomo-") as folder:
        for conversation in conversations:
            with conversation.index(Path(folder)) as index:
                search = MemorySearch(index)
                for number, row in enumerate(conversation.questions):
                    gold = evidence(row)
                    if not gold:
                        skipped += 1
                        continue
                    items.append(_item(search, conversation, number, row, gold))
                    if progress is not None:
                        progress(len(items) + skipped, total)
    if not items:
        raise UsageError(f"{path} holds no question with evidence", hint=f"the file must look like {_SHAPE}")
    times = sorted(item.ms for item in items)
    return LocomoResult(
        n=len(items),
        turns=sum(len(session.pieces) for one in conversations for session in one.sessions),
        recall=_recall(items),
        per_category=_parts(items, lambda item: item.category),
        per_conversation=_parts(items, lambda item: item.conversation),
        p50_ms=round(statistics.median(times), 2),
        p95_ms=round(times[math.ceil(0.95 * len(times)) - 1], 2),
        skipped=skipped,
        items=tuple(items),
    )


def _item(
    search: MemorySearch, conversation: Conversation, number: int, row: Mapping[str, Any], gold: tuple[str, ...]
) -> LocomoItem:
    text = str(row.get("question", ""))
    began = time.perf_counter()
    ranked, _ = search.ranked(search.question(text), Filter())
    ms = (time.perf_counter() - began) * 1000
    category = row.get("category")
    return LocomoItem(
        id=f"{conversation.name}/{number}",
        conversation=conversation.name,
        category=CATEGORIES.get(category, str(category)) if isinstance(category, int) else str(category),
        question=text,
        gold=gold,
        ranked=tuple(one.passage.reference for one in ranked[: max(DEPTHS)]),
        ms=round(ms, 2),
    )


def evidence(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The turns that a question names; several may stand in one text."""
    named = row.get("evidence")
    texts = cast("list[object]", named) if isinstance(named, list) else []
    return tuple(dict.fromkeys(turn for text in texts for turn in _TURN.findall(str(text))))


def read_conversations(path: Path) -> list[Conversation]:
    """The conversations of a file in the authors' format. Raises NotFound, UsageError."""
    try:
        rows: object = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise NotFound(f"no file {path}", hint="`locomo10.json` of snap-research/locomo is one") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"cannot read {path}: {error}", hint=f"the file must look like {_SHAPE}") from error
    listed = cast("list[object]", rows) if isinstance(rows, list) else [rows]
    found = [_conversation(f"{path}, item {number}", row) for number, row in enumerate(listed, 1)]
    if len({one.name for one in found}) < len(found):
        raise UsageError(f"{path} gives one sample_id twice", hint="give each conversation an id of its own")
    return found


def _conversation(where: str, row: object) -> Conversation:
    fields = cast("dict[str, Any]", row) if isinstance(row, dict) else {}
    spoken: object = fields.get("conversation")
    asked: object = fields.get("qa")
    if not isinstance(spoken, dict) or not isinstance(asked, list):
        raise UsageError(f"{where} is no conversation with questions", hint=f"the file must look like {_SHAPE}")
    name = str(fields.get("sample_id") or where)
    questions = tuple(cast("dict[str, Any]", one) for one in cast("list[object]", asked) if isinstance(one, dict))
    sessions = tuple(_sessions(where, name, cast("dict[str, Any]", spoken)))
    return Conversation(name, sessions, questions)


def _sessions(where: str, name: str, spoken: Mapping[str, Any]) -> Iterator[_Session]:
    numbered = [(int(match[1]), key) for key in spoken if (match := _SESSION.fullmatch(key))]
    for number, key in sorted(numbered):
        turns: object = spoken[key]
        if not isinstance(turns, list):
            raise UsageError(f"{where}: {key} is no list of turns", hint=f"the file must look like {_SHAPE}")
        at = _moment(str(spoken.get(f"{key}_date_time", "")))
        pieces = tuple(
            _piece(cast("dict[str, Any]", turn), line, at)
            for line, turn in enumerate(cast("list[object]", turns), 1)
            if isinstance(turn, dict)
        )
        yield _Session(f"{name}/{number:03}", pieces)


def _piece(turn: Mapping[str, Any], line: int, at: str) -> Piece:
    said = "\n".join(filter(None, (str(turn.get("text") or ""), str(turn.get("blip_caption") or ""))))
    return Piece(
        said, line, line, speaker=str(turn.get("speaker") or ""), at=at, reference=str(turn.get("dia_id") or "")
    )


def _moment(written: str) -> str:
    for form in _DATE_FORMATS:
        try:
            return datetime.strptime(written.strip(), form).isoformat(timespec="minutes")  # noqa: DTZ007 - no zone said
        except ValueError:
            continue
    return ""


def _loaded(session: _Session, workspace: str) -> Loaded:
    document = Document(session.path, "session", workspace, digest=session.path)
    return Loaded(document, session.pieces)


def _recall(items: Sequence[LocomoItem]) -> dict[str, float]:
    return {str(depth): share([item.recall(depth) for item in items]) for depth in DEPTHS}


def _parts(items: Sequence[LocomoItem], key: Callable[[LocomoItem], str]) -> dict[str, Mapping[str, Any]]:
    return {
        part: {"n": len(own), "recall": _recall(own)}
        for part in sorted({key(item) for item in items})
        if (own := [item for item in items if key(item) == part])
    }
