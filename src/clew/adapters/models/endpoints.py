"""Where a model is reached: provider, address and key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from clew.adapters.models.keys import Key, find_key, variables
from clew.core.ports import THINKING
from clew.errors import ConfigError, ModelKeyMissing

OLLAMA = "http://127.0.0.1:11434"

_VARIABLES = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL", "ollama": "OLLAMA_HOST"}
_DEFAULTS = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "ollama": f"{OLLAMA}/v1",
}
_THINKS = {
    "anthropic": re.compile(r"claude-(3-7|[a-z]+-\d)"),
    "openai": re.compile(r"o\d|codex-|gpt-([5-9]|\d\d)(?!.*-chat)"),
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address."""

    provider: str
    model: str
    url: str
    """Base URL as the provider's own client takes it, without a trailing slash."""
    key: Key | None = field(default=None, repr=False)
    silence: float = 120.0
    """Seconds without a byte after which the request is given up."""
    thinking: str = "auto"
    """One of `ports.THINKING`."""

    @property
    def name(self) -> str:
        """`provider:model`."""
        return f"{self.provider}:{self.model}"

    @property
    def can_be_told(self) -> bool:
        """Whether this model takes word on how long to think: Claude from 3.7 on and OpenAI's reasoning models do."""
        thinks = _THINKS.get(self.provider)
        return thinks is not None and thinks.match(self.model) is not None

    @property
    def told(self) -> str:
        """What the model is told of thinking, one of `ports.THINKING`."""
        return self.thinking if self.can_be_told else "auto"

    @property
    def thoughts(self) -> int:
        """Tokens that an answer gets on top, for thoughts."""
        return THINKING[self.told]

    @property
    def secret(self) -> str:
        """The key's text; empty where there is none."""
        return self.key.value if self.key else ""


def base_url(provider: str, endpoints: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """Return the base URL for `provider`: the settings' endpoint, else the variable, else the provider's own.

    Empty for an unknown provider without an endpoint. Raises ConfigError for what is no URL.
    """
    variable = _VARIABLES.get(provider, "")
    given = endpoints.get(provider) or environ.get(variable, "")
    if not given.strip():
        return _DEFAULTS.get(provider, "")
    if provider == "ollama":
        return f"{_ollama(given)}/v1"
    url = _checked(given, variable or f"the endpoint of {provider}")
    # Anthropic's client adds the version itself; gateways are often documented with it.
    return url.removesuffix("/v1") if provider == "anthropic" else url


def locate(
    provider: str, model: str, endpoints: Mapping[str, str], environ: Mapping[str, str], silence: float,
    thinking: str = "auto",
) -> Endpoint:  # fmt: skip
    """Return the endpoint for a model. Raises ModelKeyMissing where the provider's own service needs a key."""
    url = base_url(provider, endpoints, environ)
    key = find_key(provider, environ)
    if key is None and needs_key(provider, url):
        first = variables(provider)[0]
        raise ModelKeyMissing(
            f"{provider}:{model} needs a key, and there is none",
            hint=f"set {first}, or keep it in the system keyring: `keyring set clew {provider}`",
            provider=provider,
        )
    return Endpoint(provider, model, url, key, silence, thinking)


def needs_key(provider: str, url: str) -> bool:
    """Tell whether a request without a key is pointless: so it is at the providers' own addresses."""
    return urlsplit(url).hostname in ("api.anthropic.com", "api.openai.com")


def _ollama(value: str) -> str:
    """Return the base URL for what OLLAMA_HOST holds: a URL, `host`, `host:port` or `:port`."""
    text = value.strip().rstrip("/").removesuffix("/v1")
    scheme, found, rest = text.partition("://")
    if not found:
        scheme, rest = "http", text
    host, slash, path = rest.partition("/")
    if host.startswith(":"):
        host = f"127.0.0.1{host}"
    if not found and not re.search(r":[0-9]+$", host):
        host += ":11434"
    # A server listens on all addresses; a client needs one.
    host = re.sub(r"^(0\.0\.0\.0|\[::\])(?=:|$)", "127.0.0.1", host)
    return _checked(f"{scheme}://{host}{slash}{path}", "OLLAMA_HOST")


def _checked(url: str, source: str) -> str:
    url = url.strip().rstrip("/")
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        secret = "@" in parts.netloc
    except ValueError:
        good = secret = False
    if secret or not good:
        # The value may hold a password: it is not repeated.
        raise ConfigError(
            f"{source} is no usable URL", hint="it begins with `http://` or `https://`, and holds no password"
        )
    return url
