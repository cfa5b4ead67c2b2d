"""An installed agent CLI as a model: one answer to one prompt, and nothing of what it can do beside that."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import secrets
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Final

from clew.adapters import shell_keeper
from clew.adapters.git_process import HERE, find_program
from clew.adapters.models.agent_clis import CLIS, AgentCli, Call, Failure, Reading
from clew.adapters.models.limits import limited
from clew.adapters.tokenizers import joined, tokenizer_for
from clew.core.context.fences import clean, mark_for
from clew.core.ports import Chunk, Message, Usage
from clew.errors import (
    ModelBusy,
    ModelCut,
    ModelError,
    ModelOverflow,
    ModelRefused,
    ModelUnavailable,
    ModelUnknown,
)

GRACE: Final = 2.0
"""Seconds between asking a CLI to end and killing it."""
LONGEST: Final = 3600.0
"""Seconds that a call may take, whatever the CLI is doing."""
_LOOK: Final = 0.5
"""Seconds of silence after which it is looked whether the CLI still runs: what it started may hold its output open."""
_PATIENCE_WHOLE: Final = 5
"""How many times the silence is borne of a CLI that prints its answer at the end."""
_LINE: Final = 8_000_000
"""Bytes of a line that are read at once; a longer one is no event."""
_TAIL: Final = 8192
"""Bytes of the errors' end that are kept."""
_SAID: Final = 300
"""Characters of a CLI's own words that are repeated."""
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?")
_LIKE_A_KEY = re.compile(r"\b(sk|key|pk|rk)-[A-Za-z0-9*_-]{4,}|(?<=[Bb]earer )\S+")
_VERSION = re.compile(r"\d+\.\d+\.\d+[\w.-]*")

_OVERFLOW = re.compile(
    r"context[ _](length|window|size)|prompt is too long|maximum context|too many (input )?tokens", re.I
)
_LOGIN = re.compile(
    r"log ?in\b|logged in|unauthorized|no api key|api key (not|is)|invalid.{0,20}(api[ _-]?key|token|credential)"
    r"|authenticat|oauth|expired (token|session)|no models available",
    re.I,
)
_QUOTA = re.compile(r"quota|billing|credit|usage limit|(session|weekly|hour) limit", re.I)
_OLD = re.compile(r"(unknown|unexpected|unrecognized) (option|argument|arguments)\b", re.I)
_NO_MODEL = re.compile(
    r"model.{0,80}(not found|does not exist|not exist|unknown|not supported)|(unknown|no such) model", re.I
)
_DOWN = re.compile(r"connect|network|ECONN|ENOTFOUND|timed? ?out|overloaded|high demand|disconnected", re.I)


def find(name: str, environ: Mapping[str, str]) -> str:
    """The program of this name on PATH; empty where there is none. What lies in the workspace around the current
    folder must not be taken for an agent of the user's.
    """
    return (find_program(environ, name, around=HERE) or "") if environ.get("PATH") else ""


def version(program: str) -> str:
    """The version of an installed CLI; empty where it cannot be told.

    The package that it came with tells it without a start; otherwise the program is asked once with `--version`.
    """
    try:
        stamp = os.stat(program).st_mtime_ns
    except OSError:
        return ""
    return _version(program, stamp)


@lru_cache(maxsize=16)
def _version(program: str, _stamp: int) -> str:
    real = Path(os.path.realpath(program))
    for folder in list(real.parents)[:4]:
        try:
            package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(package, dict) and isinstance(package.get("bin"), dict | str) and package.get("version"):
            return str(package["version"])
    if named := next((part for part in reversed(real.parts) if _VERSION.fullmatch(part)), ""):
        return named
    try:
        done = subprocess.run(
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=5, check=False, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = _VERSION.search(done.stdout.decode("utf-8", "replace"))
    return found[0] if found else ""


class AgentCliModel:
    """A CLI for coding agents that answers as a model.

    It runs in an empty folder of its own, which is gone afterwards, in a process group of its own, which is ended
    with the answer, with the iterator, and with Ctrl-C. The prompt goes in over standard input: a command line has
    a limit, and everybody can read it. The system prompt is a file in that folder where the CLI takes one.
    """

    def __init__(self, provider: str, model: str, environ: Mapping[str, str], silence: float) -> None:
        """Raises ModelUnknown where the program is not installed, or `model` would be taken for an option."""
        self.name = f"{provider}:{model}" if model else provider
        self._cli = CLIS[provider]
        self._model = model
        self._environ = environ
        self._silence = silence
        """Seconds without a sign of life, at the start or while the CLI tries again."""
        self._working = silence * (_PATIENCE_WHOLE if self._cli.whole else 1)
        """Seconds without one while it works."""
        self._program = find(provider, environ)
        if not self._program:
            raise ModelUnknown(
                f"{self._cli.title} is not installed: there is no `{provider}` on PATH",
                hint=f"npm install -g {self._cli.package}",
            )
        if model.startswith("-"):
            raise ModelUnknown(f"{provider}: {model} is no model", hint=f"{provider}:NAME, or {provider} alone")

    def stream(self, messages: Sequence[Message], *, limit: int) -> Iterator[Chunk]:
        """Stream the answer; the last chunk holds the usage. See `Model.stream`.

        No CLI takes a limit: one that streams is ended when its answer reaches it, which is ModelCut with
        `reason="limit"`; one that prints its answer as a whole may go beyond.
        """
        system, prompt = laid_out(messages, own_system=self._cli.own_system)
        if _open_weights(self.name):
            prompt = joined(prompt)
        with contextlib.ExitStack() as stack:
            try:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="clew-", ignore_cleanup_errors=True))
                # A folder of its own below, so that a relative path in a prompt leads to nothing.
                work, file = Path(folder, "work"), Path(folder, "system.md")
                work.mkdir()
                if system:
                    file.write_text(system, encoding="utf-8")
                call = Call(self._program, self._model, str(file) if system else "", self._environ)
                running = _Running(self._cli, call, str(work), prompt)
                stack.callback(running.end)
            except OSError as error:
                hint = f"`{self._cli.name}` alone shows whether it starts; TMPDIR must name a folder for files"
                raise ModelError(f"{self.name}: it could not be started: {error.strerror}", hint=hint) from error
            yield from self._answer(running, limit)

    def _answer(self, running: _Running, limit: int) -> Iterator[Chunk]:
        reading, spent, tokenizer = Reading(), 0, tokenizer_for(self.name)
        began = heard_at = time.monotonic()
        works = looked = False
        while reading.failure is None or not reading.heard:
            patience = self._working if works and not reading.trouble else self._silence
            until = min(heard_at + patience, began + LONGEST)
            try:
                line = running.lines.get(timeout=max(min(until - time.monotonic(), _LOOK), 0))
            except queue.Empty:
                if running.ended():
                    if reading.done or looked:
                        break
                    looked = True  # once more: its last words may be on their way
                if time.monotonic() >= until:
                    raise self._silent(reading, time.monotonic() - heard_at) from None
                continue
            if line is None:
                break
            for text in filter(None, _read(self._cli, line, reading)):
                reading.heard = True
                yield Chunk(text)
                spent += tokenizer.count(text)
            if not reading.trouble:
                works, heard_at = True, time.monotonic()
            if spent > limit and not self._cli.whole:
                raise limited(self.name, limit, empty=False)
        self._judge(running, reading, limit)
        yield Chunk(usage=reading.usage or Usage())
        if reading.cut:
            raise limited(self.name, limit, empty=not reading.heard)

    def _judge(self, running: _Running, reading: Reading, limit: int) -> None:
        """Raise what is wrong with the end."""
        if reading.failure is not None:
            raise self._explained(reading.failure, heard=reading.heard)
        if reading.done and reading.heard:
            return
        if reading.done and reading.cut:
            raise limited(self.name, limit, empty=True)
        status, tail = running.outcome()
        if reading.done:
            raise ModelError(f"{self.name}: the answer is empty", hint="ask again, or choose another model")
        ended = "it ended" if status is None else f"it ended with status {status}"
        said = _short(reading.trouble or tail)
        if reading.heard:
            raise self._explained(Failure(f"{ended} before the answer was complete"), heard=True)
        raise self._explained(Failure(said or f"{ended} without an answer"), heard=False)

    def _silent(self, reading: Reading, seconds: float) -> ModelError:
        why = f": {_short(reading.trouble)}" if reading.trouble else ""
        if reading.heard:
            return ModelCut(
                f"{self.name}: the answer was cut off: nothing came for {seconds:.0f} s{why}",
                hint="what came is kept; ask again for the whole answer",
                reason="connection",
            )
        return ModelUnavailable(
            f"{self.name}: nothing came for {seconds:.0f} s{why}",
            hint=f"`{self._cli.name}` alone shows whether it answers; `timeout` in the settings allows more time",
        )

    def _explained(self, failure: Failure, *, heard: bool) -> ModelError:
        """The error of Clew for what a CLI says."""
        name, cli, status = self.name, self._cli, failure.status
        said = _short(failure.said)
        told = f"{name}: {said}"
        if heard:
            return ModelCut(
                f"{name}: the answer was cut off: {said}",
                hint="what came is kept; ask again for the whole answer",
                reason="connection",
            )
        if failure.kind == "overflow" or status == 413 or _OVERFLOW.search(said):
            return ModelOverflow(told, hint="lower `max_tokens`, attach less, or choose a model with a larger window")
        if _OLD.search(said):
            return ModelError(
                f"{told}: this version does not know how Clew calls it",
                hint=f"npm install -g {cli.package}@latest; Clew is tried with {cli.version}",
            )
        if _QUOTA.search(said) and status in (None, 402, 403, 429):
            return ModelRefused(told, hint="look at the plan of the account, or choose another model", quota=True)
        if failure.kind == "login" or status in (401, 403) or (status is None and _LOGIN.search(said)):
            return ModelRefused(told, hint=cli.login)
        if status == 429 or re.search(r"rate limit|too many requests", said, re.I):
            return ModelBusy(told, hint="try again in a while, or choose another model")
        if status == 404 or _NO_MODEL.search(said):
            return ModelUnknown(told, hint=f"{cli.name}:NAME takes the names that `{cli.name}` takes")
        if (status is not None and status >= 500) or _DOWN.search(said):
            return ModelUnavailable(told, hint="try again, or choose another model", failed=True)
        return ModelError(told, hint=f"`{cli.name}` alone shows whether it answers")


def laid_out(messages: Sequence[Message], *, own_system: bool) -> tuple[str, str]:
    """System prompt and prompt, each as one text. Without a system prompt of its own, it stands at the prompt's head.

    What came before the last message of the user is fenced with a mark that no text holds, as fragments are.
    """
    system = "\n\n".join(block for one in messages if one.role == "system" for block in one.blocks if block.strip())
    talk = [(one.role, text) for one in messages if one.role != "system" and (text := _text(one))]
    earlier, (_, last) = talk[:-1], talk[-1] if talk else ("user", "")
    texts = [system, last, *(text for _, text in earlier)]
    mark = mark_for(texts, texts)
    parts = [f"<instructions {mark}>\n{system}\n</instructions {mark}>"] if system and not own_system else []
    parts += [f"<earlier {mark} {role}>\n{text}\n</earlier {mark}>" for role, text in earlier]
    # A prompt that begins like a command of the CLI would be taken for one.
    if not parts and not re.match(r"[\w<]", last):
        parts.append("Question:")
    return clean(system) if own_system else "", clean("\n\n".join([*parts, last]))


def _text(message: Message) -> str:
    return "\n\n".join(block for block in message.blocks if block.strip())


def _open_weights(name: str) -> bool:
    """Whether a model with open weights may answer, which could take control tokens from text."""
    provider, _, model = name.partition(":")
    return provider in ("pi", "opencode") and not model.startswith(("anthropic/", "google/", "openai/"))


def _read(cli: AgentCli, line: bytes, reading: Reading) -> Iterator[str]:
    try:
        event: Any = json.loads(line)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        reading.unknown += bool(line.strip())
        return
    try:
        yield from cli.read(event, reading)
    except (AttributeError, TypeError, ValueError):
        # Another version may have put something else where a table or a number was.
        reading.unknown += 1


def _short(said: str) -> str:
    """A CLI's words on one line, short, without anything like a key."""
    text = " ".join(_LIKE_A_KEY.sub("…", _ANSI.sub("", said)).split())
    text = "".join(character for character in text if character.isprintable())
    return f"{text[:_SAID]}{'…' if len(text) > _SAID else ''}"


class _Running:
    """A CLI that runs."""

    def __init__(self, cli: AgentCli, call: Call, folder: str, prompt: str) -> None:
        """Start it. Raises OSError."""
        token = secrets.token_hex(8)
        self._value = f"{token}.cli\0"
        self._child = subprocess.Popen(
            cli.command(call),
            cwd=folder,
            env=cli.environment(call, folder) | {shell_keeper.VARIABLE: f"{token}.cli"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.lines: queue.Queue[bytes | None] = queue.Queue(maxsize=1000)
        self._tail = b""
        self._closed = False
        pipes = self._child.stdin, self._child.stdout, self._child.stderr
        assert pipes[0] and pipes[1] and pipes[2]
        work = ((self._write, (pipes[0], prompt.encode())), (self._hear, (pipes[1],)), (self._mind, (pipes[2],)))
        self._threads = [threading.Thread(target=run, args=args, daemon=True, name="clew-cli") for run, args in work]
        for thread in self._threads:
            thread.start()

    def outcome(self) -> tuple[int | None, str]:
        """Its exit status, None while it runs or when a signal ended it, and the end of what it said on the side."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(GRACE)
        self._threads[2].join(GRACE)
        status = self._child.returncode
        return (status if status is not None and status >= 0 else None), self._tail.decode("utf-8", "replace")

    def ended(self) -> bool:
        """Whether the program itself has ended. Not reaped here: so long its id names its group and no other."""
        if not hasattr(os, "waitid"):
            return self._child.poll() is not None
        try:
            return os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def end(self) -> None:
        """End it with all that it started."""
        self._closed = True
        leaders = () if self._child.returncode is not None else (self._child.pid,)
        shell_keeper.end(self._value, leaders, GRACE)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(GRACE)
        for thread in self._threads:
            # A full queue would hold its thread.
            while thread.is_alive() and not self.lines.empty():
                with contextlib.suppress(queue.Empty):
                    self.lines.get_nowait()
            thread.join(GRACE)

    def _write(self, pipe: IO[bytes], prompt: bytes) -> None:
        with contextlib.suppress(OSError, ValueError), pipe:
            pipe.write(prompt)

    def _hear(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError), pipe:
            while not self._closed and (line := pipe.readline(_LINE)):
                self.lines.put(line)
        self.lines.put(None)

    def _mind(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError), pipe:
            while piece := pipe.read1(65_536):  # type: ignore[attr-defined]
                self._tail = (self._tail + piece)[-_TAIL:]
