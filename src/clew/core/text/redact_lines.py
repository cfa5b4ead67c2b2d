"""Keeps the numbers of lines where a secret of several lines became one placeholder."""

from __future__ import annotations

from clew.core.text.lazy import lazy_pattern

_PLACEHOLDER = lazy_pattern(r"\[REDACTED(?::[\w.-]{1,40}){0,2}\]")


def lines_kept(text: str, clean: str) -> str:
    """`clean`, which is `text` redacted, with empty lines after each placeholder for the lines that went with it.

    So the number of a line is that of the file, for who opens it in an editor. Where the same text stands between two
    placeholders and inside of what the first took, the empty lines may stand at the second.
    """
    missing = text.count("\n") - clean.count("\n")
    if missing <= 0:
        return clean
    parts: list[str] = []
    place = kept = 0  # in `text`, in `clean`
    for mark in _PLACEHOLDER.finditer(clean):
        before = clean[kept : mark.start()]
        at = text.find(before, place)
        if at < 0:
            break
        parts += (_gap(text[place:at], parts), before, mark[0])
        place, kept = at + len(before), mark.end()
    rest = clean[kept:]
    made = "".join(parts)
    # What is left of the difference went with the last placeholder: the rest ends where the text ends.
    return made + "\n" * max(0, text.count("\n") - made.count("\n") - rest.count("\n")) + rest


def _gap(taken: str, parts: list[str]) -> str:
    """The line breaks of what a placeholder took; before the first one nothing was taken."""
    return "\n" * taken.count("\n") if parts else ""
