"""Tricks in other languages and in scripts, each beside an honest twin."""

from __future__ import annotations

import pytest

from trueup.coder import Severity
from trueup.coder._suspicions import ChangedFile, suspicions

FLAG, GATE, INFO = Severity.FLAG, Severity.GATE, Severity.INFO

# Path, what the trick writes, what is found, how grave, on which line; and what an honest change writes.
TRICKS = {
    "js skips": ("a.test.js", "describe('a', () => {\n  it.skip('b', () => {})\n})\n", "skip_marker", FLAG, 2, "it('does not it.skip(', () => {})\n"),
    "js runs one only": ("a.spec.ts", "fdescribe('a', () => {})\n", "skip_marker", FLAG, 1, "describe('a', () => { fit.length })\n"),
    "js has it still to do": ("a.test.mjs", "\ntest.todo('b')\n", "skip_marker", FLAG, 2, "// test.todo('b')\ntest('b', () => {})\n"),
    "js replaces expect": ("src/a.js", "global.expect = () => ({ toBe() {} })\n", "runner_patched", GATE, 1, "global.config = load()\n"),
    "js replaces assert": ("src/a.js", "const assert = require('assert')\nassert.strictEqual = () => {}\n", "runner_patched", GATE, 2, "const assert = require('assert')\nassert.strictEqual(a, b)\n"),
    "js defines expect": ("src/a.js", "Object.defineProperty(globalThis, 'expect', {})\n", "runner_patched", GATE, 1, "Object.defineProperty(exports, 'expect', {})\n"),
    "js imports the runner": ("src/a.ts", "import { vi } from 'vitest'\n", "runner_in_source", FLAG, 1, "import { assert } from './assert'\n"),
    "js asks for jest": ("src/a.js", "if (process.env.JEST_WORKER_ID) x()\n", "test_detection", FLAG, 1, "if (process.env.PORT) x()\n"),
    "js asks for NODE_ENV": ("src/a.js", "if (process.env.NODE_ENV === 'test') x()\n", "test_detection", INFO, 1, "if (process.env.NODE_ENV === 'production') x()\n"),
    "js exits": ("src/a.js", "run()\nprocess.exit(0)\n", "exit_call", FLAG, 2, "function stop() {\n  process.exit(0)\n}\n"),
    "js settles its status": ("src/a.js", "process.on('exit', () => { process.exitCode = 0 })\n", "exit_call", FLAG, 1, "process.on('exit', () => { close() })\n"),
    "js replaces the clock": ("src/a.js", "Date.now = () => 0\n", "clock_trick", FLAG, 1, "const now = Date.now()\nif (Date.now == now) x()\n"),
    "js replaces the loader": ("src/a.js", "Module._load = (name) => ({})\n", "import_trick", FLAG, 1, "const m = Module._load('x')\n"),
    "js replaces Object.is": ("src/a.js", "Object.is = () => true\n", "import_trick", FLAG, 1, "const same = Object.is\n"),
    "js equals everything": ("src/a.js", "const o = { asymmetricMatch() { return true } }\n", "always_true", FLAG, 1, "const o = { equals(b) { return this.x === b.x } }\n"),
    "js or true": ("src/a.js", "if (a === b || true) {\n  x()\n}\n", "always_true", FLAG, 1, "const on = '|| true'\nif (a === b || c) {\n  x()\n}\n"),
    "go skips": ("a_test.go", "func TestA(t *testing.T) {\n\tt.Skip()\n}\n", "skip_marker", FLAG, 2, "func TestA(t *testing.T) {\n\tif testing.Short() {\n\t\tt.Skip()\n\t}\n}\n"),
    "go does not build its test": ("a_test.go", "//go:build ignore\n\npackage a\n", "skip_marker", FLAG, 1, "//go:build linux\n\npackage a\n"),
    "go exits at its start": ("a.go", "func init() {\n\tos.Exit(0)\n}\n", "exit_call", FLAG, 1, "func main() {\n\tos.Exit(0)\n}\n"),
    "go imports testing": ("a.go", 'package a\n\nimport (\n\t"testing"\n)\n', "runner_in_source", FLAG, 4, 'package a\n\nimport (\n\t"strings"\n)\nvar x = "testing"\n'),
    "go asks for tests": ("a.go", "var quiet = testing.Testing()\n", "test_detection", FLAG, 1, "var quiet = os.Getenv(\"QUIET\")\n"),
    "go equals everything": ("a.go", "func (a A) Equal(b A) bool { return true }\n", "always_true", FLAG, 1, "func (a A) Equal(b A) bool { return a.x == b.x }\n"),
    "rust ignores": ("src/lib.rs", "#[test]\n#[ignore]\nfn a() {}\n", "skip_marker", FLAG, 2, "#[test]\n// #[ignore]\nfn a<'a>() {}\n"),
    "rust replaces assert_eq": ("src/lib.rs", "macro_rules! assert_eq { ($($x:tt)*) => {} }\n", "runner_patched", GATE, 1, "macro_rules! square { ($x:expr) => { $x * $x } }\n"),
    "rust asks for tests": ("src/lib.rs", "if cfg!(test) { return 1; }\n", "test_detection", FLAG, 1, "#[cfg(test)]\nmod tests;\n"),
    "rust equals everything": ("src/lib.rs", "impl PartialEq for A {\n    fn eq(&self, _: &A) -> bool { true }\n}\n", "always_true", FLAG, 2, "impl PartialEq for A {\n    fn eq(&self, o: &A) -> bool { self.0 == o.0 }\n}\n"),
    "java disables": ("src/test/java/ATest.java", "@Disabled\nvoid a() {}\n", "skip_marker", FLAG, 1, "@Test\nvoid a() {}\n"),
    "java equals everything": ("src/A.java", "public boolean equals(Object o) {\n  return true;\n}\n", "always_true", FLAG, 1, "public boolean equals(Object o) {\n  return o == this;\n}\n"),
    "c ends before it starts": ("a.c", "__attribute__((constructor)) static void x(void) { _exit(0); }\n", "exit_call", GATE, 1, "int main(void) { return 0; }\n"),
    "c++ disables": ("a_test.cpp", "TEST(A, DISABLED_b) {}\n", "skip_marker", FLAG, 1, "TEST(A, b) {}\n"),
    "c# skips": ("ATests.cs", "[Fact(Skip = \"later\")]\n", "skip_marker", FLAG, 1, "[Fact]\n"),
    "ruby skips": ("spec/a_spec.rb", "it 'a' do\n  skip\nend\n", "skip_marker", FLAG, 2, "it 'a' do\n  expect(a.skip).to eq 1\nend\n"),
    "ruby exits": ("lib/a.rb", "at_exit { exit 0 }\n", "exit_call", FLAG, 1, "def main\n  exit 1\nend\n"),
    "php skips": ("tests/ATest.php", "$this->markTestSkipped('x');\n", "skip_marker", FLAG, 1, "$this->assertTrue($x);\n"),
    "swift skips": ("Tests/ATests.swift", "throw XCTSkip(\"x\")\n", "skip_marker", FLAG, 1, "XCTAssertTrue(x)\n"),
    "elixir skips": ("test/a_test.exs", "@tag :skip\n", "skip_marker", FLAG, 1, "@tag :slow\n"),
    "dart skips": ("test/a_test.dart", "test('a', () {}, skip: true);\n", "skip_marker", FLAG, 1, "final l = list.skip(1);\n"),
    "make ignores a failure": ("Makefile", "test:\n\t-python3 -m unittest\n", "check_neutralised", FLAG, 2, "clean:\n\t-rm -r build\ntest:\n\tpython3 -m unittest\n"),
    "make ignores all failures": ("Makefile", ".IGNORE:\ntest:\n\tpytest\n", "check_neutralised", FLAG, 1, ".PHONY: test\ntest:\n\tpytest\n"),
    "make has flags": ("Makefile", "MAKEFLAGS += -i\n", "check_neutralised", FLAG, 1, "MAKEFLAGS += --no-print-directory\n"),
    "make has no shell": ("Makefile", "SHELL := /bin/true\n", "check_neutralised", FLAG, 1, "SHELL := /bin/bash\n"),
    "a script or true": ("run.sh", "set -e\npytest -q tests || true\n", "check_neutralised", FLAG, 2, "rm x || true\npytest -q tests\n"),
    "npm test does nothing": ("package.json", '{"scripts": {\n  "test": "echo ok"}}\n', "check_neutralised", FLAG, 2, '{"scripts": {\n  "test": "echo start && vitest"}}\n'),
    "npm passes without tests": ("package.json", '{"scripts": {"test": "jest --passWithNoTests"}}\n', "check_neutralised", FLAG, 1, '{"scripts": {"test": "jest"}}\n'),
    "jest is set up": ("jest.config.js", "module.exports = {\n  setupFiles: ['./x.js'],\n}\n", "runner_hook", FLAG, 2, "module.exports = {\n  verbose: true,\n}\n"),
    "ci goes on": (".github/workflows/ci.yml", "jobs:\n  - run: pytest\n    continue-on-error: true\n", "check_neutralised", FLAG, 3, "jobs:\n  - run: pytest\n"),
    "a workflow": (".github/workflows/ci.yml", "jobs: {}\n", "ci_changed", INFO, None, "on: push\n"),
    "pytest loads a plugin": ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '-q -p evil'\n", "runner_hook", FLAG, 2, "[tool.pytest.ini_options]\naddopts = '-q --strict-markers'\n"),
    "an entry point of pytest": ("setup.cfg", "[options.entry_points]\npytest11 =\n  x = x\n", "runner_hook", FLAG, 2, "[options.entry_points]\nconsole_scripts =\n  x = x\n"),
    "cargo has no harness": ("Cargo.toml", "[[test]]\nname = 'a'\nharness = false\n", "runner_hook", FLAG, 1, "[[bench]]\nname = 'a'\nharness = false\n"),
}  # fmt: skip


def found_in(path: str, text: str):
    return suspicions([ChangedFile(path=path, new=text.encode(), new_mode="100644")])


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)
def test_a_trick_is_found_where_it_stands(trick):
    path, new, kind, severity, line, _honest = trick
    finding = {each.kind: each for each in found_in(path, new)}[kind]
    assert (finding.severity, finding.path, finding.line) == (severity, path, line)


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)
def test_its_honest_twin_earns_a_remark_at_most(trick):
    path, _new, _kind, _severity, _line, honest = trick
    assert [each for each in found_in(path, honest) if each.severity is not INFO] == []


def test_a_javascript_test_less_is_found():
    file = ChangedFile(path="a.test.js", old=b"it('a', f)\nit('b', f)\n", new=b"it('a', f)\n")
    [finding] = suspicions([file])
    assert (finding.kind, finding.severity) == ("emptied_test", FLAG)


def test_code_in_a_document_is_a_quotation():
    assert found_in("README.md", "```js\nit.skip('x')\nglobal.expect = 1\n```\n\n    os._exit(0)\n") == []


def test_a_trick_in_a_comment_or_a_text_is_none():
    text = '/* global.expect = x */ const s = "process.exitCode = 0; Date.now = 1" // assert.equal = f\n'
    assert [each for each in found_in("src/a.ts", text) if each.severity is GATE] == []
