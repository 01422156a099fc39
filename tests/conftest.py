"""What holds for all tests."""

from hypothesis import HealthCheck, settings

collect_ignore_glob = ["*.tg"]  # programs under tests/ are material for tests, and no tests themselves

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])  # no test depends on timing
settings.load_profile("untimed")
