"""Scripts that verify though no name of theirs says so, and files that only set variables: told by their text."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Collection, Iterator

_SETS = re.compile(r"\s*(?:(?:export|readonly|declare(?: -\w+)*|local|set -[ae]+;?)\s+)*[A-Za-z_]\w*=.*|\s*(?:#.*)?")
_JS_ASSERTS = re.compile(
    r"\bassert(?:\.\w+)?\s*\(|\bif\s*\([^\n]*[!=]==?[^\n]*\)\s*\{?[^\n}]*(?:\n[^\n}]*){0,2}process\.exit\(\s*[1-9]"
)
_JS_LOADS = re.compile(r"(?:\brequire\(|\bfrom\s|\bimport\s?\(?)\s*['\"](\.{1,2}/[^'\"\n]+)['\"]")
_SHELL_COMPARES = re.compile(
    r"(?:\]|\b(?:diff|cmp|grep|test)\b[^\n|&;]*)\s*\|\|[^\n]*\bexit\s+[1-9]"
    r"|\bif\s+!?[^\n]*(?:\[|\bdiff\b|\bcmp\b|\bgrep\b|\btest\b)[^\n]*(?:\n[^\n]*){1,3}?\bexit\s+[1-9]"
)
_SHELL_STARTS = re.compile(r"\$\(|^\s*(?:\.|source)\s|\|\s*(?:diff|grep|cmp)\b", re.MULTILINE)
_LEAVES = frozenset("exit _exit SystemExit fail abort".split())


def only_sets_variables(text: str) -> bool:
    """Whether a file has assignments and nothing else, and at least one."""
    lines = text.splitlines()
    return any("=" in line for line in lines) and all(_SETS.fullmatch(line) for line in lines)


def verifies(path: str, text: str, files: Collection[str]) -> bool:
    """Whether a script compares what another file of the repository does, and fails where it is not as expected."""
    if path.endswith((".py", ".pyw")):
        return _python_verifies(path, text, files)
    if path.endswith((".js", ".cjs", ".mjs", ".ts")):
        return bool(_JS_ASSERTS.search(text)) and _JS_LOADS.search(text) is not None
    is_shell = path.endswith((".sh", ".bash")) or re.match(r"#!.*\b(?:ba|da|z|k)?sh\b", text) is not None
    return is_shell and bool(_SHELL_COMPARES.search(text)) and _SHELL_STARTS.search(text) is not None


def _python_verifies(path: str, text: str, files: Collection[str]) -> bool:
    if not re.search(r"\bassert\b|\bexit\b|\bSystemExit\b|\braise\b", text):
        return False
    try:
        tree = ast.parse(text)
        ours = set(_own_names(tree, posixpath.dirname(path), files))
        return any(_judges(node, ours) for node in ast.walk(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _own_names(tree: ast.Module, folder: str, files: Collection[str]) -> Iterator[str]:
    """Names by which a script calls what the repository has."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                if _is_ours(each.name, folder, files):
                    yield each.asname or each.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and (node.level or _is_ours(node.module or "", folder, files)):
            yield from (each.asname or each.name for each in node.names)


def _is_ours(module: str, folder: str, files: Collection[str]) -> bool:
    stem = module.replace(".", "/")
    places = {posixpath.normpath(posixpath.join(root, stem)) for root in (folder, ".", "src", "lib")}
    return any(f"{place}{ending}" in files for place in places for ending in (".py", "/__init__.py"))


def _judges(node: ast.AST, ours: set[str]) -> bool:
    """`assert ours.f(2) == 5`, `if ours.f(2) != 5: sys.exit(1)`, `sys.exit(ours.f(2) != 5)`."""
    if isinstance(node, ast.Assert):
        return _compares(node.test, ours)
    if isinstance(node, ast.If):
        return _compares(node.test, ours) and any(_leaves(each) for part in node.body for each in ast.walk(part))
    return isinstance(node, ast.Call) and _leaves(node) and any(_compares(each, ours) for each in node.args)


def _compares(node: ast.expr, ours: set[str]) -> bool:
    compared = [each for each in ast.walk(node) if isinstance(each, ast.Compare)]
    return any(_calls(side, ours) for each in compared for side in (each.left, *each.comparators))


def _calls(node: ast.expr, ours: set[str]) -> bool:
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            root = each.func
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in ours:
                return True
    return False


def _leaves(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise):
        return True
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    succeeds = len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and not node.args[0].value
    return name in _LEAVES and bool(node.args) and not succeeds
