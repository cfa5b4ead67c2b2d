"""A world for the agent: a home, a repository, a scripted model; each run is checked on the wire.

`World.run` starts the real command. Whatever a test is about, every request of every run is looked at: tools, system
and messages in order, marks for a cache aside, each begins with all bytes of the one before, or is the same once more.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.command import ARGV, Done, clew, environ
from tests.scripted_server import Asked, Call, ScriptedServer, Turn, serving

from clew.adapters.models.engine import Engine
from clew.app import App
from clew.core.agent.effects import Effect
from clew.core.agent.events import Event
from clew.core.agent.permissions import Permit
from clew.core.agent.record import RunRecord
from clew.entrypoints.cli.main import main
from clew.services.agent_room import limits_of
from clew.services.dump import Dump, about_of
from clew.services.run import Session

Decide = Callable[[Asked], Turn]
Kind = TypeVar("Kind")


def laid_out(body: Mapping[str, Any]) -> str:
    """A request as caches hash it: tools, system, messages; without the marks."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: bare(one) for key, one in value.items() if key != "cache_control"}
        return [bare(one) for one in value] if isinstance(value, list) else value

    pieces: list[str] = [json.dumps(bare(tool)) for tool in body.get("tools", ())]
    system = body.get("system", ())
    pieces += [json.dumps(bare(block)) for block in ([system] if isinstance(system, str) else system)]
    for message in body["messages"]:
        content = message["content"]
        rest = {key: value for key, value in message.items() if key != "content"}
        for block in content if isinstance(content, list) else [content]:
            pieces.append(json.dumps(bare({**rest, "content": block})))
    return "\n".join(pieces) + "\n"


def demand_extension(asked: Sequence[Asked]) -> None:
    """Each request begins with the one before it."""
    for number, (one, other) in enumerate(itertools.pairwise(asked), 2):
        before, after = laid_out(one.json), laid_out(other.json)
        if not after.startswith(before):
            place = next((at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(after))
            seen = [f"…{text[max(0, place - 80) : place + 160]}…" for text in (before, after)]
            raise AssertionError(
                f"request {number} breaks off from the one before it at byte {place}:\n" + "\n".join(seen)
            )


def told(asked: Asked, *, system: bool = False) -> str:
    """All that the model reads in a request, as one text; with `system`, the system prompt as well."""
    body = asked.json
    found: list[str] = []

    def collect(value: Any) -> None:
        match value:
            case str():
                found.append(value)
            case list():
                for one in value:
                    collect(one)
            case {"text": str(text)}:
                found.append(text)
            case {"content": inner}:
                collect(inner)
            case {"input": inner}:
                found.append(json.dumps(inner))
            case _:
                pass

    if system:
        collect(body.get("system", ()))
    collect(body["messages"])
    return "\n".join(found)


def last_user(asked: Asked) -> list[str]:
    """The texts of the last message: blocks of text, and what tools answered."""
    content = asked.json["messages"][-1]["content"]
    if isinstance(content, str):
        return [content]
    found: list[str] = []
    for block in content:
        if block["type"] == "text":
            found.append(block["text"])
        elif block["type"] == "tool_result":
            inner = block["content"]
            found.append(inner if isinstance(inner, str) else "".join(one["text"] for one in inner))
    return found


@dataclass
class World:
    """Where the agent works."""

    repository: Path
    home: Path
    server: ScriptedServer
    windows: bool = False
    """Whether this world's runs may open a fresh window: then only what lies between is checked."""
    environment: dict[str, str | None] = field(default_factory=dict[str, str | None])

    def command(self, *arguments: str, **more: Any) -> Done:
        """Any command of Clew, in the repository, in a process of its own."""
        env = {**self.model, **self.environment, **more.pop("env", {})}
        return clew(*arguments, cwd=more.pop("cwd", self.repository), env=env, **more)

    def inside(
        self, *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, stdin: str = ""
    ) -> Done:
        """The same command, from its first line on, within this process: an agent takes a second to load."""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        streams = sys.stdin, sys.stdout, sys.stderr
        variables = {**self.model, **self.environment, **(env or {})}
        before = dict(os.environ)
        handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
        sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"), out, err
        try:
            os.environ.update({name: value for name, value in variables.items() if value is not None})
            with contextlib.chdir(cwd or self.repository):
                main(arguments)
            status: object = 0
        except SystemExit as stop:
            status = stop.code
        finally:
            sys.stdin, sys.stdout, sys.stderr = streams
            os.environ.clear()
            os.environ.update(before)
            for number, handler in handlers.items():
                signal.signal(number, handler)
        texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
        return Done(status if isinstance(status, int) else 1, *texts)

    def run(self, message: str, *options: str, play: Sequence[Turn] | Decide, **more: Any) -> Done:
        """One run of the agent. `play` are the turns of the model, or what says them."""
        before = len(self.server.posts())
        self._play(play)
        done = self.inside("run", message, *options, **more)
        self.check(before)
        return done

    @contextmanager
    def started(self, message: str, *options: str) -> Iterator[subprocess.Popen[str]]:
        """A run that goes on while the test looks at its events, line by line."""
        process = subprocess.Popen(
            [*ARGV, "run", message, "--json", *options],
            cwd=self.repository,
            env=environ({**self.model, **self.environment}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with process:
            try:
                yield process
            finally:
                process.kill()

    @property
    def model(self) -> dict[str, str]:
        """The environment that names the scripted model."""
        return {
            "CLEW_MODEL": "anthropic:claude-sonnet-5",
            "ANTHROPIC_BASE_URL": self.server.url,
            "ANTHROPIC_API_KEY": "test-key-0123456789",
        }

    def check(self, before: int = 0) -> None:
        """Look at all requests since `before` of them were there, those of each sub-agent by themselves."""
        own, *others = conversations(self.server.posts()[before:])
        for window in windows(own) if self.windows else [own]:
            demand_extension(window)
        for other in others:
            demand_extension(other)
        delegated = sum(b'"delegated":"' in path.read_bytes().partition(b"\n")[0] for path in self.sessions())
        assert len(others) <= delegated, "a sub-agent's first request was sent in more than one form"

    def asked(self) -> list[Asked]:
        """Every request for an answer."""
        return self.server.posts()

    def events(self, message: str, *options: str, play: Sequence[Turn] | Decide, **more: Any) -> list[dict[str, Any]]:
        """One run, as JSON events."""
        done = self.run(message, *options, "--json", play=play, **more)
        return [json.loads(row) for row in done.out.splitlines()]

    @contextmanager
    def talk(self, id_: str = "") -> Iterator[Talk]:
        """A session within this process, over the same doors: for many runs, each of which is checked as well."""
        given = {name: value for name, value in self.environment.items() if value is not None}
        app = App({**os.environ, **self.model, **given}, self.repository, {})
        room = app.agent_room(yes=True)
        with room.again(id_, "") if id_ else room.new("anthropic:claude-sonnet-5") as session:
            yield Talk(self, app, session)

    def sessions(self) -> list[Path]:
        """The transcripts, oldest first."""
        return sorted((self.home / "clew" / "sessions").glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)

    def lines(self, session: int = -1) -> list[dict[str, Any]]:
        """What the transcript of a session holds."""
        return [json.loads(row) for row in self.sessions()[session].read_text(encoding="utf-8").splitlines()]

    def _play(self, play: Sequence[Turn] | Decide) -> None:
        self.server.decide = play if callable(play) else None
        if not callable(play):
            self.server.turns = list(play)


@dataclass
class Talk:
    """A session that is held open."""

    world: World
    app: App
    session: Session
    events: list[Event] = field(default_factory=list[Event])
    words: list[str] = field(default_factory=list[str])
    """What the user says while the agent works."""
    answers: list[Permit] = field(default_factory=list[Permit])
    asked: list[Effect] = field(default_factory=list[Effect])
    attended: bool = True
    model: str | None = None
    """Another model than that of the world."""

    def run(
        self, message: str, *play: Turn, decide: Decide | None = None, dump: Path | None = None, **limits: Any
    ) -> RunRecord:
        """One run, checked on the wire."""
        before = len(self.world.asked())
        self.world._play(decide or play)
        endpoint = self.app.catalogue.endpoint(self.model)
        writer = None if dump is None else Dump(dump, lambda: about_of(self.session, endpoint.name))
        kept = limits_of(endpoint, answer=None, steps=limits.get("steps"), window=limits.get("window"))
        record = self.session.run(message, Engine(endpoint, writer), kept, self)
        self.world.check(before)
        return record

    def told(self, kind: type[Kind]) -> list[Kind]:
        """The events of one kind, so far."""
        return [event for event in self.events if isinstance(event, kind)]

    def tell(self, event: Event) -> None:
        """Kept."""
        self.events.append(event)

    def permit(self, effect: Effect) -> Permit:
        """The next answer; without one, no."""
        self.asked.append(effect)
        return self.answers.pop(0) if self.answers else Permit(False, "not now")

    def said(self) -> list[str]:
        """Words since the last call."""
        words, self.words = self.words, []
        return words


def of_sub_agent(asked: Asked) -> bool:
    """Whether a sub-agent asks."""
    return "You are a sub-agent" in json.dumps(asked.json.get("system", ()))


def conversations(asked: Sequence[Asked]) -> list[list[Asked]]:
    """Requests by who asks: those of the agent, then those of each sub-agent, told apart by what they begin with."""
    parts: dict[str, list[Asked]] = {"": []}
    for one in asked:
        first = {**one.json, "messages": one.json["messages"][:1]}
        parts.setdefault(laid_out(first) if of_sub_agent(one) else "", []).append(one)
    return list(parts.values())


def windows(asked: Sequence[Asked]) -> list[list[Asked]]:
    """Requests by window: a request with fewer messages than the one before it begins a new one; so does one with as
    many behind another handoff."""
    parts: list[list[Asked]] = []
    for one in asked:
        last = parts[-1][-1].json["messages"] if parts else []
        now = one.json["messages"]
        if len(now) < len(last) or not parts or (len(now) == len(last) and _handed(now) != _handed(last)):
            parts.append([])
        parts[-1].append(one)
    return parts


def _handed(messages: Sequence[Any]) -> list[Any]:
    return [block for block in messages[0]["content"] if "[handoff] This window goes on" in json.dumps(block)]


@contextmanager
def world(repository: Path, home: Path) -> Iterator[World]:
    """A world with a model of its own, until the end of the block."""
    with serving() as server:
        yield World(repository, home, server)


def says(*pieces: str) -> Turn:
    """A final answer."""
    return Turn(pieces)


def calls(*made: Call | tuple[str, Mapping[str, Any]], text: str = "") -> Turn:
    """An answer that calls tools."""
    return Turn((text,) if text else (), tuple(one if isinstance(one, Call) else Call(*one) for one in made))
