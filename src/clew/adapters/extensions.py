"""What installed packages want the model to read: entry points of the group `clew.injections` (R-04).

An entry point names a text, or a function without arguments that gives one. It is loaded when a session begins, once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import Final

from clew.core.agent.prompt import Injection
from clew.core.text.printable import printable, visible

GROUP: Final = "clew.injections"
MOST: Final = 4_000
"""Characters of one text; more is cut, which is said."""


def installed_injections(redact: Callable[[str], str]) -> tuple[tuple[Injection, ...], Sequence[str]]:
    """The texts, by name, and what to tell the user of those that could not be had."""
    found: list[Injection] = []
    notices: list[str] = []
    for point in sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value)):
        name = printable(point.name, 60)
        try:
            loaded = point.load()
            text = loaded() if callable(loaded) else loaded
        except Exception as error:  # noqa: BLE001 -- somebody else's code: whatever it raises, the session begins
            notices.append(f"the extension {name} failed and says nothing: {type(error).__name__}: {error}")
            continue
        if not isinstance(text, str):
            notices.append(f"the extension {name} gives no text and says nothing")
        elif text.strip():
            cut = text if len(text) <= MOST else f"{text[:MOST]}\n[… the rest is left out]"
            found.append(Injection(f"extension {name}", visible(redact(cut))))
    return tuple(found), notices
