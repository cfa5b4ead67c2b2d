"""`clew` on a terminal, and `clew resume`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from clew.app import App
from clew.core.text.printable import printable
from clew.entrypoints.cli.style import apply_color, aside, folded
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.wording import translated
from clew.entrypoints.cli.working import model_options
from clew.errors import ModelError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable


@click.command(
    epilog="""\b
Examples:
  clew resume
  clew resume 20261130-1532
  clew resume --fork"""
)
@click.argument("session", required=False, metavar="[ID]")
@click.option("--fork", is_flag=True, help="Go on in a session of its own; the other one stays as it is.")
@model_options
@click.option("--yes", is_flag=True, help="Allow edits and commands within the workspace without asking.")
def resume(session: str | None, fork: bool, model: str | None, thinking: str | None, yes: bool) -> None:
    """Go on with a session at the terminal: the newest of this workspace, or the one whose ID is given.

    The beginning of an id is enough; `clew session list` shows them. Its last runs are shown, then you may type.
    """
    app = App.here({"model": model or None, "thinking": thinking})
    apply_color(app)
    if not is_terminal():
        raise UsageError("`clew resume` needs a terminal for input and output", hint='`clew run "…" --continue`')

    def which() -> list[tuple[str, bool]]:
        from clew.entrypoints.cli.session import transcripts_of
        from clew.services.sessions import latest  # heavy

        transcripts = transcripts_of(app)
        return [(transcripts.find(session) if session else latest(transcripts, app.workspace.id), fork)]

    raise click.exceptions.Exit(talk(app, which, yes=yes))


def is_terminal() -> bool:
    """Whether a person types and reads."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def talk(app: App, which: Callable[[], list[tuple[str, bool]]], *, yes: bool = False) -> int:
    """The interactive terminal; the exit status. Without a model that can work, what is needed."""
    if app.environ.get("TERM", "dumb") == "dumb":
        raise UsageError("this terminal cannot move its cursor (TERM=dumb)", hint='`clew run "…"` works here')
    try:
        app.catalogue.endpoint(app.loaded.settings.model)
    except ModelError as error:
        _explain(app, error)
        return 2
    first = which()
    from clew.entrypoints.cli.terminal.front import converse  # heavy

    return converse(app, first, yes=yes)


def _explain(app: App, error: ModelError) -> None:
    language = app.language
    aside(folded(say("term.no-model", language)))
    if app.loaded.settings.model:
        aside(folded("  " + translated(printable(str(error)), language)))
    for row in say("term.need", language).split("\n"):
        aside(folded(row))
