"""Real agent CLIs as models of `clew ask`: the question goes to the model with its fragments, and nothing else does."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.command import clew
from tests.wire.scripted_model import LAST_WORDS, Asked, Script, codex_settings, playing

pytestmark = [pytest.mark.slow, pytest.mark.requirement("P-14", "F-06")]

QUESTION = "where is retry_with_backoff?"
FRAGMENT = "def retry_with_backoff(call, attempts=5, timeout=30.0):"
SYSTEM = "You answer one question of a developer."
PRIVATE = "the-word-in-a-private-file"


def prove(
    name: str, program: Path, harbour: Path, home: Path, env: Mapping[str, str], played: Script, tools: set[str]
) -> list[Asked]:
    """Ask, and look at what the model was sent and at what is left behind."""
    secret = home / "secret.txt"
    secret.write_text(PRIVATE, encoding="utf-8")
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    # Some install a package of their own when they first start. None of them may leave this machine.
    outside = {
        "NPM_CONFIG_OFFLINE": "true",
        "NPM_CONFIG_REGISTRY": "http://127.0.0.1:9",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1",
    }
    question = f"{QUESTION} Not @{secret}"
    done = clew(
        "ask", "--json", question, cwd=harbour, timeout=180, env={"PATH": path, **outside, **env, "CLEW_MODEL": name}
    )
    assert done.status == 0, done.err
    assert done.json["answer"] == LAST_WORDS and done.json["model"] == name and not done.json["cut"]
    assert done.json["usage"]["output"] == 5
    (asked,) = played.asked
    for part in (question, FRAGMENT, SYSTEM):
        assert json.dumps(part)[1:-1] in asked.text, part
    assert PRIVATE not in asked.text
    assert str(harbour) not in json.dumps(asked.body.get("system", "")), "it works in the user's repository"
    assert {tool.name for tool in asked.tools} <= tools
    assert not (home / "started").exists(), "a hook or a server of the user's was started"
    status = clew("models", "--json", cwd=harbour, env={"PATH": path}).json
    (row,) = [row for row in status["models"] if row["name"] == name.partition(":")[0]]
    assert row["usable"] and any(digit.isdigit() for digit in row["why"])
    return played.asked


def test_claude_code_answers(home: Path, harbour: Path, installed: Callable[[str], Path]) -> None:
    claude = installed(".bin/claude")
    touch = {"command": "/usr/bin/touch", "args": [str(home / "started")]}
    hook = {"hooks": [{"type": "command", "command": f"touch '{home / 'started'}'"}]}
    (home / ".claude").mkdir()
    settings = {"hooks": {"SessionStart": [hook], "UserPromptSubmit": [hook], "Stop": [hook]}}
    (home / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"own": touch}}), encoding="utf-8")
    (home / ".claude" / "CLAUDE.md").write_text("A standing instruction.", encoding="utf-8")
    played = Script("no such tool", {})
    with playing(played) as url:
        env = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-none"}
        (asked,) = prove("claude:opus", claude, harbour, home, env, played, set())
    assert "A standing instruction" not in asked.text
    assert not list((home / ".claude").rglob("*.jsonl")), "the conversation was kept"


def test_codex_answers(home: Path, harbour: Path, installed: Callable[[str], Path]) -> None:
    codex = installed(".bin/codex")
    folder = home / "codex"
    folder.mkdir()
    played = Script("no such tool", {})
    with playing(played) as url:
        (folder / "config.toml").write_text(
            codex_settings(url, "other", f'notify = ["/usr/bin/touch", "{home / "started"}"]')
            + f"""\
[mcp_servers."own.one"]
command = "/usr/bin/touch"
args = ["{home / "started"}"]
""",
            encoding="utf-8",
        )
        env = {"CODEX_HOME": str(folder), "NO_KEY": "none"}
        # Two tools cannot be switched off: one looks at pictures, nobody answers the other.
        (asked,) = prove("codex:gpt-5", codex, harbour, home, env, played, {"view_image", "request_user_input"})
    assert asked.body["model"] == "gpt-5"
    assert not (folder / "sessions").exists(), "the conversation was kept"


def test_pi_answers(home: Path, harbour: Path, node: Path, installed: Callable[[str], Path]) -> None:
    pi = installed(".bin/pi")
    folder = home / "pi"
    (folder / "extensions").mkdir(parents=True)
    started = f'import {{ writeFileSync }} from "node:fs";\nwriteFileSync({json.dumps(str(home / "started"))}, "");\n'
    (folder / "extensions" / "own.ts").write_text(f"{started}export default function () {{}}\n", encoding="utf-8")
    (folder / "AGENTS.md").write_text("A standing instruction.", encoding="utf-8")
    played = Script("no such tool", {})
    with playing(played) as url:
        models = [{"id": "scripted", "contextWindow": 128_000, "maxTokens": 8_000}]
        provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "NO_KEY", "models": models}
        (folder / "models.json").write_text(json.dumps({"providers": {"lab": provider}}), encoding="utf-8")
        env = {"PI_CODING_AGENT_DIR": str(folder), "NO_KEY": "none"}
        (asked,) = prove("pi:lab/scripted", pi, harbour, home, env, played, set())
    assert "A standing instruction" not in asked.text
    assert not list(folder.rglob("*.jsonl")), "the conversation was kept"


def test_opencode_answers(home: Path, harbour: Path, installed: Callable[[str], Path]) -> None:
    opencode = installed(".bin/opencode")
    folder = home / ".config" / "opencode"
    (folder / "plugin").mkdir(parents=True)
    started = f"export const Own = async ({{ $ }}) => {{ await $`touch {home / 'started'}`; return {{}} }}\n"
    (folder / "plugin" / "own.js").write_text(started, encoding="utf-8")
    played = Script("no such tool", {})
    with playing(played) as url:
        model = {"name": "Scripted", "tool_call": True, "limit": {"context": 128_000, "output": 8_000}}
        provider = {
            "npm": "@ai-sdk/openai-compatible", "name": "Lab", "models": {"scripted": model},
            "options": {"baseURL": f"{url}/v1", "apiKey": "sk-none"},
        }  # fmt: skip
        server = {"type": "local", "command": ["/usr/bin/touch", str(home / "started")]}
        settings = json.dumps({"provider": {"lab": provider}, "mcp": {"own": server}})
        (folder / "opencode.jsonc").write_text(f"// mine\n{settings}\n", encoding="utf-8")
        prove("opencode:lab/scripted", opencode, harbour, home, {}, played, set())
    kept = [path for path in (home / ".local").rglob("*.db") if path.stat().st_size]
    assert not kept, "the conversation was kept"
