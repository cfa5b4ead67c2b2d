"""Keys without a form of their own, known by whose they are: `heroku: …`, `wandb …`, `"datadog" => "…"`.

The name of a vendor alone, or with words like `key`, stands before a value that is drawn at random. A vendor whose
tokens all have a prefix is not listed: `redact_tokens` finds them, and what else stands beside its name is an id.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact_values import Words, harmless, identifier, is_hex, is_mixed, is_uuid, random_like

Found = tuple[int, int, str]

_PART_BEFORE = frozenset(string.ascii_letters + string.digits + "/@\\")
"""Before the rest of another word, a path or a package."""

_VENDORS = frozenset(
    b"""
    abstractapi abtasty abuseipdb adafruit adobe adyen africastalking aftership airbrake aircall airtable aiven
    akamai algolia alibaba alienvault alphavantage amap anypoint anyscale apifonica apify apilayer apimetrics
    apitemplate apolloio appcenter appcues appfollow appointedd appoptics appsflyer appsignal appsynergy appveyor
    aquasec arize artifactory asana assemblyai atera atlassian autoklose aviationstack axonaut ayrshare backblaze
    baichuan bannerbear baremetrics baseten beebole besnappy besttime betterstack bigcommerce binance bintray
    bitbucket bitcoinaverage bitfinex bitflyer bitget bitly bitmex bitpay bitrise bitstamp bittrex blazemeter
    blitapp blockchair blockcypher blockfrost blocknative blockonomics blynk bombbomb borgbase braintrust branchio
    brandfetch braze browserless browserstack browshot bscscan btcpay buddyns budibase bugcrowd bugherd bugly
    bugsnag buildkite bulksms bunnycdn buttercms bybit calendarific calendly calorieninja campayn capsulecrm
    carboninterface censys centralstationcrm cerebrium chargebee chartmogul chatbase chatfuel checkly checklyhq
    checkmarx checkr chromatic circleci civitai civo clarifai clearbit clevertap clickatell clickfunnels clicksend
    cliengo clockify cloudamqp cloudconvert clouddns cloudflare cloudimage cloudinary cloudmersive cloudplan
    cloudsight cloudsmith cloverly codacy codeclimate codecov codefresh codemagic codequiry codesandbox cohere
    coinapi coinbase coingecko coinlayer coinlib coinmarketcap coinpayments cometml commercejs composio configcat
    confluent contabo contentful contentstack conversiontools convertapi convertcom convertio convertkit copyleaks
    coreweave countrylayer covalent coveralls craftmypdf crawlbase crazyegg cronitor crowdin crowdstrike
    cryptocompare currencyapi currencyfreaks currencylayer currencyscoop currentsapi customerio cyberark dareboost
    dashscope databento databox datadog dataforseo datasette datocms deadmanssnitch deepai deepgram deepinfra deepl
    deepsource defillama deribit descope detectify detectlanguage devcycle dialpad diffbot diggernaut digicert
    directus discogs dixa dnsimple dnsmadeeasy docparser docraptor documo dreamhost dronahq droneci dropbox
    dropcontact duckdns duosecurity dynadot dynalist dynatrace dyspatch easemob easyship ecostruxureit ecwid edamam
    edenai elasticemail emailjs emailoctopus equinix etherscan ethplorer etsy eventbrite everhour exaai exchangerate
    exchangerateapi exchangeratesapi exoscale extractorapi facebook falai fastforex fasthosts fastly fastspring
    faunadb feedbin feedly fetchrss filestack finage findymail finicity finnhub fireworksai fixerio flagsmith
    fleetbase flexport flickr flightapi flightaware flightlabs flutterflow fontawesome formbucket formcraft formio
    foursquare freecurrencyapi freshbooks freshchat freshdesk freshservice friendli frontegg ftrack fullcontact
    fullstory fusionauth gandi gateio geckoboard geoapify geocodify geocodio geoipify getaddress getgeoapi
    getresponse getui gitea gitguardian gitpod gitter gladia gladly glassnode glitchtip gnews gocardless godaddy
    goodday gorgias gradium graphcms graphhopper greynoise groovehq growthbook gtmetrix gumroad gupshup gyazo
    happyscribe hasura hcaptcha hcloud helicone heliconia hellosign helpcrunch helpscout helpwise hereapi heroku
    hetzner heygen hiveage holidayapi honeybadger hootsuite hotjar html2pdf hubspot humanloop hunterio huobi hygraph
    hyperping hypixel iconfinder ideogram iexcloud iflytek igdb imagekit imagga imgbb imgix imgur imperva incapsula
    influx influxdb infobip infura insightly inspectlet instabot instana instapage instatus intercom intezer
    intrinio inworld ip2location ipapi ipdata ipgeolocation ipinfo ipinfodb ipqualityscore ipstack iqair jdoodle
    jenkins jfrog jotform jpush juhe jumpcloud jupiterone kaggle kagi kamatera kameleoon keycdn kickbox kixie klarna
    klaviyo klipfolio knapsackpro kontent koyeb kraken kucoin kustomer kylas lacework lambdalabs languagelayer
    languagetool lastfm launchdarkly leadfeeder leadpages leancloud lemlist lemonfox lemonsqueezy lemwarm leonardoai
    lexigram lichess linkedin linkpreview linode livechat livekit livestorm loadmill locationiq logdna loggly
    loginradius logrocket logtail logzio lokalise loyverse lumaai lunchmoney lusha mailboxlayer mailchimp mailcow
    mailerlite mailersend mailgun mailjet mailmodo mailosaur mailpace mailsac mailshake mailtrap mandrill mapquest
    maptiler marketo marketstack matomo mattermost maxmind mediastack meili meilisearch mem0 meraki mercadopago
    meshy messagebird messari metaapi mexc mindmeister mixmax mixpanel mockaroo monkeylearn moonclerk moonshot
    moosend moralis mouseflow mouser msg91 musixmatch namecheap namecom namesilo nasdaqdatalink nebius netbird
    netcore netdata netlify newrelic newsapi newscatcher newsdata nexmo nextdns nftport ngrok nicereply nightscout
    nomics northflank novita novu nowpayments nozbe nozbeteams ns1 numverify nutritionix nylas nytimes oanda octoai
    okteto okx olark omdb omdbapi omnisend onelogin onesignal onfleet oopspam opencage opencagedata
    openexchangerates opensea opensubtitles openuv openweather openweathermap opsgenie optimizely otx ovh owlbot
    packagecloud pagerduty pandadoc pandascore paperform paperspace papertrail paralleldots parcelhub parseur
    partnerstack pastebin paymongo pdflayer pdfmonkey pdfshift peopledatalabs pepipost percy pexels phantombuster
    phemex pinecone pingdom pingone pinterest pipedream pipedrive pixabay plaid planetscale planyo platformsh plivo
    pluralsight podio poloniex polygonio porkbun portkey positionstack postageapp posthog postmark postmarkapp
    powrbot predicthq prestashop printful prismic privateai prodpad propelauth proxycrawl pubnub pushbullet pusher
    pushover pyowm qase qiniu qualaroo qualtrics qualys quandl qubole questdb quicknode qweather rackspace rapid7
    rapidapi rawg raygun reachmail reamaze rebrandly recaptcha recombee recurly relic replit replyio requestfinance
    restpack revenuecat ringcentral ritekit roboflow rocketreach rollbar rongcloud route4me rudderstack runpod
    runscope runwayml salesblink salescookie salesflare salesloft sambanova sauce saucelabs scaleway scrapeowl
    scraperapi
    scraperbox scrapestack scrapfly scrapingant scrapingbee scrapingdog screenshotapi screenshotlayer searchapi
    securitytrails selectpdf semgrep semrush sendbird sendcloud sendgrid sendinblue sendpulse sentinelone sentry
    serpapi serper serphouse serpstack shipengine shipstation shodan shopify shotstack shutterstock signalwire
    signaturit sigopt siliconflow simplesat simvoly sinch skrapp skyscanner smartling smartlook smartsheet
    smartsheets smtp2go snipcart snov snovio snyk socketlabs solarwinds solcast sonarcloud sonarqube soundcloud
    sourcegraph sparkpost speechify speechtext splunk spoonacular sportmonks sportradar sportsmonk squarespace
    squareup sslmate stabilityai stackhawk stackpath statsig statuscake statuspage statuspal stepfun stitchdata
    stockdata stormglass storyblok storychief strava stytch submail sucuri sumologic supermemory supernotes
    supertokens surveybot surveymonkey surveysparrow survicate swiftype sysdig talkdesk tatumio tavily tawk taxjar
    teamcity tefter telegram telnyx tenable termii testrail textlocal textmagic thingsboard thousandeyes
    thunderforest tianapi ticketmaster tickettailor tidio tiingo tillhub timecamp timezoneapi tinypng tmdb tmetric
    todoist togetherai toggl tomorrowio tomtom trackjs tradier trakt transifex transloadit travelpayouts travis
    travisci trello tripadvisor truora turbopuffer tvdb twelvedata twelvelabs twilio twingate twistlock twitch
    twitter twocaptcha typeform typesense ubidots umami umeng unbounce unleash unsplash upcdatabase upcloud uplead
    uploadcare upstash upsun uptimerobot upyun urlscan userflow userstack uxcam vastai vbout vectara venafi veracode
    veriphone versioneye viewneo virustotal visualcrossing voiceflow voicegain volcengine vonage voodoosms vpnapi
    vulncheck vultr vwo waaapi wakatime walkscore wandb weatherapi weatherbit weatherstack weaviate web3forms
    web3storage webex webflow webscraper webscraping weglot whitesource whoxy wistia wolframalpha worksnaps
    worldcoinindex worldweatheronline wrike xero xfyun yelp ynab yodlee yousign youtrack yunpian zapier zendesk
    zenrows zenscrape zenserp zeplin zeptomail zerobounce zerotier zhipu zilliz zipcodeapi zipcodebase zonka
    zoominfo zulip
    """.split()
)
_WORDS_TOO = frozenset(
    b"""
    agora alchemy alpaca amplitude apollo box bunny canny chatbot close coda column confluence courier crisp
    delighted deputy discord drift enigma exa expo fauna fixer float fossa front gemini genius ghost giphy gong
    greenhouse hunter hyperbolic instantly iterable jira karma lepton linear looker loops mailbox mapbox miro
    monday mux nexus nimble outreach paddle particle railway raven refiner render replicate runway sanity
    segment semaphore shortcut socket sonar spotify stability sumo tatum teletype tink vantage wise wiz
    woodpecker workable zoom
    """.split()
)
"""Vendors whose names say something else as well: a word like `key` must stand between, or `=`."""
_NAMES = _VENDORS | _WORDS_TOO
_SAYS = (
    r"(?:(?:client|app|user|server|account|site|repo|project|org|team|service|consumer|subscription|integration|deploy"
    r"|customer|personal|bot|rest|admin|master|signing)[ _.-]?)?"
    r"(?:api|key|token|secret|auth|oauth|access|private|pat|pass|password|pw|login|creds?|credentials?|license|licence"
    r"|ingest|write|read|bearer|crumb|authorization)s?"
)
_FILLS = (
    r"is|was|the|our|my|one|with|using|set|to|as|now|live|prod|production|staging|stage|dev|test|sandbox|new|old|value"
    r"|default|env|v[0-9]|[0-9]|cli|io|ai|crm|personal|server|admin|root|repo|master|search|main|rest|consumer|refresh|thing|use|take|it|s|[kt]|密钥|秘钥|令牌|口令|凭证|授权码|的|是|为|用|使用|新|旧|这个"
)
_ASIDE = r"\([^()\n]{1,30}\)|\([\"'][^\"'()\n]{1,60}[\"'],|</?[a-z]{1,12}>|[\w.+-]{1,40}+@[\w.-]{1,40}+"
"""A remark, a first argument, a tag, the mail address of who has the key."""
_SIGNS = r"[\s_.:=>?|,(\"'’`*\[\]{}：＝，→–—-]"
_AFTER_NAME = lazy_pattern(
    rf"(?P<between>(?:{_SIGNS}{{0,8}}(?:(?i:{_SAYS}|{_FILLS})(?![a-zA-Z])|{_ASIDE})){{0,7}}?(?:{_SIGNS}{{1,10}}|(?<=>))"
    r"|(?P<rest>(?:_[A-Z0-9]{2,20}){1,3})=[\"']?)"
    r"(?P<s>[A-Za-z0-9][A-Za-z0-9_+/~-]{15,200}?={0,2})(?=[\"'`*)\]},;|<，。；\s]|\.(?:\s|\Z)|\\[nr\"']|\Z)"
)
_SAID = lazy_pattern(rf"(?i)(?<![a-z])(?:{_SAYS})(?![a-z])|密钥|秘钥|令牌|口令|凭证|授权码")
_CLEAR = lazy_pattern(r"(?i)key|token|secret|api|pass|crede|crumb|licen[cs]e|密钥|秘钥|令牌|口令|凭证|授权码")
_VALUE_BELOW = lazy_pattern(r":\**[ \t]*\r?\n|\n[ \t]*<|\n[ \t]+\"?(?:value|default)\b")
_APART = lazy_pattern(r"[^\w.-]")
_ASSIGNS = lazy_pattern(r"[=＝]|\|\|")
_GIVES = lazy_pattern(r"[:：=＝>→@]|\|\|")
_CODE_WORDS = (
    r"\b(?:commit|sha-?[0-9]*|hash|digest|checksum|integrity|md5|rev|revision|ref|tag|image|from|uses|git|docker|push"
    r"|pull|merge|build|bump|revert|fix|pin|version|deploy(?:ed|ment)?|release|request|trace|span|event|session|job|id|ids|uuid|guid)\b"
)
_ABOUT_CODE = lazy_pattern(f"(?i){_CODE_WORDS}")
_REMARK = lazy_pattern(rf"(?i)[\"'`]?,? {{0,4}}(?:#|//|\() ?[^\n]{{0,30}}?{_CODE_WORDS}")
_IDS = lazy_pattern(
    r"(?:[A-Z]{2}|d-|[a-z]{2,7}_)[0-9a-f]{24,32}|(?:app|tbl|rec|viw|fld|usr|wsp)[A-Za-z0-9]{14}|(?:pk|pub)[_.-].*"
    r"|0x[0-9a-fA-F]+|bc1[a-z0-9]+"
)
"""What is shown openly: ids of an account, a template, a table; keys made to be published; addresses of a wallet."""
_GROUPS = lazy_pattern(r"(?=.*[0-9])(?:[A-Z0-9]{5,8}-){3,5}[A-Z0-9]{5,8}|(?=.*[a-f])(?=.*[0-9])[0-9a-fA-F-]{30,60}")
_SET = lazy_pattern(r"(?m)^[ \t>│|+-]{0,8}(?:export |set |ENV |ARG |env )?(?P<name>[A-Z][A-Z0-9_]{2,60})=[\"']?\Z")
_OPEN = frozenset(
    "PUBLIC PUBLISHABLE ID IDS UUID GUID APPID CLIENT KID HASH SHA SHA1 SHA256 DIGEST SUM CHECKSUM FINGERPRINT PIN CERT"
    " URL COMMIT REV REVISION REF VERSION BUILD RELEASE TAG SLUG TRACE SPAN EVENT REQUEST ACCOUNT ORG PROJECT"
    " TEAM WORKSPACE SPACE ZONE SITE BUCKET DSN HOST DOMAIN REGION NAME USER EMAIL TEMPLATE LIST INDEX VERIFICATION"
    " CHALLENGE FILE PATH DIR MODEL IMAGE".split()
)
"""What the names of variables that are no secrets hold."""


def _is_open(name: str) -> bool:
    return not _OPEN.isdisjoint(name.split("_"))


def of_environment(text: str, start: int, end: int) -> Iterator[Found]:
    """`ANY_NAME=…` on a line of its own: what is long and well mixed there is a key, if its name calls it no id.

    `start` and `end` are those of a run of token characters.
    """
    value = text[start:end]
    if not (32 <= len(value) <= 200 and value.isalnum() and value != value.lower() and value != value.upper()):
        return
    name = _SET.search(text, max(0, start - 80), start)
    if name is None or _is_open(name["name"]) or text[end : end + 1] not in ("", *"\"'\r\n \t"):
        return
    if (_changes(value) or is_mixed(value)) and random_like(value) and not harmless(value):
        yield start, end, "secret"


def of_vendors(text: str, lower: bytes, words: Words) -> Iterator[Found]:
    """Spans of values drawn at random behind the name of a vendor."""
    for name in _NAMES & words.each:
        at = lower.find(name)
        while at >= 0:
            end = at + len(name)
            match = None if at and text[at - 1] in _PART_BEFORE else _AFTER_NAME.match(text, end, end + 330)
            if match is not None and _is_key(text, at, match, word_too=name in _WORDS_TOO):
                yield *match.span("s"), "vendor-key"
            at = lower.find(name, end)


def _is_key(text: str, at: int, match: re.Match[str], *, word_too: bool) -> bool:
    between, value = match["between"], match["s"]
    said = _SAID.search(between) is not None
    if not _APART.search(between) or (word_too and not said and not _ASSIGNS.search(between)):
        return False
    if "\n" in between and not said and not _VALUE_BELOW.search(between):
        return False
    if harmless(value) or identifier(value) or _IDS.fullmatch(value) or _is_open(match["rest"] or ""):
        return False
    if not is_uuid(value) and not is_hex(value):
        return _drawn(value, said=said)
    if _CLEAR.search(between) is not None:
        return True
    if len(value) in (40, 64) and not (said or _GIVES.search(between) or between.strip() == "|"):
        # `heroku-cli | 8.0 | 4be1…`: as long as the ids of commits and the digests of files are.
        return False
    if not between.strip(" \t])") and (is_uuid(value) or len(value) == 32):
        # `sentry 6f0c…` in a log is what happened, not with what key.
        return False
    before = text[max(text.rfind("\n", 0, at), at - 60, 0) : at]
    about = _ABOUT_CODE.search(before) or _REMARK.match(text, match.end("s"))
    return len(value) >= (24 if said else 32) and not about and not _listed(text, match)


def _listed(text: str, match: re.Match[str]) -> bool:
    """Whether the line above or below holds a value of the same length: a list of digests, as lock files have them."""
    start, end = match.span("s")
    if "=" in match["between"] or end - start not in (32, 40, 64):
        return False
    around = text[max(0, start - 200) : start] + " " + text[end : end + 200]
    return re.search(rf"(?<![0-9a-f])[0-9a-f]{{{end - start}}}(?![0-9a-f])", around) is not None


def _changes(value: str) -> bool:
    """Whether letters change their case, or give way to digits, more often than the words of any name."""
    pieces = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", value)
    return (
        len(value) >= 20 and value.isalnum() and len(pieces) >= 6 and sum(map(str.isalpha, value)) < 2.6 * len(pieces)
    )


def _drawn(value: str, *, said: bool) -> bool:
    """Whether a value with letters and digits is drawn at random; parts between signs are words as well."""
    digits = sum(map(str.isdigit, value))
    if digits < 2 or not any(map(str.isalpha, value)):
        return _changes(value)
    if value.isalnum():
        return random_like(value) or _changes(value) or (said and digits >= 4)
    if _GROUPS.fullmatch(value):
        return True
    parts = re.findall(r"[A-Za-z0-9]+", value)
    if "/" in value or "+" in value:
        return len(value) >= 32 and value != value.lower() and is_mixed(value)
    return random_like(value) and (
        any(len(part) >= 16 and random_like(part) for part in parts) or (len(value) >= 32 and is_mixed(value))
    )
