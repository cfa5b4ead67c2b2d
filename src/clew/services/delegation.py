"""Sub-agents (W-16): one part of the work in a window of its own, for a run that waits for its answer.

A sub-agent has a session of its own, kept like any other. It looks and runs commands, under the same permissions,
asked of the same person; it knows the plan and the workspace's notes, not the user's own. What it answers is kept as a
note that cites the spot in its session.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from clew.adapters.models.engine import Interrupt
from clew.core.agent.effects import Effect
from clew.core.agent.events import Answered, Delegated, Event
from clew.core.agent.permissions import Permit
from clew.core.agent.record import RunRecord
from clew.core.handoff.plan import read_plan
from clew.core.handoff.references import SESSION
from clew.core.memory.edit import first_words
from clew.core.text.printable import printable
from clew.errors import ClewError
from clew.services.dump import Dump, about_of
from clew.services.memory import NoteWish
from clew.services.run import Limits, Session
from clew.services.tools.tool import Reply, Signal
from clew.stores.transcripts import Replied

if TYPE_CHECKING:
    from clew.services.handoff import Handoff
    from clew.services.memory import Memory
    from clew.services.run_desk import Run

MOST_AT_ONCE: Final = 3
"""Sub-agents of one session that work at the same time; further ones wait for their turn."""
STEPS: Final = 60
"""Model calls of a sub-agent at most."""
TOKENS: Final = 1_500_000
"""Tokens of a sub-agent at most: prompts and answers of all its calls together, cached ones too."""
LONGEST: Final = 12_000
"""Characters of its answer that the agent reads; its session holds all."""
_LONGEST_NOTE: Final = 20_000
_LONGEST_PLAN: Final = 6_000
_SETTLE: Final = 3.0
"""Seconds that the end of a session waits for its sub-agents to write theirs."""
TOOLS: Final = frozenset({
    "read", "glob", "grep", "shell", "terminal_spawn", "terminal_send", "terminal_read",
    "terminal_snapshot", "terminal_list", "terminal_kill", "memory_recall", "memory_open",
})  # fmt: skip
"""What a sub-agent may use: it reads and runs commands. It edits no file, writes no memory, starts no other."""
BRIEF: Final = (
    "Clew",
    f"""\
You are a sub-agent: another agent gives you one part of its work, in a window of its own. The message says which.
- Do that part and nothing beside it. You read and run commands; files, notes and the plan are for the other agent to \
write.
- Your last answer is all that it gets, up to {LONGEST} characters: what is so, how you know it (`path:line`, the \
exact command and what it said), what you could not find out.
- Nobody answers questions. Where something is unclear, take the likeliest meaning and say so.
- After {STEPS} model calls you are ended, answer or not.""",
)
"""Origin and text of what a sub-agent is told beside the base prompt."""


@dataclass(slots=True)
class Delegation:
    """Starts the sub-agents of one session."""

    opened: Callable[[Run], AbstractContextManager[Session]]
    """A session for a sub-agent of a run: with its model, its rules and what is allowed by now."""
    memory: Callable[[], Memory]
    """Where answers are kept."""
    run: Run | None = None
    """The run that is under way."""
    _free: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(MOST_AT_ONCE))
    _under_way: dict[threading.Event, Interrupt] = field(default_factory=dict[threading.Event, Interrupt])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def work(self, task: str, context: str, signal: Signal) -> Reply:
        """Let a sub-agent do `task`, wait for its answer and keep that. Raises what opening its session raises."""
        run = self.run
        assert run is not None, "a tool is called within a run"
        while not self._free.acquire(timeout=0.1):
            if signal.stopped:
                return Reply("interrupted before the sub-agent began", failed=True)
        try:
            id_, record, step = self._driven(run, f"{task}\n\n{context}" if context.strip() else task, signal)
        finally:
            self._free.release()
        ref = f"{SESSION}{id_}#{record.number}"
        if record.outcome != "finished" or not record.final.strip():
            said = f"\nIt said last: {_cut(record.last_words, LONGEST // 4)}" if record.last_words.strip() else ""
            why = f": {record.reason}" if record.reason else ""
            return Reply(f"the sub-agent did not finish ({record.outcome}{why}); see {ref}{said}", failed=True)
        told = self._kept(task, record.final, f"{ref}.{step}")
        rest = "" if len(record.final) <= LONGEST else f"\n[cut; {ref}.{step} holds all of it]"
        return Reply(
            f"{record.final[:LONGEST]}{rest}\n\n[sub-agent: {record.calls} tool calls; {told}; its session: {ref}]",
            view=f"{record.calls} tool calls; {told}",
        )

    def close(self) -> None:
        """End the sub-agents that are at work, and wait a moment for what they write."""
        with self._lock:
            under_way = dict(self._under_way)
        for interrupt in under_way.values():
            interrupt.set()
        for done in under_way:
            done.wait(_SETTLE)

    # ------------------------------------------------------------------ inside

    def _driven(self, run: Run, message: str, signal: Signal) -> tuple[str, RunRecord, int]:
        """One run of a sub-agent: the id of its session, what is left of it, the step of its last answer."""
        interrupt, done = Interrupt(), threading.Event()
        with self._lock:
            self._under_way[done] = interrupt
        threading.Thread(target=_watch, args=(signal, interrupt, done), name="clew-delegated", daemon=True).start()
        try:
            with self.opened(run) as session:
                sent = run.engine.sent
                dump = (
                    Dump(sent.folder / session.id, lambda: about_of(session, run.engine.name))
                    if isinstance(sent, Dump) else None
                )  # fmt: skip
                person = Between(run, session.id, dump)
                record = session.run(message, run.engine.beside(dump), shared(run.limits), person, interrupt)
                lines = session.around.transcript.read().lines
                step = max((one.step for one in lines if isinstance(one, Replied)), default=0)
                return session.id, record, step
        finally:
            done.set()
            with self._lock:
                self._under_way.pop(done, None)

    def _kept(self, task: str, final: str, ref: str) -> str:
        """Keep an answer as a note; where it is, or why it is not."""
        text = f"{_cut(final, _LONGEST_NOTE)}\n\nFound by a sub-agent; evidence: {ref}"
        with contextlib.closing(self.memory()) as memory:
            try:
                return f"kept as {memory.note(NoteWish(text, first_words(task), derived=True)).ref}"
            except ClewError as error:
                return f"not kept as a note: {error}"


@dataclass(slots=True)
class Between:
    """The person that a sub-agent works for: that of the run which started it."""

    run: Run
    id: str
    """The sub-agent's session."""
    dump: Dump | None = None
    attended: bool = False

    def __post_init__(self) -> None:
        self.attended = self.run.person.attended

    def tell(self, event: Event) -> None:
        """Show it as what a sub-agent does."""
        if self.dump is not None and isinstance(event, Answered):
            counts = {"input": event.input, "cached": event.cached, "written": event.written, "output": event.output}
            self.dump.usage({name: count for name, count in counts.items() if count is not None})
        self.run.tell(Delegated(self.id, event))

    def permit(self, effect: Effect) -> Permit:
        """Ask, and say who wants it. A rule that is given holds for both: they share their rules."""
        permit = self.run.ask(replace(effect, title=f"sub-agent: {effect.title}"))
        return replace(permit, rule=None)

    def said(self) -> Sequence[str]:
        """Nothing: the user talks to the agent."""
        return ()


def plan_told(handoff: Handoff) -> str:
    """The plan as a sub-agent is told of it; empty where there is none."""
    version = handoff.plan()
    if version is None or not read_plan(version.text).steps:
        return ""
    text = handoff.memory.documents.redact(version.text).strip()
    return f"the plan that your part belongs to, for the other agent to change:\n{_cut(text, _LONGEST_PLAN)}"


def shared(limits: Limits) -> Limits:
    """What a sub-agent may use of the limits of a run."""
    return replace(limits, steps=min(STEPS, limits.steps), tokens=TOKENS)


def title(task: str) -> str:
    """One line that says what a sub-agent is started for."""
    return f"start a sub-agent: {printable(' '.join(task.split()), 120)}"


def _watch(signal: Signal, interrupt: Interrupt, done: threading.Event) -> None:
    """Hand an interruption on, until the sub-agent is done."""
    while not done.is_set():
        if signal.wait(0.1):
            interrupt.set()
            return


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rstrip()} …"
