"""Files that an interpreter, a shell or a package manager reads without being asked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .._verdict import Severity
from ._languages import CONFIG, MAKE, SHELL
from ._model import Suspicion
from ._reading import Reading
from ._rules import FLAG, GATE, INFO, apply, rule

_CUSTOMIZE = re.compile(r"(?:^|/)(?:sitecustomize|usercustomize)(?:\.\w[\w.-]*|/__init__\.\w+)$")
_SHELL_STARTUP = frozenset(
    ".pythonrc .pythonrc.py .pythonstartup .envrc .bashrc .bash_profile .bash_login .bash_env .profile .zshrc .zshenv "
    ".zprofile .kshrc .cshrc .pnpmfile.cjs .pnpmfile.mjs .rubyrc .irbrc .pdbrc .gdbinit".split()
)

_RUNS_CODE = "makes later programs run code that nobody asked for"
_VARIABLES = (
    rule(
        "startup_file",
        f"{_RUNS_CODE} (`LD_PRELOAD`, `BASH_ENV`, `PYTHONSTARTUP` or the like)",
        r"(?<![\w$\{-])(?:LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|PYTHONSTARTUP|PERL5OPT|RUBYOPT|PROMPT_COMMAND)\s*(?:=|:(?!-)|\+=)",
        "LD_PRELOAD",
        "LD_AUDIT",
        "DYLD_",
        "BASH_ENV",
        "PYTHONSTARTUP",
        "PERL5OPT",
        "RUBYOPT",
        "PROMPT_COMMAND",
        source=FLAG,
        test=FLAG,
        view="code",
    ),
    rule(
        "startup_file",
        f"{_RUNS_CODE} (`NODE_OPTIONS`)",
        r"\bNODE_OPTIONS['\"]?\s*[=:][^\n]{0,200}(?:--require|--import|--loader|--experimental-loader|\s-r\s|=-r\s)",
        "NODE_OPTIONS",
        source=FLAG,
        test=FLAG,
        view="plain",
    ),
    rule(
        "startup_file",
        f"{_RUNS_CODE} (a Java agent)",
        r"\b(?:JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|MAVEN_OPTS)\b[^\n]{0,200}-(?:javaagent|agentpath|agentlib)",
        "-javaagent",
        "-agent",
        source=FLAG,
        test=FLAG,
        view="plain",
    ),
    rule(
        "startup_file",
        "changes where Python looks for modules (`PYTHONPATH`)",
        r"(?<![\w$\{])PYTHONPATH\s*(?:=|:(?!-)|\+=)",
        "PYTHONPATH",
        source=INFO,
        test=INFO,
        view="code",
    ),
)
_NPM = (
    rule(
        "startup_file",
        f"{_RUNS_CODE} (npm's `node-options` or `script-shell`)",
        r"^\s*(?:node-options|script-shell|shell|init-module|git|prefix)\s*=",
        "=",
        source=FLAG,
        test=FLAG,
    ),
    rule(
        "startup_file",
        f"{_RUNS_CODE} (`yarnPath` or a plugin)",
        r"^\s*(?:yarnPath|yarn-path|plugins)\b",
        "yarn",
        "plugins",
        source=FLAG,
        test=FLAG,
    ),
)
_CARGO = (
    rule(
        "startup_file",
        "puts another program in place of the compiler or the test's own (`runner`, `rustc-wrapper`)",
        r"^\s*(?:runner|rustc|rustdoc|rustc-wrapper|rustc-workspace-wrapper|(?:target\.[^\n=]{1,80}\.)runner)\s*=",
        "runner",
        "rustc",
        "rustdoc",
        source=FLAG,
        test=FLAG,
    ),
)
_ATTRIBUTES = (
    rule(
        "git_filter",
        "has git pass a file through a program of somebody's choice, or store it otherwise than it is written",
        r"^[^\n#]*\s(?:filter|diff|merge)=(?!lfs\b|text\b|union\b|binary\b|ours\b|python\b|golang\b|rust\b|java\b|cpp\b|csharp\b|html\b|css\b|markdown\b|php\b|ruby\b|bash\b|astextplain\b)[\w.-]+"
        r"|^[^\n#]*\s-?!?(?:ident|working-tree-encoding|encoding|export-subst|filter)(?:=(?!lfs\b)|\s|$)|^\[attr\]",
        "filter",
        "diff=",
        "merge=",
        "ident",
        "encoding",
        "export-subst",
        "[attr]",
        source=FLAG,
        test=FLAG,
        view="plain",
    ),
)
_MODULES = (
    rule(
        "git_filter",
        "has git run a command for a submodule",
        r"^\s*update\s*=\s*!|^\s*url\s*=\s*(?:ext::|-)",
        "update",
        "url",
        source=GATE,
        test=GATE,
        view="plain",
    ),
)
_GIT_CONFIG = (
    rule("git_filter", "has git read another configuration or run a program", r"^\s*\[(?:include|includeIf)\b|^\s*(?:hooksPath|fsmonitor|sshCommand|smudge|clean|textconv|pager|editor)\s*=", "include", "hooksPath", "fsmonitor", "sshCommand", "smudge", "clean", "textconv", "pager", "editor", source=FLAG, test=FLAG, view="plain"),
)  # fmt: skip
_BY_NAME = {
    ".npmrc": _NPM,
    ".yarnrc": _NPM,
    ".yarnrc.yml": _NPM,
    ".gitattributes": _ATTRIBUTES,
    ".gitmodules": _MODULES,
    ".gitconfig": _GIT_CONFIG,
}


def look_at_startup(reading: Reading) -> Iterator[Suspicion]:
    """What is suspicious about a file that is read without being asked for, or that sets what is."""
    name = reading.name.lower()
    if _CUSTOMIZE.search(reading.path):
        yield _whole("is run by every Python that can import it, before any test is", GATE, reading)
    elif name.endswith(".pth"):
        yield _whole("is run by Python at its start wherever it is installed", GATE, reading)
    elif name in _SHELL_STARTUP:
        yield _whole("is run by a shell or an interpreter at its start", FLAG, reading)
    yield from apply(_BY_NAME.get(name, ()), reading)
    if reading.path.endswith((".cargo/config", ".cargo/config.toml")):
        yield from apply(_CARGO, reading)
    if (
        reading.language in (SHELL, MAKE, CONFIG)
        or name in ("package.json", ".env")
        or name.startswith((".env.", "dockerfile"))
    ):
        yield from apply(_VARIABLES, reading)


def _whole(what: str, severity: Severity, reading: Reading) -> Suspicion:
    """Said of every version, told apart by the contents: so it is said of each that changed."""
    return Suspicion(kind="startup_file", severity=severity, what=what, key=reading.text)
