"""What holds for tests of the table."""

from collections.abc import Iterator

import pytest

from gradcli.engine.backends.backend import ieee


@pytest.fixture(autouse=True)
def floating_point_errors_are_values() -> Iterator[None]:
    """As in every run of a program: here, functions of the table are called without one."""
    with ieee():
        yield
