"""The memory that a process may still take."""

from __future__ import annotations

import os
import resource

import pytest

from gradcli.engine.backends import host_memory
from gradcli.engine.backends.host_memory import UNKNOWN, free_host_memory

GIB = 2**30


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, int]]:
    """A Linux with 8 GiB available, whose process has taken 1 GiB and has no limits."""
    files = {
        "/proc/meminfo": {"MemAvailable": 8 * GIB},
        "/proc/self/status": {"VmSize": 2 * GIB, "VmData": GIB},
    }
    monkeypatch.setattr(host_memory, "sizes_in", lambda path: files.get(path, {}))
    limit(monkeypatch, {})
    return files


def limit(monkeypatch: pytest.MonkeyPatch, limits: dict[int, int]) -> None:
    unlimited = resource.RLIM_INFINITY
    monkeypatch.setattr(
        resource, "getrlimit", lambda kind: (limits.get(kind, unlimited), unlimited)
    )


def test_it_is_what_the_machine_has(system: dict[str, dict[str, int]]) -> None:
    assert free_host_memory() == 8 * GIB


@pytest.mark.parametrize(
    ("kind", "soft", "left"),
    [
        (resource.RLIMIT_DATA, 4 * GIB, 3 * GIB),
        (resource.RLIMIT_AS, 4 * GIB, 2 * GIB),
        (resource.RLIMIT_AS, GIB, 0),
        (resource.RLIMIT_DATA, 40 * GIB, 8 * GIB),
    ],
)
def test_it_is_what_a_limit_leaves(
    kind: int,
    soft: int,
    left: int,
    system: dict[str, dict[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limit(monkeypatch, {kind: soft})
    assert free_host_memory() == left


def test_other_systems_say_less(
    system: dict[str, dict[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    system.clear()
    monkeypatch.setattr(os, "sysconf_names", {"SC_PAGE_SIZE": 30})
    assert free_host_memory() == UNKNOWN
    limit(monkeypatch, {resource.RLIMIT_DATA: GIB})
    assert free_host_memory() == GIB
