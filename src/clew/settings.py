"""What the user may set, from five places: flag, environment, project file, user file, default, in that order.

The project file (`.clew.yaml`, or `.ctxmode.yaml`) comes with a repository and is therefore not trusted: what could
reach outside the repository is the user's to set, and switches that protect the user can only be tightened there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clew.adapters.home import find_home
from clew.adapters.yaml_file import read_yaml
from clew.core.agent.servers import ServerEntry
from clew.core.context.fragment import DEFAULT_WEIGHTS
from clew.core.text.printable import printable
from clew.errors import ConfigError, NotFound, Refused
from clew.settings_keys import KEYS, PROTECTED, Anchor, Place, base_url, nearest, node_of, ollama_url

PROJECT_FILES = (".clew.yaml", ".ctxmode.yaml")
"""Names of the project file; the first that exists is read."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Every value that decides how Clew works here."""

    project: str | None = None
    """Name of the project in reports; without it, the name of the workspace."""
    model: str | None = None
    """The model that answers, as `provider:name`; without it, the first usable one. Never from a project file."""
    max_tokens: int = 8000
    """Tokens of one prompt with the room for its answer, 500 to 1,000,000."""
    answer_tokens: int | None = None
    """Tokens kept free for the answer, 64 to 100,000; without it a tenth of `max_tokens`, from 256 to 4096."""
    style: str = "auto"
    """How answers are written: `auto`, `code`, `writing` or `newcomer`."""
    anchors: tuple[Anchor, ...] = ()
    """Files that are always named in a context: `path` is a glob below the workspace root, `weight` 0 to 100."""
    ignore: tuple[str, ...] = ()
    """Patterns in the gitignore format for files that Clew never reads by itself. User and project patterns add up."""
    shell_history: bool = False
    """Whether recent shell commands may enter a context. A project file can only switch it off."""
    weights: Mapping[str, int] = field(default_factory=lambda: dict(DEFAULT_WEIGHTS))
    """Weight of each source, 0 to 100; heavier ones stay when room is short."""
    context: bool = True
    """Whether context is gathered at all; `--no-context` and `CLEW_NO_CONTEXT=1` switch it off."""
    cache: bool = True
    """Whether outcomes of searches are kept until something changes; `--no-cache` and `CLEW_NO_CACHE=1` say no."""
    redact: bool = True
    """Whether secrets are removed from what a model reads. Only the user's own file or a flag can switch it off."""
    language: str = "auto"
    """Language of messages: `auto` (by locale), `en` or `zh`."""
    endpoints: Mapping[str, str] = field(default_factory=dict[str, str])
    """Base URL by provider (`anthropic`, `openai`, `ollama`, …). Never from a project file."""
    timeout: float = 120.0
    """Seconds that a model may stay silent before Clew gives up, 1 to 3600."""
    memory_scope: str = "all"
    """Which notes may enter a context: `all`, `workspace` or `none`. A project file can only narrow it."""
    mcp_servers: Mapping[str, ServerEntry] = field(default_factory=dict[str, ServerEntry])
    """The user's own MCP servers by name: `command`, `args` and `env`, or `url`, `type` and `headers`; `enabled: false`
    keeps one aside. Never from a project file."""
    mcp_wait: float = 3.0
    """Seconds that the first run of a session waits for MCP servers, 0 to 60. Never from a project file."""
    mcp_timeout: float = 120.0
    """Seconds that an MCP server may stay silent in a call, 1 to 3600. Never from a project file."""
    lsp: Mapping[str, str] = field(default_factory=dict[str, str])
    """Language servers and checkers: `off`, or by language (`python`, `go`, …) `off` or the command of a server, which
    then counts as allowed. Never from a project file."""
    allow: tuple[str, ...] = ()
    """What the agent may do unasked: rules as `command:pytest *` or `edit:src/**`. Never from a project file."""
    thinking: str = "auto"
    """How long a model thinks before it answers: `auto` leaves it to the model; `off`, `low`, `medium`, `high` or `max`
    are sent to Claude (3.7 and later) and to OpenAI's reasoning models. Never from a project file."""
    steps: int = 200
    """Model calls that one run of the agent may make, 1 to 10,000."""
    window: int | None = None
    """Tokens that the model takes, prompt and answer together; without it, what its provider publishes."""
    handoff_at: float = 0.65
    """Share of the window at which the agent's handoff is written, 0.3 to 0.85."""
    color: str = "auto"
    """Colour on a terminal: `auto`, `always` or `never`; `NO_COLOR` means `never`."""

    @property
    def answer_room(self) -> int:
        """Tokens kept free for the answer."""
        if self.answer_tokens is not None:
            # A large wish of the user and the small budget of a project may meet: half is left for the question.
            return min(self.answer_tokens, self.max_tokens // 2)
        return min(4096, max(256, self.max_tokens // 10))


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and where it came from: `flag`, a variable, `file:line` or `default`; several where values add up."""

    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, with the origin of each field by its name, and what the user should be told."""

    settings: Settings
    origins: Mapping[str, Setting]
    notices: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    """Configuration files that were read, project file first."""


def load_settings(environ: Mapping[str, str], root: Path, flags: Mapping[str, object] | None = None) -> Loaded:
    """Read all five places. `root` is the workspace root; `flags` holds values by field name, None where not given.

    Raises ConfigError (what is wrong, in which file and line, and the nearest valid key), or Refused when a project
    file sets what only the user may set.
    """
    user_path = find_home(environ).config_file
    user = _file(user_path, str(user_path))
    name, project = _project(root, str(user_path))
    found = {key: Setting(default, "default") for key, default in _defaults().items()}
    kept = _tightened(project, user or {})
    for layer in (user or {}, kept, _environment(environ), _flags(flags or {})):
        for key, setting in layer.items():
            found[key] = _joined(key, found[key], setting, first=layer is kept)
    files = ([root / name] if name else []) + ([user_path] if user is not None else [])
    settings = Settings(**{key: setting.value for key, setting in found.items()})
    return Loaded(settings, found, _notices(project.get("shell_history"), settings, str(user_path)), tuple(files))


def interface_language(settings: Settings, environ: Mapping[str, str]) -> str:
    """`en` or `zh`: the setting, else the locale of `environ`."""
    if settings.language != "auto":
        return settings.language
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environ.get(name):
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def init_file() -> str:
    """The `.clew.yaml` that `clew init` writes: every key that a project may set, commented out, with its default."""
    weights = (f"#  {source}: {weight}" for source, weight in DEFAULT_WEIGHTS.items())
    return _TEMPLATE.format(weights="\n".join(weights))


def _defaults() -> dict[str, Any]:
    settings = Settings()
    return {name: getattr(settings, name) for name in KEYS}


def _project(root: Path, user_file: str) -> tuple[str, dict[str, Setting]]:
    """Name and values of the project file of a workspace; an empty name without one."""
    for name in PROJECT_FILES:
        path = root / name
        if not os.path.lexists(path):
            continue
        real_root, real = os.path.realpath(root), os.path.realpath(path)
        if os.path.commonpath((real_root, real)) != real_root:
            raise Refused(
                f"{name}: the file is a link that leads out of the workspace", hint="put the file itself there"
            )
        return name, _file(path, name, user_file) or {}
    return "", {}


def _file(path: Path, label: str, user_file: str = "") -> dict[str, Setting] | None:
    """Values of one file, None where there is none. `user_file` is given for a project file only."""
    try:
        table = read_yaml(path, label)
    except NotFound:
        return None
    found: dict[str, Setting] = {}
    for name, line, node in table.pairs:
        place = Place(label, line, project=bool(user_file))
        if user_file and name.lower().replace("-", "_") in PROTECTED:
            hint = f"set it in {user_file}, or with a flag" if name in KEYS else "remove the line"
            raise Refused(f"{place}: a project file may not set `{name}`", hint=hint)
        if name not in KEYS:
            names = KEYS.keys() - PROTECTED if user_file else KEYS
            raise ConfigError(f"{place}: there is no setting `{printable(name, 60)}`", hint=nearest(name, names))
        value = KEYS[name].read(name, node, place)
        if value is not None:
            found[name] = Setting(value, str(place))
    return found


def _tightened(project: dict[str, Setting], user: dict[str, Setting]) -> dict[str, Setting]:
    """The values of a project file without those that would loosen what protects the user."""
    kept = dict(project)
    if (history := project.get("shell_history")) and history.value:
        del kept["shell_history"]
    order = ("none", "workspace", "all")
    scope, own = project.get("memory_scope"), user.get("memory_scope")
    if scope and own and order.index(scope.value) > order.index(own.value):
        del kept["memory_scope"]
    return kept


def _environment(environ: Mapping[str, str]) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    # Any value but a clear "no" switches context off: a switch that protects should not depend on spelling.
    if environ.get("CLEW_NO_CONTEXT", "").lower() not in ("", "0", "false", "no", "off"):
        found["context"] = Setting(False, "CLEW_NO_CONTEXT")
    if environ.get("CLEW_NO_CACHE", "").lower() not in ("", "0", "false", "no", "off"):
        found["cache"] = Setting(False, "CLEW_NO_CACHE")
    if environ.get("NO_COLOR"):
        found["color"] = Setting("never", "NO_COLOR")
    for name, key in KEYS.items():
        if text := environ.get(key.variable) if key.variable else None:
            value = key.read(name, node_of(text), Place(key.variable, loose=True))
            if value is not None:
                found[name] = Setting(value, key.variable)
    endpoints: dict[str, str] = {}
    used: list[str] = []
    for variable, provider in _ENDPOINT_VARIABLES.items():
        if text := environ.get(variable):
            read = ollama_url if provider == "ollama" else base_url
            endpoints[provider] = read(text, Place(variable))
            used.append(variable)
    if endpoints:
        found["endpoints"] = Setting(endpoints, ", ".join(used))
    return found


def _flags(flags: Mapping[str, object]) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for name, given in flags.items():
        if given is None:
            continue
        if name not in KEYS:
            raise ConfigError(f"There is no setting `{printable(name, 60)}`", hint=nearest(name, KEYS))
        value = KEYS[name].read(name, node_of(given), Place("--" + name.replace("_", "-"), loose=True))
        if value is not None:
            found[name] = Setting(value, "flag")
    return found


def _joined(name: str, old: Setting, new: Setting, *, first: bool) -> Setting:
    """What a stronger place makes of a weaker one's value: patterns and tables add up, all else is replaced."""
    origin = new.origin if old.origin == "default" else f"{old.origin}, {new.origin}"
    if name == "ignore":
        # In the gitignore format the last match wins. A project's patterns stand first, so that they cannot take back
        # what the user ignores.
        return Setting(new.value + old.value if first else old.value + new.value, origin)
    if name in ("weights", "endpoints"):
        return Setting({**old.value, **new.value}, origin)
    return new


def _notices(history: Setting | None, settings: Settings, user_file: str) -> tuple[str, ...]:
    if history and history.value and not settings.shell_history:
        return (f"{history.origin}: `shell_history: true` has no effect; only {user_file} can switch it on",)
    return ()


_ENDPOINT_VARIABLES = {
    "ANTHROPIC_BASE_URL": "anthropic",
    "OPENAI_BASE_URL": "openai",
    "OLLAMA_HOST": "ollama",
}

_TEMPLATE = """\
# Settings of this project for Clew, shared by everybody who works on it.
# Every line that begins with `#` and a name is a setting with its default: remove the `#` to change it.
# What concerns only you (model, endpoints, language, redaction) belongs in your own config.yaml: see `clew config`.

# Name of the project in reports. Default: the name of the repository.
#project: my-service

# Tokens of one prompt with the room for its answer, 500 to 1,000,000.
#max_tokens: 8000

# Tokens kept free for the answer. Default: a tenth of max_tokens, at least 256 and at most 4096.
#answer_tokens: null

# How answers are written: auto, code, writing or newcomer.
#style: auto

# Files that a context always names, and how heavy their contents weigh (0 to 100). For instance:
#   - path: docs/architecture.md
#     weight: 90
#   - path: "src/**/*.py"
#     weight: 70
#anchors: []

# Files that Clew never reads by itself, in the format of .gitignore, in addition to .gitignore. For instance:
#   - vendor/
#   - "*.generated.go"
#ignore: []

# Shell history as context. A project can only switch it off; it is off until the user switches it on.
#shell_history: false

# Weight of each source of context, 0 to 100: when room is short, the lightest goes first.
#weights:
{weights}

# Whether context is gathered at all.
#context: true

# Whether outcomes of searches are kept until something changes.
#cache: true

# Notes that may enter a context: all, workspace (this project's only) or none. A project can only narrow it.
#memory_scope: all
"""
