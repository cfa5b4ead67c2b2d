"""Values after a Chinese word for a password, a key or a token, and after some words of other alphabets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact_plain import plain_chinese
from clew.core.text.redact_values import (
    four_groups,
    harmless,
    identifier,
    is_pair,
    long_phrase,
    random_like,
    strong,
    weak,
    word_and_number,
)
from clew.core.text.redact_views import NEXT_LINE

Found = tuple[int, int, str]

_CHINESE = (
    "密码",
    "口令",
    "密钥",
    "秘钥",
    "私钥",
    "令牌",
    "凭证",
    "凭据",
    "授权码",
    "提取码",
    "激活码",
    "解压码",
    "暗号",
    "密匙",
    "密 码",
    "密  码",
    "密\u3000码",
    "口 令",
    "口  令",
    "口\u3000令",
    "パスワード",
    "비밀번호",
    "пароль",
    "Пароль",
    "contraseña",
    "Contraseña",
    "密 钥",
    "密  钥",
    "密\u3000钥",
)
_MIXED = lazy_pattern(
    r"(?i)(?:pass(?:word|wd)?|pwd|secret|token|key)"
    r"(?=[ ]?(?:是|为|如下|改成|换成|设成|：|用|给|发|我|写|填|叫|「|（))"
)
_SENTENCE_END = lazy_pattern("[。；;\n]")
_CHINESE_STOP = lazy_pattern(
    "至少|长度|有效期|周期|轮换|策略|不要|不能|不得|错误|过期|请输入|申请|哈希|加密|算法|前缀|用量|消耗|额度|示例|例如"
)
_CHINESE_VALUE = lazy_pattern(r"[A-Za-z0-9][!-~]{3,4000}|(?<=[「『“《‘])[!-~]{4,400}")
_CHINESE_NEXT = lazy_pattern(
    f"(?:[:：]|(?:{NEXT_LINE})[^\\n]{{0,8}})[ \t]*\r?\n(?:[ \t]*\r?\n)?[ \t>│-]{{0,12}}[`\"'*]{{0,3}}(?=[!-~])"
)
_ON_NEXT_LINE = lazy_pattern(r"[!-~]{6,4000}")
_SET_AS = lazy_pattern(
    "(?P<v>[A-Za-z0-9][!-~]{4,60}?)[」』”`\"']?[ ]{0,2}"
    "(?:设为|作为|就是|是|当)[\u4e00-\u9fff]{0,8}(?:密码|口令|密钥|令牌)"
)


_LOGIN_OF = lazy_pattern(
    r"\w{2}[ ]?(?:[:：]|是|为)?[ ]{0,2}[A-Za-z][\w.@-]{0,40} ?[/／] ?(?P<v>[A-Za-z0-9][!-.0-~]{4,80})(?![!-~])"
)
_CHANGED = lazy_pattern(
    "[」』”`\"' ]{0,3}(?:改为|改成|换成|变成|→|->)了?[「『“`\"' ]{0,3}(?P<v>[A-Za-z0-9][!-~]{4,200})"
)


def chinese(text: str, places: list[int]) -> Iterator[Found]:
    """Values after a Chinese cue, in the same sentence or alone on the next line."""
    for cue in _CHINESE if any(sign in text for sign in "密令钥凭码号パ비ñаП") else ():
        typed = cue[-1] in "码令ド호ьa"
        for at in everywhere(text, cue):
            password = typed and cue != "令牌"
            value = _after_chinese(text, at + len(cue), password) or plain_chinese(
                text, at + len(cue), password=password
            )
            if value is not None:
                yield *value, "password" if typed else "secret"
                changed = _CHANGED.match(text, value[1])
                if changed is not None and weak(changed["v"], 6):
                    yield *changed.span("v"), "password" if typed else "secret"
    for place in places:
        match = _MIXED.match(text, place)
        value = _after_chinese(text, match.end(), match[0][:1] in "pP") if match else None
        if value is not None:
            yield *value, "secret"
    for cue in ("登录", "登陆", "账号", "帐号", "账户"):
        for at in everywhere(text, cue):
            match = _LOGIN_OF.match(text, at)
            if match is not None and strong(match["v"]):
                yield *match.span("v"), "password"
    for cue in ("设为", "作为", "就是"):
        for at in everywhere(text, cue):
            match = _SET_AS.search(text, max(0, at - 70), at + 20)
            if match is not None and weak(match["v"], 6) and not identifier(match["v"]):
                yield *match.span("v"), "password"


def everywhere(text: str, word: str) -> Iterator[int]:
    """All places of a word."""
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


_BETWEEN = lazy_pattern(r"\bID\b|\n[^\n]*\S[^\n]*\n")
_USER_AND = lazy_pattern(r"[A-Za-z][\w.@-]{0,40} ?/ ?(?P<v>[!-~]{5,400})")


def _after_chinese(text: str, end: int, password: bool) -> tuple[int, int] | None:
    stop = _SENTENCE_END.search(text, end, end + 40)
    window = stop.start() if stop else min(len(text), end + 40)
    match = _CHINESE_VALUE.search(text, end, min(len(text), window + 4_000))
    if match is None or match.start() >= window:
        head = _CHINESE_NEXT.search(text, end, end + 60)
        match = _ON_NEXT_LINE.match(text, head.end()) if head is not None else None
        if match is None:
            return None
        start, value = match.start(), match[0]
    else:
        start, value = match.start(), match[0]
    between = text[end:start]
    if (
        "见" in between.replace("见下", "")
        or _CHINESE_STOP.search(between)
        or re.search(r"\bID\b|\n[^\n]*\S[^\n]*\n", between)
    ):
        return None
    pair = _USER_AND.match(text, start)
    if pair is not None:
        start, value = pair.start("v"), pair["v"]
    groups = text[start : start + 19]
    if password and four_groups(groups) and not text[start + 19 : start + 20].isalnum():
        return start, start + 19
    value = re.split(r"[\"'`,;<>()\\]|\*\*", value, maxsplit=1)[0].rstrip(".:!?*")
    if is_pair(value, password=password):
        return None
    good = (
        (weak(value, 5) and (not identifier(value) or word_and_number(value) or long_phrase(value)))
        if password
        else random_like(value) or (weak(value, 8) and not identifier(value) and re.search("[是为:：]", between))
    )
    # Mail providers give sixteen small letters as the code for programs, drives four signs for a share.
    form = (
        "[a-z]{16}" if text.endswith("授权码", 0, end) else "[A-Za-z0-9]{4}" if text.endswith("提取码", 0, end) else ""
    )
    good = good or (bool(form) and re.fullmatch(form, value) is not None)
    return (start, start + len(value)) if value and good and not harmless(value) else None
