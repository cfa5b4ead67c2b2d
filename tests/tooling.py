"""Calls of the agent's tools, as the agent makes them: arguments are read, the effect is told, the call is made."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clew.core.agent.effects import Effect
from clew.core.text.redact import redact
from clew.services.tools.tool import Reply, Signal, Tool

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEow1bAAKCAQEAx7Q9z0fR\n" * 10 + "-----END RSA PRIVATE KEY-----\n"


def clean(text: str) -> str:
    """A text without its secrets."""
    return redact(text, b"k").text


def put(root: Path, name: str, content: str | bytes = "") -> Path:
    """A file below a folder."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


class Calls:
    """Makes calls by name and keeps the last effect."""

    def __init__(self, tools: Iterable[Tool[Any]]) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.signal = Signal(threading.Event())
        self.effect: Effect | None = None

    def __call__(self, name: str, **given: object) -> Reply:
        """The reply of a call that is allowed."""
        tool = self.tools[name]
        arguments = tool.read(given)
        effect = tool.effect(arguments)
        if isinstance(effect, Reply):
            self.effect = None
            return effect
        self.effect = effect
        return tool.run(arguments, effect, self.signal)

    def asked(self, name: str, **given: object) -> Effect:
        """What a call would do."""
        effect = self.tools[name].effect(self.tools[name].read(given))
        assert isinstance(effect, Effect), effect
        return effect

    def good(self, name: str, **given: object) -> str:
        """The text of a call that succeeds."""
        reply = self(name, **given)
        assert not reply.failed, reply.text
        return reply.text

    def refused(self, name: str, **given: object) -> str:
        """The text of a call that fails."""
        reply = self(name, **given)
        assert reply.failed and not reply.changed, reply.text
        return reply.text
