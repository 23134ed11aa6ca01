"""The demo does what it says, in a terminal and on pages, and its picture shows what it prints."""

from __future__ import annotations

import importlib
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"http://[\w-]+\.localhost(:\d+/enter\?code=\S+)")
LAST_OF_THE_DEMO = "7. "
PATIENCE_SECS = 300


@pytest.fixture
def picture(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module("picture")


@pytest.fixture
def demo(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "demo")
    return importlib.import_module("demo")


@contextmanager
def played(*options: str) -> Iterator[subprocess.Popen[str]]:
    """The demo as `make demo` starts it, at a terminal of its own as far as Ctrl-C goes."""
    words = [sys.executable, ROOT / "demo" / "demo.py", *options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, encoding="utf-8", start_new_session=True) as process:
        impatience = threading.Timer(PATIENCE_SECS, os.killpg, (process.pid, signal.SIGKILL))
        impatience.start()
        try:
            yield process
        finally:
            impatience.cancel()


def test_the_demo_does_what_its_record_shows_and_then_serves_its_pages(picture):
    lines = []
    with played("--serve") as process:
        for line in process.stdout:
            lines.append(line)
            # Browsers find names under localhost here; not every system does.
            if link := LINK.search(line):
                visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
                page = unescape(visitor.open(f"http://127.0.0.1{link[1]}", timeout=30).read().decode())
                os.killpg(process.pid, signal.SIGINT)
    printed = "".join(lines)

    assert process.returncode == 0, printed
    assert "slug() joins words by dashes" in page
    scratch = re.search(r"(/\S*/trueup-demo-\w+)/", printed)
    assert scratch is not None
    assert not Path(scratch[1]).exists()
    if "No sandbox can be built here" not in printed:
        shown, _, waiting = printed.partition(f"\n{LAST_OF_THE_DEMO}")
        recorded = (ROOT / "docs" / "demo.txt").read_text()
        assert picture.without_chance(shown) == picture.without_chance(recorded), "run `make picture`"
        assert "needs approval: verified" in waiting


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("delivered: merge 0a1b2c3d4e5f main", "delivered: merge 75d2c8eb6f98 main"),
        ("   9.9 s  session 0v0zrpqmncqx", "  10.1 s  session 0v0ztx0ebqek"),
        ("  /tmp/trueup-demo-8i_c92dc/slugs", "  /var/folders/x-y/T/trueup-demo-abcdefgh/slugs"),
    ],
)
def test_runs_that_differ_by_chance_alone_are_told_as_one(picture, one, other):
    assert picture.without_chance(one) == picture.without_chance(other)


def test_the_picture_shows_what_was_recorded(picture):
    recorded = (ROOT / "docs" / "demo.txt").read_text()
    kept = (ROOT / "docs" / "demo.svg").read_text()
    assert _words(kept) == _words(picture.svg(recorded)), "run `make picture`"
    assert "refused; goal 'tests_pass' is still red" in _words(kept)


def test_the_picture_asks_no_other_host_for_anything():
    kept = (ROOT / "docs" / "demo.svg").read_text()
    assert re.findall(r"url\((?!#)|href|@import|@font-face|<script", kept) == []


def test_a_demo_that_does_not_tell_its_story_any_more_cannot_be_drawn(picture):
    recorded = (ROOT / "docs" / "demo.txt").read_text()
    with pytest.raises(ValueError, match="refused"):
        picture.svg(recorded.replace("refused", "accepted"))


@pytest.mark.parametrize(
    ("session", "exits", "told", "what"),
    [
        ({"state": "failed"}, [0, 1], [], "the repair was merged"),
        ({"state": "merged", "attempts": [{"verdict": {"outcome": "verified"}}]}, [0], [], "was refused"),
        ({"state": "merged", "attempts": []}, [0], ["do better"], "was told why"),
        ({}, [0, 3], [], "every command succeeded"),
    ],
)
def test_the_demo_says_what_did_not_happen(demo, session, exits, told, what):
    missing = demo.not_as_it_should_be(session, exits, told, demo.FILES)
    assert any(what in each for each in missing)
    assert "the code is mended and everything else as it was" in missing
    assert what in demo.verdict(missing)


def _words(svg: str) -> str:
    """The text of a picture, in which every blank is one that does not break."""
    texts = ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return " ".join("".join(each.itertext()).replace("\xa0", " ").strip() for each in texts)
