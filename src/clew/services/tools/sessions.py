"""`session_search` and `delegate`: what was said before, and work for a sub-agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from clew.core.agent.effects import Effect
from clew.services.tools.memory import told
from clew.services.tools.tool import Reply, Signal, Tool, define

if TYPE_CHECKING:
    from clew.services.delegation import Delegation
    from clew.services.session_search import SessionSearch


@dataclass(frozen=True)
class Search:
    """Arguments of `session_search`."""

    query: str
    session: Annotated[str, Meta(description="only this session")] = ""


@dataclass(frozen=True)
class Delegate:
    """Arguments of `delegate`."""

    task: Annotated[str, Meta(description="what to find out or do, and what to answer")]
    context: Annotated[str, Meta(description="what it must know: files, findings, constraints")] = ""


def session_search_tool(search: Callable[[], SessionSearch]) -> Tool[Search]:
    """The tool."""

    def run(given: Search, effect: Effect, signal: Signal) -> Reply:
        return told(search().search(given.query, session=given.session))

    return define(
        "session_search",
        "Search what was said and done in this session and earlier ones; `memory_open` opens a hit.",
        Search,
        run,
    )


def delegate_tool(delegation: Delegation) -> Tool[Delegate]:
    """The tool."""

    def run(given: Delegate, effect: Effect, signal: Signal) -> Reply:
        return delegation.work(given.task, given.context, signal)

    def effect(given: Delegate) -> Effect | Reply:
        from clew.services.delegation import title  # noqa: PLC0415 -- most runs start none

        if not given.task.strip():
            return Reply("error: there is no task", failed=True)
        whole = f"{given.task}\n\n{given.context}".rstrip()
        return Effect("agent", title(given.task), whole, given.task)

    return define(
        "delegate",
        "Give a part of the work that stands alone to a sub-agent with a fresh window; it reads, runs commands and "
        "answers. Several at once.",
        Delegate,
        run,
        effect,
    )
