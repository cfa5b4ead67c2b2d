"""Where a path leads that the model gave: inside of the workspace or not, links followed."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from clew.adapters.sources.files import WorkTree
from clew.core.text.printable import printable
from clew.errors import NotFound, Refused

_MOST_NAMES = 20_000
"""Names that are looked at for one that may have been meant."""

_LONGEST = 4_096
"""Bytes of a path; no system that Clew runs on takes more."""


@dataclass(frozen=True, slots=True)
class Place:
    """A path, resolved."""

    real: Path
    """Absolute, without links."""
    shown: str
    """As the model should write it: relative to the current folder where it lies in the workspace."""
    subject: str
    """What rules are matched against: relative to the workspace, or else absolute."""
    outside: bool
    """Does not lie in the workspace."""
    free: bool
    """May be read unasked."""
    led_out: bool = False
    """It lies in the workspace as it is written, and leads out of it by a link."""


class Places:
    """Paths as seen from `cwd`. What lies in the folders `free` may be read unasked, as the workspace `root`."""

    def __init__(self, root: Path, cwd: Path, free: Sequence[Path] = ()) -> None:
        self.root = Path(os.path.realpath(root))
        self.cwd = Path(os.path.realpath(cwd))
        self._written = tuple({os.path.normpath(os.path.abspath(root)), str(self.root)})
        self._free = tuple(os.path.realpath(one) for one in free)

    def find(self, path: str) -> Place:
        """Where a path leads. Raises NotFound for what is no path at all."""
        try:
            whole = os.path.join(self.cwd, os.path.expanduser(path))
            real = os.path.realpath(whole)
            if len(os.fsencode(real)) > _LONGEST:
                raise ValueError
        except (OSError, ValueError) as error:
            raise NotFound(f"`{printable(path, 200)}` is no path", hint="name a file") from error
        if not path.strip():
            raise NotFound("the path is empty", hint="`.` is the current folder")
        below = _below(real, str(self.root))
        outside = below is None
        free = not outside or any(_below(real, one) is not None for one in self._free)
        written = os.path.normpath(whole)
        led_out = outside and any(_below(written, one) is not None for one in self._written)
        subject = real if below is None else below or "."
        return Place(Path(real), self.shown(real), subject, outside, free, led_out)

    def shown(self, real: str) -> str:
        """A real path as the model should write it."""
        return printable(os.path.relpath(real, self.cwd) if _below(real, str(self.root)) is not None else real)

    def status(self, place: Place) -> os.stat_result:
        """What kind of thing is there. Raises NotFound, with what may have been meant, or Refused."""
        try:
            return os.stat(place.real)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotFound(self.missing(place)) from error
        except OSError as error:
            raise Refused(f"{place.shown} cannot be read: {error.strerror}") from error

    def missing(self, place: Place) -> str:
        """That a file is not there, and which there are instead."""
        folder = place.real.parent
        while not os.path.isdir(folder):
            folder = folder.parent
        names: list[str] = []
        if place.free:
            try:
                with os.scandir(folder) as found:
                    names = [one.name for one in islice(found, _MOST_NAMES)]
            except OSError:
                names = []
        near = [os.path.join(folder, one) for one in _alike(place.real.name, names)] if names else []
        if folder != place.real.parent and names:
            step = os.path.relpath(place.real, folder).split(os.sep)[0]
            near = [os.path.join(folder, one) for one in _alike(step, names)]
        if not place.outside:
            tree = WorkTree(self.root, most_files=_MOST_NAMES)
            same = (one.path for one in tree.entries() if one.path.rpartition("/")[2] == place.real.name)
            near += [str(self.root / one) for one in islice(same, 3)]
        listed = ", ".join(dict.fromkeys(self.shown(one) for one in near))
        return f"There is no {place.shown}" + (f"; did you mean {listed}?" if listed else ".")


def _alike(name: str, names: Sequence[str]) -> list[str]:
    lower = {one.lower(): one for one in sorted(names, reverse=True)}
    return [lower[one] for one in difflib.get_close_matches(name.lower(), sorted(lower), 3, 0.6)]


def _below(path: str, folder: str) -> str | None:
    """The path relative to the folder; None where it does not lie in it."""
    if path == folder:
        return ""
    start = folder.rstrip("/") + "/"
    return path[len(start) :] if path.startswith(start) else None
