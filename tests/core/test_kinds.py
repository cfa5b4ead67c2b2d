"""Kinds and languages of files, by name alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.index.kinds import Kind, is_licence, kind, language, suffix

NAMED = [
    ("src/clew/app.py", Kind.SOURCE),
    ("cmd/root.go", Kind.SOURCE),
    ("lib/index.mjs", Kind.SOURCE),
    ("bin/run", Kind.SOURCE),
    ("tests/test_app.py", Kind.TEST),
    ("src/app.test.ts", Kind.TEST),
    ("pkg/root_test.go", Kind.TEST),
    ("src/main/java/AppTests.java", Kind.TEST),
    ("conftest.py", Kind.TEST),
    ("README.md", Kind.DOC),
    ("docs/usage.rst", Kind.DOC),
    ("docs/theme/page.css", Kind.DOC),
    ("man/tool.1", Kind.DOC),
    ("pyproject.toml", Kind.CONFIG),
    (".github/workflows/ci.yml", Kind.CONFIG),
    ("Makefile", Kind.CONFIG),
    ("LICENSE", Kind.CONFIG),
    (".gitignore", Kind.CONFIG),
    ("examples/basic/main.go", Kind.EXAMPLE),
    ("CHANGES.rst", Kind.CHANGELOG),
    ("docs/changelog.md", Kind.CHANGELOG),
    ("changelog.d/12.fix.md", Kind.CHANGELOG),
    ("changes.py", Kind.SOURCE),
    ("package-lock.json", Kind.DATA),
    ("node_modules/left-pad/index.js", Kind.DATA),
    ("vendor/lib/a.go", Kind.DATA),
    ("static/app.min.js", Kind.DATA),
    ("api/v1_pb2.py", Kind.DATA),
    ("jq.1.prebuilt", Kind.DATA),
    ("api/v1.pb.gw.go", Kind.DATA),
    ("apis/zz_generated.deepcopy.go", Kind.DATA),
    ("src/parser.tab.c", Kind.DATA),
    ("ui/__snapshots__/page.test.js.snap", Kind.DATA),
    ("tests/__snapshots__/test_page.ambr", Kind.DATA),
    ("deno.lock", Kind.DATA),
    ("benchmarks/run.py", Kind.EXAMPLE),
    ("bench/hash.c", Kind.EXAMPLE),
    ("logo.png", Kind.DATA),
    ("tests/data/rows.csv", Kind.DATA),
    ("", Kind.SOURCE),
]


@pytest.mark.requirement("P-03")
@pytest.mark.parametrize(("path", "expected"), NAMED, ids=[path or "nothing" for path, _ in NAMED])
def test_a_path_tells_the_kind(path: str, expected: Kind) -> None:
    assert kind(path) is expected


@pytest.mark.requirement("P-03")
@pytest.mark.parametrize(
    ("path", "is_one"),
    [("LICENSE", True), ("LICENSE-MIT.txt", True), ("a/COPYING.LESSER", True), ("licenses/zlib", True),
     ("licence.py", False), ("src/license/check.go", False), ("LICENSED.md", False)],
)  # fmt: skip
def test_a_path_tells_a_licence(path: str, is_one: bool) -> None:
    assert is_licence(path) is is_one


@pytest.mark.parametrize(
    ("path", "ending", "named"),
    [
        ("a/b.PY", "py", "python"),
        ("a/b.tsx", "tsx", "tsx"),
        ("a.d.ts", "ts", "typescript"),
        (".bashrc", "", ""),
        ("a.b/c", "", ""),
        ("notes.md", "md", "markdown"),
        ("main.zig", "zig", ""),
    ],
)
def test_the_ending_tells_the_language(path: str, ending: str, named: str) -> None:
    assert (suffix(path), language(path)) == (ending, named)


@given(st.text(max_size=60))
def test_every_path_has_a_kind(path: str) -> None:
    assert isinstance(kind(path), Kind)


@given(st.text(alphabet="abc./_-AZ1", max_size=40), st.sampled_from(["node_modules", "vendor", "third_party"]))
def test_what_lies_in_a_vendored_folder_is_never_source(path: str, folder: str) -> None:
    assert kind(f"{folder}/{path}") is Kind.DATA
