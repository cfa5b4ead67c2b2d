"""`read`, `write_file` and `edit_file` through their calls, on real files."""

from __future__ import annotations

import os
import re
import socket
import stat
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.tooling import KEY, TOKEN, Calls, clean, put

from clew.services.tools.clean import aligned
from clew.services.tools.files import FileDesk
from clew.services.tools.on_disk import decode


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work tree"
    folder.mkdir()
    return folder


@pytest.fixture
def desk(root: Path) -> FileDesk:
    return FileDesk(root, root, clean)


@pytest.fixture
def call(desk: FileDesk) -> Calls:
    return Calls(desk.tools())


def edits(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"old": old, "new": new} for old, new in pairs]


# ---------------------------------------------------------------------- read


@pytest.mark.requirement("R-11")
def test_lines_are_numbered_and_read_from_disk_at_each_call(call: Calls, root: Path) -> None:
    put(root, "a.py", "one\ntwo")
    assert call.good("read", path="a.py") == "a.py: 2 lines\n1| one\n2| two"
    put(root, "a.py", "three\r\nfour\r\n")
    assert call.good("read", path=str(root / "a.py")) == "a.py: 2 lines\n1| three\n2| four"
    put(root, "a.py", "")
    assert call.good("read", path="./a.py") == "a.py is empty"


@pytest.mark.requirement("R-11")
def test_a_long_file_is_shown_in_parts_that_name_the_call_for_the_rest(call: Calls, root: Path) -> None:
    put(root, "a", "".join(f"line {number}\n" for number in range(1, 5001)))
    first = call.good("read", path="a").split("\n")
    assert first[0] == "a: lines 1-2000 of 5000; the rest: read offset=2001" and first[-1] == "2000| line 2000"
    assert call.good("read", path="a", offset=2001, limit=2).split("\n")[1:] == ["2001| line 2001", "2002| line 2002"]
    assert call.good("read", path="a", offset=4999).split("\n")[0] == "a: lines 4999-5000 of 5000"
    assert call.refused("read", path="a", offset=5001) == "a has 5,000 lines: none from 5001 on"
    put(root, "wide", ("x" * 1000 + "\n") * 200)
    wide = call.good("read", path="wide")
    assert len(wide) < 52_000 and "; the rest: read offset=51" in wide
    put(root, "one line", "y" * 100_000)
    assert call.good("read", path="one line").endswith("y …[98,000 more characters of this line left out]")


@pytest.mark.requirement("R-11")
def test_a_folder_lists_folders_first(call: Calls, root: Path) -> None:
    put(root, "b.txt", "12345")
    put(root, "a.txt", "")
    put(root, "z/deep.txt", "")
    (root / "link").symlink_to("a.txt")
    os.mkfifo(root / "pipe")
    text = call.good("read", path=".")
    assert text == ".: 5 names\nz/\na.txt 0 bytes\nb.txt 5 bytes\nlink -> a.txt\npipe (a named pipe)"
    assert "empty" in call.refused("read", path=" ")
    for number in range(700):
        put(root, f"many/{number:03}", "")
    assert "many: 700 names, 1-500 shown; the rest: read offset=501" in call.good("read", path="many")
    assert call.good("read", path="many", offset=700).split("\n")[1:] == ["699 0 bytes"]


@pytest.mark.requirement("R-11")
@pytest.mark.timeout(20)
def test_what_is_no_text_file_is_named_and_never_waited_for(call: Calls, root: Path) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(".", os.O_RDONLY)
        os.chdir(root)
        server.bind("socket")
        os.fchdir(here)
        os.close(here)
    put(root, "picture.png", b"\x89PNG\0\0\0" * 700)
    (root / "circle").symlink_to("circle")
    assert call.refused("read", path="pipe") == "pipe is a named pipe, not a file"
    assert call.refused("read", path="socket") == "socket is a socket, not a file"
    assert call.refused("read", path="/dev/zero") == "/dev/zero is a device, not a file"
    assert call.refused("read", path="picture.png") == "picture.png is binary, 4.8 KB"
    assert "circle cannot be read" in call.refused("read", path="circle")
    assert "circle is a link that leads nowhere" in call.refused("write_file", path="circle", content="x")
    assert "no path" in call.refused("read", path="a\0b")
    assert "no path" in call.refused("read", path="a\ud800b")
    assert "is no path" in call.refused("read", path="x" * 5000).lower()
    assert "pipe is a named pipe" in call.refused("write_file", path="pipe", content="x")
    assert "picture.png is binary" in call.refused("write_file", path="picture.png", content="x")


@pytest.mark.requirement("R-11")
def test_a_missing_file_names_what_may_have_been_meant(call: Calls, root: Path) -> None:
    put(root, "src/server.py", "")
    put(root, "lib/deep/util.py", "")
    assert call.refused("read", path="src/Server.py") == "There is no src/Server.py; did you mean src/server.py?"
    assert call.refused("read", path="scr/server.py") == "There is no scr/server.py; did you mean src, src/server.py?"
    assert "did you mean lib/deep/util.py?" in call.refused("read", path="util.py")
    assert call.refused("edit_file", path="util.py", edits=edits(("a", "b"))).endswith("write_file creates a file.")


@pytest.mark.requirement("R-11")
@pytest.mark.timeout(60)
def test_of_a_file_of_a_gigabyte_only_the_window_is_read(call: Calls, root: Path) -> None:
    line = b"0123456789abcdef" * 64 + b"\n"
    with (root / "huge.log").open("wb") as file:
        file.write(b"first\n")
        file.write(line * 20_000)
        file.write(b"needle\nlast")
    with (root / "sparse").open("wb") as file:
        file.write(b"head\n" * 10_000)
        file.truncate(1 << 30)
    start = time.monotonic()
    first = call.good("read", path="sparse", limit=2)
    assert time.monotonic() - start < 2
    assert first == (
        "sparse: lines 1-2 of a file of 1.0 GB, too long to edit here; the rest: read offset=3\n1| head\n2| head"
    )
    found = call.good("read", path="huge.log", offset=20_002)
    assert found.split("\n")[1:] == ["20002| needle", "20003| last"] and "the rest" not in found
    assert call.refused("read", path="huge.log", offset=20_004) == "huge.log has 20,003 lines: none from 20004 on"
    assert "more than the 16.0 MB" in call.refused("edit_file", path="huge.log", edits=edits(("needle", "x")))
    call.signal.event.set()
    assert call.refused("read", path="huge.log", offset=20_002) == "stopped"


ENCODED = {
    "utf-8 with a mark": "\ufeffcafé 中\n".encode(),
    "utf-16 little": b"\xff\xfe" + "café 中\r\n".encode("utf-16-le"),
    "utf-16 big": b"\xfe\xff" + "café 中\n".encode("utf-16-be"),
    "latin-1": "café ÿ\x85\n".encode("latin-1"),
    "broken utf-8": "café 中文 wörter".encode() + b"\xff\xfe\n",
    "gb18030": ("这是一个用于测试的中文文件，里面有很多常用的汉字。\n" * 3).encode("gb18030"),
    "old mac": b"caf\xc3\xa9\rzwei\rdrei",
}


@pytest.mark.requirement("R-12")
@pytest.mark.parametrize("name", ENCODED)
def test_encoding_byte_order_mark_and_line_ends_stay_as_they_are(call: Calls, root: Path, name: str) -> None:
    content = ENCODED[name]
    path = put(root, "a.txt", content)
    text, encoding = decode(content) or pytest.fail("binary")
    assert encoding.bytes_of(text) == content
    shown = call.good("read", path="a.txt").split("\n")
    assert any("caf\u00e9" in line or "测试" in line for line in shown)
    call.good("edit_file", path="a.txt", edits=[{"first": 1, "last": 0, "new": "added"}])
    end = next((one for one in ("\r\n", "\n", "\r") if one in text), "\n")
    assert path.read_bytes() == encoding.bytes_of(f"added{end}{text}")
    call.good("edit_file", path="a.txt", edits=[{"old": "added\n", "new": ""}])
    assert path.read_bytes() == content
    call.good("write_file", path="a.txt", content="new\nlines\n")
    assert path.read_bytes() == encoding.bytes_of(f"new{end}lines{end}")


@pytest.mark.requirement("R-12")
@given(st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_that_are_taken_for_text_are_written_back_as_they_were(content: bytes) -> None:
    if found := decode(content):
        text, encoding = found
        assert encoding.bytes_of(text) == content


@pytest.mark.requirement("R-12")
def test_what_an_encoding_does_not_have_is_refused(call: Calls, root: Path) -> None:
    path = put(root, "a.txt", "café\n".encode("latin-1"))
    call.good("read", path="a.txt")
    assert "Latin-1, which has no '→'" in call.refused("edit_file", path="a.txt", edits=edits(("café", "→")))
    assert "half of a character" in call.refused("edit_file", path="a.txt", edits=edits(("café", "\ud800")))
    assert path.read_bytes() == "café\n".encode("latin-1")


# ---------------------------------------------------------------------- what the model knows


@pytest.mark.requirement("R-12")
def test_a_file_that_was_not_read_is_not_changed_and_is_shown_instead(call: Calls, root: Path) -> None:
    path = put(root, "a.py", "x = 1\n")
    text = call.refused("edit_file", path="a.py", edits=edits(("x = 1", "x = 2")))
    assert "a.py was not read yet" in text and "1| x = 1" in text and path.read_text() == "x = 1\n"
    # What it says counts as read.
    call.good("edit_file", path="a.py", edits=edits(("x = 1", "x = 2")))
    put(root, "b.py", "y\n")
    assert "1| y" in call.refused("write_file", path="b.py", content="z\n") and (root / "b.py").read_text() == "y\n"
    call.good("write_file", path="b.py", content="z\n")


@pytest.mark.requirement("R-12")
@pytest.mark.parametrize("tool", ["edit_file", "write_file"])
def test_a_change_by_the_user_after_reading_is_not_lost(call: Calls, root: Path, tool: str) -> None:
    path = put(root, "a.py", "one\ntwo\nthree\n")
    call.good("read", path="a.py")
    put(root, "a.py", "one\nby hand\nthree\n")
    new: dict[str, object] = {"edits": [{"first": 2, "last": 2, "new": "mine"}]} if tool == "edit_file" else {}
    text = call.refused(tool, path="a.py", **(new or {"content": "mine\n"}))
    assert "has changed since you read it" in text and "2| by hand" in text
    assert path.read_text() == "one\nby hand\nthree\n"


@pytest.mark.requirement("R-12")
def test_a_change_between_the_question_and_the_answer_is_not_lost(call: Calls, root: Path) -> None:
    path = put(root, "a.py", "one\n")
    call.good("read", path="a.py")
    tool = call.tools["edit_file"]
    arguments = tool.read({"path": "a.py", "edits": edits(("one", "two"))})
    effect = call.asked("edit_file", path="a.py", edits=edits(("one", "two")))
    assert effect.preview == "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-one\n+two\n" and effect.kind == "edit"
    put(root, "a.py", "one by hand\n")
    reply = tool.run(arguments, effect, call.signal)
    assert reply.failed and "has changed" in reply.text and path.read_text() == "one by hand\n"
    made = call.asked("write_file", path="new.py", content="x")
    put(root, "new.py", "by hand\n")
    write = call.tools["write_file"]
    reply = write.run(write.read({"path": "new.py", "content": "x"}), made, call.signal)
    assert reply.failed and (root / "new.py").read_text() == "by hand\n"


@pytest.mark.requirement("R-12")
def test_own_writes_count_as_read_and_a_new_window_knows_nothing(call: Calls, root: Path, desk: FileDesk) -> None:
    call.good("write_file", path="deep/er/a.py", content="one\n")
    call.good("edit_file", path="deep/er/a.py", edits=edits(("one", "two")))
    reply = call("edit_file", path="deep/er/a.py", edits=edits(("two", "three")))
    assert reply.text == "deep/er/a.py: +1 -1\n@@ -1 +1 @@\n-two\n+three"
    assert reply.view == f"--- a/deep/er/a.py\n+++ b/deep/er/a.py\n{reply.text.partition(chr(10))[2]}\n"
    assert reply.changed == (str(root / "deep/er/a.py"),)
    desk.forget()
    told = call.refused("edit_file", path="deep/er/a.py", edits=edits(("three", "four")))
    assert "was read earlier, but a new run or window begins without what earlier ones read" in told
    assert "It counts as read now" in told


@pytest.mark.requirement("R-12")
def test_a_refusal_of_a_long_file_shows_what_is_around_the_edit(call: Calls, root: Path) -> None:
    put(root, "a", "".join(f"line {number}\n" for number in range(1, 10_001)))
    text = call.refused("edit_file", path="a", edits=edits(("line 7000\n", "x\n")))
    assert "lines 6980-7020 of 10000" in text and "7000| line 7000" in text and len(text) < 2000


@pytest.mark.requirement("R-12")
def test_all_edits_or_none_and_each_refusal_says_what_to_do(call: Calls, root: Path) -> None:
    path = put(root, "a.py", "def one():\n    return 1\n\nx = 1\nx = 1\n")
    call.good("read", path="a.py")
    before = path.read_bytes()
    missed = call.refused("edit_file", path="a.py", edits=edits(("x = 1\nx = 1", "y"), ("def one():\n  return 1", "z")))
    assert "Nothing was changed" in missed and "edit 2: `old` is not there" in missed
    assert "only white space differs" in missed and "2|     return 1" in missed
    assert "2 times, at lines 4, 5" in call.refused("edit_file", path="a.py", edits=edits(("x = 1", "y")))
    both = [{"first": 1, "last": 2, "new": ""}, {"old": "return 1", "new": "return 2"}]
    assert "edits 1 and 2 speak of the same place" in call.refused("edit_file", path="a.py", edits=both)
    far = [{"first": 9, "last": 9, "new": ""}]
    assert "lines 9-9 are not in a text of 5 lines" in call.refused("edit_file", path="a.py", edits=far)
    assert "either" in call.refused("edit_file", path="a.py", edits=[{"new": "x"}])
    assert "no edits" in call.refused("edit_file", path="a.py", edits=[])
    assert "says that already" in call.refused("edit_file", path="a.py", edits=edits(("x = 1\nx", "x = 1\nx")))
    assert path.read_bytes() == before


# ---------------------------------------------------------------------- files as they are kept


@pytest.mark.requirement("R-12")
def test_mode_stays_and_new_files_get_the_usual_one(call: Calls, root: Path) -> None:
    path = put(root, "run.sh", "echo 1\n")
    path.chmod(0o750)
    call.good("read", path="run.sh")
    call.good("edit_file", path="run.sh", edits=edits(("1", "2")))
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    call.good("write_file", path="new.txt", content="")
    (root / "other.txt").touch()
    assert (root / "new.txt").stat().st_mode == (root / "other.txt").stat().st_mode
    path.chmod(0o444)
    assert "run.sh is read-only" in call.refused("edit_file", path="run.sh", edits=edits(("2", "3")))
    assert sorted(one.name for one in root.iterdir()) == ["new.txt", "other.txt", "run.sh"]


@pytest.mark.requirement("R-12")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_stays_where_files_may_be_given_away(call: Calls, root: Path) -> None:
    path = put(root, "a", "x\n")
    os.chown(path, 12345, 54321)
    path.chmod(0o6755)
    call.good("read", path="a")
    call.good("edit_file", path="a", edits=edits(("x", "y")))
    status = path.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (12345, 54321, 0o6755)


@pytest.mark.requirement("R-12")
def test_links_are_followed_inside_of_the_workspace_only(call: Calls, root: Path, tmp_path: Path) -> None:
    target = put(root, "real/a.txt", "x\n")
    (root / "link").symlink_to("real/a.txt")
    outside = put(tmp_path, "outside.txt", "secret\n")
    (root / "out").symlink_to(outside)
    (root / "folder").symlink_to(tmp_path)
    call.good("read", path="link")
    call.good("edit_file", path="link", edits=edits(("x", "y")))
    assert (root / "link").is_symlink() and target.read_text() == "y\n"
    # Reading through a link that leads out is asked, writing is not done.
    assert call.asked("read", path="out").outside and call.asked("read", path="folder/outside.txt").outside
    assert "leads out of the workspace" in call.refused("write_file", path="out", content="x")
    assert "leads out of the workspace" in call.refused("write_file", path="folder/new", content="x")
    assert outside.read_text() == "secret\n" and not (tmp_path / "new").exists()


@pytest.mark.requirement("R-12", "R-17")
def test_paths_outside_are_asked_and_what_they_hold_is_not_shown_before(
    call: Calls, root: Path, tmp_path: Path
) -> None:
    outside = put(tmp_path, "outside.txt", "not shown\n")
    text = call.refused("edit_file", path="../outside.txt", edits=edits(("not shown", "x")))
    assert "read it first" in text and "1|" not in text
    effect = call.asked("read", path="../outside.txt")
    assert effect.outside and effect.subject == str(outside) and effect.paths == (str(outside),)
    call.good("read", path="../outside.txt")
    effect = call.asked("edit_file", path="../outside.txt", edits=edits(("not shown", "x")))
    assert effect.outside and not call.asked("write_file", path="a", content="x").outside
    call.good("edit_file", path="../outside.txt", edits=edits(("not shown", "x")))
    assert outside.read_text() == "x\n"


@pytest.mark.requirement("R-17")
def test_folders_that_are_free_may_be_read_unasked_and_not_written(root: Path, tmp_path: Path) -> None:
    put(tmp_path, "notes/a.md", "x\n")
    call = Calls(FileDesk(root, root, clean, free=(tmp_path / "notes",)).tools())
    assert not call.asked("read", path="../notes/a.md").outside
    assert call.asked("write_file", path="../notes/b.md", content="x").outside


@pytest.mark.requirement("R-17")
def test_what_makes_programs_run_is_asked_like_what_lies_outside(call: Calls) -> None:
    for path in (".git/hooks/pre-commit", ".GIT/hooks/x", "a/.Git/config", ".mcp.json", ".clew.yaml", ".CtxMode.yaml"):
        assert call.asked("write_file", path=path, content="x").outside, path
    for path in (".gitignore", "AGENTS.md", "CLAUDE.md", "clew.yaml"):
        assert not call.asked("write_file", path=path, content="x").outside, path


@pytest.mark.requirement("R-17")
def test_a_path_that_leads_elsewhere_after_it_was_allowed_is_refused(call: Calls, root: Path, tmp_path: Path) -> None:
    put(root, "inside.txt", "x\n")
    outside = put(tmp_path, "outside.txt", "secret\n")
    (root / "link").symlink_to("inside.txt")
    for name, more in (("read", {}), ("write_file", {"content": "y"})):
        call.good("read", path="inside.txt")
        tool = call.tools[name]
        arguments = tool.read({"path": "link", **more})
        effect = call.asked(name, path="link", **more)
        (root / "link").unlink()
        (root / "link").symlink_to(outside)
        reply = tool.run(arguments, effect, call.signal)
        assert reply.failed and "leads elsewhere" in reply.text and outside.read_text() == "secret\n"
        (root / "link").unlink()
        (root / "link").symlink_to("inside.txt")


@pytest.mark.requirement("R-12")
def test_a_further_name_of_a_file_keeps_the_old_text_and_that_is_said(call: Calls, root: Path) -> None:
    path = put(root, "a.txt", "x\n")
    os.link(path, root / "store.txt")
    call.good("read", path="a.txt")
    assert "2 names (hard links)" in call.good("edit_file", path="a.txt", edits=edits(("x", "y")))
    assert (path.read_text(), (root / "store.txt").read_text()) == ("y\n", "x\n")


@pytest.mark.requirement("R-12")
def test_a_folder_in_the_way_or_a_file_where_a_folder_belongs_is_told(call: Calls, root: Path) -> None:
    put(root, "folder/a", "x")
    assert "folder is a folder" in call.refused("write_file", path="folder", content="x")
    assert "folder is a folder" in call.refused("edit_file", path="folder", edits=edits(("a", "b")))
    assert "Nothing was changed" in call.refused("write_file", path="folder/a/b/c", content="x")


@pytest.mark.requirement("R-12")
def test_what_there_is_to_say_about_a_written_file_ends_the_reply(root: Path) -> None:
    seen: list[Path] = []

    def findings(path: Path) -> str:
        seen.append(path)
        return "1 error: line 1"

    call = Calls(FileDesk(root, root, clean, after_write=findings).tools())
    assert call.good("write_file", path="a.py", content="x\n") == "a.py: created, 1 line\n1 error: line 1"
    assert seen == [root / "a.py"]


# ---------------------------------------------------------------------- secrets


@pytest.mark.requirement("R-11")
def test_secrets_do_not_reach_the_model_and_lines_keep_their_numbers(call: Calls, root: Path) -> None:
    put(root, "deploy.py", f'host = "a"\ntoken = "{TOKEN}"\nKEY = """\n{KEY}"""\nlast = 1\n')
    text = call.good("read", path="deploy.py")
    assert TOKEN not in text and "MIIEow" not in text and "17| last = 1" in text
    assert "(secrets are replaced by [REDACTED:" in text
    # Also where only the middle of a key is asked for.
    assert "MIIEow" not in call.good("read", path="deploy.py", offset=8, limit=3)
    put(root, ".env", "COLOUR=verywarm17\nNAME=x\n")
    assert "verywarm17" not in call.good("read", path=".env")
    refused = call.refused("edit_file", path=".env", edits=edits(("nowhere to be found", "x")))
    assert "verywarm17" not in refused
    reply = call("edit_file", path=".env", edits=edits(("NAME=x", "NAME=y")))
    assert not reply.failed and "verywarm17" not in reply.text + reply.view
    assert (root / ".env").read_text() == "COLOUR=verywarm17\nNAME=y\n"


@pytest.mark.requirement("R-11")
def test_a_key_in_the_middle_of_a_long_file_is_not_shown_in_parts(call: Calls, root: Path) -> None:
    put(root, "a.txt", "some words here\n" * 20_000 + KEY + "more words here\n" * 20_000)
    text = call.good("read", path="a.txt", offset=20_005, limit=3)
    assert "MIIEow" not in text and text.count("[REDACTED:private-key") >= 3


@pytest.mark.requirement("R-12")
def test_an_edit_that_would_put_a_mark_in_the_place_of_a_secret_is_refused(call: Calls, root: Path) -> None:
    path = put(root, "conf.py", f'a = 1\ntoken = "{TOKEN}"\n')
    shown = call.good("read", path="conf.py")
    line = next(row.partition("| ")[2] for row in shown.split("\n") if row.startswith("2| "))
    assert line.startswith('token = "[REDACTED:')
    old = call.refused("edit_file", path="conf.py", edits=edits((line, "token = None")))
    assert "stands for a secret" in old and "Edit around it" in old
    new = call.refused("edit_file", path="conf.py", edits=[{"first": 1, "last": 2, "new": f"a = 2\n{line}"}])
    assert "stands for a secret" in new
    assert "stands for a secret" in call.refused("write_file", path="conf.py", content=f"a = 2\n{line}\n")
    assert path.read_text() == f'a = 1\ntoken = "{TOKEN}"\n'
    call.good("edit_file", path="conf.py", edits=edits(("a = 1", "a = 2")))
    assert path.read_text() == f'a = 2\ntoken = "{TOKEN}"\n'


MADE_UP = ("[REDACTED:password:ab12]", "[REDACTED]", "[redacted]", "[REDACTED password]")


@pytest.mark.requirement("R-12")
@pytest.mark.parametrize("mark", MADE_UP)
def test_a_mark_that_nobody_was_shown_takes_no_secret_away(call: Calls, root: Path, mark: str) -> None:
    text = "NAME=x\nDB_PASSWORD=hunter2xyzzy9Q\n"
    path = put(root, ".env", text)
    call.good("read", path=".env")
    for content in (f"DB_PASSWORD={mark}", f"NAME=x\n# {mark}\n", f"NAME=y\nDB_PASSWORD={mark}\n"):
        told = call.refused("write_file", path=".env", content=content)
        assert "place of a secret" in told and "ask the user" in told
    told = call.refused("edit_file", path=".env", edits=[{"first": 2, "last": 2, "new": f"DB_PASSWORD={mark}"}])
    assert "Edit other lines" in told
    assert path.read_text() == text
    call.good("edit_file", path=".env", edits=[{"first": 1, "last": 1, "new": "NAME=y"}])
    call.good("edit_file", path=".env", edits=[{"first": 1, "last": 0, "new": f"# values are shown as {mark}"}])
    assert path.read_text() == f"# values are shown as {mark}\nNAME=y\nDB_PASSWORD=hunter2xyzzy9Q\n"


@pytest.mark.requirement("R-12")
def test_a_mark_that_was_shown_does_not_go_into_another_file(call: Calls, root: Path) -> None:
    put(root, "conf.py", f'token = "{TOKEN}"\n')
    put(root, "other.py", "a = 1\n")
    mark = re.search(r"\[REDACTED:[^\]]+:[0-9a-f]{4}\]", call.good("read", path="conf.py"))
    assert mark is not None
    call.good("read", path="other.py")
    assert "stands for a secret" in call.refused("write_file", path="new.py", content=f'token = "{mark[0]}"\n')
    assert "stands for a secret" in call.refused("write_file", path="other.py", content=f'token = "{mark[0]}"\n')
    assert not (root / "new.py").exists()
    # A text about marks is a text like any other.
    call.good("write_file", path="docs.md", content="A secret is shown as [REDACTED:token:0123] or [REDACTED].\n")


@pytest.mark.requirement("R-12")
def test_a_mark_that_stands_in_the_file_itself_is_text_like_any_other(call: Calls, root: Path) -> None:
    path = put(root, "docs.md", "It says [REDACTED:password] there.\n")
    call.good("read", path="docs.md")
    call.good("edit_file", path="docs.md", edits=edits(("says [REDACTED:password]", "shows [REDACTED:token]")))
    assert path.read_text() == "It shows [REDACTED:token] there.\n"


@pytest.mark.requirement("R-11")
@given(st.lists(st.sampled_from(["a\n", "b", "\n", "<<x>>", "<<y\nz>>", "c\n<<", ">>"]), max_size=12).map("".join))
def test_a_text_without_its_secrets_has_the_same_lines(text: str) -> None:
    hidden = re.sub(r"<<.*?>>", "[REDACTED:x]", text, flags=re.DOTALL)
    found = aligned(text, hidden)
    assert found.count("\n") == text.count("\n")
    for line, shown in zip(text.split("\n"), found.split("\n"), strict=True):
        assert shown == line or "[REDACTED:x]" in shown or "[not shown" in shown


@pytest.mark.requirement("R-11")
def test_control_characters_are_made_visible(call: Calls, root: Path) -> None:
    put(root, "a.txt", "\x1b[31mred\x1b[0m\x07 \u202eabc\ttab\n")
    assert call.good("read", path="a.txt").endswith("1| \ufffd[31mred\ufffd[0m\ufffd \ufffdabc\ttab")
    text = call.refused("edit_file", path="a.txt", edits=edits(("\ufffd[31mred", "x")))
    assert "name the lines instead" in text
    call.good("edit_file", path="a.txt", edits=[{"first": 1, "last": 1, "new": "red"}])
