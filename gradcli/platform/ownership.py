"""Whose process this is: what gradcli may change of it, for good or for a while."""

from __future__ import annotations

import os

VARIABLE = "GRADCLI_PLATFORM"  # 0: nothing is changed
owned = False  # whether it is gradcli's own
allowed = os.environ.get(VARIABLE) != "0"  # as the environment was when gradcli was imported


def take_over() -> None:
    """Says that this process is gradcli's own, and those that are forked from it."""
    global owned
    owned = True


def may_change() -> bool:
    """Whether gradcli may change something of this process, to put it back later."""
    return allowed


def may_arrange() -> bool:
    """Whether gradcli may change something of this process for good."""
    return owned and may_change()
