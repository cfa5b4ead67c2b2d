"""Gathers what may answer a question, decides how much of it is needed, and assembles the prompt."""

from __future__ import annotations

import fnmatch
import re
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from clew.adapters.git import Git, NoRepository
from clew.adapters.mode_model import load_mode_model
from clew.adapters.sources.environment import Environment
from clew.adapters.sources.explicit import Attached, Explicit
from clew.adapters.sources.files import WorkTree
from clew.adapters.sources.git_state import MISSING, GitState, missing_fragment, missing_git
from clew.adapters.sources.shell_history import ShellHistory
from clew.adapters.sources.tree import DirectoryTree
from clew.adapters.tokenizers import tokenizer_for
from clew.adapters.workspace import Workspace
from clew.core.context.anchors import exchange_fragments
from clew.core.context.assemble import assemble
from clew.core.context.budget import Budget
from clew.core.context.cachekey import Asking
from clew.core.context.follow import Follow, follow, joined, own_words, points_back
from clew.core.context.fragment import DEFAULT_WEIGHTS, Exchange, Fragment
from clew.core.context.layers import Snapshot, question_frame
from clew.core.context.mode import (
    Decision,
    Evidence,
    Mode,
    asked_for,
    came_to_mind,
    decide,
    explain,
    from_memory,
    going_on,
    in_place,
    last_commits,
    on_its_own,
    switched_off,
)
from clew.core.context.style import choose_style, language, sentence
from clew.core.ports import Entry, Source
from clew.core.text.printable import printable
from clew.core.text.redact import is_secret_path
from clew.errors import StoreError
from clew.services.code_index import Freshened, Progress, freshen
from clew.services.memory_source import ASKED_WEIGHT, MemorySource, asks_for_memory
from clew.services.passages import known_of, read_lines, related_fragments, withheld
from clew.services.relevance import Related
from clew.services.searches import Outcome, Searches
from clew.stores.sqlite_file import is_damage, remove

LEAST_PROBABILITY = 0.5
"""Below this chance that anything here answers, Clew says that nothing here matches."""
NOTHING_ATTACHED = Attached(())
MOST_PIPED = 1500
"""Characters of piped text that are searched for beside the question."""
ASKS_GIT = frozenset({"lean.git", "rich.diff", "rich.commits"})
"""Reasons for which git itself is asked."""
LEAST_NAME = 3
"""A shorter name of a workspace is too easily a word of something else."""
ASKED_SHARE, USUAL_SHARE = 0.5, 0.06
"""Share of the room that the map of the tree may take: where it is asked for, and else beside the environment."""
CHARACTERS = 2.8
"""Characters a token that names of files have at least, in general."""
_ATTACH = "to give it redacted, attach it: clew ask QUESTION"
MOST_ANCHOR_FILES = 24
"""Files that are anchors in one prompt."""
_WHOLE = r"(?:project|repo(?:sitory)?|code ?base|code|source(?: tree)?|workspace|package)"
_ASKS_TREE = re.compile(
    rf"\b(?:(?:director(?:y|ies)|folder|file|{_WHOLE})'?s? (?:layout|structure|tree|hierarchy|overview|architecture)"
    rf"|(?:layout|structure|overview|architecture|map) of (?:the |this |our )?{_WHOLE}"
    rf"|{_WHOLE} (?:is )?(?:organi[sz]ed|laid out|structured)"
    r"|(?:which|what) (?:folders|directories) are there|(?:list|show)(?: me)?(?: the| all)* (?:folders|directories))\b"
    r"|(?:目录|项目|代码|文件|工程|仓库|源码)的?(?:目录)?(?:结构|布局|概览|架构|组织)|目录树|(?:有哪些|列出)(?:目录|文件夹)|整体架构",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a question is asked: everything about it that does not depend on the question."""

    workspace: Workspace
    git: Git | NoRepository
    cwd: Path
    environ: Mapping[str, str]
    index: Path
    """Where the code index of this work tree lies."""
    watcher: Path | None = None
    """Where a watcher of this work tree would listen."""
    searches: Path | None = None
    """Where outcomes of searches are kept; None keeps none."""
    now: Callable[[], float] = time.time
    """Seconds since the epoch, to tell files that changed a moment ago."""
    memory: MemorySource | None = None
    """What is remembered of this workspace and of the user; None where nothing is."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A question and what the user said about how to treat it."""

    question: str
    names: tuple[str, ...] = ()
    """Files, folders and patterns that were attached."""
    stdin: BinaryIO | None = None
    context: bool = True
    """False: no context is gathered; attachments still go along."""
    mode: Mode | None = None
    """Overrides the decision."""
    model: str = ""
    """Name of the model whose tokenizer counts; empty counts with o200k."""
    max_tokens: int = 8000
    answer: int = 800
    style: str = "auto"
    language: str = "en"
    """Language of the reason in the report."""
    weights: Mapping[str, int] = field(default_factory=lambda: dict(DEFAULT_WEIGHTS))
    anchors: tuple[tuple[str, int], ...] = ()
    """(glob, weight) from configuration."""
    ignore: tuple[str, ...] = ()
    shell_history: bool = False
    redacts: bool = True
    """Secrets are removed from passages and from files of secrets; git facts and shell history never show any."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """A prompt with all that led to it."""

    snapshot: Snapshot
    decision: Decision
    reason: str
    """In the user's language."""
    related: Related | None
    """None where no search was made."""
    found: bool
    """Whether anything relevant was found, be it a note, or nothing was needed."""
    notices: tuple[str, ...]
    freshened: Freshened | None = None
    cache: Outcome = "off"
    """Whether the search was taken from the cache."""
    asked: frozenset[str] = frozenset()
    """Side sources that the question asks for."""
    question: str = ""
    read_note: Callable[[str], str] = lambda ref: ""
    """The text of a note that came to mind, by its reference."""


def gather(
    wish: Wish, place: Place, exchanges: Sequence[Exchange], clock: datetime, progress: Progress | None = None
) -> Gathered:
    """Collect, decide, assemble. Raises OverBudget, UsageError (attachments), StoreError (index)."""
    tree = WorkTree(place.workspace.root, wish.ignore)
    attached = Explicit(
        wish.names, cwd=place.cwd, root=place.workspace.root, tree=tree, stdin=wish.stdin,
        weight=wish.weights.get("explicit", 100), redact_secrets=wish.redacts,
    ).attach()  # fmt: skip
    if not wish.context and wish.mode is None:
        return _without_context(wish, attached)
    try:
        freshened = freshen(place.index, tree, place.git, progress, place.watcher, place.now)
        with freshened.index:
            return gather_from(freshened, wish, place, exchanges, clock, attached)
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            hint = "try again, or run `clew index rebuild`"
            raise StoreError(f"the index {place.index}: {error}", hint=hint) from error
        # Damage shows only where a page is read.
        remove(place.index)
        freshened = freshen(place.index, tree, place.git, progress, now=place.now)
        with freshened.index:
            return gather_from(freshened, wish, place, exchanges, clock, attached)


def _without_context(wish: Wish, attached: Attached) -> Gathered:
    mode = Mode.RICH if attached.fragments else Mode.MINIMAL
    decision = switched_off(mode)
    reason = explain(decision.code, locale=wish.language)
    snapshot = _assembled(wish, list(attached.fragments), decision, frozenset(), found=True)
    return Gathered(snapshot, decision, reason, None, True, attached.notices, question=wish.question)


def gather_from(
    freshened: Freshened,
    wish: Wish,
    place: Place,
    exchanges: Sequence[Exchange],
    clock: datetime,
    attached: Attached = NOTHING_ATTACHED,
) -> Gathered:
    """What `gather` does once the index is fresh: for any tree, also that of a commit. Raises OverBudget."""
    tree = freshened.tree
    read = read_lines(tree)
    searches = Searches(freshened, _asking(wish, place, attached), place.git, place.searches, read)
    related = searches.find("\n".join([wish.question, *_piped(attached)]))
    goes_on = follow(wish.question, searches.stands)
    likely = bool(related.files) and related.probability >= LEAST_PROBABILITY
    evidence = Evidence(
        explicit=bool(attached.fragments),
        symbols=related.symbols,
        paths=related.paths,
        branches=_branches(wish.question, place.git),
        has_exchange=bool(exchanges) and goes_on is not Follow.OWN,
        # A weak match says nothing about the question: it may well be about this project, and nothing here answers it.
        relevance=related.probability if likely else None,
    )
    by_words = decide(wish.question, evidence, load_mode_model())
    decision = in_place(by_words, likely=likely, named=_named(wish.question, place))
    if goes_on is Follow.OWN:
        decision = on_its_own(decision, likely=likely)
    elif goes_on is Follow.JOINS and exchanges and points_back(wish.question):
        decision = going_on(decision)
    follows = bool(exchanges) and decision.code in ("exchange", "said", "rich.followup")
    if wish.mode is not None:
        decision = asked_for(wish.mode, decision.scores)
    remembered, decision = _remembered(wish, place, decision)
    reason = explain(decision.code, decision.detail, wish.language)
    if follows:
        earlier = joined([one.question for one in sorted(exchanges, key=lambda one: one.id)])
        both = searches.stands(own_words(wish.question))
        related = (searches.find_both if both else searches.find)(wish.question, earlier)
    searches.settle(decision.mode.value)
    found = follows or likely or _is_found(wish, decision, related, attached)
    side_asked = _side_asked(wish, decision)
    fragments: list[Fragment] = list(attached.fragments)
    if decision.mode is not Mode.MINIMAL:
        fragments += _git_state(wish, place, decision)
        fragments += exchange_fragments(exchanges, wish.weights.get("exchange", 50))
        fragments += remembered
        fragments += _anchor_files(wish, searches, related)
        fragments += _side(wish, place, searches, clock, side_asked)
    # Who asks what commits hold, and names nothing else, is not helped by passages that merely sound like it.
    alone = decision.code == "rich.commits" and not (related.symbols or related.paths)
    alone = alone or any(fragment.ref == MISSING for fragment in fragments)
    if decision.mode is Mode.RICH and found and not alone:
        most = max(20, min(wish.max_tokens // 200, 400))
        weight = wish.weights.get("related", 80)
        fragments += related_fragments(related, read, weight, most=most, redacts=wish.redacts)
    # A map of the tree answers who asks for one, whatever passages are like the question.
    found |= any(fragment.source == "tree" for fragment in fragments if "tree" in side_asked)
    snapshot = _assembled(wish, fragments, decision, side_asked, found=found, reason=reason)
    notices = (*attached.notices, *filter(None, [freshened.notice]))
    if decision.mode is Mode.RICH and found and related.unknown:
        notices = (*notices, f"no file here speaks of {', '.join(related.unknown)}")
    given = {fragment.ref for fragment in attached.fragments}
    kept_back = [shown for path in withheld(wish.question, searches.rows()) if (shown := printable(path)) not in given]
    notices = (*notices, *(f"{path}: withheld, it usually holds secrets; {_ATTACH} {path}" for path in kept_back))
    return Gathered(
        snapshot,
        decision,
        reason,
        related,
        found or bool(remembered),
        notices,
        freshened,
        searches.outcome,
        side_asked,
        wish.question,
        place.memory.read if place.memory is not None else lambda ref: "",
    )


def _is_found(wish: Wish, decision: Decision, related: Related, attached: Attached) -> bool:
    """Whether something is at hand for the question, or nothing is needed, though no passage is likely to answer."""
    return (
        decision.mode is not Mode.RICH
        # Who asks for passages gets the nearest ones, however weak.
        or (wish.mode is Mode.RICH and bool(related.files))
        or bool(attached.fragments or related.symbols or related.paths or decision.code in ASKS_GIT)
    )


def _git_state(wish: Wish, place: Place, decision: Decision) -> list[Fragment]:
    weight = wish.weights.get("git", 60)
    if decision.code in ASKS_GIT and (reason := missing_git(place.git, place.cwd)):
        return [missing_fragment(reason, weight)]
    wants_commits = last_commits(wish.question) if decision.code == "rich.commits" else 0
    state = GitState(place.git, weight=weight, wants_diff=decision.code == "rich.diff", wants_commits=wants_commits)
    return list(state.collect(wish.question))


def _remembered(wish: Wish, place: Place, decision: Decision) -> tuple[list[Fragment], Decision]:
    """Hints and passages of memory, and the decision: who asks for what was noted, and finds it, needs it read."""
    asks = asks_for_memory(wish.question)
    # What comes to mind is evidence by itself that the question is about something here; an option is the user's word.
    if place.memory is None or not wish.question.strip() or (wish.mode is Mode.MINIMAL and not asks):
        return [], decision
    try:
        fragments = list(place.memory.collect(wish.question))
    except StoreError:
        # A memory that cannot be read must not stop a question about files; `clew recall` says what is wrong.
        return [], decision
    if asks and wish.mode is None and any(fragment.text for fragment in fragments):
        decision = from_memory(decision.scores)
    return fragments, came_to_mind(decision, wish.question) if fragments else decision


def _asking(wish: Wish, place: Place, attached: Attached) -> Asking:
    return Asking(
        root=str(place.workspace.root),
        question=wish.question,
        max_tokens=wish.max_tokens,
        answer=wish.answer,
        tokenizer=tokenizer_for(wish.model).name,
        settings={
            "context": wish.context, "style": wish.style, "language": wish.language, "weights": dict(wish.weights),
            "anchors": wish.anchors, "ignore": wish.ignore, "shell_history": wish.shell_history,
        },
        mode=wish.mode.value if wish.mode else "auto",
        attached=bool(attached.fragments),
    )  # fmt: skip


def _piped(attached: Attached) -> list[str]:
    """The end of what was piped in: a traceback, a log or a diff says more of what to look for than its question."""
    return [fragment.text[-MOST_PIPED:] for fragment in attached.fragments if fragment.ref == "stdin"]


def _named(question: str, place: Place) -> str:
    """The name of the workspace, where the question says it: then it is about this project. Empty where it does not."""
    name = place.workspace.name
    if len(name) < LEAST_NAME or not re.search(
        rf"(?<![\w-]){re.escape(name)}(?![\w-])", question, re.IGNORECASE | re.ASCII
    ):
        return ""
    return name


def _assembled(
    wish: Wish, fragments: list[Fragment], decision: Decision, asked: frozenset[str], *, found: bool, reason: str = ""
) -> Snapshot:
    files = [fragment.ref for fragment in fragments if fragment.explicit]
    style = choose_style(wish.question, files, wish.style)
    frame = question_frame(sentence(style, language(wish.question)))
    budget = Budget(wish.max_tokens, wish.answer, tokenizer_for(wish.model))
    return assemble(
        wish.question, fragments, decision.mode.value, budget, frame,
        reason=reason or decision.reason, side_asked=asked, found=found,
    )  # fmt: skip


def _side(wish: Wish, place: Place, searches: Searches, clock: datetime, asked: frozenset[str]) -> list[Fragment]:
    """Tree, environment and shell history. What the question asks for comes before passages that are merely like it."""
    rows = sorted(searches.rows().values(), key=lambda row: row.path)

    def weight(source: str, usual: int) -> int:
        own = wish.weights.get(source, usual)
        return max(own, ASKED_WEIGHT) if source in asked else own

    room = wish.max_tokens - wish.answer
    characters = int(room * CHARACTERS * (ASKED_SHARE if "tree" in asked else USUAL_SHARE))
    sources: tuple[Source, ...] = (
        DirectoryTree(
            [Entry(row.path, row.size, row.stamp) for row in rows],
            weight=weight("tree", 30),
            most_characters=characters,
        ),
        Environment(
            place.environ, place.cwd, place.workspace.root, clock=lambda: clock, weight=weight("environment", 10)
        ),
        ShellHistory(place.environ, enabled=wish.shell_history, weight=weight("shell_history", 50)),
    )
    return [fragment for source in sources for fragment in source.collect(wish.question)]


def _side_asked(wish: Wish, decision: Decision) -> frozenset[str]:
    asked: set[str] = set()
    if decision.code in ("lean.machine", "lean.runner"):
        asked.add("environment")
    if _ASKS_TREE.search(wish.question):
        asked.add("tree")
    if wish.shell_history:
        asked.add("shell_history")
    return frozenset(asked)


def _anchor_files(wish: Wish, searches: Searches, related: Related) -> list[Fragment]:
    """Reference lines of files that the question names, of those that define its symbols, and of configured anchors."""
    named = (*related.paths, *withheld(wish.question, searches.rows()))
    chosen: dict[str, int] = dict.fromkeys(named, wish.weights.get("related", 80))
    for pattern, weight in wish.anchors:
        for path in sorted(path for path in searches.rows() if _matches(path, pattern)):
            chosen.setdefault(path, weight)
    fragments: list[Fragment] = []
    for path, weight in list(chosen.items())[:MOST_ANCHOR_FILES]:
        row, shown = searches.rows()[path], printable(path)
        known = known_of(path, row.kind, row.lines) + ("" if is_secret_path(path) else f", {row.size} bytes")
        fragments.append(Fragment("related", shown, "", weight, anchor=True, line=f"{shown} ({known})", group=shown))
    return fragments


def _matches(path: str, pattern: str) -> bool:
    flat = pattern.replace("**/", "*")
    return fnmatch.fnmatchcase(path, flat) or fnmatch.fnmatchcase(path, pattern)


def _branches(question: str, git: Git | NoRepository) -> tuple[str, ...]:
    if not isinstance(git, Git):
        return ()
    words = set(re.findall(r"[\w./-]+", question))
    names = {branch.name for branch in git.branches()}
    # A branch that is named like an everyday word (`main`, `dev`) is only meant where the question speaks of branches.
    return tuple(sorted(name for name in words & names if re.search(r"[/_\d-]", name)))
