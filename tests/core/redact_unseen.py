"""A second gold set, of forms that no rule was written for: two halves of texts, made anew each time.

`redacted/unseen.txt` holds marks as `redact_gold` reads them; `<<~shape>>` is a value that is no secret (a public key
beside a private one) and may go or stay. Shapes that are an alphabet and a length (`an40`, `hex64`, …) need no entry.
"""

from __future__ import annotations

import random
import re
import string
import urllib.parse
from collections.abc import Callable
from typing import Any

from tests.core import redact_gold
from tests.core.redact_gold import ALNUM, DIGITS, FILLERS, HEX, HEXUP, LOWER, PLAIN64, SHAPES, URL

Random = random.Random
UPPER = string.ascii_uppercase
ALPHABETS = {
    "an": ALNUM, "ln": LOWER + DIGITS, "un": UPPER + DIGITS, "hex": HEX, "hexup": HEXUP, "url": URL, "dig": DIGITS,
    "low": LOWER, "b64c": PLAIN64, "let": string.ascii_letters,
}  # fmt: skip
GENERAL = re.compile(r"(an|ln|un|hexup|hex|url|dig|low|let|b64c)(\d+)")
BYTES = re.compile(r"b64-(\d+)")
MARK = re.compile(r"<<(~?)([a-z][\w-]*)(?:!(\w+))?>>")


def _of(alphabet: str, length: int, *before: str) -> Callable[[Random], str]:
    return lambda r: "".join(before) + "".join(r.choices(alphabet, k=length))


def _joined(*parts: str | Callable[[Random], str]) -> Callable[[Random], str]:
    return lambda r: "".join(part if isinstance(part, str) else part(r) for part in parts)


ANIMALS = "walrus gopher swordfish turnip kettle badger pelican marmot thistle lobster otter parsnip".split()


def _zoo(r: Random) -> str:
    """`Otter44efg`: what people make of a word when letters alone are refused."""
    return r.choice(ANIMALS).capitalize() + "".join([*r.choices(DIGITS, k=2), *r.choices(LOWER, k=3)])


OWN: dict[str, Callable[[Random], str]] = {
    "plain": lambda r: r.choice(ANIMALS), "twin": lambda r: "".join(r.sample(ANIMALS, 2)),
    "camel": lambda r: "".join(word.capitalize() for word in r.sample(ANIMALS, 2)), "zoo": _zoo,
    "ln4": _of(LOWER + DIGITS, 4),
    "gmail-app": lambda r: " ".join("".join(r.choices(LOWER, k=4)) for _ in range(4)),
    "twitter-bearer": _joined("A" * 22, _of(ALNUM, 84)),
    "goog-d": _of(URL[:-2], 24), "azfunc": _joined(_of(URL, 44), "AzFu", _of(URL[:-2], 6), "=="),
    "slack-wf": _joined("https://hooks.slack.com/", "workflows/T0", _of(UPPER + DIGITS, 9), "/A0",
                        _of(UPPER + DIGITS, 9), "/", _of(DIGITS, 18), "/", _of(ALNUM, 24)),
    "glagent": _of(URL, 50, "gl", "agent-"), "abia": _of(UPPER + "234567", 16, "AB", "IA"),
    "stripe-prod": _of(ALNUM, 40, "sk", "_live_51"), "paseto": _of(URL[:-2], 160, "v4.", "local."),
    "rand-pct": lambda r: urllib.parse.quote(SHAPES["rand"](r) + "@/" + "".join(r.choices(ALNUM, k=4)), safe=""),
    "laravel": lambda r: "eyJ" + "pdiI6I" + "".join(r.choices(ALNUM, k=150)) + "%3D",
    "npm": _of(ALNUM, 36, "np", "m_"), "ghp": _of(ALNUM, 36, "gh", "p_"), "ghu": _of(ALNUM, 36, "gh", "u_"),
    "rec": lambda r: "-".join("".join(r.choices(LOWER + DIGITS, k=5)) for _ in range(2)),
    "tvly-prod": _of(ALNUM, 32, "tv", "ly-prod-"), "ltai": _of(ALNUM, 20, "LT", "AI"),
    "asana2": _joined("2/", _of("123456789", 16), "/", _of("123456789", 16), ":", _of(HEX, 32)),
    "hf-org": _of(LOWER, 34, "api_", "org_"), "wp-salt": _of(ALNUM + "!@#$%^&*()-_[]{}<>~+=,.;:/?|", 64),
    "telegram": _joined(_of("123456789", 10), ":AA", _of(URL[:-2], 33)),
    "octopus": _of(UPPER + DIGITS, 26, "AP", "I-"), "glptt": _of(HEX, 40, "gl", "ptt-"),
    "gr1348": _of(URL, 20, "GR", "1348941"), "fm2": _joined("fm", "2_", _of(PLAIN64, 140), "=="),
    "sgp": _joined("sg", "p_", _of(HEX, 16), "_", _of(HEX, 40)),
    "harness": _joined("pa", "t.", _of(URL[:-2], 22), ".", _of(ALNUM, 24), ".", _of(ALNUM, 20)),
    "ico": _of(ALNUM, 32, "ic", "o-"), "mmk": _joined(_of(ALNUM, 6), "_", _of(ALNUM, 29), "_m", "mk"),
    "onepw": _joined("A", "3-", *(p for n in (6, 6, 5, 5, 5) for p in (_of(UPPER + DIGITS, n), "-")),
                     _of(UPPER + DIGITS, 5)),
    "ops": _joined("op", "s_eyJ", _of(PLAIN64, 300)), "absk": _of(PLAIN64, 128, "AB", "SK"),
    "eaa": _of(ALNUM, 160, "EA", "AC"), "yandex": _of(URL, 36, "AQ", "VN"), "cfpat": _of(URL, 43, "CF", "PAT-"),
    "xoxe": _of(UPPER + DIGITS, 146, "xo", "xe-1-"), "hubspot": _joined("pa", "t-na1-", SHAPES["uuid"]),
    "azdo": _joined(_of(ALNUM, 76), "AZ", "DO", _of(ALNUM, 4)),
    "nrii": _of(URL[:-2], 32, "NR", "II-"), "nrlic": _joined(_of(HEX, 36), "NR", "AL"),
    "nvapi": _of(URL, 64, "nva", "pi-"), "fw": _of(ALNUM, 24, "fw", "_"), "csk": _of(LOWER + DIGITS, 48, "cs", "k-"),
    "jina": _joined("ji", "na_", _of(HEX, 32), _of(URL[:-2], 28)), "voyage": _of(URL, 43, "p", "a-"),
    "linoauth": _of(HEX, 64, "lin", "_oauth_"), "ck": _of(HEX, 40, "c", "k_"), "cs": _of(HEX, 40, "c", "s_"),
    "paddle": _joined("pd", "l_live_apikey_01", _of(LOWER + DIGITS, 24), "_", _of(ALNUM, 22), "_", _of(ALNUM, 3)),
    "rzp": _of(ALNUM, 14, "rz", "p_live_"), "plaid": _joined("acce", "ss-production-", SHAPES["uuid"]),
    "dckr-oat": _of(ALNUM, 32, "dck", "r_oat_"),
    "glpat-routable": _joined("gl", "pat-", _of(URL, 40), ".", _of(LOWER + DIGITS, 9)),
    "glpat": _of(ALNUM, 20, "gl", "pat-"), "github-fine": _joined("github", "_pat_", _of(ALNUM, 22), "_",
                                                                  _of(ALNUM, 59)),
    "tskey-api": _joined("tskey", "-api-k", _of(ALNUM, 11), "CNTRL-", _of(ALNUM, 32)),
    "v10": _joined("v1", ".0-", _of(HEX, 24), "-", _of(HEX, 146)), "mfa": _of(URL, 84, "mf", "a."),
    "polar": _of(ALNUM, 43, "pol", "ar_oat_"), "clerk": _of(ALNUM, 42, "sk", "_test_"),
    "unkey": _of(ALNUM, 22, "unk", "ey_"), "trdev": _of(ALNUM, 20, "tr", "_prod_"),
    "dapi2": _joined("da", "pi", _of(HEX, 32), "-2"), "mlsn": _of(HEX, 64, "ml", "sn."),
    "expo": _of(URL, 40, "exp", "o_"),
    "b64-40-pct": lambda r: urllib.parse.quote("".join(r.choices(PLAIN64, k=40)), safe=""),
    "ngrok": _joined("2", _of(ALNUM, 26), "_", _of(ALNUM, 21)), "shpat": _of(HEX, 32, "shp", "at_"),
    "aws-sess": _of(PLAIN64, 280, "IQoJb3JpZ2", "luX2Vj"), "sk-hex": _of(HEX, 32, "s", "k-"),
    "glrt-new": _joined("gl", "rt-t1_", _of(URL, 30)),
    "pem2": lambda r: "\n".join("".join(r.choices(PLAIN64, k=64)) for _ in range(2)),
}  # fmt: skip


def _value(shape: str, r: Random) -> str:
    if shape in OWN:
        return OWN[shape](r)
    if shape in SHAPES:
        return SHAPES[shape](r)
    if found := GENERAL.fullmatch(shape):
        return "".join(r.choices(ALPHABETS[found[1]], k=int(found[2])))
    if found := BYTES.fullmatch(shape):
        return redact_gold._64(r, int(found[1]) * 3 // 4)
    raise KeyError(shape)


def _filled(text: str, r: Random) -> tuple[str, list[dict[str, Any]], list[str]]:
    secrets: list[dict[str, Any]] = []
    tolerated: list[str] = []

    def fill(mark: re.Match[str]) -> str:
        value, broken = _value(mark[2], r), mark[3] or ""
        if mark[1]:
            tolerated.append(value)
            return value
        parts = redact_gold._parts(value, broken)
        made = redact_gold._joint(broken, value).join(parts)
        secret: dict[str, Any] = {"value": made, "kind": mark[2]}
        if mark[2] == "slack-wf":
            secret["value"] = made.split("/", 4)[-1]
        if len(parts) > 1:
            secret["parts"] = parts
        secrets.append(secret)
        return made

    return MARK.sub(fill, text), secrets, tolerated


def unseen(seed: int, half: str) -> list[dict[str, Any]]:
    """Rows as `redact_gold.gold` gives them, of one part ("first", "second", "later", "places") of the texts."""
    r, rows = random.Random(seed), []
    if half == "places":
        # Values that only their place tells from words, and words that stand in the same places.
        texts = [(*head, True) for head in redact_gold._sections("unseen_places.txt")]
        lines = redact_gold._sections("unseen_places_harmless.txt")
        texts += [(head[0], head[1], one, False) for head in lines for one in head[2].split("\n")]
        return [_row(number, *text, r) for number, text in enumerate(texts, 2000)]
    if half == "later":
        texts = [(*head, True) for head in redact_gold._sections("unseen_later.txt")]
        return [_row(number, *text, r) for number, text in enumerate(texts, 1000)]
    texts = [(*head, True) for head in redact_gold._sections("unseen.txt")]
    for carrier, _, text in redact_gold._sections("unseen_harmless.txt"):
        texts += [(carrier, "-", one, False) for one in (text.split("\n") if carrier == "lines" else [text])]
    for number, (carrier, language, text, marked) in enumerate(texts):
        # The half of a text is that of its place in the file, drawn once; a longer file leaves the earlier as they are.
        if (random.Random(7_919 + number).random() < 0.5) != (half == "first"):
            continue
        rows.append(_row(number, carrier, language, text, marked, r))
    return rows


def _row(number: int, carrier: str, language: str, text: str, marked: bool, r: Random) -> dict[str, Any]:
    row: dict[str, Any] = {"id": f"new{number:03d}", "carrier": carrier, "lang": language, "secrets": []}
    if marked:
        row["text"], row["secrets"], row["tolerated"] = _filled(text, r)
    else:
        row["text"] = re.sub(r"\{(\w+)\}", lambda m: FILLERS[m[1]](r) if m[1] in FILLERS else m[0], text)
    return row
