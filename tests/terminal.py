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

PATIENCE = 60  # seconds, within which anything has to happen
STREAMS = ("stdin", "stdout", "stderr")


class Terminal:
    """Python with some of its streams at a terminal, and what stands there. Of the others, input is
    empty and output is thrown away."""

    def __init__(
        self,
        folder: Path,
        *command: str,
        streams: tuple[str, ...] = STREAMS,
        width: int = 100,
        height: int = 40,
        **variables: str,
    ) -> None:
        import pyte

        self._screen: Any = pyte.Screen(width, height)
        self._stream = pyte.ByteStream(self._screen)
        self._ours, theirs = pty.openpty()
        self._is_open = True
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        told = {
            name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")
        }
        given: dict[str, Any] = {
            name: theirs if name in streams else subprocess.DEVNULL for name in STREAMS
        }
        # The terminal that a shell gives a command is its own: Ctrl-C reaches it.
        take = (lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if "stdin" in streams else None
        self.process = subprocess.Popen(
            [sys.executable, *command],
            cwd=folder,
            env={**told, "TERM": "xterm-256color", **variables},
            start_new_session=take is not None,
            preexec_fn=take,
            **given,
        )
        os.close(theirs)
        self.raw = b""

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self._screen.display if line.strip()]

    @property
    def has_cursor(self) -> bool:
        return not self._screen.cursor.hidden

    @property
    def makes_signals(self) -> bool:
        """Whether Ctrl-C is a signal now, and not a key that the command reads."""
        return bool(termios.tcgetattr(self._ours)[3] & termios.ISIG)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def until(self, holds: Callable[[list[str]], bool]) -> None:
        """Waits until the condition holds of the lines."""
        self.read(lambda: holds(self.lines))
        assert holds(self.lines), self.lines

    def read(self, until: Callable[[], bool] = lambda: False) -> None:
        """Draws what comes until the condition holds, or the command ends."""
        end = time.monotonic() + PATIENCE
        while not until():
            assert time.monotonic() < end, self.lines
            if select.select([self._ours], [], [], 0.05)[0]:
                try:
                    data = os.read(self._ours, 1 << 16)
                except OSError:  # what Linux says where nobody holds the other end any more
                    data = b""
                if not data:
                    break
                self._draw(data)

    def _draw(self, data: bytes) -> None:
        self.raw += data
        self._stream.feed(data)
        if b"\x1b[6n" in data:  # the command asks where the cursor is
            self.type(f"\x1b[{self._screen.cursor.y + 1};{self._screen.cursor.x + 1}R")

    def end(self) -> int:
        """The exit code, once it has ended."""
        self.read()
        self.process.wait(PATIENCE)
        self.close()
        return self.process.returncode

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        if self._is_open:
            self._is_open = False
            os.close(self._ours)
