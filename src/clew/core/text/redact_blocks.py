"""Secrets that take several lines: private keys, Kubernetes secrets, tables, SQL, seed phrases, encoded text."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact_names import Cue, cue_of
from clew.core.text.redact_plain import is_plain_value
from clew.core.text.redact_values import Words, harmless, identifier, is_hex, long_phrase, phrase, random_like, weak

Found = tuple[int, int, str]

_BEGIN = lazy_pattern(
    r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----|---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----"
)
_END = lazy_pattern(
    r"-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----|---- END SSH2 ENCRYPTED PRIVATE KEY ----"
)
_BODY = lazy_pattern(
    r"(?:[A-Za-z0-9+/=]|\\{1,3}[nr]|[\s>|│+#*\"'-](?=[\s\w>|│+#*\"'/=\\-])|[A-Z][A-Za-z-]{2,20}: [^\n]{0,80}(?=\n))*"
)
_INSIDE = lazy_pattern(r"(?:\\{1,3}[nr]|[\s>|│+#\"'-])*")
_TAIL_LINES = lazy_pattern(
    r"(?:(?:^|\n|\\n)[ \t>|│+#\"'-]{0,20}[A-Za-z0-9+/=]{16,80}[ \t\"'\r]{0,8}){1,200}(?:\n|\\n)?[ \t>|│+#-]{0,20}\Z"
)
_LONGEST = 64_000


def private_keys(text: str) -> Iterator[Found]:
    """The bodies of private keys, also without an end, also without a beginning."""
    place = 0
    for at in _marks(text, "BEGIN "):
        begin = _BEGIN.match(text, at)
        if begin is None or at < place:
            continue
        end = _END.search(text, begin.end(), begin.end() + _LONGEST)
        stop = end.start() if end else _body_end(text, begin.end())
        place = end.end() if end else stop
        head = _INSIDE.match(text, begin.end(), stop)
        start = head.end() if head else begin.end()
        body = text[start:stop]
        kept = re.search(r"(?:\\{1,3}[nr]|[\s>|│+#\"'-])*\Z", body[-200:])
        stop -= len(kept[0]) if kept else 0
        if re.search(r"[A-Za-z0-9+/]{8}", text[start:stop]) and not harmless(text[start:stop]):
            yield start, stop, "private-key"
    for at in _marks(text, "END "):
        end = _END.match(text, at)
        if end is None or at < place:
            continue
        body = _TAIL_LINES.search(text, max(0, end.start() - 8_000), end.start())
        if body is not None:
            yield body.start() + (len(body[0]) - len(body[0].lstrip())), end.start(), "private-key"


def _marks(text: str, word: str) -> Iterator[int]:
    """Where the dashes before a word begin that marks a key."""
    for sign in (f"-----{word}", f"---- {word}"):
        at = text.find(sign)
        while at >= 0:
            yield at
            at = text.find(sign, at + len(sign))


def _body_end(text: str, start: int) -> int:
    body = _BODY.match(text, start, start + _LONGEST)
    return body.end() if body else start


_PUTTY = lazy_pattern(r"Private-Lines: \d{1,3}\r?\n(?P<s>(?:[A-Za-z0-9+/=]{1,80}(?:\r?\n|\Z)){1,100})")
_JWK = lazy_pattern(r"\"(?:d|p|q|dp|dq|qi|k)\"\s{0,4}:\s{0,4}\"(?P<s>[A-Za-z0-9_-]{20,2000})\"")
_SEED = lazy_pattern(
    r"(?:phrase|mnemonic|seed|PHRASE|MNEMONIC|SEED|助记词)[\w:：=\"'`(是为]{0,12}"
    r"(?: is| are| was| \([^()\n]{0,30}\))?[\s:：=\"'`(|]{0,8}"
    r"(?P<s>(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})"
)
_ONE_CODE = r"[A-Za-z0-9]{4,12}(?:-[A-Za-z0-9]{3,10}){0,5}"
_RECOVERY = lazy_pattern(
    r"(?i)(?:(?:recovery|backup|scratch|emergency|rescue|2fa)[ _-]codes?"
    r"|恢复码|恢复代码|备用码|备用验证码|备份码|救援码|应急码)[^\n]{0,80}\n"
    r"(?:[ \t>]*\r?\n)?(?:[ \t>]*(?:```|~~~)\w*[ \t]*\r?\n)?(?:[ \t>]*\r?\n)?"
    rf"(?P<s>(?:[ \t>|│*•+-]{{0,12}}(?:\d{{1,2}}[.)] {{1,3}}|\[[ x]\] )?[`\"']?{_ONE_CODE}[`\"']?,?"
    rf"(?:[ \t|,]{{1,8}}(?:\d{{1,2}}[.)] {{1,3}})?[`\"']?{_ONE_CODE}[`\"']?,?){{0,5}}[ \t|│]*(?:\r?\n|\Z)){{1,24}})"
)
_CODE_LIST = lazy_pattern(
    r"(?i)(?:recovery|backup|scratch|rescue)_?codes?[\"']?\s?[:=]\s?\[\s{0,20}"
    rf"(?P<s>[\"']{_ONE_CODE}[\"'](?:\s{{0,20}},\s{{0,20}}[\"']{_ONE_CODE}[\"']){{0,24}})"
)
_SEPARATE = lazy_pattern(_ONE_CODE)
_CODE_ALONE = lazy_pattern(r"(?=.*[0-9])(?:[A-Za-z0-9]{4,12}(?:-[A-Za-z0-9]{3,10}){1,5}|[A-Za-z0-9]{8,12})")
_CODE_MARKS = {
    b"recovery": (b"recovery code", b"recovery_code", b"recovery-code", b"recoverycode"),
    b"backup": (b"backup code", b"backup_code", b"backup-code", b"backupcode"),
    b"scratch": (b"scratch code", b"scratch_code"), b"emergency": (b"emergency code",), b"rescue": (b"rescue code",),
    b"2fa": (b"2fa code",),
}  # fmt: skip
_CODE_CUES = ("恢复码", "恢复代码", "备用码", "备用验证码", "备份码", "救援码", "应急码")
_PGPASS = lazy_pattern(r"(?m)^[\w.*-]{1,200}:(?:\d{2,5}|\*):[\w*-]{1,60}:[\w*-]{1,60}:(?P<s>[^\s:]{3,200})\r?$")
_RSA_XML = lazy_pattern(r"<(?:P|Q|DP|DQ|InverseQ|D)>\s{0,20}(?P<s>[A-Za-z0-9+/=\s]{16,2000})</")
_GROUPS = (
    ("private-key", "RSAKeyValue", _RSA_XML),
    ("private-key", "Private-Lines", _PUTTY), ("private-key", '"kty"', _JWK),
)  # fmt: skip


def _all(lower: bytes, mark: bytes) -> Iterator[int]:
    at = lower.find(mark)
    while at >= 0:
        yield at
        at = lower.find(mark, at + len(mark))


def blocks(text: str, lower: bytes, words: Words) -> Iterator[Found]:
    """All that takes several lines, by the mark that it carries. `words`: the different words of the text."""
    if b"private key" in lower:
        yield from private_keys(text)
    yield from _codes(text, lower, words)
    for kind, mark, shape in _GROUPS:
        if mark in text:
            for match in shape.finditer(text):
                if not harmless(match["s"]):
                    yield match.start("s"), match.start("s") + len(match["s"].rstrip()), kind
    for mark in (b"phrase", b"mnemonic", b"seed"):
        for at in _all(lower, mark) if mark in words.all else ():
            match = _SEED.match(text, at)
            if match is not None:
                yield *match.span("s"), "seed-phrase"
    for match in _SEED.finditer(text, text.find("助记词")) if "助记词" in text else ():
        yield *match.span("s"), "seed-phrase"
    for mark in (b":5432:", b":3306:", b":*:", b":5433:", b":6432:"):
        for at in _all(lower, mark) if mark.strip(b":") in words.all or mark == b":*:" else ():
            match = _PGPASS.match(text, text.rfind("\n", 0, at) + 1)
            if match is not None and not harmless(match["s"]):
                yield *match.span("s"), "password"
    for mark in (b"kind: secret", b'"kind":"secret', b'"kind": "secret'):
        for at in _all(lower, mark) if b"secret" in words.all else ():
            yield from _kubernetes(text, at)
    if b"insert" in words.all:
        yield from _rows(text)


def _codes(text: str, lower: bytes, words: Words) -> Iterator[Found]:
    """Recovery codes below their heading, or in a list."""
    marks = [mark for word, marks in _CODE_MARKS.items() if word in words.all for mark in marks]
    places = [at for mark in marks if b"code" in words.all for at in _all(lower, mark)]
    if "码" in text or "代" in text:
        places += [at for cue in _CODE_CUES for at in _words(text, cue)]
    for at in places:
        match = _CODE_LIST.match(text, at) or _RECOVERY.match(text, at)
        if match is None:
            continue
        codes = list(_SEPARATE.finditer(text, *match.span("s")))
        codes = [code for code in codes if len(code[0]) > 2]
        numbered = sum(any(map(str.isdigit, code[0])) for code in codes)
        alike = numbered == len(codes) or len({len(code[0]) for code in codes}) == 1
        if alike and 2 * numbered >= len(codes) and (len(codes) > 1 or _CODE_ALONE.fullmatch(codes[0][0])):
            for code in codes:
                yield *code.span(), "recovery-code"


_SECRET_KIND = lazy_pattern(r"kind\"?:[ ]?\"?Secret\b")
_DATA = lazy_pattern(
    r"(?m)^(?P<indent>[ \t]{0,20})(?:string)?[dD]ata:[ \t]*\n(?P<body>(?:(?P=indent)[ \t]+[^\n]*(?:\n|\Z))+)"
)
_ENTRY = lazy_pattern(
    r"(?m)^[ \t]+[\"']?(?P<name>[\w./-]{1,100})[\"']?:[ \t]*[\"']?"
    r"(?P<s>[A-Za-z0-9+/=_!#%^*@.-]{4,16000})[\"']?[ \t]*(?:#.*)?$"
)
_OPEN_NAMES = lazy_pattern(
    r"(?i)(?:^|[._-])(?:user(?:name)?|host(?:name)?|port|namespace|database|dbname|db|name|email|url|ca\.crt|tls\.crt|cert|ca|region|endpoint|bucket)$"
)


def _kubernetes(text: str, at: int) -> Iterator[Found]:
    kind = _SECRET_KIND.search(text, at, at + 30)
    if kind is not None:
        lines = text[kind.start() : kind.start() + 64_000]
        data = _DATA.search(text, kind.start(), kind.start() + 64_000)
        before = _DATA.search(text, max(0, kind.start() - 4_000), kind.start())
        for part in (data, before):
            if part is None or "\n---" in lines[: max(0, part.start() - kind.start())]:
                continue
            for entry in _ENTRY.finditer(text, part.start("body"), part.end("body")):
                if not _OPEN_NAMES.search(entry["name"]) and not harmless(entry["s"]):
                    yield *entry.span("s"), "k8s-secret"


_INSERT = lazy_pattern(
    r"(?i)insert\s+into\s+[\w.\"`\[\]]{1,100}\s*\((?P<names>[^()]{1,2000})\)\s*values\s*(?P<rows>\([^;]{1,60000})"
)
_ROW = lazy_pattern(r"\((?P<cells>(?:[^()']|'(?:[^']|'')*')*)\)")
_CELL = lazy_pattern(r"\s*('(?:[^']|'')*'|[^,']*)\s*(?:,|$)")


def _rows(text: str) -> Iterator[Found]:
    for insert in _INSERT.finditer(text):
        cues = [cue_of(name.strip(' "`[]\n\t')) for name in insert["names"].split(",")]
        if not any(cues):
            continue
        for row in _ROW.finditer(text, insert.start("rows"), insert.end("rows")):
            for cue, cell in zip(cues, _CELL.finditer(text, row.start("cells"), row.end("cells")), strict=False):
                value = cell[1].strip("'")
                if cue is not None and cell[1][:1] == "'" and _cell(value, cue):
                    yield cell.start(1) + 1, cell.start(1) + 1 + len(value), "secret"


def _cell(value: str, cue: Cue) -> bool:
    if not value or harmless(value):
        return False
    if cue is Cue.PASSWORD:
        return weak(value) or phrase(value)
    return random_like(value) or (cue is Cue.SECRET and weak(value, 8) and not identifier(value))


def tables(text: str, places: list[int]) -> Iterator[Found]:
    """Columns of a table (with `|`, commas or tabs) whose head names a secret. `places`: where a cue stands."""
    heads = [*places, *(at for word in ("密码", "口令", "密钥", "令牌") if word in text for at in _words(text, word))]
    done = 0
    for at in sorted(heads):
        if at < done:
            continue
        begin = text.rfind("\n", max(0, at - 400), at) + 1
        if at - begin > 400:
            continue
        end = text.find("\n", at, at + 400)
        line = text[begin:end]
        if end < 0 or not any(sign in line for sign in "|,\t;"):
            continue
        sign = next((sign for sign in ("|", "\t", ",", ";") if sign in line and _heads_only(line, sign)), "")
        above = text[text.rfind("\n", 0, max(0, begin - 1)) + 1 : max(0, begin - 1)] if begin else ""
        if (
            not sign
            or above.count(sign) == line.count(sign)
            or (sign != "|" and begin > 0 and text[begin - 2 : begin - 1] not in ("", "\n", "`"))
        ):
            continue
        column = line[: at - begin].count(sign)
        cell = line.split(sign)[column].strip(" `*\"'\t\r")
        cue = (
            Cue.PASSWORD
            if "密码" in cell or "口令" in cell
            else Cue.SECRET
            if _CHINESE_HEAD.search(cell)
            else cue_of(cell.replace(" ", "_"))
        )
        if cue is not None:
            found = list(_column(text, end + 1, sign, column, line.count(sign), cue is Cue.PASSWORD))
            done = max((stop for _, stop, _ in found), default=end + 1)
            yield from found


_CHINESE_HEAD = lazy_pattern("密钥|令牌")


def _words(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


_CELL_TEXT = {
    "|": lazy_pattern(r"[\w \u4e00-\u9fff/()（）._-]{0,30}"),
    ",": lazy_pattern(r"[\w \u4e00-\u9fff._-]{0,30}"),
}


def _heads_only(line: str, sign: str) -> bool:
    cells = [cell.strip(" \t>*`\"'\r") for cell in line.split(sign)]
    shape = _CELL_TEXT["|" if sign == "|" else ","]
    if sign == "|" and line.lstrip()[:1] != "|":
        # A word before the table: `Next: | user | password |`.
        cells[0] = cells[0].rstrip(":：")
    return len(line) < 400 and sum(map(bool, cells)) >= 2 and all(shape.fullmatch(cell) for cell in cells)


def _column(text: str, place: int, sign: str, column: int, signs: int, typed: bool) -> Iterator[Found]:
    for _ in range(200):
        end = text.find("\n", place, place + 4_000)
        end = end if end >= 0 else min(len(text), place + 4_000)
        line = text[place:end]
        if line.count(sign) != signs:
            return
        start = place
        for _ in range(column):
            start = text.index(sign, start) + 1
        stop = text.find(sign, start, end)
        stop = stop if stop >= 0 else end
        cell = text[start:stop]
        value = cell.strip(" \t*`\"'\r")
        start += cell.index(value) if value else 0
        good = (
            value
            and " " not in value
            and (weak(value, 5) if typed else random_like(value) or weak(value, 8))
            and (not identifier(value) or (typed and (any(map(str.isdigit, value)) or long_phrase(value))))
        ) or (typed and " " not in value and is_plain_value(value, Cue.PASSWORD, "password", quoted=True))
        if good and not harmless(value) and not re.fullmatch(r"[-:]+", value):
            yield start, start + len(value), "password" if typed else "secret"
        if end >= len(text):
            return
        place = end + 1


_B64 = lazy_pattern(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_CONTROLS = dict.fromkeys(map(ord, "\n\r\t\0\1"))
"""What may stand in a readable text; mail programs put the last two between a name and a password."""
WITH_ZEROS = lazy_pattern(r"[\w.@+-]{0,80}\0[\w.@+-]{2,80}\0[^\s\0]{4,200}")
_PAIR = lazy_pattern(r"[\w.@+/-]{1,80}:[^\s:]{6,200}")


def decoded(text: str, start: int, end: int) -> tuple[int, int, str] | None:
    """The Base64 text around a run and what it says, where that is readable; None otherwise."""
    while start > 0 and text[start - 1] in "+/":
        before = re.compile(r"[A-Za-z0-9+/]{0,400}\Z").search(text, max(0, start - 400), start)
        if before is None or not before[0]:
            break
        start = before.start()
    match = _B64.match(text, start, start + 32_000)
    if match is None or match.end() - match.start() < 16 or match.end() < end:
        return None
    coded = match[0].rstrip("=").replace("-", "+").replace("_", "/")
    if is_hex(coded) or (coded.isalpha() and coded.islower()):
        return None
    try:
        raw = base64.b64decode(coded[: len(coded) - (len(coded) % 4 == 1)] + "=" * (-len(coded) % 4))
        said = raw.decode("ascii")
    except (binascii.Error, ValueError):
        return None
    return (match.start(), match.end(), said) if said.translate(_CONTROLS).isprintable() else None


def _is_password(value: str) -> bool:
    return (weak(value, 6) and not identifier(value)) or random_like(value + "0", 10)


def is_login(said: str) -> bool:
    """`user:password`, as headers carry it encoded, or as mail programs do, with zeros between."""
    if "\0" in said:
        return WITH_ZEROS.fullmatch(said) is not None
    match = _PAIR.fullmatch(said.strip())
    return match is not None and _is_password(said.strip().partition(":")[2])
