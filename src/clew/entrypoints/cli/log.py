"""`clew log`."""

from __future__ import annotations

import click

from clew.app import App
from clew.entrypoints.cli.remembering import demand_whole, given_text, json_option, memory_of, tell_saved


@click.command(
    epilog="""\b
Examples:
  clew log "moved the tests to tox"
  make test 2>&1 | tail -3 | clew log - --heading "test run" """
)
@click.argument("text", required=False)
@click.option("--heading", metavar="TEXT", default="", help="What stands behind the time of the entry.")
@json_option
def log(text: str | None, heading: str, as_json: bool) -> None:
    """Add an entry to today's log of this project. TEXT comes from standard input with `-` or a pipe.

    A log says what was done and when; what should come to mind again is a note.
    """
    app = App.here()
    demand_whole(heading)
    words = given_text(text)
    with memory_of(app) as memory:
        tell_saved(app, memory, memory.log(words, heading), as_json, logged=True)
