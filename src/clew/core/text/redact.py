"""Remove secrets from text by rule: known token shapes, private keys, passwords in URLs, assignments and headers.

A rule that is not sure keeps the text: a variable reference, an obvious placeholder or a name is no secret.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Redacted:
    """Text without its secrets. Redacting it again changes nothing."""

    text: str
    found: tuple[tuple[str, int], ...] = ()
    """Kind and number, by kind."""

    @property
    def count(self) -> int:
        """Number of secrets that were removed."""
        return sum(number for _, number in self.found)


def redact(text: str, *, strict: bool = False) -> Redacted:
    """`text` with each secret replaced by `[REDACTED:kind]`.

    `strict` is for files that exist to hold secrets: there every assigned value goes, unless it is plainly harmless.
    """
    found: Counter[str] = Counter()
    text = _without_private_keys(text, found)
    lower = text.lower()
    for rule in (*_RULES, *(_STRICT_RULES if strict else ())):
        if not rule.hints or any(hint in lower for hint in rule.hints):
            text = _compiled(rule.shape).sub(_replacement(rule.kind, found), text)
    return Redacted(text, tuple(sorted(found.items())))


def is_secret_path(path: str) -> bool:
    """Whether a file of this name usually holds secrets. Examples and templates, public keys and code do not."""
    parts = path.replace("\\", "/").lower().rstrip("/").split("/")
    name = parts[-1]
    if name.endswith(_PUBLIC_ENDINGS) or re.search(
        r"(?:^|[._-])(?:example|sample|template|dist|schema)(?:[._-]|$)", name
    ):
        return False
    if name in _SECRET_NAMES or name.endswith(_SECRET_ENDINGS):
        return True
    if re.fullmatch(r"\.env(?:[._-].*)?|.+\.env|\.?envrc|env\.(?:local|prod|production|staging)", name):
        return True
    if re.fullmatch(
        r"id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?(?:[._-].*)?|.*_rsa|service[_-]?account.*\.json|.*kubeconfig.*", name
    ):
        return True
    if re.fullmatch(
        r"\.?(?:secrets?|credentials?)(?:\.(?:ya?ml|json|toml|ini|txt|env|enc|cfg|conf|properties))?", name
    ):
        return True
    return len(parts) > 1 and (parts[-2], name) in _SECRET_PLACES


_PUBLIC_ENDINGS = (".pub", ".crt", ".md", ".rst", ".py", ".js", ".ts", ".go", ".rs", ".rb", ".java", ".html")
_SECRET_NAMES = frozenset({
    ".netrc", "_netrc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".git-credentials", ".npmrc", ".pypirc", ".htpasswd",
    ".dockercfg", ".s3cfg", ".boto", ".terraformrc", "credentials.tfrc.json", "terraform.tfstate", ".vault-token",
    ".dockerconfigjson", "shadow", "gshadow", "master.key", "auth.json", "application_default_credentials.json",
    "client_secret.json", "wp-config.php", ".bash_history", ".zsh_history", "fish_history", ".python_history",
})  # fmt: skip
_SECRET_ENDINGS = (
    ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".tfvars", ".tfvars.json", ".ovpn",
    ".tfstate", ".agekey", ".keytab", ".mobileprovision",
)  # fmt: skip
_SECRET_PLACES = frozenset({(".aws", "config"), (".docker", "config.json"), (".kube", "config"), ("gh", "hosts.yml")})


def _replacement(kind: str, found: Counter[str]) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        secret = match["s"]
        if _harmless(secret):
            return match[0]
        found[kind] += 1
        start, end = match.start("s") - match.start(), match.end("s") - match.start()
        return f"{match[0][:start]}[REDACTED:{kind}]{match[0][end:]}"

    return replace


_HARMLESS = re.compile(
    r"""(?xi)
      \[REDACTED.*                                    # done before
    | [$%<{(*].*                                      # a reference: ${X}, $(cmd), %X%, <your key>, {{ x }}, ***
    | (?:true|false|null|none|nil|undefined|yes|no|on|off|bearer|basic|string|str|required|optional|localhost)
    | your.* | my[_-]?(?:password|secret|token|key)s? | .*(?:example|changeme|change[_-]me|placeholder|dummy|redacted).*
    | (?:pass(?:word|wd)?|secret|token|key|user|admin|root|test|foo|bar)s?
    | (.)\1*                                          # one character again and again
    | .*(?:x{6,}|\*{3,}|\.{3}|0{8,}|…|<[a-z]).*
    | (?:os|env|process|settings|config|self|cls|this|secrets|request|args|options|ctx|app)\.[\w.\[\]"']+
    """
)


def _harmless(secret: str) -> bool:
    return _HARMLESS.fullmatch(secret) is not None or bool(re.search("[\u4e00-\u9fff]", secret))


@dataclass(frozen=True, slots=True)
class _Rule:
    """A shape of a secret, the group `s`. Text without any of the hints (in lower case) cannot hold one."""

    kind: str
    shape: str
    hints: tuple[str, ...]


@cache
def _compiled(shape: str) -> re.Pattern[str]:
    """Most texts hold no hint of most rules, so most rules are never compiled."""
    return re.compile(shape)


def _rule(kind: str, shape: str, hints: str) -> _Rule:
    return _Rule(kind, shape, tuple(hints.split()))


def _token(kind: str, shape: str, hints: str) -> _Rule:
    return _rule(kind, rf"(?<![A-Za-z0-9_])(?P<s>{shape})(?![A-Za-z0-9_])", hints)


_NAME = (
    r"(?<![A-Za-z0-9])[\w.-]{0,40}?(?:passw(?:or)?d|passwd|passphrase|pwd|secret|token|api[_-]?key|apikey|access[_-]?key"
    r"|private[_-]?key|secret[_-]?key|account[_-]?key|signing[_-]?key|encryption[_-]?key|auth[_-]?key|credentials?)"
    r"(?:[_-]?(?:key|value|prod|production|dev|staging|live|test|[0-9]{1,3})){0,2}"
)
_UPPER_NAME = (
    r"(?m:^|(?<=[\s;&|]))(?:export\s+|set\s+)?[A-Z][A-Z0-9_]{0,60}?"
    r"(?:PASS|PASSWD|PASSWORD|PWD|SECRET|TOKEN|KEY|CREDENTIALS?|PASSPHRASE|PAT|DSN|AUTH)(?:_[A-Z0-9]{1,12})?"
)

_RULES: tuple[_Rule, ...] = (
    _token(
        "github-token",
        r"gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{22,255}",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
    ),
    _token(
        "gitlab-token",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_.-]{16,64}",
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat-",
    ),
    _token("anthropic-key", r"sk-ant-[A-Za-z0-9_-]{20,200}", "sk-ant-"),
    _token("openai-key", r"sk-(?:proj-|svcacct-|admin-|or-v1-)?(?=[A-Za-z_-]{0,220}[0-9])[A-Za-z0-9_-]{20,220}", "sk-"),
    _token("aws-key-id", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}", "akia asia abia acca"),
    _token("cloud-key-id", r"LTAI[A-Za-z0-9]{12,24}|AKID[A-Za-z0-9]{28,36}", "ltai akid"),
    _token(
        "google-key",
        r"AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,400}|GOCSPX-[A-Za-z0-9_-]{20,40}",
        "aiza ya29. gocspx-",
    ),
    _token("slack-token", r"xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-[0-9]-[A-Za-z0-9-]{20,250}", "xox xapp-"),
    _token(
        "stripe-key",
        r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,120}|whsec_[A-Za-z0-9+/=]{20,80}",
        "sk_live_ sk_test_ rk_live_ rk_test_ whsec_",
    ),
    _token("npm-token", r"npm_[A-Za-z0-9]{36}", "npm_"),
    _token("pypi-token", r"pypi-[A-Za-z0-9_-]{50,400}", "pypi-"),
    _token("huggingface-token", r"hf_[A-Za-z0-9]{30,60}", "hf_"),
    _token("sendgrid-key", r"SG\.[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{16,60}", "sg."),
    _token("vault-token", r"hv[sbr]\.[A-Za-z0-9_-]{20,300}", "hvs. hvb. hvr."),
    _token("telegram-token", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}", ":aa"),
    _token(
        "service-key",
        r"gsk_[A-Za-z0-9]{40,80}|xai-[A-Za-z0-9]{40,100}|pplx-[A-Za-z0-9]{40,80}|r8_[A-Za-z0-9]{30,50}"
        r"|do[opr]_v1_[a-f0-9]{64}|shp(?:at|ss|ca|pa)_[a-fA-F0-9]{32}|PMAK-[a-f0-9]{24}-[a-f0-9]{34}"
        r"|NRAK-[A-Z0-9]{27}|lin_api_[A-Za-z0-9]{40}|dapi[a-f0-9]{32}|dp\.pt\.[A-Za-z0-9]{40,50}"
        r"|AGE-SECRET-KEY-1[A-Z0-9]{58}|SK[a-f0-9]{32}|key-[a-f0-9]{32}|figd_[A-Za-z0-9_-]{40}|atlasv1\.[\w=-]{60,70}",
        "gsk_ xai- pplx- r8_ do shp pmak- nrak- lin_api_ dapi dp.pt. age-secret-key sk key- figd_ atlasv1.",
    ),
    _token("jwt", r"eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{8,2000}", "eyj"),
    _rule(
        "webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9_/-]{20,120})",
        "hooks.slack.com/",
    ),
    _rule("webhook", r"discord(?:app)?\.com/api/webhooks/(?P<s>[0-9]{10,25}/[A-Za-z0-9_-]{30,120})", "discord"),
    # A user name may be missing, as in redis://:password@host.
    _rule("password", r"[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s:/@\"'<>]{0,200}:(?P<s>[^\s@/\"'<>]{3,200})@", "://"),
    _rule(
        "authorization",
        r"(?i)(?:authorization|x-api-key|x-auth-token|private-token)[\"']?\s{0,4}[:=]\s{0,4}[\"']?"
        r"(?:(?:bearer|basic|token|digest|apikey)\s{1,4})?(?P<s>[A-Za-z0-9._~+/=:-]{8,4000})",
        "authorization x-api-key x-auth-token private-token",
    ),
    _rule("authorization", r"(?i)\bbearer\s{1,4}(?P<s>(?=[A-Za-z._~+/-]*[0-9])[A-Za-z0-9._~+/-]{16,4000}=*)", "bearer"),
    _rule(
        "cookie",
        r"(?i)\b(?:session|sess|sid|csrf|auth)[\w-]{0,20}=(?P<s>(?=[A-Za-z._%-]*[0-9])[\w.%+/-]{16,4000}=*)",
        "sess sid csrf auth",
    ),
    _rule(
        "password",
        r"(?:--(?:password|passwd|pass|token|secret|api-key)[= ]|\bsshpass -p ?)[\"']?(?P<s>[^\s\"']{4,200})",
        "--pass --token --secret --api-key sshpass",
    ),
    _rule("password", r"\bcurl\b[^\n]{0,200}? (?:-u|--user)[= ]?[\"']?[^\s:\"']{1,60}:(?P<s>[^\s\"']{3,200})", "curl"),
    _rule("password", r"\bmysql(?:dump|admin)?\b[^\n]{0,200}? -p(?P<s>[^\s\"'-][^\s\"']{3,100})", "mysql"),
    # Environment style: capital letters, no spaces around the sign.
    _rule(
        "secret",
        _UPPER_NAME + r"=(?P<q>[\"']?)(?P<s>(?!\s)[^\n\"']{4,4000}?)(?P=q)(?=[\s;&|]|$)",
        "pass pwd secret token key credential pat dsn auth",
    ),
    _rule(
        "secret",
        rf"(?i){_NAME}[\"']?\s{{0,8}}(?:=>|:=|[:=])\s{{0,8}}[bru]?(?P<q>[\"'`])(?P<s>[^\s\"'`]{{6,4000}})(?P=q)",
        "passw pwd passphrase secret token key credential",
    ),
    _rule(
        "secret",
        rf"(?i){_NAME}\s{{0,4}}[:=]\s{{0,4}}(?P<s>(?=[^\s\"'`]{{0,200}}[0-9])[^\s\"'`,;(){{}}\[\]<>$]{{8,4000}})(?![(\[.])",
        "passw pwd passphrase secret token key credential",
    ),
)

_STRICT_RULES: tuple[_Rule, ...] = (
    _rule("secret", r"(?m)\b(?:password|passwd|account)[ \t]+(?P<s>\S{3,400})", ""),
    _rule(
        "secret",
        r"(?m)^[ \t]{0,40}(?:- {0,4})?(?:export )?[\"']?[A-Za-z_/][\w./:-]{0,100}[\"']?[ \t]{0,20}[:=][ \t]{0,20}"
        r"[\"']?(?P<s>(?![0-9]{1,5}[\"']?,?$)[^\s\"'{\[|>][^\n\"']{2,8000})",
        "",
    ),
    _rule("secret", r"[\"']\s{0,4}:\s{0,4}[\"'](?P<s>[^\s\"'][^\"'\n]{5,8000})[\"']", ""),
    # Fields between colons, the password last, as in .pgpass and .htpasswd.
    _rule("secret", r"(?m)^[^:\s\[={\"']{1,200}:(?:[^:\n\[]{1,100}:){3}(?P<s>[^:\s\[]{1,400})$", ""),
    _rule("secret", r"(?m)^[^:\s\[={\"']{1,200}:(?P<s>[^:\s\[\"',][^:\s\[\"']{3,400})$", ""),
    _rule("secret", r"(?m)^[ \t]{0,40}(?P<s>[A-Za-z0-9+/=_.-]{16,8000})[ \t\r]{0,40}$", ""),
)

_KEY_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = re.compile(r"(?:[A-Za-z0-9+/=\s]|\\[nr])*")
_LONGEST_KEY = 64_000


def _without_private_keys(text: str, found: Counter[str]) -> str:
    parts: list[str] = []
    place = 0
    for begin in _KEY_BEGIN.finditer(text):
        if begin.start() < place:
            continue
        end = _KEY_END.search(text, begin.end(), begin.end() + _LONGEST_KEY)
        stop = end.start() if end else _body_end(text, begin.end())
        if (
            not re.search(r"[A-Za-z0-9+/]{8}", text[begin.end() : stop])
            or text[begin.end() : stop].strip() == _KEY_MARK
        ):
            continue
        found["private-key"] += 1
        parts += (text[place : begin.end()], f"\n{_KEY_MARK}\n")
        place = stop
    return "".join((*parts, text[place:])) if parts else text


_KEY_MARK = "[REDACTED:private-key]"


def _body_end(text: str, start: int) -> int:
    """Where a key ends whose last line is missing."""
    body = _KEY_BODY.match(text, start, start + _LONGEST_KEY)
    return body.end() if body else start
