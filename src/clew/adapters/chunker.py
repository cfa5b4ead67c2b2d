"""Cuts a file into chunks along its definitions, with tree-sitter where a grammar fits and by blocks elsewhere."""

from __future__ import annotations

import importlib
import re
from functools import cache
from typing import TYPE_CHECKING

from clew.core.index.chunk import TARGET_LINES, Outline, Symbol, cover
from clew.core.index.kinds import language

if TYPE_CHECKING:
    from tree_sitter import Parser, Query

FORMAT = 2
"""Raise it when chunks of the same text change: indexes are then made again."""

_MODULES = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "bash": ("tree_sitter_bash", "language"),
}

LANGUAGES = tuple(_MODULES)
"""Languages with a grammar."""

_JS = """
(function_declaration name: (_) @name) @def
(generator_function_declaration name: (_) @name) @def
(class_declaration name: (_) @name) @def
(method_definition name: (_) @name) @def
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (object) (array) (call_expression) (new_expression)]) @def
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @def
(assignment_expression left: (member_expression property: (_) @name)
  right: [(arrow_function) (function_expression) (class)]) @def
"""
_TS = (
    _JS
    + """
(interface_declaration name: (_) @name) @def
(type_alias_declaration name: (_) @name) @def
(enum_declaration name: (_) @name) @def
(abstract_class_declaration name: (_) @name) @def
(public_field_definition name: (_) @name value: (arrow_function)) @def
"""
)
_QUERIES = {
    "python": """
(function_definition name: (_) @name) @def
(class_definition name: (_) @name) @def
(module (expression_statement (assignment left: (identifier) @name)) @def)
""",
    "javascript": _JS,
    "typescript": _TS,
    "tsx": _TS,
    "go": """
(function_declaration name: (_) @name) @def
(method_declaration name: (_) @name) @def
(type_spec name: (_) @name) @def
(source_file (const_declaration (const_spec name: (_) @name) @def))
(source_file (var_declaration (var_spec name: (_) @name) @def))
""",
    "rust": """
(function_item name: (_) @name) @def
(struct_item name: (_) @name) @def
(enum_item name: (_) @name) @def
(trait_item name: (_) @name) @def
(impl_item type: (_) @name) @def
(mod_item name: (_) @name) @def
(macro_definition name: (_) @name) @def
(const_item name: (_) @name) @def
(static_item name: (_) @name) @def
(type_item name: (_) @name) @def
""",
    "java": """
(class_declaration name: (_) @name) @def
(interface_declaration name: (_) @name) @def
(enum_declaration name: (_) @name) @def
(record_declaration name: (_) @name) @def
(method_declaration name: (_) @name) @def
(constructor_declaration name: (_) @name) @def
""",
    "ruby": """
(method name: (_) @name) @def
(singleton_method name: (_) @name) @def
(class name: (_) @name) @def
(module name: (_) @name) @def
""",
    "c": """
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @def
(function_definition
  declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @def
(struct_specifier name: (_) @name body: (_)) @def
(enum_specifier name: (_) @name body: (_)) @def
(type_definition declarator: (type_identifier) @name) @def
(preproc_def name: (_) @name) @def
(preproc_function_def name: (_) @name) @def
""",
    "cpp": """
(function_definition declarator: (function_declarator declarator: (_) @name)) @def
(class_specifier name: (_) @name body: (_)) @def
(struct_specifier name: (_) @name body: (_)) @def
(enum_specifier name: (_) @name body: (_)) @def
(namespace_definition name: (_) @name) @def
""",
    "bash": "(function_definition name: (_) @name) @def",
}
_MOST_BYTES = 1_000_000
_MOST_OPEN = 400
"""Brackets open, or closed too often, at one place. A grammar takes time to mend such a tangle that grows with its
square."""
_BRACKET = re.compile(r"[()\[\]{}]")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$")
_UNDERLINE = re.compile(r"^([=\-~^\"'*+#])\1{2,}\s*$")
_BLOCK = re.compile(r"^(\[{1,2}[^\]]+\]|[A-Za-z_][\w.\-]*\s*[:=]|[A-Za-z_.][\w.\-/ ]*:(\s|$))")


@cache
def _grammar(name: str) -> tuple[Parser, Query] | None:
    """Parser and query of a language; None where its grammar cannot be loaded."""
    # Heavy, and only needed when a file of that language is read.
    from tree_sitter import Language, Parser, Query  # noqa: PLC0415

    module, function = _MODULES[name]
    try:
        grammar = Language(getattr(importlib.import_module(module), function)())
    except (ImportError, AttributeError, ValueError):
        return None
    return Parser(grammar), Query(grammar, _QUERIES[name])


def has_grammar(name: str) -> bool:
    """Whether the grammar of one of LANGUAGES can be loaded, with its query."""
    return _grammar(name) is not None


def outline(path: str, text: str) -> Outline:
    """Symbols and chunks of one file. Never raises: what does not parse is cut into blocks."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    name = language(path)
    symbols: tuple[Symbol, ...] = ()
    breaks: list[int] = []
    if name in _MODULES and len(text) <= _MOST_BYTES and not _tangled(text):
        symbols = _definitions(name, text, len(lines))
        breaks = _breaks(symbols, lines)
    elif name in ("markdown", "rst"):
        symbols = _headings(name, lines)
        breaks = [s.start for s in symbols]
    else:
        breaks = _blocks(lines)
    return Outline(len(lines), symbols, cover(lines, symbols, breaks))


def _tangled(text: str) -> bool:
    """Whether brackets are nested or unbalanced beyond what a person writes."""
    depth = 0
    for match in _BRACKET.finditer(text):
        depth += 1 if match.group() in "([{" else -1
        if not -_MOST_OPEN <= depth <= _MOST_OPEN:
            return True
    return False


def _definitions(name: str, text: str, count: int) -> tuple[Symbol, ...]:
    loaded = _grammar(name)
    if loaded is None:
        return ()
    from tree_sitter import QueryCursor  # noqa: PLC0415 - see _grammar

    parser, query = loaded
    tree = parser.parse(text.encode("utf-8", "replace"))
    found: dict[tuple[int, int, str], Symbol] = {}
    for _, captures in QueryCursor(query).matches(tree.root_node):
        if "def" not in captures or "name" not in captures:
            continue
        node, label = captures["def"][0], captures["name"][0]
        parent = node.parent
        while parent is not None and parent.type in ("decorated_definition", "export_statement", "lexical_declaration"):
            node, parent = parent, parent.parent
        text_of = label.text.decode("utf-8", "replace") if label.text else ""
        symbol = Symbol(text_of.split("\n")[0][:120], node.start_point[0] + 1, min(node.end_point[0] + 1, count))
        if symbol.name:
            found[(symbol.start, -symbol.end, symbol.name)] = symbol
    return tuple(found[key] for key in sorted(found))


def _breaks(symbols: tuple[Symbol, ...], lines: list[str]) -> list[int]:
    """First lines of definitions, moved up over the comments that belong to them. Small nested ones do not cut."""
    breaks: list[int] = []
    open_ends: list[int] = []
    for symbol in symbols:
        while open_ends and open_ends[-1] < symbol.start:
            open_ends.pop()
        if len(open_ends) < 3 and (not open_ends or symbol.end - symbol.start >= 3):
            line = symbol.start
            while line > 1 and lines[line - 2].lstrip()[:2] in ("//", "# ", "##", "/*", "* ", "*/", '"""', "///", "--"):
                line -= 1
            breaks.append(line)
            if symbol.end < len(lines):
                breaks.append(symbol.end + 1)
        open_ends.append(symbol.end)
    return breaks


def _headings(name: str, lines: list[str]) -> tuple[Symbol, ...]:
    starts: list[tuple[int, str]] = []
    fenced = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        if fenced:
            continue
        if name == "markdown" and (match := _HEADING.match(line)):
            starts.append((number, match.group(1)))
        elif name == "rst" and number > 1 and _underlines(line, lines[number - 2]):
            starts.append((number - 1, lines[number - 2].strip()))
    ends = [start - 1 for start, _ in starts[1:]] + [len(lines)]
    return tuple(Symbol(title[:120], start, end) for (start, title), end in zip(starts, ends, strict=False))


def _underlines(line: str, title: str) -> bool:
    """Whether a line is the rule below a title, about as long as that."""
    long_enough = len(line.rstrip()) >= len(title.rstrip()) - 1
    return bool(title.strip()) and long_enough and _UNDERLINE.match(line) is not None


def _blocks(lines: list[str]) -> list[int]:
    """Breaks for plain text and configuration: a section line after a blank one, about every TARGET_LINES / 2 lines."""
    breaks: list[int] = []
    last = 1
    for number in range(2, len(lines) + 1):
        line = lines[number - 1]
        starts_section = line.startswith("[") or (not lines[number - 2].strip() and bool(_BLOCK.match(line)))
        if starts_section and number - last >= TARGET_LINES // 2:
            breaks.append(number)
            last = number
    return breaks
