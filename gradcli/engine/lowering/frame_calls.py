"""A call of a function as a region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...diagnostics import Span
from ...lang.program.liveness import Liveness
from ..ir.builder import Builder
from ..ir.instructions import Block, Region, Value
from ..ir.types import I64, Scalar
from ..passes.calls import Regions
from .entries import Entry, enter, naming_parameters, parameters_of
from .held.kinds import Kind, flat, is_settled, kind_of
from .held.names import NotCompiled
from .statements import Lowering


class FrameCall(NamedTuple):
    """A call in IR.

    region   takes the parameters of the entries of the function and its arguments, in this order,
             then the seed and the number of draws if it draws; gives the numbers of the result, and
             then the number of draws
    kind     the kind of the result
    regions  those that it may call: functions that call themselves, and their derivatives
    """

    region: Region
    kind: Kind
    regions: Regions


def lower_call(
    function: Entry,
    arguments: Sequence[Entry],
    names: Sequence[str],
    span: Span,
    real: Scalar,
    most: int | None = None,
    draws: bool = False,
) -> FrameCall:
    """The region of a call of a function, or of a derivative of one, with arguments of these
    entries, the last of which have `names`, in a run whose floats are `real`. Arrays of few
    elements are one value of the result, as larger ones are. `draws`: whether the function draws
    random numbers.

    Raises NotCompiled; TooLong where that takes more instructions than `most`."""
    block = Block()
    lowering = Lowering(Builder(block, real, most), Liveness(()))

    def held(entry: Entry) -> object:
        given = tuple([Value(kind) for kind in parameters_of(entry)])
        block.parameters += given
        return enter(lowering, entry, iter(given))

    with lowering.at(span), naming_parameters(lowering.builder, block):
        callee, given = held(function), [held(entry) for entry in arguments]
        first = len(given) - len(names)
        named = dict(zip(names, given[first:], strict=True))
        if draws:
            seed, drawn = Value(I64), Value(I64)
            block.parameters += (seed, drawn)
            lowering.begin_draws(seed, drawn)
        result = lowering.in_memory(lowering.called(callee, given[:first], named))
        kind = kind_of(result)
        if not is_settled(kind):
            raise NotCompiled("the result of this call isn't made of numbers")
        block.results = (*flat(result), *lowering.values_in(lowering.unassigned))
    return FrameCall(Region("call", block), kind, lowering.regions)
