"""Rules for files that exist to hold secrets: every assigned value goes, unless it is plainly harmless."""

from __future__ import annotations

from collections.abc import Iterator

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact_values import harmless

_SHAPES = tuple(
    lazy_pattern(shape)
    for shape in (
        r"(?m)\b(?:password|passwd|account)[ \t]+(?P<s>\S{3,400})",
        (
            r"(?m)^[ \t]{0,40}(?:- {0,4})?(?:export )?[\"']?[A-Za-z_/][\w./:-]{0,100}[\"']?[ \t]{0,20}[:=][ \t]{0,20}"
            r"[\"']?(?P<s>(?![0-9]{1,5}[\"']?,?$)[^\s\"'{\[|>][^\n\"']{2,8000})"
        ),
        r"[\"']\s{0,4}:\s{0,4}[\"'](?P<s>[^\s\"'][^\"'\n]{5,8000})[\"']",
        # Fields between colons, the password last, as in .pgpass and .htpasswd.
        r"(?m)^[^:\s\[={\"']{1,200}:(?:[^:\n\[]{1,100}:){3}(?P<s>[^:\s\[]{1,400})$",
        r"(?m)^[^:\s\[={\"']{1,200}:(?P<s>[^:\s\[\"',][^:\s\[\"']{3,400})$",
        r"(?m)^[ \t]{0,40}(?P<s>[A-Za-z0-9+/_.-]{16,8000}={0,2})[ \t\r]{0,40}$",
    )
)


def strictly(text: str) -> Iterator[tuple[int, int, str]]:
    """Spans of all assigned values."""
    for shape in _SHAPES:
        for match in shape.finditer(text):
            if not harmless(match["s"]):
                yield *match.span("s"), "secret"
