"""Recognising check-like commands, however they are spelled or wrapped."""

from __future__ import annotations

import re
import shlex

from msgspec import Struct

from .found import Purpose

PYTHON_TESTS = "python tests"


class Recognised(Struct, frozen=True):
    """A command that checks something: which runner it is, and its own words without wrappers and variables."""

    identity: str
    purpose: Purpose
    family: str
    words: tuple[str, ...]

    @property
    def tool(self) -> str:
        return self.words[0].rsplit("/", 1)[-1]


class _Rule(Struct, frozen=True):
    """`identity` may use the groups of the pattern."""

    pattern: str
    identity: str
    purpose: Purpose
    family: str = ""


_SCRIPT = r"(?P<script>(?:{})(?::[\w:-]+)?)"
_MAKE = r"g?make(?: -[ijks]\d*| --\S+)* {}"
_MAVEN = r"(?:\./)?mvnw?\b(?: -\S+)*(?: clean)? (?:test|verify|package)"
_GRADLE = r"(?:\./)?gradlew?\b(?: -\S+)*(?: clean)? :?(?:test|check|build)"

_RULES = (
    _Rule(r"(pytest|py\.test|unittest|tox|nox)", PYTHON_TESTS, Purpose.TESTS, "python"),
    _Rule(r"python\S* (\./)?manage\.py test", PYTHON_TESTS, Purpose.TESTS, "python"),
    _Rule(r"ruff format\b.* --(check|diff)", "ruff format", Purpose.FORMAT, "python"),
    _Rule(r"ruff check", "ruff check", Purpose.LINT, "python"),
    _Rule(r"(?P<tool>black|isort)\b.* (--check|--check-only|--diff|-c)", "{tool}", Purpose.FORMAT, "python"),
    _Rule(r"(?P<tool>flake8|pylint|codespell|yamllint|pre-commit run)", "{tool}", Purpose.LINT, "python"),
    _Rule(r"(?P<tool>mypy|pyright|basedpyright|ty check)", "{tool}", Purpose.TYPES, "python"),
    _Rule(
        r"(npm|pnpm|yarn|bun)( run| run-script)? " + _SCRIPT.format("test"), "script {script}", Purpose.TESTS, "node"
    ),
    _Rule(r"(npm|pnpm|yarn|bun)( run)? " + _SCRIPT.format("lint"), "script {script}", Purpose.LINT, "node"),
    _Rule(r"(npm|pnpm|yarn|bun)( run)? " + _SCRIPT.format("type-?check"), "script {script}", Purpose.TYPES, "node"),
    _Rule(r"(npm|pnpm|yarn|bun)( run)? " + _SCRIPT.format("build"), "script {script}", Purpose.BUILD, "node"),
    _Rule(r"(?P<tool>jest|vitest|mocha|ava)", "{tool}", Purpose.TESTS, "node"),
    _Rule(r"(?P<tool>eslint|stylelint|oxlint|biome (check|ci|lint))", "{tool}", Purpose.LINT, "node"),
    _Rule(r"prettier\b.* (--check|-c|--list-different|-l)", "prettier", Purpose.FORMAT, "node"),
    _Rule(r"(vue-)?tsc\b.* --noEmit", "tsc", Purpose.TYPES, "node"),
    _Rule(r"cargo( \+\S+)? (test|nextest run)", "cargo test", Purpose.TESTS, "cargo"),
    _Rule(r"cargo( \+\S+)? clippy", "cargo clippy", Purpose.LINT, "cargo"),
    _Rule(r"cargo( \+\S+)? fmt\b.* --check", "cargo fmt", Purpose.FORMAT, "cargo"),
    _Rule(r"cargo( \+\S+)? (build|check)", "cargo build", Purpose.BUILD, "cargo"),
    _Rule(r"go vet", "go vet", Purpose.LINT, "go"),
    _Rule(r"go build", "go build", Purpose.BUILD, "go"),
    _Rule(r"go test", "go test", Purpose.TESTS, "go"),
    _Rule(r"(?P<tool>golangci-lint run|staticcheck|shellcheck|rubocop)", "{tool}", Purpose.LINT),
    _Rule(_MAKE.format(r"(?P<target>(test|check)[\w-]*)"), "make {target}", Purpose.TESTS, "make"),
    _Rule(_MAKE.format(r"(?P<target>lint[\w-]*)"), "make {target}", Purpose.LINT, "make"),
    _Rule(r"just (?P<target>(test|check)[\w-]*)", "just {target}", Purpose.TESTS, "just"),
    _Rule(r"just (?P<target>lint[\w-]*)", "just {target}", Purpose.LINT, "just"),
    _Rule(_MAVEN, "maven test", Purpose.TESTS),
    _Rule(_GRADLE, "gradle test", Purpose.TESTS),
    _Rule(r"ctest", "ctest", Purpose.TESTS, "cmake"),
    _Rule(r"cmake --build", "cmake build", Purpose.BUILD, "cmake"),
    _Rule(r"(?:(?:vendor|\.)/bin/)?phpunit", "phpunit", Purpose.TESTS),
    _Rule(r"(?:bundle exec )?(?P<tool>rspec|rake (test|spec))", "{tool}", Purpose.TESTS),
    _Rule(
        r"(?P<tool>dotnet|mix|swift|deno|bazel|sbt|dart|flutter|stack|cabal|composer) test",
        "{tool} test",
        Purpose.TESTS,
    ),
)
_COMPILED = tuple((re.compile(rf"(?:{rule.pattern})(?=\s|$)"), rule) for rule in _RULES)

_NEVER = re.compile(
    r"(?<!--)\b(deploy|publish|push|upload|release|docker|podman|curl|wget|ssh|scp|rsync|sudo|twine|kubectl|helm|"
    r"terraform|aws|gcloud|secrets?|token|password)\b|--watch(All)?\b(?!=false)|--fix\b|--write\b|_(KEY|TOKEN|SECRET)=",
    re.IGNORECASE,
)
_UNRESOLVED = re.compile(r"[$`]|\{\{")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_ELSEWHERE = re.compile(r"\s(--prefix|--cwd|--dir|-C|--manifest-path)\b")

_PYTHON = re.compile(r"python[\d.]*|py|\S*/python[\d.]*")
_FLAGS_WITH_VALUE = frozenset(
    "--extra --group --only-group --with --python -p --package --env-file --directory".split()
)
_RUNNERS = frozenset({"uv", "poetry", "pdm", "pipenv", "hatch", "rye"})
_EXECUTORS = frozenset({("pnpm", "exec"), ("yarn", "exec"), ("yarn", "run"), ("npm", "exec"), ("bun", "x")})
_NODE_TOOLS = frozenset("eslint prettier tsc vue-tsc jest vitest mocha stylelint oxlint biome".split())


def is_harmful(line: str) -> bool:
    """Whether a command publishes, talks to the world, never ends, or changes the files it should check."""
    return _NEVER.search(line) is not None


def is_unresolved(line: str) -> bool:
    """Whether a command depends on values that only its CI knows."""
    return _UNRESOLVED.search(line) is not None


def recognise(command: str) -> Recognised | None:
    """Say which known runner a simple command starts; None for any other command."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    bare = _unwrapped(_without_assignments(words))
    spelled = " ".join(bare)
    if not bare or _ELSEWHERE.search(spelled):
        return None
    for pattern, rule in _COMPILED:
        if match := pattern.match(spelled):
            return Recognised(rule.identity.format(**match.groupdict()), rule.purpose, rule.family, tuple(bare))
    return None


def assignments(command: str) -> list[str]:
    """The variables set in front of a simple command."""
    words = shlex.split(command)
    return words[: len(words) - len(_without_assignments(words))]


def simple_commands(line: str) -> list[str]:
    """The commands of a line joined by `&&`; none where the line does anything else with the shell."""
    lexer = shlex.shlex(line, posix=False, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError:
        return []
    commands: list[list[str]] = [[]]
    for token in tokens:
        if token == "&&":  # noqa: S105  a shell operator
            commands.append([])
        elif set(token) <= set("();<>|&"):
            return []
        else:
            commands[-1].append(token)
    return [" ".join(words) for words in commands if words]


def _without_assignments(words: list[str]) -> list[str]:
    while words and _ASSIGNMENT.match(words[0]):
        words = words[1:]
    return words


def _unwrapped(words: list[str]) -> list[str]:
    """Peel off what only says in which environment the tool runs."""
    while words:
        inner = _peeled(words)
        if inner is words:
            return words
        words = inner
    return words


def _peeled(words: list[str]) -> list[str]:
    head, *rest = words
    follows = rest[0] if rest else ""
    if head in ("uvx", "npx", "bunx"):
        return _without_flags(rest)
    if (head in _RUNNERS and follows == "run") or ((head, follows) in _EXECUTORS and not _is_script(rest[1:])):
        return _without_flags(rest[1:])
    if _PYTHON.fullmatch(head) and follows == "-m":
        return rest[1:]
    if head == "coverage" and follows == "run" and "-m" in rest:
        return rest[rest.index("-m") + 1 :]
    if head in ("yarn", "pnpm") and follows in _NODE_TOOLS:
        return rest
    return words


def _is_script(words: list[str]) -> bool:
    return bool(words) and re.match(r"(test|lint|type-?check|build)(:|$)", words[0]) is not None


def _without_flags(words: list[str]) -> list[str]:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in _FLAGS_WITH_VALUE else words[1:]
    return words
