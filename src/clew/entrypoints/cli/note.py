"""`clew note`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from clew.app import App
from clew.core.memory.document import TYPES
from clew.entrypoints.cli.remembering import (
    day,
    demand_whole,
    given_text,
    json_option,
    memory_of,
    situations,
    tell_saved,
    tell_short,
)
from clew.entrypoints.cli.style import aside
from clew.entrypoints.cli.texts import say
from clew.errors import UsageError

if TYPE_CHECKING:
    from clew.services.memory import Memory, Saved

_OPTIONS = (
    click.option("--name", metavar="NAME", help="What it is called; else its first words."),
    click.option("--description", metavar="TEXT", help="The one line that a hint shows; else its first sentence."),
    click.option("--type", "type_", type=click.Choice(TYPES), help="What kind of note it is.  [default: note]"),
    click.option(
        "--when", multiple=True, metavar="PHRASE", help="A situation in which it should come to mind. Repeatable."
    ),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="A word to filter by. Repeatable."),
    click.option("--personal", is_flag=True, help="It holds for you in every project, not for this one only."),
    click.option("--branch", "on_branch", is_flag=True, help="It holds on the branch at hand only."),
    click.option("--expires", metavar="DATE", help="The last day on which it holds: 2026-05-31."),
    click.option("--replace", is_flag=True, help="It takes the place of the note of that name, which is kept."),
)


def note_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how a note is kept."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command(
    epilog="""\b
Examples:
  clew note "The crane stops at wind force 7." --when "may we lift in this wind?"
  clew note "No releases on Friday." --name "Friday freeze" --type decision
  clew note "Releases on Friday until noon." --name "Friday freeze" --replace
  git log -5 --format=%s | clew note - --name "Last changes" --expires 2026-05-31"""
)
@click.argument("text", required=False)
@note_options
@json_option
def note(text: str | None, as_json: bool, **wished: Any) -> None:
    """Keep a note of this project, or with --personal of yours. TEXT comes from standard input with `-` or a pipe.

    Where a note of that name is there, the text is added to it. Secrets are taken out before anything is written.
    "Saved" is said once the file was read again; its reference goes to stdout.
    """
    app = App.here()
    words = given_text(text)
    if not words.strip():
        hint = 'for instance: clew note "The crane stops at wind force 7."; `clew memory add` opens an editor'
        raise UsageError("the note says nothing", hint=hint)
    with memory_of(app) as memory:
        keep(app, memory, words, as_json, **wished)


def keep(app: App, memory: Memory, words: str, as_json: bool, **wished: Any) -> Saved:
    """Write a note and say so. `wished` holds the values of `note_options`."""
    from clew.core.memory.edit import first_words  # heavy
    from clew.services.memory import NoteWish  # heavy

    demand_whole(wished["name"], wished["description"], *wished["when"], *wished["tags"])
    if wished["on_branch"] and wished["personal"]:
        raise UsageError("--personal and --branch exclude each other", hint="give one of them")
    if wished["on_branch"] and not memory.branch:
        raise UsageError("there is no branch here", hint="leave out --branch: the note holds on all of them")
    expires = day(wished["expires"])
    if expires is not None and expires < memory.clock().date():
        raise UsageError(f"{expires.isoformat()} is over", hint="give a day that is still to come")
    saved = memory.note(
        NoteWish(
            text=words,
            name=wished["name"] or first_words(words),
            derived=not wished["name"],
            description=wished["description"] or "",
            type=wished["type_"] or "note",
            when=situations(wished["when"]),
            tags=wished["tags"],
            personal=wished["personal"],
            mode="replace" if wished["replace"] else "append",
            branch=memory.branch if wished["on_branch"] else "",
            expires=expires,
        )
    )
    tell_saved(app, memory, saved, as_json)
    if saved.receipt.id and not memory.documents.read(saved.receipt.path).when:
        aside(say("hint", app.language) + say("note.when", app.language, saved.receipt.id))
    tell_short(app, wished["when"])
    return saved
