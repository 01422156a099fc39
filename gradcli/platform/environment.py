"""The environment: what gradcli puts there for its own process, and what programs of the user's get
instead."""

from __future__ import annotations

import os

before: dict[str, str | None] = {}  # by name, of what was put there


def put(name: str, value: str) -> None:
    """Puts a variable into the environment of this process, and of the Pythons that it starts."""
    before.setdefault(name, os.environ.get(name))
    os.environ[name] = value


def put_unless_given(name: str, value: str) -> None:
    """Puts a variable there where the user gives no other."""
    if name not in os.environ:
        put(name, value)


def users_environment() -> dict[str, str]:
    """The environment for a program of the user's, as gradcli found it."""
    others = {name: value for name, value in os.environ.items() if name not in before}
    return others | {name: value for name, value in before.items() if value is not None}
