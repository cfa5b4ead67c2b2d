"""The revision of the protocol without a handshake: each request stands for itself, over both transports."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ListRootsResult, Root
from mcp_types.methods import validate_server_result
from pydantic import FileUrl
from tests.command import ARGV, environ
from tests.entrypoints.test_mcp import fill
from tests.entrypoints.test_mcp_http import BEGIN, TYPES, post
from tests.wire.lines import talking
from tests.wire.served import served

pytestmark = pytest.mark.requirement("F-02")

NEWEST = "2026-07-28"
KEY = "io.modelcontextprotocol/"
LOG = {"name": "memory_log", "arguments": {"text": "a day at the harbour"}}


def meta(version: Any = NEWEST, capabilities: Any = None, **more: Any) -> dict[str, Any]:
    """What each request says about its client."""
    said = {f"{KEY}protocolVersion": version, f"{KEY}clientCapabilities": {} if capabilities is None else capabilities}
    return {"_meta": {**said, f"{KEY}clientInfo": {"name": "test", "version": "1"}, **more}}


def test_a_server_can_be_asked_what_it_is_and_serves_without_a_handshake(home: Path, repo: Path) -> None:
    with talking(repo) as server:
        results: list[tuple[str, dict[str, Any]]] = []
        for method, params in (("server/discover", {}), ("tools/list", {}), ("tools/call", LOG)):
            results.append((method, server.ask(method, {**params, **meta()})["result"]))
            validate_server_result(method, NEWEST, results[-1][1])
        found, tools, logged = (result for _, result in results)
        assert found["supportedVersions"][0] == NEWEST and "2025-11-25" in found["supportedVersions"]
        assert "memory_recall" in found["instructions"] and len(tools["tools"]) == 4
        assert all(one["cacheScope"] == "public" and one["ttlMs"] > 0 for one in (found, tools))
        assert logged["structuredContent"]["saved"] and logged["resultType"] == "complete"
        assert all(one["_meta"][f"{KEY}serverInfo"]["name"] == "clew" for _, one in results)
        # A client of an earlier revision is served by the same process.
        assert server.initialize()["protocolVersion"] == "2025-11-25"
        result = server.call("memory_recall", {"query": "harbour"})
        assert result["structuredContent"]["found"] and "resultType" not in result
        assert server.end() == 0


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("server/discover", {}, -32601),
        ("ping", meta(), -32601),
        ("logging/setLevel", {"level": "info", **meta()}, -32601),
        ("no/such", meta(), -32601),
        ("tools/list", meta("2099-01-01"), -32022),
        ("server/discover", meta("2025-11-25"), -32022),
        ("tools/call", {**LOG, **meta("1999-01-01")}, -32022),
        ("tools/list", meta(7), -32602),
        ("tools/list", meta(capabilities=[]), -32602),
        ("tools/list", {"_meta": {f"{KEY}protocolVersion": NEWEST}}, -32602),
        ("tools/call", {"name": "no_such_tool", **meta()}, -32602),
        ("tools/list", {"_meta": {f"{KEY}clientCapabilities": {}}}, -32600),
    ],
)
def test_what_does_not_hold_of_a_request_is_an_error_and_the_next_one_is_served(
    home: Path, repo: Path, method: str, params: dict[str, Any], code: int
) -> None:
    with talking(repo) as server:
        error = server.ask(method, params)["error"]
        assert error["code"] == code
        if code == -32022:
            assert NEWEST in error["data"]["supported"]
            assert error["data"]["requested"] == params["_meta"][f"{KEY}protocolVersion"]
        assert len(server.ask("tools/list", meta())["result"]["tools"]) == 4
    assert not list((home / "clew").rglob("*.md"))


def test_a_call_asks_for_the_folders_of_its_client_by_its_result(home: Path, repo: Path, tmp_path: Path) -> None:
    with talking(tmp_path) as server:
        params = {**LOG, **meta(capabilities={"roots": {}})}
        asked = server.ask("tools/call", params)["result"]
        validate_server_result("tools/call", NEWEST, asked)
        assert asked["resultType"] == "input_required"
        assert not list((home / "clew").rglob("*.md"))
        responses = {key: {"roots": [{"uri": repo.as_uri()}]} for key in asked["inputRequests"]}
        saved = server.ask("tools/call", {**params, "inputResponses": responses})["result"]
        assert "project My Repo)" in saved["structuredContent"]["message"]
        broken = server.ask("tools/call", {**params, "inputResponses": {"roots": 7}})["result"]
        assert "did not say which folders" in broken["structuredContent"]["message"]


def test_progress_comes_to_who_asks_for_it(home: Path, repo: Path) -> None:
    fill(home, repo, 300)
    recall = {"name": "memory_recall", "arguments": {"query": "berth 7"}}
    with talking(repo) as server:
        found = server.ask("tools/call", {**recall, **meta(progressToken="p")})["result"]
        assert found["structuredContent"]["found"]
        assert {one["params"]["progressToken"] for one in server.seen} == {"p"}


def envelope_headers(message: Mapping[str, Any]) -> dict[str, str | None]:
    """What HTTP says again of a message."""
    name = message["params"].get("name")
    said = {"MCP-Protocol-Version": NEWEST, "Mcp-Method": message["method"]}
    return {**said, **({"Mcp-Name": name} if name else {})}


def enveloped(method: str, **params: Any) -> dict[str, Any]:
    """A request for HTTP."""
    return {"jsonrpc": "2.0", "id": 3, "method": method, "params": {**meta(), **params}}


def test_over_http_each_request_stands_for_itself(home: Path, repo: Path) -> None:
    with served(repo) as server:
        for method, params in (("server/discover", {}), ("tools/list", {}), ("tools/call", LOG)):
            message = enveloped(method, **params)
            status, headers, body = post(server, message, envelope_headers(message))
            assert status == 200 and "Mcp-Session-Id" not in headers
            validate_server_result(method, NEWEST, json.loads(body)["result"])
        told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}
        assert post(server, told, {"MCP-Protocol-Version": NEWEST})[0] == 202
        # An earlier revision goes on beside it, also for a client that names the newest one and can only shake hands.
        for more in ({}, {"MCP-Protocol-Version": NEWEST}):
            status, headers, body = post(server, BEGIN, more)
            assert (status, json.loads(body)["result"]["protocolVersion"]) == (200, "2025-11-25")
            assert headers["Mcp-Session-Id"]
        for method in ("GET", "DELETE"):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            keys = {"Authorization": f"Bearer {server.token}", "MCP-Protocol-Version": NEWEST}
            connection.request(method, "/mcp", headers=keys)
            answer = connection.getresponse()
            assert (answer.status, answer.headers["Allow"]) == (405, "POST")
            connection.close()


@pytest.mark.parametrize(
    ("change", "headers", "status", "code"),
    [
        ({}, {"MCP-Protocol-Version": None}, 400, -32020),
        ({}, {"MCP-Protocol-Version": "2025-11-25"}, 400, -32020),
        ({}, {"Mcp-Method": None}, 400, -32020),
        ({}, {"Mcp-Method": "tools/list"}, 400, -32020),
        ({}, {"Mcp-Name": None}, 400, -32020),
        ({}, {"Mcp-Name": "memory_note"}, 400, -32020),
        ({}, {"Mcp-Name": "=?base64?" + base64.b64encode(b"memory_log").decode() + "?="}, 200, 0),
        ({}, {"Mcp-Name": "=?base64?!?="}, 400, -32020),
        ({"params": {**LOG, **meta("2099-01-01")}}, {"MCP-Protocol-Version": "2099-01-01"}, 400, -32022),
        ({"params": LOG}, {}, 400, -32602),
        ({"params": {"name": "no_such", **meta()}}, {"Mcp-Name": "no_such"}, 400, -32602),
        ({"method": "no/such"}, {"Mcp-Method": "no/such"}, 404, -32601),
    ],
)
def test_over_http_headers_and_body_have_to_agree(
    home: Path, repo: Path, change: dict[str, Any], headers: dict[str, str | None], status: int, code: int
) -> None:
    message = {**enveloped("tools/call", **LOG), **change}
    with served(repo) as server:
        found, _, body = post(server, message, {**envelope_headers(enveloped("tools/call", **LOG)), **headers})
        answer = json.loads(body)
        assert (found, answer.get("error", {}).get("code", 0), answer["id"]) == (status, code, 3), body
    assert status == 200 or not list((home / "clew").rglob("*.md"))


def test_a_header_that_stands_twice_and_a_revision_nobody_speaks_are_refused(home: Path, repo: Path) -> None:
    message = enveloped("tools/list")
    with served(repo) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.putrequest("POST", "/mcp")
        body = json.dumps(message).encode()
        keys = {**TYPES, "Authorization": f"Bearer {server.token}", "MCP-Protocol-Version": NEWEST}
        for name, value in (*keys.items(), ("Mcp-Method", "tools/list"), ("Mcp-Method", "tools/call")):
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        assert answer.status == 400 and json.loads(answer.read())["error"]["code"] == -32020
        connection.close()
        legacy = {"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": {}}
        status, _, said = post(server, legacy, {"MCP-Protocol-Version": "2099-01-01"})
        error = json.loads(said)
        assert (status, error["id"], error["error"]["code"]) == (400, 9, -32022)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_reference_client_speaks_the_newest_revision_and_says_its_folders(
    home: Path, repo: Path, tmp_path: Path, transport: str
) -> None:
    async def roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(repo.as_uri()))])

    async def work(client: Client) -> None:
        assert client.session.protocol_version == NEWEST
        result = await client.call_tool("memory_log", LOG["arguments"])
        assert not result.is_error and result.structured_content
        assert "project My Repo)" in result.structured_content["message"]

    async def main() -> None:
        with anyio.fail_after(60):
            if transport == "stdio":
                command = StdioServerParameters(command=ARGV[0], args=[*ARGV[1:], "mcp"], env=environ({}), cwd=tmp_path)
                async with Client(stdio_client(command), mode="auto", list_roots_callback=roots) as client:
                    await work(client)
                return
            with served(tmp_path) as server:
                headers = {"Authorization": f"Bearer {server.token}"}
                async with (
                    httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as web,
                    Client(
                        streamable_http_client(server.url, http_client=web), mode="auto", list_roots_callback=roots
                    ) as client,
                ):
                    await work(client)

    anyio.run(main)
