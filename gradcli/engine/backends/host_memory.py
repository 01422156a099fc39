"""The memory that the process may still take."""

from __future__ import annotations

import os
import resource

# The limits of a process, and the line of its status that says how much of each is taken.
_LIMITS = {resource.RLIMIT_AS: "VmSize", resource.RLIMIT_DATA: "VmData"}


def free_host_memory() -> int:
    """Returns the bytes that the process may still take: what the machine has available, or less by
    a limit.
    """
    free = _kilobytes("/proc/meminfo").get("MemAvailable")
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    available = pages or 2**40 if free is None else free  # not Linux: sysconf is all there is
    taken = _kilobytes("/proc/self/status")
    for kind, line in _LIMITS.items():
        soft, _ = resource.getrlimit(kind)
        if soft != resource.RLIM_INFINITY:
            available = min(available, max(0, soft - taken.get(line, 0)))
    return available


def _kilobytes(path: str) -> dict[str, int]:
    """The lines `name: number kB` of a file of Linux, in bytes; none on other systems."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            parts = [line.split() for line in file]
    except OSError:
        return {}
    return {p[0].rstrip(":"): int(p[1]) * 1024 for p in parts if p[2:] == ["kB"]}
