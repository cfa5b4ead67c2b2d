"""Secrets by the place they stand in, continued: calls, commands, network gear, logins in a sentence."""

from __future__ import annotations

import base64
import binascii
import string
from collections.abc import Iterator

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact_blocks import is_login
from clew.core.text.redact_hints import flag, place
from clew.core.text.redact_prose import SIGN, VALUE_END, said_with_user
from clew.core.text.redact_said import said_of_secrets
from clew.core.text.redact_values import harmless, identifier, is_hex, is_uuid, random_like, strong, weak

Found = tuple[int, int, str]


def _long(value: str) -> bool:
    return len(value) >= 8 and said_with_user(value) and (strong(value) or not value.isalnum())


def _drawn(value: str) -> bool:
    return random_like(value, 20) and not is_uuid(value)


def _drawn_and_mixed(value: str) -> bool:
    return _drawn(value) and not is_hex(value)


def _any_drawn(value: str) -> bool:
    return random_like(value)


def _of_network(value: str) -> bool:
    """A key of a wireless network, beside its name: eight characters or more."""
    return len(value) >= 8 and (random_like(value, 10) or (strong(value) and bool(SIGN.search(value))))


def _community(value: str) -> bool:
    if "community" in value.lower() or said_of_secrets(value):
        return False
    return len(value) >= 4 and not ("_" in value and identifier(value) and not any(map(str.isdigit, value)))


def _with_zeros(value: str) -> bool:
    """A name and a password with zeros between, as mail programs send them."""
    try:
        return is_login(base64.b64decode(value + "=" * (-len(value) % 4)).decode("ascii"))
    except (binascii.Error, ValueError):
        return False


def _piped(value: str) -> bool:
    return weak(value, 4) or (value.isalpha() and len(value) >= 5)


def _of_gear(value: str) -> bool:
    return weak(value, 5) and any(map(str.isalpha, value)) and not said_of_secrets(value.rstrip(string.digits))


_COMMANDED = (
    r"(?!(?:git|svn|hg|jj) )(?:[\w./@-]{2,40} ){1,3}?(?:login|auth|authenticate|activate|register)"
    r"(?: --?(?:relogin|token|key|api-?key|with-token|auth-?key|license|k|t))?[ =]"
    r"[\"']?(?P<s>[A-Za-z0-9._~+/:=-]{20,400})(?=[\"'`;&|)]|\s|$)"
)
_COMMANDS = "␣login␣ ␣auth␣ ␣authenticate␣ ␣activate␣ ␣register␣"

CALLS = (
    place(
        "secret",
        "buildconfigfield resvalue",
        r"(?i)(?:buildconfigfield|resvalue)[\s(]{1,4}[\"']\w{1,20}[\"']\s?,\s?[\"']\w{1,60}[\"']\s?,\s?[\"'\\]{1,4}"
        r"(?P<s>[^\"'\s\\]{16,400})",
        good=_any_drawn,
    ),
    place(
        "token",
        "sonar.login sonarlogin",
        r"(?i)sonar\.?login[\"']?\s?[=:,]{1,2}\s?[\"']?(?P<s>[\w-]{40,60})",
        sure=True,
    ),
    place("token", "/api/v1/", r"/api/v1/(?P<s>[A-Za-z0-9]{20})/(?:telemetry|attributes|rpc)\b", good=_any_drawn),
    place(
        "password",
        "bundle_ bundle␣config",
        r"(?:BUNDLE_[A-Z0-9_]{1,60}__[A-Z0-9_]{1,20}[\"']?(?:\s?[:?]?=|:)"
        r"|bundle config (?:set )?(?:--\w{1,10} )?[\w.-]{1,60}\.\w{1,10})\s?[\"']?[\w.@-]{1,60}:(?P<s>[^\s\"']{6,200})",
    ),
    place(
        "secret",
        "omniauth␣ provider␣: provider(:",
        r"(?:omniauth|provider)[ (]{1,2}:?[\"']?\w{2,40}[\"']?,\s{0,10}[\"'][^\"'\n]{1,200}[\"'],\s{0,10}"
        r"[\"'](?P<s>[^\"'\n]{12,200})[\"']",
        good=_any_drawn,
    ),
    place(
        "token",
        _COMMANDS,
        rf"(?m)(?:[$#>❯%➜;&|`(][ ]{{0,2}}|RUN |run: |sudo |npx |exec ){_COMMANDED}",
        80,
        good=_drawn,
    ),
    # Without a prompt a line may as well be the subject of a commit.
    place("token", _COMMANDS, rf"(?m)^[ \t]{{0,8}}(?:- )?{_COMMANDED}", 80, good=_drawn_and_mixed),
    place(
        "login", "plain␣", r"(?i)\bplain[ =][\"']?(?P<s>[A-Za-z0-9+/]{12,2000}={0,2})(?![\w+/=])", 5, good=_with_zeros
    ),
    place(
        "secret",
        "--from-literal=",
        r"--from-literal=[\"']?(?!(?:[\w.-]{0,40}[_.-])?(?:user(?:name)?|host(?:name)?|port|name|database|db(?:name)?"
        r"|url|uri|region|e?mail|env(?:ironment)?|namespace|bucket|endpoint|path|mode|level|type|version)=)"
        r"[\w.-]{1,60}=(?P<s>[^\s\"'|;<>]{3,400})",
    ),
    place(
        "password",
        "snmp_community snmp-community snmpcommunity snmp.community snmp-server␣community snmp␣community"
        " rocommunity rwcommunity community_string community-string communitystring",
        r"(?i)(?:(?:snmp[_.-]?community(?:[_-]?(?:string|name))?|community[_-]?string)[\"'`*]{0,3}\s?[:=]\*{0,2}\s?"
        r"|(?:snmp-server community|snmp community(?: string)?:?|r[ow]community6?) )[\"'`]?"
        r"(?P<s>[^\s\"'`,;<>(){}\[\]]{4,64})(?![\w(.\[])",
        good=_community,
    ),
    place(
        "password",
        "|␣cryptsetup |␣sudo␣cryptsetup |␣smbpasswd |␣kinit |␣vncpasswd --passphrase-fd |␣chntpw |␣ssh-add"
        " |␣pass␣insert",
        r"(?:echo|printf)(?: -\w{1,2})? [\"']?(?P<s>[^\s\"'|$]{4,200}?)(?:\\n)?[\"']?"
        r"(?: [\"']?(?P=s)[\"']?)?[ ]?\|[^\n|]{0,160}?"
        r"(?:cryptsetup|smbpasswd|kinit|vncpasswd|--passphrase-fd|chntpw|ssh-add|pass insert)",
        300,
        good=_piped,
    ),
    place(
        "password",
        "sqlplus␣ expdp␣ impdp␣ sqlldr␣",
        r"(?:sqlplus|expdp|impdp|sqlldr)(?: -\w{1,4}){0,3} [\"']?\w{1,40}/"
        r"[\"']?(?P<s>[^\s@\"'/;]{3,100})(?=[@\"';\s]|$)",
    ),
    place(
        "password",
        "wifi.begin( set_wifi( connect_wifi( join_wifi( username_pw_set( set_credentials(",
        r"(?i)(?:wifi\.begin|(?:set|connect|join)_wifi|username_pw_set|set_credentials)\(\s{0,10}"
        r"(?:[\w.$]{1,40}|[\"'][^\"'\n]{0,80}[\"'])\s?,\s{0,10}[\"'](?P<s>[^\"'\n]{6,200})[\"']",
        good=_of_gear,
    ),
    flag("␣-c␣", "snmp\\w+", "-c ", _community),
    place(
        "password",
        "enable␣secret␣ enable␣password␣ radius-server␣key␣ tacacs-server␣key␣ isakmp␣key␣"
        " authentication-key␣ digest-key␣",
        r"(?i)(?:enable (?:secret|password)|(?:radius|tacacs)-server key|isakmp key|authentication-key"
        r"|digest-key \d{1,3} md5)"
        r"(?: [0-9])? [\"']?(?P<s>[^\s\"']{5,100})",
        good=_of_gear,
    ),
    place(
        "password",
        "wi-fi wifi wlan network: network␣( network:** ssid",
        r"(?i)(?:wi-?fi|wlan|network|ssid)(?: \(?[\w-]{2,16}\)?){0,2}\*{0,2}"
        r" ?(?:[:：]|—|–| -| is(?: called)?)\*{0,2} ?[`*\"“]{0,2}"
        r"(?!802|[0-9.]{1,4} ?ghz)[A-Za-z0-9][\w.@' -]{0,40}?[`*\"”]{0,2}"
        r"(?: ?/ ?| [—–-] |,? (?:and )?(?:the )?(?:key|pass\w*|pw|psk|code)(?: is|:)? "
        r"|, | \()[`*\"“]{0,2}"
        rf"(?!bluetooth|ble\b|wpa)(?P<s>[!-.0-~]{{8,64}}?){VALUE_END}",
        good=_of_network,
    ),
    place(
        "password",
        ":**",
        r":\*\* `?[\w.@-]{1,40}`? ?/ ?`?(?P<s>[!-.0-_a-~]{8,64})`?(?=[ \t]*(?:\r?\n|$))",
        good=_of_network,
    ),
    place(
        "password",
        "␣in␣as␣ login␣as␣ connect␣as␣ bind␣as␣ authenticate␣as␣",
        r"(?i)\b(?:(?:sign|log)(?:ged|ging|ing|s)?[ -]?(?:in|on)(?: ?to \S{1,40})?"
        r"|connect|bind|authenticate) as [\"'`]?[\w.@=,-]{1,60}[\"'`]?,? "
        r"(?:with|using|and|by|/)(?: (?:the )?(?:password|pw|pass|passphrase))?:? [\"'`“]?"
        rf"(?P<s>[^\s\"'`]{{6,100}}?){VALUE_END}",
        20,
        good=_long,
    ),
    place(
        "password",
        "␣/␣",
        r"[\w.+-]{1,40}@[\w-]{1,60}(?:\.[A-Za-z][\w-]{1,30}){1,4} / [`\"'“]?(?P<s>[^\s\"'`/]{8,64}?)" + VALUE_END,
        80,
        good=_of_network,
    ),
)
_ARGUMENT_SIGNS = string.ascii_letters + string.digits + "_.:+/=~-"
_LITERAL = lazy_pattern(r"[A-Za-z0-9_.:+/=~-]{16,400}")
_CALLEE = lazy_pattern(
    # A client or what makes one; the value is the first argument, or the only one with a name before it.
    r"""(?x) (?:
      (?: [A-Za-z_]\w{0,40} (?:\.|::|->) ){0,4}
      (?: (?:[A-Z]\w{0,40}?)? (?:Client|Api|API|SDK|Sdk|Rest|Realtime|Service|Bot|Telegraf|Connection|Session|Auth
            |Provider
            |Credentials?|Driver|Gateway|Mailer|Transport) (?:V?[0-9]{1,2}|Async|Sync)?
        | (?i:(?:create|make|get|new|init|connect|configure|authenticate|login|authorize|set|use|with|from)_?
            \w{0,20}?(?:client|api|key|token|auth|sdk|secret|credentials?))
        | (?:login|authenticate|authorize|configure) )
      (?:\.(?:new|init|create|from_token|from_key|of|build))? [(] (?:\s{0,20} \w{1,20} \s?[:,] \s?)?
      | new [ ] [A-Z]\w{0,40} \. [A-Z]\w{0,40} [(]
    ) \s{0,20} [bru]? \Z"""
)


def argument(text: str, start: int, end: int) -> Iterator[Found]:
    """`ClientV2("…")`, `new X.Rest('…')`: a literal drawn at random that a client is made with.

    `start` and `end` are those of a long run of token characters.
    """
    before = text[start - 1 : start]
    if before not in ("'", '"'):
        moved = text[max(0, start - 60) : start]
        start -= len(moved) - len(moved.rstrip(_ARGUMENT_SIGNS))
        before = text[start - 1 : start]
        if before not in ("'", '"') or not start:
            return
    literal = _LITERAL.match(text, start)
    if literal is None or text[literal.end() : literal.end() + 1] != before or literal.end() < end:
        return
    value = literal[0]
    if "(" not in text[max(0, start - 30) : start] or not _is_argument(value):
        return
    if _CALLEE.search(text, max(0, start - 160), start - 1):
        yield start, literal.end(), "secret"


def _is_argument(value: str) -> bool:
    if harmless(value) or is_uuid(value) or identifier(value) or "//" in value or value.count("/") > 2:
        return False
    if is_hex(value):
        return len(value) in (32, 40, 48, 64)
    return random_like(value, 20) and sum(map(str.isdigit, value)) >= 2
