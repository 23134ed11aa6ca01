"""trueup trues up an AI agent's work against what was asked: the condition is executed, not read."""

__version__ = "0.1.0"
