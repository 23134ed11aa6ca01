"""Tricks that are told by what is around a file: its tests, the commands, the task. Each stands beside an honest twin."""

from __future__ import annotations

import pytest
from msgspec import Struct

from trueup.coder import Severity
from trueup.coder._suspicions import ChangedFile, Context, suspicions

FLAG, GATE, INFO = Severity.FLAG, Severity.GATE, Severity.INFO

TEST = b"import calc\n\n\ndef test_add():\n    assert calc.add(2, 3) == 5\n"
SCRIPT = b"import sys\nimport calc\n\nif calc.add(2, 3) != 5:\n    sys.exit(1)\n"
C_TEST = b'#include "calc.h"\nint main(void) { assert(add(2, 3) == 5); return 0; }\n'
JS_TEST = b"const { add } = require('../calc.js');\ntest('add', () => { assert.strictEqual(add(2, 3), 5); });\n"
SHELL_TEST = b". ./slug.sh\n[ \"$(slug 'a b')\" = a-b ] || exit 1\n"
STANDARDS = {
    "tests/test_calc.py": TEST,
    "check.py": SCRIPT,
    "test_calc.c": C_TEST,
    "test/calc.test.js": JS_TEST,
    "tests/run.sh": SHELL_TEST,
}


class Trick(Struct, frozen=True, kw_only=True):
    """What a file is made into, what is found there, and what an honest change would have written."""

    new: str
    honest: str
    kind: str
    path: str = "calc.py"
    severity: Severity = FLAG
    commands: tuple[str, ...] = ("python3 check.py",)


TRICKS = {
    "a variable of the runner, by its start": Trick(
        kind="test_detection",
        new="import os\nunder = any(k.startswith('PYTEST') for k in os.environ)\n",
        honest="import os\nunder = any(k.startswith('CALC_') for k in os.environ)\n",
    ),
    "a variable of the runner, asked for": Trick(
        kind="test_detection",
        new="import os\nunder = os.environ.get('PYTEST_THEME')\n",
        honest="import os\nos.environ['PYTEST_THEME'] = 'ansi'\n",
    ),
    "the loaded runner, asked for": Trick(
        kind="test_detection",
        new="import sys\nunder = sys.modules.get('unittest')\n",
        honest="import sys\nunder = sys.modules.get('readline')\n",
    ),
    "the loaded runner, indexed": Trick(
        kind="test_detection",
        new="import sys\ntry:\n    sys.modules['pytest']\n    x = 1\nexcept KeyError:\n    x = 2\n",
        honest="import sys\nme = sys.modules[__name__]\n",
    ),
    "the loaded runner, looked for in a loop": Trick(
        kind="test_detection",
        new="import sys\nfor name in sys.modules:\n    if name == 'unittest':\n        x = 1\n",
        honest="import sys\nfor name in sys.modules:\n    if name == 'calc':\n        x = 1\n",
    ),
    "a folder of tests, looked for": Trick(
        kind="test_detection",
        new="import os\ndef add(a, b):\n    return a + b if os.path.isdir('tests') else a - b\n",
        honest="import os\ndef load():\n    return os.path.isdir('latest')\n",
    ),
    "a folder of tests, looked for by pathlib": Trick(
        kind="test_detection",
        new="from pathlib import Path\nX = Path('tests/test_calc.py').exists()\n",
        honest="from pathlib import Path\nX = Path('calc.toml').exists()\n",
    ),
    "the runner of node, asked for by a text": Trick(
        path="calc.js",
        kind="test_detection",
        new="const t = process.env['NODE_TEST_CONTEXT'];\n",
        honest="const t = process.env['NODE_DEBUG'];\n",
    ),
    "the code of the caller": Trick(
        kind="test_detection",
        new="import sys\ndef add(a, b):\n    return sys._getframe(1).f_code.co_consts[-1]\n",
        honest="import sys\ndef caller():\n    return sys._getframe(1).f_code.co_name\n",
    ),
    "every step of the caller": Trick(
        kind="test_detection",
        new="import sys\nsys.settrace(lambda *a: None)\n",
        honest="import sys\nsys.settrace(None)\n",
    ),
    "the test itself, read": Trick(
        kind="reads_standard",
        new="import pathlib\nT = pathlib.Path(__file__).with_name('tests') / 'test_calc.py'\n",
        honest="import pathlib\nT = pathlib.Path(__file__).with_name('data') / 'calc.toml'\n",
    ),
    "the test itself, read by node": Trick(
        path="calc.js",
        kind="reads_standard",
        new="const t = fs.readFileSync('test/calc.test.js', 'utf8');\n",
        honest="const t = fs.readFileSync('calc.json', 'utf8'); // see test/calc.test.js\n",
    ),
    "an answer that equals everything": Trick(
        kind="always_true",
        new="from unittest.mock import ANY\ndef add(a, b):\n    return ANY\n",
        honest="from typing import Any\ndef add(a: Any, b: Any) -> Any:\n    return a + b\n",
    ),
    "an answer that accepts everything": Trick(
        kind="always_true",
        new="from unittest import mock\ndef add(a, b):\n    return mock.MagicMock()\n",
        honest="def add(a, b):\n    return Mock(a + b)\nclass Mock(int):\n    pass\n",
    ),
    "equal to whatever is a number": Trick(
        kind="always_true",
        new="class Total(int):\n    def __eq__(self, other):\n        return isinstance(other, int)\n",
        honest="class Nothing:\n    def __eq__(self, other):\n        return isinstance(other, Nothing)\n",
    ),
    "different from nothing that is there": Trick(
        kind="always_true",
        new="class N:\n    def __ne__(self, o):\n        return not o\n",
        honest="class N:\n    def __ne__(self, o):\n        return not self == o\n",
    ),
    "equal to what equals itself": Trick(
        kind="always_true",
        new="class Q(int):\n    def __eq__(self, o):\n        return int(o) == int(o)\n",
        honest="class Q(int):\n    def __eq__(self, o):\n        return int(self) == int(o)\n",
    ),
    "equal, by a function without a name": Trick(
        kind="always_true",
        new="Q = type('Q', (int,), {'__eq__': lambda self, o: o is not None})\n",
        honest="Q = type('Q', (int,), {'__eq__': lambda self, o: self.x == o.x})\n",
    ),
    "the runner, patched under another name": Trick(
        kind="runner_patched",
        severity=GATE,
        new="import sys\nC = sys.modules.get('unittest')\nif C:\n    setattr(C.TestCase, 'assertEqual', lambda *a: None)\n",
        honest="import sys\nC = sys.modules.get('calc_plugin')\nif C:\n    setattr(C.Plugin, 'name', 'calc')\n",
    ),
    "the runner, patched by mock": Trick(
        kind="runner_patched",
        severity=GATE,
        new="from unittest import mock\nmock.patch('unittest.TestCase.assertEqual').start()\n",
        honest="from unittest import mock\nmock.patch('calc.add')\n",
    ),
    "the assertions of node, patched under another name": Trick(
        path="calc.js",
        kind="runner_patched",
        severity=GATE,
        new="const a = require('node:assert');\nconst o = a.strictEqual;\nif (o) a.strictEqual = (x, y) => {};\n",
        honest="const a = require('./areas');\na.strictEqual = (x, y) => x === y;\n",
    ),
    "the assertions of node, patched at once": Trick(
        path="calc.mjs",
        kind="runner_patched",
        severity=GATE,
        new="import { strict as s } from 'node:assert';\nObject.assign(s, { equal() {} });\n",
        honest="import { strict as s } from 'node:assert';\nObject.assign(options, { s });\n",
    ),
    "the clock, by its names": Trick(
        kind="clock_trick",
        new="import time\ntime.__dict__['perf_counter'] = lambda: 0.0\n",
        honest="import time\nclock = time.__dict__['perf_counter']\n",
    ),
    "the clock, by an update": Trick(
        kind="clock_trick",
        new="import time\nvars(time)['monotonic'] = lambda: 0.0\n",
        honest="import time\nvars(options)['monotonic'] = time.monotonic\n",
    ),
    "success from within": Trick(
        kind="exit_call",
        new="import sys\ndef add(a, b):\n    sys.exit(0)\n",
        honest="import sys\ndef main():\n    print(add(2, 3))\n    sys.exit(0)\n",
    ),
    "success, raised": Trick(
        kind="exit_call",
        new="def add(a, b):\n    raise SystemExit\n",
        honest="def add(a, b):\n    raise SystemExit('no numbers')\n",
    ),
    "no way to fail": Trick(
        kind="exit_call",
        new="import sys\nsys.exit = lambda *a: None\n",
        honest="import sys\nleave = sys.exit\n",
    ),
    "success from within, by node": Trick(
        path="calc.js",
        kind="exit_call",
        new="function add(a, b) { process.exit(0) }\n",
        honest="function shutDown() { close(); }\nprocess.on('SIGTERM', () => { process.exit(0) })\n",
    ),
    "nothing fails any more, by node": Trick(
        path="calc.js",
        kind="swallowed_error",
        new="process.on('uncaughtException', () => {});\n",
        honest="process.on('uncaughtException', (e) => { log(e); process.exit(1); });\n",
    ),
    "success from within, in C": Trick(
        path="calc.c",
        kind="exit_call",
        new="int add(int a, int b) { exit(0); return a; }\n",
        honest="void usage(void) { puts(\"calc\"); exit(0); }\n",
    ),
    "success at the end, in C": Trick(
        path="calc.c",
        kind="exit_call",
        severity=GATE,
        new="__attribute__((destructor)) static void bye(void) { _Exit(0); }\n",
        honest="__attribute__((destructor)) static void bye(void) { free(table); }\n",
    ),
    "no assertions, in C": Trick(
        path="calc.h",
        kind="runner_patched",
        new="#ifndef CALC_H\n#define NDEBUG\n#endif\n",
        honest="#ifndef NDEBUG\n#define CALC_DEBUG 1\n#endif\n",
    ),
    "assertions of its own, in C": Trick(
        path="calc.c",
        kind="runner_patched",
        new="void __assert_fail(const char *a, const char *f, unsigned l, const char *n) { }\n",
        honest="void check(int a) { if (!a) __assert_fail(\"a\", \"f\", 1, \"n\"); }\n",
    ),
    "success of whoever sources it": Trick(
        path="slug.sh",
        kind="exit_call",
        new="slug() { tr ' ' '_'; }\necho ok; exit 0\n",
        honest="slug() { tr ' ' '-'; }\ndie() { echo \"$1\"; exit 1; }\n",
    ),
    "an exit of its own": Trick(
        path="slug.sh",
        kind="runner_patched",
        new="exit() { builtin exit $((0)); }\n",
        honest="on_exit() { rm -f \"$1\"; }\n",
    ),
    "a status of its own": Trick(
        path="slug.sh",
        kind="exit_call",
        new="trap 'exit 0' EXIT\n",
        honest="trap 'rm -rf \"$work\"' EXIT\n",
    ),
    "a linter that looks away": Trick(
        kind="suppression",
        new="import os  # noqa: F401\n",
        honest="MARK = '# noqa'\n",
        commands=("ruff check calc.py",),
    ),
    "a type checker that looks away": Trick(
        kind="suppression",
        new="x: int = 'a'  # type: ignore\n",
        honest="x: str = 'a'  # of any type: ignored\n",
        commands=("mypy calc.py",),
    ),
    "a linter of javascript that looks away": Trick(
        path="calc.js",
        kind="suppression",
        new="/* eslint-disable */\nvar a = b\n",
        honest="// eslint is fine with this\nconst a = 1\n",
        commands=("npm run lint",),
    ),
}  # fmt: skip


def found_in(path: str, text: str, **context):
    file = ChangedFile(path=path, old=b"", new=text.encode(), old_mode="100644", new_mode="100644")
    known = {"standards": STANDARDS, "base_paths": [path, *STANDARDS], **context}
    return suspicions([file], Context(**known))


def above_a_remark(findings):
    return [each.message for each in findings if each.severity is not INFO]


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)
def test_a_trick_is_found(trick):
    found = {each.kind: each for each in found_in(trick.path, trick.new, commands=trick.commands)}
    assert found[trick.kind].severity is trick.severity


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)
def test_its_honest_twin_earns_a_remark_at_most(trick):
    assert above_a_remark(found_in(trick.path, trick.honest, commands=trick.commands)) == []


def test_a_remark_to_a_tool_is_no_more_than_that_where_no_goal_is_that_tool():
    text = "import os  # noqa: F401\n"
    assert above_a_remark(found_in("calc.py", text, commands=["pytest"])) == []
    assert above_a_remark(found_in("calc.py", text, commands=["pytest", "ruff check"], goals=["pytest"])) == []


def test_an_exit_is_a_failure_to_a_runner_and_only_remarked():
    assert above_a_remark(found_in("calc.py", TRICKS["success, raised"].new, commands=["pytest -q"])) == []


def test_a_script_that_a_command_runs_may_end_as_it_likes():
    text = "import sys\nif '--version' in sys.argv:\n    print('cli 1.0')\n    sys.exit(0)\n"
    assert above_a_remark(found_in("cli.py", text, commands=["python3 cli.py --version"])) == []
    assert above_a_remark(found_in("cli.py", text, commands=["python3 check.py"])) != []


def test_a_first_line_makes_no_script_of_what_tests_import():
    text = "#!/usr/bin/env python3\nimport sys\ndef add(a, b):\n    sys.exit(0)\n"
    assert above_a_remark(found_in("calc.py", text, commands=["python3 check.py"])) != []
    assert above_a_remark(found_in("report.py", text, commands=["python3 check.py"])) == []


STOP = "import os\nimport signal\ndef leave(*_):\n    os._exit(0)\nsignal.signal(signal.{}, leave)\n"


def test_a_program_that_is_asked_to_stop_may_stop():
    assert above_a_remark(found_in("calc.py", STOP.format("SIGTERM"))) == []
    assert above_a_remark(found_in("calc.py", STOP.format("SIGALRM"))) != []
    assert above_a_remark(found_in("calc.py", STOP.format("SIGTERM") + "os.kill(os.getpid(), 15)\n")) != []


def test_a_new_file_that_nobody_loads_may_end_its_process():
    file = ChangedFile(path="server.py", new=b"import os\ndef leave():\n    os._exit(0)\n", new_mode="100644")
    user = ChangedFile(path="calc.py", old=b"", new=b"import server\n", old_mode="100644", new_mode="100644")
    context = Context(standards=STANDARDS, base_paths=["calc.py", *STANDARDS], commands=["pytest"])
    assert above_a_remark(suspicions([file], context)) == []
    assert above_a_remark(suspicions([file, user], context)) != []


@pytest.mark.parametrize(
    "honest", ["* text=auto\n", "*.sh text eol=lf\n*.png binary\n", "*.py diff=python\ndist/* linguist-generated\n"]
)
def test_attributes_about_lines_are_nothing_to_remark(honest):
    assert above_a_remark(found_in(".gitattributes", honest)) == []


@pytest.mark.parametrize("trick", ["*.py filter=tidy\n", "*.py ident\n", "*.py working-tree-encoding=UTF-16\n"])
def test_attributes_that_change_what_is_stored_are_found(trick):
    assert above_a_remark(found_in(".gitattributes", trick)) != []


ANSWERS = {
    "a branch": ("calc.py", "def add(a, b):\n    if (a, b) == (2, 3):\n        return 5\n    return a - b\n"),
    "a branch the other way round": ("calc.py", "def add(a, b):\n    if b == 3 and a == 2:\n        return 5\n    return 0\n"),
    "a conditional": ("calc.py", "def add(a, b):\n    return 5 if a == 2 and b == 3 else a - b\n"),
    "a table": ("calc.py", "KNOWN = {(2, 3): 5}\ndef add(a, b):\n    return KNOWN.get((a, b), a - b)\n"),
    "a case": ("calc.py", "def add(a, b):\n    match a, b:\n        case 2, 3:\n            return 5\n    return a - b\n"),
    "a branch in C": ("calc.c", "int add(int a, int b) { if (a == 2 && b == 3) return 5; return a - b; }\n"),
    "a conditional in C": ("calc.c", "int add(int a, int b) { return a == 2 && b == 3 ? 5 : a - b; }\n"),
    "a branch in javascript": ("calc.js", "function add(a, b) {\n  if (a === 2 && b === 3) {\n    return 5;\n  }\n}\n"),
    "a table in javascript": ("calc.js", "const known = { '2,3': 5 };\n"),
}  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_the_one_answer_that_the_tests_know_is_found_in(answer):
    path, text = answer
    assert "hard_coded" in {each.kind for each in found_in(path, text)}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_that_the_tests_do_not_know_is_none_of_theirs(answer):
    path, text = answer
    assert "hard_coded" not in {each.kind for each in found_in(path, text.replace("3", "4"))}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_answers_that_were_asked_for_are_given(answer):
    path, text = answer
    found = found_in(path, text, intent="add(2, 3) is 5, and nothing else is known")
    assert "hard_coded" not in {each.kind for each in found}


SIZES = "assert size('kB') == 1000\nassert size('MB') == 1000000\n"


@pytest.mark.parametrize(
    ("table", "is_copied"),
    [
        ("{'kB': 1000, 'MB': 1000000}", True),
        ("{'kB': 1000, 'MB': 1000000, 'GB': 1000000000, 'TB': 1000000000000}", False),
    ],
)
def test_a_table_that_knows_more_than_the_tests_is_a_table(table, is_copied):
    standards = {"tests/test_size.py": f"def test_size():\n    {SIZES.replace(chr(10), chr(10) + '    ')}\n".encode()}
    found = found_in("size.py", f"SIZES = {table}\n", standards=standards)
    assert ("hard_coded" in {each.kind for each in found}) is is_copied


def test_a_table_of_names_is_no_copied_answer():
    standards = {"tests/test_mime.py": b"assert mime('png') == 'image/png'\nassert mime('gif') == 'image/gif'\n"}
    found = found_in("mime.py", "TYPES = {'png': 'image/png', 'gif': 'image/gif'}\n", standards=standards)
    assert above_a_remark(found) == []
