"""The user's repository, its mirror, and a canary."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkouts import Checkout
from trueup.workspace import Backend, Layers, Workspace, find_backend
from trueup.workspace._mirror import Mirror
from trueup.workspace._repository import Repository


@pytest.fixture
def user(tmp_path) -> Checkout:
    """The user's repository with one commit."""
    checkout = Checkout(tmp_path / "user")
    checkout.write("calc.py", "def add(a, b):\n    return a - b\n")
    checkout.write("tests/test_calc.py", "assert True\n")
    checkout.commit("the base")
    return checkout


@pytest.fixture
def mirror(user, tmp_path):
    """Opens the mirror of the user's repository as it is now."""

    async def opened(folder: Path | None = None) -> Mirror:
        return await Mirror.open(await Repository.open(folder or user.root), tmp_path / "cache" / "mirror")

    return opened


@pytest.fixture
def layers(mirror, tmp_path, plain_path):
    """Opens the layers of the user's repository, in the best sandbox or the one that is named."""

    async def opened(backend: Backend | None = None) -> Layers:
        made = await mirror()
        store = tmp_path / "store" / "user"
        store.mkdir(parents=True, exist_ok=True)
        return Layers(made.repository, made, store, backend or await find_backend())

    return opened


@pytest.fixture
async def workspace(layers, user):
    """An agent's workspace at the base."""
    made = await Workspace.create(await layers(), user.head)
    yield made
    await made.discard()


@pytest.fixture
def canary(tmp_path) -> Path:
    """A file that appears only if something ran that must not."""
    return tmp_path / "canary"
