"""Placeholders of secrets in front matter: in quotes, since a bracket begins a list in YAML."""

from __future__ import annotations

import re

from clew.core.text.frontmatter import parse
from clew.core.text.lazy import lazy_pattern
from clew.core.text.scalars import quoted

_MARK = r"\[REDACTED(?::[\w.-]{1,40}){0,2}\]"
_KEY = lazy_pattern(rf"({_MARK}[^\"'\r\n]{{0,200}}?)(?=:(?:[ \t\r\n]|$))")
_VALUE = lazy_pattern(
    rf"((?:[^\s\"'\[{{#][^\"'\r\n]{{0,200}}?|\"(?:[^\"\\\r\n]|\\.){{0,200}}\"):[ \t]+|[ \t]*(?:-[ \t]+)+)"
    rf"({_MARK}[^\r\n]*?)([ \t]*(?:[ \t]#[^\r\n]*)?)$"
)
"""A key or the dash of an item, a value that begins with a placeholder, and what stands behind it."""
_LIST = lazy_pattern(r"(?:[^\s\"'#][^\"'\r\n]{0,200}?:[ \t]+|[ \t]*(?:-[ \t]+)+)(?![^\S\n]*\[REDACTED)[\[{]")
_ITEM = lazy_pattern(rf"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|(?:{_MARK}|[^\[\]{{}},\"'\r\n])+")
_BLOCK = lazy_pattern(r"[^\r\n]*?:[ \t]+(?:![^ ]*[ \t]+)?[|>][-+0-9]*[ \t]*(?:#[^\r\n]*)?$")


def placeholders_quoted(text: str) -> str:
    """A document whose front matter can be read, whatever value a placeholder took the place of."""
    if "[REDACTED" not in text[: len(text) - len((front := parse(text)).body)]:
        return text
    if re.search(r"\r(?!\n)", text[: len(text) - len(front.body)]):
        return text  # its lines are not those of an editor
    lines = text.split("\n")
    for entry in front.entries:
        rows = lines[entry.first - 1 : entry.last]
        if "[REDACTED" in "\n".join(rows):
            lines[entry.first - 1 : entry.last] = _entry_quoted(rows)
    return "\n".join(lines)


def _entry_quoted(rows: list[str]) -> list[str]:
    if _BLOCK.match(rows[0].rstrip("\r")):
        return rows
    first = _KEY.sub(lambda found: quoted(found[1]), rows[0], count=1) if rows[0].startswith("[REDACTED") else rows[0]
    whole = "\n".join([first, *rows[1:]])
    start = _LIST.match(whole)
    if start is not None:
        return (whole[: start.end()] + _ITEM.sub(_item_quoted, whole[start.end() :])).split("\n")
    return [_row_quoted(row) for row in whole.split("\n")]


def _row_quoted(row: str) -> str:
    end = "\r" if row.endswith("\r") else ""
    found = _VALUE.match(row.removesuffix("\r"))
    return f"{found[1]}{quoted(found[2])}{found[3]}{end}" if found is not None else row


def _item_quoted(found: re.Match[str]) -> str:
    said = found[0].strip()
    if "[REDACTED" not in said or said[0] in "\"'":
        return found[0]
    before, gap, value = said.rpartition(": ")
    return found[0].replace(said, f"{before}{gap}{quoted(value)}")
