"""The seam between a run and the engine that drives a model through it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from clew.core.agent.events import Event
from clew.core.ports import Usage
from clew.errors import ClewError

BAD_ARGUMENTS: Final = "INVALID_JSON"
"""In place of arguments that are no JSON object: the text that came."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as the model is told of it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    alone: bool = False
    """Never runs beside another call."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the model makes."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """What a call was answered."""

    id: str
    name: str
    text: str
    failed: bool = False


def succeeded(name: str, text: str, *, failed: bool) -> bool:
    """Whether a call did what it should. The answer to a command begins with its status."""
    return not failed and (name != "shell" or text.startswith("[exit 0"))


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the model, complete."""

    text: str
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    usage: Usage = field(default_factory=Usage)
    written: int | None = None
    """Tokens written to the provider's cache, where it says so."""
    cut: bool = False
    """It ended at the limit of tokens."""
    filtered: bool = False
    """The provider's filter ended it."""


@dataclass(frozen=True, slots=True)
class Finish:
    """How the engine came to its end."""

    kind: Literal["final", "left", "aborted", "limit", "failed"]
    """`left`: the desk wanted to leave after a round of tools."""
    text: str = ""
    """Of `final`: the reply. Else what was said last, if anything."""
    error: ClewError | None = None


class Desk(Protocol):
    """What a run does for the engine. Called one at a time but for `call`; from threads of the engine's own."""

    def before(self, step: int) -> Sequence[str]:
        """Texts that go along with the request of this step, behind all that is there. Called once for a step, however
        often its request is sent; not for the first, nor for the first of a window, whose request is complete."""
        ...

    def asking(self, step: int) -> None:
        """The request of this step is on its way."""
        ...

    def answered(self, step: int, answer: Answer) -> None:
        """The model has answered; nothing of it was acted on yet."""
        ...

    def call(self, call: Call) -> Result:
        """Carry out a call. Several at a time, unless an offer is `alone`. Raises nothing."""
        ...

    def results(self, step: int, results: Sequence[Result]) -> None:
        """All calls of this step are answered, in the order in which they were made."""
        ...

    def leaves(self) -> bool:
        """Whether the engine should stop instead of asking again."""
        ...

    def tell(self, event: Event) -> None:
        """Something to show."""
        ...
