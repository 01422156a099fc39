"""Generated functions that apply an elementwise op to floats, traced ones or ones with tangents,
and append the record.

Each is `apply` specialised to the kinds of its operands. It falls back to `apply` for results that
Python refuses, strict products that aren't finite, and operands of different levels. Hot
expressions (`fusion.py`) and recorded sweeps use these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...ops.formula import Formula
from ...ops.op import Op
from ..formulas.formula_source import REFUSED, STRICT, FormulaSource, function_of
from ..formulas.functions import fast_by_name, tangent_terms
from ..formulas.reading import forward_formula, per_op, returned_operands
from ..trace.run import Run
from ..trace.tape import Site
from ..trace.windows import STRIDE
from ..values.boxes import Dual
from .apply import apply

assert STRIDE == 6  # the record below is written out


class Operand(NamedTuple):
    """The locals that hold an operand in generated source: its primal; its number and segment if it
    is traced; the dual if it has a tangent."""

    primal: str
    number: str = ""
    origin: str = ""
    dual: str = ""


def call_lines(
    names: dict[str, Any],
    op: Op,
    operands: Sequence[Operand],
    mixed: str,
    refused: str,
    head: Sequence[str] = (),
) -> list[str]:
    """The lines that compute `op` on floats, record it at the site `active`, and return the result.

    `mixed` is the statement for operands of different traces, `refused` the one for results that
    Python refuses. `names` gets the globals of the lines. `head` are lines to put first, inside the
    same `try`.
    """
    source = FormulaSource(arrays=False, fast=True)
    for k, operand in enumerate(operands):
        source.lines.append(f"x{k} = {operand.primal}")
    if op.forward is None:  # it has no formula, so its scalar function is called
        formula = Formula(
            op.name, None, tuple([Formula("operand", k) for k in range(len(operands))])
        )
    else:
        formula = forward_formula(op)
    source.lines.append(f"y = {source.value(formula)}")
    moving = tuple([k for k, operand in enumerate(operands) if operand.dual])
    if moving:
        source.lines.append(f"t = {' + '.join(tangent_terms(source, op, moving))}")
    names.update(source.found(fast_by_name))
    lines = ["try:", *[f"    {line}" for line in (*head, *source.lines)], f"{REFUSED}: {refused}"]
    if any(node.kind in STRICT for node in formula):
        lines.append(f"if y - y != 0.0: {refused}")
    if moving:
        lines += [f"if t - t != 0.0: {refused}", "y = Dual(y, t, level)"]
        names["Dual"] = Dual
    traced = [operand for operand in operands if operand.number]
    if not traced:
        return [*lines, "return y"]
    first, *others = traced
    numbers = [operand.number for operand in traced]
    in0 = f"({', '.join(numbers)})" if len(numbers) > 2 else numbers[0]
    in1 = numbers[1] if len(numbers) == 2 else "None"
    kept = [operand.dual or f"x{k}" for k, operand in enumerate(operands)]
    saved = (
        f"{kept[0]}, {kept[1] if len(kept) > 1 else 'None'}"
        if len(kept) < 3
        else f"({', '.join(kept)}), None"
    )
    return [
        *lines,
        f"trace = {first.origin}.trace",
        *([f"if trace.level <= level: {mixed}"] if moving else []),
        "segment = trace.segment",
        "if segment is None: return y",
        "number = trace.number",
        "if number >= trace.limit: segment = trace.advance()",
        *[
            f"if {o.origin} is not segment and {o.origin}.trace is not trace: {mixed}"
            for o in others
        ],
        *[f"if {o.origin} is not segment: segment.reads({o.origin})" for o in traced],
        "trace.number = number + 1",
        f"segment.records.extend((active, {in0}, {in1}, {saved}, y))",
        "return y, number, segment",
    ]


@per_op
def _caller(op: Op, kinds: str) -> Callable[..., Any]:
    """The function `(run, site, active, *values)` that applies the op to values of these kinds, one
    letter each as in `apply_to_scalars`."""
    names: dict[str, Any] = {"apply": apply}
    parameters = ", ".join(f"v{k}" for k in range(len(kinds)))
    otherwise = f"return apply(run, site, ({parameters},))"
    head: list[str] = []
    operands: list[Operand] = []
    for k, kind in enumerate(kinds):
        value, number, origin, dual = f"v{k}", "", "", ""
        if kind in _TRACED:
            number, origin = f"n{k}", f"o{k}"
            head.append(f"p{k}, {number}, {origin} = {value}")
            value = f"p{k}"
        if kind in _MOVING:
            dual, value = value, f"{value}.primal"
            head.append(f"t{len([o for o in operands if o.dual])}_ = {dual}.tangent")
        operands.append(Operand(value, number, origin, dual))
    duals = [operand.dual for operand in operands if operand.dual]
    if duals:
        head.append(f"level = {duals[0]}.level")
        conditions = ["level <= run.paused", *[f"{d}.level != level" for d in duals[1:]]]
        head.append(f"if {' or '.join(conditions)}: {otherwise}")
    lines = call_lines(names, op, operands, otherwise, otherwise, head)
    body = "".join(f"    {line}\n" for line in lines)
    return function_of(
        f"def call(run, site, active, {parameters}):\n{body}", "<scalar call>", names
    )


def _may_be_int(op: Op, kinds: str) -> bool:
    """Whether the op may return an int: an operand unchanged, or a result of ints only. It would
    have to be checked or made a float."""
    given = set() if op.forward is None else returned_operands(forward_formula(op))
    return set(kinds) == {"i"} or any(kinds[k] == "i" for k in given)


_TRACED, _MOVING = "tb", "db"  # the kinds that are traced, and those that have a tangent


def apply_to_scalars(run: Run, site: Site, *values: Any) -> Any:
    """Applies the elementwise op of `site` to values as `apply` does, but faster for numbers, also
    traced ones and ones with tangents."""
    kinds = ""
    for value in values:
        if type(value) is float:
            kinds += "f"
            continue
        if type(value) is int:
            kinds += "i"
            continue
        inner = value[0] if type(value) is tuple else value
        if type(inner) is float:
            kinds += "t"
        elif type(inner) is Dual and type(inner.primal) is type(inner.tangent) is float:
            kinds += "d" if inner is value else "b"
        else:
            return apply(run, site, values)
    call = site.calls.get(kinds)
    if call is None:
        if run.trace.keeps_all or not site.op.passes_floats or _may_be_int(site.op, kinds):
            return apply(run, site, values)
        active = Site(
            site.op,
            site.span,
            tuple([k for k, kind in enumerate(kinds) if kind in _TRACED]),
            site.of,
        )
        active.scalar = True
        call = _caller(site.op, kinds), active
        site.calls = {**site.calls, kinds: call}
    function, active = call
    return function(run, site, active, *values)
