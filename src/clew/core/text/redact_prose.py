"""Values in a sentence: after the name of what they are, in front of it, and codes that are good once."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact_names import Cue
from clew.core.text.redact_plain import is_plain_value
from clew.core.text.redact_said import of_code, said_of_secrets
from clew.core.text.redact_values import (
    Words,
    ended,
    harmless,
    identifier,
    is_hex,
    is_pair,
    is_uuid,
    long_phrase,
    phrase,
    random_like,
    strong,
    weak,
    word_and_number,
)

Found = tuple[int, int, str]

_PROSE = lazy_pattern(
    r"""(?x)
      (?:[ ]for[ ]["'][^"'\n]{1,120}["'](?=:)
        |["'`”*]{0,3}[?]?[ \t]{1,4}|[ \t]?\(|['’]s[ \t](?=\S*[0-9]))
      (?: (?:[A-Za-z][\w'.-]{0,20}[:,]?|\([^()\n]{0,40}\))[ \t]{1,4} ){0,6}?
      (?: (?:is|it's|its|was|as|to|now|use|be|are|value|like|reads|with|ist|equals|becomes|est|es|lautet|vaut|--?|[—–])
          [ \t]{1,4}
          (?:(?:still|now|just|simply|currently|always|again|probably|called|the|set[ ]to)[ \t]{1,4})?
        | (?P<colon>[\w)]{0,20}[:=][ \t]{0,8}(?:\n[ \t]{0,8})?) | (?=["'`“「*(]) | (?<=['’]s[ \t])
        | (?P<bare>)(?=[A-Za-z0-9+/_-]*[0-9]) )
      (?P<wrap>[\[("'`“「*]{0,3}) (?P<v>(?:[^\s"'`”」*<>()|，。；]|\*(?=[A-Za-z0-9])){4,4000})
    """
)
_APPOSED = lazy_pattern(
    r"(?:[\"'`”]{0,2},|[ ]?[\u2014\u2013]|[ ]-{1,2}|[ ]?\()[ ]?[`\"'“]?"
    r"(?P<v>[A-Za-z0-9][^\s\"'`”,()—]{7,4000}?)[`\"'”]?"
    r"(?=[,.)]?(?:[\s—–]|$))"
)
_IN_FRONT = lazy_pattern(
    r"[\"'`“]?(?P<v>[A-Za-z0-9][!-~]{4,60}?)[\"'`”]? (?:as|is|was)"
    r"(?: (?:the|my|our|your|a|new|root|admin|initial|wifi|login|db)){0,3} \Z"
)
_BRACKETED = lazy_pattern(r"(?:^|[\s\"'`“:])(?P<v>[A-Za-z0-9][!-~]{4,60}?)[\"'`”]? \((?:[A-Za-z]{2,12} ){0,3}\Z")
_TYPED = lazy_pattern(
    r"(?:typ|enter|us|try|past|say|giv)(?:e|es|ed|ing|ies|y)? (?:in )?[\"'`“*]{0,2}"
    r"(?P<v>[A-Za-z0-9][!-~]{4,80}?)[\"'`”*,]{0,2} (?:[A-Za-z']{1,12} ){0,7}\Z"
)
_NAMED_AFTER = lazy_pattern(
    r"(?:(?:^|(?<=[\s\"'`]))(?P<w>[A-Za-z0-9][A-Za-z0-9_+/=.-]{15,400})"
    r"|(?P<v>[A-Za-z0-9][A-Za-z0-9_+=.-]{15,200}))"
    r"[\"'`”]? (?:is|was|as) (?:my|our|the|your|a|an|their|his|her)"
    r" (?:[A-Za-z0-9.-]{1,20} ){0,3}\Z"
)
ABOUT_IDS = lazy_pattern(r"(?i)\b(?:commit|hash|digest|sha|sha256|id|checksum|version|request|trace|md5|fingerprint|"
                        r"uuid|"
                        r"count|limit|length|at|since|until|on|of type|policy|rule)\b|\d{4}-\d\d")  # fmt: skip


def in_front(text: str, start: int, cue: Cue) -> tuple[int, int] | None:
    """`use … as the password`, `type … when it asks for the passphrase`, `… is our deploy token`."""
    if text[start - 1 : start] not in (" ", "(") or not start:
        return None
    begin = max(0, start - (90 if cue is Cue.PASSWORD else 280), text.rfind("\n", 0, start) + 1)
    if cue is not Cue.PASSWORD:
        match = _NAMED_AFTER.search(text, begin, start)
        if match is None:
            return None
        group = "w" if match["w"] else "v"
        good = random_like(match[group]) and not harmless(match[group]) and not is_uuid(match[group])
        return match.span(group) if good else None
    match = _IN_FRONT.search(text, begin, start)
    if match is not None and (strong(match["v"]) or (weak(match["v"], 6) and word_and_number(match["v"]))):
        return match.span("v")
    for shape in (_BRACKETED, _TYPED):
        match = shape.search(text, begin, start)
        if (
            match is not None
            and "'@'" not in match["v"]
            and (
                long_phrase(match["v"])
                or (
                    strong(match["v"])
                    and (not identifier(match["v"]) or (word_and_number(match["v"]) and not of_code(match["v"])))
                )
            )
        ):
            return match.span("v")
    return None


def in_prose(text: str, end: int, cue: Cue) -> tuple[int, int] | None:
    """`the password for the printer is …`, `key (…)`, `token: …`, `the master key, …,`."""
    stop = text.find("\n\n", end, end + 160)
    match = _PROSE.match(text, end, stop if stop >= 0 else min(len(text), end + 4_200))
    if match is None or match.start("v") - end > 120:
        return _apposed(text, end, cue)
    between, value = text[end : match.start("v")], match["v"]
    if "&" in value:
        # A form or an address: the next pair begins there.
        value = re.split(r"&[\w.-]+=", value, maxsplit=1)[0]
    trimmed = ended(value, ".,;:!?)\\")
    if is_pair(trimmed, password=cue is Cue.PASSWORD):
        # A pair inside of the sentence: its own name says what it is.
        return None
    named = identifier(trimmed) and not (cue is Cue.PASSWORD and (word_and_number(trimmed) or phrase(trimmed)))
    if not trimmed or harmless(trimmed) or named or ABOUT_IDS.search(between):
        return _apposed(text, end, cue)
    plain = match["bare"] is not None and not match["wrap"]
    if plain and re.fullmatch("[0-9]{4,8}", trimmed) and text[end - 8 : end].lower() == "passcode":
        good = True
    elif cue is Cue.PASSWORD and not plain:
        good = weak(trimmed, 6) and not re.fullmatch(r"[A-Za-z]+(?:['’-][A-Za-z]+)*|[0-9.,:]{1,5}", trimmed)
        good = good or (bool(match["wrap"]) and phrase(trimmed)) or long_phrase(trimmed)
    else:
        good = random_like(trimmed) and not (
            plain and (is_uuid(trimmed) or (is_hex(trimmed) and len(trimmed) in (40, 64) and cue is not Cue.SECRET))
        )
        if plain and cue is Cue.KEY:
            good = good and len(trimmed) >= 20
    return (match.start("v"), match.start("v") + len(trimmed)) if good else None


def _apposed(text: str, end: int, cue: Cue) -> tuple[int, int] | None:
    """`the signing key, …, was rotated`."""
    match = _APPOSED.match(text, end)
    if match is None or harmless(match["v"]) or is_uuid(match["v"]):
        return None
    value = match["v"]
    if cue is Cue.PASSWORD:
        return match.span("v") if strong(value) and not identifier(value) else None
    good = random_like(value, 20) and (cue is Cue.SECRET or not is_hex(value))
    return match.span("v") if good else None


SIGN = lazy_pattern(r"[!#%^*@+&?$~]")
VALUE_END = r"(?=[.,;:)]{0,3}(?:[\"'`”\s]|\*\*|$)|\?\s*(?:\n|$)|\? (?-i:[A-Z]))"
"""Where a value in a sentence ends: a full stop is none of it, a sign that something else follows is."""
_HUMPS = lazy_pattern(r"[A-Z][a-z]{2,}(?:[A-Z][a-z]{2,})+[!?#%*@$&+=~]{1,3}")
_USER_BEFORE = lazy_pattern(
    r"(?i)\b(?:user(?:name)?|login|ip|host|account|acct|id|name|e?mail)\b(?: is)?[:= ]{1,3}[\"'`*]{0,2}[\w.@:/-]{1,60}"
    r"[\"'`*]{0,2}(?: ?[,;/|] ?(?:and )?| and | with )(?:the |its |his |her )?\Z"
)
_BESIDE_USER = lazy_pattern(rf"(?: is)?[ ]{{1,2}}[\"'`“]?(?P<v>[^\s\"'`]{{5,100}}?){VALUE_END}")


def said_with_user(value: str) -> bool:
    """A password in a sentence that names who logs in with it."""
    if len(value) < 6 or harmless(value) or said_of_secrets(value.rstrip("!?")):
        return False
    if _HUMPS.fullmatch(value) is not None or long_phrase(value) or phrase(value):
        return True
    if not any(map(str.isdigit, value)) or not weak(value, 6) or "/" in value:
        return False
    return bool(SIGN.search(value)) or not (of_code(value) or re.fullmatch(r"[a-z]+[0-9]?|[A-Z]+[0-9]*", value))


def beside_user(text: str, start: int, end: int) -> tuple[int, int] | None:
    """`user ubuntu, pw …`: a blank alone between, as a user or a host stands right before."""
    match = _BESIDE_USER.match(text, end, min(len(text), end + 120))
    if match is None or _USER_BEFORE.search(text, max(0, start - 110, text.rfind("\n", 0, start) + 1), start) is None:
        return None
    # Nobody says `pw` of anything else, so a word will do.
    short = text[start:end].lower() in ("pw", "pwd") and is_plain_value(match["v"].rstrip("!?"), Cue.PASSWORD, "pw")
    return match.span("v") if short or said_with_user(match["v"]) else None


_CODE = r"(?=[A-Za-z-]{0,12}[0-9])[A-Za-z0-9]{4,10}(?:-[A-Za-z0-9]{4,10}){1,3}"
_WORD_BEFORE = lazy_pattern(rb"[a-z]*\Z")
_RECOVERY = lazy_pattern(
    rf"(?i)(?:recovery|backup|scratch|emergency) codes?[^\n.]{{0,30}}?(?:[:：]|\bis\b|\bare\b) {{0,2}}"
    rf"(?P<s>{_CODE}(?:(?:, ?| and |, and |\s?/\s?|; ?| ){_CODE}){{0,19}})"
)
_LOCKS = (
    "unlock|door|gate|alarm|safe|entry|keypad|garage|lock|locker|lockbox|padlock|building|lobby|front door|elevator"
    "|vault|disarm|house|office|parking|barrier|shed"
)
_ONCE = lazy_pattern(
    r"(?i)(?:验证码|动态码|校验码|动态口令)(?:是|为|：|:|\s){0,3}(?P<zh>[0-9]{4,8})(?![0-9])"
    rf"|\b(?:verification|security|one-time|login|sign-in|2fa|sms|auth(?:entication)?|confirmation|otp|access|door|gate|pin)"
    r" (?:code|pin|passcode)(?: (?:is|was)(?: now| still)?|[:：])?[*`]{0,3} ?[:]?[*`]{0,3} ?"
    r"(?P<en>[0-9]{4,8}|[A-Z]-[0-9]{4,8})(?!\w|\.[0-9])"
    rf"|\b(?:{_LOCKS}) (?:code|pin|passcode|combination|combo)"
    r"(?:(?: (?:is|was|has been)(?: now| still)?(?: (?:changed|set|reset) to)?| (?:changed|set|reset) to|[:：])"
    r"[*`]{0,3}:?[*`]{0,3} ?"
    r"(?P<lock>[0-9]{4,8})(?!\w|\.[0-9])| (?P<shut>[0-9]{4,8})(?=[#.,;!)]|[ \t]*(?:\r?\n|\Z)))"
    rf"|\b(?:code|combination|combo)[*]{{0,2}}(?: (?:for|of|to|on)(?: [a-z']{{1,12}}){{0,4}}? (?:{_LOCKS}))"
    r"(?: is| was|[:=]){1,2}[*`]{0,3} ?(?P<safe>[0-9]{4,8}|[0-9]{1,2}(?:-[0-9]{1,2}){2,3})(?!\w|\.[0-9])"
    r"|\bpin\b(?: (?:for|of|to) (?:[a-z]{1,12} ){1,4}?)?(?: is| was|:|=){1,2}[*`]{0,3} ?"
    r"(?P<pin>[0-9]{4,8})(?!\w|\.[0-9])"
    r"|\bpin\b(?: (?:for|of|to)(?: [a-z]{1,12}){1,4})?:[*`]{0,3} ?(?P<pin2>[0-9]{4,8})(?!\w|\.[0-9])"
    r"|\b(?:sim|card|atm|bank|debit|phone) pin(?: code)?:? (?P<sim>[0-9]{4,8})(?!\w|\.[0-9])"
    r"|\bpuk[0-9]?(?: code)?(?: is|[:=])? ?(?P<puk>[0-9]{8})(?!\w)"
)
_CODE_SIGNS = ("验证码", "动态码", "校验码", "动态口令")


_WITH_CODE = frozenset(
    b"verification security login signin 2fa sms auth authentication confirmation otp access one"
    b" recovery backup scratch emergency sign"
    # The last part of `sign-in`, `one-time` and `2fa`.
    b" in time fa".split()
) | frozenset(_LOCKS.encode().replace(b" ", b"|").split(b"|"))

_WHAT_FOR = frozenset((b" fo", b" of", b" to", b" on"))


def good_once(text: str, lower: bytes, words: Words) -> Iterator[Found]:
    """Codes that are good once or few times: recovery codes in a sentence, verification codes, a PIN."""
    at = lower.find(b" code") if not _WITH_CODE.isdisjoint(words.each) else -1
    while at >= 0:
        before = _WORD_BEFORE.search(lower, max(0, at - 15), at)
        if (before is None or before[0] not in _WITH_CODE) and lower[at + 5 : at + 8] not in _WHAT_FOR:
            at = lower.find(b" code", at + 5)
            continue
        match = _RECOVERY.match(text, before.start() if before else at)
        if match is not None:
            yield *match.span("s"), "recovery-code"
        yield from _once(text, max(0, at - 15), at)
        at = lower.find(b" code", at + 5)
    marks = [mark for mark in (b" pin", b"\npin", b" puk", b" combination", b" combo ") if mark.strip() in words.each]
    for mark in marks:
        at = lower.find(mark)
        while at >= 0:
            yield from _once(text, max(0, at - 6), at)
            at = lower.find(mark, at + 3)
    if lower[:3] == b"pin":
        yield from _once(text, 0, 0)
    for mark in _CODE_SIGNS if "码" in text or "口" in text else ():
        at = text.find(mark)
        while at >= 0:
            yield from _once(text, at, at)
            at = text.find(mark, at + len(mark))


def _once(text: str, start: int, at: int) -> Iterator[Found]:
    match = next((one for one in _ONCE.finditer(text, start, at + 90) if one.end() > at), None)
    if match is not None and match.start() <= at + 1:
        yield *match.span(str(match.lastgroup)), "one-time-code"
