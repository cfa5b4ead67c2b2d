"""What the commands that write to memory share: opening it, taking a text, saying what was saved."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from clew.app import App
from clew.core.memory.document import PREFIX, reference_of
from clew.core.text.printable import printable
from clew.entrypoints.cli.progress import reading
from clew.entrypoints.cli.style import aside, json_line
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.twins import settle_twin
from clew.entrypoints.cli.wording import translated
from clew.errors import ClewError, UsageError

if TYPE_CHECKING:
    from clew.services.memory import Memory, Saved
    from clew.stores.documents import Receipt

_MOST_BYTES = 4 << 20
_MOST_COMPLETED = 200
_CONVERT = "nothing was saved; give it as UTF-8, for instance through `iconv -f latin1 -t utf-8`"
_SAVED = {
    "created": "note.created", "appended": "note.appended", "superseded": "note.superseded",
    "edited": "note.edited",
}  # fmt: skip


@contextlib.contextmanager
def memory_of(app: App) -> Iterator[Memory]:
    """The memory of this workspace; at the end what waits is committed, and what the user should know is said."""
    settle_twin(app)
    memory = app.memory()
    tell_place(app)
    try:
        with reading(app.language, gives_way=True) as memory.progress:
            yield memory
    finally:
        memory.close()
        for notice in memory.notices:
            aside(say("note", app.language) + translated(notice, app.language))


def tell_place(app: App) -> None:
    """Say where notes of this folder lie that are not found, and which line brings them over."""
    from clew.adapters.workspace import ALIAS_FILE  # heavy

    workspace = app.workspace
    if workspace.collision is not None:
        known, here = printable(workspace.collision.known), printable(workspace.collision.here)
        aside(say("note", app.language) + say("memory.collision", app.language, workspace.id, known, here))
        return
    former, maybe = app.left_behind, app.may_be
    # A text of JSON is one of TOML.
    key, place = json.dumps(workspace.key, ensure_ascii=False), printable(str(app.home.data / ALIAS_FILE))
    line = f'{key} = "{former or workspace.maybe_id}"'
    if former:
        aside(say("note", app.language) + say("memory.former", app.language, former, line, place))
    elif maybe:
        told = say("memory.maybe-former", app.language, printable(maybe), workspace.maybe_id, line, place)
        aside(say("note", app.language) + told)


def given_text(text: str | None, *, kept: bool = True) -> str:
    """The text of a note: the argument, or standard input for `-` and where no argument is given. Raises UsageError.

    What is not `kept` may have replacement marks for bytes that are no text.
    """
    if text is not None and text != "-":
        if kept:
            demand_whole(text)
        # What a shell hands on need not be UTF-8.
        return text.encode("utf-8", "replace").decode("utf-8")
    if sys.stdin is None or (text is None and sys.stdin.isatty()):
        return ""
    content = sys.stdin.buffer.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise UsageError("standard input is too long for memory", hint="say less, or `clew memory import FOLDER`")
    from clew.core.text.content import read_text  # only where a text is piped in

    found = read_text(content)
    if found is None:
        raise UsageError("standard input is binary", hint="memory holds text")
    if kept and found.note.startswith("not UTF-8"):
        raise UsageError("standard input is not UTF-8", hint=_CONVERT)
    return found.text.replace("\r\n", "\n").replace("\r", "\n")


def demand_whole(*texts: str | None) -> None:
    """Raise UsageError where bytes of an argument are no text: what is kept would not be what was said."""
    for text in texts:
        if text and any("\ud800" <= char <= "\udfff" for char in text):
            raise UsageError(f"`{printable(text, 60)}` is not UTF-8", hint=_CONVERT)


def situations(phrases: Sequence[str]) -> tuple[str, ...]:
    """The `when` phrases as they are given. Raises UsageError for one without a word: it would never be said."""
    from clew.core.memory.spoken import spoken_words  # heavy

    if not all(map(spoken_words, phrases)):
        hint = 'say it in the words of somebody who is in it, for instance: --when "may we lift in this wind?"'
        raise UsageError("a situation (`when`) without a word says nothing", hint=hint)
    return tuple(phrases)


def tell_short(app: App, phrases: Sequence[str]) -> None:
    """Say which `when` phrases only count as a whole message."""
    if not phrases:
        return
    from clew.core.memory.spoken import is_short  # heavy

    for phrase in filter(is_short, dict.fromkeys(phrases)):
        aside(say("note", app.language) + say("note.short-when", app.language, printable(phrase, 60)))


def day(text: str | None) -> date | None:
    """A day as 2026-05-31. Raises UsageError."""
    if not text:
        return None
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"`{printable(text, 40)}` is no day", hint="write it as 2026-05-31") from None


def tell_saved(
    app: App, memory: Memory, saved: Saved, as_json: bool, *, logged: bool = False, unchanged: str = "note.unchanged"
) -> None:
    """The reference on stdout; on stderr what was done, where it lies, and what is worth a thought."""
    receipt, language = saved.receipt, app.language
    path = str(memory.documents.root / receipt.path)
    ref = f"{saved.ref}#L{receipt.line}-{receipt.lines}" if logged else saved.ref
    if as_json:
        row = {
            "action": saved.action, "ref": ref, "id": receipt.id, "path": path, "lines": receipt.lines,
            "replaced": saved.replaced, "redacted": receipt.redacted, "audited": saved.audited,
        }  # fmt: skip
        click.echo(json_line(row))
    else:
        click.echo(ref)
        done = unchanged if saved.action == "unchanged" else _SAVED[saved.action]
        aside(say("log.appended" if logged else done, language, printable(path)))
        if saved.replaced:
            aside(say("note.replaced", language, saved.replaced))
    tell_redacted(app, receipt)
    if not saved.audited:
        aside(say("note", language) + say("note.unaudited", language))


def tell_redacted(app: App, receipt: Receipt) -> None:
    """Say whether secrets were taken out of what was to be written, and of what was there."""
    if receipt.redacted or receipt.older:
        told = "note.redacted-older" if receipt.older else "note.redacted"
        aside(say("note", app.language) + say(told, app.language))


def complete_reference(_ctx: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Ids of the documents at hand, with their names; by name where a name begins like this."""
    with contextlib.suppress(ClewError, OSError):
        prefix, bare = (PREFIX, start.removeprefix(PREFIX)) if start.startswith(PREFIX) else ("", start)
        return [
            CompletionItem(f"{prefix}{one.id}", help=one.hint_name)
            for one in App.here().memory().listing()
            if one.id and (one.id.startswith(bare) or one.name.casefold().startswith(bare.casefold()))
        ][:_MOST_COMPLETED]
    return []


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")(command)


def stale_words(stale: str, language: str) -> str:
    """Why a document does not hold any more, with the reference of what takes its place."""
    newer = stale.removeprefix("superseded by ")
    if newer == stale:
        return translated(stale, language)
    refs = ", ".join(reference_of(printable(one)) for one in newer.split(", "))
    return say("memory.superseded", language, refs)
