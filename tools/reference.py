"""Make `docs/reference/` from the code: commands, settings, errors, tools. `--check` only says what is out of date."""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
SETTINGS = ROOT / "src" / "clew" / "settings.py"
COMMANDS = "clew.entrypoints.cli.main"
HELP = ROOT / "src" / "clew" / "data" / "help.txt"
HEAD = "<!-- Made by `make docs`. Do not edit. -->\n"


def main() -> None:
    """Write the pages, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; status 1 if a page is out of date")
    check = parser.parse_args().check
    # The reference is in English and the same for everybody, whatever the reader's locale and settings are.
    for name in [name for name in os.environ if name.startswith("CLEW_")]:
        del os.environ[name]
    os.environ.update(LC_ALL="C.UTF-8", LANG="C.UTF-8", LANGUAGE="en", COLUMNS="100")
    made = {REFERENCE / name: text for name, text in pages().items()} | {HELP: help_text()}
    stale = {path: text for path, text in made.items() if not is_current(path, text)}
    if check:
        if stale:
            names = ", ".join(str(path.relative_to(ROOT)) for path in stale)
            sys.exit(f"error: out of date: {names}\nhint: make docs")
        return
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for path, text in stale.items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))


def help_text() -> str:
    """What `clew --help` prints on a terminal of 80 columns, in English."""
    command = [sys.executable, "-c", "from clew.entrypoints.cli.main import main; main(['--help'])"]
    done = subprocess.run(command, env=os.environ | {"COLUMNS": "80"}, capture_output=True, text=True, check=True)
    return done.stdout


def is_current(path: Path, text: str) -> bool:
    """True if the file has exactly this text."""
    return path.is_file() and path.read_text(encoding="utf-8") == text


def pages() -> dict[str, str]:
    """Text of each generated page by its file name."""
    return {
        "commands.md": commands_page(), "settings.md": settings_page(), "errors.md": errors_page(),
        "tools.md": tools_page(), "agent-tools.md": agent_tools_page(), "events.md": events_page(),
    }  # fmt: skip


# ---------------------------------------------------------------------- commands


def root_command() -> click.Group | None:
    """The command tree; None while there is none."""
    try:
        module = importlib.import_module(COMMANDS)
    except ModuleNotFoundError as error:
        if error.name == COMMANDS:
            return None
        raise
    groups = [value for value in vars(module).values() if isinstance(value, click.Group)]
    # Of several groups the root is the one that is nobody's command.
    children = {id(child) for group in groups for child in getattr(group, "commands", {}).values()}
    return next((group for group in groups if id(group) not in children), None)


def command_tree(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Each command that is not hidden, parents first, in the order that `--help` has."""
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None and not child.hidden:
                yield from command_tree(child, click.Context(child, info_name=name, parent=context))


def commands_page() -> str:
    """Usage, words and options of each command."""
    out = [HEAD, "# Commands\n"]
    root = root_command()
    if root is None:
        return "\n".join([*out, "There is no command yet.\n"])
    for command, context in command_tree(root, click.Context(root, info_name="clew")):
        out.append(f"## `{context.command_path}`\n")
        pieces = command.collect_usage_pieces(context)
        out.append(f"```\n{' '.join([context.command_path, *pieces])}\n```\n")
        words = inspect.cleandoc((command.help or "").partition("\f")[0])
        if words:
            out.append(blocks(words) + "\n")
        out.extend(option_table(command, context))
        if command.epilog:
            out.append(blocks(inspect.cleandoc(command.epilog)) + "\n")
    return "\n".join(out)


def blocks(words: str) -> str:
    """Help text as Markdown: a paragraph that click must not rewrap becomes a block of its own."""
    paragraphs = re.split(r"\n{2,}", words)
    return "\n\n".join(
        f"```\n{paragraph.removeprefix(chr(8)).strip(chr(10))}\n```" if paragraph.startswith("\b") else paragraph
        for paragraph in paragraphs
    )


def option_table(command: click.Command, context: click.Context) -> list[str]:
    """Arguments and options as table rows."""
    records = (parameter.get_help_record(context) for parameter in command.get_params(context))
    rows = [record for record in records if record and record[1]]
    if not rows:
        return []
    cells = [tuple(cell.replace("|", "\\|").replace("\n", " ") for cell in row) for row in rows]
    return ["| option | meaning |", "| --- | --- |", *(f"| `{left}` | {right} |" for left, right in cells), ""]


# ---------------------------------------------------------------------- settings


def settings_fields() -> list[tuple[str, str, str, str]]:
    """Name, type and default as written, and docstring of each field of `Settings`; empty without such a class."""
    if not SETTINGS.is_file():
        return []
    tree = ast.parse(SETTINGS.read_text(encoding="utf-8"))
    found = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Settings"), None)
    if found is None:
        return []
    fields: list[tuple[str, str, str, str]] = []
    for position, node in enumerate(found.body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
            follower = found.body[position + 1] if position + 1 < len(found.body) else None
            default = ast.unparse(node.value) if node.value else ""
            fields.append((node.target.id, ast.unparse(node.annotation), default, field_docstring(follower)))
    return fields


def field_docstring(node: ast.stmt | None) -> str:
    """The string that stands under a field."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return inspect.cleandoc(node.value.value)
    return ""


def settings_page() -> str:
    """One heading for each setting."""
    out = [HEAD, "# Settings\n"]
    out.append(
        "A flag beats the environment, the environment the project's file, that the user's file, that the default."
    )
    out.append("`clew config` shows each value with its origin.\n")
    keys = importlib.import_module("clew.settings_keys").KEYS
    variables = {name: key.variable for name, key in keys.items()}
    for name, kind, default, words in settings_fields():
        out.append(f"## `{name}`\n")
        simple = default and "(" not in default.removeprefix("()")
        out.append(f"Type: `{kind}`" + (f", default: `{default}`\n" if simple else "\n"))
        if words:
            out.append(f"{words}\n")
        if variable := variables.get(name):
            out.append(f"Variable: `{variable}`.\n")
    out.append(VARIABLES)
    return "\n".join(out)


VARIABLES = """\
## Variables that are no settings

| variable | meaning |
| --- | --- |
| `CLEW_HOME` | One folder for settings, history and indexes, instead of the usual places. An absolute path. |
| `HOME` | Where the usual places are. An absolute path; where it is not set, the home that the system knows. |
| `CLEW_NO_CONTEXT` | Anything but `0`, `false`, `no` or `off`: no context is gathered. |
| `CLEW_NO_CACHE` | The same for kept outcomes of searches. |
| `CLEW_THREAD` | Name of the thread that questions belong to; without it, the terminal. |
| `CLEW_DEBUG` | Print the whole traceback of an error that nobody foresaw. |
| `NO_COLOR` | No colour. |
| `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` | Keys: see [choose a model](../guides/choose-a-model.md). |
| `ANTHROPIC_BASE_URL`, `OPENAI_BASE_URL`, `OLLAMA_HOST` | Other endpoints. |
"""


# ---------------------------------------------------------------------- errors


def error_classes() -> list[type[Exception]]:
    """Every error of the tree, in the order of the file."""
    module = importlib.import_module("clew.errors")
    return [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, module.ClewError)]


def errors_page() -> str:
    """One heading for each error with its statuses."""
    out = [HEAD, "# Errors\n"]
    out.append("Clew prints `error:` with the message and, where something can be done, a line `hint:`.")
    out.append("The name of the error is its stable code; `--json` output carries it.\n")
    out.append("| status | meaning |\n| --- | --- |")
    out.append("| 0 | done |\n| 1 | it failed |\n| 2 | the request cannot be carried out as given |")
    out.append("| 75 | busy: the same command may succeed later |")
    out.append("| 130 | interrupted |\n| 141 | the reader of the output went away |\n")
    for error in error_classes():
        parent = error.__mro__[1].__name__
        kind = f" A kind of `{parent}`." if parent != "Exception" else ""
        again = "yes" if getattr(error, "retry", False) else "no"
        out.append(f"## `{error.__name__}`\n")
        out.append(f"{(error.__doc__ or '').strip()}.{kind}\n")
        statuses = f"Exit status {getattr(error, 'exit_status', 1)}, HTTP status {getattr(error, 'http_status', 500)}"
        out.append(f"{statuses}, worth trying again: {again}.\n")
    return "\n".join(out)


# ---------------------------------------------------------------------- tools


def tools_page() -> str:
    """One heading for each tool that agents are offered, with its arguments and its result."""
    module = importlib.import_module("clew.entrypoints.mcp.tools")
    out = [HEAD, "# Tools\n"]
    out.append("What `clew mcp` offers to agents: [give agents a memory](../guides/mcp.md) says how to set it up.\n")
    for tool in module.listed():
        out.append(f"## `{tool['name']}`\n")
        hints = tool["annotations"]
        changes = "Changes nothing." if hints["readOnlyHint"] else "Writes; destroys nothing."
        out.append(f"{tool['description']} {changes}\n")
        out.append("| argument | type | meaning |\n| --- | --- | --- |")
        required = tool["inputSchema"]["required"]
        for name, schema in tool["inputSchema"]["properties"].items():
            kind = " or ".join(f"`{value}`" for value in schema["enum"]) if "enum" in schema else f"{schema['type']}"
            facts = [schema.get("description", "")]
            facts += [f"default `{schema['default']}`"] if "default" in schema else []
            facts += ["required"] if name in required else []
            out.append(f"| `{name}` | {kind} | {'; '.join(filter(None, facts))} |")
        results = tool["outputSchema"]["properties"].items()
        fields = ", ".join(f"`{name}` ({schema['type']})" for name, schema in results)
        out.append(f"\nResult: {fields}.\n")
    out.append("## Instructions\n")
    out.append("An agent gets these words when it connects:\n")
    out.append("\n".join(f"> {line}" for line in module.INSTRUCTIONS.splitlines()) + "\n")
    return "\n".join(out)


# ---------------------------------------------------------------------- the agent


def agent_tools() -> list[Any]:
    """The tools of a session of the agent, in their order."""
    module = importlib.import_module("clew.app")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environ = {"HOME": folder, "CLEW_HOME": str(place / "home"), "PATH": os.environ["PATH"]}
        room = module.App(environ, place, {}).agent_room()
        with room.new("anthropic:any") as session:
            return list(session.around.tools)


def agent_tools_page() -> str:
    """One heading for each tool of Clew's own agent, with its arguments."""
    out = [HEAD, "# Tools of the agent\n"]
    out.append(
        "What a model that works as [Clew's agent](../guides/agent.md) may call, in the order in which it is told."
    )
    out.append("Tools of [MCP servers](../guides/agent-servers.md) come after them.\n")
    for tool in agent_tools():
        out.append(f"## `{tool.name}`\n")
        out.append(f"{tool.description}\n")
        required = tool.schema.get("required", [])
        rows = [
            f"| `{name}` | {kind_of(schema)} | {'; '.join(facts_of(name, schema, required))} |"
            for name, schema in tool.schema.get("properties", {}).items()
        ]
        if rows:
            out.append("\n".join(["| argument | type | meaning |", "| --- | --- | --- |", *rows]) + "\n")
    return "\n".join(out)


def kind_of(schema: dict[str, Any]) -> str:
    """The type of an argument, in words."""
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(one["type"] for one in schema["anyOf"])
    return str(schema.get("type", "any"))


def facts_of(name: str, schema: dict[str, Any], required: list[str]) -> list[str]:
    """What is said of an argument."""
    facts = [schema["description"]] if "description" in schema else []
    facts += [f"default `{schema['default']}`"] if "default" in schema else []
    return facts + (["required"] if name in required else [])


def events_page() -> str:
    """One heading for each event of a run, with its fields."""
    module = importlib.import_module("clew.core.agent.events")
    out = [HEAD, "# Events of a run\n"]
    out.append("`clew run --json` prints one JSON object a line: the event's name in `type`, then its fields.")
    out.append("A new field may come to any event, and new events may come; none changes its meaning or goes.\n")
    tree = ast.parse(inspect.getsource(module))
    nodes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for kind, name in module.NAMES.items():
        node = nodes[kind.__name__]
        out.append(f"## `{name}`\n")
        out.append(f"{' '.join((ast.get_docstring(node) or '').split())}\n")
        out.append("| field | type | meaning |\n| --- | --- | --- |")
        for at, field in enumerate(node.body):
            if isinstance(field, ast.AnnAssign):
                after = node.body[at + 1] if at + 1 < len(node.body) else None
                said = " ".join(field_docstring(after).split())
                kinds = ast.unparse(field.annotation).replace("|", "or")
                out.append(f"| `{ast.unparse(field.target)}` | `{kinds}` | {said} |")
        out.append("")
    return "\n".join(out)


if __name__ == "__main__":
    main()
