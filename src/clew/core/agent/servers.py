"""MCP servers as configuration names them: what an entry means, its variables, its digest, and names for its tools."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, cast

from clew.core.text.printable import printable
from clew.errors import ConfigError

Transport = Literal["stdio", "http", "sse"]
_TRANSPORTS: Final[Mapping[str, Transport]] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamablehttp": "http",
    "sse": "sse",
}
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_UNSENT: Final = re.compile("[\0\ud800-\udfff]")
_FOREIGN: Final = re.compile(r"[^a-zA-Z0-9_-]")
LONGEST_NAME: Final = 64
"""Characters of a tool's name, as providers take it: letters, digits, `_` and `-`."""
_LONGEST_SERVER: Final = 24
"""Characters of a server's name within that."""


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """One server, as it is written down: variables stand as they are."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    url: str = ""
    transport: Transport = "stdio"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    enabled: bool = True

    @property
    def shown(self) -> dict[str, object]:
        """The entry for people; what may hold a key is left out: values of variables and headers."""
        told: dict[str, object] = {"command": self.command} if self.command else {"url": self.url.partition("?")[0]}
        if self.args:
            told["args"] = list(self.args)
        for name, values in (("env", self.env), ("headers", self.headers)):
            if values:
                told[name] = dict.fromkeys(values, "…")
        return told if self.enabled else {**told, "enabled": False}

    def lines(self) -> str:
        """Exactly what is started or reached, for a person who is asked; nothing in it can steer a terminal."""
        rows = [f"server: {printable(self.name)}"]
        if self.command:
            # One word a line: words with blanks in them cannot look like several.
            rows += [f"program: {printable(self.command)}", *(f"  argument: {printable(one)}" for one in self.args)]
        else:
            rows.append(f"address: {printable(self.url)} ({self.transport})")
        rows += [f"  variable: {printable(name)}={printable(value)}" for name, value in self.env.items()]
        rows += [f"  header: {printable(name)}: {printable(value)}" for name, value in self.headers.items()]
        return "\n".join(rows)

    def digest(self, root: str) -> str:
        """What a yes is remembered by: this server of this workspace, as it is written."""
        whole = (root, self.name, self.command, self.args, sorted(self.env.items()), self.url, self.transport,
                 sorted(self.headers.items()))  # fmt: skip
        return hashlib.sha256(json.dumps(whole).encode()).hexdigest()

    def expanded(self, environ: Mapping[str, str]) -> ServerEntry:
        """The entry with the values of `${NAME}` and `${NAME:-default}`. Raises ConfigError for one that is not set."""

        def filled(text: str) -> str:
            return _VARIABLE.sub(lambda found: _value(found, environ), text)

        return replace(
            self,
            command=filled(self.command),
            args=tuple(map(filled, self.args)),
            env={name: filled(value) for name, value in self.env.items()},
            url=filled(self.url),
            headers={name: filled(value) for name, value in self.headers.items()},
        )


def _value(found: re.Match[str], environ: Mapping[str, str]) -> str:
    # As in a shell, `:-` also stands in for what is set to nothing.
    value = environ.get(found[1]) or found[2]
    if value is None:
        value = environ.get(found[1])
    if value is None:
        raise ConfigError(f"the variable {found[1]} is not set", hint=f"set it, or write ${{{found[1]}:-default}}")
    return value


_FORM: Final = "`command` and `args`, or `url`"
KEYS: Final = ("command", "args", "env", "url", "type", "headers", "enabled")
"""What an entry may say."""


def entry_of(name: str, given: object) -> ServerEntry:
    """An entry from plain values, in the form that other clients use. Unknown keys are passed over.

    Raises ConfigError, which says what is wrong without naming the place.
    """
    if not isinstance(given, Mapping):
        raise ConfigError("a server is written as keys with values", hint=_FORM)
    told = cast("Mapping[str, object]", given)
    command, url = _text(told, "command"), _text(told, "url")
    if bool(command) == bool(url):
        raise ConfigError("a server has either a `command` or a `url`", hint=_FORM)
    kind = _text(told, "type") or _text(told, "transport") or ("stdio" if command else "http")
    transport = _TRANSPORTS.get(kind.lower())
    if transport is None or (transport == "stdio") != bool(command):
        raise ConfigError(
            f"`type` cannot be `{printable(kind, 40)}` here", hint="stdio goes with `command`, http and sse with `url`"
        )
    if url and not re.match(r"(https?://|\$\{)", url):
        raise ConfigError(f"`{printable(url, 80)}` is no URL", hint="it begins with `http://` or `https://`")
    return ServerEntry(
        name, command, _texts(told, "args"), _table(told, "env"), url, transport, _table(told, "headers"),
        _switch(told),
    )  # fmt: skip


def _text(told: Mapping[str, object], key: str) -> str:
    value = told.get(key)
    if value is None:
        return ""
    if not isinstance(value, str) or _UNSENT.search(value):
        raise ConfigError(f"`{key}` must be a text", hint=_FORM)
    return value


def _texts(told: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = told.get(key)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ConfigError(f"`{key}` must be a list of texts", hint=_FORM)
    return tuple(_plain(one, key, "a list of texts") for one in cast("list[object]", value))


def _table(told: Mapping[str, object], key: str) -> dict[str, str]:
    value = told.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"`{key}` must be a table of names and texts", hint=_FORM)
    pairs = cast("Mapping[str, object]", value)
    for name in pairs:
        if not re.fullmatch(r"[!-<>-~]+", name):
            raise ConfigError(f"`{key}` must be a table of names and texts", hint=_FORM)
    return {name: _plain(one, key, "a table of names and texts") for name, one in pairs.items()}


def _plain(value: object, key: str, wanted: str) -> str:
    """A text; numbers and truth values, which people write without quotes, as JSON writes them."""
    if isinstance(value, bool | int | float):
        value = json.dumps(value)
    if not isinstance(value, str) or _UNSENT.search(value):
        raise ConfigError(f"`{key}` must be {wanted}", hint=_FORM)
    return value


def _switch(told: Mapping[str, object]) -> bool:
    for key, wanted in (("enabled", True), ("disabled", False)):
        value = told.get(key)
        if value is not None and not isinstance(value, bool):
            raise ConfigError(f"`{key}` must be true or false", hint=_FORM)
        if value is (not wanted):
            return False
    return True


def server_names(names: Sequence[str]) -> dict[str, str]:
    """Names of servers as they appear in names of tools and in rules, each once; earlier ones keep theirs."""
    made: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        # Without `__` in it, the name of a tool can be read in one way only.
        short = _fitting(re.sub("_+", "_", _FOREIGN.sub("_", name)).strip("_"), name, _LONGEST_SERVER, taken)
        taken.add(short)
        made[name] = short
    return made


def tool_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """`mcp__server__tool` for each tool of a server whose name `server_names` gave; each once, whatever their order."""
    head = f"mcp__{server}__"
    made: dict[str, str] = {}
    taken: set[str] = set()
    # Those that need no change keep their names, whatever else the server calls its tools.
    for name in sorted(set(tools), key=lambda one: (_FOREIGN.search(one) is not None, one)):
        short = _fitting(name, f"{server}\0{name}", LONGEST_NAME - len(head), taken)
        taken.add(short)
        made[name] = head + short
    return made


def _fitting(name: str, seed: str, most: int, taken: set[str]) -> str:
    plain = _FOREIGN.sub("_", name)
    if plain and len(plain) <= most and plain not in taken:
        return plain
    count = 0
    while True:
        mark = hashlib.sha256(f"{seed}\0{count}".encode("utf-8", "surrogatepass")).hexdigest()[:6]
        short = f"{plain[: most - 7].rstrip('_')}_{mark}"
        if short not in taken:
            return short
        count += 1
