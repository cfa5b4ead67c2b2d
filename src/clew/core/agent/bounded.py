"""What of a long text is shown: so many lines and bytes of its head, its tail or both, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

MOST_LINES: Final = 2_000
MOST_BYTES: Final = 50 * 1024
MOST_LINE: Final = 2_000
"""Characters of one line."""

Keep = Literal["head", "tail", "both"]


@dataclass(frozen=True, slots=True)
class Bounded:
    """What is shown of a text."""

    text: str
    """With a line in brackets where something was left out."""
    lines: int
    """Of the whole text."""
    size: int
    """Bytes of the whole text in UTF-8."""
    left_out: tuple[int, int] | None = None
    """First and last of the lines that are not shown, from 1."""

    @property
    def cut(self) -> bool:
        """Whether lines were left out."""
        return self.left_out is not None


def bound(text: str, *, lines: int = MOST_LINES, size: int = MOST_BYTES, keep: Keep = "head") -> Bounded:
    """At most so many lines and bytes (UTF-8) of a text; the note that says what is missing comes on top of that.

    `both` gives half of the room to the head and half to the tail. At least one line is shown, cut to the room.
    """
    whole = text.split("\n")
    ended = len(whole) > 1 and not whole[-1]
    if ended:
        del whole[-1]
    total = len(text.encode("utf-8", "surrogatepass"))
    if len(whole) <= lines and total <= size:
        return Bounded(text, len(whole) if text else 0, total)
    room = [cut_line(line, size // (2 if keep == "both" else 1)) for line in whole]
    head = fitting(room, lines, size) if keep == "head" else 0
    tail = fitting(reversed(room), lines, size) if keep == "tail" else 0
    if keep == "both":
        head = fitting(room, (lines + 1) // 2, size // 2)
        tail = fitting(reversed(room[head:]), lines // 2, size - size // 2)
    if head + tail >= len(room):
        return Bounded("\n".join(room) + "\n" * ended, len(room), total)
    first, last = head + 1, len(room) - tail
    reason = f"{lines:,} lines" if head + tail >= lines else f"{size:,} bytes"
    note = f"[lines {first}-{last} of {len(room)} left out: more than {reason}]"
    kept = [*room[:head], note, *(room[len(room) - tail :] if tail else ())]
    return Bounded("\n".join(kept) + "\n" * ended, len(room), total, (first, last))


def fitting(lines: Iterable[str], most: int, size: int) -> int:
    """How many lines from the first on fit into so many lines and bytes (line ends count); at least one."""
    count = used = 0
    for line in lines:
        used += len(line.encode("utf-8", "surrogatepass")) + 1
        if count and (count >= most or used > size + 1):
            break
        count += 1
    return count


def cut_line(line: str, size: int, *, around: int = 0, before: int = 0, behind: int = 0) -> str:
    """A line of at most `size` bytes, which says how many characters were left out; whole where it fits.

    Of a longer one the beginning is kept, or the part that holds the character `around`. `before` and `behind` are
    numbers of characters of the same line that were left out already.
    """
    fits = len(line) * 4 <= size or len(line.encode("utf-8", "surrogatepass")) <= size
    if fits and not before and not behind:
        return line
    begin = 0 if around < size // 2 else around - size // 4
    kept = line[begin : begin + size].encode("utf-8", "surrogatepass")[:size].decode("utf-8", "ignore")
    head = f"[{begin + before:,} characters left out]… " if begin + before else ""
    rest = len(line) - begin - len(kept) + behind
    return head + kept + (f" …[{rest:,} more characters of this line left out]" if rest else "")
