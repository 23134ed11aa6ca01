"""A Python project as people have them: a virtual environment and `pip install -e`, from the package registry."""

from __future__ import annotations

import os

import pytest

from trueup.coder import Outcome
from trueup.core.errors import InputError

# How pip finds its registry here, whatever that is.
REGISTRY = [
    name
    for name in os.environ
    if name.startswith("PIP_") or name.upper().endswith(("_PROXY", "_CERT_FILE", "_CA_BUNDLE"))
]
FILES = {
    "pyproject.toml": (
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "greeter"\nversion = "1"\n[tool.setuptools.packages.find]\nwhere = ["src"]\n'
    ),
    "src/greeter/__init__.py": "def greet(name):\n    return 'Hello ' + name\n",
    ".gitignore": ".venv/\n*.egg-info/\n__pycache__/\n",
}
SETUP = [
    "python3 -m venv .venv",
    ".venv/bin/pip install -q setuptools wheel",
    ".venv/bin/pip install -q --no-build-isolation -e .",
]
CHECK = ".venv/bin/python -c \"import greeter; assert greeter.greet('you') == 'Hello, you'\""


async def test_the_change_is_imported_and_not_the_users_own_checkout(project):
    await project.commit(FILES)
    await project.bash("sed -i \"s/'Hello '/'Hello, '/\" src/greeter/__init__.py")
    try:
        verdict = await project.check(CHECK, setup=SETUP, setup_env=REGISTRY)
    except InputError as error:
        if (
            "No matching distribution" in str(error)
            or "ConnectionError" in str(error)
            or "Could not fetch" in str(error)
        ):
            pytest.skip("NO PACKAGE REGISTRY: pip install is not possible here")
        raise
    assert verdict.outcome is Outcome.VERIFIED, verdict.reasons
    assert not (project.root / ".venv").exists()
    # The user's own checkout, which is right, must not speak for a change that does nothing.
    idle = b"--- /dev/null\n+++ b/idle.txt\n@@ -0,0 +1 @@\n+idle\n"
    refused = await project.check(CHECK, setup=SETUP, setup_env=REGISTRY, patch=idle)
    assert refused.outcome is Outcome.REFUSED
