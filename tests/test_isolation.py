"""What `tests/conftest.py` promises to every test holds: no network, no trace of the user, strict warnings."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
import sitecustomize

OUTSIDE = "192.0.2.1"
"""An address that is set aside for documentation: nothing answers there."""


def test_a_connection_beyond_this_machine_is_refused_and_remembered() -> None:
    with socket.socket() as door, pytest.raises(sitecustomize.NetworkRefused):
        door.connect((OUTSIDE, 80))
    with pytest.raises(sitecustomize.NetworkRefused):
        socket.getaddrinfo("example.com", 443)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door, pytest.raises(sitecustomize.NetworkRefused):
        door.sendto(b"x", (OUTSIDE, 53))
    assert sitecustomize.attempts == [
        f"socket.connect {OUTSIDE}",
        "socket.getaddrinfo example.com",
        f"socket.sendto {OUTSIDE}",
    ]
    sitecustomize.attempts.clear()  # or the fixture fails this very test


def test_a_process_that_a_test_starts_is_guarded_too() -> None:
    code = f"import socket; socket.create_connection(('{OUTSIDE}', 80), timeout=1)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "NetworkRefused" in done.stderr


def test_loopback_is_allowed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client = threading.Thread(target=lambda: socket.create_connection(("localhost", port), timeout=5).close())
        client.start()
        connection, peer = server.accept()
        connection.close()
        client.join(timeout=5)
    assert peer[0] == "127.0.0.1"
    assert sitecustomize.attempts == []


def test_a_test_that_asks_for_nothing_still_has_no_user() -> None:
    assert Path(os.environ["HOME"]).name.startswith("clew-tests-")
    assert not [name for name in os.environ if name.endswith("_API_KEY")]
    assert os.environ["CLEW_HOME"].startswith(os.environ["HOME"])


def test_each_home_is_empty_and_its_own(home: Path) -> None:
    assert list(home.iterdir()) == []
    assert os.environ["HOME"] == str(home)
    assert os.environ["CLEW_HOME"] == str(home / "clew")


def test_a_warning_is_an_error() -> None:
    with pytest.raises(DeprecationWarning):
        warnings.warn("old", DeprecationWarning, stacklevel=1)
