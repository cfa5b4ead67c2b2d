"""`new_context`: the model asks for a fresh window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clew.core.agent.effects import Effect
from clew.errors import ClewError
from clew.services.tools.tool import Reply, Signal, Tool, define


@dataclass(frozen=True, slots=True)
class NewContext:
    """Arguments of `new_context`."""

    reason: str = ""


def new_context_tool(begin: Callable[[str], str]) -> Tool[NewContext]:
    """The tool. `begin` saves the handoff and says where it is; raises where it could not be saved."""

    def run(given: NewContext, effect: Effect, signal: Signal) -> Reply:
        try:
            ref = begin(given.reason or "asked for by the agent")
        except ClewError as error:
            hint = f"; {error.hint}" if error.hint else ""
            return Reply(f"no fresh window: the handoff could not be saved: {error}{hint}", failed=True)
        return Reply(f"a fresh window begins; handed over: {ref}" if ref else "a fresh window begins")

    def effect(given: NewContext) -> Effect:
        return Effect("memory", "begin a fresh window")

    return define(
        "new_context",
        "Begin a fresh window: what was said leaves it, the handoff and the plan stay.",
        NewContext,
        run,
        effect,
        alone=True,
    )
