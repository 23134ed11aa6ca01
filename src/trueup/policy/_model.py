"""Policies as people and programs write them: a name, a rule, and what the rule needs."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from trueup.core.errors import InputError
from trueup.core.regex import compile_regex

from ._checks import (
    Check,
    allow_command,
    allow_value,
    deny_always,
    deny_command,
    deny_path,
    deny_text,
    require_state,
)
from ._command_patterns import CommandPattern
from ._paths import PathGlob

ADVICE = "advice on top of the sandbox"

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Patterns: TypeAlias = Text | Annotated[list[Text], Meta(min_length=1)]


class Policy(Struct, frozen=True, kw_only=True, tag_field="rule", omit_defaults=True):
    """One rule under a name of its own. Each kind of rule is a subclass (`AnyPolicy` is one of them).

    Its `description` is what it does in words, its `check()` the rule made ready to be asked often; an `InputError`
    where what it says cannot be used.
    """

    name: Text

    @property
    def tools(self) -> str | None:
        """The tools that it holds for: one by name or kind, `*` or None for all."""
        target: str | None = getattr(self, "target", None)
        return target

    @property
    def _which(self) -> str:
        return "any tool" if self.tools in (None, "*") else f"tool '{self.tools}'"


class DenyTool(Policy, frozen=True, tag="deny_tool"):
    """Refuses a tool."""

    target: Text

    @property
    def description(self) -> str:
        return f"{self._which} is refused"

    def check(self) -> Check:
        return deny_always()


class DenyToolParam(Policy, frozen=True, tag="deny_tool_param"):
    """Refuses a tool whose parameter contains a text."""

    target: Text
    key: Text
    pattern: Text

    @property
    def description(self) -> str:
        return f"{self._which} is refused where param '{self.key}' contains '{self.pattern}'"

    def check(self) -> Check:
        return deny_text(self.key, self.pattern, lambda text: self.pattern in text)


class DenyToolParamMatching(Policy, frozen=True, tag="deny_tool_param_matching"):
    """Refuses a tool in whose parameter a regular expression (RE2) is found."""

    target: Text
    key: Text
    pattern: Text

    @property
    def description(self) -> str:
        return f"{self._which} is refused where /{self.pattern}/ is found in param '{self.key}'"

    def check(self) -> Check:
        regex = compile_regex(self.pattern)
        return deny_text(self.key, self.pattern, lambda text: regex.search(text.encode(errors="replace")) is not None)


class AllowToolParam(Policy, frozen=True, tag="allow_tool_param"):
    """Refuses a tool unless its parameter is one of the given values, or contains a text."""

    target: Text
    key: Text
    value: Any | UnsetType = UNSET
    pattern: Text | UnsetType = UNSET

    @property
    def description(self) -> str:
        allowed = f"contains '{self.pattern}'" if self.value is UNSET else f"is {_one_of(self.value)}"
        return f"{self._which} is refused unless param '{self.key}' {allowed}"

    def check(self) -> Check:
        if (self.value is UNSET) == (self.pattern is UNSET):
            raise InputError("rule allow_tool_param needs either 'value' or 'pattern'")
        if isinstance(self.pattern, str):
            return allow_value(self.key, pattern=self.pattern)
        return allow_value(self.key, values=self.value if isinstance(self.value, list) else [self.value])


class RequireState(Policy, frozen=True, tag="require_state"):
    """Refuses a tool until a key of the state is set, or has a value."""

    key: Text
    target: Text | None = None
    value: Any | UnsetType = UNSET

    @property
    def description(self) -> str:
        state = "is set" if self.value is UNSET else f"is {_one_of(self.value)}"
        return f"{self._which} is refused until state '{self.key}' {state}"

    def check(self) -> Check:
        return require_state(self.key, self.value)


class Rate(Struct, frozen=True, forbid_unknown_fields=True):
    """How many calls within how many seconds."""

    calls: Annotated[int, Meta(ge=1, le=100_000)]
    secs: Annotated[float, Meta(gt=0, le=86_400 * 366)]


class RateLimitTool(Policy, frozen=True, tag="rate_limit_tool"):
    """Refuses a tool that was called so many times within the last seconds."""

    target: Text
    value: Rate

    @property
    def description(self) -> str:
        return f"{self._which} is refused after {self.value.calls} calls within {self.value.secs:g} s"

    def check(self) -> Check:
        # Whether it is too much depends on what was counted, which is the ledger's business.
        return lambda action, circumstances: None


class DenyPath(Policy, frozen=True, tag="deny_path"):
    """Refuses an action in which a path is named that a glob fits."""

    pattern: Text
    target: Text | None = None
    key: Text | None = None

    @property
    def description(self) -> str:
        where = f"param '{self.key}'" if self.key else "any parameter or command"
        return f"{self._which} is refused where {where} names path '{self.pattern}' ({ADVICE})"

    def check(self) -> Check:
        return deny_path(self.key, self.pattern, PathGlob(self.pattern))


class DenyCommand(Policy, frozen=True, tag="deny_command"):
    """Refuses a shell text that runs one of the given commands, or hides what it runs."""

    pattern: Patterns
    target: Text | None = None
    key: Text | None = None

    @property
    def description(self) -> str:
        return f"{self._which} is refused where its command runs {_one_of(self.pattern)}, or may run it ({ADVICE})"

    def check(self) -> Check:
        patterns = _commands(self.pattern)
        if any(pattern.variables for pattern in patterns):
            raise InputError("deny_command names programs; variables in front of them make no difference to it")
        return deny_command(self.key, patterns)


class AllowCommand(Policy, frozen=True, tag="allow_command"):
    """Refuses a shell text that runs anything beside the given commands, or hides what it runs."""

    pattern: Patterns
    target: Text | None = None
    key: Text | None = None

    @property
    def description(self) -> str:
        return f"{self._which} is refused unless all that its command runs is {_one_of(self.pattern)} ({ADVICE})"

    def check(self) -> Check:
        return allow_command(self.key, _commands(self.pattern), is_for_one_tool=self.tools not in (None, "*"))


AnyPolicy: TypeAlias = (
    DenyTool
    | DenyToolParam
    | DenyToolParamMatching
    | AllowToolParam
    | RequireState
    | RateLimitTool
    | DenyPath
    | DenyCommand
    | AllowCommand
)


def _commands(patterns: str | list[str]) -> list[CommandPattern]:
    return [CommandPattern.parse(text) for text in ([patterns] if isinstance(patterns, str) else patterns)]


def _one_of(value: Any) -> str:
    values = value if isinstance(value, list) else [value]
    shown = [f"'{one}'" if isinstance(one, str) else str(one).lower() for one in values]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}" if shown else "nothing"
