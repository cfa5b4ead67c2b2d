"""What a run tells, in the words of the protocol: text, thoughts, tool calls with their diffs, the plan."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import acp
from acp.helpers import SessionUpdate, ToolCallContentVariant
from acp.schema import AgentPlanUpdate, PlanEntryStatus, ToolCallLocation, ToolKind

from clew.core.agent.events import (
    Called,
    Calling,
    Delegated,
    Drifted,
    Event,
    Hinted,
    Notice,
    Retrying,
    Text,
    Thinking,
    WindowOpened,
)
from clew.core.handoff.plan import Plan
from clew.core.text.printable import printable
from clew.stores.transcripts import Began, Read, Replied

KINDS: Final[Mapping[str, ToolKind]] = {
    "read": "read", "write_file": "edit", "edit_file": "edit", "glob": "search", "grep": "search",
    "diagnostics": "read", "session_search": "search", "shell": "execute", "terminal_spawn": "execute",
    "terminal_send": "execute", "terminal_read": "read", "terminal_snapshot": "read", "terminal_list": "read",
    "terminal_kill": "execute", "memory_recall": "search", "memory_open": "read", "memory_note": "think",
    "memory_log": "think", "delegate": "think", "new_context": "think",
}  # fmt: skip
"""What the tools are to an editor; all others are `other`."""
_LONGEST: Final = 4_000
"""Characters of a tool's answer that are shown; the model reads all of it."""
_HUNK = re.compile(r"@@ -(\d+)[^@]*@@")

Words = Callable[[str], str]
"""Says a text in the user's language."""


def update_of(event: Event, call: Callable[[str], str], root: str, words: Words) -> SessionUpdate | None:
    """The update for an event; None where an editor has no use for it. `call` makes the id of a tool call."""
    match event:
        case Text(text=text) if text:
            return acp.update_agent_message_text(text)
        case Thinking(text=text) if text:
            return acp.update_agent_thought_text(text)
        case Calling():
            places = [ToolCallLocation(path=path) for path in _named(event.arguments, root)]
            return acp.start_tool_call(
                call(event.id), printable(event.title, 200), kind=KINDS.get(event.name, "other"),
                status="in_progress", locations=places, raw_input=event.arguments,
            )  # fmt: skip
        case Called():
            places = [ToolCallLocation(path=path) for path in event.changed]
            return acp.update_tool_call(
                call(event.id), status="failed" if event.failed else "completed",
                content=shown(event.view, event.changed) or [_text(event.text)], locations=places or None,
            )  # fmt: skip
        case _:
            line = _aside(event, words)
            return acp.update_agent_thought_text(line + "\n") if line else None


def _aside(event: Event, words: Words) -> str:
    """What the user should know and the model did not say, on one line."""
    match event:
        case Hinted(ids=ids, names=names):
            told = ", ".join(f"{printable(name)} ({id_})" for id_, name in zip(ids, names, strict=True))
            return f"{words('Notes that came to mind')}: {told}"
        case Retrying(reason=reason, wait=wait):
            seconds = f"{wait:.1f}".removesuffix(".0")
            return f"{words('The request is sent again')} ({seconds} s): {words(printable(reason))}"
        case WindowOpened(window=window, reason=reason):
            return f"{words('A fresh window')} ({window}): {printable(reason)}"
        case Drifted(missing=missing, contradicted=contradicted):
            return f"{words('What is said differs from what was handed over')}: {'; '.join((*missing, *contradicted))}"
        case Delegated(event=Calling(title=title)):
            return f"‣ {printable(title, 200)}"
        case Notice(text=text):
            return words(printable(text))
        case _:
            return ""


def shown(view: str, paths: Sequence[str]) -> list[ToolCallContentVariant]:
    """The diff of one file, in unified form, as an editor shows it, one piece a hunk; empty for what is none."""
    lines = view.split("\n")
    if len(paths) != 1 or len(lines) < 3 or not (lines[0].startswith("--- ") and lines[1].startswith("+++ ")):
        return []
    new = lines[0] == "--- /dev/null"
    return [acp.tool_diff_content(paths[0], after, None if new else before) for before, after in _hunks(lines[2:])]


def _hunks(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Text before and after of each hunk."""
    before: list[str] = []
    after: list[str] = []
    for line in [*lines, "@@ -0 @@"]:
        if _HUNK.match(line):
            if before or after:
                yield "".join(before), "".join(after)
            before, after = [], []
        elif line.startswith("-"):
            before.append(line[1:] + "\n")
        elif line.startswith("+"):
            after.append(line[1:] + "\n")
        elif line.startswith(" "):
            before.append(line[1:] + "\n")
            after.append(line[1:] + "\n")


def _text(text: str) -> ToolCallContentVariant:
    more = f"\n… {len(text) - _LONGEST}" if len(text) > _LONGEST else ""
    return acp.tool_content(acp.text_block(text[:_LONGEST] + more))


def _named(arguments: Mapping[str, Any], root: str) -> list[str]:
    """The file that a call names, as a whole path."""
    path = arguments.get("path")
    return [os.path.normpath(os.path.join(root, path))] if isinstance(path, str) and path else []


def plan_of(plan: Plan) -> AgentPlanUpdate:
    """The steps of a plan; the first open one is at work."""
    first = plan.next

    def status(done: bool, now: bool) -> PlanEntryStatus:
        return "completed" if done else "in_progress" if now else "pending"

    entries = [acp.plan_entry(one.text, status=status(one.done, one is first)) for one in plan.steps if not one.dropped]
    return acp.update_plan(entries)


def told_before(read: Read) -> Iterator[SessionUpdate]:
    """A session that goes on, as it was: what the user said, what the model said, the tools that it called."""
    for line in read.lines:
        match line:
            case Began(message=message):
                yield acp.update_user_message_text(message)
            case Replied():
                if line.text:
                    yield acp.update_agent_message_text(line.text)
                for id_, name, arguments in line.calls:
                    yield acp.start_tool_call(
                        f"{line.run}:{id_}", name, kind=KINDS.get(name, "other"), status="completed",
                        raw_input=arguments,
                    )  # fmt: skip
            case _:
                pass
