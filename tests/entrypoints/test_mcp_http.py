"""`clew mcp --http`: for this machine, for those who hold the token, and for no page of a browser."""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import socket
import stat
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.command import clew, write
from tests.wire.served import Served, served

from clew.entrypoints.mcp.http import MOST_CONNECTIONS, STRANGE_SECONDS

pytestmark = pytest.mark.requirement("F-02")

TYPES = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
CLIENT = {"name": "test", "version": "1"}
BEGIN = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT},
}  # fmt: skip


def post(
    server: Served, message: object, headers: Mapping[str, str | None] | None = None, path: str = "/mcp"
) -> tuple[int, dict[str, str], str]:
    """Status, headers and body; None takes a header out."""
    wanted: dict[str, str | None] = {**TYPES, "Authorization": f"Bearer {server.token}", **(headers or {})}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        connection.putrequest("POST", path, skip_host=True)
        for name, value in {"Host": f"127.0.0.1:{server.port}", "Content-Length": str(len(body)), **wanted}.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), answer.read().decode()
    finally:
        connection.close()


def begin(server: Served, **capabilities: Any) -> dict[str, str]:
    """The header of a new session."""
    message = json.loads(json.dumps(BEGIN))
    message["params"]["capabilities"] = capabilities
    status, headers, _ = post(server, message)
    assert status == 200
    return {"Mcp-Session-Id": headers["Mcp-Session-Id"]}


def call(name: str, arguments: Mapping[str, Any], ident: int = 2, **params: Any) -> dict[str, Any]:
    """The message of a call."""
    return {
        "jsonrpc": "2.0", "id": ident, "method": "tools/call",
        "params": {"name": name, "arguments": arguments, **params},
    }  # fmt: skip


def test_connections_without_a_token_hold_nobody_up_for_long(home: Path, repo: Path) -> None:
    with served(repo) as server, contextlib.ExitStack() as open_:
        for _ in range(MOST_CONNECTIONS + 6):
            open_.enter_context(socket.create_connection(("127.0.0.1", server.port), 5))

        def begun() -> bool:
            try:
                return bool(begin(server))
            except (OSError, http.client.HTTPException):
                return False

        until = time.monotonic() + 4 * STRANGE_SECONDS
        while not begun():
            assert time.monotonic() < until


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_ended_says_that_and_no_more(home: Path, repo: Path, number: signal.Signals) -> None:
    with served(repo) as server:
        begin(server)
        server.process.send_signal(number)
        assert server.process.wait(20) != 0
        assert server.process.stderr is not None
        assert server.process.stderr.read().strip() == "interrupted"


def test_a_session_begins_serves_and_ends(home: Path, repo: Path) -> None:
    with served(repo) as server:
        session = begin(server)
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert post(server, told, session)[0] == 202
        status, headers, body = post(server, call("memory_log", {"text": "over HTTP"}), session)
        assert (status, headers["Content-Type"]) == (200, "application/json")
        assert json.loads(body)["result"]["structuredContent"]["saved"] is True
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        right = {"Authorization": f"Bearer {server.token}", **session}
        for method, status in (("GET", 405), ("DELETE", 204), ("DELETE", 404)):
            connection.request(method, "/mcp", headers=right)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == status
        connection.close()
        assert post(server, call("memory_log", {"text": "after the end"}), session)[0] == 404
    (log,) = (home / "clew" / "memory").rglob("logs/*.md")
    assert "over HTTP" in log.read_text(encoding="utf-8") and "after the end" not in log.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer wrong-wrong-wrong-wrong"}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": "Basic {token}"}, 401),
        ({"Host": "evil.example.com"}, 403),
        ({"Host": "127.0.0.1.evil.example.com"}, 403),
        ({"Host": "169.254.169.254"}, 403),
        ({"Host": None}, 403),
        ({"Host": "[::1"}, 403),
        ({"Origin": "https://evil.example.com"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "file://"}, 403),
        ({"Origin": "http://localhost.evil.example.com"}, 403),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Host": "localhost:9"}, 200),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": None}, 415),
        ({"Accept": "text/html"}, 406),
        ({"MCP-Protocol-Version": "1999-01-01"}, 400),
        ({"MCP-Protocol-Version": "2025-06-18"}, 200),
        ({"Content-Length": None}, 411),
        ({"Content-Length": "-1"}, 411),
        ({"Content-Length": str(1 << 40)}, 413),
    ],
    ids=str,
)
def test_who_may_enter(home: Path, repo: Path, headers: dict[str, str | None], status: int) -> None:
    with served(repo) as server:
        laid = {name: value and value.format(token=server.token) for name, value in headers.items()}
        found, sent, body = post(server, BEGIN, laid)
        assert found == status
        assert ("Mcp-Session-Id" in sent) is (status == 200)
        assert server.token not in body + str(sent)
        # The next one is served.
        assert post(server, BEGIN)[0] == 200


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (b"no json", 400),
        (b"[]", 400),
        (b"", 400),
        ([BEGIN, BEGIN], 400),
        ({"jsonrpc": "2.0", "id": 5, "method": "x"}, 400),
    ],
    ids=str,
)
def test_what_is_no_message_is_refused(home: Path, repo: Path, message: object, status: int) -> None:
    with served(repo) as server:
        assert post(server, message)[0] == status
        assert post(server, BEGIN, path="/elsewhere")[0] == 404


def test_an_unknown_session_is_told_to_begin_anew(home: Path, repo: Path) -> None:
    with served(repo) as server:
        assert post(server, call("memory_log", {"text": "a"}))[0] == 400
        assert post(server, call("memory_log", {"text": "a"}), {"Mcp-Session-Id": "made-up"})[0] == 404


def test_progress_and_questions_come_as_events_before_the_answer(home: Path, repo: Path, tmp_path: Path) -> None:
    with served(tmp_path) as server:
        session = begin(server, roots={})
        asked = threading.Event()
        answered: list[int] = []

        def say_roots(ident: str) -> None:
            result = {"roots": [{"uri": repo.as_uri()}]}
            answered.append(post(server, {"jsonrpc": "2.0", "id": ident, "result": result}, session)[0])
            asked.set()

        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        headers = {**TYPES, "Authorization": f"Bearer {server.token}", **session}
        message = call("memory_note", {"text": "By events.", "name": "Events"}, _meta={"progressToken": 1})
        connection.request("POST", "/mcp", json.dumps(message), headers)
        answer = connection.getresponse()
        assert answer.headers["Content-Type"] == "text/event-stream"
        events: list[dict[str, Any]] = []
        for line in answer:
            if line.startswith(b"data: "):
                events.append(json.loads(line[6:]))
                if events[-1].get("method") == "roots/list":
                    say_roots(events[-1]["id"])
        connection.close()
        assert asked.is_set() and answered == [202]
        assert "project My Repo" in events[-1]["result"]["structuredContent"]["message"]


def test_the_token_is_made_once_and_only_for_its_owner(home: Path, repo: Path) -> None:
    with served(repo) as server:
        first = server.token
    path = home / "clew" / "mcp.token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and len(first) >= 40
    with served(repo) as server:
        assert server.token == first
    path.chmod(0o644)
    done = clew("mcp", "--http", cwd=repo)
    assert done.status == 2 and "others may read" in done.err and first not in done.err


def test_a_token_of_ones_own_is_taken_from_its_file(home: Path, repo: Path, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.touch(mode=0o600)
    path.write_text("a-token-of-my-own-0123\n", encoding="ascii")
    with served(repo, "--token-file", str(path)) as server:
        assert server.token == "a-token-of-my-own-0123"
        assert post(server, BEGIN)[0] == 200
    write(tmp_path, {"token": "short"})
    done = clew("mcp", "--http", "--token-file", str(path), cwd=repo)
    assert done.status == 2 and "holds no token" in done.err


def test_a_port_that_is_taken_is_said(home: Path, repo: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = clew("mcp", "--http", "--port", str(taken.getsockname()[1]), cwd=repo)
    assert done.status == 2 and "cannot be used" in done.err


def test_it_listens_on_loopback_only(home: Path, repo: Path) -> None:
    with served(repo) as server:
        table = Path("/proc/net/tcp")
        if not table.exists():
            pytest.skip("no /proc/net/tcp here")
        rows = [
            line.split()[1] for line in table.read_text(encoding="ascii").splitlines()[1:] if line.split()[3] == "0A"
        ]
        assert [row for row in rows if row.endswith(f":{server.port:04X}")] == [f"0100007F:{server.port:04X}"]


@pytest.mark.requirement("Q-40")
def test_eight_clients_over_http_lose_nothing(home: Path, repo: Path) -> None:
    with served(repo) as server:
        sessions = [begin(server) for _ in range(8)]
        failed: list[str] = []

        def append(number: int) -> None:
            for turn in range(4):
                message = call("memory_log", {"text": f"entry {number}-{turn} of the day"}, ident=turn + 2)
                _, _, body = post(server, message, sessions[number])
                if '"saved":true' not in body:
                    failed.append(body)

        threads = [threading.Thread(target=append, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert not failed
    (log,) = (home / "clew" / "memory").rglob("logs/*.md")
    text = log.read_text(encoding="utf-8")
    assert all(text.count(f"entry {number}-{turn} of the day") == 1 for number in range(8) for turn in range(4))


def test_a_client_that_hangs_up_and_sigterm_leave_nothing_half_done(home: Path, repo: Path) -> None:
    with served(repo) as server:
        session = begin(server)
        with socket.create_connection(("127.0.0.1", server.port)) as raw:
            body = json.dumps(call("memory_log", {"text": "said and gone"})).encode()
            head = [
                "POST /mcp HTTP/1.1", "Host: localhost", "Content-Type: application/json", "Accept: */*",
                f"Authorization: Bearer {server.token}", f"Mcp-Session-Id: {session['Mcp-Session-Id']}",
                f"Content-Length: {len(body)}",
            ]  # fmt: skip
            raw.sendall(("\r\n".join(head) + "\r\n\r\n").encode() + body)
            raw.shutdown(socket.SHUT_WR)
            raw.settimeout(60)
            assert raw.recv(15) == b"HTTP/1.1 200 OK"
        assert post(server, BEGIN)[0] == 200
        server.process.terminate()
        assert server.process.wait(30) == 143
    (log,) = (home / "clew" / "memory").rglob("logs/*.md")
    assert "said and gone" in log.read_text(encoding="utf-8")


def test_a_cancelled_call_ends_without_an_answer_and_one_whose_client_hung_up_ends_too(home: Path, repo: Path) -> None:
    with served(repo) as server:
        session = begin(server)
        workspace = json.loads(post(server, call("memory_log", {"text": "the first day"}), session)[2])
        folder = workspace["result"]["structuredContent"]["workspace"]
        body = "Ships are measured twice, by two people, before they get a berth. " * 30
        notes = {f"berth-{n}.md": f"# Berth {n}\n\nBerth {n} is free. {body}\n" for n in range(600)}
        write(home / "clew" / "memory" / "workspaces" / folder / "notes", notes)
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        headers = {**TYPES, "Authorization": f"Bearer {server.token}", **session}
        asked = call("memory_recall", {"query": "berth 7"}, ident=7, _meta={"progressToken": "p"})
        connection.request("POST", "/mcp", json.dumps(asked), headers)
        answer = connection.getresponse()
        assert b"event: message" in answer.readline()
        assert b"notifications/progress" in answer.readline()
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        assert post(server, cancelled, session)[0] == 202
        assert b'"result"' not in answer.read()
        # The connection can be used again; now its client hangs up in the middle.
        connection.request("POST", "/mcp", json.dumps(asked), headers)
        answer = connection.getresponse()
        answer.readline()
        answer.close()
        connection.close()
        found = post(server, call("memory_recall", {"query": "berth 8"}, ident=8), session)
        assert '"found":true' in found[2]
