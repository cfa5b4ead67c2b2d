"""Keeps a shelf of prepared notes and the vectors of their texts: derived, disposable, opened as a memory map.

`shelf` is one file of arrays with a JSON head, replaced as a whole. `e5.vectors` grows: one record a text, its digest
and a raw float16 vector, so that a text is embedded once however often notes are prepared again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from clew.core.memory.shelf import Floats, Postings, Shelf, Vectors
from clew.core.memory.spoken import Spoken
from clew.errors import StoreError
from clew.system import open_file, wait_for_lock

FORMAT: Final = 4
"""Number of both files' format; what has another one is not read."""
SHELF: Final = "shelf"
VECTORS: Final = "e5.vectors"
"""Names of the two files in their folder."""
DRAFT: Final = ".shelf-"
"""What the name of a file begins with that is about to take the place of another one in that folder."""
_ABANDONED: Final = 3_600.0
"""Seconds after which nobody is writing a draft any more: a deadline or a crash ended who did."""
_MAGIC: Final = b"clewshelf"
_ALIGN: Final = 64
_DIGEST: Final = 16


class Strings(Sequence[str]):
    """Texts inside of a map, decoded when they are asked for."""

    def __init__(self, blob: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        """Text i is `blob[ends[i-1]:ends[i]]` in UTF-8."""
        self._blob, self._ends = blob, ends

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        at = range(len(self._ends))[at]
        start = int(self._ends[at - 1]) if at else 0
        return self._blob[start : int(self._ends[at])].tobytes().decode("utf-8", "replace")

    def __len__(self) -> int:
        return len(self._ends)


_TEXTS: Final = ("ids", "names", "descriptions", "workspaces", "digests")
_PARTS: Final = ("text", "phrases", "spoken")


def save_shelf(path: Path, shelf: Shelf, digests: Sequence[str] = ()) -> None:
    """Write a shelf; readers see the old file or the new one. `digests` name what each note was made from.

    Raises StoreError.
    """
    arrays: dict[str, NDArray[Any]] = {}
    for name in _TEXTS:
        texts = digests if name == "digests" else getattr(shelf, name)
        coded = [text.encode("utf-8", "replace") for text in texts]
        arrays[f"{name}.blob"] = np.frombuffer(b"".join(coded), np.uint8)
        arrays[f"{name}.ends"] = np.cumsum([len(one) for one in coded], dtype=np.int64)
    for one in fields(Shelf):
        if one.name not in (*_TEXTS, *_PARTS, "engines"):
            arrays[one.name] = getattr(shelf, one.name)
    parts = ((name, getattr(shelf, name)) for name in _PARTS)
    for name, part in (*parts, *shelf.engines.items()):
        for one in fields(part):
            arrays[f"{name}.{one.name}"] = getattr(part, one.name)
    table, offset = dict[str, Any](), 0
    for name, array in arrays.items():
        offset = -(-offset // _ALIGN) * _ALIGN
        table[name] = [array.dtype.str, list(array.shape), offset]
        offset += array.nbytes
    head = json.dumps({"format": FORMAT, "engines": list(shelf.engines), "arrays": table}).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path.parent)
        handle, made = tempfile.mkstemp(dir=path.parent, prefix=DRAFT)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(_MAGIC + len(head).to_bytes(8, "little") + head)
                base = _base(len(head))
                for name, array in arrays.items():
                    out.seek(base + table[name][2])
                    out.write(np.ascontiguousarray(array).tobytes())
                out.truncate(max(out.tell(), base + offset))
            os.replace(made, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(made)
            raise
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error}", hint="the folder of the cache must be writable") from error


def load_shelf(path: Path) -> tuple[Shelf, Sequence[str]] | None:
    """The shelf and the digests of its notes; None where there is none, or none that can be read."""
    try:
        with path.open("rb") as file:
            raw = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
        start = len(_MAGIC) + 8
        if raw[: len(_MAGIC)].tobytes() != _MAGIC:
            return None
        size = int.from_bytes(raw[len(_MAGIC) : start].tobytes(), "little")
        head = json.loads(raw[start : start + size].tobytes())
        if head["format"] != FORMAT:
            return None
        arrays = {name: _array(raw, _base(size), *described) for name, described in head["arrays"].items()}
        texts = {name: Strings(arrays[f"{name}.blob"], arrays[f"{name}.ends"]) for name in _TEXTS}
        digests = texts.pop("digests")
        plain = {one.name: arrays[one.name] for one in fields(Shelf) if one.name in arrays}
        shelf = Shelf(
            **texts,  # pyright: ignore[reportArgumentType] -- of the same names
            **plain,
            text=_part(Postings, "text", arrays),
            phrases=_part(Postings, "phrases", arrays),
            spoken=_part(Spoken, "spoken", arrays),
            engines={name: _part(Vectors, name, arrays) for name in head["engines"]},
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return shelf, digests


def _sweep(folder: Path) -> None:
    for draft in folder.glob(f"{DRAFT}*"):
        with contextlib.suppress(OSError):
            if draft.stat().st_mtime < time.time() - _ABANDONED:
                draft.unlink()


def _base(head: int) -> int:
    return -(-(len(_MAGIC) + 8 + head) // _ALIGN) * _ALIGN


def _array(raw: NDArray[np.uint8], base: int, dtype: str, shape: list[int], offset: int) -> NDArray[Any]:
    kind = np.dtype(dtype)
    start = base + offset
    stop = start + kind.itemsize * int(np.prod(shape))
    if kind.hasobject or stop > len(raw):
        raise ValueError("the file ends too early")
    return raw[start:stop].view(kind).reshape(shape)


def _part(kind: Any, name: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
    return kind(**{one.name: arrays[f"{name}.{one.name}"] for one in fields(kind)})


def text_digest(text: str, side: str) -> bytes:
    """The name of a text's vector."""
    return hashlib.blake2b(f"{side}\0{text}".encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


@dataclass(frozen=True, slots=True)
class VectorFile:
    """Vectors of texts by digest: records of 16 bytes of digest and `dimensions` float16, appended, never changed.

    A record cut short by a crash is overwritten by the next append. Two processes may append at the same time: each
    holds the lock of the file while it writes.
    """

    path: Path
    dimensions: int

    @property
    def _kind(self) -> np.dtype[Any]:
        return np.dtype([("digest", f"V{_DIGEST}"), ("vector", np.float16, (self.dimensions,))])

    def read(self, digests: Sequence[bytes]) -> tuple[Floats, NDArray[np.bool_]]:
        """The vectors (len(digests), dimensions) and which of them are known; unknown ones are zeros."""
        rows = np.zeros((len(digests), self.dimensions), np.float32)
        records = self._records()
        places = self._places(digests, records)
        known = places >= 0
        if records is not None and known.any():
            rows[known] = records["vector"][places[known]]
        return rows, known

    def known(self, digests: Sequence[bytes]) -> NDArray[np.bool_]:
        """Which vectors there are."""
        return self._places(digests, self._records()) >= 0

    def _places(self, digests: Sequence[bytes], records: NDArray[Any] | None) -> NDArray[np.int64]:
        """The record of each digest, or -1."""
        if records is None or not len(digests):
            return np.full(len(digests), -1, np.int64)
        held = records["digest"].tobytes()
        place = {held[at : at + _DIGEST]: at // _DIGEST for at in range(0, len(held), _DIGEST)}
        return np.array([place.get(digest, -1) for digest in digests], np.int64)

    def append(self, digests: Sequence[bytes], rows: Floats) -> None:
        """Keep vectors. Raises StoreError."""
        made = np.zeros(len(digests), self._kind)
        made["digest"] = np.frombuffer(b"".join(digests), f"V{_DIGEST}")
        made["vector"] = rows
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._locked() as file:
                size = os.fstat(file).st_size
                os.lseek(file, size - size % self._kind.itemsize, os.SEEK_SET)
                data = memoryview(made.tobytes())
                while data:
                    data = data[os.write(file, data) :]
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error}", hint="the cache must be writable") from error

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        file = open_file(self.path, "make")
        try:
            wait_for_lock(file)
            yield file
        finally:
            os.close(file)

    def _records(self) -> NDArray[Any] | None:
        try:
            count = self.path.stat().st_size // self._kind.itemsize
            return np.memmap(self.path, self._kind, "r", shape=(count,)) if count else None
        except (OSError, ValueError):
            return None
