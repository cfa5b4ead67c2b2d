"""What a session of the agent works with here: tools, recall, layers, put together for one transcript."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.adapters.extensions import installed_injections
from clew.adapters.models.endpoints import Endpoint
from clew.adapters.models.windows import window_of
from clew.adapters.programs import PosixPrograms
from clew.adapters.shells import Shells
from clew.adapters.tokenizers import tokenizer_for
from clew.core.agent.permissions import Rule, verdict
from clew.core.text.printable import counted
from clew.services.delegation import BRIEF, Delegation, plan_told
from clew.services.delegation import TOOLS as SUB_AGENT_TOOLS
from clew.services.mcp_servers import McpServers, Means, plan_of
from clew.services.run import Limits, Session, Surroundings
from clew.services.sessions import Ground, announced, begun, forked, resumed
from clew.services.tools.command import Workplace, command_environ
from clew.services.tools.context import new_context_tool
from clew.services.tools.diagnostics import Diagnostics
from clew.services.tools.files import FileDesk
from clew.services.tools.memory import memory_tools
from clew.services.tools.search import Search
from clew.services.tools.servers import Desk
from clew.services.tools.sessions import delegate_tool, session_search_tool
from clew.services.tools.shell import shell_tool
from clew.services.tools.terminals import shell_hints, terminal_tools
from clew.services.tools.tool import Tool
from clew.services.window import Keeper
from clew.stores.approvals import Approvals
from clew.stores.transcripts import Read, Transcript, Transcripts

if TYPE_CHECKING:
    from clew.adapters.mcp_client import Servers
    from clew.core.agent.servers import ServerEntry
    from clew.core.ports import Tokenizer
    from clew.services.handoff import Handoff
    from clew.services.hinting import Hinted, Hinter
    from clew.services.memory import Memory
    from clew.services.run_desk import Run
    from clew.services.session_search import SessionSearch


@dataclass(slots=True)
class AgentRoom:
    """The place where sessions of one workspace are held."""

    ground: Ground
    transcripts: Transcripts
    memory: Callable[[str], Memory]
    """The memory, as a session of that id uses it."""
    handoff: Callable[[str], Handoff]
    """The handoffs, likewise."""
    sessions: Callable[[str], SessionSearch]
    """Searches sessions, likewise."""
    hinter: Callable[[], Hinter]
    environ: Mapping[str, str]
    redact: Callable[[str], str]
    """Takes secrets out of what a model reads; gives the text back where the user switched that off."""
    strictly: Callable[[str], str] | None = None
    """The same for files of secrets."""
    ignore: Sequence[str] = ()
    """Patterns of files that are passed over in searches, beside those that git ignores."""
    lsp: Mapping[str, str] = field(default_factory=dict[str, str])
    """Language servers that the user named, or switched off."""
    rules: Sequence[Rule] = ()
    threshold: float = 0.65
    """Share of the window at which the handoff is written."""
    yes: bool = False
    approvals: Approvals | None = None
    """Which servers of projects the user allowed; None: no MCP server is started at all."""
    servers: Mapping[str, ServerEntry] = field(default_factory=dict[str, "ServerEntry"])
    """The user's own MCP servers."""
    server_wait: float = 3.0
    server_timeout: float = 120.0
    _hinter: Hinter | None = None

    @contextmanager
    def new(self, model: str) -> Iterator[Session]:
        """A new session."""
        injected, notices = installed_injections(self.redact)
        more = [(one.origin, one.text) for one in injected]
        with begun(self.transcripts, self.ground, *more) as transcript, self._session(transcript, model) as session:
            session.trouble += notices
            yield session

    @contextmanager
    def again(self, id_: str, model: str) -> Iterator[Session]:
        """A session that goes on. Raises NotFound, StoreBusy."""
        with resumed(self.transcripts, id_) as transcript, self._session(transcript, model) as session:
            yield session

    @contextmanager
    def fork(self, id_: str, model: str, last: int = 0) -> Iterator[Session]:
        """A new session that shares runs of another one. Raises NotFound."""
        now = self.ground.clock()
        with forked(self.transcripts, id_, now, last) as transcript, self._session(transcript, model) as session:
            yield session

    @contextmanager
    def delegated(self, run: Run) -> Iterator[Session]:
        """A session of a sub-agent of a run. The two share their rules: one that is given holds for both."""
        with (
            begun(self.transcripts, self.ground, BRIEF, delegated=run.session.id) as transcript,
            contextlib.ExitStack() as stack,
        ):
            read = transcript.read()
            yield Session(self._around_sub_agent(transcript, run, stack), read)

    @contextmanager
    def _session(self, transcript: Transcript, model: str) -> Iterator[Session]:
        read = transcript.read()
        with contextlib.ExitStack() as stack:
            session = Session(self._around(transcript, read, model, stack), read)
            if read.skipped:
                lines = counted(read.skipped, "line")
                session.trouble.append(f"{lines} of this session cannot be read: cut short, or from another version")
            yield session

    def _around(self, transcript: Transcript, read: Read, model: str, stack: contextlib.ExitStack) -> Surroundings:
        def recall(text: str, role: str, run: int) -> Hinted:
            if self._hinter is None:
                self._hinter = self.hinter()
            # What the assistant said last is only recorded: nobody is shown a hint, so nothing is suppressed by it.
            session = "" if role == "record" else transcript.id
            who = "user" if role == "user" else "assistant"
            return self._hinter.hints(text, role=who, session=session, run=run)

        wanted: list[str] = []
        keeper = Keeper(
            self.handoff(transcript.id), transcript, _thread(read.opened.forked), read.windows, self.ground.root,
            self.threshold,
        )  # fmt: skip

        def begin(reason: str) -> str:
            handed = keeper.save("compact")
            wanted.append(reason)
            return handed.ref

        programs = PosixPrograms()
        stack.callback(programs.close)
        tokenizer = tokenizer_for(model)
        servers = self._servers(transcript, programs, tokenizer, stack)
        held: list[Surroundings] = []

        def examined(desk: FileDesk) -> Tool[Any]:
            findings = Diagnostics(
                desk.places, desk.cleaner, programs, command_environ(self.environ), chosen=self.lsp,
                permitted=lambda effect: verdict(effect, held[0].rules, yes=held[0].unasked) == "allow",
                touched=[desk.places.root / path for record in read.records() for path in record.changed],
            )  # fmt: skip
            stack.callback(findings.close)
            desk.after_write = findings.after_write
            return findings.tool()

        delegation = Delegation(self.delegated, lambda: self.memory(transcript.id))
        stack.callback(delegation.close)
        last = (
            session_search_tool(lambda: self.sessions(transcript.id)), delegate_tool(delegation),
            new_context_tool(begin),
        )  # fmt: skip
        desk, own, shells = self._tools(transcript, self.memory, keeper, programs, stack)
        tools = [*own, examined(desk), *last]
        told: set[str] = set()

        def notices() -> list[str]:
            fresh = [one for one in announced(read.opened, self.ground.instructions()) if one not in told]
            told.update(fresh)
            return fresh

        around = Surroundings(
            transcript=transcript,
            tools=tools,
            recall=recall,
            clock=self.ground.clock,
            redact=self.redact,
            tokenizer=tokenizer,
            rules=list(self.rules),
            yes=self.yes,
            notices=notices,
            shells=shells,
            forget=desk.forget,
            keeper=keeper,
            wanted=wanted,
            servers=servers,
            delegation=delegation,
        )
        held.append(around)
        desk.turn = lambda: around.step
        return around

    def _around_sub_agent(self, transcript: Transcript, run: Run, stack: contextlib.ExitStack) -> Surroundings:
        """A fresh window: tools that look, the plan, hints from the workspace's notes and not from the user's."""
        hinter = replace(self.hinter(), personal=False)

        def recall(text: str, role: str, number: int) -> Hinted:
            session, who = ("", "assistant") if role == "record" else (transcript.id, role)
            return hinter.hints(text, role=who, session=session, run=number)

        programs = PosixPrograms()
        stack.callback(programs.close)
        keeper = Keeper(self.handoff(transcript.id), transcript, "", 1, self.ground.root)
        desk, tools, shells = self._tools(transcript, self._own_memory, keeper, programs, stack)
        plan = [told] if (told := plan_told(self.handoff(transcript.id))) else []

        around = Surroundings(
            transcript=transcript,
            tools=[tool for tool in tools if tool.name in SUB_AGENT_TOOLS],
            recall=recall,
            clock=self.ground.clock,
            redact=self.redact,
            tokenizer=run.around.tokenizer,
            rules=run.around.rules,
            above=run.around,
            notices=lambda: plan,
            shells=shells,
            forget=desk.forget,
        )
        desk.turn = lambda: around.step
        return around

    def _own_memory(self, id_: str) -> Memory:
        """The memory as a sub-agent sees it: without what belongs to the user, and without what was said to others."""
        memory = self.memory(id_)
        memory.personal, memory.sessions = False, None
        return memory

    def _servers(
        self, transcript: Transcript, programs: PosixPrograms, tokenizer: Tokenizer, stack: contextlib.ExitStack
    ) -> McpServers | None:
        """The MCP servers of a session, on their way; None where there are none."""
        root = Path(os.path.realpath(self.ground.root))
        plan = plan_of(root, self.servers)
        if self.approvals is None or not (plan.entries or plan.notices):
            return None

        def opened() -> Servers:
            from clew.adapters.mcp_client import Servers  # noqa: PLC0415 -- only where there are servers

            return Servers(programs, root, self.server_timeout)

        means = Means(
            root, self.environ, command_environ(self.environ), self.redact, self.ground.clock, self.approvals,
            tokenizer, self.server_wait,
        )  # fmt: skip
        servers = McpServers(plan, means, Desk(self.server_timeout, self.redact, transcript.folder), opened)
        stack.callback(servers.close)
        servers.begin()
        return servers

    def _tools(
        self, transcript: Transcript, remembered: Callable[[str], Memory], keeper: Keeper, programs: PosixPrograms,
        stack: contextlib.ExitStack,
    ) -> tuple[FileDesk, list[Tool[Any]], Callable[[], str]]:  # fmt: skip
        """The desk of files; the tools that any session has, in order; the open shells."""
        root = Path(os.path.realpath(self.ground.root))
        scratch = transcript.folder
        desk = FileDesk(root, self.ground.cwd, self.redact, self.strictly, (scratch,))
        search = Search(
            root, self.ground.cwd, self.redact, self.strictly, (scratch,), self.ignore, environ=self.environ
        )
        # One memory of the marks that were shown, whichever tool showed them.
        search.cleaner = desk.cleaner
        place = Workplace(root, command_environ(self.environ), lambda text: desk.cleaner.redacted("", text))
        shells = Shells(programs)
        stack.callback(shells.close)
        memory = memory_tools(
            lambda: remembered(transcript.id), lambda: self.handoff(transcript.id), lambda: keeper.place
        )
        tools: list[Tool[Any]] = [
            *desk.tools(), *search.tools(), shell_tool(programs, place, scratch), *terminal_tools(shells, place),
            *memory,
        ]  # fmt: skip
        return desk, tools, lambda: shell_hints(shells, place)


def _thread(forked: str) -> str:
    """The session that a fork goes on from; empty for one that goes on from none."""
    return forked.partition("#")[0]


def limits_of(endpoint: Endpoint, *, answer: int | None, steps: int | None, window: int | None) -> Limits:
    """What a run may use; None: the usual."""
    published, known = window_of(endpoint)
    usual = Limits(window or published, known or window is not None)
    room = min((answer or min(usual.answer, usual.window // 4)) + endpoint.thoughts, usual.window // 2)
    return Limits(usual.window, usual.known, room, steps or usual.steps)
