"""Regions as functions, in the tier that their work pays for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backends.tiers import policy
from ..ir.instructions import Block, Region, blocks_of
from . import python
from .machine import can_compile


class Kernel:
    """A region as a function of its parameters that returns its results.

    It is Python text at first, and machine code after as much work as compiling that costs. It
    raises StepBack.
    """

    def __init__(self, region: Region) -> None:
        self._region: Region | None = region
        self._size = _size(region.block)
        self._left = policy().heat.instructions
        self._function: Callable[..., tuple[Any, ...]] | None = None

    def run(self, iterations: int, *parameters: Any) -> tuple[Any, ...]:
        """Calls the kernel for a run of about so many iterations. Raises StepBack."""
        region = self._region  # other threads may run the same kernel
        if region is not None:
            self._left -= iterations * self._size
            if self._left < 0 and policy().compiles:
                self._function, self._region = _machine_code(region, self._size), None
            elif self._function is None:
                self._function = python.compiled(region)
        assert self._function is not None
        return self._function(*parameters)


def _size(block: Block) -> int:
    """How many instructions a block has, also in the blocks inside it."""
    inner = [b for made in block.instructions for b in blocks_of(made)]
    return len(block.instructions) + sum(map(_size, inner))


def _machine_code(region: Region, size: int) -> Callable[..., tuple[Any, ...]]:
    """The region as machine code; as Python text where there is none."""
    if not can_compile(size):
        return python.compiled(region)
    from . import llvm

    try:
        return llvm.compiled(region)
    except llvm.NotNative:
        return python.compiled(region)
