"""Runs that are over, as later runs of the session see them (R-06).

A run is rendered once, from what it left, and never again: what was sent once stays a prefix of what is sent later.
Old runs leave in batches, since a window that slides with each run changes the first thing after the stable layers
each time, and nothing behind that would be read from the provider's cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from clew.core.agent.events import Outcome
from clew.core.ports import Message
from clew.core.text.printable import printable

LEAST: Final = 10
"""Runs that are shown at least, where there are so many."""
MOST: Final = 20
"""Runs that are shown at most; one more, and all but LEAST + 1 leave at once."""
MOST_SAID: Final = 2_000
"""Characters of a user's message that a record keeps."""
MOST_REPLIED: Final = 4_000
"""Characters of a final reply that a record keeps."""
_PATHS = 6


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What is kept of a run for the runs after it."""

    number: int
    blocks: tuple[str, ...]
    """The user's part as it was sent: hints, shells, the message last."""
    final: str = ""
    """The final reply; of a run that did not finish, empty."""
    outcome: Outcome = "finished"
    reason: str = ""
    """Why it did not finish."""
    calls: int = 0
    """Tool calls that were made."""
    changed: tuple[str, ...] = ()
    """Paths that tools wrote, relative to the workspace where they lie in it."""
    recalled: tuple[str, ...] = ()
    """Ids of the notes that came to mind for what the assistant wrote."""
    last_words: str = ""
    """Of a run that did not finish: what was said last."""


def shown(count: int) -> int:
    """How many of the oldest of `count` runs have left: none up to MOST, then LEAST at a time."""
    return LEAST * max(0, -(-(count - MOST) // LEAST))


def recent(records: Sequence[RunRecord]) -> tuple[Message, ...]:
    """Messages of the runs that are shown, oldest first, in the roles in which they were said.

    What is said about a run follows it, as data in the user's role. Neighbours of one role are separate messages here;
    on the wire they are blocks of one.
    """
    messages: list[Message] = []
    for record in records[shown(len(records)) :]:
        *before, said = record.blocks
        messages.append(Message("user", (*before, capped(said, MOST_SAID))))
        if record.final.strip():
            messages.append(Message("assistant", (capped(record.final, MOST_REPLIED),)))
        messages.append(Message("user", (about(record),)))
    return tuple(messages)


def about(record: RunRecord) -> str:
    """One line that says how a run ended and what it left."""
    facts = [f"run {record.number}", record.outcome if record.final.strip() else f"{record.outcome}, no final reply"]
    if record.reason:
        facts[-1] += f" ({printable(record.reason)[:200]})"
    if record.calls:
        facts.append(f"{record.calls} tool call{'s' if record.calls > 1 else ''}")
    if record.changed:
        more = f" and {len(record.changed) - _PATHS} more" if len(record.changed) > _PATHS else ""
        facts.append(f"wrote {', '.join(printable(path) for path in record.changed[:_PATHS])}{more}")
    if record.recalled:
        facts.append(f"notes hinted while you worked: {', '.join(record.recalled)}")
    if record.last_words:
        facts.append(f"said last: {printable(record.last_words)[-300:]}")
    return f"[{'; '.join(facts)}]"


def capped(text: str, most: int) -> str:
    """The text, or its beginning and its end with a line between them that says how much is left out."""
    if len(text) <= most:
        return text
    head, tail = most * 2 // 3, most // 3
    left = len(text) - head - tail
    return (
        f"{text[:head]}\n[… {left} characters left out here; `session_search` finds them …]\n{text[len(text) - tail :]}"
    )
