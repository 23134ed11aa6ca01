"""Python: pytest, unittest, tox, nox, Django, and the linters that are configured."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from msgspec import Struct

from .commands import PYTHON_TESTS, assignments, recognise
from .found import Ecosystem, Finds, Found, Purpose, Setup, matches_any, strings, table
from .package import Package
from .python_project import Environment, PythonProject
from .python_signs import first_test_folder, nox_session, pytest_sign, tox_environment, uses_unittest

_MANIFESTS = tuple(
    "pyproject.toml setup.py setup.cfg requirements.txt Pipfile tox.ini noxfile.py pytest.ini manage.py".split()
)
_SIGNS = ("conftest.py", "ruff.toml", ".ruff.toml", "mypy.ini", ".mypy.ini", ".pre-commit-config.yaml")


class _Wanted(Struct, frozen=True, kw_only=True):
    """A tool with its arguments, before it is known how the environment runs it.

    `prepare` is what setup runs for tools that make environments of their own: checks have no network.
    """

    purpose: Purpose
    words: tuple[str, ...]
    reason: str
    identity: str
    variables: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()

    @property
    def tool(self) -> str:
        return next((name for name in ("unittest", "manage.py") if name in self.words), self.words[0])

    def spelled(self, command: str) -> str:
        return " ".join([*(_assignment(variable) for variable in self.variables), command])

    def found(self, command: str) -> Found:
        return Found(
            purpose=self.purpose,
            tool=self.tool,
            command=self.spelled(command),
            reason=self.reason,
            identity=self.identity,
        )


def find_python(package: Package) -> Finds:
    """The tests and linters of a Python package, run in the environment that its manager sets up."""
    if not package.existing(*_MANIFESTS, *_SIGNS) and first_test_folder(package) is None:
        return
    project = PythonProject(package)
    wanted = [*_static_checks(project), *_tests(project)]
    tools = {one.words[0] for one in wanted} - {"python"}
    if not wanted:
        return
    if not tools and not project.needs_install:
        yield from (one.found(shlex.join(["python3", *one.words[1:]])) for one in wanted)
        return
    environment = Environment(project)
    yield from environment.setups(tools)
    yield from (_preparation(one, environment) for one in wanted if one.prepare)
    yield from (one.found(environment.run(*one.words)) for one in wanted)


def covers_python(package: Package, member: Package) -> bool:
    """Whether a uv workspace counts the member among its own."""
    workspace = table(package.toml("pyproject.toml"), "tool", "uv", "workspace")
    relative = package.relative(member.folder)
    excluded = matches_any(relative, strings(workspace.get("exclude")))
    return not excluded and matches_any(relative, strings(workspace.get("members")))


PYTHON = Ecosystem(language="Python", manifests=_MANIFESTS, find=find_python, covers=covers_python)


def _preparation(one: _Wanted, environment: Environment) -> Setup:
    inputs = environment.package.existing("tox.ini", "noxfile.py", "pyproject.toml", ".pre-commit-config.yaml")
    return Setup(
        tool=one.tool,
        command=one.spelled(environment.run(*one.prepare)),
        reason=f"{one.tool} makes environments of its own, which needs the network",
        inputs=tuple(inputs),
    )


def _static_checks(project: PythonProject) -> Iterator[_Wanted]:
    """Linters and type checkers that are configured or run in CI; CI knows their arguments best."""
    in_ci = _from_ci(project.package)
    if sign := _configured(project, "ruff", "ruff.toml", ".ruff.toml"):
        default = _Wanted(purpose=Purpose.LINT, words=("ruff", "check", "."), reason=sign, identity="ruff check")
        yield in_ci.pop("ruff check", default)
    if sign := _configured(project, "mypy", "mypy.ini", ".mypy.ini"):
        default = _Wanted(purpose=Purpose.TYPES, words=_mypy_words(project), reason=sign, identity="mypy")
        yield in_ci.pop("mypy", default)
    yield from _pre_commit(project, in_ci.pop("pre-commit run", None))
    yield from in_ci.values()


def _from_ci(package: Package) -> dict[str, _Wanted]:
    wanted: dict[str, _Wanted] = {}
    for command in package.ci:
        known = recognise(command.line)
        # Words are quoted again for the environment, which would take the meaning from a glob.
        if known is None or known.family != "python" or any(set("*?[") & set(word) for word in known.words):
            continue
        if known.purpose is not Purpose.TESTS:
            one = _Wanted(
                purpose=known.purpose,
                words=known.words,
                reason=f"{command.file} runs it",
                identity=known.identity,
                variables=tuple(assignments(command.line)),
            )
            wanted.setdefault(known.identity, one)
    return wanted


def _configured(project: PythonProject, tool: str, *files: str) -> str:
    if file := project.package.first(*files):
        return f"{project.package.label(file)} configures {tool}"
    if tool in table(project.pyproject, "tool"):
        return f"{project.package.label('pyproject.toml')} has [tool.{tool}]"
    if tool in project.setup_cfg:
        return f"{project.package.label('setup.cfg')} has [{tool}]"
    return ""


def _mypy_words(project: PythonProject) -> tuple[str, ...]:
    configured = {*table(project.pyproject, "tool", "mypy"), *project.setup_cfg.get("mypy", {})}
    configured.update(project.ini("mypy.ini").get("mypy", {}), project.ini(".mypy.ini").get("mypy", {}))
    if configured & {"files", "packages", "modules"}:
        return ("mypy",)
    return ("mypy", "src") if project.package.is_folder("src") else ("mypy", ".")


def _pre_commit(project: PythonProject, in_ci: _Wanted | None) -> Iterator[_Wanted]:
    package = project.package
    if package.folder != "." or not package.exists(".pre-commit-config.yaml"):
        return
    if in_ci or "pre-commit" in project.declared:
        also = in_ci.reason if in_ci else f"{project.declared_in('pre-commit')} names pre-commit"
        yield _Wanted(
            purpose=Purpose.LINT,
            words=("pre-commit", "run", "--all-files"),
            reason=f".pre-commit-config.yaml configures it and {also}",
            identity="pre-commit run",
            variables=("PRE_COMMIT_HOME=.venv/pre-commit",),
            prepare=("pre-commit", "install-hooks"),
        )


def _tests(project: PythonProject) -> Iterator[_Wanted]:
    """One runner: tox and nox mostly start pytest, so they count only where pytest cannot be installed without them."""
    sign = _first_pytest_sign(project)
    candidates = (
        _pytest(sign) if sign and "pytest" in project.declared else None,
        _nox(project.package),
        _tox(project),
        _pytest(sign) if sign else None,
        _django(project.package),
        _unittest(project),
    )
    yield from [one for one in candidates if one is not None][:1]


def _first_pytest_sign(project: PythonProject) -> str:
    package = project.package
    members = [PythonProject(member) for member in package.members() if covers_python(package, member)]
    return next((sign for each in (project, *members) if (sign := pytest_sign(each))), "")


def _pytest(sign: str) -> _Wanted:
    return _Wanted(purpose=Purpose.TESTS, words=("pytest",), reason=sign, identity=PYTHON_TESTS)


def _nox(package: Package) -> _Wanted | None:
    if not package.exists("noxfile.py"):
        return None
    session = nox_session(package.text("noxfile.py"))
    chosen = ("-s", session) if session else ()
    return _Wanted(
        purpose=Purpose.TESTS,
        words=("nox", "-R", *chosen),
        reason=f"{package.label('noxfile.py')} {f'has the session {session}' if session else 'is there'}",
        identity=PYTHON_TESTS,
        prepare=("nox", "--install-only", *chosen),
    )


def _tox(project: PythonProject) -> _Wanted | None:
    sign, environment = tox_environment(project)
    if not sign:
        return None
    chosen = ("-e", environment) if environment else ()
    return _Wanted(
        purpose=Purpose.TESTS,
        words=("tox", *chosen),
        reason=sign,
        identity=PYTHON_TESTS,
        prepare=("tox", *chosen, "--notest"),
    )


def _django(package: Package) -> _Wanted | None:
    if "django" not in package.text("manage.py"):
        return None
    reason = f"{package.label('manage.py')} is Django's"
    return _Wanted(purpose=Purpose.TESTS, words=("python", "manage.py", "test"), reason=reason, identity=PYTHON_TESTS)


def _unittest(project: PythonProject) -> _Wanted | None:
    package = project.package
    folder = first_test_folder(package)
    if folder is None or not (sign := uses_unittest(package)):
        return None
    # Discovery descends only into folders with an __init__.py.
    start = () if not folder or package.exists(f"{folder}/__init__.py") else ("-s", folder)
    return _Wanted(
        purpose=Purpose.TESTS,
        words=("python", "-m", "unittest", "discover", *start),
        reason=sign,
        identity=PYTHON_TESTS,
        variables=("PYTHONPATH=src",) if package.is_folder("src") and not project.is_buildable else (),
    )


def _assignment(variable: str) -> str:
    name, _, value = variable.partition("=")
    return f"{name}={shlex.quote(value)}" if value else f"{name}="
