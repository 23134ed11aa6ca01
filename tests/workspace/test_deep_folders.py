"""An agent that nests folders deeper than a path can name keeps nobody from throwing its work away."""

from __future__ import annotations

import os

from trueup.workspace._sandbox import Scratch


def test_a_top_with_folders_deeper_than_a_path_can_name_is_discarded(tmp_path):
    top = Scratch.create(tmp_path)
    here = os.open(top.folder / "upper", os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("nested", dir_fd=here)
        inner = os.open("nested", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    top.discard()
    assert list(tmp_path.iterdir()) == []
