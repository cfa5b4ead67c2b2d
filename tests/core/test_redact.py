"""Secrets leave the text, everything else stays."""

from __future__ import annotations

import random
import re
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.text.redact import Redacted, is_secret_path, redact


def made(prefix: str, length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    """A token that belongs to nobody, built here so that none stands in the repository."""
    return prefix + "".join(random.Random(prefix + str(length)).choices(alphabet, k=length))


HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
PASSWORD = made("q7", 12)

TOKENS = [
    ("github-token", made("ghp" + "_", 36)),
    ("github-token", made("github" + "_pat_", 60)),
    ("gitlab-token", made("glpat" + "-", 20)),
    ("anthropic-key", made("sk-ant" + "-api03-", 60)),
    ("openai-key", made("sk" + "-", 48)),
    ("openai-key", made("sk" + "-proj-", 80)),
    ("aws-key-id", made("AK" + "IA", 16, UPPER)),
    ("google-key", made("AI" + "za", 35)),
    ("slack-token", made("xox" + "b-", 40, "0123456789")),
    ("stripe-key", made("sk" + "_live_", 24)),
    ("npm-token", made("npm" + "_", 36)),
    ("huggingface-token", made("hf" + "_", 34)),
    ("vault-token", made("hvs" + ".", 40)),
    ("service-key", made("dop" + "_v1_", 64, HEX)),
    ("jwt", f"{made('eyJ', 20)}.{made('eyJ', 40)}.{made('s', 40)}"),
]

PHRASES = [
    ("password", "postgres://app:{}@db.example.test:5432/app"),
    ("password", "redis://:{}@cache.example.test"),
    ("secret", "export DATABASE_PASSWORD={}"),
    ("secret", "AWS_SECRET_ACCESS_KEY={} aws s3 ls"),
    ("secret", 'password = "{}"'),
    ("secret", '{{"api_key": "{}"}}'),
    ("secret", "client_secret: {}"),
    ("authorization", "Authorization: Bearer {}xxyyzz0"),
    ("authorization", 'curl -H "Authorization: Basic {}="'),
    ("authorization", "x-api-key: {}"),
    ("cookie", "Cookie: sessionid={}abcdef; theme=dark"),
    ("password", "curl -u admin:{} https://api.example.test"),
    ("password", "mysql -u root -p{} app"),
    ("password", "tool login --password {}"),
]


@pytest.mark.parametrize(("kind", "token"), TOKENS)
@pytest.mark.parametrize("around", ["{}", "token is {}, use it", "x={}\n", '"{}"', "({})", "https://x.test/?k={}&a=b"])
def test_a_token_of_a_known_kind_goes_and_leaves_its_kind(kind: str, token: str, around: str) -> None:
    redacted = redact(around.format(token))
    assert token not in redacted.text
    assert token[8:] not in redacted.text
    assert redacted.count >= 1
    if around in ("{}", "({})"):
        assert redacted.text == around.format(f"[REDACTED:{kind}]")
        assert redacted.found == ((kind, 1),)


@pytest.mark.parametrize(("kind", "phrase"), PHRASES)
def test_a_secret_after_a_cue_goes_and_its_surroundings_stay(kind: str, phrase: str) -> None:
    text = f"before\n{phrase.format(PASSWORD)}\nafter\n"
    redacted = redact(text)
    assert PASSWORD not in redacted.text
    assert redacted.found == ((kind, 1),)
    assert redacted.text.startswith("before\n")
    assert redacted.text.endswith("\nafter\n")


@pytest.mark.parametrize("label", ["RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
def test_a_private_key_goes_whole_even_when_its_end_is_missing(label: str) -> None:
    body = "\n".join(made(f"{line}", 60) for line in range(10, 20))
    whole = f"a\n-----BEGIN {label}-----\n{body}\n-----END {label}-----\nb\n"
    redacted = redact(whole)
    assert redacted.text == f"a\n-----BEGIN {label}-----\n[REDACTED:private-key]\n-----END {label}-----\nb\n"
    assert redacted.found == (("private-key", 1),)
    torn = redact(f"-----BEGIN {label}-----\n{body}")
    assert made("15", 60) not in torn.text
    escaped = redact(whole.replace("\n", "\\n"))
    assert made("15", 60) not in escaped.text


@pytest.mark.parametrize(
    "text",
    [
        "password = getpass.getpass('Password: ')",
        'token = os.environ["BOOKING_TOKEN"]',
        "DB_PASSWORD=${DB_PASSWORD}",
        "API_KEY=<your-key>",
        "OPENAI_API_KEY=YOUR_API_KEY",
        "postgresql://user:password@localhost:5432/dbname",
        "def check(password: str, hashed: str) -> bool:",
        '{"max_tokens": 4096, "prompt_tokens": 10243}',
        "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgDz54EaZD\n-----END PUBLIC KEY-----",
        "commit 5b2310843ca072eaccf829c104ef16e9668754b0",
        "git log: rename secret store, add password reset page",
        "from sklearn.linear_model import LogisticRegression",
        "密码是用户自己设置的，我们只保存哈希。",
        "AKIAIOSFODNN7EXAMPLE",
        "https://github.com/example/booking/blob/6f772df228ef1ce87433aa6972e1f7308ef2bd84/src/auth/token.py#L41",
        "password: [REDACTED:secret]",
        "",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == Redacted(text)


def test_in_a_file_of_secrets_every_assigned_value_goes() -> None:
    lines = (
        f"# comment\nNAME={PASSWORD}\nexport LOGIN='{PASSWORD}'\n//registry.example.test/:_authToken={PASSWORD}\n"
        f"machine x login y password {PASSWORD}\nhost:5432:db:user:{PASSWORD}\nme:{PASSWORD}\n  plain: {PASSWORD} \n"
        f'{{"auths": {{"x": {{"auth": "{PASSWORD}"}}}}}}\nPORT=5432\nDEBUG=true\nURL=${{OTHER}}\n{PASSWORD}{PASSWORD}\n'
    )
    redacted = redact(lines, strict=True)
    assert PASSWORD not in redacted.text
    assert redacted.count == 9
    for kept in ("# comment\n", "NAME=[REDACTED:secret]\n", "PORT=5432\n", "DEBUG=true\n", "URL=${OTHER}\n"):
        assert kept in redacted.text


_PIECES = [token for _, token in TOKENS] + [phrase.format(PASSWORD) for _, phrase in PHRASES]


@given(
    st.lists(
        st.sampled_from([*_PIECES, " ", "\n", ": ", "=", '"', "'", "key", "password=", "a:b:c:d:", "[REDACTED:x]"])
    )
)
def test_redacting_twice_is_redacting_once(pieces: list[str]) -> None:
    text = "".join(pieces)
    for strict in (False, True):
        once = redact(text, strict=strict)
        assert redact(once.text, strict=strict).text == once.text
        assert not re.search(r"\[REDACTED:[a-z-]*\[", once.text)


@pytest.mark.requirement("Q-46")
@pytest.mark.parametrize(
    "unit",
    [
        "a-",
        "A_",
        "://",
        "a://b:",
        "key=",
        "password: ",
        "-----BEGIN PRIVATE KEY-----\n",
        "eyJaaaaaaaa.",
        " ",
        "\n",
        "a= ",
        "\t-",
    ],
)
def test_no_text_takes_long(unit: str) -> None:
    text = (unit * 30_000)[:30_000]
    before = time.process_time()
    redact(text, strict=True)
    assert time.process_time() - before < 10


@pytest.mark.parametrize(
    "path",
    [
        ".env", "app/.env.local", ".env-prod", "prod.env", "C:\\x\\.ENV", "id_rsa", "/home/me/.ssh/id_ed25519",
        "server.pem",
        "tls.key", "credentials", ".aws/credentials", ".aws/config", "config/secrets.yaml",
        "credentials.json", ".netrc",
        ".npmrc", "x.p12", "service-account-prod.json", ".pgpass", "prod.tfvars", "~/.docker/config.json",
        ".git-credentials",
    ],
)  # fmt: skip
def test_files_that_hold_secrets_are_known_by_name(path: str) -> None:
    assert is_secret_path(path)


@pytest.mark.parametrize(
    "path",
    [
        ".env.example", "env.sample", ".env.template", "id_rsa.pub", "environment.py", "src/secrets.py",
        "secrets.md", "keys.py",
        "config.json", "src/credentials.ts", "tokenizer.json", "cert.crt", "monkey.txt", "docs/secret-sauce.txt", "",
        "a.environ",
    ],
)  # fmt: skip
def test_other_files_are_not(path: str) -> None:
    assert not is_secret_path(path)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["sk-", "key=", "A_KEY=a ", "eyJa.", "://a:", "bearer ", "sid=a.", "-----BEGIN "])
def test_no_text_takes_long_to_look_through(piece: str) -> None:
    text = piece * (300_000 // len(piece))
    assert len(redact(text, strict=True).text) > 0
