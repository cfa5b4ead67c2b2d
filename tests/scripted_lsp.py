"""A language server for tests. `python scripted_lsp.py MODE LOG` finds each line with BAD wrong, in a way of its own.

Everything that it is told goes to LOG, a message a line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

MODE, LOG = sys.argv[1:3]
texts: dict[str, str] = {}
versions: dict[str, int] = {}


def read() -> dict[str, Any]:
    """The next message. Ends at the end of the input."""
    length = 0
    while (line := sys.stdin.buffer.readline()) not in (b"\r\n", b""):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    body = sys.stdin.buffer.read(length) if line else b""
    if not body:
        sys.exit(0)
    with open(LOG, "ab") as log:
        log.write(body + b"\n")
    return json.loads(body)


def send(**message: Any) -> None:
    """Say something."""
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    sys.stdout.buffer.flush()


def found(text: str, word: str = "BAD") -> list[dict[str, Any]]:
    """A report for each line that holds a word."""
    lines = [(number, line) for number, line in enumerate(text.split("\n")) if word in line]
    units = {number: len(line[: line.index(word)].encode("utf-16-le")) // 2 for number, line in lines}
    return [
        {
            "range": {
                "start": {"line": number, "character": units[number]},
                "end": {"line": number, "character": units[number] + 3},
            },
            "severity": 1, "code": "no-bad", "source": "scripted", "message": f"bad: {line.strip()}",
        }
        for number, line in lines
    ]  # fmt: skip


def publish(uri: str, version: int | None, items: list[dict[str, Any]]) -> None:
    """Report on a file."""
    named = {} if version is None else {"version": version}
    send(method="textDocument/publishDiagnostics", params={"uri": uri, **named, "diagnostics": items})


def initialize(number: int) -> None:
    """Answer the first request, or do not."""
    match MODE:
        case "hangs":
            time.sleep(600)
        case "dies":
            sys.stderr.write("warming up\nno toolchain is installed\n")
            sys.exit(3)
        case "garbage":
            sys.stdout.write("Welcome to the server!\n" * 1000)
            sys.stdout.flush()
            time.sleep(600)
        case "child":
            # Of another session, and without a parent.
            subprocess.run(["/bin/sh", "-c", f"/bin/sleep {sys.argv[3]} >&2 &"], start_new_session=True, check=True)
        case _:
            pass
    pulls = {"diagnosticProvider": {"interFileDependencies": False}} if MODE == "pull" else {}
    saves = {"textDocumentSync": {"change": 1, "openClose": True, "save": {"includeText": True}}}
    send(id=number, result={"capabilities": {**saves, **pulls}})
    send(id="mine", method="workspace/configuration", params={"items": [{"section": "yaml.schemaStore"}, {}]})
    send(id="edit", method="workspace/applyEdit", params={"edit": {}})
    send(id="odd", method="scripted/unknown", params={})


def changed(uri: str, version: int, text: str) -> None:
    """A file is shown, or says something else."""
    versions[uri] = version
    texts[uri] = text
    match MODE:
        case "dependent":
            publish(uri, version, found(text))
            time.sleep(0.3)
            for other in versions.keys() - {uri}:
                publish(other, versions[other], found(text, "BREAKS"))
        case "eats":
            kept: list[bytearray] = []
            while True:
                kept.append(bytearray(os.urandom(1 << 20) * 16))
        case "floods":
            while True:
                publish(uri, version - 1, [])
                send(method="window/logMessage", params={"type": 4, "message": "x" * 10_000})
        case "late":
            publish(uri, version - 1, found(text + "\nOLD", "OLD"))
            time.sleep(0.2)
            publish(uri, version, found(text))
        case "unversioned":
            publish(uri, None, found(text)[:1])
            publish(uri, None, found(text))
        case "silent" | "pull":
            pass
        case "dies-later" if "DIE" in text:
            sys.exit(7)
        case _:
            publish(uri, version, found(text))


def main() -> None:
    """Serve until the input ends."""
    tries = 0
    while True:
        message = read()
        params = message.get("params") or {}
        match message.get("method"):
            case "initialize":
                initialize(message["id"])
            case "textDocument/didOpen":
                item = params["textDocument"]
                changed(item["uri"], item["version"], item["text"])
            case "textDocument/didChange":
                item = params["textDocument"]
                changed(item["uri"], item["version"], params["contentChanges"][0]["text"])
            case "textDocument/diagnostic":
                tries += 1
                if tries == 1:
                    send(id=message["id"], error={"code": -32802, "message": "ask again"})
                else:
                    items = found(texts[params["textDocument"]["uri"]])
                    send(id=message["id"], result={"kind": "full", "items": items})
            case _:
                pass


if __name__ == "__main__":
    main()
