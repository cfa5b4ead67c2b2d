"""A gold set of secrets that belong to nobody, made anew each time so that no token stands in the repository.

`redacted/positive.txt`: texts with marks `<<shape>>`, `<<shape#same>>` (the value of that shape again) and
`<<shape!broken>>` (broken over lines or by signs). `redacted/negative.txt`: texts without any secret, with `{filler}`.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
import urllib.parse
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "redacted"
LOWER, DIGITS = string.ascii_lowercase, string.digits
ALNUM = string.ascii_letters + DIGITS
HEX, HEXUP = DIGITS + "abcdef", DIGITS + "ABCDEF"
URL, PLAIN64 = ALNUM + "-_", ALNUM + "+/"
WORDS = "amber birch clover dune ember fjord gravel heron indigo jasper kelp linden mosaic nectar opal prairie".split()

Random = random.Random


def _of(alphabet: str, length: int, *before: str) -> Callable[[Random], str]:
    """A shape of random characters after a prefix; the prefix comes in parts, so that it is no literal."""
    return lambda r: "".join(before) + "".join(r.choices(alphabet, k=length))


def _64(r: Random, size: int) -> str:
    return base64.b64encode(r.randbytes(size)).decode()


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _word(r: Random) -> str:
    return r.choice(WORDS).capitalize() + r.choice("#@!-_.") + str(r.randrange(10, 9999))


def _rand(r: Random) -> str:
    inner = [*r.choices(ALNUM, k=7), *r.choices(DIGITS, k=2), r.choice("!#%^*-_+")]
    r.shuffle(inner)
    return r.choice(LOWER) + "".join(inner) + r.choice(DIGITS)


def _uuid(r: Random) -> str:
    text = "".join(r.choices(HEX, k=32))
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


def _pem(r: Random) -> str:
    text = _64(r, 300)
    return "\n".join(text[at : at + 64] for at in range(0, len(text), 64))


def _token_of(r: Random, head: dict[str, str]) -> str:
    parts = [json.dumps(head), json.dumps({"sub": str(r.randrange(10**8)), "exp": 1790000000})]
    coded = [base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts]
    return ".".join([*coded, base64.urlsafe_b64encode(r.randbytes(64)).decode().rstrip("=")])


SHAPES: dict[str, Callable[[Random], str]] = {
    "word": _word, "rand": _rand, "phrase": lambda r: "-".join(r.sample(WORDS, 4)), "digits8": _of(DIGITS, 8),
    "mnemonic": lambda r: " ".join(r.sample(WORDS, 12)), "uuid": _uuid, "pem": _pem,
    "symbols-pct": lambda r: urllib.parse.quote(_rand(r)[:5] + "@/" + _rand(r)[:6], safe=""),
    "an20": _of(ALNUM, 20), "an24": _of(ALNUM, 24), "an30": _of(ALNUM, 30), "an32": _of(ALNUM, 32),
    "an40": _of(ALNUM, 40), "an43": _of(ALNUM, 43), "an48": _of(ALNUM, 48), "ln26": _of(LOWER + DIGITS, 26),
    "un20": _of(string.ascii_uppercase + DIGITS, 20), "hex32": _of(HEX, 32), "hex40": _of(HEX, 40),
    "hex64": _of(HEX, 64), "hexup32": _of(HEXUP, 32), "url40": _of(URL[:-2], 40), "url50": _of(URL[:-2], 50),
    "b64-40": lambda r: _64(r, 30), "b64-44": lambda r: _64(r, 32), "b64-64": lambda r: _64(r, 64),
    "pct44": lambda r: urllib.parse.quote(_64(r, 32), safe=""), "b64-text": lambda r: _encoded(_rand(r) + _rand(r)),
    "userpass64": lambda r: _encoded("ci-bot:" + _rand(r)),
    "json64": lambda r: _encoded(json.dumps({"user": "ada", "password": _word(r)})),
    "pem64": lambda r: _encoded(f"-----BEGIN PRIVATE {'KEY'}-----\n{_pem(r)}\n-----END PRIVATE {'KEY'}-----\n"),
    "totp": _of(string.ascii_uppercase + "234567", 32), "jwt-es": lambda r: _token_of(r, {"alg": "ES256"}),
    "openai-service": _of(URL, 120, "sk-svc", "acct-"), "groq": _of(ALNUM, 52, "gs", "k_"),
    "xai": _of(ALNUM, 80, "xa", "i-"), "perplexity": _of(ALNUM, 48, "ppl", "x-"),
    "moonshot": _of(ALNUM, 48, "s", "k-"), "siliconflow": _of(LOWER, 48, "s", "k-"),
    "zhipu": lambda r: _of(HEX, 32)(r) + "." + _of(ALNUM, 16)(r), "openrouter": _of(HEX, 64, "sk-", "or-v1-"),
    "terraform": lambda r: _of(ALNUM, 14)(r) + _of(URL[:-2], 67, ".atlas", "v1.")(r),
    "vault-service": _of(ALNUM, 90, "hv", "s.CAESI"), "gho": _of(ALNUM, 36, "gh", "o_"),
    "ghs": _of(ALNUM, 36, "gh", "s_"), "ghr": _of(ALNUM, 76, "gh", "r_"), "gldt": _of(ALNUM, 20, "gl", "dt-"),
    "glrt": _of(ALNUM, 20, "gl", "rt-"), "sonar": _of(HEX, 40, "sq", "u_"), "gitee": _of(HEX, 32),
    "google-refresh": _of(URL, 60, "1/", "/0"), "google-secret": _of(URL[:-2], 28, "GOC", "SPX-"),
    "google-access": _of(URL, 120, "ya2", "9.a0"), "stripe-restricted": _of(ALNUM, 42, "rk", "_live_51"),
    "dingsec": _of(HEX, 64, "SE", "C"), "mailchimp": lambda r: _of(HEX, 32)(r) + "-us" + "7",
    "resend": lambda r: _of(ALNUM, 8, "r", "e_")(r) + _of(ALNUM, 24, "_")(r), "cratesio": _of(ALNUM, 32, "ci", "o"),
    "nuget": _of(LOWER + DIGITS, 43, "oy", "2"), "posthog": _of(ALNUM, 43, "ph", "x_"),
    "airtable": lambda r: _of(ALNUM, 14, "pa", "t")(r) + _of(HEX, 64, ".")(r), "clickish": _of(ALNUM, 24),
    "sentry-org": lambda r: "sntr" + "ys_" + _encoded(json.dumps({"iat": 1790000000.1, "org": "shop"})).rstrip("=")
    + "_" + _of(PLAIN64, 43)(r),
    "slack-user": lambda r: "-".join(["xox" + "p", *(_of(DIGITS, 12)(r) for _ in range(3)), _of(HEX, 32)(r)]),
    "discord-bot": lambda r: _encoded(_of("123456789", 18)(r)) + _of(ALNUM, 6, ".")(r) + _of(URL[:-2], 38, ".")(r),
    "wecom-hook": lambda r: "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=" + _uuid(r),
    "teams-hook": lambda r: "https://shop.webhook.office.com/webhookb2/" + _uuid(r) + "@" + _uuid(r)
    + "/IncomingWebhook/" + _of(HEX, 32)(r) + "/" + _uuid(r),
    "aws-id": _of(string.ascii_uppercase + "234567", 16, "AS", "IA"), "netlify": _of(ALNUM, 36, "nf", "p_"),
    "fly": _of(URL[:-2], 43, "fo", "1_"), "easypost": _of(ALNUM, 54, "EZ", "AK"), "doppler": _of(ALNUM, 43, "dp",
    ".pt."),
    "figma": _of(URL[:-2], 40, "fig", "d_"), "pulumi": _of(HEX, 40, "pu", "l-"),
    "langsmith": lambda r: _of(HEX, 32, "lsv2", "_pt_")(r) + _of(HEX, 10, "_")(r),
    "age": _of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58, "AGE-SECRET", "-KEY-1"),
    "anthropic-admin": _of(URL, 95, "sk-a", "nt-admin01-"), "tavily": _of(ALNUM, 32, "tv", "ly-dev-"),
    "langfuse": lambda r: "sk-" + "lf-" + _uuid(r), "elevenlabs": _of(HEX, 48, "s", "k_"),
    "firecrawl": _of(HEX, 32, "f", "c-"), "bitbucket": _of(ALNUM, 32, "AT", "BB"),
    "testpypi": _of(URL[:-2], 120, "py", "pi-AgENdGVzdC5weXBpLm9yZw"), "rubygems": _of(HEX, 48, "ruby", "gems_"),
    "clojars": _of(HEX, 60, "CLO", "JARS_"), "buildkite": _of(HEX, 40, "bk", "ua_"),
    "circleci": lambda r: _of(ALNUM, 22, "CCI", "PAT_")(r) + _of(HEX, 40, "_")(r),
    "azure-client": lambda r: _of(ALNUM, 3)(r) + _of(ALNUM, 34, "8Q", "~")(r), "supabase": _of(HEX, 40, "sb", "p_"),
    "pscale": _of(ALNUM, 43, "pscale", "_pw_"), "volc": _of(ALNUM, 43, "AK", "LT"),
    "tailscale": lambda r: _of(ALNUM, 11, "tskey", "-auth-k")(r) + "CNTRL-" + _of(ALNUM, 32)(r),
    "slack-app": lambda r: "-".join(["xap" + "p", "1", _of(HEXUP, 11, "A")(r), _of(DIGITS, 13)(r), _of(HEX, 64)(r)]),
    "brevo": lambda r: _of(HEX, 64, "xkey", "sib-")(r) + _of(ALNUM, 16, "-")(r), "shopify": _of(HEX, 32, "shp", "ca_"),
    "square": _of(URL[:-2], 60, "EA", "AA"), "notion": lambda r: _of(DIGITS, 11, "nt", "n_")(r) + _of(ALNUM, 35)(r),
    "atlassian": lambda r: _of(URL, 171, "ATA", "TT3xFfGF0")(r) + "=" + _of(HEXUP, 8)(r),
    "dropbox": _of(URL, 133, "s", "l.B"), "jfrog": _of(ALNUM, 54, "cmVm", "dGtuOj"),
    "mapbox": lambda r: "sk" + ".eyJ" + _of(ALNUM, 56, "1Ijoi")(r) + "." + _of(ALNUM, 22)(r),
    "twitter": _of(ALNUM, 80, "A" * 11, "A" * 11), "launchdarkly": lambda r: "sdk" + "-" + _uuid(r),
    "replicate": _of(ALNUM, 37, "r", "8_"), "asana": lambda r: "1/" + _of("123456789", 16)(r) + ":" + _of(HEX, 32)(r),
    "tencent-id": _of(ALNUM, 32, "AK", "ID"), "twilio-sk": _of(HEX, 32, "S", "K"), "whsec": _of(ALNUM, 32, "wh",
    "sec_"),
    "planet-oauth": _of(ALNUM, 32, "pscale", "_oauth_"), "readme": _of(LOWER + DIGITS, 70, "rd", "me_"),
    "prefect": _of(ALNUM, 36, "pn", "u_"), "nightfall-sendinblue": _of(ALNUM, 32, "N", "F-"),
    "typeform": _of(ALNUM, 59, "tf", "p_"), "lob": _of(HEX, 35, "live", "_"), "shippo": _of(HEX, 40, "shippo",
    "_live_"),
    "dynatrace": lambda r: _of(LOWER.upper() + DIGITS, 24, "dt0", "c01.")(r) + _of(LOWER.upper() + DIGITS, 64, ".")(r),
    "adafruit": _of(ALNUM, 28, "ai", "o_"), "flutterwave": lambda r: _of(HEX, 32, "FLWSECK", "_TEST-")(r) + "-X",
    "frameio": _of(URL[:-2], 64, "fi", "o-u-"), "duffel": _of(URL[:-2], 43, "duffel", "_live_"),
    "openshift": _of(URL[:-2], 43, "sha256", "~"), "grafana-cloud": _of(ALNUM, 80, "gl", "c_"),
    "gcp-scoped": _of(URL, 35, "AI", "za"), "okta": _of(URL[:-2], 40, "0", "0"), "pagerduty": _of(ALNUM, 18, "u", "+"),
}  # fmt: skip

FILLERS: dict[str, Callable[[Random], str]] = {
    "uuid": _uuid, "sha1": _of(HEX, 40), "sha7": _of(HEX, 7), "sha256": _of(HEX, 64), "md5": _of(HEX, 32),
    "b64": lambda r: _64(r, 32), "an40": _of(ALNUM, 40), "an20": _of(ALNUM, 20), "nonce": lambda r: _64(r, 16),
    "sri": lambda r: "sha512-" + _64(r, 64), "h1": lambda r: "h1:" + _64(r, 32), "cid": _of(LOWER + "234567", 52),
    "sshpub": lambda r: _64(r, 51), "fp": lambda r: ":".join(_of(HEXUP, 2)(r) for _ in range(32)),
    "sha1u": _of(HEXUP, 40), "addr": _of(HEX, 40), "ulid": _of("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 23),
}  # fmt: skip

BREAKS = {"indent": "\n    ", "escaped": "\\n", "added": "\n+", "quoted": "\n> ", "box": "\n  │ "}
SIGNS = {"backslash": "\\\n", "adjacent": '"\n       "', "plus": '" + "', "quoted": "\n> ", "box": "\n  │ "}
MARK = re.compile(r"<<([a-z][\w-]*)(?:#(\w+))?(?:!(\w+))?>>")


def gold(seed: int) -> list[dict[str, Any]]:
    """Rows `{"id", "text", "secrets": [{"value", "kind", "parts"?}], "carrier", "lang"}`, the same for a seed."""
    r, rows = random.Random(seed), []
    for carrier, language, text in _sections("positive.txt"):
        made, secrets = _filled(text.replace("\\x1b", "\x1b"), r)
        rows.append({"text": made, "secrets": secrets, "carrier": carrier, "lang": language})
    for carrier, _, text in _sections("negative.txt"):
        for one in text.split("\n") if carrier == "lines" else [text]:
            made = re.sub(r"\{(\w+)\}", lambda m: FILLERS[m[1]](r) if m[1] in FILLERS else m[0], one)
            rows.append({"text": made, "secrets": [], "carrier": carrier, "lang": "-"})
    return [{"id": f"own{number:03d}", **row} for number, row in enumerate(rows, 1)]


def in_chunks(row: dict[str, Any], r: Random) -> list[str]:
    """The text of a row in pieces; each secret is cut through."""
    text, cuts = row["text"], set()
    for secret in row["secrets"]:
        at = text.index(secret["value"])
        cuts |= {at + r.randrange(1, max(2, len(secret["value"]))), max(0, at - r.randrange(4))}
    edges = sorted({0, *cuts, len(text)})
    return [text[one:two] for one, two in pairwise(edges)]


def _sections(name: str) -> list[tuple[str, str, str]]:
    found = (HERE / name).read_text(encoding="utf-8").split("=== ")[1:]
    heads = [(*(part.partition("\n")[0] + " -").split()[:2], part.partition("\n")[2]) for part in found]
    return [(carrier, language, text.removesuffix("\n")) for carrier, language, text in heads]


def _filled(text: str, r: Random) -> tuple[str, list[dict[str, Any]]]:
    named: dict[str, str] = {}
    secrets: list[dict[str, Any]] = []

    def fill(mark: re.Match[str]) -> str:
        shape = mark[1]
        # A value is the same wherever its shape stands twice and one of the two has a name.
        value = named.setdefault(shape, SHAPES[shape](r)) if f"<<{shape}#" in text else SHAPES[shape](r)
        parts = _parts(value, mark[3] or "")
        made = _joint(mark[3] or "", value).join(parts)
        secret: dict[str, Any] = {"value": made, "kind": shape}
        if len(parts) > 1:
            secret["parts"] = parts
        if shape.endswith("-hook"):
            secret["value"] = made.partition("?key=")[2] or made.split("/", 4)[-1]
        if secret not in secrets:
            secrets.append(secret)
        return made

    return MARK.sub(fill, text), secrets


def _parts(value: str, broken: str) -> list[str]:
    if "\n" in value:
        return value.split("\n")
    if broken.startswith("wrap"):
        width = int(broken[4:])
        return [value[at : at + width] for at in range(0, len(value), width)]
    return [value[: len(value) // 2], value[len(value) // 2 :]] if broken else [value]


def _joint(broken: str, value: str) -> str:
    return (BREAKS if "\n" in value else SIGNS).get(broken, "\n")
