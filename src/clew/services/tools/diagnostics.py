"""The tool `diagnostics`, and what a change to a file is answered with beside its diff.

What was found is told in results of tools only: it would grow old in a layer.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

from msgspec import Meta

from clew.adapters.language_servers import language_of
from clew.adapters.lsp import Bounds
from clew.adapters.programs import PosixPrograms
from clew.core.agent.effects import Effect
from clew.core.agent.findings import Finding, compared, ordered, rendered, tally
from clew.core.text.printable import counted, printable
from clew.errors import ClewError, Refused
from clew.services.tools.clean import Cleaner
from clew.services.tools.examiners import Examiners, File, Look
from clew.services.tools.on_disk import load
from clew.services.tools.places import Place, Places
from clew.services.tools.tool import Reply, Signal, Tool, define

EDIT_SECONDS: Final = 3.0
"""How long the answer to an edit waits for findings."""
_MOST_FILES: Final = 30
_MOST_TEXT: Final = 2 << 20
"""Characters of a file that is looked at."""


@dataclass(frozen=True, slots=True)
class Diagnose:
    """Arguments of `diagnostics`."""

    path: Annotated[str, Meta(description="empty: all files changed in this session")] = ""
    start: Annotated[bool, Meta(description="ask the user to start what needs a yes")] = False


class Diagnostics:
    """Looks at files of a workspace for one session."""

    def __init__(
        self, places: Places, cleaner: Cleaner, programs: PosixPrograms, environ: Mapping[str, str], *,
        permitted: Callable[[Effect], bool], chosen: Mapping[str, str], touched: Iterable[Path] = (),
        bounds: Bounds | None = None,
    ) -> None:  # fmt: skip
        self.places = places
        self.cleaner = cleaner
        self.examiners = Examiners(places.root, programs, environ, permitted, chosen, bounds or Bounds())
        self._touched = dict.fromkeys(touched)
        self._known: dict[tuple[Path, str], tuple[str, tuple[Finding, ...]]] = {}
        """By file and program: the text that was looked at, and what was found."""
        self._said: set[str] = set()
        self._lock = threading.Lock()

    def close(self) -> None:
        """End all servers."""
        self.examiners.close()

    def tool(self) -> Tool[Any]:
        """`diagnostics`."""
        return define(
            "diagnostics",
            "What language servers and checkers find wrong in a file now.",
            Diagnose,
            self._diagnose,
            self._effect,
        )

    # ------------------------------------------------------------------ after an edit

    def after_write(self, path: Path) -> str:
        """What is found in a file that was just written; empty where nothing looks at such files."""
        try:
            place = self.places.find(str(path))
            if place.outside:
                return ""
            with self._lock:
                self._touched[place.real] = None
            if language_of(place.real) is None or self.examiners.switched_off(place.real):
                return ""
            file = self._file(place)
            looks, notes = self.examiners.look([file], EDIT_SECONDS, lambda: False)[file.path]
        except ClewError:
            return ""
        fresh = [note for note in notes + [one.words for one in looks if not one.later] if self._is_new(note)]
        fresh += [one.words for one in looks if one.later]
        lines = [*self._after(place, file, looks), *(f"diagnostics: {self._clean(place, note)}" for note in fresh)]
        return "\n".join(lines)

    def _after(self, place: Place, file: File, looks: Sequence[Look]) -> list[str]:
        """What the edit brought, where something looked at the file before; otherwise all that is found."""
        introduced: list[Finding] = []
        kept: list[Finding] = []
        fixed = 0
        first = False
        for one in looks:
            if one.findings is None:
                continue
            before = self._keep(file, one)
            if before is None:
                first = True
                introduced += one.findings
                continue
            change = compared(before[1], one.findings, before[0], file.text)
            introduced += change.introduced
            kept += change.kept
            fixed += len(change.fixed)
        if all(one.findings is None for one in looks):
            return []
        if not introduced and not kept and not fixed:
            return ["diagnostics: none"]
        if first:
            shown = [*introduced, *kept]
            return [f"diagnostics: {tally(shown)}, all that is found in this file", *self._lines(place, shown)]
        parts = [f"{len(introduced):,} new ({tally(introduced)})" if introduced else "none new"]
        parts += [f"{fixed:,} fixed"] if fixed else []
        parts += [f"{len(kept):,} as before"] if kept else []
        return [f"diagnostics: {', '.join(parts)}", *self._lines(place, introduced)]

    def _keep(self, file: File, look: Look) -> tuple[str, tuple[Finding, ...]] | None:
        """Note what was found. What was known before, of which text."""
        assert look.findings is not None
        key = file.path, look.source
        with self._lock:
            before = self._known.get(key)
            self._known[key] = file.text, look.findings
        return before

    def _is_new(self, note: str) -> bool:
        with self._lock:
            fresh = bool(note) and note not in self._said
            self._said.add(note)
        return fresh

    # ------------------------------------------------------------------ the tool

    def _effect(self, given: Diagnose) -> Effect | Reply:
        try:
            places = self._places(given.path)
        except ClewError as error:
            return Reply(f"{error}", failed=True)
        if not places:
            return Reply("No file was changed in this session yet: name one.")
        if given.start:
            questions = (self.examiners.question(place.real) for place in places)
            if question := next((one for one in questions if one), None):
                return question
        title = f"look for mistakes in {places[0].shown if len(places) == 1 else counted(len(places), 'file')}"
        return Effect("read", title, "", places[0].subject, tuple(str(one.real) for one in places))

    def _diagnose(self, given: Diagnose, effect: Effect, signal: Signal) -> Reply:
        try:
            places = self._places(given.path)
            if effect.kind == "command":
                self.examiners.allow(effect)
            for place in places if given.start else ():
                self.examiners.revive(place.real)
            return Reply(self._report(places, signal))
        except ClewError as error:
            return Reply(f"{error}", failed=True)

    def _places(self, path: str) -> list[Place]:
        """The files that are meant and are there. Raises NotFound, Refused."""
        if path:
            place = self.places.find(path)
            if place.outside:
                raise Refused(f"{place.shown} lies outside of the workspace: nothing looks at it")
            self.places.status(place)
            if not place.real.is_dir():
                return [place]
        with self._lock:
            touched = list(self._touched)
        below = self.places.find(path or str(self.places.root)).real
        every = [self.places.find(str(one)) for one in touched if one.is_relative_to(below) and os.path.isfile(one)]
        if path and not every:
            raise Refused(f"{self.places.shown(str(below))} is a folder, and no file in it was changed: name a file")
        return [one for one in every if not one.outside]

    def _report(self, places: Sequence[Place], signal: Signal) -> str:
        files: dict[Path, tuple[Place, File]] = {}
        notes: dict[str, None] = {}
        for place in places[:_MOST_FILES]:
            words = self._unseen(place)
            try:
                if not words:
                    files[place.real] = place, self._file(place)
            except ClewError as error:
                words = str(error)
            if words:
                notes[words] = None
        if len(places) > _MOST_FILES:
            notes[f"{len(places) - _MOST_FILES:,} further files were not looked at: name one"] = None
        looks = self.examiners.look([file for _, file in files.values()], None, lambda: signal.stopped)
        found: list[Finding] = []
        asked: dict[str, None] = {}
        seen = 0
        for path, (ones, missing) in looks.items():
            place, file = files[path]
            answered = [one for one in ones if one.findings is not None]
            seen += bool(answered)
            for one in answered:
                self._keep(file, one)
                asked[one.source] = None
                found += self._shown(place, one.findings or ())
            for words in [*missing, *(one.words for one in ones if one.words)]:
                notes[self._clean(place, words)] = None
        head = [f"{tally(found) or 'none'} in {counted(seen, 'file')} ({', '.join(asked)})"] if asked else []
        return "\n".join([*head, *rendered(found), *notes])

    def _unseen(self, place: Place) -> str:
        """Why nothing looks at a file; empty where something may."""
        if language_of(place.real) is None:
            return f"{place.shown}: no language server is known for such files"
        if self.examiners.switched_off(place.real):
            return f"{place.shown}: switched off in the settings (`lsp`)"
        return ""

    # ------------------------------------------------------------------ files and words

    def _file(self, place: Place) -> File:
        text = load(place.real, place.shown).text
        if len(text) > _MOST_TEXT:
            raise Refused(f"{place.shown} is too long to be looked at")
        return File(place.real, text)

    def _lines(self, place: Place, findings: Iterable[Finding]) -> list[str]:
        return rendered(self._shown(place, findings))

    def _shown(self, place: Place, findings: Iterable[Finding]) -> list[Finding]:
        """Findings as the model may see them: the path as it writes it, no secrets. Before anything is cut."""
        return [
            replace(one, path=place.shown, message=self._clean(place, one.message), code=self._clean(place, one.code))
            for one in ordered(findings)
        ]

    def _clean(self, place: Place, text: str) -> str:
        return printable(self.cleaner.redacted(place.shown, " ".join(text.split())))
