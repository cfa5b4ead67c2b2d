"""`clew memory add` and `clew memory edit`: a document in the user's editor."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.app import App
from clew.core.memory.document import digest_of, read_document
from clew.core.memory.edit import slug
from clew.core.text.frontmatter import written
from clew.core.text.printable import printable
from clew.entrypoints.cli.note import keep, note_options
from clew.entrypoints.cli.remembering import complete_reference, given_text, json_option, memory_of, tell_saved
from clew.entrypoints.cli.style import aside
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.wording import translated
from clew.errors import ClewError, UsageError

if TYPE_CHECKING:
    from clew.core.memory.document import Document
    from clew.core.text.scalars import Given

_NAMELESS = "note"


@dataclass(slots=True)
class Editing:
    """One visit of the editor. What was written there is never lost."""

    app: App
    name: str
    before: str = ""
    after: str = ""

    def __call__(self, text: str) -> str:
        """The text as it comes back. Raises UsageError where there is no editor, or it fails."""
        self.before = self.after = text
        command = self._editor()
        folder = tempfile.mkdtemp(prefix="clew-")
        try:
            path = Path(folder, f"{slug(self.name)}.md")
            path.touch(mode=0o600)
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
            try:
                status = subprocess.run([*command, str(path)], check=False).returncode
            except OSError as error:
                told = f"the editor `{printable(command[0], 80)}` cannot be run: {error.strerror}"
                raise UsageError(told, hint="set VISUAL or EDITOR to one that can") from error
            content = path.read_bytes() if path.exists() else b""
            self.after = content.decode("utf-8", "surrogateescape")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if status:
            raise UsageError(f"the editor ended with status {status}", hint="nothing was changed")
        if not content.isascii() and self.after.encode("utf-8", "replace") != content:
            raise UsageError("what the editor wrote is not UTF-8", hint="save it as UTF-8")
        return self.after

    def _editor(self) -> list[str]:
        environ = self.app.environ
        wanted = environ.get("VISUAL") or environ.get("EDITOR") or ""
        if not wanted and (wanted := shutil.which("vi") or "") and not _is_terminal():
            # It would wait for keys that nobody presses.
            hint = "set VISUAL or EDITOR to one that needs no terminal, or edit the file itself"
            raise UsageError("there is no editor here without a terminal", hint=hint)
        try:
            words = shlex.split(wanted)
        except ValueError:
            words = []
        if not words:
            raise UsageError("there is no editor", hint="set VISUAL or EDITOR, or edit the file itself")
        return words

    def kept(self, error: ClewError) -> ClewError:
        """The error, where the text could not be saved; what was written is put aside, and the hint says where."""
        if self.after == self.before or not self.after.strip():
            return error
        folder = self.app.home.state / "kept"
        path = folder / f"{slug(self.name)}-{digest_of(self.after)[:8]}.md"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)
            path.write_bytes(self.after.encode("utf-8", "surrogateescape"))
        except OSError:
            return error
        again = error.hint or "try again"
        return type(error)(
            str(error), hint=f"what you wrote is kept in `{printable(str(path))}`; {again}", **error.facts
        )


@click.command(epilog='\b\nExamples:\n  clew memory edit mem_3f2a90c1d4e7\n  clew memory edit "Friday freeze"')
@click.argument("ref", shell_complete=complete_reference)
@json_option
def edit(ref: str, as_json: bool) -> None:
    """Open a document in your editor: VISUAL, else EDITOR. What you save is checked, written and read again.

    Where somebody else changed the document meanwhile, nothing is overwritten: your text is kept in a file that is
    named. Secrets are taken out before anything is written.
    """
    app = App.here()
    with memory_of(app) as memory:
        document = memory.find(ref)
        editing = Editing(app, document.name)
        try:
            saved = memory.edit(document.path, editing)
        except ClewError as error:
            raise editing.kept(error) from error
        tell_saved(app, memory, saved, as_json)
        _tell_problems(app, memory.documents.read(saved.receipt.path))


@click.command(
    epilog="""\b
Examples:
  clew memory add
  clew memory add "No releases on Friday." --name "Friday freeze" --type decision"""
)
@click.argument("text", required=False)
@note_options
@json_option
def add(text: str | None, as_json: bool, **wished: Any) -> None:
    """Keep a note, as `clew note` does; without TEXT your editor opens: VISUAL, else EDITOR."""
    app = App.here()
    with memory_of(app) as memory:
        if text is not None or not _is_terminal():
            keep(app, memory, given_text(text), as_json, **wished)
            return
        editing = Editing(app, wished["name"] or _NAMELESS)
        try:
            words, more = _written(app, editing(_template(wished)))
            keep(app, memory, words, as_json, **(wished | more))
        except ClewError as error:
            raise editing.kept(error) from error


def _is_terminal() -> bool:
    return sys.stdin is not None and os.isatty(sys.stdin.fileno())


def _template(wished: dict[str, Any]) -> str:
    """An empty note, with what was said on the command line in its place."""
    values: dict[str, Given] = {
        "name": wished["name"] or "",
        "description": wished["description"] or "",
        "type": wished["type_"] or "note",
        "tags": wished["tags"],
        "when": wished["when"],
        "expires": wished["expires"] or "",
    }
    # What is empty is to be filled in, not to be quoted.
    return re.sub(r'(?m)^(\w+): (?:""|\[\])$', r"\1: ", written(values)) + "\n"


def _written(app: App, text: str) -> tuple[str, dict[str, Any]]:
    """The body of a note as it comes from the editor, and what its front matter says."""
    document = read_document(f"user/{_NAMELESS}.md", text)
    _tell_problems(app, document)
    # A name that no line gives is made from the text.
    named = document.name if "name" in document.lines and document.name != _NAMELESS else ""
    return document.body, {
        "name": named,
        "description": document.description,
        "type_": document.type,
        "tags": document.tags,
        "when": document.when,
        "expires": document.expires.isoformat() if document.expires else "",
    }


def _tell_problems(app: App, document: Document) -> None:
    for one in document.problems:
        told = f"{printable(document.path)}:{one.line}: {translated(one.what, app.language)}"
        aside(say("note", app.language) + told)
        aside(say("hint", app.language) + translated(one.hint, app.language))
