"""Two machines and a remote: whatever both do, no version that was committed is ever lost."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command import clew, git
from tests.memory_machines import STOPPING, Machine, are_alike, machine, pair, remote_of

from clew.app import App
from clew.errors import ClewError, ConfigError, Conflict, NotFound, Refused, StoreBusy, UsageError
from clew.services.memory import NoteWish
from clew.services.sync import Skipped, begin, resolve, synchronise

pytestmark = [pytest.mark.requirement("W-17"), pytest.mark.usefixtures("home")]

NOTE = "workspaces/w/notes/deploy.md"
LOG = "workspaces/w/logs/2026-03-01.md"
HEAD = "---\nid: mem_0123456789ab\nname: Deploy\ntags: [ops]\nupdated: 2026-03-01\n---\n"
LINES = "".join(f"line {number}\n" for number in range(20))


def take(one: Machine, ref: str, wanted: str) -> None:
    resolve(one.git, ref, wanted, redact=lambda text: text.replace("s3cret", "[REDACTED]"), cwd=one.root.parent)


def test_what_one_writes_the_other_has_and_back(tmp_path: Path) -> None:
    one, two = pair(tmp_path, {NOTE: HEAD + LINES})
    one.write("user/editor.md", "Use ed.\n")
    first = one.sync()
    assert (first.by_hand, first.fetched, first.pushed, first.conflicts) == (1, 0, 1, [])
    second = two.sync()
    assert (second.fetched, second.pushed, second.changed) == (1, 0, ["user/editor.md"])
    assert two.text("user/editor.md") == "Use ed.\n"
    two.write(NOTE, HEAD + LINES + "more\n")
    two.sync()
    assert one.sync().changed == [NOTE] and one.files() == two.files()
    # A fast-forward makes no commit of its own, and git itself sees nothing that differs.
    assert one.run("rev-parse", "HEAD") == two.run("rev-parse", "HEAD")
    assert one.run("status", "--short") == "" and one.run("log", "-1", "--format=%s") == "Edited by hand"
    again = one.sync()
    assert (again.by_hand, again.fetched, again.pushed, again.changed) == (0, 0, 0, [])


def test_changes_in_different_places_become_one_text(tmp_path: Path) -> None:
    one, two = pair(tmp_path, {NOTE: HEAD + LINES})
    one.write(NOTE, HEAD + LINES.replace("line 2\n", "line two\n"))
    two.write(NOTE, HEAD + LINES.replace("line 17\n", "line seventeen\n"))
    one.sync()
    done = two.sync()
    assert not done.conflicts and done.changed == [NOTE]
    one.sync()
    both = HEAD + LINES.replace("line 2\n", "line two\n").replace("line 17\n", "line seventeen\n")
    assert one.text(NOTE) == two.text(NOTE) == both
    assert len(two.run("log", "-1", "--format=%P").split()) == 2


def test_front_matter_merges_by_rule(tmp_path: Path) -> None:
    one, two = pair(tmp_path, {NOTE: HEAD + LINES})
    one.write(NOTE, HEAD.replace("2026-03-01", "2026-03-09").replace("[ops]", "[ops, one]") + LINES)
    two.write(NOTE, HEAD.replace("2026-03-01", "2026-03-05").replace("[ops]", "[ops, two]") + LINES + "new\n")
    one.sync()
    assert not two.sync().conflicts
    text = two.text(NOTE)
    assert "updated: 2026-03-09\n" in text and "tags: [ops, two, one]\n" in text and text.endswith("new\n")


def test_a_log_takes_the_additions_of_both(tmp_path: Path) -> None:
    one, two = pair(tmp_path, {LOG: "# Day\n\n09:00 begun\n"})
    one.write(LOG, one.text(LOG) + "\n10:00 on one\n")
    two.write(LOG, two.text(LOG) + "\n11:00 on two\n")
    other = LOG.replace("01.md", "02.md")
    one.write(other, "---\nid: mem_b\n---\n# Next\n\n09:00 on one\n")
    two.write(other, "---\nid: mem_a\n---\n# Next\n\n09:30 on two\n")
    one.sync()
    assert not two.sync().conflicts
    assert two.text(LOG) == "# Day\n\n09:00 begun\n\n11:00 on two\n\n10:00 on one\n"
    assert two.text(other) == "---\nid: mem_a\naliases: [mem_b]\n---\n# Next\n\n09:30 on two\n\n09:00 on one\n"


def conflicting(tmp_path: Path) -> tuple[Machine, Machine]:
    """Two machines of which the second has an open conflict."""
    one, two = pair(tmp_path, {NOTE: HEAD + "The port is 1.\n"})
    one.write(NOTE, HEAD + "The port is 2.\n")
    two.write(NOTE, HEAD + "The port is 3.\n")
    one.sync()
    done = two.sync()
    assert [(one.path, one.copy) for one in done.conflicts] == two.open_conflicts() and len(done.conflicts) == 1
    return one, two


def test_a_conflict_keeps_the_local_text_and_puts_the_other_beside_it(tmp_path: Path) -> None:
    one, two = conflicting(tmp_path)
    ((document, copy),) = two.open_conflicts()
    short = one.run("rev-parse", "HEAD")[:7]
    assert (document, copy) == (NOTE, NOTE.replace(".md", f".conflict-{short}.md"))
    assert two.text(NOTE).endswith("3.\n") and two.text(copy).endswith("2.\n")
    # The conflict is the same everywhere, with the local text in place, and further syncs add nothing.
    for _ in range(2):
        assert one.sync().by_hand == two.sync().pushed == 0
        assert one.open_conflicts() == two.open_conflicts() == [(NOTE, copy)]
        assert one.text(NOTE).endswith("2.\n") and one.text(copy).endswith("3.\n")
        assert two.text(NOTE).endswith("3.\n") and two.text(copy).endswith("2.\n")


@pytest.mark.parametrize("wanted", ["ours", "theirs"])
def test_a_conflict_that_came_from_elsewhere_ends_here_as_the_user_says(tmp_path: Path, wanted: str) -> None:
    one, two = conflicting(tmp_path)
    one.sync()
    take(one, NOTE, wanted)
    assert one.text(NOTE).endswith("2.\n" if wanted == "ours" else "3.\n")
    one.sync()
    two.sync()
    assert one.files() == two.files() and not two.open_conflicts() and one.run("status", "--short") == ""
    assert {HEAD + f"The port is {number}.\n" for number in (1, 2, 3)} <= one.history()


def test_a_text_that_is_changed_while_a_conflict_is_open_stays_in_place(tmp_path: Path) -> None:
    one, two = conflicting(tmp_path)
    one.sync()
    ((_, copy),) = one.open_conflicts()
    one.write(NOTE, HEAD + "The port is 22.\n")
    one.sync()
    two.sync()
    assert one.text(NOTE).endswith("22.\n") and one.text(copy).endswith("3.\n")
    assert two.text(NOTE).endswith("3.\n") and two.text(copy).endswith("22.\n")
    take(two, NOTE, "theirs")
    two.sync()
    one.sync()
    assert one.files() == two.files() == {NOTE: HEAD + "The port is 22.\n"}


@pytest.mark.parametrize(("wanted", "text"), [("ours", "3."), ("theirs", "2."), ("mine.md", "The port is [REDACTED].")])
def test_a_conflict_ends_as_the_user_says(tmp_path: Path, wanted: str, text: str) -> None:
    one, two = conflicting(tmp_path)
    (two.root.parent / "mine.md").write_text(HEAD + "The port is s3cret.\n")
    take(two, NOTE if wanted == "ours" else "clew://memory/mem_0123456789ab", wanted)
    assert two.text(NOTE).endswith(f"{text}\n") and not two.open_conflicts()
    two.sync()
    one.sync()
    assert one.files() == two.files() and not one.open_conflicts()
    assert {HEAD + f"The port is {number}.\n" for number in (1, 2, 3)} <= one.history()


def test_what_cannot_be_resolved_says_why(tmp_path: Path) -> None:
    _, two = conflicting(tmp_path)
    for ref, wanted, error in (("user/x.md", "ours", NotFound), (NOTE, "missing.md", NotFound)):
        with pytest.raises(error):
            take(two, ref, wanted)
    two.write(NOTE.replace(".md", ".conflict-0123456.md"), HEAD + "A third.\n")
    with pytest.raises(UsageError, match="2 other versions"):
        take(two, NOTE, "ours")
    take(two, NOTE.replace(".md", ".conflict-0123456.md"), "theirs")
    assert two.text(NOTE).endswith("A third.\n") and len(two.open_conflicts()) == 1


def test_what_one_deleted_and_the_other_changed_stays(tmp_path: Path) -> None:
    one, two = pair(tmp_path, {"user/a.md": "a\n", "user/b.md": "b\n", "user/c.md": "c\n"})
    (one.root / "user/a.md").unlink()
    one.write("user/b.md", "b changed\n")
    (one.root / "user/c.md").unlink()
    two.write("user/a.md", "a changed\n")
    (two.root / "user/b.md").unlink()
    one.sync()
    done = two.sync()
    assert sorted(done.kept) == ["user/a.md", "user/b.md"] and not done.conflicts
    one.sync()
    assert one.files() == two.files() == {"user/a.md": "a changed\n", "user/b.md": "b changed\n"}


def test_the_same_name_made_on_both_sides_is_a_conflict_unless_the_text_is_the_same(tmp_path: Path) -> None:
    one, two = pair(tmp_path, {})
    for name in ("same", "other"):
        one.write(f"user/{name}.md", f"{name} one\n")
        two.write(f"user/{name}.md", f"{name} {'one' if name == 'same' else 'two'}\n")
    one.write("user/b.bin", b"\xff\x00one")
    two.write("user/b.bin", b"\xff\x00two")
    one.sync()
    two.sync()
    assert [path for path, _ in two.open_conflicts()] == ["user/b.bin", "user/other.md"]
    assert two.text("user/other.md") == "other two\n"


def test_a_file_and_a_folder_of_one_name_are_both_kept(tmp_path: Path) -> None:
    one, two = pair(tmp_path, {})
    one.write("user/x", "a file\n")
    two.write("user/x/y.md", "in a folder\n")
    one.write("user/z/y.md", "in a folder\n")
    two.write("user/z", "a file\n")
    one.sync()
    two.sync()
    one.sync()
    assert one.files() == two.files()
    assert sorted(two.files().values()) == ["a file\n", "a file\n", "in a folder\n", "in a folder\n"]


def test_a_file_that_becomes_a_folder_and_back_comes_over(tmp_path: Path) -> None:
    one, two = pair(tmp_path, {"user/x": "a file\n", "user/z/y.md": "below\n"})
    (one.root / "user/x").unlink()
    one.write("user/x/y.md", "below\n")
    shutil.rmtree(one.root / "user/z")
    one.write("user/z", "a file\n")
    one.sync()
    two.sync()
    assert two.files() == one.files() == {"user/x/y.md": "below\n", "user/z": "a file\n"}


def test_two_that_merge_at_once_end_alike_and_keep_all(tmp_path: Path) -> None:
    one, two = pair(tmp_path, {NOTE: "0\n"})
    one.write(NOTE, "1\n")
    two.write(NOTE, "2\n")
    # Each has merged the other's commit before either has pushed.
    for here, there in ((one, two), (two, one)):
        here.sync() if here is one else None
        there.run("fetch", "-q", "origin")
    two.sync()
    one.write("user/a.md", "a\n")
    two.write("user/b.md", "b\n")
    for side in (one, two, one, two):
        side.sync()
    assert one.files().keys() == two.files().keys() and one.open_conflicts() == two.open_conflicts()
    assert (one.text(NOTE), two.text(NOTE)) == ("1\n", "2\n")
    assert {"0\n", "1\n", "2\n"} <= one.history()


@pytest.mark.parametrize("seed", range(4))
def test_no_version_is_ever_lost_whatever_three_machines_do(tmp_path: Path, seed: int) -> None:
    """The law: each text that was on a disk when a sync began can be reached from every HEAD in the end."""
    chance = random.Random(seed)
    one, two = pair(tmp_path, {NOTE: HEAD + LINES, LOG: "# Day\n"})
    three = machine(tmp_path, "three", tmp_path / "remote.git")
    three.sync(join=True)
    sides = [one, two, three]
    paths = [NOTE, LOG, "user/a.md", "user/b.md", "user/b", "user/b/c.md"]
    written: set[str] = set()
    for step in range(40):
        side, path = chance.choice(sides), chance.choice(paths)
        place = side.root / path
        deed = chance.random()
        if deed < 0.35:
            written |= set(side.files().values())
            side.sync()
        elif deed < 0.45 and place.is_file():
            place.unlink()
        elif deed < 0.55 and side.open_conflicts():
            written |= set(side.files().values())
            take(side, side.open_conflicts()[0][1], chance.choice(["ours", "theirs"]))
        elif not place.is_dir() and not any(parent.is_file() for parent in place.parents):
            before = side.text(path).splitlines(keepends=True) if place.exists() else [HEAD]
            before.insert(chance.randint(1, len(before)), f"{step} {chance.random()}\n")
            side.write(path, "".join(before))
    for side in (*sides, *sides):
        written |= set(side.files().values())
        side.sync()
    # Of a document with two versions, each has its own in place.
    assert are_alike(one, two) and are_alike(two, three)
    assert written <= one.history()
    assert all(not side.unsaid() and side.sync().by_hand == 0 for side in sides)


def test_what_waits_for_its_commit_gets_its_own_message_before_hand_edits(tmp_path: Path) -> None:
    one, _ = pair(tmp_path, {})
    one.write("user/a.md", "a\n")
    one.git.commit(["user/a.md"], "Add a", batch=True)
    one.write("user/b.md", "b\n")
    assert one.sync().by_hand == 1
    assert one.run("log", "-2", "--format=%s").splitlines() == ["Edited by hand", "Add a"]


def test_a_secret_written_by_hand_is_not_committed_unless_the_user_insists(home: Path, tmp_path: Path) -> None:
    remote, token = remote_of(tmp_path), "ghp_" + "a1B2c3D4" * 4 + "e5F6"
    clew("sync", "init", "--remote", remote, cwd=tmp_path)
    assert clew("sync", cwd=tmp_path).status == 0
    one = Machine(home / "clew" / "memory")
    one.write("user/a.md", f"The token is {token}.\n")
    found = clew("sync", cwd=tmp_path)
    assert found.status == 2 and "user/a.md" in found.err and "--anyway" in found.err and token not in found.err
    assert not any(token in text for text in one.history())
    assert clew("sync", "--anyway", cwd=tmp_path).status == 0
    # Once it is there, further edits of the document are no matter of it; another secret is.
    one.write("user/a.md", f"The token is {token}. It is old.\n<private>mine</private>\n")
    assert clew("sync", cwd=tmp_path).status == 0
    one.write("user/a.md", f"The token is {token}. The new one is {token[:-1]}7.\n")
    assert clew("sync", cwd=tmp_path).status == 2


# ---------------------------------------------------------------------- what may stand in the way


def no_remote(one: Machine) -> None:
    one.run("remote", "remove", "origin")


def gone(one: Machine) -> None:
    one.run("remote", "set-url", "origin", str(one.root / "nowhere"))


def down(one: Machine) -> None:
    one.run("remote", "set-url", "origin", "http://127.0.0.1:9/memory.git")


def no_ssh(one: Machine) -> None:
    one.run("remote", "set-url", "origin", "ssh://git@127.0.0.1:9/memory.git")
    one.run("config", "core.sshCommand", "/nonexistent/ssh")


def asks(one: Machine) -> None:
    """A way in that would ask, as ssh says it when it may not."""
    command = one.root.parent / "ssh"
    command.write_text(
        f'#!/bin/sh\necho "$@" > {one.root.parent}/asked\necho "Permission denied (publickey)." >&2\nexit 255\n'
    )
    command.chmod(0o755)
    one.run("remote", "set-url", "origin", "git@example.invalid:memory.git")
    one.run("config", "core.sshCommand", str(command))


def unknown_scheme(one: Machine) -> None:
    one.run("remote", "set-url", "origin", "ext::sh -c 'touch broken'")


def detached(one: Machine) -> None:
    one.run("checkout", "-q", "--detach")


def merging(one: Machine) -> None:
    (one.root / ".git" / "MERGE_HEAD").write_text(one.run("rev-parse", "HEAD") + "\n")


def left_lock(one: Machine) -> None:
    (one.root / ".git" / "refs" / "heads" / "main.lock").write_text("")


@pytest.mark.requirement("Q-42")
@pytest.mark.parametrize(
    ("hinder", "error", "words"),
    [
        (no_remote, ConfigError, "has no remote"),
        (gone, NotFound, "no repository at"),
        (down, StoreBusy, "cannot be reached"),
        (no_ssh, NotFound, "ssh, which is not installed"),
        (asks, Refused, "nobody in without credentials"),
        (unknown_scheme, ClewError, "not allowed"),
        (detached, Refused, "on no branch"),
        (merging, StoreBusy, "a merge is under way"),
        (left_lock, StoreBusy, "main.lock"),
    ],
)
def test_what_hinders_a_sync_is_said_and_nothing_is_lost(
    tmp_path: Path, hinder: Callable[[Machine], None], error: type[ClewError], words: str
) -> None:
    one, _ = pair(tmp_path, {NOTE: "0\n"})
    hinder(one)
    one.write(NOTE, "1\n")
    with pytest.raises(error, match=words) as raised:
        one.sync()
    assert raised.value.hint
    assert one.text(NOTE) == "1\n" and not (one.root / "broken").exists()
    if hinder is asks:
        assert "BatchMode=yes" in (one.root.parent / "asked").read_text()


def test_what_is_here_is_committed_before_the_network_is_asked(tmp_path: Path) -> None:
    one, _ = pair(tmp_path, {NOTE: "0\n"})
    down(one)
    one.write(NOTE, "1\n")
    with pytest.raises(StoreBusy):
        one.sync()
    assert one.run("status", "--short") == "" and "1\n" in one.history()


def test_another_history_is_only_joined_when_asked_and_never_with_what_is_no_memory(tmp_path: Path) -> None:
    remote = remote_of(tmp_path)
    one, two = Machine(tmp_path / "one" / "memory"), Machine(tmp_path / "two" / "memory")
    for side, name in ((one, "a"), (two, "b")):
        side.write(f"user/{name}.md", f"{name}\n")
        begin(side.git, str(remote))
    one.sync()
    with pytest.raises(Refused, match="history of its own") as raised:
        two.sync()
    assert "--join" in raised.value.hint
    two.sync(join=True)
    assert two.files() == {"user/a.md": "a\n", "user/b.md": "b\n"}
    code = tmp_path / "code"
    code.mkdir()
    (code / "main.py").write_text("")
    for arguments in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "Code")):
        git(code, *arguments)
    three = machine(tmp_path, "three", code)
    with pytest.raises(Refused, match=r"no memory: it holds `main\.py`"):
        three.sync(join=True)


def test_a_remote_with_another_branch_name_is_used_as_it_is(tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "master", str(remote)], check=True)
    one = machine(tmp_path, "one", remote)
    one.run("push", "-q", "origin", "main:master")
    one.write("user/a.md", "a\n")
    assert one.sync().pushed == 1
    assert subprocess.check_output(["git", "-C", str(remote), "branch"], text=True).split() == ["*", "master"]


def test_a_push_that_comes_too_late_is_merged_and_made_again(tmp_path: Path) -> None:
    one, two = pair(tmp_path, {NOTE: "0\n"})
    two.write("user/b.md", "b\n")
    two.sync()
    one.write("user/a.md", "a\n")
    # Between our fetch and our push, the other one pushes: the first fetch sees the old state.
    hook = tmp_path / "remote.git" / "hooks" / "pre-receive"
    (tmp_path / "late").write_text("")
    hook.write_text(f"#!/bin/sh\nif [ -e {tmp_path}/late ]; then rm {tmp_path}/late; exit 1; fi\n")
    hook.chmod(0o755)
    with pytest.raises(Refused, match="takes no push"):
        one.sync()
    assert one.sync().pushed == 2
    waits: list[float] = []
    rejected = tmp_path / "remote.git" / "refs" / "heads" / "main.lock"

    def wait(seconds: float) -> None:
        waits.append(seconds)
        rejected.unlink(missing_ok=True)

    rejected.write_text("")
    one.write("user/a.md", "aa\n")
    assert synchronise(one.git, wait=wait).pushed == 1
    assert len(waits) == 1 and 0 < waits[0] < 1


def test_a_sync_goes_over_the_users_own_ssh(tmp_path: Path) -> None:
    one, two = pair(tmp_path, {NOTE: "0\n"})
    command = tmp_path / "ssh"
    command.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    command.chmod(0o755)
    one.run("config", "core.sshCommand", str(command))
    one.run("remote", "set-url", "origin", f"git@example.invalid:{tmp_path}/remote.git")
    one.write(NOTE, "1\n")
    assert one.sync().pushed == 1
    two.sync()
    assert two.text(NOTE) == "1\n"


def test_an_address_with_a_password_or_an_option_is_refused(tmp_path: Path) -> None:
    one = machine(tmp_path, "one")
    for url in ("https://me:word@example.org/m.git", "--upload-pack=touch x", "ext::sh -c x", "a\nb", " "):
        with pytest.raises(Refused):
            begin(one.git, url)
    assert one.run("remote") == ""
    begin(one.git, "ssh://git@example.org/m.git")
    with pytest.raises(Conflict, match="another remote"):
        begin(one.git, "ssh://git@example.org/n.git")
    assert "word" not in (one.root / ".git" / "config").read_text()


def test_a_link_of_the_remote_is_kept_in_history_and_never_written_out(tmp_path: Path) -> None:
    one, two = pair(tmp_path, {NOTE: "0\n"})
    (two.root / "user").mkdir(exist_ok=True)
    (two.root / "user" / "link.md").symlink_to("/etc/passwd")
    two.run("add", "-A")
    two.run("commit", "-q", "-m", "A link")
    two.sync()
    done = one.sync()
    assert done.skipped == [Skipped("user/link.md", "it is a link")] and not os.path.lexists(
        one.root / "user" / "link.md"
    )
    one.write(NOTE, "1\n")
    one.sync()
    two.sync()
    # It was not taken for one that had been deleted.
    assert (two.root / "user" / "link.md").is_symlink() and two.text(NOTE) == "1\n"


def test_what_stands_in_the_way_is_not_overwritten(tmp_path: Path) -> None:
    one, two = pair(tmp_path, {})
    one.write(".gitignore", one.text(".gitignore") + "private.md\n")
    one.write("user/private.md", "mine alone\n")
    two.write("user/private.md", "from the other\n")
    two.sync()
    with pytest.raises(Conflict, match="stands in the way"):
        one.sync()
    assert one.text("user/private.md") == "mine alone\n"


KILLED = f"""{STOPPING}
stopping(MemoryRepository, "run")
stopping(sync_folder, "put")
sync.synchronise(MemoryGit(Path(sys.argv[1]), os.environ))
print("done")
"""


@pytest.mark.requirement("Q-40")
def test_a_sync_that_is_killed_anywhere_loses_nothing_and_can_be_done_again(tmp_path: Path) -> None:
    """Killed before each call of git and each write in turn, until one gets through."""
    one, two = pair(tmp_path, {NOTE: "0\n", "user/a.md": "a\n", "user/b.md": "b\n"})
    for step in range(1, 400, 3):
        one.write(NOTE, f"one {step}\n")
        two.write(NOTE, f"two {step}\n")
        one.write("user/a.md", f"a {step}\n")
        (two.root / "user" / f"n{step}.md").write_text(f"new {step}\n")
        one.sync()
        expected = one.history() | set(two.files().values())
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(two.root), str(step)], capture_output=True, check=False
        )
        two.sync()
        one.sync()
        assert expected <= one.history() and are_alike(one, two)
        assert one.text("user/a.md") == f"a {step}\n"
        for _, copy in two.open_conflicts():
            take(two, copy, "ours")
        two.sync()
        one.sync()
        if done.stdout:
            break
    else:
        pytest.fail("it never got through")
    assert step > 20


# ---------------------------------------------------------------------- what memory writes


def test_what_memory_writes_is_committed_and_comes_over(tmp_path: Path, harbour: Path) -> None:
    remote = remote_of(tmp_path)
    homes = [os.environ | {"CLEW_HOME": str(tmp_path / name)} for name in ("one", "two")]
    for environ in homes:
        assert clew("sync", "init", "--remote", remote, cwd=harbour, env=environ).status == 0
    memory = App(homes[0], harbour, {}).memory()
    memory.note(NoteWish("Berths are numbered from one.", "Numbers of berths"))
    memory.log("counted the berths")
    memory.close()
    one = Machine(tmp_path / "one" / "memory")
    assert one.run("status", "--short") == "" and not memory.notices
    assert "new note `Numbers of berths`" in one.run("log", "--format=%B")
    assert clew("sync", cwd=harbour, env=homes[0]).status == 0
    assert clew("sync", "--join", cwd=harbour, env=homes[1]).status == 0
    there = App(homes[1], harbour, {}).memory()
    assert [(document.tier, document.name) for document in there.listing() if document.tier == "note"] == [
        ("note", "Numbers of berths")
    ]
    there.note(NoteWish("Ships moor at the bow.", "Numbers of berths"))
    there.log("moored a ship")
    there.close()
    memory.log("went home")
    memory.close()
    for environ in (homes[0], homes[1], homes[0]):
        assert clew("sync", cwd=harbour, env=environ).status == 0
    assert one.files() == Machine(tmp_path / "two" / "memory").files() and not one.open_conflicts()
    (log,) = [text for path, text in one.files().items() if "/logs/" in path]
    assert all(words in log for words in ("counted the berths", "moored a ship", "went home"))


# ---------------------------------------------------------------------- the command


def test_the_commands_lead_through_a_conflict(home: Path, tmp_path: Path) -> None:
    remote = remote_of(tmp_path)
    one, two = {"CLEW_HOME": str(tmp_path / "one")}, {"CLEW_HOME": str(tmp_path / "two")}
    missing = clew("sync", cwd=tmp_path, env=one)
    assert missing.status == 2 and "clew sync init" in missing.err
    assert clew("sync", "init", "--remote", remote, "--json", cwd=tmp_path, env=one).json["new"] is True
    note = tmp_path / "one" / "memory" / "user" / "a.md"
    note.parent.mkdir()
    note.write_text("one\n")
    assert "commits pushed: 2" in clew("sync", cwd=tmp_path, env=one).out
    clew("sync", "init", "--remote", remote, cwd=tmp_path, env=two)
    assert clew("sync", "--join", cwd=tmp_path, env=two).status == 0
    (tmp_path / "two" / "memory" / "user" / "a.md").write_text("two 二\n")
    note.write_text("three\n")
    clew("sync", cwd=tmp_path, env=one)
    found = clew("sync", cwd=tmp_path, env=two)
    assert found.status == 0 and "--resolve user/a.md --take ours|theirs|FILE" in found.err
    shown = clew("sync", "--show", cwd=tmp_path, env=two)
    assert "two 二" in shown.out and "┃ three" in shown.out
    assert clew("sync", "--show", "--json", cwd=tmp_path, env=two).json["conflicts"][0]["theirs"] == "three\n"
    assert clew("sync", "--resolve", "user/a.md", cwd=tmp_path, env=two).status == 2
    done = clew("sync", "--resolve", "user/a.md", "--take", "theirs", "--json", cwd=tmp_path, env=two)
    assert done.json["open"] == 0
    assert clew("sync", "--json", cwd=tmp_path, env=two).json["conflicts"] == []
    kinds = {row["kind"] for row in clew("audit", "--all", "--json", cwd=tmp_path, env=two).json}
    assert kinds == {"sync"}


def test_a_file_that_ends_a_conflict_leaves_the_id_as_it_is(home: Path, tmp_path: Path) -> None:
    remote = remote_of(tmp_path)
    one, two = ({"CLEW_HOME": str(tmp_path / name)} for name in ("one", "two"))
    text = "---\nid: mem_0123456789ab\n---\n\n{}\n"
    assert clew("sync", "init", "--remote", remote, cwd=tmp_path, env=one).status == 0
    note = tmp_path / "one/memory/user/a.md"
    note.parent.mkdir()
    note.write_text(text.format("one"))
    clew("sync", cwd=tmp_path, env=one)
    clew("sync", "init", "--remote", remote, cwd=tmp_path, env=two)
    clew("sync", "--join", cwd=tmp_path, env=two)
    (tmp_path / "two/memory/user/a.md").write_text(text.format("two"))
    note.write_text(text.format("three"))
    clew("sync", cwd=tmp_path, env=one)
    clew("sync", cwd=tmp_path, env=two)
    (tmp_path / "both.md").write_text(text.format("both").replace("mem_0123456789ab", "mem_000000000001"))
    resolving = ("sync", "--resolve", "user/a.md", "--take", "both.md")
    done = clew(*resolving, cwd=tmp_path, env=two)
    assert done.status == 2 and "another id" in done.err and "`id: mem_0123456789ab`" in done.err, done.err
    (tmp_path / "both.md").write_text(text.format("both"))
    assert clew(*resolving, cwd=tmp_path, env=two).status == 0
    assert "both" in clew("open", "clew://memory/mem_0123456789ab", cwd=tmp_path, env=two).out


@pytest.mark.requirement("F-08")
def test_without_git_everything_near_says_so_in_both_languages(home: Path, harbour: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    english = {"PATH": str(tmp_path / "empty"), "CLEW_LANG": "en"}
    chinese = english | {"CLEW_LANG": "zh"}
    root = home / "clew" / "memory"
    found = clew("sync", "init", cwd=tmp_path, env=english)
    assert found.status == 2 and "git is not installed" in found.err and "works without it" in found.err
    assert not (root / ".git").exists()
    assert clew("sync", "init", cwd=harbour).status == 0
    resolving = ("sync", "--resolve", "user/a.md", "--take", "ours")
    for line in (("sync",), ("sync", "init"), resolving, ("open", "0123456"), ("open", "git:status")):
        told = clew(*line, cwd=harbour, env=english)
        assert told.status == 2 and "not installed" in told.err and "hint: install git" in told.err, told.err
        told = clew(*line, cwd=harbour, env=chinese)
        assert told.status == 2 and "没有安装 git" in told.err and "提示：请安装 git" in told.err, told.err
        assert "install" not in told.err
    told = clew("note", "Ships moor at the bow.", cwd=harbour, env=english)
    assert told.status == 0 and "git is not installed; what was written is kept, and committed later" in told.err
    told = clew("note", "Berths are numbered.", cwd=harbour, env=chinese)
    assert told.status == 0 and "没有安装 git；写入的内容已保留，稍后提交" in told.err
    # When git is back, both are committed.
    assert clew("log", "counted", cwd=harbour).status == 0
    assert Machine(root).run("status", "--short") == ""
