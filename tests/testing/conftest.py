"""The real agents are installed as for their own tests."""

from agents.conftest import agent_programs

__all__ = ["agent_programs"]
