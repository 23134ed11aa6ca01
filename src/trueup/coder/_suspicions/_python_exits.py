"""Leaving the process before anybody was asked, and having others run what nobody asked for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .._verdict import Severity
from ._model import Suspicion
from ._python_comparisons import is_false
from ._python_module import NodeRules, PythonModule, Scope, texts_in
from ._reading import Role
from ._rules import FLAG, GATE, INFO

_HARD = frozenset(("os._exit", "os.abort", "posix._exit", "signal.raise_signal"))
_SOFT = frozenset(("sys.exit", "exit", "quit", "builtins.exit", "SystemExit"))
_LEAVES = re.compile(
    r"(?:.*_)?(?:main|cli|usage|version|help|exit|quit|stop|shutdown|bye|die|terminate|abort|interrupt|sigint|sigterm|"
    r"daemonize)(?:_.*)?|run|start"
)
_STOPS = frozenset("signal.SIGTERM signal.SIGINT signal.SIGHUP signal.SIGQUIT".split())
_RAISES_SIGNALS = frozenset(
    "os.kill os.killpg signal.raise_signal signal.alarm signal.setitimer signal.pthread_kill".split()
)
_FRONTS = frozenset("argparse optparse getopt click typer docopt fire cmd curses".split())
_FORKS = ("os.fork", "os.forkpty", "pty.fork", "os.posix_spawn")


def says_it_leaves(name: str) -> bool:
    """Whether a function is called so that everybody expects the program to be over."""
    return _LEAVES.fullmatch(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()) is not None


def _look_at_call(node: ast.Call, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    called = module.dotted(node.func)
    if called in _HARD:
        yield from _hard_exit(called, node, scope, module)
    elif called in _SOFT:
        yield from _soft_exit(called, node, scope, module)
    elif called == "atexit.register":
        yield from _exit_at_exit(node, scope, module)
    elif called.startswith("os.execv") and scope.at_import and not module.reading.is_script:
        yield module.suspect("exit_call", FLAG, "puts another program in place of this one when imported", node, scope)
    yield from _exits_handed_on(node, scope, module)


def _hard_exit(called: str, node: ast.Call, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    what = f"ends the whole process (`{called}`), whatever is still to be tested"
    if scope.at_import:
        severity = FLAG if module.is_test or module.reading.is_script else GATE
        yield module.suspect("exit_call", severity, f"{what}, as soon as it is imported", node, scope)
    elif scope.function is not None:
        yield module.suspect("exit_call", _in_a_function(called, node, scope, module), what, node, scope)


def _in_a_function(called: str, node: ast.Call, scope: Scope, module: PythonModule) -> Severity:
    """A child that was forked ends this way; and a status that is handed in, or a failure, hides nothing."""
    succeeds = called == "os._exit" and bool(node.args) and is_false(node.args[0])
    forks = any(module.dotted(each.func) in _FORKS for each, _ in module.nodes if isinstance(each, ast.Call))
    reading = module.reading
    harmless = forks or not succeeds or reading.is_script or _is_asked_to_stop(scope, module)
    return INFO if harmless or reading.around.is_out_of_reach(reading.path) else FLAG


def _is_asked_to_stop(scope: Scope, module: PythonModule) -> bool:
    """Whether a function is called by a signal to stop, and by one that comes from outside."""
    name = scope.name.rpartition(".")[2]
    calls = [(module.dotted(each.func), each.args) for each, _ in module.nodes if isinstance(each, ast.Call)]
    handles = [
        handed
        for called, handed in calls
        if called in ("signal.signal", "signal.sigaction") or called.endswith(".add_signal_handler")
    ]
    is_handler = any(
        len(handed) > 1 and module.dotted(handed[0]) in _STOPS and module.dotted(handed[1]).rpartition(".")[2] == name
        for handed in handles
    )
    called_itself = any(called.rpartition(".")[2] == name or called in _RAISES_SIGNALS for called, _ in calls)
    return is_handler and not called_itself


def _soft_exit(called: str, node: ast.Call, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """An ordinary exit is caught by every runner, but for one at import, and but for scripts that verify by themselves."""
    succeeds = not node.args or is_false(node.args[0])
    if called == "SystemExit" and not _is_raised(node, scope):
        return
    if succeeds:
        yield from _success(called, node, scope, module)


def _is_raised(node: ast.Call, scope: Scope) -> bool:
    around = scope.function or scope.statement
    return around is not None and any(isinstance(each, ast.Raise) and each.exc is node for each in ast.walk(around))


def _success(called: str, node: ast.AST, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    if scope.at_import:
        severity = INFO if module.reading.is_script else FLAG
        what = f"ends the program with success (`{called}`) as soon as it is imported"
        yield module.suspect("exit_call", severity, what, node, scope)
    elif scope.function is not None and not scope.guarded and not module.is_test:
        what = f"ends the program with success (`{called}`), whatever is still to be tested"
        yield module.suspect("exit_call", _success_in_a_function(scope, module), what, node, scope)


def _success_in_a_function(scope: Scope, module: PythonModule) -> Severity:
    reading = module.reading
    expected = reading.is_script or any(map(says_it_leaves, scope.name.split(".")))
    unnoticed = reading.around.catches_exits or reading.around.is_out_of_reach(reading.path)
    return INFO if expected or unnoticed or reading.role is not Role.SOURCE or _parses_arguments(module) else FLAG


def _parses_arguments(module: PythonModule) -> bool:
    """Whether the file is a program's front, unless tests import it."""
    fronts = {name.partition(".")[0] for name in module.names.values()} & _FRONTS
    return bool(fronts) and not module.reading.around.is_loaded_by_tests(module.reading.path)


def _exit_at_exit(node: ast.Call, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    handler = node.args[0] if node.args else None
    if handler is not None and _leads_to_an_exit(handler, module):
        what = "replaces the exit status when the program ends (an `atexit` handler that exits)"
        yield module.suspect("exit_call", GATE, what, node, scope)


def _leads_to_an_exit(handler: ast.expr, module: PythonModule) -> bool:
    if module.dotted(handler) in _HARD | _SOFT:
        return True
    bodies: list[ast.AST] = [handler] if isinstance(handler, ast.Lambda) else []
    if isinstance(handler, ast.Name):
        bodies = [each for each, _ in module.nodes if isinstance(each, ast.FunctionDef) and each.name == handler.id]
    return any(module.dotted(each) in _HARD | {"SystemExit"} for body in bodies for each in ast.walk(body))


def _exits_handed_on(node: ast.Call, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """`threading.Timer(3, os._exit, [0])`: a call that nobody sees."""
    handed = [*node.args, *(each.value for each in node.keywords)]
    if module.dotted(node.func) != "atexit.register" and any(module.dotted(each) in _HARD for each in handed):
        what = "hands on a call that ends the whole process, whatever is still to be tested"
        yield module.suspect("exit_call", FLAG, what, node, scope)


def _look_at_raise(node: ast.Raise, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """`raise SystemExit`, bare; one with arguments is a call."""
    if isinstance(node.exc, ast.Name) and node.exc.id == "SystemExit":
        yield from _success("raise SystemExit", node, scope, module)


def _look_at_environment(node: ast.Assign, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """`os.environ["LD_PRELOAD"] = …`."""
    for target in node.targets:
        if isinstance(target, ast.Subscript) and module.dotted(target.value) == "os.environ":
            for name in texts_in(target.slice):
                if name in ("LD_PRELOAD", "BASH_ENV", "PYTHONSTARTUP", "DYLD_INSERT_LIBRARIES"):
                    what = f"sets {name}, by which later programs run code that nobody asked for"
                    yield module.suspect("startup_file", FLAG, what, node, scope)


RULES: NodeRules = (
    ((ast.Call,), _look_at_call),
    ((ast.Raise,), _look_at_raise),
    ((ast.Assign,), _look_at_environment),
)
