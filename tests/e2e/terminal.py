# SPDX-License-Identifier: GPL-2.0-or-later
"""A command on a terminal of its own."""
import os
import pty
import re
import select
import signal
import subprocess
import termios
import threading
import time

from helpers import BINARY, READY_S, TIMEOUT_S


class Terminal:
    """A command on a pseudo-terminal; stderr is a pipe."""

    def __init__(self, *words, size=(40, 120), **env):
        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, size)
        self.slave = os.ttyname(slave)
        self.modes = termios.tcgetattr(slave)
        # as the shell that started it, which keeps the terminal
        self.kept = slave
        self.child = subprocess.Popen([BINARY, *words], stdin=slave, stdout=slave, stderr=subprocess.PIPE, text=True,
                                      env={**os.environ, "TERM": "xterm", **env}, start_new_session=True)
        self.seen = b""

    def read_until(self, pattern):
        """Of the output since the last call."""
        end = time.monotonic() + READY_S
        while not (match := re.search(pattern, self.seen)):
            assert select.select([self.master], [], [], max(end - time.monotonic(), 0))[0], self.seen[-2000:]
            self.seen += os.read(self.master, 65536)
        self.seen = self.seen[match.end():]

    def keys(self, keys, pattern):
        """Presses keys and waits for what they show."""
        os.write(self.master, keys)
        self.read_until(pattern)

    def flow(self, action):
        """Output stops and goes on, as by Ctrl-S and Ctrl-Q."""
        termios.tcflow(self.kept, action)

    def _drain(self):
        try:
            while os.read(self.master, 65536):
                pass
        except OSError:     # nobody has the other end any more
            pass

    def end(self, key=None):
        """By a key (b"": by itself), else by a signal. The exit status and stderr."""
        threading.Thread(target=self._drain, daemon=True).start()
        if key is not None:
            os.write(self.master, key)
        else:
            self.child.send_signal(signal.SIGTERM)
        err = self.child.communicate(timeout=TIMEOUT_S)[1]
        self.modes_after = termios.tcgetattr(self.kept)
        os.close(self.kept)
        return self.child.returncode, err
