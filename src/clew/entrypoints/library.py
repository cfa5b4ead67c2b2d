"""The high-level functions of the Python API. They do what `clew context` and `clew ask` do, without a terminal."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from clew.app import App, environment
from clew.core.context.layers import Snapshot
from clew.core.context.mode import Mode
from clew.core.ports import Usage
from clew.errors import NotFound, UsageError
from clew.services.context import Gathered, gather

if TYPE_CHECKING:
    from clew.core.context.fragment import Exchange

_MODES = {mode.value: mode for mode in Mode}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with the prompt that it answers."""

    text: str
    model: str
    """Empty: the best passages, without a model."""
    refs: tuple[str, ...]
    """What the answer stands on: `path:line`."""
    found: bool
    """False: nothing in the folder bears on the question."""
    snapshot: Snapshot = field(repr=False)
    usage: Usage | None = None


class Wishes(TypedDict, total=False):
    """What may be said beside a question. What is not said comes from the settings."""

    root: str | os.PathLike[str] | None
    """The folder in which the question is asked; by default the current one."""
    files: Sequence[str]
    """Files that go along whole; paths and patterns are relative to `root`."""
    mode: str | None
    """`minimal`, `lean` or `rich`; by default the question decides."""
    max_tokens: int | None
    """Tokens of the prompt and its answer together."""
    model: str | None
    """`provider:name`. Its tokens are counted, and `ask` asks it."""
    earlier: Sequence[Exchange]
    """Exchanges to follow up on: the history on disk is neither read nor written."""


def context(question: str, **wishes: Unpack[Wishes]) -> Snapshot:
    """The prompt that `clew context` prints for a question: `context("how?", root="there", max_tokens=16_000)`.

    The keywords are those of `Wishes`: root, files, mode, max_tokens, model, earlier. The index is kept in the user's
    cache. Raises ClewError: NotFound, ConfigError, OverBudget, Refused, StoreError; TypeError for another keyword.
    """
    return _gathered(_app(wishes), question, wishes).snapshot


def ask(question: str, **wishes: Unpack[Wishes]) -> Reply:
    """The answer to a question, from the model of the settings or the one named; without any, from the best passages.

    Keywords and errors as for `context`; raises ModelError as well.
    """
    from clew.services.ask import Answer, stream_answer

    app = _app(wishes)
    opened = app.model()
    gathered = _gathered(app, question, wishes)
    answer = Answer()
    with contextlib.closing(stream_answer(gathered, opened, answer, app.loaded.settings.answer_room)) as pieces:
        for _ in pieces:
            pass
    return Reply(answer.text, answer.model, answer.refs, gathered.found, gathered.snapshot, answer.usage)


def _app(wishes: Wishes) -> App:
    for name in wishes.keys() - Wishes.__annotations__.keys():
        raise TypeError(f"there is no keyword `{name}`; there are {', '.join(Wishes.__annotations__)}")
    given: dict[str, Any] = {"max_tokens": wishes.get("max_tokens"), "model": wishes.get("model")}
    flags = {name: value for name, value in given.items() if value is not None}
    root = wishes.get("root")
    if root is None:
        return App.here(flags)
    folder = Path(os.path.abspath(root))
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}", hint="name one that is there")
    return App(environment(), folder, flags)


def _gathered(app: App, question: str, wishes: Wishes) -> Gathered:
    mode = wishes.get("mode")
    if mode is not None and mode not in _MODES:
        raise UsageError(f"there is no mode `{mode}`", hint="minimal, lean or rich")
    wish = app.wish(question, wishes.get("files", ()), None, _MODES[mode] if mode else None)
    return gather(wish, app.place, wishes.get("earlier", ()), datetime.now().astimezone())
