"""`clew session`: the sessions of the agent, listed, shown, exported."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.app import App
from clew.core.text.printable import printable, visible
from clew.entrypoints.cli.style import apply_color, aside, data, json_line, line, pale
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.wording import translated

if TYPE_CHECKING:
    from clew.stores.transcripts import Read, Summary, Transcripts

_TITLE = 72
"""Characters of a title in the list."""


@click.group(
    epilog="""\b
Examples:
  clew session list
  clew session show 20261130-1532 --run 3
  clew session export 20261130-1532 > session.md"""
)
def session() -> None:
    """The sessions of the agent: what was said and done in each run."""


@session.command(
    "list",
    epilog="""\b
Examples:
  clew session list
  clew session list --all --json""",
)
@click.option("--all", "everything", is_flag=True, help="Sessions of all workspaces.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def list_(everything: bool, as_json: bool) -> None:
    """List the sessions of this workspace, newest first."""
    app = App.here()
    apply_color(app)
    found = list(transcripts_of(app).list(None if everything else app.workspace.id))
    if as_json:
        line(json_line({"sessions": [_row(one) for one in found]}))
        return
    for one in found:
        where = f"  {pale(printable(one.name))}" if everything else ""
        outcome = "" if one.outcome in ("", "finished") else f"  {say(f'run.{one.outcome}', app.language)}"
        line(f"{one.id}  {one.runs:>3}  {printable(one.title, _TITLE)}{where}{pale(outcome)}")
    if not found:
        aside(say("session.none", app.language))


@session.command(
    epilog="""\b
Examples:
  clew session show 20261130-1532
  clew session show clew://session/20261130-1532#3.5
  clew session show 20261130-1532 --run 3 --json"""
)
@click.argument("id_", metavar="ID")
@click.option("--run", "number", type=click.IntRange(1), metavar="N", help="Only this run.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def show(id_: str, number: int | None, as_json: bool) -> None:
    """Show a session: its messages, the tool calls and their results, the final replies."""
    app = App.here()
    apply_color(app)
    read = _chosen(_read(app, id_), number)
    if as_json:
        line(json_line({"session": _opened(read), "lines": _lines(read)}))
    else:
        data(visible(_markdown(read)), nl=False)


@session.command(
    epilog="""\b
Examples:
  clew session search "why did the migration fail?"
  clew session search 重试 --session 20261130-1532 --json"""
)
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--session", "id_", metavar="ID", default="", help="Only this session; the beginning of its id is enough."
)
@click.option("--all", "everything", is_flag=True, help="Sessions of all workspaces.")
@click.option("--budget", type=click.IntRange(200), default=6000, help="Bytes of the answer.  [default: 6000]")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def search(query: tuple[str, ...], id_: str, everything: bool, budget: int, as_json: bool) -> None:
    """Search the sessions of this workspace: what you and the agent said, its tool calls, what failed.

    Each hit has a reference that `clew open` takes. Outputs of tools that worked are not searched. A miss says what was
    searched, and stands in `clew audit --misses`.
    """
    from clew.entrypoints.cli.memory_show import show_found  # heavy
    from clew.entrypoints.cli.progress import reading

    app = App.here()
    apply_color(app)
    sessions = app.session_search()
    with reading(app.language) as sessions.progress:
        found = sessions.search(" ".join(query), session=id_, everything=everything, budget=budget)
    for notice in found.notices:
        aside(say("note", app.language) + translated(printable(notice), app.language))
    show_found(app, found, as_json)


@session.command(
    epilog="""\b
Examples:
  clew session export 20261130-1532 > session.md
  clew session export 20261130-1532 session.md"""
)
@click.argument("id_", metavar="ID")
@click.argument("file", required=False, type=click.Path(path_type=Path), metavar="[FILE]")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def export(id_: str, file: Path | None, as_json: bool) -> None:
    """Write a session as Markdown, to stdout or into FILE, which must not be there yet.

    Long results of tools are shortened; the transcript keeps them.
    """
    from clew.entrypoints.cli.writing import write_new  # heavy

    app = App.here()
    text = _markdown(_read(app, id_))
    if file is not None:
        write_new(app.cwd / file, text)
    if as_json:
        line(json_line({"file": str(file)} if file is not None else {"text": text}))
    elif file is None:
        data(text, nl=False)
    else:
        aside(say("cmd.exported", app.language, printable(str(file))))


def transcripts_of(app: App) -> Transcripts:
    """The sessions of this user."""
    from clew.stores.transcripts import Transcripts  # heavy

    return Transcripts(app.home.data / "sessions", app.redactor)


def _read(app: App, id_: str) -> Read:
    from clew.services.sessions import spot  # heavy

    return spot(transcripts_of(app), id_)[1]


def _chosen(read: Read, number: int | None) -> Read:
    from clew.services.sessions import of_run  # heavy

    return read if number is None else of_run(read, number)


def _markdown(read: Read) -> str:
    from clew.services.sessions import exported  # heavy

    return exported(read)


def _row(one: Summary) -> dict[str, Any]:
    return asdict(one)


def _opened(read: Read) -> dict[str, Any]:
    import msgspec  # heavy

    return msgspec.to_builtins(read.opened)


def _lines(read: Read) -> list[Any]:
    import msgspec  # heavy

    return [msgspec.to_builtins(one) for one in read.lines[1:]]
