"""How opencode is started: one first in a new home, and not left alone where nobody answers its calls."""

from __future__ import annotations

import re

from trueup.core.process import Finished

# How often in a row there may be nobody to be called, before it is no use to try again.
MOST_REFUSALS = 3
GIVES_UP = f"opencode is given up, {MOST_REFUSALS} times in a row"
MOST_SEARCHED = 8192

# Several that begin in a new home at once fail on making its database, so the first goes ahead. A home in which it
# has run before, or in which somebody went ahead a minute ago, is ready.
_ONE_FIRST = """home=${XDG_DATA_HOME:-$HOME/.local/share}/opencode
first=$home/trueup-first-run
if [ ! -e "$first" ] && [ -e "$home/opencode.db" ]; then :
elif [ -z "$(find "$first" -mmin +1 2>/dev/null)" ] && command -v flock >/dev/null; then
  mkdir -p "$home" && exec 9>>"$first" && flock -w 20 9
fi
"""
# Where nobody answers it tries again for more than a minute, in silence but for its log, and no SIGTERM ends it. Its
# pauses are of 2 s and 4 s: a refusal that comes later is of another call, after one that was answered.
_GIVE_UP = f"""pipe=$(mktemp -u) && mkfifo -m 600 "$pipe" || exit 1
{{
  rm -f "$pipe"
  times=0 last=0
  while IFS= read -r line; do
    case $line in
    timestamp=*small=false*"Cannot connect to API"*)
      now=$(date +%s)
      [ $((now - last)) -le 10 ] || times=0
      times=$((times + 1)) last=$now
      [ "$times" -lt {MOST_REFUSALS} ] || {{
        said=${{line##*Cannot connect to API}}
        printf '%s: Cannot connect to API%s\\n' "{GIVES_UP}" "${{said%%' (cause:'*}}" >&2
        kill -KILL $$
      }} ;;
    timestamp=*) ;;
    *) printf '%s\\n' "$line" >&2 ;;
    esac
  done
}} <"$pipe" 9>&- &
export OPENCODE_PRINT_LOGS=1 OPENCODE_LOG_LEVEL=ERROR
exec "$@" 2>"$pipe"
"""
# Becomes the program whose words follow.
STARTER = ("/bin/sh", "-c", _ONE_FIRST + _GIVE_UP, "sh")


def given_up(finished: Finished) -> str | None:
    """Why it was ended by its starter; None where it was not."""
    told = re.search(rf"^{re.escape(GIVES_UP)}: (.*)$", finished.stderr.tail(MOST_SEARCHED), re.MULTILINE)
    return told[1] if told else None
