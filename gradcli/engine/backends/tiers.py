"""In which ways programs may run here, and after how much work code is written for what does it.

The environment variable `GRADCLI_TIER` says how far to go: 0 is the interpreter alone, closures and the tape; 1 also writes
Python and NumPy text for hot code; 2, the default, also compiles native code. What a program means doesn't depend on it, so
that one way can be compared with another. It is read once; `policy` answers whoever writes code, and `only` is for tests.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ...diagnostics import Diagnostic, GradcliError

VARIABLE = "GRADCLI_TIER"
INTERPRETED, WRITTEN, NATIVE = 0, 1, 2


class Heat(NamedTuple):
    """The work after which code is hot: writing the faster way takes about as long.

    evaluations  of an expression or a call on scalars
    turns        of a loop, one by one; `least_turns` each time that it runs, as a shorter one takes longer to begin than to end
    elements     computed by an expression on arrays or rows; of rows those of operands with `least_elements`
    operations   on elements, by NumPy, before native code does them
    """

    evaluations: int = 40
    turns: int = 2000
    least_turns: int = 16
    elements: int = 2**16
    least_elements: int = 2**10
    operations: int = 2**24


HEAT = Heat()
AT_ONCE = Heat(evaluations=1, turns=1, least_turns=1, elements=1, least_elements=1, operations=0)


class Policy(NamedTuple):
    """What the tier allows, and when."""

    tier: int = NATIVE
    heat: Heat = HEAT

    @property
    def writes(self) -> bool:
        """Whether anything takes a faster way than the interpreter's."""
        return self.tier >= WRITTEN

    @property
    def compiles(self) -> bool:
        """Whether native code is made."""
        return self.tier >= NATIVE


_chosen: Policy | None = None


def policy() -> Policy:
    """The policy of this process. Raises GradcliError (E001) for a variable that names no tier."""
    global _chosen
    if _chosen is None:
        _chosen = Policy(_from_environment())
    return _chosen


@contextmanager
def only(tier: int = NATIVE, heat: Heat = HEAT) -> Iterator[None]:
    """Programs that are compiled and run inside go as far as this tier, from this heat on, whatever the environment says."""
    global _chosen
    before, _chosen = _chosen, Policy(tier, heat)
    try:
        yield
    finally:
        _chosen = before


def _from_environment() -> int:
    text = os.environ.get(VARIABLE, "")
    if text not in ("", "0", "1", "2"):
        help = "0 is the interpreter alone, 1 also writes Python and NumPy code, 2 (the default) also native code"
        raise GradcliError(Diagnostic("E001", f"{VARIABLE}: there is no tier `{text}`", help=help))
    return int(text or NATIVE)
