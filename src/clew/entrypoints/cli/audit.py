"""`clew audit`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import islice

import click

from clew.app import App
from clew.core.memory.audit import KINDS, Choice, Entry, moment, names
from clew.core.memory.document import PREFIX
from clew.core.text.printable import printable
from clew.entrypoints.cli.remembering import tell_place
from clew.entrypoints.cli.style import apply_color, aside, cut, json_line, padded, pale
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.twins import shown_workspace
from clew.errors import UsageError
from clew.stores.audit import Audit, Reading, now

_REFS = 18
"""Columns of the reference on a terminal: the id of a note, and a mark."""
_COLORS = {"miss": "yellow", "reject": "yellow", "exclusion": "yellow", "redaction": "magenta"}


@click.command(
    epilog="""\b
Examples:
  clew audit
  clew audit --misses --since 2d
  clew audit --kind write --kind reject --all --json"""
)
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only entries of this kind. Repeatable.")
@click.option("--misses", is_flag=True, help="Only what was looked for and not found, without small talk.")
@click.option("--since", metavar="TIME", help="From this time on: `2d`, `12h` or a date, in UTC.")
@click.option("--until", metavar="TIME", help="Up to this time.")
@click.option("--text", metavar="TEXT", help="Only entries with this text in a reference, query or reason.")
@click.option("--workspace", metavar="NAME", help="Entries of another workspace, by its id.")
@click.option("--all", "everything", is_flag=True, help="Entries of all workspaces.")
@click.option("--limit", type=click.IntRange(0), default=50, help="How many entries, 0 for all.  [default: 50]")
@click.option("--json", "as_json", is_flag=True, help="One JSON array on stdout.")
def audit(
    kinds: tuple[str, ...],
    misses: bool,
    since: str | None,
    until: str | None,
    text: str | None,
    workspace: str | None,
    everything: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Show what memory did and did not do, and why, newest first.

    Every search, hint, miss, write, removed secret and exclusion leaves a line. Times are UTC. The trail lies in the
    data folder and never leaves this machine.
    """
    if workspace is not None and everything:
        raise UsageError("--workspace and --all exclude each other", hint="give one of them")
    app = App.here()
    apply_color(app)
    tell_place(app)
    moment_now = now()
    choice = Choice(
        since=moment(since, moment_now) if since else "",
        until=moment(until, moment_now) if until else "",
        kinds=frozenset((*kinds, "miss") if misses else kinds),
        workspace=None if everything else workspace if workspace is not None else app.workspace.id,
        text=text or "",
        lacking=misses,
    )
    # Nothing is written, so nothing is to be redacted.
    reading = Audit(app.home.data / "audit", str).entries(choice)
    found = islice(iter(reading), limit or None)
    count = _print_json(found) if as_json else _print(found, _called(app) if everything else None)
    _tell(app, reading, count, limit, everything or workspace is not None)


def _print_json(found: Iterator[Entry]) -> int:
    """Print an array, entry by entry, and say how many there were."""
    count = 0
    for count, entry in enumerate(found, 1):
        click.echo(("[" if count == 1 else ",\n ") + json_line(asdict(entry)), nl=False)
    click.echo("]" if count else "[]")
    return count


def _called(app: App) -> Mapping[str, str]:
    from clew.adapters.workspace import names as called  # heavy, and only for this

    return called(app.home)


def _print(found: Iterable[Entry], called: Mapping[str, str] | None) -> int:
    count = 0
    # In a pipe every line is whole.
    columns = max(shutil.get_terminal_size().columns, 60) if sys.stdout.isatty() else 0
    for entry in found:
        click.echo(_line(entry, columns, called))
        count += 1
    return count


def _line(entry: Entry, columns: int, called: Mapping[str, str] | None) -> str:
    time = entry.time[:16].replace("T", " ")
    about = names(entry)
    first = printable(about[0].removeprefix(PREFIX)) if about else "-"
    more = f" +{len(about) - 1}" if len(about) > 1 else ""
    room = columns - len(time) - 9 - _REFS - 3
    subject = padded(cut(first, _REFS - len(more) if columns else 0) + more, _REFS)
    where = f"{shown_workspace(entry.workspace, called)}: " if called is not None and entry.workspace else ""
    reason = where + printable(entry.reason)
    if entry.kind == "miss" and entry.query:
        # What was asked tells what is lacking; which note came nearest stands in --json.
        subject, reason, room = "", f"{printable(entry.query)} · {reason}", columns - len(time) - 9 - 2
    kind = click.style(f"{printable(entry.kind, 9):<9}", fg=_COLORS.get(entry.kind))
    rest = cut(reason, room if columns else 0)
    return f"{pale(time)} {kind} {subject}{' ' * bool(subject)}{rest}".rstrip()


def _tell(app: App, reading: Reading, count: int, limit: int, chosen: bool) -> None:
    language = app.language
    if not count:
        aside(say("audit.nothing" if chosen else "audit.nothing-here", language))
    if limit and count == limit:
        aside(say("audit.limit", language, limit))
    if reading.damaged:
        aside(say("note", language) + say("audit.damaged", language, reading.damaged))
    if reading.newer:
        aside(say("note", language) + say("audit.newer", language))
    for name in reading.unread:
        aside(say("note", language) + say("audit.unread", language, printable(name)))
