"""`clew eval stories`: what the next window knows of labelled stories that go over several windows.

Each story is replayed in a folder and a memory of its own, event by event, through what serves hosts. At the opening of
a window the hint is made, and each question is put to recall.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

from clew.adapters.memory_git import MemoryGit
from clew.core.handoff.events import Asked, Compacted, Event, Noted, Planned, Replied, Used
from clew.core.text.redact import redact
from clew.errors import NotFound, UsageError
from clew.services.eval.labelled import share
from clew.services.handoff import Handoff, Window
from clew.services.memory import Memory
from clew.stores.audit import Audit
from clew.stores.documents import Documents

HINT_BYTES: Final = 4_096
RECALL_BYTES: Final = 2_000
_SHAPE: Final = '{"id": "s1", "lang": "en", "windows": [], "asks": [], "settled": [], "must_not": []}'
_HISTORY: Final = re.compile(
    r"\b(?:was|were|no longer|not|never|failed|fails|instead|revert\w*|dead|ruled out|reject\w*|old|former\w*|replaced|"
    r"tried|given up|from .{1,40} to)\b|不行|弃用|不再|旧|原来|改|取代|行不通|失败|不做|已不存在|推迟|放宽",
    re.IGNORECASE,
)
"""Words that mark a line as history: it may name a value that does not hold any more."""
_KEY: Final = b"a key for the stories, so that equal secrets leave equal marks"

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class StoryAsk:
    """One question at the opening of a window, with the facts that were found and those that were not."""

    story: str
    ask: str
    where: str
    found: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoriesResult:
    """Figures over stories: shares of facts found in the hint (of those meant for it), one recall away, and in either
    (of those meant for either); of all of them where they are meant to be. Then counts of what must not be."""

    n_facts: int
    hint: float
    recall: float
    either: float
    overall: float
    per_lang: Mapping[str, float]
    secrets: int
    stale: int
    reopened: int
    hint_bytes_max: int
    items: tuple[StoryAsk, ...]


@dataclass(slots=True)
class _Tally:
    facts: list[tuple[str, str, bool, bool]] = field(default_factory=list[tuple[str, str, bool, bool]])
    """Language, where it is meant to be, whether it is in the hint, whether one recall away."""
    items: list[StoryAsk] = field(default_factory=list[StoryAsk])
    secrets: int = 0
    stale: int = 0
    reopened: int = 0
    bytes: int = 0

    def result(self) -> StoriesResult:
        def of(where: str, test: Callable[[bool, bool], bool]) -> float:
            return share([test(hint, recall) for _, meant, hint, recall in self.facts if meant == where])

        good = [
            (lang, {"hint": hint, "recall": recall}.get(where, hint or recall))
            for lang, where, hint, recall in self.facts
        ]
        languages = {lang: share([ok for one, ok in good if one == lang]) for lang, _ in good}
        return StoriesResult(
            len(self.facts), of("hint", lambda hint, _: hint), of("recall", lambda _, recall: recall),
            of("either", lambda hint, recall: hint or recall), share([ok for _, ok in good]), languages,
            self.secrets, self.stale, self.reopened, self.bytes, tuple(self.items),
        )  # fmt: skip


def evaluate_stories(folder: Path, progress: Progress | None = None) -> StoriesResult:
    """Replay all `*.json` of a folder. Raises NotFound, UsageError."""
    if not folder.is_dir():
        raise NotFound(f"no folder {folder}", hint="it holds a file for each story")
    files = sorted(folder.glob("*.json"))
    if not files:
        raise UsageError(f"{folder} holds no story", hint=f"one JSON file a story: {_SHAPE}")
    tally = _Tally()
    for number, path in enumerate(files, 1):
        with tempfile.TemporaryDirectory(prefix="clew-stories-") as scratch:
            try:
                _Replay(
                    cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8"))), Path(scratch), tally
                ).run()
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
                raise UsageError(f"{path} is no story: {why}", hint=f"one JSON file a story: {_SHAPE}") from error
        if progress is not None:
            progress(number, len(files))
    return tally.result()


class _Replay:
    """One story, window by window."""

    def __init__(self, story: dict[str, Any], root: Path, tally: _Tally) -> None:
        self._story, self._root, self._tally = story, root, tally
        self._work = root / "work"
        self._at = datetime(2026, 1, 1, tzinfo=UTC)
        self._branch = str(story["workspace"].get("branch", ""))
        self._events: dict[str, list[Event]] = {}

    def run(self) -> None:
        windows = sorted(self._story["windows"], key=lambda one: one["n"])
        for path, text in self._story["workspace"].get("files", {}).items():
            self._write(path, text if isinstance(text, str) else "")
        for window in windows:
            session = str(window.get("session") or "s")
            events = list(window["events"])
            while events and events[0]["t"] in ("edit_by_user", "branch"):
                self._meanwhile(events.pop(0))
            self._ask(window["n"], session)
            self._play(events, Window(session, window["n"]))
        last = windows[-1]
        self._ask(last["n"] + 1, str(last.get("session") or "s"))

    # ------------------------------------------------------------------ events

    def _handoff(self) -> Handoff:
        memory = self._root / "memory"
        redactor = lambda text: redact(text, _KEY).text  # noqa: E731 - a name for an argument
        return Handoff(
            Memory(
                documents=Documents(memory, redact=redactor),
                index_path=self._root / "memory.db",
                audit=Audit(self._root / "audit", redactor),
                git=MemoryGit(memory, {}),
                workspace="story",
                clock=lambda: self._at,
                branch=self._branch,
            )
        )

    def _play(self, events: Sequence[Mapping[str, Any]], window: Window) -> None:
        heard: list[Event] = []
        for event in events:
            self._at = datetime.fromisoformat(event["at"])
            match event["t"]:
                case "user":
                    heard.append(Asked(event["text"]))
                case "assistant":
                    heard.append(Replied(event["text"]))
                case "note":
                    heard.append(Noted(event["text"]))
                    self._handoff().memory.log(event["text"])
                case "plan":
                    heard.append(Planned(event["text"]))
                    kept = self._handoff().write_plan(event["text"]).kept
                    assert kept is not None
                    self._touch(self._root / "memory" / kept.receipt.path)
                case "tool":
                    given = {key: str(value) for key, value in event["input"].items()}
                    if event["name"] in ("Edit", "Write"):
                        self._write(given["file_path"], given.get("content") or given.get("new_string", ""))
                    heard.append(Used(event["name"], given, event["result"]))
                case "compact":
                    heard.append(Compacted())
                    self._handoff().keep(heard, window, trigger="compact")
                case "edit_by_user" | "branch":
                    # What was said on a branch is handed over there.
                    self._handoff().keep(heard, window, trigger="compact")
                    self._meanwhile(event)
                case _:
                    pass
        self._handoff().keep(heard, window, trigger="end")

    def _meanwhile(self, event: Mapping[str, Any]) -> None:
        self._at = datetime.fromisoformat(event["at"])
        if event["t"] == "branch":
            self._branch = event["name"]
        elif event["path"].endswith("PLAN.md"):
            # Edited by hand: nothing of Clew's is asked.
            version = self._handoff().plan()
            path = self._root / "memory" / (version.path if version else f"{self._handoff().files.folder}/PLAN.md")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(event["text"], encoding="utf-8")
            self._touch(path)
        elif event["text"].strip() == "(deleted)":
            (self._work / event["path"]).unlink(missing_ok=True)
        else:
            self._write(event["path"], event["text"])

    def _write(self, path: str, text: str) -> None:
        target = self._work / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        self._touch(target)

    def _touch(self, path: Path) -> None:
        """A file was changed when the story says so, not now."""
        os.utime(path, (self._at.timestamp(), self._at.timestamp()))

    # ------------------------------------------------------------------ questions

    def _ask(self, number: int, session: str) -> None:
        asks = [one for one in self._story["asks"] if one["at_window"] == number]
        handoff = self._handoff()
        told = handoff.hint(Window(session, number), most=HINT_BYTES, root=self._work)
        self._tally.bytes = max(self._tally.bytes, told.bytes)
        if asks:
            self._judge(told.text, number)
        for ask in asks:
            found = handoff.memory.recall(ask["question"], budget=RECALL_BYTES)
            answer = "\n".join(f"{hit.reference} {hit.name} {hit.heading}\n{hit.snippet}" for hit in found.hits)
            answer = answer.encode()[:RECALL_BYTES].decode("utf-8", "ignore")
            self._tally.secrets += sum(_holds([one["text"]], answer) for one in self._must_not(number, "secret"))
            outcomes: list[tuple[str, bool]] = []
            for fact in ask["facts"]:
                hint, recall = _holds(fact["any"], told.text), _holds(fact["any"], answer)
                self._tally.facts.append((self._story["lang"], ask["where"], hint, recall))
                ok = {"hint": hint, "recall": recall}.get(ask["where"], hint or recall)
                outcomes.append((fact["any"][0], ok))
            self._tally.items.append(
                StoryAsk(
                    self._story["id"], ask["question"], ask["where"],
                    tuple(text for text, ok in outcomes if ok), tuple(text for text, ok in outcomes if not ok),
                )
            )  # fmt: skip

    def _must_not(self, number: int, *kinds: str) -> list[dict[str, Any]]:
        return [one for one in self._story["must_not"] if one["kind"] in kinds and one["from_window"] <= number]

    def _judge(self, hint: str, number: int) -> None:
        """Count secrets anywhere, and values and decisions in the hint that do not hold any more."""
        kept = "\n".join(path.read_text(encoding="utf-8") for path in (self._root / "memory").rglob("*.md"))
        self._tally.secrets += sum(_holds([one["text"]], f"{hint}\n{kept}") for one in self._must_not(number, "secret"))
        lines = [line for line in hint.splitlines() if not _HISTORY.search(line)]
        for one in self._must_not(number, "stale", "wrong"):
            new = [one["new"]] if one.get("new") else []
            self._tally.stale += any(_holds([one["text"]], line) and not _holds(new, line) for line in lines)
        for one in self._story["settled"]:
            self._tally.reopened += sum(any(_holds([text], line) for line in lines) for text in one["reopened_if"])


def _holds(alternatives: Sequence[str], text: str) -> bool:
    """Whether any of them stands in a text, in whatever case and blanks; a number not as a part of a longer one."""
    plain = " ".join(text.casefold().split())
    for one in alternatives:
        wanted = " ".join(one.casefold().split())
        head = r"(?<!\d)(?<!\d[.,])" if wanted[:1].isdigit() else ""
        tail = r"(?!\d)(?![.,]\d)" if wanted[-1:].isdigit() else ""
        if wanted and re.search(head + re.escape(wanted) + tail, plain):
            return True
    return False
