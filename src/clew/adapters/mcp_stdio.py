"""An MCP server on the pipes of a program that ends with the session.

The SDK's own transport keeps lines of any length and does not know of the keeper that outlives a killed session.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from clew.adapters.programs import PosixPrograms

MOST_MESSAGE: Final = 8 << 20
"""Bytes of one message."""
_LONGEST_WORDS: Final = 400
"""Characters that are kept of a line on standard error."""
_PATIENCE: Final = 0.5
"""Seconds in which a server may end by itself once its input is closed."""
_GRACE: Final = 1.0
_TICK: Final = 0.01
_LOOK: Final = 0.1

Say = Callable[[str], None]


@asynccontextmanager
async def over_pipes(
    name: str, argv: tuple[str, ...], folder: Path, environ: Mapping[str, str], programs: PosixPrograms,
    said: Say, gone: anyio.Event,
) -> AsyncGenerator[tuple[Any, Any]]:  # fmt: skip
    """Start a server; yields the streams that a session of the SDK takes.

    `said` gets each line that is no message; `gone` is set when the server's output has ended. At the end of the
    block nothing of the server is left. Raises OSError, ValueError where it cannot be started.
    """
    mark = await anyio.to_thread.run_sync(programs.mark, name)
    child = await asyncio.create_subprocess_exec(
        *argv,
        cwd=folder,
        env={**environ, **mark},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        limit=MOST_MESSAGE,
    )
    programs.watch(child.pid)
    to_session, reads = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writes, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_watch, child, gone)
            group.start_soon(_listen, child, said)
            group.start_soon(_receive, child, to_session, said, gone)
            group.start_soon(_send, child, from_session, gone)
            try:
                yield reads, writes
            finally:
                with anyio.CancelScope(shield=True):
                    await _end(child, name, programs)
                    with anyio.move_on_after(_PATIENCE):  # what it said last is on its way
                        while not (child.stderr is None or child.stderr.at_eof()):
                            await anyio.sleep(_TICK)
                group.cancel_scope.cancel()
    finally:
        for stream in (to_session, reads, writes, from_session):
            stream.close()
        # Nothing public closes the pipes, which a program that nobody may end could hold open.
        if transport := getattr(child, "_transport", None):
            with contextlib.suppress(PermissionError, ProcessLookupError):
                transport.close()


async def _end(child: asyncio.subprocess.Process, name: str, programs: PosixPrograms) -> None:
    if child.stdin is not None:
        child.stdin.close()
    deadline = anyio.current_time() + _PATIENCE
    # Not `wait`: that also waits for whoever inherited the pipes.
    while child.returncode is None and anyio.current_time() < deadline:
        await anyio.sleep(_TICK)
    await anyio.to_thread.run_sync(programs.end, name, child.pid, _GRACE)
    programs.forget(child.pid)


async def _watch(child: asyncio.subprocess.Process, gone: anyio.Event) -> None:
    """Notice the end of the program also where something that it left holds its output open."""
    while child.returncode is None:
        await anyio.sleep(_LOOK)
    await anyio.sleep(_PATIENCE)  # what it said last is on its way
    gone.set()


async def _receive(child: asyncio.subprocess.Process, to_session: Any, said: Say, gone: anyio.Event) -> None:
    assert child.stdout is not None
    try:
        while True:
            try:
                line = await child.stdout.readline()
            except ValueError:
                said(f"it sent a message of more than {MOST_MESSAGE >> 20} MB")
                return
            if not line:
                return
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                said(_words(line))
                continue
            await to_session.send(SessionMessage(message))
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
        return
    finally:
        gone.set()
        to_session.close()


async def _send(child: asyncio.subprocess.Process, from_session: Any, gone: anyio.Event) -> None:
    assert child.stdin is not None
    try:
        async for one in from_session:
            text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
            child.stdin.write(text.encode() + b"\n")
            await child.stdin.drain()
    except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        gone.set()


async def _listen(child: asyncio.subprocess.Process, said: Say) -> None:
    """Hand on the lines of standard error; of a long one the beginning."""
    assert child.stderr is not None
    held = b""
    while piece := await child.stderr.read(64 << 10):
        *whole, held = (held + piece).split(b"\n")
        held = held[:4096]
        for line in whole:
            said(_words(line))
    said(_words(held))


def _words(line: bytes) -> str:
    return line.strip()[: _LONGEST_WORDS * 4].decode("utf-8", "replace")[:_LONGEST_WORDS]
