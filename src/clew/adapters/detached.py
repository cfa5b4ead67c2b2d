"""Starts a process of Clew's own that outlives this one, and that nobody waits for."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path


def start(module: str, environ: Mapping[str, str], folder: Path) -> None:
    """Run a module in `folder`, away from the terminal; nothing happens where the system lets no process begin."""
    if not sys.executable:
        return
    with contextlib.suppress(OSError):
        process = subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Whoever ends the group of the command, or closes its terminal, does not mean this one.
            start_new_session=True,
        )
        # A server that lives on must not collect the dead.
        threading.Thread(target=process.wait, name="reaper", daemon=True).start()
