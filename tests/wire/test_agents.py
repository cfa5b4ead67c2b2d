"""Real coding agents with a scripted model: the tools are offered, the instructions arrive, a call is served."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.command import ARGV
from tests.wire.scripted_model import LAST_WORDS, Asked, Script, codex_settings, playing

from clew.entrypoints.mcp.tools import INSTRUCTIONS, TOOLS

pytestmark = [pytest.mark.slow, pytest.mark.requirement("W-07", "F-02")]

COMMAND, *ARGUMENTS = (*ARGV, "mcp")
NOTE = {"text": "Berths are booked in metres.", "name": "Units of berths", "when": ["how long is a berth", "泊位多长"]}
LINES = INSTRUCTIONS.splitlines()


def script() -> Script:
    """A model that keeps a note."""
    return Script("memory_note", NOTE)


def run(command: Sequence[str | Path], cwd: Path, env: Mapping[str, str]) -> str:
    """What an agent printed, with nothing of this machine but PATH around it."""
    plain = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "dumb"}
    # Some install a package of their own when they first start. None of them may leave this machine.
    plain |= {"NPM_CONFIG_OFFLINE": "true", "NPM_CONFIG_REGISTRY": "http://127.0.0.1:9"}
    try:
        done = subprocess.run(
            [str(one) for one in command], cwd=cwd, env={**plain, **env}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=180, check=False, start_new_session=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        pytest.fail(f"no end after {error.timeout:.0f} s: {(error.stdout or b'')[-2000:]}")
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def prove(played: Script, home: Path, printed: str) -> None:
    """The requests had the tools and the instructions, and the note is on the disk."""
    offering = [asked for asked in played.asked if any(tool.name.endswith("memory_note") for tool in asked.tools)]
    assert offering, f"no request offered the tool: {[[tool.name for tool in one.tools] for one in played.asked]}"
    names = [tool.name for tool in offering[0].tools]
    assert all(any(name.endswith(tool) for name in names) for tool in TOOLS), names
    whole = "\n".join(asked.text for asked in played.asked)
    lacking = [line for line in LINES if json.dumps(line, ensure_ascii=False)[1:-1] not in whole]
    assert not lacking, "instructions did not arrive"
    answered = [asked for asked in played.asked if asked.has_result]
    assert answered, _last(played.asked)
    told = results(answered[-1])
    assert "Saved as a new note, read back: clew://memory/mem_" in told, told
    assert LAST_WORDS in printed
    (note,) = (home / "clew" / "memory" / "workspaces").glob("*/notes/*.md")
    kept = note.read_text(encoding="utf-8")
    assert "Berths are booked in metres." in kept and "泊位多长" in kept


def results(asked: Asked) -> str:
    """What tools answered, as the agent hands it to the model."""
    texts: list[str] = []
    for item in [*asked.body.get("messages", []), *asked.body.get("input", [])]:
        if item.get("type") == "function_call_output" or item.get("role") == "tool":
            texts.append(json.dumps(item, ensure_ascii=False))
        elif isinstance(item.get("content"), list):
            texts += [
                json.dumps(one, ensure_ascii=False) for one in item["content"] if one.get("type") == "tool_result"
            ]
    return "\n".join(texts)


def _last(asked: Sequence[Asked]) -> str:
    return asked[-1].text[-2000:] if asked else "nothing was asked"


def test_claude_code_keeps_a_note(home: Path, repo: Path, tmp_path: Path, installed: Callable[[str], Path]) -> None:
    claude = installed(".bin/claude")
    servers = {"clew": {"command": COMMAND, "args": ARGUMENTS, "env": _server(home)}}
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    played = script()
    with playing(played) as url:
        env = {
            "HOME": str(home), "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_MAX_RETRIES": "1",
        }  # fmt: skip
        asked = [claude, "-p", "Keep how berths are measured.", "--output-format", "stream-json", "--verbose"]
        options = ["--mcp-config", config, "--strict-mcp-config", "--allowedTools", "mcp__clew"]
        printed = run([*asked, *options], repo, env)
    prove(played, home, printed)


def test_codex_keeps_a_note(home: Path, repo: Path, tmp_path: Path, installed: Callable[[str], Path]) -> None:
    played, codex = script(), installed(".bin/codex")
    folder = tmp_path / "codex"
    folder.mkdir()
    with playing(played) as url:
        (folder / "config.toml").write_text(
            codex_settings(url, "scripted")
            + f"""\
[mcp_servers.clew]
command = {json.dumps(COMMAND)}
args = {json.dumps(ARGUMENTS)}
env = {{ {", ".join(f"{name} = {json.dumps(value)}" for name, value in _server(home).items())} }}
default_tools_approval_mode = "approve"
""",
            encoding="utf-8",
        )
        env = {"HOME": str(home), "CODEX_HOME": str(folder), "NO_KEY": "none"}
        command = [codex, "exec", "--json", "--skip-git-repo-check", "Keep how berths are measured."]
        printed = run(command, repo, env)
    prove(played, home, printed)


def test_opencode_keeps_a_note(home: Path, repo: Path, tmp_path: Path, installed: Callable[[str], Path]) -> None:
    opencode = installed(".bin/opencode")
    config = tmp_path / "opencode.json"
    played = script()
    with playing(played) as url:
        model = {"name": "Scripted", "tool_call": True, "limit": {"context": 128_000, "output": 8_000}}
        provider = {
            "npm": "@ai-sdk/openai-compatible", "name": "Scripted", "models": {"scripted": model},
            "options": {"baseURL": f"{url}/v1", "apiKey": "sk-none"},
        }  # fmt: skip
        server = {"type": "local", "command": [COMMAND, *ARGUMENTS], "environment": _server(home)}
        settings: dict[str, Any] = {
            "model": "scripted/scripted", "small_model": "scripted/scripted", "autoupdate": False, "share": "disabled",
            "provider": {"scripted": provider}, "mcp": {"clew": server},
        }  # fmt: skip
        config.write_text(json.dumps(settings), encoding="utf-8")
        env = {
            "HOME": str(home), "OPENCODE_CONFIG": str(config), "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        }  # fmt: skip
        command = [opencode, "run", "--format", "json", "--title", "Berths", "--auto", "Keep how berths are measured."]
        printed = run(command, repo, env)
    prove(played, home, printed)


def _server(home: Path) -> dict[str, str]:
    """What the server needs to find its folder; agents hand on little else."""
    return {"CLEW_HOME": str(home / "clew"), "GIT_CONFIG_NOSYSTEM": "1"}
