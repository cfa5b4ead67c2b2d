"""Questions about a project as a whole, and the files that by custom answer them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_THIS: Final = (
    r"(?:this|the|your|our) (?:project|repo(?:sitory)?|code ?base|code|package|library|tool|program|app(?:lication)?)"
)
_ZH_THIS: Final = r"(?:这|本|该|此)个?(?:项目|仓库|代码库|程序库|库|工具|程序|软件|包)"
_ABOUT: Final = re.compile(
    rf"\bwhat (?:does|do|is|are) {_THIS}(?: (?:do|about|for|good for|meant for|used for))?\s*[?.!]*\s*$"
    r"|\bwhat (?:is|'s) this(?: (?:about|for|all about))?\s*[?.!]*\s*$"
    rf"|\b(?:explain|describe|introduce|summari[sz]e) {_THIS}\b"
    rf"|\b(?:overview|summary|purpose|introduction|idea) (?:of|to|behind) {_THIS}\b"
    rf"|{_ZH_THIS}(?:是|主要|到底|究竟)*(?:干|做|用来做|用来干)(?:什么|啥|嘛)"
    rf"|{_ZH_THIS}(?:是|有)(?:什么|啥)(?:用|东西)?(?:的)?\s*[?？。]*\s*$"
    rf"|(?:介绍|概述|总结|讲解|说明)(?:一下)?{_ZH_THIS}|{_ZH_THIS}的?(?:简介|介绍|概览|用途|作用)",
    re.IGNORECASE,
)
_LIST: Final = r"(?:list|show|what are|which are)(?: me)?(?: all)?(?: of)?(?: the| its| our)?"
_NEEDS: Final = re.compile(
    rf"\b{_LIST} (?:\w+ )?dependencies\s*(?:[?.!]|$|of {_THIS})"
    rf"|\b(?:what|which) (?:\w+ )?(?:dependencies|packages|libraries)"
    rf" (?:does|do|are needed by|are used by) (?:it|{_THIS})"
    rf"|\bdependencies of {_THIS}"
    r"|(?:有|用了|需要)(?:哪些|什么)(?:第三方)?依赖|依赖(?:列表|清单)",
    re.IGNORECASE,
)
_LICENCE: Final = re.compile(
    rf"\b(?:what|which|under what|under which) licen[cs]e\b|\blicen[cs]e (?:of|is|does) (?:it|{_THIS})"
    r"|(?:什么|哪种|哪个)(?:开源)?(?:许可证|协议)",
    re.IGNORECASE,
)
_CUSTOMS: Final = (
    (_ABOUT, re.compile(r"(?:readme|about|index)(?:\.(?:md|markdown|rst|txt|adoc|org))?", re.IGNORECASE)),
    (_NEEDS, re.compile(
        r"pyproject\.toml|setup\.(?:cfg|py)|requirements[\w.-]*\.(?:txt|in)|package\.json|go\.mod|cargo\.toml|gemfile"
        r"|[\w-]+\.gemspec|pom\.xml|build\.gradle(?:\.kts)?|composer\.json|mix\.exs|[\w-]+\.csproj|environment\.ya?ml",
        re.IGNORECASE,
    )),
    (_LICENCE, re.compile(r"(?:licen[cs]e|copying|notice)[\w.-]*", re.IGNORECASE)),
)  # fmt: skip
MOST: Final = 2
"""Files that answer one question by custom."""


def landmarks(question: str, paths: Iterable[str]) -> tuple[str, ...]:
    """The files that answer a question about the whole, the nearest to the top first; mostly there are none."""
    names = [name for asks, name in _CUSTOMS if asks.search(question)]
    if not names:
        return ()
    found = [path for path in paths if any(name.fullmatch(path.rpartition("/")[2]) for name in names)]
    top = min((path.count("/") for path in found), default=0)
    # What lies deeper belongs to a part; a readme comes before an index, and a file of its own name before others.
    near = [path for path in found if path.count("/") == top]
    return tuple(sorted(near, key=lambda path: (not path.lower().startswith("readme"), len(path), path))[:MOST])
