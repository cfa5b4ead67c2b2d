"""Whether a value may be a secret: what is harmless for sure, what looks random, what looks like a weak password."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clew.core.text.lazy import lazy_pattern

_HARMLESS = lazy_pattern(
    r"""(?xi)
      .*\[REDACTED.* | \[?REDACTED\b.*                # done before
    | [$<{(*\[\\&@|!].* | %(?![0-9A-F]{2}).*          # a reference: ${X}, $(cmd), %X%, <key>, {{ x }}, ***
    | .*\$\{.* | .*\{\{.* | .*\$[A-Z_]{3,}.* | .*%\(\w+\)s.*
    | (?:true|false|null|none|nil|undefined|yes|no|on|off|bearer|basic|digest|negotiate|string|str|int|bool|bytes
        |required|optional|localhost|empty|enabled|disabled|default|value|unset|missing|invalid|expired|private|public)
    | (?:your|my|some|the|enter|insert|replace|put)[_-].* | your.* | my(?:password|secret|token|key)s?
    | .*(?:example|changeme|change[_-]me|placeholder|dummy|redacted|replace[_-]?(?:me|with)|sample|insert[_-]
        |to[_-]?be[_-]|fake[_-]|not[_-]?(?:a[_-])?real|removed).*
    | (?:(?:the|new|old|db|test|user)?[_-]?(?:pass(?:word|wd)?|passphrase|pwd|secret|token|key|api[_-]?key)
        |user(?:name)?|admin|root|test|foo|bar|baz|guest|generate|generate[_-]?me|todo|tbd|n/a)s?
    | (?:test|fake|mock)[_-]?(?:token|key|secret|pass(?:word)?)s?
    | (?:pass(?:word|wd)?|pwd|secret)[_-]?[0-9]{1,4}  # as tests have them
    | (.)\1*                                          # one character again and again
    | .*(?:x{6,}|\*{3,}|\.{3}|0{10,}|…|<[a-z]|•|█|\u00d7{3,}).*
    | (?:os|env|process|settings|config|self|cls|this|secrets|request|args|options|ctx|app|var|local|data|module|each
        |params|props|state|std|import\.meta)\.[\w.\[\]"'()?]+
    | .*\b(?:getenv|environ|env\.[A-Z]).*
    | [a-z][a-z0-9+.-]{1,20}://[^:@]*                 # an address without a password
    | aws4-hmac.* | arn:aws.* | op://.* | vault:.* | enc\[.* | !vault.* | alias/.* | projects/.*
    | .+\.(?:key|pem|crt|json|ya?ml|txt|py|go|js|ts|md|html?|toml|ini|cfg|env|rs|java|rb|sh|log|lock|csv|png|svg|zip)
    | v?[0-9]+(?:\.[0-9]+){1,3}(?:[-+.][\w.+-]{0,60})? # a version, a number, an IP address
    | (?:h1|sha(?:1|256|384|512)|md5)[:-][A-Za-z0-9+/=_-]+   # a digest
    | [0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T_ ].*)? | [0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?.*
    | [0-9]+\s?(?:ms|s|m|h|d|days?|hours?|minutes?|seconds?|kb|mb|gb|%|bytes|chars|characters)
    | (?:sha-?(?:1|224|256|384|512)|md5|hs256|hs512|rs256|es256|argon2(?:id|i|d)?|bcrypt|pbkdf2|base64|base32|utf-?8
        |oauth2?|ed25519|x509|aes-?(?:128|256)(?:-?[a-z]{3})?|rsa-?(?:2048|4096)|http2?|ipv[46]|v[0-9]{1,3}|fido2
        |hmac-?sha[0-9]+|k8s|s3|ec2|web3|p256|p384|secp256k1)
    | [\w.+-]+@[\w-]+(?:\.[\w-]+)+                    # a mail address
    """
)
_PLACE_IN_FILE = lazy_pattern(
    r"(?i)(?:[a-z]:)?[\w./\\@~+-]{0,180}[\w-]\.[a-z]{1,6}(?::[0-9]{1,6}){1,2}"
    r"|(?:node|file|webpack(?:-internal)?|https?):[^\s@]{1,180}(?::[0-9]{1,6}){2}"
)
"""Where code stands, as a stack has it, or a host with its port."""
_PATH = lazy_pattern(r"(?i)(?:~|\.{1,2}|[a-z]:)?[\\/](?:[\w.@-]+[\\/])*[\w.@-]*")
_HASH = lazy_pattern(
    r"\$(?:2[abxy]?|5|6|1|y|argon2\w*|scrypt|pbkdf2[\w-]*|apr1)\$|pbkdf2_sha|scrypt:|argon2|\{S?SHA", re.IGNORECASE
)
_CJK = lazy_pattern("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
_PIECE = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_HEX = lazy_pattern(r"(?:0x)?(?=[0-9a-fA-F]*[0-9])(?=[0-9a-fA-F]*[a-fA-F])(?:[0-9a-f]+|[0-9A-F]+)")
_UUID = lazy_pattern(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_TOKEN = lazy_pattern(r"[A-Za-z0-9_+/=.~%:@!#^*$,-]+")
_SIGN = lazy_pattern(r"[!-/:-@\[-`{-~]")
_OF_CODE = lazy_pattern(r"\s|://|[Aa]-[Zz]|0-9|\\[dws]|\(\?|\$\{|\{\{|<%|(?:%[0-9A-F]{2}.*){3}|[A-Za-z]{14}")
"""What stands in patterns, templates and addresses, which hold many signs as well."""
_STEMS = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in range(256))
_VOWELS = frozenset("aeiouyAEIOUY")
_PLAIN_VOWELS = frozenset("aeiouAEIOU")


_FORM_WORDS = frozenset(
    "access key id secret token password pass passwd test user s3 my for the db auth client api ssl"
    " tls admin app bearer"
    " jwt aws value service account some new old wrong right valid invalid bad good correct"
    " incorrect mock sample session"
    " private public refresh dev name url host string".split()
)


@dataclass(frozen=True, slots=True)
class Words:
    """The different words of a text in lower case, without signs: far shorter than the text."""

    each: frozenset[bytes]
    all: bytes
    """All of them, or the text itself where it is short: a part of a word that does not stand here stands nowhere."""


_SESSION = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4,8}")
"""The id of a session of Clew's own agent, which stands behind the word `session` in its handoffs."""


def words_of(lower: bytes) -> Words:
    """The words of a text, to look for what is rare in them first."""
    each = frozenset(lower.translate(_STEMS).split())
    return Words(each, lower if len(lower) < 2_000 else b" ".join(each))


def stem_of(hint: bytes) -> bytes:
    """The longest word of a hint: where `words_of` a text does not hold it, the text does not hold the hint."""
    return max(re.findall(rb"[a-z0-9]+", hint), key=len, default=b"")


def harmless(value: str) -> bool:
    """A placeholder, a reference, a path, a hash of a password, a word of prose: never a secret."""
    words = re.findall(r"[A-Za-z]+", value) if len(value) < 60 and not any(map(str.isdigit, value)) else ()
    return (
        (len(words) >= 2 and all(word.lower() in _FORM_WORDS for word in words))
        or _HARMLESS.fullmatch(value[:200]) is not None
        or (":" in value and _PLACE_IN_FILE.fullmatch(value[:200]) is not None)
        or (_PATH.fullmatch(value[:200]) is not None and not random_like(value.replace("/", ""), 30))
        or _HASH.match(value) is not None
        or _SESSION.fullmatch(value) is not None
        or _CJK.search(value, 0, 400) is not None
        or "REDACTED" in value
    )


_PAIR = lazy_pattern(r"[A-Za-z_][\w.-]{1,40}=.")
_PAIR_OF_NAMES = lazy_pattern(
    r"(?:[a-z_][a-z_.-]{1,40}|[A-Z_][A-Z0-9_.-]{1,40}|[a-z]{1,20}(?:[A-Z][a-z]{1,20}){1,4})=."
)


def is_pair(value: str, *, password: bool) -> bool:
    """Whether a value is `name=value`, whose own name says what it is. Where a password is expected, what has a digit
    or a capital as only a password has them before the sign is none."""
    return (_PAIR_OF_NAMES if password else _PAIR).match(value) is not None


def is_hex(value: str) -> bool:
    """Digits and letters of base 16, in one case."""
    return _HEX.fullmatch(value) is not None


def is_uuid(value: str) -> bool:
    """The form 8-4-4-4-12."""
    return _UUID.fullmatch(value) is not None


def random_like(value: str, least: int = 16) -> bool:
    """Whether a value of at least `least` characters looks drawn at random rather than made of words.

    Words leave long runs of letters in one case; random letters and digits change their class every second or third
    character. The bound lies between the two: 3.2 letters a piece, 4.5 where hardly a vowel stands among them.
    """
    value = value[:256]
    if len(value) < least or _TOKEN.fullmatch(value) is None:
        return False
    if is_uuid(value) or is_hex(value):
        return True
    pieces = _PIECE.findall(value)
    letters = sum(map(len, pieces))
    digits = sum(map(str.isdigit, value))
    if digits >= 2 and value.isalnum() and len(value) >= 20 and value != value.lower() and value != value.upper():
        return re.search(r"[0-9][A-Za-z]{2}", value) is not None
    if digits >= 2 and value.isalnum() and (value.isupper() or len(re.findall(r"[0-9]+(?=[A-Za-z])", value)) >= 3):
        return True
    if not letters and len(value) == 55 and re.fullmatch(r"(?:[0-9]{6}-){7}[0-9]{6}", value):
        return True  # What unlocks a disk of Windows.
    if letters < 3 or (letters + digits) * 10 < len(value) * 6:
        return False
    mean = letters / len(pieces)
    vowels = sum(char in _VOWELS for char in value) / letters
    if digits == 0:
        return len(value) >= 20 and (mean < 2.8 or (mean < 3.5 and vowels < 0.28))
    return mean < 3.3 or (mean < 4.5 and vowels < 0.3) or (mean < 9 and vowels < 0.24 and digits >= 2)


def is_mixed(value: str) -> bool:
    """Whether letters of one case stand together no longer than chance makes them, three on average at most."""
    pieces = _PIECE.findall(value)
    return sum(map(len, pieces)) < 3 * len(pieces) and sum(map(str.isdigit, value)) >= 3


def with_signs(value: str) -> bool:
    """Whether a long value is drawn from letters, digits and many signs, as programs make the keys of a web site."""
    return (
        32 <= len(value) <= 200
        and len(set(_SIGN.findall(value))) >= 5
        and _OF_CODE.search(value) is None
        and value.isascii()
        and sum(map(str.isdigit, value)) >= 2
        and 4 <= sum(map(str.isalpha, value)) <= 4.4 * len(_PIECE.findall(value))
    )


def letters_drawn(value: str) -> bool:
    """Letters of one case that nobody can say: four consonants one after the other, or hardly a vowel."""
    if (
        not (8 <= len(value) <= 64 and value.isalpha())
        or value not in (value.lower(), value.upper())
        or not value.isascii()
    ):
        return False
    vowels = sum(char in _VOWELS for char in value)
    return vowels * 5 < len(value) or re.search(r"(?i)[^aeiouy]{5}", value) is not None


def weak(value: str, least: int = 5) -> bool:
    """Whether a value may be a password that people type: letters with digits or signs, or many digits."""
    if len(value) < least or len(value) > 400 or harmless(value) or any(sign in value for sign in '(){}[]<>"`\\'):
        return False
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    if not letters:
        return digits and sum(map(str.isdigit, value)) >= 6 and re.fullmatch(r"[0-9!#@.*-]+", value) is not None
    if digits:
        return True
    return phrase(value) or re.search(r"[!#%^*@+&?]", value) is not None


def ended(value: str, signs: str) -> str:
    """A value without the signs at its end that belong to the sentence; `!` before a full stop is its own."""
    bare = value.rstrip(signs)
    rest = value[len(bare) :]
    own = len(rest) - len(rest.lstrip("!"))
    return value[: len(bare) + own] if bare and rest[own : own + 1] in (".", ",", ";", ")") and own else bare


def four_groups(value: str) -> bool:
    """Four groups or more of four signs that make no words: passwords for programs, seeds of an authenticator."""
    if re.fullmatch(r"(?:[a-z2-7]{4} ){3,15}[a-z2-7]{4}|(?:[A-Z2-7]{4} ){3,15}[A-Z2-7]{4}", value) is None:
        return False
    bare = value.replace(" ", "")
    words = sum(not set(group) & _PLAIN_VOWELS for group in value.split())
    return (
        words > 0 and (not bare.isdigit()) and (bare.isalpha() or len(bare) >= 24 or sum(map(str.isdigit, bare)) >= 2)
    )


def strong(value: str) -> bool:
    """A password as generators and careful people make them: letters, digits and a sign, or both cases and digits."""
    if not weak(value, 6) or not any(map(str.isdigit, value)) or not any(map(str.isalpha, value)):
        return False
    return re.search(r"[!#%^*@+&?]", value) is not None or (value != value.lower() and value != value.upper())


def phrase(value: str) -> bool:
    """Three words or more with a sign between them: a pass phrase."""
    return re.fullmatch(r"[A-Za-z]{3,12}(?:[-. ][A-Za-z]{3,12}){2,7}", value) is not None


def long_phrase(value: str) -> bool:
    """Four words or more with hyphens, as only a pass phrase has them."""
    return re.fullmatch(r"[a-z]{3,12}(?:-[a-z]{3,12}){3,7}", value) is not None


def identifier(value: str) -> bool:
    """A name as code has it: words with at most one number, joined by signs."""
    if re.fullmatch(r"[A-Za-z_$][\w$]*(?:[.-][A-Za-z_$][\w$]*)*", value) is None:
        return False
    pieces = re.findall(r"[A-Za-z]+|[0-9]+", value)
    return sum(piece.isdigit() for piece in pieces) <= 1 and not random_like(value, 12)


def word_and_number(value: str) -> bool:
    """`Tulip_48`, `x-aB3c`: a name by its form, a password after a cue."""
    if value != value.lower() and re.search(r"[a-z][0-9]+[A-Za-z]|[A-Z][0-9]+[a-z]", value) and len(value) <= 20:
        return True
    return re.fullmatch(r"[A-Za-z]{3,12}[_.#@!-][0-9]{2,6}", value) is not None
