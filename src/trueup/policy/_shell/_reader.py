"""From a shell text to the commands in it."""

from __future__ import annotations

import re
import shlex
import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING

from msgspec import Struct

from ._builtins import filled_by, has_subscript, hides_a_setting, hides_in_subscript, text_of_variable
from ._grammar import LONGEST_BYTES, UnreadableError, descendants, parse
from ._launchers import Started, joined, started_by
from ._words import NOBODY_KNOWS, UNKNOWN, Expander, Word, shown

if TYPE_CHECKING:
    from tree_sitter import Node

DEEPEST_TEXT = 8
LONGEST_CHAIN = 16
MOST_COMMANDS = 5000
LONGEST_SECS = 0.5

# What a shell is told by its surroundings and never by the text, as a path that says so.
_GIVEN: dict[str, str | None] = {"HOME": "~", "PWD": "."}
# The grammar takes some of them for the name of a program, as in `! { ls; }`.
_RESERVED = frozenset("! { } do then else elif if while until".split())
_OPERATORS = re.compile(r"[;&|<>(){}$`'\"\\\n]")
_PIPED = ("pipeline", "redirected_statement", "negated_command")


class SimpleCommand(Struct, frozen=True):
    """One command with its words, and the variables set in front of it as they stand there.

    `is_quiet`: it only starts commands that were read as well. `is_guess`: a part of another command that this may
    start. No words at all: only variables are set.
    """

    words: tuple[Word, ...]
    variables: tuple[str, ...] = ()
    is_quiet: bool = False
    is_guess: bool = False

    def __str__(self) -> str:
        return shown(" ".join((*self.variables, *(word.text for word in self.words))))


class Reading(Struct, frozen=True):
    """What a text runs, and what it hides.

    `unread`: why a piece that is run could not be read. `doubts`: the same of a piece that may be run. `files`: what is redirected from and to. `folders`: where it
    changes to. `functions`: names that the text itself gives a meaning.
    """

    commands: tuple[SimpleCommand, ...] = ()
    unread: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    files: tuple[Word, ...] = ()
    folders: tuple[Word, ...] = ()
    functions: frozenset[str] = frozenset()


def read_shell(text: str) -> Reading:
    """Read a shell text. Never fails: what cannot be read is named in the reading."""
    # One that is too long is not read, and not kept either.
    return _read(text) if len(text) <= LONGEST_BYTES else _read.__wrapped__(text)


@lru_cache(maxsize=64)
def _read(text: str) -> Reading:
    reader = _Reader()
    reader.take_text(text)
    return reader.reading()


def read_words(words: Sequence[str]) -> Reading:
    """Read a command whose words are given one by one, and which no shell sees."""
    reader = _Reader()
    if words:
        reader.take_command(tuple(Word(word) for word in words), (), ())
    reader.take_waiting()
    return reader.reading()


class _Text(Struct, frozen=True):
    """A text that waits to be read.

    `is_aside`: only for what else it may run, since it stands somewhere else as well. `is_guess`: it may be run, or not.
    """

    text: str
    depth: int
    is_aside: bool = False
    is_guess: bool = False


class _Reader:
    """Collects over a text and the texts within it."""

    def __init__(self) -> None:
        self._commands: list[SimpleCommand] = []
        self._unread: dict[str, None] = {}
        self._doubts: dict[str, None] = {}
        self._is_guessing = False
        self._files: list[Word] = []
        self._folders: list[Word] = []
        self._functions: set[str] = set()
        self._aliases: dict[str, str] = {}
        self._variables: dict[str, str | None] = dict(_GIVEN)
        self._expander = Expander(b"", self._variables)
        self._behind: dict[int, list[Node]] = {}
        self._texts: deque[_Text] = deque()
        self._depth = 0
        self._deadline = time.thread_time() + LONGEST_SECS

    def reading(self) -> Reading:
        return Reading(
            tuple(self._commands),
            tuple(self._unread),
            tuple(self._doubts),
            tuple(self._files),
            tuple(self._folders),
            frozenset(self._functions),
        )

    def take_text(self, text: str) -> None:
        self._put(text, 0)
        self.take_waiting()

    def take_waiting(self) -> None:
        """Read the texts that were found within texts, as deep as anybody writes them."""
        while self._texts:
            waiting = self._texts.popleft()
            if waiting.depth > DEEPEST_TEXT or self._is_too_much():
                self._miss("there is too much in it to read all of it")
                return
            self._depth = waiting.depth
            self._is_guessing = waiting.is_guess
            self._take_one(waiting.text, is_aside=waiting.is_aside)

    def _put(self, text: str, depth: int) -> None:
        self._texts.append(_Text(text, depth, is_guess=self._is_guessing))
        if "\\\n" in text:
            # The grammar ends a word at a continued line, and bash does not.
            joined_lines = text.replace("\\\n", "")
            self._texts.append(_Text(joined_lines, depth, is_aside=True, is_guess=self._is_guessing))

    def _take_one(self, text: str, *, is_aside: bool) -> None:
        source = text.encode(errors="replace")
        self._expander = Expander(source, self._variables)
        try:
            root = parse(source)
        except UnreadableError as error:
            self._miss(f"{error}: {shown(text)}")
            return
        if root.has_error and not is_aside:
            self._miss(f"it is not understood as bash: {shown(text)}")
        self._learn_variables(root)
        self._take_tree(root)

    def _is_too_much(self) -> bool:
        # Processor time, as for the grammar.
        return len(self._commands) > MOST_COMMANDS or time.thread_time() > self._deadline

    def _take_tree(self, root: Node) -> None:
        waiting: list[tuple[Node, tuple[Word, ...]]] = [(root, ())]
        self._behind.clear()
        while waiting:
            node, inputs = waiting.pop()
            given = (*inputs, *self._given(node))
            if node.type == "command" and self._is_too_much():
                self._miss("there is too much in it to read all of it")
                return
            self._take_node(node, given)
            waiting += reversed([(child, given if _gets_input(node, child) else ()) for child in node.named_children])

    def _take_node(self, node: Node, given: tuple[Word, ...]) -> None:
        match node.type:
            case "command":
                self._take_command_node(node, given)
            case "declaration_command" | "unset_command" | "test_command":
                self._take_builtin(node)
            case "redirected_statement":
                self._take_words_behind(node)
            case "variable_assignment":
                self._take_assignment(node)
                self._take_files(node.children_by_field_name("value"))
            case "for_statement" | "select_statement":
                self._take_files(node.children_by_field_name("value"))
            case "function_definition":
                self._functions.update(self._raw(name) for name in node.children_by_field_name("name"))
            case "file_redirect":
                for target in node.children_by_field_name("destination")[:1]:
                    self._files += self._expander.words(target)
            case "heredoc_redirect":
                self._take_back_quotes(node)

    def _take_builtin(self, node: Node) -> None:
        """A builtin for which the grammar has a form of its own."""
        if node.type == "test_command":
            if has_subscript(self._raw(node)):
                self._miss(f"what stands in brackets may be run: {shown(self._raw(node))}")
            return
        words = tuple(Word(self._raw(child)) for child in node.children)
        self.take_command(words, (), ())
        for word in words[1:]:
            self._take_run_variable(word.text)

    def _take_command_node(self, node: Node, inputs: tuple[Word, ...]) -> None:
        words = self._words([*node.children_by_field_name("name"), *node.children_by_field_name("argument")])
        words += self._words(self._behind.get(node.id, ()))
        variables = tuple(self._raw(child) for child in node.named_children if child.type == "variable_assignment")
        self.take_command(words, variables, inputs)

    def _take_words_behind(self, node: Node) -> None:
        """`git >log push`: the grammar counts words behind a redirection as a part of that."""
        body = node.child_by_field_name("body")
        while body is not None and body.type == "pipeline":
            body = body.named_children[-1]
        if body is not None:
            words = self._behind.setdefault(body.id, [])
            for redirect in node.children_by_field_name("redirect"):
                words += redirect.children_by_field_name("destination")[1:]
                arguments = redirect.children_by_field_name("argument")
                words += takewhile(lambda word: not self._is_of_body(word), arguments)

    def _is_of_body(self, word: Node) -> bool:
        """Whether the grammar took the start of a here-document for a word of the command, as it does with `\\x`."""
        return self._raw(word).startswith("\n")

    def _take_files(self, nodes: Sequence[Node]) -> None:
        """Words that no command has, and that one may get by way of a variable."""
        for node in nodes:
            self._files += self._words(node.named_children if node.type == "array" else [node])

    def _take_assignment(self, node: Node) -> None:
        # In front of a command it belongs to that; alone it is one of its own.
        if node.parent is None or node.parent.type not in ("command", "declaration_command"):
            self._commands.append(SimpleCommand((), (self._raw(node),)))
            self._take_run_variable(self._raw(node))

    def _take_back_quotes(self, node: Node) -> None:
        """The grammar overlooks some of those that bash replaces in a here-document without quotes."""
        start = next((self._raw(child) for child in node.named_children if child.type == "heredoc_start"), "")
        if re.search(r"[$`]", start):
            # Bash takes it as it stands, and the grammar ends the text somewhere else.
            self._miss(f"it is not clear where a here-document ends: {shown(start)}")
        if not re.search(r"['\"\\]", start):
            for body in self._bodies(node):
                for inner in re.findall(r"(?<!\\)`((?:[^`\\]|\\.)*)`", body, re.DOTALL):
                    self._put_text(Word(inner))

    def _given(self, node: Node) -> Iterator[Word]:
        """The texts that a statement is given as its input."""
        if node.type not in ("command", "redirected_statement"):
            return
        for child in node.named_children:
            if child.type == "heredoc_redirect":
                yield from (Word(body) for body in self._bodies(child))
            elif child.type == "herestring_redirect":
                yield joined(self._words(child.named_children))

    def _words(self, nodes: Sequence[Node]) -> tuple[Word, ...]:
        return tuple(word for node in nodes for word in self._expander.words(node)) if nodes else ()

    def _bodies(self, redirect: Node) -> list[str]:
        for word in redirect.children_by_field_name("argument"):
            if self._is_of_body(word):
                return [self._expander.between(word.start_byte, redirect.end_byte)]
        return [self._raw(child) for child in redirect.named_children if child.type == "heredoc_body"]

    def _raw(self, node: Node) -> str:
        return self._expander.raw(node)

    def take_command(self, words: tuple[Word, ...], variables: tuple[str, ...], inputs: tuple[Word, ...]) -> None:
        """One command and all that it starts."""
        for variable in variables:
            self._take_run_variable(variable)
        is_guess = was_guessing = self._is_guessing
        waiting = deque([(words, variables, 0, is_guess)])
        while waiting:
            words, variables, links, is_guess = waiting.popleft()
            self._is_guessing = is_guess
            while words and words[0].text in _RESERVED:
                words = words[1:]
            if not words:
                continue
            if links > LONGEST_CHAIN:
                self._miss(f"too many programs start one another: {shown(words[0].text)}")
                return
            if hides_in_subscript(words):
                self._miss(f"what stands in brackets may be run: {shown(joined(words).text)}")
            waiting.extend((inner, variables, links + 1, is_guess) for inner in self._meant_by_alias(words))
            started = started_by(words)
            self._commands.append(SimpleCommand(words, variables, started is not None and started.quiet, is_guess))
            if words[0].text in ("cd", "pushd"):
                # Without a folder it goes home.
                self._folders += [word for word in words[1:] if not word.text.startswith("-")] or [Word("~")]
            if not words[0].is_known:
                # It may be a shell or a launcher, so what it is given may be what is run.
                self._texts.extend(
                    _Text(word.as_text, self._depth + 1, is_aside=True, is_guess=is_guess)
                    for word in words[1:]
                    if " " in word.text
                )
            if started:
                passed = (*variables, *started.variables)
                self._guess_texts(started.lines)
                waiting.extend((inner, passed, links + 1, is_guess) for inner in started.commands)
                waiting.extend((inner, passed, links + 1, True) for inner in started.guesses)
                self._take_started(words, started, inputs)
        self._is_guessing = was_guessing

    def _meant_by_alias(self, words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
        """`alias g=git; g push`: what a name stands for that the text itself made up."""
        if words[0].text == "alias":
            self._aliases |= {name: value for name, _, value in (word.text.partition("=") for word in words[1:])}
        elif value := self._aliases.get(words[0].text):
            if _OPERATORS.search(value):
                self._put_text(joined([Word(value), *words[1:]]))
            else:
                yield (*map(Word, value.split()), *words[1:])

    def _guess_texts(self, texts: Sequence[Word]) -> None:
        self._texts.extend(_Text(text.as_text, self._depth + 1, is_aside=True, is_guess=True) for text in texts)

    def _take_run_variable(self, assignment: str) -> None:
        """`GIT_PAGER='git push' git log`: the value is a command."""
        text = text_of_variable(assignment)
        if text is not None:
            self._put(text, self._depth + 1)
        elif hides_a_setting(assignment):
            self._miss(f"a variable tells git what to run: {shown(assignment)}")

    def _take_started(self, words: tuple[Word, ...], started: Started, inputs: tuple[Word, ...]) -> None:
        for variable in started.variables:
            name, _, value = variable.partition("=")
            self._take_run_variable(f"{name}={shlex.quote(value)}")
        for text in started.texts:
            self._put_text(text)
        if started.reads_input:
            for given in inputs:
                self._put_text(given)
            if not inputs:
                self._miss(f"{shown(joined(words).text)} reads its commands from somewhere else")

    def _put_text(self, text: Word) -> None:
        if not text.is_known or text.splits:
            # A variable in a text that is read once more can be anything, a `;` and a command included.
            self._miss(f"a variable is a part of the commands: {shown(text.text)}")
        self._put(text.as_text, self._depth + 1)

    def _learn_variables(self, root: Node) -> None:
        """The values that the text gives to variables. One that it sets in two ways is not known."""
        given: dict[str, str | None] = {}
        for name, value in self._settings(root):
            given[name] = value if given.get(name, value) == value else None
            self._variables[name] = given[name]

    def _settings(self, root: Node) -> Iterator[tuple[str, str | None]]:
        for node in descendants(root):
            match node.type:
                case "variable_assignment":
                    yield self._setting(node)
                case "for_statement" | "select_statement":
                    yield from ((self._raw(name), None) for name in node.children_by_field_name("variable"))
                case "declaration_command":
                    # `export "x=1"` sets x as well, and is none of the assignments of the grammar.
                    texts = [self._raw(child) for child in node.named_children if child.type != "variable_assignment"]
                    yield from ((NOBODY_KNOWS, None) for text in texts if re.search(r"[=$`]|^-\w*n", text))
                case "command":
                    yield from filled_by([self._raw(child) for child in node.named_children])

    def _setting(self, node: Node) -> tuple[str, str | None]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        told = self._raw(name) if name else ""
        if value is None:
            return told, None
        words = [] if f"{told}+=" in self._raw(node) else self._expander.words(value)
        text = " ".join(word.text for word in words)
        return told, text if text and UNKNOWN not in text else None

    def _miss(self, why: str) -> None:
        (self._doubts if self._is_guessing else self._unread)[why] = None


def _gets_input(parent: Node, child: Node) -> bool:
    """Whether a here-document of a statement is what this part of it reads."""
    if parent.type == "pipeline":
        return child == parent.named_children[-1]
    return parent.type in _PIPED and child.type in ("command", *_PIPED)
