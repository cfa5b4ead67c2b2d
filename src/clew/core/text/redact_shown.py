"""Secrets without a name of their own: what a command prints, what stands inside of a group that has the name."""

from __future__ import annotations

from collections.abc import Iterator

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact_names import Cue, cue_of
from clew.core.text.redact_values import harmless, identifier, is_hex, is_uuid, long_phrase, random_like, weak

Found = tuple[int, int, str]

_COMMAND = lazy_pattern(
    r"(?:pass show |pass -c |op read |op item get|bw get password|lpass show|gopass |auth[ :]token|print-access-token"
    r"|print-identity-token|get-access-token|get-login-password|openssl rand|pwgen|makepasswd|wg gen(?:key|psk)"
    r"|create token|token create|--reveal|output -raw|find-generic-password|secret-?value|get-parameter|-field="
    r"|secrets? (?:get|show|reveal)|/run/secrets/|base64 (?:-d|--decode|-D)|versions access|vault-token"
    r"|initialAdminPassword|generate-password)"
)
_OTHER = lazy_pattern(r"certificate|\.crt|\.pub\b|-?username|field=user|public|-list|--help|metadata")
_PRINTED = lazy_pattern(r"\r?\n(?:[ \t]{0,8}\r?\n)?[ \t]{0,8}(?P<s>[!-~]{6,4000})[ \t]*(?:\r?\n|\Z)")
_PROMPTS = ("$ ", "❯ ", "➜ ")
_NEXT_PROMPT = lazy_pattern(r"[$#%>~❯]|\[?[\w.-]+@")


def printed(text: str) -> Iterator[Found]:
    """`$ pass show shop` and the password alone on the next line."""
    for prompt in _PROMPTS:
        if text.isascii() and not prompt.isascii():
            continue
        at = text.find(prompt)
        while at >= 0:
            end = text.find("\n", at, at + 500)
            match = _PRINTED.match(text, end) if end >= 0 and _COMMAND.search(text, at, end) else None
            if match is not None and not _OTHER.search(text, at, end) and _is_printed(match["s"]):
                yield *match.span("s"), "password" if len(match["s"]) < 20 else "secret"
            at = text.find(prompt, max(at + 1, end))


def _is_printed(value: str) -> bool:
    if harmless(value) or _NEXT_PROMPT.match(value) is not None or value[-1:] in ":{[":
        return False
    return (
        random_like(value, 12) or long_phrase(value) or (weak(value, 6) and not identifier(value) and "=" not in value)
    )


_GROUP = lazy_pattern(
    r"(?i)(?P<name>[\w.-]{0,60}?(?:secrets?|passwords?|tokens|credentials|creds|api_?keys|apikeys|keys))"
    r"[\"'`]?\]?[ \t]{0,8}(?::[ \t]{0,4}[A-Za-z][\w\[\], .|]{0,40})?[ \t]{0,4}(?:=>|:=|=|:)[ \t]{0,8}"
    r"(?:(?:new )?[A-Za-z][\w.<>, \[\]]{0,60})?(?P<open>[\[({]{1,3})"
)
_OF_SECRETS = lazy_pattern(r"(?:api|secret|access|private|signing|unseal|encryption|auth)[_-]?keys")
_UNSEAL = lazy_pattern(r"\"(?:unseal_)?keys(?=(?:_base64|_b64|_hex)?\": ?\[)")
_MEMBER = lazy_pattern(
    r"(?:(?P<name>[\"']?[\w.@-]{1,60}[\"']?)[ \t]{0,8}(?:=>|[:=])[ \t]{0,8})?[\"'`](?P<s>[!-~]{6,4000}?)[\"'`]"
    r"(?=[ \t]{0,8}(?:[,;)\]}\n]|\Z))"
)
_BLOCK = lazy_pattern(
    r"(?im)^(?P<indent>[ \t]{0,40})[\"']?(?P<name>[\w.-]{0,60}?(?:secrets?|passwords|tokens|credentials|api_?keys))"
    r"[\"']?:[ \t]*\r?\n(?P<body>(?:(?P=indent)(?:[ \t]+|-[ \t]+)[^\n]*(?:\n|\Z)){1,60})"
)
_LINE = lazy_pattern(
    r"(?m)^[ \t]*(?:-[ \t]+)?(?:[\"']?(?P<name>[\w.@-]{1,60})[\"']?:[ \t]+)?"
    r"[\"']?(?P<s>[!-~]{8,4000}?)[\"']?[ \t]*(?:#.*)?$"
)
_OPEN_NAMES = frozenset(
    "id name url host user username email type kind scope region key_id client_id path file".split()
)
_REST_OF_NAME = lazy_pattern(
    r"(?i)(?:secrets?|passwords?|tokens?|cred(?:ential)?s?|keys?)(?:[\"'`]?\]?(?:(?P<line>[ \t]?:[ \t]*\r?\n)"
    r"|[ \t]{0,8}[=:][^\n]{0,60}?[\[({])|(?:</\w{1,10}>){0,2}[*_:]{0,3}[ \t]*\r?\n(?:[ \t]*\r?\n|```\w*\r?\n){1,2}"
    r"[ \t>`]{0,8}(?P<head>[!-~]{20,4000}?)`?[ \t]*(?:\r?\n|\Z))"
)
_CLOSE = {"{": "}", "[": "]", "(": ")"}


def grouped(text: str, places: list[int]) -> Iterator[Found]:
    """`SECRETS = {"mail": "…"}`, `api_keys: ["…"]`, and lines under `secrets:`, whatever the members are called.

    `places`: where a cue stands.
    """
    if '"root_token"' in text:
        # What a vault says once, when it is made.
        places = [*places, *(text.rfind("keys", 0, match.end()) for match in _UNSEAL.finditer(text))]
    for at in places:
        name = _REST_OF_NAME.match(text, at)
        if name is None:
            continue
        begin = max(text.rfind("\n", max(0, at - 80), at) + 1, at - 80)
        if name["head"] is not None:
            # A heading, and under it the value alone.
            if random_like(name["head"], 20) and not is_hex(name["head"]) and not harmless(name["head"]):
                yield *name.span("head"), "secret"
            continue
        if name["line"] is not None:
            yield from _lines(text, begin, at)
        else:
            yield from _members(text, begin, at)


def _members(text: str, begin: int, at: int) -> Iterator[Found]:
    group = next((one for one in _GROUP.finditer(text, begin, at + 160) if one.start() <= at < one.end("name")), None)
    if group is None:
        return
    close = _CLOSE[group["open"][0]]
    low = group["name"].lower()
    if low.endswith("keys") and '"root_token"' not in text and not _OF_SECRETS.search(low):
        return
    typed = "password" in low
    stop = text.find(close, group.end(), group.end() + 4_000)
    for member in _MEMBER.finditer(text, group.end(), stop if stop >= 0 else min(len(text), group.end() + 400)):
        if _is_member((member["name"] or "").strip("\"'"), member["s"], typed=typed):
            yield *member.span("s"), "secret"


def _lines(text: str, begin: int, at: int) -> Iterator[Found]:
    block = _BLOCK.match(text, begin)
    if block is None or not block.start("name") <= at < block.end("name"):
        return
    for line in _LINE.finditer(text, block.start("body"), block.end("body")):
        if _is_member(line["name"] or "", line["s"]):
            yield *line.span("s"), "secret"


def _is_member(name: str, value: str, *, typed: bool = False) -> bool:
    if harmless(value) or is_uuid(value) or name.lower() in _OPEN_NAMES:
        return False
    if typed or (name and cue_of(name) is Cue.PASSWORD):
        return weak(value)
    return random_like(value)
