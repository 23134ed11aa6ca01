"""Keys are found, and never shown."""

from __future__ import annotations

import asyncio
import logging
import pickle
import subprocess
import sys
import traceback

import pytest
from vendor_bodies import CLAUDE, HELLO, KEY, anthropic, openai, text

from trueup.core.errors import InputError, Kind
from trueup.model import Access, ChatModel, ModelError, Request, Secret, chat, resolve_model


@pytest.mark.parametrize(("model", "variable"), [(CLAUDE, "ANTHROPIC_API_KEY"), ("gpt-5", "OPENAI_API_KEY")])
@pytest.mark.parametrize("value", [None, "", "  "])
async def test_a_key_that_is_not_set_is_asked_for_by_the_name_of_its_variable(monkeypatch, model, variable, value):
    monkeypatch.delenv(variable) if value is None else monkeypatch.setenv(variable, value)
    with pytest.raises(ModelError, match=f"set {variable}") as raised:
        await chat(Request(model=model, messages=HELLO))
    assert raised.value.kind is Kind.AUTH


async def test_a_key_is_sent_without_the_blanks_around_it(vendor, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", f" {KEY}\n")
    vendor.says(anthropic(text("hi")))
    await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO))
    assert vendor.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("value", ["sk-secret\nX-Evil: 1", "sk-secret ключ", "two words-secret"])
async def test_a_key_that_cannot_be_one_is_refused_without_being_shown(monkeypatch, value):
    monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(ModelError, match="OPENAI_API_KEY holds characters that no key has") as raised:
        await chat(Request(model="gpt-5@http://127.0.0.1:9", messages=HELLO))
    assert "secret" not in str(raised.value)


async def test_a_key_may_be_handed_over(vendor):
    vendor.says(anthropic(text("hi")))
    access = Access(base_url=vendor.url, key=Secret("sk-other-key"))
    await chat(Request(model=CLAUDE, messages=HELLO), access)
    assert vendor.headers[0]["authorization"] == "Bearer sk-other-key"


def test_a_secret_shows_itself_to_nobody():
    secret = Secret(KEY)
    access = Access(key=secret)
    shown = [repr(secret), str(secret), f"{secret}", f"{secret!r}", repr(access), repr([secret])]
    shown.append(repr(ChatModel(CLAUDE, access=access)))
    assert not any(KEY in text for text in shown)
    assert secret.reveal() == KEY


def test_a_secret_cannot_be_pickled():
    with pytest.raises(TypeError):
        pickle.dumps(Secret(KEY))


ECHOES = {
    "whole": f"Incorrect API key provided: {KEY}. You can find yours at https://example.org",
    "with stars": "Incorrect API key provided: sk-test-*********************cret.",
}


@pytest.mark.parametrize("message", ECHOES.values(), ids=ECHOES)
@pytest.mark.parametrize("model", [CLAUDE, "gpt-5"])
async def test_a_server_that_quotes_the_key_does_not_get_it_shown(vendor, model, message):
    vendor.says({"error": {"message": message, "type": "authentication_error"}}, status=401)
    with pytest.raises(ModelError, match=r"Incorrect API key provided: \[redacted\]") as raised:
        await chat(Request(model=f"{model}@{vendor.url}", messages=HELLO))
    written = "".join(traceback.format_exception(raised.value))
    assert KEY not in written
    assert "cret" not in written


FAILURES = {
    "refused": lambda vendor: vendor.says({"error": {"message": KEY}}, status=500),
    "cut": lambda vendor: vendor.cuts(),
    "garbage": lambda vendor: vendor.says(f"<html>{KEY}"),
    "hang": lambda vendor: vendor.hangs(),
    "blank": lambda vendor: vendor.says(anthropic()),
}


@pytest.mark.parametrize("fail", FAILURES.values(), ids=FAILURES)
async def test_no_failure_carries_the_key_along(vendor, fail):
    fail(vendor)
    with pytest.raises(ModelError) as raised:
        await chat(
            Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO), Access(timeout_secs=0.5, retry_delays_secs=())
        )
    error = raised.value
    assert error.__cause__ is None
    assert error.__context__ is None
    written = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    assert KEY not in written


@pytest.mark.parametrize("model", [CLAUDE, "gpt-5"])
async def test_no_log_shows_the_key_however_talkative(vendor, caplog, model):
    caplog.set_level(logging.DEBUG)
    vendor.says(anthropic(text("hi")) if model == CLAUDE else openai("hi"))
    await chat(Request(model=f"{model}@{vendor.url}", messages=HELLO))
    assert any("127.0.0.1" in record.getMessage() for record in caplog.records)
    assert KEY not in caplog.text


def test_a_password_in_a_url_is_refused_without_being_shown():
    with pytest.raises(InputError, match="holds a password") as raised:
        resolve_model("gpt-5", base_url="http://me:hunter2@127.0.0.1:9/v1")
    assert "hunter2" not in str(raised.value)


async def test_another_server_is_not_told_about_the_account_at_openai(vendor, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-mine")
    vendor.says(openai("hi"))
    await chat(Request(model=f"openai-compatible:qwen3@{vendor.url}/v1", messages=HELLO))
    assert "mine" not in str(vendor.headers)


KEYRING = """
class errors:
    class KeyringError(Exception): ...

def get_password(service, name):
    if {broken}: raise errors.KeyringError("locked")
    return {{("trueup", "ANTHROPIC_API_KEY"): "sk-from-the-keyring"}}.get((service, name))
"""
ASK = """
import asyncio
from trueup.model import Message, ModelError, Request, chat
try:
    asyncio.run(chat(Request(model="claude-opus-5-5@http://127.0.0.1:9", messages=[Message(text="hello")])))
except ModelError as error:
    print(error.kind)
"""


@pytest.mark.parametrize(("broken", "kind"), [(False, "network"), (True, "auth")])
def test_a_keyring_is_asked_where_one_is_installed(tmp_path, monkeypatch, broken, kind):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    (tmp_path / "keyring.py").write_text(KEYRING.format(broken=broken))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    finished = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == kind


async def test_two_keys_can_be_used_at_once(vendor):
    vendor.says(anthropic(text("hi")))
    accesses = [Access(base_url=vendor.url, key=Secret(f"sk-number-{number}")) for number in range(5)]
    await asyncio.gather(*(chat(Request(model=CLAUDE, messages=HELLO), access) for access in accesses))
    sent = {headers["authorization"] for headers in vendor.headers}
    assert sent == {f"Bearer sk-number-{number}" for number in range(5)}
