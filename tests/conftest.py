"""Programs under tests/ are material for tests, and no tests themselves."""

collect_ignore_glob = ["*.tg"]
