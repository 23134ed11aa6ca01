"""What a rule's target means: a tool by its own name, or by what it does."""

from __future__ import annotations

from trueup.core.protocols import Action

ANY_TOOL = "*"

# What agents call their tools, by what these do. A rule for `shell` holds for all of the first line.
_KINDS = {
    "shell": "Bash bash command_execution run_shell_command run_command execute_command terminal exec",
    "read": "Read NotebookRead image_view read_file read_many_files view cat",
    "write": "Write Edit MultiEdit NotebookEdit file_change edit write_file replace apply_patch str_replace_editor patch",
    "search": "Glob Grep LS glob grep list ls list_directory search_file_content find",
    "web": "WebFetch WebSearch web_search web_fetch webfetch google_web_search fetch",
}
KIND_OF_TOOL = {name: kind for kind, names in _KINDS.items() for name in names.split()}


def is_meant(target: str | None, action: Action) -> bool:
    """Whether a rule with this target holds for an action. No target, or `*`, means every tool.

    A tool that is told only by what it does could be any of that kind.
    """
    if target is None or target in (ANY_TOOL, action.own_name):
        return True
    return target in (action.tool, KIND_OF_TOOL.get(action.tool)) or KIND_OF_TOOL.get(target) == action.tool


def is_shell(action: Action) -> bool:
    """Whether an action runs commands."""
    return "shell" in (action.tool, KIND_OF_TOOL.get(action.tool))
