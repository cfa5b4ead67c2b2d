"""Collect the text to learn from out of downloaded wheels and npm packages.

Four kinds: pairs of an English and a Chinese string with the same meaning (catalogues), English prose (docstrings,
readmes), Chinese prose (docstrings, comments, readmes), and the names that code defines (for the vocabulary only).
"""

from __future__ import annotations

import ast
import gettext
import io
import json
import re
import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HAN = re.compile("[\u4e00-\u9fff]")
_MARKUP = re.compile(r"<[^>]{1,80}>|%\(?\w*\)?[sdif]|\{[^}]{0,30}\}|\$t\(.*?\)|&[a-z]+;|[`*]+|\]\([^)]*\)")
_BLANK = re.compile(r"\s+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,40}")
_JS_COMMENT = re.compile(r"/\*\*?(.*?)\*/|//+(.*)", re.S | re.M)
_JS_STRING = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|null""")
_CATALOGUE = re.compile(r"zh([_-](hans|cn|hans_cn|hans-cn))?/lc_messages/[^/]+\.mo$", re.I)
_TWIN = re.compile(
    r"(?P<folder>.*?)(?P<lang>en|zh|en-US|zh-CN|zh-Hans|en_US|zh_CN)"
    r"(?P<hash>-[0-9a-f]{16,})?(?P<rest>(/[^/]+)?\.json)$"
)
_ENGLISH = {"en", "en-US", "en_US"}
_PERMISSIVE = re.compile(r"\b(MIT|BSD|Apache|ISC|PSF|CC0)\b")
_LARGEST_FILE = 1_500_000


@dataclass(slots=True)
class Corpus:
    """Text by kind; `packages` counts how many strings each package gave."""

    pairs: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    english: set[str] = field(default_factory=set[str])
    chinese: set[str] = field(default_factory=set[str])
    names: Counter[str] = field(default_factory=Counter[str])
    packages: dict[str, int] = field(default_factory=dict[str, int])

    def size(self) -> int:
        return len(self.pairs) + len(self.english) + len(self.chinese)

    def add_pair(self, english: str, chinese: str) -> None:
        english, chinese = clean(english), clean(chinese)
        if not 3 <= len(english) <= 400 or not len(chinese) <= 300 or HAN.search(english):
            return
        if HAN.search(chinese) and re.search("[A-Za-z]{3}", english):
            self.pairs.add((english, chinese))

    def add_prose(self, text: str) -> None:
        text = clean(text)
        han = len(HAN.findall(text))
        if han >= 4 and 2 * han > len(re.findall("[A-Za-z]+", text)):
            self.chinese.add(text[:300])
        elif not han and len(text) >= 25 and len(text.split()) >= 4 and _mostly_letters(text):
            self.english.add(text[:400])


def clean(text: str) -> str:
    """Without markup, placeholders and doubled blanks."""
    return _BLANK.sub(" ", _MARKUP.sub(" ", text)).strip(" -#:|\t")


def _mostly_letters(text: str) -> bool:
    return sum(c.isalpha() or c == " " for c in text) > 0.85 * len(text)


def paragraphs(text: str) -> Iterator[str]:
    """Paragraphs of prose; code blocks, tables and doctests are left out."""
    text = re.sub(r"```.*?(```|\Z)", "\n\n", text, flags=re.S)
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*#:@]|\d+\.)\s?)", text):
        if ">>>" not in part and "|" not in part and "    " not in part.strip().replace("\n    ", "\n"):
            yield re.sub(r"^\s*(:\w+[^:]*:|@\w+(\s+\{[^}]*\})?|[-*#]+|\d+\.)\s*", "", part)


def _strings(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _strings(value, f"{path}/{key}")
    elif isinstance(tree, str):
        yield path, tree


def _read_catalogue(corpus: Corpus, content: bytes) -> None:
    catalogue: Mapping[Any, Any] = gettext.GNUTranslations(io.BytesIO(content))._catalog  # type: ignore[attr-defined]
    for key, value in catalogue.items():
        source = key[0] if isinstance(key, tuple) else key
        if source and isinstance(source, str) and isinstance(value, str):
            corpus.add_pair(source.rpartition("\x04")[2], value)


def _read_twins(corpus: Corpus, files: Mapping[str, bytes]) -> None:
    """JSON message files that exist in both languages under the same path."""
    found: dict[tuple[str, str], dict[bool, bytes]] = {}
    for name, content in files.items():
        match = _TWIN.match(name)
        if match:
            slot = found.setdefault((match["folder"], match["rest"]), {})
            slot.setdefault(match["lang"] in _ENGLISH, content)
    for twin in found.values():
        if len(twin) == 2:
            english = dict(_strings(json.loads(twin[True])))
            for key, value in _strings(json.loads(twin[False])):
                corpus.add_pair(english.get(key, ""), value)


def _read_compiler_messages(corpus: Corpus, files: Mapping[str, bytes]) -> None:
    """TypeScript's diagnostics: the key is the English message with underscores and a number at its end."""
    for name, content in files.items():
        if name.endswith("zh-cn/diagnosticMessages.generated.json"):
            for key, value in json.loads(content).items():
                words = re.sub(r"_\d+$|(?<=_)\d+(?=_)", "", key).replace("_", " ")
                corpus.add_pair(words.lower(), re.sub(r"[“”\"']?\{\d\}[“”\"']?", "", value))


def _read_editor_messages(corpus: Corpus, files: Mapping[str, bytes]) -> None:
    """Monaco: an array of Chinese messages; the English ones stand in the code next to their number."""
    chinese = next((c for n, c in files.items() if n.endswith("min/vs/nls.messages.zh-cn.js")), b"").decode()
    code = next((c for n, c in files.items() if n.endswith("min/vs/editor/editor.main.js")), b"").decode()
    array = re.search(r"=(\[.*\])", chinese, re.S)
    if not array:
        return
    messages = [one[1:-1] for one in _JS_STRING.findall(array[1])]
    for number, text in re.findall(r'\((\d{1,4}),"((?:[^"\\]|\\.){3,300})"', code):
        if int(number) < len(messages):
            corpus.add_pair(text, messages[int(number)])


def _read_python(corpus: Corpus, source: str) -> None:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            for part in paragraphs(ast.get_docstring(node) or ""):
                corpus.add_prose(part)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            corpus.names[node.name] += 1
        elif isinstance(node, ast.arg):
            corpus.names[node.arg] += 1
        elif isinstance(node, ast.Attribute):
            corpus.names[node.attr] += 1
    for comment in re.findall(r"#\s*(.*[\u4e00-\u9fff].*)", source):
        corpus.add_prose(comment)


def _read_script(corpus: Corpus, source: str) -> None:
    for block, line in _JS_COMMENT.findall(source):
        text = re.sub(r"^\s*\*+ ?", "", block or line, flags=re.M)
        if HAN.search(text):
            for part in paragraphs(text):
                corpus.add_prose(part)
    corpus.names.update(set(_NAME.findall(_JS_COMMENT.sub(" ", source))))


def _contents(archive: Path) -> dict[str, bytes]:
    wanted = re.compile(r"\.(py|md|rst|mo|json|d\.ts|ts|js|vue)$|METADATA$")
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {i.filename: wheel.read(i) for i in wheel.infolist() if wanted.search(i.filename)}
    with tarfile.open(archive) as package:
        out: dict[str, bytes] = {}
        for member in package:
            opened = package.extractfile(member) if wanted.search(member.name) and member.isfile() else None
            if opened:
                out[member.name] = opened.read()
        return out


def _read_file(corpus: Corpus, name: str, content: bytes) -> None:
    if _CATALOGUE.search(name):
        _read_catalogue(corpus, content)
        return
    if len(content) > _LARGEST_FILE or re.search(r"(^|/)tests?/|\.min\.|/umd/|/dist/.*\.js$|/vs/", name):
        return
    text = content.decode("utf-8", "ignore")
    if name.endswith(".py"):
        _read_python(corpus, text)
    elif name.endswith((".md", ".rst", "METADATA")):
        for part in paragraphs(text):
            corpus.add_prose(part)
    elif name.endswith((".ts", ".js", ".vue")):
        _read_script(corpus, text)


def declared_licence(files: Mapping[str, bytes]) -> str:
    """What the package's own metadata says, e.g. "MIT"; empty if it says nothing."""
    for name, content in files.items():
        if name.endswith(".dist-info/METADATA"):
            head = content.decode("utf-8", "ignore").partition("\n\n")[0]
            return "; ".join(
                re.findall(r"^(?:License-Expression|Classifier: License ::|License)[: ]*(.*)$", head, re.M)
            )
        if name == "package/package.json":
            return str(json.loads(content).get("license", ""))
    return ""


def read_packages(scratch: Path) -> Corpus:
    """Read every archive below scratch/pypi and scratch/npm. Files that do not parse are passed over.

    SystemExit if a package's metadata states no permissive licence.
    """
    corpus = Corpus()
    for archive in sorted([*scratch.glob("pypi/*.whl"), *scratch.glob("npm/*.tgz")]):
        before, files = corpus.size(), _contents(archive)
        if not _PERMISSIVE.search(declared_licence(files)):
            raise SystemExit(f"{archive.name} states {declared_licence(files) or 'no licence'}: not permissive")
        for reader in (_read_twins, _read_compiler_messages, _read_editor_messages):
            try:
                reader(corpus, files)
            except (ValueError, KeyError) as problem:
                print(f"  {archive.name}: {reader.__name__} {problem}")
        for name, content in files.items():
            try:
                _read_file(corpus, name, content)
            except (SyntaxError, ValueError, OSError, RecursionError):
                continue
        corpus.packages[archive.name] = corpus.size() - before
    return corpus
