"""The continuation hint: what a new window is told before it does anything, made from the plan and the newest ledger.

It is cut to its bytes part by part and at the ends of sentences, and never dropped: a file that says anything gives a
hint. The user's last open request stands in it word for word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from clew.core.handoff.cues import FORBIDS
from clew.core.handoff.force import Statement, replaces, statement
from clew.core.handoff.ledger import Language, Ledger
from clew.core.handoff.plan import Plan
from clew.core.handoff.references import PLAN, SESSION
from clew.core.handoff.sentences import ELLIPSIS, cut, ends, sentences, size
from clew.core.text.lazy import lazy_pattern
from clew.core.text.printable import visible
from clew.core.text.terms import query_terms

MOST_BYTES: Final = 4_096
REQUEST_SHARE: Final = 3
"""The user's request is whole where it takes at most one part in so many of the hint; else its beginning and end are
shown, and how much was left out between."""
LEAST_BYTES: Final = 1_024
_MOST_TERMS: Final = 12
_MOST_ITEM: Final = 420
"""Bytes of one item; the rest of it by reference."""
_FIRST: Final = 160
"""Bytes of the first item of each part that are kept before any part gets more."""

LABELS: Final = {
    "head": (
        "Handed over from the window before (from files, not said by the user; they can be opened and edited).",
        "上一窗口的交接（来自文件，并非用户所说；可打开和修改）。",
    ),
    "request": ("The user's last open request, word for word:", "用户最后一个未完成的请求（原话）："),
    "next": ("Next step:", "下一步："),
    "plan": ("Plan, still open:", "计划中未完成的："),
    "goal": ("Goal:", "目标："),
    "settled": ("Settled; do not argue it again:", "已定，不再争论："),
    "state": ("State:", "现状："),
    "tried": ("Tried, did not work:", "试过，行不通："),
    "done": ("Plan, done:", "计划中已完成的："),
    "terms": ("Worth searching memory for:", "可在记忆中搜索："),
    "references": ("References:", "引用："),
    "cut": ("[… {} characters left out; whole in {} …]", "[… 略去 {} 个字符；全文见 {} …]"),
    "given up": ("given up", "不做"),
}
"""Words of the hint in English and Chinese."""
_SHARES: Final = {
    "next": 0.10, "plan": 0.30, "goal": 0.16, "settled": 0.34, "state": 0.14, "tried": 0.16, "done": 0.08,
    "terms": 0.05,
}  # fmt: skip
"""How much of the room a part may take before all others had their turn. In the order in which they get it."""
_ORDER: Final = ("goal", "next", "plan", "settled", "state", "tried", "done", "terms")
_BULLET = lazy_pattern(r"^\s*(?:[-*+]|\d{1,3}[.)、])\s+(?:\[[ xX]\]\s*)?")
_GOAL = lazy_pattern(r"^\s*(?:goal|objective|目标)\s*[:：]\s*", re.IGNORECASE)
_NEXT = lazy_pattern(r"^\s*(?:next(?: step)?s?|下一步|接下来)\s*[:：]\s*", re.IGNORECASE)
_TERMS = lazy_pattern(r"^\s*(?:terms?(?: worth searching for)?|search for|关键词|可搜索)\s*[:：]\s*", re.IGNORECASE)
_REMOVED = lazy_pattern(r"\[REDACTED[^\]\n]{0,80}\]")
"""What stands where a secret was: nothing to search for."""
_FAILED_CALL = lazy_pattern(r"^\s*(?:fails: |失败：)")
"""How a line of a ledger begins that tells of a command that failed: what it named need not exist."""
_OUTSIDE = lazy_pattern(
    r"(?:^|[/\\])\.\.(?:[/\\]|$)|^~|^[A-Za-z]:[/\\]"
    r"|^/(?:bin|boot|dev|etc|home|lib\d*|media|mnt|opt|private|proc|root|run|sbin|srv|sys|tmp|usr|var|Users)(?:/|$)"
)
"""Paths that lead out of a workspace, or say where on this machine it lies."""
_GONE = lazy_pattern(r"\bno longer there\b|已不存在")
_QUOTE = lazy_pattern(r"^\s{0,3}>\s?")


@dataclass(frozen=True, slots=True)
class Elements:
    """What a ledger says, by kind. Items are without list marks."""

    goal: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    progress: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    request: str = ""
    """Word for word; several paragraphs where the user wrote them."""
    terms: tuple[str, ...] = ()
    spots: Mapping[str, str] = field(default_factory=dict[str, str])
    """By item the spot of a session that it cites; those of the ledger's own session as `#3.5`."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """A hint as it is injected."""

    text: str
    """Empty only where neither plan nor ledger say anything."""
    references: tuple[str, ...] = ()
    left_out: int = 0
    """Items that found no room, or were replaced by later ones."""

    @property
    def bytes(self) -> int:
        """Of the text in UTF-8."""
        return size(self.text)


def elements(ledger: Ledger) -> Elements:
    """A ledger taken apart, whoever wrote it."""
    goal: list[str] = []
    settled: list[str] = []
    progress: list[str] = []
    ahead: list[str] = []
    state: list[str] = []
    tried: list[str] = []
    wanted: list[str] = []
    spots: dict[str, str] = {}

    def keep(rows: list[str], item: str, spot: str) -> None:
        rows.append(item)
        if spot:
            spots[item] = spot

    for item, spot in map(cited, items(ledger.sections.goal)):
        found = _GOAL.match(item)
        keep(goal if found else settled, item[found.end() :] if found else item, spot)
    for item, spot in map(cited, items(ledger.sections.progress)):
        found = _NEXT.match(item)
        keep(ahead if found else progress, item[found.end() :] if found else item, spot)
    for item, spot in map(cited, items(ledger.sections.state)):
        if found := _TERMS.match(item):
            wanted += [term.strip(" `") for term in re.split(r"[,，、]", item[found.end() :])]
        else:
            keep(state, item, spot)
    for item, spot in map(cited, items(ledger.sections.tried)):
        keep(tried, item, spot)
    return Elements(
        tuple(goal), tuple(settled), tuple(state), tuple(tried), tuple(progress), tuple(ahead),
        _quotes(ledger.sections.progress), tuple(filter(None, wanted)), spots,
    )  # fmt: skip


_CITED = lazy_pattern(rf"\s*\[((?:{SESSION}[\w-]{{1,80}})?#\d{{1,9}}(?:\.\d{{1,9}})?)\]$")


def cited(item: str) -> tuple[str, str]:
    """An item without the spot that it cites at its end, and that spot; empty where it cites none."""
    found = _CITED.search(item)
    return (item, "") if found is None else (item[: found.start()], found[1])


def citing(item: str, spot: str) -> str:
    """An item that cites a spot, if there is one."""
    return f"{item} [{spot}]" if spot else item


def items(text: str) -> list[str]:
    """The list items and paragraphs of a section, each on one line; quotes, headings and their labels are none."""
    found: list[str] = []
    fresh = True
    for line in text.splitlines():
        if not line.strip() or _QUOTE.match(line) or re.match(r"\s{0,3}#{1,6}\s", line):
            fresh = True
            continue
        bullet = _BULLET.match(line)
        bare = line[bullet.end() :].strip() if bullet else line.strip()
        if not bullet and not fresh and found:
            found[-1] += f" {bare}"
        elif bare:
            found.append(bare)
        fresh = False
    return [item for item in found if not re.search(r"(?:word for word|原话\)?）?)\s*[:：]$", item)]


def _quotes(text: str) -> str:
    """The first block quote of a text, without its marks."""
    lines: list[str] = []
    for line in text.splitlines():
        if match := _QUOTE.match(line):
            lines.append(line[match.end() :])
        elif lines:
            break
    return "\n".join(lines).strip("\n")


def continuation(
    plan: Plan | None,
    ledger: Ledger | None,
    *,
    most: int = MOST_BYTES,
    language: Language = "en",
    plan_ref: str = PLAN,
    plan_is_newer: bool = True,
) -> Continuation:
    """The hint for a new window, at most `most` bytes (not under LEAST_BYTES). Of a ledger that does not hold any more
    nothing is used. Where plan and ledger differ in a value, the newer of them is right. Equal arguments give equal
    texts.
    """
    if ledger is not None and not ledger.holds:
        ledger = None
    most = max(most, LEAST_BYTES)
    said = elements(ledger) if ledger is not None else Elements()
    refs = ([plan_ref] if plan is not None else []) + ([ledger.ref] if ledger is not None else [])
    words = _Words(1 if language == "zh" else 0)
    parts, dropped = _parts(plan, said, words, plan_is_newer=plan_is_newer)
    if not any(parts.values()) and not said.request:
        return Continuation("")
    page = _Page(most, words, refs, _request(said.request, most, words, refs))
    page.fill({name: parts[name] for name in _SHARES})
    left_out = dropped + sum(len(parts[name]) - len(page.kept[name]) for name in _SHARES)
    return Continuation(page.text, tuple(refs), left_out)


def _request(text: str, most: int, words: _Words, refs: Sequence[str]) -> str:
    """The request between fences that it does not hold itself."""
    text = visible(text)
    if not text.strip():
        return ""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    room = most // REQUEST_SHARE
    if size(text) > room:
        gap = f"\n{words('cut').format(len(text), refs[-1])}\n"
        shown = ends(text, room, gap)
        # How much is gone is known only now; the number has no more digits than the one that was reserved.
        gone = len(text) - (len(shown) - len(gap))
        text = shown.replace(gap, f"\n{words('cut').format(gone, refs[-1])}\n")
    return f"{words('request')}\n{fence}\n{text}\n{fence}"


def _parts(
    plan: Plan | None, said: Elements, words: _Words, *, plan_is_newer: bool
) -> tuple[dict[str, list[str]], int]:
    """The items of each part, most important first, and how many were replaced by later ones."""
    plan = plan or Plan()
    todo = [step.text for step in plan.steps if step.open]
    given_up = [f"{words('given up')}: {step.text}" for step in plan.steps if step.dropped]
    remarks = list(plan.remarks)
    done = [step.text for step in plan.steps if step.done]
    planned = [*todo, *remarks, *done]
    own = [*said.goal, *said.settled, *said.state, *said.tried, *said.progress, *said.next]
    if plan_is_newer:
        keep = _survivors(own, [statement(text) for text in planned])
        keep_plan: Callable[[str], bool] = _always
    else:
        keep = _always
        keep_plan = _survivors(planned, [statement(text) for text in (*said.settled, *said.state, *said.progress)])
    parts: dict[str, list[str]] = {
        "next": [text for text in (*said.next, *said.progress) if keep(text)],
        "plan": [text for text in (*todo, *given_up, *remarks) if keep_plan(text)],
        "goal": [text for text in said.goal if keep(text)],
        "settled": _ranked([text for text in said.settled if keep(text)]),
        "state": [text for text in said.state if keep(text)],
        "tried": [text for text in reversed(said.tried) if keep(text)],
        "done": [text for text in done if keep_plan(text)],
        "terms": [],
    }
    total = len(own) + len(planned) + len(given_up)
    parts = _told_once(parts, said.request)
    shown = [text for name in _SHARES for text in parts[name]]
    given = [" ".join(visible(term).split()) for term in said.terms]
    parts["terms"] = list(filter(None, given))[:_MOST_TERMS] or worth_searching(
        [text for text in (*own, *planned) if not _FAILED_CALL.match(text)], shown
    )
    return parts, max(total - len(shown), 0)


def _always(_text: str) -> bool:
    return True


def _survivors(texts: Iterable[str], newer: Sequence[Statement]) -> Callable[[str], bool]:
    gone = {text for text in texts if any(replaces(one, statement(text)) for one in newer)}
    return lambda text: text not in gone


def _ranked(settled: list[str]) -> list[str]:
    """What forbids or limits first, then what was settled last."""
    places = {text: at for at, text in enumerate(settled)}
    return sorted(places, key=lambda text: (FORBIDS.search(text) is None, -places[text]))


def _told_once(parts: dict[str, list[str]], request: str) -> dict[str, list[str]]:
    """The parts without what the request or another part says already. The first part in `_SHARES` keeps it."""
    seen: list[str] = [" ".join(request.casefold().split())]
    kept: dict[str, list[str]] = {}
    for name in _SHARES:
        kept[name] = []
        for text in parts[name]:
            line = " ".join(visible(text).split())
            bare = line.casefold()
            if bare and not any(bare in one for one in seen):
                kept[name].append(line)
                seen.append(bare)
    return kept


def worth_searching(texts: Iterable[str], shown: Iterable[str] = ()) -> list[str]:
    """Names, paths and quoted words in texts that a search would find something by; those `shown` come last."""
    found: dict[str, int] = {}
    lines = list(texts)
    for text in lines:
        query = query_terms(_REMOVED.sub(" ", text[:4_000]))
        for term in map(visible, (*query.paths, *query.identifiers, *query.quoted)):
            if 3 <= len(term) <= 48 and "\n" not in term and not _OUTSIDE.search(term):
                found[term] = found.get(term, 0) + 1
    gone = "\n".join(text for text in lines if _GONE.search(text))
    there = "\n".join(shown)
    names = sorted((term for term in found if term not in gone), key=lambda term: (term in there, -found[term]))
    return names[:_MOST_TERMS]


@dataclass(frozen=True, slots=True)
class _Words:
    column: int

    def __call__(self, name: str) -> str:
        return LABELS[name][self.column]


@dataclass(slots=True)
class _Page:
    """The hint as it is filled."""

    most: int
    words: _Words
    refs: Sequence[str]
    request: str
    kept: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in _SHARES})
    _size: int = 0

    @property
    def text(self) -> str:
        """What is kept so far, laid out."""
        blocks = [self.words("head"), self.request]
        for name in _ORDER:
            if self.kept[name]:
                blocks.append(self._block(name))
        blocks.append(f"{self.words('references')} {', '.join(self.refs)}")
        return "\n".join(filter(None, blocks))

    def fill(self, parts: dict[str, list[str]]) -> None:
        """Give each part its first item, then its share, then, in their order, what is left."""
        self._size = size(self.text)
        for name in _SHARES:
            if parts[name]:
                self._add(name, cut(parts[name][0], _FIRST), self.most)
        room = self.most - self._size
        for share in (True, False):
            for name, part in _SHARES.items():
                limit = self._size + int(room * part) if share else self.most
                self._more(name, parts[name], min(limit, self.most))

    def _more(self, name: str, wanted: list[str], limit: int) -> None:
        kept = self.kept[name]
        for at, text in enumerate(wanted):
            if at < len(kept):
                whole = cut(text, _MOST_ITEM)
                if kept[at] != whole and size(whole) > size(kept[at]):
                    grown = cut(text, min(size(kept[at]) + limit - self._size, _MOST_ITEM))
                    if size(grown) > size(kept[at]):
                        self._size += size(grown) - size(kept[at])
                        kept[at] = grown
            elif at == len(kept) and not self._add(name, cut(text, _MOST_ITEM), limit):
                self._add(name, cut(text, limit - self._size - 12), limit, least=40)
                return

    def _add(self, name: str, text: str, limit: int, least: int = 1) -> bool:
        if size(text) < least or text == ELLIPSIS:
            return False
        before = size(self._block(name)) + 1 if self.kept[name] else 0
        self.kept[name].append(text)
        more = size(self._block(name)) + 1 - before
        if self._size + more > limit:
            self.kept[name].pop()
            return False
        self._size += more
        return True

    def _block(self, name: str) -> str:
        label, kept = self.words(name), self.kept[name]
        if name == "terms":
            return f"{label} {', '.join(kept)}"
        if len(kept) == 1:
            return f"{label} {kept[0]}"
        return "\n".join([label, *(f"- {text}" for text in kept)])


def first_sentence(text: str) -> str:
    """The first sentence of the first item of a section; empty where there is none."""
    found = items(text)
    return next(iter(sentences(found[0])), "") if found else ""
