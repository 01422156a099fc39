"""An elementwise op on floats, some of them traced, as one generated function: compute, and append the record.

What it does is what `apply` does, written out for the kinds of operands at hand; results that Python refuses, strict
products that aren't finite, and traces that mix go to `apply`. Hot expressions (`fusion.py`) and recorded sweeps use it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..ops.formula import Formula
from ..ops.op import Op
from .apply import apply
from .formula_source import REFUSED, STRICT, FormulaSource, function_of
from .formulas import fast_by_name, forward_formula, per_op
from .run import Run
from .tape import STRIDE, Site

assert STRIDE == 6  # the record below is written out


class Operand(NamedTuple):
    """An operand in the source: the local that holds its primal, and those of its number and segment if it is traced."""

    primal: str
    number: str = ""
    origin: str = ""


def call_lines(
    names: dict[str, Any], op: Op, operands: Sequence[Operand], mixed: str, refused: str, head: Sequence[str] = ()
) -> list[str]:
    """The lines that compute `op` on floats, record it at the site `active`, and return the result.

    `mixed` is the statement for traces of different levels, `refused` for what Python refuses; `names` gets what the lines
    refer to. `head` stands before, where exceptions are caught as well.
    """
    source = FormulaSource(arrays=False, fast=True)
    for k, operand in enumerate(operands):
        source.lines.append(f"x{k} = {operand.primal}")
    if op.forward is None:  # a function of Python's
        formula = Formula(op.name, None, tuple([Formula("operand", k) for k in range(len(operands))]))
    else:
        formula = forward_formula(op)
    result = source.value(formula)
    names.update(source.found(fast_by_name))
    lines = ["try:", *[f"    {line}" for line in (*head, *source.lines, f"y = {result}")], f"{REFUSED}: {refused}"]
    if any(node.kind in STRICT for node in formula):
        lines.append(f"if y - y != 0.0: {refused}")
    traced = [operand for operand in operands if operand.number]
    if not traced:
        return [*lines, "return y"]
    first, *others = traced
    numbers = [operand.number for operand in traced]
    in0 = f"({', '.join(numbers)})" if len(numbers) > 2 else numbers[0]
    in1 = numbers[1] if len(numbers) == 2 else "None"
    primals = [f"x{k}" for k in range(len(operands))]
    saved = f"{primals[0]}, {primals[1] if len(primals) > 1 else 'None'}" if len(primals) < 3 else f"({', '.join(primals)}), None"
    return [
        *lines,
        f"trace = {first.origin}.trace",
        "segment = trace.segment",
        "if segment is None: return y",
        "number = trace.number",
        "if number >= trace.limit: segment = trace.advance()",
        *[f"if {o.origin} is not segment and {o.origin}.trace is not trace: {mixed}" for o in others],
        *[f"if {o.origin} is not segment: segment.reads({o.origin})" for o in traced],
        "trace.number = number + 1",
        f"segment.records.extend((active, {in0}, {in1}, {saved}, y))",
        "return y, number, segment",
    ]


@per_op
def _caller(op: Op, traced: tuple[bool, ...]) -> Callable[..., Any]:
    """`(run, site, active, *values)`: the op on floats, traced where `traced` says so."""
    names: dict[str, Any] = {"apply": apply}
    parameters = [f"v{k}" for k in range(len(traced))]
    head, operands = [], []
    for k, is_traced in enumerate(traced):
        if is_traced:
            head.append(f"p{k}, n{k}, o{k} = v{k}")
            operands.append(Operand(f"p{k}", f"n{k}", f"o{k}"))
        else:
            operands.append(Operand(f"v{k}"))
    otherwise = f"return apply(run, site, ({', '.join(parameters)},))"
    lines = [*head, *call_lines(names, op, operands, otherwise, otherwise)]
    body = "".join(f"    {line}\n" for line in lines)
    return function_of(f"def call(run, site, active, {', '.join(parameters)}):\n{body}", "<scalar call>", names)


def call_on_scalars(run: Run, site: Site, *values: Any) -> Any:
    """The elementwise op of `site` on values, as `apply`; faster where they are floats and traced floats."""
    traced = []
    for value in values:
        if type(value) is float or type(value) is int:
            traced.append(False)
        elif type(value) is tuple and type(value[0]) is float:
            traced.append(True)
        else:
            return apply(run, site, values)
    kinds = tuple(traced)
    call = site.calls.get(kinds)
    if call is None:
        if run.trace.keeps_all:
            return apply(run, site, values)
        active = Site(site.op, site.span, tuple([k for k, is_traced in enumerate(kinds) if is_traced]), site.of)
        active.scalar = True
        call = site.calls[kinds] = _caller(site.op, kinds), active
    function, active = call
    return function(run, site, active, *values)
