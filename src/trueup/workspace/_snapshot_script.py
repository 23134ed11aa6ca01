"""Taking a snapshot of a work tree: a script for bash, so that it can run where the tree is, inside a sandbox."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from ._git import INERT_ENVIRONMENT, INERT_OPTIONS

# So many freshly written files are looked up one by one; with more of them everything is read again.
MOST_FRESH = 1000
LARGEST_MB = 1024

_SCRIPT = r"""
set -euo pipefail
export LC_ALL=C
cd -- @work_tree@
base_tree=$(cat @git_dir@/base-tree)
git=(env -i PATH="$PATH" @environment@ git @options@)

# A file that was written after the index was made is read again, whatever its size and time pretend: they can be
# set, and the time of the last change to the file's record cannot.
doubt_fresh_files() {
  [ -e @git_dir@/warm ] || return 0
  mapfile -d '' -t fresh < <(
    "${git[@]}" ls-files -z | sed -z 's|^|./|' |
      xargs -0 -r sh -c 'exec find "$@" -maxdepth 0 -cnewer "$0" -print0' @git_dir@/warm 2>/dev/null | sed -z 's|^\./||')
  if [ ${#fresh[@]} -gt @most_fresh@ ]; then
    "${git[@]}" ls-files -s -z | "${git[@]}" update-index -z --index-info
  elif [ ${#fresh[@]} -gt 0 ]; then
    printf '%s\0' "${fresh[@]}" | xargs -0 "${git[@]}" --literal-pathspecs ls-files -s -z -- |
      "${git[@]}" update-index -z --index-info
  fi
}
doubt_fresh_files

# `add` would run `git status` inside every submodule, under the submodule's own configuration: look at their heads
# only, and keep `add` away from them. Repositories that an earlier snapshot found are looked at anew.
"${git[@]}" ls-files -s -z | sed -zn 's/^160000 [0-9a-f]* 0\t//p' | "${git[@]}" update-index --force-remove -z --stdin
if [ -s @git_dir@/gitlinks ]; then
  "${git[@]}" update-index --add --replace -z --index-info <@git_dir@/gitlinks
  while IFS= read -r -d '' link; do
    "${git[@]}" update-index --add --remove --replace -- "$link" 2>/dev/null ||
      "${git[@]}" update-index --force-remove -- "$link"
    "${git[@]}" update-index --skip-worktree -- "$link" 2>/dev/null || true
  done < <(cut -z -f 2- @git_dir@/gitlinks)
fi

@bound@
add() { said=$("${git[@]}" add --all 2>&1); }
if ! add || [[ $said == *"Permission denied"* ]]; then
  @mend@
  if ! add; then
    # Most likely a repository without a commit was left inside. `add` takes none of it, and must not hide it either:
    # it gets a place in the tree, with an id that is no commit's.
    found=no
    while IFS= read -r -d '' path; do
      case $path in */) ;; *) continue ;; esac
      "${git[@]}" update-index --add -- "${path%/}" 2>/dev/null && continue
      "${git[@]}" update-index --add --cacheinfo "160000,${base_tree//?/f},${path%/}"
      "${git[@]}" update-index --skip-worktree -- "${path%/}"
      found=yes
    done < <("${git[@]}" ls-files -z --others --exclude-standard)
    if [ $found = no ]; then printf '%s\n' "$said" >&2; exit 1; fi
    "${git[@]}" add --all
  fi
fi

tree=$("${git[@]}" write-tree)
@pack@
@ignored@
printf '%s\n' "$tree"
"""

_PACK = """printf '%s\\n^%s\\n' "$tree" "$base_tree" | "${git[@]}" pack-objects --revs --stdout -q >@file@"""


# What an agent closed is opened, and what it put in the place of a tracked file and is none is no longer tracked.
_MEND = r"""find . -xdev -path ./.git -prune -o -type d ! -perm -u+rwx -exec chmod u+rwx {} \; \
    -o -type f ! -perm -u+r -exec chmod u+r {} + 2>/dev/null || true
  find . -xdev -path ./.git -prune -o ! -type f ! -type d ! -type l -printf '%P\0' |
    "${git[@]}" update-index --force-remove -z --stdin
  doubt_fresh_files"""

# A file with a hole in it is quickly made, and slowly read. Ignored ones are no part of the work.
_BOUND = r"""while IFS= read -r -d '' path; do
  "${git[@]}" check-ignore -q -- "$path" && continue
  "${git[@]}" ls-files --error-unmatch -- "$path" >/dev/null 2>&1 && continue
  printf '%s is larger than %s MB, which is more than is taken as work\n' "$path" @largest_mb@ >&2
  exit 1
done < <(find . -xdev -path ./.git -prune -o -type f -size +@largest_mb@M -printf '%P\0')"""

_IGNORED = """"${git[@]}" ls-files -z --others --ignored --exclude-standard --directory --no-empty-directory"""


def snapshot_script(
    *,
    git_dir: str | Path,
    work_tree: str | Path,
    pack: str | Path | None = None,
    index: str | Path | None = None,
    objects: str | Path | None = None,
    of_agent: bool = False,
) -> str:
    """A bash script that prints the id of the tree which a work tree is: its tracked files and its untracked ones,
    but for those that are ignored.

    `git_dir` was made by `Mirror.snapshot_gitdir`; nothing that the work tree says about git is read, but for its
    .gitignore files. What is new since the base is written to `pack`.

    The work tree `of_agent` is opened where it was closed, and the ignored paths that it has are printed before the id,
    each with a NUL at its end.
    """
    places = {
        "GIT_DIR": git_dir,
        "GIT_WORK_TREE": work_tree,
        "GIT_INDEX_FILE": index,
        "GIT_OBJECT_DIRECTORY": objects,
    }
    environment = {**INERT_ENVIRONMENT, **{name: str(place) for name, place in places.items() if place is not None}}
    options = (*INERT_OPTIONS, "-c", "advice.addEmbeddedRepo=false")
    packing = "" if pack is None else _PACK.replace("@file@", _quoted(pack))
    script = _SCRIPT.replace("@pack@", packing)
    for_agents = {"@mend@": _MEND, "@bound@": _BOUND, "@ignored@": _IGNORED}
    for name, part in for_agents.items():
        script = script.replace(name, part if of_agent else "")
    for name, value in {
        "@work_tree@": _quoted(work_tree),
        "@git_dir@": _quoted(git_dir),
        "@environment@": " ".join(_quoted(f"{name}={value}") for name, value in environment.items()),
        "@options@": " ".join(options),
        "@most_fresh@": str(MOST_FRESH),
        "@largest_mb@": str(LARGEST_MB),
    }.items():
        script = script.replace(name, value)
    return script


def _quoted(place: str | Path) -> str:
    return shlex.quote(os.fspath(place))
