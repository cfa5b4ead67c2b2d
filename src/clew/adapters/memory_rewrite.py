"""Rewrites the whole history of a memory repository, so that what was committed once can be taken out of it.

Only what differs gets a new object: blobs, then trees, then commits and tags that come after them. All new objects go
in as one pack, all refs move in one transaction, and only then is the old history pruned. A death in between leaves
the old history or the new one, and the next run ends the work.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from clew.adapters.git_process import demand_fields
from clew.adapters.memory_remote import REMOTE
from clew.adapters.memory_repository import PRIVATE, MemoryRepository
from clew.core.text.printable import printable
from clew.errors import Refused, StoreBusy, StoreError

MARKER: Final = "rewritten"
"""A file in `.git/clew`: the history was rewritten, and the remote still has the old one."""
_KINDS: Final = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
_MOST_ASKED: Final = 16 << 20
_LEFT_BEHIND: Final = ("FETCH_HEAD", "ORIG_HEAD", "COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG", "TAG_EDITMSG", "gc.log")
"""Files of git that name or repeat what was before."""

Change = Callable[[bytes, str], bytes | None]
"""From the bytes of a file and its path to those that it shall have; None takes it out."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What is to be another. Each gives back what it was given where nothing is to be changed."""

    blob: Change
    name: Callable[[str], str] = str
    """For one part of a path."""
    text: Callable[[bytes], bytes] = bytes
    """For messages, and names of people, of commits and tags."""
    message: Callable[[bytes], bytes] = bytes
    """For messages alone."""


@dataclass(slots=True)
class Rewritten:
    """What a rewrite did."""

    objects: int = 0
    """Objects that took the place of others."""
    refs: list[str] = field(default_factory=list[str])
    """Refs that moved."""
    signatures: int = 0
    """Signatures that did not fit any more and are gone."""


class HistoryRewrite:
    """One rewrite; the caller holds the lock of the repository."""

    def __init__(self, repository: MemoryRepository) -> None:
        self._repository = repository
        self._bytes = 20
        self._new: dict[str, tuple[str, bytes]] = {}
        """New objects by id: kind and content."""
        self._mapped: dict[tuple[str, str], str] = {}
        """Object and path to the object in its place; empty for none."""
        self._known: dict[str, tuple[str, bytes]] = {}

    # ------------------------------------------------------------------ looking

    def objects(self, kinds: Iterable[str] = _KINDS) -> Iterator[tuple[str, str, bytes]]:
        """Id, kind and content of all objects, those that nothing leads to included. Raises StoreError."""
        wanted, batch, size = set(kinds), list[str](), 0
        rows = self._repository.run("cat-file", "--batch-all-objects", "--batch-check").splitlines()
        for row in rows:
            ident, kind, length = demand_fields(row, 3)
            if kind not in wanted:
                continue
            if batch and size + int(length) > _MOST_ASKED:
                yield from self._read(batch)
                batch, size = [], 0
            batch.append(ident)
            size += int(length)
        yield from self._read(batch)

    def paths(self) -> dict[str, str]:
        """A path of each object that a ref leads to, by id."""
        found: dict[str, str] = {}
        for row in self._repository.run("rev-list", "--objects", "--all", "--reflog", "HEAD", codes=(0, 128)).split(
            b"\n"
        ):
            ident, _, path = row.partition(b" ")
            found.setdefault(ident.decode("ascii", "replace"), os.fsdecode(path))
        return found

    def demand_settled(self) -> None:
        """Raise StoreBusy or Refused where something is under way that a rewrite would tear apart."""
        repository = self._repository
        root = repository.root
        if under_way := repository.under_way():
            raise StoreBusy(f"a {under_way} is under way in the memory root", hint=f"finish it: `git -C {root} status`")
        if repository.resolve("refs/stash"):
            raise Refused(
                "the memory root has a stash of git", hint=f"`git -C {root} stash list`; pop or drop it first"
            )
        if (repository.folder / "worktrees").exists() and any((repository.folder / "worktrees").iterdir()):
            raise Refused(
                "the memory root has other work trees", hint=f"`git -C {root} worktree list`; remove them first"
            )
        if (repository.folder / "shallow").exists():
            raise Refused("the history here is shallow", hint=f"`git -C {root} fetch --unshallow` first")

    # ------------------------------------------------------------------ rewriting

    def rewrite(self, rules: Rules) -> Rewritten:
        """Give all refs a history by the rules. What was before is still there: `prune` takes it away.

        Raises StoreError, StoreBusy where another git moved a ref meanwhile.
        """
        repository, done = self._repository, Rewritten()
        refs = self._refs()
        tips = list(dict.fromkeys(refs.values()))
        if not tips:
            return done
        self._bytes = len(tips[0]) // 2
        self._known = {ident: (kind, content) for ident, kind, content in self.objects(("commit", "tree", "tag"))}
        given = "".join(f"{tip}\n" for tip in tips).encode()
        order = (
            repository.run("rev-list", "--topo-order", "--reverse", "--stdin", given=given)
            .decode("ascii", "replace")
            .split()
        )
        commits: dict[str, str] = {}
        blobs = _Blobs(self, rules.blob)
        for ident in order:
            commits[ident] = self._commit(ident, commits, rules, blobs, done)
        moved = {ref: self._tip(old, commits, rules, done) for ref, old in refs.items()}
        moved = {ref: new for ref, new in moved.items() if new != refs[ref]}
        done.objects = len(self._new)
        if not moved:
            return done
        self._pack()
        self._note_remote(refs, moved)
        lines = [f"update {ref}\0{new}\0{refs[ref]}\0" for ref, new in moved.items()]
        repository.run("update-ref", "--no-deref", "-z", "--stdin", given="".join(lines).encode())
        done.refs = sorted(moved)
        return done

    def prune(self) -> None:
        """Take away all that no ref leads to, and what git noted on the way. Raises StoreError."""
        repository = self._repository
        folder = repository.folder
        for name in _LEFT_BEHIND:
            with contextlib.suppress(FileNotFoundError):
                (folder / name).unlink()
        head = repository.head()
        for index in (folder / PRIVATE / "index", folder / "index"):
            if index.exists():
                repository.run("read-tree", *([head] if head else ["--empty"]), environ={"GIT_INDEX_FILE": str(index)})
        repository.run("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
        for name in ("commit-graph", "commit-graphs"):
            place = folder / "objects" / "info" / name
            shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
        repository.run("repack", "-a", "-d", "-q", "--pack-kept-objects")
        repository.run("prune", "--expire=now")
        for left in (folder / "objects").rglob("tmp_*"):
            # What a git that was killed had not finished.
            if left.is_file():
                left.unlink()

    def _refs(self) -> dict[str, str]:
        """Object by ref, without those that stand for others; HEAD where it is detached."""
        rows = self._repository.run("for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)").split(b"\n")
        parts = [os.fsdecode(row).split("\0") for row in rows if row]
        refs = {name: ident for name, ident, symbolic in parts if not symbolic}
        if not self._repository.branch() and (head := self._repository.head()):
            refs["HEAD"] = head
        return refs

    def _tip(self, old: str, commits: Mapping[str, str], rules: Rules, done: Rewritten) -> str:
        if old in commits:
            return commits[old]
        kind, content = self._known.get(old, ("", b""))
        if kind != "tag":
            return old
        head, gap, message = content.partition(b"\n\n")
        target = re.match(rb"object ([0-9a-f]+)", head)
        inner = target[1].decode("ascii") if target else old
        new = self._tip(inner, commits, rules, done)
        text = rules.text(head + gap) + rules.message(rules.text(message))
        if new == inner and text == content:
            return old
        text = re.sub(rb"\Aobject [0-9a-f]+", b"object " + new.encode(), text)
        bare = re.sub(rb"-----BEGIN (?:PGP|SSH) SIGNATURE-----.*\Z", b"", text, flags=re.DOTALL)
        done.signatures += bare != text
        return self._keep("tag", bare)

    def _commit(self, ident: str, commits: Mapping[str, str], rules: Rules, blobs: _Blobs, done: Rewritten) -> str:
        content = self._known[ident][1]
        head, gap, message = content.partition(b"\n\n")
        lines: list[bytes] = []
        for line in head.split(b"\n"):
            word, _, rest = line.partition(b" ")
            if word == b"tree":
                line = b"tree " + self._tree(rest.decode("ascii"), "", rules, blobs).encode()
            elif word == b"parent":
                line = b"parent " + commits.get(rest.decode("ascii"), rest.decode("ascii")).encode()
            else:
                line = rules.text(line)
            lines.append(line)
        message = rules.message(rules.text(message))
        changed = b"\n".join(lines) + gap + message
        if changed == content:
            return ident
        kept = [line for at, line in enumerate(lines) if not _signs(lines, at)]
        done.signatures += len(kept) != len(lines)
        return self._keep("commit", b"\n".join(kept) + gap + message)

    def _tree(self, ident: str, path: str, rules: Rules, blobs: _Blobs) -> str:
        """The tree in the place of another; always one, should nothing be left in it."""
        if (ident, path) in self._mapped:
            return self._mapped[ident, path]
        rows: dict[bytes, tuple[bytes, str]] = {}
        entries = [
            (mode, name, inner, os.fsencode(rules.name(os.fsdecode(name))))
            for mode, name, inner in self._entries(self._known[ident][1])
        ]
        # What keeps its name has it before others take one.
        for mode, name, inner, wanted in sorted(entries, key=lambda one: one[1] != one[3]):
            place = f"{path}{os.fsdecode(name)}"
            if mode == b"40000":
                new = self._tree(inner, place + "/", rules, blobs)
                if new != inner and not (self._new.get(new) or self._known.get(new, ("", b"")))[1]:
                    continue  # nothing is left in this folder
            else:
                new = blobs.mapped(inner, place) if mode[:3] in (b"100", b"120") else inner
            if new:
                rows[_free(wanted, rows)] = mode, new
        # Git's order: a folder sorts as if its name ended with a slash.
        ordered = sorted(rows.items(), key=lambda row: row[0] + (b"/" if row[1][0] == b"40000" else b""))
        content = b"".join(mode + b" " + name + b"\0" + bytes.fromhex(new) for name, (mode, new) in ordered)
        made = ident if content == self._known[ident][1] else self._keep("tree", content)
        self._mapped[ident, path] = made
        return made

    def _entries(self, content: bytes) -> Iterator[tuple[bytes, bytes, str]]:
        at = 0
        while at < len(content):
            gap, end = content.index(b" ", at), content.index(b"\0", at)
            yield content[at:gap], content[gap + 1 : end], content[end + 1 : end + 1 + self._bytes].hex()
            at = end + 1 + self._bytes

    def _keep(self, kind: str, content: bytes) -> str:
        algorithm = "sha256" if self._bytes == 32 else "sha1"
        head = f"{kind} {len(content)}\0".encode()
        ident = hashlib.new(algorithm, head + content, usedforsecurity=False).hexdigest()
        self._new[ident] = kind, content
        return ident

    def _pack(self) -> None:
        """Hand all new objects to git, which checks each of them."""
        parts = [b"PACK" + (2).to_bytes(4, "big") + len(self._new).to_bytes(4, "big")]
        for kind, content in self._new.values():
            size, code = len(content), _KINDS[kind] << 4
            head = bytearray((code | (size & 15),))
            size >>= 4
            while size:
                head[-1] |= 128
                head.append(size & 127)
                size >>= 7
            parts += (bytes(head), zlib.compress(content))
        pack = b"".join(parts)
        algorithm = "sha256" if self._bytes == 32 else "sha1"
        pack += hashlib.new(algorithm, pack, usedforsecurity=False).digest()
        self._repository.run("index-pack", "--stdin", given=pack)

    def _read(self, idents: Sequence[str]) -> Iterator[tuple[str, str, bytes]]:
        if not idents:
            return
        output = self._repository.run("cat-file", "--batch", given="".join(f"{one}\n" for one in idents).encode())
        at = 0
        while at < len(output):
            end = output.find(b"\n", at)
            row = output[at : max(end, at)].decode("ascii", "replace").split()
            if len(row) != 3 or not row[2].isdecimal():
                raise StoreError(
                    f"git cannot read {row[0] if row else 'an object'}",
                    hint=f"`git -C {self._repository.root} fsck` looks closer",
                )
            size = int(row[2])
            yield row[0], row[1], output[end + 1 : end + 1 + size]
            at = end + size + 2

    # ------------------------------------------------------------------ the remote

    def _note_remote(self, refs: Mapping[str, str], moved: Mapping[str, str]) -> None:
        """Remember what the remote had before the refs move, so that a push may replace just that."""
        prefix = f"refs/remotes/{REMOTE}/"
        stale = read_marker(self._repository)
        for ref in moved:
            branch = ref.removeprefix(prefix)
            if branch == ref:
                continue
            # Where nothing was fetched since the last rewrite, the remote still has what it had before that.
            had, now = stale.get(branch, ("", ""))
            stale[branch] = (had if now == refs[ref] else refs[ref]), moved[ref]
        write_marker(self._repository, stale)


class _Blobs:
    """Blobs by what the rules make of them, each read once for every path it has."""

    def __init__(self, rewrite: HistoryRewrite, change: Change) -> None:
        self._rewrite, self._change = rewrite, change
        self._content: dict[str, bytes] = {}

    def mapped(self, ident: str, path: str) -> str:
        """The blob in the place of another at a path; empty for none."""
        known = self._rewrite._mapped
        if (ident, path) not in known:
            old = self._read(ident)
            new = self._change(old, path)
            known[ident, path] = "" if new is None else ident if new == old else self._rewrite._keep("blob", new)
        return known[ident, path]

    def _read(self, ident: str) -> bytes:
        if ident not in self._content:
            self._content = {one: content for one, _, content in self._rewrite._read([ident])}
        return self._content[ident]


def read_marker(repository: MemoryRepository) -> dict[str, tuple[str, str]]:
    """By branch, what the remote has, and what that became here; empty where nothing is open."""
    try:
        found = json.loads((repository.folder / PRIVATE / MARKER).read_bytes())
        return {str(name): (str(had), str(now)) for name, (had, now) in found["remote"].items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {"": ("", "")}


def write_marker(repository: MemoryRepository, stale: Mapping[str, tuple[str, str]]) -> None:
    """Keep what the remote still has; for nothing, the file goes. Raises StoreError."""
    path = repository.folder / PRIVATE / MARKER
    try:
        if not stale:
            path.unlink(missing_ok=True)
            return
        beside = path.with_name(path.name + ".new")
        beside.write_text(json.dumps({"remote": dict(stale)}), encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}", hint="check its rights") from error


def demand_pushed(repository: MemoryRepository) -> None:
    """Raise Refused while the remote has the history from before a purge: fetching it would bring everything back."""
    if read_marker(repository):
        raise Refused(
            "the remote still has the history from before a purge, and a sync would bring it back",
            hint="`clew purge --push-rewritten` replaces it there",
        )


def push_rewritten(repository: MemoryRepository, push: Callable[[str, str, str], bool]) -> list[str]:
    """Replace the branches of the remote that have the old history, by `push(commit, branch, what is there)`.

    The branches that were replaced. Raises Refused where something of others would be lost.
    """
    stale, done = read_marker(repository), list[str]()
    for branch, (old, _) in sorted(stale.items()):
        tracked = repository.resolve(f"refs/remotes/{REMOTE}/{branch}")
        ours = repository.resolve(f"refs/heads/{branch}") or tracked
        if not ours or (tracked and repository.base(ours, tracked) != tracked):
            raise Refused(
                f"the branch `{printable(branch)}` of the remote has commits that are not merged here",
                hint=f"`git -C {repository.root} merge {REMOTE}/{branch}`, then again",
            )
        if not push(ours, branch, old):
            raise StoreBusy(
                "others have pushed to the remote since the purge",
                hint=f"`git -C {repository.root} fetch`, then purge again",
            )
        repository.run("update-ref", f"refs/remotes/{REMOTE}/{branch}", ours)
        done.append(branch)
        write_marker(repository, {name: ident for name, ident in stale.items() if name not in done})
    return done


def _signs(lines: Sequence[bytes], at: int) -> bool:
    """Whether a line of the head of a commit belongs to a signature."""
    while at >= 0 and lines[at].startswith(b" "):
        at -= 1
    return at >= 0 and lines[at].split(b" ", 1)[0] in (b"gpgsig", b"gpgsig-sha256")


def _free(name: bytes, taken: Mapping[bytes, object]) -> bytes:
    number, found = 2, name
    while found in taken:
        stem, dot, ending = name.rpartition(b".")
        found = b"%s-%d%s%s" % (stem, number, dot, ending) if dot else b"%s-%d" % (name, number)
        number += 1
    return found
