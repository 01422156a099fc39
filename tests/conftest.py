"""What holds for all tests."""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

os.environ.pop("CI", None)  # checks are strict there; tests say themselves whether they are
os.environ["GRADCLI_CACHE_DIR"] = "none"  # no test depends on what an earlier one has compiled

# Tests make hardly any cycles, so the garbage collector needn't search often. Those that are about
# it call it.
gc.set_threshold(20_000)

collect_ignore_glob = [
    "*.tg"
]  # programs under tests/ are material for tests, and no tests themselves

settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)  # no test depends on timing
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--tier",
        choices=["0", "1", "2"],
        help="how far programs are compiled: GRADCLI_TIER (docs/python.md)",
    )


def pytest_configure(config: pytest.Config) -> None:
    if tier := config.getoption("--tier"):
        os.environ["GRADCLI_TIER"] = (
            tier  # also of the processes that tests start, and of pytest-xdist's
        )


def pytest_collection_finish() -> None:
    """Tens of thousands of tests stay: the garbage collector never looks at them again."""
    gc.freeze()
