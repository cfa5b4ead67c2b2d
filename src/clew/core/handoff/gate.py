"""What may be written to the handoff, and when. What a person or the model asks for is always let through."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from clew.core.text.lazy import lazy_pattern

MOST_APPENDED: Final = 8_000
"""Characters of one addition."""
MOST_CHARACTERS: Final = 200_000
"""Of a ledger or a plan."""
COOL_DOWN: Final = timedelta(minutes=5)
"""Between two writes by rule in one session."""
Trigger = Literal["tool", "user", "fill", "milestone", "compact", "end", "run"]
_ASKED: Final = frozenset({"tool", "user"})
_LAST_CALL: Final = frozenset({"fill", "compact", "end"})
"""What is not written now may be gone: no cool-down."""
_SMALL = lazy_pattern(
    r"(?:hi|hello|hey|hiya|yo|thanks?|thank you|thx|ok(?:ay)?|cool|great|nice|good (?:morning|evening|night|job)|bye|"
    r"see you|how are you|who are you|what can you do|lol|haha+|yes|no|sure|ping|test|"
    r"你好|您好|嗨|哈喽|早上好|晚上好|晚安|谢谢|多谢|辛苦了|好的?|行|嗯+|哦+|再见|拜拜|在吗|你是谁|哈哈+)"
    r"(?:[ ,，、!！.。?？~～:)（）(]|there|all|again|everyone|so much|a lot|大家|啊|呀|吧|啦|哈|了|的|clew)*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Wish:
    """Somebody would like something written."""

    trigger: Trigger
    at: datetime
    last: datetime | None = None
    """When something was last written by rule in this session."""
    tools: int = 0
    """Tools that were used since."""
    messages: tuple[str, ...] = ()
    """What the user said since."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether it may be written."""

    allowed: bool
    reason: str
    """Why, in words for the audit trail."""


def may_write(wish: Wish) -> Answer:
    """The answer to a wish."""
    if wish.trigger in _ASKED:
        return Answer(True, "asked for")
    if not wish.tools:
        return Answer(False, "no tool was used")
    if wish.messages and all(map(is_small_talk, wish.messages)):
        return Answer(False, "small talk")
    if wish.trigger in _LAST_CALL:
        return Answer(True, f"last call: {wish.trigger}")
    # A clock that was set back must not hold up writing for ever.
    if wish.last is not None and timedelta(0) <= wish.at - wish.last < COOL_DOWN:
        return Answer(False, "written a moment ago")
    return Answer(True, wish.trigger)


def is_small_talk(message: str) -> bool:
    """Whether a message says nothing that a later window could need."""
    text = message.strip()
    return not text or (len(text) <= 60 and _SMALL.fullmatch(text) is not None)
