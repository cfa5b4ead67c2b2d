"""Keys for providers: from the environment, else from the system keyring. Never from arguments, never shown."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clew.errors import ModelKeyMissing

SERVICE = "clew"
"""Name of the service in the system keyring; the user name there is the provider."""

KEYRING_PATIENCE = 2.0
"""Seconds that the system keyring may take. A locked one may wait for its owner, and Clew does not."""

_VARIABLES: dict[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "openai": ("OPENAI_API_KEY",),
    "ollama": ("OLLAMA_API_KEY",),
}

_QUIET_BACKENDS = ("keyring.backends.macOS", "keyring.backends.SecretService", "keyring.backends.Windows")
"""Backends that answer without a question on the terminal. Another one is used if PYTHON_KEYRING_BACKEND names it."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key and where it came from."""

    value: str = field(repr=False)
    source: str
    """The variable, or `keyring`."""


def variables(provider: str) -> tuple[str, ...]:
    """Return the variables that may hold the key of `provider`, the first that is set wins."""
    return _VARIABLES.get(provider) or (re.sub(r"[^A-Z0-9]", "_", provider.upper()) + "_API_KEY",)


def find_key(provider: str, environ: Mapping[str, str]) -> Key | None:
    """Return the key of `provider`, or None. Raises ModelKeyMissing if what is set cannot be a key."""
    for variable in variables(provider):
        value = environ.get(variable, "").strip()
        if value:
            return Key(_checked(value, variable), variable)
    value = _bounded(lambda: _from_keyring(provider, environ))
    return Key(_checked(value, "the system keyring"), "keyring") if value else None


def keyring_state(environ: Mapping[str, str]) -> tuple[bool, str]:
    """Whether a system keyring can hold keys here, and its name or the reason why not. Reads no key."""

    def look() -> str | None:
        try:
            import keyring  # noqa: PLC0415 - slow to import, as below
        except ImportError:
            return None
        names = [one for one in _backends(keyring.get_keyring()) if _is_quiet(one, environ) and not _is_locked(one)]
        return f"{type(names[0]).__module__}" if names else None

    found = _bounded(look)
    return (True, found) if found else (False, "no system keyring that is unlocked")


def _checked(value: str, source: str) -> str:
    # What no header may hold would come back inside the message of the library that refuses it.
    if not re.fullmatch(r"[!-~]+", value):
        raise ModelKeyMissing(f"{source} holds something that is no key", hint="a key is one word of plain characters")
    return value


def _bounded(read: Callable[[], str | None]) -> str | None:
    """Return what `read` gives within the patience, else None."""
    found: list[str | None] = []
    thread = threading.Thread(target=lambda: found.append(read()), daemon=True, name="clew-keyring")
    thread.start()
    thread.join(KEYRING_PATIENCE)
    return found[0] if found else None


def _from_keyring(provider: str, environ: Mapping[str, str]) -> str | None:
    try:
        # Slow to import (backends are searched), and most keys come from the environment.
        import keyring  # noqa: PLC0415
        import keyring.errors  # noqa: PLC0415
    except ImportError:
        return None
    try:
        for backend in _backends(keyring.get_keyring()):
            if not _is_quiet(backend, environ) or _is_locked(backend):
                continue
            value = backend.get_password(SERVICE, provider)
            if value:
                return value.strip()
    except (keyring.errors.KeyringError, RuntimeError, OSError, ValueError):
        return None
    return None


def _backends(backend: Any) -> list[Any]:
    """Return the single backends behind a chain of them."""
    return list(getattr(backend, "backends", ())) or [backend]


def _is_quiet(backend: Any, environ: Mapping[str, str]) -> bool:
    name = f"{type(backend).__module__}.{type(backend).__qualname__}"
    return name.startswith(_QUIET_BACKENDS) or environ.get("PYTHON_KEYRING_BACKEND") == name


def _is_locked(backend: Any) -> bool:
    """Tell whether the Secret Service would have to ask its owner to unlock."""
    if not type(backend).__module__.startswith("keyring.backends.SecretService"):
        return False
    import secretstorage  # noqa: PLC0415  # exists where this backend does

    try:
        bus = secretstorage.dbus_init()
        try:
            return secretstorage.get_default_collection(bus).is_locked()
        finally:
            bus.close()
    except secretstorage.SecretStorageException:
        return True
