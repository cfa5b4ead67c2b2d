"""MCP servers that the agent uses: each is kept by a task of one event loop, and asked from any thread.

Only this module and `mcp_stdio` know the SDK. It is imported in the loop's thread: that takes up to a second.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import re
import threading
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from clew._version import __version__
from clew.core.agent.servers import Transport
from clew.errors import ClewError

if TYPE_CHECKING:
    import anyio
    from mcp import ClientSession
    from mcp_types import CallToolResult

    from clew.adapters.programs import PosixPrograms

State = Literal["starting", "ready", "ended"]
_MOST_TOOLS: Final = 2_000
_MOST_PAGES: Final = 100
_LONGEST_INSTRUCTIONS: Final = 100_000
_STARTING: Final = 60.0
"""Seconds that a server may take to answer when it starts, however short the timeout of calls is."""
_RESTART: Final = 10.0
"""Seconds that a call waits for a server that is being started again."""
_LONGER: Final = 10
"""How many times the timeout a call may take while its server reports progress."""
_CLOSING: Final = 6.0
_TICK: Final = 0.03
_CLOSED: Final = "the connection ended"
_FORGOTTEN: Final = re.compile(r"session (?:terminated|not found|expired)", re.IGNORECASE)
"""What a server over HTTP answers when it was started anew and knows nothing of the connection."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server to start or to reach, variables filled in."""

    name: str
    argv: tuple[str, ...] = ()
    folder: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    url: str = ""
    transport: Transport = "stdio"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool as its server describes it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    reads: bool
    """The server says that it only reads; nobody checks that."""


@dataclass(frozen=True, slots=True)
class Offered:
    """What a server that is ready offers."""

    tools: tuple[ServerTool, ...] = ()
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call was answered. Pictures and the like are named in `text`."""

    text: str
    failed: bool = False
    lost: bool = False
    """The server did not answer: it ended, cannot be reached, or took too long."""


class Server:
    """One server: started, kept, started again once if it ends after it was ready."""

    def __init__(self, target: Target, servers: Servers) -> None:
        self.target = target
        self.state: State = "starting"
        self.offered: Offered | None = None
        """What it offered last; kept while it is started again."""
        self.why = ""
        """Why it is not there."""
        self.words = ""
        """Its last line on standard error."""
        self.starts = 0
        self._servers = servers
        self._session: ClientSession | None = None
        self._over: anyio.Event | None = None

    # ------------------------------------------------------------------ for any thread

    def call(
        self, tool: str, arguments: Mapping[str, Any], timeout: float, stopped: Callable[[], bool],
        progress: Callable[[str], None] = lambda _: None,
    ) -> Answer:  # fmt: skip
        """Call a tool. What goes wrong is an answer as well."""
        self._servers.wait(lambda: self.state != "starting", _RESTART, stopped)
        session, starts = self._session, self.starts
        if self.state != "ready" or session is None:
            why = self.why if self.state == "ended" else "it is being started again"
            return Answer(f"{why or 'it ended'}; do without it", failed=True, lost=True)
        call = _Call(tool, dict(arguments), timeout, progress, self.target.transport != "stdio")
        future = self._servers.submit(call.go(session))
        while not concurrent.futures.wait((future,), _TICK).done:
            if stopped():
                self._servers.soon(call.stop)
        outcome: Answer | str = future.result()
        if isinstance(outcome, Answer):
            return outcome
        if outcome == _CLOSED:
            self.fail()
            self._servers.wait(lambda: self.state != "ready" or self.starts != starts, 3, stopped)
            outcome = self.why
        return Answer(f"{outcome}; whether the call took effect is unknown", failed=True, lost=True)

    def fail(self) -> None:
        """The connection is of no use any more."""
        if self._over is not None:
            self._servers.soon(self._over.set)

    # ------------------------------------------------------------------ in the loop

    async def keep(self) -> None:
        """Hold the connection for as long as there is one. Ends when the server is not to be started again."""
        for _ in range(2):
            ready = False
            try:
                await self._live()
                ready, why = True, "it ended"
            except ExceptionGroup as group:
                why, ready = _words(_first(group)), self._session is not None
            except Exception as error:  # noqa: BLE001 -- whatever a server does, the others stay
                why, ready = _words(error), self._session is not None
            self._session = None
            self._tell("starting" if ready else "ended", why=f"{why}{self._said()}")
            if not ready:
                return
        self._tell("ended")

    async def _live(self) -> None:
        import anyio  # noqa: PLC0415 -- heavy, as is all of the SDK
        from mcp import ClientSession  # noqa: PLC0415
        from mcp_types import Implementation  # noqa: PLC0415

        self._over = over = anyio.Event()
        self.words = ""
        async with (
            self._transport(over) as (reads, writes),
            ClientSession(
                reads, writes, list_roots_callback=self._servers.roots, message_handler=self._hear,
                client_info=Implementation(name="clew", version=__version__),
            ) as session,
            anyio.create_task_group() as group,
        ):  # fmt: skip
            # A server that ends before it has answered would not be noticed by a session over some transports.
            group.start_soon(_cancel_after, over, group.cancel_scope)
            with anyio.fail_after(self._servers.patience):
                await _greet(session)
                offered = await _offer(session)
            self._session = session
            self.starts += 1
            self._tell("ready", offered)
            await anyio.sleep_forever()
        if self._session is None:
            raise ConnectionError("it ended before it answered")

    def _transport(self, over: anyio.Event) -> AbstractAsyncContextManager[tuple[Any, Any]]:
        target, servers = self.target, self._servers
        if target.transport == "stdio":
            from clew.adapters.mcp_stdio import over_pipes  # noqa: PLC0415 -- heavy, as above

            mark = f"mcp{servers.number(self)}"
            return over_pipes(mark, target.argv, target.folder, target.environ, servers.programs, self._hear_line, over)
        return _over_http(target)

    def _hear_line(self, line: str) -> None:
        if line:
            self.words = line

    async def _hear(self, message: object) -> None:
        from mcp_types import ToolListChangedNotification  # noqa: PLC0415 -- heavy, as above

        if isinstance(message, ToolListChangedNotification) and self._session is not None:
            self._servers.spawn(self._look_again(self._session))

    async def _look_again(self, session: ClientSession) -> None:
        with contextlib.suppress(Exception):
            offered = await _offer(session)
            if self._session is session and self.offered is not None:
                self._tell("ready", Offered(offered.tools, self.offered.instructions))

    def _tell(self, state: State, offered: Offered | None = None, why: str = "") -> None:
        with self._servers.changed:
            self.state = state
            self.offered = offered or self.offered
            self.why = why or self.why
            self._servers.changed.notify_all()

    def _said(self) -> str:
        return f"; it said last: {self.words}" if self.words else ""


class Servers:
    """The loop in which servers are kept. Starts with the first of them, ends with `close`."""

    def __init__(self, programs: PosixPrograms, root: Path, timeout: float) -> None:
        self.programs = programs
        self.patience = max(timeout, _STARTING)
        """Seconds that a server may take to answer when it starts."""
        self.changed = threading.Condition()
        self._root = root
        self._all: list[Server] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self, target: Target) -> Server:
        """Start a server in the background. Its state tells what becomes of it."""
        server = Server(target, self)
        with self.changed:
            self._all.append(server)
        if self._thread is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._turn, name="mcp-servers", daemon=True)
            self._thread.start()
        self.soon(lambda: self.spawn(server.keep()))
        return server

    def wait(self, done: Callable[[], bool], seconds: float, stopped: Callable[[], bool]) -> bool:
        """Wait until `done`, at most so long, or until stopped; what `done` says then."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while not done():
                left = deadline - time.monotonic()
                if left <= 0 or stopped():
                    return False
                self.changed.wait(min(left, 0.05))
        return True

    def close(self) -> None:
        """End all servers and the loop."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None or self._closed:
            return
        self._closed = True
        self.soon(self._cancel)
        thread.join(_CLOSING)

    def number(self, server: Server) -> int:
        """Which one it is, from 1."""
        return self._all.index(server) + 1

    def soon(self, deed: Callable[[], object]) -> None:
        """Do something in the loop."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(deed)

    def submit(self, work: Any) -> concurrent.futures.Future[Any]:
        """Run a coroutine in the loop."""
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def spawn(self, work: Any) -> None:
        """A task that ends with the loop; called in the loop."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def roots(self, context: object) -> Any:
        """The one root that a server is offered."""
        from mcp_types import ListRootsResult, Root  # noqa: PLC0415 -- heavy, as above

        return ListRootsResult(roots=[Root(uri=self._root.as_uri(), name=self._root.name)])  # type: ignore[arg-type]

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
        asyncio.get_running_loop().create_task(self._stop_when_done())

    async def _stop_when_done(self) -> None:
        tasks = list(self._tasks)
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSING)
        asyncio.get_running_loop().stop()

    def _turn(self) -> None:
        loop = self._loop
        assert loop is not None
        # What a server does wrong is told where it is shown, not between the lines of a terminal.
        for name in ("mcp", "client", "httpx2", "asyncio"):
            logging.getLogger(name).addHandler(logging.NullHandler())
        for name in ("mcp.client", "mcp.shared", "client"):
            logging.getLogger(name).propagate = False
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            loop.close()


@dataclass(slots=True)
class _Call:
    """A call under way."""

    tool: str
    arguments: dict[str, Any]
    timeout: float
    progress: Callable[[str], None]
    remote: bool
    scope: anyio.CancelScope | None = None
    stopped: bool = False
    words: str = ""

    async def go(self, session: ClientSession) -> Answer | str:
        """The answer, or why there is none."""
        import anyio  # noqa: PLC0415 -- heavy, as above
        from mcp import MCPError  # noqa: PLC0415
        from mcp_types import CONNECTION_CLOSED, CallToolRequest, CallToolRequestParams, CallToolResult  # noqa: PLC0415
        from pydantic import ValidationError  # noqa: PLC0415

        begin = anyio.current_time()
        result: CallToolResult | None = None

        async def report(progress: float, total: float | None, message: str | None) -> None:
            if self.scope is not None:
                last = begin + self.timeout * _LONGER
                self.scope.deadline = min(anyio.current_time() + self.timeout, last)
            self.words = f"{progress:g}{f' of {total:g}' if total else ''}{f': {message}' if message else ''}"
            self.progress(self.words)

        request = CallToolRequest(params=CallToolRequestParams(name=self.tool, arguments=self.arguments))
        try:
            with anyio.move_on_after(self.timeout) as self.scope:
                if self.stopped:
                    return "interrupted by the user"
                result = await session.send_request(request, CallToolResult, progress_callback=report)
        except MCPError as error:
            forgotten = self.remote and _FORGOTTEN.search(error.error.message or "")
            if forgotten or error.error.code == CONNECTION_CLOSED:
                return _CLOSED
            return Answer(error.error.message or "it said nothing more", failed=True)
        except ValidationError:
            return "its answer is not as the protocol has it, or it wants input, which Clew does not give"
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return _CLOSED
        except Exception as error:  # noqa: BLE001 -- whatever a transport raises, the model gets an answer
            return _words(error)
        if result is None:
            if self.stopped:
                return "interrupted by the user"
            spent = anyio.current_time() - begin
            told = f"; its last report was {self.words}" if self.words else ""
            return f"no answer within {spent:.0f} s{told}"
        return _answer(result)

    def stop(self) -> None:
        """Give up; the server is told."""
        self.stopped = True
        if self.scope is not None:
            self.scope.cancel()


async def _cancel_after(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


@contextlib.asynccontextmanager
async def _over_http(target: Target) -> AsyncGenerator[tuple[Any, Any]]:
    from mcp.shared._httpx_utils import create_mcp_http_client  # noqa: PLC0415 -- heavy, as above

    if target.transport == "sse":
        from mcp.client.sse import sse_client  # noqa: PLC0415

        async with sse_client(target.url, headers=dict(target.headers)) as streams:
            yield streams
        return
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

    async with (
        create_mcp_http_client(headers=dict(target.headers)) as client,
        streamable_http_client(target.url, http_client=client) as streams,
    ):
        yield streams


async def _greet(session: ClientSession) -> None:
    """Agree on a protocol: by the handshake, which all but the newest servers know."""
    from mcp import MCPError  # noqa: PLC0415 -- heavy, as above
    from mcp_types import METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION  # noqa: PLC0415

    try:
        await session.initialize()
    except MCPError as error:
        if error.error.code not in (METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION):
            raise
        await session.discover()


async def _offer(session: ClientSession) -> Offered:
    from mcp_types import PaginatedRequestParams  # noqa: PLC0415 -- heavy, as above

    capabilities = session.server_capabilities
    instructions = (session.instructions or "")[:_LONGEST_INSTRUCTIONS]
    if capabilities is None or capabilities.tools is None:
        return Offered((), instructions)
    tools: list[ServerTool] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        params = PaginatedRequestParams(cursor=cursor) if cursor else None
        page = await session.list_tools(params=params)
        for one in page.tools:
            reads = bool(one.annotations and one.annotations.read_only_hint)
            tools.append(ServerTool(one.name, one.description or one.title or "", one.input_schema, reads))
        cursor = page.next_cursor
        if not cursor or len(tools) >= _MOST_TOOLS:
            break
    return Offered(tuple(tools[:_MOST_TOOLS]), instructions)


def _answer(result: CallToolResult) -> Answer:
    """An answer as text: pictures, sounds and files are named with their kind and size."""
    import msgspec  # noqa: PLC0415 -- only where a server answers
    from mcp_types import AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent  # noqa: PLC0415

    parts: list[str] = []
    for one in result.content:
        match one:
            case TextContent():
                parts.append(one.text)
            case ImageContent() | AudioContent():
                kind = "picture" if isinstance(one, ImageContent) else "sound"
                parts.append(f"[a {kind}, {one.mime_type}, {_size(one.data):,} bytes, not shown]")
            case ResourceLink():
                parts.append(f"[the resource {one.uri}{f', {one.mime_type}' if one.mime_type else ''}]")
            case EmbeddedResource():
                inner = one.resource
                text = getattr(inner, "text", None)
                named = f"[the file {inner.uri}, {_size(getattr(inner, 'blob', '')):,} bytes, not shown]"
                parts.append(text if isinstance(text, str) else named)
    if not any(part.strip() for part in parts) and result.structured_content is not None:
        parts = [msgspec.json.format(msgspec.json.encode(result.structured_content), indent=1).decode()]
    return Answer("\n".join(parts), bool(result.is_error))


def _size(written: str) -> int:
    """Bytes of what is written in base64."""
    return len(written) * 3 // 4 - written[-2:].count("=")


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    inner: BaseException = group
    while isinstance(inner, BaseExceptionGroup):
        inner = inner.exceptions[0]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return inner


def _words(error: BaseException) -> str:
    """Why a server is not there, in words."""
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, FileNotFoundError):
        return f"there is no program {error.filename}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, ClewError):
        return str(error)
    from pydantic import ValidationError  # noqa: PLC0415 -- the SDK has loaded it

    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))[:100]
        return f"what it answers is not as the protocol has it: {place}: {first['msg']}"
    text = " ".join(str(error).split())[:300]
    return text or type(error).__name__
