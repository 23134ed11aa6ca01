"""What git starts for its caller: aliases, programs that its configuration names, commands that it runs again and again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ._words import UNKNOWN, Word

# Options in front of the subcommand that take the next word.
VALUED_OPTIONS = frozenset(
    "-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source".split()
)
_PROGRAM_SETTING = re.compile(
    r"core\.(pager|editor|sshcommand|fsmonitor|askpass|gitproxy)|sequence\.editor|credential\..*helper|gpg\..*program"
    r"|pager\..*|diff\.external|(diff|merge|filter|difftool|mergetool|interactive|web|browser|man)\..*"
    r"(command|textconv|driver|clean|smudge|process|cmd|difffilter)|uploadpack\.packobjectshook",
    re.IGNORECASE,
)
_FILTER = re.compile(r"--(env|tree|index|parent|msg|commit|tag-name)-filter")
# Subcommands with an option whose value is a shell text.
_TEXT_OPTIONS = {"rebase": ("-x", "--exec"), "difftool": ("-x", "--extcmd"), "grep": ("-O", "--open-files-in-pager")}


def git_texts(words: Sequence[Word]) -> Iterator[Word]:
    """The shell texts that `git` with these words runs."""
    settings, rest = _settings(words)
    name, behind = (rest[0].text, rest[1:]) if rest else ("", ())
    for setting, value in (*settings, *_configured(name, behind)):
        yield from _run_by(setting, value, behind if setting.lower() == f"alias.{name.lower()}" else ())
    if name in _TEXT_OPTIONS:
        yield from _values(behind, _TEXT_OPTIONS[name])
    elif name == "filter-branch":
        yield from (text for option, text in pairwise(behind) if _FILTER.fullmatch(option.text))
    elif name == "submodule":
        yield from _after(behind, "foreach")
    elif name == "bisect":
        yield from _after(behind, "run")


def _settings(words: Sequence[Word]) -> tuple[list[tuple[str, str]], Sequence[Word]]:
    """The settings of `-c`, and the words from the subcommand on."""
    found: list[tuple[str, str]] = []
    while words and words[0].text.startswith("-"):
        option, attached, value = words[0].text.partition("=")
        if option == "--config-env":
            # What the variable holds that is named behind it nobody knows.
            found.append(
                ((value if attached else "".join(word.text for word in words[1:2])).partition("=")[0], UNKNOWN)
            )
        elif option == "-c" and len(words) > 1:
            name, _, value = words[1].text.partition("=")
            found.append((name, value))
        words = words[2:] if words[0].text in VALUED_OPTIONS else words[1:]
    return found, words


def _configured(subcommand: str, words: Sequence[Word]) -> Iterator[tuple[str, str]]:
    """`git config NAME VALUE`, with options and `set` in front."""
    if subcommand == "config":
        plain = [word.text for word in words if not word.text.startswith("-") and word.text not in ("set", "--add")]
        yield from pairwise(plain[:2])


def runs_something(setting: str) -> bool:
    """Whether git starts something by a setting of this name."""
    return setting.lower().startswith("alias.") or _PROGRAM_SETTING.fullmatch(setting) is not None


def _run_by(setting: str, value: str, behind: Sequence[Word]) -> Iterator[Word]:
    if setting.lower().startswith("alias."):
        command = value.removeprefix("!") if value.startswith("!") else f"git {value}"
        yield Word(" ".join([command, *(word.text for word in behind)]), any(word.splits for word in behind))
    elif _PROGRAM_SETTING.fullmatch(setting):
        yield Word(value.removeprefix("!"))


def _values(words: Sequence[Word], options: tuple[str, str]) -> Iterator[Word]:
    short, long = options
    for place, word in enumerate(words):
        if word.text in options:
            yield from words[place + 1 : place + 2]
        elif word.text.startswith(f"{long}="):
            yield Word(word.text.partition("=")[2], word.splits)
        elif word.text.startswith(short):
            yield Word(word.text[2:], word.splits)


def _after(words: Sequence[Word], verb: str) -> Iterator[Word]:
    """What follows a verb, as one text: git hands it to a shell."""
    place = next((place for place, word in enumerate(words) if word.text == verb), None)
    rest = [] if place is None else list(words[place + 1 :])
    while rest and rest[0].text.startswith("-"):
        rest.pop(0)
    if rest:
        yield Word(" ".join(word.text for word in rest), any(word.splits for word in rest))
