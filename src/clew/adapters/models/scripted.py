"""A model that plays a script: for tests, demonstrations and offline trials. It records what it was asked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import clew.errors as errors
from clew.core.ports import Chunk, Message, Usage
from clew.errors import ConfigError, ModelCut, ModelError, NotFound

_PIECE = re.compile(r"\s*\S+\s*")


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the script."""

    text: str = ""
    usage: Usage | None = None
    error: ModelError | None = None
    """Raised instead of the rest of the answer."""
    after: int | None = None
    """Pieces that come before `error`; None stands for none of them. Each piece is a word."""
    when: str = ""
    """Only for a request whose last user message contains this."""

    def pieces(self) -> list[str]:
        """Return the text as it is streamed: word by word, nothing lost."""
        return _PIECE.findall(self.text) or ([self.text] if self.text else [])


@dataclass(slots=True)
class ScriptedModel:
    """Plays `replies` in order; a reply with a `when` is preferred where it matches and may be played again and again.

    `requests` holds the messages of every request, `limits` the limit of each.
    """

    replies: Sequence[Reply | str] = ()
    name: str = "scripted:test"
    requests: list[tuple[Message, ...]] = field(default_factory=list[tuple[Message, ...]])
    limits: list[int] = field(default_factory=list[int])
    closed: int = 0
    """How many streams the caller closed before their end."""
    _next: int = 0

    def stream(self, messages: Sequence[Message], *, limit: int) -> Iterator[Chunk]:
        """Stream the next reply. Raises ModelCut when the script is at its end, and what the reply asks for."""
        self.requests.append(tuple(messages))
        self.limits.append(limit)
        reply = self._reply(messages)
        return self._played(reply)

    def _played(self, reply: Reply) -> Iterator[Chunk]:
        pieces = reply.pieces()
        if reply.error is not None:
            pieces = pieces[: reply.after or 0]
        done = False
        try:
            for piece in pieces:
                yield Chunk(piece)
            if reply.error is not None:
                done = True
                raise reply.error
            done = True
            yield Chunk(usage=reply.usage or Usage())
        finally:
            self.closed += not done

    def _reply(self, messages: Sequence[Message]) -> Reply:
        replies = [Reply(reply) if isinstance(reply, str) else reply for reply in self.replies]
        asked = next(("".join(message.blocks) for message in reversed(messages) if message.role == "user"), "")
        for reply in replies:
            if reply.when and reply.when in asked:
                return reply
        rest = [reply for reply in replies if not reply.when]
        if self._next < len(rest):
            self._next += 1
            return rest[self._next - 1]
        return Reply(error=ModelCut(f"{self.name}: the script is at its end", hint="add a reply to it"))


def read_script(path: Path) -> ScriptedModel:
    """Return the model for a script: JSON, `{"replies": ["text", {"text", "when", "usage", "error", "after"}]}`.

    `error` is the name of a model error of `clew.errors`. Raises NotFound and ConfigError.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFound(f"there is no script {path}", hint="scripted:FILE names a JSON file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the script {path} cannot be read", hint=str(error)) from error
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}:{error.lineno}: no JSON", hint=error.msg) from error
    replies = content.get("replies") if isinstance(content, dict) else None
    if not isinstance(replies, list) or not replies:
        raise ConfigError(f"{path}: `replies` is missing", hint='a script is {"replies": ["an answer"]}')
    read = [_read_reply(reply, f"{path}: reply {number}") for number, reply in enumerate(replies, 1)]
    return ScriptedModel(read, name=f"scripted:{path}")


def _read_reply(value: Any, place: str) -> Reply:
    if isinstance(value, str):
        return Reply(value)
    if not isinstance(value, dict):
        raise ConfigError(f"{place} is neither a text nor a table")
    if unknown := set(value) - {"text", "when", "usage", "error", "message", "after"}:
        raise ConfigError(
            f"{place}: unknown {', '.join(sorted(unknown))}", hint="text, when, usage, error, message, after"
        )
    usage = value.get("usage")
    numbers = [usage.get(name) for name in ("input", "cached", "output")] if isinstance(usage, dict) else []
    after = value.get("after")
    texts = [value.get(name, "") for name in ("text", "when", "message", "error")]
    if not all(isinstance(text, str) for text in texts) or not all(
        number is None or isinstance(number, int) for number in (*numbers, after)
    ):
        raise ConfigError(f"{place}: a value is of the wrong kind", hint="texts are texts, counts are whole numbers")
    return Reply(
        text=texts[0],
        when=texts[1],
        usage=Usage(*numbers) if numbers else None,
        error=_error(texts[3], texts[2], place) if texts[3] else None,
        after=after,
    )


def _error(name: str, message: str, place: str) -> ModelError:
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, ModelError)):
        known = ", ".join(kind.__name__ for kind in ModelError.__subclasses__())
        raise ConfigError(f"{place}: `{name}` is no model error", hint=known)
    return kind(message, hint="the script asked for this error")
