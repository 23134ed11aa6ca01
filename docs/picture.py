"""Writes demo.txt, which is what `make demo` printed, and demo.svg, the part of it that the README begins with."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

FOLDER = Path(__file__).parent
DEMO = FOLDER.parent / "demo" / "demo.py"
WIDTH = 112

# Lines of the demo that tell its story, in their order, and how each is drawn.
STORY = (
    (r"2\. ", "bold"),
    (r"  \$ trueup code", "cyan"),
    (r".* s  on the base: ", ""),
    (r".* s  iteration 1", "bold"),
    (r".* s  edit .*tests/test_slug", ""),
    (r".* s  Done\.", "bold"),
    (r".* s  the change, in a pristine checkout", "dim"),
    (r".* s  tests_pass: red", "dark_orange"),
    (r".* s  once more, with the change's own", "dim"),
    (r".* s  tests_pass: green", "green"),
    (r".* s  could it have gone red\?", "dim"),
    (r".* s  tests_pass: green", "green"),
    (r".* s  refused", "bold dark_orange"),
    (r".* s  iteration 2", "bold"),
    (r".* s  edit .*slugs/slug\.py", ""),
    (r".* s  Done\.", "bold"),
    (r".* s  the change, in a pristine checkout", "dim"),
    (r".* s  tests_pass: green", "green"),
    (r".* s  does it listen", "dim"),
    (r".* s  tests_pass: red", ""),
    (r".* s  does it report failures", "dim"),
    (r".* s  tests_pass: red", ""),
    (r".* s  verified", "bold green"),
    (r".* s  delivered: ", ""),
    (r"    VERIFIED ", "bold green"),
    (r"  \$ trueup attest verify", "cyan"),
    (r".*the attestation holds", "green"),
    (r"  \$ trueup test", "cyan"),
    (r"    passed ", ""),
    (r"    the skill ", ""),
)

# What differs between two runs that went the same way.
CHANCE = (
    (r"(/[\w.+-]+)*/trueup-demo-\w+", "/demo"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "WHEN"),
    (r"\b([0-9a-f]{7,64}|0[0-9a-z]{11})\b", "ID"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r"\b\d+\.\d+ ?s\b", "TIME"),
    (r"sandbox (bubblewrap|unshare)", "sandbox SANDBOX"),
    (r"trueup \d+\.\d+\.\d+\S*", "trueup VERSION"),
    (r"(?m)^[ |~^]+$\n?", ""),  # marks below a line of a traceback, which each Python draws differently
    (r" +", " "),
)

# No font of another host: what the reader has is as good.
TEMPLATE = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px; line-height: {line_height}px }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def without_chance(transcript: str) -> str:
    """What every run of the demo prints, whenever and wherever it was."""
    for pattern, instead in CHANCE:
        transcript = re.sub(pattern, instead, transcript)
    return transcript


def story(transcript: str) -> list[tuple[str, str]]:
    """The lines of a transcript that the picture shows, each with its style.

    Raises:
        ValueError: the demo does not tell this any more.
    """
    lines = iter(transcript.splitlines())
    found = []
    for pattern, style in STORY:
        line = next((each for each in lines if re.match(pattern, each)), None)
        if line is None:
            raise ValueError(f"the demo printed no further line like {pattern!r}; mend STORY in {__file__}")
        found.append((line, style))
    return found


def svg(transcript: str) -> str:
    """The picture of a transcript."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), color_system="truecolor", legacy_windows=False)
    for line, style in story(transcript):
        console.print(Text("\n".join(_wrapped(line)), style=style), soft_wrap=True)
    return console.export_svg(title="make demo", theme=MONOKAI, code_format=TEMPLATE, unique_id="demo")


def _wrapped(line: str) -> list[str]:
    margin = re.match(r"\s*[\d.]+ s  |\s*", line)
    return textwrap.wrap(line, WIDTH, subsequent_indent=" " * len(margin[0] if margin else ""), break_on_hyphens=False)


def record() -> str:
    """What the demo prints now."""
    done = subprocess.run([sys.executable, DEMO], check=False, encoding="utf-8", stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"{done.stdout}\nthe demo ended with exit {done.returncode}: there is nothing to draw")
    return done.stdout


if __name__ == "__main__":
    transcript = record()
    (FOLDER / "demo.txt").write_text(transcript, encoding="utf-8")
    (FOLDER / "demo.svg").write_text(svg(transcript), encoding="utf-8")
    sys.stdout.write("written: demo.txt demo.svg\n")
