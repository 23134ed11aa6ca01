"""What a repository's manifests declare as dependencies, by the names under which programs look for them."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

from ._ecosystems.found import strings, table
from ._globs import Globs

Read = Callable[[str], str | None]

_PYTHON_MANIFESTS = Globs(
    ["pyproject.toml", "setup.cfg", "setup.py", "requirements*.{txt,in}", "requirements/*.{txt,in}", "Pipfile"]
)
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_IMPORTED_AS = {
    "yaml": "pyyaml",
    "pil": "pillow",
    "cv2": "opencv-python",
    "bs4": "beautifulsoup4",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "attr": "attrs",
    "git": "gitpython",
    "jwt": "pyjwt",
    "crypto": "pycryptodome",
    "openssl": "pyopenssl",
    "mysqldb": "mysqlclient",
    "psycopg2": "psycopg2-binary",
    "serial": "pyserial",
    "zmq": "pyzmq",
    "docx": "python-docx",
    "pptx": "python-pptx",
    "magic": "python-magic",
    "multipart": "python-multipart",
    "jose": "python-jose",
    "fitz": "pymupdf",
    "github": "pygithub",
    "pkg-resources": "setuptools",
}


def declares_python(module: str, paths: frozenset[str], read: Read) -> bool:
    """Whether a manifest of the repository asks for the distribution behind a top-level module."""
    name = _normal(module)
    wanted = {name, _IMPORTED_AS.get(name, name), f"python-{name}", f"py{name}"}
    manifests = sorted(path for path in paths if _PYTHON_MANIFESTS.match(path) and "node_modules" not in path)
    return any(wanted & set(_python_requirements(path, read(path) or "")) for path in manifests)


def declares_node(package: str, paths: frozenset[str], read: Read) -> bool:
    """Whether a package.json of the repository asks for a package."""
    manifests = (path for path in paths if path.rpartition("/")[2] == "package.json" and "node_modules/" not in path)
    return any(package in _node_requirements(read(path) or "") for path in manifests)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _python_requirements(path: str, text: str) -> Iterator[str]:
    for written in _written_requirements(path, text):
        if match := _REQUIREMENT.match(written):
            yield _normal(match[1])


def _written_requirements(path: str, text: str) -> Iterator[str]:
    name = path.rpartition("/")[2]
    if name == "setup.py":
        # Not run, so any quoted word may be a requirement; one too many only makes trueup more careful.
        yield from re.findall(r"""["']([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*(?:[<>=!~;][^"']*)?["']""", text)
    elif name == "setup.cfg":
        yield from _setup_cfg_requirements(text)
    elif name in ("pyproject.toml", "Pipfile"):
        yield from _toml_requirements(text)
    else:
        yield from (line for line in text.splitlines() if not line.lstrip().startswith(("#", "-")))


def _setup_cfg_requirements(text: str) -> Iterator[str]:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    for section, option in (("options", "install_requires"), ("options", "tests_require")):
        yield from parser.get(section, option, fallback="").splitlines()
    if parser.has_section("options.extras_require"):
        yield from (line for value in parser["options.extras_require"].values() for line in value.splitlines())


def _toml_requirements(text: str) -> Iterator[str]:
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    yield from strings(table(data, "project").get("dependencies"))
    groups = [table(data, "project", "optional-dependencies"), table(data, "dependency-groups")]
    yield from (line for group in groups for lines in group.values() for line in strings(lines))
    poetry = table(data, "tool", "poetry")
    tables = [table(poetry, "dependencies"), table(poetry, "dev-dependencies")]
    tables += [table(group, "dependencies") for group in table(poetry, "group").values()]
    tables += [table(data, "packages"), table(data, "dev-packages")]
    yield from (name for one in tables for name in one)
    yield from strings(table(data, "tool", "uv").get("dev-dependencies"))


def _node_requirements(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    fields = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
    return {name: version for field in fields for name, version in table(data, field).items()}
