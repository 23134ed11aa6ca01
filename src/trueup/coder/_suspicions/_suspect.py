"""From a change to its findings: every family looks at every file, and what the base had already is taken off."""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from .._verdict import Finding, Severity
from ._builds import look_at_builds
from ._characters import look_at_characters
from ._expectations import look_for_copied_answers
from ._javascript import look_at_javascript
from ._lost import look_at_lost
from ._model import ChangedFile, Context, Suspicion
from ._other_languages import look_at_other_languages
from ._python import look_at_python
from ._reading import Reading, Sides
from ._report import findings_of
from ._secrets import look_for_secrets
from ._shell import look_at_shell
from ._standards_read import look_at_standards_read
from ._startup import look_at_startup
from ._suppressions import look_at_suppressions
from ._surroundings import Surroundings
from ._tree import look_at_tree, look_for_shadows

_READERS: tuple[Callable[[Reading], Iterable[Suspicion]], ...] = (
    look_at_python,
    look_at_javascript,
    look_at_other_languages,
    look_at_shell,
    look_at_builds,
    look_at_startup,
    look_at_standards_read,
    look_at_suppressions,
    look_at_characters,
)

# Above this many files nobody parses each of them only to see that it still parses: an import shows that, too.
MOST_FILES_PARSED = 300

# What Python is told about warnings holds for all of its threads.
_ONE_AT_A_TIME = threading.Lock()

# What a suspicion is known by, wherever in the change it stands.
Trace = tuple[str, str, str]


def suspicions(files: Sequence[ChangedFile], context: Context | None = None) -> list[Finding]:
    """What looks wrong about a change, at most once per kind and file; pure, quick, and no verdict."""
    context = context or Context()
    base_paths = frozenset(context.base_paths)
    around = Surroundings(context, files)
    new_paths = frozenset(file.path for file in files if file.new is not None)
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        # Code under suspicion may be badly written; that is not this program's to warn about.
        warnings.simplefilter("ignore")
        gone = Counter(trace for file in files if file.new is None for trace in _taken_away(Sides.of(file, around)))
        copied = look_for_copied_answers(files, context.standards, context.intent)
        parse_all = len(files) <= MOST_FILES_PARSED
        findings = []
        for file in files:
            found = [*look_at_tree(file), *look_for_shadows(file, new_paths, base_paths, context.commands)]
            found += _not_merely_moved(_brought_in(Sides.of(file, around), parse_all=parse_all), gone)
            found += [copied[file.path]] if file.path in copied else []
            findings += findings_of(file.path, found)
    return findings + [_ignored(path) for path in context.ignored_read]


def _brought_in(side: Sides, *, parse_all: bool) -> list[tuple[Trace, Suspicion]]:
    """What is suspicious about the contents of a file, less what is so about the base's."""
    old, new = side.old, side.new
    if new is None:
        return []
    found = [(_trace(each, new), each) for each in _look(new)]
    if old is None:
        return found
    lost = [(_trace(each, new), each) for each in look_at_lost(old, new, parse_all=parse_all)]
    return sorted([*_less_known(found, old, new), *lost], key=lambda pair: pair[1].line or 0)


def _less_known(found: list[tuple[Trace, Suspicion]], old: Reading, new: Reading) -> Iterator[tuple[Trace, Suspicion]]:
    if not found:
        return
    known = Counter(_trace(each, old) for each in _look(old))
    old_lines = frozenset(old.lines)
    # Of several that are alike, those on lines that the base does not have are the new ones.
    for trace, each in sorted(found, key=lambda pair: new.lines[(pair[1].line or 1) - 1] not in old_lines):
        if known[trace]:
            known[trace] -= 1
        else:
            yield trace, each


def _taken_away(side: Sides) -> Iterator[Trace]:
    """What was suspicious about a file that is no longer there: perhaps it has only moved."""
    if side.new is None and side.old is not None:
        yield from (_trace(each, side.old) for each in _look(side.old))


def _not_merely_moved(found: Iterable[tuple[Trace, Suspicion]], gone: Counter[Trace]) -> Iterator[Suspicion]:
    for trace, each in found:
        if each.severity is not Severity.GATE and gone[trace]:
            gone[trace] -= 1
        else:
            yield each


def _look(reading: Reading) -> Iterator[Suspicion]:
    yield from look_for_secrets(reading)
    if reading.is_readable:
        for look in _READERS:
            yield from look(reading)


def _trace(suspicion: Suspicion, reading: Reading) -> Trace:
    place = suspicion.key if suspicion.key is not None else reading.line_text(suspicion.line)
    return suspicion.kind, suspicion.what, place


def _ignored(path: str) -> Finding:
    what = f"{path} is read by the checks although git ignores it, so it is no part of the change that they judge"
    return Finding(severity=Severity.INFO, kind="ignored_read", message=what, path=path)
