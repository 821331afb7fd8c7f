# SPDX-License-Identifier: GPL-2.0-or-later
"""Pictures of the page, for its documentation: build/check/ui-pictures/*.png."""
import os
import struct

import pytest

from conftest import BUILD
from pages import PAGES

PICTURES = {"ui-overview": ("overview", False), "ui-calls": ("calls", True), "ui-cpu": ("cpu", False)}


@pytest.mark.parametrize("name", list(PICTURES))
def test_picture(open_page, name):
    page, dark = PICTURES[name]
    one = open_page(width=1280, height=800, dark=dark)
    one.open(*PAGES[page])
    folder = os.path.join(BUILD, "check", "ui-pictures")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{name}.png")
    one.page.shot(path)
    with open(path, "rb") as f:
        head = f.read(24)
    assert head[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", head[16:24]) == (1280, 800)
