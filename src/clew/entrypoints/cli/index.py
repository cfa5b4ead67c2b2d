"""`clew index` and `clew watch`."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from pathlib import Path
from typing import Any

import click

from clew.app import App
from clew.core.text.printable import printable
from clew.entrypoints.cli.progress import bar
from clew.entrypoints.cli.style import aside, json_line, line, padded, width
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.wording import translated


@click.group(epilog="\b\nExamples:\n  clew index status\n  clew index rebuild")
def index() -> None:
    """Show, rebuild or delete the code index.

    The index is made from your files and can be deleted at any time; the next question makes it again.
    """


def _json(command: Any) -> Any:
    return click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")(command)


@index.command()
@_json
def status(as_json: bool) -> None:
    """What the index of this folder holds, and whether it is fresh."""
    from clew.services.code_index import index_status

    app = App.here()
    found = index_status(app.place.index, _tree(app), app.git, app.place.watcher)
    if as_json:
        line(json_line(found.to_json()))
        return
    language = app.language
    if not found.exists:
        line(say("index.none", language, printable(found.path)))
        return
    behind = say("index.behind", language, f"{found.stale:,}", f"{found.gone:,}")
    rows = [
        (say(name, language), value)
        for name, value in (
            ("index.files", f"{found.files:,}"), ("index.chunks", f"{found.chunks:,}"),
            ("index.symbols", f"{found.symbols:,}"), ("index.commits", f"{found.commits:,}"),
            ("index.size", f"{found.size / 1e6:.1f} MB"),
            ("index.written", _ago(time.time() - found.written, language)),
            ("index.state", say("index.fresh", language) if found.fresh else behind),
            ("index.watched", say("index.yes" if found.watched else "index.no", language)),
            ("index.path", printable(found.path)),
        )
    ]  # fmt: skip
    columns = max(width(name) for name, _ in rows)
    for name, value in rows:
        line(f"{padded(name, columns)}  {value}")
    if found.notice:
        aside(say("note", language) + translated(printable(found.notice), language))


@index.command()
@_json
def rebuild(as_json: bool) -> None:
    """Delete the index of this folder and that of memory, and make them anew."""
    from clew.services.code_index import freshen
    from clew.stores.sqlite_file import remove

    app = App.here()
    began = time.perf_counter()
    remove(app.place.index)
    with bar(app.language) as progress:
        freshened = freshen(app.place.index, _tree(app), app.git, progress)
    with freshened.index as made:
        counts = made.counts()
    seconds = time.perf_counter() - began
    remembered = app.memory().rebuild() if (app.home.data / "memory").is_dir() else {}
    if freshened.notice:
        aside(say("note", app.language) + translated(printable(freshened.notice), app.language))
    if as_json:
        row = {**counts, "seconds": round(seconds, 3), "path": str(app.place.index), "memory": remembered}
        line(json_line(row))
        return
    numbers = (f"{counts[name]:,}" for name in ("files", "chunks", "symbols", "commits"))
    line(say("index.made", app.language, *numbers, f"{seconds:.1f}"))
    if remembered:
        told = (f"{remembered[name]:,}" for name in ("documents", "passages"))
        line(say("memory.rebuilt", app.language, *told))


@index.command()
@click.option("--all", "every", is_flag=True, help="The indexes of all folders.")
@_json
def clean(every: bool, as_json: bool) -> None:
    """Delete the index of this folder. The next question makes it again."""
    from clew.services.code_index import index_folder, remove_all, searches_path
    from clew.stores.sqlite_file import remove

    app = App.here()
    index = app.place.index
    freed = remove_all(app.home) if every else remove(index) + remove(searches_path(index))
    if as_json:
        line(json_line({"freed": freed}))
        return
    where = printable(str(index_folder(app.home) if every else index))
    done = ("index.freed", f"{freed / 1e6:.1f}", where) if freed else ("index.nothing",)
    line(say(done[0], app.locale, *done[1:]))


@click.command(epilog="\b\nExample:\n  clew watch &")
@click.option("-v", "--verbose", is_flag=True, help="Also say what each refresh did.")
def watch(verbose: bool) -> None:
    """Keep the index fresh while files change, so that a question looks at no file.

    Stays in the foreground; Ctrl-C ends it. Without it, each question finds changes itself.
    """
    from clew.services.watch import Watcher

    app = App.here()
    place = app.place
    assert place.watcher is not None
    language = app.language

    def tell(what: str, detail: str, refreshed: Any) -> None:
        if what == "start":
            aside(say("watch.start", language, printable(detail), f"{refreshed.total:,}"))
        elif what == "no-events":
            aside(say("note", language) + say("watch.no-events", language, translated(detail, language)))
        elif what == "events":
            aside(say("note", language) + say("watch.events", language))
        elif verbose and refreshed is not None:
            milliseconds = f"{refreshed.seconds * 1000:.0f}"
            aside(say("watch.refresh", language, f"{refreshed.changed:,}", f"{refreshed.gone:,}", milliseconds))

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
    with (
        contextlib.suppress(KeyboardInterrupt),
        Watcher(_tree(app), place.index, place.watcher, tell) as watcher,
    ):
        watcher.run()
    sys.stderr.flush()


def _tree(app: App) -> Any:
    from clew.adapters.sources.files import WorkTree

    return WorkTree(Path(app.workspace.root), app.loaded.settings.ignore)


def _ago(seconds: float, language: str) -> str:
    for size, name in ((86_400, "index.days"), (3600, "index.hours"), (60, "index.minutes")):
        if seconds >= 2 * size:
            return say(name, language, int(seconds // size))
    return say("index.seconds", language, max(int(seconds), 0))
