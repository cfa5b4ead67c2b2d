"""Values that look like words, after a name that can only be the name of a secret: the place says what they are.

`DB_PASSWORD=correcthorse`, `password: swordfish`, `--password walrus`, `the wifi password is kettle`. No form tells
such a value from a word, so the name must be clear, the notation must be that of a value and not of code, and the word
must not be one that is said of passwords.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact_names import Cue
from clew.core.text.redact_said import named_in_code, of_code, said_of_secrets
from clew.core.text.redact_values import harmless, letters_drawn, random_like, word_and_number

Found = tuple[int, int]

_V = r"(?P<v>[A-Za-z0-9][A-Za-z0-9_!@#%^*+.~-]{3,200})"
_GOES_ON = r"(?:\\\r?\n[ \t]{0,40})?"
_ASSIGNED = lazy_pattern(
    r"(?P<close>\\?[\"'`]?\]?\*{0,2})(?P<before>[ \t]{0,20})(?P<sign>=>|:=|\?=|=(?!=)|:(?![:/])|：|＝)\*{0,2}"
    rf"(?P<after>[ \t]{{0,20}}){_GOES_ON}(?:(?:[nNeEbBrRuUL@$]|[uU]&)(?=[\"']))?(?P<quote>\\?[\"'`“‘「]|\*\*)?{_V}"
)
_COMMA = lazy_pattern(rf"(?P<q>[\"'])[ \t]{{0,3}},[ \t]{{0,3}}(?P<quote>[\"']){_V}(?P=quote)(?=[ \t]*\))")
_BESIDE = lazy_pattern(
    rf"[\"'][ \t]{{1,4}}value=(?P<quote>[\"']){_V}(?P=quote)|>{_V.replace('<v>', '<inside>')}</|"
    rf"[\"']?[ \t]{{0,4}},?[ \t]{{0,4}}[\"']value[\"'][ \t]{{0,4}}:[ \t]{{0,4}}[\"']{_V.replace('<v>', '<value>')}[\"']"
    rf"|[\"']?[ \t]*\r?\n[ \t+-]{{0,40}}value:[ ]{{1,4}}[\"']?{_V.replace('<v>', '<next>')}[\"']?[ \t]*(?:\r?\n|\Z)"
    rf"|:[ ]{{0,3}}&?[A-Za-z_][\w\[\]|.<> ]{{0,40}}=[ ]{{0,3}}b?[\"']{_V.replace('<v>', '<typed>')}[\"']"
)
_CALLED = lazy_pattern(rf"\([ ]?(?P<quote>[\"']){_V}(?P=quote)[ ]?\)")
_SETTER = lazy_pattern(r"(?i)(?:\w+\.)*(?:set|with|use|add)_?\w{0,20}(?:pass\w{0,6}|pwd|secret|token|key)")
_FLOW = lazy_pattern(r"[ \t]*(?:- )?(?:[\w.-]+:[ ])?\{[^(){};=]*\}[ \t]*(?:#.*)?")
_FLAG = lazy_pattern(rf"(?:[ \t]{{1,4}}|=){_GOES_ON}(?P<quote>[\"'])?{_V}(?P<rest>[^\n]{{0,80}})")
_SAID = lazy_pattern(
    r"""(?x)
      (?:[ ](?:for|of|on|at|in|to)(?:[ ][\w'’./-]{1,24}){1,4}?)?
      (?P<verb>[ ](?:is|was|reads|equals|becomes|remains|ist|est|lautet):?(?=[ ])|['’]s(?=[ ])
        |[ ](?:changed[ ]|reset[ ]|set[ ])?to:?(?=[ ])|[ ]?[=:])
      (?:[ ](?:now|still|just|simply|currently|again|probably|always|called|set[ ]to|changed[ ]to|reset[ ]to))?
      [ ]{0,4}(?P<quote>["'`“‘*]{0,2})(?P<v>[A-Za-z0-9][A-Za-z0-9_!@#%^*+~-]{3,60})
    """
)
_CHANGED = lazy_pattern(
    r"[^\n.;]{0,60}?\bfrom [\"'`“]?(?P<v>[A-Za-z0-9][!-~]{4,60}?)[\"'`”]? (?:in)?to "
    r"[\"'`“]?(?P<w>[A-Za-z0-9][!-~]{4,60})"
)
_CLAUSE_END = lazy_pattern(
    r"[\"'`”’)*]{0,3}(?:[,;!?。，；、)]|[.!?]{0,2}[\"'`”’)*]{0,3}[ \t]*(?:\r?\n|\Z)|[.!?]{1,3}[\"'`”’)*]{0,3}[ \t]"
    r"|[ \t]+(?:and the|but|for the|on the|before|until|since|[—–-]{1,2}) )"
)
_SET = lazy_pattern(r"(?i)\b(?:set|chang|reset|updat|switch|rotat)\w{0,4} [^\n.;]{0,40}\Z")
_CODE = lazy_pattern(
    r"(?m)[;{(\[,][ \t]*$|^[ \t]*(?:def|class|import|from|return|const|let|var|val|function|func|fn|pub|public|private"
    r"|if|elif|else|for|while|match|switch|case|export (?:default|const|class|function|type|interface)|interface|type"
    r"|struct|end|self|this|assert|raise|throw|with|try|except|async|await)\b|\w\(|^[ \t]*[})\]]|->|=>|&&|\|\|"
    r"|:[ ]?(?:str|int|bool|string|number|boolean|bytes|float|any|object)\b"
)
_COMMAND = lazy_pattern(
    r"(?:[ \t]+(?:-|/|\||&|>|<|\\|#|;)|[ \t]*(?:[\"'`);&|]|\r?\Z|\Z)|[ \t]\S+(?:[ \t]\S+)?[ \t]*\Z"
    r"|[ \t]+[\w./:@-]*[./:@\d])"
)
_LIST = lazy_pattern(r"(?:,[A-Za-z0-9]{8,200})+(?![^\s])")
_BEFORE = lazy_pattern(r"(?:^|[\s;&?\"'`])\Z")
_PASSING = ("pass", "passes", "passed")


def plain(text: str, start: int, end: int, cue: Cue, name: str) -> Iterator[Found]:
    """Spans of values that are words, after the name `text[start:end]` of a secret; none where the name says little."""
    if cue is Cue.KEY:
        return
    if cue is Cue.PASSWORD:
        changed = _CHANGED.match(text, end)
        if changed is not None and _typed(changed["v"]) and _typed(changed["w"].rstrip(".,;:!?)\"'`")):
            yield changed.span("v")
            yield changed.start("w"), changed.start("w") + len(changed["w"].rstrip(".,;:!?)\"'`"))
            return
    if text[start : start + 1] == "-":
        found = _after_flag(text, start, end, cue, name)
    else:
        found = (
            _assigned(text, start, end, cue, name)
            or _beside(text, end, cue, name)
            or _said(text, start, end, cue, name)
            or _used(text, start, end, cue, name)
        )
    if found is not None:
        yield found
    elif cue is Cue.PASSWORD:
        yield from _below(text, end)


def _typed(value: str) -> bool:
    """Whether a word has digits inside as people put them into passwords."""
    return word_and_number(value) and not harmless(value) and not of_code(value)


def _drawn(value: str) -> bool:
    """Letters that make no word, of one case or of both."""
    if letters_drawn(value):
        return True
    pieces = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", value)
    if len(value) < 12 or not value.isalnum() or len(pieces) < 3:
        return False
    shouted = sum(map(str.isupper, value))
    if value[1:] != value[1:].lower() and 3 * len(value) <= 10 * shouted <= 7 * len(value):
        return True
    return len(value) < 3 * len(pieces) or sum(char in "aeiouyAEIOUY" for char in value) * 6 < len(value)


def _shuffled(value: str) -> bool:
    """Short, with letters of both cases that change too often for the words of a name, or words that nobody can say:
    `iFoNPcbdaKw`, `dS5OnGmAFX`, `mjwKfqr`."""
    pieces = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", value)
    letters = sum(map(len, pieces))
    if not 7 <= len(value) <= 16 or not value.isalnum() or len(pieces) < 2 or named_in_code(pieces):
        return False
    if len(pieces) > 2 and letters < 3 * len(pieces):
        return True
    return any(len(piece) > 2 and not re.search("(?i)[aeiouy]", piece) for piece in pieces)


def is_plain_value(value: str, cue: Cue, name: str, *, quoted: bool = False) -> bool:
    """Whether a word may be the value of a secret with this name. `quoted`: it is no name of code by its notation."""
    if harmless(value) or said_of_secrets(value) or not any(map(str.isalpha, value)):
        return False
    if word_and_number(value) and not of_code(value):
        return True
    low, bare = value.lower(), re.sub(r"[^a-z]", "", name.lower())
    if low in bare or (of_code(value) and not _shuffled(value)) or re.search(r"[A-Za-z]\.[A-Za-z]", value):
        return False
    if not quoted and (
        "_" in value or (re.match(r"[a-z]+[0-9]*[A-Z]", value) and not _drawn(value) and not _shuffled(value))
    ):
        return False
    if _drawn(value) or random_like(value):
        return True
    if cue is Cue.PASSWORD:
        return len(value) >= 5
    if bare in ("token", "tokens", "secrets", "credential", "credentials", "cred", "creds") or not bare.endswith(
        ("secret", "token", "key", "secretkeybase")
    ):
        return False
    return value.isalnum() and len(value) >= (12 if bare == "secret" else 8)


def _assigned(text: str, start: int, end: int, cue: Cue, name: str) -> Found | None:
    match = _ASSIGNED.match(text, end)
    if match is None and text[max(0, start - 2) : start - 1] == "(":
        # `define('DB_PASSWORD', '…')`, not one word of a list of words.
        called = _COMMA.match(text, end)
        return called.span("v") if called is not None and is_plain_value(called["v"], cue, name, quoted=True) else None
    if match is None:
        return None
    quote = match["quote"] or ""
    stop = match.end("v")
    if quote:
        # Only what its quote holds alone is a value.
        close = {"“": "”", "‘": "’", "「": "」"}.get(quote, quote)
        if not text.startswith(close, stop):
            return None
        return match.span("v") if is_plain_value(match["v"], cue, name, quoted=True) else None
    value = match["v"].rstrip(".!?,")
    stop -= len(match["v"]) - len(value)
    line = text[max(text.rfind("\n", max(0, start - 400), start) + 1, start - 400) : start]
    own_line = not line.strip(" \t>│|+#$-*\"'") or line.strip() in ("export", "set", "ENV", "ARG", "env")
    tight = not match["before"] and not match["after"] and match["sign"] == "="
    shouted = name.isupper() and tight
    after = text[stop : stop + 80].partition("\n")[0].strip()
    if after[:1] in "([{.<" and after[:1]:
        return None
    if name.lower() in _PASSING and not own_line:
        return None
    if shouted:
        more = _LIST.match(text, stop)
        stop = more.end() if more else stop
        # As a shell and a file of settings have it.
        good = own_line or bool(_BEFORE.search(text, max(0, start - 1), start))
        return (match.start("v"), stop) if good and is_plain_value(value, cue, name, quoted=True) else None
    if not is_plain_value(value, cue, name):
        return None
    if tight and not own_line:
        good = text[max(0, start - 1) : start] in (" ", "&", "?", ";", ":", "/", "\n") and line.count(
            "("
        ) <= line.count(")")
        return (match.start("v"), stop) if good and after[:1] not in (",", ")", "]", "}", ">") else None
    if match["sign"] == ":" and text[start - 1 : start] == "/":
        # `/pass:…`, as programs of Windows have it.
        return match.start("v"), stop
    if match["sign"] == ":" and after[:1] in (",", "}"):
        # `{username: ada, password: …}` in YAML.
        begin, line_end = text.rfind("\n", max(0, start - 400), start) + 1, text.find("\n", stop, stop + 400)
        line_end = line_end if line_end >= 0 else min(len(text), stop + 400)
        good = _FLOW.fullmatch(text, begin, line_end) and not _in_code(text, start, stop)
        return (match.start("v"), stop) if good else None
    if match["sign"] == ":" and _drawn(value) and len(value) >= 16:
        return match.start("v"), stop
    if own_line:
        ends = (
            not after
            or after[:1] == "#"
            or after.startswith("//")
            or (match["sign"] in (":", "：") and after[:1] in ".!")
        )
        return (match.start("v"), stop) if ends and not _in_code(text, start, stop) else None
    return None


def _in_code(text: str, start: int, end: int) -> bool:
    """Whether lines around a place are those of a program, where an unquoted word is a name."""
    begin = text.rfind("\n", max(0, start - 400), start) + 1
    above = text[max(text.rfind("\n", max(0, start - 400), max(0, start - 200)) + 1, start - 400, 0) : begin]
    below = text.find("\n", end, end + 400)
    return _CODE.search(above) is not None or (below >= 0 and _CODE.search(text[below : below + 200]) is not None)


def _beside(text: str, end: int, cue: Cue, name: str) -> Found | None:
    match = _BESIDE.match(text, end)
    if match is None:
        match = _CALLED.match(text, end) if _SETTER.fullmatch(name) else None
        return match.span("v") if match is not None and is_plain_value(match["v"], cue, name, quoted=True) else None
    group = next(one for one in ("v", "inside", "value", "next", "typed") if match[one])
    return match.span(group) if is_plain_value(match[group], cue, name, quoted=group != "inside") else None


def _after_flag(text: str, start: int, end: int, cue: Cue, name: str) -> Found | None:
    """`--password walrus`, not `--password string  the password` of a help text nor `--password is required`."""
    match = _FLAG.match(text, end)
    if match is None or text[start - 1 : start] not in ("", " ", "\t", "\n", '"', "'", "`", "["):
        return None
    value = match["v"].rstrip(".,!")
    if value.isupper() or (not match["quote"] and not _COMMAND.match(match["rest"])):
        return None
    # Where a command has its value, digits between letters of both cases make no name of code.
    mixed = len(value) >= 10 and word_and_number(value) and not harmless(value)
    good = mixed or is_plain_value(value, cue, name, quoted=True)
    return (match.start("v"), match.start("v") + len(value)) if good else None


_USED = lazy_pattern(
    r" [\"'`“]?(?P<v>[A-Za-z0-9][A-Za-z0-9_!@#%^*+~-]{4,60})[\"'`”]?"
    r"(?=[.,;!?]?(?:[ \t]*(?:\r?\n|\Z)| (?:for|to|on|in|at|and|when|if|as|please)\b))"
)
_WITH = lazy_pattern(r"(?i)\b(?:us(?:e|es|ed|ing)|with|enter|type|try) (?P<the>the )?\Z")


def _used(text: str, start: int, end: int, cue: Cue, name: str) -> Found | None:
    """`use the password walrus for the demo`."""
    before = _WITH.search(text, max(0, start - 12), start) if cue is Cue.PASSWORD else None
    match = _USED.match(text, end) if before is not None else None
    if before is None or match is None or not is_plain_value(match["v"], cue, name):
        return None
    # `use password callbacks` is a thing that passwords have, `use the password walrus` is one.
    value = match["v"]
    sure = before["the"] and value[-1] != "s" and name.lower() not in _PASSING
    inside = re.search(r"[0-9][A-Za-z]+[0-9]|[A-Za-z][0-9]+[A-Za-z]", value) is not None and not of_code(value)
    return match.span("v") if sure or inside or _typed(value) or _drawn(value) or _shuffled(value) else None


def _said(text: str, start: int, end: int, cue: Cue, name: str) -> Found | None:
    """`the wifi password is kettle.`, not `the password is wrong`: the value ends its clause."""
    match = _SAID.match(text, end)
    if match is None:
        return None
    value = match["v"].rstrip("!-*_")
    stop = match.start("v") + len(value)
    verb = match["verb"].strip().rstrip(":") or ":"
    if verb.startswith("to") and not _typed(value):
        line = text.rfind("\n", max(0, start - 80), start) + 1
        if not _SET.search(text, max(line, start - 80), start):
            return None
    if not is_plain_value(value, cue, name):
        return None
    if _typed(value) or (_drawn(value) and len(value) >= 10):
        return match.start("v"), stop
    if verb in ("ist", "est", "lautet"):
        # What is said of a password in other languages is not known here.
        return None
    if verb in ("=", ":") and _in_code(text, start, stop):
        return None
    if text[stop : stop + 1] in "_=(/" and text[stop : stop + 1]:
        return None
    if cue is Cue.SECRET and len(value) < 12:
        return None
    return (match.start("v"), stop) if _CLAUSE_END.match(text, stop) else None


_CHINESE = lazy_pattern(
    r"[\"'`”」]?[ ]{0,3}(?:(?:就是|还是|是|为)?[ ]?[:：=＝]|就是|还是|是|为|(?:改|换|设|变)(?:成|为)了?)"
    r"[ ]{0,3}[「『“‘《\"'`]{0,2}"
    r"(?P<v>[A-Za-z][A-Za-z0-9_!@#%^*+~-]{3,60})(?![\w(=\[./-])"
)


def plain_chinese(text: str, end: int, *, password: bool) -> Found | None:
    """`密码是 swordfish`: a word right after what says that it is the value."""
    match = _CHINESE.match(text, end)
    if match is None:
        return None
    value = match["v"].rstrip("!-*_")
    cue, name = (Cue.PASSWORD, "密码") if password else (Cue.SECRET, "secret")
    return (match.start("v"), match.start("v") + len(value)) if is_plain_value(value, cue, name) else None


_HEADS = lazy_pattern(r"[ \t>│]*[A-Za-z][\w-]*(?:[ \t]{2,40}[A-Za-z][\w-]*){1,8}[ \t]*")
_CELL = lazy_pattern(r"[A-Za-z0-9][!-~]{4,80}(?=[ \t]{2}|[ \t]*(?:\r?\n|\Z))")


def _below(text: str, end: int) -> Iterator[Found]:
    """The cells below `password` where spaces alone make the columns."""
    begin, stop = text.rfind("\n", max(0, end - 200), end) + 1, text.find("\n", end, end + 200)
    if stop < 0 or end - begin >= 200 or _HEADS.fullmatch(text, begin, stop) is None:
        return
    name = text.rfind(" ", begin, end) + 1
    column, place = name - begin, stop + 1
    for _ in range(30):
        line = text.find("\n", place, place + 400)
        cell = _CELL.match(text, place + column) if place + column < len(text) and column else None
        last = line if line >= 0 else len(text)
        if cell is None or cell.end() > last or text[place + column - 1] != " ":
            return
        if _typed(cell[0]):
            yield cell.span()
        if line < 0:
            return
        place = line + 1
