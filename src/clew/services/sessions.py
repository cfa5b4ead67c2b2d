"""Sessions of Clew's own agent: begun, gone on with, forked, exported."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from clew.core.agent.prompt import Identity
from clew.core.handoff.references import SESSION
from clew.core.text.printable import printable
from clew.errors import NotFound, UsageError
from clew.services.instructions import Instructions, changed_since, read_instructions
from clew.stores.transcripts import (
    Added,
    Began,
    Ended,
    Line,
    Opened,
    Read,
    Renewed,
    Replied,
    Resulted,
    Transcript,
    Transcripts,
)

_PLACE: Final = re.compile(r"([0-9]{1,7})(?:\.([0-9]{1,7}))?")
_LONGEST_RESULT: Final = 4_000
"""Characters of a tool's answer in an export; a transcript keeps all."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Where sessions take place."""

    workspace: str
    name: str
    root: Path
    cwd: Path
    memory: Path
    shell: str
    branch: str
    redact: Callable[[str], str]
    clock: Callable[[], datetime]

    def identity(self) -> str:
        """The layer of a session's identity."""
        return Identity(
            str(self.cwd), str(self.root), str(self.memory), platform.system(), platform.machine(), self.shell
        ).text()

    def instructions(self) -> Instructions:
        """The project's instruction files as they are now."""
        return read_instructions(self.root, self.cwd, self.redact)


@contextmanager
def begun(
    transcripts: Transcripts, ground: Ground, *more: tuple[str, str], delegated: str = ""
) -> Iterator[Transcript]:
    """A new session, held until the end of the block. `more` are injections besides the project's own files."""
    read = ground.instructions()
    now = ground.clock()
    with transcripts.new(now) as transcript:
        transcript.append(
            Opened(
                transcript.id, now.isoformat(timespec="seconds"), ground.workspace, ground.name, str(ground.root),
                str(ground.cwd), ground.branch, ground.identity(),
                (*((one.origin, one.text) for one in read.injections), *more), read.digests, delegated=delegated,
            )
        )  # fmt: skip
        yield transcript


@contextmanager
def resumed(transcripts: Transcripts, id_: str) -> Iterator[Transcript]:
    """A session that goes on, held until the end of the block. Raises NotFound, StoreBusy, StoreTooNew."""
    transcripts.read(id_)
    with transcripts.at(id_) as transcript:
        yield transcript


@contextmanager
def forked(transcripts: Transcripts, id_: str, now: datetime, last: int = 0) -> Iterator[Transcript]:
    """A new session that shares the runs of another one, up to and with run `last` (0: all that ended).

    The other one stays as it is. Raises NotFound where there is no such run.
    """
    read = transcripts.read(id_)
    whole = {line.run for line in read.lines if isinstance(line, Ended)}
    if last and last not in whole:
        raise NotFound(f"the session {id_} has no run {last} that ended", hint=f"it has {len(whole)}")
    kept = [line for line in read.lines[1:] if not isinstance(line, Opened) and line.run in whole]
    kept = [line for line in kept if not last or line.run <= last]
    with transcripts.new(now) as transcript:
        origin = f"{id_}#{last or max(whole, default=0)}"
        opened = msgspec.structs.replace(
            read.opened, id=transcript.id, at=now.isoformat(timespec="seconds"), forked=origin, delegated=""
        )
        transcript.append(opened, *kept)
        yield transcript


def latest(transcripts: Transcripts, workspace: str) -> str:
    """The id of the workspace's newest session. Raises NotFound."""
    for summary in transcripts.list(workspace):
        return summary.id
    raise NotFound("no session was begun in this workspace", hint="`clew` or `clew run` begins one")


def announced(opened: Opened, now: Instructions) -> tuple[str, ...]:
    """What to say where instruction files changed since the session read them."""
    names = changed_since(opened.instructions, now.digests)
    return tuple(
        f"{name} changed since this session began; what it says now holds: read it before you go on" for name in names
    )


def of_run(read: Read, number: int) -> Read:
    """One run of a session. Raises NotFound where there is none of that number."""
    kept = [line for line in read.lines[1:] if not isinstance(line, Opened) and line.run == number]
    if not kept:
        raise NotFound(f"the session {read.opened.id} has no run {number}", hint=f"it has {len(read.runs())}")
    return Read(read.opened, (read.opened, *kept))


def spot(transcripts: Transcripts, ref: str) -> tuple[str, Read]:
    """A reference to a session, a run (`#3`) or a step of it (`#3.5`; step 0 is the message) in its plain form, and the
    lines that it means. Raises NotFound, UsageError, StoreError."""
    name, hash_, place = ref.strip().removeprefix(SESSION).partition("#")
    match = _PLACE.fullmatch(place)
    if hash_ and match is None:
        raise UsageError(f"`#{printable(place, 40)}` names no run", hint="for instance #3, or #3.5 for its step 5")
    read = transcripts.read(transcripts.find(name))
    if match is None:
        return f"{SESSION}{read.opened.id}", read
    run, step = int(match[1]), match[2]
    read = of_run(read, run)
    if step is None:
        return f"{SESSION}{read.opened.id}#{run}", read
    kept = [line for line in read.lines[1:] if _step(line) == int(step)]
    if not kept:
        steps = max((_step(line) for line in read.lines), default=0)
        raise NotFound(f"the run {run} of the session {read.opened.id} has no step {int(step)}", hint=f"it has {steps}")
    return f"{SESSION}{read.opened.id}#{run}.{int(step)}", Read(read.opened, (read.opened, *kept))


def _step(line: Line) -> int:
    """The step that a line belongs to: 0 for the beginning of a run, -1 for what belongs to none."""
    match line:
        case Began():
            return 0
        case Replied(step=step) | Resulted(step=step) | Added(step=step):
            return step
        case _:
            return -1


def exported(read: Read) -> str:
    """A session as Markdown, for people."""
    opened = read.opened
    rows = [f"# Session {opened.id}", "", f"{opened.name} · {opened.cwd} · {opened.at}"]
    for line in read.lines[1:]:
        match line:
            case Began(run=run, at=at, model=model, message=message):
                rows += ["", f"## Run {run}", "", f"{at} · {model}", "", _quoted(message)]
            case Replied(text=text, calls=calls):
                rows += ["", text] if text.strip() else []
                for _, name, arguments in calls:
                    rows += ["", f"`{name}` {_fenced(msgspec.json.encode(arguments).decode(), 'json')}"]
            case Resulted(results=results):
                for _, name, text, failed in results:
                    cut = text if len(text) <= _LONGEST_RESULT else f"{text[:_LONGEST_RESULT]}\n…"
                    rows += ["", f"{name}{' failed' if failed else ''}: {_fenced(cut)}"]
            case Added(texts=texts):
                rows += [part for text in texts for part in ("", _quoted(text))]
            case Renewed(window=window, reason=reason):
                rows += ["", f"### Window {window}", "", reason]
            case Ended(outcome=outcome, reason=reason):
                rows += ["", f"*{outcome}{f': {reason}' if reason else ''}*"]
            case Opened():
                pass
    return "\n".join(rows) + "\n"


def _quoted(text: str) -> str:
    return "\n".join(f"> {row}".rstrip() for row in text.splitlines())


def _fenced(text: str, language: str = "") -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"\n{fence}{language}\n{text}\n{fence}"
