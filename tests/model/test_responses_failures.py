"""What can go wrong with OpenAI's Responses API although a response came."""

from __future__ import annotations

import pytest
from vendor_bodies import HELLO

from trueup.core.errors import Kind
from trueup.model import Access, ModelError, Request, Tool, chat

READ = Tool("read", "Read a file.", {"type": "object", "properties": {}})


def said(*content: dict, **more: object) -> dict:
    item = {"id": "msg_1", "type": "message", "role": "assistant", "content": list(content)}
    return {"object": "response", "status": "completed", "model": "gpt-6.1-sol", "output": [item], **more}


CASES = {
    "a failure": (said(status="failed", error={"code": "rate_limit_exceeded", "message": "slow"}), Kind.RATE_LIMIT),
    "a fault": (said(status="failed", error={"code": "server_error", "message": "sorry"}), Kind.OVERLOADED),
    "a refusal": (said({"type": "refusal", "refusal": "I cannot."}), Kind.REFUSED),
    "a filter": (said(status="incomplete", incomplete_details={"reason": "content_filter"}), Kind.REFUSED),
    "nothing": (said(status="incomplete", incomplete_details={"reason": "max_output_tokens"}), Kind.PROTOCOL),
    "an error in other clothes": ({"error": {"message": "no", "code": "invalid_api_key"}}, Kind.AUTH),
}


@pytest.mark.parametrize(("body", "kind"), CASES.values(), ids=CASES)
async def test_it_is_told_apart(vendor, body, kind):
    vendor.says(body)
    request = Request(model=f"gpt-6.1-sol@{vendor.url}/v1", messages=HELLO, tools=[READ])
    with pytest.raises(ModelError) as raised:
        await chat(request, Access(retry_delays_secs=()))
    assert raised.value.kind is kind
