"""Direct model calls: ways to ask a model a question, over the vendors' own libraries or through any program.

`chat` speaks to Anthropic, OpenAI and whatever imitates them, with tools and with structured answers where wanted.
What is asked, and what is made of the answer, is the business of the rooms that ask; running the tools that a model
asks for is the business of the native loop.
"""

from ._chat import Access, OnRetry, Retry, chat
from ._choice import chosen_model, command_spec
from ._command import CommandModel
from ._errors import ModelError
from ._generate import ChatModel, default_model_for, generate_for
from ._keys import Secret, find_key
from ._prices import estimated_cost, price_list
from ._request import Answer, Message, Native, Request, Role, Tool, ToolOutput, ToolUse
from ._target import Provider, Target, resolve_model

__all__ = [
    "Access",
    "Answer",
    "ChatModel",
    "CommandModel",
    "Message",
    "ModelError",
    "Native",
    "OnRetry",
    "Provider",
    "Request",
    "Retry",
    "Role",
    "Secret",
    "Target",
    "Tool",
    "ToolOutput",
    "ToolUse",
    "chat",
    "chosen_model",
    "command_spec",
    "default_model_for",
    "estimated_cost",
    "find_key",
    "generate_for",
    "price_list",
    "resolve_model",
]
