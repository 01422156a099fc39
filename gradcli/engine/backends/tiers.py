"""The tiers in which programs may run, and the work after which code is compiled for the next tier.

The environment variable `GRADCLI_TIER` is the highest tier: 0 is the interpreter alone, closures
and the tape; 1 also compiles what is hot to Python text; 2, the default, also to native
code. The meaning of a program doesn't depend on it, so the tiers can be compared. The variable is
read once, by `policy`; `only` is for tests.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ...diagnostics import Diagnostic, GradcliError

VARIABLE = "GRADCLI_TIER"
INTERPRETED, WRITTEN, NATIVE = 0, 1, 2
# What work counts for in a function that is differentiated: it is recorded, and swept over.
DIFFERENTIATED = 4
# What each record counts for, as work: most are swept over, and take more time than operations.
RECORDED = 4
# What each record since the last request counts for where a gradient of a value is asked for.
SWEPT = 16
# Bytes that a stack of residuals may take in a kernel. Where loops would need more, they keep the
# values that blocks of iterations begin with, and compute the blocks again.
STACK_BYTES = 2**28
NO_LIMIT = 2**62  # of bytes, or of work
# So many sweeps of a Jacobian cost less than finding out what each element depends on. By so few
# elements, that isn't asked.
FEW_SWEEPS = 8
# A loop is hot after so many times the work of a call: calls around it are compiled first.
IN_LOOPS = 4


class Heat(NamedTuple):
    """The work after which code is hot: about as much as compiling it costs.

    iterations   of a loop; a run of fewer than `least_iterations` stays in the interpreter, as
                 starting the compiled loop would cost more
    work         operations that the calls of a function, or the runs of a program, have done, and
                 for each instruction of their region `work_each`, several times that for each
                 derivative around it; calls of fewer than `least_work` stay in the interpreter.
                 To enter a region counts as `least_work`, too: a larger one enters it less often
    loading      work of a run before it loads the compiler: importing that takes about as long
    elements     given to a `vmap`, before it is lowered
    operations   on these, before it is compiled
    instructions of a region that Python text runs, before machine code replaces it: for each that
                 the region has `instructions_each`, and where LLVM is yet to be loaded,
                 `instructions_first`, if that is more
    sweeps       microseconds that a run's sweeps for Jacobians take, about, before kernels compute
                 these in their place; for each instruction of its program and each kernel
                 `sweeps_each`, if that is more, and four times that for a kernel of a Hessian
    on_device    elements that an array of a region has, or points, for a GPU to compute it: of
                 fewer, starting an operation there takes longer than the CPU takes
    """

    iterations: int = 2000
    least_iterations: int = 16
    work: int = 2**13
    work_each: int = 2**7
    least_work: int = 2**6
    loading: int = 2**16
    elements: int = 2**16
    operations: int = 2**24
    instructions: int = 2**19
    instructions_each: int = 2**12
    instructions_first: int = 2**21
    sweeps: int = 2**18
    sweeps_each: int = 2**8
    on_device: int = 2**12


HEAT = Heat()
FIRST_USE = Heat(
    iterations=1,
    least_iterations=1,
    work=1,
    work_each=0,
    least_work=1,
    loading=0,
    elements=1,
    operations=0,
    instructions=0,
    instructions_each=0,
    instructions_first=0,
    sweeps_each=0,
    on_device=1,
)  # for tests: code is hot when it is first used


class Policy(NamedTuple):
    """The highest tier, the work after which it is used, and the bytes that a stack may take."""

    tier: int = NATIVE
    heat: Heat = HEAT
    stack_bytes: int = STACK_BYTES

    @property
    def writes(self) -> bool:
        """Whether code is compiled to Python text at least."""
        return self.tier >= WRITTEN

    @property
    def compiles(self) -> bool:
        """Whether native code is compiled."""
        return self.tier >= NATIVE


_policy: Policy | None = None


def policy() -> Policy:
    """Returns the policy of this process. Raises GradcliError (E001) if the variable names
    no tier.
    """
    global _policy
    if _policy is None:
        _policy = Policy(_from_environment())
    return _policy


@contextmanager
def only(tier: int = NATIVE, heat: Heat = HEAT, stack_bytes: int = STACK_BYTES) -> Iterator[None]:
    """Limits the programs that are compiled and run inside to this tier, heat and memory of a
    stack, whatever the environment says.
    """
    global _policy
    before, _policy = _policy, Policy(tier, heat, stack_bytes)
    try:
        yield
    finally:
        _policy = before


def _from_environment() -> int:
    text = os.environ.get(VARIABLE, "")
    if text not in ("", "0", "1", "2"):
        help = (
            "0 is the interpreter alone, 1 also writes Python and NumPy code, 2 (the default) "
            "also native code"
        )
        raise GradcliError(Diagnostic("E001", f"{VARIABLE}: there is no tier `{text}`", help=help))
    return int(text or NATIVE)
