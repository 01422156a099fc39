"""Regions on numbers of the language, at any depth of nested derivatives: plain, traced, or with
tangents.

A region is one operation. It has one record, whose pullback is a region, too, and is recorded where
it is to be differentiated again. The pullback computes the region again from its parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cached_property, wraps
from itertools import chain
from math import prod
from types import MappingProxyType
from typing import Any, TypeVar, cast

from ..backends.backend import CPU, Backend
from ..backends.tiers import DIFFERENTIATED, NO_LIMIT, policy
from ..codegen.kernel import PlainFirst, device_kernel, is_large
from ..codegen.step_back import StepBack
from ..ir.instructions import Region, size_of
from ..ir.types import ArrayType, has_tangents, is_list
from ..passes.arrays.fusion import has_each
from ..passes.calls import Regions
from ..passes.derivatives.activity import leading, varied
from ..passes.derivatives.checkpoints import in_blocks
from ..passes.derivatives.jvp import jvp
from ..passes.derivatives.vjp import pullback_of
from ..passes.pipeline import compiled_form, simplified
from ..trace.recording import record_parts
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import UNBOXED, Dual
from .linearized_regions import LinearizedRegion
from .region_op import REGION
from .traced_lists import (
    NumberPlaces,
    apart,
    derivatives_of,
    level_in,
    lowered_in,
    operands_of,
    picked,
    places_at,
    put,
)

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
        counts: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        """`counts`: by the positions of results that are lists, which result is the number of their
        first rows that the program gets. `in_blocks` returns the same call with loops in blocks, if
        that isn't made of the region itself. `stack_bytes` limits a stack of the kernel, in place
        of the policy. `is_derived`: whether this is a derivative of a call that has been made."""
        self.is_derived = is_derived
        self.regions, self._untraced = regions or Regions(), untraced
        self._given, self._counts = region, counts
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
        level = max(map(level_in, values), default=UNBOXED)
        if level == UNBOXED:
            return self.run_on(run.backend, values, calls)
        boxed = {k for k, value in enumerate(values) if level_in(value) == level}
        active = tuple([k for k in self._leading if k in boxed])
        moving = self.moving(active)
        below = [lowered_in(value, level) for value in values]
        if not moving:
            return self.apply(run, site, below, calls)
        places = places_at(values, active, level)
        boxes = picked(values, places)
        if type(boxes[0]) is Dual:
            self._verify(self.forward(active, self.takes_lists(active)), run.backend)
            along = [box.tangent for box in boxes]
            found, outputs, tangents = self.pushed(run, site, below, places, along, calls)
            pairs = zip(picked(found, outputs), chain.from_iterable(tangents.values()), strict=True)
            put(found, outputs, [y if t is None else Dual(y, t, level) for y, t in pairs])
            return found
        if run.captures is not None and any(map(run.captures, boxes)):
            raise StepBack  # the interpreter tells where, if the result depends on it
        # Raises now if the pullback isn't compiled.
        self._verify(self.backward(active, moving, self.gives_lists(moving)), run.backend)
        found = self.apply(run, site, below, calls * DIFFERENTIATED)
        outputs = self.outputs(moving, found)
        pullback = LinearizedRegion(self, below, places, outputs, calls)
        operands, primals, at = operands_of(values, below, places)
        trace, own, results = (
            boxes[0][2].trace,
            site.in_derivative(self.op),
            picked(found, outputs),
        )
        put(found, outputs, record_parts(trace, own, operands, primals, pullback, results, at))
        return found

    def takes_lists(self, active: Iterable[int]) -> bool:
        """Whether some of these parameters are lists."""
        parameters = self.region.block.parameters
        return any(is_list(parameters[k].type) for k in active)

    def gives_lists(self, moving: Iterable[int]) -> bool:
        """Whether some of these results are lists."""
        results = self.region.block.results
        return any(is_list(results[k].type) for k in moving)

    def outputs(self, some: Places, found: list[Any]) -> NumberPlaces:
        """The numbers and arrays among some of the results that the program gets."""
        outputs: NumberPlaces = {}
        for k in some:
            kind, outputs[k] = self.region.block.results[k].type, None
            if isinstance(kind, ArrayType) and kind.listed:
                rows = found[self._counts[k]] if k in self._counts else kind.shape[0]
                outputs[k] = list(range(rows * prod(kind.shape[1:])))
        return outputs

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
        self,
        run: Run,
        site: Site,
        values: list[Any],
        places: NumberPlaces,
        along: Sequence[Any],
        calls: int,
    ) -> tuple[list[Any], NumberPlaces, dict[int, list[Any]]]:
        """The results; the numbers and arrays among these that are floats; and by result their
        tangents, None where there is none. `along` are those of numbers and arrays among the
        parameters. Raises StepBack, and NoRule."""
        block = self.region.block
        has_lists = self.takes_lists(places)
        if not has_lists:
            pairs = [(k, t) for k, t in zip(places, along, strict=True) if t is not None]
            places, along = dict.fromkeys([k for k, _ in pairs]), [t for _, t in pairs]
        kinds = [value.type for value in block.parameters]
        tangents, flags = derivatives_of(places, along, kinds)
        given = [*values, *tangents, *(flags if has_lists else ())]
        found = self.forward(tuple(places), has_lists).apply(run, site, given, calls)
        results, rest = found[: len(block.results)], found[len(block.results) :]
        floats = [k for k, value in enumerate(block.results) if has_tangents(value.type)]
        outputs = self.outputs(tuple(floats), results)
        triples = zip(outputs.items(), rest[::2], rest[1::2], strict=True)
        return results, outputs, {k: apart(t, there, own) for (k, own), t, there in triples}

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
    def forward(self, active: Places, unsure: bool = False) -> RegionCall:
        """The region of the results and their tangents. `unsure`: whether it takes what says which
        of the active parameters have tangents, too."""
        flags = range(len(active)) if unsure else ()
        forward = jvp(self.region, active, self.regions, flags)
        return self._derivative(forward, lambda: self.in_blocks.forward(active, unsure))

    @made_once
    def backward(self, active: Places, of: Places, unsure: bool = False) -> RegionCall:
        """The region of the active parameters' cotangents, from those of some results. `unsure`:
        whether it takes a bool for each of these, too, which says whether it has a cotangent."""
        flags = range(len(of)) if unsure else ()
        back = pullback_of(self.region, active, of, self.regions, flags)
        return self._derivative(back, lambda: self.in_blocks.backward(active, of, unsure))

    def pullback(
        self, active: Places, outputs: NumberPlaces, given: Sequence[Any], is_final: bool
    ) -> tuple[RegionCall, list[Any]]:
        """The region of the active parameters' cotangents, and what it takes besides the
        parameters. `given` are the cotangents of numbers and arrays among the results; None for
        none. Where there are now some and now others, such as for the gradient of one output of a
        program and then another, one region takes them all, if its cotangents are final: a
        derivative of it would take too long to compile."""
        moving, results = tuple(outputs), self.region.block.results
        if not self.gives_lists(moving):
            pairs = [(k, c) for k, c in zip(moving, given, strict=True) if c is not None]
            of = tuple([k for k, _ in pairs])
            if not is_final or of in (moving, self._asked.setdefault(active, of)):
                return self.backward(active, of), [c for _, c in pairs]
        kinds = [value.type for value in results]
        cotangents, flags = derivatives_of(outputs, given, kinds)
        return self.backward(active, moving, True), [*cotangents, *flags]

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
