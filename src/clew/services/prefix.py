"""How much of each dumped request was sent before (`clew prefix`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from clew.core.agent.prefix import Block, Shared, compare, laid_out
from clew.services.dump import Sent, read_dump


@dataclass(frozen=True, slots=True)
class Step:
    """One request, compared with the one before it of the same session."""

    name: str
    session: str
    run: int
    step: int
    window: int
    size: int
    """Bytes of the body."""
    kind: str
    """`first` of its session, `within` a window of a run, `between` runs or windows."""
    by_byte: float
    by_block: float
    by_usage: float | None
    """Share of the prompt that the provider read from its cache; None where it says nothing."""
    layer: str
    """The layer of the first difference; empty where there is none."""
    extends: bool


@dataclass(frozen=True, slots=True)
class Report:
    """All requests of a folder."""

    steps: tuple[Step, ...]

    @property
    def within(self) -> int:
        """Requests that go on within a run."""
        return sum(one.kind == "within" for one in self.steps)

    @property
    def between(self) -> int:
        """Requests that begin a run or a window after another one."""
        return sum(one.kind == "between" for one in self.steps)

    @property
    def broken(self) -> tuple[Step, ...]:
        """Requests within a run that do not begin with all of the one before."""
        return tuple(one for one in self.steps if one.kind == "within" and not one.extends)

    @property
    def by_byte(self) -> float:
        """Mean share between runs, by byte; 1 where there is but one run."""
        return self._mean("by_byte")

    @property
    def by_block(self) -> float:
        """Mean share between runs, by block."""
        return self._mean("by_block")

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "within": self.within, "broken": len(self.broken), "between": self.between,
            "by_byte": round(self.by_byte, 4), "by_block": round(self.by_block, 4),
            "requests": [asdict(one) for one in self.steps],
        }  # fmt: skip

    def rows(self) -> Iterator[str]:
        """A table for people."""
        sizes = f"{'bytes':>9} {'by byte':>8} {'by block':>8} {'cached':>7}"
        yield f"{'':>6} {'run':>4} {'step':>4} {'window':>6} {sizes}  first difference"
        for one in self.steps:
            cached = "-" if one.by_usage is None else f"{one.by_usage:.2f}"
            where = one.layer or ("-" if one.kind == "first" else "none")
            yield (
                f"{one.name:>6} {one.run:>4} {one.step:>4} {one.window:>6} {one.size:>9} {one.by_byte:>8.3f} "
                f"{one.by_block:>8.3f} {cached:>7}  {where}"
            )

    def _mean(self, name: str) -> float:
        found: list[float] = [getattr(one, name) for one in self.steps if one.kind == "between"]
        return sum(found) / len(found) if found else 1.0


def measure(folder: Path) -> Report:
    """Compare the requests of a dump. Raises NotFound, UsageError.

    Within a run each is compared with the one before; the first of a run with the first of the run before, since that
    is what both begin with.
    """
    before: dict[str, tuple[Sent, tuple[Block, ...]]] = {}
    first: dict[str, tuple[Sent, tuple[Block, ...]]] = {}
    steps: list[Step] = []
    for sent in read_dump(folder):
        about = sent.about
        session = about.session if about else ""
        blocks = laid_out(msgspec.json.decode(sent.body))
        layers = about.layers if about else []
        last = before.get(session)
        again = last is not None and last[0].about is not None and about is not None
        same = again and (last[0].about.run, last[0].about.window) == (about.run, about.window)  # type: ignore[union-attr]
        if last is None:
            kind, shared = "first", Shared(0, len(sent.body), 0, "", extends=False)
        elif same or about is None:
            kind, shared = "within", compare(last[1], blocks, layers)
        else:
            kind, shared = "between", compare(first[session][1], blocks, layers)
        if kind != "within":
            first[session] = (sent, blocks)
        before[session] = (sent, blocks)
        steps.append(_step(sent, session, kind, shared))
    return Report(tuple(steps))


def _step(sent: Sent, session: str, kind: str, shared: Shared) -> Step:
    about = sent.about
    usage = about.usage if about else {}
    prompt = usage.get("input", 0)
    return Step(
        sent.name, session, about.run if about else 0, about.step if about else 0, about.window if about else 1,
        len(sent.body), kind, round(shared.by_byte, 4), round(shared.by_block, 4),
        round(usage.get("cached", 0) / prompt, 4) if prompt else None, shared.layer, shared.extends,
    )  # fmt: skip
