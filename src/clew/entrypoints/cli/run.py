"""`clew run` and `clew prefix`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.app import App
from clew.core.agent.effects import Effect
from clew.core.agent.events import (
    Answered,
    Called,
    Calling,
    Delegated,
    Event,
    Hinted,
    Notice,
    Retrying,
    RunEnded,
    WindowOpened,
)
from clew.core.agent.permissions import Permit, nobody
from clew.core.text.printable import printable
from clew.entrypoints.cli.deeds import again, deed, outcome_of
from clew.entrypoints.cli.page import Page
from clew.entrypoints.cli.stopping import stop_status
from clew.entrypoints.cli.style import apply_color, aside, json_line, line, pale
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.wording import translated
from clew.entrypoints.cli.working import model_options
from clew.errors import UsageError, status_of

if TYPE_CHECKING:
    from clew.services.dump import Dump
    from clew.services.run import Session

EXIT = {"finished": 0, "aborted": 130, "failed": 1, "limit": 1, "crashed": 1}
"""Exit status by outcome; of an aborted run, that of the signal."""


@click.command(
    epilog="""\b
Examples:
  clew run "make the retry test pass" --yes
  clew run "what changed since the last release?" --json
  git diff | clew run "review this" --continue
  clew run "mend the build" --allow "command:make *" --allow "edit:src/**\""""
)
@click.argument("message", required=False)
@model_options
@click.option("--continue", "goes_on", is_flag=True, help="Go on with the newest session of this workspace.")
@click.option("--session", metavar="ID", help="Go on with this session; the beginning of its id is enough.")
@click.option("--fork", is_flag=True, help="With --continue or --session: go on in a new session.")
@click.option("--yes", is_flag=True, help="Allow edits and commands within the workspace without asking.")
@click.option("--allow", multiple=True, metavar="RULE", help="Allow what a rule says: `command:pytest *`. Repeatable.")
@click.option("--steps", type=click.IntRange(1), metavar="N", help="Model calls at most.  [default: 200]")
@click.option("--dump", type=click.Path(path_type=Path), metavar="DIR", help="Write each request as it is sent.")
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on stdout, nothing else.")
@click.option("-q", "--quiet", is_flag=True, help="Only the final reply.")
def run(
    message: str | None, model: str | None, thinking: str | None, goes_on: bool, session: str | None, fork: bool,
    yes: bool, allow: Sequence[str], steps: int | None, dump: Path | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Let the agent do a piece of work in this folder, without asking anything back.

    MESSAGE says what; text that is piped in goes along. The final reply goes to stdout, what happens meanwhile to
    stderr. Edits and commands need --yes or a rule; without, the model is told that they are refused.
    """
    app = App.here({"model": model or None, "thinking": thinking})
    apply_color(app)
    words = _message(message)
    if session and goes_on:
        raise UsageError("--session and --continue exclude each other", hint="give one of them")
    if fork and not (session or goes_on):
        raise UsageError("--fork needs a session to fork", hint="add --continue, or --session ID")
    with working(app, goes_on=goes_on, session=session, fork=fork, yes=yes, rules=allow) as held:
        person = Headless(app, as_json=as_json, quiet=quiet)
        outcome = work(app, held, words, person, dump=dump, steps=steps)
        cause = held.interrupt.cause
    raise click.exceptions.Exit(stop_status(cause) if outcome == "aborted" else person.status or EXIT[outcome])


@contextlib.contextmanager
def working(
    app: App, *, goes_on: bool = False, session: str | None = None, fork: bool = False, yes: bool = False,
    rules: Sequence[str] = (),
) -> Iterator[Session]:  # fmt: skip
    """A session, new or old, held until the end of the block."""
    from clew.services.sessions import latest  # heavy

    app.catalogue.endpoint(app.loaded.settings.model)
    room = app.agent_room(yes=yes, rules=rules)
    name = app.loaded.settings.model or ""
    id_ = room.transcripts.find(session) if session else latest(room.transcripts, app.workspace.id) if goes_on else ""
    opened = room.fork(id_, name) if fork else room.again(id_, name) if id_ else room.new(name)
    with opened as held:
        yield held


def work(app: App, session: Session, words: str, person: Headless, *, dump: Path | None, steps: int | None) -> str:
    """One run; its outcome."""
    from clew.adapters.models.engine import Engine  # heavy
    from clew.services.dump import Dump, about_of

    endpoint = app.catalogue.endpoint(app.loaded.settings.model)
    writer = Dump(dump, lambda: about_of(session, endpoint.name)) if dump else None
    person.dump = writer
    limits = app.agent_limits(endpoint, steps)
    return session.run(words, Engine(endpoint, writer), limits, person).outcome


class Headless:
    """Nobody to ask: shows what happens, refuses what would need a yes."""

    attended = False

    def __init__(self, app: App, *, as_json: bool, quiet: bool) -> None:
        self.language = app.language
        self.as_json = as_json
        self.quiet = quiet
        self.dump: Dump | None = None
        self.status = 0
        """Exit status of the error that ended the run; 0 where none did."""

    def tell(self, event: Event) -> None:
        """Print an event."""
        if self.dump is not None and isinstance(event, Answered):
            counts = {"input": event.input, "cached": event.cached, "written": event.written, "output": event.output}
            self.dump.usage({name: count for name, count in counts.items() if count is not None})
        if isinstance(event, RunEnded) and event.code:
            self.status = status_of(event.code)
        if self.as_json:
            line(json_line(as_json(event)))
        else:
            self._tell(event)

    def permit(self, effect: Effect) -> Permit:
        """Nobody is there."""
        if effect.reaches and not effect.outside:
            where = printable(", ".join(effect.reaches), 200)
            return Permit(False, f"nobody is there to be asked; only --yes allows a command that names {where}")
        return nobody(effect, "--yes or --allow")

    def said(self) -> Sequence[str]:
        """Nothing."""
        return ()

    def _tell(self, event: Event) -> None:
        match event:
            case RunEnded(text=text, outcome=outcome, reason=reason, hint=hint):
                if text:
                    page = Page(quoted=False)
                    page.show(text)
                    page.end()
                    if not text.endswith("\n"):
                        click.echo()
                if outcome != "finished":
                    why = translated(printable(reason), self.language)
                    aside(say("run.ended", self.language, say(f"run.{outcome}", self.language), why))
                    if hint:
                        aside(say("hint", self.language) + translated(printable(hint), self.language))
            case Calling(title=title) if not self.quiet:
                aside(pale(f"· {deed(printable(title), self.language)}"))
            case Called(failed=True, text=text) if not self.quiet:
                aside(pale(f"  {printable(outcome_of(text.partition(chr(10))[0], self.language), 160)}"))
            case Hinted(ids=ids, names=names) if not self.quiet:
                for id_, name in zip(ids, names, strict=True):
                    aside(pale(say("run.hint", self.language, printable(name), id_)))
            case Delegated(event=Calling(title=title)) if not self.quiet:
                aside(pale(f"  ‣ {deed(printable(title), self.language)}"))
            case Retrying(reason=reason, wait=wait) if not self.quiet:
                aside(again(printable(reason), wait, self.language))
            case WindowOpened(window=window) if not self.quiet:
                aside(pale(say("run.window", self.language, window)))
            case Notice(text=text) if not self.quiet:
                aside(say("note", self.language) + translated(printable(text), self.language))
            case _:
                pass


def as_json(event: Event) -> dict[str, object]:
    """An event as it is printed: its name in `type`, then its fields."""
    import dataclasses

    from clew.core.agent.events import NAMES

    if isinstance(event, Delegated):
        return {"type": NAMES[Delegated], "id": event.id, "event": as_json(event.event)}
    return {"type": NAMES[type(event)], **dataclasses.asdict(event)}


def _message(message: str | None) -> str:
    piped = ""
    if sys.stdin is not None and not sys.stdin.isatty():
        with contextlib.suppress(OSError, ValueError):
            piped = sys.stdin.buffer.read().decode("utf-8", "replace")
    words = (message or "").strip()
    if message == "-":
        words = ""
    whole = "\n\n".join(part for part in (words, piped.strip("\n")) if part)
    if not whole.strip():
        raise UsageError("there is nothing to do", hint='clew run "make the retry test pass"')
    return whole


@click.command(
    epilog="""\b
Examples:
  clew run "look around" --dump /tmp/sent
  clew prefix /tmp/sent
  clew prefix /tmp/sent --json --min 0.85"""
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--min", "least", type=click.FloatRange(0, 1), help="Fail where runs share less than this, on average.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def prefix(folder: Path, least: float | None, as_json: bool) -> None:
    """Tell how much of each request in DIR was sent before: by byte, by block, and as the provider reports it.

    Within a run each request should begin with all of the one before; where that ends, the layer is named.
    """
    from clew.services.prefix import Report, measure  # heavy

    app = App.here()
    report: Report = measure(folder)
    if as_json:
        line(json_line(report.to_json()))
    else:
        for row in report.rows():
            line(row)
        line()
        line(say("prefix.sum", app.language, report.within, report.between, f"{report.by_byte:.3f}",
                 f"{report.by_block:.3f}"))  # fmt: skip
    if report.broken:
        raise click.exceptions.Exit(1)
    if least is not None and (report.by_byte or 0) < least:
        raise click.exceptions.Exit(1)
