"""How files are opened, locked and told apart, whatever the system."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from clew.system import NotRegular, Way, is_at, open_file, open_folder, open_regular, tries, try_lock, wait_for_lock

HOLDER = """
import sys
from pathlib import Path
from clew.system import open_file, try_lock

print(try_lock(open_file(Path(sys.argv[1]), "make")), flush=True)
sys.stdin.read()
"""
WAYS: tuple[Way, ...] = get_args(Way)


def test_a_lock_keeps_another_process_out_until_the_one_that_holds_it_is_dead(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        descriptor = open_file(path, "make")
        try:
            assert not try_lock(descriptor)
            assert not wait_for_lock(descriptor, 0.01)
            holder.kill()
            holder.wait()
            assert wait_for_lock(descriptor, 0)
        finally:
            os.close(descriptor)


def test_a_lock_holds_within_a_process_too_and_ends_with_its_descriptor(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for opened in (lambda: open_file(tmp_path / "lock", "make"), lambda: open_folder(tmp_path / "folder")):
        one, other = opened(), opened()
        assert wait_for_lock(one)
        assert not wait_for_lock(other, 0)
        os.close(one)
        assert wait_for_lock(other)
        os.close(other)


def test_there_is_one_turn_where_there_is_no_time() -> None:
    assert len(list(tries(0))) == 1
    assert len(list(tries(0.01))) > 1


def test_a_file_that_was_replaced_or_deleted_is_not_at_its_path_any_more(tmp_path: Path) -> None:
    path, link = tmp_path / "a", tmp_path / "link"
    link.symlink_to(path)
    descriptor = open_file(path, "make")
    try:
        assert is_at(descriptor, path)
        assert is_at(descriptor, link)
        (tmp_path / "b").write_text("another")
        os.replace(tmp_path / "b", path)
        assert not is_at(descriptor, path)
        path.unlink()
        assert not is_at(descriptor, path)
    finally:
        os.close(descriptor)


def test_nobody_waits_for_a_pipe_and_nothing_but_a_file_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for other in (tmp_path / "pipe", tmp_path):
        with pytest.raises(NotRegular):
            open_regular(other)
    for way in ("read", "change", "make", "append"):
        os.close(open_file(tmp_path / "pipe", way))


@pytest.mark.parametrize("way", WAYS)
def test_a_link_is_opened_only_where_it_is_followed(tmp_path: Path, way: Way) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(OSError) as caught:
        open_file(tmp_path / "link", way)
    assert caught.value.errno == (errno.EEXIST if way == "new" else errno.ELOOP)
    assert (tmp_path / "file").read_text() == "kept"
    if way != "new":
        os.close(open_file(tmp_path / "link", way, follow=True))
        assert (tmp_path / "file").read_text() == ("" if way == "empty" else "kept")


@pytest.mark.parametrize("way", WAYS)
def test_a_file_is_made_where_the_way_makes_one_for_this_user_alone(tmp_path: Path, way: Way) -> None:
    path = tmp_path / "file"
    if way in ("read", "change"):
        with pytest.raises(FileNotFoundError):
            open_file(path, way)
        return
    descriptor = open_file(path, way)
    assert not os.get_inheritable(descriptor)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    os.close(descriptor)


def test_what_is_appended_goes_to_the_end_wherever_the_file_was_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"one\n")
    descriptor = open_file(tmp_path / "file", "append")
    assert os.read(descriptor, 2) == b"on"
    os.write(descriptor, b"two\r\n")
    os.close(descriptor)
    with open_regular(tmp_path / "file") as file:
        assert file.read() == b"one\ntwo\r\n"
