"""Where Clew keeps what belongs to the user: one folder by CLEW_HOME, else the folders of the platform."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import PlatformDirs

from clew.core.text.printable import printable
from clew.errors import ConfigError

_HINT = "set CLEW_HOME to a folder that Clew may write to"


@dataclass(frozen=True, slots=True)
class Home:
    """Four folders; with CLEW_HOME all of them are that folder. None need exist."""

    config: Path
    """Holds `config.yaml`."""
    data: Path
    """What cannot be made again: memory, sessions, history, aliases."""
    cache: Path
    """What can be made again: the index."""
    state: Path
    """What is known about this machine only."""

    @property
    def config_file(self) -> Path:
        """The user's own configuration file."""
        return self.config / "config.yaml"


def find_home(environ: Mapping[str, str]) -> Home:
    """The folders of this user. `environ` is the environment of the process, which platformdirs reads as well.

    HOME, where it is set, is an absolute path, as CLEW_HOME is; where it is not set, the password database decides.
    Raises ConfigError when either is anything else, or no home is known.
    """
    named = environ.get("CLEW_HOME", "")
    if named:
        home = Path(os.path.expanduser(named))
        if not home.is_absolute() or "\0" in named:
            raise ConfigError(
                f"CLEW_HOME is `{named}`, which is not an absolute path", hint="set it to a path that begins with `/`"
            )
        return Home(home, home, home, home)
    # What is empty would put the folders below the root of the file system, what is relative wherever one is.
    own = environ.get("HOME", "/")
    if not own.startswith("/"):
        raise ConfigError(f"HOME is `{printable(own, 200)}`, which is not an absolute path", hint=_HINT)
    places = PlatformDirs("clew", appauthor=False)
    try:
        home = Home(places.user_config_path, places.user_data_path, places.user_cache_path, places.user_state_path)
    except RuntimeError as error:  # neither HOME nor an entry in the password database
        raise _homeless() from error
    if not all(path.is_absolute() for path in (home.config, home.data, home.cache, home.state)):
        raise _homeless()
    return home


def _homeless() -> ConfigError:
    return ConfigError("No home folder is known for this user", hint=_HINT)
