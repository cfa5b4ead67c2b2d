"""`clew history`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

import click

from clew.app import App
from clew.core.context.fragment import Exchange
from clew.core.text.printable import printable
from clew.entrypoints.cli.style import apply_color, aside, harmless, json_line, pale
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.wording import translated
from clew.errors import NotFound, UsageError
from clew.services.ask import Threads
from clew.stores.exchanges import ExchangeStore

_QUESTION = 100
"""Characters of a question in the list."""


@click.group(
    invoke_without_command=True,
    epilog="""\b
Examples:
  clew history
  clew history --all --json
  clew history show 3
  clew history remove 3 4
  clew history clear --yes""",
)
@click.option("--all", "everything", is_flag=True, help="All threads of this workspace, not only the current one.")
@click.option("--anchors", is_flag=True, help="Only exchanges that stay in reach however long ago they were.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.pass_context
def history(ctx: click.Context, everything: bool, anchors: bool, as_json: bool) -> None:
    """List or delete earlier exchanges of this workspace, newest last.

    A thread is what one terminal asks, up to `--new`. CLEW_THREAD names a thread of its own.
    """
    if ctx.invoked_subcommand is not None:
        return
    app = App.here()
    apply_color(app)
    with app.exchanges() as store:
        current = _current(app, store)
        found = _by_thread(store, app.workspace.id, None if everything else current)
        others = 0 if everything else len(store.list(app.workspace.id)) - sum(map(len, found.values()))
        _tell(app, store)
    if anchors:
        found = {name: [one for one in rows if one.anchor] for name, rows in found.items()}
    found = {name: rows for name, rows in found.items() if rows}
    if as_json:
        rows = [_row(one, name) for name, thread in found.items() for one in thread]
        click.echo(json_line({"thread": current, "exchanges": rows}))
        return
    language = app.language
    for name, rows in found.items():
        if everything:
            here = f" ({say('history.this', language)})" if name == current else ""
            click.echo(pale(say("history.thread", language, printable(name)) + here))
        for one in rows:
            click.echo(_line(one))
    if not found:
        missing = "history.no-anchors" if anchors else "history.empty-all" if everything else "history.empty"
        aside(say(missing, language))
    if others:
        aside(say("history.others", language, others))


@history.command()
@click.argument("number", metavar="ID", type=int)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def show(number: int, as_json: bool) -> None:
    """Print one exchange: question, answer, and what the answer stood on."""
    app = App.here()
    apply_color(app)
    with app.exchanges() as store:
        threads = _by_thread(store, app.workspace.id, None)
        _tell(app, store)
    for name, rows in threads.items():
        for one in rows:
            if one.id == number:
                click.echo(json_line(_row(one, name)) if as_json else _whole(one, app.language))
                return
    raise _no_exchange(number)


@history.command()
@click.argument("numbers", metavar="ID...", nargs=-1, type=int, required=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def remove(numbers: tuple[int, ...], as_json: bool) -> None:
    """Delete exchanges for good: their text is overwritten on disk."""
    app = App.here()
    with app.exchanges() as store:
        known = {one.id for one in store.list(app.workspace.id)}
        unknown = [number for number in numbers if number not in known]
        if unknown:
            raise _no_exchange(unknown[0])
        count = store.remove(app.workspace.id, dict.fromkeys(numbers))
        _tell(app, store)
    _removed(app, count, as_json)


@history.command()
@click.option("--all", "everything", is_flag=True, help="All threads of this workspace.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def clear(everything: bool, yes: bool, as_json: bool) -> None:
    """Delete all exchanges of the current thread, or with --all of the workspace."""
    app = App.here()
    with app.exchanges() as store:
        thread = None if everything else _current(app, store)
        count = len(store.list(app.workspace.id, thread))
        if count and not yes:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise UsageError("this deletes exchanges, and there is no terminal to ask on", hint="add --yes")
            question = say("history.confirm-all" if everything else "history.confirm-thread", app.language, count)
            click.confirm(question, abort=True, err=True)
        count = store.clear(app.workspace.id, thread)
        _tell(app, store)
    _removed(app, count, as_json)


def _removed(app: App, count: int, as_json: bool) -> None:
    if as_json:
        click.echo(json_line({"removed": count}))
    else:
        click.echo(say("history.removed", app.language, count))


def _tell(app: App, store: ExchangeStore) -> None:
    for notice in (*app.loaded.notices, *store.notices):
        aside(say("note", app.language) + translated(notice, app.language))


def _current(app: App, store: ExchangeStore) -> str:
    return Threads(store, app.workspace.id, app.terminal).current()


def _by_thread(store: ExchangeStore, workspace: str, thread: str | None) -> dict[str, list[Exchange]]:
    """Exchanges by thread; the thread that spoke last stands last."""
    names = [thread] if thread is not None else list(reversed(store.threads(workspace)))
    return {name: list(store.list(workspace, name)) for name in names}


def _row(one: Exchange, thread: str) -> dict[str, Any]:
    row = asdict(one)
    del row["removed"]
    return {**row, "thread": thread}


def _line(one: Exchange) -> str:
    mark = "⚓" if one.anchor else " "
    question = printable(" ".join(one.question.split()), _QUESTION)
    return f"{one.id:>5} {mark} {pale(one.at.replace('T', ' ').removesuffix('Z'))}  {question}"


def _whole(one: Exchange, language: str) -> str:
    head = pale(f"exchange:{one.id} · {one.at} · {one.mode}{' · ⚓' if one.anchor else ''}")
    refs = "\n" + pale("\n".join(f"- {printable(ref)}" for ref in one.refs)) if one.refs else ""
    answer = harmless(one.answer) if one.answer else pale(say("history.unanswered", language))
    return f"{head}\n{click.style(harmless(one.question), bold=True)}\n\n{answer}{refs}"


def _no_exchange(number: int) -> NotFound:
    return NotFound(f"there is no exchange {number} in this workspace", hint="`clew history --all` lists them")
