"""Choose the rows of the table: lower-case pieces of the teacher plus whole words that developers use."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import jieba
import numpy as np
import opencc
from e5 import Weights

from clew.adapters.embedding import WORD_START, Segmenter

_LATIN_PIECE = re.compile("▁?[a-z\u00df-\u024f]+|▁[0-9]{1,4}|[0-9]{1,4}|▁[a-z]+[0-9]+")
_HAN_PIECE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]{1,6}")
_HAN_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")
_WHOLE = re.compile("[a-z][a-z0-9]{1,20}")


def simplified_map() -> dict[int, int]:
    """Traditional to simplified, one character to one (the character table of OpenCC, Apache-2.0)."""
    table = Path(opencc.__file__).parent / "dictionary" / "TSCharacters.txt"
    out: dict[int, int] = {}
    for line in table.read_text(encoding="utf-8").splitlines():
        source, _, targets = line.partition("\t")
        target = targets.split(" ")[0]
        if len(source) == 1 and len(target) == 1 and source != target:
            out[ord(source)] = ord(target)
    return out


def teacher_pieces(weights: Weights, simplified: dict[int, int]) -> dict[str, float]:
    """Pieces of the teacher that lower-cased, simplified text can contain, with their log probability."""
    out: dict[str, float] = {}
    for piece, score in zip(weights.pieces[4:], weights.scores[4:].tolist(), strict=True):
        bare = piece.removeprefix(WORD_START)
        if _HAN_PIECE.fullmatch(bare):
            bare = bare.translate(simplified)
            out[bare] = max(out.get(bare, -99.0), score)
        elif _LATIN_PIECE.fullmatch(piece):
            out[piece] = max(out.get(piece, -99.0), score)
    return out


def count_words(texts: Iterable[str], names: Counter[str], splitter: Segmenter) -> tuple[Counter[str], Counter[str]]:
    """How often words stand in texts, English and Chinese; a name of code counts as a tenth of a text."""
    english: Counter[str] = Counter()
    chinese: Counter[str] = Counter()
    for text in texts:
        words = splitter.words(text)
        english.update({w for w in words if w.isascii()})
        for word in words:
            if not word.isascii() and _HAN_RUN.fullmatch(word):
                chinese.update(jieba.lcut(word))
    from_names: Counter[str] = Counter()
    for name in names:
        from_names.update(set(splitter.words(name.replace("_", " "))))
    for word, count in from_names.items():
        english[word] += -(-count // 10)
    return english, chinese


def general_chinese(limit: int) -> list[tuple[str, int]]:
    """The most frequent two- and three-character words of jieba's dictionary (MIT)."""
    table = Path(jieba.__file__).parent / "dict.txt"
    rows = (line.split(" ") for line in table.read_text(encoding="utf-8").splitlines())
    words = [(r[0], int(r[1])) for r in rows if 2 <= len(r[0]) <= 3 and _HAN_PIECE.fullmatch(r[0]) and r[2][:2] != "nr"]
    return sorted(words, key=lambda one: -one[1])[:limit]


def choose(
    weights: Weights,
    english: Counter[str],
    chinese: Counter[str],
    simplified: dict[int, int],
    limits: tuple[int, int, int],
) -> tuple[list[str], np.ndarray]:
    """Pieces and scores. `limits`: new English words, new Chinese words, the teacher's pieces beyond those seen."""
    n_english, n_chinese, n_unseen = limits
    base = teacher_pieces(weights, simplified)
    total_en, total_zh = sum(english.values()), sum(chinese.values())
    added: dict[str, float] = {}
    for word, count in english.most_common():
        if count < 4 or len(added) >= n_english:
            break
        if _WHOLE.fullmatch(word) and WORD_START + word not in base:
            added[WORD_START + word] = math.log(count / total_en) - 1.0
    size = len(added)
    for word, count in chinese.most_common():
        if count < 4 or len(added) - size >= n_chinese * 2 // 3:
            break
        if 2 <= len(word) <= 5 and word not in base:
            added[word] = math.log(count / total_zh) - 2.0
    for word, count in general_chinese(60_000):
        if len(added) - size >= n_chinese:
            break
        if word not in base and word not in added:
            added[word] = math.log(count / 5e7) - 2.0
    whole = {WORD_START + w for w in english} | set(chinese)
    ranked = sorted(base, key=lambda p: -base[p])
    kept = {p for p in ranked if p in whole or len(p.removeprefix(WORD_START)) == 1}
    for piece in ranked:
        if n_unseen <= 0:
            break
        if piece not in kept:
            kept.add(piece)
            n_unseen -= 1
    scored = {p: s for p, s in base.items() if p in kept} | added
    pieces = sorted(scored, key=lambda p: -scored[p])
    return pieces, np.array([scored[p] for p in pieces], np.float32)
