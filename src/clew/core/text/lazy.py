"""Patterns that are compiled when they are first used: a process that lives for one message needs few of them."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


def lazy_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` gives, but compiled at the first use of any method or attribute.

    A mistake in the source shows then, as re.error. Functions of the module `re` take no such pattern.
    """
    return cast("re.Pattern[AnyStr]", _Lazy(source, flags))


class _Lazy:
    """Stands for a pattern. What is asked of it is kept on it, so that only the first call costs more."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        # `re.compile` keeps only so many patterns, hence the own copy.
        compiled = self.__dict__.get("_compiled")
        if compiled is None:
            compiled = self.__dict__["_compiled"] = re.compile(self._source, self._flags)
        found = self.__dict__[name] = getattr(compiled, name)
        return found
