"""Which models there are, by name, and which of them can be used here."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clew.adapters.models import embedded
from clew.adapters.models.agent_cli import AgentCliModel, find, version
from clew.adapters.models.agent_clis import CLIS
from clew.adapters.models.endpoints import Endpoint, base_url, locate, needs_key
from clew.adapters.models.keys import Key, find_key, variables
from clew.adapters.models.scripted import read_script
from clew.core.ports import Chunk, Message, Model
from clew.errors import ClewError, ConfigError, ModelUnknown

EMBEDDED = "embedded"
_ALIASES = {"local": EMBEDDED}
_PROVIDERS = ("anthropic", "openai", "ollama")

_FORM = "a model is named as provider:name, for instance openai:gpt-5-mini or ollama:qwen3"


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """Whether models of one provider can be used here, for `clew models`."""

    name: str
    """`anthropic:…`, `openai:…`, `ollama:…`, a provider of the settings, a CLI such as `claude`, or `embedded`."""
    usable: bool
    why: str = ""
    """Why it cannot be used, or what to know when it can."""
    key: str = ""
    """Where the key comes from: a variable, or `keyring`; empty without one."""
    endpoint: str = ""
    models: tuple[str, ...] = ()
    """Names that the provider has; only of a server on this machine that was asked."""


class Catalogue:
    """Opens models by name."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        default: str | None = None,
        endpoints: Mapping[str, str] | None = None,
        timeout: float = 120.0,
        thinking: str = "auto",
    ) -> None:
        """Take values, not settings.

        `default` is the model for an empty name; without it, the embedded one. `endpoints` gives base URLs by
        provider; a provider beyond the known ones is taken to speak OpenAI's protocol. `timeout` is how many seconds a
        model may stay silent; `thinking`, one of `ports.THINKING`, how long it thinks.
        """
        self.default = (default or environ.get("CLEW_MODEL", "")).strip() or EMBEDDED
        self._environ = environ
        self._endpoints = dict(endpoints or {})
        self._timeout = timeout
        self._thinking = thinking
        self._embedded: dict[str, Model] = {}

    def open(self, name: str | None = None) -> Model:
        """Return the model `provider:name`, or the default. An agent CLI needs no name of a model: `claude`.

        Nothing is sent before the model is asked. Raises ModelUnknown, ModelKeyMissing, ConfigError, and NotFound for a
        script that is not there.
        """
        name, provider, model = self._parted(name)
        if provider == EMBEDDED:
            return self._open_embedded(model)
        if provider == "scripted":
            if not model:
                raise ModelUnknown("scripted: names no script", hint="scripted:FILE names a JSON file")
            return read_script(Path(model).expanduser())
        if provider in CLIS and provider not in self._endpoints:
            return AgentCliModel(provider, model.strip(), self._environ, self._timeout)
        return _Lazy(self._located(name, provider, model.strip()))

    def endpoint(self, name: str | None = None) -> Endpoint:
        """Return where the model `provider:name`, or the default, is reached by an agent, which calls tools.

        Raises ModelUnknown for a model that cannot call any, and what `open` raises.
        """
        name, provider, model = self._parted(name)
        if provider not in (EMBEDDED, "scripted") and (provider not in CLIS or provider in self._endpoints):
            return self._located(name, provider, model.strip())
        # Whoever cannot work here need not be installed.
        raise ModelUnknown(
            "the agent needs a model that calls tools, and the embedded one calls none"
            if provider == EMBEDDED
            else f"{name} cannot work as an agent: it calls no tools",
            hint="set CLEW_MODEL=provider:name, for instance anthropic:claude-sonnet-5 or ollama:qwen3; "
            "`clew models` shows what is usable here",
        )

    def list(self) -> list[ModelStatus]:
        """Return the state of every provider. Asks nobody but a server on this machine whether it is there."""
        found = [self._status(provider) for provider in self._providers()]
        found += [self._cli_status(cli) for cli in CLIS if cli not in self._endpoints]
        reason = embedded.missing()
        hint = f"{reason}; {embedded.INSTALL}" if reason else "offline; small: it shows that everything works"
        return [*found, ModelStatus(EMBEDDED, not reason, hint)]

    def _cli_status(self, name: str) -> ModelStatus:
        program = find(name, self._environ)
        if not program:
            return ModelStatus(name, False, f"not installed: npm install -g {CLIS[name].package}")
        told = version(program) or "of an unknown version"
        return ModelStatus(name, True, f"{CLIS[name].title} {told}, with its own login")

    def window(self, name: str | None = None) -> int | None:
        """Return how many tokens the model takes, prompt and answer together; None where that is not known."""
        return embedded.WINDOW if self._parted(name)[1] == EMBEDDED else None

    def _parted(self, name: str | None) -> tuple[str, str, str]:
        """What is meant by a name, or by none: the whole name, its provider and its model."""
        name = (name or "").strip() or self.default
        provider, _, model = name.partition(":")
        return name, _ALIASES.get(provider.lower(), provider.lower()), model

    def _located(self, name: str, provider: str, model: str) -> Endpoint:
        if provider not in self._providers():
            raise self._no_provider(name, provider)
        if not model:
            raise ModelUnknown(f"{provider}: names no model", hint=_FORM)
        return locate(provider, model, self._endpoints, self._environ, self._timeout, self._thinking)

    def _providers(self) -> Sequence[str]:
        return (*_PROVIDERS, *(name for name in self._endpoints if name not in _PROVIDERS))

    def _open_embedded(self, weights: str) -> Model:
        if weights not in self._embedded:
            self._embedded[weights] = (
                embedded.EmbeddedModel(Path(weights).expanduser(), name=f"{EMBEDDED}:{weights}")
                if weights
                else embedded.EmbeddedModel()
            )
        return self._embedded[weights]

    def _status(self, provider: str) -> ModelStatus:
        name = f"{provider}:…"
        try:
            url = base_url(provider, self._endpoints, self._environ)
            key = find_key(provider, self._environ)
        except ClewError as error:
            return ModelStatus(name, False, f"{error}; {error.hint}")
        if provider == "ollama":
            return self._ollama_status(name, url, key)
        source = key.source if key else ""
        if key is None and needs_key(provider, url):
            return ModelStatus(name, False, f"no key: set {variables(provider)[0]}", endpoint=url)
        return ModelStatus(name, True, "" if key else "no key, which this address may not need", source, url)

    def _ollama_status(self, name: str, url: str, key: Key | None) -> ModelStatus:
        # An HTTP client is needed here only.
        from clew.adapters.models.ollama import installed  # noqa: PLC0415

        source = key.source if key else ""
        models = installed(url)
        if models is None:
            return ModelStatus(name, False, f"no Ollama answers at {url.removesuffix('/v1')}", source, url)
        if not models:
            return ModelStatus(name, False, "Ollama runs and has no model: `ollama pull NAME` fetches one", source, url)
        why = "a prompt beyond OLLAMA_CONTEXT_LENGTH of the server is shortened there without a word"
        return ModelStatus(name, True, why, source, url, models)

    def _no_provider(self, name: str, provider: str) -> ClewError:
        known = [*self._providers(), *CLIS, EMBEDDED, "scripted"]
        near = difflib.get_close_matches(provider, known, n=1)
        if near and ":" in name:
            return ModelUnknown(
                f"there is no provider {provider}", hint=f"did you mean {near[0]}:{name.partition(':')[2]}?"
            )
        if ":" not in name:
            known_name = (near[0] if near[0] in CLIS else f"{near[0]}:NAME") if near else ""
            guess = _guess(name) or known_name
            return ModelUnknown(f"`{name}` names no provider", hint=f"did you mean {guess}?" if guess else _FORM)
        return ModelUnknown(
            f"there is no provider {provider}",
            hint=f"known: {', '.join(known)}; `endpoints` in the settings adds any that speaks OpenAI's protocol",
        )


def _guess(name: str) -> str:
    if name.startswith("claude"):
        return f"anthropic:{name}"
    return f"openai:{name}" if name.startswith(("gpt-", "o1", "o3", "o4")) else ""


@dataclass(slots=True)
class _Lazy:
    """A model behind an HTTP interface whose client library is imported when it is first asked."""

    endpoint: Endpoint
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.endpoint.name

    def stream(self, messages: Sequence[Message], *, limit: int) -> Iterator[Chunk]:
        """Stream the answer. See `Model.stream`."""
        try:
            # Takes most of a second, which a command that asks nothing should not pay.
            from clew.adapters.models.provider import ProviderModel  # noqa: PLC0415
        except ImportError as error:
            raise ConfigError(f"the client library for {self.name} is not installed", hint=str(error)) from error
        return ProviderModel(self.endpoint).stream(messages, limit=limit)
