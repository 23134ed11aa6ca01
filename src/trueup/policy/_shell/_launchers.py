"""Programs that start other programs: what a command runs beside itself, as far as its words tell."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct, structs

from ._builtins import CALLBACKS, callbacks
from ._git import git_texts
from ._words import UNKNOWN, Word

# The texts of those that are not of bash's family are mostly not understood, and so refused.
SHELLS = frozenset(
    "bash sh dash zsh ksh ash rbash fish csh tcsh mksh lksh oksh yash posh hush elvish nu xonsh pwsh powershell".split()
)

ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


class Launcher(Struct, frozen=True):
    """How the words of a launcher lead to what it launches.

    `values`: options that take the next word. `operands`: words of its own before the command. `text_options`: options
    whose value is a shell text. `quiet`: it changes neither who runs the command nor where, so it counts for nothing.
    `joins`: the words are put together and read by a shell.
    """

    values: frozenset[str] = frozenset()
    operands: int = 0
    text_options: frozenset[str] = frozenset()
    quiet: bool = False
    joins: bool = False


class Started(Struct, frozen=True):
    """What a command starts: commands by their words, shell texts, or what a shell reads from its input.

    `guesses` and `lines`: where it is not known how many words are the launcher's own, every tail that may be the
    command, and every word that may be a shell text.
    """

    commands: tuple[tuple[Word, ...], ...] = ()
    texts: tuple[Word, ...] = ()
    variables: tuple[str, ...] = ()
    reads_input: bool = False
    quiet: bool = False
    guesses: tuple[tuple[Word, ...], ...] = ()
    lines: tuple[Word, ...] = ()


def _launcher(
    values: str = "", operands: int = 0, text: str = "", *, quiet: bool = False, joins: bool = False
) -> Launcher:
    return Launcher(frozenset(values.split()), operands, frozenset(text.split()), quiet, joins)


_LAUNCHERS = {
    "env": _launcher("-u --unset -C --chdir", text="-S --split-string", quiet=True),
    "builtin": _launcher(quiet=True),
    "exec": _launcher("-a", quiet=True),
    "nohup": _launcher(quiet=True),
    "setsid": _launcher(quiet=True),
    "time": _launcher("-f --format -o --output", quiet=True),
    "nice": _launcher("-n --adjustment", quiet=True),
    "ionice": _launcher("-c --class -n --classdata", quiet=True),
    "timeout": _launcher("-s --signal -k --kill-after", 1, quiet=True),
    "stdbuf": _launcher("-i --input -o --output -e --error", quiet=True),
    "unbuffer": _launcher(quiet=True),
    "sudo": _launcher(
        "-u --user -g --group -h --host -p --prompt -C --close-from -T --command-timeout -r --role -t --type -D --chdir"
        " -R --chroot -U --other-user"
    ),
    "doas": _launcher("-u -C"),
    "gosu": _launcher("", 1),
    "su": _launcher("-s --shell -g --group -G --supp-group -w --whitelist-environment", 99, "-c --command"),
    "chroot": _launcher("--userspec --groups", 1),
    "unshare": _launcher("-R --root -w --wd -S --setuid -G --setgid"),
    "nsenter": _launcher("-t --target -S --setuid -G --setgid"),
    "setpriv": _launcher("--reuid --regid --groups --bounding-set --inh-caps --ambient-caps"),
    "systemd-run": _launcher("-p --property -u --unit -M --machine -H --host -E --setenv --uid --gid --slice"),
    "flock": _launcher("-w --wait --timeout -E --conflict-exit-code", 1, "-c --command"),
    "script": _launcher(
        "-I --log-in -O --log-out -B --log-io -T --log-timing -o --output-limit -E --echo", 99, "-c --command"
    ),
    "strace": _launcher("-o -e -E -s -u -p -P -a -I -O -S -X"),
    "ltrace": _launcher("-o -e -s -u -p -l -a -n"),
    "taskset": _launcher("", 1),
    "chrt": _launcher("-T -P -D", 1),
    "prlimit": _launcher(""),
    "busybox": _launcher(),
    "toybox": _launcher(),
    "watch": _launcher("-n --interval -q --equexit", joins=True),
    "ssh": _launcher("-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B", 1, joins=True),
    "eval": _launcher(quiet=True, joins=True),
    "xargs": _launcher(
        "-I -n --max-args -P --max-procs -L --max-lines -d --delimiter -E -s --max-chars -a --arg-file --process-slot-var"
    ),
    "parallel": _launcher("-j --jobs -a --arg-file -I --timeout --retries --delay --joblog --results -S --sshlogin"),
    "linux32": _launcher(quiet=True),
    "linux64": _launcher(quiet=True),
    "catchsegv": _launcher(quiet=True),
    "dbus-run-session": _launcher("--config-file --dbus-daemon"),
    "torsocks": _launcher("-u --user -p --pass -a --address -P --port"),
    "proxychains": _launcher("-f"),
    "proxychains4": _launcher("-f"),
    "entr": _launcher(),
    "npx": _launcher("-p --package", text="-c --call"),
    "bunx": _launcher("-p --package"),
    "uvx": _launcher("--from --with --python -p"),
}
_RUNNERS = frozenset(
    "uv run|poetry run|pdm run|pipenv run|hatch run|rye run|pixi run|pnpm exec|pnpm dlx|yarn exec|yarn dlx|npm exec|bun x|"
    "bundle exec|mise exec|conda run|devbox run|rbenv exec|pyenv exec|asdf exec".split("|")
)
_RUN_IN = _launcher(
    "--extra --group --only-group --with --python -p --package --env-file --directory --project -e --environment -n --name"
)
# Launchers with too many options to know them all, and the subcommands that launch; none: it always does.
_LOOSE: dict[str, frozenset[str]] = {
    **dict.fromkeys("docker podman nerdctl kubectl oc lxc".split(), frozenset("run exec debug".split())),
    **dict.fromkeys("docker-compose podman-compose".split(), frozenset("run exec".split())),
    "nix": frozenset("develop shell run".split()),
    "direnv": frozenset(["exec"]),
    "tmux": frozenset(
        "new new-session neww new-window splitw split-window respawn-pane respawn-window run run-shell send send-keys"
        " popup display-popup if if-shell pipe-pane".split()
    ),
    **dict.fromkeys(
        "gdb lldb valgrind perf rr screen rlwrap firejail bwrap nix-shell xvfb-run faketime setarch cpulimit ld.so"
        " start-stop-daemon numactl dtach zellij fd fdfind expect sg runuser pkexec".split(),
        frozenset(),
    ),
}
_LOADER = re.compile(r"ld(-linux.*)?\.so(\.\d+)*")
MOST_GUESSES = 40
# Further words of input follow those that are given.
_APPENDING = frozenset({"xargs", "parallel"})


def started_by(words: Sequence[Word]) -> Started | None:
    """What the command of these words starts; None where it is a program like any other."""
    name = posixpath.basename(words[0].text)
    if UNKNOWN in name:
        return None
    if name in _READERS:
        return _READERS[name](words[1:])
    if len(words) > 1 and f"{name} {words[1].text}" in _RUNNERS:
        return _launched(words[2:], _RUN_IN, name)
    if name in _LOOSE or _LOADER.fullmatch(name):
        return _guessed(words[1:], _LOOSE.get(name, frozenset()))
    launcher = _LAUNCHERS.get(name)
    return _launched(words[1:], launcher, name) if launcher else None


def _guessed(words: Sequence[Word], verbs: frozenset[str]) -> Started | None:
    """What a launcher may start: any of its last words, and any of its words that has blanks."""
    first = next((place + 1 for place, word in enumerate(words) if word.text in verbs), None) if verbs else 0
    if first is None:
        return None
    rest = words[first:]
    tails = (tuple(rest[place:]) for place in range(min(len(rest), MOST_GUESSES)))
    return Started(guesses=tuple(tails), lines=tuple(word for word in rest if " " in word.text))


def _launched(words: Sequence[Word], launcher: Launcher, name: str) -> Started | None:
    texts, rest = _past_options(words, launcher)
    operands = launcher.operands
    variables: list[str] = []
    while rest:
        if (name == "env" and "=" in rest[0].text) or (name == "sudo" and ASSIGNMENT.match(rest[0].text)):
            variables.append(rest[0].text)
        elif operands:
            operands -= 1
        else:
            break
        # Options may also stand after an operand: `su user -c …`, `flock FILE -c …`.
        more, rest = _past_options(rest[1:], launcher)
        texts += more
    if name == "env" and texts:
        # `env -S 'git push' origin`: one command out of both.
        return Started(texts=(joined([*texts, *rest]),), quiet=True)
    if launcher.joins and rest:
        return Started(texts=(joined(rest),), quiet=launcher.quiet)
    if not rest and not texts:
        # `parallel` alone takes its commands from its input.
        return Started(reads_input=True) if name == "parallel" else None
    return Started(_commands(rest, name), tuple(texts), tuple(variables), quiet=launcher.quiet)


def _commands(words: Sequence[Word], name: str) -> tuple[tuple[Word, ...], ...]:
    if not words:
        return ()
    if name == "parallel":
        words = words[: next((place for place, word in enumerate(words) if word.text.startswith(":::")), len(words))]
    return ((*words, Word(UNKNOWN, splits=True, is_input=True)),) if name in _APPENDING else (tuple(words),)


def _past_options(words: Sequence[Word], launcher: Launcher) -> tuple[list[Word], Sequence[Word]]:
    """The shell texts among the options, and the words behind the options."""
    texts: list[Word] = []
    while words and words[0].text.startswith("-") and words[0].text != "-":
        option, *rest = words
        if option.text == "--":
            return texts, rest
        attached = _attached(option.text, launcher.text_options)
        if attached:
            texts.append(Word(attached))
        elif _ends_in(option.text, launcher.text_options) and rest:
            texts.append(rest[0])
            rest = rest[1:]
        elif _ends_in(option.text, launcher.values):
            rest = rest[1:]
        words = rest
    # `su - user`: a dash alone is an operand that says something about the login.
    return texts, words[1:] if words and words[0].text == "-" else words


def _attached(option: str, names: frozenset[str]) -> str:
    """The value that an option has in its own word: `--command=x`, `-cx`."""
    name, _, value = option.partition("=")
    if option.startswith("--"):
        return value if name in names else ""
    return option[2:] if option[:2] in names else ""


def _ends_in(option: str, names: frozenset[str]) -> bool:
    """Whether an option takes the next word: by its name, or as the last of several letters."""
    if option.startswith("--") or len(option) == 2:
        return option in names
    return f"-{option[-1]}" in names and not any(f"-{letter}" in names for letter in option[1:-1])


def _shell(words: Sequence[Word]) -> Started | None:
    takes_text = False
    while words and re.match(r"[-+].", words[0].text):
        option, *words = words
        if option.text in ("--version", "--help"):
            return None
        if option.text == "--":
            break
        if option.text in ("--rcfile", "--init-file") or re.fullmatch(r"[-+]\w*[oO]", option.text):
            words = words[1:]
        takes_text = takes_text or re.fullmatch(r"-\w*c\w*|--command|-Command", option.text) is not None
        if option.text.startswith("-s") and not takes_text:
            return Started(reads_input=True, quiet=True)
    if takes_text:
        return Started(texts=tuple(words[:1]), quiet=True)
    return Started(reads_input=True, quiet=True) if not words or _is_no_file(words[0]) else None


def _source(words: Sequence[Word]) -> Started | None:
    return Started(reads_input=True) if words and _is_no_file(words[0]) else None


def _is_no_file(script: Word) -> bool:
    """Whether the commands come from a pipe or a substitution, under the name of a file."""
    return script.splits or script.text in (UNKNOWN, "-") or script.text.startswith(("/dev/", "/proc/"))


def _trap(words: Sequence[Word]) -> Started | None:
    return Started(texts=tuple(words[:1]), quiet=True) if len(words) > 1 else None


def _alias(words: Sequence[Word]) -> Started | None:
    texts = tuple(Word(word.text.partition("=")[2]) for word in words if "=" in word.text)
    return Started(texts=texts, quiet=True) if texts else None


def _command(words: Sequence[Word]) -> Started | None:
    # `command -v` only tells where something is.
    asks = bool(words) and words[0].text in ("-v", "-V")
    return None if asks else _launched(words, _launcher(quiet=True), "command")


def _coproc(words: Sequence[Word]) -> Started | None:
    # `coproc NAME { … }`: the grammar does not know it, and reads on behind the brace.
    brace = next((place for place, word in enumerate(words[:2]) if word.text == "{"), -1)
    return Started(commands=(tuple(words[brace + 1 :]),), quiet=True)


def _find(words: Sequence[Word]) -> Started:
    return Started(commands=tuple(_find_commands(words)))


def _find_commands(words: Sequence[Word]) -> Iterator[tuple[Word, ...]]:
    inner: list[Word] | None = None
    for word in words:
        if inner is None:
            inner = [] if word.text in ("-exec", "-execdir", "-ok", "-okdir") else None
        elif word.text in (";", "+"):
            if inner:
                yield tuple(inner)
            inner = None
        else:
            inner.append(Word(word.text.replace("{}", UNKNOWN), word.splits))
    if inner:
        yield tuple(inner)


def _xargs(words: Sequence[Word]) -> Started | None:
    started = _launched(words, _LAUNCHERS["xargs"], "xargs")
    mark = _replaced(words)
    if started is None or not mark:
        return started
    # The input takes the place of the mark, and nothing is put behind the words.
    commands = (tuple(_marked(word, mark) for word in command[:-1]) for command in started.commands)
    return structs.replace(started, commands=tuple(commands))


def _replaced(words: Sequence[Word]) -> str:
    """The mark of `xargs` that the input takes the place of, if there is one."""
    for place, word in enumerate(words):
        if word.text in ("-I", "-J"):
            return "".join(following.text for following in words[place + 1 : place + 2])
        if not word.text.startswith("-"):
            return ""
        if attached := re.match(r"(?:-[IJi]|--replace=?)(.*)", word.text, re.DOTALL):
            return attached[1] or "{}"
    return ""


def _marked(word: Word, mark: str) -> Word:
    if mark not in word.text:
        return word
    return Word(word.text.replace(mark, UNKNOWN), word.splits, is_input=True)


def _git(words: Sequence[Word]) -> Started | None:
    texts = tuple(git_texts(words))
    return Started(texts=texts) if texts else None


def _at(words: Sequence[Word]) -> Started | None:
    """`at` and `batch` run later what they read now."""
    only_tells = any(word.text in ("-l", "-r", "-c", "-e", "-V", "-f") for word in words)
    return None if only_tells else Started(reads_input=True)


def _crontab(words: Sequence[Word]) -> Started | None:
    """`crontab -` reads lines of its own kind, with commands in them."""
    files = [word.text for word in words if not word.text.startswith("-")]
    only_tells = any(word.text in ("-l", "-r", "-e", "-V") for word in words)
    return None if only_tells or files else Started(texts=(Word(UNKNOWN, splits=True),))


def _callback(name: str) -> Callable[[Sequence[Word]], Started | None]:
    def read(words: Sequence[Word]) -> Started | None:
        texts = tuple(callbacks(name, words))
        return Started(texts=texts) if texts else None

    return read


def joined(words: Sequence[Word]) -> Word:
    """Words put together with blanks, as `eval` does."""
    return Word(" ".join(word.text for word in words), any(word.splits for word in words))


_READERS: dict[str, Callable[[Sequence[Word]], Started | None]] = {
    **dict.fromkeys(SHELLS, _shell),
    "trap": _trap,
    "alias": _alias,
    "command": _command,
    "coproc": _coproc,
    "source": _source,
    ".": _source,
    "find": _find,
    "xargs": _xargs,
    "git": _git,
    **dict.fromkeys(("at", "batch"), _at),
    "crontab": _crontab,
    **{name: _callback(name) for name in CALLBACKS},
}
