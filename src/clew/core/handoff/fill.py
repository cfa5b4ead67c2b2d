"""How full a window is, and when that is worth a handoff: once a window, said once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

THRESHOLD: Final = 0.65
"""Share of a window from which on its handoff is written. Hosts compact by themselves from 0.80."""
HYSTERESIS: Final = 0.20
"""By how much the level must fall below the threshold until it counts as that of another window."""


@dataclass(frozen=True, slots=True)
class Fill:
    """A level, in tokens."""

    used: int
    """Tokens that the next request begins with; never below 0."""
    window: int
    """Tokens that fit; 0 where that is not known."""
    exact: bool
    """Whether the provider or the host reported the tokens; else they are estimated from the text."""

    @property
    def share(self) -> float:
        """From 0; above 1 where the estimate exceeds the window. 0 where the size of the window is not known."""
        return self.used / self.window if self.window > 0 else 0.0

    @property
    def words(self) -> str:
        """For a status line: `65 %`, an estimate with `~` before it, `?` where nothing is known."""
        return f"{'' if self.exact else '~'}{self.share:.0%}".replace("%", " %") if self.window > 0 else "?"


def measured(reported: int | None, estimated: int, window: int) -> Fill:
    """The level as reported, where anything is; else as estimated, and marked so. Not negative."""
    exact = reported is not None and reported > 0
    return Fill(max(reported if exact and reported is not None else estimated, 0), max(window, 0), exact)


@dataclass(frozen=True, slots=True)
class FillWatch:
    """What is known of the levels of a session so far."""

    window: str = ""
    """What tells the present window from others; empty where the host does not say."""
    due: bool = False
    """Whether a handoff became due in this window."""


def seen(watch: FillWatch, fill: Fill, *, window: str = "", threshold: float = THRESHOLD) -> tuple[FillWatch, bool]:
    """The watch after a level, and whether a handoff is due because of it: at the first level in a window that reaches
    `threshold`, and never again in that window.

    Another window is one with another name; or one whose level is `HYSTERESIS` below the threshold after it was due,
    as after a compaction that nobody announced. A level that only swings around the threshold stays in its window.
    """
    if fill.window <= 0:
        return watch, False
    fell = watch.due and fill.share < max(threshold - HYSTERESIS, 0.0)
    if (window and watch.window and window != watch.window) or fell:
        watch = FillWatch(window or watch.window)
    due = not watch.due and fill.share >= threshold
    known = replace(watch, window=window or watch.window, due=watch.due or due)
    return known, due
