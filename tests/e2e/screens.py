# SPDX-License-Identifier: GPL-2.0-or-later
"""A terminal whose screen can be read: the output of a command through an emulator (Debian's python3-pyte)."""
import os
import re
import select
import time

import pyte

from helpers import READY_S
from terminal import Terminal

CLEAR = re.compile(rb"\x1b\[H\x1b\[2?J|\x1b\[2J|\x1bc")


class Screen(Terminal):
    """The screen of a command, and the bytes that drew it."""

    def __init__(self, *words, size=(24, 80), **env):
        self.screen = pyte.Screen(size[1], size[0])
        self.stream = pyte.ByteStream(self.screen)
        self.bytes, self.clears = 0, 0
        super().__init__(*words, size=size, **{"LC_ALL": "C.UTF-8", "TZ": "UTC", **env})

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def text(self):
        return "\n".join(self.lines())

    def _feed(self, timeout):
        if not select.select([self.master], [], [], max(timeout, 0))[0]:
            return False
        data = os.read(self.master, 65536)
        self.bytes += len(data)
        self.clears += len(CLEAR.findall(data))
        self.stream.feed(data)
        return True

    def wait(self, pattern):
        """Until the screen shows it; the match."""
        end = time.monotonic() + READY_S
        while not (match := re.search(pattern, self.text(), re.M)):
            assert self._feed(end - time.monotonic()), f"{pattern} is not on the screen:\n{self.text()}"
        return match

    def press(self, keys, pattern):
        os.write(self.master, keys)
        return self.wait(pattern)

    def watch(self, seconds):
        """Reads what is drawn in that time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._feed(end - time.monotonic())

    def draw(self, keys):
        """The bytes of the picture that keys lead to: all output until a key of no meaning has been read too."""
        before = self.bytes
        end = time.monotonic() + READY_S
        os.write(self.master, keys)
        while self._feed(0.5):
            assert time.monotonic() < end, "the screen does not come to rest"
        return self.bytes - before
