"""What a remote holds besides memory: it is left out and named, and neither harms nor hinders what is memory."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.command import AS_ADA, Done, clew, git
from tests.memory_machines import Machine, remote_of

pytestmark = [pytest.mark.requirement("W-17"), pytest.mark.usefixtures("home")]

NOTE = "user/a.md"


class Site:
    """A machine with the command, a remote, and somebody who pushes to that without Clew."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.remote = remote_of(folder)
        self.one = Machine(folder / "one" / "memory")
        self.stranger = folder / "stranger"
        self.sync("init", "--remote", str(self.remote))
        self.one.write(NOTE, "a\n")
        assert self.sync().status == 0

    def sync(self, *arguments: str, **env: str) -> Done:
        return clew("sync", *arguments, cwd=self.folder, env={"CLEW_HOME": str(self.folder / "one"), **env})

    def push(self, files: Mapping[str, tuple[str, bytes] | None]) -> None:
        """Change the tip of the remote: path to mode and content (of a repository: its commit), None for none."""
        if not self.stranger.exists():
            git(self.folder, "clone", "-q", "--no-checkout", str(self.remote), "stranger")
        git(self.stranger, "fetch", "-q")
        head = self.raw("rev-parse", "origin/main")
        rows: dict[str, bytes] = {}
        for row in self.raw("ls-tree", "-r", "-z", head).split("\0"):
            if row:
                rows[row.partition("\t")[2]] = row.encode("utf-8", "surrogateescape")
        for path, entry in files.items():
            rows.pop(path, None)
            if entry is not None:
                mode, content = entry
                kind = "commit" if mode == "160000" else "blob"
                ident = (
                    content.decode() if kind == "commit" else self.raw("hash-object", "-w", "--stdin", given=content)
                )
                rows[path] = f"{mode} {kind} {ident}\t{path}".encode("utf-8", "surrogateescape")
        tree = self.tree({path: row.split(b"\t")[0] for path, row in rows.items()})
        made = self.raw("commit-tree", tree, "-p", head, "-m", "Something")
        self.raw("push", "-q", "origin", f"{made}:refs/heads/main")

    def tree(self, files: Mapping[str, bytes]) -> str:
        """A tree of files, also of those that git would never put into one."""
        rows: dict[str, bytes] = {}
        below: dict[str, dict[str, bytes]] = {}
        for path, entry in files.items():
            name, _, rest = path.partition("/")
            if rest:
                below.setdefault(name, {})[rest] = entry
            else:
                rows[name] = entry
        for name, inside in below.items():
            rows[name] = f"040000 tree {self.tree(inside)}".encode()
        given = b"".join(
            entry + b"\t" + name.encode("utf-8", "surrogateescape") + b"\0" for name, entry in sorted(rows.items())
        )
        return self.raw("mktree", "-z", "--missing", given=given)

    def raw(self, *arguments: str, given: bytes = b"") -> str:
        command = ["git", "-C", str(self.stranger), *arguments]
        done = subprocess.run(command, input=given, capture_output=True, env=AS_ADA, check=False)
        assert done.returncode == 0, done.stderr
        return os.fsdecode(done.stdout).rstrip("\n")

    def there(self) -> set[str]:
        """All files of the folder but those of git and the locks."""
        found: set[str] = set()
        for folder, folders, files in os.walk(self.one.root):
            folders[:] = [name for name in folders if name != ".git"]
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
            inside = os.path.relpath(folder, self.one.root)
            found |= {os.path.normpath(f"{inside}/{name}") for name in (*files, *links) if name != ".lock"}
        return found


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


EVIL = {
    "top.txt": ("100644", b"not memory\n"),
    "hooks/post-checkout": ("100755", b"#!/bin/sh\ntouch ran\n"),
    ".gitattributes": ("100644", b"* text eol=crlf working-tree-encoding=UTF-16 filter=evil merge=evil\n"),
    ".gitmodules": ("100644", b'[submodule "sub"]\n\tpath = user/sub\n\turl = -u./evil\n'),
    ".gitignore": ("100644", b"*\n"),
    "user/sub": ("160000", b"1" * 40),
    "user/link.md": ("120000", b"/etc/passwd"),
    "workspaces": ("120000", b"/tmp"),
    "user/CON.md": ("100644", b"a device\n"),
    "user/dot.": ("100644", b"dot\n"),
    "user/a:b.md": ("100644", b"stream\n"),
    "user/A.md": ("100644", b"case\n"),
    "user/Caf\u00e9.md": ("100644", b"composed\n"),
    "user/Cafe\u0301.md": ("100644", b"apart\n"),
    "user/\udcff.md": ("100644", b"no UTF-8\n"),
    "user/.hidden.md": ("100644", b"hidden\n"),
}


def test_foreign_files_are_left_out_and_named_and_the_rest_comes_in(site: Site) -> None:
    own = site.there()
    site.push({**EVIL, "user/good.md": ("100644", b"good\n"), "user/run.md": ("100755", b"runs\n")})
    found = site.sync("--json")
    assert found.status == 0, found.err
    out = {row["path"]: row["reason"] for row in found.json["skipped"]}
    named = {path.replace("\udcff", "?") for path in EVIL}
    assert set(out) == named - {"user/Cafe\u0301.md"} and all(out.values())
    assert site.there() == own | {"user/good.md", "user/run.md", "user/Cafe\u0301.md"}
    assert not (site.one.root / "user" / "run.md").stat().st_mode & 0o111
    assert site.one.text(".gitignore") != "*\n"
    assert site.one.run("status", "--short") == ""
    # It stays in the history, and nobody's files on the remote are taken away.
    assert site.one.run("cat-file", "blob", "HEAD:top.txt") == "not memory"
    # From here on all goes on as before, in both directions, and is not told again.
    site.one.write(NOTE, "b\n")
    again = site.sync("--json")
    assert again.json["skipped"] == [] and again.json["by_hand"] == 1
    git(site.stranger, "fetch", "-q")
    assert site.raw("cat-file", "blob", f"origin/main:{NOTE}") == "b"
    assert site.raw("cat-file", "blob", "origin/main:top.txt") == "not memory"
    assert site.raw("cat-file", "blob", "origin/main:user/A.md") == "case"
    assert site.one.run("status", "--short") == ""


def test_the_reasons_are_told_in_both_languages(site: Site) -> None:
    site.push({"top.txt": EVIL["top.txt"]})
    assert "left out: top.txt (no memory lies there)" in site.sync().err
    site.push({"user/link.md": EVIL["user/link.md"], "user/A.md": EVIL["user/A.md"]})
    told = site.sync(CLEW_LANG="zh").err
    assert "未同步：user/link.md（它是链接）" in told and "同名" in told


def test_names_that_no_folder_may_hold_do_not_keep_the_rest_away(site: Site) -> None:
    site.push(
        {".git/config": ("100644", b"[core]\n"), "user/../x.md": ("100644", b"up\n"), "user/b.md": ("100644", b"b\n")}
    )
    found = site.sync("--json")
    assert found.status == 0, found.err
    assert {row["path"] for row in found.json["skipped"]} == {".git/config", "user/../x.md"}
    assert site.one.text("user/b.md") == "b\n" and site.one.run("status", "--short") == ""
    assert site.one.run("fsck", "--no-dangling") == ""


def test_a_link_or_a_repository_in_the_place_of_notes_takes_none_of_them_away(site: Site) -> None:
    note = "workspaces/w/notes/n.md"
    site.one.write(note, "n\n")
    site.sync()
    site.push({NOTE: ("120000", b"/etc/passwd"), note: None, "workspaces/w": ("160000", b"1" * 40)})
    found = site.sync()
    assert found.status == 0, found.err
    assert site.one.text(NOTE) == "a\n" and site.one.text(note) == "n\n" and site.one.run("status", "--short") == ""
    git(site.stranger, "fetch", "-q")
    assert site.raw("cat-file", "blob", f"origin/main:{NOTE}") == "a"


def test_the_users_own_files_beside_memory_are_left_alone(site: Site) -> None:
    mine = {"top.txt": "mine\n", ".gitattributes": "*.md diff\n", "user/CON.md": "mine\n", "tools/x.py": "mine\n"}
    for path, text in mine.items():
        site.one.write(path, text)
    (site.one.root / "user" / "link.md").symlink_to("/etc/hostname")
    first = site.sync("--json")
    assert first.json["by_hand"] == 0
    # One that looks like a note is told of.
    assert [row["path"] for row in first.json["skipped"]] == ["user/CON.md"]
    site.push(EVIL)
    assert site.sync().status == 0
    site.push(dict.fromkeys(EVIL))
    assert site.sync().status == 0
    assert {path: site.one.text(path) for path in mine} == mine
    assert os.readlink(site.one.root / "user" / "link.md") == "/etc/hostname"
    site.one.write(NOTE, "b\n")
    assert site.sync("--json").json["pushed"] == 1
    assert site.one.run("ls-tree", "-r", "--name-only", "HEAD").split("\n") == [NOTE]


def test_what_a_clash_kept_out_comes_in_when_the_other_goes(site: Site) -> None:
    site.push({"user/A.md": ("100644", b"case\n")})
    assert [row["path"] for row in site.sync("--json").json["skipped"]] == ["user/A.md"]
    site.one.write("user/b.md", "b\n")
    assert site.sync("--json").json["by_hand"] == 1
    site.push({NOTE: None})
    site.sync()
    assert site.there() - {".gitignore"} == {"user/A.md", "user/b.md"} and site.one.text("user/A.md") == "case\n"
    assert site.one.run("status", "--short") == ""


def test_two_notes_of_one_person_that_differ_in_case_are_committed_and_one_can_go(site: Site) -> None:
    site.one.write("user/N.md", "large\n")
    site.one.write("user/n.md", "small\n")
    assert site.sync("--json").json["by_hand"] == 2
    (site.one.root / "user" / "n.md").unlink()
    assert site.sync("--json").json["by_hand"] == 1
    assert "user/n.md" not in site.one.run("ls-tree", "-r", "--name-only", "HEAD").split("\n")


def test_a_file_that_is_too_large_stays_on_the_remote(site: Site) -> None:
    site.push({"user/large.md": ("100644", b"0" * 20_000_001), "user/b.md": ("100644", b"b\n")})
    assert [row["reason"] for row in site.sync("--json").json["skipped"]] == ["it has over 20,000,000 bytes"]
    assert site.there() - {".gitignore"} == {NOTE, "user/b.md"} and site.one.run("status", "--short") == ""
    site.one.write(NOTE, "b\n")
    assert site.sync("--json").json["by_hand"] == 1
    assert "user/large.md" in site.one.run("ls-tree", "-r", "--name-only", "origin/main").split("\n")


def test_what_an_older_version_left_to_be_missed_is_missed_no_more(site: Site) -> None:
    site.push({"user/link.md": EVIL["user/link.md"], "top.txt": EVIL["top.txt"]})
    site.sync()
    site.one.run("update-index", "--no-skip-worktree", "user/link.md", "top.txt")
    assert site.one.run("status", "--short") != ""
    assert site.sync().status == 0 and site.one.run("status", "--short") == ""
