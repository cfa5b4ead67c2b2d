"""The window of a session: how full it is, what is handed over, how a fresh one begins (W-10, W-11, W-12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from clew.core.agent.loop import succeeded
from clew.core.handoff.drift import ASK, Drift
from clew.core.handoff.events import Asked, Event, Hinted, Logged, Noted, Over, Planned, Replied, Used
from clew.core.handoff.fill import Fill, FillWatch, measured, seen
from clew.core.handoff.gate import Trigger
from clew.core.handoff.ledger import is_chinese
from clew.services.handoff import Handed, Handoff, plan_of
from clew.services.handoff import Window as Place
from clew.stores import transcripts as kept
from clew.stores.transcripts import Line, Transcript

HARD: Final = 0.85
"""Share of a window from which on the next round begins a fresh one, whoever asks for it or not."""
CROWDED: Final = 0.5
"""Share of a window from which on it is worth giving parts of the work away."""
_SEVERAL: Final = 2
HANDOFF_HEAD: Final = "[handoff] This window goes on from an earlier one. From Clew, not said by the user:"
GO_ON: Final = (
    "This window began in the middle of the run: what you did for the message below is in the handoff above. "
    "Go on from there; files must be read anew."
)


@dataclass(slots=True)
class Keeper:
    """Watches the window of one session."""

    handoff: Handoff
    transcript: Transcript
    thread: str
    """The session that this one goes on from; empty for the first."""
    window: int
    root: Path
    """The folder that is worked in: what others changed there meanwhile is told with the handoff."""
    threshold: float = 0.65
    fill: Fill = field(default_factory=lambda: Fill(0, 0, exact=False))
    estimate: int = 0
    """Tokens of the present window, counted here."""
    _watch: FillWatch = field(default_factory=FillWatch)
    _restated: bool = True

    @property
    def place(self) -> Place:
        """The window at work."""
        return Place(self.transcript.id, self.window, self.thread)

    def level(self, reported: int | None, size: int, *, known: bool) -> bool:
        """Take a level in; whether the handoff is due because of it. `size` are the tokens that fit, as they are
        published or set; where they are not `known` but assumed, so is the level."""
        fill = measured(reported, self.estimate, size)
        self.fill = replace(fill, exact=fill.exact and known)
        self._watch, due = seen(self._watch, self.fill, window=str(self.window), threshold=self.threshold)
        return due

    @property
    def full(self) -> bool:
        """Whether the next round should begin in a fresh window."""
        return self.fill.share >= HARD

    @property
    def divides(self) -> bool:
        """Whether the window is filling up while the plan has several open steps."""
        if self.fill.share < CROWDED:
            return False
        return sum(step.open for step in plan_of(self.handoff.plan()).steps) >= _SEVERAL

    def save(self, trigger: Trigger) -> Handed:
        """Write or refresh the ledger of this window by rule. Raises what the store raises."""
        return self.handoff.keep(self.events(), self.place, trigger=trigger)

    def renew(self) -> str:
        """Begin a fresh window; its continuation hint as it is sent. The handoff was saved before."""
        hint = self.handoff.hint(self.place, root=self.root).text
        self.window += 1
        self.fill = Fill(0, self.fill.window, exact=False)
        self.estimate = 0
        self._restated = not hint
        if not hint:
            return ""
        ask = ASK[1 if is_chinese([hint]) else 0]
        return f"{HANDOFF_HEAD}\n{hint}\n{ask}"

    def restated(self, text: str) -> Drift | None:
        """How far the first words in a fresh window are from the handoff; None where there is nothing to say."""
        if self._restated or not text.strip():
            return None
        self._restated = True
        found = self.handoff.drifted(text, self.place)
        return None if found.none else found

    def events(self) -> list[Event]:
        """What happened in this window, from the transcript."""
        lines = self.transcript.read().lines
        start = max((at for at, line in enumerate(lines) if isinstance(line, kept.Renewed)), default=0)
        return events_of(lines[start:])


def events_of(lines: Sequence[Line]) -> list[Event]:
    """Lines of a transcript as events of a window."""
    calls: dict[str, dict[str, Any]] = {}
    made: list[Event] = []
    begun: set[int] = set()
    for line in lines:
        match line:
            case kept.Began(run=run, message=message, hints=hints):
                begun.add(run)
                made.append(Asked(message, f"#{run}"))
                if hints:
                    made.append(Hinted(hints))
            case kept.Replied(run=run, step=step, text=text, calls=asked):
                if text.strip():
                    made.append(Replied(text, f"#{run}.{step}"))
                calls |= {id_: arguments for id_, _, arguments in asked}
            case kept.Resulted(run=run, step=step, results=results):
                spot = f"#{run}.{step}"
                made += [
                    _used(name, calls.get(id_, {}), text, spot, failed=failed) for id_, name, text, failed in results
                ]
            case kept.Added(run=run, step=step, steered=steered, hints=hints):
                made += [Asked(words, f"#{run}.{step}") for words in steered]
                if hints:
                    made.append(Hinted(hints))
            case kept.Ended(run=run, outcome=outcome):
                made.append(Over(outcome == "finished", run not in begun))
            case _:
                pass
    return made


def _used(name: str, arguments: dict[str, Any], text: str, spot: str, *, failed: bool) -> Event:
    given = {key: value for key, value in arguments.items() if isinstance(value, str)}
    said = given.get("text", "")
    if not failed and name == "memory_log":
        return Logged(said, spot)
    if not failed and name == "memory_note":
        return Planned(said) if given.get("kind") == "plan" else Noted(said, spot)
    if name == "edit_file":
        edits = arguments.get("edits")
        given["new_string"] = "\n".join(
            str(one.get("new", "")) for one in edits if isinstance(one, dict)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType, reportUnknownVariableType]
        ) if isinstance(edits, list) else ""  # fmt: skip
    return Used(name, given, text, succeeded(name, text, failed=failed))
