"""Which of several statements are still in force: a later one about the same thing takes the place of an earlier one.

By rule: two statements are about the same thing where they share words beside their values. What is compared are values
that are named (`chunk = 500`), that have a unit (`500 lines`, `45 秒`), and those that a statement itself replaces
(`from 16 KB to 24 KB`, `改成`, `not 3.10 but 3.9.1`). A statement that names both values is the newer one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from clew.core.text.lazy import lazy_pattern
from clew.core.text.terms import is_function_word, terms

_NUMBER: Final = r"(?<![\w.])[-+]?\d+(?:[.,:/]\d+)*"
_MEASURE = lazy_pattern(
    rf"(?P<number>{_NUMBER})[ \t]{{0,2}}(?P<unit>%|[A-Za-zµ°€$]{{1,14}}\b(?!\()|[\u4e00-\u9fff]{{1,2}})?(?![\w.]*\d)"
)
_NAMED = lazy_pattern(
    rf"(?P<name>[A-Za-z_][\w.\-\[\]]{{1,60}})[ \t]*(?:=|:=|:)[ \t]*"
    rf"(?P<value>{_NUMBER}[A-Za-z%]{{0,3}}|true|false|on|off)(?![\w.])",
    re.IGNORECASE,
)
_TABLE = lazy_pattern(r"(?P<name>[A-Za-z_]\w{1,60})[ \t]*(?::[^=\n]{0,40})?=[ \t]*\{(?P<pairs>[^{}\n]{1,400})\}")
_PAIR = lazy_pattern(r"[\"']?(?P<key>[\w.-]{1,40})[\"']?[ \t]*:[ \t]*(?P<value>[\w.+-]{1,40})")
_DATE = lazy_pattern(r"\d{1,2}[ \t]*月[ \t]*\d{1,2}[ \t]*[日号]|\d{4}-\d{2}-\d{2}")
_CHANGES = lazy_pattern(
    r"\b(?:now|instead|change[ds]?|changing|raise[ds]?|lower(?:ed)?|reduce[ds]?|bump(?:ed)?|move[ds]?|shr[aiu]nk|shrinks|"
    r"correct(?:ion|ed)?|actually|update[ds]?|new|no longer|rather|make it|set (?:it )?to|switch(?:ed)? to|wait|cap|"
    r"from (?:now|today) on|keep|stays?|renamed?|replaced?)\b|"
    r"改(?:成|为|到|用|回|完)?|换成|调(?:整)?(?:成|为|到)|放宽|收紧|推迟|提前|更正|纠正|不再|现在|最新|以.{0,6}为准|还是用|缩短|延长|定为|定成",
    re.IGNORECASE,
)
_REPLACED = lazy_pattern(
    r"\bfrom[ \t]+(?P<a>[^\s,;]+(?:[ \t][A-Za-z%]{1,8})?)[ \t]+to[ \t]+\S"
    r"|\bnot[ \t]+(?P<b>v?\d[\w.]*|`[^`]+`)"
    r"|\binstead of[ \t]+(?P<c>v?\d[\w.]*(?:[ \t][A-Za-z%]{1,8})?|`[^`]+`)"
    r"|从[ \t]*(?P<d>[^，。；;到改换推调放]{1,16}?)[ \t]*"
    r"(?:改|换|推迟|提前|调|放宽|升|降|缩|延)?[^，。；;]{0,3}(?:到|成|为)"
    r"|(?P<e>[\w./\[\]-]{2,40})[ \t]+(?:was |is |got |has been )?(?:now )?(?:renamed|replaced)"
    r"|(?P<g>[\w./-]{2,40})[ \t]+is[ \t]+(?:gone|removed|deleted)"
    r"|\b(?:was|formerly|previously|used to be)[ \t:]+(?:[\w/]+\.)?(?P<h>\w+_\w+|[\w-]*/[\w./-]+)",
    re.IGNORECASE,
)
_NEAR: Final = 14
"""Characters before a value in which the words stand that say what it is of."""
_UNITS: Final = {
    "sec": "s", "second": "s", "seconds": "s", "secs": "s", "秒": "s", "秒钟": "s", "minute": "min", "minutes": "min",
    "mins": "min", "分钟": "min", "hour": "h", "hours": "h", "小时": "h", "millisecond": "ms", "milliseconds": "ms",
    "毫秒": "ms", "percent": "%", "day": "d", "days": "d", "天": "d", "tokens": "token", "lines": "line", "行": "line",
    "times": "time", "次": "time", "meters": "m", "metres": "m", "米": "m", "bytes": "b", "字节": "b",
}  # fmt: skip
"""Units that are one, by the words for them."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Something that was said, as far as later statements may replace it."""

    text: str
    words: frozenset[str]
    """Its content words, without values."""
    measures: frozenset[tuple[str, str]]
    """Number and unit."""
    nearby: tuple[tuple[str, str, frozenset[str]], ...]
    """Number and unit with the content words right before it."""
    named: frozenset[tuple[str, str]]
    """Name and value."""
    dates: frozenset[str]
    replaced: frozenset[str]
    """Values that it says do not hold any more."""
    changes: bool
    """Whether it says that something is otherwise than before."""


def statement(text: str) -> Statement:
    """A text taken apart."""
    named = frozenset(_assignments(text))
    dates = frozenset("".join(match[0].split()) for match in _DATE.finditer(text))
    bare = _DATE.sub(" ", text)
    measures = frozenset(
        (match["number"].replace(",", ""), _unit(match["unit"] or "")) for match in _MEASURE.finditer(bare)
    )
    replaced = frozenset(
        found.strip("`\"'. \t").casefold() for match in _REPLACED.finditer(text) for found in match.groups() if found
    )
    words = _content(_MEASURE.sub(" ", bare))
    nearby = tuple(
        (
            match["number"].replace(",", ""),
            _unit(match["unit"] or ""),
            _content(bare[max(match.start() - _NEAR, 0) : match.start()]),
        )
        for match in _MEASURE.finditer(bare)
    )
    return Statement(text, words, measures, nearby, named, dates, replaced, _CHANGES.search(text) is not None)


def _content(text: str) -> frozenset[str]:
    """The content words of a text, without values and single characters."""
    found = terms(text)
    return frozenset(word for word in found if len(word) > 1 and not word[0].isdigit() and not is_function_word(word))


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """Names with their values; `N = {8: 40}` names `n[8]`."""
    for match in _NAMED.finditer(text):
        yield match["name"].casefold(), match["value"].casefold()
    for table in _TABLE.finditer(text):
        for pair in _PAIR.finditer(table["pairs"]):
            yield f"{table['name']}[{pair['key']}]".casefold(), pair["value"].casefold()


def _unit(word: str) -> str:
    unit = word.casefold()
    for length in (2, 1):
        if unit[:length] in _UNITS and "\u4e00" <= unit[0] <= "\u9fff":
            return _UNITS[unit[:length]]
    return "" if len(unit) > 1 and is_function_word(unit) else _UNITS.get(unit, unit)


def replaces(newer: Statement, older: Statement) -> bool:
    """Whether the older statement does not hold any more because of the newer one."""
    if newer.text == older.text:
        return False
    shared = newer.words & older.words
    for value in newer.replaced:
        if contains(older.text, value) and (shared or any(char.isdigit() or char in "_./" for char in value)):
            return not _says_new(newer, older, value)
    values = dict(newer.named)
    if any(name in values and values[name] != value for name, value in older.named):
        return True
    least = 1 if newer.changes else 3
    if len(shared) < least:
        return False
    if newer.dates and older.dates and not newer.dates & older.dates and newer.changes:
        return True
    if newer.changes and any(
        unit == other and unit and number != old and (old, unit) not in newer.measures and near & before
        for number, unit, near in newer.nearby
        for old, other, before in older.nearby
    ):
        return True
    units = {unit: number for number, unit in newer.measures}
    single = {unit for unit in units if sum(one == unit for _, one in newer.measures) == 1}
    return any(
        unit in single and (unit or len(shared) > 1) and units[unit] != number and (number, unit) not in newer.measures
        for number, unit in older.measures
        if sum(one == unit for _, one in older.measures) == 1
    )


def _says_new(newer: Statement, older: Statement, value: str) -> bool:
    """Whether the older statement has the new values too, and names the old one only to tell them apart."""
    fresh = {number for number, _ in newer.measures} | newer.dates | {one for _, one in newer.named}
    return any(contains(older.text, one) for one in fresh if not contains(value, one) and not contains(one, value))


def contains(text: str, value: str) -> bool:
    """Whether a text has a value that is not a part of a longer word or number."""
    if not value:
        return False
    head = r"(?<![\w.])" if value[0].isascii() and value[0].isalnum() else ""
    tail = r"(?![\w]|\.\d)" if value[-1].isascii() and value[-1].isalnum() else ""
    pattern = head + r"\s*".join(map(re.escape, value.casefold().split())) + tail
    return re.search(pattern, text.casefold()) is not None


@dataclass(slots=True)
class Later:
    """Statements as they are said, for those that may be replaced by them. `at` counts up."""

    _talk: dict[str, tuple[int, Statement, bool]] = field(default_factory=dict[str, tuple[int, Statement, bool]])
    """By text, when it was said last, what it says, and whether it settles anything."""
    _by_word: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Texts with values, by each of their words."""
    _always: set[str] = field(default_factory=set[str])
    """Texts that name values or replace some by themselves, whatever their words are."""
    _set: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    """What names were set to last in files, and when."""

    def say(self, text: str, at: int, *, settles: bool = True) -> None:
        """Something is said. What does not settle anything, as what a model finds, replaces only findings."""
        if not text.strip():
            return
        said = self._talk[text][1] if text in self._talk else statement(text)
        self._talk[text] = (at, said, settles)
        if said.named or said.replaced:
            self._always.add(text)
        if said.measures or said.dates:
            for word in said.words:
                self._by_word.setdefault(word, set()).add(text)

    def write(self, row: str, at: int) -> None:
        """A line is written to a file: what it sets a name to counts, and nothing else of it."""
        for name, value in _assignments(row):
            self._set[name] = (at, value)

    def replaces(self, older: Statement, at: int, *, rule: bool = False, goal: bool = False) -> bool:
        """Whether something was said after `at` that replaces a statement. A `rule` falls only by what settles
        something, a `goal` only by what says that something is otherwise than before."""
        for name, value in older.named:
            when, now = self._set.get(name, (at, value))
            if when > at and now != value:
                return True
        texts = set(self._always)
        for word in older.words:
            texts |= self._by_word.get(word, set())
        return any(
            when > at
            and (settles or not rule)
            and (not goal or said.changes or said.replaced)
            and replaces(said, older)
            for when, said, settles in (self._talk[text] for text in texts)
        )
