"""What a run tells while it works: one small value an event, in the order in which things happened.

`clew run --json` prints one a line: the fields as they stand here, with the event's name in `type`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["finished", "aborted", "failed", "limit", "crashed"]
"""`limit`: the run used up the model calls it may make. `crashed`: its process died; only seen afterwards."""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins."""

    session: str
    run: int
    model: str
    message: str
    """As it is sent: without secrets, where these are taken out."""


@dataclass(frozen=True, slots=True)
class Hinted:
    """Notes came to mind and go to the model."""

    role: Literal["user", "assistant"]
    """For whose words."""
    ids: tuple[str, ...]
    names: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asking:
    """A request goes to the model."""

    step: int
    """Counts the model calls of this run, from 1."""
    window: int
    """Counts the windows of this session, from 1."""


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A piece of what the model thinks aloud, where its provider shows that."""

    text: str


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer of the model is complete."""

    step: int
    text: str
    calls: int
    input: int | None = None
    """Tokens, as the provider reports them; None where it reports nothing."""
    cached: int | None = None
    written: int | None = None
    output: int | None = None


@dataclass(frozen=True, slots=True)
class Calling:
    """A tool begins."""

    id: str
    name: str
    title: str
    """One line for a person."""
    arguments: dict[str, object]


@dataclass(frozen=True, slots=True)
class Called:
    """A tool has answered."""

    id: str
    name: str
    text: str
    """As the model reads it."""
    failed: bool = False
    view: str = ""
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Steered:
    """Words of the user that reached the model while it worked."""

    text: str


@dataclass(frozen=True, slots=True)
class Filled:
    """How full the window is."""

    used: int
    window: int
    exact: bool
    """As the provider counts, else estimated."""


@dataclass(frozen=True, slots=True)
class WindowOpened:
    """A fresh window: what was said before is no longer in it, the handoff is."""

    window: int
    reason: str


@dataclass(frozen=True, slots=True)
class Drifted:
    """What the model says of the work in a fresh window is not what was handed over. Shown, never enforced."""

    missing: tuple[str, ...]
    """Open steps of the plan that it does not mention."""
    contradicted: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Retrying:
    """The request failed and is sent again, the same bytes."""

    reason: str
    wait: float
    """Seconds."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that the user should know; nothing is broken."""

    text: str


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run is over."""

    run: int
    outcome: Outcome
    text: str
    """The final reply; empty where there is none."""
    reason: str = ""
    hint: str = ""
    code: str = ""
    """Name of the error that ended it, as in the reference of errors; empty where none did."""
    steps: int = 0
    calls: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Delegated:
    """Something that a sub-agent does."""

    id: str
    """Its session."""
    event: Event
    """What it tells, from `RunStarted` to `RunEnded`."""


Event = (
    RunStarted
    | Hinted
    | Asking
    | Text
    | Thinking
    | Answered
    | Calling
    | Called
    | Steered
    | Filled
    | WindowOpened
    | Drifted
    | Retrying
    | Notice
    | Delegated
    | RunEnded
)

NAMES: dict[type[Event], str] = {
    RunStarted: "run_started",
    Hinted: "hinted",
    Asking: "asking",
    Text: "text",
    Thinking: "thinking",
    Answered: "answered",
    Calling: "calling",
    Called: "called",
    Steered: "steered",
    Filled: "filled",
    WindowOpened: "window_opened",
    Drifted: "drifted",
    Retrying: "retrying",
    Notice: "notice",
    Delegated: "delegated",
    RunEnded: "run_ended",
}
"""Names of the events on the wire. A new field may come to any; none changes its meaning or goes."""
