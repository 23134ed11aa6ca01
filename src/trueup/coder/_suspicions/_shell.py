"""Shell text that other scripts read into themselves: what ends there ends with them, and its functions are theirs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from ._languages import SHELL
from ._model import Suspicion
from ._reading import Reading
from ._rules import FLAG, apply, rule

_WHOEVER = "whoever reads it into a shell"
_RULES = (
    rule(
        "exit_call",
        f"ends {_WHOEVER} with success (`exit 0`), whatever is still to be tested",
        r"(?:^|[;&|{(]|\bthen\b|\bdo\b|\belse\b|\bbuiltin\b|\bcommand\b)[ \t]*exit(?:[ \t]+0)?[ \t]*(?=$|[;&|})#])",
        "exit",
        source=FLAG,
        test=FLAG,
    ),
    rule(
        "runner_patched",
        f"puts a function or an alias in place of a command by which {_WHOEVER} tells success from failure",
        r"(?:^|[;&|{(])[ \t]*(?:function[ \t]+)?(?:exit|test|\[|false|return|set|trap|diff|cmp|grep|kill)[ \t]*\([ \t]*\)"
        r"|(?:^|[;&|{(])[ \t]*function[ \t]+(?:exit|test|\[|false|return|set|trap|diff|cmp|grep)\b"
        r"|\balias[ \t]+(?:--[ \t]+)?['\"]?(?:\[|test|exit|false|set|diff|cmp)=",
        "exit", "test", "[", "false", "return", "set", "trap", "diff", "cmp", "grep", "kill",
        source=FLAG,
        test=FLAG,
    ),
    rule(
        "exit_call",
        f"decides with which status {_WHOEVER} ends (`trap … EXIT`)",
        r"\btrap[ \t]{1,9}[^\n]{0,100}\bexit\b[^\n]{0,60}[ \t](?:EXIT|ERR|0|USR1|DEBUG|RETURN)\b",
        "trap",
        source=FLAG,
        test=FLAG,
        view="code",
    ),
)  # fmt: skip


def look_at_shell(reading: Reading) -> Iterator[Suspicion]:
    """What is suspicious about a shell script that is not started but read."""
    if reading.language is SHELL and _is_read_by_others(reading):
        yield from apply(_RULES, reading)


def _is_read_by_others(reading: Reading) -> bool:
    sources = re.compile(
        rf"(?:^|[;&|])\s*(?:\.|source)\s[^\n;&|]*\b{re.escape(posixpath.basename(reading.path))}", re.MULTILINE
    )
    texts = (raw.decode(errors="replace") for raw in reading.around.standards.values())
    if any(sources.search(text) for text in texts):
        return True
    starts_itself = reading.raw.startswith(b"#!") or reading.is_executable or reading.is_script
    return not starts_itself and not reading.path.endswith((".bats", ".env", ".envrc"))
