"""What makes two requests the same although they were made on different days, in different places."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_DAYS = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
_MONTHS = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:tember)?|"
    r"Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"

# In this order: what is inside of something larger comes after it.
_CHANGING: tuple[tuple[str, str], ...] = (
    (r"(?<![0-9a-fA-F])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9a-fA-F])", "<uuid>"),
    (rf"\b\d{{4}}-\d{{2}}-\d{{2}}(?:[T ]{_CLOCK}(?: ?(?:Z|UTC|[+-]\d{{2}}:?\d{{2}}))?)?", "<date>"),
    (rf"\b(?:{_DAYS},? )?{_MONTHS} \d{{1,2}},? (?:{_CLOCK} )?(?:[A-Z]{{3,4}} )?\d{{4}}\b", "<date>"),
    (rf"\b(?:{_DAYS},? )?\d{{1,2}} {_MONTHS} \d{{4}}(?: {_CLOCK}(?: [A-Z]{{3}}| [+-]\d{{4}})?)?", "<date>"),
    (rf"\b{_DAYS} {_MONTHS} +\d{{1,2}} {_CLOCK}(?: [A-Z]{{3,4}})?(?: \d{{4}})?", "<date>"),
    (rf"\b{_CLOCK}\b", "<time>"),
    (r"\b(toolu|call|msg|req|resp|chatcmpl|fc|rs|item|run|session|ses|thread|user)[_-](?=\w*\d)[A-Za-z0-9]{8,}", r"\1_<id>"),
    (r"(?:/private)?(?:/var/folders/\w+/\w+/T|/var/tmp|/tmp|/dev/shm)/[\w.@+-]+", "<temp>"),
    (r"\b(127\.0\.0\.1|localhost|\[::1\]):\d+", r"\1:<port>"),
    (r"\b(pid|PID)([ =:]+)\d+", r"\1\2<pid>"),
    (r"\b((?i:chunk|session|process|task) (?i:id))([:= ]+)\w+", r"\1\2<id>"),
    (r"\b(cch|cc_version)=[\w.]+", r"\1=<id>"),
    (r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,}\b", "<hex>"),
    (r"\b1[5-9]\d{8}(?:\.\d+|\d{3})?\b", "<time>"),
    (r"\b\d+(?:\.\d+)?( ?)(ms|s|secs?|seconds?)\b", r"<secs>\1\2"),
)  # fmt: skip
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple((re.compile(rule), name) for rule, name in _CHANGING)
_AROUND = 40
# A shorter path could be part of any word.
_SHORT = 5
_MOST_DIFFERENCES = 3


class Places:
    """Folders that are elsewhere each time, by the names that they have in a cassette.

    Agents also make names of folders out of whole paths (`-home-me-repo`); those count as the same place.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        names = {path: f"<{name}>" for path, name in places.items()}
        names |= {_as_name(path): f"<{name}-as-name>" for path, name in places.items() if len(path) > _SHORT}
        # The longest first: a folder may be inside of another one.
        self._names = sorted(names.items(), key=lambda place: -len(place[0]))

    def hide(self, text: str) -> str:
        for path, name in self._names:
            text = text.replace(path, name)
        return text

    def show(self, text: str) -> str:
        for path, name in self._names:
            text = text.replace(name, path)
        return text


def _as_name(path: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", path)


def normal(text: str) -> str:
    """A text without what changes from one run to the next. Doing it twice changes nothing."""
    for rule, name in _RULES:
        text = rule.sub(name, text)
    return text


def mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A value as JSON has them, with every text in it changed."""
    match value:
        case str():
            return change(value)
        case list():
            return [mapped(each, change) for each in value]
        case dict():
            return {change(name): mapped(each, change) for name, each in value.items()}
        case _:
            return value


def differences(recorded: Any, asked: Any) -> list[str]:
    """Where two values differ, the first few places, each as a sentence."""
    found: list[str] = []
    _compare(recorded, asked, "", found)
    more = len(found) - _MOST_DIFFERENCES
    return found[:_MOST_DIFFERENCES] + ([f"and {more} more"] if more > 0 else [])


def _compare(recorded: Any, asked: Any, where: str, found: list[str]) -> None:
    if recorded == asked:
        return
    match recorded, asked:
        case dict(), dict():
            for name in [*recorded, *(name for name in asked if name not in recorded)]:
                _compare_member(recorded, asked, name, f"{where}.{name}".lstrip("."), found)
        case list(), list():
            for index, (old, new) in enumerate(zip(recorded, asked, strict=False)):
                _compare(old, new, f"{where}[{index}]", found)
            if len(recorded) != len(asked):
                found.append(f"{where or 'the body'}: recorded {len(recorded)} items, asked {len(asked)}")
        case str(), str():
            found.append(f"{where or 'the body'}: {_parting(recorded, asked)}")
        case _:
            found.append(f"{where or 'the body'}: recorded {_short(recorded)}, asked {_short(asked)}")


def _compare_member(recorded: dict[str, Any], asked: dict[str, Any], name: str, where: str, found: list[str]) -> None:
    if name not in asked:
        found.append(f"{where}: recorded, and not asked")
    elif name not in recorded:
        found.append(f"{where}: asked, and not recorded")
    else:
        _compare(recorded[name], asked[name], where, found)


def _parting(recorded: str, asked: str) -> str:
    """Both texts around the first character that is not the same."""
    both = zip(recorded, asked, strict=False)
    at = next((index for index, (old, new) in enumerate(both) if old != new), min(len(recorded), len(asked)))
    start = max(0, at - _AROUND // 2)
    dots = "…" if start else ""
    return f"recorded {dots + recorded[start : at + _AROUND]!r}, asked {dots + asked[start : at + _AROUND]!r}"


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 2 * _AROUND else f"{shown[: 2 * _AROUND]}…"
