"""Files of a skilltest project mean here what they mean there, with every key that skilltest documents."""

from __future__ import annotations

from trueup.skills._case import (
    ApiJudge,
    Boolean,
    Called,
    CommandProviderConfig,
    Comparator,
    Config,
    Match,
    Mock,
    NotCalled,
    Numeric,
    OneharnessProviderConfig,
    Predicate,
    Stub,
    User,
    Vendor,
    load_config,
)

CASE = r"""
name: books_a_table
skill: ../skills/greeter
input: "A table for four at eight, please."
user:
  persona: "You are in a hurry and answer in three words."
  done_when: "a table is booked"
  max_turns: 4
spy: true
mocks:
  - name: deploy
    match: { tool: bash, pattern: "kubectl (apply|delete)\\b" }
    stub: "deployment unchanged"
  - name: status
    match: { tool: bash, contains: "jobctl status" }
    stub:
      - "queued"
      - { output: "failed", exit_code: 1 }
  - name: wipe
    match: { contains: "rm -rf" }
    deny: that stays
  - name: drop
    match: { input: { command: { contains: "drop table", pattern: "(?i)table" } } }
    deny: { message: "no" }
  - name: settings
    match: { tool: read, input: { file_path: { equals: "prod.yaml" } } }
    rewrite: { file_path: fixtures/prod.yaml }
  - name: git
    match: { tool: bash, input: { command: "git status" } }
evals:
  - type: boolean
    name: confirms
    criterion: "the reply confirms the time"
    expected: true
  - type: boolean
    criterion: "the reply asks for a credit card"
    expected: false
  - type: numeric
    criterion: "how brief the reply is"
    min: 0
    max: 10
    threshold: 7
    comparator: ">="
  - { type: numeric, criterion: "how rude", min: -1, max: 1, threshold: 0, comparator: lt }
  - type: called
    mock: deploy
    times: 1
    where: { command: { contains: "apply" }, namespace: staging }
  - { type: called, mock: status }
  - { type: not_called, mock: wipe, where: { command: { pattern: "^rm" } } }
"""


def test_a_case_with_every_key(project):
    case = project.case(CASE)
    assert (case.name, case.spy, case.skill) == ("books_a_table", True, project.root / "skills/greeter")
    assert case.user == User(
        persona="You are in a hurry and answer in three words.", done_when="a table is booked", max_turns=4
    )
    assert case.evals == (
        Boolean(name="confirms", criterion="the reply confirms the time"),
        Boolean(criterion="the reply asks for a credit card", expected=False),
        Numeric(criterion="how brief the reply is", threshold=7),
        Numeric(criterion="how rude", min=-1, max=1, threshold=0, comparator=Comparator.LESS),
        Called(mock="deploy", times=1, where={"command": Predicate(contains="apply"), "namespace": "staging"}),
        Called(mock="status"),
        NotCalled(mock="wipe", where={"command": Predicate(pattern="^rm")}),
    )
    mocks = {mock.name: mock for mock in case.mocks}
    assert list(mocks) == ["deploy", "status", "wipe", "drop", "settings", "git"]
    assert mocks["deploy"].match == Match(tool="bash", pattern=r"kubectl (apply|delete)\b")
    assert mocks["status"].stub == ["queued", Stub(output="failed", exit_code=1)]
    assert mocks["drop"].match.input == {"command": Predicate(contains="drop table", pattern="(?i)table")}
    assert mocks["settings"].rewrite == {"file_path": "fixtures/prod.yaml"}
    assert mocks["git"] == Mock(name="git", match=Match(tool="bash", input={"command": "git status"}))


def test_a_configuration_of_oneharness_with_every_key(project):
    path = project.write(
        "skilltest.yaml",
        """
provider: {kind: oneharness, bin: oh, judge_harness: codex, timeout_secs: 30, history: true, history_dir: .history}
platforms: [claude-code, codex]
models: [sonnet, gpt-5]
judge_model: claude-opus-4-8
max_turns: 6
judge:
  kind: api
  vendor: anthropic
  api_key_env: JUDGE_KEY
  base_url: https://proxy.example/v1/messages
  timeout_secs: 20
  curl_bin: /usr/bin/curl
  strict_json: false
""",
    )
    assert load_config(path, project.root) == Config(
        provider=OneharnessProviderConfig(
            bin="oh", judge_harness="codex", timeout_secs=30, history=True, history_dir=".history"
        ),
        platforms=("claude-code", "codex"),
        models=("sonnet", "gpt-5"),
        judge_model="claude-opus-4-8",
        max_turns=6,
        judge=ApiJudge(
            vendor=Vendor.ANTHROPIC,
            api_key_env="JUDGE_KEY",
            base_url="https://proxy.example/v1/messages",
            timeout_secs=20,
            curl_bin="/usr/bin/curl",
            strict_json=False,
        ),
    )


def test_a_configuration_of_a_command(project):
    path = project.write("skilltest.yaml", "provider:\n  kind: command\n  command: [python3, provider.py, --quick]\n")
    config = load_config(path, project.root)
    assert config.provider == CommandProviderConfig(command=["python3", "provider.py", "--quick"])
