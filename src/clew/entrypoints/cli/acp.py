"""`clew acp`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.entrypoints.cli.stopping import Terminated
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.wording import translated
from clew.entrypoints.cli.working import model_options

if TYPE_CHECKING:
    from clew.app import App


@click.command(
    "acp",
    epilog="""\b
Examples:
  clew acp
  clew acp --model anthropic:claude-sonnet-5
  clew acp --allow "command:pytest *\"""",
)
@model_options
@click.option("--yes", is_flag=True, help="Allow edits and commands within the workspace without asking.")
@click.option("--allow", multiple=True, metavar="RULE", help="Allow what a rule says: `command:pytest *`. Repeatable.")
def acp(model: str | None, thinking: str | None, yes: bool, allow: Sequence[str]) -> None:
    """Put the agent into an editor over the Agent Client Protocol.

    An editor such as Zed or Neovim starts this command and talks to it over stdin and stdout. Each of its sessions
    works in the folder that the editor names; what needs a yes is asked there.
    """
    from clew.app import App, environment
    from clew.core.agent.permissions import rule_of
    from clew.entrypoints.acp.agent import ClewAgent
    from clew.entrypoints.acp.stdio import serve_stdio
    from clew.errors import UsageError

    for rule in allow:
        rule_of(rule)
    flags = {"model": model or None, "thinking": thinking}
    here = App.here(flags)
    if sys.stdin is None:
        raise UsageError("stdin is closed", hint="an editor starts this command itself")
    if sys.stdin.isatty():
        click.echo(say("acp.waiting", here.locale), err=True)

    def application(folder: Path) -> App:
        return App(environment(), folder, flags)

    agent = ClewAgent(application, lambda text: translated(text, here.language), yes=yes, rules=allow)
    if number := serve_stdio(agent):
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
