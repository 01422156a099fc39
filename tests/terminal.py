"""A command in a pseudo-terminal: what is typed, and what stands on the screen."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATIENCE = 120  # seconds, within which anything has to happen


class Typed:
    """A command whose three streams are a terminal."""

    def __init__(self, folder: Path, *command: str, **variables: str) -> None:
        import pyte

        self._screen: Any = pyte.HistoryScreen(100, 40, history=1000)
        self._stream = pyte.ByteStream(self._screen)
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", **variables}
        self.process = subprocess.Popen(
            [sys.executable, *command],
            cwd=folder,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self._screen.display if line.strip()]

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def until(self, holds: Callable[[list[str]], bool]) -> list[str]:
        """The lines of the screen as soon as the condition holds."""
        end = time.monotonic() + PATIENCE
        while not holds(self.lines):
            assert time.monotonic() < end, self.lines
            if select.select([self._ours], [], [], 0.05)[0]:
                try:
                    data = os.read(self._ours, 1 << 16)
                except OSError:  # what Linux says where nobody holds the other end any more
                    raise AssertionError(f"it ended: {self.lines}") from None
                self._stream.feed(data)
                if b"\x1b[6n" in data:  # it asks where the cursor is
                    self.type(f"\x1b[{self._screen.cursor.y + 1};{self._screen.cursor.x + 1}R")
        return self.lines

    def end(self) -> int:
        """The exit code, when it has ended."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < end, self.lines
            if select.select([self._ours], [], [], 0.05)[0]:
                try:
                    self._stream.feed(os.read(self._ours, 1 << 16))
                except OSError:
                    break
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)
