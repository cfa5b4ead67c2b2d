"""Shows a conversation: events as finished text and as what is going on."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from prompt_toolkit.formatted_text import StyleAndTextTuples

from clew.core.agent.effects import Effect
from clew.core.agent.events import (
    Answered,
    Asking,
    Called,
    Calling,
    Delegated,
    Drifted,
    Event,
    Filled,
    Hinted,
    Notice,
    Outcome,
    Retrying,
    RunEnded,
    RunStarted,
    Steered,
    Text,
    Thinking,
    WindowOpened,
)
from clew.core.text.printable import printable, visible
from clew.entrypoints.cli.deeds import again, deed, outcome_of, preview, signs
from clew.entrypoints.cli.prose import Prose
from clew.entrypoints.cli.style import cut
from clew.entrypoints.cli.terminal.blocks import Blocks, Part
from clew.entrypoints.cli.terminal.paint import FOLDED, Paint
from clew.entrypoints.cli.terminal.permission import Question
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.wording import translated

PREVIEW: Final = 400
"""Lines of what is asked for that are shown at once."""
_MESSAGE: Final = 20
"""Lines of a message that are repeated."""
_SPIN: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_LONGEST_TAIL: Final = 12
"""Rows of the unfinished answer."""


@dataclass(frozen=True, slots=True)
class Given:
    """A hint that was given in this session."""

    id: str
    name: str
    reason: str
    about: str
    """The words that it was given for."""


@dataclass(slots=True)
class Show:
    """Turns events into text. `print` takes what is finished."""

    paint: Paint
    language: str
    print: Callable[[str], None]
    root: Path
    """Of the workspace."""
    hints: list[Given] = field(default_factory=list[Given])
    fill: str = ""
    full: bool = False
    last: str = ""
    """The last output, whole."""
    phase: str = ""
    since: float = 0.0
    blocks: Blocks = field(default_factory=Blocks)
    tools: dict[str, tuple[str, str, float]] = field(default_factory=dict[str, tuple[str, str, float]])
    """Tools at work, by the id of their call: name, title, since when."""
    _said: str = ""
    _words: str = ""
    _seen: set[str] = field(default_factory=set[str])
    """What was shown before it was done, so that it need not be shown again."""
    _spoke: bool = False
    """The last thing shown is a part of the answer."""

    def say(self, key: str, *fill: object) -> str:
        """A text of the interface."""
        return say(key, self.language, *fill)

    def note(self, text: str, style: str = "dim", mark: str = "·") -> None:
        """One remark, over as many lines as it needs."""
        prose = Prose(max(self.paint.columns - 3, 20), hang="")
        laid = (prose.feed(visible(text)) + prose.end()).split("\n")
        self._gap(False)
        self.print(self.paint.lines([(f"{mark if not at else ' '} {row}", style) for at, row in enumerate(laid)]))

    def error(self, error: BaseException | str, hint: str = "") -> None:
        """What went wrong, with what to do."""
        text = str(error) if isinstance(error, str) or str(error) else type(error).__name__
        self.note(self.say("error") + translated(printable(text), self.language), "red", "✗")
        if told := hint or getattr(error, "hint", ""):
            self.note(self.say("hint") + translated(printable(told), self.language), "cyan", " ")

    # ------------------------------------------------------------------ events

    def event(self, event: Event) -> None:
        """Show an event."""
        match event:
            case Text(text=text):
                self.now("term.writing")
                for block in self.blocks.feed(text):
                    self._answer(block)
            case Thinking():
                self.now("term.thinking")
            case Asking():
                self.now("term.asking")
            case Answered(text=text):
                self._words = text
                self._rest()
            case Calling(id=id_, name=name, title=title):
                self.tools[id_] = (name, title, time.monotonic())
            case Called():
                self._called(event)
            case Filled(used=used, window=window, exact=exact):
                share = used / window if window else 0.0
                self.fill = f"{'' if exact else '~'}{share:.0%}".replace("%", " %") if window else "?"
                self.full = share >= 0.65
            case RunStarted(message=message):
                self._said = message
                self.now("term.starting")
            case RunEnded():
                self._ended(event)
            case _:
                self._aside(event)

    def _aside(self, event: Event) -> None:
        match event:
            case Hinted(role=role, ids=ids, names=names, reasons=reasons):
                about = self._said if role == "user" else self._words
                for id_, name, reason in zip(ids, names, reasons, strict=True):
                    self.hints.append(Given(id_, name, reason, about))
                    self.note(self.say("term.hint", printable(name), signs(printable(reason), self.language) or id_))
            case Steered(text=text):
                self.note(self.say("term.steered", text), "", "›")
            case WindowOpened(window=window):
                self._gap(False)
                self.print(self.paint.parts([(f"── {self.say('run.window', window)} ", "cyan")]))
            case Drifted(missing=missing, contradicted=contradicted):
                if missing:
                    self.note(self.say("term.drift", "; ".join(missing)), "yellow", "!")
                if contradicted:
                    self.note(self.say("term.contradicted", "; ".join(contradicted)), "yellow", "!")
            case Retrying(reason=reason, wait=wait):
                self._rest()
                self.note(again(printable(reason), wait, self.language), "yellow", "!")
            case Delegated(event=Calling(title=title)):
                self.note(deed(printable(title), self.language), mark="‣")
            case Notice(text=text):
                self.note(self.say("note") + translated(printable(text), self.language))
            case _:
                pass

    def message(self, text: str, most: int = _MESSAGE) -> None:
        """What the user said."""
        rows = visible(text).split("\n")
        shown = rows if len(rows) <= most + 2 else rows[:most]
        self.print("\n")
        prose = Prose(max(self.paint.columns - 3, 20))
        laid = [line for row in shown for line in (prose.feed(row + "\n")).rstrip("\n").split("\n")]
        self.print(self.paint.lines([(f"{'›' if not at else ' '} {row}", "bold") for at, row in enumerate(laid)]))
        if len(shown) < len(rows):
            self.print(self.paint.lines([("  " + self.say("term.pasted", f"{len(rows):,}"), "dim")]))
        self._spoke = False

    def answer(self, text: str) -> None:
        """An answer that is there as a whole."""
        for block in [*self.blocks.feed(text + "\n"), self.blocks.end()]:
            self._answer(block)

    def _answer(self, block: str) -> None:
        if block.strip():
            self.print(("" if isinstance(block, Part) else "\n") + self.paint.markdown(block))
            self._spoke = True

    def _rest(self) -> None:
        self._answer(self.blocks.end())

    def _gap(self, spoke: bool) -> None:
        """A blank line between what the model says and what it does."""
        if self._spoke != spoke:
            self.print("\n")
        self._spoke = spoke

    def now(self, phase: str) -> None:
        """What is going on."""
        if self.phase != phase:
            self.phase, self.since = phase, time.monotonic()

    # ------------------------------------------------------------------ tools

    def _called(self, event: Called) -> None:
        _, title, since = self.tools.pop(event.id, (event.name, event.name, time.monotonic()))
        self._gap(False)
        spent = time.monotonic() - since
        diff = event.view if event.view.startswith(("---", "diff ", "@@")) else ""
        mark, style = ("✗", "red") if event.failed else ("●", "green")
        parts = [(f"{mark} ", style), (deed(printable(title), self.language), "")]
        outcome = self._outcome(event, diff)
        if outcome:
            parts.append((f" · {outcome}", "red" if event.failed else "dim"))
        if spent >= 1 and not re.search(r"\d (s|秒)", outcome):
            parts.append((f" · {self.say('term.seconds', f'{spent:.0f}')}", "dim"))
        self.print(self.paint.parts(parts))
        self.last = diff or event.text
        if diff and title not in self._seen:
            self.fold(diff, FOLDED)
        self._seen.discard(title)
        self.now("term.asking")

    def answered(self) -> None:
        """A question was answered: what it was about begins now."""
        now = time.monotonic()
        self.tools = {id_: (name, title, now) for id_, (name, title, _) in self.tools.items()}

    def _outcome(self, event: Called, diff: str) -> str:
        if event.failed:
            first = event.text.partition("\n")[0].removeprefix("error: ")
            return printable(outcome_of(first, self.language), 200)
        if diff:
            rows = diff.split("\n")
            added = sum(row.startswith("+") and not row.startswith("+++") for row in rows)
            gone = sum(row.startswith("-") and not row.startswith("---") for row in rows)
            return f"+{added} -{gone}"
        if event.view and "\n" not in event.view.strip():
            return printable(outcome_of(event.view.strip(), self.language), 200)
        lines = event.text.rstrip("\n").count("\n") + 1
        return printable(event.text.strip(), 100) if lines == 1 else self.say("term.lines", f"{lines:,}")

    def fold(self, diff: str, most: int) -> None:
        """A diff, folded where it is long."""
        text, left = self.paint.diff(diff, most)
        self.print(text)
        if left:
            self.last = diff
            self.print(self.paint.lines([("  " + self.say("term.folded", f"{left:,}"), "dim")]))

    def asked(self, question: Question) -> None:
        """Show exactly what would happen."""
        self._rest()
        effect = question.effect
        self._gap(False)
        self.print(self.paint.lines([(f"? {deed(effect.title, self.language)}", "bold yellow")]))
        root = os.path.realpath(self.root)
        away = [path for path in effect.paths if effect.outside and not Path(path).is_relative_to(root)]
        if away := [*away, *effect.reaches]:
            where = printable(", ".join(away), 400)
            self.print(self.paint.lines([(f"  {self.say('permit.outside', where)}", "bold red")]))
        if effect.preview:
            self._preview(effect)
            self._seen.add(effect.title)

    def _preview(self, effect: Effect) -> None:
        if effect.kind == "edit":
            self.fold(effect.preview, PREVIEW)
            return
        rows = preview(effect, self.language).rstrip("\n").split("\n")
        shown = rows if len(rows) <= PREVIEW else rows[:PREVIEW]
        mark = "$" if effect.kind == "command" else " "
        self.print(self.paint.lines([(f"  {mark if not at else ' '} {row}", "") for at, row in enumerate(shown)]))
        if len(shown) < len(rows):
            self.last = effect.preview
            self.print(self.paint.lines([("  " + self.say("term.folded", f"{len(rows) - len(shown):,}"), "dim")]))

    def whole(self, text: str) -> None:
        """An output without a fold."""
        if text.startswith(("---", "diff ", "@@")):
            self.print(self.paint.diff(text)[0])
        else:
            self.print(self.paint.lines([(f"  {row}", "") for row in text.rstrip("\n").split("\n")]))

    def _ended(self, event: RunEnded) -> None:
        self._rest()
        self.tools.clear()
        self._seen.clear()
        if event.outcome != "finished":
            self.stopped(event.outcome, event.reason)
            if event.hint:
                self.note(self.say("hint") + translated(printable(event.hint), self.language), "cyan", " ")
        told = [self.say("term.ended-tokens", f"{event.input:,}", f"{event.cached:,}", f"{event.output:,}")]
        if event.changed:
            told.append(self.say("term.wrote", ", ".join(printable(path) for path in event.changed)))
        self.print("\n" + self.paint.parts([("  " + " · ".join(told), "dim")]))
        self._spoke = False
        self.phase = ""

    def stopped(self, outcome: Outcome, reason: str) -> None:
        """How a run ended that did not finish, and why."""
        told, why = self.say(f"run.{outcome}"), translated(printable(reason), self.language)
        self.note(self.say("run.ended", told, why) if why else self.say("run.ended-so", told), "yellow", "■")

    # ------------------------------------------------------------------ the live part

    def _at_work(self, what: str, seconds: float) -> str:
        return f"{deed(what, self.language)} · {self.say('term.seconds', f'{seconds:.0f}')}"

    def live(self, columns: int, rows: int) -> StyleAndTextTuples:
        """The tail of the answer and what is at work."""
        found: StyleAndTextTuples = []
        most = max(2, min(_LONGEST_TAIL, rows // 3))
        if tail := self.blocks.tail.strip("\n"):
            prose = Prose(max(columns - 1, 20))
            near = "\n".join(tail[-most * 4 * columns :].split("\n")[-most:])
            lines = (prose.feed(visible(near)) + prose.end()).split("\n")[-most:]
            found.append(("", "\n" + "".join(f"{cut(line, columns - 1)}\n" for line in lines)))
        elif self.phase:
            found.append(("", "\n"))
        now = time.monotonic()
        spin = _SPIN[int(now * 8) % len(_SPIN)]
        for _, title, since in list(self.tools.values())[-5:]:
            found += [("class:mark", f"{spin} "), ("", cut(self._at_work(title, now - since), columns - 3) + "\n")]
        if self.phase and not self.tools:
            told = f"{self._at_work(self.say(self.phase), now - self.since)} · {self.say('term.esc')}"
            found += [("class:mark", f"{spin} "), ("class:pale", cut(told, columns - 3) + "\n")]
        return found
