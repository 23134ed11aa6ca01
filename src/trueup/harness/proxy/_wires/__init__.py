"""What answers say in each vendor's language: text, tool calls, usage. Pure readers of decoded JSON; none may raise."""

from ._anthropic import AnthropicReading
from ._chat import ChatReading
from ._gemini import GeminiReading
from ._reading import Heard, Reading
from ._responses import ResponsesReading
from ._values import decoded, is_deep

READINGS = (AnthropicReading, ChatReading, ResponsesReading, GeminiReading)

__all__ = [
    "READINGS",
    "AnthropicReading",
    "ChatReading",
    "GeminiReading",
    "Heard",
    "Reading",
    "ResponsesReading",
    "decoded",
    "is_deep",
]
