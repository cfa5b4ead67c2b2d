"""Every request as it was sent, in a folder, for those who want to see it (R-18).

`0001.json` is the body, byte for byte; `0001.about.json` says which session, run, step and window it belongs to and
which texts each layer has, so that `clew prefix` can name the layer of a difference.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from clew.errors import NotFound, StoreError, UsageError

if TYPE_CHECKING:
    from clew.services.run import Session

ABOUT: Final = ".about.json"


class About(msgspec.Struct, omit_defaults=True):
    """What is known of one request besides its bytes."""

    session: str
    run: int
    step: int
    window: int
    model: str
    layers: list[tuple[str, list[str]]] = msgspec.field(default_factory=list[tuple[str, list[str]]])
    """Names of the layers with their blocks, in order. What follows them is the transcript of the run."""
    usage: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    """Tokens as the provider reports them: input, cached, written, output."""


@dataclass(slots=True)
class Dump:
    """Writes requests into a folder. Numbers go on where an earlier process stopped."""

    folder: Path
    about: Callable[[], About]
    """What is known of the request that is going out now."""
    _last: int = 0

    def __post_init__(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            taken = [int(one.stem) for one in self.folder.glob("[0-9]*.json") if one.stem.isdigit()]
        except OSError as error:
            raise UsageError(
                f"`{self.folder}` cannot hold dumps: {error.strerror}", hint="name another folder"
            ) from error
        self._last = max(taken, default=0)

    def __call__(self, body: bytes) -> None:
        """Write one request, before it goes out. Raises StoreError."""
        self._last += 1
        path = self.folder / f"{self._last:04}.json"
        try:
            _write(path, body)
            _write(path.with_suffix(ABOUT), msgspec.json.encode(self.about()))
        except OSError as error:
            raise StoreError(f"`{path}` cannot be written: {error.strerror}", hint="leave out --dump") from error

    def usage(self, counts: dict[str, int]) -> None:
        """Add what the provider reports of the last request."""
        path = self.folder / f"{self._last:04}{ABOUT}"
        with contextlib.suppress(OSError, msgspec.DecodeError):
            about = msgspec.json.decode(path.read_bytes(), type=About)
            _write(path, msgspec.json.encode(msgspec.structs.replace(about, usage=counts)))


def _write(path: Path, content: bytes) -> None:
    """For its owner alone: a request holds what the user typed, as it was typed."""
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(content)


@dataclass(frozen=True, slots=True)
class Sent:
    """One request of a dump."""

    name: str
    body: bytes
    about: About | None


def read_dump(folder: Path) -> tuple[Sent, ...]:
    """The requests of a folder, in order. Raises NotFound where there is none, UsageError for what is no JSON."""
    if not folder.is_dir():
        raise NotFound(f"there is no folder `{folder}`", hint="`clew run --dump DIR` makes one")
    found: list[Sent] = []
    for path in sorted(folder.glob("[0-9]*.json")):
        if not path.stem.isdigit():
            continue
        try:
            about = msgspec.json.decode(path.with_suffix(ABOUT).read_bytes(), type=About)
        except (OSError, msgspec.DecodeError):
            about = None
        body = path.read_bytes()
        try:
            msgspec.json.decode(body)
        except msgspec.DecodeError as error:
            raise UsageError(f"`{path}` is no JSON: {error}", hint="a dump holds requests as they were sent") from error
        found.append(Sent(path.stem, body, about))
    if not found:
        raise NotFound(f"`{folder}` holds no request", hint="`clew run --dump DIR` writes them")
    return tuple(found)


def about_of(session: Session, model: str) -> About:
    """What is known of the request that a session is sending now."""
    layers = session.last.snapshot.layers if session.last else ()
    told = [(layer.name, list(layer.blocks)) for layer in layers]
    return About(session.id, session.number, session.around.step, session.window, model, told)
