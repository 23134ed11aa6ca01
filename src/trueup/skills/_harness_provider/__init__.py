"""trueup's own harness layer as a provider: the skill runs on an agent of this machine, in the cell's folder.

The skill is a system prompt, or a folder that the agent finds by itself. Mocks hold the agent's tool calls where it asks
before it acts. The judge and the simulated user are an agent too, in an empty folder and without a memory.
"""

from ._provider import HarnessProvider

__all__ = ["HarnessProvider"]
