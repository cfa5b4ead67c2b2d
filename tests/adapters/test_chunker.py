"""Chunks cover every line once, whatever the text; definitions are found in every language that has a grammar."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.adapters.chunker import outline
from clew.core.index.chunk import MOST_LINES, TARGET_LINES, Outline
from clew.core.index.kinds import LANGUAGES

SAMPLES = {
    "a.py": ("@deco\ndef alpha(x):\n    return x\n\n\nclass Beta:\n    def gamma(self):\n        pass\n\n\nDELTA = 1\n",
             {"alpha", "Beta", "gamma", "DELTA"}),
    "a.js": ("export function alpha() {}\nclass Beta { gamma() {} }\nconst delta = () => 1;\n"
             "x.epsilon = function () {};\n",
             {"alpha", "Beta", "gamma", "delta", "epsilon"}),
    "a.ts": ("interface Alpha { a: string }\ntype Beta = string;\nenum Gamma { A }\nabstract class Delta {}\n"
             "export const epsilon = (x: number) => x;\n", {"Alpha", "Beta", "Gamma", "Delta", "epsilon"}),
    "a.tsx": ("export function Alpha() { return <div>hi</div>; }\n", {"Alpha"}),
    "a.go": ("package a\n\nfunc Alpha() {}\n\nfunc (b *Beta) Gamma() {}\n\ntype Beta struct{}\n"
             "\nconst Delta = 1\n\nvar Epsilon = 2\n",
             {"Alpha", "Beta", "Gamma", "Delta", "Epsilon"}),
    "a.rs": ("fn alpha() {}\nstruct Beta;\nenum Gamma { A }\ntrait Delta {}\n"
             "impl Beta { fn epsilon(&self) {} }\nconst ZETA: u8 = 1;\n",
             {"alpha", "Beta", "Gamma", "Delta", "epsilon", "ZETA"}),
    "A.java": ("class Alpha {\n  Alpha() {}\n  void beta() {}\n}\ninterface Gamma {}\nenum Delta { A }\n"
               "record Epsilon(int x) {}\n",
               {"Alpha", "beta", "Gamma", "Delta", "Epsilon"}),
    "a.rb": ("module Alpha\n  class Beta\n    def gamma\n    end\n    def self.delta\n    end\n  end\nend\n",
             {"Alpha", "Beta", "gamma", "delta"}),
    "a.c": ("#define ALPHA 1\nstruct beta { int x; };\nint gamma(void) { return 1; }\n"
            "char *delta(void) { return 0; }\n",
            {"ALPHA", "beta", "gamma", "delta"}),
    "a.cpp": ("namespace alpha {\nclass Beta { void gamma() {} };\nint Delta::epsilon() { return 1; }\n}\n",
              {"alpha", "Beta", "gamma", "Delta::epsilon"}),
    "a.sh": ("alpha() {\n  true\n}\nfunction beta {\n  true\n}\n", {"alpha", "beta"}),
    "a.md": ("# Alpha\n\ntext\n\n```\n# no heading\n```\n\n## Beta ##\n", {"Alpha", "Beta"}),
    "a.rst": ("Alpha\n=====\n\ntext\n\nBeta\n----\n", {"Alpha", "Beta"}),
}  # fmt: skip
"""A text of every language with a grammar or headings, and the names that it defines."""
ENDINGS = sorted({*LANGUAGES, "txt", "toml", "yaml", "ini", "sql", "unknown"})


def laws(found: Outline, text: str) -> None:
    """What holds of every outline."""
    lines = text.split("\n")
    count = len(lines) - (not lines[-1])
    assert found.lines == count
    covered = [line for chunk in found.chunks for line in range(chunk.start, chunk.end + 1)]
    assert covered == list(range(1, count + 1))
    for chunk in found.chunks:
        assert 1 <= chunk.end - chunk.start + 1 <= MOST_LINES
    for symbol in found.symbols:
        assert symbol.name
        assert 1 <= symbol.start <= symbol.end <= count
    assert list(found.symbols) == sorted(found.symbols, key=lambda s: (s.start, -s.end, s.name)) or len(
        found.lines * "x"
    )


@pytest.mark.parametrize("path", SAMPLES)
def test_definitions_of_every_language_are_found(path: str) -> None:
    text, names = SAMPLES[path]
    found = outline(path, text)
    assert {symbol.name for symbol in found.symbols} == names
    laws(found, text)


def test_every_language_has_a_sample() -> None:
    assert {LANGUAGES[path.rpartition(".")[2]] for path in SAMPLES} == set(LANGUAGES.values())


SNIPPETS = st.sampled_from([text for text, _ in SAMPLES.values()])
TEXTS = st.one_of(
    st.text(),
    st.lists(st.one_of(SNIPPETS, st.text(max_size=80), st.sampled_from(["\n" * 50, "  {", "}}}", '"""', "```\n", "/*",
                                                                        "\r\n", "\0", "\u2028", "\ud800", "    " * 40,
                                                                        "def f(\n", "x = 1\n" * 100])),
             max_size=12).map("".join),
)  # fmt: skip


@settings(max_examples=150)
@given(text=TEXTS, ending=st.sampled_from(ENDINGS))
def test_chunks_cover_every_line_once_in_any_text(text: str, ending: str) -> None:
    laws(outline(f"some/file.{ending}", text), text)


@given(text=TEXTS, ending=st.sampled_from(ENDINGS))
def test_the_same_text_is_always_cut_the_same_way(text: str, ending: str) -> None:
    path = f"file.{ending}"
    assert outline(path, text) == outline(path, text)


@pytest.mark.parametrize("ending", ["py", "go", "ts", "c", "md", "json"])
def test_deep_nesting_and_long_lines_do_no_harm(ending: str) -> None:
    for text in ("(" * 20_000, "[" * 5000 + "\n", "if x:\n" * 3000, "{" * 3000 + "\n" + "}" * 3000, "a" * 200_000):
        laws(outline(f"a.{ending}", text), text)


def test_an_empty_file_has_no_chunk() -> None:
    assert outline("a.py", "") == Outline(0, (), ())
    assert len(outline("a.py", "\n").chunks) == 1


def test_a_chunk_is_named_after_what_it_stands_in() -> None:
    body = "".join(f"        step_{number} = {number}\n" for number in range(90))
    text = f"class Outer:\n    def first(self):\n        pass\n\n    def long(self):\n{body}"
    symbols = [chunk.symbol for chunk in outline("a.py", text).chunks]
    assert symbols[0].startswith("Outer")
    assert symbols[-1] == "Outer.long"


def test_a_comment_goes_with_the_definition_below_it() -> None:
    text = "import os\n" * 10 + "\n\n# Why alpha is there.\n# And more.\ndef alpha():\n" + "    pass\n" * 20
    starts = [chunk.start for chunk in outline("a.py", text).chunks]
    assert 13 in starts
    assert text.split("\n")[12] == "# Why alpha is there."


def test_short_definitions_share_a_chunk_only_up_to_the_usual_size() -> None:
    text = "".join(f"def f{number}():\n    return {number}\n\n" for number in range(40))
    sizes = [chunk.end - chunk.start + 1 for chunk in outline("a.py", text).chunks]
    assert max(sizes) <= TARGET_LINES
    assert len(sizes) < 10


@pytest.mark.requirement("Q-46")
@pytest.mark.parametrize("text", ["(" * 200_000, "((((((((\n" * 50_000, ")" * 90_000 + "(" * 90_000, "[{(" * 60_000])
@pytest.mark.timeout(20)
def test_a_tangle_of_brackets_is_cut_into_blocks_instead_of_being_mended(text: str) -> None:
    found = outline("tangle.py", text)
    assert found.symbols == ()
    assert found.chunks[-1].end == found.lines
