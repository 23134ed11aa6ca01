"""Direct model calls: ways to ask a model one question.

Here so far: any program that reads a prompt and prints an answer. What is asked, and what is made of the answer, is
the business of the rooms that ask.
"""

from ._command import CommandModel

__all__ = ["CommandModel"]
