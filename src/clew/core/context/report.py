"""What went into a prompt, what it cost, and what was left out and why."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Final, Literal

Form = Literal["body", "part", "line"]
Cause = Literal["budget", "side limit", "mode", "duplicate"]

_FILE_SOURCES: Final = frozenset({"related", "explicit"})
_RANGE: Final = re.compile(r":\d+(-\d+)?$")


@dataclass(frozen=True, slots=True)
class Kept:
    """A fragment that is in the prompt, whole (`body`), in part, or by its reference line."""

    ref: str
    source: str
    form: Form
    tokens: int
    anchor: bool = False
    explicit: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Trimmed:
    """A fragment whose body is not, or not wholly, in the prompt. `line_kept`: its reference line or a part is."""

    ref: str
    source: str
    cause: Cause
    tokens: int
    """What the whole body would have cost."""
    line_kept: bool = False


@dataclass(frozen=True, slots=True)
class SourceUse:
    """Share of one source. The tokens of all sources and the frame add up to `Report.used`."""

    source: str
    fragments: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Report:
    """What one assembly did; made from the very parts that are sent."""

    mode: str
    reason: str
    used: int
    """Tokens of the prompt as sent."""
    prompt: int
    """Tokens the prompt may take: `total` less `answer`."""
    total: int
    answer: int
    tokenizer: str
    exact: bool
    """False where tokens are an estimate that errs high."""
    frame: int
    """Tokens of everything that belongs to no source: instructions, question, headings, message overhead."""
    sources: tuple[SourceUse, ...]
    kept: tuple[Kept, ...]
    trimmed: tuple[Trimmed, ...]
    nothing_found: bool = False
    """Context was wanted, and nothing here bears on the question."""
    only_notes: bool = False
    """Context was wanted, and only what memory holds bears on the question, no file."""

    def to_json(self) -> dict[str, object]:
        """All of it, as plain values."""
        return asdict(self)

    def one_line(self, lang: str = "en", reason: str = "") -> str:
        """The line a user sees after every assembly, in English or (`zh`) Chinese.

        `reason` replaces the reason of the report, for callers that hold it in the user's language.
        """
        zh = lang.startswith("zh")
        parts = [f"{'上下文：' if zh else 'context: '}{self.mode}", self._fragments(zh)]
        tokens = f"{'' if self.exact else '~'}{self.used}/{self.total} {'token' if zh else 'tokens'}"
        parts.append(tokens if self.exact else f"{tokens} ({'估算' if zh else 'estimated'})")
        missing = self._missing(zh)
        if missing:
            parts.append(f"{'省略：' if zh else 'trimmed: '}{('、' if zh else ', ').join(missing)}")
        because = reason or self.reason
        return " · ".join(parts) + (f" — {because}" if because else "")

    def _fragments(self, zh: bool) -> str:
        shown = len(self.kept)
        if self.nothing_found:
            tail = f"（{shown} 个片段）" if zh else f" ({shown} fragments)"
            return ("没有找到相关内容" if zh else "nothing relevant found") + (tail if shown else "")
        if self.only_notes:
            return f"只找到笔记（{shown} 个片段）" if zh else f"only notes found ({shown} fragments)"
        if zh:
            return f"{shown} 个片段"
        return f"{shown} fragment{'' if shown == 1 else 's'}"

    def _missing(self, zh: bool) -> list[str]:
        """Names for what lack of room left out: sources by name, files by number."""
        short = [item for item in self.trimmed if item.cause in ("budget", "side limit")]
        names = list(dict.fromkeys(item.source for item in short if item.source not in _FILE_SOURCES))
        files = len({_RANGE.sub("", item.ref) for item in short if item.source in _FILE_SOURCES})
        if files:
            names.append(f"{files} 个文件" if zh else f"{files} file{'' if files == 1 else 's'}")
        return names
