"""One question: the assembled prompt goes to a model, its answer is streamed and kept in the history."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from clew.adapters.sources.git_state import BRANCH, CLEAN, COMMIT, DIFF, LAST_COMMIT, MISSING, STATUS
from clew.core.context.anchors import MOST_ANCHORS, WINDOW, is_anchor
from clew.core.context.fences import clean
from clew.core.context.fragment import Exchange
from clew.core.context.layers import CONTEXT, Piece
from clew.core.context.mode import Mode
from clew.core.ports import Model, Usage
from clew.core.text.printable import visible
from clew.core.text.redact import redact
from clew.core.text.terms import query_terms
from clew.errors import ModelCut, ModelError
from clew.services.answer import LINES, cite, render
from clew.services.attached_lines import quote
from clew.services.context import Gathered
from clew.services.passages import read_lines
from clew.stores.exchanges import ExchangeStore


@dataclass(slots=True)
class Answer:
    """What came of a question. Filled while `stream_answer` is read."""

    text: str = ""
    usage: Usage | None = None
    model: str = ""
    """Empty: answered without a model."""
    cut: bool = False
    """The answer is not whole: the stream ended early, or the user stopped it."""
    refs: tuple[str, ...] = ()


class Threads:
    """Which exchanges belong together: those of one terminal, since the last `--new`."""

    def __init__(self, store: ExchangeStore, workspace: str, terminal: str) -> None:
        self.store = store
        self.workspace = workspace
        self.terminal = terminal

    def current(self) -> str:
        """The latest thread of this terminal."""
        return self._named(max(self._numbers(), default=1))

    def fresh(self) -> str:
        """A thread that has no exchange yet."""
        return self._named(max(self._numbers(), default=0) + 1)

    def _named(self, number: int) -> str:
        return f"{self.terminal}#{number}"

    def _numbers(self) -> Iterator[int]:
        for name in self.store.threads(self.workspace):
            terminal, _, number = name.rpartition("#")
            if terminal == self.terminal and number.isdecimal():
                yield int(number)


def earlier(store: ExchangeStore, workspace: str, thread: str) -> tuple[Exchange, ...]:
    """The exchanges that may enter a prompt: the window and the anchor history.

    A question that got no answer counts only as the last one, which the next may follow up on.
    """
    *before, latest = store.last(workspace, thread, 2 * WINDOW) or (None,)
    if latest is None:
        return ()
    recent = (*[one for one in before if one is not None and one.answer][-(WINDOW - 1) :], latest)
    first = recent[0].id
    anchored = [one for one in store.anchored(workspace, thread) if one.id < first and one.answer]
    return (*anchored[-4 * MOST_ANCHORS :], *recent)


def stream_answer(gathered: Gathered, model: Model | None, answer: Answer, limit: int) -> Generator[str, None, None]:
    """Stream the answer piece by piece into `answer`. Without a model: the best passages, cited.

    Raises ModelError; what came before stays in `answer`, marked as cut.
    """
    if model is None:
        yield from _without_model(gathered, answer)
        return
    answer.model = model.name
    answer.refs = tuple(kept.ref for kept in gathered.snapshot.report.kept if kept.form != "line")
    stream = model.stream(gathered.snapshot.messages(), limit=limit)
    answer.cut = True
    try:
        for chunk in stream:
            if chunk.usage is not None:
                answer.usage = chunk.usage
            if chunk.text:
                answer.text += chunk.text
                yield chunk.text
        answer.cut = False
    except ModelCut:
        raise
    except ModelError:
        answer.cut = bool(answer.text)
        raise
    finally:
        close: Callable[[], None] | None = getattr(stream, "close", None)
        if close is not None:
            close()


def _without_model(gathered: Gathered, answer: Answer) -> Iterator[str]:
    remembered = _remembered(gathered)
    if remembered:
        answer.refs = tuple(piece.fragment.ref for piece in _context(gathered) if piece.fragment.source == "memory")
        answer.text = remembered
        yield remembered
        if gathered.decision.code in ("memory", "hinted"):
            return
    for ref, text in _facts(gathered):
        answer.refs, answer.text = (*answer.refs, *ref), answer.text + text
        if text:
            yield text
        return
    given = [piece.fragment for piece in _context(gathered) if piece.fragment.explicit and piece.form != "line"]
    cited = quote(given, query_terms(gathered.question).words)
    related = gathered.related
    searched = gathered.decision.mode is not Mode.MINIMAL and gathered.found
    searched = searched and not gathered.snapshot.report.only_notes
    if searched and related is not None and gathered.freshened is not None:
        quoted = {one.path for one in cited}
        found = cite(related, read_lines(gathered.freshened.tree), related.query.words)
        cited += [one for one in found if one.path not in quoted]
    answer.refs = (*answer.refs, *(one.ref for one in cited))
    for piece in render(cited):
        answer.text += piece
        yield piece


def _facts(gathered: Gathered) -> Iterator[tuple[tuple[str, ...], str]]:
    """What answers in the place of passages, with its references: facts, changes or commits, a map of the tree."""
    pieces = [piece for piece in _context(gathered) if piece.fragment.source != "memory"]
    missing = [piece for piece in pieces if piece.fragment.ref == MISSING]
    if missing or gathered.decision.mode is Mode.LEAN:
        facts = missing or [piece for piece in pieces if piece.form == "line"]
        if gathered.decision.code == "lean.git":
            facts = [piece for piece in facts if piece.fragment.source == "git"]
        yield tuple(piece.fragment.ref for piece in facts), "\n".join(piece.text for piece in facts)
    elif changes := _present_changes(gathered) or _last_commits(gathered):
        yield tuple(changes), "\n\n".join(f"{ref}\n{text}" for ref, text in changes.items()) + "\n"
    elif "tree" in gathered.asked and (tree := [piece for piece in pieces if piece.fragment.source == "tree"]):
        yield ("tree",), clean(tree[0].fragment.text) + "\n"


def _remembered(gathered: Gathered) -> str:
    """What memory gave: passages, and notes that came to mind with the beginning of their text, each under its
    reference; an empty line before what follows."""
    pieces = [piece for piece in _context(gathered) if piece.fragment.source == "memory"]
    texts = [_told(gathered, piece) for piece in pieces]
    ends = "" if gathered.decision.code in ("memory", "hinted") or not texts else "\n"
    return "".join(texts) + ends


def _told(gathered: Gathered, piece: Piece) -> str:
    fragment = piece.fragment
    text = fragment.text
    if piece.form == "line":
        rows = gathered.read_note(fragment.ref).split("\n")
        text = visible("\n".join(rows[:LINES] + ["…"] * (len(rows) > LINES)))
        if not text.strip():
            return f"{fragment.line}\n"
    return f"{fragment.ref}  ({fragment.note})\n" + _indented(text)


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in clean(text).split("\n"))


def _present_changes(gathered: Gathered) -> dict[str, str]:
    """Status and uncommitted changes that are in the prompt, by reference, each line indented as passages are."""
    if gathered.decision.code != "rich.diff":
        return {}
    told = [piece for piece in _context(gathered) if piece.fragment.source == "git"]
    found = {
        piece.fragment.ref: "\n".join(f"  {line}" for line in clean(piece.fragment.text).split("\n"))
        for piece in told
        if piece.form != "line" and (piece.fragment.ref == STATUS or piece.fragment.ref.startswith(DIFF))
    }
    if not found and any(piece.fragment.ref == STATUS and piece.fragment.line == CLEAN for piece in told):
        found[STATUS] = f"  {CLEAN}"
    return found


def _last_commits(gathered: Gathered) -> dict[str, str]:
    """What the prompt says of the commits that were asked for, by reference, each line indented."""
    if gathered.decision.code != "rich.commits":
        return {}
    found: dict[str, str] = {}
    for piece in _context(gathered):
        ref = piece.fragment.ref
        if ref == LAST_COMMIT or ref.startswith(COMMIT):
            text = piece.fragment.text if piece.form != "line" else piece.fragment.line
            found[ref] = "\n".join(f"  {line}" for line in clean(text or piece.fragment.line).split("\n"))
        elif ref == BRANCH and not any(one.fragment.ref == LAST_COMMIT for one in _context(gathered)):
            found[ref] = f"  {piece.fragment.line}"
    return found


def _context(gathered: Gathered) -> Iterator[Piece]:
    """What the prompt shows beside earlier exchanges, in its order."""
    return (piece for piece in gathered.snapshot.pieces if piece.layer == CONTEXT)


def keep(
    store: ExchangeStore, workspace: str, thread: str, question: str, gathered: Gathered, answer: Answer, at: datetime
) -> Exchange | None:
    """Keep the exchange, without secrets. Nothing is kept where nothing was asked.

    A question that got no answer is kept, too: it began the thread or goes on with it, and the next may follow up on
    it. Errors named in quoted passages are not of this conversation: they make no anchor.
    """
    if not question:
        return None
    text = answer.text + ("\n[cut off]" if answer.cut and answer.text else "")
    asked, said = redact(question).text, redact(text).text
    return store.add(
        workspace,
        thread,
        question=asked,
        answer=said,
        mode=gathered.decision.mode.value,
        at=at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        refs=_short(answer.refs),
        anchor=is_anchor(asked, said if answer.model else ""),
    )


def _short(refs: Sequence[str]) -> tuple[str, ...]:
    return tuple(refs[:20])
