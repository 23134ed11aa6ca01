"""The tree of commands as data, so that a word is completed without loading all that commands are made of.

It is kept in the user's cache, and made again whenever trueup is another one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from trueup import __version__
from trueup.core.errors import TrueupError
from trueup.core.files import user_folder, write_whole

from ._code_group import IntentOrVerb
from ._values import KNOWN, Known

_HERE = Path(__file__).parent
# Where commands, their options and the lasting words come from.
_SOURCES = (_HERE, _HERE.parent / "harness")


def completing_tree(root: click.Group) -> click.Group:
    """Commands with the names and options of the real ones, that do nothing."""
    stamp = _stamp()
    tree = _built(_read(stamp) or _write(stamp, described(root)))
    tree.context_settings = root.context_settings
    if not isinstance(tree, click.Group):
        raise TypeError("the root is a group")
    return tree


def described(command: click.Command) -> dict[str, Any]:
    """A command and all below it, as data."""
    node: dict[str, Any] = {
        "help": command.get_short_help_str(limit=80),
        "params": [_described_parameter(each) for each in command.params],
    }
    if isinstance(command, IntentOrVerb):
        node["start"] = described(command.start)
    if isinstance(command, click.Group):
        node["commands"] = {name: described(each) for name, each in _children(command)}
    return node


def _children(group: click.Group) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            yield name, command


def _described_parameter(parameter: click.Parameter) -> dict[str, Any]:
    told: dict[str, Any] = {"nargs": parameter.nargs, "type": _described_type(parameter.type)}
    if not isinstance(parameter, click.Option):
        return {**told, "argument": parameter.name}
    names = [*parameter.opts[:-1], "/".join([parameter.opts[-1], *parameter.secondary_opts])]
    return {**told, "names": names, "flag": parameter.is_flag, "many": parameter.multiple, "help": parameter.help}


def _described_type(kind: click.ParamType[Any]) -> dict[str, Any]:
    match kind:
        case click.Choice():
            return {"choice": [str(each) for each in kind.choices]}
        case click.Path():
            return {"path": [kind.file_okay, kind.dir_okay]}
        case Known(lasting=True):
            return {"words": list(kind.known())}
        case Known():
            return {"known": kind.name}
    return {}


def _built(node: dict[str, Any], name: str = "trueup") -> click.Command:
    parts: dict[str, Any] = {
        "name": name,
        "help": node["help"],
        "params": [_parameter(each) for each in node["params"]],
    }
    if "commands" not in node:
        return click.Command(**parts)
    commands = {child: _built(each, child) for child, each in node["commands"].items()}
    if "start" not in node:
        return _InOrder(**parts, commands=commands)
    group = IntentOrVerb(**parts, commands=commands)
    group.start = _built(node["start"])
    return group


class _InOrder(click.Group):
    """A group whose commands keep the order in which they are told."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def _parameter(told: dict[str, Any]) -> click.Parameter:
    kind = _type(told["type"])
    if "argument" in told:
        return click.Argument([told["argument"]], nargs=told["nargs"], type=kind, required=False)
    if told["flag"]:
        return click.Option(told["names"], is_flag=True, help=told["help"])
    return click.Option(told["names"], nargs=told["nargs"], type=kind, multiple=told["many"], help=told["help"])


def _type(told: dict[str, Any]) -> click.ParamType[Any]:
    match told:
        case {"choice": choices}:
            return click.Choice(choices)
        case {"path": [files, folders]}:
            return click.Path(file_okay=files, dir_okay=folders)
        case {"words": words}:
            return Known("word", lambda: ((word, said) for word, said in words))
        case {"known": name}:
            return KNOWN[name]
    return click.STRING


def _stamp() -> str:
    newest = max(file.stat().st_mtime_ns for folder in _SOURCES for file in folder.glob("*.py"))
    return f"{__version__} {newest}"


def _file() -> Path:
    return user_folder("XDG_CACHE_HOME", ".cache", os.environ) / "trueup" / "completion.json"


def _read(stamp: str) -> dict[str, Any] | None:
    with suppress(OSError, ValueError, TrueupError):
        kept = json.loads(_file().read_text(encoding="utf-8"))
        if isinstance(kept, dict) and kept.get("stamp") == stamp:
            tree: dict[str, Any] = kept["tree"]
            return tree
    return None


def _write(stamp: str, tree: dict[str, Any]) -> dict[str, Any]:
    # Without it, the next word takes as long as this one.
    with suppress(OSError, TrueupError):
        file = _file()
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps({"stamp": stamp, "tree": tree}))
    return tree
