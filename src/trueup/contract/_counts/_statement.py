"""What a runner said about its tests, and a way to write down the lines it says it in."""

import re
from typing import NamedTuple


class Statement(NamedTuple):
    """Counts that a runner gave, and the stretch of text it speaks for."""

    runner: str
    start: int
    end: int
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    beside: int = 0


def whole_lines(pattern: str) -> re.Pattern[str]:
    """Compile a pattern that matches whole lines only, where `<n>` is a number and `<s>` are seconds.

    Runners print into the same text as hostile programs: keep repetitions bounded or unambiguous, so that no text
    costs more than linear time.
    """
    pattern = pattern.replace("<n>", "[0-9]{1,9}").replace("<s>", r"[0-9]{1,9}(?:\.[0-9]{1,20})?")
    return re.compile(f"(?m)^(?:{pattern})$")
