"""`clew memory rebuild`."""

from __future__ import annotations

import click

from clew.app import App
from clew.entrypoints.cli.progress import bar
from clew.entrypoints.cli.remembering import json_option, memory_of
from clew.entrypoints.cli.style import aside, json_line
from clew.entrypoints.cli.texts import TEXTS, say


@click.command(epilog="\b\nExamples:\n  clew memory rebuild")
@json_option
def rebuild(as_json: bool) -> None:
    """Make the index of memory again, and prepare the notes for hints.

    Both are made from the files and can be deleted at any time. Embedding takes about 0.05 s a text; what was embedded
    before is taken over, and Ctrl-C keeps what is done.
    """
    app = App.here()
    with memory_of(app) as memory:
        counts = memory.rebuild()
        with bar(app.language, TEXTS["rebuild.embedding"][app.language == "zh"]) as tick:
            hinter = app.hinter()
            hinter.progress = memory.progress
            embedded = hinter.rebuild(tick)
    if as_json:
        click.echo(json_line({"documents": counts["documents"], "embedded": embedded}))
    else:
        aside(say("rebuild.done", app.language, counts["documents"], embedded))
