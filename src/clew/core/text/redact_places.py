"""Secrets that are known by the place they stand in: addresses, webhooks, headers, cookies, arguments, SQL."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from urllib.parse import unquote

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact_calls import CALLS
from clew.core.text.redact_hints import VALUE, Place, flag, may_run, place
from clew.core.text.redact_names import cue_of
from clew.core.text.redact_values import Words, harmless, identifier, is_uuid, random_like, stem_of, strong, weak
from clew.core.text.redact_views import left_of

Found = tuple[int, int, str]

_SCHEME_SIGNS = string.ascii_letters + string.digits + "+.-"
_ADDRESS = r"[A-Za-z][A-Za-z0-9+.-]{0,30}://(?P<user>[^\s:/@\"'<>`]{0,200}):(?P<s>[^\s@\"'<>`]{2,300})@(?=[\w\[$*.-])"
_PLACES = (
    place("password", "://", _ADDRESS),
    place("password", "://", r"https?://(?P<s>[A-Za-z0-9_-]{20,200})@", typed=False),
    place(
        "webhook",
        "hooks.",
        r"hooks\.(?:slack|zapier)\.com/(?:services|workflows|triggers|hooks/catch)/(?P<s>[A-Za-z0-9_/-]{15,160})",
    ),
    place(
        "webhook",
        "/webhook",
        r"/webhooks?/(?:[0-9]{10,25}/|send\?key=|incoming/)?(?P<s>[A-Za-z0-9_@/-]{24,300})",
        typed=False,
    ),
    place("webhook", "/webhookb2/", r"/webhookb2/(?P<s>[A-Za-z0-9_@/-]{24,400})"),
    place("webhook", "/bot/v2/hook/ /bot/hook/", r"/bot/(?:v2/)?hook/(?P<s>[A-Za-z0-9-]{20,80})"),
    place("webhook", "robot/send", r"robot/send\?access_token=(?P<s>[A-Za-z0-9]{30,80})"),
    place("webhook", "webhook/send", r"webhook/(?:send|upload_media)\?key=(?P<s>[A-Za-z0-9-]{20,80})"),
    place(
        "webhook",
        "/with/key/ /hooks/ /incomingwebhook/",
        r"(?i)/(?:with/key|hooks|IncomingWebhook)/(?P<s>[A-Za-z0-9_/-]{20,200})",
        typed=False,
    ),
    place(
        "authorization",
        "bearer",
        r"(?i)\bbearer[ \t]{1,4}(?:[\"'][ \t]{0,3}[+.][ \t]{0,3}[\"']|[\"'])?(?P<s>[A-Za-z0-9._~+/-]{16,8000}=*)",
        typed=False,
    ),
    place("authorization", "basic␣", r"(?i)\bbasic (?P<s>[A-Za-z0-9+/]{12,2000}=*)", typed=False),
    place(
        "password",
        "␣-u ␣--user ␣--proxy-user",
        r" (?:-u|--user|--proxy-user)(?:[ =]{1,2}|(?=[\"']))[\"']?[^\s:\"'$%{<]{1,80}:(?P<s>[^\s\"']{3,200})",
    ),
    # A key in the place of the user, with no password or one that says nothing.
    place(
        "secret",
        "␣-u ␣--user ␣-a␣ ␣--auth",
        r" (?:-u|--user|-a|--auth)[ =]{0,2}[\"']?(?P<s>[A-Za-z0-9_.-]{16,200}):"
        r"(?i:x|api_?token|api_?key|token|unused|password|pass|x-oauth-basic)?(?=[\"'\s]|$)",
        typed=False,
    ),
    place("password", "␣-u␣", r" -u [\"']?[^\s,:\"'$]{1,60},(?P<s>[^\s\"']{4,200})"),
    flag("␣-a", "https?|xh", r"-a[ =][\"']?[^\s:\"'$]{1,80}:"),
    flag("␣-p ␣--pass", "sshpass|7za?|u?nrar|rar|mongo\\w*|clickhouse-client", "-p ?(?!assword)"),
    flag("␣-p ␣--pass", "mysql\\w*|mariadb[\\w-]*", "-p(?!assword)"),
    # What stands after a blank is the name of a database, unless somebody mistook it.
    flag("␣-p␣", "mysql\\w*|mariadb[\\w-]*", "-p ", strong),
    flag(
        "␣-p ␣--pass",
        "login|registry add|twine|mongo\\w*|cqlsh|influx|rabbitmqadmin|vncviewer|oc",
        "(?:-p|--password)[ =]",
    ),
    flag("␣-p", "sqlcmd|mssql-cli|osql|isql|tsql|bcp|unzip|zip|mosquitto_(?:pub|sub)|smbmap", "-[Pp] ?"),
    flag("␣-a ␣--pass", "(?:redis|valkey)-cli", "(?:-a|--pass)[ =]"),
    flag("␣-k␣", "openssl", "-k "),
    flag("␣password␣", "nmcli", "password "),
    place("password", "wpa_passphrase␣", r"wpa_passphrase \S{1,40} (?P<s>[^\s\"'`]{8,63})"),
    place(
        "password", "send␣", r"(?i)password[^\n]{0,20}\n?[^\n]{0,20}?send (?:-- )?\"(?P<s>[^\s\"\\]{4,100})\\[rn]\"", 60
    ),
    flag("␣-p␣", "useradd|usermod", "-p "),
    flag("␣-p␣", "(?i:psexec)\\w*", "-p "),
    place(
        "secret",
        "secret␣set secrets␣set secret␣put secrets␣create secret␣create create␣secret "
        "put-parameter create-secret put-secret",
        r"(?:secrets? (?:set|create|put)|create secret|put-parameter|create-secret|put-secret(?:-value)?)"
        r"\b[^\n]{0,240}?"
        rf"(?:--body|-b|--value|--secret-string)[ =]?{VALUE}",
    ),
    flag("␣-w", "ldap\\w+", "-w ?"),
    flag("␣-u", "smbclient|smbget|mount\\.cifs", "-U ?[\"']?[^\\s%\"']{1,60}%"),
    place("password", "pass:", r"(?:-pass|-passin|-passout|-k)[ =]pass:(?P<s>[^\s\"']{3,200})", 12),
    place(
        "password",
        "chpasswd",
        r"echo [\"']?[\w.-]{1,40}:(?P<s>[^\s\"':]{3,200})[\"']?[ ]?\|[ ]?(?:sudo )?chpasswd",
        200,
    ),
    place(
        "password",
        "stdin sudo␣-s with-token",
        r"(?:echo|printf)(?: -n)? [\"']?(?P<s>[^\s\"'|]{4,400})[\"']?[ ]?\|[^\n|]{0,200}?(?:stdin|sudo -S|with-token)",
        300,
    ),
    place(
        "password", "htpasswd␣", r"htpasswd [^\n|]{0,80}?-\w*b\w* [^\n|]{0,80}? (?P<s>[^\s\"'|;-]{4,200})\s*(?:\n|$)"
    ),
    place("password", "add_user␣ change_password␣", rf"(?:add_user|change_password) [\w@.-]{{1,60}} {VALUE}"),
    place(
        "password",
        "identified␣",
        r"(?i)identified(?: with [\w']{1,40})?(?: by|\s+as)(?: password)?\s+(?:[NE]|U&)?"
        r"['\"](?P<s>[^'\"\n]{3,200})['\"]",
    ),
    place("password", "password", r"(?i)\bpassword[ \t]{0,4}[( ][ \t]{0,4}(?:[NE]|U&)?'(?P<s>[^'\n]{3,200})'"),
    place(
        "token",
        "vault␣login unseal␣ with-token add-authtoken",
        r"(?:vault login|unseal|with-token <<<|add-authtoken) [\"']?(?P<s>[A-Za-z0-9._+/=-]{16,400})",
        12,
        typed=False,
    ),
    place(
        "password",
        "auth=( auth␣=␣( auth':␣( auth\":␣( basicauth( basic_auth( authbasic",
        r"(?i)(?:auth(?:\s?=\s?|[\"']:\s?)|basic_?auth)\s?\(\s?[\"'][^\"'\n]{1,80}[\"']\s?,\s?[\"'](?P<s>[^\"'\n]{4,200})[\"']",
    ),
    place(
        "secret",
        "fernet( aesgcm( sign(",
        r"(?i)(?:fernet|aesgcm|sign)\(\s?(?:[\w.]{1,40},\s?)?b?[\"'](?P<s>[^\"'\n]{16,200})[\"']",
        typed=False,
    ),
    place("password", "login␣ login\t", r"(?i)login[ \t]+\S{1,80}\s+password[ \t]+(?P<s>[^\s\"']{3,200})"),
    place("secret", "setx␣", rf"(?i)setx [A-Z_]{{1,60}}(?:PASS\w*|SECRET|TOKEN|KEY) {VALUE}"),
    place(
        "secret",
        "ak? sk? ak␣? sk␣? ak: sk: ak= sk=",
        r"(?<![A-Za-z])(?:[aA][kK]|[sS][kK])[ ]?(?:[:：=是为]|[ ])[ ]?[\"'`「]?(?P<s>[A-Za-z0-9+/=_-]{16,80})",
        typed=False,
    ),
    place(
        "secret",
        "client(",
        r"(?i)client\(\s{0,10}[\"'][^\"'\n]{1,80}[\"']\s{0,4},\s{0,10}[\"'](?P<s>[^\"'\n]{16,200})[\"']",
        typed=False,
    ),
    place(
        "secret",
        "define(",
        r"define\(\s?['\"](?:AUTH|SECURE_AUTH|LOGGED_IN|NONCE)_(?:KEY|SALT)['\"]\s?,\s{0,10}'(?P<s>[^'\n]{24,200})'",
        sure=True,
    ),
    place(
        "secret",
        "hmac jwt. secretkeyspec( symmetricsecuritykey( secretstr secretkey(",
        r"(?i)(?:hmac\.new|createhmac|hash_hmac|jwt\.(?:encode|decode|verify)|secretkeyspec|hmacsha256|hmacshakeyfor"
        r"|symmetricsecuritykey|secretstr|secretkey|secretstring(?:::from|::new)?|::hmac\.\w{1,20})\(\s{0,20}"
        r"(?:[\w.$:]{1,40}\(\s{0,4}|[\w.$]{1,40}\s?,\s?|['\"][\w-]{2,10}['\"]\s?,\s?|\[\]byte\(){0,3}b?['\"](?P<s>[^'\"\n]{8,400})['\"]",
        typed=False,
    ),
    place(
        "password",
        "%3a%2f%2f",
        r"%3[Aa]%2[Ff]%2[Ff][\w.-]{1,80}%3[Aa](?P<s>[^\s%&\"']{3,200}(?:%(?!40)[^\s%&\"']{1,200}){0,9})%40",
    ),
    place(
        "secret",
        "://",
        r"(?:https?|wss?)://[\w.-]{0,60}(?:infura\.io|alchemy\.com|alchemyapi\.io|quiknode\.pro|ankr\.com|getblock\.io"
        r"|chainstack\.com|blockpi\.network)/(?:[\w-]{1,20}/){0,4}(?P<s>[A-Za-z0-9_-]{20,80})(?![\w-])",
        typed=False,
    ),
    place(
        "password",
        "login( getconnection( pdo( mysqli credential( credentials( plainauth( ftp_login( directoryentry(",
        r"(?i)(?:login|directoryentry|getconnection|pdo|mysqli(?:_connect)?|(?:network|username\w{0,20})?credentials?|plainauth)\(\s{0,10}"
        r"(?:[\w.$]{1,40}\s?,\s{0,10}|[\"'][^\"'\n]{0,200}[\"']\s?,\s{0,10}){1,3}[\"'](?P<s>[^\"'\n]{5,200})[\"']",
        typed=True,
    ),
    place("token", "twilio", r"(?i)twilio[^\n]{0,120}?[\"'][ ,]{1,4}[\"'](?P<s>[0-9a-f]{32})[\"']", typed=False),
    place("authorization", "digest␣", r"(?i)digest [^\n]{0,800}?\bresponse=\"?(?P<s>[0-9a-f]{32,64})", typed=False),
    place(
        "secret", "://", r"https?://[^\s\"'<>?]{1,200}\?(?:[^\s\"'<>]{0,400}&)?appid=(?P<s>[0-9a-f]{32})\b", typed=False
    ),
    place("password", "@tcp( @unix(", r"(?<![\w.])[\w.-]{1,60}:(?P<s>[^\s@\"'`]{3,200})@(?:tcp|unix)\(", 260),
    place("token", "?code= &code=", r"[?&]code=(?P<s>[A-Za-z0-9._/%~-]{20,1000})", typed=False),
    place("password", "root␣/␣ admin␣/␣ sa␣/␣", r"(?:root|admin|sa) / (?P<s>[^\s\"'/,`()]{5,100})"),
    place("secret", "client(", r"(?i)client\(\s{0,4}[\"'](?P<s>[A-Za-z0-9]{32,80})[\"']", typed=False),
    flag("␣-p␣ ␣-n␣", "ssh-keygen", "-[PN] "),
    place("password", "<<<", r"(?:passwd|login|sudo|cryptsetup|-S)\b[^\n]{0,80}<<< ?[\"']?(?P<s>[^\s\"']{5,200})", 120),
    place("secret", "alias␣set␣", r"alias set \S{1,60} \S{1,200} (?P<s>\S{3,100} \S{8,200})", sure=True),
    place(
        "cloud-key-id",
        "access␣key␣id",
        r"(?i)access key id[ \t]{0,3}[:：|=]?\s{1,8}(?P<s>[A-Z0-9]{16,24})\b",
        typed=False,
    ),
    place(
        "password",
        "kennwort senha contrasena clave schl?ssel wachtwoord l?senord salasana parola heslo has?o adgangskode"
        " zugangscode",
        r"(?i)(?:kennwort|senha|contrasena|clave|schl(?:ü|ue)ssel|wachtwoord|l(?:ö|o)senord|salasana|parola|heslo"
        r"|has(?:ł|l)o"
        r"|adgangskode|zugangscode)(?: (?:ist|lautet|es|e|é))?[:= ]{1,3}[\"']?(?P<s>[^\s\"']{5,100})",
    ),
    place(
        "secret", "api_hash security_code", r"(?i)(?:api_hash|security_code)[\"']?\s?[=:]\s?[\"']?(?P<s>[a-f0-9]{32})\b"
    ),
    place("password", "thin:", r"thin:\w{1,60}/(?P<s>[^\s@\"']{3,200})@"),
    place("password", "net␣use", r"net use [^\n]{0,100}?\\\\\S{1,100} (?:/\S{1,100} )?(?P<s>[^\s/*]\S{3,100})"),
    place("password", "net␣user␣", r"net user [\w.@-]{1,60} (?P<s>[^\s/*]\S{3,100})"),
    flag("␣/p:", "\\w*freerdp\\w*|rdesktop", "/p:"),
    place(
        "password", "wifi:", r"(?i)WIFI:(?:[A-Z]{1,2}:(?:[^;\n\\]|\\.){0,80};){0,6}?P:(?P<s>(?:[^;\s\\]|\\.){5,80});"
    ),
    place("token", "vault␣login␣", r"vault login token=(?P<s>[A-Za-z0-9._-]{16,400})", sure=True),
    place(
        "password",
        "://",
        r"https?://(?P<s>(?=[A-Za-z]*[0-9]+[A-Za-z]+[0-9]+[A-Za-z]+[0-9])[A-Za-z0-9]{10,200})@",
        sure=True,
    ),
    place(
        "password",
        "new␣one old␣one other␣one now␣it's now␣it␣is hers:␣ his:␣ mine:␣",
        r"(?i)(?:(?:new|old|other) one|now it(?:'s| is)|hers|his|mine)(?: is| was)?:? "
        r"[\"'`]?(?P<s>[A-Za-z]{3,20}[0-9]{2,6}[A-Za-z!#%^*@]{2,20})(?![\w.-]\w)",
    ),
    place("password", "securestring", r"(?i)securestring (?:-string )?[\"'](?P<s>[^\"'\n]{3,200})[\"']"),
    place("password", "ftp>␣user␣", r"ftp> user [\w.@-]{1,60} (?P<s>[^\s\"']{5,100})(?=\s*(?:\n|$))"),
    place(
        "password",
        "credential creds login␣ login: account: logon:",
        r"(?i)(?:credentials?|creds|login|account|logon)(?: (?:is|are))?[:= ]{1,3}[`\"'*]{0,2}"
        r"(?:[\w.@-]{1,60}[`\"'*]{0,2} ?[/:]|[\w.-]{1,60}@[\w.-]{1,60},) ?[`\"'*]{0,2}(?P<s>[^\s\"'/,`]{5,100})",
    ),
    place("secret", "otpauth://", r"otpauth://[^\s\"'<>]{1,200}[?&]secret=(?P<s>[A-Z2-7]{12,64})"),
)


_ALL = (*_PLACES, *CALLS)
_ALONE = frozenset(
    hint.replace("␣", " ").encode()
    for hint in "ak? sk? ak␣? sk␣? ak: sk: ak= sk= sa␣/␣ root␣/␣ admin␣/␣ net␣use clave senha kennwort thin: pdo( jwt."
    " add_user␣ htpasswd␣ setx␣ digest␣ wi-fi wlan ssid plain␣ enable␣secret␣ enable␣password␣ connect␣as␣ bind␣as␣"
    " digest-key␣ omniauth␣".split()
)
"""Hints whose longest word has nothing else around it."""


def _by_stem() -> dict[tuple[bytes, bool], list[tuple[bytes, tuple[Place, ...]]]]:
    """Hints by their longest word, and whether that stands alone; so each word is looked for once."""
    found: dict[tuple[bytes, bool], list[tuple[bytes, tuple[Place, ...]]]] = {}
    for hint in dict.fromkeys(hint for one in _ALL for hint in one.hints):
        stem = stem_of(hint)
        inside = re.search(rb"[^a-z0-9]" + stem + rb"[^a-z0-9]", hint) is not None
        key = stem, bool(stem) and (inside or hint in _ALONE)
        found.setdefault(key, []).append((hint, tuple(one for one in _ALL if hint in one.hints)))
    return found


_HINTS = _by_stem()


def placed(text: str, lower: bytes, words: Words) -> Iterator[Found]:
    """Spans of secrets by the place they stand in."""
    # Most hints are rare: they are first looked for among the different words of the text, which are far fewer.
    for (stem, alone), hints in _HINTS.items():
        if stem not in (words.each if alone else words.all):
            continue
        for hint, places in hints:
            if len(stem) < 2 and not any(may_run(one, words) for one in places):
                continue
            at = lower.find(hint)
            while at >= 0:
                for one in places:
                    yield from _at(one, hint, text, at)
                at = lower.find(hint, at + len(hint))


def _at(one: Place, hint: bytes, text: str, at: int) -> Iterator[Found]:
    if hint == b"://":
        match = one.shape.match(text, at - len(left_of(text, at, _SCHEME_SIGNS, 32)))
    elif one.back:
        found = one.shape.finditer(text, max(0, at - one.back), min(len(text), at + 500))
        match = next((found_ for found_ in found if found_.end() > at), None)
    else:
        match = one.shape.match(text, at)
    if match is not None and match.start() <= at + len(hint) <= match.end() + 1 and _secret(one, match):
        value = match["s"] if hint == b"://" or not one.typed or one.sure or one.good else match["s"].rstrip(",;.)")
        yield match.start("s"), match.start("s") + len(value), one.kind


_LOOSE = (b"net user ", b"new one", b"ftp> user ", b"credential", b"root / ", b"kennwort")
"""Hints that are words of prose: only a password that looks like one counts beside them."""


def _secret(one: Place, match: re.Match[str]) -> bool:
    value = match["s"]
    if one.sure:
        return re.match(r"(?i)put your|<|\$", value) is None and len(set(value)) > 8
    if one.hints[0] == b"://" and one.typed:
        # `user:password@localhost` and the like are forms, not secrets.
        user = match["user"]
        return (
            not harmless(unquote(value))
            and value.lower() not in (user.lower(), "postgres", "pass")
            and re.match(r"[0-9]{0,5}/", value) is None
        )
    if harmless(value):
        return False
    if one.good is not None:
        return one.good(value)
    if not one.typed:
        return (
            random_like(value)
            or (len(value) >= 20 and any(map(str.isdigit, value)) and "/" in value)
            or (one.kind == "authorization" and value.endswith("="))
        )
    if one.hints[0] in _LOOSE:
        return strong(value)
    return (
        weak(value, 3)
        or re.fullmatch(r"(?:[a-z]{4} ){3}[a-z]{4}", value) is not None
        or random_like(value)
        or (value.isalpha() and len(value) >= 5 and not _plain_option(value))
        or is_uuid(value)
        or (one.kind == "webhook" and not identifier(value))
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
