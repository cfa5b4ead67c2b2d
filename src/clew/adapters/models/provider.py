"""
Models behind an HTTP interface: Anthropic, OpenAI and what speaks its protocol, Ollama.

Importing this module takes most of a second; the catalogue does so when a model is asked, not before.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast
from urllib.parse import urlsplit

import anthropic
import httpx2
import openai
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import AgentRunError, ModelNotFoundError, UserError
from pydantic_ai.messages import (
    CachePoint,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.models.ollama import OllamaModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles import merge_profile
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.ollama import OllamaProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.settings import ModelSettings, ThinkingLevel

from clew.adapters.models import failures
from clew.adapters.models.bridge import drained
from clew.adapters.models.endpoints import Endpoint
from clew.adapters.models.limits import limited
from clew.core.ports import Chunk, Message, Usage
from clew.errors import ModelBusy, ModelError, ModelRefused, ModelUnavailable

CONNECT_PATIENCE = 10.0
"""Seconds for opening the connection."""
RETRIES = 2
"""How often a request is sent again, as long as no text has come."""
RETRY_PATIENCE = 20.0
"""Seconds spent waiting between tries, all together. A provider that asks for more is not waited for."""
LIST_PATIENCE = 3.0
"""Seconds for asking a provider which models it has, in order to suggest one."""

_Client = anthropic.AsyncAnthropic | openai.AsyncOpenAI

_OPENAI_NAME = re.compile(r"(gpt-(?!oss)|chatgpt-|codex-|o[1-9]|ft:)")
"""OpenAI's own models, also behind a proxy of the user's. Everything else at such an address is another server."""

# What the client libraries raise: their own errors, and, for a stream that is no stream, whatever broke in reading it.
FOREIGN = (
    AgentRunError,
    UserError,
    anthropic.AnthropicError,
    openai.OpenAIError,
    httpx2.HTTPError,
    httpx2.StreamError,
    OSError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
)


class ProviderModel:
    """A model behind an HTTP interface.

    Each block of a message is a content block of its own on the wire, byte for byte and in order, with nothing put
    between; blocks of white space alone are left out, since providers refuse them. Two protocols know no blocks in
    some places: OpenAI joins the blocks of an assistant message with an empty line; for Ollama and other compatible
    servers so are the system blocks. Where an open-weight model may take control tokens from text (`<|im_start|>`),
    a zero-width joiner is put inside of them.

    Anthropic gets cache breakpoints behind the system blocks, behind the first block of the last user message, and
    behind the one before the last, which is taken for the question. OpenAI caches by itself.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.name = endpoint.name
        self._endpoint = endpoint

    def stream(self, messages: Sequence[Message], *, limit: int) -> Iterator[Chunk]:
        """Stream the answer, at most `limit` tokens; the last chunk holds the usage. See `Model.stream`.

        A provider that is busy, fails or closes the connection is asked again, while no text has come: twice, and 20
        seconds of waiting in all. An address that cannot be reached and silence are told at once.
        An answer that ends at `limit` ends with ModelCut, `reason="limit"`, behind the chunk with the usage.
        """

        async def produce(emit: Callable[[Chunk], None]) -> None:
            timeout = httpx2.Timeout(self._endpoint.silence, connect=min(CONNECT_PATIENCE, self._endpoint.silence))
            # Redirects are not followed: one would carry the key to another host. A proxy has no business in between
            # this machine and itself, yet HTTP_PROXY alone would put it there.
            near = urlsplit(self._endpoint.url).hostname in ("localhost", "127.0.0.1", "::1")
            async with httpx2.AsyncClient(timeout=timeout, follow_redirects=False, trust_env=not near) as http:
                await self._answer(http, messages, limit, emit)

        return drained(produce)

    async def _answer(
        self, http: httpx2.AsyncClient, messages: Sequence[Message], limit: int, emit: Callable[[Chunk], None]
    ) -> None:
        model, client = open_model(self._endpoint, http)
        patience = RETRY_PATIENCE
        for retry in range(RETRIES + 1):
            heard = False
            try:
                async with _request(model, self._endpoint, messages, limit) as answer:
                    async for event in answer:
                        if text := _text(event):
                            heard = True
                            emit(Chunk(text))
                    self._end(answer, limit, heard, emit)
                return
            except ModelError:
                raise
            except FOREIGN as error:
                if heard:
                    raise failures.cut(error, self._endpoint) from None
                failure = await self._explained(error, client)
                wait = wait_for(failure, retry)
                if retry == RETRIES or wait is None or wait > patience:
                    raise failure from None
            patience -= wait
            await asyncio.sleep(wait)

    async def _explained(self, error: BaseException, client: _Client) -> ModelError:
        if not isinstance(error, ModelNotFoundError):
            return failures.explain(error, self._endpoint)
        names: list[str] = []
        try:
            async with asyncio.timeout(LIST_PATIENCE):
                async for known in client.models.list():
                    names.append(known.id)
        except FOREIGN:
            pass  # no list, no suggestion; TimeoutError is an OSError
        suggested = getattr(error, "suggested_model_id", None)
        return failures.unknown(self._endpoint, names, suggested=suggested)

    def _end(self, answer: Any, limit: int, heard: bool, emit: Callable[[Chunk], None]) -> None:
        """Hand out the usage, and raise if the answer did not end as it should."""
        response = answer.get()
        if response.finish_reason is None:
            raise ValueError("the stream ended without saying that the answer is complete")
        emit(Chunk(usage=usage_of(response.usage, self._endpoint.provider)))
        match response.finish_reason:
            case "length":
                raise limited(self.name, limit, empty=not heard)
            case "content_filter":
                raise ModelRefused(f"{self.name}: the provider's filter ended the answer", hint="ask differently")
            case _ if not heard:
                raise ModelError(f"{self.name}: the answer is empty", hint="ask again, or choose another model")
            case _:
                pass


def open_model(endpoint: Endpoint, http: httpx2.AsyncClient) -> tuple[Model[Any], _Client]:
    """The library's model for an endpoint, over this HTTP client, and the provider's client below it."""
    provider, key = endpoint.provider, endpoint.key
    if provider == "anthropic":
        bearer = key is not None and key.source.endswith("AUTH_TOKEN")
        # Without a key (a gateway of the user's) the client still wants one.
        secret = endpoint.secret or "none"
        credential: dict[str, Any] = {"auth_token": secret} if bearer else {"api_key": secret}
        client = anthropic.AsyncAnthropic(**credential, base_url=endpoint.url, http_client=http, max_retries=0)
        return AnthropicModel(endpoint.model, provider=AnthropicProvider(anthropic_client=client)), client
    client = openai.AsyncOpenAI(
        api_key=endpoint.secret or "none", base_url=endpoint.url, http_client=http, max_retries=0
    )
    # A stream without a stated end was cut: otherwise half an answer would pass for a whole one.
    whole = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    if provider == "openai" and _OPENAI_NAME.match(endpoint.model):
        profile = merge_profile(OpenAIProvider.model_profile(endpoint.model), whole)
        return OpenAIChatModel(endpoint.model, provider=OpenAIProvider(openai_client=client), profile=profile), client
    # Older servers know `max_tokens` only, and their templates often take a single system message.
    modest = OpenAIModelProfile(
        openai_chat_supports_multiple_system_messages=False,
        openai_chat_supports_max_completion_tokens=False,
        openai_chat_streaming_requires_finish_reason=True,
    )
    if provider == "ollama":
        profile = merge_profile(OllamaProvider.model_profile(endpoint.model), modest)
        return OllamaModel(endpoint.model, provider=OllamaProvider(openai_client=client), profile=profile), client
    compatible = OpenAICompatibleProvider(provider, openai_client=client)
    profile = merge_profile(compatible.model_profile(endpoint.model), modest)
    return OpenAIChatModel(endpoint.model, provider=compatible, profile=profile), client


def _request(model: Model[Any], endpoint: Endpoint, messages: Sequence[Message], limit: int) -> Any:
    system = [block for message in messages if message.role == "system" for block in message.blocks if block.strip()]
    parameters = ModelRequestParameters(instruction_parts=[InstructionPart(block) for block in system])
    anthropic_model = endpoint.provider == "anthropic"
    settings = settings_of(endpoint, limit + endpoint.thoughts)
    if anthropic_model and system:
        settings = AnthropicModelSettings(**settings, anthropic_cache_instructions=True)
    history = _history([message for message in messages if message.role != "system"], breakpoints=anthropic_model)
    return model_request_stream(model, history, model_settings=settings, model_request_parameters=parameters)


def _history(messages: Sequence[Message], *, breakpoints: bool) -> list[ModelMessage]:
    history: list[ModelMessage] = []
    for number, message in enumerate(messages, 1):
        blocks = [block for block in message.blocks if block.strip()]
        if not blocks:
            continue
        if message.role == "assistant":
            history.append(ModelResponse(parts=[TextPart(block) for block in blocks]))
            continue
        content: list[UserContent] = list(blocks)
        if breakpoints and number == len(messages) and len(blocks) > 1:
            content.insert(len(blocks) - 1, CachePoint())
            if len(blocks) > 2:
                content.insert(1, CachePoint())
        # A single block as plain text: every server takes that.
        alone = blocks[0] if len(content) == 1 and not breakpoints else content
        history.append(ModelRequest(parts=[UserPromptPart(alone)]))
    return history


def _text(event: Any) -> str:
    match event:
        case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
        case _:
            return ""


def settings_of(endpoint: Endpoint, limit: int) -> ModelSettings:
    """The settings of a request whose answer, thoughts included, has at most `limit` tokens."""
    match endpoint.told:
        case "auto":
            return ModelSettings(max_tokens=limit)
        case "off":
            return ModelSettings(max_tokens=limit, thinking=False)
        case level:
            return ModelSettings(max_tokens=limit, thinking=cast("ThinkingLevel", level))


def usage_of(usage: Any, provider: str) -> Usage:
    """What the provider reports, as far as it does."""
    if not usage.input_tokens and not usage.output_tokens:
        return Usage()
    # The client library writes nought where nothing is said about the cache; only these two always say it.
    cached = usage.cache_read_tokens if provider in ("anthropic", "openai") else usage.cache_read_tokens or None
    return Usage(input=usage.input_tokens, cached=cached, output=usage.output_tokens)


def wait_for(failure: ModelError, retry: int) -> float | None:
    """Return how many seconds to wait before the next try; None where another try is pointless."""
    again = isinstance(failure, ModelBusy)
    again = again or (isinstance(failure, ModelUnavailable) and bool(failure.facts.get("failed")))
    if not again:
        return None
    asked = failure.facts.get("retry_after")
    return float(asked) if isinstance(asked, int | float) else 0.5 * 4**retry
