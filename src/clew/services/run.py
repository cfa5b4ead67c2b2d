"""A session of Clew's own agent: runs whose context is assembled once, and only ever added to.

message → user recall → layers → model and tools, with recall and fill level before each further request → final
answer → recorded. What a model is sent is kept, line by line, before the next step begins.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from clew.adapters.models.engine import Engine, Interrupt
from clew.core.agent.effects import Effect
from clew.core.agent.events import (
    Answered,
    Asking,
    Called,
    Calling,
    Event,
    Filled,
    Hinted,
    Notice,
    Outcome,
    RunEnded,
    RunStarted,
    Steered,
)
from clew.core.agent.loop import Answer, Call, Finish, Offer, Result
from clew.core.agent.permissions import Permit, Rule, verdict
from clew.core.agent.prompt import Injection, core_for, injections
from clew.core.agent.record import RunRecord, recent
from clew.core.context.assemble import assemble
from clew.core.context.budget import Budget
from clew.core.context.fences import clean
from clew.core.context.fragment import DEFAULT_WEIGHTS, Fragment
from clew.core.context.layers import Frame, Layer, Snapshot
from clew.core.memory.recall import Hint
from clew.core.ports import Message, Tokenizer
from clew.core.text.printable import printable, visible
from clew.errors import ClewError
from clew.services.hinting import Hinted as HintedBy
from clew.services.tools.tool import Reply, Signal, Tool
from clew.stores.transcripts import Added, Began, Ended, Read, Transcript, replied, resulted

HINTS_HEAD: Final = "[memory_hints] Notes that may matter here. Found by Clew, not said by the user:"
NOTICE_HEAD: Final = "[notice] From Clew, not said by the user:"
STEERED_HEAD: Final = "[user] Said by the user while you worked:"
_MARGIN: Final = 512
"""Tokens kept free beside the layers: what a provider adds around tools and blocks."""


class Person(Protocol):
    """Whoever the run works for. May be nobody: then nothing is asked, and what would need a yes is refused."""

    attended: bool
    """Whether somebody watches."""

    def tell(self, event: Event) -> None:
        """Something happened. Called from several threads, one at a time."""
        ...

    def permit(self, effect: Effect) -> Permit:
        """Whether this may be done. Waits for the answer; called one at a time."""
        ...

    def said(self) -> Sequence[str]:
        """Words that came since the last call, for the model as soon as it can take them."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use."""

    window: int
    """Tokens that the model takes, prompt and answer together."""
    known: bool = True
    """As published, not assumed."""
    answer: int = 8_192
    """Tokens of one answer."""
    steps: int = 200
    """Model calls."""


@dataclass(slots=True)
class Surroundings:
    """What a session works with; opened by whoever starts it."""

    transcript: Transcript
    tools: Sequence[Tool[Any]]
    """The same, in the same order, in every request of a run."""
    recall: Callable[[str, str, int], HintedBy]
    """Text, role (`user` or `assistant`) and number of the run: what comes to mind."""
    clock: Callable[[], datetime]
    redact: Callable[[str], str]
    tokenizer: Tokenizer
    rules: list[Rule] = field(default_factory=list[Rule])
    yes: bool = False
    shells: Callable[[], str] = lambda: ""
    """The block `[shell_hints]`; empty where no shell is open."""
    notices: Callable[[], Sequence[str]] = lambda: ()
    """What the model and the user should be told at the start of the next run, once."""
    forget: Callable[[], None] = lambda: None
    """Called when the model no longer knows what it read: at the start of each run and window."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The request that a run begins with."""

    snapshot: Snapshot
    blocks: tuple[str, ...]
    """The user's part of it."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """As the engine sends it."""
        return tuple(Message(layer.role, layer.blocks) for layer in self.snapshot.layers)


class Session:
    """A conversation with the agent. One run at a time."""

    def __init__(self, around: Surroundings, read: Read) -> None:
        self.around = around
        self.opened = read.opened
        self.records = list(read.records())
        self.window = read.windows
        self.hint = read.hint
        self.interrupt = Interrupt()
        self.last: Prepared | None = None
        """What the last run began with, for the report."""
        self.number = 0
        """The run that is under way, or was last."""
        self.step = 0
        """Its model call that is under way, or was last."""

    @property
    def id(self) -> str:
        """The session's id."""
        return self.opened.id

    def run(self, message: str, engine: Engine, limits: Limits, person: Person) -> RunRecord:
        """One run, to its end, whatever that is. Raises OverBudget before anything is sent; StoreError where the
        transcript cannot be written."""
        self.interrupt = Interrupt()
        self.number = self._next()
        run = _Run(self, engine, limits, person, self.number, clean(self.around.redact(message)))
        record = run.go()
        self.records.append(record)
        return record

    def stop(self) -> None:
        """End the run that is under way, from any thread."""
        self.interrupt.set()

    def prepare(self, message: str, model: str, limits: Limits, hints: Sequence[Hint] = ()) -> Prepared:
        """The layers for a message. Raises OverBudget."""
        frame = Frame(stable=self._stable(model), context="", nothing="", question="")
        fragments = [*self._hinted(hints), *self._aside()]
        tools = self.around.tokenizer.count(msgspec.json.encode(self.offered()).decode())
        budget = Budget(max(limits.window - tools - _MARGIN, limits.answer + 1), limits.answer, self.around.tokenizer)
        snapshot = assemble(message, fragments, "rich", budget, frame, reason="a run", found=True)
        blocks = tuple(block for layer in snapshot.layers[len(frame.stable) :] for block in layer.blocks)
        return Prepared(snapshot, blocks)

    def offered(self) -> list[Mapping[str, Any]]:
        """The tools as the model is told of them."""
        return [{"name": one.name, "description": one.description, "schema": one.schema} for one in self.around.tools]

    def _stable(self, model: str) -> tuple[Layer, ...]:
        layers = [Layer("system_core", "system", (core_for(model),))]
        texts = tuple(Injection(*one) for one in self.opened.injections)
        if injected := injections(texts):
            layers.append(Layer("injections", "system", (injected,)))
        layers.append(Layer("session_identity", "user", (self.opened.identity,)))
        if self.hint:
            layers.append(Layer("recent_chat", "user", (self.hint,)))
        layers += [Layer("recent_chat", one.role, one.blocks) for one in recent(self.records)]
        return tuple(layers)

    def _hinted(self, hints: Sequence[Hint]) -> list[Fragment]:
        weight = DEFAULT_WEIGHTS["memory"]
        text = hints_text(hints)
        return [Fragment("memory", "memory_hints", text, weight)] if text else []

    def _aside(self) -> list[Fragment]:
        told = [Fragment("notice", "notice", f"{NOTICE_HEAD}\n{one}", 90) for one in self.around.notices()]
        shells = self.around.shells()
        return [*told, *([Fragment("shells", "shell_hints", shells, 40)] if shells else [])]

    def _next(self) -> int:
        return max((record.number for record in self.records), default=0) + 1


def hints_text(hints: Sequence[Hint]) -> str:
    """Hints as the model reads them: id, name and description, one line each; empty where there are none."""
    if not hints:
        return ""
    rows = [f"- {one.ref} · {one.name} · {one.description}" for one in hints]
    return "\n".join((HINTS_HEAD, *rows))


class _Run:
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
        self.added: dict[int, tuple[str, ...]] = {}
        self.answer = Answer("")
        self.finals = ""
        self.trouble: ClewError | None = None
        self._tools = {tool.name: tool for tool in self.around.tools}
        self._asking = threading.Lock()
        self._telling = threading.Lock()

    # ------------------------------------------------------------------ a run

    def go(self) -> RunRecord:
        around, session = self.around, self.session
        around.forget()
        self.tell(RunStarted(session.id, self.number, self.engine.name, self.message))
        hints = self._recall(self.message, "user")
        prepared = session.prepare(self.message, self.engine.name.partition(":")[2], self.limits, hints)
        session.last = prepared
        around.transcript.append(
            Began(
                self.number, _time(around), self.engine.name, self.message, prepared.blocks,
                tuple(one.id for one in hints),
            )
        )  # fmt: skip
        offers = [Offer(one.name, one.description, one.schema, one.alone) for one in around.tools]
        try:
            finish = self.engine.run(
                prepared.messages, offers, self, session.interrupt,
                limit=self.limits.answer, steps=self.limits.steps,
            )  # fmt: skip
        except BaseException as error:
            self._end(Finish("aborted", self.answer.text), f"{type(error).__name__}")
            raise
        return self._end(finish)

    def _end(self, finish: Finish, why: str = "") -> RunRecord:
        outcome: Outcome
        match finish.kind:
            case "final" | "left":
                outcome = "finished"
            case "aborted" | "limit" | "failed":
                outcome = finish.kind
        error = finish.error or self.trouble
        reason = (
            str(error)
            if error
            else why or {"limit": f"{self.steps} model calls", "aborted": "by the user"}.get(finish.kind, "")
        )
        final = self.around.redact(finish.text) if outcome == "finished" else ""
        if final and self.answer.text == finish.text:
            self._recall(final, "assistant", told=False)
        changed = tuple(self._short(path) for path in self.changed)
        end = Ended(
            self.number, _time(self.around), outcome, final, reason, self.calls, changed, tuple(self.recalled)
        )  # fmt: skip
        self.around.transcript.append(end)
        self.tell(
            RunEnded(
                self.number, outcome, final, reason, error.hint if error else "", self.steps, self.calls,
                self.usage["input"], self.usage["cached"], self.usage["output"], changed,
            )
        )  # fmt: skip
        words = "" if final.strip() else self.answer.text
        blocks = self.session.last.blocks if self.session.last else (self.message,)
        return RunRecord(
            self.number, blocks, final, outcome, reason, self.calls, changed, tuple(self.recalled), words
        )  # fmt: skip

    def _short(self, path: str) -> str:
        root = Path(self.session.opened.root)
        return Path(path).relative_to(root).as_posix() if Path(path).is_relative_to(root) else path

    # ------------------------------------------------------------------ what the engine asks for

    def before(self, step: int) -> Sequence[str]:
        """Hints for what the model wrote, the words of the user, notices."""
        if step in self.added:
            return self.added[step]
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
        self.added[step] = tuple(texts)
        if texts:
            self.around.transcript.append(Added(self.number, step, tuple(texts), told, tuple(steered)))
        return texts

    def asking(self, step: int) -> None:
        """The request of this step is on its way."""
        self.session.step = step
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
        if answer.cut:
            self.tell(Notice(f"the answer ended at its limit of {self.limits.answer} tokens"))
        if usage.input is not None:
            self.tell(Filled(usage.input + (usage.output or 0), self.limits.window, exact=True))

    def call(self, call: Call) -> Result:
        """Carry out a call: what it would do, whether it may, then the deed."""
        try:
            return self._called(call)
        except Exception as error:  # noqa: BLE001 -- whatever a tool does, the model gets an answer
            return self._told(call, Reply(f"error: the tool failed: {type(error).__name__}: {error}", failed=True))

    def results(self, step: int, results: Sequence[Result]) -> None:
        """Keep what the calls were answered."""
        self.around.transcript.append(resulted(self.number, step, results))

    def leaves(self) -> bool:
        """Whether to stop after a round of tools."""
        return False

    def tell(self, event: Event) -> None:
        """Show something."""
        with self._telling:
            self.person.tell(event)

    # ------------------------------------------------------------------ inside

    def _called(self, call: Call) -> Result:
        tool = self._tools[call.name]
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
        if verdict(effect, self.around.rules, yes=self.around.yes) == "allow":
            return None
        with self._asking:
            # Another call may have been asked for the same while this one waited.
            if verdict(effect, self.around.rules, yes=self.around.yes) == "allow":
                return None
            permit = self.person.permit(effect)
            if permit.allowed:
                if permit.rule is not None:
                    self.around.rules.append(permit.rule)
                return None
        reason = f": {visible(permit.reason)}" if permit.reason else ""
        return Reply(f"refused: the user does not allow `{effect.title}`{reason}", failed=True)

    def _told(self, call: Call, reply: Reply) -> Result:
        text = visible(self.around.redact(reply.text))
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
