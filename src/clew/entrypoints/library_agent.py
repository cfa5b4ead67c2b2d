"""Clew's own agent in the Python API: what `clew run` does, for other programs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from clew.app import App, environment
from clew.core.agent.effects import Effect
from clew.core.agent.events import Event
from clew.core.agent.permissions import Permit, nobody
from clew.core.agent.record import RunRecord
from clew.errors import NotFound, UsageError

if TYPE_CHECKING:
    from clew.adapters.models.engine import Interrupt
    from clew.services.run import Session


class Agent:
    """A session of the agent in a folder, for as long as its `with` block lasts; its shells end with it.

    `thinking` says how long the model thinks, as `--thinking` does. `session` goes on with one by its id (the beginning
    is enough), `"latest"` with the newest of the folder's workspace. `yes` and `allow` (rules as `command:pytest *`)
    say what may be done unasked, `permit` is asked for all else; without it, that is refused. `tell` gets each event,
    from threads of the run, one at a time.

    Entering raises ModelUnknown where no model is set that can call tools, NotFound, StoreBusy, UsageError.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        model: str | None = None,
        thinking: str | None = None,
        session: str | None = None,
        yes: bool = False,
        allow: Sequence[str] = (),
        tell: Callable[[Event], None] | None = None,
        permit: Callable[[Effect], Permit] | None = None,
        steps: int | None = None,
    ) -> None:
        self._flags = {"model": model or None, "thinking": thinking}
        self._root = root
        self._wanted = session
        self._yes = yes
        self._allow = tuple(allow)
        self._tell = tell
        self._permit = permit
        self._steps = steps
        self._words: list[str] = []
        self._stack = contextlib.ExitStack()
        self._session: Session | None = None
        self._app: App | None = None
        self._interrupt: Interrupt | None = None
        self.attended = permit is not None

    def __enter__(self) -> Agent:
        app = self._app = App(environment(), _folder(self._root), self._flags)
        name = app.loaded.settings.model or ""
        app.catalogue.endpoint(name)
        room = app.agent_room(yes=self._yes, rules=self._allow)
        if self._wanted is None:
            self._session = self._stack.enter_context(room.new(name))
            return self
        from clew.services.sessions import latest

        newest = self._wanted == "latest"
        id_ = latest(room.transcripts, app.workspace.id) if newest else room.transcripts.find(self._wanted)
        self._session = self._stack.enter_context(room.again(id_, name))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        self._session = None

    @property
    def id(self) -> str:
        """The id of the session. Raises UsageError outside of the `with` block."""
        return self._opened().id

    def run(self, message: str) -> RunRecord:
        """One run, to its end: what came of it, however it ended. Raises OverBudget, ConfigError, StoreError."""
        from clew.adapters.models.engine import Engine, Interrupt

        session, app = self._opened(), self._app
        interrupt = self._interrupt = Interrupt()
        assert app is not None
        endpoint = app.catalogue.endpoint(app.loaded.settings.model)
        limits = app.agent_limits(endpoint, self._steps)
        return session.run(message, Engine(endpoint), limits, self, interrupt)

    def say(self, words: str) -> None:
        """Words for a run that is under way, from another thread: they reach the model with its next request."""
        self._words.append(words)

    def stop(self) -> None:
        """End the run that is under way, from another thread."""
        self._opened()
        if self._interrupt is not None:
            self._interrupt.set()

    # What a run needs of the person it works for.

    def tell(self, event: Event) -> None:
        """Hand on an event."""
        if self._tell is not None:
            self._tell(event)

    def permit(self, effect: Effect) -> Permit:
        """Hand on a question."""
        return (
            self._permit(effect)
            if self._permit is not None
            else nobody(effect, "`yes`, `allow` or `permit`", asked="`permit`")
        )

    def said(self) -> Sequence[str]:
        """Words since the last call."""
        words, self._words = self._words, []
        return words

    def _opened(self) -> Session:
        if self._session is None:
            raise UsageError("the agent works within its `with` block", hint="with clew.Agent() as agent: …")
        return self._session


def _folder(root: str | os.PathLike[str] | None) -> Path:
    folder = Path(os.path.abspath(root or "."))
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}", hint="name one that is there")
    return folder
