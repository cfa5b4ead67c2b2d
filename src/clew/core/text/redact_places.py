"""Secrets that are known by the place they stand in: addresses, webhooks, headers, cookies, arguments, SQL."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import unquote

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact_names import cue_of
from clew.core.text.redact_values import Words, harmless, identifier, is_uuid, random_like, stem_of, strong, weak
from clew.core.text.redact_views import left_of

Found = tuple[int, int, str]

_SCHEME_SIGNS = string.ascii_letters + string.digits + "+.-"
_V = r"[\"']?(?P<s>[^\s\"'|;<>]{3,400})"


@dataclass(frozen=True, slots=True)
class _Place:
    kind: str
    hints: tuple[bytes, ...]
    """In lower case; text without any of them is not looked at."""
    shape: re.Pattern[str]
    back: int = 0
    """Characters before a hint that may belong to the place."""
    typed: bool = True
    """Whether a value that a person types counts, or only one that looks random."""
    sure: bool = False
    """Whether any value counts, as nothing but a secret ever stands there."""
    programs: tuple[bytes, ...] = ()
    """Parts of the names of programs, one of which the text must hold; none where any will do."""


def _place(kind: str, hints: str, shape: str, back: int = 0, *, typed: bool = True, sure: bool = False) -> _Place:
    words = tuple(hint.replace("␣", " ").encode() for hint in hints.split())
    return _Place(kind, words, lazy_pattern(shape), back, typed, sure)


def _flag(hints: str, programs: str, flag: str) -> _Place:
    """A password that a flag gives to a program: the flag is looked for, being rarer than the names of programs."""
    made = _place(
        "password", hints, rf"(?<![\w./-])(?:{programs})\b(?:[^\n|\\]|\\\n?){{0,300}}?[ \n](?:{flag}){_V}", 300
    )
    return replace(made, programs=tuple(name.encode() for name in re.findall(r"[a-z]{2,}", programs)))


_ADDRESS = r"[A-Za-z][A-Za-z0-9+.-]{0,30}://(?P<user>[^\s:/@\"'<>`]{0,200}):(?P<s>[^\s@\"'<>`]{2,300})@(?=[\w\[$*.-])"
_PLACES = (
    _place("password", "://", _ADDRESS),
    _place("password", "://", r"https?://(?P<s>[A-Za-z0-9_-]{20,200})@", typed=False),
    _place(
        "webhook",
        "hooks.",
        r"hooks\.(?:slack|zapier)\.com/(?:services|workflows|triggers|hooks/catch)/(?P<s>[A-Za-z0-9_/-]{15,160})",
    ),
    _place(
        "webhook",
        "/webhook",
        r"/webhooks?/(?:[0-9]{10,25}/|send\?key=|incoming/)?(?P<s>[A-Za-z0-9_@/-]{24,300})",
        typed=False,
    ),
    _place("webhook", "/webhookb2/", r"/webhookb2/(?P<s>[A-Za-z0-9_@/-]{24,400})"),
    _place("webhook", "/bot/v2/hook/ /bot/hook/", r"/bot/(?:v2/)?hook/(?P<s>[A-Za-z0-9-]{20,80})"),
    _place("webhook", "robot/send", r"robot/send\?access_token=(?P<s>[A-Za-z0-9]{30,80})"),
    _place("webhook", "webhook/send", r"webhook/(?:send|upload_media)\?key=(?P<s>[A-Za-z0-9-]{20,80})"),
    _place(
        "webhook",
        "/with/key/ /hooks/ /incomingwebhook/",
        r"(?i)/(?:with/key|hooks|IncomingWebhook)/(?P<s>[A-Za-z0-9_/-]{20,200})",
        typed=False,
    ),
    _place(
        "authorization",
        "bearer",
        r"(?i)\bbearer[ \t]{1,4}(?:[\"'][ \t]{0,3}[+.][ \t]{0,3}[\"']|[\"'])?(?P<s>[A-Za-z0-9._~+/-]{16,8000}=*)",
        typed=False,
    ),
    _place("authorization", "basic␣", r"(?i)\bbasic (?P<s>[A-Za-z0-9+/]{12,2000}=*)", typed=False),
    _place(
        "password",
        "␣-u ␣--user ␣--proxy-user",
        r" (?:-u|--user|--proxy-user)(?:[ =]{1,2}|(?=[\"']))[\"']?[^\s:\"'$%{<]{1,80}:(?P<s>[^\s\"']{3,200})",
    ),
    _place("password", "␣-u␣", r" -u [\"']?[^\s,:\"'$]{1,60},(?P<s>[^\s\"']{4,200})"),
    _flag("␣-a", "https?|xh", r"-a[ =][\"']?[^\s:\"'$]{1,80}:"),
    _flag(
        "␣-p ␣--pass", "sshpass|mysql\\w*|mariadb[\\w-]*|7za?|u?nrar|rar|mongo\\w*|clickhouse-client", "-p ?(?!assword)"
    ),
    _flag(
        "␣-p ␣--pass",
        "login|registry add|twine|mongo\\w*|cqlsh|influx|rabbitmqadmin|vncviewer|oc",
        "(?:-p|--password)[ =]",
    ),
    _flag("␣-p", "sqlcmd|bcp|unzip|zip|mosquitto_(?:pub|sub)|smbmap", "-[Pp] ?"),
    _flag("␣-a ␣--pass", "(?:redis|valkey)-cli", "(?:-a|--pass)[ =]"),
    _flag("␣-k␣", "openssl", "-k "),
    _flag("␣password␣", "nmcli", "password "),
    _place("password", "wpa_passphrase␣", r"wpa_passphrase \S{1,40} (?P<s>[^\s\"'`]{8,63})"),
    _place(
        "password", "send␣", r"(?i)password[^\n]{0,20}\n?[^\n]{0,20}?send (?:-- )?\"(?P<s>[^\s\"\\]{4,100})\\[rn]\"", 60
    ),
    _flag("␣-p␣", "useradd|usermod", "-p "),
    _place(
        "secret",
        "secret␣set secrets␣set secret␣put secrets␣create secret␣create create␣secret "
        "put-parameter create-secret put-secret",
        r"(?:secrets? (?:set|create|put)|create secret|put-parameter|create-secret|put-secret(?:-value)?)"
        r"\b[^\n]{0,240}?"
        rf"(?:--body|-b|--value|--secret-string|--from-literal=[\w.-]{{1,60}})[ =]?{_V}",
    ),
    _flag("␣-w", "ldap\\w+", "-w ?"),
    _flag("␣-u", "smbclient|smbget|mount\\.cifs", "-U ?[\"']?[^\\s%\"']{1,60}%"),
    _place("password", "pass:", r"(?:-pass|-passin|-passout|-k)[ =]pass:(?P<s>[^\s\"']{3,200})", 12),
    _place(
        "password",
        "chpasswd",
        r"echo [\"']?[\w.-]{1,40}:(?P<s>[^\s\"':]{3,200})[\"']?[ ]?\|[ ]?(?:sudo )?chpasswd",
        200,
    ),
    _place(
        "password",
        "stdin sudo␣-s with-token",
        r"(?:echo|printf)(?: -n)? [\"']?(?P<s>[^\s\"'|]{4,400})[\"']?[ ]?\|[^\n|]{0,200}?(?:stdin|sudo -S|with-token)",
        300,
    ),
    _place(
        "password", "htpasswd␣", r"htpasswd [^\n|]{0,80}?-\w*b\w* [^\n|]{0,80}? (?P<s>[^\s\"'|;-]{4,200})\s*(?:\n|$)"
    ),
    _place("password", "add_user␣ change_password␣", rf"(?:add_user|change_password) [\w@.-]{{1,60}} {_V}"),
    _place(
        "password",
        "identified␣",
        r"(?i)identified(?: with [\w']{1,40})?(?: by|\s+as)(?: password)?\s+['\"](?P<s>[^'\"\n]{3,200})['\"]",
    ),
    _place("password", "password", r"(?i)\bpassword[ \t]{0,4}[( ][ \t]{0,4}'(?P<s>[^'\n]{3,200})'"),
    _place(
        "token",
        "vault␣login unseal␣ with-token add-authtoken",
        r"(?:vault login|unseal|with-token <<<|add-authtoken) [\"']?(?P<s>[A-Za-z0-9._+/=-]{16,400})",
        12,
        typed=False,
    ),
    _place(
        "password",
        "auth=( auth␣=␣( auth':␣( auth\":␣( basicauth( basic_auth( authbasic",
        r"(?i)(?:auth(?:\s?=\s?|[\"']:\s?)|basic_?auth)\s?\(\s?[\"'][^\"'\n]{1,80}[\"']\s?,\s?[\"'](?P<s>[^\"'\n]{4,200})[\"']",
    ),
    _place(
        "secret",
        "fernet( aesgcm( sign(",
        r"(?i)(?:fernet|aesgcm|sign)\(\s?(?:[\w.]{1,40},\s?)?b?[\"'](?P<s>[^\"'\n]{16,200})[\"']",
        typed=False,
    ),
    _place("password", "login␣ login\t", r"(?i)login[ \t]+\S{1,80}\s+password[ \t]+(?P<s>[^\s\"']{3,200})"),
    _place("secret", "setx␣", rf"(?i)setx [A-Z_]{{1,60}}(?:PASS\w*|SECRET|TOKEN|KEY) {_V}"),
    _place(
        "secret",
        "ak? sk? ak: sk: ak= sk=",
        r"(?<![A-Za-z])(?:[aA][kK]|[sS][kK])[ ]?(?:[:：=是为]|[ ])[ ]?[\"'`「]?(?P<s>[A-Za-z0-9+/=_-]{16,80})",
        typed=False,
    ),
    _place(
        "secret",
        "client(",
        r"(?i)client\(\s{0,10}[\"'][^\"'\n]{1,80}[\"']\s{0,4},\s{0,10}[\"'](?P<s>[^\"'\n]{16,200})[\"']",
        typed=False,
    ),
    _place(
        "secret",
        "define(",
        r"define\(\s?['\"](?:AUTH|SECURE_AUTH|LOGGED_IN|NONCE)_(?:KEY|SALT)['\"]\s?,\s{0,10}'(?P<s>[^'\n]{24,200})'",
        sure=True,
    ),
    _place(
        "secret",
        "hmac jwt. secretkeyspec( symmetricsecuritykey( secretstr secretkey(",
        r"(?i)(?:hmac\.new|createhmac|hash_hmac|jwt\.(?:encode|decode|verify)|secretkeyspec|hmacsha256|hmacshakeyfor"
        r"|symmetricsecuritykey|secretstr|secretkey|secretstring(?:::from|::new)?|::hmac\.\w{1,20})\(\s{0,20}"
        r"(?:[\w.$:]{1,40}\(\s{0,4}|[\w.$]{1,40}\s?,\s?|['\"][\w-]{2,10}['\"]\s?,\s?|\[\]byte\(){0,3}b?['\"](?P<s>[^'\"\n]{8,400})['\"]",
        typed=False,
    ),
    _place(
        "password",
        "%3a%2f%2f",
        r"%3[Aa]%2[Ff]%2[Ff][\w.-]{1,80}%3[Aa](?P<s>[^\s%&\"']{3,200}(?:%(?!40)[^\s%&\"']{1,200}){0,9})%40",
    ),
    _place(
        "secret",
        "://",
        r"(?:https?|wss?)://[\w.-]{0,60}(?:infura\.io|alchemy\.com|alchemyapi\.io|quiknode\.pro|ankr\.com|getblock\.io"
        r"|chainstack\.com|blockpi\.network)/(?:[\w-]{1,20}/){0,4}(?P<s>[A-Za-z0-9_-]{20,80})(?![\w-])",
        typed=False,
    ),
    _place(
        "password",
        "login( getconnection( pdo( mysqli credential( credentials( plainauth( ftp_login(",
        r"(?i)(?:login|getconnection|pdo|mysqli(?:_connect)?|(?:network|username\w{0,20})?credentials?|plainauth)\(\s{0,10}"
        r"(?:[\w.$]{1,40}\s?,\s{0,10}|[\"'][^\"'\n]{0,200}[\"']\s?,\s{0,10}){1,3}[\"'](?P<s>[^\"'\n]{5,200})[\"']",
        typed=True,
    ),
    _place("token", "twilio", r"(?i)twilio[^\n]{0,120}?[\"'][ ,]{1,4}[\"'](?P<s>[0-9a-f]{32})[\"']", typed=False),
    _place("authorization", "digest␣", r"(?i)digest [^\n]{0,800}?\bresponse=\"?(?P<s>[0-9a-f]{32,64})", typed=False),
    _place(
        "secret", "://", r"https?://[^\s\"'<>?]{1,200}\?(?:[^\s\"'<>]{0,400}&)?appid=(?P<s>[0-9a-f]{32})\b", typed=False
    ),
    _place("password", "@tcp( @unix(", r"(?<![\w.])[\w.-]{1,60}:(?P<s>[^\s@\"'`]{3,200})@(?:tcp|unix)\(", 260),
    _place("token", "?code= &code=", r"[?&]code=(?P<s>[A-Za-z0-9._/%~-]{20,1000})", typed=False),
    _place("password", "root␣/␣ admin␣/␣ sa␣/␣", r"(?:root|admin|sa) / (?P<s>[^\s\"'/,`]{5,100})"),
    _place("secret", "client(", r"(?i)client\(\s{0,4}[\"'](?P<s>[A-Za-z0-9]{32,80})[\"']", typed=False),
    _flag("␣-p␣ ␣-n␣", "ssh-keygen", "-[PN] "),
    _place(
        "password", "<<<", r"(?:passwd|login|sudo|cryptsetup|-S)\b[^\n]{0,80}<<< ?[\"']?(?P<s>[^\s\"']{5,200})", 120
    ),
    _place("secret", "alias␣set␣", r"alias set \S{1,60} \S{1,200} (?P<s>\S{3,100} \S{8,200})", sure=True),
    _place(
        "cloud-key-id",
        "access␣key␣id",
        r"(?i)access key id[ \t]{0,3}[:：|=]?\s{1,8}(?P<s>[A-Z0-9]{16,24})\b",
        typed=False,
    ),
    _place(
        "password",
        "kennwort senha contrasena clave",
        r"(?i)\b(?:kennwort|senha|contrasena|clave)(?: (?:ist|lautet|es|e|é))?[:= ]{1,3}[\"']?(?P<s>[^\s\"']{5,100})",
    ),
    _place(
        "secret", "api_hash security_code", r"(?i)(?:api_hash|security_code)[\"']?\s?[=:]\s?[\"']?(?P<s>[a-f0-9]{32})\b"
    ),
    _place("password", "thin:", r"thin:\w{1,60}/(?P<s>[^\s@\"']{3,200})@"),
    _place("password", "net␣use", r"net use [^\n]{0,100}?\\\\\S{1,100} (?:/\S{1,100} )?(?P<s>[^\s/*]\S{3,100})"),
    _place("password", "net␣user␣", r"net user [\w.@-]{1,60} (?P<s>[^\s/*]\S{3,100})"),
    _flag("␣/p:", "\\w*freerdp\\w*|rdesktop", "/p:"),
    _place(
        "password", "wifi:", r"(?i)WIFI:(?:[A-Z]{1,2}:(?:[^;\n\\]|\\.){0,80};){0,6}?P:(?P<s>(?:[^;\s\\]|\\.){5,80});"
    ),
    _place("token", "vault␣login␣", r"vault login token=(?P<s>[A-Za-z0-9._-]{16,400})", sure=True),
    _place(
        "password",
        "://",
        r"https?://(?P<s>(?=[A-Za-z]*[0-9]+[A-Za-z]+[0-9]+[A-Za-z]+[0-9])[A-Za-z0-9]{10,200})@",
        sure=True,
    ),
    _place(
        "password",
        "new␣one old␣one other␣one now␣it's now␣it␣is hers:␣ his:␣ mine:␣",
        r"(?i)(?:(?:new|old|other) one|now it(?:'s| is)|hers|his|mine)(?: is| was)?:? "
        r"[\"'`]?(?P<s>[A-Za-z]{3,20}[0-9]{2,6}[A-Za-z!#%^*@]{2,20})(?![\w.-]\w)",
    ),
    _place("password", "securestring", r"(?i)securestring (?:-string )?[\"'](?P<s>[^\"'\n]{3,200})[\"']"),
    _place("password", "ftp>␣user␣", r"ftp> user [\w.@-]{1,60} (?P<s>[^\s\"']{5,100})(?=\s*(?:\n|$))"),
    _place(
        "password",
        "credential creds login␣ login: account: logon:",
        r"(?i)(?:credentials?|creds|login|account|logon)(?: (?:is|are))?[:= ]{1,3}[`\"'*]{0,2}"
        r"(?:[\w.@-]{1,60}[`\"'*]{0,2} ?[/:]|[\w.-]{1,60}@[\w.-]{1,60},) ?[`\"'*]{0,2}(?P<s>[^\s\"'/,`]{5,100})",
    ),
    _place("secret", "otpauth://", r"otpauth://[^\s\"'<>]{1,200}[?&]secret=(?P<s>[A-Z2-7]{12,64})"),
)


_HINTS = {
    hint: (stem_of(hint), tuple(place for place in _PLACES if hint in place.hints))
    for hint in dict.fromkeys(hint for place in _PLACES for hint in place.hints)
}


def _may_run(place: _Place, words: bytes) -> bool:
    return not place.programs or any(name in words for name in place.programs)


_ALONE = frozenset(
    hint.replace("␣", " ").encode()
    for hint in "ak? sk? ak: sk: ak= sk= sa␣/␣ root␣/␣ admin␣/␣ ?code= &code= net␣use clave senha kennwort thin: pdo("
    " pass: jwt. add_user␣ htpasswd␣ setx␣ digest␣".split()
)
"""Hints whose longest word has nothing else around it."""


def placed(text: str, lower: bytes, words: Words) -> Iterator[Found]:
    """Spans of secrets by the place they stand in."""
    # Most hints are rare: they are first looked for among the different words of the text, which are far fewer.
    for hint, (stem, places) in _HINTS.items():
        if stem not in (words.each if hint in _ALONE else words.all):
            continue
        if len(stem) < 2 and not any(_may_run(place, words.all) for place in places):
            continue
        at = lower.find(hint)
        while at >= 0:
            for place in places:
                yield from _at(place, hint, text, at)
            at = lower.find(hint, at + len(hint))


def _at(place: _Place, hint: bytes, text: str, at: int) -> Iterator[Found]:
    if hint == b"://":
        match = place.shape.match(text, at - len(left_of(text, at, _SCHEME_SIGNS, 32)))
    elif place.back:
        found = place.shape.finditer(text, max(0, at - place.back), min(len(text), at + 500))
        match = next((one for one in found if one.end() > at), None)
    else:
        match = place.shape.match(text, at)
    if match is not None and match.start() <= at + len(hint) <= match.end() + 1 and _secret(place, match):
        value = match["s"] if hint == b"://" or not place.typed or place.sure else match["s"].rstrip(",;.)")
        yield match.start("s"), match.start("s") + len(value), place.kind


_LOOSE = (b"net user ", b"new one", b"ftp> user ", b"credential", b"root / ", b"kennwort")
"""Hints that are words of prose: only a password that looks like one counts beside them."""


def _secret(place: _Place, match: re.Match[str]) -> bool:
    value = match["s"]
    if place.sure:
        return re.match(r"(?i)put your|<|\$", value) is None and len(set(value)) > 8
    if place.hints[0] == b"://" and place.typed:
        # `user:password@localhost` and the like are forms, not secrets.
        user = match["user"]
        return (
            not harmless(unquote(value))
            and value.lower() not in (user.lower(), "postgres", "pass")
            and re.match(r"[0-9]{0,5}/", value) is None
        )
    if harmless(value):
        return False
    if not place.typed:
        return (
            random_like(value)
            or (len(value) >= 20 and any(map(str.isdigit, value)) and "/" in value)
            or (place.kind == "authorization" and value.endswith("="))
        )
    if place.hints[0] in _LOOSE:
        return strong(value)
    return (
        weak(value, 3)
        or re.fullmatch(r"(?:[a-z]{4} ){3}[a-z]{4}", value) is not None
        or random_like(value)
        or (value.isalpha() and len(value) >= 5 and not _plain_option(value))
        or is_uuid(value)
        or (place.kind == "webhook" and not identifier(value))
    )


def _plain_option(value: str) -> bool:
    return (
        value.lower() in {"file", "stdin", "password", "prompt", "interactive", "string", "default"} or value[:1] == "-"
    )


_COOKIE_LINE = lazy_pattern(r"(?i)(?:set-)?cookies?[\"']?[ \t]{0,3}[:：=][ \t]{0,3}(?P<line>[^\r\n]{1,8000})")
_PAIR = lazy_pattern(r"(?:^|[;,{ \"'])[ \t]{0,2}[\"']?([\w.%-]{1,80})[\"']?[=:][ ]?[\"']?([^\s;,\"'}]{8,4000})")


_OPEN_COOKIES = (
    "_ga",
    "_gid",
    "_fb",
    "_gcl",
    "utm",
    "__utm",
    "amp",
    "ajs",
    "_hj",
    "consent",
    "lang",
    "theme",
    "tz",
    "path",
    "expires",
)


def _opaque(value: str) -> bool:
    return random_like(value, 12) or any(random_like(part, 12) for part in re.split(r"[:|]", value))


def _letters_and_digits(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and value.isalnum()


def cookies(text: str, lower: bytes) -> Iterator[Found]:
    """Values of a cookie line that look random, whatever their name."""
    at = lower.find(b"cookie")
    while at >= 0:
        match = _COOKIE_LINE.match(text, at)
        if match is not None:
            for pair in _PAIR.finditer(match["line"]):
                value = unquote(pair[2])
                if (
                    not pair[1].startswith(_OPEN_COOKIES)
                    and (_opaque(value) or (cue_of(pair[1]) is not None and _letters_and_digits(value)))
                    and not harmless(pair[2])
                ):
                    start = match.start("line") + pair.start(2)
                    yield start, start + len(pair[2]), "cookie"
        at = lower.find(b"cookie", match.end() if match else at + 6)


_BARE = lazy_pattern(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/]{30,40}(?![A-Za-z0-9+/=_-])")


def beside_key_ids(text: str, ids: list[tuple[int, int]]) -> Iterator[Found]:
    """The nameless secret half of a cloud key near its id."""
    for start, end in ids:
        for match in _BARE.finditer(text, max(0, start - 300), min(len(text), end + 300)):
            value = match[0]
            if (
                len(value) in (30, 32, 36, 40)
                and random_like(value)
                and not re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", value)
            ):
                yield *match.span(), "cloud-secret"
