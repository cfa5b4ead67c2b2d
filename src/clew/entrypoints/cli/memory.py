"""`clew memory`: what is kept, searched, set, checked and taken over."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.app import App
from clew.core.memory.document import STATUSES, TYPES
from clew.core.text.printable import printable
from clew.entrypoints.cli.memory_edit import add, edit
from clew.entrypoints.cli.memory_rebuild import rebuild
from clew.entrypoints.cli.memory_show import show_findings, show_found, show_list, show_steps
from clew.entrypoints.cli.progress import bar
from clew.entrypoints.cli.remembering import (
    complete_reference,
    day,
    demand_whole,
    json_option,
    memory_of,
    situations,
    stale_words,
    tell_saved,
    tell_short,
)
from clew.entrypoints.cli.style import apply_color, aside, json_line
from clew.entrypoints.cli.texts import say
from clew.errors import UsageError

if TYPE_CHECKING:
    from clew.core.text.scalars import Given

_TIERS = ("user", "note", "log", "reflection", "handoff")
_SCOPES = ("all", "notes", "logs", "reflections", "handoff", "sessions")
_LISTS = ("tags", "when")
_SETTABLE = ("name", "description", "type", "status", "branch", "expires", *_LISTS, "supersedes")


@click.group(
    epilog="""\b
Examples:
  clew memory list
  clew memory search "may we lift in this wind?"
  clew memory edit "Friday freeze"
  clew memory check --fix"""
)
def memory() -> None:
    """List, search, edit and check what is remembered.

    Memory is Markdown that you own: what you change in an editor counts as soon as it is saved. `clew note` and
    `clew log` write to it, `clew open` shows a document. A document is named by its reference, id, path or name.
    """


memory.add_command(add)
memory.add_command(edit)
memory.add_command(rebuild)


@memory.command("list", epilog="\b\nExamples:\n  clew memory list --type decision\n  clew memory list --all --json")
@click.option("--type", "types", multiple=True, type=click.Choice(TYPES), help="Only this type. Repeatable.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only with this tag. Repeatable: with one of them.")
@click.option("--status", type=click.Choice(STATUSES), help="Only with this status.")
@click.option("--tier", type=click.Choice(_TIERS), help="Only what lies there.")
@click.option("--all", "everything", is_flag=True, help="Documents of all workspaces.")
@click.option("--stale", is_flag=True, help="Only what does not hold any more.")
@json_option
def list_(
    types: tuple[str, ...],
    tags: tuple[str, ...],
    status: str | None,
    tier: str | None,
    everything: bool,
    stale: bool,
    as_json: bool,
) -> None:
    """List the documents of this workspace and of yours that hold, the newest first.

    A note of another branch is listed and says so; hints and searches leave it out here.
    """
    app = App.here()
    apply_color(app)
    with memory_of(app) as memory:
        today = memory.clock().date()
        documents = memory.listing(everything=everything)
        chosen = [
            one
            for one in documents
            if (not types or one.type in types)
            and (not tags or {tag.lower().lstrip("#") for tag in tags}.intersection(one.tags))
            and (not status or one.status == status)
            and (not tier or one.tier == tier)
        ]
        found = [one for one in chosen if status or bool(one.stale(today)) == stale]
        unreadable = sum(not one.readable for one in documents)
        hidden = 0 if stale or status else sum(bool(one.stale(today)) and one.readable for one in chosen)
        ids = Counter(one.id for one in documents if one.id)
        twice = {id_ for id_, count in ids.items() if count > 1}
        show_list(app, memory, found, as_json, everything=everything, twice=twice)
    if not found:
        aside(say("memory.none", app.language) if documents else say("memory.empty", app.language))
    if hidden:
        aside(say("memory.hidden", app.language, hidden))
    if unreadable:
        aside(say("note", app.language) + say("memory.unreadable", app.language, unreadable))


@memory.command(
    epilog="""\b
Examples:
  clew memory search "may we lift in this wind?"
  clew memory search retries --scope logs --since 7d
  clew memory search 重试 --type decision --json"""
)
@click.argument("query", nargs=-1, required=True)
@click.option("--scope", type=click.Choice(_SCOPES), default="all", help="Where to look.  [default: all]")
@click.option("--type", "types", multiple=True, type=click.Choice(TYPES), help="Only this type. Repeatable.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only with this tag. Repeatable: with one of them.")
@click.option("--since", metavar="TIME", help="Only what is not older: a date, or `7d`, `3w`.")
@click.option("--until", metavar="TIME", help="Only what is not newer; the day counts to its end.")
@click.option("--budget", type=click.IntRange(200), default=6000, help="Bytes of the answer.  [default: 6000]")
@click.option("--all", "everything", is_flag=True, help="Documents of all workspaces.")
@json_option
def search(
    query: tuple[str, ...],
    scope: str,
    types: tuple[str, ...],
    tags: tuple[str, ...],
    since: str | None,
    until: str | None,
    budget: int,
    everything: bool,
    as_json: bool,
) -> None:
    """Search notes, logs, reflections and handoffs. Each hit has a reference that `clew open` takes.

    Words, their translations and likeness decide, and no model is called. What was superseded is found last and says
    so. A miss says what was searched, and stands in `clew audit --misses`.
    """
    app = App.here()
    apply_color(app)
    with memory_of(app) as memory:
        own = memory.own()
        chosen = replace(
            own,
            workspaces=() if everything else own.workspaces,
            types=types,
            tags=tuple(tag.lower().lstrip("#") for tag in tags),
            since=_day(since, memory.clock()),
            until=_day(until, memory.clock()),
        )
        found = memory.recall(" ".join(query), scope=scope, budget=budget, chosen=chosen)
    show_found(app, found, as_json)


@memory.command(
    "set",
    epilog="""\b
Examples:
  clew memory set mem_3f2a90c1d4e7 when+="may we lift in this wind?"
  clew memory set "Friday freeze" expires=2026-12-31 tags=deploy,policy
  clew memory set mem_3f2a90c1d4e7 supersedes=mem_0b1c2d3e4f50""",
)
@click.argument("ref", shell_complete=complete_reference)
@click.argument("changes", metavar="KEY=VALUE...", nargs=-1, required=True)
@json_option
def set_(ref: str, changes: tuple[str, ...], as_json: bool) -> None:
    """Set what a document says about itself: KEY=VALUE sets, KEY+=VALUE adds to a list, KEY= takes out.

    Keys: name, description, type, status, branch, expires, tags, when, supersedes. No other line is touched.
    `supersedes=` takes back that it took the place of another, which holds again.
    """
    app = App.here()
    with memory_of(app) as memory:
        demand_whole(*changes)
        document = memory.find(ref)
        fields, links = _fields(changes, {"tags": document.tags, "when": document.when})
        when = fields.get("when")
        added = [one for one in when if one not in document.when] if isinstance(when, tuple) else []
        done = [memory.supersede(one, document.path) if one else memory.release(document.path) for one in links]
        if fields:
            done.append(memory.set_fields(document.path, fields))
        told = next((one for one in reversed(done) if one.action != "unchanged"), done[-1])
        replaced = next((one.replaced for one in reversed(done) if one.replaced), "")
        tell_saved(app, memory, replace(told, replaced=replaced), as_json, unchanged="memory.unchanged")
        tell_short(app, added)
        if stale := memory.documents.read(document.path).stale(memory.clock().date()):
            aside(say("note", app.language) + say("memory.stale", app.language, stale_words(stale, app.language)))


@memory.command(epilog='\b\nExample:\n  clew memory forget "Friday freeze"')
@click.argument("ref", shell_complete=complete_reference)
@json_option
def forget(ref: str, as_json: bool) -> None:
    """Let a document not come to mind any more, nor be found. The file stays, with the status `deleted`."""
    app = App.here()
    with memory_of(app) as memory:
        saved = memory.set_fields(ref, {"status": "deleted"})
        tell_saved(app, memory, saved, as_json)
    undo = printable(saved.receipt.id or saved.receipt.path)
    aside(say("hint", app.language) + say("memory.undo", app.language, undo))


@memory.command(epilog="\b\nExamples:\n  clew memory check\n  clew memory check --fix")
@click.option("--fix", is_flag=True, help="Mend what can be mended: missing ids, links that one side lacks.")
@json_option
@click.pass_context
def check(ctx: click.Context, fix: bool, as_json: bool) -> None:
    """Say what is wrong in all documents, with file, line and what to do. The status is 1 where anything is.

    `--fix` gives ids and writes the missing side of a link; no other line is touched.
    """
    app = App.here()
    apply_color(app)
    with memory_of(app) as memory:
        findings, mended = memory.check(fix=fix)
        root = memory.documents.root
    if as_json:
        row = {"root": str(root), "findings": [asdict(one) for one in findings], "mended": [one.path for one in mended]}
        click.echo(json_line(row))
    else:
        show_findings(app, root, findings, mended)
    if findings:
        ctx.exit(1)


@memory.command(
    "import", epilog="\b\nExamples:\n  clew memory import docs/notes --dry-run\n  clew memory import ~/vault"
)
@click.argument("folder", type=click.Path())
@click.option("--personal", is_flag=True, help="What is taken over holds for you in every project.")
@click.option("--dry-run", is_flag=True, help="Say what would become of each file, and write nothing.")
@json_option
@click.pass_context
def import_(ctx: click.Context, folder: str, personal: bool, dry_run: bool, as_json: bool) -> None:
    """Take over a folder of Markdown as notes. The folder itself is only read.

    Done again, it brings over what changed there, follows what was moved or renamed, leaves alone what is the same,
    and says what changed on both sides. The status is 1 where a file or folder could not be read; the rest is taken
    over.
    """
    if not folder.strip():
        # As a path it would be the folder at hand.
        raise UsageError("there is no folder", hint="for instance: clew memory import docs/notes")
    app = App.here()
    apply_color(app)
    with memory_of(app) as memory:
        plan = memory.take_over(Path(folder).expanduser(), personal=personal)
        written: dict[str, Any] = {}
        if not dry_run:
            total = sum(map(plan.count, ("new", "changed", "moved")))
            with bar(app.language, say("memory.importing", app.language, "{}", "{}")) as progress:
                for step, receipt in memory.carry_out(plan):
                    written[step.file] = receipt
                    if progress is not None:
                        progress(len(written), total)
        show_steps(app, memory, plan, written, as_json)
    if plan.partly:
        ctx.exit(1)


def _day(text: str | None, now: datetime) -> str:
    """A day as the user means it: 2026-05-31, or so long ago. Raises UsageError."""
    if not text:
        return ""
    from clew.core.memory.audit import moment  # only where a time is given

    try:
        return date.fromisoformat(text.strip()).isoformat()
    except ValueError:
        return datetime.fromisoformat(moment(text, now)).astimezone(now.tzinfo).date().isoformat()


def _fields(changes: tuple[str, ...], lists: dict[str, tuple[str, ...]]) -> tuple[dict[str, Given], list[str]]:
    """The changes to front matter that KEY=VALUE words ask for, and what is to be superseded, in this order: an empty
    text takes back what was. Raises UsageError."""
    fields: dict[str, Given] = {}
    links: list[str] = []
    for change in changes:
        key, equals, value = change.partition("=")
        adds = key.endswith("+")
        key, value = key.removesuffix("+").strip(), value.strip()
        if not equals or key not in _SETTABLE or (adds and key not in _LISTS):
            wrong = f"`{printable(change, 60)}` sets nothing"
            raise UsageError(wrong, hint=f"write KEY=VALUE; keys are {', '.join(_SETTABLE)}")
        if key == "supersedes":
            links.append(value)
        elif key in _LISTS:
            items = tuple(one.strip() for one in value.split(",")) if key == "tags" else (value,)
            if key == "when" and (value or adds):
                situations(items)
            # Said twice, both count; `=` alone begins anew.
            before = fields.get(key, lists[key] if adds else ())
            joined = (*(before if isinstance(before, tuple) else ()), *filter(None, items))
            fields[key] = tuple(dict.fromkeys(joined)) or None
        else:
            fields[key] = _value(key, value)
    return fields, links


def _value(key: str, value: str) -> Given:
    known = {"type": TYPES, "status": STATUSES}.get(key, ())
    if known and value not in known:
        raise UsageError(f"there is no {key} `{printable(value, 40)}`", hint=f"one of: {', '.join(known)}")
    if not value and key == "name":
        raise UsageError("a document has a name", hint="a few words that tell it from others")
    return day(value) if key == "expires" else value or None
