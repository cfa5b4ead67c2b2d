"""`clew index` and `clew watch`."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import click

from clew.app import App
from clew.entrypoints.cli.progress import bar


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
        click.echo(json.dumps(found.to_json(), ensure_ascii=False))
        return
    if not found.exists:
        click.echo(f"no index yet: the next question makes it at {found.path}")
        return
    age = time.time() - found.written
    state = "fresh" if found.fresh else f"behind: {found.stale:,} changed or new, {found.gone:,} gone"
    for name, value in (
        ("files", f"{found.files:,}"), ("chunks", f"{found.chunks:,}"), ("symbols", f"{found.symbols:,}"),
        ("commits", f"{found.commits:,}"), ("size", f"{found.size / 1e6:.1f} MB"), ("written", f"{_ago(age)} ago"),
        ("state", state), ("watched", "yes" if found.watched else "no"), ("path", found.path),
    ):  # fmt: skip
        click.echo(f"{name:<8} {value}")


@index.command()
@_json
def rebuild(as_json: bool) -> None:
    """Delete the index of this folder and make it anew."""
    from clew.services.code_index import freshen
    from clew.stores.index import remove

    app = App.here()
    began = time.perf_counter()
    remove(app.place.index)
    with bar(app.language) as progress:
        freshened = freshen(app.place.index, _tree(app), app.git, progress)
    with freshened.index as made:
        counts = made.counts()
    seconds = time.perf_counter() - began
    if freshened.notice:
        click.echo(f"note: {freshened.notice}", err=True)
    if as_json:
        click.echo(json.dumps({**counts, "seconds": round(seconds, 3), "path": str(app.place.index)}))
        return
    words = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    click.echo(f"indexed {words} in {seconds:.1f} s")


@index.command()
@click.option("--all", "every", is_flag=True, help="The indexes of all folders.")
@_json
def clean(every: bool, as_json: bool) -> None:
    """Delete the index of this folder. The next question makes it again."""
    from clew.services.code_index import index_folder, remove_all, searches_path
    from clew.stores.index import remove

    app = App.here()
    index = app.place.index
    freed = remove_all(app.home) if every else remove(index) + remove(searches_path(index))
    if as_json:
        click.echo(json.dumps({"freed": freed}))
        return
    where = str(index_folder(app.home) if every else index)
    click.echo(f"freed {freed / 1e6:.1f} MB at {where}" if freed else "there was no index")


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

    def say(what: str, detail: str, refreshed: Any) -> None:
        if what == "start":
            click.echo(f"watching {detail}: {refreshed.total:,} files", err=True)
        elif what == "no-events":
            click.echo(f"note: no events come ({detail}); looking at all files now and then", err=True)
        elif what == "events":
            click.echo("note: events come again", err=True)
        elif verbose and refreshed is not None:
            ms = refreshed.seconds * 1000
            click.echo(f"{refreshed.changed:,} changed, {refreshed.gone:,} gone, {ms:.0f} ms", err=True)

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
    with (
        contextlib.suppress(KeyboardInterrupt),
        Watcher(_tree(app), place.index, place.watcher, say) as watcher,
    ):
        watcher.run()
    sys.stderr.flush()


def _tree(app: App) -> Any:
    from clew.adapters.sources.files import WorkTree

    return WorkTree(Path(app.workspace.root), app.loaded.settings.ignore)


def _ago(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(int(seconds), 0)} seconds"
