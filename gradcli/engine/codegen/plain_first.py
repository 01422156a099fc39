"""Kernels whose products are plain until one of them is nan, and strict from then on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from ..ir.instructions import Region
from ..passes.plain_products import has_strict_products, with_plain_products
from .kernel import Kernel, OnRows
from .step_back import StepBack


class PlainFirst:
    """The kernel of a region, the first of these, which may call the others. It raises StepBack.
    `stack_bytes` limits a stack, in place of the policy."""

    def __init__(self, *regions: Region, stack_bytes: int | None = None) -> None:
        plain, strict = _forms(regions)
        self._kernel = Kernel(*plain, stack_bytes=stack_bytes)
        self._strict = None if strict is None else Kernel(*strict, stack_bytes=stack_bytes)

    def run(self, parameters: Sequence[Any], calls: int = 1) -> Sequence[Any]:
        """Calls the kernel: see `Kernel.run`."""
        strict = self._strict  # other threads may run the same kernel
        try:
            return self._kernel.run(parameters, calls)
        except StepBack:
            if strict is None:
                raise
        found = strict.run(parameters, calls)
        self._kernel, self._strict = strict, None
        return found


class RowsPlainFirst:
    """The kernel on rows of a region. `make` makes the kernel of a region and those that it calls,
    if there is one."""

    def __init__(self, make: Callable[[Sequence[Region]], OnRows | None], *regions: Region) -> None:
        plain, self._strict = _forms(regions)
        self._make, self._kernel, self._lock = make, make(plain), Lock()

    @property
    def is_there(self) -> bool:
        """Whether there is a kernel."""
        return self._kernel is not None

    def run(
        self,
        n: int,
        values: Sequence[Any],
        memory: int | None = None,
        into: Sequence[Any] | None = None,
    ) -> tuple[list[Any], Any]:
        """Calls the kernel: see `OnRows.run`."""
        strict, kernel = self._strict, self._kernel  # other threads may run the same kernel
        assert kernel is not None
        found, stepped_back = kernel.run(n, values, memory, into)
        if strict is None or not stepped_back.any():
            return found, stepped_back
        with self._lock:  # one thread makes the other kernel
            if self._strict is not None:
                self._kernel, self._strict = self._make(strict), None
        assert self._kernel is not None
        return self._kernel.run(n, values, memory, into)


def _forms(regions: Sequence[Region]) -> tuple[Sequence[Region], Sequence[Region] | None]:
    """The form of regions to begin with, and the one with strict products, if that is another."""
    if not any(map(has_strict_products, regions)):
        return regions, None
    return list(map(with_plain_products, regions)), regions
