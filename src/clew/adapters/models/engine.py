"""Drives a model through a run: it asks, tools are called, it asks again, until there is a final answer.

The loop is pydantic-ai's. What goes over the wire is checked on the wire: system blocks, then messages, each block as
it was given; a later request only ever adds behind the last byte of the one before, cache marks aside.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import urlsplit

import anyio.to_thread
import httpx2
import pydantic_ai
from pydantic_ai import Agent, CancellationToken, RunContext, Tool, UsageLimits
from pydantic_ai.capabilities import Hooks
from pydantic_ai.exceptions import (
    IncompleteToolCall,
    ToolFailed,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)
from pydantic_ai.messages import (
    CachePoint,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    RetryPromptPart,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.models.anthropic import AnthropicModelSettings
from pydantic_ai.settings import ModelSettings

from clew.adapters.models import failures
from clew.adapters.models.endpoints import Endpoint
from clew.adapters.models.provider import CONNECT_PATIENCE, FOREIGN, open_model, settings_of, usage_of, wait_for
from clew.core.agent.events import Retrying, Text, Thinking
from clew.core.agent.loop import BAD_ARGUMENTS, Answer, Call, Desk, Finish, Offer, Result
from clew.core.ports import Message
from clew.core.text.printable import visible
from clew.errors import ModelError

pydantic_ai.BANNER_ENABLED = False
"""The library would write its name and an advertisement across a terminal."""
RETRIES: Final = 4
"""How often a request is sent again after it failed, in a row."""
PATIENCE: Final = 120.0
"""Seconds spent waiting between tries of one request, all together."""
_LONGEST_BAD: Final = 2_000
"""Characters that are kept of arguments that are none."""
_BAD_CALLS: Final = 8
"""How often in a row a model may call a tool that there is not, or with arguments that are no JSON."""


@dataclass(slots=True)
class Interrupt:
    """Ends a run from any thread, once."""

    event: threading.Event = field(default_factory=threading.Event)
    cause: BaseException | None = None
    """What ended the run from outside, where that was another signal than that of Ctrl-C."""
    _token: CancellationToken = field(default_factory=CancellationToken)

    def set(self) -> None:
        """End the run as soon as can be: a stream is closed, a tool is told."""
        self.event.set()
        self._token.cancel()

    @property
    def token(self) -> CancellationToken:
        """For the library."""
        return self._token


class Engine:
    """Runs at one endpoint. `sent` gets each body as it goes over the wire, before it goes."""

    def __init__(self, endpoint: Endpoint, sent: Callable[[bytes], None] | None = None) -> None:
        self.name = endpoint.name
        self.sent = sent
        self._endpoint = endpoint

    def beside(self, sent: Callable[[bytes], None] | None) -> Engine:
        """Another one at the same endpoint."""
        return Engine(self._endpoint, sent)

    def run(
        self,
        messages: Sequence[Message],
        offers: Sequence[Offer],
        desk: Desk,
        interrupt: Interrupt,
        *,
        limit: int,
        steps: int,
        first: int = 1,
    ) -> Finish:
        """Go on until a final answer, at most `steps` model calls; `first` numbers the first of them.

        `messages` are the layers: `system` first, the last one the user's. `limit`: tokens of one answer. Nothing is
        raised for what a model or a provider does: the Finish says it.
        """
        drive = _Drive(self._endpoint, messages, offers, desk, interrupt, limit, steps, first, self.sent)
        outcome: list[Finish] = []
        failure: list[BaseException] = []
        # Not by joining: a join that a signal interrupts may take the thread for dead ever after.
        done = threading.Event()

        def work() -> None:
            try:
                outcome.append(asyncio.run(drive.run()))
            except BaseException as error:  # noqa: BLE001 -- handed to the caller's thread
                failure.append(error)
            finally:
                done.set()

        thread = threading.Thread(target=work, name="clew-run", daemon=True)
        thread.start()
        stopped: KeyboardInterrupt | None = None
        while True:
            try:
                if done.wait(0.2):
                    break
            except KeyboardInterrupt as error:
                stopped = stopped or error
                interrupt.set()
        if failure:
            raise failure[0]
        if stopped is not None and type(stopped) is not KeyboardInterrupt:
            interrupt.cause = stopped
        return outcome[0]


@dataclass(slots=True)
class _Drive:
    """One run of the engine."""

    endpoint: Endpoint
    layers: Sequence[Message]
    offers: Sequence[Offer]
    desk: Desk
    interrupt: Interrupt
    limit: int
    steps: int
    step: int
    sent: Callable[[bytes], None] | None
    kept: list[ModelMessage] = field(default_factory=list[ModelMessage])
    """The transcript up to the request that is to be sent next, that one included."""
    said: str = ""
    """What the model said last."""
    pending: bool = False
    """An answer stands whose calls are not all answered."""
    heard: bool = False
    """Something of the present answer has come."""
    patience: float = PATIENCE
    retry: int = 0
    last: int = 0
    ready: int = 0
    """The step whose request holds all that goes along with it: the first has it from the beginning."""

    async def run(self) -> Finish:
        """Until the end, whatever it is."""
        self.last = self.step + self.steps - 1
        self.ready = self.step
        self.kept = history(self.layers, anthropic=self.endpoint.provider == "anthropic")
        timeout = httpx2.Timeout(self.endpoint.silence, connect=min(CONNECT_PATIENCE, self.endpoint.silence))
        near = urlsplit(self.endpoint.url).hostname in ("localhost", "127.0.0.1", "::1")
        hooks = {"request": [self._record]} if self.sent else {}
        async with httpx2.AsyncClient(
            timeout=timeout, follow_redirects=False, trust_env=not near, event_hooks=hooks
        ) as http:
            model, _ = open_model(self.endpoint, http)
            agent = self._agent(model)
            while True:
                ended = await self._attempt(agent)
                if ended is not None:
                    return ended

    async def _record(self, request: Any) -> None:
        if self.sent is not None and request.method == "POST":
            self.sent(request.content)

    def _agent(self, model: Model[Any]) -> Agent[None, str]:
        hooks: Hooks[None] = Hooks(before_model_request=self._before)
        tools: list[Tool[None]] = [self._tool(offer) for offer in self.offers]
        return Agent(
            model,
            output_type=str,
            deps_type=type(None),
            tools=tools,
            capabilities=[hooks],
            model_settings=settings(self.endpoint, self.limit),
            retries=_BAD_CALLS,
        )

    def _tool(self, offer: Offer) -> Tool[None]:
        async def call(ctx: RunContext[None], **arguments: Any) -> str:
            made = Call(ctx.tool_call_id or "", offer.name, arguments)
            result = await anyio.to_thread.run_sync(self.desk.call, made, abandon_on_cancel=True)
            if result.failed:
                raise ToolFailed(result.text)
            return result.text

        return Tool.from_schema(
            call, offer.name, offer.description, dict(offer.schema), takes_ctx=True, sequential=offer.alone
        )

    async def _before(self, ctx: RunContext[None], request: ModelRequestContext) -> ModelRequestContext:
        """The layers of the system prompt, each a block of its own, and what goes along with this request."""
        system = [block for message in self.layers if message.role == "system" for block in message.blocks]
        parts = [InstructionPart(block) for block in system if block.strip()]
        request = replace(
            request, model_request_parameters=replace(request.model_request_parameters, instruction_parts=parts)
        )
        return request

    async def _attempt(self, agent: Agent[None, str]) -> Finish | None:
        """Go on from what is kept; None where the last request is to be sent again."""
        try:
            async with agent.iter(
                message_history=self.kept,
                cancellation_token=self.interrupt.token,
                usage_limits=UsageLimits(request_limit=None),
            ) as run:
                node = run.next_node
                while not Agent.is_end_node(node):
                    if Agent.is_model_request_node(node):
                        if self.step > self.last:
                            return Finish("limit", self.said)
                        await self._prepared(node.request)
                        self.kept = [*run.ctx.state.message_history, node.request]
                        await self._streamed(node, run)
                    node = await run.next(node)
                    if Agent.is_call_tools_node(node):
                        await self._answered(node.model_response)
                    elif Agent.is_model_request_node(node) and self.pending:
                        await self._called(node.request)
                        if await anyio.to_thread.run_sync(self.desk.leaves):
                            return Finish("left", self.said)
                return Finish("final", self.said)
        except ModelError as error:
            return Finish("failed", self.said, error)
        except UsageLimitExceeded:
            return Finish("limit", self.said)
        except (asyncio.CancelledError, *FOREIGN) as error:
            if self.interrupt.event.is_set():
                return Finish("aborted", self.said)
            if isinstance(error, asyncio.CancelledError):
                raise
            return await self._failed(error)

    async def _prepared(self, request: ModelRequest) -> None:
        """Put what goes along with this request behind what is in it."""
        await anyio.to_thread.run_sync(self.desk.asking, self.step)
        if self.step == self.ready:
            return  # sent again, or the first
        texts = await anyio.to_thread.run_sync(self.desk.before, self.step)
        if texts:
            request.parts = [*request.parts, UserPromptPart(list(texts))]
        self.ready = self.step

    async def _streamed(self, node: Any, run: Any) -> None:
        """Hand out the pieces of one answer."""
        self.heard = False
        async with node.stream(run.ctx) as stream:
            async for event in stream:
                if (piece := _piece(event)) is not None:
                    self.heard = True
                    self.desk.tell(piece)
            if stream.response.finish_reason is None:
                self.heard = True
                raise ValueError("the stream ended without saying that the answer is complete")

    async def _answered(self, response: ModelResponse) -> None:
        _mend(response)
        answer = _answer(response, self.endpoint.provider)
        self.said = answer.text or self.said
        self.retry, self.patience, self.pending = 0, PATIENCE, True
        await anyio.to_thread.run_sync(self.desk.answered, self.step, answer)
        self.step += 1

    async def _called(self, request: ModelRequest) -> None:
        self.pending = False
        results = [made for part in request.parts if (made := self._result(part)) is not None]
        await anyio.to_thread.run_sync(self.desk.results, self.step - 1, results)

    def _result(self, part: Any) -> Result | None:
        match part:
            case ToolReturnPart(tool_name=name, tool_call_id=id_):
                text = part.content if isinstance(part.content, str) else part.model_response_str()
                return Result(id_, name, text, part.outcome != "success")
            case RetryPromptPart(tool_call_id=id_):
                return Result(id_, part.tool_name or "", part.model_response(), failed=True)
            case _:
                return None

    async def _failed(self, error: BaseException) -> Finish | None:
        if (
            isinstance(error, UnexpectedModelBehavior)
            and not isinstance(error, IncompleteToolCall)
            and _nonsense(error)
        ):
            return Finish(
                "failed", self.said, ModelError(f"{self.endpoint.name}: {error.message}", hint="try another model")
            )
        failure = failures.explain(error, self.endpoint)
        if self.heard and failure.facts.get("malformed"):
            # It began as an answer and broke off: the connection, not the address.
            failure = failures.cut(error, self.endpoint)
            wait: float | None = 0.5 * 4**self.retry
        else:
            wait = wait_for(failure, self.retry)
        if self.retry >= RETRIES or wait is None or wait > self.patience:
            return Finish("failed", self.said, failure)
        self.retry += 1
        self.patience -= wait
        self.desk.tell(Retrying(str(failure), wait))
        if wait and await anyio.to_thread.run_sync(self.interrupt.event.wait, wait):
            return Finish("aborted", self.said)
        return None


def settings(endpoint: Endpoint, limit: int) -> ModelSettings:
    """Settings of every request. Anthropic gets cache marks on the tools, the system prompt and the last block; the
    fourth it may have stands on the user's message (`history`). The others cache by themselves."""
    usual = settings_of(endpoint, limit)
    if endpoint.provider != "anthropic":
        return usual
    return AnthropicModelSettings(
        **usual,
        anthropic_cache_tool_definitions=True,
        anthropic_cache_instructions=True,
        anthropic_cache_messages=True,
    )


def history(layers: Sequence[Message], *, anthropic: bool) -> list[ModelMessage]:
    """The layers behind the system prompt as messages; neighbours of one role are blocks of one message."""
    made: list[ModelMessage] = []
    said: list[tuple[str, list[str]]] = []
    for message in layers:
        blocks = [block for block in message.blocks if block.strip()]
        if message.role == "system" or not blocks:
            continue
        if said and said[-1][0] == message.role:
            said[-1][1].extend(blocks)
        else:
            said.append((message.role, blocks))
    for number, (role, blocks) in enumerate(said, 1):
        if role == "assistant":
            made.append(ModelResponse(parts=[TextPart(block) for block in blocks]))
            continue
        content: list[UserContent] = list(blocks)
        if anthropic and number == len(said):
            content.append(CachePoint())
        alone = blocks[0] if len(blocks) == 1 and not anthropic else content
        made.append(ModelRequest(parts=[UserPromptPart(alone)]))
    return made


def _piece(event: Any) -> Text | Thinking | None:
    match event:
        case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return Text(text) if text else None
        case (
            PartStartEvent(part=ThinkingPart(content=text))
            | PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text))
        ):
            return Thinking(text) if text else None
        case _:
            return None


def _answer(response: ModelResponse, provider: str) -> Answer:
    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    thoughts = [part.content for part in response.parts if isinstance(part, ThinkingPart)]
    calls = [
        Call(part.tool_call_id, part.tool_name, _arguments(part))
        for part in response.parts
        if isinstance(part, ToolCallPart)
    ]
    return Answer(
        "".join(texts),
        tuple(calls),
        "".join(thoughts),
        usage_of(response.usage, provider),
        response.usage.cache_write_tokens or None,
        response.finish_reason == "length",
        response.finish_reason == "content_filter",
    )


def _mend(response: ModelResponse) -> None:
    """Give calls whose arguments are no JSON object, or could not be sent again, the raw text under BAD_ARGUMENTS."""
    for part in response.parts:
        if type(part) is ToolCallPart and isinstance(part.args, str) and part.args:
            try:
                found = json.loads(part.args, parse_constant=_refuse)
                part.args.encode()
                json.dumps(found, ensure_ascii=False).encode()
            except (ValueError, RecursionError):
                found = None
            if not isinstance(found, dict):
                part.args = {BAD_ARGUMENTS: visible(part.args)[:_LONGEST_BAD]}


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _arguments(part: ToolCallPart) -> Mapping[str, Any]:
    try:
        return part.args_as_dict()
    except (ValueError, TypeError, AssertionError):
        return {}


def _nonsense(error: UnexpectedModelBehavior) -> bool:
    """Whether the model, not the connection, is what misbehaved."""
    return "retries" in error.message and not isinstance(error, IncompleteToolCall)
