"""Regions as functions: the choice of the back end, by the work that pays for it. Products are
plain until one of them is nan, and strict from then on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from threading import Lock
from typing import Any, NamedTuple, Protocol

from ...diagnostics import Span
from ..backends.backend import CPU, Backend
from ..backends.tiers import policy
from ..ir.instructions import Each, Region, Structural, every, size_of
from ..ir.types import ArrayType
from ..passes.arrays.fusion import has_each
from ..passes.plain_products import has_strict_products, with_plain_products
from .llvm.assembly import can_compile, is_loaded
from .python import regions as python
from .step_back import OutOfWork, StepBack

MOST_ON_ROWS = 4_000  # instructions of a kernel on rows: LLVM compiles them in about a second


class OnRows(Protocol):
    """A region as a function of columns."""

    def run(
        self,
        n: int,
        values: Sequence[Any],
        memory: int | None = None,
        into: Sequence[Any] | None = None,
    ) -> tuple[list[Any], Any]:
        """The results for `n` rows, and for each row whether the region steps back. Results may be
        stored in their places of `into`."""


class Kernel:
    """A region as a function of its parameters that returns its results.

    At first it is Python text. It becomes machine code after as much work as compiling costs, or in
    a call that does as much, which then begins again. With an `each` it is machine code from the
    first call on. It raises StepBack. `others` are the regions that it calls; `stack_bytes` limits
    a stack, in place of the policy.
    """

    def __init__(self, region: Region, *others: Region, stack_bytes: int | None = None) -> None:
        self._stack_bytes = policy().stack_bytes if stack_bytes is None else stack_bytes
        self._regions: tuple[Region, Sequence[Region]] | None = (region, others)
        self._size = sum([size_of(each.block) for each in (region, *others)])
        self._has_each = has_each(region, *others)
        self._left: int | None = None  # what `_work_left` returns, once that is known
        self._text: Callable[..., tuple[Any, ...]] | None = None
        self._code: Callable[..., tuple[Any, ...]] | None = None

    def run(self, parameters: Sequence[Any], calls: int = 1) -> Sequence[Any]:
        """Calls the kernel. About as many `calls` like this one will be made, with it. Raises
        StepBack."""
        regions = self._regions  # other threads may run the same kernel
        if regions is not None:
            if not policy().compiles:
                self._code = python.compiled(*regions, stack_bytes=self._stack_bytes)
                self._regions = None
            elif (left := self._work_left()) > 0:
                self._text = self._text or python.compiled(*regions, limited=True)
                given = left // calls
                try:
                    rest, *results = self._text(given, *parameters)
                    self._left = left - given + rest
                    return results
                except OutOfWork:
                    self._left = 0
            if self._code is None:
                self._code = _machine_code(*regions, self._size, self._stack_bytes)
                self._regions = None
        assert self._code is not None
        return self._code(*parameters)

    def _work_left(self) -> int:
        """The instructions that Python text still runs before there is machine code."""
        if self._left is None:
            heat = policy().heat
            loading = 0 if is_loaded() else heat.instructions_first
            self._left = max(loading, heat.instructions, heat.instructions_each * self._size)
            if self._has_each:
                self._left = 0  # as text, it would be no quicker than the interpreter
        return self._left


def _machine_code(
    region: Region, others: Sequence[Region], size: int, stack_bytes: int
) -> Callable[..., tuple[Any, ...]]:
    """The region as machine code; as Python text if there is none."""
    if not can_compile(size):
        return python.compiled(region, others, stack_bytes=stack_bytes)
    from .llvm import functions as llvm
    from .scalars import NotNative

    try:
        return llvm.compiled(region, others, stack_bytes)
    except NotNative:
        return python.compiled(region, others, stack_bytes=stack_bytes)


def is_large(*regions: Region) -> bool:
    """Whether regions have such large arrays that a GPU computes them, if the arrays are there."""
    least = policy().heat.on_device
    for region in regions:
        made = list(every(region.block))
        values = [*region.block.parameters, *[value for each in made for value in each.results]]
        sizes = [value.type.size for value in values if isinstance(value.type, ArrayType)]
        sizes += [each.size for each in made if isinstance(each, Each)]
        if max(sizes, default=0) >= least:
            return True
    return False


def device_kernel(
    backend: Backend, *regions: Region, stack_bytes: int | None = None
) -> Callable[..., tuple[Any, ...]] | None:
    """The first of these regions, which may call the others, as a function of its parameters, with
    arrays on the device of a backend. It raises StepBack. None where there is no such kernel."""
    if not policy().compiles:
        return None
    from .python.device import compiled_on
    from .scalars import NotNative

    stack_bytes = policy().stack_bytes if stack_bytes is None else stack_bytes
    try:
        return compiled_on(backend, regions[0], regions[1:], stack_bytes)
    except NotNative:
        return None


class Refusal(NamedTuple):
    """Why something isn't compiled, and the place in the program, if it is one place."""

    reason: str
    span: Span | None = None


def refused_on_rows(*regions: Region) -> Refusal | None:
    """Why LLVM compiles no kernel on rows of a region and those that it calls; None where it does.
    An op that would call NumPy for each row is left to the interpreter, which calls it for many
    rows at once."""
    for made in (made for each in regions for made in every(each.block)):
        if isinstance(made, Structural):
            return Refusal(f"`{made.op.name}` is not compiled on rows", made.span)
    size = sum([size_of(each.block) for each in regions])
    if size > MOST_ON_ROWS:
        return Refusal("these are too many instructions for a kernel on rows")
    has_code = policy().compiles and can_compile(size)
    return None if has_code else Refusal("there is no machine code")


def rows_kernel(
    region: Region,
    others: Sequence[Region],
    by_row: Sequence[bool],
    rows_first: Collection[int] | None,
    summed: Collection[int],
    backend: Backend,
) -> OnRows | Refusal:
    """A region as a function of columns on the device of a backend. On the CPU it also takes arrays
    with `rows_first`, and has results that are `summed`: see `RowsKernel`. The regions aren't
    refused by `refused_on_rows`; where they have no machine code all the same, this says why."""
    from .scalars import NotNative

    try:
        if backend.name != CPU.name:
            from .cuda.row_kernels import DeviceRowsKernel

            return DeviceRowsKernel(region, others, by_row, backend)
        from .llvm_rows.kernels import RowsKernel

        return RowsKernel(region, others, by_row, rows_first, summed)
    except NotNative as why:
        return Refusal(why.reason, why.span)


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
