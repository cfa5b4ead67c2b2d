"""YAML front matter that people write by hand: read tolerantly, edited without touching anything but what changes.

The block is cut into entries, a top-level key with the lines that belong to it, and each entry is read on its own, so
that one mistake costs one value. What stands there is read as text, since a person who writes `name: 2024` or
`id: 1e5` means those characters: a scalar is the text of the scalar, and `~`, `null` or nothing is None.
Reading never raises. Lines end with LF, CRLF or CR, mixed as they like; a byte order mark is kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any, Final, TypeAlias

from clew.core.text.lazy import lazy_pattern
from clew.core.text.scalars import PLAIN, Given, key_text, quoted, scalar_text, value_text
from clew.errors import UsageError

Value: TypeAlias = "str | list[Value] | dict[str, Value] | None"
"""What a key may hold once it is read."""

MOST_CHARACTERS: Final = 64_000
"""Of a block. What stands beyond is not read, and such a block is not edited."""
_MOST_DEPTH: Final = 20
_MOST_BRACKETS: Final = 2_000
"""In one value: a reader of YAML may take time by the square of how deep they are nested."""
_MARK: Final = "\ufeff"

_LINE = lazy_pattern(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_OPENING = lazy_pattern(r"---[ \t]*")
_CLOSING = lazy_pattern(r"(?:---|\.\.\.)[ \t]*")
_KEY = lazy_pattern(
    r"""(?P<key>"(?:[^"\\\r\n]|\\.){0,999}"|'(?:[^'\r\n]|''){0,999}'"""
    r"""|(?:[^\s#"'\-?:,\[\]{}&*!|>%@`]|[-?:](?=\S))[^\r\n]{0,999}?)[ \t]{0,9}:(?=[ \t\r\n]|$)"""
)
"""A key in the first column with its colon. The bounds keep the time linear."""
_BLOCK_TEXT = lazy_pattern(r":[ \t]+(?:![^ ]*[ \t]+)?[|>][-+0-9]*[ \t]*(?:#.*)?$")
_KEEPS_BLANKS = lazy_pattern(r":[ \t]+[|>]\d?\+")
_NOTHING: Final = frozenset({"", "~", "null", "Null", "NULL"})
_SIMPLE_QUOTED = lazy_pattern(r'"([^"\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]*)"')
_BEHIND_VALUE = lazy_pattern(r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|\[[^\]"'#]*\])""")

UNCLOSED: Final = "the front matter is never closed, so it counts as text"
"""What a `Problem` says of a block without an end."""


@cache
def _yaml() -> Any:
    import yaml  # noqa: PLC0415 -- slow to load, and most hints need none

    return yaml


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a document that is not as it should be, at a line of the file, counted from 1."""

    line: int
    what: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A key with its value and its lines: `first` to `last`, counted from 1, both included."""

    key: str
    value: Value
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Front:
    """What stands at the head of a text, and the text below it."""

    values: dict[str, Value]
    """By key, in the order of the file. Of a key that stands there twice, the last one counts."""
    lines: dict[str, int]
    """The line of each key, counted from 1."""
    entries: tuple[Entry, ...]
    body: str
    body_line: int
    """The line that the body begins in, counted from 1."""
    problems: tuple[Problem, ...] = ()
    present: bool = False
    """Whether there is a block at all."""


def parse(text: str) -> Front:
    """The values of the block, the body, and what is wrong. Raises nothing, whatever the text is."""
    block = _block(text)
    if block.opening is None or block.closing is None:
        return Front({}, {}, (), text.removeprefix(_MARK), 1, tuple(block.problems))
    problems = list(block.problems)
    entries = _entries(block, problems)
    values: dict[str, Value] = {}
    lines: dict[str, int] = {}
    for entry in entries:
        if entry.key in values:
            what = f"the key `{entry.key}` stands here again, first in line {lines[entry.key]}"
            problems.append(Problem(entry.first, what, "keep one of them; the last one counts"))
        values[entry.key] = entry.value
        lines[entry.key] = entry.first
    body = "".join(block.lines[block.closing + 1 :])
    found = sorted(problems, key=lambda problem: problem.line)
    return Front(values, lines, tuple(entries), body, block.closing + 2, tuple(found), present=True)


def edit(text: str, changes: Mapping[str, Given]) -> str:
    """`text` with keys set or, where the value is None, taken out. Every other line stays as it is, byte for byte.

    A key that is set already keeps its lines. A new key comes last in the block; a text without a block gets one.
    Raises UsageError for a block or a key that is too long.
    """
    for key, value in changes.items():
        text = _removed(text, key) if value is None else _set(text, key, value)
    return text


def written(values: Mapping[str, Given]) -> str:
    """A block with these values, in their order, ended by a line break. None is left out."""
    rows = [f"{key_text(key)}: {value_text(value)}\n" for key, value in values.items() if value is not None]
    return "".join(["---\n", *rows, "---\n"])


# ---------------------------------------------------------------------- the block


@dataclass(slots=True)
class _Block:
    lines: list[str]
    """All lines of the text with their ends, without the byte order mark."""
    mark: str
    opening: int | None
    """Index of the opening fence."""
    closing: int | None
    problems: list[Problem]

    @property
    def length(self) -> int:
        """Characters between the fences."""
        if self.opening is None or self.closing is None:
            return 0
        return sum(map(len, self.lines[self.opening + 1 : self.closing]))


def _block(text: str) -> _Block:
    mark = _MARK if text.startswith(_MARK) else ""
    lines = _LINE.findall(text[len(mark) :])
    block = _Block(lines, mark, None, None, [])
    first = next((at for at, line in enumerate(lines) if line.strip()), None)
    if first is None or not _OPENING.fullmatch(_bare(lines[first])):
        return block
    keyed = first + 1 < len(lines) and bool(_KEY.match(lines[first + 1]))
    if first and not keyed:
        # A rule between two paragraphs, not a fence.
        return block
    closing = next((at for at in range(first + 1, len(lines)) if _CLOSING.fullmatch(_bare(lines[at]))), None)
    if closing is None:
        if keyed:
            block.problems.append(Problem(first + 1, UNCLOSED, "end the block with a line `---`"))
        return block
    if first:
        what = "the front matter begins below a blank line, where other tools do not see it"
        block.problems.append(Problem(1, what, "take out the blank lines above it"))
    block.opening, block.closing = first, closing
    return block


def _bare(line: str) -> str:
    return line.rstrip("\r\n")


def _entries(block: _Block, problems: list[Problem]) -> list[Entry]:
    assert block.opening is not None and block.closing is not None
    first, end = block.opening + 1, block.closing
    length = 0
    for at in range(first, end):
        length += len(block.lines[at])
        if length > MOST_CHARACTERS:
            what = f"the front matter has over {MOST_CHARACTERS:,} characters; the rest of it is not read"
            problems.append(Problem(at + 1, what, "move long text below the front matter"))
            end = at
            break
    starts = [at for at in range(first, end) if _KEY.match(block.lines[at])]
    for at in range(first, starts[0] if starts else end):
        _stray(block.lines[at], at, problems)
    return [_entry(block.lines, start, stop, problems) for start, stop in zip(starts, [*starts[1:], end], strict=False)]


def _stray(line: str, at: int, problems: list[Problem]) -> None:
    """Report a line that belongs to no key."""
    bare = line.strip()
    if not bare or bare.startswith("#"):
        return
    if re.match(r"[^\s:：]+：", bare):
        hint = "write an ASCII colon and a blank: `key: value`"
    elif re.match(r"\w+:\S", bare):
        hint = "put a blank behind the colon: `key: value`"
    else:
        hint = "write `key: value`, or begin the line with `#`"
    problems.append(Problem(at + 1, "this line belongs to no key and is left out", hint))


# ---------------------------------------------------------------------- one entry


def _entry(lines: list[str], start: int, stop: int, problems: list[Problem]) -> Entry:
    """Read the entry whose key is in line `start`, up to `stop`. Indexes count from 0."""
    match = _KEY.match(lines[start])
    assert match is not None
    if _is_alone(lines, start, stop):
        last, simple = start, _simple(lines[start][match.end() :])
    else:
        last, simple = stop - 1, None if lines[start][match.end() :].strip() else _simple_items(lines[start + 1 : stop])
    if simple is not None:
        return Entry(_key_text(match["key"]), simple[0], start + 1, last + 1)
    text = "".join(lines[start:stop])
    read = _read(text, start, problems)
    if read is not None:
        return Entry(_key_text(match["key"]), read[0], start + 1, _last(lines, start, stop) + 1)
    # Lines in the first column that are part of no value must not take the value along.
    proper = next((at for at in range(start + 1, stop) if _is_junk(lines[at])), stop)
    last = _last(lines, start, proper)
    for at in range(proper, stop):
        _stray(lines[at], at, problems)
    read = _read("".join(lines[start:proper]), start, problems) if proper < stop else None
    if read is None:
        read = _mended(lines, start, last, match.end(), problems)
    return Entry(_key_text(match["key"]), read[0], start + 1, last + 1)


def _is_alone(lines: list[str], start: int, stop: int) -> bool:
    """Whether nothing but blank lines and comments follows the line of the key."""
    return all(not line.strip() or line.startswith("#") for line in lines[start + 1 : stop])


def _simple(rest: str) -> tuple[Value] | None:
    """The value of the usual one-line forms, without the YAML reader; None where that has to look."""
    text = rest.strip(" \t\r\n")
    if not text:
        return (None,)
    if simple := _SIMPLE_QUOTED.fullmatch(text):
        return (simple[1],)
    if PLAIN.fullmatch(text):
        return (None if text in _NOTHING else text,)
    if text[0] == "[" and text[-1] == "]":
        items = [item.strip(" \t") for item in text[1:-1].split(",")]
        if all(PLAIN.fullmatch(item) and item not in _NOTHING for item in items):
            return ([*items],)
    return None


def _simple_items(lines: list[str]) -> tuple[Value] | None:
    """The items of a list of one-line texts, alike in indentation, as `_simple` gives them."""
    items: list[Value] = []
    indent = lines[0][: lines[0].find("-")]
    for line in lines:
        if indent.strip(" ") or not line.startswith(f"{indent}- "):
            return None
        item = _simple(line[len(indent) + 2 :])
        if item is None or not isinstance(item[0], str):
            return None
        items.append(item[0])
    return (items,)


def _is_junk(line: str) -> bool:
    return bool(line.strip()) and line[0] not in " \t#-]}"


def _last(lines: list[str], start: int, stop: int) -> int:
    """Index of the last line that belongs to the entry: blank lines and comments below it do not."""
    literal = bool(_BLOCK_TEXT.search(_bare(lines[start])))
    last = stop - 1
    while last > start:
        line = lines[last]
        comment = line.startswith("#") or (not literal and line.lstrip(" \t").startswith("#"))
        if line.strip() and not comment:
            break
        last -= 1
    if _KEEPS_BLANKS.search(lines[start]):
        # `|+` takes the blank lines below it as text.
        while last + 1 < stop and not lines[last + 1].strip():
            last += 1
    return last


def _key_text(written_key: str) -> str:
    if written_key[0] == "'":
        return written_key[1:-1].replace("''", "'")
    if written_key[0] == '"':
        if "\\" not in written_key:
            return written_key[1:-1]
        read = _value(f"key: {written_key}\n")
        if not isinstance(read, str) and read is not None:
            return str(read[0])
    return written_key


def _read(text: str, start: int, problems: list[Problem]) -> tuple[Value] | None:
    """The value of an entry, in a tuple; None where it is no YAML."""
    value = _value(text)
    if value is not None and not isinstance(value, str):
        return value
    if value is None:
        return None
    problems.append(Problem(start + 1, value, "write the value out, without `&` and `*`"))
    return (None,)


def _mended(lines: list[str], start: int, last: int, at: int, problems: list[Problem]) -> tuple[Value]:
    """What the writer of an entry that is no YAML most likely meant."""
    own = lines[start : last + 1]
    if any(line[:1] == "\t" or line.lstrip(" ")[:1] == "\t" for line in own[1:]):
        spaced = [own[0], *(re.sub(r"^[ \t]+", lambda match: match[0].replace("\t", "  "), line) for line in own[1:])]
        value = _value("".join(spaced))
        if isinstance(value, tuple):
            problems.append(Problem(start + 1, "a tab indents this value, which YAML does not allow", "use blanks"))
            return value
    value = _value(own[0])
    if len(own) > 1 and isinstance(value, tuple) and value[0] is not None:
        hint = "indent all of it alike, or write it in one line"
        problems.append(Problem(start + 2, "what follows the value cannot be read and is left out", hint))
        return value
    rest = " ".join([own[0][at:].strip(), *(line.strip() for line in own[1:])]).strip()
    problems.append(Problem(start + 1, "this value is no YAML; it is read as it stands", 'put it in quotes: `"…"`'))
    return (rest.removesuffix(_comment(rest)) or None,)


def _value(text: str) -> tuple[Value] | str | None:
    """The value of the one pair in `text`, in a tuple; words for what is refused; None for what is no such pair."""
    if text.count("[") + text.count("{") > _MOST_BRACKETS:
        return None
    yaml = _yaml()
    try:
        events: list[Any] = [*yaml.parse(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))]
    except (yaml.YAMLError, UnicodeError, ValueError, RecursionError):
        return None
    if any(isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) for event in events):
        return "anchors and aliases are not read"
    # Stream start, document start, mapping start, …, mapping end, document end, stream end.
    documents = sum(isinstance(event, yaml.DocumentStartEvent) for event in events)
    if documents != 1 or len(events) < 8 or not isinstance(events[2], yaml.MappingStartEvent) or events[2].flow_style:
        return None
    pairs: list[Value] = []
    rest = events[3:-3]
    at = 0
    while at < len(rest):
        value, at = _node(rest, at, 0)
        pairs.append(value)
    if len(pairs) != 2 or not isinstance(events[3], yaml.ScalarEvent):
        return None
    return (pairs[1],)


def _node(events: list[Any], at: int, depth: int) -> tuple[Value, int]:
    """The value whose events begin at `at`, and where the next one begins. What lies too deep is None."""
    yaml, event = _yaml(), events[at]
    if isinstance(event, yaml.ScalarEvent):
        text = str(event.value)
        plain = event.style in (None, "")
        return (None if plain and text in _NOTHING else text), at + 1
    if depth >= _MOST_DEPTH:
        level, at = 1, at + 1
        while level:
            level += isinstance(events[at], yaml.CollectionStartEvent) - isinstance(events[at], yaml.CollectionEndEvent)
            at += 1
        return None, at
    sequence = isinstance(event, yaml.SequenceStartEvent)
    items: list[Value] = []
    at += 1
    while not isinstance(events[at], yaml.CollectionEndEvent):
        item, at = _node(events, at, depth + 1)
        items.append(item)
    if sequence:
        return items, at + 1
    return {str(key): value for key, value in zip(items[::2], items[1::2], strict=True)}, at + 1


# ---------------------------------------------------------------------- changes


def _set(text: str, key: str, value: Given) -> str:
    front = parse(text)
    if key in front.values and front.values[key] == _read_back(value) and _is_sound(front, key):
        return text
    block = _block(text)
    if block.opening is None or block.closing is None:
        end = _end_of(block.lines[0]) if block.lines else "\n"
        rows = written({key: value}).replace("\n", end or "\n")
        return f"{block.mark}{rows}{''.join(block.lines)}"
    _demand_short(block)
    entry = next((entry for entry in reversed(front.entries) if entry.key == key), None)
    if entry is None:
        row = f"{key_text(key)}: {value_text(value)}{_end_of(block.lines[block.opening])}"
        block.lines.insert(block.closing, row)
    else:
        own = block.lines[entry.first - 1 : entry.last]
        block.lines[entry.first - 1 : entry.last] = _rewritten(own, value)
    return block.mark + "".join(block.lines)


def _removed(text: str, key: str) -> str:
    front = parse(text)
    block = _block(text)
    if block.opening is None or key not in front.values:
        return text
    _demand_short(block)
    for at in range(len(front.entries) - 1, -1, -1):
        entry = front.entries[at]
        if entry.key != key:
            continue
        last = entry.last
        if at and _KEEPS_BLANKS.search(block.lines[front.entries[at - 1].first - 1]):
            # Else the blank lines below would become part of the text above.
            while not block.lines[last].strip():
                last += 1
        del block.lines[entry.first - 1 : last]
    if not parse("".join(block.lines)).present:
        # Below blank lines, only a block that begins with a key is one.
        del block.lines[: block.opening]
    return block.mark + "".join(block.lines)


def _is_sound(front: Front, key: str) -> bool:
    first = {entry.first for entry in front.entries if entry.key == key}
    return not any(problem.line in first for problem in front.problems)


def _demand_short(block: _Block) -> None:
    if block.length > MOST_CHARACTERS:
        raise UsageError(
            f"the front matter has over {MOST_CHARACTERS:,} characters and is not edited",
            hint="move long text below the front matter",
        )


def _end_of(line: str) -> str:
    return line[len(_bare(line)) :]


def _read_back(value: Given) -> Value:
    """What reading gives for a value that was set."""
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, str):
        return value
    return list(value)


def _rewritten(own: list[str], value: Given) -> list[str]:
    """The lines of an entry with another value: in its style, with its key, comment and line end as they were."""
    match = _KEY.match(own[0])
    assert match is not None
    end = _end_of(own[0])
    head, rest = own[0][: match.end()], _bare(own[0])[match.end() :]
    if len(own) > 1:
        items = [line for line in own[1:] if line.strip()]
        listed = not rest.strip() and all(re.match(r"[ \t]*- ", line) for line in items)
        if listed and not isinstance(value, str | date | None) and value:
            indent = re.match(r" *", own[1])
            lead = indent[0] if indent else ""
            return [f"{head}{end}", *(f"{lead}- {scalar_text(item)}{end}" for item in value)]
        return [f"{head} {value_text(value)}{end}"]
    blank = re.match(r"[ ]*", rest)
    between = (blank[0] if blank else "") or " "
    old = rest.strip()
    comment = "" if old.startswith(("|", ">")) else _comment(rest)
    text = value_text(value)
    if old.startswith('"') and isinstance(value, str):
        text = quoted(value)
    return [f"{head}{between if old and not old.startswith('#') else ' '}{text}{comment}{end}"]


def _comment(rest: str) -> str:
    """The comment behind the value of one line, with the blanks before it."""
    lead = len(rest) - len(rest.lstrip(" \t"))
    value = _BEHIND_VALUE.match(rest, lead)
    if value:
        behind = rest[value.end() :]
        return behind if behind[:1] in (" ", "\t") and behind.lstrip(" \t").startswith("#") else ""
    at = min((found for found in (rest.find(" #"), rest.find("\t#")) if found >= 0), default=-1)
    return "" if at < 0 else rest[len(rest[:at].rstrip(" \t")) :]
