"""Calls of the agent's tools, as the agent makes them: arguments are read, the effect is told, the call is made."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from clew.core.agent.effects import Effect
from clew.services.tools.tool import Reply, Signal, Tool


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
