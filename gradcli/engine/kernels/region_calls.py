"""Regions on numbers of the language, at any depth of nested derivatives: plain, traced, or with
tangents.

A region is one operation. It has one record, whose pullback is a region, too, and is recorded where
it is to be differentiated again. The pullback computes the region again from its parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

from ..backends.backend import CPU, Backend
from ..backends.tiers import NO_LIMIT, policy
from ..codegen.kernel import device_kernel, is_large
from ..codegen.plain_first import PlainFirst
from ..codegen.step_back import StepBack
from ..ir.instructions import Region, size_of
from ..ir.types import F64, ArrayType, Type, dtype_of, has_tangents
from ..passes.arrays.fusion import has_each
from ..passes.calls import Regions
from ..passes.derivatives.activity import leading, varied
from ..passes.derivatives.checkpoints import in_blocks
from ..passes.derivatives.jvp import jvp
from ..passes.derivatives.vjp import pullback_of
from ..passes.pipeline import compiled_form, simplified
from ..passes.rules import NoRule
from ..trace.pullbacks import Linearized, Passed, ReverseSweep
from ..trace.recording import record_parts
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import UNBOXED, Dual, level_of, lowered
from .region_op import REGION

Method = TypeVar("Method", bound=Callable[..., Any])
Places = tuple[int, ...]
ALL_PASSES = 8  # about how many times as long all passes of LLVM take, which an `each` needs


def made_once(method: Method) -> Method:
    """A method of `RegionCall` that computes what it gives for the same arguments once."""

    @wraps(method)
    def remembered(self: RegionCall, *arguments: Any) -> Any:
        key = method, arguments
        if key not in self._made:
            self._made[key] = method(self, *arguments)
        return self._made[key]

    return cast(Method, remembered)


class RegionCall:
    """A region that is called with numbers of the language, and its derivatives, which are made
    once. It may call others of `regions`. The results at the positions `untraced` are never
    recorded.

    op          the operation of its records
    is_derived  whether it is a derivative of another one
    """

    op = REGION

    def __init__(
        self,
        region: Region,
        regions: Regions | None = None,
        untraced: Set[int] = frozenset(),
        in_blocks: Callable[[], RegionCall] | None = None,
        stack_bytes: int | None = None,
        is_derived: bool = False,
    ) -> None:
        """`in_blocks` returns the same call with loops in blocks, if that isn't made of the region
        itself. `stack_bytes` limits a stack of the kernel, in place of the policy. `is_derived`:
        whether this is a derivative of a call that has been made."""
        self.is_derived = is_derived
        self.regions, self._untraced = regions or Regions(), untraced
        self._given = region
        self._in_blocks, self._stack_bytes = in_blocks, stack_bytes
        self._made: dict[tuple[Any, ...], Any] = {}  # by methods, and their arguments
        self._asked: dict[Places, Places] = {}  # the results that are differentiated first

    @cached_property
    def _simplified(self) -> list[Region]:
        """The region and those that it calls, with less to compute."""
        called = self.regions.called_by(self._given)
        return [simplified(each) for each in (self._given, *called)]

    @property
    def region(self) -> Region:
        return self._simplified[0]

    @property
    def called(self) -> list[Region]:
        """The regions that it calls."""
        return self._simplified[1:]

    @cached_property
    def expanded(self) -> list[Region]:
        """The region and those that it calls, as they are compiled."""
        return compiled_form(*self._simplified)

    @cached_property
    def _kernel(self) -> PlainFirst:
        return PlainFirst(*self.expanded, stack_bytes=self._stack_bytes)

    def apply(self, run: Run, site: Site, values: list[Any], calls: int = 1) -> list[Any]:
        """The results for these parameters. About as many `calls` like this one will be made, with
        it.

        Raises StepBack; NoRule where a derivative isn't compiled.
        """
        level = max(map(level_of, values), default=UNBOXED)
        if level == UNBOXED:
            return self.run_on(run.backend, values, calls)
        boxed = {k for k, value in enumerate(values) if level_of(value) == level}
        active = tuple([k for k in self._leading if k in boxed])
        moving = self.moving(active)
        below = [lowered(value, level) for value in values]
        if not moving:
            return self.apply(run, site, below, calls)
        if type(values[active[0]]) is Dual:
            tangents = [values[k].tangent for k in active]
            self._verify(self.forward(active), run.backend)
            found, moved = self.pushed(run, site, [*below, *tangents], calls, active)
            for k, tangent in moved.items():
                found[k] = Dual(found[k], tangent, level)
            return found
        if run.captures is not None and any(map(run.captures, [values[k] for k in active])):
            raise StepBack  # the interpreter tells where, if the result depends on it
        # Raises now if the pullback isn't compiled.
        self._verify(self.backward(active, moving), run.backend)
        found = self.apply(run, site, below, calls)
        trace = values[active[0]][2].trace
        pullback = LinearizedRegion(self, moving, below, calls)
        outputs = [found[k] for k in moving]
        recorded = record_parts(
            trace, site.in_derivative(self.op), values, below, pullback, outputs, active
        )
        for k, value in zip(moving, recorded, strict=True):
            found[k] = value
        return found

    def run(self, numbers: list[Any], calls: int = 1) -> list[Any]:
        """The results for plain numbers. Raises StepBack."""
        return list(self._kernel.run(numbers, calls))

    def run_on(self, backend: Backend, numbers: list[Any], calls: int) -> list[Any]:
        """The same on a backend, from its arrays to its arrays. Where no array is large, the CPU
        computes them. Raises StepBack."""
        if backend is CPU:
            return self.run(numbers, calls)
        array = CPU.xp.ndarray
        if self.is_large and (kernel := self._on_device(backend)) is not None:
            given = [backend.to_device(v) if type(v) is array else v for v in numbers]
            try:
                return list(kernel(*given))
            except MemoryError:
                raise StepBack from None
        if self.is_large and not self.is_derived:
            raise StepBack  # the interpreter computes there
        found = self.run(backend.all_to_host(numbers), calls)
        return [backend.to_device(v) if type(v) is array else v for v in found]

    @cached_property
    def is_large(self) -> bool:
        """Whether a GPU computes it, if its arrays are there."""
        return is_large(*self.expanded)

    @made_once
    def _on_device(self, backend: Backend) -> Callable[..., tuple[Any, ...]] | None:
        """The kernel on a device, if there is one."""
        return device_kernel(backend, *self.expanded, stack_bytes=self._stack_bytes)

    def _verify(self, derivative: RegionCall, backend: Backend) -> None:
        """Raises StepBack where a derivative has no kernel on the device, so that the interpreter
        computes both there."""
        if backend is CPU or self.is_derived or not derivative.is_large:
            return
        if derivative._on_device(backend) is None:
            raise StepBack

    def pushed(
        self, run: Run, site: Site, values: list[Any], calls: int, active: Places
    ) -> tuple[list[Any], dict[int, Any]]:
        """The results, and the tangents by the positions of their results. `values` are the
        parameters, and the tangents of the active ones. Raises StepBack, and NoRule."""
        results = self.region.block.results
        found = self.forward(active).apply(run, site, values, calls)
        floats = [k for k, value in enumerate(results) if has_tangents(value.type)]
        given, rest = found[: len(results)], found[len(results) :]
        triples = zip(floats, rest[::2], rest[1::2], strict=True)
        return given, {k: tangent for k, tangent, connected in triples if connected}

    def reads(self, result: int, operand: int, values: list[Any]) -> tuple[Any, Any] | None:
        """Which elements of a result depend on which of an operand; see `Linearized.reads`."""
        return None

    @made_once
    def moving(self, active: Places) -> Places:
        """The positions of the results that depend on the active parameters."""
        block = self.region.block
        depends = varied(block, [block.parameters[k] for k in active])
        return tuple([k for k in self._traced if block.results[k] in depends])

    @cached_property
    def _traced(self) -> Places:
        """The positions of the results that may be recorded."""
        return tuple([k for k in range(len(self.region.block.results)) if k not in self._untraced])

    @cached_property
    def _leading(self) -> Places:
        """The positions of the parameters that some traced result depends on. Others decide paths
        at most."""
        block = self.region.block
        leads = leading(block, [block.results[k] for k in self._traced])
        return tuple([k for k, value in enumerate(block.parameters) if value in leads])

    @made_once
    def forward(self, active: Places) -> RegionCall:
        """The region of the results and their tangents."""
        forward = jvp(self.region, active, self.regions)
        return self._derivative(forward, lambda: self.in_blocks.forward(active))

    @made_once
    def backward(self, active: Places, of: Places, unsure: bool = False) -> RegionCall:
        """The region of the active parameters' cotangents, from those of some results. `unsure`:
        whether it takes a bool for each of these, too, which says whether it has a cotangent."""
        flags = range(len(of)) if unsure else ()
        back = pullback_of(self.region, active, of, self.regions, flags)
        return self._derivative(back, lambda: self.in_blocks.backward(active, of, unsure))

    def pullback(
        self, active: Places, moving: Places, given: dict[int, Any], is_final: bool
    ) -> tuple[RegionCall, list[Any]]:
        """The region of the active parameters' cotangents, and what it takes besides the
        parameters. `given` are the cotangents of some of the `moving` results. Where these are now
        some and now others, such as for the gradient of one output of a program and then another,
        one region takes them all, if its cotangents are final: a derivative of it would take too
        long to compile."""
        of = tuple(given)
        if not is_final or of in (moving, self._asked.setdefault(active, of)):
            return self.backward(active, of), list(given.values())
        results = self.region.block.results
        all_given = [given[k] if k in given else _zero(results[k].type) for k in moving]
        return self.backward(active, moving, True), [*all_given, *[k in given for k in moving]]

    def _derivative(self, region: Region, in_blocks: Callable[[], RegionCall]) -> RegionCall:
        return RegionCall(
            region,
            self.regions,
            in_blocks=in_blocks,
            stack_bytes=self._stack_bytes,
            is_derived=True,
        )

    @cached_property
    def in_blocks(self) -> RegionCall:
        """The same call with loops in blocks, so that little is on the stacks of its pullback.
        These may take any number of bytes."""
        if self._in_blocks is not None:
            return self._in_blocks()
        region = in_blocks(self.region, self.regions)
        return RegionCall(
            region, self.regions, self._untraced, stack_bytes=NO_LIMIT, is_derived=True
        )


def cost_of(region: Region, regions: Regions) -> int:
    """The work of the interpreter that pays for compiling a region and those that it calls."""
    whole = [region, *regions.called_by(region)]
    size = sum([size_of(each.block) for each in whole])
    return policy().heat.work_each * size * (ALL_PASSES if has_each(*whole) else 1)


def _zero(kind: Type) -> Any:
    """The cotangent of a result that has none."""
    if kind == F64:
        return 0.0
    zeros = CPU.xp.zeros(kind.shape if isinstance(kind, ArrayType) else (), dtype_of(kind))
    return zeros if isinstance(kind, ArrayType) else zeros[()]


class LinearizedRegion(Linearized):
    """The options of a region's record: the call, its parameters, and about how many calls like it
    there are."""

    __slots__ = ("_call", "_calls", "_moving", "_values")

    def __init__(self, call: RegionCall, moving: Places, values: list[Any], calls: int) -> None:
        self._call, self._moving, self._values, self._calls = call, moving, values, calls

    def pull(self, sweep: ReverseSweep, record: Passed) -> None:
        """Pulls the cotangents of the moving results back to the record's inputs."""
        values, site = list(self._values), record.site
        if sweep.recorded:
            for k, n in zip(site.operands, record.inputs, strict=True):
                values[k] = (values[k], n, sweep.segment.holder(n))
        given = {k: c for k, c in zip(self._moving, record.g, strict=True) if c is not None}
        is_final = not sweep.recorded and not self._call.is_derived
        call, cotangents = self._call.pullback(site.operands, self._moving, given, is_final)
        values += cotangents
        try:
            found = call.apply(sweep.run, site, values, self._calls)
        except (StepBack, MemoryError):  # for want of memory: the region itself did not
            found = self.pulled_in_blocks(sweep.run, site, values, call)
        for n, c, connected in zip(record.inputs, found[::2], found[1::2], strict=True):
            if connected and (sweep.marked is None or n in sweep.marked):
                sweep.add(n, c)

    @property
    def code(self) -> RegionCall:
        return self._call

    def reads(self, result: int, operand: int) -> tuple[Any, Any] | None:
        return self._call.reads(self._moving[result], operand, self._values)

    def pushes(self, operands: Places) -> bool:
        try:
            self._call.forward(operands)
        except NoRule:
            return False
        return True

    def push(self, run: Run, site: Site, along: list[Any]) -> list[Any]:
        """The tangents of the moving results."""
        moved = [(k, t) for k, t in zip(site.operands, along, strict=True) if t is not None]
        active = tuple([k for k, _ in moved])
        values = [*self._values, *[t for _, t in moved]]
        try:
            _, tangents = self._call.pushed(run, site, values, self._calls, active)
        except StepBack:  # for want of memory: the region itself did not
            raise MemoryError from None
        return [tangents.get(k) for k in self._moving]

    def pulled_in_blocks(
        self, run: Run, site: Site, values: list[Any], call: RegionCall
    ) -> list[Any]:
        """The cotangents, computed with loops in blocks."""
        try:
            return call.in_blocks.apply(run, site, values, self._calls)
        except StepBack:
            raise MemoryError from None
