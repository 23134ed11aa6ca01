"""Go, Rust, the JVM, C and others: a handful of well-known tricks each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ._braces import openings
from ._languages import CSHARP, DART, ELIXIR, GO, JVM, PHP, RUBY, RUST, SWIFT, C
from ._model import Suspicion
from ._python_exits import says_it_leaves
from ._reading import Reading
from ._rules import FLAG, GATE, INFO, MOST_HITS, Rule, apply, rule

_SKIPS = "keeps tests from running"
_ENDS = "ends the whole process with success, whatever is still to be tested"
_EQUAL = "makes every comparison true (it always returns true), whatever a test expects"
_WATCHED = "asks whether a test is running: it can behave otherwise when none is"
_PATCHED = "replaces an assertion of the test runner"
_BODY = r"\s*\{\s*(?:return\s+)?true\s*;?\s*\}"

_GO = (
    rule("skip_marker", _SKIPS, r"(?<!Short\(\) \{\n\t\t)\b[tb]\.Skip(?:f|Now)?\(", ".Skip", test=FLAG),
    rule(
        "skip_marker",
        "keeps its tests from being built",
        r"^//\s*(?:go:build|\+build)\s+ignore\b",
        "ignore",
        test=FLAG,
        view="plain",
    ),
    rule(
        "exit_call",
        _ENDS,
        r"^func (?:init|TestMain)\([^\n]*\{[^}]{0,400}?\bos\.Exit\(0\)",
        "os.Exit(0)",
        source=FLAG,
        test=FLAG,
    ),
    rule(
        "runner_in_source",
        "imports the test runner into a source",
        r'^(?:import\s+|\s+)(?:\w+\s+)?"testing"\s*$',
        '"testing"',
        source=FLAG,
        view="code",
    ),
    rule(
        "test_detection",
        _WATCHED,
        r'\btesting\.Testing\(\)|\bflag\.Lookup\("test\.|HasSuffix\(os\.Args\[0\],\s*"\.test',
        "testing.Testing",
        "test.",
        ".test",
        source=FLAG,
        view="code",
    ),
    rule(
        "always_true",
        _EQUAL,
        rf"^func \([^()\n]*\) (?:Equals?|Is)\([^()\n]*\) bool{_BODY}",
        "Equal",
        "Is(",
        source=FLAG,
        test=INFO,
    ),
)
_RUST = (
    rule("skip_marker", _SKIPS, r"#\[\s*ignore\b|#\[cfg\(any\(\)\)\]", "ignore", "any()", source=FLAG, test=FLAG),
    rule(
        "runner_patched",
        _PATCHED,
        r"\bmacro_rules!\s*(?:debug_)?assert(?:_eq|_ne)?\b",
        "macro_rules!",
        source=GATE,
        test=FLAG,
    ),
    rule("test_detection", _WATCHED, r"\bcfg!\(\s*test\s*\)", "cfg!", source=FLAG),
    rule("always_true", _EQUAL, rf"\bfn eq\([^()\n]*\)\s*->\s*bool{_BODY}", "fn eq", source=FLAG, test=FLAG),
    rule("always_true", "asserts what is always true", r"\bassert!\(\s*true\s*[,)]", "assert!", test=INFO, source=INFO),
)
_JVM = (
    rule(
        "skip_marker",
        _SKIPS,
        r"@(?:Disabled|Ignore)\b|\bassumeTrue\(\s*false\b",
        "@Disabled",
        "@Ignore",
        "assumeTrue",
        test=FLAG,
    ),
    rule(
        "exit_call",
        _ENDS,
        r"\bRuntime\.getRuntime\(\)\.halt\(|\bexitProcess\(0\)",
        "halt",
        "exitProcess",
        source=FLAG,
        test=FLAG,
    ),
    rule(
        "always_true",
        _EQUAL,
        rf"\bboolean\s+equals\([^()\n]*\){_BODY}|\bfun\s+equals\([^()\n]*\)\s*(?::\s*Boolean)?\s*(?:=\s*true\b|\{{\s*return\s+true)",
        "equals",
        source=FLAG,
        test=FLAG,
    ),
)
_C = (
    rule(
        "skip_marker",
        _SKIPS,
        r"\bGTEST_SKIP\(\)|\bTEST(?:_F|_P)?\([^,\n]*,\s*DISABLED_|\bTEST_IGNORE\b",
        "GTEST_SKIP",
        "DISABLED_",
        "TEST_IGNORE",
        test=FLAG,
    ),
    rule(
        "exit_call",
        "runs before the program or after it, and ends it",
        r"__attribute__\s*\(\(\s*(?:__)?(?:con|de)structor\b[^;}]{0,400}\b(?:_?exit|_Exit|quick_exit|kill|raise)\s*\(",
        "structor",
        source=GATE,
        test=FLAG,
    ),
    rule(
        "runner_patched",
        "puts a function of its own in place of what a failed assertion calls",
        r"\b(?:__assert_fail|__assert_rtn|__assert_func|__assert_perror_fail|__assert|_assert|_wassert)\s*\([^;{}]{0,400}\)\s*\{",
        "assert",
        source=FLAG,
        test=FLAG,
    ),
    rule(
        "always_true",
        _EQUAL,
        rf"\boperator==\s*\([^()\n]*\)\s*(?:const)?\s*(?:noexcept)?{_BODY}",
        "operator==",
        source=FLAG,
        test=INFO,
    ),
)
_C_HEADER = (
    rule(
        "runner_patched",
        "takes every assertion out of whoever includes it",
        r"^[ \t]*#[ \t]*define[ \t]+NDEBUG\b|^[ \t]*#[ \t]*(?:undef[ \t]+assert\b|define[ \t]+assert\()",
        "NDEBUG",
        "assert",
        source=FLAG,
        test=FLAG,
    ),
)
_C_MACROS = (
    rule(
        "runner_patched",
        _PATCHED,
        r"^[ \t]*#[ \t]*define[ \t]+(?:NDEBUG\b|(?:assert|ASSERT_\w+|EXPECT_\w+|CHECK|REQUIRE)\()",
        "define",
        source=INFO,
        test=FLAG,
    ),
)
_C_EXIT = re.compile(r"\b(?:_exit|_Exit|quick_exit|exit)\s*\(\s*(?:0|EXIT_SUCCESS)\s*\)")
_C_PROGRAM = re.compile(r"\b(?:w?main|WinMain|v?fork)\s*\(")
_C_NAME = re.compile(r"\b(?!if\b|for\b|while\b|switch\b|__attribute__\b|sizeof\b)(\w+)\s*\(")
_CSHARP = (
    rule(
        "skip_marker",
        _SKIPS,
        r"\[(?:Ignore|Explicit)\b|\[(?:Fact|Theory)\(\s*Skip\s*=",
        "[Ignore",
        "[Explicit",
        "Skip",
        test=FLAG,
    ),
    rule("exit_call", _ENDS, r"\bEnvironment\.(?:Exit\(0\)|FailFast\()", "Environment.", source=INFO, test=FLAG),
    rule(
        "always_true",
        _EQUAL,
        rf"\bbool\s+Equals\([^()\n]*\)(?:{_BODY}|\s*=>\s*true\b)",
        "Equals",
        source=FLAG,
        test=FLAG,
    ),
)
_RUBY = (
    rule(
        "skip_marker",
        _SKIPS,
        r"^\s*(?:skip|pending|xit|xdescribe|xcontext)\b",
        "skip",
        "pending",
        "xit",
        "xdescribe",
        "xcontext",
        test=FLAG,
    ),
    rule(
        "skip_marker",
        "keeps all other tests from running",
        r"^\s*(?:fit|fdescribe|fcontext)\b",
        "fit",
        "fdescribe",
        "fcontext",
        test=FLAG,
    ),
    rule(
        "exit_call",
        _ENDS,
        r"(?<![\w.])exit!\s*(?:\(?\s*(?:0|true)\b|$)|\bat_exit\b[^\n]{0,80}\bexit\b",
        "exit",
        source=FLAG,
        test=FLAG,
        scripts_may=True,
    ),
    rule(
        "always_true",
        _EQUAL,
        r"\bdef\s+(?:==|eql\?|equal\?)\s*\(?\s*\w*\s*\)?\s*;?\s*(?:return\s+)?true\b",
        "def ",
        source=FLAG,
        test=FLAG,
    ),
)
_SMALL = {
    "php": (
        rule("skip_marker", _SKIPS, r"\bmarkTest(?:Skipped|Incomplete)\(", "markTest", test=FLAG),
        rule("runner_in_source", "skips tests from a source", r"\bmarkTest(?:Skipped|Incomplete)\(", "markTest", source=FLAG),
    ),
    "swift": (rule("skip_marker", _SKIPS, r"\bXCTSkip\b|@Test\(\.disabled", "XCTSkip", ".disabled", test=FLAG, view="code"),),
    "elixir": (rule("skip_marker", _SKIPS, r"@(?:module)?tag\s+(?::skip\b|skip:)", "skip", test=FLAG),),
    "dart": (rule("skip_marker", _SKIPS, r"\bskip:\s*(?:true|['\"])|@Skip\(", "skip", "Skip", test=FLAG),),
}  # fmt: skip

_TABLES: dict[str, tuple[Rule, ...]] = {
    GO.name: _GO,
    RUST.name: _RUST,
    JVM.name: _JVM,
    C.name: _C,
    CSHARP.name: _CSHARP,
    RUBY.name: _RUBY,
    PHP.name: _SMALL["php"],
    SWIFT.name: _SMALL["swift"],
    ELIXIR.name: _SMALL["elixir"],
    DART.name: _SMALL["dart"],
}


def look_at_other_languages(reading: Reading) -> Iterator[Suspicion]:
    """What is suspicious about a file of a language that has a table."""
    if reading.language is None:
        return
    yield from apply(_TABLES.get(reading.language.name, ()), reading)
    if reading.language is C:
        is_header = reading.path.lower().endswith((".h", ".hh", ".hpp", ".hxx"))
        yield from apply(_C_HEADER if is_header else _C_MACROS, reading)
        yield from _c_exits(reading)


def _c_exits(reading: Reading) -> Iterator[Suspicion]:
    """Success from within a function; a program's own file, a child that was forked, and usage may end so."""
    exits = list(islice(_C_EXIT.finditer(reading.bare), MOST_HITS))
    if not exits:
        return
    is_program = _C_PROGRAM.search(reading.bare) is not None or reading.is_script
    for hit in exits:
        heads = [re.split(r"[;{}]", before)[-1] for _, before in openings(reading.bare, hit.start())]
        names = [named[1] for head in heads if (named := _C_NAME.search(head))]
        expected = is_program or any(map(says_it_leaves, names))
        severity = FLAG if reading.is_test or not expected else INFO
        line = reading.line_at(hit.start())
        yield Suspicion(kind="exit_call", severity=severity, what=_ENDS, line=line)
