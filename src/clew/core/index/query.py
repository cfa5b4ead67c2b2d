"""A question as a list of concepts: each one thing that is asked about, with all the terms that may stand for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clew.core.text.glossary import Glossary
from clew.core.text.terms import Query, content_runs, terms
from clew.core.text.thesaurus import Meaning

MOST_CONCEPTS = 40
"""Concepts of one question; of a longer one (a pasted log) the rarest are kept."""
ROLES = ("word", "name", "phrase", "compound", "han", "glossary")
"""What a concept came from."""


@dataclass(frozen=True, slots=True)
class Concept:
    """One thing that is asked about."""

    source: str
    """The words of the question that it came from."""
    role: str
    """One of ROLES."""
    alternatives: tuple[tuple[str, float], ...]
    """Index terms that may stand for it, each with a factor of 0 to 1."""
    weight: float = 1.0


MEANING = 0.7
"""How much a word of the thesaurus says, relative to the word of the question itself."""


def concepts(query: Query, glossary: Glossary, meanings: Sequence[Meaning] = ()) -> tuple[Concept, ...]:
    """The concepts of a question. `meanings` come from the thesaurus: what its words may be called in code."""
    found: list[Concept] = []
    names = {term for name in (*query.identifiers, *query.paths) for term in terms(name)}
    single = {meaning.stems[0]: meaning for meaning in meanings if len(meaning.stems) == 1}
    for word in query.words:
        if any(ord(char) > 0x2E7F for char in word[:1]):
            continue
        role = "name" if word in names else "word"
        others = single[word].terms if word in single and role == "word" else ()
        found.append(Concept(word, role, ((word, 1.0), *((term, factor * MEANING) for term, factor in others))))
    for meaning in meanings:
        if len(meaning.stems) > 1 or (meaning.stems and meaning.stems[0] not in query.words):
            found.append(Concept(meaning.source, "phrase", meaning.terms, MEANING))
    known = set(query.words)
    for compound in query.compounds:
        if compound not in known:
            known.add(compound)
            found.append(Concept(compound, "compound", ((compound, 1.0),), 0.6))
    for run in query.han:
        found += _chinese(run, glossary)
    return tuple(found)


def _chinese(run: str, glossary: Glossary) -> list[Concept]:
    """Two concepts a word: as written (for Chinese comments and notes), and in English."""
    found: list[Concept] = []
    merged: dict[str, dict[str, float]] = {}
    for translation in glossary.expand(run):
        alternatives = merged.setdefault(translation.source, {})
        for rank, term in enumerate(translation.english):
            factor = translation.weight * (1.0 if rank == 0 else 0.85 if rank < 3 else 0.6)
            alternatives[term] = max(alternatives.get(term, 0.0), factor)
    for source, alternatives in merged.items():
        found.append(Concept(source, "glossary", tuple(alternatives.items())))
    for piece in content_runs(run):
        pairs = [term for term in terms(piece) if len(term) == 2] or terms(piece)
        found += [Concept(pair, "han", ((pair, 1.0),)) for pair in pairs]
    return found


def mentions(query: Query, paths: Mapping[str, int]) -> dict[str, float]:
    """Paths of the question that exist here: 1.0 for a full path, 0.7 for a file name or the tail of a path."""
    found: dict[str, float] = {}
    for wanted in query.paths:
        tail = wanted.replace("\\", "/").strip("/").removeprefix("./")
        if not tail:
            continue
        for path in paths:
            if path == tail:
                found[path] = 1.0
            elif path.endswith("/" + tail):
                found.setdefault(path, 0.7)
    return found


def intent(query: Query, question: str) -> dict[str, float]:
    """What kinds of file the question speaks of: factors of 0 or 1 for test, config, doc, example, ci."""
    words = set(query.words)
    lower = question.casefold()

    def asks(stems: str, han: str) -> float:
        return float(bool(words & set(stems.split())) or any(word in lower for word in han.split()))

    return {
        "test": asks("test tests pytest fixtur mock unittest spec conftest suit coverag",
                     "测试 单测 用例 夹具 覆盖率"),
        "config": asks("config configur ci workflow pipelin depend lint linter precommit pre_commit build packag "
                       "releas "
                       "docker makefil script yaml toml version job matrix action publish codespac devcontain",
                       "配置 流水线 工作流 依赖 构建 打包 发布 脚本 版本 格式化 检查 部署 镜像"),
        "doc": asks("doc document readm guid tutori changelog page", "文档 教程 说明书 指南 更新日志"),
        "example": asks("exampl sampl demo tutori", "示例 例子 样例 演示 教程"),
    }  # fmt: skip
