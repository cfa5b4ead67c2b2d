"""`clew mcp` and what no client should send: it answers what it can, keeps what it promised, and goes on."""

from __future__ import annotations

import json
import select
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.command import ARGV, clew, environ, write
from tests.wire.lines import talking, text_of

pytestmark = pytest.mark.requirement("F-02")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"no json", -32700),
        (b"{", -32700),
        (b"[" * 100_000, -32700),
        (b"\xff\xfe\x00", -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": "\xc3("}}', -32700),
        (b'{"jsonrpc": "2.0", "id": ' + b"9" * 5_000 + b', "method": "ping"}', -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": 2, "method": "ping"}]', -32600),
        (b"7", -32600),
        (b'{"id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 2}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "no/such"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}', -32602),
    ],
)
def test_a_broken_line_gets_an_error_and_the_next_one_its_answer(
    home: Path, repo: Path, line: bytes, code: int
) -> None:
    with talking(repo) as server:
        server.send(line)
        assert server.next()["error"]["code"] == code
        assert server.ask("ping")["result"] == {}
        assert server.end() == 0


def test_a_line_without_end_is_not_kept_in_memory(home: Path, repo: Path) -> None:
    with talking(repo) as server:
        server.send(b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * (33 << 20) + b'"}')
        assert "at most" in server.next()["error"]["message"]
        assert server.ask("ping")["result"] == {}


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"name": "no_such_tool", "arguments": {}}, -32602),
        ({"name": "", "arguments": {}}, -32602),
        ({"name": ["memory_log"], "arguments": {}}, -32602),
        ({"arguments": {}}, -32602),
        ({"name": "memory_log", "arguments": [1]}, -32602),
        ({"name": "memory_log", "arguments": "text"}, -32602),
    ],
)
def test_an_unknown_tool_is_an_error_of_the_protocol(home: Path, repo: Path, params: Any, code: int) -> None:
    with talking(repo) as server:
        server.initialize()
        error = server.ask("tools/call", params)["error"]
    assert error["code"] == code and error["message"]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("memory_log", {}, "missing required field `text`"),
        ("memory_log", {"text": 7}, "Expected `str`, got `int`"),
        ("memory_log", {"text": "a", "more": 1}, "unknown field `more`"),
        ("memory_log", {"text": ""}, "there is nothing to log"),
        ("memory_log", {"text": "a\0b"}, "NUL"),
        ("memory_log", {"text": "x" * (10 << 20)}, "8,000"),
        ("memory_note", {"text": "x" * (10 << 20), "name": "huge"}, "characters"),
        ("memory_note", {"text": "a", "name": "b", "type": "poem"}, "poem"),
        ("memory_note", {"text": "a", "name": "b", "kind": "song"}, "song"),
        ("memory_note", {"text": "a", "name": "b", "when": "now"}, "array"),
        ("memory_note", {"text": "a", "name": "b", "when": ["x\0"]}, "NUL"),
        ("memory_recall", {"query": "  "}, "nothing to look for"),
        ("memory_recall", {"query": "x" * 20_000}, "length <= 10000"),
        ("memory_recall", {"query": "a", "scope": "everything"}, "everything"),
        ("memory_recall", {"query": "a", "budget": 10**9}, "60000"),
        ("memory_open", {"ref": ""}, "no reference"),
        ("memory_open", {"ref": "../../../etc/passwd"}, "outside of the workspace"),
        ("memory_open", {"ref": "/etc/passwd"}, "outside of the workspace"),
        ("memory_open", {"ref": "a.txt/../../../../etc/passwd"}, ""),
        ("memory_open", {"ref": "user/../../../etc/passwd.md"}, ""),
        ("memory_open", {"ref": "workspaces/x/../../../../../etc/passwd.md"}, ""),
        ("memory_open", {"ref": "clew://memory/../../../../etc/passwd"}, "memory holds no"),
        ("memory_open", {"ref": "clew://memory/"}, "no reference"),
        ("memory_open", {"ref": "file:///etc/passwd"}, "URL"),
        ("memory_open", {"ref": "outwards"}, "outside of the workspace"),
        ("memory_open", {"ref": "x\0y"}, "NUL"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_argument_is_told_to_the_model_and_writes_nothing(
    home: Path, repo: Path, name: str, arguments: dict[str, Any], said: str
) -> None:
    (repo / "outwards").symlink_to("/etc/passwd")
    with talking(repo) as server:
        server.initialize()
        refused = server.call(name, arguments)
        assert refused["isError"] is True
        told = text_of(refused)
        assert told.startswith("error: ") and said in told and len(told) < 4_500
        assert "root:" not in told
        # The server goes on.
        assert server.call("memory_recall", {"query": "anything"})["isError"] is False
    assert not list((home / "clew").rglob("*.md"))


def test_null_stands_for_what_is_left_out(home: Path, repo: Path) -> None:
    with talking(repo) as server:
        server.initialize()
        saved = server.call("memory_note", {"text": "A note.", "name": "N", "when": None, "description": None})
        assert saved["structuredContent"]["saved"] and "no `when` phrases" in text_of(saved)


def test_halves_of_characters_and_odd_signs_are_kept_as_text(home: Path, repo: Path) -> None:
    with talking(repo) as server:
        server.initialize()
        # As a client writes it that cuts texts anywhere.
        arguments = rb'{"text": "x \ud83d y \u2028 z \u202e w"}'
        head = b'{"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "memory_log", "arguments": '
        line = head + arguments + b"}}"
        server.send(line)
        result = server.next()["result"]
        assert result["isError"] is False, text_of(result)
        # What was changed is said as it is, and no secret is made of it.
        assert "Secrets" not in text_of(result) and "Halves of characters" in text_of(result)
        assert "Halves of characters" in result["structuredContent"]["message"]
        opened = server.call("memory_open", {"ref": result["structuredContent"]["ref"]})
        assert "x \ufffd y" in text_of(opened)
        found = server.call("memory_recall", {"query": "x y z w"})
        assert found["isError"] is False


@pytest.mark.requirement("Q-40")
def test_eight_clients_that_append_at_once_lose_nothing(home: Path, repo: Path) -> None:
    clients, each = 8, 5
    stack = [talking(repo) for _ in range(clients)]
    servers = [one.__enter__() for one in stack]
    try:
        for server in servers:
            server.initialize()
        begun = {
            (number, turn): server.begin_call("memory_log", {"text": f"entry {number}-{turn} of the day"})
            for turn in range(each)
            for number, server in enumerate(servers)
        }
        for (number, _), ident in begun.items():
            result = servers[number].answer(ident)["result"]
            assert result["isError"] is False, text_of(result)
    finally:
        for one in stack:
            one.__exit__(None, None, None)
    (log,) = (home / "clew" / "memory").rglob("logs/*.md")
    text = log.read_text(encoding="utf-8")
    for number, turn in begun:
        assert text.count(f"entry {number}-{turn} of the day") == 1


def test_a_client_that_closes_its_end_gets_what_it_asked_for_and_leaves_no_process(home: Path, repo: Path) -> None:
    with talking(repo) as server:
        server.initialize()
        begun = [server.begin_call("memory_log", {"text": f"entry {turn} of the day"}) for turn in range(30)]
        assert server.end() == 0
        assert all(server.answer(ident)["result"]["structuredContent"]["saved"] for ident in begun)
    (log,) = (home / "clew" / "memory").rglob("logs/*.md")
    text = log.read_text(encoding="utf-8")
    assert all(text.count(f"entry {turn} of the day") == 1 for turn in range(30))


def test_a_reader_that_is_gone_ends_the_server(home: Path, repo: Path) -> None:
    process = subprocess.Popen(
        [*ARGV, "mcp"], cwd=repo, env=environ({}), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin and process.stdout and process.stderr
    process.stdout.close()
    for number in range(3):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}).encode() + b"\n")
    process.stdin.close()
    assert process.wait(30) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.parametrize("answers", [1, 40])
def test_a_client_that_dies_while_it_holds_the_other_end_open_ends_the_server(
    home: Path, repo: Path, answers: int
) -> None:
    write(repo, {"long.txt": "a line of this file\n" * 3_000})
    process = subprocess.Popen(
        [*ARGV, "mcp"], cwd=repo, env=environ({}), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin and process.stdout and process.stderr
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}}
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}).encode())
    opening = {"name": "memory_open", "arguments": {"ref": "long.txt"}}
    for number in range(1, answers):
        asked = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": opening}
        process.stdin.write(b"\n" + json.dumps(asked).encode())
    process.stdin.write(b"\n")
    process.stdin.flush()
    # In the middle of an answer, where there are more of them than the pipe holds.
    assert process.stdout.read(10)
    process.stdout.close()
    assert process.wait(30) == 0
    assert process.stderr.read() == b""
    for pipe in (process.stdin, process.stderr):
        pipe.close()


def test_a_client_that_reads_nothing_holds_up_no_end(home: Path, repo: Path) -> None:
    write(repo, {"long.txt": "a line of this file\n" * 3_000})
    process = subprocess.Popen([*ARGV, "mcp"], cwd=repo, env=environ({}), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin and process.stdout
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}}
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}).encode())
    for number in range(1, 40):
        asked = {"name": "memory_open", "arguments": {"ref": "long.txt"}}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": asked}
        process.stdin.write(b"\n" + json.dumps(message).encode())
    process.stdin.write(b"\n")
    process.stdin.flush()
    poll = select.poll()
    poll.register(process.stdout, select.POLLIN)
    assert poll.poll(30_000)
    process.terminate()
    assert process.wait(30) == 143
    process.stdin.close()
    process.stdout.close()


def test_what_is_cancelled_after_its_end_or_was_never_asked_changes_nothing(home: Path, repo: Path) -> None:
    with talking(repo) as server:
        server.initialize()
        ident = server.begin_call("memory_log", {"text": "done before"})
        assert server.answer(ident)["result"]["isError"] is False
        for params in ({"requestId": ident}, {"requestId": 99}, {"requestId": {}}, {}):
            server.send({"method": "notifications/cancelled", "params": params})
        assert server.call("memory_recall", {"query": "done before"})["structuredContent"]["found"]
        assert server.end() == 0


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_it_with_the_status_that_shells_know(
    home: Path, repo: Path, number: signal.Signals, status: int
) -> None:
    with talking(repo) as server:
        server.initialize()
        server.call("memory_log", {"text": "before the end"})
        server.process.send_signal(number)
        assert server.process.wait(30) == status
    (log,) = (home / "clew" / "memory").rglob("logs/*.md")
    assert "before the end" in log.read_text(encoding="utf-8")


def test_a_store_that_cannot_be_written_is_said_and_nothing_is_called_saved(home: Path, repo: Path) -> None:
    write(home / "clew", {"memory": "a file where the folder should be"})
    with talking(repo) as server:
        server.initialize()
        refused = server.call("memory_log", {"text": "lost?"})
        assert refused["isError"] is True and "Saved" not in text_of(refused)
        assert server.ask("ping")["result"] == {}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--http", "--host", "0.0.0.0"), "is not this machine"),
        (("--http", "--host", "example.com"), "is not this machine"),
        (("--port", "8000"), "belong to --http"),
        (("--workspace", "no-such-folder"), "There is no folder"),
        (("--http", "--token-file", "no-such-file"), "cannot be read"),
        (("--http", "--port", "70000"), "70000"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_served(
    home: Path, repo: Path, options: tuple[str, ...], said: str
) -> None:
    done = clew("mcp", *options, cwd=repo)
    assert done.status == 2 and said in done.err and not done.out


def test_without_a_way_in_it_says_so(home: Path, repo: Path) -> None:
    command = ["sh", "-c", 'exec "$@" <&-', "sh", *ARGV, "mcp"]
    done = subprocess.run(command, cwd=repo, env=environ({}), capture_output=True, check=False)
    assert done.returncode == 2 and b"stdin is closed" in done.stderr
