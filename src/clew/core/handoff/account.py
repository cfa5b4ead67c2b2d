"""The content of a ledger from what happened in a window, by rule and without a model.

What the user said is kept word for word, sentence by sentence, since a paraphrase may lose what mattered; of the model
what it found, decided and gave up; of the tools what they changed and what failed last. What a later statement replaces
is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from clew.core.handoff.continuation import cited, citing, elements, items
from clew.core.handoff.cues import (
    CLOSING,
    FAILED,
    FINDS,
    FORBIDS,
    GOAL,
    LABEL,
    NEXT,
    PROPOSES,
    QUESTION,
    RESUMING,
    REVERTS,
    TENTATIVE,
    YES,
)
from clew.core.handoff.events import (
    Altered,
    Asked,
    Compacted,
    Event,
    Hinted,
    Logged,
    Noted,
    Over,
    Planned,
    Replied,
    Used,
)
from clew.core.handoff.force import Later, Statement, statement
from clew.core.handoff.gate import is_small_talk
from clew.core.handoff.ledger import Language, Ledger, Sections, sections_of
from clew.core.handoff.plan import Plan, read_plan
from clew.core.handoff.references import SESSION
from clew.core.handoff.sentences import cut, ends, prose, sentences, size
from clew.core.handoff.works import OWN_WORDS, Works, changed_files

MOST_REQUEST: Final = 6_000
"""Bytes of the user's request that a ledger keeps."""
_MOST_LINE: Final = 360
"""Bytes of one item."""
_MOST_QUESTION: Final = 600
"""Bytes of what the user was asked last."""
_MOST: Final = {"goal": 6, "settled": 40, "found": 12, "tried": 24, "noted": 10, "logged": 6}
"""Items of each kind; of more, the latest stay."""
_SHORT: Final = 12
"""Bytes up to which a sentence of the user, or an entry of a log, says too little to be kept."""

_WORDS: Final = {
    "goal": ("Goal: ", "目标："),
    "next": ("Next: ", "下一步："),
    "request": ("The user's last open request, word for word:", "用户最后一个未完成的请求（原话）："),
    "failed": ("failed: ", "行不通："),
    "agreed": ("agreed: ", "已同意："),
    "asked": ("the user was asked: ", "已问用户，待答："),
    "hints": ("hints used: ", "用过的提示："),
    "found": ("found: ", "发现："),
    "logged": ("logged: ", "已记录："),
}
_RULED: Final = ("branch `", *OWN_WORDS, *_WORDS["hints"])
"""How lines of the state begin that are made anew in each window."""


@dataclass(frozen=True, slots=True)
class Account:
    """What happened, as sections of a ledger."""

    sections: Sections
    title: str
    """A few words for the name of the file: what it was about."""
    tools: int
    """Tools that were used."""
    asked: tuple[str, ...]
    """Messages of the user."""


def account(
    events: Sequence[Event],
    *,
    before: Ledger | None = None,
    plan: Plan | None = None,
    plan_is_newer: bool = False,
    branch: str = "",
    language: Language = "en",
) -> Account:
    """The account of a window. `before` is the ledger that it goes on from: what still holds of it goes along. `plan`
    is the plan as it stands now, where the events do not say it; `plan_is_newer` than that ledger, it replaces what is
    said otherwise there. Equal arguments give equal texts."""
    told = _Telling(1 if language == "zh" else 0)
    if before is not None:
        told.go_on_from(before)
    if plan is not None and plan_is_newer:
        told.read(plan)
    for event in events:
        told.hear(event)
    return told.account(plan, branch)


@dataclass(frozen=True, slots=True)
class _Line:
    """An item with the place in time that it was said at."""

    text: str
    at: int
    said: Statement
    spot: str = ""
    """Where it was said."""


@dataclass(frozen=True, slots=True)
class _Request:
    """A message of the user that may still be open."""

    text: str
    question: bool
    """Nothing but a question, which the next reply answers."""


@dataclass(slots=True)
class _Telling:
    """Hears events one by one, and tells what to keep of them."""

    column: int
    _clock: int = 0
    _spot: str = ""
    """Where that stands which is heard."""
    _lines: dict[str, list[_Line]] = field(default_factory=lambda: {kind: [] for kind in _MOST})
    _later: Later = field(default_factory=Later)
    """What may replace an earlier line. Words of the user, plans and files settle it; what the model finds does not."""
    _known: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    _works: Works = field(default_factory=Works)
    _asked: list[str] = field(default_factory=list[str])
    _requests: list[_Request] = field(default_factory=list[_Request])
    _begun: int = 0
    """How many requests there were when the agent waited last."""
    _resumes: bool = False
    """The user wants that to go on which was asked before."""
    _reply: str = ""
    """What the model said last before the user spoke."""
    _hints: dict[str, None] = field(default_factory=dict[str, None])
    _plan: Plan | None = None
    _ahead: str = ""

    def _word(self, name: str) -> str:
        return _WORDS[name][self.column]

    def _keep(self, kind: str, text: str, most: int = _MOST_LINE) -> None:
        line = cut(" ".join(text.split()), most)
        if line and (kind, line) not in self._known:
            self._known.add((kind, line))
            self._lines[kind].append(_Line(line, self._clock, statement(line), self._spot))

    def _states(self, text: str, *, settles: bool = True) -> None:
        self._later.say(text, self._clock, settles=settles)

    # ------------------------------------------------------------------ hearing

    def go_on_from(self, ledger: Ledger) -> None:
        """What the ledger before says still holds, unless something in this window replaces it."""
        before = elements(ledger)
        # In another ledger a spot needs its session.
        own = f"{SESSION}{ledger.session}" if ledger.session else ""
        spots = {text: spot if spot[:1] != "#" else own + spot if own else "" for text, spot in before.spots.items()}
        for kind, texts in (("goal", before.goal), ("settled", before.settled), ("tried", before.tried)):
            for text in texts:
                self._spot = spots.get(text, "")
                self._keep(kind, text)
        for text in before.state:
            self._spot = spots.get(text, "")
            found = next((text.removeprefix(word) for word in _WORDS["found"] if text.startswith(word)), "")
            logged = next((text.removeprefix(word) for word in _WORDS["logged"] if text.startswith(word)), "")
            if logged:
                self._keep("logged", logged)
            elif found or not (self._works.still_failing(text) or text.startswith(_RULED)):
                self._keep("found", found or text)
        for text in before.progress:
            self._spot = spots.get(text, "")
            self._keep("noted", text)
        self._works.changed_before(changed_files(before))
        self._ahead = citing(before.next[0], spots.get(before.next[0], "")) if before.next else ""
        self._spot = ""
        if before.request:
            self._requests.append(_Request(before.request, question=False))
            self._begun = 1
        self._clock += 1

    def read(self, plan: Plan) -> None:
        """A plan that somebody has written since the ledger before."""
        for text in (*(step.text for step in plan.steps), *plan.remarks):
            self._states(text)
        self._clock += 1

    def hear(self, event: Event) -> None:
        """A further event."""
        self._clock += 1
        self._spot = event.spot if isinstance(event, Asked | Replied | Noted | Logged) else ""
        match event:
            case Asked(text):
                self._hear_user(text)
            case Replied(text):
                self._hear_model(text)
            case Used():
                self._works.hear(event, self._later, self._clock)
            case Noted(text):
                self._hear_note(text)
            case Logged(text):
                self._hear_log(text)
            case Over():
                self._hear_end(event)
            case Planned(text):
                self._plan = read_plan(text)
                for line in text.splitlines():
                    self._states(line)
            case Altered():
                self._works.altered(event, self._later, self._clock)
            case Hinted(references):
                self._hints.update(dict.fromkeys(references))
            case Compacted():
                pass

    def _hear_user(self, text: str) -> None:
        self._asked.append(text)
        told = sentences(text)
        for one in told:
            if not QUESTION.search(one) and not TENTATIVE.search(one):
                self._states(one)
        if YES.match(text) and PROPOSES.search(self._reply):
            self._keep("settled", self._word("agreed") + " ".join(sentences(self._reply)[-2:]))
        self._reply = ""
        if self._ahead.startswith(_WORDS["asked"]):
            self._ahead = ""
        if CLOSING.fullmatch(text.strip()) or is_small_talk(text):
            return
        resuming = len(text) < 80 and RESUMING.fullmatch(text.strip()) is not None
        if not self._lines["goal"]:
            rules = [one for one in told[1:] if FORBIDS.search(one) and not GOAL.search(one)]
            for one in _grouped([one for one in told if one not in rules]):
                self._keep("goal", one)
            for one in rules:
                self._keep("settled", one)
        elif not resuming:
            for one in told:
                if size(one) > _SHORT and not QUESTION.search(one) and not TENTATIVE.search(one):
                    self._keep("settled", one)
        self._resumes |= resuming
        if not resuming or not self._requests:
            self._requests.append(_Request(text.strip(), question=bool(QUESTION.search(told[0])) if told else False))

    def _hear_note(self, text: str) -> None:
        for line in text.splitlines():
            self._states(line)
        sections = sections_of(text)
        if not (sections.goal or sections.tried or sections.progress):
            for item in items(text):
                self._keep("noted", LABEL.sub("", item))
            return
        # A handoff that the model wrote itself: each line is of the kind that its heading says.
        said = elements(Ledger(sections=sections))
        for kind, texts in (
            ("found", said.state), ("settled", (*said.goal, *said.settled)), ("tried", said.tried),
            ("noted", said.progress),
        ):  # fmt: skip
            for item in texts:
                self._keep(kind, item)
        self._ahead = citing(said.next[0], self._spot) if said.next else self._ahead

    def _hear_log(self, text: str) -> None:
        for line in text.splitlines():
            self._states(line)
        for item in items(text):
            if size(item) > _SHORT:
                self._keep("logged", LABEL.sub("", item))

    def _hear_end(self, end: Over) -> None:
        """What was worked on to its end is open no more, nor is what was asked before it: the newest request counts.
        Only an answer to a question leaves that open, and a question to the user what it is about."""
        asks = any(map(QUESTION.search, sentences(self._reply)[-1:]))
        own = self._requests[self._begun :]
        if end.finished and not asks:
            if end.began_before or self._resumes or not all(one.question for one in own):
                self._requests.clear()
            del self._requests[self._begun :]
        self._begun, self._resumes = len(self._requests), False

    def _hear_model(self, text: str) -> None:
        self._reply = text
        # A question is open until it is answered; what was asked for before it still is.
        if len(self._requests) > 1 and self._requests[-1].question:
            self._requests.pop()
        told = sentences(prose(text))
        for at, one in enumerate(told):
            if QUESTION.search(one):
                continue
            bare = LABEL.sub("", one)
            if FAILED.search(one):
                more = told[at + 1] if at + 1 < len(told) and size(one) < 60 else ""
                self._keep("tried", self._word("failed") + " ".join(filter(None, (bare, more))))
            else:
                if NEXT.search(one):
                    self._ahead = citing(bare, self._spot)
                if FINDS.search(one) and size(one) > _SHORT:
                    self._keep("found", bare)
            self._states(one, settles=False)
        if REVERTS.search(text):
            self._works.take_back()
        if any(map(QUESTION.search, told)):
            self._ahead = citing(self._word("asked") + text, self._spot)

    # ------------------------------------------------------------------ telling

    def account(self, plan: Plan | None, branch: str) -> Account:
        """All that was heard, in sections."""
        kept = {kind: self._in_force(kind, most) for kind, most in _MOST.items()}
        goal = [f"{'' if at else self._word('goal')}{text}" for at, text in enumerate(kept["goal"])]
        state = [f"branch `{branch}`"] if branch else []
        state += self._works.told(self.column)
        state += [f"{self._word('found')}{text}" for text in reversed(kept["found"])]
        state += [f"{self._word('logged')}{text}" for text in reversed(kept["logged"])]
        if self._hints:
            state.append(self._word("hints") + ", ".join(list(self._hints)[-4:]))
        sections = Sections(
            state=_listed(state),
            goal=_listed([*goal, *kept["settled"], *kept["noted"]]),
            tried=_listed(kept["tried"]),
            progress=self._progress(self._plan or plan),
        )
        title = self._lines["goal"][0].text if self._lines["goal"] else next(iter(self._asked), "")
        return Account(sections, title, self._works.tools, tuple(self._asked))

    def _in_force(self, kind: str, most: int) -> list[str]:
        """The last lines of a kind that nothing later replaces, in order."""
        goal = kind == "goal"
        rule = goal or kind == "settled"
        holding = (
            citing(one.text, one.spot)
            for one in reversed(self._lines[kind])
            if not self._later.replaces(one.said, one.at, rule=rule, goal=goal)
        )
        return list(islice(holding, most))[::-1]

    def _progress(self, plan: Plan | None) -> str:
        ahead = plan.next.text if plan is not None and plan.next is not None else ""
        said, spot = cited(" ".join(self._ahead.split()))
        step = citing(cut(said, _MOST_QUESTION), spot) if said else ahead
        parts = [_listed([self._word("next") + step])] if step else []
        if self._requests:
            request = ends(self._requests[-1].text, MOST_REQUEST, "\n[…]\n")
            quoted = "\n".join(f"> {line}".rstrip() for line in request.splitlines())
            parts.append(f"{self._word('request')}\n\n{quoted}")
        return "\n\n".join(parts)


def _grouped(told: Sequence[str]) -> list[str]:
    """Sentences of the first message, short neighbours together."""
    rows: list[str] = []
    for one in told:
        if rows and size(rows[-1]) + size(one) < 200:
            rows[-1] += f" {one}" if one.isascii() else one
        else:
            rows.append(one)
    return rows


def _listed(rows: Sequence[str]) -> str:
    return "\n".join(f"- {row}" for row in rows)
