"""What a question goes on from: a follow-up sees what was asked before, a question of its own does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.command import clew, commit, write

CLIENT = {
    "README.md": "# Courier\n\nSends requests.\n",
    "src/decoding.py": (
        '"""Decodes the bodies of responses."""\n\n\nclass BrotliDecoder:\n    """Decodes brotli responses."""\n\n'
        "    def decode(self, data):\n        return brotli_decompress(data)\n"
    ),
    "src/limits.py": (
        '"""Limits of a request."""\n\nDEFAULT_TIMEOUT_SECONDS = 5.0\n"""The default of the timeout."""\n\n\n'
        "def timeout_or_default(timeout=None):\n    return timeout or DEFAULT_TIMEOUT_SECONDS\n"
    ),
    "src/timing.py": (
        '"""Raises when the timeout of a read is over."""\n\n\ndef read_with_timeout(stream, timeout):\n'
        '    """Read, or raise ReadTimeout when the timeout is over."""\n    raise ReadTimeout(timeout)\n'
    ),
    "src/proxies.py": (
        '"""Sends requests through a proxy."""\n\n\ndef choose_proxy(url):\n    """The HTTP proxy for a URL."""\n'
    ),
    "src/cookies.py": '"""Persistence of cookies."""\n\n\ndef save_cookies(jar):\n    """Keep the cookie jar."""\n',
}
ENV = {"CLEW_THREAD": "t"}


@pytest.fixture
def courier(home: Path, tmp_path: Path) -> Path:
    """A small client in which each question has one file."""
    root = write(tmp_path / "courier", CLIENT)
    commit(root)
    return root


def ask(root: Path, question: str, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = clew("ask", "--json", *options, question, cwd=root, env=ENV).json
    return found


FOLLOWS = "follows up on the last exchange"


@pytest.mark.requirement("P-05", "P-06")
@pytest.mark.parametrize(
    ("question", "file"),
    [
        ("timeout default?", "limits"),
        ("HTTP proxy", "proxies"),
        ("cookie persistence", "cookies"),
        ("代理？", "proxies"),
    ],
)
def test_a_short_question_with_words_of_its_own_is_answered_as_if_nothing_had_been_asked(
    courier: Path, question: str, file: str
) -> None:
    alone = ask(courier, question, "--new")
    ask(courier, "how does it decode brotli responses?", "--new")
    after = ask(courier, question)
    assert after["answer"] == alone["answer"] and after["refs"][0].startswith(f"src/{file}.py")
    assert after["report"]["reason"] != FOLLOWS


@pytest.mark.requirement("P-05", "P-06")
@pytest.mark.parametrize(
    "question", ["and why?", "explain that", "where is it called?", "give me an example", "举个例子"]
)
def test_a_question_that_points_back_finds_what_was_spoken_of(courier: Path, question: str) -> None:
    ask(courier, "how does it decode brotli responses?", "--new")
    found = ask(courier, question)
    assert found["report"]["reason"] == FOLLOWS and found["refs"][0].startswith("src/decoding.py")


@pytest.mark.requirement("P-05")
@pytest.mark.parametrize("question", ["and its default?", "那默认值呢？"])
def test_the_words_of_a_follow_up_rule_and_what_it_follows_up_on_decides_between_equals(
    courier: Path, question: str
) -> None:
    write(courier, {"src/styles.py": 'DEFAULT_STYLE = "plain"\n"""The default of the style."""\n'})
    ask(courier, "how does a read raise the timeout?", "--new")
    ask(courier, "who catches a timeout?")
    found = ask(courier, question)
    assert found["report"]["reason"] == FOLLOWS and found["refs"][0].startswith("src/limits.py")


@pytest.mark.requirement("P-05")
def test_a_follow_up_of_a_follow_up_still_knows_what_all_of_them_are_about(courier: Path) -> None:
    ask(courier, "how does it decode brotli responses?", "--new")
    ask(courier, "and why?")
    assert ask(courier, "explain that")["refs"][0].startswith("src/decoding.py")


@pytest.mark.requirement("P-05", "P-06")
def test_a_follow_up_whose_mode_is_given_still_follows_up(courier: Path) -> None:
    ask(courier, "how does it decode brotli responses?", "--new")
    assert ask(courier, "and why?", "--mode", "rich")["refs"][0].startswith("src/decoding.py")


@pytest.mark.requirement("P-05", "P-15")
def test_a_question_about_something_that_is_not_here_is_no_follow_up(courier: Path) -> None:
    ask(courier, "how does it decode brotli responses?", "--new")
    found = ask(courier, "where is the kafka zookeeper?")
    assert (found["answer"], found["found"]) == ("", False)
