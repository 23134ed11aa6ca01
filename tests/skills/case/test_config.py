"""Configuration: where it is found, what is wrong with it, and what flags make of it."""

from __future__ import annotations

import pytest

from trueup.core.errors import InputError
from trueup.core.settings import resolve
from trueup.skills._case import (
    CommandProviderConfig,
    Config,
    HarnessProviderConfig,
    OneharnessProviderConfig,
    config_folder,
    load_config,
    notes,
    override_config,
)


def refused(call, *args, **more) -> str:
    with pytest.raises(InputError) as caught:
        call(*args, **more)
    return str(caught.value)


def test_without_a_file_there_are_defaults(tmp_path):
    config = load_config(None, tmp_path)
    assert config == Config()
    assert config.provider == HarnessProviderConfig()
    assert (config.platforms, config.max_turns) == (("claude-code",), 8)


def test_an_empty_file_has_defaults_too(tmp_path):
    (tmp_path / "skilltest.yaml").write_text("# nothing yet\n")
    assert load_config(None, tmp_path) == Config()


def test_skilltest_yaml_of_the_folder_is_read(tmp_path):
    (tmp_path / "skilltest.yaml").write_text("models: [haiku]\n")
    assert load_config(None, tmp_path).models == ("haiku",)


def test_skills_in_the_nearest_trueup_yaml_is_read(tmp_path):
    (tmp_path / "trueup.yaml").write_text("max_attempts: 2\nskills:\n  models: [haiku]\n")
    (tmp_path / "a/b").mkdir(parents=True)
    assert load_config(None, tmp_path / "a/b").models == ("haiku",)


def test_skills_in_trueup_yaml_are_no_setting(tmp_path):
    (tmp_path / "trueup.yaml").write_text("max_attempts: 2\nskills: {models: [haiku]}\n")
    assert resolve(environ={"HOME": str(tmp_path)}, folder=tmp_path).settings.max_attempts == 2


def test_the_file_in_the_folder_is_nearer_than_one_above(tmp_path):
    (tmp_path / "trueup.yaml").write_text("skills: {models: [haiku]}\n")
    (tmp_path / "a").mkdir()
    (tmp_path / "a/skilltest.yaml").write_text("models: [sonnet]\n")
    assert load_config(None, tmp_path / "a").models == ("sonnet",)


def test_two_configurations_in_one_folder_are_refused(tmp_path):
    (tmp_path / "trueup.yaml").write_text("skills: {models: [haiku]}\n")
    (tmp_path / "skilltest.yaml").write_text("models: [sonnet]\n")
    told = refused(load_config, None, tmp_path)
    assert told.startswith(
        f"{tmp_path}/trueup.yaml:1:9: `skills` and {tmp_path}/skilltest.yaml both configure skill tests"
    )
    assert load_config(tmp_path / "skilltest.yaml", tmp_path).models == ("sonnet",)
    assert load_config(tmp_path / "trueup.yaml", tmp_path).models == ("haiku",)


def test_a_trueup_yaml_without_skills_configures_none(tmp_path):
    (tmp_path / "trueup.yaml").write_text("max_attempts: 2\n")
    assert load_config(None, tmp_path) == Config()
    assert refused(load_config, tmp_path / "trueup.yaml", tmp_path).endswith(
        "trueup.yaml: has no `skills`, under which skill tests are configured"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modles: [a]", "c.yaml:1:1: unknown key 'modles'; did you mean 'models'?"),
        ("provider: {kind: comand}", "c.yaml:1:18: unknown kind 'comand' in provider; did you mean 'command'? known: command, harness, oneharness"),
        ("provider: {bin: x}", "c.yaml:1:11: missing required key 'kind' in provider; one of: command, harness, oneharness"),
        ("provider: {kind: oneharness, bni: x}", "c.yaml:1:30: unknown key 'bni' in provider; did you mean 'bin'?"),
        ("provider: {kind: command, command: []}", "c.yaml:1:36: 'command' names no program in provider.command"),
        ("provider: {kind: command}", "c.yaml:1:11: missing required key 'command' in provider"),
        ("provider: {kind: oneharness, judge_harness: ' '}", "c.yaml:1:45: 'judge_harness' is blank in provider.judge_harness"),
        ("provider: {kind: harness, delivery: instal}", "c.yaml:1:37: Invalid enum value 'instal' in provider.delivery; one of: install, system"),
        ("provider: {kind: harness, timeout_secs: 0}", "c.yaml:1:41: expected 'float' > 0.0 in provider.timeout_secs"),
        ("judge: {kind: api, vendor: antropic}", "c.yaml:1:28: Invalid enum value 'antropic' in judge.vendor; one of: anthropic, openai"),
        ("judge: {vendor: openai}", "c.yaml:1:8: missing required key 'kind' in judge"),
        ("judge: {kind: api, vendor: openai, base_url: x.y}", "c.yaml:1:46: 'x.y' is no address"),
        ("platforms: []", "c.yaml:1:12: 'platforms' is empty; name at least one"),
        ("models: [a, b, a]", "c.yaml:1:16: 'a' is there twice in models[2]"),
        ("platforms: ['']", "c.yaml:1:13: a platform has a name in platforms[0]"),
        ("max_turns: 0", "c.yaml:1:12: expected 'int' >= 1 in max_turns"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_where_it_stands(tmp_path, text, message):
    path = tmp_path / "c.yaml"
    path.write_text(text)
    assert refused(load_config, path, tmp_path).replace(f"{tmp_path}/", "").startswith(message)


def test_flags_come_before_the_file():
    config = override_config(
        Config(models=("a",), judges=("x", "y")),
        platforms=["codex"], models=["b", "c"], judge_model="d", max_turns=2, votes=3, delivery="install",
    )  # fmt: skip
    assert config == Config(
        provider=HarnessProviderConfig(delivery="install"),
        platforms=("codex",), models=("b", "c"), judge_model="d", max_turns=2, votes=3,
    )  # fmt: skip


def test_nothing_said_changes_nothing():
    config = Config(models=("a",), judges=("x", "y"))
    assert override_config(config) == config


def test_a_command_replaces_the_provider():
    config = override_config(Config(), command=["prog", "--flag"], timeout_secs=3)
    assert config.provider == CommandProviderConfig(command=["prog", "--flag"], timeout_secs=3)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"oneharness_bin": "x"}, "'bin' was given, and a provider of kind 'harness' has no such thing"),
        ({"max_turns": 0}, "what was given cannot be used: Expected 'int' >= 1 - at '$.max_turns'"),
        ({"delivery": "mail"}, "what was given cannot be used: Invalid enum value 'mail' - at '$.provider.delivery'"),
        ({"models": ["a", "a"]}, "models.1: 'a' is there twice"),
    ],
)
def test_what_was_said_is_held_to_the_rules_of_a_file(said, message):
    assert refused(override_config, Config(), **said) == message


def test_a_judge_by_api_needs_a_model(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("judge: {kind: api, vendor: openai}")
    config = load_config(path, tmp_path)
    assert refused(override_config, config) == "judge_model: a judge by API needs a model; set 'judge_model'"
    assert override_config(config, judge_model="m").judge_models == ("m",)


def test_who_judges():
    assert Config(models=("a", "b")).judge_models == ("a",)
    assert Config(models=("a",), judge_model="b").judge_models == ("b",)
    assert Config(models=("a",), judge_model="b", judges=("c", "d")).judge_models == ("c", "d")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{}", ["claude-code with its default model is under test and judges too"]),
        ("models: [a]\njudge_model: b", []),
        ("models: [a, b]\njudge_model: b", ["claude-code with b is under test and judges too"]),
        ("models: [a]\nplatforms: [codex]", []),
        ("models: [a]\njudge: {kind: api, vendor: openai, curl_bin: curl}",
         ["judge.curl_bin has no effect", "a is under test and judges too"]),
        ("provider: {kind: command, command: [x]}", []),
        ("provider: {kind: command, command: [x]}\nmodels: [a]", ["a is under test and judges too"]),
        ("provider: {kind: oneharness, history: false, history_dir: h, judge_harness: codex}",
         ["provider.history has no effect", "provider.history_dir has no effect"]),
    ],
)  # fmt: skip
def test_notes_say_what_has_no_effect_and_who_judges_itself(tmp_path, text, told):
    path = tmp_path / "c.yaml"
    path.write_text(text)
    found = notes(load_config(path, tmp_path))
    assert len(found) == len(told)
    assert all(note.startswith(start) for note, start in zip(found, told, strict=True)), found


def test_a_provider_of_another_kind_keeps_its_own_defaults(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("provider: {kind: oneharness}")
    assert load_config(path, tmp_path).provider == OneharnessProviderConfig()


def test_the_nearest_folder_that_configures_skill_tests_is_found(tmp_path):
    (tmp_path / "a/b/c").mkdir(parents=True)
    assert config_folder(tmp_path / "a/b/c") == tmp_path / "a/b/c"
    (tmp_path / "trueup.yaml").write_text("skills: {}\n")
    (tmp_path / "a/b/trueup.yaml").write_text("max_attempts: 2\n")
    assert config_folder(tmp_path / "a/b/c") == tmp_path
    (tmp_path / "a/skilltest.yaml").touch()
    assert config_folder(tmp_path / "a/b/c") == tmp_path / "a"
