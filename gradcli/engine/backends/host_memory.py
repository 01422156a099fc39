"""The memory that the process may still take."""

from __future__ import annotations

import os
import resource

# The limits of a process, and the line of its status that says how much of each is taken.
_LIMITS = {resource.RLIMIT_AS: "VmSize", resource.RLIMIT_DATA: "VmData"}

UNKNOWN = 2**40  # what counts as available where the system doesn't say


def free_host_memory() -> int:
    """Returns the bytes that the process may still take: what the machine has available, or less by
    a limit.
    """
    available = sizes_in("/proc/meminfo").get("MemAvailable") or _unused() or UNKNOWN
    taken = sizes_in("/proc/self/status")
    for kind, line in _LIMITS.items():
        soft, _ = resource.getrlimit(kind)
        if soft != resource.RLIM_INFINITY:
            available = min(available, max(0, soft - taken.get(line, 0)))
    return available


def _unused() -> int:
    """The bytes that nothing uses, not even files; 0 where the system doesn't say."""
    if "SC_AVPHYS_PAGES" not in os.sysconf_names:
        return 0
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")


def sizes_in(path: str) -> dict[str, int]:
    """The lines `name: number kB` of a file of Linux, in bytes; none on other systems."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            parts = [line.split() for line in file]
    except OSError:
        return {}
    return {p[0].rstrip(":"): int(p[1]) * 1024 for p in parts if p[2:] == ["kB"]}
