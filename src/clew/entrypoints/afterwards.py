"""`python -m clew.entrypoints.afterwards`: what follows a write to memory, in a process that nobody waits for."""

from __future__ import annotations

import contextlib
import os

from clew.app import App
from clew.errors import ClewError

_NICE = 10


def main() -> None:
    """Bring the index and the prepared notes up to the files. Says nothing: the next who asks says what is wrong."""
    with contextlib.suppress(OSError):
        os.nice(_NICE)
    with contextlib.suppress(ClewError, OSError):
        App.here().afterwards().run()


if __name__ == "__main__":
    main()
