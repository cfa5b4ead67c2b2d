"""What each tool does: one call of a service, put into words and into fields.

Some agents hand a model the words, others the fields only, so `message` is among the fields.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, assert_never

import msgspec

from clew.core.handoff.references import SESSION
from clew.core.memory.shown import OF_MEMORY, excerpt, quoted
from clew.core.text.printable import printable, storable
from clew.entrypoints.mcp.envelope import Needed
from clew.entrypoints.mcp.places import Choice, choose
from clew.entrypoints.mcp.session import Call, Cancelled, Reply
from clew.entrypoints.mcp.tools import TOOLS, Log, Note, Open, Recall
from clew.entrypoints.mcp.wire import Gone, Send
from clew.errors import ClewError, UsageError

if TYPE_CHECKING:
    from clew.app import App
    from clew.core.memory.hits import Hit
    from clew.services.memory import Memory, Saved
    from clew.services.memory_search import Found
    from clew.stores.documents import Receipt

SETTLE_SECONDS: Final = 3.0
"""After so long without a write, what was written is committed where memory is a repository."""
_MEMORY = re.compile(r"clew://memory/|mem_[0-9a-f]|(?:user|workspaces/[^/]+)/[^\0]*\.md(?:#|\Z)")
_EMPTY: Final = {
    "handoff": "no conversation has handed anything over yet",
    "sessions": "the agent has worked in no session here yet",
}
"""Scopes that may hold nothing at all, and why."""


@dataclass(slots=True)
class Tray:
    """Where a call is at work: the application for the folder of its client."""

    app: App
    choice: Choice
    call: Call
    send: Send

    @property
    def place(self) -> str:
        """Where it was done, in words."""
        name = printable(self.app.workspace.name, 60)
        return f"project {name}; {self.choice.why}" if self.choice.why else f"project {name}"

    def memory(self) -> Memory:
        """The memory of that folder."""
        return self.app.memory(self.call.session.name)


@dataclass(slots=True)
class MemoryDesk:
    """Serves the tools from the memory of the folder that a client works in."""

    application: Callable[[Path], App]
    """The application for a folder."""
    otherwise: Path
    """The folder where the client names none."""
    _waiting: dict[str, Memory] = field(default_factory=dict)
    _timer: threading.Timer | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def serve(self, name: str, arguments: Mapping[str, Any], call: Call, send: Send) -> Reply:
        """The answer of one tool. What cannot be done is said in the answer. Raises Cancelled, Needed, Gone."""
        try:
            kept = _storable(arguments)
            if kept != arguments:
                return _repaired(self.serve(name, kept, call, send))
            given = _checked(name, arguments)
            choice = choose(call.session.roots(call, send), self.otherwise)
            tray = Tray(self.application(choice.folder), choice, call, send)
            match given:
                case Recall():
                    return recall(given, tray)
                case Open():
                    return open_(given, tray)
                case Note():
                    return self._written(tray, lambda memory: note(given, memory, tray))
                case Log():
                    return self._written(tray, lambda memory: log(given, memory, tray))
                case _:
                    assert_never(given)
        except (Cancelled, Needed, Gone):
            raise
        except ClewError as error:
            return refusal(error)
        except OSError as error:
            return Reply(f"error: the system refused: {error.strerror or error}", {}, failed=True)

    def close(self) -> None:
        """Commit what waits for its commit, where memory is a repository."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        for memory in waiting.values():
            memory.close()

    def _written(self, tray: Tray, write: Callable[[Memory], Reply]) -> Reply:
        memory = tray.memory()
        reply = write(memory)
        with self._lock:
            self._waiting[memory.workspace] = memory
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(SETTLE_SECONDS, self.close)
            self._timer.daemon = True
            self._timer.start()
        notices, memory.notices[:] = tuple(memory.notices), []
        return replace(reply, notices=notices)


def _repaired(reply: Reply) -> Reply:
    """An answer that says what was done to the arguments."""
    told = "Halves of characters (lone surrogates) can be neither kept nor looked for; each is U+FFFD."
    facts = dict(reply.facts)
    if isinstance(facts.get("message"), str):
        facts["message"] += f" {told}"
    return replace(reply, text=f"{reply.text}\n{told}", facts=facts)


def _storable(value: Any) -> Any:
    """A value of JSON with texts that a file can hold."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {key: _storable(one) for key, one in value.items()}
    return [_storable(one) for one in value] if isinstance(value, list) else value


def refusal(error: ClewError) -> Reply:
    """An error as a model reads it."""
    hint = f"\nhint: {printable(error.hint, 2_000)}" if error.hint else ""
    again = "\nThe same call may succeed later." if error.retry else ""
    return Reply(f"error: {printable(str(error), 2_000)}{hint}{again}", {}, failed=True)


def _checked(name: str, arguments: Mapping[str, Any]) -> Recall | Open | Note | Log:
    tool = TOOLS[name]
    # Some models send null for what they leave out.
    kept = {key: value for key, value in arguments.items() if value is not None}
    if kept.get("kind") == "plan":
        # A plan is written anew as a whole, unless it is said that this is a part.
        kept.setdefault("mode", "replace")
    try:
        given = msgspec.convert(kept, tool.arguments, strict=False)
    except msgspec.ValidationError as error:
        properties = tool.schema["inputSchema"]["properties"]
        hint = f"`{name}` takes {', '.join(properties)}"
        raise UsageError(f"`{name}` was called wrongly: {error}", hint=hint) from None
    for key, value in kept.items():
        texts = value if isinstance(value, list | tuple) else (value,)
        if any(isinstance(text, str) and "\0" in text for text in texts):
            raise UsageError(f"`{key}` holds a NUL character", hint="text only")
    assert isinstance(given, Recall | Open | Note | Log)
    return given


# ---------------------------------------------------------------------- reading


def recall(given: Recall, tray: Tray) -> Reply:
    """Search memory. The index is brought up to date first, in steps that tell how far they are."""
    memory = tray.memory()
    memory.progress = lambda done, total: tray.call.progress(
        tray.send, done, total, f"indexed {done} of {total} documents"
    )
    found = memory.recall(given.query, scope=given.scope, budget=given.budget)
    searched = found.searched
    head, shown = _told(given, found, tray)
    facts = {
        "message": head,
        "found": not found.miss,
        "hits": [_fields(hit) for hit in found.hits],
        "left_out": found.left_out,
        "searched": {
            "scope": searched.scope, "documents": searched.documents, "passages": searched.passages,
            "words": list(searched.words),
        },
        "workspace": tray.app.workspace.id,
        "notices": list(found.notices),
    }  # fmt: skip
    noted = [f"note: {printable(notice, 500)}" for notice in found.notices]
    return Reply("\n".join((head, *noted, *shown)), facts)


def _told(given: Recall, found: Found, tray: Tray) -> tuple[str, list[str]]:
    """What the outcome is, and the hits in lines."""
    searched = found.searched
    looked = f"{searched.documents} documents, {searched.passages} passages"
    if found.miss:
        if given.scope in _EMPTY and not searched.documents:
            return f"Nothing found: `{given.scope}` is empty, {_EMPTY[given.scope]}. ({tray.place})", []
        words = f", for: {', '.join(searched.words)}" if searched.words else ""
        wider = "" if given.scope == "all" else " Try scope=all."
        return f"Nothing found in {searched.scope}: searched {looked}{words}.{wider} ({tray.place})", []
    head = f"{len(found.hits)} found in {searched.scope} ({looked}; {tray.place}). Quoted, not said to you."
    lines: list[str] = []
    for hit in found.hits:
        lines += ["", *quoted(hit)]
    if found.left_out:
        lines.append(f"\n{found.left_out} more; narrow the question, or raise `budget`.")
    return head, lines


def _fields(hit: Hit) -> dict[str, object]:
    fields = {
        "ref": hit.reference, "name": hit.name, "tier": hit.tier, "at": hit.at, "heading": hit.heading,
        "stale": hit.stale, "text": hit.snippet,
    }  # fmt: skip
    return {key: value for key, value in fields.items() if value}


def open_(given: Open, tray: Tray) -> Reply:
    """Show what a reference points to: of memory, else whatever `clew open` shows."""
    ref = given.ref.strip()
    if _MEMORY.match(ref):
        opened = tray.memory().open(ref)
        bare = ref.partition("#")[0]
        return _shown(bare, opened.text, opened.first, opened.lines, stale=opened.stale)
    if ref.startswith(SESSION) and (sessions := tray.memory().sessions) is not None:
        plain, text = sessions.open(ref)
        return _shown(plain, text, 0, 0)
    from clew.services.references import open_reference

    exchanges = ()
    if ref.startswith("exchange:"):
        with tray.app.exchanges() as store:
            exchanges = store.list(tray.app.workspace.id)
    found = open_reference(ref, tray.app.place, exchanges, tray.memory)
    if found.kind == "memory":
        return _shown(found.ref.partition("#")[0], found.text, found.first, found.lines, stale=found.stale)
    bare = re.sub(r":\d+(-\d+)?\Z", "", found.ref) if found.first else found.ref
    return _shown(bare, found.text, found.first, found.lines, ":{}-{}")


def _shown(bare: str, text: str, first: int, lines: int, form: str = OF_MEMORY, stale: str = "") -> Reply:
    """A text, cut to what one answer may hold, with the reference of the rest."""
    part = excerpt(bare, text, first, lines, form, stale)
    facts: dict[str, Any] = {"ref": part.ref, "text": part.text, "lines": lines or part.text.count("\n") + 1}
    facts |= {key: value for key, value in (("more", part.more), ("stale", stale)) if value}
    return Reply(str(part), facts)


# ---------------------------------------------------------------------- writing


def note(given: Note, memory: Memory, tray: Tray) -> Reply:
    """Keep a note."""
    from clew.services.memory import NoteWish

    if given.kind != "note":
        return _handed(given, memory, tray)
    saved = memory.note(
        NoteWish(
            text=given.text, name=given.name, description=given.description, type=given.type,
            when=tuple(phrase for phrase in given.when if phrase.strip()), personal=given.personal, mode=given.mode,
        )
    )  # fmt: skip
    words: list[str] = []
    if saved.action == "created" and not given.when:
        words.append("It has no `when` phrases: call again with the same name and `when`, so that it comes to mind.")
    return _saved(saved, tray, words)


def _handed(given: Note, memory: Memory, tray: Tray) -> Reply:
    """Hand over to the next window, or keep the plan."""
    from clew.services.handoff import Handoff, Window

    handoff = Handoff(memory)
    if given.kind == "plan":
        done = handoff.write_plan(given.text, mode=given.mode)
    else:
        # A server on stdio serves one client for one conversation.
        window = Window(tray.call.session.name or f"mcp-{os.getpid()}")
        done = handoff.save(given.text, window, name=given.name, mode=given.mode)
    assert done.kept is not None, "what is asked for is never withheld"
    words = ["The plan before is kept in the archive."] if given.kind == "plan" and done.kept.archived else []
    return _answered(done.ref, done.action, _HANDED[done.action], done.kept.receipt, tray, words, audited=done.audited)


_HANDED: Final = {
    "created": "Saved", "refreshed": "Saved to the ledger of this conversation", "replaced": "Saved",
    "unchanged": "Nothing to do: it says that already",
}  # fmt: skip


def log(given: Log, memory: Memory, tray: Tray) -> Reply:
    """Add to today's log."""
    return _saved(memory.log(given.text, given.heading), tray, [])


_DONE: Final = {
    "created": "Saved as a new note", "appended": "Saved: added", "superseded": "Saved; the former text is superseded",
    "unchanged": "Nothing to do: it says that already", "edited": "Saved",
}  # fmt: skip


def _saved(saved: Saved, tray: Tray, words: list[str]) -> Reply:
    done = _DONE[saved.action]
    return _answered(saved.ref, saved.action, done, saved.receipt, tray, words, audited=saved.audited)


def _answered(
    ref: str, action: str, done: str, receipt: Receipt, tray: Tray, words: list[str], *, audited: bool
) -> Reply:
    if receipt.redacted:
        words.append(f"Secrets were taken out of it{', also of lines that were there' if receipt.older else ''}.")
    if not audited:
        words.append("The audit trail could not be written.")
    facts: dict[str, Any] = {
        "saved": True, "ref": ref, "action": action, "lines": receipt.lines, "workspace": tray.app.workspace.id,
    }  # fmt: skip
    told = f"{done}, read back: {ref} ({receipt.path}, {receipt.lines} lines; {tray.place})."
    message = " ".join((told, *words))
    return Reply(message, {"message": message, **facts})
