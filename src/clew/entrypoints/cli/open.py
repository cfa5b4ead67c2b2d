"""`clew open`."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click
from click.shell_completion import CompletionItem

from clew.app import App
from clew.core.text.printable import steering, visible
from clew.entrypoints.cli.remembering import complete_reference, stale_words
from clew.entrypoints.cli.session import transcripts_of
from clew.entrypoints.cli.style import apply_color, aside, json_line, pale
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.wording import translated
from clew.services.references import GIT_REFERENCES, Opened, open_reference


def _complete(_ctx: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    if start.startswith(("mem_", "clew:")):
        return complete_reference(_ctx, _parameter, start)
    if not start.startswith("git:"):
        return [
            CompletionItem(start, type="file"),
            *(CompletionItem(ref) for ref in GIT_REFERENCES if start in ref[:4]),
        ]
    return [CompletionItem(ref) for ref in GIT_REFERENCES if ref.startswith(start)]


@click.command(
    "open",
    epilog="""\b
Examples:
  clew open src/app.py:10-42
  clew open clew://memory/mem_3f2a90c1d4e7#L12-20
  clew open clew://session/20261130-153211-3f2a#3
  clew open exchange:3
  clew open git:last-commit
  clew open 3f2a91c
  clew open --raw notes/banner.txt > banner.txt""",
)
@click.argument("ref", shell_complete=_complete)
@click.option("--raw", is_flag=True, help="Into a pipe or a file: control characters as they are.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def open_(ref: str, raw: bool, as_json: bool) -> None:
    """Show what a reference points to: a file, a note or lines of it, a session, an exchange, a commit, git's state.

    Paths are those of the workspace, as Clew cites them; a note goes by its name as well, or by the beginning of its
    id. What a model would not be shown, secrets above all, is not shown here either. Each character that could steer a
    terminal, or that hides, is shown as U+FFFD, in a pipe too, and --json writes its code. On a terminal lines are
    numbered. A note that does not hold any more says so, and what takes its place.
    """
    app = App.here()
    apply_color(app)
    exchanges = ()
    if ref.strip().startswith(("exchange:", "related:")):
        with app.exchanges() as store:
            exchanges = store.list(app.workspace.id)
            for notice in store.notices:
                aside(say("note", app.language) + translated(notice, app.language))
    opened = open_reference(ref, app.place, exchanges, app.memory, lambda: transcripts_of(app))
    if opened.redacted:
        known = opened.kind != "memory"
        told = say("open.redacted", app.language, opened.redacted) if known else say("memory.redacted", app.language)
        aside(say("note", app.language) + told)
    if opened.stale:
        aside(say("note", app.language) + say("memory.stale", app.language, stale_words(opened.stale, app.language)))
    terminal = sys.stdout is not None and sys.stdout.isatty()
    if as_json:
        click.echo(json_line(asdict(opened)))
    elif raw and not terminal:
        click.echo(_exact(opened.text))
    else:
        if hidden := steering(opened.text):
            aside(say("note", app.language) + say("open.hidden", app.language, hidden))
        click.echo(_numbered(opened) if opened.first and terminal and not raw else visible(opened.text))


def _exact(text: str) -> bytes:
    """The text as its file has it, also where that is not UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _numbered(opened: Opened) -> str:
    lines = visible(opened.text).split("\n")
    width = len(str(opened.first + len(lines) - 1))
    return "\n".join(f"{pale(f'{number:>{width}}')}  {line}" for number, line in enumerate(lines, opened.first))
