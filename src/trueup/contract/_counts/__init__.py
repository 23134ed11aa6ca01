"""How many tests ran, read from the output of known runners.

The program under test prints into the same output, so only whole closing lines count, and a runner speaks for
everything between its opening and its closing line. A forger can still write both: counts show a suite that shrank,
they are no proof against a program that lies.
"""

from ._count import TestCounts, count_tests

__all__ = ["TestCounts", "count_tests"]
