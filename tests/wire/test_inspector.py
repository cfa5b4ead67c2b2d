"""The inspector of the protocol's makers, from its command line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.command import ARGV, environ

pytestmark = [pytest.mark.slow, pytest.mark.requirement("F-02")]

INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"


def test_the_inspector_lists_the_tools_and_calls_one(
    home: Path, repo: Path, node: Path, installed: Callable[[str], Path]
) -> None:
    # It hands a server little of its own environment.
    command = [node, installed(INSPECTOR), "--cli", "-e", f"CLEW_HOME={home / 'clew'}", *ARGV, "mcp"]

    def inspect(*more: str) -> Any:
        done = subprocess.run(
            [*command, *more], cwd=repo, env=environ({}), capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    names = [tool["name"] for tool in inspect("--method", "tools/list")["tools"]]
    assert names == ["memory_recall", "memory_open", "memory_note", "memory_log"]
    told = inspect("--method", "tools/call", "--tool-name", "memory_log", "--tool-arg", "text=seen by the inspector")
    assert told["structuredContent"]["saved"] is True
    (log,) = (home / "clew" / "memory" / "workspaces").glob("*/logs/*.md")
    assert "seen by the inspector" in log.read_text(encoding="utf-8")
