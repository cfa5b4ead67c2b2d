"""The agent's own memory: the four tools that other agents get over MCP, over the same services."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from clew.core.agent.effects import Effect
from clew.core.handoff.references import SESSION, is_reference
from clew.core.memory.shown import MOST_SHOWN, excerpt, quoted
from clew.core.text.printable import printable
from clew.services.tools.tool import Reply, Signal, Tool, define

if TYPE_CHECKING:
    from clew.services.handoff import Handed, Handoff, Window
    from clew.services.memory import Memory, Saved
    from clew.services.memory_search import Found


@dataclass(frozen=True)
class Recall:
    """Arguments of `memory_recall`."""

    query: str
    scope: Literal["all", "notes", "logs", "reflections", "handoff", "sessions"] = "all"


@dataclass(frozen=True)
class Open:
    """Arguments of `memory_open`."""

    ref: Annotated[str, Meta(description="as a hint or a search names it")]


@dataclass(frozen=True)
class Note:
    """Arguments of `memory_note`."""

    text: Annotated[str, Meta(description="Markdown")]
    name: Annotated[str, Meta(description="a few words; the same name means the same note")] = ""
    description: Annotated[str, Meta(description="one line")] = ""
    type: Literal["preference", "decision", "procedure", "gotcha", "reference", "profile", "note"] = "note"
    when: Annotated[
        tuple[str, ...], Meta(description="2 to 5 phrases that will be said when it should come to mind")
    ] = ()
    mode: Annotated[
        Literal["append", "replace"] | UnsetType, Meta(description="usual: append; for a plan: replace")
    ] = UNSET
    kind: Annotated[
        Literal["note", "handoff", "plan"],
        Meta(description="handoff: state of this window; plan: the whole plan, `- [ ] step` each"),
    ] = "note"
    personal: Annotated[bool, Meta(description="about the user, in every project")] = False


@dataclass(frozen=True)
class Log:
    """Arguments of `memory_log`."""

    text: str


def memory_tools(
    memory: Callable[[], Memory],
    handoff: Callable[[], Handoff],
    window: Callable[[], Window],
) -> list[Tool[Any]]:
    """The tools."""

    def recall(given: Recall, effect: Effect, signal: Signal) -> Reply:
        return told(memory().recall(given.query, scope=given.scope))

    def open_(given: Open, effect: Effect, signal: Signal) -> Reply:
        if given.ref.strip().startswith(SESSION) and (sessions := memory().sessions) is not None:
            return _said(*sessions.open(given.ref))
        opened = handoff().open(given.ref) if is_reference(given.ref) else memory().open(given.ref)
        part = excerpt(given.ref.partition("#")[0], opened.text, opened.first, opened.lines, stale=opened.stale)
        return Reply(str(part), view=part.head)

    def note(given: Note, effect: Effect, signal: Signal) -> Reply:
        # A plan is written anew as a whole, unless it is said that this is a part.
        mode = given.mode or ("replace" if given.kind == "plan" else "append")
        if given.kind == "handoff":
            return _handed(handoff().save(given.text, window(), name=given.name, mode=mode))
        if given.kind == "plan":
            return _handed(handoff().write_plan(given.text, mode=mode))
        from clew.services.memory import NoteWish  # noqa: PLC0415 -- heavy, and most runs write nothing

        wish = NoteWish(
            given.text, given.name, given.description, given.type, given.when, personal=given.personal, mode=mode
        )
        return _saved(memory().note(wish))

    def log(given: Log, effect: Effect, signal: Signal) -> Reply:
        return _saved(memory().log(given.text))

    def writes(given: Note | Log) -> Effect:
        return Effect("memory", f"keep {printable(given.text, 60)}", given.text)

    return [
        define("memory_recall", "Search notes, logs, handoffs and earlier sessions.", Recall, recall),
        define("memory_open", "Read what a reference of memory points to.", Open, open_),
        define("memory_note", "Keep a note for later sessions: a decision, trap, procedure.", Note, note, writes),
        define("memory_log", "Add to today's log: what was done or found out.", Log, log, writes),
    ]


def told(found: Found) -> Reply:
    """What a search found, or that it found nothing and where it looked."""
    rows = [f"note: {printable(one, 300)}" for one in found.notices]
    if found.miss:
        searched = found.searched
        words = f", for: {', '.join(searched.words)}" if searched.words else ""
        looked = f"{searched.documents} documents, {searched.passages} passages"
        rows.append(f"nothing found in {searched.scope}: searched {looked}{words}")
        return Reply("\n".join(rows), view="-")
    for hit in found.hits:
        rows += quoted(hit)
    if found.left_out:
        rows.append(f"{found.left_out} more; narrow the query")
    return Reply("\n".join(rows), view=f"{len(found.hits)} found")


def _said(ref: str, text: str) -> Reply:
    left = "\n[cut; name a run (#3) or a step of it (#3.5)]" if len(text) > MOST_SHOWN else ""
    return Reply(f"{ref}\n\n{text[:MOST_SHOWN]}{left}", view=ref)


def _handed(handed: Handed) -> Reply:
    if not handed.ref:
        return Reply(f"not saved: {handed.reason}", failed=True)
    return Reply(f"{handed.action}, read back: {handed.ref}")


def _saved(saved: Saved) -> Reply:
    cleaned = "; secrets were taken out" if saved.receipt.redacted else ""
    cleaned += ", also of lines that were there" if saved.receipt.older else ""
    return Reply(f"{saved.action}, read back: {saved.ref} ({saved.receipt.path}){cleaned}")
