"""Looks through every byte of Clew's folders for traces, and takes them out of files and databases.

What is derived goes as a whole. A database is rewritten row by row and then written anew, so that nothing stays in
free pages or in its log. Any other file is replaced in one step, and what it held is overwritten where the file system
writes in place. A damaged database, or another file of bytes, is overwritten at the same length.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from clew.core.memory.derived import derived_parts
from clew.core.text.terms import terms
from clew.core.text.traces import Traces
from clew.errors import ClewError, Conflict, StoreBusy, StoreError
from clew.stores.audit import blot, rewrite
from clew.stores.durable import LOCK, TEMPORARY, put, translated
from clew.stores.exchanges import vacuum
from clew.stores.sqlite_file import remove
from clew.system import open_file, set_mode, try_lock

SIDES: Final = ("-wal", "-shm", "-journal")
"""What SQLite puts beside a file."""
_MAGIC: Final = b"SQLite format 3\0"
_HALVES: Final = re.compile(
    r"\.clew-write\.tmp|(?:pending|rewritten)\.new|redaction\.key\.[0-9a-f]{8}|history\.db\.format-\d+\.new|.+\.jsonl\.new"
)
"""Names of files that a death left half written."""
_SWAP: Final = re.compile(r"\..+\.sw[a-p]|\.#.+|#.+#")
_LOCKS: Final = frozenset({LOCK, "lock", "purge.lock"})
_MOST_LINES: Final = 12
"""Lines that are named for one file."""
_PIECE: Final = 1 << 20
Text = Callable[[bytes, str, str], bytes]
"""From the bytes of a file, its kind and its place to those that it shall have."""


@dataclass(frozen=True, slots=True)
class Found:
    """A place with traces, or what became of it."""

    path: str
    kind: str
    """`document`, `history`, `audit`, `hints`, `index`, `cache`, `lock`, `temporary`, `swap`, `file`, `link`, `name`,
    `git`."""
    count: int = 0
    """Traces; of a database, rows and places in its bytes together."""
    lines: tuple[int, ...] = ()
    """The first lines of a text that hold one, from 1."""
    action: str = ""
    """`replaced`, `deleted` or `overwritten`; empty where nothing was done."""
    reason: str = ""
    """Why it is still there, or cannot be looked at."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where Clew keeps what, for this user."""

    roots: tuple[Path, ...]
    """All folders, none below another."""
    memory: Path
    derived: tuple[Path, ...]
    """Folders of what can be made again."""

    def kind(self, path: Path) -> str:
        """What a file is, by where it lies."""
        if any(path.is_relative_to(folder) for folder in self.derived):
            return "index"
        if path.name in _LOCKS:
            return "lock"
        if _SWAP.fullmatch(path.name):
            return "swap"
        if _HALVES.fullmatch(path.name):
            return "temporary"
        if path.name.startswith("history.db"):
            return "history"
        if path.name.startswith("hints.db"):
            return "hints"
        if path.is_relative_to(self.memory):
            return "git" if path.is_relative_to(self.memory / ".git") else "document"
        return "audit" if path.parent.name == "audit" and path.suffix == ".jsonl" else "file"

    def place(self, path: Path) -> str:
        """The path of a document below the memory root; the name of any other file."""
        return path.relative_to(self.memory).as_posix() if path.is_relative_to(self.memory) else path.name


def files(layout: Layout) -> Iterator[Path]:
    """All regular files below the folders, by name; links are not followed. The objects of git are left out."""
    for root in layout.roots:
        for folder, folders, names in os.walk(root):
            folders.sort()
            if Path(folder) == layout.memory / ".git":
                folders.remove("objects") if "objects" in folders else None
            for name in sorted(names):
                path = Path(folder) / name
                with contextlib.suppress(OSError):
                    if stat.S_ISREG(os.lstat(path).st_mode):
                        yield path


def search(layout: Layout, traces: Traces, *, told: Callable[[Path], None] = lambda _: None) -> Iterator[Found]:
    """Every file, folder and link with traces, in its bytes, its rows or its name; what cannot be read has a reason."""
    for path in files(layout):
        told(path)
        kind = layout.kind(path)
        try:
            if _is_side(path):
                kind = layout.kind(_owner(path))
            count, lines = _in_bytes(path, traces, kind, layout.place(path))
            if not count and is_database(path):
                count = _in_rows(path, traces, kind)
        except FileNotFoundError:
            continue  # it went while this ran, as the log of a database does
        except OSError as error:
            yield Found(str(path), kind, reason=f"cannot be read: {error.strerror}")
            continue
        if count:
            yield Found(str(path), kind, count, lines)
    yield from _linked(layout, traces)
    yield from _named(layout, traces)


def _linked(layout: Layout, traces: Traces) -> Iterator[Found]:
    """Links of memory to files elsewhere that hold traces: Clew reads those, and rewrites nothing that is not its."""
    for folder, folders, names in os.walk(layout.memory):
        folders[:] = sorted(set(folders) - {".git"})
        for path in (Path(folder) / name for name in sorted(names)):
            if not path.is_symlink() or any(Path(os.path.realpath(path)).is_relative_to(root) for root in layout.roots):
                continue
            with contextlib.suppress(OSError):
                if stat.S_ISREG(os.stat(path).st_mode):
                    count, lines = _in_bytes(path, traces, "link", path.name)
                    if count:
                        reason = f"a link to `{os.path.realpath(path)}`, which is not Clew's; take it out there"
                        yield Found(str(path), "link", count, lines, reason=reason)


def _named(layout: Layout, traces: Traces) -> Iterator[Found]:
    for root in layout.roots:
        for folder, folders, names in os.walk(root):
            if Path(folder) == layout.memory / ".git":
                folders.remove("objects") if "objects" in folders else None
            for name in (*folders, *names):
                path = os.path.join(folder, name)
                target = ""
                with contextlib.suppress(OSError):  # no link, or gone meanwhile
                    target = os.readlink(path)
                if traces.in_name(name) or (target and traces.in_name(target)):
                    yield Found(path, "name", 1)


def is_database(path: Path) -> bool:
    """Whether a file is one of SQLite, by its first bytes."""
    with open(path, "rb") as file:
        return file.read(16) == _MAGIC


def _is_open(swap: Path) -> bool:
    """Whether an editor may still have the file open that it keeps a swap file or a copy for.

    Vim writes its process into the head of a swap file (four bytes from 24 on, the lowest first), Emacs into the target
    of a link beside the copy (`user@host.number:boot`). Of one that says neither, it is not known.
    """
    if swap.name.startswith("#"):
        beside = swap.with_name(f".#{swap.name[1:-1]}")
        owner = re.search(r"\.(\d{1,10})(?::\d+)?\Z", os.readlink(beside)) if beside.is_symlink() else None
        return beside.is_symlink() and (owner is None or _runs(int(owner[1])))
    with open(swap, "rb") as file:
        head = file.read(28)
    return not head.startswith(b"b0VIM") or _runs(int.from_bytes(head[24:28], "little"))


def _runs(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return number > 0


def _is_side(path: Path) -> bool:
    return path.name.endswith(SIDES) and _owner(path).exists()


def _owner(path: Path) -> Path:
    return path.with_name(re.sub(r"-(?:wal|shm|journal)\Z", "", path.name))


def _in_bytes(path: Path, traces: Traces, kind: str, place: str) -> tuple[int, tuple[int, ...]]:
    folded = kind == "index"
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            return 0, ()
        if size > _PIECE:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
                spans = traces.spans(whole, folded=folded, derived=derived_parts(kind, place, whole))
                return len(spans), ()
        content = file.read()
    spans = traces.spans(content, folded=folded, derived=derived_parts(kind, place, content))
    if b"\0" in content[:4096]:
        return len(spans), ()
    lines = dict.fromkeys(content.count(b"\n", 0, start) + 1 for start, _ in spans)
    return len(spans), tuple(lines)[:_MOST_LINES]


# ---------------------------------------------------------------------- databases


def _in_rows(path: Path, traces: Traces, kind: str) -> int:
    """Rows with traces: a long value lies in several pages, where bytes do not show it; an index holds words only."""
    try:
        return _in_rows_by(path, "mode=ro", traces, kind)
    except sqlite3.OperationalError:
        # Where nothing may be written beside it, its log cannot be opened: the file alone can.
        with contextlib.suppress(sqlite3.DatabaseError):
            return _in_rows_by(path, "immutable=1", traces, kind)
    except sqlite3.DatabaseError:
        pass
    return 0  # its bytes were looked at


def _in_rows_by(path: Path, way: str, traces: Traces, kind: str) -> int:
    folded = kind == "index"
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?{way}", uri=True)) as db:
        db.text_factory = bytes
        count = sum(
            bool(traces.spans(whole, folded=folded, derived=derived_parts(kind, "", whole)))
            for table in _tables(db)
            for row in db.execute(f'select * from "{table}"')
            for whole in (b"\0".join(part for part in row if isinstance(part, bytes)),)
        )
        return count or int(folded and _knows_words(db, traces.words))


def _tables(db: sqlite3.Connection) -> list[str]:
    """Ordinary tables; those that a full-text table is made of are looked at by its words."""
    rows = db.execute("select name, sql from sqlite_master where type = 'table'").fetchall()
    named = [(_text(name), _text(sql)) for name, sql in rows]
    virtual = [name for name, sql in named if "virtual table" in sql[:40].lower()]
    shadows = tuple(f"{name}_{part}" for name in virtual for part in ("data", "idx", "content", "docsize", "config"))
    return [name for name, _ in named if name not in virtual and name not in shadows and not name.startswith("sqlite_")]


def _knows_words(db: sqlite3.Connection, words: str) -> bool:
    """Whether a full-text index holds all words that a secret is made of: it may have been indexed then."""
    wanted = [word for word in dict.fromkeys(terms(words)) if len(word) > 2]
    if not wanted:
        return False
    rows = db.execute("select name, sql from sqlite_master where type = 'table'").fetchall()
    for name, sql in rows:
        if "using fts5(" not in _text(sql).lower():
            continue
        db.execute(f"create virtual table temp.words using fts5vocab('main', '{_text(name)}', 'row')")
        found = [db.execute("select 1 from temp.words where term = ?", (word,)).fetchone() for word in wanted]
        db.execute("drop table temp.words")
        if all(found):
            return True
    return False


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


def clean_database(path: Path, traces: Traces, mark: str, own: Mapping[str, Callable[[Path], int]]) -> str:
    """Take traces out of all rows, then out of free pages and log; what was done. `own` cleans stores by name.

    Raises sqlite3.Error, OSError, StoreError.
    """
    try:
        if path.name in own:
            own[path.name](path)
        else:
            _rewrite_rows(path, traces, mark)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return _overwrite(path, traces)
    return "replaced"


def _rewrite_rows(path: Path, traces: Traces, mark: str) -> None:
    with contextlib.closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as db:
        db.text_factory = bytes
        db.execute("pragma secure_delete = on")
        db.execute("begin immediate")
        for table in _tables(db):
            columns = [_text(row[1]) for row in db.execute(f'pragma table_info("{table}")')]
            for number, *values in db.execute(f'select rowid, * from "{table}"').fetchall():
                changed = {
                    column: traces.without(value, mark)[0]
                    for column, value in zip(columns, values, strict=True)
                    if isinstance(value, bytes) and traces.spans(value)
                }
                if changed:
                    names = ", ".join(f'"{column}" = cast(? as text)' for column in changed)
                    db.execute(f'update "{table}" set {names} where rowid = ?', (*changed.values(), number))
        db.execute("commit")
        vacuum(db)


def _overwrite(path: Path, traces: Traces) -> str:
    with open(path, "r+b") as file:
        content = file.read()
        new, count = traces.blotted(content)
        if count:
            file.seek(0)
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
    return "overwritten"


def empty_free_pages(path: Path) -> None:
    """Write a database anew where it has free pages or a log. Raises sqlite3.Error."""
    with contextlib.closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as db:
        log = path.with_name(path.name + "-wal")
        if db.execute("pragma freelist_count").fetchone()[0] or (log.exists() and log.stat().st_size):
            vacuum(db)


# ---------------------------------------------------------------------- files


def clean(
    found: Found,
    layout: Layout,
    traces: Traces,
    mark: str,
    *,
    own: Mapping[str, Callable[[Path], int]],
    text: Text,
    lock: Callable[[Path], contextlib.AbstractContextManager[None]],
) -> Found:
    """Take the traces out of one place. `text` rewrites the bytes of a file of a kind and place, `lock` guards a
    document.

    What could not be done has its reason in the result.
    """
    path = Path(found.path)
    try:
        return replace(found, action=_cleaned(layout, found.kind, path, traces, mark, own, text, lock), reason="")
    except FileNotFoundError:
        return replace(found, action="deleted", reason="")
    except sqlite3.Error as error:
        return replace(found, reason=f"cannot be rewritten: {error}")
    except OSError as error:
        return replace(found, reason=str(translated(error, path.name, "written")))
    except ClewError as error:
        return replace(found, reason=str(error))


def _cleaned(
    layout: Layout,
    kind: str,
    path: Path,
    traces: Traces,
    mark: str,
    own: Mapping[str, Callable[[Path], int]],
    text: Text,
    lock: Callable[[Path], contextlib.AbstractContextManager[None]],
) -> str:
    if kind == "index":
        delete(_owner(path) if _is_side(path) else path)
        return "deleted"
    if kind == "lock":
        _empty(path)
        return "overwritten"
    if kind == "swap":
        if _is_open(path):
            raise StoreError("an editor keeps it for a file that is open", hint="close that file, then purge again")
        return _overwrite(path, traces)
    if kind == "temporary":
        with lock(path):
            delete(path)
        return "deleted"
    if _is_side(path):
        path = _owner(path)
    if is_database(path):
        return clean_database(path, traces, mark, own)
    if kind == "audit":
        rewrite(path, lambda old: text(old, kind, path.name))
        return "replaced"
    with open(path, "rb") as file:
        content = file.read()
    if b"\0" in content and kind != "document":
        return _overwrite(path, traces)
    with lock(path):
        replace_file(path, lambda old: text(old, kind, layout.place(path)))
    return "replaced"


def replace_file(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Give a file other bytes in one step, and overwrite what it held. The caller holds the lock of its folder.

    Raises Conflict where somebody wrote to it meanwhile, StoreError, OSError.
    """
    descriptor, mode = _opened(path)
    try:
        content = b"".join(iter(lambda: os.read(descriptor, _PIECE), b""))
        new = change(content)
        if new == content:
            set_mode(descriptor, mode)
            return
        put(path, new, mode=mode, seen=content, changed=lambda _: _changed(path), shown=path.name)
        blot(descriptor)
    finally:
        os.close(descriptor)


def _opened(path: Path) -> tuple[int, int]:
    """A file to be read and overwritten, and its rights; protection against writing is lifted. Raises OSError."""
    try:
        descriptor = open_file(path, "change")
        return descriptor, os.fstat(descriptor).st_mode & 0o777
    except PermissionError:
        status = os.lstat(path)
        mode = status.st_mode & 0o777
        if not stat.S_ISREG(status.st_mode) or mode & 0o200:
            raise
        os.chmod(path, mode | 0o600)
        try:
            return open_file(path, "change"), mode
        except OSError:
            os.chmod(path, mode)
            raise


def _changed(path: Path) -> Conflict:
    return Conflict(f"`{path.name}` was changed meanwhile", hint="purge again")


def delete(path: Path, *, blotted: bool = False) -> None:
    """Remove a file, with what SQLite keeps beside it, and overwrite what it held. Raises OSError.

    What another process may have mapped into its memory is not overwritten, unless it is to be `blotted`: that process
    would read the zeros. Of a link, only the link goes.
    """
    if path.is_symlink():
        path.unlink()
        return
    if (
        not blotted
        and not is_database(path)
        and not _HALVES.fullmatch(path.name)
        and path.suffix not in (".md", ".jsonl")
    ):
        path.unlink()
        return
    for side in ("", *SIDES):
        one = path.with_name(path.name + side)
        with contextlib.suppress(FileNotFoundError):
            descriptor = open_file(one, "change")
            try:
                if side:
                    remove(path)
                else:
                    one.unlink()
                blot(descriptor)
            finally:
                os.close(descriptor)


def _empty(path: Path) -> None:
    """Take the text out of a lock file, which stays the file that others lock. Raises StoreBusy."""
    descriptor = open_file(path, "change")
    try:
        if not try_lock(descriptor):
            raise StoreBusy(f"`{path.name}` is held by another process", hint="try again")
        os.pwrite(descriptor, bytes(os.fstat(descriptor).st_size), 0)
        os.fsync(descriptor)
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def rename(
    found: Found, new: Callable[[str], str], lock: Callable[[Path], contextlib.AbstractContextManager[None]]
) -> Found:
    """Give a file or folder a name without traces; a link, whose target is none of Clew's, is named only."""
    path = Path(found.path)
    if path.is_symlink():
        return replace(found, reason="a link whose name or target holds it; delete it, or make it anew")
    try:
        with lock(path):
            target = path.with_name(new(path.name))
            number = 1
            while os.path.lexists(target):
                number += 1
                stem, ending = os.path.splitext(new(path.name))
                target = path.with_name(f"{stem}-{number}{ending}")
            os.rename(path, target)
    except FileNotFoundError:
        return replace(found, action="replaced")
    except (OSError, ClewError) as error:
        return replace(found, reason=str(error))
    return replace(found, action="replaced")


def leftovers(layout: Layout) -> Sequence[Path]:
    """Half-written files of an earlier purge that was killed."""
    return [
        path for path in files(layout)
        if (path.name == TEMPORARY and not path.is_relative_to(layout.memory)) or path.name.endswith(".jsonl.new")
    ]  # fmt: skip
