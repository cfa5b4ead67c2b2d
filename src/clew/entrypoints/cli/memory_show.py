"""How `clew memory` lays out documents, hits, findings and imported files."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.app import App
from clew.core.memory.document import Document
from clew.core.text.printable import printable, visible
from clew.entrypoints.cli.remembering import stale_words
from clew.entrypoints.cli.style import aside, cut, json_line, padded, pale, width
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.twins import shown_workspace
from clew.entrypoints.cli.wording import translated

if TYPE_CHECKING:
    from clew.core.memory.check import Finding
    from clew.services.memory import Memory
    from clew.services.memory_search import Found
    from clew.stores.documents import Receipt
    from clew.stores.importing import Plan

_ID = 16
"""Columns of an id that Clew made."""
_KIND = 10
_LEAST = 24
"""Columns of a name behind a path that takes all the room."""


def show_list(
    app: App,
    memory: Memory,
    documents: Sequence[Document],
    as_json: bool,
    *,
    everything: bool,
    twice: Collection[str],
) -> None:
    """Documents, one a line, newest first; those of the user stand above those of a workspace.

    `twice`: ids that several documents have. They open none of them, so these go by their paths.
    """
    today = memory.clock().date()
    rows = sorted(documents, key=_age, reverse=True)
    rows.sort(key=lambda one: one.workspace)
    if as_json:
        click.echo(json_line([_row(one, memory, today, twice) for one in rows]))
        return
    columns = max(shutil.get_terminal_size().columns, 60) if sys.stdout.isatty() else 0
    from clew.adapters.workspace import names  # heavy, and only for this

    called = names(app.home) if everything else {}
    for workspace, group in groupby(rows, key=lambda one: one.workspace):
        if everything:
            click.echo(pale(shown_workspace(workspace, called) or say("memory.yours", app.language)))
        for one in group:
            click.echo(_line(one, columns, today, app.language, twice, memory.branch))


def _age(one: Document) -> tuple[str, str]:
    changed = one.updated or one.created
    return (changed.isoformat() if changed else "", one.path)


def _line(one: Document, columns: int, today: date, language: str, twice: Collection[str], here: str) -> str:
    """`here` is the branch at hand: a note of another one stays out of hints and answers, and says so."""
    changed = _age(one)[0] or "-"
    kind = one.tier if one.tier in ("log", "reflection", "handoff") else one.type
    branch = f" @{printable(one.branch)}" if one.branch else ""
    if one.branch and here and one.branch != here:
        branch = f" ({say('memory.other-branch', language, printable(one.branch))})"
    stale = one.stale(today)
    mark = f" ({stale_words(stale, language)})" if stale else ""
    name, told = one.hint_name, one.hint_description
    # A note without a name of its own is called by its first words.
    about = f"{name}{branch}{mark} - {told}" if told and not told.startswith(name) else f"{told or name}{branch}{mark}"
    named = one.path if one.id in twice else one.id or one.path
    head = f"{padded(printable(named), _ID)}  {padded(kind, _KIND)}  {changed:<10}  "
    # What a hint shows is one clean line already.
    room = max(columns - width(head), _LEAST) if columns else 0
    return (pale(head) + cut(about, room)).rstrip()


def _row(one: Document, memory: Memory, today: date, twice: Collection[str]) -> dict[str, Any]:
    names = (
        "id", "ref", "tier", "workspace", "name", "description", "type", "scope", "branch", "status", "tags",
        "when", "supersedes", "superseded_by", "readable",
    )  # fmt: skip
    row = {name: getattr(one, name) for name in names}
    row["ref"] = one.path if one.id in twice else one.ref
    days = {name: _iso(getattr(one, name)) for name in ("created", "updated", "expires")}
    return row | days | {"path": str(memory.documents.root / one.path), "stale": one.stale(today)}


def _iso(given: date | None) -> str:
    return given.isoformat() if given else ""


def show_found(app: App, found: Found, as_json: bool) -> None:
    """Hits with their references and texts, best first; a miss says what was searched."""
    searched, language = found.searched, app.language
    if as_json:
        row = {"hits": [asdict(one) for one in found.hits], "left_out": found.left_out, "searched": asdict(searched),
               "notices": found.notices}  # fmt: skip
        click.echo(json_line(row))
        return
    for number, hit in enumerate(found.hits):
        if number:
            click.echo()
        stale = click.style(f" ({stale_words(hit.stale, language)})", fg="yellow") if hit.stale else ""
        click.echo(
            click.style(printable(hit.reference), bold=True) + pale("  " + " · ".join(map(printable, hit.told))) + stale
        )
        for line in visible(hit.snippet).splitlines():
            click.echo(f"  {line}".rstrip())
    if found.miss:
        words = ", ".join(printable(word) for word in searched.words) or "-"
        aside(say("memory.miss", language, words, searched.documents, searched.passages, searched.scope))
    if found.left_out:
        aside(say("memory.left-out", language, found.left_out))


def show_findings(app: App, root: Path, findings: Sequence[Finding], mended: Sequence[Receipt]) -> None:
    """What is wrong, as `path:line: what`, each with what to do below it."""
    language = app.language
    for one in mended:
        aside(say("memory.mended", language, printable(one.path)))
    for one in findings:
        click.echo(f"{click.style(f'{printable(one.path)}:{one.line}', bold=True)}: {translated(one.what, language)}")
        if one.hint:
            click.echo(pale(f"    {translated(one.hint, language)}"))
    if findings:
        aside(say("memory.findings", language, len(findings), printable(str(root))))
    else:
        aside(say("memory.sound", language, printable(str(root))))


def show_steps(app: App, memory: Memory, plan: Plan, written: Mapping[str, Receipt], as_json: bool) -> None:
    """What became, or would become, of each file of a folder."""
    language = app.language
    rows = [
        {
            "file": step.file, "action": step.action, "name": step.name, "reason": step.reason,
            "redacted": step.redacted, "path": _place(memory, written.get(step.file), step.path),
            "written": step.file in written and written[step.file].written,
        }
        for step in plan.steps
    ]  # fmt: skip
    if as_json:
        click.echo(json_line({"folder": str(plan.folder), "files": rows}))
    for row in rows if not as_json else ():
        if row["action"] != "same":
            action = padded(say(_ACTIONS[str(row["action"])], language), 10)
            told = translated(str(row["reason"]), language) or str(row["path"])
            click.echo(f"{action}  {printable(str(row['file']))}" + (f"  {pale(printable(told))}" if told else ""))
    counts = [plan.count(action) for action in ("new", "changed", "moved", "same", "edited", "gone", "left out")]
    planned = not written and any(counts[:3])
    aside(say("memory.would" if planned else "memory.imported", language, *counts))
    if any(step.redacted for step in plan.steps):
        aside(say("note", language) + say("memory.would-redact" if planned else "note.redacted", language))


_ACTIONS = {
    "new": "memory.new", "changed": "memory.changed", "moved": "memory.moved", "edited": "memory.edited",
    "gone": "memory.gone", "left out": "memory.skipped",
}  # fmt: skip


def _place(memory: Memory, receipt: Receipt | None, path: str) -> str:
    known = receipt.path if receipt else path
    return str(memory.documents.root / known) if known else ""
