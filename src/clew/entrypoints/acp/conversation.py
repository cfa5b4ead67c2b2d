"""One session that an editor holds: a run at a time, in a thread of its own, and the person it works for."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

import acp
from acp.helpers import ToolCallContentVariant
from acp.schema import AllowedOutcome, PermissionOption, ToolCallUpdate

from clew.core.agent.effects import Effect
from clew.core.agent.events import Called, Calling, Event, RunEnded, RunStarted
from clew.core.agent.offered import rule_for
from clew.core.agent.permissions import Permit
from clew.core.handoff.plan import Plan, read_plan
from clew.core.text.printable import printable
from clew.entrypoints.acp.updates import Words, plan_of, shown, update_of
from clew.errors import ClewError

if TYPE_CHECKING:
    from clew.adapters.models.engine import Interrupt
    from clew.app import App
    from clew.services.run import Session

Result = TypeVar("Result")

_LOOK: Final = 0.2
"""Seconds between looks at whether the editor is still there while it is waited for."""
_EFFECTS: Final = {"edit": "edit", "command": "execute", "read": "read"}
_INTERRUPTED: Final = Permit(False, "the run was interrupted")


class Gone(Exception):
    """The editor has gone."""


@dataclass(slots=True)
class Conversation:
    """A session with an editor. It is the person that the runs work for: what is told and asked goes to the editor."""

    app: App
    session: Session
    client: acp.Client
    loop: asyncio.AbstractEventLoop
    words: Words
    stack: contextlib.ExitStack
    """What is closed with the session."""
    attended: bool = True
    interrupt: Interrupt | None = None
    """Of the run that is under way; None between runs."""
    ended: RunEnded | None = None
    gone: threading.Event = field(default_factory=threading.Event)
    idle: threading.Event = field(default_factory=threading.Event)
    """No run is under way."""
    _run: int = 0
    _asked: int = 0
    _plan: Plan = field(default_factory=Plan)
    _call: threading.local = field(default_factory=threading.local)

    def __post_init__(self) -> None:
        """Between runs."""
        self.idle.set()

    @property
    def root(self) -> str:
        """The folder that paths are relative to."""
        return str(self.app.workspace.root)

    def run(self, message: str) -> RunEnded:
        """One run, to its end; blocks. Raises ClewError before anything is sent, and Gone."""
        from clew.adapters.models.engine import Engine  # takes a second, which `initialize` need not

        interrupt = self.interrupt
        endpoint = self.app.catalogue.endpoint(self.app.loaded.settings.model)
        limits = self.app.agent_limits(endpoint)
        self.ended = None
        self.session.run(message, Engine(endpoint), limits, self, interrupt)
        if self.ended is None:
            raise Gone
        return self.ended

    def stop(self) -> None:
        """End the run that is under way."""
        if self.interrupt is not None:
            self.interrupt.set()

    def leave(self) -> None:
        """The editor has gone: end the run, tell and ask nothing more."""
        self.gone.set()
        self.stop()

    # ------------------------------------------------------------------ the person of a run

    def tell(self, event: Event) -> None:
        """Hand on an event. Where the editor has gone, the run is ended."""
        match event:
            case RunStarted(run=run):
                self._run = run
                self._planned()
            case RunEnded():
                self.ended = event
            case Calling(id=id_):
                self._call.id = self._id(id_)
            case Called():
                self._call.id = ""
            case _:
                pass
        update = update_of(event, self._id, self.root, self.words)
        if update is not None:
            self._send(self.client.session_update(self.session.id, update))
        if isinstance(event, Called) and event.name == "memory_note" and not event.failed:
            self._planned()

    def permit(self, effect: Effect) -> Permit:
        """Ask the editor, and wait."""
        # Of this run: it may have ended, and another begun, when the answer comes.
        interrupt = self.interrupt
        if interrupt is None:
            return _INTERRUPTED
        self._asked += 1
        rule = rule_for(effect)
        options = [PermissionOption(option_id="once", name=self.words("Allow"), kind="allow_once")]
        if rule is not None:
            name = f"{self.words('Always allow in this session')}: {printable(str(rule), 80)}"
            options.append(PermissionOption(option_id="always", name=name, kind="allow_always"))
        options.append(PermissionOption(option_id="no", name=self.words("Refuse"), kind="reject_once"))
        preview: list[ToolCallContentVariant] = shown(effect.preview, effect.paths) if effect.kind == "edit" else []
        if not preview and effect.preview:
            preview = [acp.tool_content(acp.text_block(effect.preview))]
        if effect.reaches:
            where = printable(", ".join(effect.reaches), 400)
            preview.append(acp.tool_content(acp.text_block(f"{self.words('OUTSIDE the workspace')}: {where}")))
        call = ToolCallUpdate(
            tool_call_id=getattr(self._call, "id", "") or f"{self._run}:asked{self._asked}",
            title=printable(effect.title, 200), kind=_EFFECTS.get(effect.kind, "other"),  # type: ignore[arg-type]
            status="pending", content=preview or None,
        )  # fmt: skip
        try:
            answer = self._wait(self.client.request_permission(self.session.id, call, options), interrupt)
        except acp.RequestError as error:
            return Permit(False, f"the editor could not ask: {error}")
        if answer is None or interrupt.event.is_set():
            return _INTERRUPTED
        match answer.outcome:
            case AllowedOutcome(option_id="once"):
                return Permit(True)
            case AllowedOutcome(option_id="always") if rule is not None:
                return Permit(True, rule=rule)
            case AllowedOutcome():
                return Permit(False)
            case _:
                # The editor withdraws the question where the user has ended the turn.
                self.stop()
                return _INTERRUPTED

    def said(self) -> Sequence[str]:
        """Nothing: an editor sends the next message when the run is over."""
        return ()

    # ------------------------------------------------------------------ ways to the editor

    def _id(self, id_: str) -> str:
        """The id of a tool call: a provider counts them anew for each run."""
        return f"{self._run}:{id_}"

    def _planned(self) -> None:
        """Show the plan where it is another one than before."""
        keeper = self.session.around.keeper
        if keeper is None:
            return
        try:
            version = keeper.handoff.plan()
        except ClewError:
            return
        plan = read_plan(version.text) if version is not None else Plan()
        if plan.steps != self._plan.steps:
            self._plan = plan
            self._send(self.client.session_update(self.session.id, plan_of(plan)))

    def _send(self, sending: Coroutine[Any, Any, None]) -> None:
        try:
            self._wait(sending)
        except (ConnectionError, acp.RequestError):
            self.leave()

    def _wait(self, sending: Coroutine[Any, Any, Result], interrupt: Interrupt | None = None) -> Result | None:
        """What the editor answers; None where it has gone, or the run was interrupted meanwhile."""
        if self.gone.is_set():
            sending.close()
            return None
        future = asyncio.run_coroutine_threadsafe(sending, self.loop)
        while True:
            try:
                return future.result(_LOOK)
            except TimeoutError:
                if (interrupt is not None and interrupt.event.is_set()) or self.gone.is_set():
                    future.cancel()
                    return None
            except (ConnectionError, asyncio.CancelledError):
                self.leave()
                return None


async def in_thread(work: Callable[[], Result]) -> Result:
    """What `work` gives, from a thread of its own, which holds up no end of the program."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def give(result: Result | None, error: BaseException | None) -> None:
        if not future.done():
            future.set_exception(error) if error is not None else future.set_result(result)  # type: ignore[arg-type]

    def do() -> None:
        result, failure = None, None
        try:
            result = work()
        except BaseException as error:
            failure = error
        with contextlib.suppress(RuntimeError):  # nobody waits any more
            loop.call_soon_threadsafe(give, result, failure)

    threading.Thread(target=do, name="clew-acp", daemon=True).start()
    return await future
