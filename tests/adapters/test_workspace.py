"""A workspace is the same across clones, work trees and machines."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import AS_ADA, clew, git

from clew.adapters.git import find_repository
from clew.adapters.home import Home
from clew.adapters.workspace import Collision, Workspace, normal_remote, remember, resolve
from clew.errors import ConfigError, NotFound


@pytest.fixture
def home(tmp_path: Path) -> Home:
    folder = tmp_path / "home"
    return Home(folder, folder, folder, folder)


def found(folder: Path, home: Home, path: str = AS_ADA["PATH"]) -> Workspace:
    return resolve(folder, home, find_repository(folder, {**AS_ADA, "PATH": path}))


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/Owner/Repo.git",
        "https://github.com/owner/repo",
        "https://github.com/owner/repo/",
        "https://me:t0ken@github.com/owner/repo.git",
        "https://t0ken@github.com:443/owner/repo.git?x=1#y",
        "git@github.com:owner/repo.git",
        "github.com:owner/repo",
        "ssh://git@github.com/owner/repo.git",
        "ssh://git@ssh.github.com:443/owner/repo.git",
        "git+ssh://git@GitHub.com/owner/repo",
        "git://github.com/owner/repo.git",
        " https://github.com//owner//repo.GIT\n",
    ],
)
def test_every_way_to_write_a_remote_is_one(url: str) -> None:
    assert normal_remote(url) == "github.com/owner/repo"


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("https://git.example.com:8443/Group/Sub/Repo.git", "git.example.com:8443/Group/Sub/Repo"),
        ("ssh://git@git.example.com:2222/Group/Repo", "git.example.com/Group/Repo"),
        ("git@[::1]:repo.git", "::1/repo"),
        ("https://example.com/a%20b", "example.com/a b"),
        ("/srv/git/repo.git", None),
        ("../other", None),
        ("file:///srv/git/repo.git", None),
        ("C:\\repos\\x", None),
        ("C:/repos/x", None),
        ("ext::sh -c evil", None),
        ("codecommit::us-east-1://repo", None),
        ("https://", None),
        ("https://github.com/", None),
        ("https://host:99999999/x", None),
        ("", None),
    ],
)
def test_other_remotes_keep_what_tells_them_apart(url: str, normal: str | None) -> None:
    assert normal_remote(url) == normal


@given(st.text(max_size=60), st.text(alphabet="abc:@/%", max_size=20))
def test_no_credentials_survive(secret: str, rest: str) -> None:
    normal = normal_remote(f"https://user:S3CR3T{secret.replace('/', '')}@host.example/{rest}")
    assert normal is None or "S3CR3T" not in normal or "S3CR3T" in rest


def test_clones_with_one_remote_share_the_id_wherever_they_lie(repo: Path, tmp_path: Path, home: Home) -> None:
    git(repo, "remote", "add", "origin", "https://me:secret@github.com/Owner/Tool.git")
    git(tmp_path, "clone", "-q", str(repo), "elsewhere")
    git(tmp_path / "elsewhere", "remote", "set-url", "origin", "git@github.com:owner/tool")
    first, second = found(repo, home), found(tmp_path / "elsewhere", home)
    assert first.id == second.id
    assert (first.origin, first.key, first.name) == ("remote", "github.com/owner/tool", "tool")
    assert re.fullmatch(r"tool-[0-9a-f]{10}", first.id)
    assert (first.root, second.root) == (repo, tmp_path / "elsewhere")


def test_without_a_remote_the_first_commit_decides_and_work_trees_and_clones_share_it(
    repo: Path, tmp_path: Path, home: Home
) -> None:
    (repo / "deep").mkdir()
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    git(repo, "checkout", "-q", "--orphan", "pages")
    git(repo, "commit", "-q", "--allow-empty", "-m", "Another root")
    git(tmp_path, "clone", "-q", "-b", "side", str(repo), "clone")
    all_of_them = [found(folder, home) for folder in (repo, repo / "deep", tmp_path / "side", tmp_path / "clone")]
    assert {workspace.origin for workspace in all_of_them} == {"root-commit"}
    assert len({workspace.id for workspace in all_of_them}) == 1
    assert [workspace.name for workspace in all_of_them] == ["My Repo", "My Repo", "My Repo", "clone"]


def test_a_plain_folder_and_an_empty_repository_go_by_their_path(tmp_path: Path, home: Home) -> None:
    plain, fresh = tmp_path / "Notizen für 项目", tmp_path / "fresh"
    plain.mkdir()
    fresh.mkdir()
    git(fresh, "init", "-q")
    one, two = found(plain, home), found(fresh, home)
    assert (one.origin, one.git, one.root, one.name) == ("path", False, plain, "Notizen für 项目")
    assert one.id.startswith("notizen-fur-")
    assert (two.origin, two.git, two.root) == ("path", True, fresh)
    (tmp_path / "link").symlink_to(plain)
    assert found(tmp_path / "link", home).id == one.id


def test_a_bare_repository_is_its_own_root(repo: Path, tmp_path: Path, home: Home) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
    bare = found(tmp_path / "bare.git", home)
    assert (bare.root, bare.name, bare.id) == (tmp_path / "bare.git", "bare", found(repo, home).id)


def test_a_project_file_marks_the_root_of_a_folder_without_git(tmp_path: Path, home: Home) -> None:
    inner = tmp_path / "project" / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "project" / ".clew.yaml").write_text("style: code\n", encoding="utf-8")
    assert found(inner, home).root == tmp_path / "project"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to somebody else")
def test_a_project_file_of_somebody_else_marks_nothing(tmp_path: Path, home: Home) -> None:
    inner = tmp_path / "shared" / "mine"
    inner.mkdir(parents=True)
    (tmp_path / "shared" / ".clew.yaml").write_text("style: code\n", encoding="utf-8")
    os.chown(tmp_path / "shared" / ".clew.yaml", 12345, 12345)
    assert found(inner, home).root == inner


def test_an_alias_decides(repo: Path, home: Home) -> None:
    made = found(repo, home)
    home.data.mkdir()
    alias = home.data / "workspaces.toml"
    for name in (made.key, made.id):
        alias.write_text(f'# mine\n[alias]\n"{name}" = "tool-0123456789"\n', encoding="utf-8")
        assert found(repo, home).id == "tool-0123456789"


@pytest.mark.parametrize(
    ("text", "says"),
    [("[alias\n", "line 1"), ("alias = 3\n", "table"), ('[alias]\n"KEY" = "../evil"\n', "no id"), ("\udcff", "UTF-8")],
)
def test_a_broken_alias_file_is_named(repo: Path, home: Home, text: str, says: str) -> None:
    key = found(repo, home).key
    home.data.mkdir()
    (home.data / "workspaces.toml").write_bytes(os.fsencode(text.replace("KEY", key)))
    with pytest.raises(ConfigError, match=says) as caught:
        found(repo, home)
    assert "workspaces.toml" in str(caught.value)


def test_one_id_for_two_remotes_is_reported_and_not_remembered(repo: Path, home: Home) -> None:
    git(repo, "remote", "add", "origin", "https://github.com/owner/tool")
    first = found(repo, home)
    assert first.collision is None
    home.state.mkdir()
    known = home.state / "known_workspaces.json"
    rows = {first.id: {"key": "github.com/other/tool", "origin": "remote"}}
    known.write_text(json.dumps({"format": 1, "workspaces": rows, "roots": {"/elsewhere": first.id}}), encoding="utf-8")
    second = found(repo, home)
    assert second.collision == Collision("github.com/other/tool", "github.com/owner/tool")
    before = known.read_bytes()
    assert remember(second, home) is False
    assert known.read_bytes() == before


def test_a_folder_that_gets_a_remote_tells_its_former_id(repo: Path, home: Home) -> None:
    first = found(repo, home)
    assert first.formers == ()
    assert remember(first, home)
    assert found(repo, home).formers == ()
    git(repo, "remote", "add", "origin", "https://github.com/owner/tool")
    second = found(repo, home)
    assert (second.origin, second.formers) == ("remote", (first.id,))
    assert remember(second, home)
    assert found(repo, home).formers == (first.id,)
    git(repo, "remote", "set-url", "origin", "https://github.com/other/tool")
    third = found(repo, home)
    assert third.formers == (second.id, first.id)
    assert remember(third, home)
    assert found(repo, home).formers == (second.id, first.id)
    git(repo, "remote", "set-url", "origin", "https://github.com/owner/tool")
    assert found(repo, home).formers == (third.id,)


@pytest.mark.requirement("F-08")
def test_without_git_a_known_repository_keeps_its_id(repo: Path, home: Home, tmp_path: Path) -> None:
    (repo / "deep").mkdir()
    first = found(repo, home)
    remember(first, home)
    without = found(repo / "deep", home, path=str(tmp_path / "nothing"))
    assert (without.id, without.root, without.git) == (first.id, repo, False)


@pytest.mark.requirement("F-08", "P-05")
def test_where_git_is_gone_a_folder_keeps_the_history_that_it_had(harbour: Path, tmp_path: Path) -> None:
    env = {"CLEW_HOME": str(tmp_path / "clew")}
    assert clew("ask", "which berth is free for the ship?", cwd=harbour, env=env).status == 0
    (tmp_path / "empty").mkdir()
    for folder in (harbour, harbour / "src"):
        kept = clew("history", "--all", "--json", cwd=folder, env=env | {"PATH": str(tmp_path / "empty")})
        assert [row["question"] for row in kept.json["exchanges"]] == ["which berth is free for the ship?"], kept.err


def test_resolving_writes_nothing_and_a_damaged_memory_is_as_good_as_none(repo: Path, home: Home) -> None:
    first = found(repo, home)
    assert not home.state.exists()
    home.state.mkdir()
    for text in ("", "[]", "{", '{"workspaces": 3}', "[" * 100_000, '{"format":1,"workspaces":{"x":{}},"roots":[]}'):
        (home.state / "known_workspaces.json").write_text(text, encoding="utf-8")
        assert found(repo, home) == first
    assert remember(first, home)


def test_what_a_newer_version_wrote_is_kept(repo: Path, home: Home) -> None:
    home.state.mkdir()
    text = '{"format": 2, "workspaces": {}, "roots": {}}'
    (home.state / "known_workspaces.json").write_text(text, encoding="utf-8")
    assert remember(found(repo, home), home) is False
    assert (home.state / "known_workspaces.json").read_text(encoding="utf-8") == text


@pytest.mark.requirement("Q-42")
def test_a_home_that_cannot_be_written_is_no_obstacle(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    blocked = tmp_path / "file" / "home"
    home = Home(blocked, blocked, blocked, blocked)
    assert remember(found(repo, home), home) is False


def test_a_folder_that_is_gone_is_an_error(tmp_path: Path, home: Home) -> None:
    with pytest.raises(NotFound):
        found(tmp_path / "gone", home)


@pytest.mark.requirement("Q-46")
@pytest.mark.parametrize(
    "name", ["..evil", "a\nb", "\udcff", "CON", "-rf", "ÄÖÜ", "项目", "x" * 200, "\u202egnp.exe", " "]
)
def test_an_id_is_always_safe_as_a_folder_name(tmp_path: Path, home: Home, name: str) -> None:
    (tmp_path / "in" / name).mkdir(parents=True)
    workspace = found(tmp_path / "in" / name, home)
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,79}", workspace.id)
    assert workspace.name.isprintable()
