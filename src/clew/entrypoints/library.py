"""The high-level functions of the Python API. They do what `clew context` and `clew ask` do, without a terminal."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def context(
    question: str,
    *,
    root: str | os.PathLike[str] | None = None,
    files: Sequence[str] = (),
    mode: str | None = None,
    max_tokens: int | None = None,
    model: str | None = None,
    earlier: Sequence[Exchange] = (),
) -> Snapshot:
    """The prompt that `clew context` prints for a question asked in the folder `root` (default: the current one).

    `files` go along whole; paths and patterns are relative to `root`. `mode` is `minimal`, `lean`, `rich`, or None:
    decided by the question. `model` names whose tokens are counted. What is not given comes from the settings.
    `earlier` are exchanges to follow up on: the history on disk is neither read nor written. The index is kept in
    the user's cache. Raises ClewError: NotFound, ConfigError, OverBudget, Refused, StoreError.
    """
    return _gathered(_app(root, max_tokens, model), question, files, mode, earlier).snapshot


def ask(
    question: str,
    *,
    root: str | os.PathLike[str] | None = None,
    files: Sequence[str] = (),
    mode: str | None = None,
    max_tokens: int | None = None,
    model: str | None = None,
    earlier: Sequence[Exchange] = (),
) -> Reply:
    """The answer to a question, from the model of the settings or the one named; without any, from the best passages.

    Arguments as for `context`. Raises ModelError as well.
    """
    from clew.services.ask import Answer, stream_answer

    app = _app(root, max_tokens, model)
    opened = app.model()
    gathered = _gathered(app, question, files, mode, earlier)
    answer = Answer()
    for _ in stream_answer(gathered, opened, answer, app.loaded.settings.answer_room):
        pass
    return Reply(answer.text, answer.model, answer.refs, gathered.found, gathered.snapshot, answer.usage)


def _app(root: str | os.PathLike[str] | None, max_tokens: int | None, model: str | None) -> App:
    given: dict[str, Any] = {"max_tokens": max_tokens, "model": model}
    flags = {name: value for name, value in given.items() if value is not None}
    if root is None:
        return App.here(flags)
    folder = Path(os.path.abspath(root))
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}")
    return App(environment(), folder, flags)


def _gathered(app: App, question: str, files: Sequence[str], mode: str | None, earlier: Sequence[Exchange]) -> Gathered:
    if mode is not None and mode not in _MODES:
        raise UsageError(f"there is no mode `{mode}`", hint="minimal, lean or rich")
    wish = app.wish(question, files, None, _MODES[mode] if mode else None)
    return gather(wish, app.place, earlier, datetime.now().astimezone())
