"""What several tests of the engine ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gradcli.engine.backends.tiers import FIRST_USE, only


@pytest.fixture
def hot_at_first_use() -> Iterator[None]:
    """Code is hot when it is first used."""
    with only(heat=FIRST_USE):
        yield
