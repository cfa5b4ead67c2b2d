"""Shapes of tokens that say themselves whose they are: a public prefix, a known length.

Written from the vendors' own descriptions of their tokens and the public lists of such shapes. A rule is
(kind, prefix, rest): the rest follows the prefix. The rule is looked up by the first two characters of the prefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact_values import is_hex, is_mixed, random_like

_AN, _URL = "[A-Za-z0-9]", "[A-Za-z0-9_-]"
_H = "[a-f0-9]"

# One rule a line: kind, prefixes with | between, what follows. No kind repeats eight characters of its prefix: a
# placeholder must not keep more of a token than its kind.
_TABLE = rf"""
github-pat        ghp_                          {_AN}{{30,255}}
github-oauth      gho_                          {_AN}{{30,255}}
github-app        ghu_|ghs_                     [A-Za-z0-9_.-]{{30,600}}
github-refresh    ghr_                          {_AN}{{30,255}}
github-fine       github_pat_                   [A-Za-z0-9_]{{22,255}}
gitlab-pat        glpat-                        [A-Za-z0-9_.=-]{{16,120}}
gitlab-token      gldt-|glrt-|glrtr-|glcbt-|glptt-|glft-|glsoat-|glimt-|glagent-|gloas-|glffct-|glwt-|GR1348941  [A-Za-z0-9_.=-]{{16,120}}
atlassian-token   ATATT3|ATCTT3|ATSTT3          [A-Za-z0-9_=-]{{60,300}}
bitbucket-app     ATBB                          {_AN}{{28,40}}
npm-token         npm_                          {_AN}{{30,60}}
pypi-token        pypi-                         {_URL}{{50,1000}}
gem-key           rubygems_                     [a-z0-9]{{40,64}}
crates-token      cio                           {_AN}{{32}}
nuget-key         oy2                           [a-z0-9]{{43}}
clojars           CLOJARS_                      [A-Za-z0-9]{{40,80}}
docker-pat        dckr_pat_|dckr_oat_           {_URL}{{20,60}}
circleci          CCIPAT_|CCIPRJ_               [A-Za-z0-9_]{{30,120}}
buildkite         bkua_|bkaj_|bkct_|bkpt_|bkar_|bkps_  {_AN}{{30,80}}
artifactory       AKCp|cmVmdGtuOj|eyJ2ZXIiOiIyIi  {_AN}{{40,800}}
artifactory       cmVmd                         {_AN}{{59}}(?!\w)
sonar-token       squ_|sqp_|sqa_                [a-z0-9]{{40}}
snyk-token        snyk_uat\.|snyk_sat\.         [A-Za-z0-9_.-]{{20,200}}
codecov           codecov_|cctok_               {_AN}{{28,60}}
prefect           pnu_|pnb_                     {_AN}{{32,40}}
readme-key        rdme_                         [a-z0-9]{{60,80}}
anthropic-key     sk-ant-                       {_URL}{{20,300}}
openai-key        sk-proj-|sk-svcacct-|sk-admin-|sk-None-|sess-  {_URL}{{30,300}}
openrouter-key    sk-or-                        (?:v1-)?{_AN}{{30,100}}
langfuse-key      sk-lf-|pk-lf-                 {_H}{{8}}-(?:{_H}{{4}}-){{3}}{_H}{{12}}
elevenlabs-key    sk_                           {_H}{{40,64}}
stripe-key        sk_live_|sk_test_|rk_live_|rk_test_|sk_prod_|rk_prod_  {_AN}{{16,250}}|(?=\w*[0-9])(?=\w*[A-Z]){_AN}{{10,15}}
stripe-webhook    whsec_                        [A-Za-z0-9+/=]{{20,90}}
launchdarkly      sdk-|api-                     {_H}{{8}}-(?:{_H}{{4}}-){{3}}{_H}{{12}}
mapbox-secret     sk\.eyJ|tk\.eyJ               {_URL}{{30,300}}\.{_URL}{{20,60}}
ai-key            sk-                           (?=[A-Za-z_-]{{0,220}}[0-9]|[a-z]{{48}}(?![\w-]))(?![a-z]+(?:-[a-z0-9]+)+(?![\w-]))[A-Za-z0-9_-]{{20,220}}
groq-key          gsk_                          {_AN}{{40,100}}
xai-key           xai-                          (?=\w*[0-9])\w{{30,120}}
perplexity-key    pplx-                         {_AN}{{40,80}}
hugging-face      hf_|api_org_                  [A-Za-z]{{34}}|hf_{_AN}{{30,60}}
hf-token          hf_                           (?=\w*[0-9A-Z]){_AN}{{30,60}}
replicate         r8_                           {_AN}{{30,50}}
tavily-key        tvly-                         {_URL}{{20,60}}
langsmith         lsv2_                         (?:pt|sk)_{_AN}{{32}}_{_AN}{{10}}
firecrawl         fc-                           {_H}{{32}}
nvidia-key        nvapi-                        {_URL}{{40,90}}
cerebras-key      csk-                          [a-z0-9]{{40,60}}
fireworks         fw_                           {_AN}{{20,40}}
together-key      tgp_v1_                       {_URL}{{40,60}}
jina-key          jina_                         {_AN}{{50,80}}
exa-voyage        pa-|al-                       (?=[A-Z_-]*[a-z0-9])(?=\w*[0-9])(?=\w*[A-Z])(?=\w*[a-z]){_URL}{{40,60}}
weave-key         wandb_v1_                     {_URL}{{40,120}}
pinecone-key      pcsk_                         {_URL}{{40,120}}
aws-key-id        AKIA|ASIA|ABIA|ACCA|A3T       [A-Z0-9]{{16,17}}
aws-bedrock       ABSK                          [A-Za-z0-9+/]{{100,300}}=*
aws-session       IQoJb3JpZ2lu|FwoGZXIvYXdz|FQoGZXIvYXdz  [A-Za-z0-9+/]{{50,4000}}=*
cloud-key-id      LTAI                          {_AN}{{12,24}}
cloud-key-id      AKID                          {_AN}{{28,36}}
cloud-key-id      AKLT|AKTP                     {_AN}{{30,60}}
cloud-key-id      ALTAK                         -?{_AN}{{18,26}}(?:/{_H}{{30,64}})?
google-key        AIza                          {_URL}{{35}}
google-oauth      ya29\.                        {_URL}{{20,1000}}
google-secret     GOCSPX-                       {_URL}{{20,40}}
firebase-key      AAAA                          {_URL}{{7}}:APA91b{_URL}{{100,200}}
ocean-token       dop_v1_|doo_v1_|dor_v1_       {_H}{{64}}
heroku-key        HRKU-                         [A-Za-z0-9_-]{{30,80}}
fly-token         fo1_|fm1_|fm2_|fm1r_|fm1a_    [A-Za-z0-9_+/=,-]{{40,800}}
netlify           nfp_|nfc_|nfo_|nfu_           {_AN}{{30,60}}
vercel            vcp_|vci_|vca_|vcr_|vck_      {_AN}{{20,80}}
supabase          sbp_|sb_secret_               {_URL}{{20,80}}
planetscale       pscale_pw_|pscale_tkn_|pscale_oauth_  [A-Za-z0-9_=.-]{{30,70}}
neon-key          napi_                         {_AN}{{40,80}}
tailscale         tskey-                        [A-Za-z0-9-]{{20,120}}
vault-token       hvs\.|hvb\.|hvr\.             [A-Za-z0-9_-]{{20,400}}
vault-old         s\.                           (?=\w*[0-9](?:[A-Za-z]+[0-9]){{2}})(?=\w*[a-z]){_AN}{{24}}(?!\w)
pulumi            pul-                          [a-z0-9]{{40}}
doppler           dp\.                          (?:pt|st|ct|sa|scim|audit|said)\.(?:[a-z0-9_-]{{2,35}}\.)?{_AN}{{40,44}}
databricks        dapi                          [a-f0-9]{{32}}(?:-[0-9])?
infracost         ico-                          {_AN}{{32}}
harness           pat\.|sat\.                   {_URL}{{22}}\.{_AN}{{24}}\.{_AN}{{20}}
onepassword       ops_eyJ|A3-                   [A-Za-z0-9+/=_-]{{20,2000}}
scaleway          SCW                           [A-Z0-9]{{17}}
yandex-cloud      t1\.                          {_URL}{{1,300}}={{0,2}}\.{_URL}{{86}}={{0,2}}
yandex-cloud      AQVN|t1\.                     [A-Za-z0-9_-]{{35,200}}
yandex-cloud      YC                            (?=\w*[0-9])(?=\w*[A-Z])(?=\w*[a-z]){_URL}{{38}}(?![\w-])
confluent         cflt                          [A-Za-z0-9+/]{{40,80}}
cloudflare        cfut_|cfat_|cfk_|v1\.0-       [A-Za-z0-9_-]{{40,200}}
slack-token       xoxb-|xoxp-|xoxa-|xoxr-|xoxs-|xoxo-|xoxc-|xoxd-|xoxe-|xoxe\.  [A-Za-z0-9%./-]{{10,300}}
slack-app         xapp-                         [0-9]-[A-Za-z0-9-]{{20,250}}
shopify-token     shpat_|shpss_|shpca_|shppa_|shpit_|shpua_  [a-fA-F0-9]{{32}}
square-token      EAAA|sq0csp-|sq0atp-|sq0idp-  {_URL}{{22,70}}
facebook          EAAC|EAAG|EAAM|EAAB|EAAJ      {_AN}{{60,300}}
facebook          IGQ                           {_URL}{{60,300}}
twilio-key        SK                            [a-fA-F0-9]{{32}}
sendgrid-key      SG\.                          {_URL}{{16,40}}\.{_URL}{{16,60}}
mailgun-key       key-                          {_H}{{32}}
mailgun-key       pubkey-                       {_H}{{32}}
brevo-key         xkeysib-|xsmtpsib-            {_H}{{64}}-{_AN}{{16}}
resend-key        re_                           (?=\w*[0-9]){_AN}{{8}}_{_AN}{{20,32}}
postmark          pm_                           {_AN}{{40,80}}
intercom          dG9rO                         [A-Za-z0-9+/=]{{40,90}}
newrelic-key      NRAK-|NRRA-|NRAA-|NRIQ-|NRII-|NRSP-|NRJS-  [A-Za-z0-9_-]{{15,60}}
grafana-token     glsa_                         {_AN}{{32}}_{_AN}{{8}}
grafana-cloud     glc_                          [A-Za-z0-9+/]{{32,400}}=*
grafana-key       eyJrIjoi                      [A-Za-z0-9+/]{{50,400}}=*
sentry-token      sntryu_|sntrys_|sntryi_       [A-Za-z0-9+/=_-]{{40,400}}
posthog-key       phx_|phs_                     {_AN}{{32,60}}
honeycomb         hcaik_|hcxik_|hcamk_|hcbik_   [a-z0-9]{{40,80}}
dynatrace         dt0[a-z]\d\d\.                {_AN}{{24}}\.{_AN}{{64}}
airbrake-rollbar  rbt_                          {_AN}{{30,60}}
logtail-axiom     xaat-|xapt-                   [a-f0-9-]{{36}}
linear-key        lin_api_|lin_oauth_           {_AN}{{32,80}}
notion-token      ntn_                          {_AN}{{40,60}}
notion-token      secret_                       (?=\w*[0-9])(?=\w*[A-Z]){_AN}{{43}}
figma-token       figd_|figu_|figo_|figur_      {_URL}{{30,60}}
postman-key       PMAK-|PMAT-                   [A-Za-z0-9-]{{26,80}}
dropbox-token     sl\.                          (?:u\.)?(?=\S*[0-9])(?=\S*[A-Z]){_URL}{{60,1500}}
algolia-okta      00                            (?=\S*[A-Z])(?=\S*[a-z]){_URL}{{40}}(?![\w-])
easypost-key      EZAK|EZTK                     {_AN}{{50,60}}
typeform          tfp_                          [A-Za-z0-9_.=-]{{40,70}}
flutterwave       FLWSECK_TEST-|FLWSECK-        [A-Za-z0-9-]{{12,60}}
shippo-token      shippo_live_|shippo_test_     [A-Fa-f0-9]{{40}}
duffel-token      duffel_live_|duffel_test_     {_URL}{{40,60}}
lob-key           live_|test_                   {_H}{{35}}(?!\w)
lob-key           live_pub_|test_pub_           {_H}{{31}}(?!\w)
mollie-key        live_|test_                   (?=\w*[0-9])(?=\w*[A-Z])(?=\w*[a-z]){_AN}{{30,36}}(?!\w)
plaid-token       access-sandbox-|access-production-|access-development-  {_H}{{8}}-(?:{_H}{{4}}-){{3}}{_H}{{12}}
gocardless        live_|sandbox_                (?=\S*[0-9])(?=\S*[A-Z]){_URL}{{40}}(?![\w-])
razorpay-key      rzp_live_|rzp_test_           {_AN}{{14,24}}
paystack          sk_live_                      {_H}{{40}}
adyen-key         AQE                           [A-Za-z0-9+/=]{{30,60}}-[A-Za-z0-9+/=<>\]\[(){{}},.;:!^&*-]{{20,80}}
coinbase          organizations/                {_H}{{8}}-(?:{_H}{{4}}-){{3}}{_H}{{12}}/apiKeys/[a-f0-9-]{{36}}
frame-io          fio-u-                        {_URL}{{40,80}}
adafruit          aio_                          {_AN}{{28}}
nightfall         NF-                           {_AN}{{32}}
contentful        CFPAT-                        {_URL}{{40,100}}
sourcegraph       sgp_                          (?:{_AN}{{16}}_)?(?:local_)?{_H}{{40}}
hubspot           pat-na1-|pat-eu1-|pat-na2-|pat-ap1-  [a-f0-9-]{{36}}
clickup           pk_                           \d{{6,12}}_[A-Z0-9]{{32}}
settlemint        sm_pat_|sm_aat_|sm_sat_       {_AN}{{16}}
workos            sk_live_|sk_test_             [A-Za-z0-9_=]{{30,120}}
age-key           AGE-SECRET-KEY-1              [A-Z0-9]{{58}}
age-key           AGE-PLUGIN-[A-Z0-9]{{1,20}}-1 [A-Z0-9]{{20,200}}
dingtalk-sign     SEC                           {_H}{{64}}(?!\w)
openshift         sha256~                       {_URL}{{43}}
jwt               eyJ                           {_URL}{{8,8000}}\.eyJ{_URL}{{8,16000}}\.(?:{_URL}{{8,4000}})?
jwe               eyJ                           {_URL}{{8,8000}}\.{_URL}{{0,2000}}\.{_URL}{{8,2000}}\.{_URL}{{8,16000}}\.{_URL}{{8,2000}}
twitter-bearer    AAAAAAAAAAAAAAAAAAAA          (?=\S*[1-9a-z])[A-Za-z0-9%+/=]{{40,200}}
django-key        django-insecure-              [!#-&(-+.-_a-~-]{{30,80}}
wechat-mch        wxp_                          {_AN}{{30,60}}
volc-ark          ark-                          {_H}{{8}}-(?:{_H}{{4}}-){{3}}[a-f0-9-]{{8,20}}
minimax           eyJhbGciOi                    {_URL}{{20,3000}}\.{_URL}{{20,3000}}\.{_URL}{{8,2000}}
github-old        v1\.                          {_H}{{40}}(?!\w)
beamer-key        b_                            [A-Za-z0-9=_/-]{{44}}(?!\w)
databento-key     db-                           {_AN}{{29}}(?!\w)
stytch-key        secret-live-|secret-test-     {_URL}{{30,60}}
svix-key          testsk_|sk_svix_              {_AN}{{20,80}}
trigger-key       tr_prod_|tr_dev_|tr_pat_      {_AN}{{20,60}}
clerk-key         ak_|mt_                       (?=\w*[0-9])(?=\w*[A-Z])(?=\w*[a-z]){_AN}{{30,60}}(?!\w)
upstash-key       AX|AY                         (?=\S*[0-9])[A-Za-z0-9_]{{58,100}}={{1,2}}
turso-render      rnd_                          {_AN}{{30,40}}
polar-paddle      polar_oat_|pdl_live_apikey_|pdl_sdbx_apikey_  [A-Za-z0-9_]{{30,90}}
e2b-modal         e2b_|as-|ak-                  (?=\w*[0-9]){_AN}{{22,60}}(?!\w)
datastax          AstraCS:                      [A-Za-z0-9:]{{60,120}}
kaggle-key        KGAT_                         {_AN}{{32}}
meraki-rapid      live_sk_                      {_AN}{{20,80}}
adobe-secret      p8e-|p8-                      (?=\S*[0-9])[A-Za-z0-9_-]{{32}}(?![\w-])
client-key        sc_|ext_|scauth_|authress_    [a-z0-9]{{5,30}}\.[a-z0-9]{{4,6}}\.acc[_-][a-z0-9-]{{10,32}}\.[A-Za-z0-9+/_=-]{{30,120}}
bedrock           bedrock-api-key-              [A-Za-z0-9+/=_-]{{20,2000}}
clickhouse        4b1d                          (?=\w*[A-Z]){_AN}{{38}}(?!\w)
intra42           s-s4t2ud-|s-s4t2af-           {_H}{{64}}
scalingo          tk-us-|tk-eu-                 {_URL}{{48}}
octopus           API-                          (?=[A-Z]*[0-9])[A-Z0-9]{{25,30}}(?!\w)
woocommerce       ck_|cs_                       {_H}{{40}}
mailersend        mlsn\.                        {_H}{{64}}
discord-token     mfa\.                         {_URL}{{80,90}}
aiven             AVNS_                         {_URL}{{16,40}}
exoscale          EXO                           {_H}{{24}}(?!\w)
vercel-blob       vercel_blob_rw_               [A-Za-z0-9_]{{30,80}}
deno-token        ddp_|ddo_|ddw_                {_AN}{{30,50}}
zuplo             zpka_                         [A-Za-z0-9_]{{30,80}}
xata              xau_                          {_AN}{{30,80}}
ory-token         ory_pat_|ory_at_|ory_rt_|ory_st_|ory_apikey_  [A-Za-z0-9_.-]{{20,200}}
mercado-pago      APP_USR-                      [0-9]{{10,20}}-[0-9]{{4,8}}-[a-f0-9_]{{30,50}}-[0-9]{{5,12}}
braintree         access_token\$                (?:production|sandbox)\$[a-z0-9]{{16}}\${_H}{{32}}
xendit            xnd_production_|xnd_development_  {_AN}{{30,90}}
midtrans          Mid-server-|SB-Mid-server-    {_URL}{{20,40}}
omise             skey_                         [A-Za-z0-9_]{{18,40}}
zoho              1000\.                        {_H}{{32}}\.{_H}{{32}}
anyscale          esecret_                      {_AN}{{20,60}}
llama-cloud       llx-                          {_AN}{{40,60}}
coze-key          pat_                          (?=\w*[0-9])(?=\w*[A-Z]){_AN}{{60,70}}(?!\w)
dify-key          app-|dataset-                 (?=\w*[0-9])(?=\w*[A-Z])(?=\w*[a-z]){_AN}{{24}}(?![\w-])
fastgpt           fastgpt-                      {_AN}{{40,80}}
baidu-key         bce-v3/                       ALTAK-{_AN}{{18,26}}/{_H}{{40}}
aliyun-sts        STS\.                         (?=\w*[0-9]){_AN}{{20,40}}
brave-key         BSA                           (?=\w*[0-9]){_URL}{{27,29}}(?![\w-])
browserbase       bb_live_|bb_test_             {_URL}{{24,50}}
inngest           signkey-                      (?:prod|test|branch)-{_H}{{32,64}}
onesignal         os_v2_app_|os_v2_org_         [a-z0-9]{{60,110}}
helic-key         sk-helicone-|pk-helicone-     [a-z0-9-]{{20,60}}
youtrack          perm:|perm-                   [A-Za-z0-9+/=]{{6,80}}[.=][A-Za-z0-9+/=]{{2,60}}\.[A-Za-z0-9]{{20,60}}
salesforce        00D                           {_AN}{{12,15}}![A-Za-z0-9_.]{{60,130}}
infisical         st\.                          {_H}{{24}}\.{_H}{{32}}\.{_H}{{32}}
telnyx            KEY0                          {_URL}{{30,40}}_{_AN}{{20,30}}
statsig           secret-                       (?=\w*[0-9])(?=\w*[A-Z])(?=\w*[a-z]){_AN}{{40,50}}(?![\w-])
tigris            tsec_                         [A-Za-z0-9+/_]{{40,80}}
dependency-track  odt_                          (?=\w*[0-9])(?:{_AN}{{8}}_)?{_AN}{{32}}(?!\w)
flexport          shltm_                        {_URL}{{36,44}}
sourcegraph       slk_                          {_H}{{64}}(?!\w)
fullstory         na1\.|eu1\.                   [A-Za-z0-9+/]{{80,160}}
teamwork          tkn\.v1_                      [A-Za-z0-9+/]{{60,80}}
ubidots           BBFF-|BBUS-                   {_AN}{{30,36}}(?!\w)
voiceflow         VF\.DM\.|VF\.WS\.             {_H}{{24}}\.{_AN}{{16}}
pagarme           ak_live_|ak_test_|ek_live_|ek_test_  (?=\w*[0-9]){_AN}{{20,60}}(?!\w)
pubnub-secret     sec-c-                        {_URL}{{30,80}}
klaviyo-key       pk_                           {_H}{{34}}(?!\w)
column-bank       live_|test_                   (?=(?:[a-z]{{0,12}}[0-9]{{1,4}}){{3}})[a-z0-9]{{24,32}}(?!\w)
""".strip()  # noqa: E501

_BEFORE = (
    # Tokens of two parts, the first of which is no run of token characters: kind, what stands before, the run itself.
    (
        "telegram-token",
        lazy_pattern(r"(?<![0-9])[0-9]{8,10}(?::|%3[Aa])$"),
        lazy_pattern(rf"AA{_URL}{{30,36}}(?![\w-])"),
    ),
    (
        "asana-pat",
        lazy_pattern(r"(?<![0-9])[0-2]/[0-9]{10,20}(?:/[0-9]{10,20})?[:/]$"),
        lazy_pattern(rf"{_H}{{32}}(?!\w)"),
    ),
    ("google-refresh", lazy_pattern(r"(?<![A-Za-z0-9/:])1//$"), lazy_pattern(rf"0{_URL}{{30,120}}")),
    ("facebook", lazy_pattern(r"(?<![0-9])[0-9]{15,16}(?:\||%7[Cc])$"), lazy_pattern(r"[A-Za-z0-9_-]{27,40}(?![\w-])")),
    ("ghost-key", lazy_pattern(r"(?<!\w)[a-f0-9]{24}:$"), lazy_pattern(rf"{_H}{{64}}(?!\w)")),
    ("astra-token", lazy_pattern(r"AstraCS:[A-Za-z0-9]{10,40}:$"), lazy_pattern(rf"{_H}{{40,80}}")),
)


@dataclass(frozen=True, slots=True)
class _Shape:
    kind: str
    text: str
    prefix: str


@cache
def _index() -> dict[str, tuple[_Shape, ...]]:
    """Shapes by the first two characters that they begin with."""
    found: dict[str, list[_Shape]] = {}
    for line in _TABLE.split("\n"):
        kind, prefixes, rest = line.split(None, 2)
        for prefix in prefixes.split("|"):
            plain = prefix.replace("\\", "")
            found.setdefault(plain[:2], []).append(_Shape(kind, prefix + f"(?:{rest})", prefix))
    return {start: tuple(shapes) for start, shapes in found.items()}


@cache
def _starts() -> frozenset[bytes]:
    prefixes = (prefix.replace("\\", "") for line in _TABLE.split("\n") for prefix in line.split(None, 2)[1].split("|"))
    return frozenset(prefix[:4].encode() for prefix in prefixes)


def may_begin(start: bytes) -> bool:
    """Whether a run without a digit, by its first four characters, may be a token."""
    return start in _starts() or start[:3] in (b"sk-", b"hf_")


@cache
def _compiled(shape: str) -> re.Pattern[str]:
    return re.compile(shape)


_WHOLE = (
    # Tokens without a prefix of their own: kind, a sign that the run must hold, the form of the whole run.
    ("mailchimp-key", "-us", lazy_pattern(r"(?<![\w-])[a-f0-9]{32}-us[0-9]{1,2}(?![\w-])")),
    ("ai-key", ".", lazy_pattern(r"(?<![\w.-])[a-f0-9]{32}\.[A-Za-z0-9]{16}(?![\w.-])")),
    ("airtable-pat", ".", lazy_pattern(r"(?<!\w)pat[A-Za-z0-9]{14}\.[a-f0-9]{64}(?!\w)")),
    (
        "airtable-oauth",
        ".v1.",
        lazy_pattern(
            r"(?<![\w.-])[A-Za-z0-9]{7,20}\.v1\.(?=[\w-]*[0-9])(?=[\w-]*[A-Z])[\w-]{9,400}\.[a-f0-9]{12,128}(?!\.?[\w-])"
        ),
    ),
    ("terraform-token", ".atlasv1.", lazy_pattern(r"(?<!\w)[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,72}")),
    (
        "discord-token",
        ".",
        lazy_pattern(r"(?<![\w-])[MNO][A-Za-z0-9_-]{23,27}=?\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,42}"),
    ),
    ("azure-secret", "Q~", lazy_pattern(r"(?<![\w~.-])[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,35}")),
    ("azure-devops", "AZDO", lazy_pattern(r"(?<!\w)[A-Za-z0-9]{72,76}AZDO[A-Za-z0-9]{4}(?!\w)")),
    *(
        (
            "azure-key",
            mark[:2],
            lazy_pattern(rf"(?<!\w)[A-Za-z0-9]{{52,76}}{re.escape(mark)}[A-Za-z0-9=]{{0,40}}"),
        )
        for mark in ("JQQJ99", "AzSe", "+AMC", "+ASt", "+ARm", "ACDb", "APIM")
    ),
    ("deepl-key", ":f", lazy_pattern(r"(?<![\w-])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}:fx(?!\w)")),
    ("newrelic-key", "NRAL", lazy_pattern(r"(?<!\w)[a-z0-9]{36}NRAL(?!\w)")),
    ("maxmind-key", "_mmk", lazy_pattern(r"(?<!\w)[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?!\w)")),
    # A hyphen stands in many runs, so only long ones are looked at.
    ("mailgun-key", "", lazy_pattern(r"(?<![\w-])[a-h0-9]{32}-[a-h0-9]{8}-[a-h0-9]{8}(?![\w-])")),
    (
        "numbered-key",
        "",
        lazy_pattern(
            r"(?<![\w-])(?=[0-9]+-[0-9A-Z]*[a-z])(?=[0-9]+-[0-9a-z]*[A-Z])"
            r"(?:[0-9]{1,4}-[A-Za-z0-9]{64}|[0-9]{6,20}-[A-Za-z0-9]{40})(?![\w-])"
        ),
    ),
)
_COMPLETE = lazy_pattern(
    # Lengths that the vendors give to tokens whose shape above is wider.
    r"""(?x)
      gh[pousr]_[A-Za-z0-9]{36} | ghr_[A-Za-z0-9]{76} | github_pat_\w{82} | glpat-[\w-]{20} | npm_[A-Za-z0-9]{36}
    | (?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16} | LTAI[A-Za-z0-9]{20} | AKID[A-Za-z0-9]{32} | GOCSPX-[\w-]{28}
    | sk-ant-[a-z0-9]+-[\w-]{95} | sk-[A-Za-z0-9]{48} | sk-proj-[\w-]{156} | sk-or-v1-[a-f0-9]{64} | gsk_\w{52}
    | xai-\w{80} | pplx-\w{48} | hf_[A-Za-z0-9]{34} | r8_\w{37} | [sr]k_(?:live|test)_(?:\w{24}|\w{99})
    | whsec_[A-Za-z0-9]{32} | hv[sb]\.\w{24} | dckr_pat_[\w-]{27} | figd_[\w-]{40} | nfp_\w{36} | ph[xs]_\w{43}
    | SG\.[\w-]{22}\.[\w-]{43} | xox[bp](?:-[0-9]{10,13}){2,3}-(?:[A-Za-z0-9]{24}|[a-f0-9]{32})
    | eyJ[\w-]+\.eyJ[\w-]+\.(?:[\w-]{43}|[\w-]{64}|[\w-]{86}|[\w-]{342}|[\w-]{683}) | AT[ACS]TT3[\w-]+=[A-F0-9]{8}
    """
)
_TAIL = lazy_pattern(r"[A-Za-z0-9_]")


def tokens(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Spans (start, end, kind) of tokens that begin inside a run of token characters, `text[start:end]`."""
    run = text[start:end]
    for at in _places(text, run, start):
        for shape in _index().get(text[at : at + 2], ()):
            match = _compiled(shape.text).match(text, at)
            if match is None or not _bounded(text, match):
                continue
            yield match.start(), match.end(), shape.kind
            break
    if start and text[start - 1] in ":/A|Cc":
        for kind, before, shape in _BEFORE:
            head, tail = before.search(text, max(0, start - 80), start), shape.match(text, start)
            if head is not None and tail is not None:
                yield head.start(), tail.end(), kind
    if "_" in run or "-" in run:
        first = start + len(run) - len(run.lstrip("-._~+/"))
        said = _by_prefix(text, first, end)
        if said is not None:
            yield *said, "token"
    signs, long = text[start : end + 2], len(run) > 46 and "-" in run
    for kind, mark, shape in _WHOLE:
        if mark in signs if mark else long:
            for match in shape.finditer(text, start, min(len(text), end + 60)):
                yield match.start(), match.end(), kind


_SAYS_SECRET = lazy_pattern(
    # A vendor that no rule knows: a word of the prefix says what follows, and that is drawn at random.
    r"""(?x) (?<![\w.-]) (?:[A-Za-z][A-Za-z0-9]{0,11}[_-]){0,3}?
      (?:(?P<sure>sk|secret|token|tok|pat|apikey|priv|oat|srvtok|pk_priv) | key|live|prod|api|auth|admin|sec|svc) [_-]
      (?:[A-Za-z][a-z0-9]{0,7}[_-]){0,2} (?P<s>[A-Za-z0-9]{20,200}) (?![\w-])
    """
)


_LONG = lazy_pattern(r"(?<![\w.-])[a-z][a-z0-9]{1,11}_(?P<s>[A-Za-z0-9][A-Za-z0-9_-]{35,200})(?![\w-])")


def _drawn(value: str) -> bool:
    """Both cases and digits, well mixed, over a length that no name has."""
    bare = value.replace("-", "").replace("_", "")
    return (
        len(bare) >= 34 and random_like(bare, 34) and bare != bare.lower() and bare != bare.upper() and is_mixed(bare)
    )


def _by_prefix(text: str, start: int, end: int) -> tuple[int, int] | None:
    match = _SAYS_SECRET.match(text, start, min(len(text), end + 1))
    if match is None:
        match = _LONG.match(text, start, min(len(text), end + 1))
        return match.span() if match is not None and _drawn(match["s"]) else None
    value = match["s"]
    mixed = value != value.lower() and value != value.upper() and sum(map(str.isdigit, value)) >= 2
    if (
        (mixed or match["sure"])
        and random_like(value, 20)
        and (mixed or not is_hex(value) or len(value) not in (40, 64))
    ):
        return match.start(), match.end()
    return None


def shapes_of(token: str) -> list[re.Pattern[str]]:
    """The shapes of those vendors whose tokens begin like this one."""
    return [_compiled(shape.text) for shape in _index().get(token[:2], ()) if _compiled(shape.prefix).match(token)]


def complete(token: str) -> bool:
    """Whether a token has the whole length that its kind has, so that nothing of it stands on the next line."""
    if _COMPLETE.fullmatch(token):
        return True
    shapes = [shape for shape in _index().get(token[:2], ()) if _compiled(shape.text).fullmatch(token)]
    return bool(shapes) and not any(
        (match := _compiled(shape.text).match(token + more)) and match.end() > len(token)
        for shape in shapes
        for more in ("a", "A", "0")
    )


def _bounded(text: str, match: re.Match[str]) -> bool:
    # What goes on in the same alphabet is something else, unless the run was longer than the shape allows.
    return match.end() >= len(text) or _TAIL.match(text, match.end()) is None or match.end() - match.start() > 240


def _places(text: str, run: str, start: int) -> Iterator[int]:
    """Where a token may begin: at the run's first letter, after a dot, after an escape that ends in a letter."""
    shift = len(run) - len(run.lstrip("-._~+/"))
    yield start + shift
    before = text[start - 1 : start] if start else ""
    if before == "\\":
        yield start + 1
    elif before == "%":
        yield start + 2
    for sign in ".-_":
        at = run.find(sign, shift)
        while at >= 0 and at < 400:
            if sign not in "-_" or run[at + 1 : at + 4] in ("ghp", "sk-", "xox", "gsk", "eyJ", "AKI", "npm"):
                yield start + at + 1
            at = run.find(sign, at + 1)
