"""The official conformance suite of the protocol, against the real server."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.wire.conftest import FOLDER
from tests.wire.doorman import doorman
from tests.wire.served import served

pytestmark = [pytest.mark.slow, pytest.mark.requirement("F-02")]

SUITE = "@modelcontextprotocol/conformance/dist/index.js"
LEFT_OUT = {
    line.split()[0]: line.split(maxsplit=1)[1]
    for line in (Path(__file__).parent / "left_out.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
}


def scenarios() -> list[str]:
    """What the installed suite has for servers; empty without it."""
    node, suite = FOLDER / "node_modules/.bin/node", FOLDER / "node_modules" / SUITE
    if not node.exists() or not suite.exists():
        return []
    done = subprocess.run([node, suite, "list", "--server"], capture_output=True, text=True, check=True)
    return re.findall(r"^  - (\S+)", done.stdout, re.MULTILINE)


ALL = scenarios()


def test_the_list_of_what_is_left_out_names_scenarios_of_the_suite(installed: Callable[[str], Path]) -> None:
    installed(SUITE)
    assert LEFT_OUT.keys() <= set(ALL)
    assert len(ALL) - len(LEFT_OUT) >= 6


def test_every_scenario_that_applies_passes(
    home: Path, repo: Path, node: Path, installed: Callable[[str], Path]
) -> None:
    suite = installed(SUITE)
    passed: dict[str, int] = {}
    failed: dict[str, str] = {}
    with served(repo) as server, doorman(server.port, server.token) as port:
        for name in ALL:
            if name in LEFT_OUT:
                continue
            command = [node, suite, "server", "--url", f"http://localhost:{port}/mcp", "--scenario", name]
            done = subprocess.run(command, capture_output=True, text=True, cwd=home, timeout=60, check=False)
            counts = re.search(r"Passed: (\d+)/(\d+), 0 failed, 0 warnings", done.stdout)
            if done.returncode == 0 and counts and counts[1] == counts[2] != "0":
                passed[name] = int(counts[1])
            else:
                failed[name] = done.stdout[-1500:] + done.stderr[-1500:]
    told = f"{len(passed)} scenarios passed ({sum(passed.values())} checks): {', '.join(passed)}"
    sys.stdout.write(f"\nconformance: {told}; {len(LEFT_OUT)} left out (tests/wire/left_out.txt)\n")
    assert not failed
