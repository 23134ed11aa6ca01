"""What bash runs where nobody would look for a command: callbacks, subscripts, prompts, and files that variables name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ._git import runs_something
from ._words import NOBODY_KNOWS, Word

# Variables whose value is run by the program that they are set for.
_RUN = frozenset(
    "GIT_SSH_COMMAND GIT_SSH GIT_PAGER PAGER GIT_EDITOR EDITOR VISUAL GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF GIT_ASKPASS"
    " GIT_PROXY_COMMAND PROMPT_COMMAND RSYNC_RSH CVS_RSH MANPAGER BROWSER".split()
)
# A file which bash reads before anything else.
_SOURCED = "BASH_ENV"
_PROMPT = re.compile(r"PS[0-4]")
_GIT_SETTING = re.compile(r"GIT_CONFIG_KEY_\d+")
_SUBSTITUTION = re.compile(r"\$\(|`")
# `x['$(ls)']` is run where a builtin takes the word for a variable.
_SUBSCRIPT = re.compile(r"\w\[[^\]]*(?:\$\(|`)")
_EVALUATING = frozenset("let declare typeset local readonly export unset read mapfile readarray".split())
_EVALUATING_FOR = {"test": "-v", "[": "-v", "printf": "-v", "wait": "-p"}

_FILLING = frozenset("read mapfile readarray getopts".split())
# After these nobody knows any variable.
_MEDDLING = frozenset("eval source .".split())

CALLBACKS = dict.fromkeys(("compgen", "complete", "mapfile", "readarray"), "-C")


def text_of_variable(assignment: str) -> str | None:
    """The shell text that an assignment has run; None where it has nothing run."""
    name, _, value = assignment.partition("=")
    name = name.removesuffix("+")
    if name in _RUN:
        # Once for the quotes around it, and once for what is in them.
        return f"eval {value}"
    if name == _SOURCED and value:
        return f"source {value}"
    return f"eval : {value}" if _PROMPT.fullmatch(name) and _SUBSTITUTION.search(value) else None


def hides_a_setting(assignment: str) -> bool:
    """Whether a variable sets something of git's by which git starts a program."""
    name, _, value = assignment.partition("=")
    if _GIT_SETTING.fullmatch(name):
        return runs_something(value.strip("'\"")) or bool(re.search(r"[$`\\]", value))
    return name == "GIT_CONFIG_PARAMETERS"


def hides_in_subscript(words: Sequence[Word]) -> bool:
    """Whether a builtin runs what stands in the brackets of one of its words, whatever the quotes."""
    name = words[0].text
    option = _EVALUATING_FOR.get(name)
    if name not in _EVALUATING and (option is None or all(word.text != option for word in words)):
        return False
    return any(has_subscript(word.text) for word in words[1:])


def has_subscript(text: str) -> bool:
    """Whether a text has a substitution in brackets."""
    return _SUBSCRIPT.search(text) is not None


def callbacks(name: str, words: Sequence[Word]) -> Iterator[Word]:
    """The shell texts that a builtin is given to call."""
    option = CALLBACKS[name]
    for place, word in enumerate(words):
        if word.text == option:
            yield from words[place + 1 : place + 2]
        elif word.text.startswith(option):
            yield Word(word.text.removeprefix(option), word.splits)


def filled_by(words: list[str]) -> Iterator[tuple[str, None]]:
    """The variables that a command gives a value that only it knows."""
    name, *rest = words or [""]
    if name in _MEDDLING:
        yield NOBODY_KNOWS, None
    elif name in _FILLING or (name == "printf" and "-v" in rest):
        yield from ((word, None) for word in rest)
