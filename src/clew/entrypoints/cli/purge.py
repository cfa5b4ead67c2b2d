"""`clew purge`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from clew.adapters.memory_git import MemoryGit
from clew.app import App
from clew.core.text.printable import printable
from clew.core.text.traces import Traces
from clew.entrypoints.cli.progress import bar
from clew.entrypoints.cli.style import apply_color, aside, pale
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.wording import translated
from clew.errors import NotFound, UsageError
from clew.services.purge import Purge, Report, demand_usable, shown, traces_of_secret
from clew.services.purge_source import find_source, remove_source, source_of
from clew.stores.purging import Found

_MOST_BYTES = 1 << 16
Mask = Callable[[str], str]


@click.command(
    epilog="""\b
Examples:
  clew purge --secret
  pass show mail | clew purge --secret --yes
  clew purge --source clew://memory/mem_3f2a90c1d4e7
  clew purge --source session:20260601-091500-4c1f3e --dry-run"""
)
@click.option("--secret", "asks", is_flag=True, help="Ask for a secret without showing it, or read it from stdin.")
@click.option("--secret-file", metavar="FILE", help="Read the secret from a file.")
@click.option("--secret-hash", "digits", metavar="DIGITS", help="Only list placeholders with these four digits.")
@click.option(
    "--source", metavar="REF", help="A document, exchange:3, session:ID, workspace:ID, or a file that was attached."
)
@click.option("--push-rewritten", is_flag=True, help="Replace the old history on the remote, by force.")
@click.option("--dry-run", is_flag=True, help="Only list. Without a terminal this is so unless --yes is given.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.argument("extra", nargs=-1, metavar="")
def purge(
    asks: bool,
    secret_file: str | None,
    digits: str | None,
    source: str | None,
    push_rewritten: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    extra: tuple[str, ...],
) -> None:
    """Remove a secret, or all that came from one source, from everything that Clew keeps.

    Documents with their archive, copies and history in git, exchanges, hints, the audit trail, indexes, free pages and
    logs of databases. Each place is listed first, never the secret itself. What a purge cannot reach is named. The
    status is 1 where something is left.
    """
    if extra:
        raise UsageError(
            "a secret does not belong on the command line: processes and the shell's history show it",
            hint="take that line out of the history; `clew purge --secret` asks for it",
        )
    if dry_run and yes:
        raise UsageError("--dry-run and --yes exclude each other", hint="give one of them")
    chosen = sum((asks, secret_file is not None, digits is not None, source is not None))
    if chosen > 1 or (not chosen and not push_rewritten):
        raise UsageError("what is to be removed?", hint="give one of --secret, --secret-file, --secret-hash, --source")
    app = App.here()
    apply_color(app)
    engine = Purge(app.home, MemoryGit(app.home.data / "memory", app.environ), app.environ)
    asking = _Asking(app, engine, as_json, dry_run, yes)
    left = 0
    if digits is not None:
        _tell(app, engine.find_marks(digits), as_json, str)
    elif source is not None:
        meant = source_of(source, engine, app.workspace.id)
        report = asking.run(lambda: find_source(engine, meant), lambda: remove_source(engine, meant), str, meant.kind)
        left = len(report.left)
    elif chosen:
        said = demand_usable(_from_file(secret_file) if secret_file is not None else _asked(app))
        traces = traces_of_secret(said)
        mask = _mask(traces)
        report = asking.run(lambda: engine.find(said), lambda: engine.remove(said), mask, "secret")
        left = len(report.left)
        if secret_file is not None:
            aside(say("note", app.language) + say("purge.beyond.file", app.language, mask(printable(secret_file))))
    if push_rewritten and not left:
        _push(app, engine, yes, dry_run=dry_run)
    if left:
        raise click.exceptions.Exit(1)


class _Asking:
    """Lists first, asks, then removes."""

    def __init__(self, app: App, engine: Purge, as_json: bool, dry_run: bool, yes: bool) -> None:
        self._app, self._engine, self._as_json, self._yes = app, engine, as_json, yes
        self._lists = dry_run or not (yes or _has_terminal())

    def run(self, find: Callable[[], Report], remove: Callable[[], Report], mask: Mask, what: str) -> Report:
        """The report of what was done, or of what would be."""
        app, language = self._app, self._app.language
        if self._lists or not self._yes:
            report = self._watched(find)
            if self._lists or not report.found:
                _tell(app, report, self._as_json, mask)
                if self._lists and report.found and not self._as_json:
                    aside(say("purge.nothing-done", language))
                return report
            for one in report.found:
                aside(_row(one, mask, language))
            click.confirm(say("purge.confirm", language, len(report.found)), abort=True, err=True)
        report = self._watched(remove)
        if report.found:
            counts = {"places": len(report.found), "traces": report.count, "left": len(report.left)}
            kinds = sorted({one.kind for one in report.found})
            said = "a secret was removed" if what == "secret" else f"what came from a {what} was removed"
            app.audit.write("purge", reason=said, refs=kinds, numbers=counts)
        _tell(app, report, self._as_json, mask)
        return report

    def _watched(self, work: Callable[[], Report]) -> Report:
        """Do something that looks through all files, and say so on a terminal."""
        with bar(self._app.language, say("purge.looking", self._app.language)) as tick:
            if tick is not None:
                self._engine.told = lambda _: tick(0, 0)
            return work()


def _has_terminal() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def _asked(app: App) -> str:
    if sys.stdin is None:
        raise UsageError("there is no standard input to read the secret from", hint="--secret-file FILE")
    if sys.stdin.isatty():
        return str(click.prompt(say("purge.secret", app.language), hide_input=True, err=True))
    return _decoded(sys.stdin.buffer.read(_MOST_BYTES))


def _from_file(name: str) -> str:
    try:
        return _decoded(Path(name).expanduser().read_bytes()[:_MOST_BYTES])
    except OSError as error:
        raise NotFound(
            f"{printable(name)} cannot be read: {error.strerror}", hint="name a file with the secret"
        ) from None


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("the secret is not UTF-8", hint="name what it came from: `clew purge --source REF`") from None


def _mask(traces: Traces) -> Mask:
    return lambda text: shown(text, traces)


def _push(app: App, engine: Purge, yes: bool, *, dry_run: bool) -> None:
    language = app.language
    if dry_run:
        branches = engine.to_push()
        named = ", ".join(map(printable, branches))
        aside(say("purge.would-push", language, named) if branches else say("purge.no-push", language))
        return
    if not yes:
        if not _has_terminal():
            raise UsageError(
                "this replaces history on the remote, and there is no terminal to ask on", hint="add --yes"
            )
        click.confirm(say("purge.confirm-push", language), abort=True, err=True)
    branches = engine.push()
    app.audit.write("purge", reason="the rewritten history was pushed", numbers={"branches": len(branches)})
    aside(
        say("purge.pushed", language, ", ".join(map(printable, branches)))
        if branches
        else say("purge.no-push", language)
    )


# ---------------------------------------------------------------------- telling


def _tell(app: App, report: Report, as_json: bool, mask: Mask) -> None:
    language = app.language
    if as_json:
        click.echo(json.dumps(_json(report, mask), ensure_ascii=False))
        return
    for one in report.found:
        click.echo(_row(one, mask, language))
    if not report.found:
        click.echo(say("purge.none", language))
    if report.history.refs:
        aside(say("note", language) + say("purge.rewritten", language, len(report.history.refs)))
    if report.history.signatures:
        aside(say("note", language) + say("purge.signatures", language, report.history.signatures))
    for path in report.mentioned:
        aside(say("note", language) + say("purge.mentioned", language, printable(mask(path))))
    if report.done:
        aside(say("purge.left", language, len(report.left)))
        for one in report.left:
            reason = translated(mask(one.reason), language) or say("purge.again", language)
            aside(f"  {printable(mask(one.path))}: {reason}")
    if report.found:
        aside(pale(say("purge.beyond", language)))
        for word, name in report.beyond:
            aside(pale("  " + say(f"purge.beyond.{word}", language, *([printable(mask(name))] if name else []))))


def _row(one: Found, mask: Mask, language: str) -> str:
    lines = ":" + ",".join(map(str, one.lines)) if one.lines else ""
    kind, done = say(f"purge.kind.{one.kind}", language), say(f"purge.did.{one.action}", language) if one.action else ""
    told = " · ".join(filter(None, (kind, f"×{one.count}" if one.count else "", done)))
    reason = f" · {translated(mask(one.reason), language)}" if one.reason else ""
    return f"{printable(mask(one.path))}{lines}  {pale(told + reason)}"


def _json(report: Report, mask: Mask) -> dict[str, Any]:
    def row(one: Found) -> dict[str, Any]:
        return asdict(one) | {"path": mask(one.path), "reason": mask(one.reason)}

    return {
        "done": report.done,
        "found": [row(one) for one in report.found],
        "left": [row(one) for one in report.left],
        "mentioned": [mask(path) for path in report.mentioned],
        "beyond": [{"what": word, "name": mask(name)} for word, name in report.beyond],
        "refs": report.history.refs,
    }
