"""Entries of MCP servers, their variables, and names of their tools."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.agent.servers import ServerEntry, entry_of, server_names, tool_names
from clew.errors import ConfigError

NAMES = st.lists(st.text(alphabet="ab_-. é\x1b", max_size=80), max_size=12)


@given(NAMES, NAMES)
def test_names_of_tools_are_taken_by_every_provider_and_each_means_one_tool(
    servers: list[str], tools: list[str]
) -> None:
    distinct = list(dict.fromkeys(servers))
    shorts = server_names(distinct)
    assert len(set(shorts.values())) == len(distinct)
    made = [name for short in shorts.values() for name in tool_names(short, tools).values()]
    assert len(made) == len(set(made)) == len(distinct) * len(set(tools))
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in made)


@given(NAMES)
def test_names_do_not_depend_on_the_order_in_which_a_server_tells_its_tools(tools: list[str]) -> None:
    assert tool_names("x", tools) == tool_names("x", reversed(tools))


def test_a_plain_name_stays_as_it_is_whatever_else_there_is() -> None:
    names = tool_names("github", ["list.issues", "list_issues", "list issues"])
    assert names["list_issues"] == "mcp__github__list_issues"
    assert re.fullmatch("mcp__github__list_issues_[0-9a-f]{6}", names["list.issues"])


def test_a_variable_has_its_value_or_its_default_or_is_missed() -> None:
    entry = ServerEntry("x", "${A}", ("${B:-b c}", "$A ${not a name}"), {"K": "${A}-${EMPTY:-e}${SET}"})
    found = entry.expanded({"A": "${B:-never twice}", "EMPTY": "", "SET": ""})
    assert found.command == "${B:-never twice}"
    assert found.args == ("b c", "$A ${not a name}")
    assert found.env == {"K": "${B:-never twice}-e"}
    with pytest.raises(ConfigError, match="the variable A is not set"):
        entry.expanded({})


@pytest.mark.requirement("Q-46")
def test_each_part_of_an_entry_counts_for_a_yes_and_so_does_the_workspace() -> None:
    whole = {"command": "a", "args": ["b"], "env": {"c": "d"}}
    others = [
        {**whole, "command": "b"}, {**whole, "args": ["b", ""]}, {**whole, "args": ["b "]}, {**whole, "env": {"c": ""}},
        {**whole, "env": {}}, {"url": "http://a"}, {"url": "http://a", "type": "sse"},
        {"url": "http://a", "headers": {"c": "d"}},
    ]  # fmt: skip
    digests = [entry_of("x", one).digest("/w") for one in (whole, *others)]
    digests += [entry_of("y", whole).digest("/w"), entry_of("x", whole).digest("/v")]
    assert len(set(digests)) == len(digests)
    assert entry_of("x", {**whole, "description": "new"}).digest("/w") == digests[0]
    assert entry_of("x", {**whole, "env": {"c": "d"}}).digest("/w") == digests[0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["x"], "a server is written as keys with values"),
        ({}, "either a `command` or a `url`"),
        ({"command": "x", "url": "http://a"}, "either a `command` or a `url`"),
        ({"command": 3}, "`command` must be a text"),
        ({"command": "x\0"}, "`command` must be a text"),
        ({"command": "x", "args": [{}]}, "`args` must be a list of texts"),
        ({"command": "x", "env": ["A=b"]}, "`env` must be a table of names and texts"),
        ({"command": "x", "env": {"A=B": "c"}}, "`env` must be a table of names and texts"),
        ({"url": "http://a", "headers": {"A\nB": "c"}}, "`headers` must be a table of names and texts"),
        ({"command": "x", "enabled": "no"}, "`enabled` must be true or false"),
        ({"url": "http://a", "type": "stdio"}, "`type` cannot be `stdio` here"),
        ({"url": "http://a", "type": "carrier pigeon"}, "`type` cannot be `carrier pigeon` here"),
    ],
)
def test_what_is_wrong_with_an_entry_is_said(given: object, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        entry_of("x", given)


def test_entries_of_other_clients_are_understood() -> None:
    assert not entry_of("x", {"command": "a", "disabled": True, "autoApprove": []}).enabled
    assert entry_of("x", {"url": "http://a", "type": "streamable-http"}).transport == "http"
    assert entry_of("x", {"command": "a", "args": [8080, True], "env": {"N": 1}}).args == ("8080", "true")
