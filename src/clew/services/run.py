"""A session of Clew's own agent: runs whose context is assembled once, and only ever added to.

message → user recall → layers → model and tools, with recall and fill level before each further request → final
answer → recorded. What a model is sent is kept, line by line, before the next step begins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from clew.adapters.models.engine import Engine, Interrupt
from clew.core.agent.effects import Effect
from clew.core.agent.events import (
    Event,
)
from clew.core.agent.permissions import Permit, Rule
from clew.core.agent.prompt import Injection, core_for, injections
from clew.core.agent.record import RunRecord, recent, shown
from clew.core.context.assemble import assemble
from clew.core.context.budget import Budget
from clew.core.context.fences import clean
from clew.core.context.fragment import DEFAULT_WEIGHTS, Fragment
from clew.core.context.layers import Frame, Layer, Snapshot
from clew.core.memory.recall import Hint
from clew.core.ports import Message, Tokenizer
from clew.errors import OverBudget, UsageError
from clew.services.handoff import Handed
from clew.services.hinting import Hinted as HintedBy
from clew.services.mcp_servers import McpServers
from clew.services.tools.tool import Tool
from clew.services.window import GO_ON, Keeper
from clew.stores.transcripts import Read, Renewed, Transcript

if TYPE_CHECKING:
    from clew.services.delegation import Delegation

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
    tokens: int = 0
    """Tokens of all calls together, prompts and answers; 0: as many as it takes."""


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
    above: Surroundings | None = None
    """Those of the agent whose sub-agent this is."""
    shells: Callable[[], str] = lambda: ""
    """The block `[shell_hints]`; empty where no shell is open."""
    notices: Callable[[], Sequence[str]] = lambda: ()
    """What the model and the user should be told at the start of the next run, once."""
    forget: Callable[[], None] = lambda: None
    """Called when the model no longer knows what it read: at the start of each run and window."""
    step: int = 0
    """The model call of the run that is under way, or was last."""
    wanted: list[str] = field(default_factory=list[str])
    """Why a fresh window is wanted before the next request; empty: none is."""
    servers: McpServers | None = None
    """MCP servers, whose tools come after the others."""
    keeper: Keeper | None = None
    """Watches the window and hands over; None: windows have no end here (a sub-agent)."""
    delegation: Delegation | None = None
    """Starts sub-agents; None in a sub-agent."""

    @property
    def unasked(self) -> bool:
        """Whether nothing is asked for within the workspace; what the user says of it holds for sub-agents at once."""
        return self.above.unasked if self.above is not None else self.yes


@dataclass(frozen=True, slots=True)
class Prepared:
    """The request that a run begins with."""

    snapshot: Snapshot
    blocks: tuple[str, ...]
    """The user's part of it."""
    tools: int
    """Tokens of the tools, which go along beside the layers."""

    @property
    def tokens(self) -> int:
        """Tokens of the whole request, as counted here."""
        return self.snapshot.report.used + self.tools

    @property
    def messages(self) -> tuple[Message, ...]:
        """As the engine sends it."""
        return tuple(Message(layer.role, layer.blocks) for layer in self.snapshot.layers)


class Session:
    """A conversation with the agent. One run at a time."""

    def __init__(self, around: Surroundings, read: Read) -> None:
        self.around = around
        self._own = tuple(around.tools)
        self.opened = read.opened
        self.records = list(read.records())
        self.window = read.windows
        self.hint = read.hint
        self.interrupt = Interrupt()
        self.left = 0
        """How many of the oldest runs have left because the model takes no more."""
        self.noted: list[str] = []
        """What the run that is under way was told once, for a fresh window within it."""
        self.trouble: list[str] = []
        """What the user should know when the next run begins: what could not be opened or loaded."""
        self.last: Prepared | None = None
        """What the last run began with, for the report."""
        self.number = 0
        """The run that is under way, or was last."""

    @property
    def id(self) -> str:
        """The session's id."""
        return self.opened.id

    def run(
        self, message: str, engine: Engine, limits: Limits, person: Person, interrupt: Interrupt | None = None
    ) -> RunRecord:
        """One run, to its end, whatever that is; `interrupt` ends it, from any thread. Raises OverBudget before
        anything is sent; StoreError where the transcript cannot be written."""
        from clew.services.run_desk import Run  # noqa: PLC0415 -- the two know each other

        self.interrupt = interrupt or Interrupt()
        if not message.strip():
            raise UsageError("there is nothing to do", hint='clew run "make the retry test pass"')
        self.number = self._next()
        self.noted = []
        run = Run(self, engine, limits, person, self.number, clean(self.around.redact(message)))
        if self.around.delegation is not None:
            self.around.delegation.run = run
        record = run.go()
        self.records.append(record)
        return record

    def join(self, person: Person) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Take the tools of the MCP servers that are there now. What the user is told of that, and what the model is.

        The first run of a session keeps their instructions as a layer; those of a server that comes later go along
        with the message, since nothing that was sent may change.
        """
        servers = self.around.servers
        if servers is None:
            return (), ()
        joined = servers.gather(person, self.interrupt.event.is_set)
        self.around.tools = [*self._own, *joined.tools]
        known = {origin for origin, _ in self.opened.injections}
        fresh = tuple((origin, text) for origin, text in joined.injections if origin not in known)
        if fresh and not self.records:
            self.opened = msgspec.structs.replace(self.opened, injections=(*self.opened.injections, *fresh))
            self.around.transcript.append(self.opened)
            return joined.notices, ()
        told = [f"{origin} has joined; its instructions:\n{text}" for origin, text in fresh]
        before = [block for record in self.records for block in record.blocks]
        return joined.notices, tuple(one for one in told if not any(one in block for block in before))

    def renew(self, reason: str) -> Handed | None:
        """Begin a fresh window between two runs. Raises what the store raises; then all stays as it was."""
        keeper = self.around.keeper
        if keeper is None:
            return None
        saved = keeper.save("user")
        self._open_window(reason, self.number, ())
        return saved

    def open_window(self, reason: str, message: str, model: str, limits: Limits) -> Prepared:
        """A fresh window within a run: the layers, the hint, the message again. The handoff was saved before."""
        self._open_window(reason, self.number, ())
        prepared = self.prepare(message, model, limits, notices=(GO_ON, *self.noted))
        self.last = prepared
        return prepared

    def _open_window(self, reason: str, run: int, blocks: tuple[str, ...]) -> None:
        keeper = self.around.keeper
        hint = keeper.renew() if keeper is not None else ""
        self.window += 1
        self.hint = hint
        self.around.wanted.clear()
        self.around.forget()
        self.around.transcript.append(Renewed(run, self.window, reason, hint, blocks))

    def prepare(
        self, message: str, model: str, limits: Limits, hints: Sequence[Hint] = (), notices: Sequence[str] = ()
    ) -> Prepared:
        """The layers for a message. Where they are more than the model takes, earlier runs leave, the oldest first.

        Raises OverBudget where the message is too long without any.
        """
        fragments = [*self._hinted(hints), *self._aside(notices)]
        tools = self.around.tokenizer.count(msgspec.json.encode(self.offered()).decode())
        budget = Budget(max(limits.window - tools - _MARGIN, limits.answer + 1), limits.answer, self.around.tokenizer)
        while True:
            frame = Frame(stable=self._stable(model), context="", nothing="", question="")
            try:
                snapshot = assemble(message, fragments, "rich", budget, frame, reason="a run", found=True)
                break
            except OverBudget:
                if not self.shorten():
                    raise
        blocks = tuple(block for layer in snapshot.layers[len(frame.stable) :] for block in layer.blocks)
        return Prepared(snapshot, blocks, tools)

    def shorten(self) -> bool:
        """Let the older half of the earlier runs leave, since the model takes no more; False where none is left."""
        runs = len(self.records) - self.left
        seen = runs - shown(runs)
        self.left = len(self.records) - seen // 2
        return seen > 0

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
        layers += [Layer("recent_chat", one.role, one.blocks) for one in recent(self.records[self.left :])]
        return tuple(layers)

    def _hinted(self, hints: Sequence[Hint]) -> list[Fragment]:
        weight = DEFAULT_WEIGHTS["memory"]
        text = hints_text(hints)
        return [Fragment("memory", "memory_hints", text, weight)] if text else []

    def _aside(self, notices: Sequence[str]) -> list[Fragment]:
        fresh = list(self.around.notices())
        self.noted = fresh or self.noted
        every = (*notices, *fresh)
        told = [Fragment("notice", f"notice:{at}", f"{NOTICE_HEAD}\n{one}", 90) for at, one in enumerate(every, 1)]
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
