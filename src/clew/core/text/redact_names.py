"""What a name says about its value: a password, a key, something that only counts when it looks random, or nothing."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

from clew.core.text.lazy import lazy_pattern


class Cue(Enum):
    """How sure a name is that its value is a secret."""

    PASSWORD = "password"
    """Any value that a person would type."""
    SECRET = "secret"
    """A value with digits and letters."""
    KEY = "key"
    """A value that looks random."""


_WORD = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SUFFIXES = frozenset(
    "prod production dev development staging stage test live old new current value values b64 base64 plain plaintext "
    "text raw hex b base data str string env default primary secondary backup main root admin write"
    " read v1 v2 v3 header id"
    " uri hook staging eu us io com org net local".split()
)
_PASSWORDS = frozenset(
    "psk password passwd passwort passphrase passcode pwd pass pw psw passw userpass dbpass dbpassword"
    " requirepass masterauth"
    " storepass keypass sshpass smtppass userpassword rootpassword adminpassword mypassword newpassword oldpassword"
    " ftppass mailpass authpassword httppassword bindpw rootpw adminpw secretpassword motdepasse contrasena senha"
    " kennwort adminpass rootpass mysqlpass redispass bindpassword cleartextpassword pswd pword passkey passe".split()
)
_SECRETS = frozenset(
    "secret secrets token tokens apikey authtoken accesstoken accesskey secretkey appsecret apitoken clientsecret"
    " sharedsecret appkey privatekey signingkey authkey apisecret consumersecret consumerkey licensekey masterkey"
    " encryptionkey accountkey storagekey sharedaccesskey accesskeysecret secretaccesskey refreshtoken bearertoken"
    " sessiontoken securitytoken idtoken usertoken bottoken webhooksecret pat credential credentials cred creds"
    " sessionkey servicekey adminkey functionkey csrftoken xsrftoken csrfmiddlewaretoken authenticity totp otp mfa"
    " jwt sas writekey readkey personalaccesstoken deploytoken deploykey oauthtoken subscriptionkey authorization"
    " hmackey appcode aeskey encodingaeskey corpsecret apiv3key secretid ocp nuget integrationkey instrumentationkey"
    " skey".split()
)
_RANDOM = frozenset(
    "key keys auth sig signature session sess sessionid sid sessid csrf xsrf cookie seed hmac ak sk webhook bearer "
    "phpsessid jsessionid connect remember salt ticket sso saml code verifier challenge license"
    " cert pin unseal recovery"
    " ikey jsession aspxauth appid".split()
)
_HARMLESS_LAST = frozenset(
    "url path file name type ttl count length size policy field label hint prompt placeholder regex pattern id".split()
)
_PUBLIC = frozenset(
    "public publishable pub hash hashed hashes next prev previous page continuation cursor idempotency cache primary"
    " foreign sort partition index object row map dedupe max min num count total prompt completion input output design"
    " stop pad eos bos mask sep unk special websocket socket fingerprint hotkey shortcut digest"
    " checksum commit sha sha1 sha256"
    " md5 trace span etag integrity nonce correlation request sync known host hosts keyboard group event column"
    " lookup item node translation i18n message query paging pagination answer cached reasoning used usage limit width"
    " sealed encrypted upload resume sticky bucket".split()
)
_NEVER = frozenset(
    "public publishable pub hash hashed hashes digest fingerprint min max num count total length".split()
)
"""What makes even a password or a signing key something else."""
_STRONG = frozenset("signing secret encryption private master hmac".split())
_QUALIFIERS = frozenset(
    "api access secret private signing sign encryption encrypt account auth app service master storage webhook deploy "
    "license admin write read ingest integration subscription consumer client shared session server user unseal"
    " recovery function dev prod live test stripe openai anthropic".split()
)


@lru_cache(maxsize=4096)
def cue_of(name: str) -> Cue | None:
    """What an assigned name says. Words are told apart by case, digits and signs."""
    words = [word.lower() for word in _WORD.findall(name)]
    if words[-2:] == ["api", "hash"]:
        return Cue.SECRET
    if words[-4:-1] == ["access", "key", "id"][-3:] or "".join(words).endswith(("accesskeyid", "secretid")):
        return Cue.KEY
    if not words or (words[-1] in _HARMLESS_LAST and words[-1] != "id"):
        return None
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in _SUFFIXES) and words[-1] != "id":
        words.pop()
    last, before = words[-1], words[:-1]
    if any(word in _NEVER for word in before[-3:]):
        return None
    if last == "secret" or (last == "key" and before and before[-1] in _STRONG):
        return Cue.SECRET
    if any(word in _PUBLIC for word in before[-3:]) and last not in _PASSWORDS:
        return None
    if last in _PASSWORDS or last.endswith(("password", "passwd", "passphrase", "storepass", "keypass")):
        return Cue.PASSWORD
    if last in _SECRETS or last.endswith(("secret", "token", "apikey", "secretkey", "accesskey")):
        return Cue.SECRET
    if last == "id":
        return Cue.KEY if "".join(words).endswith(("sessionid", "sessid")) else None
    if last == "key" and before and before[-1] in _QUALIFIERS:
        return Cue.SECRET
    # TF_TOKEN_app_terraform_io and the like: the word stands inside, the rest says for whom.
    if any(word in ("token", "secret", "password") for word in before[:2]) and name[:1].isupper():
        return Cue.KEY
    return Cue.KEY if last in _RANDOM or last.endswith(("key", "sessid", "sess", "csrf")) else None
