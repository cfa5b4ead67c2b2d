"""Words that stand where a secret could stand and are none: what is said of passwords, and what code calls things."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clew.core.text.lazy import lazy_pattern

_SAID = frozenset(
    (
        # What a sentence says of a password.
        "wrong right correct incorrect valid invalid required optional mandatory necessary needed missing empty "
        "blank absent present unset unknown known secret public private hidden visible plain plaintext cleartext "
        "clear safe unsafe secure insecure strong weak long short longer shorter simple complex easy hard random "
        "unique identical equal same different similar other another new newer fresh current previous last first "
        "second third initial temporary temp permanent static dynamic persistent local global remote external "
        "internal default custom special normal standard typical common generic sensitive insensitive case opaque "
        "raw encoded numeric alphanumeric ascii lowercase uppercase text never always often sometimes still already "
        "also just only even simply usually typically again once twice here there where when while then than that "
        "this these those what which whose such like with without within from into onto upon over under above below "
        "about after before during until since because between against through per via for and but not nor yet both "
        "either neither whether exactly sent kept held shown given taken written read chosen forgotten broken "
        "stolen lost found left meant built done gone set reset put bound good bad better best worse worst fine "
        "okay ready active inactive alive dead dirty clean free busy full long-lived short-lived available "
        "unavailable stale outdated sufficient enough too very quite rather really more most less least much many "
        "few some any all none each every they them their you your yours we our ours she her hers him his its it's "
        "itself yourself must should shall will would could can cannot may might does did doesn't isn't was were "
        "been being have has had up-to-date up-to-you up now today later soon tomorrow yesterday everything "
        "anything nothing something someone anyone everyone nobody part half string strings number numbers boolean "
        "integer float double bytes byte char chars character characters object objects array list dict map tuple "
        "struct enum union class type types value values variable constant literal field fields column columns "
        "parameter parameters argument arguments option options flag flags property attribute element item items "
        "entry entries node nodes index input output result results response request body header headers query form "
        "cookie cookies session sessions data content message error errors warning notice prompt stdin stdout "
        "stderr file files path paths folder directory url uri link host hostname server client service database "
        "username user users admin administrator root guest owner member account accounts email mail phone name "
        "names title label description placeholder help hint icon button page screen view model controller "
        "component widget window dialog modal menu table login logout signin signup signout register registration "
        "auth authn authz oauth oidc saml ldap kerberos basic bearer digest negotiate jwt jwks hmac scrypt bcrypt "
        "argon crypto cipher hash salt nonce hex base encrypted keyring keychain vault wallet env environ "
        "environment config configuration settings setting template templates undefined null void self super true "
        "false nan inf masked redacted filtered censored scrubbed stripped omitted excluded ignored start stop "
        "begin end inner outer write readwrite readonly edit create update delete remove save next prev head tail "
        "pop push shift peek get post patch fetch send receive load dump parse format encode decode encrypt decrypt "
        "generate rotate revoke refresh verify validate check confirm compare match auto manual ifnotpresent "
        "inherit hide show toggle "
        # Known defaults that stand in every manual.
        "postgres postgresql mysql mariadb mongo mongodb redis rabbitmq rails laravel symfony django wordpress "
        "drupal grafana minio minioadmin elastic kibana airflow superset jenkins keycloak sonar docker vagrant "
        "ubuntu debian raspberry alice bob carol example examples sample demo dummy fake mock tests testing tester "
        "testpass testpassword letmein foobar foobarbaz hello world helloworld abcdef abcdefg abcdefgh qwerty "
        "whatever lorem ipsum "
        # The word for a password in other languages, as files of translations have it.
        "passwort kennwort wachtwoord lösenord losenord heslo haslo parola senha contrasena contraseña salasana "
        "jelszo adgangskode passord lozinka geslo slaptazodis parole sandi sifre motdepasse clave palavra jeton "
        "schlüssel kata geheim geheimnis clé zugangscode "
        # Prose of help texts and of code.
        "switch instead together alone is are be as at by if in of on or so to do no flow flows grant grants policy "
        "policies rule rules manager provider providers store storage cache recovery strength length expiry "
        "expiration rotation age history change changes protection protected based generator authentication "
        "authorization authorisation encryption decryption security identity credentials verification validation "
        "confirmation hashing support supported unsupported works fails failed failing "
    ).split()
)
_ENDINGS = lazy_pattern(
    r"(?i)[a-z]{2,}(?:ed|ing|able|ible|ably|ally|ously|fully|less|ful|ous|ive|tion|sion|ment|ness|ity|ized|ised)s?"
)
_CODE = frozenset(
    "password passwd passphrase pwd pass pw secret secrets token tokens key keys credential credentials cred "
    "creds auth user username name value val config cfg settings setting option options opts param params arg "
    "args request req response res result string str text data field input output type class func function get "
    "set new old my your our the this self test tests default none null undefined here todo file path url env "
    "var id hash hashed raw plain encrypted enc encoded base random generate generated hex node list array map "
    "dict obj object ctx context error err invalid valid wrong right correct incorrect required missing expired "
    "expected actual current reset confirm change update login signin sign access api client server session "
    "service provider manager store bytes length len size count index idx prefix suffix label title placeholder "
    "message msg prompt hint header headers cookie body query form tmp temp foo bar baz qux example sample demo "
    "dummy fake mock stub insert replace enter add with from for not is as to in of on no a ".split()
)
_MADE_UP = lazy_pattern(
    r"(?:(?:some|a|an|bad|good|my|test|new|old|the|user|db|admin|your|real|fake|valid|invalid|wrong|right|correct|super)"
    r"(?:pass|password|passwd|pw|pwd|secret|token|key|apikey)(?![a-z]{4})|abc|qwert|asdf|foo|123"
    r"|(?:secret|access|api|private|auth|master|root)(?:key|token|pass|password)\Z|0x[0-9a-f]{1,16}\Z)"
)
_PIECE = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_FORMAT = lazy_pattern(
    r"(?i)(?:base|sha|md|utf|ucs|aes|rsa|des|blake|crc|ed|curve|x|p|secp|python|py|http|oauth|win|arm|amd|i|u|f|int|uint|float|str|latin|iso|cp)-?[0-9]+\w*"
)


def said_of_secrets(word: str) -> bool:
    """Whether a word is one that stands after `password is`, `password:` or `--password` without being a value."""
    low = word.lower()
    parts = re.split(r"[-_.]", low)
    return (
        low in _SAID
        or (word.isalpha() and _ENDINGS.fullmatch(word) is not None)
        or (len(parts) in (2, 3) and any(part in _SAID or part in _CODE for part in parts))
        or _MADE_UP.match(low) is not None
    )


def of_code(value: str) -> bool:
    """Whether one of the words that a value is made of is one of those that code gives to its names."""
    if _FORMAT.fullmatch(value) is not None:
        return True
    pieces = _PIECE.findall(value)
    return any(piece.lower() in _CODE for piece in pieces) and not re.search(
        r"[0-9][A-Za-z]*[0-9]|[a-z][0-9]{2,}[a-z]{2}", value
    )


def named_in_code(pieces: Sequence[str]) -> bool:
    """Whether the parts of a value hold a word that code gives to its names, or two of the little words between."""
    known = [piece for piece in map(str.lower, pieces) if len(piece) > 1 and (piece in _CODE or piece in _SAID)]
    return len(known) > 1 or any(len(piece) > 2 for piece in known)
