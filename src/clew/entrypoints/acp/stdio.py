"""The protocol over standard input and output: nothing else gets out there."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from typing import Final, cast

import acp
from acp.agent.connection import AgentSideConnection
from acp.stdio import _WritePipeProtocol  # pyright: ignore[reportPrivateUsage]

from clew.entrypoints.acp.agent import ClewAgent
from clew.errors import UsageError

MOST_BYTES: Final = 64 << 20
"""Bytes of one message."""


def serve_stdio(agent: ClewAgent) -> int:
    """Serve one editor until its end of input: 0, or the signal that ended it. Raises UsageError."""
    # The library reports what a foreign message broke to the root logger, with tracebacks.
    logging.getLogger().addHandler(logging.NullHandler())
    incoming, outgoing = os.dup(0), os.dup(1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return asyncio.run(_until_stopped(agent, incoming, outgoing))


async def _until_stopped(agent: ClewAgent, incoming: int, outgoing: int) -> int:
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[int] = loop.create_future()

    def stop(number: int) -> None:
        if not stopped.done():
            stopped.set_result(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    await serve(agent, incoming, outgoing, stopped)
    return stopped.result() if stopped.done() else 0


async def serve(agent: ClewAgent, incoming: int, outgoing: int, stopped: asyncio.Future[int]) -> None:
    """Serve one editor over two pipes, until its end or until `stopped` is. Raises UsageError where these are none."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MOST_BYTES)
    try:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(incoming, "rb", 0))
        way, protocol = await loop.connect_write_pipe(_WritePipeProtocol, os.fdopen(outgoing, "wb", 0))
    except ValueError as error:
        hint = "an editor starts this command itself, with pipes"
        raise UsageError("stdin and stdout must be pipes", hint=hint) from error
    writer = asyncio.StreamWriter(way, protocol, None, loop)
    # What is not offered in `initialize` has no method here: the library answers that there is none.
    connection = AgentSideConnection(cast("acp.Agent", agent), writer, reader, listening=False)
    listening = asyncio.ensure_future(connection.listen())
    try:
        await asyncio.wait({listening, stopped}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await agent.close()
        listening.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await listening
        with contextlib.suppress(Exception):
            await connection.close()
        way.close()
