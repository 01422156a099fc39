"""The memory that arrays take."""

from __future__ import annotations

from .ownership import may_arrange

_MMAP_THRESHOLD, _TRIM_THRESHOLD = (
    -3,
    -1,
)  # M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of glibc's malloc.h


def keep_freed_memory() -> None:
    """Asks the C library (glibc) to keep freed arrays for the next ones, where the process is
    gradcli's own: fresh memory costs more than what is done with it."""
    if not may_arrange():
        return
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return  # another C library, with other ways
    mallopt(_MMAP_THRESHOLD, 2**25)  # arrays up to 32 MB (the largest it takes) come from the heap
    mallopt(_TRIM_THRESHOLD, 2**30)  # up to 1 GB stays there
