"""The folders of a tree with their file names, bounded: a map, no contents."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from clew.core.context.fragment import DEFAULT_WEIGHTS, Fragment
from clew.core.ports import Entry
from clew.core.text.printable import printable

_MOST_FOLDERS = 20_000
_MOST_DEPTH = 12
_NAMES_KEPT = 40
_LEAST_LINES = 6
_LEAST_NAMES = 2


class DirectoryTree:
    """One fragment: a line for each folder, shallow ones first when there are too many."""

    name = "tree"

    def __init__(
        self,
        entries: Iterable[Entry],
        *,
        weight: int = DEFAULT_WEIGHTS["tree"],
        most_lines: int = 100,
        most_names: int = 12,
        most_characters: int | None = None,
    ) -> None:
        self._entries = entries
        self._weight = weight
        self._most_lines = most_lines
        self._most_names = most_names
        self._most_characters = most_characters

    def collect(self, question: str) -> Sequence[Fragment]:
        """The map; nothing for an empty tree."""
        top, folders = _counted(self._entries)
        if not top.files:
            return ()
        line = f"{top.files:,} files in {folders:,} folders"
        text, shown, all_of_them = self._fitted(top)
        note = "" if shown == all_of_them else f"{shown:,} of {all_of_them:,} folders"
        return (Fragment(self.name, "tree", text, self._weight, line=line, note=note),)

    def _fitted(self, top: _Folder) -> tuple[str, int, int]:
        """The fullest map within `most_characters`: fewer names a folder first, then fewer folders."""
        lines, names = self._most_lines, self._most_names
        while True:
            drawn = _drawn(top, lines, names)
            if self._most_characters is None or len(drawn[0]) <= self._most_characters or lines <= _LEAST_LINES:
                return drawn
            lines, names = (lines, names // 2) if names > _LEAST_NAMES else (min(lines, drawn[1]) // 2, names)


@dataclass(slots=True)
class _Folder:
    files: int = 0
    """Below it, at any depth."""
    own: int = 0
    names: list[str] = field(default_factory=list[str])
    """The first of its own files."""
    folders: dict[str, _Folder] = field(default_factory=dict[str, "_Folder"])


def _counted(entries: Iterable[Entry]) -> tuple[_Folder, int]:
    top, folders = _Folder(), 1
    for entry in entries:
        *parts, name = entry.path.split("/")
        folder = top
        folder.files += 1
        for part in parts[:_MOST_DEPTH]:
            below = folder.folders.get(part)
            if below is None:
                if folders >= _MOST_FOLDERS:
                    break
                below = folder.folders[part] = _Folder()
                folders += 1
            folder = below
            folder.files += 1
        folder.own += 1
        if len(folder.names) < _NAMES_KEPT:
            folder.names.append(name)
    return top, folders


def _drawn(top: _Folder, most_lines: int, most_names: int) -> tuple[str, int, int]:
    """Text, lines shown, lines there would be. A folder that holds nothing but one folder shares its line."""
    rows: list[tuple[tuple[str, ...], int, str, _Folder]] = []
    queue: deque[tuple[tuple[str, ...], int, str, _Folder]] = deque([((), 0, ".", top)])
    while queue:
        place, depth, name, folder = queue.popleft()
        while not folder.own and len(folder.folders) == 1 and place:
            ((inner, below),) = folder.folders.items()
            name, folder = f"{name}/{printable(inner, 80)}", below
        rows.append((place, depth, name, folder))
        for inner in sorted(folder.folders):
            queue.append(((*place, inner), depth + 1, printable(inner, 80), folder.folders[inner]))
    shown = rows[:most_lines]
    # Breadth first to choose, depth first to show. The empty place sorts first.
    places = {place for place, *_ in shown}
    lines = [_row(row, most_names, cut=_has_hidden(row, places)) for row in sorted(shown, key=lambda row: row[0])]
    return "\n".join(lines), len(shown), len(rows)


def _has_hidden(row: tuple[tuple[str, ...], int, str, _Folder], places: set[tuple[str, ...]]) -> bool:
    place, _, _, folder = row
    return any((*place, inner) not in places for inner in folder.folders)


def _row(row: tuple[tuple[str, ...], int, str, _Folder], most_names: int, *, cut: bool) -> str:
    _, depth, name, folder = row
    names = [printable(file, 80) for file in sorted(folder.names)[:most_names]]
    more = folder.own - len(names)
    listed = ", ".join((*names, f"… {more:,} more") if more else names)
    below = f" ({folder.files:,} files below)" if cut else ""
    return f"{'  ' * depth}{name}/{below}{': ' if listed else ''}{listed}"
