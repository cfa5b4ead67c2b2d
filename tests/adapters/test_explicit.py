"""What the user gives is given whole, or a clear error says why not."""

from __future__ import annotations

import io
import os
import socket
from pathlib import Path

import pytest

from clew.adapters.sources.explicit import Explicit
from clew.adapters.sources.files import WorkTree
from clew.core.context.fragment import Fragment
from clew.errors import NotFound, OverBudget, Refused, UsageError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("a = 1\n", encoding="utf-8")
    (folder / "src" / "b.txt").write_text("b\n", encoding="utf-8")
    (folder / "src" / "deep" / "c.py").write_text("c = 3\n", encoding="utf-8")
    return folder


def given(
    root: Path, *names: str, cwd: Path | None = None, stdin: bytes | None = None, limit: int = 1 << 20
) -> Explicit:
    stream = None if stdin is None else io.BytesIO(stdin)
    return Explicit(names, cwd=cwd or root, root=root, tree=WorkTree(root), stdin=stream, most_bytes=limit)


def refs(source: Explicit) -> list[str]:
    return [fragment.ref for fragment in source.attach().fragments]


@pytest.mark.requirement("P-01")
@pytest.mark.requirement("P-04")
def test_a_named_file_is_an_explicit_anchor_with_its_whole_text(root: Path) -> None:
    (fragment,) = given(root, "src/a.py").collect("question")
    assert fragment == Fragment(
        "explicit",
        "src/a.py",
        "a = 1",
        100,
        anchor=True,
        explicit=True,
        line="src/a.py, 1 lines, 6 bytes",
        group="src/a.py",
    )


@pytest.mark.requirement("P-01")
def test_standard_input_is_explicit_and_comes_first_or_where_the_dash_stands(root: Path) -> None:
    source = given(root, "src/a.py", stdin=b"error: boom\n")
    assert refs(source) == ["stdin", "src/a.py"]
    assert source.attach().fragments[0].text == "error: boom"
    assert source.attach().fragments[0].explicit
    assert refs(given(root, "src/a.py", "-", stdin=b"x")) == ["src/a.py", "stdin"]
    assert refs(given(root, "/dev/stdin", stdin=b"x")) == ["stdin"]
    assert refs(given(root, stdin=b" \n")) == []
    with pytest.raises(UsageError, match="not given"):
        given(root, "-").attach()


@pytest.mark.requirement("P-04")
def test_an_empty_name_does_not_stand_for_the_whole_folder(root: Path) -> None:
    for name in ("", " "):
        with pytest.raises(UsageError, match="a file name is empty"):
            given(root, name).attach()


def test_names_are_relative_to_the_current_folder_and_shown_from_the_root(root: Path) -> None:
    assert refs(given(root, "a.py", "../src/b.txt", "./a.py", cwd=root / "src")) == ["src/a.py", "src/b.txt"]


def test_a_folder_gives_its_files_by_the_ignore_rules(root: Path) -> None:
    (root / ".gitignore").write_text("*.log\n", encoding="utf-8")
    (root / "src" / "x.log").write_text("log\n", encoding="utf-8")
    (root / "src" / "image.png").write_bytes(b"\x89PNG\0\0")
    (root / "src" / ".env").write_text("A=b\n", encoding="utf-8")
    source = given(root, "src")
    assert refs(source) == ["src/a.py", "src/b.txt", "src/deep/c.py"]
    notices = source.attach().notices
    assert any("src/image.png: left out, it is binary" in notice for notice in notices)
    assert any("src/.env: left out" in notice for notice in notices)
    assert refs(given(root, "src/x.log")) == ["src/x.log"]
    assert set(refs(given(root, "."))) >= {"src/a.py", "src/deep/c.py"}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("src/*.py", ["src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/deep/c.py"]),
        ("**/*.py", ["src/a.py", "src/deep/c.py"]),
        ("src/[ab].*", ["src/a.py", "src/b.txt"]),
        ("src/[!a].*", ["src/b.txt"]),
        ("src/?.txt", ["src/b.txt"]),
        ("./src/*.txt", ["src/b.txt"]),
    ],
)
def test_a_pattern_that_no_shell_expanded_is_expanded(root: Path, pattern: str, expected: list[str]) -> None:
    assert refs(given(root, pattern)) == expected


def test_a_pattern_starts_in_the_current_folder(root: Path) -> None:
    assert refs(given(root, "*.py", cwd=root / "src")) == ["src/a.py"]
    with pytest.raises(NotFound, match="matches no file"):
        given(root, "*.rb").attach()
    for outside in ("../*", "/etc/*"):
        with pytest.raises(Refused, match="leads out"):
            given(root, outside).attach()


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(root: Path) -> None:
    (root / "[id].tsx").write_text("x\n", encoding="utf-8")
    assert refs(given(root, "[id].tsx")) == ["[id].tsx"]


def test_a_url_is_refused_with_a_way_out(root: Path) -> None:
    with pytest.raises(UsageError, match="fetches nothing") as caught:
        given(root, "https://example.com/x").attach()
    assert "curl" in caught.value.hint


def test_a_missing_file_names_the_nearest(root: Path) -> None:
    with pytest.raises(NotFound, match=r"no file `src/a\.pi`") as caught:
        given(root, "src/a.pi").attach()
    assert "`src/a.py`" in caught.value.hint
    for name in ("nowhere/x", "a\0b", "x" * 5000, "src/a.py/x"):
        with pytest.raises(NotFound):
            given(root, name).attach()


def test_binary_content_is_refused(root: Path) -> None:
    (root / "x.bin").write_bytes(b"ab\0cd")
    with pytest.raises(UsageError, match="binary"):
        given(root, "x.bin").attach()
    with pytest.raises(UsageError, match="binary"):
        given(root, stdin=b"\x1f\x8b\0\0").attach()


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(root: Path) -> None:
    (root / "src" / "a.py").chmod(0)
    with pytest.raises(Refused, match="permission"):
        given(root, "src/a.py").attach()


@pytest.mark.requirement("Q-46")
@pytest.mark.timeout(20)
def test_pipes_devices_sockets_and_loops_are_refused_at_once(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "loop").symlink_to("loop")
    (root / "to-device").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(root)
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)
    for name, says in {
        "pipe": "named pipe",
        "loop": "circle",
        "to-device": "device",
        "/dev/zero": "device",
        "socket": "socket",
    }.items():
        with pytest.raises(Refused, match=says):
            given(root, name).attach()
    assert refs(given(root, "src")) == ["src/a.py", "src/b.txt", "src/deep/c.py"]


def test_the_pipe_of_a_shell_substitution_is_read(root: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"from a command\n")
    os.close(writer)
    try:
        (fragment,) = given(root, f"/dev/fd/{reader}").attach().fragments
    finally:
        os.close(reader)
    assert fragment.text == "from a command"


@pytest.mark.requirement("Q-46")
def test_a_link_out_of_the_workspace_is_followed_only_when_it_is_named(root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "notes.txt").write_text("outside\n", encoding="utf-8")
    (root / "src" / "link.txt").symlink_to(outside / "notes.txt")
    (root / "src" / "linked").symlink_to(outside)
    named = given(root, "src/link.txt").attach().fragments
    assert [(fragment.ref, fragment.text) for fragment in named] == [("src/link.txt", "outside")]
    for name in ("src", "src/*", "**/*.txt"):
        assert all("outside" not in fragment.text for fragment in given(root, name).attach().fragments)
    with pytest.raises(Refused, match="outside of the workspace"):
        given(root, "src/linked").attach()
    assert refs(given(root, str(outside / "notes.txt"))) == [str(outside / "notes.txt")]


@pytest.mark.requirement("Q-46")
def test_a_file_of_secrets_is_redacted_and_the_user_is_told(root: Path) -> None:
    (root / ".env").write_text("NAME=abcdef\nPASSWORD=hunter22\nPORT=80\n", encoding="utf-8")
    (root / "harmless.txt").symlink_to(".env")
    for name in (".env", "harmless.txt"):
        attached = given(root, name).attach()
        (fragment,) = attached.fragments
        assert "hunter22" not in fragment.text
        assert "abcdef" not in fragment.text
        assert "PORT=80" in fragment.text
        assert fragment.note == "redacted: 2 secrets"
        assert "2 were removed" in attached.notices[0]
    plain = Explicit([".env"], cwd=root, root=root, redact_secrets=False).attach()
    assert "hunter22" in plain.fragments[0].text


def test_an_ordinary_file_is_never_changed(root: Path) -> None:
    text = 'password = "hunter2hunter2"\r\n\tend  \n\n'
    (root / "code.py").write_bytes(text.encode())
    (fragment,) = given(root, "code.py").attach().fragments
    assert fragment.text == text.removesuffix("\n")


@pytest.mark.requirement("P-04")
def test_too_much_is_an_error_with_the_sizes(root: Path) -> None:
    (root / "big.txt").write_text("x" * 3000, encoding="utf-8")
    (root / "small.txt").write_text("x" * 10, encoding="utf-8")
    with pytest.raises(
        OverBudget, match=r"2\.9 KB, more than the 2\.0 KB.*big\.txt 2\.9 KB, small\.txt 10 bytes"
    ) as caught:
        given(root, "small.txt", "big.txt", limit=2048).attach()
    assert caught.value.exit_status == 2
    assert caught.value.hint
    assert refs(given(root, "small.txt", "big.txt", limit=3010)) == ["small.txt", "big.txt"]
    with pytest.raises(OverBudget):
        given(root, "small.txt", "big.txt", stdin=b"z", limit=3010).attach()


class _Endless(io.RawIOBase):
    """A stream without end that counts what was taken from it."""

    taken = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        assert 0 < size <= 1 << 20
        self.taken += size
        return b"x" * size


@pytest.mark.requirement("P-04")
@pytest.mark.requirement("Q-46")
def test_standard_input_without_end_is_read_up_to_the_limit(root: Path) -> None:
    endless = _Endless()
    source = Explicit([], cwd=root, root=root, stdin=endless, most_bytes=5_000_000)  # type: ignore[arg-type]
    with pytest.raises(OverBudget, match=r"more than the 4\.8 MB"):
        source.attach()
    assert endless.taken == 5_000_001


@pytest.mark.requirement("Q-46")
def test_a_huge_file_is_refused_by_its_size_and_not_read(root: Path) -> None:
    with (root / "huge.log").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OverBudget, match=r"huge\.log 1\.0 TB"):
        given(root, "huge.log").attach()


def test_pictures_in_a_folder_do_not_count(root: Path) -> None:
    for number in range(3):
        (root / "src" / f"{number}.png").write_bytes(b"\x89PNG\0" + b"x" * 900)
    assert refs(given(root, "src", limit=1000)) == ["src/a.py", "src/b.txt", "src/deep/c.py"]


@pytest.mark.parametrize(
    ("content", "text", "note"),
    [
        ("ä中".encode("utf-8-sig"), "ä中", ""),
        ("ä中".encode("utf-16"), "ä中", "read as UTF-16"),
        ("登录失败，请检查配置。\n".encode("gb18030"), "登录失败，请检查配置。", "read as GB 18030"),
        (b"caf\xe9 " + b"x" * 50, "caf\ufffd " + "x" * 50, "not UTF-8: 1 character replaced"),
        (b"", "", ""),
    ],
)
def test_other_encodings_are_read_and_said(root: Path, content: bytes, text: str, note: str) -> None:
    (root / "x.txt").write_bytes(content)
    (fragment,) = given(root, "x.txt").attach().fragments
    assert (fragment.text, fragment.note) == (text, note)


@pytest.mark.requirement("Q-46")
@pytest.mark.parametrize("name", ["new\nline", "bad\udcff", "-dash", "中文 x", "\u202egnp.txt", "\x1b[31m"])
def test_any_name_is_shown_on_one_harmless_line(root: Path, name: str) -> None:
    (root / name).write_text("x\n", encoding="utf-8")
    (fragment,) = given(root, name).attach().fragments
    assert fragment.text == "x"
    assert fragment.ref.isprintable()
    assert fragment.line.isprintable()


def test_a_second_collect_gives_the_same(root: Path) -> None:
    source = given(root, stdin=b"once")
    assert source.collect("a") == source.collect("b") != ()
