"""The words of a described agent: text with holes, and what fills them.

A word is one argument, whatever fills its holes: nothing is split or quoted. A word with a hole for which there is no
value is left out; words in a list of their own are left out together. `{{name}}` is the text `{name}`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Literal

Word = str | list[str]

HOLES = (
    "prompt",
    "prompt_file",
    "system",
    "system_file",
    "model",
    "session",
    "new_session",
    "turns",
    "budget_usd",
    "mode",
)
# What an agent must not miss: nothing else may decide whether it is left out.
_TEXTS = frozenset({"prompt", "prompt_file", "system", "system_file"})
_HOLE = re.compile(r"\{\{(?P<literal>[a-z_]+)\}\}|\{(?P<name>[a-z_]+)\}")
MODE = "{mode}"


class File(IntEnum):
    """A text that an agent is given as a file, by the descriptor that it is open on."""

    PROMPT = 8
    SYSTEM = 9


Part = str | File
Filled = tuple[Part, ...]


def names_of(text: str) -> set[str]:
    """The holes of a word."""
    return {found["name"] for found in _HOLE.finditer(text) if found["name"]}


def names_of_words(words: Iterable[Word]) -> set[str]:
    """The holes of a whole line of words."""
    return {name for word in words for text in _texts(word) for name in names_of(text)}


def names_of_env(env: Mapping[str, str]) -> set[str]:
    """The holes of variables."""
    return {name for value in env.values() for name in names_of(value)}


def fill_words(words: Iterable[Word], values: Mapping[str, Part], mode: Sequence[str]) -> list[Filled]:
    """The words with their holes filled, without those that have nothing to be filled with."""
    filled: list[Filled] = []
    for word in words:
        if word == MODE:
            filled += [(each,) for each in mode]
        elif names_of_words([word]) <= values.keys():
            filled += [fill(text, values) for text in _texts(word)]
    return filled


def fill_env(env: Mapping[str, str], values: Mapping[str, Part]) -> dict[str, Filled]:
    """The variables with their holes filled, without those that have nothing to be filled with."""
    return {name: fill(value, values) for name, value in env.items() if names_of(value) <= values.keys()}


def fill(text: str, values: Mapping[str, Part]) -> Filled:
    """One word with its holes filled: text, and places where the path of a file stands."""
    parts: list[Part] = []
    position = 0
    for found in _HOLE.finditer(text):
        hole = f"{{{found['literal']}}}" if found["literal"] else values[found["name"]]
        parts += [text[position : found.start()], hole]
        position = found.end()
    return tuple(part for part in (*parts, text[position:]) if part != "")


def check_argv(key: str, words: Sequence[Word]) -> None:
    """Refuse words that do not name a program, or have holes that nothing fills."""
    first = words[0] if words else ""
    if not isinstance(first, str) or not first.strip() or names_of(first):
        raise ValueError(f"`{key}` begins with the program to start, as one plain word")
    for word in words:
        _check_holes(key, names_of_words([word]), is_alone=word == MODE)


def check_env(env: Mapping[str, str]) -> None:
    """Refuse variables with holes that nothing fills."""
    for name, value in env.items():
        _check_holes(f"env.{name}", names_of(value), is_alone=False)


def check_way_in(
    key: str, words: Sequence[Word], env: Mapping[str, str], stdin: Literal["prompt", "none"] | None
) -> None:
    """Refuse words by which an agent would never see its prompt."""
    names = names_of_words(words) | names_of_env(env)
    if stdin == "none" and not names & {"prompt", "prompt_file"}:
        raise ValueError(
            f"the agent would not see its prompt: put {{prompt}} or {{prompt_file}} into `{key}`, or leave `stdin` out"
        )


def _check_holes(key: str, names: set[str], *, is_alone: bool) -> None:
    for name in sorted(names - set(HOLES)):
        nearest = difflib.get_close_matches(name, HOLES, n=1)
        advice = f"did you mean {{{nearest[0]}}}?" if nearest else f"there are {', '.join(HOLES)}"
        raise ValueError(f"nothing fills {{{name}}} in `{key}`; {advice} (as a text, write {{{{{name}}}}})")
    if "mode" in names and not is_alone:
        raise ValueError(f"{MODE} in `{key}` stands for several words, and must be a word of its own")
    if names & _TEXTS and len(names) > 1:
        held = min(names & _TEXTS)
        raise ValueError(
            f"{{{held}}} in `{key}` must not be left out because another value is missing: give it words of its own"
        )


def _texts(word: Word) -> Sequence[str]:
    return [word] if isinstance(word, str) else word
