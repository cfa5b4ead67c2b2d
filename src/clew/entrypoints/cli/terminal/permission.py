"""The question whether something may be done."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from clew.core.agent.effects import Effect
from clew.core.agent.permissions import Permit, Rule


@dataclass(slots=True)
class Question:
    """Something that waits for a yes."""

    effect: Effect
    rule: Rule | None
    """What `always` would allow; None where it cannot be allowed for good."""
    answer: Permit | None = None
    done: threading.Event = field(default_factory=threading.Event)

    def give(self, permit: Permit) -> None:
        """Answer it."""
        if not self.done.is_set():
            self.answer = permit
            self.done.set()
