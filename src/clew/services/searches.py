"""Searches of one question, from the cache where nothing that they depend on has changed since."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, cast

from clew._version import __version__
from clew.adapters.embedding import TABLE_FILES
from clew.adapters.git import Git, NoRepository
from clew.core.context import assemble
from clew.core.context.cachekey import Asking, KeyParts, cache_key
from clew.core.index.kinds import Kind
from clew.core.index.passages import Passage
from clew.core.index.query import concepts
from clew.core.text.terms import query_terms
from clew.services.code_index import VARIANT, Freshened
from clew.services.relevance import Finder, Related, RelatedFile, load_ranking
from clew.services.words import load_glossary
from clew.stores import index
from clew.stores.cache import SearchCache
from clew.stores.index_reading import FileRow

Outcome = Literal["hit", "miss", "off"]
"""`off`: no cache was asked, because none was wanted or a file changed a moment ago."""
NO_MEMORY = "none"
"""State of the notes as long as none enter a context."""

_MOST_TERMS = 400
"""Terms of one text that are looked up at once."""
_FUSION = 10
"""Places in two searches count as 1 / (this + place)."""
_OWN_WORDS = 1.2
"""How much more a place counts in the search of the question's own words."""
NO_CHUNK = -1
"""Ids of an index are not kept: another index of the same files has others."""


@dataclass(slots=True)
class Searches:
    """Finds what bears on a question, or remembers having found it. Texts of files are never kept.

    Call `settle` when the mode is decided: only then is anything written.
    """

    freshened: Freshened
    asking: Asking
    git: Git | NoRepository
    path: Path | None
    """Where the cache lies; None works without."""
    read: Callable[[str], tuple[str, ...]]
    """The lines of a file now."""
    outcome: Outcome = "off"
    _finder: Finder | None = None
    _rows: dict[str, FileRow] | None = None
    _cache: SearchCache | None = None
    _parts: KeyParts | None = None
    """Those that all searches of the question share."""
    _found: dict[str, Related] = field(default_factory=dict[str, Related])

    def __post_init__(self) -> None:
        # A young file may change again under the same stamp: what is found in it now must not be kept.
        if self.path is not None and not self.freshened.index.unsettled():
            self._cache = SearchCache(self.path)
            self._parts = _parts(self.freshened, self.asking, self.git)

    def find(self, asked: str, earlier: str = "") -> Related:
        """The files and passages for a text, with what it follows up on of earlier exchanges."""
        searched = f"{asked}\n{earlier}" if earlier else asked
        if self._cache is None or self._parts is None:
            return self._search(searched)
        key = cache_key(replace(self._parts, searched=searched, exchanges=earlier))
        kept = self._cache.get(key)
        related = _restored(searched, kept) if kept is not None else None
        if self.outcome != "miss":
            self.outcome = "hit" if related is not None else "miss"
        if related is None:
            related = self._found[key] = self._search(searched)
        return related

    def stands(self, text: str) -> bool:
        """Whether any word of a text stands in an indexed file, as written or in English."""
        wanted = concepts(query_terms(text), load_glossary())
        words = list({term for concept in wanted for term, _ in concept.alternatives})[:_MOST_TERMS]
        return bool(words) and bool(self.freshened.index.frequencies(words))

    def find_both(self, asked: str, earlier: str) -> Related:
        """Alone and with what it follows up on: what both find goes first, and the question's own words weigh more."""
        return fused(self.find(asked), self.find(asked, earlier))

    def rows(self) -> dict[str, FileRow]:
        """The indexed files by path."""
        if self._rows is None:
            files = self._finder.files if self._finder is not None else self.freshened.index.files()
            self._rows = {row.path: row for row in files.values()}
        return self._rows

    def settle(self, mode: str) -> None:
        """Keep what was found in this mode, and drop what other modes kept."""
        if self._cache is None:
            return
        if not self._found:
            self._cache.drop_mode(mode)
        for key, related in self._found.items():
            self._cache.keep(key, mode, _kept(related))

    def _search(self, searched: str) -> Related:
        if self._finder is None:
            finder = self._finder = Finder(self.freshened.index, load_ranking(), load_glossary())
            read, files = self.read, finder.files
            finder.text = lambda passage: "\n".join(read(files[passage.file].path)[passage.first - 1 : passage.last])
        return self._finder.find(searched)


def fused(own: Related, joined: Related) -> Related:
    """The files and passages of two searches in one order, by their places in both. All else is that of `own`.

    Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009), where a place counts more in the search of the
    question's own words.
    """
    places = {file.path: place for place, file in enumerate(joined.files)}
    files = {file.path: file for file in (*joined.files, *own.files)}
    own_places = {file.path: place for place, file in enumerate(own.files)}
    ordered = sorted(files, key=lambda path: (-_worth(own_places.get(path), places.get(path)), path))
    place_of = {path: place for place, path in enumerate(ordered)}
    spans = [
        {(related.files[one.file].path, one.first): (place, one) for place, one in enumerate(related.passages)}
        for related in (own, joined)
    ]
    worth = {
        span: _worth(*(found[span][0] if span in found else None for found in spans))
        for span in {**spans[1], **spans[0]}
    }
    passages = [
        Passage(one.chunk, place_of[path], one.first, one.last, one.symbol, worth[path, first])
        for path, first in sorted(worth, key=lambda span: (-worth[span], span))
        for _, one in [spans[0].get((path, first)) or spans[1][path, first]]
    ]
    return replace(
        own,
        query=joined.query,
        files=tuple(replace(files[path], score=_worth(own_places.get(path), places.get(path))) for path in ordered),
        passages=tuple(passages),
        probability=max(own.probability, joined.probability),
        commits=tuple(dict.fromkeys((*own.commits, *joined.commits))),
    )


def _worth(own: int | None, joined: int | None) -> float:
    return sum(weight / (_FUSION + place) for place, weight in ((own, _OWN_WORDS), (joined, 1.0)) if place is not None)


def _parts(freshened: Freshened, asking: Asking, git: Git | NoRepository) -> KeyParts:
    words = _words()
    return KeyParts(
        asking=asking,
        branch=freshened.branch,
        head=freshened.index.head(),
        git_index=(git.index_digest() or "") if isinstance(git, Git) else "",
        files=freshened.refreshed.digest,
        memory=NO_MEMORY,
        assembler=assemble.VERSION,
        ranking=words["ranking.json"],
        embedding=words.get("static/table.json", ""),
        words={name: digest for name, digest in words.items() if name.endswith(".tsv")},
        index=f"{index.FORMAT}:{VARIANT}",
        program=__version__,
    )


@cache
def _words() -> dict[str, str]:
    """Digests of the shipped files that searches depend on; `table.json` holds the digest of its vectors."""
    folder = resources.files("clew").joinpath("data")
    names = ("ranking.json", "glossary.tsv", "thesaurus.tsv", "background.tsv", "static/table.json")
    # A search can do without the table, and is another one then.
    whole = all(folder.joinpath("static", name).is_file() for name in ("table.json", *TABLE_FILES))
    return {
        name: hashlib.blake2b(folder.joinpath(*name.split("/")).read_bytes(), digest_size=16).hexdigest()
        for name in (names if whole else names[:-1])
    }


def _kept(related: Related) -> dict[str, object]:
    """Plain values of what was found: places and numbers, no text of any file."""
    return {
        "files": [[f.path, f.score, f.kind.value, f.lines, f.size, f.stamp] for f in related.files],
        "passages": [[p.file, p.first, p.last, p.symbol, p.score] for p in related.passages],
        "probability": related.probability,
        "symbols": related.symbols,
        "paths": related.paths,
        "unknown": related.unknown,
        "commits": related.commits,
    }


def _restored(searched: str, kept: object) -> Related | None:
    """What `_kept` was made of; None where the value has another form."""
    try:
        found = cast("dict[str, Any]", kept)
        return Related(
            query=query_terms(searched),
            files=tuple(
                RelatedFile(path, score, Kind(kind), *rest) for path, score, kind, *rest in found["files"]
            ),
            passages=tuple(Passage(NO_CHUNK, *row) for row in found["passages"]),
            probability=found["probability"],
            symbols=tuple(found["symbols"]),
            paths=tuple(found["paths"]),
            unknown=tuple(found["unknown"]),
            commits=tuple((sha, subject) for sha, subject in found["commits"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError):
        return None
