"""The keys of the configuration: how each value is read and checked, and who may set it."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from clew.adapters.yaml_file import Listing, Node, Scalar, Table, plain
from clew.core.agent.permissions import rule_of
from clew.core.context.fragment import DEFAULT_WEIGHTS
from clew.core.ports import THINKING
from clew.core.text.printable import printable
from clew.errors import ConfigError, Refused, UsageError

if TYPE_CHECKING:
    from clew.core.agent.servers import ServerEntry

_MOST_TEXT = 500
_MOST_ITEMS = 1000
_YES, _NO = ("on", "true", "yes", "1"), ("off", "false", "no", "0")
_DEFAULT_ANCHOR_WEIGHT = 80

PROTECTED = frozenset({
    "model", "models", "endpoint", "endpoints", "base_url", "base_urls", "url", "urls", "host", "proxy", "provider",
    "providers", "api_key", "api_keys", "apikey", "key", "keys", "token", "tokens", "secret", "secrets",
    "credential", "credentials", "password", "command", "commands", "exec", "run", "shell", "hook", "hooks",
    "script", "scripts", "server", "servers", "mcp", "mcp_servers", "mcpservers", "mcp_wait", "mcp_timeout", "lsp",
    "tool", "tools", "plugin", "plugins", "extension", "extensions", "injections", "permission", "permissions",
    "allow", "allowed", "yes", "memory", "memory_root", "memory_dir", "root", "home", "env", "environment",
    "redact", "redaction", "timeout", "language", "lang", "color", "colour", "steps", "window", "handoff_at",
    "thinking",
})  # fmt: skip
"""Names that a project file may not set, whether Clew knows them elsewhere or not."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """Files that a context always names."""

    path: str
    """A glob below the workspace root."""
    weight: int = _DEFAULT_ANCHOR_WEIGHT
    """0 to 100."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: a file with a line, a variable, or the flags."""

    label: str
    line: int = 0
    project: bool = False
    loose: bool = False
    """Values arrive as bare text: a number may be a name, and `1` is a truth value."""

    def __str__(self) -> str:
        return f"{self.label}:{self.line}" if self.line else self.label

    def at(self, node: Node) -> Place:
        """The place of a node within the same file."""
        return Place(self.label, node.line, self.project, self.loose)


Reader = Callable[[str, Node, Place], Any]
"""Reads the value of a key: name, node, place. Raises ConfigError."""


@dataclass(frozen=True, slots=True)
class Key:
    """How one setting is read, and its environment variable (empty: none)."""

    read: Reader
    variable: str = ""


def nearest(name: str, names: Iterable[str]) -> str:
    """A hint that names the nearest of `names`, or all of them when none is near."""
    known = sorted(names)
    near = difflib.get_close_matches(name.lower().replace("-", "_"), known, n=1, cutoff=0.6)
    return f"did you mean `{near[0]}`?" if near else "known: " + ", ".join(known)


def node_of(value: object) -> Node:
    """The node for a value given from Python."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value)
        return Table(tuple((str(key), 0, node_of(item)) for key, item in pairs.items()), 0)
    if isinstance(value, (list, tuple)):
        return Listing(tuple(map(node_of, cast("Iterable[object]", value))), 0)
    if value is None or isinstance(value, (bool, int, float)):
        return Scalar(str(value), value, 0)
    return Scalar(str(value), str(value), 0)


_SHOWS: Final = "`clew config` shows each setting and where its value comes from"


def _wrong(name: str, wanted: str, node: Node, place: Place, hint: str = "") -> ConfigError:
    found = (
        f"`{printable(node.raw, 60)}`"
        if isinstance(node, Scalar)
        else "a list"
        if isinstance(node, Listing)
        else "keys"
    )
    return ConfigError(f"{place.at(node)}: `{name}` must be {wanted}, not {found}", hint=hint or _SHOWS)


def _text(name: str, node: Node, place: Place) -> str | None:
    if isinstance(node, Scalar) and node.value is None:
        return None
    if not isinstance(node, Scalar) or not (place.loose or isinstance(node.value, str)):
        hint = f'put it in quotes: {name}: "{node.raw}"' if isinstance(node, Scalar) else ""
        raise _wrong(name, "text", node, place, hint)
    if len(node.raw) > _MOST_TEXT or printable(node.raw) != node.raw:
        raise _wrong(name, f"one line of at most {_MOST_TEXT} visible characters", node, place)
    return node.raw


def _whole(low: int, high: int) -> Reader:
    def read(name: str, node: Node, place: Place) -> int | None:
        if isinstance(node, Scalar) and node.value is None:
            return None
        value = node.value if isinstance(node, Scalar) else None
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise _wrong(name, f"a whole number from {low:,} to {high:,}", node, place)
        return value

    return read


def _amount(low: float, high: float) -> Reader:
    def read(name: str, node: Node, place: Place) -> float | None:
        if isinstance(node, Scalar) and node.value is None:
            return None
        value = node.value if isinstance(node, Scalar) else None
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not low <= value <= high:
            raise _wrong(name, f"a number from {low:g} to {high:g}", node, place)
        return float(value)

    return read


def _choice(*names: str) -> Reader:
    def read(name: str, node: Node, place: Place) -> str | None:
        if isinstance(node, Scalar) and node.value is None:
            return None
        value = node.raw.lower() if isinstance(node, Scalar) else ""
        if value not in names:
            wanted = ", ".join(f"`{n}`" for n in names[:-1]) + f" or `{names[-1]}`"
            near = difflib.get_close_matches(value, names, n=1)
            raise _wrong(name, wanted, node, place, f"did you mean `{near[0]}`?" if near else "")
        return value

    return read


def _language(name: str, node: Node, place: Place) -> str | None:
    # A locale such as `zh_CN.UTF-8` names its language in front.
    if isinstance(node, Scalar) and (match := re.match(r"(en|zh)[-_.]", node.raw, re.IGNORECASE)):
        return match[1].lower()
    return _choice("auto", "en", "zh")(name, node, place)


def _switch(name: str, node: Node, place: Place) -> bool | None:
    if isinstance(node, Scalar):
        if node.value is None:
            return None
        if isinstance(node.value, bool):
            return node.value
        if place.loose and node.value in (0, 1):
            return bool(node.value)
    raise _wrong(name, "`true` or `false`", node, place)


def _items(name: str, node: Node, place: Place) -> tuple[Node, ...]:
    if isinstance(node, Scalar) and node.value is None:
        return ()
    if not isinstance(node, Listing):
        raise _wrong(name, "a list", node, place, "write each item on a line of its own that begins with `- `")
    if len(node.items) > _MOST_ITEMS:
        raise ConfigError(
            f"{place}: `{name}` has {len(node.items):,} items, at most {_MOST_ITEMS:,} are read",
            hint="keep those that matter",
        )
    return node.items


def _patterns(name: str, node: Node, place: Place) -> tuple[str, ...]:
    return tuple(pattern for item in _items(name, node, place) if (pattern := _text(name, item, place)))


def _rules(name: str, node: Node, place: Place) -> tuple[str, ...]:
    if place.loose and isinstance(node, Scalar) and node.value is not None:
        # In a variable, one a line.
        node = Listing(tuple(plain(row) for row in node.raw.splitlines() if row.strip()), node.line)
    rules = _patterns(name, node, place)
    for rule in rules:
        try:
            rule_of(rule)
        except UsageError as error:
            raise ConfigError(f"{place.at(node)}: {error}", hint=error.hint) from error
    return rules


def _anchors(name: str, node: Node, place: Place) -> tuple[Anchor, ...]:
    return tuple(_anchor(item, place) for item in _items(name, node, place))


def _anchor(node: Node, place: Place) -> Anchor:
    if isinstance(node, Scalar):
        return Anchor(_glob(node, place))
    if not isinstance(node, Table):
        raise _wrong("anchors", "a list of `path` and `weight`", node, place)
    path, weight = "", _DEFAULT_ANCHOR_WEIGHT
    for key, line, value in node.pairs:
        if key == "path":
            path = _glob(value, place)
        elif key == "weight":
            weight = _WEIGHT("weight", value, place)
        else:
            raise _unknown(key, "anchors", ("path", "weight"), Place(place.label, line))
    if not path:
        raise ConfigError(f"{place.at(node)}: an anchor has no `path`", hint="write `- path: docs/*.md`")
    return Anchor(path, _DEFAULT_ANCHOR_WEIGHT if weight is None else weight)


def _glob(node: Node, place: Place) -> str:
    path = (_text("path", node, place) or "").removeprefix("./")
    if path.startswith(("/", "~", "\\")) or ".." in re.split(r"[/\\]", path) or re.match(r"[A-Za-z]:", path):
        # Both are errors of the caller; in a project file it is also an attempt to reach what is not its own.
        kind: type[UsageError] = Refused if place.project else ConfigError
        raise kind(
            f"{place.at(node)}: the anchor `{printable(path, 60)}` leads out of the workspace",
            hint="name a path below the workspace root",
        )
    return path


def _weights(name: str, node: Node, place: Place) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, line, value in _pairs(name, node, place, "a list of `source: weight`"):
        if key not in DEFAULT_WEIGHTS:
            raise _unknown(key, name, DEFAULT_WEIGHTS, Place(place.label, line))
        if (weight := _WEIGHT(key, value, place)) is not None:
            found[key] = weight
    return found


def _endpoints(name: str, node: Node, place: Place) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, line, value in _pairs(name, node, place, "a list of `provider: URL`"):
        if not re.fullmatch(r"[a-z][a-z0-9_-]{0,40}", key):
            raise ConfigError(
                f"{Place(place.label, line)}: `{printable(key, 60)}` is no name of a provider",
                hint="for instance `openai: https://llm.example.com/v1`",
            )
        if (url := _text(key, value, place)) is not None:
            found[key] = base_url(url, place.at(value))
    return found


def _servers(name: str, node: Node, place: Place) -> dict[str, ServerEntry]:
    # Read where it is set only: a hook reads the settings at every prompt.
    from clew.core.agent.servers import KEYS, entry_of  # noqa: PLC0415

    found: dict[str, ServerEntry] = {}
    for key, line, value in _pairs(name, node, place, "a table of `name: command`"):
        at = Place(place.label, line)
        if not isinstance(value, Table):
            raise _wrong(key, "`command` and `args`, or `url`", value, place)
        for inner, below, _ in value.pairs:
            if inner not in KEYS:
                raise _unknown(inner, key, KEYS, Place(place.label, below))
        try:
            found[key] = entry_of(key, _values(value))
        except ConfigError as error:
            raise ConfigError(f"{at}: the MCP server `{printable(key, 60)}`: {error}", hint=error.hint) from error
    return found


def _lsp(name: str, node: Node, place: Place) -> dict[str, str]:
    """By language a command, or `off`; under `*` for all."""
    if isinstance(node, Scalar) and node.value is not None:
        return {} if _switched(name, node, place) else {"*": "off"}
    from clew.adapters.language_servers import LANGUAGES  # noqa: PLC0415

    found: dict[str, str] = {}
    languages = [one.key for one in LANGUAGES]
    for key, line, value in _pairs(name, node, place, "`off`, or a table of `language: command`"):
        if key not in languages:
            raise _unknown(key, name, languages, Place(place.label, line))
        if isinstance(value, Scalar) and value.raw.lower() in _NO:
            found[key] = "off"
        elif (command := _text(key, value, place)) is not None:
            try:
                words = shlex.split(command)
            except ValueError:
                words = []
            if not words:
                raise _wrong(key, "a command, or `off`", value, place)
            found[key] = command
    return found


def _switched(name: str, node: Scalar, place: Place) -> bool:
    if node.raw.lower() not in (*_NO, *_YES):
        raise _wrong(name, "`on`, `off`, or a table of `language: command`", node, place)
    return node.raw.lower() in _YES


def _values(node: Node) -> object:
    """A node as plain values; text as it is written, so that `8080` in a list of arguments stays what it is."""
    match node:
        case Table(pairs):
            return {key: _values(value) for key, _, value in pairs}
        case Listing(items):
            return [_values(item) for item in items]
        case Scalar(raw, value):
            return value if value is None or isinstance(value, bool) else raw


def _pairs(name: str, node: Node, place: Place, wanted: str) -> tuple[tuple[str, int, Node], ...]:
    if isinstance(node, Scalar) and node.value is None:
        return ()
    if not isinstance(node, Table):
        raise _wrong(name, wanted, node, place)
    return node.pairs


def base_url(url: str, place: Place) -> str:
    """A checked base URL without a trailing slash. Raises ConfigError; a password in it is never repeated."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        secret = "@" in parts.netloc
    except ValueError:
        good = secret = False
    if "@" in url and (secret or not good):
        raise ConfigError(f"{place}: the URL contains a user name or password", hint="keys belong in the key variables")
    if not good:
        raise ConfigError(
            f"{place}: `{printable(url, 80)}` is no URL", hint="it begins with `http://` or `https://`, then a host"
        )
    return url.rstrip("/")


def ollama_url(value: str, place: Place) -> str:
    """The base URL for what OLLAMA_HOST holds: a URL, `host`, `host:port` or `:port`; 11434 is the usual port.

    A server's listening address `0.0.0.0` becomes this machine's own.
    """
    text = value.strip().rstrip("/")
    scheme, found, rest = text.partition("://")
    if not found:
        scheme, rest = "http", text
    if rest.startswith(":"):
        rest = "127.0.0.1" + rest
    if rest.startswith("0.0.0.0"):
        rest = "127.0.0.1" + rest.removeprefix("0.0.0.0")
    host, slash, path = rest.partition("/")
    if not found and not re.search(r":[0-9]+$", host):
        host += ":11434"
    return base_url(f"{scheme}://{host}{slash}{path}", place)


def _unknown(key: str, name: str, names: Iterable[str], place: Place) -> ConfigError:
    return ConfigError(f"{place}: `{name}` knows no `{printable(key, 60)}`", hint=nearest(key, names))


_WEIGHT = _whole(0, 100)

KEYS: dict[str, Key] = {
    "project": Key(_text, "CLEW_PROJECT"),
    "model": Key(_text, "CLEW_MODEL"),
    "max_tokens": Key(_whole(500, 1_000_000), "CLEW_MAX_TOKENS"),
    "answer_tokens": Key(_whole(64, 100_000), "CLEW_ANSWER_TOKENS"),
    "style": Key(_choice("auto", "code", "writing", "newcomer"), "CLEW_STYLE"),
    "anchors": Key(_anchors),
    "ignore": Key(_patterns),
    "shell_history": Key(_switch, "CLEW_SHELL_HISTORY"),
    "weights": Key(_weights),
    "context": Key(_switch),
    "cache": Key(_switch),
    "redact": Key(_switch),
    "language": Key(_language, "CLEW_LANG"),
    "endpoints": Key(_endpoints),
    "timeout": Key(_amount(1, 3600), "CLEW_TIMEOUT"),
    "memory_scope": Key(_choice("all", "workspace", "none"), "CLEW_MEMORY_SCOPE"),
    "mcp_servers": Key(_servers),
    "mcp_wait": Key(_amount(0, 60), "CLEW_MCP_WAIT"),
    "mcp_timeout": Key(_amount(1, 3600), "CLEW_MCP_TIMEOUT"),
    "lsp": Key(_lsp, "CLEW_LSP"),
    "allow": Key(_rules, "CLEW_ALLOW"),
    "thinking": Key(_choice(*THINKING), "CLEW_THINKING"),
    "steps": Key(_whole(1, 10_000), "CLEW_STEPS"),
    "window": Key(_whole(4_000, 20_000_000), "CLEW_WINDOW"),
    "handoff_at": Key(_amount(0.3, 0.85), "CLEW_HANDOFF_AT"),
    "color": Key(_choice("auto", "always", "never"), "CLEW_COLOR"),
}
"""Every setting by its name, in the order in which they are shown."""
