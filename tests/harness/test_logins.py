"""An agent's login on its way into the sandbox, and back."""

from __future__ import annotations

import json
import os
import threading
import time

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


def test_of_the_file_only_the_agents_own_login_is_carried_and_the_rest_stays(scene):
    others = {"mcpOAuth": {"slack": {"accessToken": "of-slack"}}, "OPENAI_API_KEY": "sk-beside-the-login"}
    scene.source.write_text(json.dumps({**scene.make(10), **others}))
    scene.carried.fetch()
    assert scene.read(scene.copy) == scene.make(10)
    scene.copy.write_text(json.dumps({**scene.make(20), "mcpOAuth": {"slack": "mine now"}, "more": 1}))
    scene.carried.give_back()
    assert scene.read(scene.source) == {**scene.make(20), **others}


def test_what_lasts_longer_than_any_login_is_none(scene):
    scene.write(scene.source, 10)
    scene.carried.fetch()
    forever = {"claudeAiOauth": {"accessToken": "a", "expiresAt": 10**15, "subscriptionType": "max"}}
    forever |= {"tokens": {"account_id": "me", "access_token": "a"}, "last_refresh": "9999-01-01"}
    scene.copy.write_text(json.dumps(forever))
    scene.carried.give_back()
    assert scene.read(scene.source) == scene.make(10)
    scene.carried.fetch()
    assert scene.read(scene.copy) == scene.make(10)


def test_a_user_who_logs_in_anew_is_never_overruled_by_what_an_agent_left(scene):
    scene.write(scene.source, 10)
    scene.carried.fetch()
    scene.write(scene.copy, 30)
    scene.write(scene.source, 20)
    scene.carried.give_back()
    assert scene.read(scene.source) == scene.make(20)
    scene.carried.fetch()
    assert scene.read(scene.copy) == scene.make(20)


def test_a_user_who_logs_out_takes_the_login_from_agents_too(scene):
    scene.write(scene.source, 10)
    scene.carried.fetch()
    scene.source.unlink()
    assert not scene.carried.fetch()
    assert not scene.copy.exists()


def test_what_a_run_that_died_had_renewed_goes_back_before_the_next_one(scene):
    scene.write(scene.source, 10)
    scene.carried.fetch()
    scene.write(scene.copy, 20)
    scene.carried.fetch()
    assert scene.read(scene.source) == scene.make(20)
    assert scene.read(scene.copy) == scene.make(20)


def test_a_renewal_that_forgot_the_plan_goes_back_and_the_plan_stays(tmp_path):
    scene = Scene("claude-code", claude, tmp_path / "me")
    scene.write(scene.source, 10)
    scene.carried.fetch()
    scene.write(scene.copy, 20, None)
    scene.carried.give_back()
    assert scene.read(scene.source) == claude(20)


def _folder(path):
    path.mkdir()
    (path / "x").mkdir(mode=0)


def _dangling(path):
    path.symlink_to("nowhere")


@pytest.mark.parametrize("leave", [_folder, os.mkfifo, _dangling], ids=["folder", "fifo", "dangling"])
def test_whatever_an_agent_leaves_in_the_place_of_a_file_the_next_run_has_its_login(scene, leave):
    scene.write(scene.source, 10)
    scene.carried.fetch()
    scene.copy.unlink()
    leave(scene.copy)
    leave(scene.carried.folder / scene.file.configuration[0])
    scene.carried.folder.chmod(0)
    scene.carried.give_back()
    assert scene.carried.fetch()
    scene.carried.configure(as_the_user=False)
    assert scene.read(scene.copy) == scene.make(10)
    assert [each.name for each in scene.carried.folder.iterdir()] == [scene.file.name]
    assert scene.carried.folder.stat().st_mode & 0o777 == 0o700
    assert list(scene.carried.folder.parent.glob("left-*")) == []


def test_what_goes_back_is_what_was_looked_at_although_an_agent_goes_on_writing(scene):
    scene.write(scene.source, 10)
    scene.carried.fetch()
    done = threading.Event()

    def scribble():
        number = 0
        while not done.is_set():
            number += 1
            scratch = scene.copy.with_name("scratch")
            scratch.write_text(json.dumps(scene.make(11 + number % 15)) if number % 2 else '{"garbage": true}')
            scratch.rename(scene.copy)

    agent = threading.Thread(target=scribble)
    agent.start()
    end = time.monotonic() + 0.3
    try:
        while time.monotonic() < end:
            scene.carried.give_back()
            assert "garbage" not in scene.source.read_text()
    finally:
        done.set()
        agent.join()


def test_a_link_in_the_place_of_a_configuration_is_replaced_and_not_written_through(scene, tmp_path):
    name = scene.file.configuration[0]
    (scene.source.parent / name).write_text("mine")
    carried = CarriedLogin(scene.file, {"HOME": str(tmp_path / "me")}, tmp_path / "me" / "copies")
    carried.folder.mkdir(parents=True)
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (carried.folder / name).symlink_to(precious)
    carried.configure(as_the_user=True)
    assert (carried.folder / name).read_text() == "mine"
    assert precious.read_text() == "precious"


def test_a_key_that_somebody_logged_in_with_is_found_and_a_login_is_none(tmp_path):
    scene = Scene("codex", codex, tmp_path / "me")
    environ = {"HOME": str(tmp_path / "me")}
    assert scene.file.stored_key(environ) is None
    scene.source.write_text('{"OPENAI_API_KEY": "sk-stored", "tokens": null}')
    assert scene.file.stored_key(environ) == "sk-stored"
    scene.source.write_text(json.dumps({**codex(10), "OPENAI_API_KEY": "sk-stored"}))
    assert scene.file.stored_key(environ) is None
