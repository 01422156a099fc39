"""The memory that the process may still take."""

from __future__ import annotations

import os
import resource


def free_host_memory() -> int:
    """Returns the bytes that the process may still take: what the machine has available, or less by
    a limit.
    """
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    available = int(line.split()[1]) * 1024
    except OSError:
        available = available or 2**40  # not Linux: the result of sysconf is all there is
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        soft, _ = resource.getrlimit(kind)
        if soft != resource.RLIM_INFINITY:
            available = min(available, soft)
    return available
