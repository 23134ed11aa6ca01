"""Files that the commands of a contract name: which of them are its standard, and which are the product.

The rule: **a file that a command names is a standard if it is run and its name or a folder of its path says that it
verifies (`check.py`, `scripts/build.sh`, `tools/`) or its text compares what the product does and fails, if a test
runner or linter is handed it to run or as configuration, if `setup` runs it, if it only sets variables for what runs,
or if its name says that it is what was expected. Every other named file is the product, and may change.** So
`python3 check.py` protects `check.py`, while `python3 cli.py 3` and `grep -q 2.0 VERSION` protect nothing. Where the
rule errs, `protect` and `editable` in the contract have the last word.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise, zip_longest

from msgspec import Struct

from ._makefiles import Makefile
from ._model import Contract
from ._shell_lines import SimpleCommand, simple_commands
from ._verifying_texts import only_sets_variables, verifies

Read = Callable[[str], str | None]

_VERIFIES = frozenset(
    "check checks checker checking test tests tester testing runtest runtests testall checkall verify verifier "
    "verification lint linter lints smoke spec specs assert asserts assertion assertions validate validates validator "
    "validation bench benchmark benchmarks e2e ci acceptance regression conformance sanity selftest preflight precommit "
    "grade grader audit qa".split()
)
_HOLDS_VERIFIERS = frozenset("scripts script tools hack .github .ci".split())
_WAS_EXPECTED = frozenset(
    "expected expect golden goldens want wanted oracle reference snapshot fixture fixtures".split()
)

_INTERPRETERS = re.compile(
    r"(python|pypy)[\d.]*w?|py|node|nodejs|bash|sh|dash|zsh|ksh|ruby|perl|php|Rscript|lua|pwsh|tsx|ts-node|bun|deno|"
    r"source|\.|go|java"
)
_GIVES_CODE = frozenset({"-c", "--eval", "--print"})
_LOADS = frozenset("-r --require --import --loader --experimental-loader".split())
_SCRIPT_OPTIONS = {"awk": "-f", "gawk": "-f", "sed": "-f", "jq": "-f", "make": "-f", "gmake": "-f", "just": "-f"}
_TEST_RUNNERS = frozenset(
    "pytest py.test unittest nose nose2 jest vitest mocha ava tap jasmine rspec phpunit bats prove ctest behave cucumber "
    "playwright cypress".split()
) | {"node --test"}
_TOOLS = _TEST_RUNNERS | frozenset(
    "tox nox ruff flake8 pylint mypy pyright basedpyright ty black isort bandit coverage eslint stylelint prettier biome "
    "oxlint tsc vue-tsc nyc c8 karma golangci-lint staticcheck rubocop phpstan psalm clang-tidy clang-format semgrep "
    "yamllint shellcheck hadolint markdownlint checkstyle ktlint swiftlint detekt pre-commit codespell typos".split()
)
_MAKES = ("make", "gmake", "just")
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile", "justfile", ".justfile")
_ENV_FILE = re.compile(r"--env-file[= ]+([^\s'\"]+)")
_SETTINGS = re.compile(r"\.env(?:rc)?(?:\..+)?|.*\.(?:env|conf|config|cfg|inc|rc|vars|defaults|properties)")
_DEEPEST = 4


class Named(Struct, frozen=True):
    """What commands name: standards, each with the reason, and the scripts that an interpreter is given."""

    standards: dict[str, str] = {}
    scripts: frozenset[str] = frozenset()


class Tree:
    """The paths of a commit, to look names up in."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.files = frozenset(paths)
        self.folders: set[str] = set()
        for path in self.files:
            folder = posixpath.dirname(path)
            while folder and folder not in self.folders:
                self.folders.add(folder)
                folder = posixpath.dirname(folder)

    def file(self, word: str, folder: str = ".") -> str | None:
        """The file that a word means in a folder; None where there is none, or it lies elsewhere."""
        path = posixpath.normpath(posixpath.join(folder, word))
        return path if path in self.files else None

    def module(self, name: str, folder: str = ".") -> str | None:
        """The file or package folder behind a dotted name, or behind what it starts with (`tests.test_a.Case`)."""
        steps = name.split(".")
        for length in range(len(steps), 0, -1):
            stem = posixpath.normpath(posixpath.join(folder, *steps[:length]))
            if f"{stem}.py" in self.files:
                return f"{stem}.py"
            if stem in self.folders and length == len(steps):
                return stem
        return None


def named_standards(contract: Contract, tree: Tree, read: Read) -> Named:
    """The files and package folders that the contract's commands name as their standard, and what they start."""
    found: dict[str, str] = {}
    scripts: set[str] = set()
    for who, command, folder in _commands(contract):
        reader = _Reader(tree, read, who, found, task=contract.description)
        reader.follow(command, folder)
        scripts |= reader.scripts
    return Named(found, frozenset(scripts))


def _commands(contract: Contract) -> Iterator[tuple[str, str, str]]:
    yield from ((f"check {check.name!r}", check.command, check.cwd) for check in contract.checks)
    for service in contract.services:
        yield from (("a service", command, ".") for command in (service.command, service.ready))
    yield from ((_SETUP, command, ".") for command in contract.setup)


_SETUP = "setup"


class _Reader:
    """Reads one command and whatever it starts by way of a manifest, a Makefile or a shell script."""

    def __init__(self, tree: Tree, read: Read, who: str, found: dict[str, str], *, task: str) -> None:
        self._tree = tree
        self._read = read
        self._who = who
        self._found = found
        self._task = task
        self._followed: set[tuple[str, str]] = set()
        self.scripts: set[str] = set()

    def follow(self, text: str, folder: str, through: str = "", depth: int = _DEEPEST) -> None:
        if depth == 0 or (text, folder) in self._followed:
            return
        self._followed.add((text, folder))
        for hit in _ENV_FILE.finditer(text):
            self._note(_joined(folder, hit[1]), "settings", through)
        for command in simple_commands(text, posixpath.normpath(folder)):
            standards = dict.fromkeys(self._standards(command))
            for path in standards:
                self._note(path, "named", through)
            for makefile in self._makefiles(command):
                self._follow_make(makefile, command, depth)
            for file, inner, place in self._started(command, standards):
                self.follow(inner, place, file, depth - 1)

    def _note(self, path: str, what: str, through: str) -> None:
        self._found.setdefault(path, f"{what} in {self._who}" + (f" through {through}" if through else ""))

    def _standards(self, command: SimpleCommand) -> Iterator[str]:
        for path in _run_by(command, self._tree):
            self.scripts.add(path)
            if self._who == _SETUP or says_it_verifies(path) or self._judges(path):
                yield path
        if command.tool in (".", "source") and len(command.words) > 1:
            yield from self._settings(_joined(command.folder, command.words[1]))
        yield from _handed_to_a_tool(command, self._tree)
        for word in command.words[1:]:
            named = self._tree.file(word, command.folder)
            if named is not None and _words_of(posixpath.basename(named)) & _WAS_EXPECTED:
                yield named

    def _started(self, command: SimpleCommand, standards: Iterable[str]) -> Iterator[tuple[str, str, str]]:
        """Texts that the command runs in turn: where each stands, what it says, and the folder it starts in."""
        if command.tool in ("npm", "pnpm", "yarn", "bun"):
            file = _joined(command.folder, "package.json")
            yield from ((file, text, command.folder) for text in _scripts(self._text(file), command.words))
        for path in standards:
            if _is_shell_script(path, text := self._text(path)):
                yield path, text, command.folder

    def _judges(self, path: str) -> bool:
        """Whether a script's own text fails where the product is wrong; unless the task is about that script."""
        is_the_task = posixpath.basename(path) in self._task
        return not is_the_task and verifies(path, self._text(path), self._tree.files)

    def _settings(self, path: str) -> Iterator[str]:
        """A file that a shell reads for its variables: one word in it is another interpreter for every check."""
        by_name = _SETTINGS.fullmatch(posixpath.basename(path)) and not set(path) & set("$*`")
        if by_name or only_sets_variables(self._text(path)):
            yield path

    def _makefiles(self, command: SimpleCommand) -> list[str]:
        if command.tool not in _MAKES:
            return []
        folder = _joined(command.folder, _after("-C", command.words) or ".")
        named = _after("-f", command.words)
        return [_joined(folder, name) for name in ([named] if named else _MAKEFILES)]

    def _follow_make(self, file: str, command: SimpleCommand, depth: int) -> None:
        """What a Makefile starts, what it reads, and what must not lie where it makes something."""
        folder = _joined(command.folder, _after("-C", command.words) or ".")
        text = self._text(file)
        seen: set[str] = set()
        waiting = [file]
        while waiting:
            part = waiting.pop()
            for name in Makefile(self._text(part)).included():
                path = _joined(folder, name)
                if path not in seen:
                    seen.add(path)
                    waiting.append(path)
                    self._note(path, "included", part)
            text += "\n" if part == file else f"\n{self._text(part)}\n"
        made = Makefile(text)
        for line in made.recipes():
            self.follow(line, folder, file, depth - 1)
        for target in made.made_for(_goals(command.words)):
            path = _joined(folder, target)
            if path not in self._tree.files and path not in self._tree.folders:
                self._note(path, "made", file)

    def _text(self, path: str) -> str:
        return (self._read(path) if path in self._tree.files else None) or ""


def _is_shell_script(path: str, text: str) -> bool:
    return path.endswith((".sh", ".bash")) or re.match(r"#!.*\b(ba|da|z|k)?sh\b", text) is not None


def says_it_verifies(path: str) -> bool:
    """Whether a script's name, or a folder on the way to it, says that it is there to verify."""
    *folders, name = path.split("/")
    if _words_of(name) & _VERIFIES:
        return True
    return any(folder.lower() in _HOLDS_VERIFIERS or _words_of(folder) & _VERIFIES for folder in folders)


def _words_of(name: str) -> set[str]:
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return set(re.split(r"[^a-z0-9]+", parted.lower()))


def _run_by(command: SimpleCommand, tree: Tree) -> Iterator[str]:
    """The files and packages that a command executes."""
    head, *rest = command.words
    if script := tree.file(head, command.folder):
        yield script
    elif _INTERPRETERS.fullmatch(command.tool):
        yield from _interpreted(rest, command.folder, tree)
    option = _SCRIPT_OPTIONS.get(command.tool)
    for word, value in pairwise(rest):
        if word == option and (script := tree.file(value, command.folder)):
            yield script


def _interpreted(words: list[str], folder: str, tree: Tree) -> Iterator[str]:
    """The script among an interpreter's words: the first that is a file here. What follows is for the script."""
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        if word in _GIVES_CODE:
            return
        if word == "-m":
            yield from filter(None, [tree.module(following, folder)])
            return
        option, _, value = word.partition("=")
        if option in _LOADS:
            yield from filter(None, [tree.file(value or following, folder)])
        elif script := tree.file(word, folder):
            yield script
            return


def _handed_to_a_tool(command: SimpleCommand, tree: Tree) -> Iterator[str]:
    """What a test runner is to run, and what any known tool is configured by."""
    tool, words = tool_of(command)
    if tool not in _TOOLS:
        return
    before = ""
    for word in words:
        option, _, value = word.partition("=")
        if word.startswith("-"):
            path = tree.file(value, command.folder) if value else None
        else:
            path = _argument(word, tool, before, command, tree)
        if path is not None:
            yield path
        before = option if word.startswith("-") and not value else ""


def _argument(word: str, tool: str, before: str, command: SimpleCommand, tree: Tree) -> str | None:
    path = tree.file(word.partition("::")[0], command.folder)
    if tool in _TEST_RUNNERS:
        if any("doctest" in other for other in command.words):
            return None
        return path or (tree.module(word, command.folder) if tool == "unittest" and before == "" else None)
    # A linter's arguments are what it looks at; only what follows an option can be its configuration.
    is_configuration = before != "" and path is not None and not path.endswith((".py", ".go", ".rs", ".java"))
    return path if is_configuration else None


def tool_of(command: SimpleCommand) -> tuple[str, list[str]]:
    """The runner or linter that a command starts, also as a Python module, and the words that it is given."""
    words = list(command.words)
    if _INTERPRETERS.fullmatch(command.tool) and "-m" in words[:-1]:
        place = words.index("-m")
        return words[place + 1], words[place + 2 :]
    if command.tool == "node" and "--test" in words:
        return "node --test", words[words.index("--test") + 1 :]
    return command.tool, words[1:]


def _scripts(manifest: str, words: tuple[str, ...]) -> Iterator[str]:
    """The scripts of a package.json that a package manager's command starts."""
    try:
        scripts = json.loads(manifest).get("scripts")
    except (ValueError, AttributeError, RecursionError):
        return
    named = [word for word in words[1:] if not word.startswith("-") and word not in ("run", "run-script")][:1]
    for name in named if isinstance(scripts, dict) else []:
        full = {"t": "test", "tst": "test"}.get(name, name)
        yield from (text for key in (f"pre{full}", full, f"post{full}") if isinstance(text := scripts.get(key), str))


def _goals(words: tuple[str, ...]) -> list[str]:
    """The targets that make is asked for."""
    valued = {value for word, value in pairwise(words) if word in ("-C", "-f", "-j", "-o", "-W", "-I")}
    return [word for word in words[1:] if not word.startswith("-") and "=" not in word and word not in valued]


def _after(option: str, words: tuple[str, ...]) -> str | None:
    return next((value for word, value in pairwise(words) if word == option), None)


def _joined(folder: str, step: str) -> str:
    return posixpath.normpath(posixpath.join(folder, step))
