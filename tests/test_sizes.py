"""The size gate: files and functions of src/clew stay short enough to be read at once. Docstrings do not count."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "clew"
FILE_LIMIT = 500
FUNCTION_LIMIT = 80
LONG = 50
LONG_SHARE = 0.025

Function = ast.FunctionDef | ast.AsyncFunctionDef


def docstring_lines(node: ast.AST) -> int:
    """Lines that the docstring of a module, class or function takes."""
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not node.body:
        return 0
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return (first.end_lineno or first.lineno) - first.lineno + 1
    return 0


def file_length(text: str) -> int:
    """Lines of a file without its docstrings."""
    return len(text.splitlines()) - sum(docstring_lines(node) for node in ast.walk(ast.parse(text)))


def function_lengths(text: str) -> list[tuple[str, int, int]]:
    """(name, line, length) of each function; a nested function counts in its parent as well."""
    return [
        (node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1 - docstring_lines(node))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, Function)
    ]


def sources() -> dict[str, str]:
    """Path relative to src/ and text of each module."""
    return {
        str(path.relative_to(SOURCE.parent)): path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py"))
    }


@pytest.mark.requirement("Q-60")
def test_no_file_is_longer_than_the_limit() -> None:
    long = {path: length for path, text in sources().items() if (length := file_length(text)) > FILE_LIMIT}
    assert not long, f"over {FILE_LIMIT} lines: {long}"


@pytest.mark.requirement("Q-60")
def test_no_function_is_longer_than_the_limit() -> None:
    long = [
        f"{path}:{line} {name} {length}"
        for path, text in sources().items()
        for name, line, length in function_lengths(text)
        if length > FUNCTION_LIMIT
    ]
    assert not long, f"over {FUNCTION_LIMIT} lines: {long}"


@pytest.mark.requirement("Q-60")
def test_few_functions_are_long() -> None:
    every = [(path, *function) for path, text in sources().items() for function in function_lengths(text)]
    long = [f"{path}:{line} {name} {length}" for path, name, line, length in every if length > LONG]
    assert len(long) <= LONG_SHARE * len(every), f"{len(long)} of {len(every)} functions over {LONG} lines: {long}"


def test_docstrings_are_left_out_of_the_count() -> None:
    body = "def f():\n" + '    """One.\n\n    Two.\n    """\n' + "    return 1\n"
    assert function_lengths(body) == [("f", 1, 2)]
    assert file_length('"""Module."""\n' + body) == 2


def test_a_long_function_is_seen() -> None:
    text = "class C:\n    def f(self):\n" + "        x = 1\n" * FUNCTION_LIMIT
    assert function_lengths(text) == [("f", 2, FUNCTION_LIMIT + 1)]
