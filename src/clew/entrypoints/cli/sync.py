"""`clew sync`."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import click

from clew.adapters.memory_git import MemoryGit
from clew.app import App
from clew.core.text.printable import printable
from clew.core.text.redact import redact
from clew.entrypoints.cli.progress import busy
from clew.entrypoints.cli.prose import width
from clew.entrypoints.cli.style import apply_color, aside, padded, pale
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.wording import translated
from clew.errors import ClewError, UsageError
from clew.services.sync import Copy, Synced, begin, conflicts, lines_beside, no_secrets, resolve, synchronise, texts

_MOST_PATHS = 20


@click.group(
    invoke_without_command=True,
    epilog="""\b
Examples:
  clew sync init --remote git@example.org:me/memory.git
  clew sync
  clew sync --show
  clew sync --resolve user/editor.md --take theirs""",
)
@click.option("--join", is_flag=True, help="Also where the remote has a history of its own: bring both together.")
@click.option("--anyway", is_flag=True, help="Also commit what you wrote where it seems to hold a secret.")
@click.option("--show", is_flag=True, help="Show the conflicts that are open, both versions side by side.")
@click.option("--resolve", "ref", metavar="REF", help="End the conflict of a document: its path, or its id.")
@click.option("--take", metavar="VERSION", help="With --resolve: `ours`, `theirs`, or a file with the text.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.pass_context
def sync(
    ctx: click.Context, join: bool, anyway: bool, show: bool, ref: str | None, take: str | None, as_json: bool
) -> None:
    """Exchange memory with its remote: commit, fetch, merge, push.

    Nothing that was committed is lost, and no history is rewritten. Where both sides changed the same lines, the local
    text stays and the other one lies beside it as NAME.conflict-HASH.md until you decide. Credentials are git's own.
    """
    if ctx.invoked_subcommand is not None:
        return
    if show and ref is not None:
        raise UsageError("--show and --resolve exclude each other", hint="give one of them")
    if (ref is None) != (take is None):
        raise UsageError("--resolve and --take belong together", hint="clew sync --resolve REF --take ours")
    app = App.here()
    apply_color(app)
    git = _git(app)
    if show:
        _show(app, git, as_json)
    elif ref is not None and take is not None:
        _resolve(app, git, ref, take, as_json)
    else:
        _exchange(app, git, as_json, join=join, anyway=anyway)


@sync.command()
@click.option("--remote", metavar="URL", default="", help="The repository to exchange with, as git names it.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def init(remote: str, as_json: bool) -> None:
    """Make the memory root a git repository: from then on each write is a commit.

    Nothing goes over the network; `clew sync` does that. Done again, it only names a remote that is not named yet.
    """
    app = App.here()
    git = _git(app)
    new = begin(git, remote, secrets=_secrets)
    if as_json:
        click.echo(json.dumps({"root": str(git.root), "new": new, "remote": remote}, ensure_ascii=False))
        return
    click.echo(say("sync.new" if new else "sync.known", app.language, printable(str(git.root))))
    aside(say("sync.next" if remote else "sync.local", app.language))


def _git(app: App) -> MemoryGit:
    return MemoryGit(app.home.data / "memory", app.environ)


def _secrets(text: str) -> dict[str, int]:
    # What is marked as private is kept from models; the user's own repository is another matter.
    return {kind: number for kind, number in redact(text).found if kind != "private"}


def _exchange(app: App, git: MemoryGit, as_json: bool, *, join: bool, anyway: bool) -> None:
    try:
        with busy(say("progress.exchanging", app.language, "{}")):
            done = synchronise(git, join=join, secrets=no_secrets if anyway else _secrets)
    except ClewError as error:
        app.audit.write("sync", reason=str(error))
        raise
    counts = {"fetched": done.fetched, "pushed": done.pushed, "changed": len(done.changed)}
    said = "conflicts are open" if done.conflicts else "exchanged with the remote"
    app.audit.write("sync", reason=said, refs=[one.path for one in done.conflicts], numbers=counts)
    if as_json:
        click.echo(json.dumps(asdict(done), ensure_ascii=False))
    else:
        _tell(done, app.language)


def _tell(done: Synced, language: str) -> None:
    click.echo(say("sync.done", language, done.fetched, len(done.changed), done.pushed))
    if done.by_hand:
        aside(say("note", language) + say("sync.by-hand", language, done.by_hand))
    for path in done.changed[:_MOST_PATHS]:
        aside(f"  {printable(path)}")
    if len(done.changed) > _MOST_PATHS:
        aside(f"  … {len(done.changed) - _MOST_PATHS}")
    for path in done.kept:
        aside(say("note", language) + say("sync.kept", language, printable(path)))
    for one in done.renamed[:_MOST_PATHS]:
        aside(say("note", language) + say("sync.renamed", language, printable(one.path), printable(one.now)))
    for one in done.skipped[:_MOST_PATHS]:
        reason = translated(one.reason, language)
        aside(say("note", language) + say("sync.skipped", language, printable(one.path, 120), reason))
    if len(done.skipped) > _MOST_PATHS:
        aside(f"  … {len(done.skipped) - _MOST_PATHS}")
    if done.conflicts:
        aside(say("sync.conflicts", language, len(done.conflicts)))
        for one in done.conflicts:
            aside(f"  {printable(one.path)} ↔ {printable(one.copy)}")
        aside(say("hint", language) + say("sync.finish", language, printable(done.conflicts[0].path)))


def _resolve(app: App, git: MemoryGit, ref: str, take: str, as_json: bool) -> None:
    copy, commit = resolve(git, ref, take, redact=app.redactor, cwd=Path(app.cwd))
    app.audit.write("sync", reason=f"resolved, taking {take}", refs=[copy.path])
    left = conflicts(git.root)
    if as_json:
        click.echo(json.dumps({"path": copy.path, "commit": commit, "open": len(left)}, ensure_ascii=False))
        return
    click.echo(say("sync.resolved", app.language, printable(copy.path)))
    aside(say("sync.next" if not left else "sync.open", app.language, *([len(left)] if left else [])))


def _show(app: App, git: MemoryGit, as_json: bool) -> None:
    found = [(one, *texts(git.root, one)) for one in conflicts(git.root)]
    if as_json:
        rows = [asdict(one) | {"ours": ours, "theirs": theirs} for one, ours, theirs in found]
        click.echo(json.dumps({"conflicts": rows}, ensure_ascii=False))
        return
    for one, ours, theirs in found:
        _show_one(one, ours, theirs)
    if found:
        aside(say("hint", app.language) + say("sync.finish", app.language, printable(found[0][0].path)))
    else:
        aside(say("sync.none", app.language))


def _show_one(one: Copy, ours: str, theirs: str) -> None:
    half = max((shutil.get_terminal_size().columns - 3) // 2, 20)
    click.echo(padded(_fit(printable(one.path), half), half) + " │ " + _fit(printable(one.copy), half))
    for left, right, differs in lines_beside(ours, theirs):
        lefts, rights = _rows(left, half), _rows(right, half)
        for at in range(max(len(lefts), len(rights))):
            mine = padded(lefts[at] if at < len(lefts) else "", half)
            row = f"{mine} {'┃' if differs else '│'} {rights[at] if at < len(rights) else ''}".rstrip()
            click.echo(row if differs else pale(row))
    click.echo("")


def _fit(text: str, columns: int) -> str:
    rows = _rows(text, columns - 1)
    return rows[0] + "…" if len(rows) > 1 else rows[0]


def _rows(line: str, columns: int) -> list[str]:
    """A line in pieces that fit; nothing in it can steer a terminal."""
    rows, row, used = [], "", 0
    for char in printable(line.expandtabs(4)):
        wide = width(char)
        if used + wide > columns:
            rows.append(row)
            row, used = "", 0
        row += char
        used += wide
    return [*rows, row]
