"""Forward mode: the tangent of an operation's result from the tangents of its operands.

Tangents are carried along while the program runs, so nothing is recorded, and memory is that of the
values. The rules are the partials of the op table, which reverse mode reads, too. Products with a
tangent are strict, as in reverse mode: a tangent or a partial of exactly 0 gives 0, even times inf
or nan.

Tangents of sources can also be carried along the records to a target, in execution order: a record
keeps what its derivative rules read, and those of forward mode read no more than those of reverse
mode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...ops import OPS
from ...ops.op import OpError
from ...ops.tangent import push as push_structural
from ..backends.backend import dtype_name, is_complex, is_inexact, shape_of
from ..formulas.differentiation import partial_formula, tangent_op
from ..formulas.functions import array_push, scalar_push
from ..operations.apply import apply
from ..operations.rows.on_lanes import differ_between_rows
from ..operations.rules import Interpretation, replay
from ..operations.structural import refuse
from ..trace.pullbacks import Linearized
from ..trace.records import Record
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import UNBOXED, Dual, level_of, primal
from ..values.kinds import List
from ..values.lanes import Lanes, spread
from .targets import converted

ADD, NEG, CONJ, STRICT_MUL, BROADCAST, PART = (
    OPS[name] for name in ("add", "neg", "conj", "strict_mul", "broadcast_to", "part")
)


def push(run: Run, site: Site, values: list[Any], options: Mapping[str, Any], level: int) -> Any:
    """Applies the op of `site` to values of which some are duals of `level`, the highest level.
    Returns a dual, or a list of duals.

    The result of an op that isn't differentiable has no tangent, and neither have ints and bools.
    """
    tangents = [tangent_of(v, level) for v in values]
    active = tuple([k for k, t in enumerate(tangents) if t is not None])
    primals = [v if t is None else v.primal for v, t in zip(values, tangents, strict=True)]
    y = apply(run, site, tuple(primals), options)
    if not site.op.differentiable or level <= run.paused:
        return y
    parts = y.items if type(y) is List else [y]
    if not any(is_inexact(primal(part)) for part in parts):
        return y
    t = tangent(run, site, active, primals, tangents, y, options)
    if type(y) is not List:
        return Dual(y, t, level)
    return List(
        [Dual(a, b, level) if is_inexact(primal(a)) else a for a, b in zip(y, t, strict=True)]
    )


def tangent(
    run: Run,
    site: Site,
    active: tuple[int, ...],
    primals: Sequence[Any],
    tangents: list[Any],
    y: Any,
    options: Any,
) -> Any:
    """The tangent of the result `y` of an operation, for those of its `active` operands; a list
    where the result is one. Raises GradcliError (E317) where there is no rule."""
    rule = _elementwise if site.op.elementwise else _structural
    return rule(run, site, active, primals, tangents, y, options)


def _elementwise(
    run: Run,
    site: Site,
    active: tuple[int, ...],
    primals: Sequence[Any],
    tangents: list[Any],
    y: Any,
    options: Any,
) -> Any:
    """The tangent of an elementwise operation."""
    given = [tangents[k] for k in active]
    if (
        type(y) is float
        and all(type(v) is float or type(v) is int for v in primals)
        and all(type(t) is float for t in given)
    ):
        return scalar_push(site.op, active)(y, *primals, *given)
    if _is_plain((y, *primals, *given)):
        return _fitted(run, array_push(run.backend, site.op, active)(given, y, *primals), y)
    if any([is_complex(primal(v)) for v in (y, *primals, *given)]):  # noqa: C419
        terms = [product(run, site, k, tangents[k], y, primals) for k in active]
        total = terms[0]
        for term in terms[1:]:
            total = apply(run, site.in_derivative(ADD), (total, term))
    else:
        op, reads = tangent_op(site.op, active)
        operands = [y if read == "result" else primals[int(read)] for read in reads]
        total = apply(run, site.in_derivative(op), (*given, *operands))
    return matched(run, site, total, y)


def _is_plain(values: tuple[Any, ...]) -> bool:
    return all(level_of(v) == UNBOXED and type(v) is not Lanes for v in values)


def product(
    run: Run, site: Site, k: int, t: Any, y: Any, operands: Sequence[Any], conjugates: bool = False
) -> Any:
    """A tangent times the partial by its operand, or times its conjugate, by operations of the
    language."""
    partial = partial_formula(site.op, k)
    if partial.is_number(1.0):
        return t
    if partial.is_number(-1.0):
        return apply(run, site.in_derivative(NEG), (t,))
    p = replay(run, site, k, y, operands)
    if conjugates and is_complex(primal(p)):
        p = apply(run, site.in_derivative(CONJ), (p,))
    return apply(run, site.in_derivative(STRICT_MUL), (t, p))


def _fitted(run: Run, t: Any, y: Any) -> Any:
    """A plain tangent converted to the shape and dtype of its primal, and real where that is."""
    if is_complex(t) and not is_complex(y):
        t = t.real
    if shape_of(t) != shape_of(y):
        t = run.backend.xp.broadcast_to(run.backend.operand(t), shape_of(y)).copy()
    if dtype_name(t) != dtype_name(y):
        t = t.astype(y.dtype) if shape_of(y) else t
    return run.backend.settle(t) if shape_of(t) or hasattr(t, "dtype") else t


def matched(run: Run, site: Site, t: Any, y: Any) -> Any:
    """A tangent converted to its primal's shape and dtype by operations of the language."""
    inner, like = primal(t), primal(y)
    if type(inner) is type(like) is float:
        return t
    if shape_of(inner) != shape_of(like):
        t = apply(run, site.in_derivative(BROADCAST), (t,), {"shape": shape_of(like)})
    return converted(run, site, t, like)


def _structural(
    run: Run,
    site: Site,
    active: tuple[int, ...],
    primals: Sequence[Any],
    tangents: list[Any],
    y: Any,
    options: Any,
) -> Any:
    """The tangent of a structural operation. Raises GradcliError (E317) where it has no rule."""
    op = site.op
    _verify_rule(run, site, active)
    if op.jvp is None and not (op.linear or op.multilinear):
        help = 'it was registered without `jvp`; reverse mode has a rule (`mode = "reverse"`)'
        run.fail("E317", f"forward mode can't differentiate `{op.name}`", site.span, help=help)
    options = {"index": options} if type(options) is tuple else options
    result = y.items if type(y) is List else y
    parts = result if type(result) is list else [result]
    is_plain = _is_plain((*parts, *primals, *[tangents[k] for k in active]))
    m = Interpretation(run, site, recorded=not is_plain, laned=False)
    return _by_rule(run, site, m, tangents, result, primals, options)


def _verify_rule(run: Run, site: Site, active: tuple[int, ...]) -> None:
    """Raises GradcliError (E317) where a structural operation has no derivative by one of its
    operands."""
    if not all(site.op.moves_with(k) for k in active):
        what = f"`{site.op.name}` has no gradient registered"
        run.fail("E317", what, site.span, help="use it on a detached value")


def _by_rule(
    run: Run,
    site: Site,
    m: Interpretation,
    tangents: list[Any],
    y: Any,
    operands: Sequence[Any],
    options: Mapping[str, Any],
) -> Any:
    """The tangent of a structural operation by its rule, as `m` computes; a list where the result
    `y` is one. `tangents` are those of the operands, some None."""
    along = [None if t is None else m.value(t) for t in tangents]
    given = [m.value(v) for v in operands]
    try:
        found = push_structural(m.m, site.op, along, m.values(y), given, options)
    except OpError as error:
        refuse(run, site.in_derivative(site.op), error)

    def like(t: Any, part: Any) -> Any:
        if m.is_array:
            return _fitted(run, run.backend.settle(t), part)
        return matched(run, site, m.plain(t), part)

    if type(y) is list:
        return [like(t, part) for t, part in zip(found, y, strict=True)]
    return like(found, y)


def tangent_of(value: Any, level: int) -> Any:
    """The tangent of a value at a level; None where it doesn't depend on the perturbed inputs."""
    return value.tangent if type(value) is Dual and value.level == level else None


# ---- over the trace, without running its operations again ----------------------------------------


def carry(
    run: Run, records: list[Record], tangents: dict[int, Any], target: int, ends: set[int]
) -> Any:
    """The tangent of a target, for tangents of sources by number; None if it doesn't depend on
    them.

    `records` lead from the sources to the target, in execution order; those in `ends` have only the
    tangents that are given for them. A tangent is freed once no later record reads it.
    """
    uses = Counter(n for record in records for n in record.inputs)
    uses[target] += 1
    of = {n: t for n, t in tangents.items() if n < 0}
    for record in records:
        found = None
        if record.number not in ends:
            along = [of.get(n) for n in record.inputs]
            if any(t is not None for t in along):
                found = _push(run, record, along)
            for n in record.inputs:
                uses[n] -= 1
                if not uses[n]:
                    of.pop(n, None)
        own = tangents.get(record.number)
        if own is not None:
            found = (
                own if found is None else apply(run, record.site.in_derivative(ADD), (found, own))
            )
        if found is not None:
            of[record.number] = found
    return of.get(target)


def _push(run: Run, record: Record, along: list[Any]) -> Any:
    """The tangent of a record's result from those of its active operands; some may be None."""
    site, y, operands = record.site, record.y, record.operands
    op = site.op
    if op is PART:
        return along[0][record.options["index"]]
    if isinstance(record.options, Linearized):
        return record.options.push(run, site, along)
    tangents: list[Any] = [None] * len(operands)
    differs = not op.elementwise and differ_between_rows(record.options) and type(y) is Lanes
    for k, t in zip(site.operands, along, strict=True):
        if t is not None and op.real_only and is_complex(operands[k]):
            run.fail(
                "E317", f"`{op.name}` of a complex number has no gradient registered", site.span
            )
        # Rows with indices of their own read from the tangent of what they share, too.
        tangents[k] = spread(run.backend.xp, t, y.group) if differs and t is not None else t
    active = tuple([k for k, t in enumerate(tangents) if t is not None])
    return tangent(run, site, active, operands, tangents, y, record.options)
