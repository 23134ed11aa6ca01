"""Whether a command is one that a rule names: surely, perhaps, or not."""

from __future__ import annotations

import fnmatch
import posixpath
import re
import shlex
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache

from msgspec import Struct

from trueup.core.errors import InputError

from ._shell import GIT_VALUED_OPTIONS, UNKNOWN, SimpleCommand, Word

# Where the system keeps its programs: `/usr/bin/git` is `git`, and `./git` is somebody's own.
_SYSTEM_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin")
# Options in front of a subcommand that take the next word. Of programs that are not here it is not known, so that both
# ways of reading are tried.
_VALUED_OPTIONS = {
    "git": GIT_VALUED_OPTIONS,
    "docker": frozenset("-H --host -c --context -l --log-level --config --tlscacert --tlscert --tlskey".split()),
    "gh": frozenset("-R --repo --hostname".split()),
}
_SHORT_OPTIONS = re.compile(r"-[A-Za-z0-9]{1,6}")
_FEW_SHORT_OPTIONS = re.compile(r"-[A-Za-z0-9]{1,3}")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=")


class Certainty(IntEnum):
    """How sure it is that something holds."""

    NO = 0
    PERHAPS = 1
    YES = 2


class CommandPattern(Struct, frozen=True):
    """A command as a rule names it: `git push`, `rm -rf`, `npm run test*`.

    `leading` follow the program one after the other; `anywhere` are options, and words behind the first option.
    """

    text: str
    variables: tuple[str, ...]
    program: str
    leading: tuple[str, ...]
    anywhere: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> CommandPattern:
        """Read what a person wrote; an `InputError` where it is no command."""
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise InputError(f"{text!r} is not a command: {error}") from None
        first = next((place for place, word in enumerate(words) if not _ASSIGNMENT.match(word)), None)
        if first is None:
            raise InputError(f"{text!r} names no program")
        program, *rest = words[first:]
        option = next((place for place, word in enumerate(rest) if word.startswith("-")), len(rest))
        return cls(text, tuple(words[:first]), program, tuple(rest[:option]), tuple(rest[option:]))

    def denies(self, command: SimpleCommand) -> Certainty:
        """Whether this is what a command does, whatever stands between and behind the words."""
        if not command.words:
            return Certainty.NO
        found = self._denies(command.words)
        if command.is_guess:
            return min(Certainty.PERHAPS, found)
        if found is Certainty.NO and UNKNOWN in posixpath.basename(command.words[0].text):
            # A program that is not known may start what follows it, as `sudo` does.
            behind = (self._denies(command.words[place:]) for place in range(1, len(command.words)))
            return min(Certainty.PERHAPS, max(behind, default=Certainty.NO))
        return found

    def _denies(self, words: Sequence[Word]) -> Certainty:
        program, *rest = words
        name = posixpath.basename(program.text)
        if self.leading and name == f"{self.program}-{self.leading[0]}":
            # `git-push`, where git keeps its subcommands.
            program, rest = Word(self.program), [Word(self.leading[0]), *rest]
        found = self._is_program(program)
        if program.splits:
            # The rest of the command may be in the same variable.
            return min(found, Certainty.PERHAPS)
        found = min(found, *(_anywhere(word, rest) for word in self.anywhere)) if self.anywhere else found
        return min(found, self._leads(rest)) if found else found

    def allows(self, command: SimpleCommand) -> bool:
        """Whether a command surely starts with these very words, and sets no other variables."""
        wanted = (*self.leading, *self.anywhere)
        if not command.words or len(command.words) <= len(wanted):
            return False
        program, *rest = command.words
        return (
            self._is_very_program(program)
            and all(_fits(pattern, word) is Certainty.YES for pattern, word in zip(wanted, rest, strict=False))
            and all(self.allows_variable(variable) for variable in command.variables)
        )

    def allows_variable(self, assignment: str) -> bool:
        """Whether a variable may be set in front of the command."""
        return any(_is_like(pattern, assignment) for pattern in self.variables)

    def _is_program(self, word: Word) -> Certainty:
        if "/" in self.program:
            return _fits(self.program, word)
        return _fits(self.program, Word(posixpath.basename(word.text), word.splits))

    def _is_very_program(self, word: Word) -> bool:
        folder, name = posixpath.split(word.text)
        written = Word(name) if folder in _SYSTEM_FOLDERS and "/" not in self.program else word
        return not word.splits and _fits(self.program, written) is Certainty.YES

    def _leads(self, words: Sequence[Word]) -> Certainty:
        """Whether the leading words come first, options between them skipped. Found from the end to the start."""
        valued = _VALUED_OPTIONS.get(posixpath.basename(self.program))
        after = [Certainty.YES] * (len(words) + 2)
        for wanted in reversed(self.leading):
            here = [Certainty.NO] * (len(words) + 2)
            for place in range(len(words) - 1, -1, -1):
                here[place] = _lead_from(wanted, words[place], place, here, after, valued)
            after = here
        return after[0]


def _lead_from(
    wanted: str, word: Word, place: int, here: list[Certainty], after: list[Certainty], valued: frozenset[str] | None
) -> Certainty:
    if word.is_known and word.text.startswith("-") and len(word.text) > 1:
        if valued is not None:
            return here[place + 2] if word.text in valued else here[place + 1]
        return max(here[place + 1], here[place + 2])
    found = min(_fits(wanted, word), after[place + 1])
    if word.splits:
        return max(found, min(Certainty.PERHAPS, _fits(wanted, word)))
    if word.text.startswith(UNKNOWN):
        # It may be an option, or empty.
        return max(found, min(Certainty.PERHAPS, here[place + 1]))
    return found


def _anywhere(wanted: str, words: Sequence[Word]) -> Certainty:
    best = max((_fits_argument(wanted, word) for word in words), default=Certainty.NO)
    if best is Certainty.YES or not _FEW_SHORT_OPTIONS.fullmatch(wanted):
        return best
    given = {letter for word in words if _SHORT_OPTIONS.fullmatch(word.text) for letter in word.text[1:]}
    return Certainty.YES if set(wanted[1:]) <= given else best


def _fits_argument(wanted: str, word: Word) -> Certainty:
    if wanted.startswith("--") and word.is_known:
        return Certainty.YES if word.text == wanted or word.text.startswith(f"{wanted}=") else Certainty.NO
    if wanted.startswith("-") and not word.text.startswith("-") and (not word.splits or word.is_input):
        # `rm "$file"`, `xargs rm`: what is unknown and in quotes, or input, is not taken for an option.
        return Certainty.NO
    return _fits(wanted, word)


def _fits(pattern: str, word: Word) -> Certainty:
    if word.is_known:
        return Certainty.YES if _is_like(pattern, word.text) else Certainty.NO
    if word.splits:
        # Only what stands in front of the first unknown stretch surely belongs to the first of the words.
        return Certainty.PERHAPS if _may_begin(pattern, word.text.partition(UNKNOWN)[0]) else Certainty.NO
    if set(pattern) & set("*?["):
        return Certainty.PERHAPS
    return Certainty.PERHAPS if _may_be(pattern, word.text.split(UNKNOWN)) else Certainty.NO


def _may_be(text: str, stretches: list[str]) -> bool:
    """Whether the known stretches of a word can be found in a text one after the other, from its start to its end."""
    first, *middle, last = stretches
    place = len(first)
    for stretch in middle:
        found = text.find(stretch, place)
        if found < 0:
            return False
        place = found + len(stretch)
    return text.startswith(first) and text.endswith(last) and len(text) - len(last) >= place


def _may_begin(pattern: str, start: str) -> bool:
    literal = re.split(r"[*?\[]", pattern)[0]
    return pattern.startswith(start) if literal == pattern else start.startswith(literal) or literal.startswith(start)


def _is_like(pattern: str, text: str) -> bool:
    return pattern == text or _glob(pattern).fullmatch(text) is not None


@lru_cache(maxsize=512)
def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern))
