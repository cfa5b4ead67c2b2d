"""What a file is, by its name: the lines below `cat config/master.key` or in a diff. Also what mail servers ask."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact_prose import SIGN
from clew.core.text.redact_said import said_of_secrets
from clew.core.text.redact_values import Words, harmless, identifier, long_phrase, random_like, strong, weak

Found = tuple[int, int, str]

_MARKS = {"+++ ": b"", "==> ": b"", "cat ": b"cat"}
"""What stands before the name of a file that is shown, and the word that a text with it must hold."""
_NAMED = lazy_pattern(
    r"(?:-\w+(?: \d+)? ){0,2}[\"']?(?P<path>[^\s\"'|;<>&]{1,300})[\"']?(?: <==|\t[^\n]{0,80}|[ \t]{0,8})\r?\n"
)
_TYPED = lazy_pattern(
    r"(?:[^\n]{0,80}?[$#%>❯➜✗λ»+][ ]{1,2})?(?:sudo |doas |(?:kubectl|docker|podman|ssh) [^\n]{1,100} [\"']?)?"
)
_LONE = lazy_pattern(
    r"(?i)(?:[\w.-]*\.(?:key|secrets?|token|pass|passwd|password|psk|apikey|pw)"
    r"|(?:[\w.-]*[._-])?(?:secrets?|tokens?|passwd|passwords?|passphrase|api[_-]?key|master[_-]?key|secret[_-]key"
    r"|secret[_-]key[_-]base|credentials?|cookie|cookie[_-]secret|session[_-]secret|vault[_-]pass(?:word)?|pat|psk|pw"
    r"|encryption[_-]key|auth[_-]?key)"
    r"(?:[._-](?:txt|prod|production|staging|dev|local|old|new|bak|b64|base64))*)"
)
_NO_SECRET = lazy_pattern(
    r"(?i)\.pub$|public|known_hosts|authorized_keys|\.lock$|(?:^|[_-])tokens\.(?:txt|json)$|design"
)
_ROWS = (
    (
        lazy_pattern(r"(?:chap|pap)-secrets"),
        lazy_pattern(r"\"?[^\s\"#]{1,80}\"?[ \t]+\S{1,80}[ \t]+\"?(?P<s>[^\s\"]{3,200})"),
    ),
    (
        lazy_pattern(r"\.?pgpass(?:\.conf)?"),
        lazy_pattern(
            r"(?:[^:\s\\]|\\.){1,120}:(?:\d{1,5}|\*):(?:[^:\\\s]|\\.){1,80}:(?:[^:\\\s]|\\.){1,80}:(?P<s>\S{3,200})"
        ),
    ),
    (
        lazy_pattern(r"sasl_passwd|(?:smtp|relay)_passwd"),
        lazy_pattern(r"\S{1,200}[ \t]+[^\s:]{1,100}:(?P<s>\S{3,200})"),
    ),
    (
        lazy_pattern(
            r"\.?ht(?:passwd|digest)[\w.-]{0,20}|\.?passwd-s3fs|rsyncd?[._-]secrets?|[\w.-]*\.secrets"
            r"|(?:[\w-]*[._-])?users?[._-]?(?:passwd|pass|passwords)|(?:users|basic-?auth|auth|passwd|dovecot[\w.-]*)"
            r"(?:\.(?:passwd|users|auth))?|passdb|smtpd?\.passwd|[\w-]*creds?(?:\.txt)?|[\w-]*credentials\.txt"
        ),
        lazy_pattern(r"[\w.@+\\-]{1,80}(?::[\w .@-]{1,80})?:(?:\{(?:PLAIN|plain|CLEAR)\})?(?P<s>[^\s:]{4,200})$"),
    ),
)
_STOP = lazy_pattern(r"[$❯➜%>] |[\w.-]+@[\w.-]+[:~ ]|\S{1,40}[$#] \w|diff --git|(?:---|\+\+\+) |==> |```")
_PAIR = lazy_pattern(r"[\w.-]{1,60}[=:].")
_MOST = 40
"""Lines of a file that are looked at."""


def filed(text: str, lower: bytes, words: Words) -> Iterator[Found]:
    """Secrets in what is shown of a file whose name says that it holds them, and in what a mail server is told."""
    for mark, word in _MARKS.items():
        at = text.find(mark) if not word or word in words.each else -1
        while at >= 0:
            named = _NAMED.match(text, at + len(mark))
            name = re.split(r"[/\\]", named["path"])[-1] if named is not None else ""
            begin = max(text.rfind("\n", max(0, at - 200), at) + 1, at - 200)
            if named is not None and _of_secrets(name) and _TYPED.fullmatch(text, begin, at):
                yield from _shown(text, named.end(), name, text[begin:at], diff=mark == "+++ ")
            at = text.find(mark, at + len(mark))
    yield from _told(text, lower, words)


def _of_secrets(name: str) -> bool:
    return _rows_of(name) is not None or (_LONE.fullmatch(name) is not None and not _NO_SECRET.search(name))


def _rows_of(name: str) -> re.Pattern[str] | None:
    return next((row for names, row in _ROWS if names.fullmatch(name.lower())), None)


def _shown(text: str, place: int, name: str, prompt: str, *, diff: bool) -> Iterator[Found]:
    row = _rows_of(name)
    alone: list[tuple[int, int]] = []
    number = 0
    for start, end in _lines(text, place, prompt, diff=diff):
        number += 1
        match = row.match(text, start, end) if row is not None else None
        if match is not None and not harmless(match["s"]) and not said_of_secrets(match["s"]):
            yield *match.span("s"), "password"
        elif match is None and _is_alone(text[start:end], name):
            alone.append((start, end))
    # A list of many is a list of names.
    if number <= 4:
        for span in alone:
            yield *span, "secret"


def _lines(text: str, place: int, prompt: str, *, diff: bool) -> Iterator[tuple[int, int]]:
    """The lines of a shown file, without the signs of a diff, comments and empty lines."""
    for _ in range(_MOST):
        if place >= len(text):
            return
        stop = text.find("\n", place, place + 1_000)
        stop = stop if stop >= 0 else min(len(text), place + 1_000)
        start, end = place, stop
        place = stop + 1
        if diff and text[start : start + 2] == "@@":
            continue
        if _STOP.match(text, start) or (prompt.strip(" #") and text.startswith(prompt, start)):
            return
        if diff:
            if text[start : start + 1] not in ("+", "-", " "):
                return
            start += 1
        line = text[start:end]
        start += len(line) - len(line.lstrip(" \t│|"))
        line = text[start:end].rstrip(" \t\r│|")
        if line and line[0] not in "#;":
            yield start, start + len(line)


def _is_alone(value: str, name: str) -> bool:
    if not 8 <= len(value) <= 400 or not value.isascii() or " " in value or harmless(value) or _PAIR.match(value):
        return False
    if random_like(value) or long_phrase(value):
        return True
    typed = "pass" in name.lower() or "secret" in name.lower() or name.lower().endswith((".pw", "psk"))
    return typed and (strong(value) or (weak(value, 6) and (bool(SIGN.search(value)) or not identifier(value))))


_ANSWER = lazy_pattern(
    r"334 UGFzc3dvcmQ(?:6|=)[^\n]{0,80}\n(?![^\n]{0,80}\b[2-5]\d\d[ -](?:\d\.\d|[A-Z][a-z]))"
    r"[^\n]{0,120}?(?<![A-Za-z0-9+/=])(?P<s>[A-Za-z0-9+/]{4,400}={0,2})[\"',}\]]{0,4}"
    r"(?:\\[rn]){0,2}[\"']?[ \t\r]*(?:\n|\Z)"
)
_PASS = lazy_pattern(
    r"USER [^\s]{1,100}[^\n]{0,40}\n(?:[^\n]{0,200}\n){0,2}?"
    r"[^\n]{0,80}?\bPASS (?P<s>[^\s\"']{4,100}?)(?:\\[rn]){0,2}[\"']?[ \t]*(?:\r?\n|\Z)"
)


def _told(text: str, lower: bytes, words: Words) -> Iterator[Found]:
    """`334 UGFzc3dvcmQ6` and the answer to it, `USER …` and `PASS …`."""
    if b"ugfzc3dvcmq" in lower:
        for match in _ANSWER.finditer(text):
            yield *match.span("s"), "login"
    if b"user" in words.each and b"pass" in words.each:
        at = text.find("USER ")
        while at >= 0:
            match = _PASS.match(text, at)
            if match is not None and not harmless(match["s"]):
                yield *match.span("s"), "password"
            at = text.find("USER ", at + 5)
