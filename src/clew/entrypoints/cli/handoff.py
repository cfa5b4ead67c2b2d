"""`clew handoff` and `clew plan`: what one window hands to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import click

from clew.app import App
from clew.core.text.printable import printable, visible
from clew.entrypoints.cli.memory_edit import Editing
from clew.entrypoints.cli.remembering import (
    demand_whole,
    given_text,
    json_option,
    memory_of,
    stale_words,
    tell_redacted,
)
from clew.entrypoints.cli.style import apply_color, aside, json_line, padded, pale
from clew.entrypoints.cli.texts import say
from clew.errors import ClewError, UsageError

if TYPE_CHECKING:
    from clew.core.handoff.ledger import Ledger
    from clew.services.handoff import Handed, Handoff
    from clew.services.memory import Memory
    from clew.stores.handoff import PlanVersion

_TEMPLATE = "# Plan\n\n- [ ] \n"


# ---------------------------------------------------------------------- clew handoff


@click.group(
    invoke_without_command=True,
    epilog="""\b
Examples:
  clew handoff
  clew handoff --hint
  clew handoff --list --json
  clew handoff save "Next: the retries of the crane, see tests/test_crane.py" """,
)
@click.option("--list", "listed", is_flag=True, help="All ledgers that are not in the archive, the latest first.")
@click.option("--hint", is_flag=True, help="What a new window would be told, at most 4,096 bytes.")
@json_option
@click.pass_context
def handoff(ctx: click.Context, listed: bool, hint: bool, as_json: bool) -> None:
    """Show what the window before left for the next: its newest ledger, on the branch at hand.

    A ledger is Markdown that you may edit: state, goal and decisions, what was tried and why it failed, progress and
    next step. Each window has one, and the next one takes its place.
    """
    if ctx.invoked_subcommand is not None:
        if listed or hint or as_json:
            raise UsageError("options of `clew handoff` do not go with a command", hint="put --json behind `save`")
        return
    if listed and hint:
        raise UsageError("--list and --hint exclude each other", hint="give one of them")
    app = App.here()
    apply_color(app)
    with memory_of(app) as memory:
        handed = _handoff(memory)
        if hint:
            _show_hint(app, handed, as_json)
        elif listed:
            _show_list(app, handed, as_json)
        else:
            _show_newest(app, handed, as_json)


@handoff.command(
    epilog="""\b
Examples:
  clew handoff save "Next: the retries of the crane, see tests/test_crane.py"
  clew handoff save --replace < handoff.md"""
)
@click.argument("text", required=False)
@click.option("--name", metavar="NAME", default="", help="What it is about; else its first words.")
@click.option("--replace", is_flag=True, help="Replace the sections that are given; the version before is archived.")
@json_option
def save(text: str | None, name: str, replace: bool, as_json: bool) -> None:
    """Hand over a text to the next window. TEXT comes from standard input with `-` or a pipe.

    Headings such as `## State`, `## Goal and decisions`, `## Tried`, `## Next step` say what belongs where; without
    any the text is the state. It is added to the ledger of this terminal, which is made with the first text.
    """
    from clew.services.handoff import Window  # heavy

    app = App.here()
    demand_whole(name)
    words = given_text(text)
    with memory_of(app) as memory:
        done = _handoff(memory).save(
            words, Window(app.terminal), name=name, trigger="user", mode="replace" if replace else "append"
        )
        _tell(app, memory, done, as_json)


def _show_newest(app: App, handed: Handoff, as_json: bool) -> None:
    ledger = handed.newest()
    if ledger is None:
        _nothing_handed(app, handed, as_json)
        return
    opened = handed.open(ledger.ref)
    if as_json:
        row = _row(ledger) | {"sections": _clean(handed, ledger), "path": _path(handed, opened.document.path)}
        click.echo(json_line(row))
        return
    aside(say("note", app.language) + printable(_path(handed, opened.document.path)))
    click.echo(visible(opened.text))
    _tell_redacted(app, opened.redacted)


def _nothing_handed(app: App, handed: Handoff, as_json: bool) -> None:
    """Say that there is nothing on this branch, and where there is something."""
    if as_json:
        click.echo(json_line(None))
    others = sorted({one.branch for one in handed.ledgers() if one.holds})
    names = ", ".join(printable(name) or "-" for name in others)
    aside(say("handoff.elsewhere", app.language, names) if others else say("handoff.none", app.language))


def _show_list(app: App, handed: Handoff, as_json: bool) -> None:
    ledgers = handed.ledgers()
    if as_json:
        click.echo(json_line([_row(one) for one in ledgers]))
        return
    for one in ledgers:
        changed = one.updated or one.created
        when = f"{changed:%Y-%m-%d %H:%M}" if changed else "-"
        stale = "" if one.holds else f"superseded by {one.superseded_by}" if one.superseded_by else one.status
        mark = f" ({stale_words(stale, app.language)})" if stale else ""
        branch = f"@{printable(one.branch, 40)}" if one.branch else ""
        click.echo(f"{printable(one.ref)}{mark}")
        click.echo(pale(f"    {when}  {padded(printable(one.trigger, 12), 9)}  {branch}".rstrip()))
    if not ledgers:
        aside(say("handoff.none", app.language))


def _show_hint(app: App, handed: Handoff, as_json: bool) -> None:
    made = handed.hint_of(handed.plan(), handed.newest())
    if as_json:
        row = {"text": made.text, "bytes": made.bytes, "references": made.references, "left_out": made.left_out}
        click.echo(json_line(row))
    elif made.text:
        click.echo(visible(made.text))
        aside(say("handoff.size", app.language, made.bytes, made.left_out))
    else:
        aside(say("handoff.none", app.language))


def _row(ledger: Ledger) -> dict[str, Any]:
    names = ("id", "branch", "trigger", "session", "window", "thread", "supersedes", "superseded_by", "status")
    times = {"created": ledger.created, "updated": ledger.updated}
    return (
        {"ref": ledger.ref}
        | {name: getattr(ledger, name) for name in names}
        | {name: moment.isoformat() if moment else "" for name, moment in times.items()}
    )


def _clean(handed: Handoff, ledger: Ledger) -> dict[str, str]:
    return handed.sections(ledger).by_name()


# ---------------------------------------------------------------------- clew plan


@click.group(
    invoke_without_command=True,
    epilog="""\b
Examples:
  clew plan
  clew plan edit
  clew plan log
  clew plan diff 2 3""",
)
@json_option
@click.pass_context
def plan(ctx: click.Context, as_json: bool) -> None:
    """Show the plan: one Markdown text for people and model, with steps such as `- [ ] retry with a pause`.

    A branch may have a plan of its own: `clew plan edit --branch`. Each version that was replaced is kept.
    """
    if ctx.invoked_subcommand is not None:
        if as_json:
            raise UsageError("options of `clew plan` do not go with a command", hint="put --json behind the command")
        return
    app = App.here()
    apply_color(app)
    with memory_of(app) as memory:
        handed = _handoff(memory)
        version = handed.plan()
        if version is None:
            _no_plan(app, as_json)
            return
        clean = memory.documents.redact(version.text)
        if as_json:
            click.echo(json_line(_version(handed, version) | {"text": clean, "steps": _steps(clean)}))
            return
        aside(say("note", app.language) + printable(_path(handed, version.path)))
        click.echo(visible(clean.rstrip("\n")))
        _tell_redacted(app, clean != version.text)


@plan.command(
    epilog="\b\nExamples:\n  clew plan diff\n  clew plan diff 1\n  clew plan diff PLAN-2026-05-31-090000 3 --json"
)
@click.argument("one", required=False, default="", metavar="[A]")
@click.argument("other", required=False, default="", metavar="[B]")
@json_option
def diff(one: str, other: str, as_json: bool) -> None:
    """Show what became of the steps between two versions: A, else the one before the present; and B, else the present.

    A version is a number or a name of `clew plan log`, or the beginning of its time.
    """
    app = App.here()
    apply_color(app)
    with memory_of(app) as memory:
        handed = _handoff(memory)
        found = handed.plan_difference(one, other)
        if as_json:
            steps = [
                {"change": step.change, "step": step.step.text, "before": step.before.text if step.before else ""}
                for step in found.steps
            ]
            row = {"before": found.before.name, "after": found.after.name, "steps": steps, "lines": found.lines}
            click.echo(json_line(row))
            return
        for step in found.steps:
            was = step.before.text if step.change == "reworded" and step.before else ""
            mark = say(_CHANGES[step.change], app.language)
            click.echo(f"{padded(mark, 10)}  {visible(step.step.text)}" + (pale(f"  < {visible(was)}") if was else ""))
        for line in found.lines if not found.steps else ():
            click.echo(visible(line))
        if not found.steps and not found.lines:
            aside(say("plan.same", app.language))


@plan.command("log", epilog="\b\nExamples:\n  clew plan log\n  clew plan log --json")
@json_option
def log_(as_json: bool) -> None:
    """List all versions of the plan with their numbers, the oldest first, and what became of the steps in each."""
    from clew.core.handoff.plan import difference  # only here
    from clew.services.handoff import plan_of

    app = App.here()
    apply_color(app)
    with memory_of(app) as memory:
        handed = _handoff(memory)
        versions = handed.plan_versions()
        if not versions:
            _no_plan(app, as_json)
            return
        rows: list[dict[str, Any]] = []
        before: PlanVersion | None = None
        for number, version in enumerate(versions, 1):
            changes = difference(plan_of(before), plan_of(version))
            counts = {change: sum(one.change == change for one in changes) for change in _CHANGES}
            rows.append({"number": number} | _version(handed, version) | {"steps": counts})
            before = version
    if as_json:
        click.echo(json_line(rows))
        return
    for row in rows:
        told = ", ".join(f"{say(_CHANGES[change], app.language)} {n}" for change, n in row["steps"].items() if n)
        click.echo(f"{row['number']:>3}  {printable(row['name'])}" + pale(f"  {told}"))


@plan.command("edit", epilog="\b\nExamples:\n  clew plan edit\n  clew plan edit --branch")
@click.option("--branch", "own", is_flag=True, help="The branch at hand gets a plan of its own, if it has none.")
@json_option
def edit_(own: bool, as_json: bool) -> None:
    """Open the plan in your editor: VISUAL, else EDITOR. The version before goes to the archive.

    Where somebody else changed the plan meanwhile, nothing is overwritten: your text is kept in a file that is named.
    Secrets are taken out before anything is written.
    """
    app = App.here()
    with memory_of(app) as memory:
        handed = _handoff(memory)
        if own and not memory.branch:
            raise UsageError("there is no branch here", hint="leave out --branch: the plan is that of the project")
        version = handed.plan()
        fresh = version is None or (own and not version.branch)
        editing = Editing(app, "plan")
        try:
            text = editing(version.text if version is not None else _TEMPLATE)
            if not text.strip() or (version is None and text == _TEMPLATE):
                _emptied()
            expect = "" if fresh or version is None else version.digest
            done = handed.write_plan(_bare(text) if fresh else text, expect=expect, own=own)
        except ClewError as error:
            raise editing.kept(error) from error
        _tell(app, memory, done, as_json)


def _bare(text: str) -> str:
    """The text of a plan without its front matter, which belongs to the file that it came from."""
    from clew.core.text.frontmatter import parse  # only here

    return parse(text).body


def _emptied() -> NoReturn:
    raise UsageError("the plan would say nothing", hint="nothing was changed")


_CHANGES = {
    "added": "plan.added", "done": "plan.done", "reopened": "plan.reopened", "reworded": "plan.reworded",
    "removed": "plan.removed",
}  # fmt: skip


def _version(handed: Handoff, version: PlanVersion) -> dict[str, Any]:
    return {
        "name": version.name, "branch": version.branch, "path": _path(handed, version.path),
        "at": version.at.isoformat() if version.at else "", "digest": version.digest,
    }  # fmt: skip


def _steps(text: str) -> list[dict[str, Any]]:
    from clew.core.handoff.plan import read_plan  # only here

    return [
        {"text": one.text, "done": one.done, "dropped": one.dropped, "line": one.line} for one in read_plan(text).steps
    ]


def _no_plan(app: App, as_json: bool) -> None:
    if as_json:
        click.echo(json_line(None))
    aside(say("plan.none", app.language))


# ---------------------------------------------------------------------- both


def _handoff(memory: Memory) -> Handoff:
    from clew.services.handoff import Handoff  # heavy

    return Handoff(memory)


def _path(handed: Handoff, path: str) -> str:
    return str(handed.memory.documents.root / path)


def _tell(app: App, memory: Memory, done: Handed, as_json: bool) -> None:
    """The reference on stdout; on stderr what was done and where it lies."""
    assert done.kept is not None, "what is asked for is never withheld"
    receipt, language = done.kept.receipt, app.language
    path = str(memory.documents.root / receipt.path)
    if as_json:
        row = {
            "action": done.action, "ref": done.ref, "path": path, "lines": receipt.lines,
            "archived": done.kept.archived, "superseded": done.kept.superseded, "redacted": receipt.redacted,
            "audited": done.audited,
        }  # fmt: skip
        click.echo(json_line(row))
    else:
        click.echo(done.ref)
        aside(say(_DONE[done.action], language, printable(path)))
        if done.kept.archived:
            aside(say("handoff.archived", language, printable(str(memory.documents.root / done.kept.archived))))
    tell_redacted(app, receipt)
    if not done.audited:
        aside(say("note", language) + say("note.unaudited", language))


def _tell_redacted(app: App, redacted: bool) -> None:
    if redacted:
        aside(say("note", app.language) + say("memory.redacted", app.language))


_DONE = {
    "created": "handoff.created", "refreshed": "handoff.refreshed", "replaced": "handoff.replaced",
    "unchanged": "note.unchanged",
}  # fmt: skip
