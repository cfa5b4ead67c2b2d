"""What goes on between a person at a terminal and a session: messages, events, questions."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from clew.adapters.models.endpoints import Endpoint
from clew.app import App
from clew.core.agent.effects import Effect
from clew.core.agent.events import Event, RunEnded
from clew.core.agent.offered import rule_for
from clew.core.agent.permissions import Permit, Rule
from clew.entrypoints.cli.terminal.permission import Question
from clew.errors import ClewError

if TYPE_CHECKING:
    from clew.adapters.models.engine import Interrupt
    from clew.core.agent.record import RunRecord
    from clew.services.agent_room import AgentRoom
    from clew.services.run import Session

_PATIENCE: Final = 2.0
"""Seconds that a run and what the session holds have to end when the terminal is left."""
_LEAST: Final = 0.5
"""Seconds of these that are left for what the session holds, at least."""


class Interrupted(Exception):
    """The run was called off before it began; holds the message."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A run came to its end, and its thread is done."""

    record: RunRecord | None
    error: BaseException | None = None


Item = Event | Question | Finished


@dataclass(slots=True)
class Conversation:
    """A session with its runs, each in a thread of its own. It is the run's person."""

    app: App
    endpoint: Endpoint
    asks_nothing: bool = False
    """`--yes`, for the sessions that are opened."""
    allowed: list[Rule] = field(default_factory=list[Rule])
    """Rules for the session that is opened next."""
    wake: Callable[[], None] = lambda: None
    """Called from any thread when something waits in `inbox`."""
    attended: bool = True
    session: Session | None = None
    """None until the first message: nothing is kept of a session in which nothing was said."""
    inbox: deque[Item] = field(default_factory=deque[Item])
    queue: list[str] = field(default_factory=list[str])
    """Messages for the runs after this one."""
    steering: list[str] = field(default_factory=list[str])
    """Words that the model gets with its next request."""
    back: list[str] = field(default_factory=list[str])
    """What waited when the run was interrupted: the user decides what becomes of it."""
    branch: str = ""
    _stack: ExitStack = field(default_factory=ExitStack)
    _thread: threading.Thread | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _open: Question | None = None
    _called_off: threading.Event = field(default_factory=threading.Event)
    _last: RunEnded | None = None
    _interrupt: Interrupt | None = None
    """Ends the run that is under way; None before its thread has loaded what it needs."""
    _loaded: Future[AgentRoom] = field(default_factory=Future["AgentRoom"])

    # ------------------------------------------------------------------ what takes a while to load

    def load(self) -> None:
        """Load what sessions need, in a thread: nobody waits for it before the first message."""
        threading.Thread(target=self._load, daemon=True, name="clew-load").start()

    def _load(self) -> None:
        try:
            import clew.adapters.models.engine  # noqa: F401 -- heavy

            self._loaded.set_result(self.app.agent_room())
        except BaseException as error:  # raised where the room is needed
            self._loaded.set_exception(error)

    @property
    def room(self) -> AgentRoom:
        """The room; waits until it is loaded. Raises what loading raised."""
        return self._loaded.result()

    # ------------------------------------------------------------------ sessions

    def begin(self, how: Literal["new", "again", "fork"], id_: str = "") -> Session:
        """Open a session in the place of the present one, whose shells end. Raises NotFound, StoreBusy."""
        stack, name = ExitStack(), self.endpoint.name
        room = self.room
        opened = room.new(name) if how == "new" else room.again(id_, name) if how == "again" else room.fork(id_, name)
        session = stack.enter_context(opened)
        session.around.yes = self.asks_nothing
        if how == "fork" and self.session is not None and self.session.id == id_:
            self.allowed[:] = self.session.around.rules
        session.around.rules.extend(rule for rule in self.allowed if rule not in session.around.rules)
        self.allowed.clear()
        before, self._stack, self.session = self._stack, stack, session
        before.close()
        return session

    def changed_model(self, name: str) -> None:
        """Let another model work from the next run on. Raises ModelUnknown and what a bad name raises."""
        from clew.adapters.tokenizers import tokenizer_for  # heavy

        self.endpoint = replace(self.app.catalogue.endpoint(name), thinking=self.endpoint.thinking)
        if self.session is not None:
            self.session.around.tokenizer = tokenizer_for(self.endpoint.name)

    def allow(self, rule: Rule) -> None:
        """Allow what a rule says, in this session."""
        (self.allowed if self.session is None else self.session.around.rules).append(rule)

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules of this session."""
        return self.session.around.rules if self.session is not None else self.allowed

    @property
    def yes(self) -> bool:
        """Whether nothing is asked for within the workspace."""
        return self.session.around.yes if self.session is not None else self.asks_nothing

    @yes.setter
    def yes(self, on: bool) -> None:
        self.asks_nothing = on
        if self.session is not None:
            self.session.around.yes = on

    # ------------------------------------------------------------------ runs

    @property
    def working(self) -> bool:
        """Whether a run is under way."""
        return self._thread is not None

    def send(self, message: str) -> None:
        """Begin a run, in a session that is opened if there is none."""
        self._interrupt = None
        self._called_off.clear()
        self._thread = threading.Thread(target=self._work, args=(message,), daemon=True, name="clew-turn")
        self._thread.start()

    def settled(self) -> None:
        """Take note that the run's thread is done."""
        self._thread = None

    def next(self) -> str:
        """The message for the next run: what the model was not told any more, then what was queued; else empty."""
        with self._lock:
            words, self.steering[:] = "\n\n".join(self.steering), []
        return words or (self.queue.pop(0) if self.queue else "")

    def take_back(self) -> None:
        """What waits is not said by itself any more."""
        with self._lock:
            self.back += [*self.steering, *self.queue]
            self.steering[:], self.queue[:] = [], []

    def unsaid(self) -> str:
        """What was taken back, for the user."""
        words, self.back[:] = "\n\n".join(self.back), []
        return words

    def steer(self, words: str) -> None:
        """Tell the model with its next request."""
        with self._lock:
            self.steering.append(words)

    def stop(self) -> None:
        """Interrupt the run; a question that is open is answered with no."""
        self._called_off.set()
        self.take_back()
        if self._interrupt is not None:
            self._interrupt.set()
        for item in [self._open, *self.inbox]:
            if isinstance(item, Question):
                item.give(Permit(False, "the run was interrupted"))

    def close(self) -> None:
        """End the run, and the session with its shells.

        What takes too long is left to the keeper of the programs, which ends them as soon as this process is gone.
        """
        self.stop()
        until = time.monotonic() + _PATIENCE
        if self._thread is not None:
            self._thread.join(_PATIENCE)
        failed: list[BaseException] = []

        def end() -> None:
            try:
                self._stack.close()
            except BaseException as error:  # raised below
                failed.append(error)

        ending = threading.Thread(target=end, daemon=True, name="clew-close")
        ending.start()
        ending.join(max(until - time.monotonic(), _LEAST))
        if failed:
            raise failed[0]

    def _work(self, message: str) -> None:
        from clew.adapters.models.engine import Engine, Interrupt  # heavy

        record, failure = None, None
        interrupt = self._interrupt = Interrupt()
        try:
            endpoint, session = self.endpoint, self.session or self.begin("new")
            limits = self.app.agent_limits(endpoint)
            if self._called_off.is_set():
                raise Interrupted(message)
            record = session.run(message, Engine(endpoint), limits, self, interrupt)
        except BaseException as error:  # it is shown in the other thread
            failure = error
        # Together: whoever sees that a run is over may type what has to wait for that.
        last, self._last = self._last, None
        self.inbox.extend(() if last is None else (last,))
        self._post(Finished(record, failure))
        self.look_at_branch()
        self.wake()

    def look_at_branch(self) -> None:
        """Ask git what is checked out."""
        from clew.adapters.git import Git  # heavy

        with contextlib.suppress(ClewError, OSError):
            self.branch = (self.app.git.head().branch or "") if isinstance(self.app.git, Git) else ""

    # ------------------------------------------------------------------ the run's person

    def tell(self, event: Event) -> None:
        """Kept until the terminal looks; the end of the run until its thread is done with it."""
        if isinstance(event, RunEnded):
            self._last = event
        else:
            self._post(event)

    def permit(self, effect: Effect) -> Permit:
        """Ask, and wait."""
        session = self.session
        question = Question(effect, rule_for(effect))
        interrupt = session.interrupt.event if session is not None else threading.Event()
        self._post(question)
        while not question.done.wait(0.1):
            if interrupt.is_set():
                question.give(Permit(False, "the run was interrupted"))
        return question.answer or Permit(False)

    def said(self) -> Sequence[str]:
        """What was typed since the last request."""
        with self._lock:
            words, self.steering[:] = list(self.steering), []
        return words

    def opened(self, question: Question | None) -> None:
        """Remember which question is open."""
        self._open = question

    def _post(self, item: Item) -> None:
        self.inbox.append(item)
        self.wake()
