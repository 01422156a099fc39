"""Changes to the table: functions of other packages join it, and rules may be replaced temporarily.

Packages name a function of theirs in the entry-point group `gradcli.ops`; it is called once, when a
program calls what the table doesn't have, and registers what the package adds.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from . import BUILTINS, OPS
from .op import Op

GROUP = "gradcli.ops"
REGISTERED: set[str] = set()  # the names that aren't the table's own
RULES = frozenset(
    (
        "partials",
        "vjp",
        "jvp",
        "accumulate",
        "linear",
        "multilinear",
        "saves",
        "differentiable",
        "real_only",
    )
)

_forget: list[Callable[[], None]] = []
_changes = 0
_loading = _thread.RLock()
_failures: list[str] | None = None  # what went wrong; None while no package was asked


# ---- entries of others ---------------------------------------------------------------------------


def add(op: Op) -> None:
    """Puts an entry into the table, in the place of a registered one of that name. Raises
    ValueError for the name of a builtin."""
    if op.name in OPS and op.name not in REGISTERED:
        raise ValueError(f"`{op.name}` is a builtin")
    OPS[op.name] = BUILTINS[op.name] = op
    REGISTERED.add(op.name)
    _changed()  # formulas may call it by name


def remove(name: str) -> None:
    """Takes a registered entry out again. Raises ValueError for a builtin, and for what isn't
    there."""
    if name not in REGISTERED:
        raise ValueError(
            f"`{name}` is a builtin" if name in OPS else f"no function `{name}` is registered"
        )
    del OPS[name], BUILTINS[name]
    REGISTERED.discard(name)
    _changed()


def find(name: str) -> Op | None:
    """The entry that programs call by this name; other packages are asked for what the table
    doesn't have."""
    if name not in BUILTINS:
        load_packages()
    return BUILTINS.get(name)


def load_packages() -> None:
    """Lets the installed packages register what they have, once in a process."""
    global _failures
    # another thread waits until all have been asked; what a package itself asks for meanwhile isn't
    # there
    with _loading:
        if _failures is not None:
            return
        from importlib.metadata import entry_points

        _failures = []
        for entry in entry_points(group=GROUP):
            try:
                entry.load()()
            except Exception as error:  # of whatever kind: the code is another package's
                package = entry.dist.name if entry.dist is not None else entry.value
                _failures.append(
                    f"the package `{package}` can't add its functions: {type(error).__name__}: "
                    f"{error}"
                )


def failures() -> list[str]:
    """The messages of packages that failed to register their functions."""
    return _failures or []


# ---- other rules for a while ---------------------------------------------------------------------


@contextmanager
def replaced(name: str, **rules: Any) -> Iterator[Op]:
    """Gives an entry other rules until the block ends: to see that something notices a wrong one.

        with replaced("tanh", partials=(lambda m, y, x: 1 - y,)):
            ...

    The entry stays the same object, so that they hold in every mode, for programs that are loaded
    already too. Only rules can be replaced (see `Op`), not what an entry computes. Not for several
    threads at once.
    """
    op = OPS[name]
    if unknown := sorted(rules.keys() - RULES):
        raise TypeError(
            f"{unknown[0]!r} is no rule of an entry: these are {', '.join(sorted(RULES))}"
        )
    before = {rule: getattr(op, rule) for rule in rules}
    _set(op, rules)
    try:
        yield op
    finally:
        _set(op, before)


def _set(op: Op, rules: dict[str, Any]) -> None:
    for rule, value in rules.items():
        object.__setattr__(op, rule, value)
    vars(op).pop("reverse_only", None)  # which follows from them
    _changed()


# ---- what is kept of entries ---------------------------------------------------------------------


def on_change(forget: Callable[[], None]) -> None:
    """Calls `forget` whenever an entry changes, so that caches of what was made from entries can be
    emptied."""
    _forget.append(forget)


def changes() -> int:
    """Counts the changes of the table: what was compiled before a change has to be compiled
    again."""
    return _changes


def _changed() -> None:
    global _changes
    _changes += 1
    for forget in _forget:
        forget()
