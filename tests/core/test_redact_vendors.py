"""Keys that are known by whose they are, tokens with a prefix that few know, and keys made of many signs."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.text.redact import RedactStream, redact
from clew.core.text.redact_vendors import _VENDORS

ALNUM = string.ascii_letters + string.digits
LOWER, UPPER = string.ascii_lowercase + string.digits, string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"


def drawn(alphabet: str, length: int, prefix: str = "") -> str:
    """A value that belongs to nobody, built here so that none stands in the repository."""
    return prefix + "".join(random.Random(prefix + alphabet + str(length)).choices(alphabet, k=length))


def uuid() -> str:
    return "-".join(drawn(HEX, size + at)[at:] for at, size in enumerate((8, 4, 4, 4, 12)))


TOKENS = [
    ("artifactory", drawn(ALNUM, 59, "cm" + "Vmd")), ("dependency-track", drawn(ALNUM, 32, "od" + "t_")),
    ("flexport", drawn(ALNUM, 40, "shl" + "tm_")), ("sourcegraph", drawn(HEX, 64, "sl" + "k_")),
    ("sourcegraph", drawn(HEX, 16, "sg" + "p_") + "_local_" + drawn(HEX, 40)),
    ("gem-key", drawn(LOWER, 48, "ruby" + "gems_")), ("pulumi", drawn(LOWER, 40, "pu" + "l-")),
    ("contentful", drawn(ALNUM, 64, "CF" + "PAT-")), ("fullstory", drawn(ALNUM, 100, "na" + "1.")),
    ("frame-io", drawn(ALNUM, 64, "fi" + "o-u-")),
    ("salesforce", drawn(ALNUM, 15, "00" + "D") + "!" + drawn(ALNUM, 96)),
    ("teamwork", drawn(ALNUM, 71, "tk" + "n.v1_")), ("ubidots", drawn(ALNUM, 30, "BB" + "FF-")),
    ("voiceflow", "VF." + "DM." + drawn(HEX, 24) + "." + drawn(ALNUM, 16)),
    ("xai-key", drawn(ALNUM + "_", 40, "xa" + "i-9")),
    ("sonar-token", drawn(LOWER, 40, "sq" + "p_")), ("newrelic-key", drawn(LOWER, 36) + "NR" + "AL"),
    ("yandex-cloud", "t1" + ".9e" + drawn(ALNUM, 40) + "." + drawn(ALNUM, 86)),
    ("yandex-cloud", drawn(ALNUM, 38, "Y" + "C")), ("yandex-cloud", drawn(ALNUM, 36, "AQ" + "VN")),
    ("airtable-oauth", drawn(ALNUM, 14, "oa" + "a") + ".v1." + drawn(ALNUM, 40) + "." + drawn(HEX, 64)),
    ("numbered-key", "7-" + drawn(ALNUM, 64)), ("numbered-key", "1718293041-" + drawn(ALNUM, 40)),
    ("telnyx", drawn(ALNUM, 32, "KEY" + "0") + "_" + drawn(ALNUM, 22)),
    ("pubnub-secret", drawn(ALNUM, 48, "se" + "c-c-")),
    ("mailgun-key", "-".join(drawn(HEX, size + at)[at:] for at, size in enumerate((32, 8, 8)))),
    ("dynatrace", "dt0" + "s08." + drawn(LOWER, 24) + "." + drawn(LOWER, 64)),
    ("pagarme", drawn(LOWER, 30, "ak" + "_live_")), ("column-bank", drawn(LOWER, 27, "live" + "_")),
    ("deepl-key", uuid() + ":fx"), ("klaviyo-key", drawn(HEX, 34, "pk" + "_")),
    ("slack-token", "xo" + "xe.xo" + "xp-1-" + drawn(UPPER, 160)),
]  # fmt: skip


@pytest.mark.requirement("W-09", "Q-05")
@pytest.mark.parametrize(("kind", "token"), TOKENS)
@pytest.mark.parametrize("around", ["we use {} here", "{}", "x={}\n", '"{}"', "see {}, or"])
def test_a_token_goes_by_its_form_alone(kind: str, token: str, around: str) -> None:
    assert redact(around.format(token)).text == around.format(f"[REDACTED:{kind}]")


SAID = [
    "{}={}", "export {}={}", "{}: {}", '"{}": "{}"', "'{}' => '{}'", "{} key {}", "{} login {}", "the {} key is `{}`",
    "{} private access key\n{}\n", "{}_key = '{}'", "{}_ACCESS={}", "| {} | {} |", "- **{}:** {}", "<{}>{}</x>",
    "<key>{}</key>\n<string>{}</string>", "- **{}** (ours): `{}`", "| {} | ops@example.test | {} |", "{} key → {}",
    "{} 的密钥是 {}，别外传", "{}:\n  key: {}\n", '{{"{}": {{"key": "{}"}}}}', "- name: {}\n  value: {}\n",
    "process.env.{} || '{}'", 'variable "{}" {{\n  default = "{}"\n}}\n', "{} token={}",
]  # fmt: skip
KEYS = [uuid(), drawn(HEX, 32), drawn(HEX, 40), drawn(ALNUM, 32), drawn(LOWER, 32)]


@pytest.mark.requirement("W-09", "Q-05")
@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", ["heroku", "Datadog", "ASANA"])
def test_a_drawn_value_behind_the_name_of_a_vendor_goes_also_in_pieces(said: str, key: str, name: str) -> None:
    text = f"before\n{said.format(name, key)}\nafter\n"
    clean = redact(text).text
    head, tail = text.split(key)
    assert clean.startswith(head)
    assert clean.endswith(tail)
    assert key not in clean
    assert redact(clean).text == clean
    stream = RedactStream()
    assert key not in "".join([*map(stream.feed, text.splitlines(keepends=True)), stream.close()])


@given(st.sampled_from(sorted(_VENDORS)), st.sampled_from(SAID), st.integers(0, 2**32), st.booleans())
def test_every_vendor_of_the_table_is_known_in_every_notation(name: bytes, said: str, seed: int, shouted: bool) -> None:
    key = "1f" + "".join(random.Random(seed).choices(HEX, k=30))
    vendor = name.decode().upper() if shouted else name.decode()
    assert key not in redact(said.format(vendor, key)).text


@pytest.mark.parametrize(("key", "goes"), [(drawn(HEX, 40), False), (drawn(ALNUM, 32), True), (uuid(), False)])
def test_behind_the_name_alone_stands_a_key_or_the_id_of_what_happened(key: str, goes: bool) -> None:
    assert (key not in redact(f"sending to wandb {key} now").text) is goes


HASH40, HASH64 = drawn(HEX, 40), drawn(HEX, 64)


@pytest.mark.requirement("Q-05")
@pytest.mark.parametrize(
    "text",
    [
        f"uses: codecov/codecov-action@{HASH40}  # v4",
        f"image: sentry:{HASH40}",
        f"docker pull getsentry/sentry@sha256:{HASH64}",
        f"github.com/newrelic/go-agent v3.24.1+incompatible h1:{drawn(ALNUM, 43)}=",
        f'"node_modules/twilio": {{\n  "version": "4.19.0",\n  "integrity": "sha512-{drawn(ALNUM, 86)}=="',
        f'name = "sentry-sdk"\nversion = "1.40.0"\nchecksum = "{HASH64}"',
        f"SPEC CHECKSUMS:\n  Alamofire: {HASH40}\n  Bugsnag: {drawn(HEX, 40, 'a1')[:40]}\n",
        f"  Mixpanel: {HASH40}\n  Sentry: {drawn(HEX, 40, 'b2')[:40]}\n",
        f"commit {HASH40} (heroku/main)",
        f"revert sentry {HASH40}",
        f"git push heroku {HASH40}:refs/heads/main",
        f"fix the datadog login {HASH40} broke",
        f"HEROKU_SLUG_COMMIT={HASH40}\nTRAVIS_COMMIT={HASH40}\nBITBUCKET_PR_DESTINATION_COMMIT={HASH40}",
        f"SENTRY_RELEASE={HASH40}\nNETLIFY_SITE_ID={uuid()}\nSTATUSPAGE_PAGE_UUID={uuid()}",
        f"PLAID_CLIENT_ID={drawn(HEX, 24)}",
        f"| heroku-cli | 8.0 | {HASH40} |",
        f"sentry-cli 2.31.0 {HASH64}",
        f"sentry,2.31.0,{HASH64}",
        f"submodule heroku {HASH40}",
        f"heroku\t{HASH40}\trefs/heads/main",
        f"pinned datadog to {HASH40}",
        f"datadog: {HASH64}  # sha256 of the chart",
        f"sentry-trace: {drawn(HEX, 32)}-{drawn(HEX, 16)}-1",
        f"x-datadog-trace-id: {drawn('123456789', 19)}",
        f"twilio AC{drawn(HEX, 32)}, template d-{drawn(HEX, 32)}",
        f"sendgrid d-{drawn(HEX, 32)}",
        f"coinbase: 0x{HASH40}",
        f"airtable: app{drawn(ALNUM, 14)}",
        f"smartsheet-site-validation={drawn(ALNUM, 32)}",
        f"miro-site-verification={HASH40}",
        "segment 5b2310843ca072eaccf829c104ef16e9668754b0 is a commit; the socket is open",
        "cohere:command-r-plus-08-2024 and mailgun-2024-08-06-whole-1",
        "heroku: my-shop-app-2024-staging",
        "linkedin: jane-maria-doe-5b2310843",
        "discord: 421246718389378243",
        "twitter: user_of_the_year_2024",
        "https://www.twitch.tv/videos/abc123def456ghi789",
        "mailgun <20261130.5b2310843ca072ea@mg.example.test>",
        "[Appveyor]: https://ci.appveyor.com/api/projects/status/lmhkkc4q8cwc65ko",
        'twitter: "M23.953 4.57a10 10 0 01-2.825.775 4.958 4.958 0 002.163-2.723"',
        "sentry 24.1.0-20240115120000-abc123def456",
        f"AUTH_CLIENT_ID={drawn(ALNUM, 32)}",
        f"VAPID_PUBLIC={drawn(ALNUM, 87)}",
        f"BUILD_HASH={drawn(ALNUM, 40)}",
    ],
)
def test_what_stands_beside_a_vendor_and_is_no_key_stays(text: str) -> None:
    assert redact(text).text == text


@pytest.mark.requirement("W-09", "Q-05")
@pytest.mark.parametrize("said", [
    "SECRET_KEY = '{}'", 'SECRET_KEY = "{}"', "os.environ.get('DJANGO_SECRET_KEY', '{}')", 'jwtsecret: "{}"',
])  # fmt: skip
def test_a_key_made_of_many_signs_goes_whatever_sign_it_begins_with(said: str) -> None:
    signs = LOWER + "!@#$%^&*(-_=+)"
    keys = ["".join(random.Random(seed).choices(signs, k=50)) for seed in range(200)]
    left = [key for key in keys if key in redact(said.format(key)).text]
    assert len(left) <= 0.03 * len(keys), left


def test_patterns_and_addresses_with_many_signs_stay() -> None:
    for value in ("^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==)?$", "%s://%s:%d/%s?a=%s&b=%s&c=[%d]{x}!"):
        assert redact(f"TOKEN_SHAPE = r'{value}'\ntoken = '{value}'\n").text.count(value) == 2


PLACES = [
    ('buildConfigField "String", "MAPS", "\\"{}\\""', drawn(HEX, 32)), ("-Dsonar.login={} -X", HASH40),
    ('$sonarLogin = "{}"', HASH40), ("curl http://b.test/api/v1/{}/telemetry", drawn(LOWER, 20)),
    ("ENV BUNDLE_GEMS__EXAMPLE__COM=bot:{}", drawn(ALNUM, 20)),
    ("bundle config gems.example.test bot:{}", drawn(LOWER, 20)),
    ('new DirectoryEntry("LDAP://dc.test", "svc", "{}")', "Heron" + "47!x"),
    ("PsExec.exe \\\\srv -u svc -p {} cmd", "Heron" + "47!x"), ('if password == "{}":', "Heron" + "47!x"),
    ("curl -u {}: https://a.test", drawn(ALNUM, 32)), ('curl -u "{}:X" https://a.test', drawn(HEX, 32)),
    ("curl -u {}:api_token https://a.test", drawn(HEX, 32)), ("http -a {}: https://a.test", drawn(ALNUM, 40)),
    ("new Algolia('shop', '{}')", drawn(HEX, 32)), ("TYPESENSE_X={}\nY=1", drawn(ALNUM, 40)),
    ("export ANYTHING='{}'", drawn(ALNUM, 48)), ("Jenkins-Crumb:{}", drawn(HEX, 32)),
]  # fmt: skip


@pytest.mark.requirement("W-09", "Q-05")
@pytest.mark.parametrize(("text", "secret"), PLACES)
def test_a_secret_goes_by_the_place_where_programs_want_it(text: str, secret: str) -> None:
    clean = redact(text.format(secret)).text
    assert secret not in clean
    assert clean.startswith(text.partition("{}")[0])
    assert redact(clean).text == clean
