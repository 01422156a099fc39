"""What several tests of the engine ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gradcli.engine.backends.tiers import AT_ONCE, only


@pytest.fixture
def at_once() -> Iterator[None]:
    """All that can be hot is hot at once."""
    with only(heat=AT_ONCE):
        yield
