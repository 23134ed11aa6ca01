"""A small repository with a real bug."""

from small_project import project, project_with_pytest

__all__ = ["project", "project_with_pytest"]
