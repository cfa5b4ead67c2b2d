"""What there is to know of each agent CLI that can answer as a model: how it is called, and what it prints.

Each is called for one answer and nothing else: in an empty folder, without tools where it allows that, without the
user's hooks, plugins and MCP servers, without keeping the conversation. It keeps its own login, model and address.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from clew.core.ports import Usage

Event = Mapping[str, Any]

_NESTED: Final = (
    "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT", "CLAUDE_PROJECT_DIR",
    "CODEX_SANDBOX", "CODEX_THREAD_ID", "OLDPWD", "OPENCODE", "OPENCODE_PID", "OPENCODE_SERVER_PASSWORD",
)  # fmt: skip
"""Variables of an agent around Clew, which must not steer the one below it."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a CLI gave no answer, as it says it."""

    said: str
    status: int | None = None
    """Status of the provider's HTTP answer."""
    kind: str = ""
    """`overflow` or `login` where the CLI has a name for it."""


@dataclass(slots=True)
class Reading:
    """What the events of one call have told so far."""

    usage: Usage | None = None
    failure: Failure | None = None
    trouble: str = ""
    """Why the CLI is trying again by itself; empty while all is well."""
    done: bool = False
    """The CLI has said that the answer is complete."""
    cut: bool = False
    """The model stopped at its own limit of tokens."""
    unknown: int = 0
    """Events that are not understood, and lines that are no events."""
    block: str = ""
    """Text of the present block that was handed on."""
    heard: bool = False
    """Whether any text was handed on."""

    def add(self, input_: int | None, cached: int | None, output: int | None) -> None:
        """Add the usage of one request. `input_` includes what came from a cache."""
        before = self.usage or Usage(0, 0, 0)
        self.usage = Usage((before.input or 0) + (input_ or 0), (before.cached or 0) + (cached or 0),
                           (before.output or 0) + (output or 0))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a CLI."""

    program: str
    model: str
    """As the CLI names it; empty for the one that it is set to."""
    system_file: str
    """File with the system prompt; empty without one, and for a CLI that takes none."""
    environ: Mapping[str, str]
    """The user's environment."""

    def home(self, *parts: str) -> Path:
        """A path below the user's home folder."""
        return Path(self.environ.get("HOME") or os.path.expanduser("~"), *parts)


@dataclass(frozen=True, slots=True)
class AgentCli:
    """What is known of one CLI."""

    name: str
    """The program, and the provider in `claude:opus`."""
    title: str
    package: str
    """npm package that installs it."""
    version: str
    """The version that the tests run."""
    login: str
    """What to do where it is not logged in."""
    command: Callable[[Call], list[str]]
    variables: Callable[[Call], dict[str, str]]
    read: Callable[[Event, Reading], Iterator[str]]
    """Takes one event; gives text of the answer."""
    own_system: bool = True
    """It takes a system prompt; otherwise that stands at the head of the prompt."""
    whole: bool = False
    """It prints an answer as a whole, at its end, and is silent for long before that."""

    def environment(self, call: Call, folder: str) -> dict[str, str]:
        """The environment of the program."""
        kept = {name: value for name, value in call.environ.items() if name not in _NESTED}
        return kept | {"PWD": folder, "TERM": "dumb", "NO_COLOR": "1"} | self.variables(call)


# ---------------------------------------------------------------------- Claude Code


def _claude_command(call: Call) -> list[str]:
    # --safe-mode leaves out hooks, plugins, MCP servers and CLAUDE.md, and keeps login, model and address.
    words = [call.program, "-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"]
    words += ["--safe-mode", "--strict-mcp-config", "--disable-slash-commands", "--no-session-persistence"]
    words += ["--system-prompt-file", call.system_file] if call.system_file else []
    words += ["--model", call.model] if call.model else []
    return [*words, "--tools", ""]


def _claude_variables(_call: Call) -> dict[str, str]:
    return {
        # `@path` in a prompt would attach that file: fragments and questions may hold any path.
        "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "DISABLE_AUTOUPDATER": "1",
    }


def _claude_read(event: Event, reading: Reading) -> Iterator[str]:
    match event:
        case {"type": "stream_event", "event": {"type": "content_block_start"}}:
            reading.block = ""
        case {"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"text": str(text)}}}:
            reading.block += text
            yield text
        case {"type": "stream_event", "event": {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}}:
            reading.cut = True
        case {"type": "assistant", "message": {"content": list(blocks), "model": str(model)}} if model != "<synthetic>":
            yield from _claude_rest(blocks, reading)
        case {"type": "system", "subtype": "api_retry"}:
            reading.trouble = f"it tries again: {event.get('error')} {event.get('error_status') or ''}".rstrip()
            return
        case {"type": "result", "is_error": True}:
            said = event.get("result") or "; ".join(map(str, event.get("errors") or ())) or str(event.get("subtype"))
            kind = "overflow" if event.get("terminal_reason") == "prompt_too_long" else ""
            reading.failure = Failure(str(said), _number(event.get("api_error_status")), kind)
        case {"type": "result", "usage": Mapping() as usage}:
            cached = usage.get("cache_read_input_tokens") or 0
            sent = (usage.get("input_tokens") or 0) + (usage.get("cache_creation_input_tokens") or 0) + cached
            reading.add(sent, cached, usage.get("output_tokens"))
            reading.done = True
        case {"type": "system" | "assistant" | "user" | "stream_event" | "rate_limit_event"}:
            pass
        case _:
            reading.unknown += 1
    reading.trouble = ""


def _claude_rest(blocks: list[Any], reading: Reading) -> Iterator[str]:
    """What a message holds beyond what was streamed of it: where a stream broke, it is asked for whole once more."""
    for block in blocks:
        if isinstance(block, Mapping) and isinstance(text := block.get("text"), str) and text != reading.block:
            rest = text.removeprefix(reading.block) if text.startswith(reading.block) else f"\n\n{text}"
            reading.block = text
            yield rest


# ---------------------------------------------------------------------- Codex

_CODEX_OFF: Final = (
    "apps", "browser_use", "computer_use", "goals", "hooks", "image_generation", "in_app_browser", "memories",
    "multi_agent", "plugins", "shell_snapshot", "shell_tool", "skill_mcp_dependency_install", "tool_suggest",
    "unified_exec",
)  # fmt: skip
"""Features, as far as this version of Codex knows them: tools, and what runs programs of the user's."""


def _codex_command(call: Call) -> list[str]:
    words = [call.program, "exec", "--json", "--ephemeral", "--skip-git-repo-check", "--ignore-rules"]
    words += ["--sandbox", "read-only", "--color", "never"]
    settings = ['approval_policy="never"', 'web_search="disabled"', "notify=[]", "analytics.enabled=false"]
    settings += ["check_for_update_on_startup=false", *(f"features.{name}=false" for name in _CODEX_OFF)]
    if servers := _codex_servers(call):
        settings.append(f"mcp_servers={{{','.join(f'{json.dumps(name)}={{enabled=false}}' for name in servers)}}}")
    for setting in settings:
        words += ["-c", setting]
    words += ["--model", call.model] if call.model else []
    return [*words, "-"]


def _codex_servers(call: Call) -> list[str]:
    """Names of the MCP servers in the settings: each is switched off by its name."""
    own = Path(call.environ.get("CODEX_HOME") or call.home(".codex"))
    names: dict[str, None] = {}
    for path in (own / "config.toml", Path("/etc/codex/config.toml"), Path("/etc/codex/managed_config.toml")):
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8")).get("mcp_servers")
        except (OSError, ValueError):
            continue  # Codex itself says what is wrong with it
        names |= dict.fromkeys(found if isinstance(found, dict) else ())
    return list(names)


def _codex_read(event: Event, reading: Reading) -> Iterator[str]:
    match event:
        case {"type": "item.completed", "item": {"type": "agent_message", "text": str(text)}}:
            yield f"\n\n{text}" if reading.heard else text
        case {"type": "turn.completed"}:
            usage = event.get("usage") or {}
            reading.add(usage.get("input_tokens"), usage.get("cached_input_tokens"), usage.get("output_tokens"))
            reading.done = True
        case {"type": "turn.failed", "error": {"message": str(said)}}:
            reading.failure = Failure(said, _status_in(said), "overflow" if "ran out of room" in said else "")
        case {"type": "error", "message": str(said)}:
            # It tries again, or tells the reason with `turn.failed`.
            reading.trouble = said
            return
        case {"type": "thread.started" | "turn.started" | "item.started" | "item.updated" | "item.completed"}:
            pass
        case _:
            reading.unknown += 1
    reading.trouble = ""


# ---------------------------------------------------------------------- pi


def _pi_command(call: Call) -> list[str]:
    words = [call.program, "-p", "--mode", "json", "--no-session", "--no-tools", "--no-extensions", "--no-mcp"]
    words += ["--no-skills", "--no-prompt-templates", "--no-themes", "--no-context-files", "--no-approve"]
    words += ["--system-prompt", call.system_file] if call.system_file else []
    return [*words, *(["--model", call.model] if call.model else [])]


def _pi_read(event: Event, reading: Reading) -> Iterator[str]:
    match event:
        case {"type": "message_start", "message": {"role": "assistant"}}:
            reading.block, reading.failure = "", None
        case {"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": str(text)}}:
            reading.block += text
            yield text
        case {"type": "message_end", "message": {"role": "assistant"} as message}:
            yield from _pi_end(message, reading)
        case {"type": "auto_retry_start"}:
            reading.trouble = f"it tries again: {event.get('errorMessage')}"
            return
        case {"type": "message_start" | "message_update" | "message_end" | "turn_start" | "turn_end" | "session"}:
            pass
        case {"type": str(kind)} if kind.startswith(("agent_", "auto_retry_", "compaction_", "tool_execution_")):
            pass
        case _:
            reading.unknown += 1
    reading.trouble = ""


def _pi_end(message: Event, reading: Reading) -> Iterator[str]:
    if message.get("stopReason") in ("error", "aborted"):
        said = str(message.get("errorMessage") or message.get("stopReason"))
        reading.failure = Failure(said, _status_in(said))
        return
    if not reading.block:
        texts = [one.get("text") for one in message.get("content") or () if isinstance(one, Mapping)]
        yield "".join(text for text in texts if isinstance(text, str))
    usage = message.get("usage") or {}
    cached = usage.get("cacheRead") or 0
    reading.add((usage.get("input") or 0) + (usage.get("cacheWrite") or 0) + cached, cached, usage.get("output"))
    reading.cut = message.get("stopReason") == "length"
    reading.done = True


# ---------------------------------------------------------------------- opencode


def _opencode_command(call: Call) -> list[str]:
    # Without a title it asks the model for one first.
    words = [call.program, "run", "--format", "json", "--title", "Clew", "--agent", "clew", "--pure"]
    return [*words, *(["--model", call.model] if call.model else [])]


def _opencode_variables(call: Call) -> dict[str, str]:
    given = _relaxed(call.environ.get("OPENCODE_CONFIG_CONTENT", ""))
    servers = [*_opencode_servers(call), *_table(given.get("mcp"))]
    agent: dict[str, Any] = {"mode": "primary", "tools": {"*": False}, "permission": {"*": "deny"}}
    if call.system_file:
        agent["prompt"] = f"{{file:{call.system_file}}}"
    settings = {
        **given, "autoupdate": False, "share": "disabled", "snapshot": False, "lsp": False, "formatter": False,
        "permission": {"*": "deny"}, "agent": {**_table(given.get("agent")), "clew": agent},
        "mcp": {**_table(given.get("mcp")), **{name: {"enabled": False} for name in servers}},
    }  # fmt: skip
    names = (
        "AUTOUPDATE", "CLAUDE_CODE", "EXTERNAL_SKILLS", "LSP_DOWNLOAD", "MODELS_FETCH", "PROJECT_CONFIG", "SHARE",
    )  # fmt: skip
    # The conversation is kept in a database, which is none here.
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(settings), "OPENCODE_DB": ":memory:", "OPENCODE_PURE": "1",
        **{f"OPENCODE_DISABLE_{name}": "1" for name in names},
    }  # fmt: skip


def _opencode_servers(call: Call) -> list[str]:
    """Names of the MCP servers in the settings: each is switched off by its name."""
    environ = call.environ
    folders = [Path(environ.get("XDG_CONFIG_HOME") or call.home(".config"), "opencode"), call.home(".opencode")]
    folders += [Path("/etc/opencode"), *([Path(own)] if (own := environ.get("OPENCODE_CONFIG_DIR")) else [])]
    paths = [folder / name for folder in folders for name in ("config.json", "opencode.json", "opencode.jsonc")]
    paths += [Path(own)] if (own := environ.get("OPENCODE_CONFIG")) else []
    names: dict[str, None] = {}
    for path in paths:
        try:
            names |= dict.fromkeys(_table(_relaxed(path.read_text(encoding="utf-8")).get("mcp")))
        except (OSError, ValueError):
            continue
    return list(names)


def _opencode_read(event: Event, reading: Reading) -> Iterator[str]:
    match event:
        case {"type": "text", "part": {"text": str(text)}}:
            yield f"\n\n{text}" if reading.heard else text
        case {"type": "step_finish", "part": {"reason": reason} as part}:
            tokens = part.get("tokens") or {}
            cache = tokens.get("cache") or {}
            cached = cache.get("read") or 0
            sent = (tokens.get("input") or 0) + (cache.get("write") or 0) + cached
            reading.add(sent, cached, (tokens.get("output") or 0) + (tokens.get("reasoning") or 0))
            reading.cut = reason == "length"
            reading.done = reason not in ("tool-calls", "error")
        case {"type": "error", "error": {"name": str(name)} as error}:
            details = error.get("data") or {}
            kind = {"ContextOverflowError": "overflow", "ProviderAuthError": "login"}.get(name, "")
            reading.failure = Failure(str(details.get("message") or name), _number(details.get("statusCode")), kind)
        case {"type": "step_start" | "step_finish" | "tool_use" | "reasoning"}:
            pass
        case _:
            reading.unknown += 1


# ---------------------------------------------------------------------- all of them

CLIS: Final[Mapping[str, AgentCli]] = {
    one.name: one
    for one in (
        AgentCli("claude", "Claude Code", "@anthropic-ai/claude-code", "2.1.197", "run `claude` and log in with /login",
                 _claude_command, _claude_variables, _claude_read),
        # A ChatGPT account takes no other system prompt than Codex's own.
        AgentCli("codex", "Codex", "@openai/codex", "0.171.0", "run `codex login`",
                 _codex_command, lambda _: {}, _codex_read, own_system=False, whole=True),
        AgentCli("pi", "pi", "@earendil-works/pi-coding-agent", "1.6.0", "run `pi` and log in with /login",
                 _pi_command, lambda _: {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}, _pi_read),
        AgentCli("opencode", "opencode", "opencode-ai", "1.18.33", "run `opencode auth login`",
                 _opencode_command, _opencode_variables, _opencode_read, whole=True),
    )
}  # fmt: skip
"""By the name of the program."""

_STATUS = re.compile(r"(?<![\d.])([45]\d\d)(?![\d.])")
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')


def _status_in(said: str) -> int | None:
    """The status of an HTTP answer that stands in a message."""
    found = _STATUS.search(said)
    return int(found[1]) if found else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _relaxed(text: str) -> dict[str, Any]:
    """A JSON object that may hold comments and a comma behind its last value; empty where it is none."""
    for pattern in (_COMMENT, _TRAILING):
        text = pattern.sub(lambda match: match[1] or "", text)
    try:
        return _table(json.loads(text))
    except ValueError:
        return {}
