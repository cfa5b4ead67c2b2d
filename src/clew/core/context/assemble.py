"""The assembler: fragments, a mode and a budget in; an ordered prompt and its report out.

Rules, in the order in which they win:

1. Explicit fragments are whole, in every mode. If they do not fit, OverBudget.
2. Every anchor keeps its reference line outside the mode `minimal`. If the lines do not fit, OverBudget.
3. Side sources take at most `Budget.side` tokens together, unless asked for.
4. Bodies fill the rest by weight; within a weight anchors come first, then relevance, then the order given. What does
   not fit is passed over, and what comes later may still fit; so nothing of lower weight takes the room of anything
   of higher weight. A body is cut, from its end and saying so, only where its fragment allows that.

The payload is counted whole at the end, and the rules run again with less room until it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn

from clew.core.context.budget import Budget
from clew.core.context.candidates import Candidate, doubles_of, finds_nothing, ranked
from clew.core.context.fences import clean, fenced, first_lines, listed, mark_for
from clew.core.context.fragment import SIDE_SOURCES, Fragment
from clew.core.context.layers import CONTEXT, RECENT, Frame, Layer, Piece, Snapshot, messages_of
from clew.core.context.report import Cause, Form, Kept, Report, SourceUse, Trimmed
from clew.core.text.printable import printable
from clew.errors import OverBudget

VERSION: Final = 1
"""Raised whenever the same input may give other bytes; part of cache keys (P-09)."""
LEAST_CUT_LINES: Final = 5
"""A body shown in part shows at least this many lines; fewer say too little for their header."""


def assemble(
    question: str,
    fragments: Sequence[Fragment],
    mode: str,
    budget: Budget,
    frame: Frame,
    *,
    reason: str = "",
    side_asked: frozenset[str] = frozenset(),
    found: bool | None = None,
) -> Snapshot:
    """The prompt for `question`. Raises OverBudget when what must be in does not fit.

    `mode` is `minimal`, `lean` or `rich`. `side_asked` names side sources that the question asks for. `found` says
    whether the search found anything relevant; None: decided by whether any fragment besides facts and side
    information is there.
    """
    if mode not in ("minimal", "lean", "rich"):
        raise ValueError(f"unknown mode {mode!r}")
    candidates = ranked(fragments, mode)
    desk = _Desk(clean(question), candidates, budget, frame, mode, side_asked, finds_nothing(candidates, mode, found))
    room = budget.prompt
    while True:
        choice = desk.choose(room)
        layers = desk.layers(choice)
        used = budget.measure(messages_of(layers))
        if used <= budget.prompt:
            return Snapshot(layers, desk.report(choice, used, reason), _pieces(choice))
        if not choice.filled:
            desk.refuse()
        room -= used - budget.prompt


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of the prompt that comes from one candidate."""

    candidate: Candidate
    fragment: Fragment
    """As shown; its text may be shorter than the candidate's."""
    form: Form
    text: str
    tokens: int


@dataclass(slots=True)
class _Choice:
    """What one pass of the rules decided; keys are places in the order of priority."""

    lines: dict[int, _Part] = field(default_factory=dict[int, "_Part"])
    bodies: dict[int, _Part] = field(default_factory=dict[int, "_Part"])
    left_out: dict[int, Cause] = field(default_factory=dict[int, Cause])
    filled: bool = False
    """Something is in that could be left out."""

    def parts(self) -> Iterable[tuple[int, _Part]]:
        """All parts that are in."""
        yield from self.lines.items()
        yield from self.bodies.items()


class _Desk:
    """The rules applied to the candidates of one prompt."""

    def __init__(
        self,
        question: str,
        candidates: tuple[Candidate, ...],
        budget: Budget,
        frame: Frame,
        mode: str,
        side_asked: frozenset[str],
        nothing_found: bool,
    ) -> None:
        self.candidates = candidates
        self.budget = budget
        self.frame = frame
        self.mode = mode
        noted = any(one.fragment.source == "memory" for one in candidates)
        self.nothing_found, self.only_notes = nothing_found and not noted, nothing_found and noted
        self.limited = SIDE_SOURCES - side_asked
        self.asked = "\n".join(part for part in (frame.question, question) if part)
        if frame.closing:
            self.asked += f"\n\n{frame.closing}"
        self.recent_mark, self.context_mark = self._marks(question)
        self.doubles = doubles_of(candidates)
        self.wholes: dict[int, _Part] = {}
        self.required = self._required()
        self.base = budget.measure(messages_of(self.layers(self.required)))

    def _marks(self, question: str) -> tuple[str, str]:
        """Marks of the two fenced layers; neither occurs in any text of the prompt.

        That of the earlier exchanges depends on the oldest of them alone, so that neither another question, nor other
        context, nor one more exchange changes bytes before its own.
        """
        texts = [clean(question), self.frame.closing]
        seed: list[str] = [question]
        for one in self.candidates:
            fragment = one.fragment
            texts += [clean(fragment.text), printable(fragment.ref), printable(fragment.note), one.line]
            seed += [fragment.source, fragment.ref, fragment.note, fragment.text, one.line]
        recent = sorted(
            (one.fragment.order, one.fragment.ref, one.fragment.text) for one in self.candidates if one.recent
        )
        first = mark_for(("recent", *(recent[0][1:] if recent else ())), texts)
        return first, mark_for(("context", *seed), [*texts, first])

    def _mark(self, candidate: Candidate) -> str:
        return self.recent_mark if candidate.recent else self.context_mark

    def _price(self, text: str) -> int:
        return self.budget.tokenizer.count(text + "\n")

    def _body(self, candidate: Candidate, fragment: Fragment, form: Form) -> _Part:
        text = fenced(fragment, self._mark(candidate))
        return _Part(candidate, fragment, form, text, self._price(text))

    def _whole(self, index: int) -> _Part:
        """The whole body of a candidate; rendered and counted once."""
        if index not in self.wholes:
            one = self.candidates[index]
            self.wholes[index] = self._body(one, one.fragment, "body")
        return self.wholes[index]

    def _line(self, candidate: Candidate) -> _Part:
        return _Part(candidate, candidate.fragment, "line", candidate.line, self._price(candidate.line))

    def _required(self) -> _Choice:
        """What must be in: explicit bodies and the lines of anchors."""
        choice = _Choice()
        told: set[str] = set()
        for index, one in enumerate(self.candidates):
            if one.fragment.explicit and index not in self.doubles:
                choice.bodies[index] = self._whole(index)
            if one.kept_line and one.line not in told:
                told.add(one.line)
                choice.lines[index] = self._line(one)
        return choice

    def choose(self, room: int) -> _Choice:
        """Required parts and, by priority, what else `room` tokens hold."""
        choice = _Choice(dict(self.required.lines), dict(self.required.bodies))
        left = room - self.base
        side = self.budget.side - sum(part.tokens for _, part in choice.parts() if self._is_side(part.fragment))
        for index, one in enumerate(self.candidates):
            if index in self.doubles:
                choice.left_out[index] = "duplicate"
                continue
            if index in choice.bodies:
                continue
            wanted = self._wanted(index)
            if not one.body and one.rest:
                choice.left_out[index] = "mode"
            elif one.kept_line and index not in choice.lines:
                choice.left_out[index] = "duplicate"  # its line is that of another anchor; a body makes up for it below
            if wanted is None:
                continue
            # The whole body of an exchange takes the place of its line; any other anchor shows both.
            freed = choice.lines[index].tokens if one.recent and index in choice.lines else 0
            is_side = self._is_side(one.fragment)
            limit = min(left, side) if is_side else left
            taken = wanted if wanted.tokens - freed <= limit else self._cut(wanted, limit)
            if taken is not wanted:
                choice.left_out[index] = "side limit" if is_side and side < left else "budget"
                freed = 0
            elif one.body:
                choice.left_out.pop(index, None)
            if taken is None:
                continue
            choice.filled = True
            if freed:
                del choice.lines[index]
            (choice.lines if taken.form == "line" else choice.bodies)[index] = taken
            left -= taken.tokens - freed
            side -= taken.tokens - freed if is_side else 0
        return choice

    def _wanted(self, index: int) -> _Part | None:
        """The most the mode allows of a candidate beyond what is required; None: nothing."""
        one = self.candidates[index]
        if one.body:
            return self._whole(index)
        if one.line and not one.kept_line:
            return self._line(one)
        return None

    def _is_side(self, fragment: Fragment) -> bool:
        return fragment.source in self.limited and not fragment.explicit

    def _cut(self, wanted: _Part, limit: int) -> _Part | None:
        """As many first lines as `limit` tokens hold; None where cutting is not allowed or would show too little."""
        fragment = wanted.fragment
        if wanted.form != "body" or not fragment.cuttable:
            return None
        best: _Part | None = None
        low, high = LEAST_CUT_LINES, fragment.text.count("\n")
        while low <= high:
            middle = (low + high) // 2
            part = self._body(wanted.candidate, first_lines(fragment, middle), "part")
            if part.tokens <= limit:
                best, low = part, middle + 1
            else:
                high = middle - 1
        return best

    def layers(self, choice: _Choice) -> tuple[Layer, ...]:
        """The prompt, stable layers first, the question last."""
        made = list(self.frame.stable)
        recent = _spoken(choice, recent=True)
        if recent.bodies or recent.lines:
            made.append(Layer(RECENT, "user", (_block(self.frame.recent, recent, self.recent_mark),)))
        context = _spoken(choice, recent=False)
        if context.bodies or context.lines:
            missing = self.frame.nothing if self.nothing_found else self.frame.only_notes if self.only_notes else ""
            heading = _joined(missing, self.frame.context)
            made.append(Layer(CONTEXT, "user", (_block(heading, context, self.context_mark),)))
        elif self.nothing_found and self.frame.nothing:
            made.append(Layer(CONTEXT, "user", (self.frame.nothing,)))
        return (*made, Layer("question", "user", (self.asked,)))

    def report(self, choice: _Choice, used: int, reason: str) -> Report:
        """The report of a choice, from the parts that are sent."""
        spent: dict[int, int] = {}
        for index, part in choice.parts():
            spent[index] = spent.get(index, 0) + part.tokens
        kept: list[Kept] = []
        shares: dict[str, SourceUse] = {}
        for index in sorted(spent):
            part = choice.bodies.get(index) or choice.lines[index]
            shown, tokens = part.fragment, spent[index]
            kept.append(Kept(shown.ref, shown.source, part.form, tokens, shown.anchor, shown.explicit, shown.note))
            share = shares.get(shown.source, SourceUse(shown.source, 0, 0))
            shares[shown.source] = SourceUse(shown.source, share.fragments + 1, share.tokens + tokens)
        told = {part.text for part in choice.lines.values()}
        trimmed = [
            Trimmed(
                one.fragment.ref,
                one.fragment.source,
                cause,
                self._whole(index).tokens,
                line_kept=index in spent or one.line in told,
            )
            for index, cause in sorted(choice.left_out.items())
            for one in (self.candidates[index],)
        ]
        return Report(
            mode=self.mode,
            reason=reason,
            used=used,
            prompt=self.budget.prompt,
            total=self.budget.total,
            answer=self.budget.answer,
            tokenizer=self.budget.tokenizer.name,
            exact=self.budget.tokenizer.exact,
            frame=used - sum(spent.values()),
            sources=tuple(shares.values()),
            kept=tuple(kept),
            trimmed=tuple(trimmed),
            nothing_found=self.nothing_found,
            only_notes=self.only_notes,
        )

    def refuse(self) -> NoReturn:
        """Raise OverBudget with what must be in, each with its size, and what the user can do."""
        explicit = [(part.fragment.ref, part.tokens) for _, part in self.required.bodies.items()]
        lines = sum(part.tokens for part in self.required.lines.values())
        attached = sum(tokens for _, tokens in explicit)
        frame = self.base - attached - lines
        budget = self.budget
        sizes = [f"{printable(ref)}: {tokens}" for ref, tokens in sorted(explicit, key=lambda item: -item[1])]
        sizes.append(f"question and instructions: {frame}")
        if lines:
            sizes.append(f"reference lines of {len(self.required.lines)} anchors: {lines}")
        sizes.append(f"kept free for the answer: {budget.answer}")
        if frame > budget.prompt:
            subject, advice = "the question and the instructions alone exceed", "shorten the question"
        elif frame + attached > budget.prompt:
            subject, advice = "the explicit context alone exceeds", "attach less, or only the lines that matter"
        else:
            subject, advice = "the reference lines of the anchors exceed", "name fewer files and anchors"
        raise OverBudget(
            f"{subject} the budget of {budget.total} tokens ({'; '.join(sizes)})",
            hint=f"{advice}, or raise the budget (max_tokens) to at least {self.base + budget.answer}",
            sizes=dict(explicit),
            frame=frame,
            lines=lines,
            answer=budget.answer,
            total=budget.total,
            needed=self.base + budget.answer,
        )


@dataclass(frozen=True, slots=True)
class _Spoken:
    """Parts of one layer, in the order in which they are shown."""

    lines: list[_Part]
    bodies: list[_Part]


def _spoken(choice: _Choice, *, recent: bool) -> _Spoken:
    """The layer of earlier exchanges, oldest first, or the context layer, by priority and with files kept together."""
    lines, bodies = (
        [part for _, part in sorted(parts.items(), key=lambda item: item[0]) if part.candidate.recent == recent]
        for parts in (choice.lines, choice.bodies)
    )
    if recent:
        return _Spoken(sorted(lines, key=_place), sorted(bodies, key=_place))
    return _Spoken(lines, _grouped(bodies))


def _pieces(choice: _Choice) -> tuple[Piece, ...]:
    """What is shown of each fragment, in the order of the prompt."""
    return tuple(
        Piece(layer, part.fragment, part.form, part.text)
        for layer, spoken in ((RECENT, _spoken(choice, recent=True)), (CONTEXT, _spoken(choice, recent=False)))
        for part in (*spoken.lines, *spoken.bodies)
    )


def _place(part: _Part) -> tuple[int, str]:
    return part.fragment.order, part.fragment.ref


def _grouped(bodies: Sequence[_Part]) -> list[_Part]:
    """Parts of one group together, in the order of the group, where the best of them stands."""
    groups: dict[object, list[_Part]] = {}
    for index, part in enumerate(bodies):
        groups.setdefault(part.fragment.group or index, []).append(part)
    return [part for group in groups.values() for part in sorted(group, key=_place)]


def _block(heading: str, spoken: _Spoken, mark: str) -> str:
    facts = listed([part.text for part in spoken.lines], mark)
    return _joined(heading, facts, *(part.text for part in spoken.bodies))


def _joined(*texts: str) -> str:
    return "\n".join(text for text in texts if text)
