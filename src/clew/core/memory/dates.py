"""Days that a text speaks of: dates, parts of dates, and words like "yesterday" or 上周 seen from a given day.

A span is a pair of days, both included. Words that say no more than roughly when give wide spans.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

Span = tuple[date, date]

_MONTHS = {name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_ENGLISH = re.compile(
    rf"(?:\b(?P<before>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?\b{_MONTH}\b\.?"
    r"(?:\s+(?P<after>\d{1,2})(?:st|nd|rd|th)?\b(?!:))?(?:,?\s+(?:of\s+)?(?P<year>(?:19|20)\d\d)\b)?"
)
_MAY_IS_A_MONTH = re.compile(r"\b(?:in|of|during|since|until|on|early|late|mid|last|next)[\s-]+$")
_ISO = re.compile(r"\b((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?\b")
_YEAR = re.compile(r"(?<![\w.-])((?:19|20)\d\d)(?![\w年-])", re.ASCII)
_CHINESE = re.compile(r"(?:(?P<year>(?:19|20)\d\d)\s*年)?\s*(?P<month>\d{1,2})\s*月(?:\s*(?P<day>\d{1,2})\s*[日号])?")
_CHINESE_YEAR = re.compile(r"((?:19|20)\d\d)\s*年(?!\s*\d{1,2}\s*月)")

# From and to, in days from the day of the text.
_WORDS: dict[str, tuple[int, int]] = {
    "yesterday": (-1, -1), "last night": (-1, -1), "today": (0, 0), "tonight": (0, 0), "this morning": (0, 0),
    "tomorrow": (1, 1), "last week": (-13, -3), "last weekend": (-9, -1), "this week": (-3, 3), "weekend": (-8, 7),
    "next week": (3, 13), "recently": (-14, 0), "lately": (-14, 0), "the other day": (-7, -1), "just": (-3, 0),
    "昨天": (-1, -1), "昨晚": (-1, -1), "前天": (-2, -2), "今天": (0, 0), "今早": (0, 0), "明天": (1, 1),
    "后天": (2, 2), "上周": (-13, -3), "上星期": (-13, -3), "这周": (-3, 3), "本周": (-3, 3), "下周": (3, 13),
    "最近": (-14, 0), "前几天": (-7, -1), "周末": (-8, 7),
}  # fmt: skip
_WORD = re.compile(
    "|".join(rf"\b{word}\b" if word.isascii() else word for word in sorted(_WORDS, key=lambda word: (-len(word), word)))
)
_MONTH_WORD = re.compile(r"\b(last|this|next) (month|year)\b|(上|这|本|下)个?(月)|(去|今|明)(年)")
_STEP = {"last": -1, "上": -1, "去": -1, "this": 0, "这": 0, "本": 0, "今": 0, "next": 1, "下": 1, "明": 1}
_NUMBERS = {
    word: number
    for number, words in enumerate(
        ("", "a|an|one|一", "two|couple|两|二", "three|few|三|几", "four|四", "five|五", "six|六", "seven|七",
         "eight|八", "nine|九", "ten|十")
    )
    for word in words.split("|")
}  # fmt: skip
_UNITS = {"day": 1, "天": 1, "week": 7, "周": 7, "星期": 7, "month": 30, "月": 30, "year": 365, "年": 365}
_AGO = re.compile(
    r"\b(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|couple|few)(?: of)? (day|week|month|year)s?"
    r" (?:ago|back)\b|(\d{1,3}|[一两二三四五六七八九十几])个?(天|周|星期|月|年)(?:之|以)?前"
)
_WEEKDAYS = {name: number for number, name in enumerate("mon tue wed thu fri sat sun".split())}
_WEEKDAY = re.compile(r"\b(mon|tues|wednes|thurs|fri|satur|sun)day\b")
_ASKS_WHEN = re.compile(
    r"\b(?:when|how long|how recently|(?:what|which) (?:day|date|year|month|week|time|weekday))\b"
    r"|什么时候|何时|哪天|哪一天|哪年|几月|几号|多久|什么时间"
)
_TELLS_WHEN = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|this (?:week|month|year|morning|summer|winter|spring)"
    r"|recently|lately|since|just|the other day"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|weekend|weeks?|months?|days|years?|january|february"
    r"|march|april|june|july|august|september|october|november|december|(?:19|20)\d\d|\d+(?:st|nd|rd|th))\b"
    r"|\b\d\d?:\d\d\b|昨天|今天|明天|前天|上周|下周|上个?月|去年|今年|最近|之前|周末|\d[年月日号]|星期"
)


def asks_when(question: str) -> bool:
    """Whether a question wants a time for an answer."""
    return _ASKS_WHEN.search(question.casefold()) is not None


def tells_when(text: str) -> bool:
    """Whether a text holds words of time."""
    return _TELLS_WHEN.search(text.casefold()) is not None


def named_days(text: str, seen_from: date | None = None) -> tuple[Span, ...]:
    """Spans of the dates that a text names, in order of appearance.

    A date without a year lies in the year of `seen_from`; without that day, years 1900 to 2099 all may be meant: see
    `partial_days`. Dates that no calendar has are left out.
    """
    lower = text.casefold()
    year = seen_from.year if seen_from else None
    return tuple(span for part in _parts(lower) if (span := _span(part[0] or year, part[1], part[2])))


def partial_days(text: str, years: range) -> tuple[Span, ...]:
    """Like `named_days`, a date without a year being meant in each of `years`."""
    found: list[Span] = []
    for year, month, day in _parts(text.casefold()):
        for one in [year] if year else years:
            if span := _span(one, month, day):
                found.append(span)
    return tuple(found)


def spoken_days(text: str, day: date) -> tuple[Span, ...]:
    """Spans of the words that place something in time as seen from `day`, and of dates named beside them."""
    lower = text.casefold()
    found = [_around(day, *_WORDS[match[0]]) for match in _WORD.finditer(lower)]
    for match in _MONTH_WORD.finditer(lower):
        word, unit = next((a, b) for a, b in ((match[1], match[2]), (match[3], match[4]), (match[5], match[6])) if a)
        step = _STEP[word]
        months = day.year * 12 + day.month - 1 + step
        of_month = unit in ("month", "月")
        span = _span(months // 12, months % 12 + 1, None) if of_month else _span(day.year + step, None, None)
        found += [span] if span else []
    for match in _AGO.finditer(lower):
        number, unit = (match[1], match[2]) if match[1] else (match[3], match[4])
        count = int(number) if number.isdecimal() and number.isascii() else _NUMBERS[number]
        days = count * _UNITS[unit]
        found.append(_around(day, -days - _UNITS[unit] // 3, -days + _UNITS[unit] // 3))
    for match in _WEEKDAY.finditer(lower):
        back = (day.weekday() - _WEEKDAYS[match[1][:3]]) % 7 or 7
        found.append(_around(day, -back, -back))
    found += named_days(lower, day)
    return tuple(found)


def overlap(one: Span, other: Span) -> bool:
    """Whether two spans share a day."""
    return one[0] <= other[1] and other[0] <= one[1]


def _around(day: date, first: int, last: int) -> Span:
    # Far years of a damaged date must not end a search.
    try:
        return day + timedelta(first), day + timedelta(last)
    except OverflowError:
        return day, day


def _parts(lower: str) -> Iterator[tuple[int | None, int | None, int | None]]:
    """(year, month, day) of each date, what is not said as None."""
    for match in _ISO.finditer(lower):
        yield int(match[1]), int(match[2]), int(match[3]) if match[3] else None
    said_year = False
    for match in _ENGLISH.finditer(lower):
        day = match["before"] or match["after"]
        bare = not day and not match["year"]
        also_a_word = match["month"] in ("may", "march", "mar")
        if also_a_word and bare and not _MAY_IS_A_MONTH.search(lower[: match.start("month")]):
            continue
        said_year = said_year or match["year"] is not None
        yield (int(match["year"]) if match["year"] else None), _MONTHS[match["month"][:3]], int(day) if day else None
    for match in _CHINESE.finditer(lower):
        said_year = said_year or match["year"] is not None
        yield (
            int(match["year"]) if match["year"] else None,
            int(match["month"]),
            int(match["day"]) if match["day"] else None,
        )
    for match in _CHINESE_YEAR.finditer(lower):
        yield int(match[1]), None, None
    if not said_year:
        for match in _YEAR.finditer(lower):
            yield int(match[1]), None, None


def _span(year: int | None, month: int | None, day: int | None) -> Span | None:
    if year is None:
        return None
    try:
        if month is None:
            return date(year, 1, 1), date(year, 12, 31)
        if day is None:
            first = date(year, month, 1)
            return first, date(year + month // 12, month % 12 + 1, 1) - timedelta(1)
        return date(year, month, day), date(year, month, day)
    except (ValueError, OverflowError):
        return None
