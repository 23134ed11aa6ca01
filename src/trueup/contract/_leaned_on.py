"""What tests and verifying scripts lean on outside of their own folders: helpers that compare, and data they expect.

Such a file is a standard only where the product has no use for it: what a source names as well is the product's. Nor
is it one where the task speaks of it, or a test is named after it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator

from ._manifest_keys import is_manifest
from ._named_files import Read, Tree, says_it_verifies
from ._standards import known_standard

MOST_STANDARDS = 2000
MOST_SOURCES = 4000
_CODE = (
    *(".py", ".pyw", ".js", ".cjs", ".mjs", ".jsx", ".ts", ".tsx", ".sh", ".bash", ".bats", ".rb", ".go", ".rs"),
    *(".c", ".h", ".cc", ".cpp", ".hpp", ".java", ".kt", ".php", ".cs", ".swift", ".lua", ".ex", ".exs", ".pl"),
)
_DATA = "json jsonl ndjson csv tsv txt xml yaml yml out expected dat bin sql pkl parquet golden".split()
_HELPS = re.compile(
    r"assert(?:s|ions?)?|(?:assert|tests?|testing|check|spec)[_-]?(?:utils?|helpers?|support|lib|tools?|kit|cases?|base|harness)"
)
_HELPS_A_SCRIPT = re.compile(r"helpers?|harness|support")
_EXPECTS = re.compile(
    r"(?:^|[^a-z])(?:expected|expect|golden|want(?:ed)?|oracle|reference|cases|vectors|answers)(?:[^a-z]|$)"
)

_IMPORTS = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\(?[\w, \t]+)|import[ \t]+([\w., \t]+))", re.MULTILINE
)
_LOADS = re.compile(r"(?:\brequire\(|\bfrom\s|\bimport\s?\(?)\s*['\"](\.{1,2}/[^'\"\n]+)['\"]")
_SOURCES = re.compile(r"(?:^|[;&|])[ \t]*(?:\.|source)[ \t]+[^\n;&|]*?([\w.-]+\.(?:sh|bash))", re.MULTILINE)
_INCLUDES = re.compile(r"^[ \t]*#[ \t]*include[ \t]+\"([^\"\n]+)\"", re.MULTILINE)
_LITERAL = re.compile(rf"['\"`]([\w./ -]{{1,120}}\.(?:{'|'.join(_DATA)}))['\"`]")
_ENDINGS = ("", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", "/index.js", "/index.ts")


def leaned_on(named: dict[str, str], scripts: Collection[str], tree: Tree, read: Read, task: str) -> dict[str, str]:
    """Files that only tests and verifying scripts use, each with the reason."""
    standards = [path for path in sorted(tree.files) if path.endswith(_CODE) and (path in named or _is_test(path))]
    names = {posixpath.basename(path) for path in tree.files}
    search = _Search(named, frozenset(scripts), tree, read)
    for path in standards[:MOST_STANDARDS]:
        search.look_at(path)
    found = {path: by for path, by in search.found.items() if not _is_the_subject(path, names, task)}
    return {path: f"used by {by}" for path, by in _of_no_use_to_the_product(found, standards, tree, read)}


class _Search:
    """Goes from each standard to what it uses, and on from the helpers it finds."""

    def __init__(self, named: dict[str, str], scripts: frozenset[str], tree: Tree, read: Read) -> None:
        self._named = named
        self._scripts = scripts
        self._tree = tree
        self._read = read
        self._by_name: dict[str, list[str]] = {}
        for path in tree.files:
            self._by_name.setdefault(posixpath.basename(path), []).append(path)
        self.found: dict[str, str] = {}

    def look_at(self, path: str) -> None:
        text = self._read(path)
        if not text:
            return
        used = [each for each in _used(path, text, self._tree) if each != path]
        for each in used:
            if self._is_free(each) and self._helps(each, path):
                self.found[each] = path
                self.look_at(each)
        speaks_to_the_product = any(self._is_free(each) for each in used)
        for data in self._data(path, text):
            if self._is_free(data) and (speaks_to_the_product or _EXPECTS.search(posixpath.basename(data).lower())):
                self.found[data] = path

    def _is_free(self, path: str) -> bool:
        is_standard = path in self._named or known_standard(path) or is_manifest(path)
        return path not in self.found and not is_standard

    def _helps(self, path: str, by: str) -> bool:
        folder, name = posixpath.split(path)
        stem = name.partition(".")[0].lower()
        if _HELPS.fullmatch(stem):
            return True
        by_a_script = by in self._scripts or by in self.found
        if not by_a_script or folder != posixpath.dirname(by):
            return False
        return _HELPS_A_SCRIPT.fullmatch(stem) is not None or says_it_verifies(f"{folder}/_")

    def _data(self, path: str, text: str) -> Iterator[str]:
        for hit in _LITERAL.finditer(text):
            word = hit[1]
            found = self._tree.file(word) or self._tree.file(word, posixpath.dirname(path))
            alike = self._by_name.get(posixpath.basename(word), [])
            if found or len(alike) == 1:
                yield found or alike[0]


def _is_test(path: str) -> bool:
    return known_standard(path) in ("test file", "runner configuration")


def _is_the_subject(path: str, names: Collection[str], task: str) -> bool:
    """Whether a task or a test is about this very file."""
    name = posixpath.basename(path)
    stem = name.partition(".")[0]
    tested = re.compile(rf"(?:test[_-]{re.escape(stem)}|{re.escape(stem)}(?:[_-](?:test|spec)|\.(?:test|spec)))\.\w+")
    return name in task or any(tested.fullmatch(each) for each in names)


def _of_no_use_to_the_product(
    found: dict[str, str], standards: Collection[str], tree: Tree, read: Read
) -> Iterator[tuple[str, str]]:
    left = dict(found)
    apart = {*standards, *found}
    sources = [path for path in sorted(tree.files) if path.endswith(_CODE) and path not in apart] if found else []
    if len(sources) > MOST_SOURCES:
        return
    asks = {path: _use_of(path) for path in left}
    for source in sources:
        text = read(source) if left else None
        for path in [path for path in left if text and asks[path](text)]:
            del left[path]
    yield from left.items()


def _use_of(path: str) -> Callable[[str], object]:
    """What finds the use of a file in a source's text."""
    folder, name = posixpath.split(path)
    stem = re.escape(name.partition(".")[0])
    if path.endswith(_CODE):
        return re.compile(rf"^[^\n]*\b(?:import|from|require|include|source)\b[^\n]*\b{stem}\b", re.MULTILINE).search
    inside = rf"|['\"/]{re.escape(posixpath.basename(folder))}['\"/]" if folder else ""
    return re.compile(rf"{re.escape(name)}|['\"]{stem}['\"]{inside}").search


def _used(path: str, text: str, tree: Tree) -> Iterable[str]:
    """The files of the repository that a file imports, loads, sources or includes."""
    folder = posixpath.dirname(path)
    if path.endswith((".py", ".pyw")):
        found = {tree.module(name, place) for name, place in _python_modules(text, folder)}
    elif path.endswith((".sh", ".bash", ".bats")):
        found = {tree.file(hit[1], place) for hit in _SOURCES.finditer(text) for place in (folder, ".")}
    elif path.endswith((".c", ".h", ".cc", ".cpp", ".hpp")):
        found = {tree.file(hit[1], place) for hit in _INCLUDES.finditer(text) for place in (folder, ".", "include")}
    else:
        found = {tree.file(hit[1] + ending, folder) for hit in _LOADS.finditer(text) for ending in _ENDINGS}
    return sorted(each for each in found if each is not None and each in tree.files)


def _python_modules(text: str, folder: str) -> Iterator[tuple[str, str]]:
    """Dotted names as a file imports them, each with a folder in which they may be found."""
    for hit in _IMPORTS.finditer(text):
        origin, taken, plain = hit[1], hit[2], hit[3]
        if plain is not None:
            names = [each.split()[0] for each in plain.split(",") if each.split()]
        else:
            each_taken = [each.split()[0] for each in taken.strip("(").split(",") if each.split()]
            dotted = origin.lstrip(".")
            names = [".".join(filter(None, (dotted, each))) for each in each_taken]
        level = len(origin) - len(origin.lstrip(".")) if origin else 0
        places = [posixpath.join(folder, *[".."] * (level - 1))] if level else [folder, ".", "src", "lib"]
        yield from ((name, place) for name in names for place in places if name.strip("."))
