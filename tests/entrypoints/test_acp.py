"""Clew's agent in an editor: a client of the protocol's own library, over pipes, against a scripted model."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import acp
import pytest
from acp.client.connection import ClientSideConnection
from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse
from tests.agents import Decide, World, calls, demand_extension, says, told, world
from tests.command import ARGV, environ
from tests.scripted_server import Turn

from clew.app import App
from clew.entrypoints.acp.agent import ClewAgent
from clew.entrypoints.acp.stdio import serve

pytestmark = pytest.mark.requirement("R-17")

SECONDS = 180
EDIT = ("edit_file", {"path": "src/retry.py", "edits": [{"old": "attempts=5", "new": "attempts=9", "all": False}]})
READ = ("read", {"path": "src/retry.py"})


@dataclass
class Editor:
    """What an editor keeps of a session, and how its user answers."""

    answer: str = "no"
    """The option that is chosen; empty: the question is withdrawn."""
    updates: list[Any] = field(default_factory=list[Any])
    asked: list[Any] = field(default_factory=list[Any])
    options: list[Any] = field(default_factory=list[Any])
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a question is open, where nobody answers."""
    silent: bool = False
    late: asyncio.Event = field(default_factory=asyncio.Event)
    """Lets the user of a silent editor answer after all."""

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        """Kept."""
        self.updates.append(update)

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **more: Any
    ) -> RequestPermissionResponse:
        """The answer that the test gave."""
        self.asked.append(tool_call)
        self.options.append(options)
        if self.silent:
            self.waiting.set()
            await self.late.wait()
        if not self.answer:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=self.answer))

    def on_connect(self, conn: Any) -> None:
        """Nothing to do."""

    def of(self, kind: str) -> list[Any]:
        """The updates of one kind."""
        return [update for update in self.updates if update.session_update == kind]

    @property
    def said(self) -> str:
        """What the agent said."""
        return "".join(update.content.text for update in self.of("agent_message_chunk"))

    @property
    def thought(self) -> str:
        """What the agent thought, and what Clew tells beside."""
        return "".join(update.content.text for update in self.of("agent_thought_chunk"))


@dataclass
class Room:
    """An editor with its agent."""

    world: World
    editor: Editor
    agent: ClientSideConnection

    async def begin(self, **more: Any) -> str:
        """A new session; its id."""
        begun = await self.agent.new_session(cwd=str(self.world.repository), mcp_servers=more.pop("servers", []))
        return begun.session_id

    async def prompt(self, session: str, *blocks: Any, play: Decide | list[Turn] | None = None) -> Any:
        """One prompt."""
        if play is not None:
            self.world._play(play)
        words = [acp.text_block(block) if isinstance(block, str) else block for block in blocks]
        return await self.agent.prompt(session_id=session, prompt=words)


@asynccontextmanager
async def working(world: World, *, editor: Editor | None = None) -> AsyncIterator[Room]:
    """An agent within this process, at the other end of two pipes."""
    held, loop = editor or Editor(), asyncio.get_running_loop()
    environment = {**os.environ, **world.model} | {name: value or "" for name, value in world.environment.items()}
    agent = ClewAgent(lambda folder: App(environment, folder, {}), lambda text: text)
    (theirs, ours), (mine, back) = os.pipe(), os.pipe()
    serving = asyncio.ensure_future(serve(agent, theirs, back, loop.create_future()))
    reader = asyncio.StreamReader(limit=1 << 24)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(mine, "rb", 0))
    way, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(ours, "wb", 0))
    connection = ClientSideConnection(held, asyncio.StreamWriter(way, protocol, reader, loop), reader)  # type: ignore[arg-type]
    try:
        answer = await connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert answer.protocol_version == acp.PROTOCOL_VERSION
        assert answer.agent_info is not None and answer.agent_info.name == "clew"
        yield Room(world, held, connection)
    finally:
        way.close()
        await serving
        await connection.close()


@asynccontextmanager
async def started(world: World) -> AsyncIterator[Room]:
    """An agent in a process of its own."""
    held = Editor()
    env = environ({**world.model, **world.environment})
    more: dict[str, Any] = {"transport_kwargs": {"stderr": None, "shutdown_timeout": SECONDS}}
    async with acp.spawn_agent_process(held, *ARGV, "acp", env=env, cwd=world.repository, **more) as (agent, process):  # type: ignore[arg-type]
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        yield Room(world, held, agent)
    assert process.returncode == 0


def played(harbour: Path, home: Path, scene: Callable[[World], Awaitable[None]]) -> World:
    """Run a scene; every request of it is an extension of the one before."""
    with world(harbour, home) as there:
        asyncio.run(asyncio.wait_for(scene(there), SECONDS))
        return there


def test_a_prompt_is_answered_piece_by_piece_and_the_tools_are_seen(harbour: Path, home: Path) -> None:
    async def scene(there: World) -> None:
        async with working(there) as room:
            session = await room.begin()
            answer = await room.prompt(
                session, "How often is it tried?", play=[calls(READ, text="Let me see. "), says("Five ", "times.")]
            )
            assert answer.stop_reason == "end_turn" and answer.usage.output_tokens > 0
            assert room.editor.said == "Let me see. Five times."
            (start,), (end,) = room.editor.of("tool_call"), room.editor.of("tool_call_update")
            assert start.tool_call_id == end.tool_call_id and start.kind == "read" and end.status == "completed"
            assert start.locations[0].path == str(harbour / "src" / "retry.py")
            assert "attempts=5" in end.content[0].content.text
            demand_extension(there.asked())

    played(harbour, home, scene)


def test_the_command_serves_an_editor_that_starts_it(harbour: Path, home: Path) -> None:
    async def scene(there: World) -> None:
        async with started(there) as room:
            session = await room.begin()
            assert (await room.prompt(session, "Hello?", play=[says("Hello.")])).stop_reason == "end_turn"
            assert room.editor.said == "Hello."

    played(harbour, home, scene)


def test_an_edit_asks_with_its_diff_and_is_made_when_it_is_allowed(harbour: Path, home: Path) -> None:
    async def scene(there: World) -> None:
        async with working(there, editor=Editor("once")) as room:
            session = await room.begin()
            await room.prompt(session, "Try nine times.", play=[calls(READ), calls(EDIT), says("Done.")])
            (asked,), (options,) = room.editor.asked, room.editor.options
            assert [one.kind for one in options] == ["allow_once", "allow_always", "reject_once"]
            (diff,) = asked.content
            assert diff.type == "diff" and diff.path == str(harbour / "src" / "retry.py")
            assert "attempts=5" in diff.old_text and "attempts=9" in diff.new_text
            assert asked.tool_call_id == room.editor.of("tool_call")[-1].tool_call_id
            done = room.editor.of("tool_call_update")[-1]
            assert done.status == "completed" and done.content[0].new_text == diff.new_text
        assert "attempts=9" in (harbour / "src" / "retry.py").read_text(encoding="utf-8")

    played(harbour, home, scene)


def test_a_no_changes_nothing_and_the_model_is_told(harbour: Path, home: Path) -> None:
    async def scene(there: World) -> None:
        async with working(there) as room:
            session = await room.begin()
            answer = await room.prompt(
                session, "Try nine times.", play=[calls(READ), calls(EDIT), says("As you wish.")]
            )
            assert answer.stop_reason == "end_turn"
            assert room.editor.of("tool_call_update")[-1].status == "failed"
        assert "attempts=5" in (harbour / "src" / "retry.py").read_text(encoding="utf-8")
        assert "refused: the user does not allow" in told(there.asked()[-1])

    played(harbour, home, scene)


def test_a_yes_for_good_is_not_asked_for_again_in_the_session(harbour: Path, home: Path) -> None:
    again = ("edit_file", {"path": "src/retry.py", "edits": [{"old": "attempts=9", "new": "attempts=7", "all": False}]})

    async def scene(there: World) -> None:
        async with working(there, editor=Editor("always")) as room:
            session = await room.begin()
            await room.prompt(session, "Try nine times.", play=[calls(READ), calls(EDIT), calls(again), says("Done.")])
            assert len(room.editor.asked) == 1
        assert "attempts=7" in (harbour / "src" / "retry.py").read_text(encoding="utf-8")

    played(harbour, home, scene)


def test_cancelling_ends_the_turn_while_a_question_is_open_and_the_session_goes_on(harbour: Path, home: Path) -> None:
    async def scene(there: World) -> None:
        async with working(there, editor=Editor("once", silent=True)) as room:
            session = await room.begin()
            there._play([calls(READ), calls(EDIT), says("Never said.")])
            turn = asyncio.ensure_future(room.prompt(session, "Try nine times."))
            await room.editor.waiting.wait()
            await room.agent.cancel(session_id=session)
            assert (await turn).stop_reason == "cancelled"
            assert "Never said" not in room.editor.said
            # A yes that comes too late allows nothing.
            room.editor.late.set()
            answer = await room.prompt(session, "And now?", play=[calls(READ), says("Here I am.")])
            assert answer.stop_reason == "end_turn" and room.editor.said.endswith("Here I am.")
        assert "attempts=5" in (harbour / "src" / "retry.py").read_text(encoding="utf-8")

    played(harbour, home, scene)


def test_a_question_that_the_editor_withdraws_ends_the_turn(harbour: Path, home: Path) -> None:
    async def scene(there: World) -> None:
        async with working(there, editor=Editor("")) as room:
            session = await room.begin()
            answer = await room.prompt(session, "Try nine times.", play=[calls(READ), calls(EDIT), says("Never said.")])
            assert answer.stop_reason == "cancelled" and "Never said" not in room.editor.said

    played(harbour, home, scene)


def test_one_session_takes_one_prompt_at_a_time_and_two_sessions_work_side_by_side(harbour: Path, home: Path) -> None:
    async def scene(there: World) -> None:
        there.windows = True
        async with working(there, editor=Editor(silent=True)) as room:
            one, other = await room.begin(), await room.begin()
            assert one != other
            there._play([calls(READ), calls(EDIT), says("The other.")])
            turn = asyncio.ensure_future(room.prompt(one, "Try nine times."))
            await room.editor.waiting.wait()
            with pytest.raises(acp.RequestError, match="a run is under way"):
                await room.prompt(one, "Hello?")
            assert (await room.prompt(other, "Who are you?")).stop_reason == "end_turn"
            await room.agent.cancel(session_id=one)
            assert (await turn).stop_reason == "cancelled"

    played(harbour, home, scene)


def test_files_of_the_prompt_go_along_as_paths_and_fenced_texts(harbour: Path, home: Path) -> None:
    async def scene(there: World) -> None:
        async with working(there) as room:
            session = await room.begin()
            named = acp.resource_link_block("retry.py", (harbour / "src" / "retry.py").as_uri())
            given = acp.resource_block(
                acp.embedded_text_resource((harbour / "a b.txt").as_uri(), "</attached 0>\nText.")
            )
            await room.prompt(session, "Compare ", named, " with ", given, play=[says("They differ.")])
            text = told(there.asked()[-1])
            assert f"Compare {harbour}/src/retry.py with " in text
            head = next(line for line in text.splitlines() if line.startswith("<attached "))
            mark = head.split()[1]
            assert head == f"<attached {mark} {harbour}/a b.txt>" and f"\n</attached {mark}>" in text
            with pytest.raises(acp.RequestError):
                await room.prompt(session, acp.image_block("AAAA", "image/png"))
            with pytest.raises(acp.RequestError):
                await room.prompt(session, "  ")

    played(harbour, home, scene)


def test_the_plan_is_shown_when_it_changes(harbour: Path, home: Path) -> None:
    first = ("memory_note", {"text": "# Plan\n\n- [ ] find it\n- [ ] mend it\n", "kind": "plan", "mode": "replace"})
    second = ("memory_note", {"text": "# Plan\n\n- [x] find it\n- [ ] mend it\n", "kind": "plan", "mode": "replace"})

    async def scene(there: World) -> None:
        async with working(there) as room:
            session = await room.begin()
            await room.prompt(session, "Plan it.", play=[calls(first), calls(READ), calls(second), says("Planned.")])
            plans = [[(one.content, one.status) for one in plan.entries] for plan in room.editor.of("plan")]
            assert plans == [
                [("find it", "in_progress"), ("mend it", "pending")],
                [("find it", "completed"), ("mend it", "in_progress")],
            ]

    played(harbour, home, scene)


def test_a_session_is_listed_and_goes_on_with_what_was_said_told_again(harbour: Path, home: Path) -> None:
    async def scene(there: World) -> None:
        async with working(there) as room:
            session = await room.begin()
            await room.prompt(session, "How often?", play=[calls(READ), says("Five times.")])
        async with working(there) as room:
            listed = await room.agent.list_sessions(cwd=str(harbour))
            assert [(one.session_id, one.title) for one in listed.sessions] == [(session, "How often?")]
            await room.agent.load_session(cwd=str(harbour), session_id=session, mcp_servers=[])
            (user,) = room.editor.of("user_message_chunk")
            assert user.content.text == "How often?" and room.editor.said == "Five times."
            assert [one.title for one in room.editor.of("tool_call")] == ["read"]
            await room.prompt(session, "Why?", play=[says("So it was decided.")])
            assert "Five times." in told(there.asked()[-1])
            with pytest.raises(acp.RequestError, match="there is no session"):
                await room.agent.load_session(cwd=str(harbour), session_id="20260101-000000-0000", mcp_servers=[])
            other = harbour.parent / "other"
            other.mkdir()
            with pytest.raises(acp.RequestError, match="belongs to another folder"):
                await room.agent.load_session(cwd=str(other), session_id=session, mcp_servers=[])

    played(harbour, home, scene)


def test_what_goes_wrong_is_told_with_what_to_do(harbour: Path, home: Path) -> None:
    async def scene(there: World) -> None:
        async with working(there) as room:
            with pytest.raises(acp.RequestError, match="there is no folder"):
                await room.agent.new_session(cwd="relative", mcp_servers=[])
            with pytest.raises(acp.RequestError):
                await room.prompt("nothing", "Hello?")
            session = await room.begin()
            with pytest.raises(acp.RequestError, match="refused the key"):
                await room.prompt(session, "Hello?", play=[Turn(fault="key")])
        there.environment["CLEW_MODEL"] = None
        async with working(there) as room:
            with pytest.raises(acp.RequestError, match=r"needs a model.*CLEW_MODEL"):
                await room.begin()

    played(harbour, home, scene)


def test_servers_of_the_editor_are_named_as_not_used(harbour: Path, home: Path) -> None:
    async def scene(there: World) -> None:
        async with working(there) as room:
            session = await room.begin(
                servers=[acp.schema.McpServerStdio(name="own", command="/bin/true", args=[], env=[])]
            )
            await room.prompt(session, "Hello?", play=[says("Hello.")])
            assert "MCP servers of the editor are not used: own" in room.editor.thought

    played(harbour, home, scene)


def test_an_editor_that_is_killed_ends_the_run_and_the_program_that_it_started(harbour: Path, home: Path) -> None:
    slow = ("shell", {"command": "echo $$ > pid; exec sleep 300"})
    with world(harbour, home) as there:
        there._play([calls(slow), says("Never said.")])
        process = subprocess.Popen(
            [*ARGV, "acp", "--yes"],
            cwd=harbour,
            env=environ(there.model),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with process:
            assert process.stdin is not None and process.stdout is not None

            def ask(number: int, method: str, params: dict[str, Any]) -> None:
                row = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                process.stdin.write(json.dumps(row).encode() + b"\n")  # type: ignore[union-attr]
                process.stdin.flush()  # type: ignore[union-attr]

            ask(0, "initialize", {"protocolVersion": 1})
            ask(1, "session/new", {"cwd": str(harbour), "mcpServers": []})
            session = ""
            for line in process.stdout:
                row = json.loads(line)
                assert row["jsonrpc"] == "2.0"
                if row.get("id") == 1:
                    session = row["result"]["sessionId"]
                    ask(2, "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "Wait."}]})
                if row.get("params", {}).get("update", {}).get("sessionUpdate") == "tool_call":
                    break
            pid = harbour / "pid"
            while not pid.exists() or not pid.read_text().strip():
                assert process.poll() is None
            process.stdout.close()
            process.stdin.close()
            assert process.wait(SECONDS) == 0
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)
        ended = there.lines()[-1]
        assert ended["type"] == "end" and ended["outcome"] == "aborted"


def test_a_termination_ends_the_server_politely(harbour: Path, home: Path) -> None:
    with world(harbour, home) as there:
        process = subprocess.Popen(
            [*ARGV, "acp"], cwd=harbour, env=environ(there.model), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        with process:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(
                b'no json\n{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}\n'
            )
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["result"]["agentInfo"]["name"] == "clew"
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 143
            assert process.stdout.read() == b""


def test_standard_output_that_is_a_file_is_refused_with_what_to_do(harbour: Path, home: Path, tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [*ARGV, "acp"], cwd=harbour, env=environ({}), stdin=subprocess.PIPE, stdout=out, stderr=subprocess.PIPE,
            check=False, timeout=SECONDS,
        )  # fmt: skip
    assert done.returncode == 2 and b"must be pipes" in done.stderr
