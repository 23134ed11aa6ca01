"""Commands found in CI files: GitHub, GitLab, CircleCI and Azure, read and never run."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from msgspec import Struct

from ._ecosystems import CiCommand, Repository, show
from ._ecosystems.commands import is_harmful, is_unresolved, recognise, simple_commands
from ._ecosystems.found import table

_SCRIPTS_LIMIT = 2000
_LINES_LIMIT = 500
_OTHER_SHELLS = ("pwsh", "powershell", "cmd", "python")
_OPENS = re.compile(r"(if|for|while|until|case|select|function)\b|\w+\s*\(\)")
_CLOSES = re.compile(r"(^|;\s*)(fi\b|done\b|esac\b|\})")


class _Script(Struct, frozen=True):
    """A shell script of a CI file and the folder in which it starts."""

    text: str
    folder: str = "."


def ci_commands(repository: Repository) -> list[CiCommand]:
    """The lines of CI files that run a known check and can be understood without the CI."""
    commands: dict[CiCommand, None] = {}
    for file, read in _files(repository):
        left_out = 0
        for script in islice(read(repository.yaml(file)), _SCRIPTS_LIMIT):
            for line, cwd in _commands_of(repository, script):
                if recognise(line) is None or is_harmful(line):
                    continue
                if is_unresolved(line):
                    left_out += 1
                else:
                    commands[CiCommand(line, cwd, show(file))] = None
        if left_out:
            repository.note(f"{show(file)}: checks that need values only the CI knows were left out ({left_out})")
    return list(commands)


def _files(repository: Repository) -> Iterator[tuple[str, Any]]:
    for name in repository.names(".github/workflows"):
        if name.endswith((".yml", ".yaml")):
            yield f".github/workflows/{name}", _github_scripts
    for file, read in (
        (".gitlab-ci.yml", _gitlab_scripts),
        (".circleci/config.yml", _circleci_scripts),
        ("azure-pipelines.yml", _azure_scripts),
        ("azure-pipelines.yaml", _azure_scripts),
    ):
        if repository.exists(file):
            yield file, read


def _github_scripts(workflow: dict[str, Any]) -> Iterator[_Script]:
    for job in table(workflow, "jobs").values():
        if not isinstance(job, dict) or str(job.get("runs-on", "")).startswith("windows"):
            continue
        folder = _github_default(job) or _github_default(workflow) or "."
        for step in _tables(job.get("steps")):
            if _is_optional(step) or str(step.get("shell", "")).startswith(_OTHER_SHELLS):
                continue
            yield _Script(_text(step.get("run")), str(step.get("working-directory") or folder))


def _github_default(data: dict[str, Any]) -> str:
    return _text(table(data, "defaults", "run").get("working-directory"))


def _gitlab_scripts(pipeline: dict[str, Any]) -> Iterator[_Script]:
    for job in pipeline.values():
        if isinstance(job, dict) and job.get("allow_failure") != "true":
            yield _Script("\n".join(_lines(job.get("script"))))


def _circleci_scripts(config: dict[str, Any]) -> Iterator[_Script]:
    jobs = [*table(config, "jobs").values(), *table(config, "commands").values()]
    for step in (step for job in jobs for step in _tables(table(job).get("steps"))):
        run = step.get("run")
        if isinstance(run, dict):
            yield _Script(_text(run.get("command")), str(run.get("working_directory") or "."))
        else:
            yield _Script(_text(run))


def _azure_scripts(pipeline: dict[str, Any]) -> Iterator[_Script]:
    stages = [pipeline, *_tables(pipeline.get("stages"))]
    jobs = [job for stage in stages for job in (stage, *_tables(stage.get("jobs"))) if "deployment" not in job]
    for step in (step for job in jobs for step in _tables(job.get("steps"))):
        if step.get("continueOnError") != "true":
            script = _text(step.get("script")) or _text(step.get("bash"))
            yield _Script(script, str(step.get("workingDirectory") or "."))


def _is_optional(step: dict[str, Any]) -> bool:
    return step.get("continue-on-error") == "true"


def _tables(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _lines(value: Any) -> Iterable[str]:
    """GitLab nests lists of lines; aliases could blow that up, so only two levels count."""
    for item in value if isinstance(value, list) else [value]:
        yield from (_text(line) for line in (item if isinstance(item, list) else [item]))


def _commands_of(repository: Repository, script: _Script) -> Iterator[tuple[str, str]]:
    """The simple commands of a script with the folder in which each runs; what is conditional is left out."""
    folder = _folder(repository, ".", script.folder)
    depth = 0
    lines = re.sub(r"\\\r?\n\s*", " ", script.text).splitlines()
    for line in lines[:_LINES_LIMIT]:
        stripped = line.strip()
        if folder is None or "<<" in stripped:
            return
        depth += _OPENS.match(stripped) is not None
        if depth == 0 and not stripped.startswith("#"):
            inner: str | None = folder
            for command in _commands_of_line(stripped):
                if command.startswith("cd ") or command == "cd":
                    inner = _changed(repository, inner, command)
                elif inner is not None:
                    yield " ".join(command.split()), inner
            folder = inner
        depth = max(0, depth - (_CLOSES.search(stripped) is not None))


def _commands_of_line(line: str) -> list[str]:
    # An expression of the CI is no shell, but its line is wanted to be counted among those left out.
    if "${{" in line:
        return [line]
    return simple_commands(line.split(" #", 1)[0])


def _changed(repository: Repository, folder: str | None, command: str) -> str | None:
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    return _folder(repository, folder, words[1]) if folder is not None and len(words) == 2 else None


def _folder(repository: Repository, start: str, step: str) -> str | None:
    """The folder after a `cd`; None where it cannot be known or is not in the repository."""
    if is_unresolved(step) or step.startswith(("/", "~", "-")):
        return None
    folder = posixpath.normpath(posixpath.join(start, step))
    inside = folder != ".." and not folder.startswith("../")
    return folder if inside and repository.is_folder(folder) else None
