"""`trueup policy`: the rules of a repository in words, and what they say to a call."""

from __future__ import annotations

import json

import pytest

POLICIES = """\
policies:
- name: no-push
  rule: deny_command
  pattern: git push
- name: keys
  rule: deny_path
  pattern: "*.pem"
- name: reviewed
  rule: require_state
  target: deploy
  key: reviewed
  value: true
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".trueup").mkdir()
    path = tmp_path / ".trueup" / "policy.yaml"
    path.write_text(POLICIES)
    return path


async def test_list_says_what_each_rule_does(trueup, file):
    finished = await trueup("policy", "list")
    assert (finished.exit_code, finished.stdout.text.splitlines()) == (
        0,
        [
            "no-push   any tool is refused where its command runs 'git push', or may run it (advice on top of the sandbox)",
            "keys      any tool is refused where any parameter or command names path '*.pem' (advice on top of the sandbox)",
            "reviewed  tool 'deploy' is refused until state 'reviewed' is true",
        ],
    )
    listed = json.loads((await trueup("policy", "list", "--json")).stdout.text)
    assert listed["file"] == str(file)
    assert listed["policies"][0]["rule"] == "deny_command"


async def test_list_of_a_repository_without_rules_and_of_one_with_a_mistake(trueup, tmp_path, file):
    file.write_text("policies:\n- name: a\n  rule: deny_tol\n")
    finished = await trueup("policy", "list")
    assert finished.exit_code == 2
    assert f"{file}:3:9: unknown rule type: deny_tol" in finished.stderr.text
    file.unlink()
    finished = await trueup("policy", "list")
    assert (finished.exit_code, "no .trueup/policy.yaml" in finished.stdout.text) == (0, True)


async def test_test_refuses_with_rule_param_and_reason(trueup, file):
    finished = await trueup("policy", "test", str(file), "make && (git push)")
    assert finished.exit_code == 1
    assert (
        "refused: policy 'no-push': param 'command' runs denied command 'git push': `git push`" in finished.stdout.text
    )
    finished = await trueup("policy", "test", str(file), "--tool", "write", "--param", "path=a/b.pem", "--json")
    answer = json.loads(finished.stdout.text)
    assert (finished.exit_code, answer["allowed"], answer["rule"], answer["param"]) == (1, False, "keys", "path")


async def test_test_allows_what_no_rule_refuses(trueup, file):
    finished = await trueup("policy", "test", str(file), "echo 'do not git push'")
    assert (finished.exit_code, finished.stdout.text.startswith("allowed: ")) == (0, True)
    finished = await trueup("policy", "test", str(file), "--tool", "deploy", "--state", "reviewed:=true", "--json")
    assert (finished.exit_code, json.loads(finished.stdout.text)["allowed"]) == (0, True)


async def test_test_names_what_it_cannot_use(trueup, file):
    for words in (("--param", "path"), ("--param", "a:={"), ("--state", "=x")):
        finished = await trueup("policy", "test", str(file), "ls", *words)
        assert (finished.exit_code, finished.stderr.text.startswith(f"error: {words[0]}")) == (2, True)
    finished = await trueup("policy", "test", "nowhere.yaml", "ls")
    assert (finished.exit_code, "nowhere.yaml: no such file" in finished.stderr.text) == (2, True)
