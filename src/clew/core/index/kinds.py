"""What kind of file a path names, and in which language it is written. By name only, so that no file is read for it."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache


class Kind(StrEnum):
    """Why a file is there."""

    SOURCE = "source"
    TEST = "test"
    DOC = "doc"
    CONFIG = "config"
    EXAMPLE = "example"
    """Measurements too: they use a program without being it."""
    CHANGELOG = "changelog"
    DATA = "data"
    """Known by its path only; the contents are not indexed."""


LANGUAGES: dict[str, str] = {
    "py": "python", "pyi": "python", "pyx": "python",
    "js": "javascript", "mjs": "javascript", "cjs": "javascript", "jsx": "javascript",
    "ts": "typescript", "mts": "typescript", "cts": "typescript", "tsx": "tsx",
    "go": "go", "rs": "rust", "java": "java", "rb": "ruby", "rake": "ruby",
    "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "cxx": "cpp", "hpp": "cpp", "hh": "cpp",
    "sh": "bash", "bash": "bash", "zsh": "bash",
    "md": "markdown", "mdx": "markdown", "markdown": "markdown", "rst": "rst",
}  # fmt: skip
"""File ending to language. Languages without a grammar are cut into plain blocks."""

_CODE = frozenset(
    "py pyi pyx js mjs cjs jsx ts mts cts tsx go rs java rb rake c h cc cpp cxx hpp hh sh bash zsh fish ps1 bat cmd "
    "kt kts scala swift m mm cs fs vb php pl pm lua r jl ex exs erl hrl clj cljs hs ml mli dart zig nim v sv vhd sql "
    "vue svelte astro html htm css scss sass less jinja j2 tmpl gotmpl tpl proto thrift graphql gql el lisp "
    "scm tf".split()
)
_DOC = frozenset("md mdx markdown rst txt adoc asciidoc org tex texi pod man 1 5 7".split())
_CONFIG = frozenset(
    "toml yaml yml ini cfg conf json json5 jsonc mk cmake gradle properties env editorconfig nix".split()
)
_DATA = frozenset(
    "po pot mo csv tsv lock sum svg xml map snap jsonl ndjson ipynb geojson pem crt cer der key p12 pfx woff woff2 ttf "
    "otf eot png jpg jpeg gif webp ico bmp pdf zip gz bz2 xz zst tar tgz 7z jar war class so dylib dll exe o a pyc "
    "wasm "
    "db sqlite sqlite3 bin dat parquet npy npz pkl pt onnx gguf mp3 mp4 wav ogg mov avi webm deb rpm whl egg log out "
    "diff patch min".split()
)
_CONFIG_NAMES = frozenset(
    "makefile gnumakefile justfile dockerfile containerfile jenkinsfile vagrantfile procfile rakefile gemfile "
    "cmakelists.txt requirements.txt constraints.txt setup.py setup.cfg manifest.in tox.ini noxfile.py "
    "go.mod "
    "cargo.toml package.json pyproject.toml tsconfig.json .gitignore .gitattributes .dockerignore .npmrc .nvmrc "
    ".python-version .tool-versions .buildflags codeowners".split()
)
_LOCK_NAMES = frozenset(
    "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lockb bun.lock cargo.lock poetry.lock uv.lock "
    "pdm.lock composer.lock gemfile.lock go.sum flake.lock pipfile.lock deno.lock mix.lock pubspec.lock podfile.lock "
    "package.resolved packages.lock.json conan.lock gradle.lockfile go.work.sum pixi.lock".split()
)
_TEST_DIRS = frozenset("test tests testing_tests spec specs __tests__ e2e testdata testsuite tests_integration".split())
_DOC_DIRS = frozenset("doc docs documentation website site man".split())
_EXAMPLE_DIRS = frozenset(
    "example examples sample samples demo demos tutorial bench benches benchmark benchmarks".split()
)
_CONFIG_DIRS = frozenset(".github .circleci .gitlab .husky .vscode .devcontainer ci".split())
_TEST_NAME = re.compile(
    r"(^test_|_test\.|\.test\.|\.spec\.|_spec\.|^tests?\.|^conftest\.py$|Tests?\.(java|kt|cs|swift)$)"
)
_CHANGE_NAME = re.compile(r"^(change(s|log)?|history|news|releases?|release[-_]notes)\b", re.I)
_LICENCE_NAME = re.compile(r"^(licen[sc]es?|copying(\.lesser)?|unlicense|copyright|eula|patents)(?=[._-]|$)", re.I)
_LICENCE_DIRS = frozenset("licenses licences".split())
_GENERATED = re.compile(
    r"(\.min\.(m?js|css)$|[.-]bundle\.js$|_pb2(_grpc)?\.pyi?$|\.pb(\.gw|\.validate)?\.(go|cc|h)$|\.pbobjc\.[hm]$"
    r"|[._-]generated\.|^zz_generated|\.gen\.\w+$|\.g(\.dart|\.cs|\.i\.cs)$|\.freezed\.dart$|\.designer\.cs$"
    r"|\.prebuilt$|\.(ambr|storyshot|approved\.\w+)$|\.tab\.[ch]$|^lex\.yy\.c$)"
)
_VENDORED = frozenset(
    "node_modules vendor third_party thirdparty _vendor vendored bower_components .yarn site-packages "
    "__snapshots__ __generated__".split()
)


def is_licence(path: str) -> bool:
    """Whether a path names the text of a licence. Its kind stays that of any such file: the ranking is fitted to it."""
    *folders, name = path.split("/")
    if _LICENCE_NAME.match(name) and suffix(path) not in _CODE:
        return True
    return any(folder.lower() in _LICENCE_DIRS for folder in folders)


def suffix(path: str) -> str:
    """The ending in lower case, without the dot; empty where there is none."""
    name = path.rsplit("/", 1)[-1]
    return name.rsplit(".", 1)[-1].lower() if "." in name[1:] else ""


def language(path: str) -> str:
    """The language of a path, or an empty string."""
    return LANGUAGES.get(suffix(path), "")


@lru_cache(maxsize=65536)
def kind(path: str) -> Kind:
    """The kind of a path. Total: every path has one."""
    *folders, name = path.split("/")
    lower, ending = name.lower(), suffix(path)
    dirs = {folder.lower() for folder in folders}
    if lower in _LOCK_NAMES or _GENERATED.search(lower) or dirs & _VENDORED:
        return Kind.DATA
    if (_CHANGE_NAME.match(name) and ending in _DOC | {""}) or "changelog.d" in dirs or "changelog" in dirs:
        return Kind.CHANGELOG
    if ending in _DATA and ending not in {"1", "5", "7"}:
        return Kind.DATA
    if lower in _CONFIG_NAMES or dirs & _CONFIG_DIRS:
        return Kind.CONFIG
    if dirs & _TEST_DIRS or _TEST_NAME.search(name):
        return Kind.TEST
    if dirs & _EXAMPLE_DIRS:
        return Kind.EXAMPLE
    if ending in _CODE:
        return Kind.DOC if dirs & _DOC_DIRS and ending in {"html", "htm", "css", "js"} else Kind.SOURCE
    if ending in _DOC or dirs & _DOC_DIRS:
        return Kind.DOC
    if ending in _CONFIG or name.startswith("."):
        return Kind.CONFIG
    if not ending:
        return Kind.CONFIG if name.isupper() else Kind.SOURCE
    return Kind.SOURCE
