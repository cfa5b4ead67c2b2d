"""`clew mcp` as the protocol's reference client sees it, over both transports."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent
from tests.command import ARGV, environ
from tests.wire.served import served

pytestmark = pytest.mark.requirement("F-02", "W-07")

NOTE = {"text": "Berths are booked in metres.", "name": "Units", "when": ["how long is a berth"]}
Work = Callable[[Client], Awaitable[None]]


@asynccontextmanager
async def by_stdio(cwd: Path, mode: str) -> AsyncIterator[Client]:
    """A client that starts the server itself."""
    parameters = StdioServerParameters(command=ARGV[0], args=[*ARGV[1:], "mcp"], env=environ({}), cwd=cwd)
    async with Client(stdio_client(parameters, errlog=sys.stderr), mode=mode) as client:
        yield client


@asynccontextmanager
async def by_http(cwd: Path, mode: str) -> AsyncIterator[Client]:
    """A client of a server that runs."""
    with served(cwd) as server:
        headers = {"Authorization": f"Bearer {server.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
            Client(streamable_http_client(server.url, http_client=http), mode=mode) as client,
        ):
            yield client


async def work(client: Client) -> None:
    """What an agent does in a conversation. The client checks each result against the schema of its tool."""
    assert client.server_info and client.server_info.name == "clew"
    assert client.instructions and "memory_recall" in client.instructions
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == ["memory_recall", "memory_open", "memory_note", "memory_log"]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memory_recall", {"query": "how long is a berth?"}),
        ("memory_note", NOTE),
        ("memory_log", {"text": "wrote down the units", "heading": "units"}),
        ("memory_recall", {"query": "how long is a berth?"}),
        ("memory_open", {"ref": "a.txt"}),
    ]
    found: list[Any] = []
    for name, arguments in calls:
        result = await client.call_tool(name, arguments)
        assert not result.is_error, result.content
        assert isinstance(result.content[0], TextContent)
        found.append(result.structured_content)
    assert [found[0]["found"], found[3]["found"]] == [False, True]
    assert found[3]["hits"][0]["ref"].startswith(found[1]["ref"])
    refused = await client.call_tool("memory_open", {"ref": "../../etc/passwd"})
    assert refused.is_error


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("connect", [by_stdio, by_http])
def test_the_reference_client_lists_calls_and_checks_every_result(
    home: Path, repo: Path, connect: Callable[..., Any], mode: str
) -> None:
    async def main() -> None:
        with anyio.fail_after(60):
            async with connect(repo, mode) as client:
                await work(client)

    anyio.run(main)
