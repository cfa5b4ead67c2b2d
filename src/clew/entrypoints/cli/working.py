"""Options of all commands that start the agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from clew.core.ports import THINKING


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--model` and `--thinking`; the names are those of the settings that they overrule."""
    command = click.option(
        "--thinking", type=click.Choice(list(THINKING)), help="How long it thinks, where it can be told."
    )(command)
    return click.option("--model", metavar="PROVIDER:NAME", help="The model that works.")(command)
