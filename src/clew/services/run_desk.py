"""One run of a session: the desk that the engine turns to."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from clew.adapters.models.engine import Engine
from clew.core.agent.bounded import bound
from clew.core.agent.effects import Effect
from clew.core.agent.events import (
    Answered,
    Asking,
    Called,
    Calling,
    Drifted,
    Event,
    Filled,
    Hinted,
    Notice,
    Outcome,
    RunEnded,
    RunStarted,
    Steered,
    WindowOpened,
)
from clew.core.agent.loop import BAD_ARGUMENTS, Answer, Call, Finish, Offer, Result, succeeded
from clew.core.agent.milestones import Milestones
from clew.core.agent.permissions import Permit, verdict
from clew.core.agent.record import RunRecord
from clew.core.context.fences import clean
from clew.core.handoff.gate import Trigger
from clew.core.memory.recall import Hint
from clew.core.text.printable import printable, visible
from clew.errors import ClewError, ModelOverflow, StoreError
from clew.services.run import NOTICE_HEAD, STEERED_HEAD, Limits, Person, Prepared, Session, Surroundings, hints_text
from clew.services.tools.tool import Reply, Signal
from clew.stores.transcripts import Added, Began, Ended, replied, resulted

_MOST_REPLY = 64 * 1024
"""Bytes of any reply that the model gets. Tools have bounds of their own; this one holds for all, errors as well."""
_FEW: Final = 2
_NARROW: Final = 3
"""So many windows in a row, each full after `_FEW` model calls at most, and the run ends: more would end like them."""


class Run:
    """One run: the desk that the engine turns to."""

    def __init__(self, session: Session, engine: Engine, limits: Limits, person: Person, number: int, message: str):
        self.session = session
        self.around = session.around
        self.engine = engine
        self.limits = limits
        self.person = person
        self.number = number
        self.message = message
        self.steps = 0
        self.calls = 0
        self.usage = {"input": 0, "cached": 0, "output": 0}
        self.changed: dict[str, None] = {}
        self.recalled: list[str] = []
        self.answer = Answer("")
        self.narrow = 0
        """Windows of this run, one after the other, that ended after few model calls."""
        self.carried: set[str] = set()
        """Calls that a tool was asked for."""
        self.handed = ""
        """The ledger that was written because the window fills up, until the model is told."""
        self.milestones = Milestones()
        self.spent = False
        """The tokens of this run are used up."""
        self._tools = {tool.name: tool for tool in self.around.tools}
        self._asking = threading.Lock()
        self._telling = threading.Lock()

    # ------------------------------------------------------------------ a run

    def go(self) -> RunRecord:
        around, session = self.around, self.session
        around.forget()
        self.tell(RunStarted(session.id, self.number, self.engine.name, self.message))
        for trouble in session.trouble:
            self.tell(Notice(trouble))
        session.trouble.clear()
        told, asides = session.join(self.person)
        self._tools = {tool.name: tool for tool in around.tools}
        for notice in told:
            self.tell(Notice(notice))
        hints = self._recall(self.message, "user")
        prepared = session.prepare(self.message, self._model, self.limits, hints, asides)
        session.last = prepared
        around.transcript.append(
            Began(
                self.number, _time(around), self.engine.name, self.message, prepared.blocks,
                tuple(one.id for one in hints),
            )
        )  # fmt: skip
        try:
            finish = self._through_windows(prepared)
        except StoreError as error:
            # The end may still find room; otherwise that raises.
            return self._end(Finish("failed", self.answer.text, error))
        except BaseException as error:
            with contextlib.suppress(StoreError):
                self._end(Finish("aborted", self.answer.text), f"{type(error).__name__}: {error}")
            raise
        return self._end(finish)

    def _through_windows(self, prepared: Prepared) -> Finish:
        """Drive the model through as many windows as it takes."""
        session, keeper = self.session, self.around.keeper
        offers = [Offer(one.name, one.description, one.schema, one.alone) for one in self.around.tools]
        while True:
            if keeper is not None:
                keeper.estimate = prepared.tokens
            before = self.steps
            finish = self.engine.run(
                prepared.messages, offers, self, session.interrupt,
                limit=self.limits.answer, steps=self.limits.steps - self.steps, first=self.steps + 1,
            )  # fmt: skip
            if self.spent and finish.kind == "left":
                return Finish("limit", finish.text)
            overflown = isinstance(finish.error, ModelOverflow)
            if not (finish.kind == "left" or overflown) or keeper is None:
                return finish
            if self.steps > before:
                self.narrow = self.narrow + 1 if self.steps - before <= _FEW else 0
            if self.narrow >= _NARROW:
                # The next one would end in the same way.
                return finish if overflown else Finish("limit", finish.text)
            if overflown:
                # At the first request of a window nothing can be handed over; what is said of earlier runs is too much.
                if not (self._saved("fill") if self.steps > before else session.shorten()):
                    return finish
                self.around.wanted.append("the model takes no more")
            why = self.around.wanted[0]
            prepared = session.open_window(why, self.message, self._model, self.limits)
            # The notice that the window fills up was meant for the one before.
            self.handed = ""
            self.tell(WindowOpened(session.window, why))

    @property
    def _model(self) -> str:
        return self.engine.name.partition(":")[2]

    def _saved(self, trigger: Trigger) -> bool:
        """Write the handoff by rule. Whether a window may end now; where it may not, the user is told why."""
        if self.around.keeper is None:
            return False
        try:
            handed = self.around.keeper.save(trigger)
        except ClewError as error:
            self.tell(Notice(f"the handoff could not be saved: {error}"))
            return False
        if handed.ref and trigger == "fill":
            self.handed = handed.ref
        return True

    def _end(self, finish: Finish, why: str = "") -> RunRecord:
        outcome: Outcome
        match finish.kind:
            case "final" | "left":
                outcome = "finished"
            case "aborted" | "limit" | "failed":
                outcome = finish.kind
        error = finish.error
        reason = str(error) if error else why or {"limit": self._limit(), "aborted": "by the user"}.get(finish.kind, "")
        final = self.around.redact(finish.text) if outcome == "finished" else ""
        if final and self.answer.text == finish.text:
            self._recall(final, "assistant", told=False)
        changed = tuple(self._short(path) for path in self.changed)
        end = Ended(
            self.number, _time(self.around), outcome, final, reason, self.calls, changed, tuple(self.recalled)
        )  # fmt: skip
        self.around.transcript.append(end)
        if self.calls:
            # The handoff knows then what became of the run.
            self._saved("run")
        self.tell(
            RunEnded(
                self.number, outcome, final, reason, error.hint if error else self._way_on(finish),
                error.code if error else "", self.steps, self.calls,
                self.usage["input"], self.usage["cached"], self.usage["output"], changed,
            )
        )  # fmt: skip
        words = "" if final.strip() else self.answer.text
        blocks = self.session.last.blocks if self.session.last else (self.message,)
        return RunRecord(
            self.number, blocks, final, outcome, reason, self.calls, changed, tuple(self.recalled), words
        )  # fmt: skip

    def _limit(self) -> str:
        if self.narrow >= _NARROW:
            return f"{_NARROW} windows, one after the other, that were full after {_FEW} model calls at most"
        return f"{self.usage['input'] + self.usage['output']} tokens" if self.spent else f"{self.steps} model calls"

    def _way_on(self, finish: Finish) -> str:
        """What the user may do about a run that came to its limit."""
        if finish.kind != "limit":
            return ""
        if self.narrow >= _NARROW:
            return "what a step needs does not fit: let it read less at once, or take a model with a larger window"
        return "`clew run --continue` goes on from here; `--steps`, or `steps` in the settings, allows more"

    def _short(self, path: str) -> str:
        root = Path(self.session.opened.root)
        return Path(path).relative_to(root).as_posix() if Path(path).is_relative_to(root) else path

    # ------------------------------------------------------------------ what the engine asks for

    def before(self, step: int) -> Sequence[str]:
        """Hints for what the model wrote, the words of the user, notices."""
        texts: list[str] = []
        told: tuple[str, ...] = ()
        if self.answer.text.strip():
            hints = self._recall(self.answer.text, "assistant")
            told = tuple(one.id for one in hints)
            texts += [hints_text(hints)] if hints else []
        steered = [clean(self.around.redact(words)) for words in self.person.said()]
        for words in steered:
            self.tell(Steered(words))
            texts.append(f"{STEERED_HEAD}\n{words}")
        if self.handed and self.person.attended:
            texts.append(f"{NOTICE_HEAD}\n{self._fill_notice()}")
        self.handed = ""
        if texts:
            self.around.transcript.append(Added(self.number, step, tuple(texts), told, tuple(steered)))
        return texts

    def asking(self, step: int) -> None:
        """The request of this step is on its way."""
        self.around.step = step
        self.tell(Asking(step, self.session.window))

    def answered(self, step: int, answer: Answer) -> None:
        """Keep an answer."""
        self.answer = answer
        self.steps += 1
        self.calls += len(answer.calls)
        self.around.transcript.append(replied(self.number, step, self.session.window, answer))
        usage = answer.usage
        for name, count in (("input", usage.input), ("cached", usage.cached), ("output", usage.output)):
            self.usage[name] += count or 0
        self.tell(
            Answered(
                step, answer.text, len(answer.calls), usage.input, usage.cached, answer.written, usage.output
            )
        )  # fmt: skip
        if answer.filtered:
            self.tell(Notice("the provider's filter ended the answer"))
        elif not answer.calls and not answer.text.strip():
            self.tell(Notice("the model answered nothing"))
        if answer.cut:
            self.tell(Notice(f"the answer ended at its limit of {self.limits.answer} tokens"))
        self._level(answer)

    def call(self, call: Call) -> Result:
        """Carry out a call: what it would do, whether it may, then the deed."""
        self.carried.add(call.id)
        try:
            return self._called(call)
        except Exception as error:  # noqa: BLE001 -- whatever a tool does, the model gets an answer
            return self._told(call, Reply(f"error: the tool failed: {type(error).__name__}: {error}", failed=True))

    def results(self, step: int, results: Sequence[Result]) -> None:
        """Keep what the calls were answered, and hand over where something is achieved."""
        self.around.transcript.append(resulted(self.number, step, results))
        self._weigh(*(one.text for one in results))
        made = {call.id: call for call in self.answer.calls}
        for one in results:
            call = made.get(one.id)
            if call is not None and call.id not in self.carried:
                # There is no such tool: nobody else says that it was called.
                self.tell(Calling(call.id, call.name, call.name, dict(call.arguments)))
                self.tell(Called(call.id, call.name, one.text, failed=True))
            failed = not succeeded(one.name, one.text, failed=one.failed)
            if call is not None and self.milestones.hear(one.name, call.arguments, failed=failed):
                self._saved("milestone")
                break

    def leaves(self) -> bool:
        """Whether a fresh window begins before the next request, asked for or because this one is full; or whether the
        tokens of the run are used up."""
        most = self.limits.tokens
        self.spent = bool(most) and self.usage["input"] + self.usage["output"] >= most
        if self.spent:
            return True
        keeper, wanted = self.around.keeper, self.around.wanted
        if keeper is not None and not wanted and keeper.full and self._saved("fill"):
            wanted.append(f"the window is {keeper.fill.words} full")
        return bool(wanted)

    def ask(self, effect: Effect) -> Permit:
        """Ask the person, one question at a time; a rule that is given holds from now on."""
        with self._asking:
            # Another call may have been asked for the same while this one waited, or the user has stopped the run.
            if self.session.interrupt.event.is_set():
                return Permit(False, "the run was interrupted")
            if verdict(effect, self.around.rules, yes=self.around.unasked) == "allow":
                return Permit(True)
            permit = self.person.permit(effect)
            if permit.allowed and permit.rule is not None:
                self.around.rules.append(permit.rule)
            return permit

    def tell(self, event: Event) -> None:
        """Show something."""
        with self._telling:
            self.person.tell(event)

    # ------------------------------------------------------------------ inside

    def _level(self, answer: Answer) -> None:
        """How full the window is now, and the handoff where that is due."""
        keeper, usage = self.around.keeper, answer.usage
        self._weigh(answer.text, *(msgspec.json.encode(dict(call.arguments)).decode() for call in answer.calls))
        reported = None if usage.input is None else usage.input + (usage.output or 0)
        if keeper is None:
            return
        due = keeper.level(reported, self.limits.window, known=self.limits.known)
        self.tell(Filled(keeper.fill.used, self.limits.window, keeper.fill.exact))
        if due and self._saved("fill") and self.person.attended:
            self.tell(Notice(f"the window is {keeper.fill.words} full; the handoff is written"))
        drift = keeper.restated(answer.text)
        if drift is not None:
            self.tell(Drifted(
                tuple(step.text for step in drift.missing),
                tuple(f"{one.said} ({one.reason}: {one.handed_over})" for one in drift.contradicted), drift.new,
            ))  # fmt: skip

    def _weigh(self, *texts: str) -> None:
        if self.around.keeper is not None:
            self.around.keeper.estimate += sum(self.around.tokenizer.count(text) for text in texts)

    def _fill_notice(self) -> str:
        keeper = self.around.keeper
        words = keeper.fill.words if keeper is not None else ""
        told = (
            f"the window is {words} full. What happened so far is saved as {self.handed}. Bring the step at hand to an "
            "end, add what that misses with memory_note (kind handoff), then call new_context."
        )
        if keeper is not None and keeper.divides and "delegate" in self._tools:
            told += "\nSteps of the plan that stand alone can go to sub-agents: `delegate` gives each a fresh window."
        return told

    def _called(self, call: Call) -> Result:
        tool = self._tools[call.name]
        if BAD_ARGUMENTS in call.arguments:
            self.tell(Calling(call.id, call.name, call.name, dict(call.arguments)))
            return self._told(
                call, Reply("error: the arguments are no JSON object\nhint: send one object", failed=True)
            )
        try:
            given = tool.read(call.arguments)
        except msgspec.ValidationError as error:
            names = ", ".join(tool.schema.get("properties", {}))
            self.tell(Calling(call.id, call.name, call.name, dict(call.arguments)))
            return self._told(call, Reply(f"error: {error}\nhint: {call.name} takes {names}", failed=True))
        try:
            effect = tool.effect(given)
            title = effect.title if isinstance(effect, Effect) else call.name
            self.tell(Calling(call.id, call.name, printable(title, 200), dict(call.arguments)))
            if isinstance(effect, Reply):
                return self._told(call, effect)
            if (refused := self._refused(effect)) is not None:
                return self._told(call, refused)
            return self._told(call, tool.run(given, effect, Signal(self.session.interrupt.event)))
        except ClewError as error:
            hint = f"\nhint: {error.hint}" if error.hint else ""
            return self._told(call, Reply(f"error: {error}{hint}", failed=True))

    def _refused(self, effect: Effect) -> Reply | None:
        if verdict(effect, self.around.rules, yes=self.around.unasked) == "allow":
            return None
        permit = self.ask(effect)
        if permit.allowed:
            return None
        reason = f": {visible(permit.reason)}" if permit.reason else ""
        return Reply(f"refused: the user does not allow `{effect.title}`{reason}", failed=True)

    def _told(self, call: Call, reply: Reply) -> Result:
        text = visible(self.around.redact(reply.text))
        text = bound(text, lines=len(text) + 1, size=_MOST_REPLY).text
        for path in reply.changed:
            self.changed[path] = None
        self.tell(Called(call.id, call.name, text, reply.failed, reply.view, reply.changed))
        return Result(call.id, call.name, text, reply.failed)

    def _recall(self, text: str, role: str, *, told: bool = True) -> tuple[Hint, ...]:
        """What comes to mind; memory that cannot be read costs a notice, never the run."""
        try:
            found = self.around.recall(text, role if told else "record", self.number)
        except ClewError as error:
            self.tell(Notice(f"no hints this time: {error}"))
            return ()
        for notice in found.notices:
            self.tell(Notice(notice))
        hints = found.recalled.hints
        if not hints:
            return ()
        whys = {one.id: one.why for one in found.recalled.considered}
        if role == "assistant":
            self.recalled += [one.id for one in hints]
        if told:
            self.tell(
                Hinted(
                    "user" if role == "user" else "assistant",
                    tuple(one.id for one in hints), tuple(one.name for one in hints),
                    tuple(whys.get(one.id, "") for one in hints),
                )
            )  # fmt: skip
        return hints


def _time(around: Surroundings) -> str:
    return around.clock().isoformat(timespec="seconds")
