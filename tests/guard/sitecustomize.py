"""Loaded by every Python that a test starts (`tests/conftest.py` puts this folder on PYTHONPATH): loopback only."""

from __future__ import annotations

import ipaddress
import sys

attempts: list[str] = []
"""Addresses that this process tried to reach beyond loopback. The tests of a process that has any fail."""


class NetworkRefused(RuntimeError):
    """A test tried to leave this machine"""


def is_loopback(host: object) -> bool:
    """True for this machine: loopback addresses, its usual name, and the empty name that means any of its own."""
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False


def refuse_network(event: str, arguments: tuple[object, ...]) -> None:
    """Audit hook: raises NetworkRefused before a name is looked up or a packet leaves."""
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        if not isinstance(address, tuple):
            return  # a Unix socket, or a connected one
        host = address[0]
    elif event in ("socket.gethostbyname", "socket.gethostbyaddr"):
        host = arguments[0]
    else:
        return
    if not is_loopback(host):
        attempts.append(f"{event} {host}")
        raise NetworkRefused(f"tests may only talk to this machine, not to {host}")


sys.addaudithook(refuse_network)
