"""What holds for all tests."""

import os

from hypothesis import HealthCheck, settings

os.environ.pop("CI", None)  # checks are strict there; tests say themselves whether they are

collect_ignore_glob = ["*.tg"]  # programs under tests/ are material for tests, and no tests themselves

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])  # no test depends on timing
settings.load_profile("untimed")
