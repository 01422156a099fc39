"""Standard streams that are closed when the process begins, as by `>&-` in a shell."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any


class _Closed(io.RawIOBase):
    """What can't be written to."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        raise OSError(errno.EBADF, "it is closed", "standard output")


def replace_closed_streams() -> None:
    """Puts something in the place of closed streams. Their numbers are taken, so that no file gets
    them; there is nothing to read, and whoever writes results is told that they are lost."""
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the smallest number that is free
    sys.stdin = sys.stdin or os.fdopen(0)
    # Text that can't be written is not kept, to be tried again when the process ends.
    sys.stdout = sys.stdout or io.TextIOWrapper(_Closed(), "utf-8", write_through=True)
    sys.stderr = sys.stderr or os.fdopen(2, "w")
