"""An agent's login on its way into the sandbox, and back."""

from __future__ import annotations

import json

import pytest

from trueup.harness import CarriedLogin
from trueup.harness._logins import LOGINS


def claude(expires: int, plan: str = "max") -> dict:
    token = {
        "accessToken": f"a{expires}",
        "refreshToken": f"r{expires}",
        "expiresAt": expires,
        "subscriptionType": plan,
    }
    return {"claudeAiOauth": token}


def codex(expires: int, account: str = "me") -> dict:
    return {"tokens": {"account_id": account, "access_token": f"a{expires}"}, "last_refresh": f"2026-01-{expires:02d}"}


class Scene:
    """A user's login, and the copy that agents see."""

    def __init__(self, harness, make, home):
        self.file, self.make = LOGINS[harness], make
        self.source = home / self.file.folder / self.file.name
        self.source.parent.mkdir(parents=True)
        self.carried = CarriedLogin(self.file, {"HOME": str(home)}, home / "copies")
        self.copy = self.carried.folder / self.file.name

    def write(self, path, *login):
        path.write_text(json.dumps(self.make(*login)))

    def read(self, path):
        return json.loads(path.read_text())


@pytest.fixture(params=["claude-code", "codex"])
def scene(request, tmp_path):
    return Scene(request.param, claude if request.param == "claude-code" else codex, tmp_path / "me")


def test_a_login_is_copied_for_nobody_else_to_read(scene):
    scene.write(scene.source, 10)
    assert scene.carried.fetch()
    assert scene.read(scene.copy) == scene.make(10)
    assert scene.copy.stat().st_mode & 0o777 == 0o600
    assert scene.carried.folder.stat().st_mode & 0o777 == 0o700


def test_without_a_login_there_is_nothing_to_carry(scene):
    assert not scene.carried.fetch()
    scene.carried.give_back()
    assert not scene.source.exists()


def test_a_login_that_an_agent_renewed_goes_back(scene):
    scene.write(scene.source, 10)
    scene.carried.fetch()
    scene.write(scene.copy, 20)
    scene.carried.give_back()
    assert scene.read(scene.source) == scene.make(20)


def test_a_login_that_the_user_renewed_is_fetched(scene):
    scene.write(scene.source, 10)
    scene.carried.fetch()
    scene.write(scene.source, 20)
    scene.carried.give_back()
    assert scene.read(scene.source) == scene.make(20), "an older one does not go back"
    scene.carried.fetch()
    assert scene.read(scene.copy) == scene.make(20)


def test_a_renewed_copy_is_not_put_back_by_an_old_login(scene):
    scene.write(scene.source, 10)
    scene.carried.fetch()
    scene.write(scene.copy, 20)
    scene.carried.fetch()
    assert scene.read(scene.copy) == scene.make(20)


def test_another_account_never_goes_back(scene):
    scene.write(scene.source, 10)
    scene.carried.fetch()
    scene.write(scene.copy, 20, "somebody else")
    scene.carried.give_back()
    assert scene.read(scene.source) == scene.make(10)
    scene.carried.fetch()
    assert scene.read(scene.copy) == scene.make(10)


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"claudeAiOauth": 1, "tokens": 2}', "\ufffd not json"])
def test_what_cannot_be_read_never_goes_back(scene, content):
    scene.write(scene.source, 10)
    scene.carried.fetch()
    scene.copy.write_text(content)
    scene.carried.give_back()
    assert scene.read(scene.source) == scene.make(10)


def test_a_link_that_an_agent_left_is_not_followed(scene, tmp_path):
    scene.write(scene.source, 10)
    scene.carried.fetch()
    elsewhere = tmp_path / "elsewhere"
    scene.write(elsewhere, 20)
    scene.copy.unlink()
    scene.copy.symlink_to(elsewhere)
    scene.carried.give_back()
    assert scene.read(scene.source) == scene.make(10)
    scene.carried.fetch()
    assert scene.read(elsewhere) == scene.make(20), "what a link leads to is not written over"


def test_what_the_user_set_up_is_carried_where_it_is_wanted_and_named_where_it_is_not(scene, tmp_path):
    file, folder = scene.file.configuration[0], scene.file.configuration[2]
    (scene.source.parent / file).write_text("mine")
    (scene.source.parent / folder).mkdir()
    (scene.source.parent / folder / "one").write_text("1")
    environ = {"HOME": str(tmp_path / "me")}
    carried = CarriedLogin(scene.file, environ, tmp_path / "me" / "copies")
    carried.configure(as_the_user=True)
    assert (carried.folder / file).read_text() == "mine"
    assert (carried.folder / folder / "one").read_text() == "1"
    carried.configure(as_the_user=False)
    assert list(carried.folder.iterdir()) == []
    home = scene.source.parent
    assert scene.file.configured(environ) == [str(home / file), str(home / folder)]
