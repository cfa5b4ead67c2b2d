"""`clew recall`: what comes to mind for a message, and why."""

from __future__ import annotations

import contextlib
import shlex
from typing import TYPE_CHECKING

import click

from clew.app import App
from clew.core.memory.document import bare_id, is_made
from clew.core.text.printable import printable
from clew.entrypoints.cli.brief import end_after
from clew.entrypoints.cli.progress import reading
from clew.entrypoints.cli.remembering import given_text, tell_place
from clew.entrypoints.cli.style import aside, json_line, line, pale
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.wording import translated
from clew.errors import UsageError

if TYPE_CHECKING:
    from clew.services.hinting import Hinted, Hinter

_SHOWN = 8
"""Notes that -v lists, besides rejected ones."""


@click.command(
    epilog="""\b
Examples:
  clew recall "the deploy hangs at the health check"
  clew recall -v "may we lift in this wind?"
  clew recall --reject mem_0123456789ab "may we lift in this wind?" """
)
@click.argument("message", required=False)
@click.option("-v", "--verbose", is_flag=True, help="Show every note that was weighed, with its chance and the reason.")
@click.option(
    "--role", type=click.Choice(("user", "assistant")), default="user", help="Who wrote the message.  [default: user]"
)
@click.option("--session", metavar="ID", default="", help="A hint of this session is not given again for 10 runs.")
@click.option("--run", type=click.IntRange(min=0), default=0, help="The number of the run within the session.")
@click.option("--reject", "rejected", metavar="REF", help="This hint did not help for MESSAGE, nor for one like it.")
@click.option("--accept", "accepted", metavar="REF", help="Take back what --reject said, for MESSAGE or for all.")
@click.option("--deadline", type=click.FloatRange(min=0.01, max=3600), metavar="SECONDS",
              help="Say nothing, with status 0, when it takes longer.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def recall(
    message: str | None,
    verbose: bool,
    role: str,
    session: str,
    run: int,
    rejected: str | None,
    accepted: str | None,
    deadline: float | None,
    as_json: bool,
) -> None:
    """Show which notes come to mind for a message: at most three, and none where nothing fits.

    The same engine gives hints to agents. MESSAGE comes from standard input with `-` or a pipe. What was weighed and
    why lands in `clew audit`.
    """
    call_off = end_after(deadline) if deadline else None
    if rejected is not None and accepted is not None:
        raise UsageError("`--reject` and `--accept` contradict each other", hint="give one of them")
    app = App.here()
    hinter = app.hinter()
    if accepted is not None:
        _accept(app, hinter, accepted, message or "", as_json)
        return
    text = given_text(message, kept=False)
    if not text.strip():
        raise UsageError("there is no message", hint='for instance: clew recall "the deploy hangs"')
    if rejected is not None:
        rejected = _meant(app, rejected)
        hinter.reject(rejected, text)
        name = printable(rejected)
        _told(as_json, {"rejected": rejected}, say("recall.rejected-now", app.language, name, name))
        return
    # With a deadline somebody else reads along, and nobody looks.
    with contextlib.nullcontext() if deadline else reading(app.language) as hinter.progress:
        found = hinter.hints(text, role=role, session=session, run=run)
    if call_off is not None:
        call_off()
    if found.behind:
        # So many files changed without Clew that preparing them would keep this message waiting.
        app.afterwards().begin()
    if not deadline:
        tell_place(app)
    if as_json:
        click.echo(json_line(_row(found)))
        _tell(app, found)
    else:
        _show(app, found, verbose, "" if message is None or message == "-" else text)


def _meant(app: App, ref: str) -> str:
    """The reference of the note that is named: as it is given where it is an id that Clew made, for that note may be
    gone; else that of a note with this id, this name or such a beginning of an id. Raises NotFound."""
    return ref if is_made(bare_id(ref)) else app.memory().find(ref).ref or ref


def _accept(app: App, hinter: Hinter, ref: str, text: str, as_json: bool) -> None:
    ref = _meant(app, ref)
    count = hinter.accept(ref, text)
    _told(as_json, {"accepted": ref, "count": count}, say("recall.accepted", app.language, count, printable(ref)))


def _told(as_json: bool, row: dict[str, object], text: str) -> None:
    if as_json:
        click.echo(json_line(row))
    else:
        aside(text)


def _show(app: App, found: Hinted, verbose: bool, message: str) -> None:
    """`message` is what was given as an argument; empty where it came from standard input."""
    recalled, language = found.recalled, app.language
    reasons = {one.id: one for one in recalled.considered}
    for one in recalled.hints:
        line(f"{one.name} — {one.description}")
        why = _why(app, reasons[one.id].why) if one.id in reasons else ""
        line(pale(f"  {one.ref}" + (f" · {why}" if why else "")))
    if recalled.hints:
        aside(_again(app, recalled.hints[0].id, message))
    elif recalled.silence == "rejected":
        aside(say("recall.rejected", language, ", ".join(recalled.rejected), recalled.rejected[0]))
    else:
        aside(say(f"recall.{recalled.silence or 'below'}", language))
    if verbose:
        engine = recalled.engine or "-"
        aside(say("recall.weighed", language, engine))
        for place, one in enumerate(recalled.considered):
            if place >= _SHOWN and one.why != "rejected":
                continue
            aside(f"  {one.chance:.2f}  {one.id}  {printable(one.name, 60)}  {_why(app, one.why)}")
    for id_, why in found.withheld:
        aside(say("note", language) + say("recall.withheld-note", language, id_, why))
    if found.behind:
        aside(say("note", language) + say("recall.behind", language, found.behind))
    _tell(app, found)
    if not found.audited:
        aside(say("note", language) + say("recall.unaudited", language))


def _again(app: App, id_: str, message: str) -> str:
    """How to reject this hint for this very message: a command to be pasted into a shell."""
    # What came through a pipe, would not survive a paste or should not stand on a screen goes through a pipe.
    if not message or message != printable(message) or app.redactor(message) != message:
        return say("recall.reject-piped", app.language, id_)
    dashes = "-- " if message.startswith("-") else ""
    return say("recall.reject", app.language, id_, dashes + shlex.quote(message))


def _tell(app: App, found: Hinted) -> None:
    for notice in found.notices:
        aside(say("note", app.language) + translated(printable(notice), app.language))


def _why(app: App, signs: str) -> str:
    return ", ".join(say(f"recall.sign.{sign}", app.language) for sign in signs.split(", ") if sign)


def _row(found: Hinted) -> dict[str, object]:
    recalled = found.recalled
    return {
        "hints": [
            {"id": one.id, "ref": one.ref, "name": one.name, "description": one.description} for one in recalled.hints
        ],
        "silence": recalled.silence,
        "engine": recalled.engine,
        "considered": [
            {"id": one.id, "name": one.name, "chance": round(one.chance, 4), "engine": one.engine, "why": one.why}
            for one in recalled.considered
        ],
        "withheld": [{"id": id_, "reason": why} for id_, why in found.withheld],
        "behind": found.behind,
        "notices": list(found.notices),
    }
