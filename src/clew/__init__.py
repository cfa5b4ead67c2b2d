"""Context that does not rot: decides what a model reads, and says why.

    import clew

    snapshot = clew.context("how is the cache keyed?", root="path/to/repository", max_tokens=16_000)
    snapshot.text()                   # the whole prompt
    snapshot.messages()               # the same as messages with blocks
    snapshot.report.one_line()        # what is in it, and why

    reply = clew.ask("how is the cache keyed?", model="ollama:qwen3")
    reply.text, reply.refs

    with clew.Agent("path/to/repository", allow=["edit:src/**"]) as agent:
        agent.run("make the retry test pass").final

`assemble` does the last step alone, without any file: fragments of your own, a Budget, a Frame. Everything is imported
when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False
"""As type checkers know it; the module that has it takes longer to import than all of this."""

if TYPE_CHECKING:
    from clew.adapters.tokenizers import tokenizer_for
    from clew.core.agent.effects import Effect
    from clew.core.agent.permissions import Permit
    from clew.core.agent.record import RunRecord
    from clew.core.context.assemble import assemble
    from clew.core.context.budget import Budget
    from clew.core.context.fragment import Exchange, Fragment
    from clew.core.context.layers import Frame, Snapshot, question_frame
    from clew.core.context.report import Report
    from clew.core.ports import Message
    from clew.entrypoints.library import Reply, ask, context
    from clew.entrypoints.library_agent import Agent
    from clew.errors import ClewError

__all__ = [
    "Agent", "Budget", "ClewError", "Effect", "Exchange", "Fragment", "Frame", "Message", "Permit", "Reply", "Report",
    "RunRecord", "Snapshot", "ask", "assemble", "context", "question_frame", "tokenizer_for",
]  # fmt: skip

_HOMES = {
    "Agent": "clew.entrypoints.library_agent",
    "Budget": "clew.core.context.budget",
    "ClewError": "clew.errors",
    "Effect": "clew.core.agent.effects",
    "Exchange": "clew.core.context.fragment",
    "Fragment": "clew.core.context.fragment",
    "Frame": "clew.core.context.layers",
    "Message": "clew.core.ports",
    "Permit": "clew.core.agent.permissions",
    "Reply": "clew.entrypoints.library",
    "Report": "clew.core.context.report",
    "RunRecord": "clew.core.agent.record",
    "Snapshot": "clew.core.context.layers",
    "ask": "clew.entrypoints.library",
    "assemble": "clew.core.context.assemble",
    "context": "clew.entrypoints.library",
    "question_frame": "clew.core.context.layers",
    "tokenizer_for": "clew.adapters.tokenizers",
}


def __getattr__(name: str) -> object:
    """A public name, imported now."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib  # noqa: PLC0415 - so that `import clew` costs next to nothing

    found = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
