"""Every command, setting, error and tool has its heading, and the generated pages say what the code says."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import get_args

import click
import pytest

import clew.errors
from clew.core.agent.events import NAMES, Event
from clew.entrypoints.mcp.tools import TOOLS
from clew.settings import Settings

ROOT = Path(__file__).resolve().parent.parent.parent
TOOL = ROOT / "tools" / "reference.py"
REFERENCE = ROOT / "docs" / "reference"


def load_tool() -> ModuleType:
    """`tools/reference.py` as a module."""
    spec = importlib.util.spec_from_file_location("clew_reference", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def headings(page: str) -> set[str]:
    """Second-level headings of a page of the reference, without their quotes."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    return set(re.findall(r"^## `(.+)`$", text, re.MULTILINE))


@pytest.mark.requirement("Q-60")
def test_the_generated_pages_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, str(TOOL), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.requirement("F-01")
def test_every_command_has_a_heading() -> None:
    tool = load_tool()
    root = tool.root_command()
    if root is None:
        pytest.skip("there is no command yet")
    paths = {context.command_path for _, context in tool.command_tree(root, click.Context(root, info_name="clew"))}
    assert "clew" in paths
    assert headings("commands.md") == paths


@pytest.mark.requirement("F-01")
def test_every_command_says_what_it_does() -> None:
    tool = load_tool()
    root = tool.root_command()
    if root is None:
        pytest.skip("there is no command yet")
    tree = list(tool.command_tree(root, click.Context(root, info_name="clew")))
    silent = [context.command_path for command, context in tree if not (command.help or "").strip()]
    assert not silent, f"commands without help: {silent}"


def test_every_setting_has_a_heading_and_a_meaning() -> None:
    names = {field.name for field in fields(Settings) if not field.name.startswith("_")}
    assert headings("settings.md") == names
    silent = [name for name, _, _, words in load_tool().settings_fields() if not words]
    assert not silent, f"settings without a docstring: {silent}"


def test_every_error_has_a_heading() -> None:
    errors = {
        name
        for name, value in vars(clew.errors).items()
        if isinstance(value, type) and issubclass(value, clew.errors.ClewError)
    }
    assert headings("errors.md") == errors


@pytest.mark.requirement("W-07")
def test_every_tool_has_a_heading_with_its_arguments() -> None:
    assert headings("tools.md") == set(TOOLS)
    text = (REFERENCE / "tools.md").read_text(encoding="utf-8")
    for tool in TOOLS.values():
        section = text.partition(f"## `{tool.name}`")[2].partition("\n## ")[0]
        assert all(f"| `{name}` |" in section for name in tool.schema["inputSchema"]["properties"])


@pytest.mark.requirement("F-01", "R-01")
def test_every_tool_and_event_of_the_agent_has_a_heading() -> None:
    tool = load_tool()
    assert headings("agent-tools.md") == {one.name for one in tool.agent_tools()}
    assert headings("events.md") == set(NAMES.values())
    assert set(NAMES) == set(get_args(Event))
