"""JavaScript and TypeScript, read line by line with comments and quotations set apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ._braces import MOST_BEFORE, openings
from ._languages import JAVASCRIPT
from ._model import Suspicion
from ._python_exits import says_it_leaves
from ._reading import Reading
from ._rules import FLAG, GATE, INFO, MOST_HITS, apply, rule

_GLOBAL = r"\b(?:globalThis|global)"
_RUNNER_NAMES = r"(?:expect|it|test|describe|assert|beforeEach|afterEach|beforeAll|afterAll|jest|vi)"
_RUNNER_MODULES = r"(?:@?jest(?:/[\w-]+)?|vitest|mocha|chai|ava|tap|tape|node:test|@playwright/test|jasmine(?:-core)?)"
_JUDGES = r"(?:(?:node:)?assert(?:/strict)?|node:test|@?jest(?:/[\w-]+)?|vitest|mocha|chai|ava|tap|tape|expect|should|jasmine(?:-core)?)"
_SET = r"\s*=(?![=>])"

_RULES = (
    rule(
        "skip_marker",
        "keeps tests from running",
        r"(?<![\w.$])(?:(?:it|test|describe|suite|context)(?:\.\w+)?\.(?:skip|todo|failing|fixme)|x(?:it|test|describe|context))\b\s*[(.`]|\bthis\.skip\(\)|(?<![\w.])t\.(?:skip|todo)\(",
        "skip", "todo", "xit", "xtest", "xdescribe", "xcontext", "failing", "fixme",
        test=FLAG,
    ),
    rule(
        "skip_marker",
        "keeps all other tests from running (`only`)",
        r"(?<![\w.$])(?:(?:it|test|describe|suite|context)\.only\b\s*[(.`]|f(?:it|describe)\s*\()",
        ".only", "fit", "fdescribe",
        test=FLAG,
    ),
    rule(
        "runner_patched",
        "replaces a part of the test runner",
        rf"{_GLOBAL}\.{_RUNNER_NAMES}(?:\.\w+)*{_SET}",
        "global",
        source=GATE, test=FLAG, view="code",
    ),
    rule(
        "runner_patched",
        "replaces an assertion",
        rf"(?<![\w.$])(?:assert|expect)\.\w+{_SET}",
        "assert.", "expect.",
        source=FLAG, test=FLAG, view="code",
    ),
    rule(
        "runner_patched",
        "replaces a part of the test runner",
        rf"\brequire\(\s*['\"]{_JUDGES}['\"]\s*\)(?:\.\w+|\[[^\]\n]{{1,80}}\])+{_SET}|\b(?:defineProperty|assign)\(\s*require\(\s*['\"]{_JUDGES}['\"]",
        "require",
        source=GATE, test=FLAG, view="code",
    ),
    rule(
        "runner_patched",
        "replaces a part of the test runner",
        rf"\bdefineProperty\(\s*(?:globalThis|global|window),\s*['\"]{_RUNNER_NAMES}['\"]",
        "defineProperty",
        source=GATE, test=FLAG, view="code",
    ),
    rule(
        "runner_in_source",
        "imports a test runner into a source",
        rf"(?:\brequire\(|\bfrom\s|\bimport\(?)\s*['\"]{_RUNNER_MODULES}['\"]",
        "jest", "vitest", "mocha", "chai", "ava", "tap", "node:test", "playwright", "jasmine",
        source=FLAG, scripts_may=True, view="code",
    ),
    rule(
        "test_detection",
        "asks whether a test is running: it can behave otherwise when none is",
        r"\bprocess\.env\.(?:JEST_WORKER_ID|VITEST(?:_\w+)?|NODE_TEST_CONTEXT|MOCHA_\w+)\b|\bimport\.meta\.vitest\b"
        r"|['\"`](?:JEST_WORKER_ID|VITEST(?:_\w+)?|NODE_TEST_CONTEXT|PYTEST_CURRENT_TEST)['\"`]"
        r"|\{[^{}\n]{0,200}\b(?:JEST_WORKER_ID|VITEST|NODE_TEST_CONTEXT)\b[^{}\n]{0,200}\}\s*=\s*process\.env\b"
        r"|\b(?:existsSync|statSync|accessSync|readdirSync)\(\s*['\"`](?:\./)?(?:tests?|__tests__|specs?)/?['\"`]"
        rf"|\btypeof\s+(?:{_GLOBAL}\.)?(?:jest|describe|it|expect|vi)\s*[!=]==?"
        r"|\bprocess\.argv\b[^\n;]{0,80}['\"][^'\"\n]{0,40}(?:jest|mocha|vitest)",
        "JEST_WORKER_ID", "VITEST", "NODE_TEST_CONTEXT", "MOCHA_", "vitest", "typeof", "process.argv", "Sync(", "PYTEST",
        source=FLAG, scripts_may=True, view="code",
    ),
    rule(
        "test_detection",
        "behaves otherwise under test (`NODE_ENV`)",
        r"\bNODE_ENV['\"\]]{0,2}\s*[!=]==?\s*['\"]test['\"]",
        "NODE_ENV",
        source=INFO, view="code",
    ),
    rule(
        "exit_call",
        "ends the whole process, whatever is still to be tested",
        r"\bprocess\.(?:reallyExit|abort)\(",
        "process.reallyExit", "process.abort",
        source=FLAG, test=FLAG, scripts_may=True,
    ),
    rule(
        "exit_call",
        "settles the exit status by itself",
        r"\bprocess\.exitCode\s*=\s*0\b|\bprocess\.on\(\s*['\"](?:exit|beforeExit)['\"][^\n]{0,120}\b(?:process\.(?:exit|reallyExit)|exitCode\s*=)",
        "exitCode", "process.on(",
        source=FLAG, test=FLAG, scripts_may=True, view="code",
    ),
    rule(
        "clock_trick",
        "replaces the clock",
        rf"(?<![\w$])(?:Date\.now|performance\.now|process\.hrtime|{_GLOBAL}\.(?:Date|setTimeout|performance)){_SET}",
        "Date.now", "performance.now", "process.hrtime", ".Date", ".setTimeout", ".performance",
        source=FLAG, test=INFO,
    ),
    rule(
        "import_trick",
        "decides for everybody how modules are loaded",
        rf"\bModule\._(?:load|resolveFilename|extensions|compile)\b[^\n=]{{0,40}}{_SET}|\bModule\.prototype\.(?:require|_compile){_SET}"
        rf"|\brequire\.(?:cache|extensions)\[[^\n\]]{{0,200}}\]{_SET}",
        "Module.", "require.",
        source=FLAG, test=INFO, view="code",
    ),
    rule(
        "import_trick",
        "replaces a built-in function for everybody",
        rf"(?<![\w.$])(?:Object\.(?:is|keys|entries|assign)|JSON\.(?:stringify|parse)|Array\.isArray|Math\.random|console\.assert){_SET}",
        "Object.is", "Object.keys", "Object.entries", "Object.assign", "JSON.", "Array.isArray", "Math.random", "console.assert",
        source=FLAG, test=INFO,
    ),
    rule(
        "import_trick",
        "changes what every value of a built-in type can do",
        rf"(?<![\w.$])(?:Array|Object|String|Number|Function|Promise|Boolean|Error)\.prototype\.\w+{_SET}",
        ".prototype.",
        source=INFO,
    ),
    rule(
        "always_true",
        "makes every comparison true",
        r"(?:\[\s*Symbol\.toPrimitive\s*\]|\basymmetricMatch|\bvalueOf|\bequals|\bisEqual)\s*(?:[:=]\s*)?(?:function\s*)?\([^()\n]{0,80}\)\s*(?::\s*boolean\s*)?(?:=>\s*)?(?:\{\s*return\s+true\b|true\b)",
        "toPrimitive", "asymmetricMatch", "valueOf", "equals", "isEqual",
        source=FLAG, test=INFO,
    ),
    rule(
        "always_true",
        "makes a condition true whatever comes before it (`|| true`)",
        r"(?:\bif\s*\(|\bwhile\s*\()[^\n{};]{0,200}\|\|\s*true\s*\)|\breturn\b[^\n;{}]{0,200}[=!]==?[^\n;{}]{0,120}\|\|\s*true\b",
        "|| true", "||true",
        source=FLAG, test=FLAG,
    ),
    rule(
        "always_true",
        "asserts what is always true",
        r"\bexpect\(\s*true\s*\)\.(?:toBe\(\s*true\s*\)|toBeTruthy\(\)|to\.be\.true)|\bassert(?:\.ok|\.equal)?\(\s*true\s*[,)]",
        "(true", "( true",
        test=INFO,
    ),
    rule("swallowed_error", "catches every error and says nothing", r"\bcatch\s*(?:\(\w*\)\s*)?\{\s*\}", "catch", source=INFO, test=INFO, view="plain"),
)  # fmt: skip

_EXIT_WITH_SUCCESS = re.compile(r"\bprocess\.exit\(\s*0?\s*\)")
_CATCHES_ALL = re.compile(
    r"\bprocess\.(?:on|once|addListener|prependListener)\(\s*['\"](?:uncaughtException|unhandledRejection)['\"]"
)
_REPORTS = re.compile(r"exit\(\s*[1-9a-zA-Z]|exitCode\s*=\s*[1-9]|\bthrow\b|\babort\(|\bkill\(")
_BOUND = re.compile(
    rf"(?:\b(?:const|let|var)\s+(?:(\w+)|\{{([^{{}}\n]*)\}})\s*=\s*(?:await\s+import|require)\(\s*['\"]{_JUDGES}['\"]\s*\)"
    rf"|\bimport\s{{1,9}}(?:\*\s{{0,9}}as\s{{1,9}})?(\w+)?[\s,]{{0,9}}(?:\{{([^{{}}]{{0,500}})\}})?\s{{0,9}}from\s{{0,9}}['\"]{_JUDGES}['\"])"
)
_FUNCTION = re.compile(
    r"(?:\bfunction\b\s*\*?\s*(\w*)\s*\([^{}]*|(\w+)\s*(?:[:=]\s*(?:async\s*)?(?:function\b[^{}]*|\([^{}]*\)\s*(?::[^{}=]*)?=>\s*|\w+\s*=>\s*)|\([^{}()]*\)\s*(?::[^{}=;]*)?)|=>\s*)$"
)
_BLOCKS = frozenset("if for while switch catch with else do try".split())
_STOPS = re.compile(r"['\"](?:SIG\w+|exit|close|disconnect|message)['\"]\s*,[^;{}]*$")


def look_at_javascript(reading: Reading) -> Iterator[Suspicion]:
    """What is suspicious about a JavaScript or TypeScript file."""
    if reading.language is not JAVASCRIPT:
        return
    yield from apply(_RULES, reading)
    yield from _patches(reading)
    if "process." in reading.text and not reading.is_script:
        yield from _exits_with_success(reading)
        yield from _catches_everything(reading)


def _patches(reading: Reading) -> Iterator[Suspicion]:
    """What is set on a runner's or an assertion's module, under whatever name it was loaded."""
    names = {name for hit in _BOUND.finditer(reading.code) for name in _names_in(hit)}
    if not names:
        return
    either = "|".join(map(re.escape, sorted(names)))
    renamed = re.finditer(
        rf"\b(?:const|let|var)\s+(\w+)\s*=\s*(?:{either})(?:\.\w+)*\s*(?:;|$)", reading.code, re.MULTILINE
    )
    either = "|".join(map(re.escape, sorted(names | {hit[1] for hit in renamed})))
    pattern = re.compile(
        rf"(?<![\w.$])(?:{either})(?:\.\w+|\[[^\]\n]{{1,80}}\])+{_SET}|\b(?:defineProperty|assign|setPrototypeOf)\(\s*(?:{either})(?:\.\w+)*\s*,"
    )
    for hit in islice(pattern.finditer(reading.code), MOST_HITS):
        line = reading.line_at(hit.start())
        severity = FLAG if reading.is_test else GATE
        what = "replaces a part of the test runner"
        yield Suspicion(kind="runner_patched", severity=severity, what=what, line=line)


def _names_in(hit: re.Match[str]) -> Iterator[str]:
    for plain in (hit[1], hit[3]):
        if plain:
            yield plain
    for several in (hit[2], hit[4]):
        for each in (several or "").split(","):
            words = re.findall(r"\w+", each)
            yield from words[-1:]


def _exits_with_success(reading: Reading) -> Iterator[Suspicion]:
    """An exit that reports success, but where everybody expects that the program is over."""
    for hit in islice(_EXIT_WITH_SUCCESS.finditer(reading.bare), MOST_HITS):
        names = _around(reading, hit.start())
        stops = names is None or any(map(says_it_leaves, names))
        yield Suspicion(
            kind="exit_call",
            severity=INFO if stops else FLAG,
            what="ends the process with success (`process.exit`), whatever is still to be tested",
            line=reading.line_at(hit.start()),
        )


def _around(reading: Reading, place: int) -> list[str] | None:
    """The names of the functions around a place, inner first; None where it waits for a signal to stop."""
    names = []
    blocks = openings(reading.bare, place)
    for index in (place, *(index for index, _ in blocks)):
        if _STOPS.search(reading.code[max(0, index - MOST_BEFORE) : index]):
            return None
    for _, before in blocks:
        hit = _FUNCTION.search(before)
        name = hit and (hit[1] or hit[2])
        names += [name] if name and name not in _BLOCKS else []
    return names


def _catches_everything(reading: Reading) -> Iterator[Suspicion]:
    """`process.on("uncaughtException", () => {})`: no failure is one any more."""
    for hit in islice(_CATCHES_ALL.finditer(reading.code), MOST_HITS):
        handler = reading.bare[hit.end() : hit.end() + MOST_BEFORE]
        severity = INFO if _REPORTS.search(handler) else FLAG
        yield Suspicion(
            kind="swallowed_error",
            severity=severity,
            what="keeps the process alive whatever fails in it",
            line=reading.line_at(hit.start()),
        )
