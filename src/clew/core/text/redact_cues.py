"""Values after a cue: assignments in any notation, headers, flags, prose in English and Chinese."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact_chinese import everywhere
from clew.core.text.redact_names import Cue, cue_of
from clew.core.text.redact_plain import plain
from clew.core.text.redact_prose import ABOUT_IDS, beside_user, in_front, in_prose
from clew.core.text.redact_values import (
    Words,
    ended,
    four_groups,
    harmless,
    identifier,
    is_uuid,
    letters_drawn,
    long_phrase,
    phrase,
    random_like,
    stem_of,
    strong,
    weak,
    with_signs,
    word_and_number,
)
from clew.core.text.redact_views import left_of

Found = tuple[int, int, str]

# In lower case; each is looked for by itself, which is faster than one expression for all of them.
CUES = ("pass", "pw", "secret", "token", "key", "cred", "auth", "sess", "sid", "csrf", "xsrf", "sig", "cookie",
        "seed", "_ak", "_sk", "jwt", "_pat", "-pat", " pat:", " pat ", 'pat"', "totp", "psk", "mfa", "sas")  # fmt: skip
_SIGNS_OF_CUES = {cue: (cue.encode(), stem_of(cue.encode())) for cue in CUES}
_NAME_SIGNS = string.ascii_letters + string.digits + "_.[]-"
_NAME_AFTER = lazy_pattern(r"[A-Za-z0-9_-]{0,60}(?:\.[A-Za-z0-9_-]{1,40}){0,4}")

_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "「": "」", "『": "』", "《": "》", "【": "】"}
_SIGN = lazy_pattern(
    r"""(?x)
      (?P<close>\\{0,3}["'`”」]\]?|\]|\*\*|%22|&quot;|&\#(?:34|39);|\\u0022)? [ \t]{0,20} (?:\)[ \t]?)?
      (?: (?P<typed>:[ \t]{0,3}[A-Za-z_][\w\[\]|.\ ]{0,40}=[ \t]{0,3}(?=["']))
        | (?P<sign>=>|:=|\?=|=(?!=)|:(?![:/])|：|＝|%3[Dd]|%3[Aa]|\\u003[dDaA]|&\#61;) \*{0,2} (?P<space>[ \t]{0,40})
        | (?P<comma>(?(close),[ \t]{0,3}(?=b?["'])|(?!)))
        | (?P<other>(?:\|\||\?\?|\bor\b)[ \t]{0,3}(?=["']))
        | (?P<equal>[=!]==?[ \t]{0,3}(?=["'])) | (?P<unset>:[-=](?=[^\s}$]{4,200}\}))
        | (?P<call>\(\s{0,10}(?:[\w.]{1,40}\(\s?){0,2}(?=[bru]?["']))
      )
      (?P<open>[\[(][ \t]{0,3}(?=["']))?
    """
)
_QUOTED = lazy_pattern(
    r"""(?x) (?:[bBrRuUfFnNeEL@$]{1,2}(?=\\{0,3}["'])|[uU]&(?=["'])|_utf8(?:mb4)?[ ]?(?=')|[@#]{0,2})
      (?P<quote>\\{1,3}["'] | ["'`“‘「『《【] | \*\*`? | \*\*)"""
)
_ESCAPED_QUOTE = lazy_pattern(r"(?:&quot;|&#3[49];|\\u002[27])(?=[A-Za-z0-9])")
_PLAIN_LINE = lazy_pattern(r"[^\s\"'`<>，。；、）」』】]{1,4000}")
_PLAIN = lazy_pattern(r"[^\s\"'`<>(){}\[\],;|，。；、）)」』】&\\]{1,4000}")
_PLAIN_URL = lazy_pattern(r"(?:[^\s\"'`<>&#;,，。\\)\]}%]|%(?!26|23|20|22)){1,8000}")
_WORDS_BEFORE = lazy_pattern(r"(?:[A-Za-z]{2,20} ){1,2}\Z")
_RUN = lazy_pattern(r"[A-Za-z0-9+/=_.%~-]*")
_SCHEME = lazy_pattern(
    r"(?i)(?:bearer|basic|token|digest|apikey|api-key|key|oauth|negotiate|bot|jwt|sso-key|genie-?key|"
    r"pve\w*|splunk|aws)(?:[ \t=]{1,4}|%20)(?:token=)?[\"']?"
)
_ANY_SCHEME = lazy_pattern(r"[A-Za-z][\w-]{1,24}[ \t]{1,4}(?=\S{12})")
_NEXT_VALUE = lazy_pattern(
    r"""(?x) ["']?[ \t]{0,8},? (?:[ \t]{1,8}|\r?\n[ \t+-]{0,40}|[ \t]*)
        (?: ["']?(?:value|Value|VALUE|val|default|content)["']?[ \t]{0,4}[:=][ \t]{0,4}
            (?P<q>["']?)(?P<v>[^\s"'<>,}]{1,4000})
          | ["']?[ \t]{0,4}:[ \t]{0,4}\{[^{}\n]{0,120}?"value"[ \t]{0,4}:[ \t]{0,4}(?P<q2>")(?P<v2>[^"\n]{1,4000})
        )"""
)
_DEFAULT = lazy_pattern(r"[\"']\s{0,4}\{[^{}]{0,400}?\b(?:default|value)\s{0,20}[:=]\s{0,4}\"(?P<v>[^\"\n]{4,400})\"")
_BRACED = lazy_pattern(r"\{(?P<v>[^{}\s$]{6,200})\}")
_VALUE_BEFORE = lazy_pattern(
    r"[\"']?[vV]alue[\"']?\s{0,4}[:=]\s{0,4}[\"'](?P<v>[^\"',\n]{4,400})[\"']\s{0,9},?\s{0,40}[\"']?[nN]ame[\"']?\s{0,4}[:=]\s{0,4}"
    r"[\"']\Z"
    r"|\b(?:SET|set) \w{1,40} ?= ?'(?P<set>[^'\n]{4,400})'(?:,[^;\n]{0,100}?)? (?:WHERE|where) [^;\n]{0,60}?= ?'\Z"
)
_ELEMENT = lazy_pattern(
    r"(?:[^<>\n]{0,60}>|</(?:key|name|param-name)>\s{0,80}<(?:string|value|param-value)>"
    r"|[ \t]{0,8}</t[dh]>\s{0,40}<td[^<>\n]{0,60}>)[ \t]{0,10}(?P<v>[^<>\s]{1,4000})[ \t]{0,10}</"
)
_INPUT_VALUE = lazy_pattern(r"[ \t]*\r?\n[^\n]{0,200}input_value='(?P<v>[^'\n]{1,400})'")
_URL_BEFORE = ("?", "&", "#", "/", "%26", "%3F", "%3f")
_LOGIN_IN_URL = lazy_pattern(r"[^\s/@\"'<>`]{1,400}@[\w\[]")
_LINE_HEAD = lazy_pattern(r"[ \t>│|+#-]{0,60}(?:\d{1,6}[ \t]{1,4})?[ \t>│|+#$-]{0,8}(?:export |set |ENV |ARG |env )?")


def assigned(text: str, places: list[int]) -> Iterator[Found]:
    """Spans of values that a name with a cue stands before."""
    done = -1
    for place in places:
        if place < done:
            continue
        start = place - len(left_of(text, place, _NAME_SIGNS, 80))
        after = _NAME_AFTER.match(text, place)
        end = after.end() if after else place
        done = max(done, end)
        yield from _after_name(text, start, end)


def cue_places(lower: bytes, words: Words) -> list[int]:
    """Where a cue stands, in order. `words`: the different words of the text."""
    found: list[int] = []
    for cue, (sign, stem) in _SIGNS_OF_CUES.items():
        at = lower.find(sign) if stem in (words.each if len(stem) < len(sign) else words.all) else -1
        while at >= 0:
            found.append(at + (cue[0] == " "))
            at = lower.find(sign, at + len(sign))
    found.sort()
    return found


def _after_name(text: str, start: int, end: int) -> Iterator[Found]:
    name = text[start:end].strip(".-")
    if name[-5:] in ("-hash", "_hash") and name.lower() != "api_hash":
        return
    if name.lower() in ("key", "keys"):
        # `Fernet key` names a secret, `primary key` does not.
        words = _WORDS_BEFORE.search(text[max(0, start - 60) : start])
        name = "_".join([*(words[0].split() if words else []), name])
    cue = cue_of(name.rpartition(".")[2] if "." in name and cue_of(name.rpartition(".")[2]) else name)
    if cue is None or text.startswith(":?", end):
        return
    kind = "password" if cue is Cue.PASSWORD else "secret"
    sign = _SIGN.match(text, end)
    if text[max(0, start - 60) : start].rpartition(" ")[2].startswith(("arn:", '"arn:', "'arn:")):
        return
    if name == "PASS" and sign is not None and sign["sign"] == ":":
        # A test that passed.
        return
    found = _grouped(text, end, cue) or (_signed(text, start, sign, cue, name) if sign else None)
    if found is None and sign is not None and sign["comma"]:
        # `"name": "…", "value": "…"`
        found = _beside(text, start, end, cue)
    if found is None and sign is not None and sign["sign"] == ":":
        nested = _NEXT_VALUE.match(text, end)
        if nested is not None and nested["v2"] and _counts(nested["v2"], cue, True):
            found = nested.span("v2")
    if name == "AUTH" and sign is None:
        cue = Cue.PASSWORD
    if found is None and sign is None:
        found = _beside(text, start, end, cue)
        # As words of prose these two say little.
        if found is not None and name.lower() in ("pass", "auth") and not strong(text[found[0] : found[1]]):
            found = None
    if found is None and sign is None and cue is Cue.PASSWORD:
        found = beside_user(text, start, end)
    if found is None and text[start - 1 : start] in ('"', "'"):
        before = _VALUE_BEFORE.search(text, max(0, start - 500), start)
        group = "v" if before is not None and before["v"] else "set"
        if before is not None and _counts(before[group], cue, True):
            found = before.span(group)
    if found is None:
        found = in_front(text, start, cue)
    for span in plain(text, start, end, cue, name) if found is None else (found,):
        yield *span, _kind(name, kind)


_GROUPS = lazy_pattern(
    r"[\"'`”*]{0,3}(?: [\w /'()-]{1,30})?(?: ?[:=：]\*{0,2}| is| was| \()[ \"'`“*]{0,4}"
    r"(?P<v>(?:[a-z2-7]{4} ){3,15}[a-z2-7]{4}|(?:[A-Z2-7]{4} ){3,15}[A-Z2-7]{4})(?![\w-])"
)


def _grouped(text: str, end: int, cue: Cue) -> tuple[int, int] | None:
    """`app password: abcd efgh …`"""
    match = _GROUPS.match(text, end, end + 160) if cue is not Cue.KEY else None
    return match.span("v") if match is not None and four_groups(match["v"]) else None


def _kind(name: str, kind: str) -> str:
    low = name.lower()
    if "authorization" in low:
        return "authorization"
    return "cookie" if any(word in low for word in ("sess", "csrf", "xsrf", "cookie", "sid")) else kind


def _signed(text: str, start: int, sign: re.Match[str], cue: Cue, name: str) -> tuple[int, int] | None:
    place = sign.end()
    # `X-Shop-Key`, not the key of a map; what Vault and Consul call so is a UUID.
    vendor = (name.lower().endswith("key") and len(name) > 6) or name.lower() in ("secretid", "secret_id")
    if sign["unset"]:
        # `${NAME:-value}`
        match = _PLAIN.match(text, place)
        return match.span() if match is not None and _counts(match[0], cue, True) else None
    loose = bool(sign["comma"] or sign["call"] or sign["other"] or sign["equal"])
    braced = _BRACED.match(text, place) if cue is Cue.PASSWORD and sign["sign"] == "=" else None
    if braced is not None and strong(braced["v"]):
        return braced.span("v")
    escaped = _ESCAPED_QUOTE.match(text, place)
    place = escaped.end() if escaped is not None else place
    quoted = _QUOTED.match(text, place)
    if quoted is not None:
        value = _inside(text, quoted)
        if value is None or (sign["equal"] and not strong(text[value[0] : value[1]])):
            return None
        return (
            value
            if _counts(text[value[0] : value[1]], Cue.KEY if loose and cue is Cue.SECRET else cue, True, vendor=vendor)
            else None
        )
    if text[max(0, start - 3) : start] == "://" and _LOGIN_IN_URL.match(text, place):
        # `https://token:…@host`: what stands there is found as the password of an address.
        return None
    in_url = text[max(0, start - 3) : start].endswith(_URL_BEFORE) or (sign["sign"] or "").startswith("%")
    scheme = _SCHEME.match(text, place)
    if scheme is None and name.lower().endswith("authorization"):
        scheme = _ANY_SCHEME.match(text, place)
    if scheme is not None and "auth" in name.lower():
        place, cue = scheme.end(), Cue.SECRET
    own_line = (
        not in_url and _LINE_HEAD.fullmatch(text, max(text.rfind("\n", 0, start) + 1, start - 80), start) is not None
    )
    shape = (
        _PLAIN
        if in_url and cue is Cue.PASSWORD and not (sign["sign"] or "").startswith("%")
        else _PLAIN_URL
        if in_url
        else _PLAIN_LINE
        if own_line
        else _PLAIN
    )
    match = shape.match(text, place)
    if match is None:
        return _on_next_line(text, place, cue) if (sign["sign"] or "") in (":", "：") else None
    value, stop = match[0], match.end()
    if value[:1] == "|" and len(value) <= 3:
        return _on_next_line(text, place, cue)
    if own_line and any(mark in value for mark in ("://", ";")) and "=" in value:
        match = _PLAIN.match(text, place)
        value, stop = (match[0], match.end()) if match else (value, stop)
    if "&" in value or "\\" in value:
        # A form, an address or escaped text: the next pair or line begins there.
        first = re.split(r"&(?:[\w.-]+=|quot;|#3[49];|amp;[\w.-]+=)|\\(?:[nrt]|u00(?:22|26|27))", value, maxsplit=1)[0]
        value, stop = first, stop - len(value) + len(first)
    trimmed = ended(value, ",;.)\"'。，:!?" if not own_line else ",;\"'。，")
    stop -= len(value) - len(trimmed)
    typed_like_code = bool(sign["space"]) and sign["sign"] == "=" and not own_line
    if len(value) >= 4_000:
        # Longer than any shape here: the rest of the run belongs to it.
        more = _RUN.match(text, stop)
        stop = more.end() if more else stop
    if text[stop : stop + 1] in "([" and text[stop : stop + 1]:
        return None
    strict = typed_like_code or (
        name[:1].islower() and sign["sign"] == ":" and not own_line and cue is not Cue.PASSWORD
    )
    env = own_line and sign["sign"] == "=" and not sign["space"] and name.isupper()
    return (place, stop) if trimmed and _counts(trimmed, cue, env, strict=strict, vendor=vendor) else None


def _inside(text: str, quoted: re.Match[str]) -> tuple[int, int] | None:
    sign = quoted["quote"]
    close = _QUOTES.get(sign, sign[::-1] if sign.startswith("**") else sign)
    stop = text.find(close, quoted.end(), quoted.end() + 4_000)
    line = text.find("\n", quoted.end(), stop if stop >= 0 else quoted.end() + 4_000)
    if stop < 0 or line >= 0:
        # A quote that is not closed on its line: what was cut may still be a secret.
        match = _PLAIN.match(text, quoted.end())
        return (quoted.end(), match.end()) if match and random_like(match[0]) else None
    scheme = _SCHEME.match(text, quoted.end(), stop)
    start = scheme.end() if scheme else quoted.end()
    while start < stop and text[start] in " *`":
        start += 1
    while stop > start and text[stop - 1] in " *`":
        stop -= 1
    return (start, stop) if stop > start else None


_ROW = lazy_pattern(
    r"(?:[|>][+-]?[0-9]?)?[ \t]*\r?\n(?:[ \t>│|]*\r?\n)?[ \t>│|+-]{0,20}[`\"'*]{0,3}"
    r"(?P<v>[!-~]{8,4000}?)[`\"'*]{0,3}[ \t]*(?:\r?\n|$)"
)


def _on_next_line(text: str, place: int, cue: Cue) -> tuple[int, int] | None:
    """`token:` and nothing else, its value alone on the next line."""
    match = _ROW.match(text, place)
    if match is None or not (random_like(match["v"]) or (cue is Cue.PASSWORD and weak(match["v"], 8))):
        return None
    return None if ":" in match["v"][:-1] and not random_like(match["v"]) else match.span("v")


def _beside(text: str, start: int, end: int, cue: Cue) -> tuple[int, int] | None:
    """Values beside a name without a sign of assignment: XML, `name:` and `value:`, flags, tables, prose."""
    for shape in (_NEXT_VALUE, _ELEMENT, _INPUT_VALUE, _DEFAULT):
        match = shape.match(text, end)
        if match is not None:
            group = "v" if shape is not _NEXT_VALUE or match["v"] else "v2"
            if _counts(match[group], cue, True):
                return match.span(group)
    match = _SPACED.match(text, end)
    if match is None:
        return in_prose(text, end, cue)
    return (
        (match.start("v"), match.start("v") + len(ended(match["v"], ".,;:)!?*")))
        if _stands_alone(match["v"], cue, text, start)
        else in_prose(text, end, cue)
    )


_SPACED = lazy_pattern(
    r"[\"']?[ \t]{1,40}(?:\.{3,80}[ \t]{1,4})?(?:\|[ \t]*)?(?P<w>[\"'`“「*]{0,3})(?P<v>[^\s\"'`”」<>|，。；]{4,4000})"
)


def _stands_alone(value: str, cue: Cue, text: str, start: int) -> bool:
    value = value.rstrip(".,;:)!?*")
    if re.match(r"[A-Za-z][\w-]*[=:]", value):
        return False
    named = identifier(value) and not (cue is Cue.PASSWORD and word_and_number(value))
    if text[start : start + 2] == "--" or re.compile(r"-[a-z]{6,}").match(text, start):
        return (
            not harmless(value)
            and (weak(value) or long_phrase(value))
            and (cue is Cue.PASSWORD or not identifier(value))
        )
    if harmless(value) or named or (not value[:1].isalnum() and not random_like(value)):
        return False
    if cue is Cue.PASSWORD:
        return (
            weak(value, 6) and not re.fullmatch(r"[A-Za-z]+(?:['-][A-Za-z]+)*|[0-9.,]+|[A-Za-z]+[.!?]", value)
        ) or long_phrase(value)
    if cue is Cue.SECRET and len(value) >= 8 and strong(value) and re.search(r"[!#%^*@+&]", value):
        return True
    return random_like(value, 20 if cue is Cue.KEY else 16) and (cue is Cue.SECRET or not is_uuid(value))


def _counts(value: str, cue: Cue, sure: bool, *, strict: bool = False, vendor: bool = False) -> bool:
    """Whether an assigned value is a secret. `sure`: the notation itself says that it is a value, not code."""
    if sure and with_signs(value):
        return True
    if harmless(value):
        return False
    if random_like(value) and not any(sign in value for sign in "()[]{}"):
        # A pair inside of the value: what stands before its sign is another name.
        return cue is not Cue.KEY or not ((is_uuid(value) and not vendor) or re.match(r"[\w.-]{2,40}=[^=]", value))
    if cue is Cue.KEY:
        return False
    if strict and (identifier(value) or not any(map(str.isdigit, value))):
        return False
    if cue is Cue.PASSWORD:
        return _typed(value, sure)
    if "/" in value:
        return False
    if " " in value or (not sure and identifier(value)):
        return False
    if sure and long_phrase(value):
        return not any(word in value for word in ("secret", "prod", "key", "token", "credential", "name", "auth"))
    digits = any(map(str.isdigit, value))
    return digits and weak(value, 8) and any(map(str.isalpha, value)) and (sure or not identifier(value))


def _typed(value: str, sure: bool) -> bool:
    if " " in value:
        return phrase(value) and value == value.lower() and len(value.split()) >= 4
    if weak(value, 4):
        return sure or not identifier(value) or any(map(str.isdigit, value)) or long_phrase(value)
    if not sure:
        return len(value) >= 14 and letters_drawn(value)
    return len(value) >= 8 and value.isalpha() and (random_like(value + "0", 8) or letters_drawn(value))


_ALONE = lazy_pattern(
    r":[ \t]*\r?\n(?:[ \t>│|]*\r?\n)?[ \t>│|+-]{0,20}[`\"'*]{0,3}(?P<v>[!-~]{20,4000}?)[`\"'*]{0,3}[ \t]*(?:\r?\n|$)"
)
_ANNOUNCED = lazy_pattern(r"(?i)token|secret|password|\bkey\b|credential|passphrase")


_SAID = (b"token", b"secret", b"password", b"credential", b"passphrase")


def announced(text: str, words: Words) -> Iterator[Found]:
    """`Your token, shown only once:` and the value alone on the next line."""
    said_so = b"key" in words.each or any(word in words.all for word in _SAID)
    for at in everywhere(text, ":\n") if said_so else ():
        match = _ALONE.match(text, at)
        if match is None or not random_like(match["v"], 20) or harmless(match["v"]) or is_uuid(match["v"]):
            continue
        said = text[max(0, at - 160, text.rfind("\n\n", 0, at)) : at]
        if _ANNOUNCED.search(said) and not ABOUT_IDS.search(said):
            yield *match.span("v"), "secret"
