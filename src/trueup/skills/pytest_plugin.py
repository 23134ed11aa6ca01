"""Skill tests in pytest: every `*.skilltest.yaml` is a file of tests, and every cell of it a test.

Loaded by every pytest where trueup is installed, so nothing of trueup is imported before such a file is there.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ._case import Case, Config
    from ._report import CellReport

SUFFIXES = (".skilltest.yaml", ".skilltest.yml")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which cells are run, where that is not what the configuration says."""
    group = parser.getgroup("trueup", "skill tests")
    many = {"action": "append", "default": [], "metavar": "NAME"}
    group.addoption("--skill-platform", help="Run skill tests on this harness; can be given more than once.", **many)
    group.addoption("--skill-model", help="Run skill tests with this model; can be given more than once.", **many)
    group.addoption("--skill-repeat", type=_count, default=1, metavar="N", help="Run every cell N times.")
    group.addoption("--skill-config", metavar="FILE", help="The configuration; default: the nearest to each case.")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Take the files that are cases."""
    return SkillFile.from_parent(parent, path=file_path) if file_path.name.endswith(SUFFIXES) else None


class SkillFile(pytest.File):
    """A case, with a test for each of its cells."""

    def collect(self) -> Iterator[SkillCell]:
        from trueup.core.errors import InputError

        try:
            case, config, folder = self._read()
        except InputError as error:
            raise self.CollectError(str(error)) from None
        for platform in config.platforms:
            for model in config.models:
                for repeat in range(1, self.config.getoption("--skill-repeat") + 1):
                    name = f"{case.name.removesuffix('.skilltest')}[{platform}-{model or 'default'}-{repeat}]"
                    run = partial(_run, case, config, folder, platform, model)
                    yield SkillCell.from_parent(self, name=name, run=run)

    def _read(self) -> tuple[Case, Config, Path]:
        from ._case import config_folder, load_case, load_config, override_config

        option = self.config.getoption
        case = load_case(self.path)
        named = option("--skill-config")
        path = None if named is None else self.config.invocation_params.dir / named
        folder = config_folder(self.path.parent) if path is None else path.parent
        config = load_config(path, folder)
        return (
            case,
            override_config(config, platforms=option("--skill-platform"), models=option("--skill-model")),
            folder,
        )


class SkillCell(pytest.Item):
    """One cell."""

    def __init__(self, *, run: Callable[[], CellReport], **more: Any) -> None:
        super().__init__(**more)
        self._run = run

    def runtest(self) -> None:
        cell = self._run()
        if cell.usage is not None and cell.usage.cost_usd is not None:
            self.user_properties.append(("cost_usd", cell.usage.cost_usd))
        if not cell.passed:
            raise CellNotPassedError(cell)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from trueup.core.errors import TrueupError

        if isinstance(excinfo.value, CellNotPassedError | TrueupError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


class CellNotPassedError(Exception):
    """A cell that failed, or that could not be judged."""

    def __init__(self, cell: CellReport) -> None:
        from ._story import cell_story

        super().__init__(cell_story(cell))
        self.is_failure = cell.error is None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A cell that could not be judged is an error, and what makes an error of a failure is that it came early."""
    report = yield
    if isinstance(item, SkillCell) and call.excinfo is not None and report.when == "call":
        failed = isinstance(call.excinfo.value, CellNotPassedError) and call.excinfo.value.is_failure
        report.when = "call" if failed else "setup"
    return report


def _run(case: Case, config: Config, folder: Path, platform: str, model: str) -> CellReport:
    from ._run_skill import run_skill

    return run_skill(case, config=config, folder=folder, platforms=[platform], models=[model], jobs=1).runs[0]


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is no number of at least 1")
    return int(text)
