"""A small repository with a real bug."""

from small_project import project

__all__ = ["project"]
