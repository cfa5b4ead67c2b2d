"""The agent's side of the protocol: sessions that an editor begins, goes on with, prompts and cancels."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import acp
from acp.schema import (
    AgentCapabilities,
    EmbeddedResourceContentBlock,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResourceContentBlock,
    SessionCapabilities,
    SessionInfo,
    SessionListCapabilities,
    StopReason,
    TextContentBlock,
    TextResourceContents,
    Usage,
)

from clew._version import __version__
from clew.core.context.fences import mark_for
from clew.core.text.printable import printable
from clew.entrypoints.acp.conversation import Conversation, Gone, in_thread
from clew.entrypoints.acp.updates import Words, told_before
from clew.errors import ClewError, NotFound, UsageError

if TYPE_CHECKING:
    from clew.app import App
    from clew.services.agent_room import AgentRoom
    from clew.services.run import Session

LAST_SECONDS: Final = 10.0
"""What runs get to end in once the editor has gone."""
_MOST_LISTED: Final = 50
_STOPS: Final[dict[str, StopReason]] = {
    "finished": "end_turn", "aborted": "cancelled", "limit": "max_turn_requests",
}  # fmt: skip
"""How a run ends, in the words of the protocol; the other ways are errors."""

Opening = Callable[["App", "AgentRoom", str], contextlib.AbstractContextManager["Session"]]


class ClewAgent:
    """Clew's agent, for one editor."""

    def __init__(
        self, application: Callable[[Path], App], words: Words, *, yes: bool = False, rules: Sequence[str] = ()
    ) -> None:
        self._application = application
        self._words = words
        self._yes = yes
        self._rules = tuple(rules)
        self._held: dict[str, Conversation] = {}
        self._client: acp.Client | None = None

    def on_connect(self, conn: acp.Client) -> None:
        """The way to the editor."""
        self._client = conn

    async def close(self) -> None:
        """The editor has gone: end every run, and let go of the sessions."""
        held, self._held = list(self._held.values()), {}
        for one in held:
            one.leave()
        await asyncio.gather(*(in_thread(lambda one=one: _end(one)) for one in held))

    # ------------------------------------------------------------------ what editors ask for

    async def initialize(self, protocol_version: int, **more: Any) -> InitializeResponse:
        """What this agent can do."""
        return InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(embedded_context=True, image=False, audio=False),
                session_capabilities=SessionCapabilities(list=SessionListCapabilities()),
            ),
            agent_info=Implementation(name="clew", title="Clew", version=__version__),
            auth_methods=[],
        )

    async def authenticate(self, method_id: str, **more: Any) -> None:
        """Nothing to do: keys are the user's variables, or lie in the keyring."""

    async def new_session(self, cwd: str, mcp_servers: Sequence[Any] | None = None, **more: Any) -> NewSessionResponse:
        """Begin a session in a folder."""
        held = await self._open(cwd, lambda app, room, model: room.new(model), mcp_servers)
        return NewSessionResponse(session_id=held.session.id)

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None = None, **more: Any
    ) -> LoadSessionResponse:
        """Go on with a session of this folder. What was said in it is told again first."""

        def again(app: App, room: AgentRoom, model: str) -> contextlib.AbstractContextManager[Session]:
            id_ = room.transcripts.find(session_id)
            opened = room.transcripts.read(id_).opened
            if opened.workspace != app.workspace.id:
                raise NotFound(f"the session {id_} belongs to another folder", hint=f"open {opened.root} in the editor")
            return room.again(id_, model)

        if (before := self._held.pop(session_id, None)) is not None:
            before.stop()
            await in_thread(lambda: _end(before))
        held = await self._open(cwd, again, mcp_servers)
        read = await in_thread(held.session.around.transcript.read)
        for update in told_before(read):
            await held.client.session_update(held.session.id, update)
        return LoadSessionResponse()

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **more: Any
    ) -> ListSessionsResponse:
        """The newest sessions of a folder."""

        def listed() -> list[SessionInfo]:
            app = self._application(_folder(cwd or str(Path.cwd())))
            rows = app.agent_room().transcripts.list(app.workspace.id)
            return [
                SessionInfo(
                    session_id=one.id, cwd=one.cwd, title=printable(one.title, 100), updated_at=one.last or one.at
                )
                for one, _ in zip(rows, range(_MOST_LISTED), strict=False)
            ]

        return ListSessionsResponse(sessions=await _told(listed))

    async def prompt(self, session_id: str, prompt: Sequence[Any], **more: Any) -> PromptResponse:
        """One run."""
        from clew.adapters.models.engine import Interrupt  # takes a second, which `initialize` need not

        held = self._held.get(session_id)
        if held is None:
            raise acp.RequestError.resource_not_found(session_id)
        if not held.idle.is_set():
            raise acp.RequestError(-32600, "a run is under way in this session")
        message = _message(prompt)
        held.interrupt = Interrupt()
        held.idle.clear()

        def work() -> Any:
            try:
                return held.run(message)
            finally:
                held.interrupt = None
                held.idle.set()

        try:
            ended = await _told(work)
        except Gone:
            return PromptResponse(stop_reason="cancelled")
        if ended.outcome not in _STOPS:
            raise acp.RequestError(-32603, _sentence(self._words, ended.reason or "the run failed", ended.hint))
        usage = Usage(
            input_tokens=ended.input, output_tokens=ended.output, total_tokens=ended.input + ended.output,
            cached_read_tokens=ended.cached,
        )  # fmt: skip
        return PromptResponse(stop_reason=_STOPS[ended.outcome], usage=usage)

    async def cancel(self, session_id: str, **more: Any) -> None:
        """End the run that is under way."""
        if (held := self._held.get(session_id)) is not None:
            held.stop()

    # ------------------------------------------------------------------ sessions

    async def _open(self, cwd: str, opening: Opening, servers: Sequence[Any] | None) -> Conversation:
        client, loop = self._client, asyncio.get_running_loop()
        assert client is not None

        def opened() -> Conversation:
            app = self._application(_folder(cwd))
            model = app.loaded.settings.model or ""
            app.catalogue.endpoint(model)
            room = app.agent_room(yes=self._yes, rules=self._rules)
            stack = contextlib.ExitStack()
            session = stack.enter_context(opening(app, room, model))
            session.trouble += list(app.loaded.notices)
            if servers:
                names = ", ".join(printable(str(one.name), 40) for one in servers)
                session.trouble.append(f"MCP servers of the editor are not used: {names}")
            return Conversation(app, session, client, loop, self._words, stack)

        held = await _told(opened, self._words)
        self._held[held.session.id] = held
        return held


def _end(held: Conversation) -> None:
    """Wait for the run, at most LAST_SECONDS; then let go of the session."""
    held.idle.wait(LAST_SECONDS)
    held.stack.close()


async def _told(work: Callable[[], Any], words: Words = str) -> Any:
    """What `work` gives, from a thread. What Clew raises is told to the editor, with what to do."""
    try:
        return await in_thread(work)
    except ClewError as error:
        code = -32602 if isinstance(error, UsageError) else -32603
        raise acp.RequestError(code, _sentence(words, str(error), error.hint), {"kind": error.code}) from error


def _sentence(words: Words, message: str, hint: str) -> str:
    return f"{words(message)} ({words(hint)})" if hint else words(message)


def _folder(cwd: str) -> Path:
    folder = Path(cwd)
    if not folder.is_absolute() or not folder.is_dir():
        raise NotFound(f"there is no folder {printable(cwd)}", hint="name one that is there")
    return folder


def _message(prompt: Sequence[Any]) -> str:
    """The blocks of a prompt as one text: files that are named by their paths, texts that go along fenced."""
    parts: list[str] = []
    for block in prompt:
        match block:
            case TextContentBlock(text=text):
                parts.append(text)
            case ResourceContentBlock(uri=uri):
                parts.append(_path(uri))
            case EmbeddedResourceContentBlock(resource=TextResourceContents(uri=uri, text=text)):
                mark = mark_for([uri, text], [text])
                parts.append(f"\n<attached {mark} {_path(uri)}>\n{text}\n</attached {mark}>\n")
            case _:
                raise acp.RequestError.invalid_params({"details": "text and files only"})
    message = "".join(parts)
    if not message.strip():
        raise acp.RequestError.invalid_params({"details": "the prompt says nothing"})
    return message


def _path(uri: str) -> str:
    """The path of a file's address; any other address as it is."""
    parts = urlsplit(uri)
    return printable(unquote(parts.path) if parts.scheme == "file" else uri)
