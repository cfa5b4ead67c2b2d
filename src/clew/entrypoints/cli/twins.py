"""Two repositories that begin with the same commit: whether they are one is asked once, or else told."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from clew.app import App
from clew.core.text.printable import printable
from clew.entrypoints.cli.style import aside
from clew.entrypoints.cli.texts import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.adapters.workspace import Workspace


def settle_twin(app: App) -> None:
    """Ask on a terminal whether the repository here and its twin share their notes; elsewhere tell that they do not."""
    workspace = app.workspace
    if not workspace.twin:
        return
    from clew.adapters.workspace import add_alias, remember  # heavy, and hardly ever needed

    language, other = app.language, printable(workspace.twin)
    if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        if click.confirm(say("twin.ask", language, workspace.name, other), default=False, err=True):
            if add_alias(app.home, workspace.id, workspace.twin_id):
                # From here on it is the other's.
                app.__dict__.pop("workspace", None)
                return
            _tell(app, workspace, other)
            return
        remember(workspace, app.home, told=True)
        return
    _tell(app, workspace, other)
    remember(workspace, app.home, told=True)


def shown_workspace(ident: str, called: Mapping[str, str]) -> str:
    """A workspace for people: the name of its folder before its id, where the id does not begin with it."""
    name = called.get(ident, "")
    shown = printable(ident)
    return f"{name} ({shown})" if name and not ident.startswith(name.lower()) else shown


def _tell(app: App, workspace: Workspace, other: str) -> None:
    from clew.adapters.workspace import ALIAS_FILE  # as above

    line, place = f'"{workspace.id}" = "{workspace.twin_id}"', printable(str(app.home.data / ALIAS_FILE))
    aside(say("note", app.language) + say("twin.apart", app.language, workspace.name, other, workspace.id, line, place))
