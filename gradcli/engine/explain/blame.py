"""Messages about the operation that made a nan or an infinity, forward or on the way back, with the
fix.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...ops.op import Op
from ..ad.own_rules import OwnCall
from ..backends.backend import shape_of
from ..trace.recording import Blank
from ..trace.records import Record
from ..trace.run import Run
from ..values.boxes import primal
from ..values.contents import is_finite
from ..values.kinds import Variable, show
from ..values.lanes import Lanes
from .ancestry import Ancestry
from .nonfinite import Maker, first_place, maker, maker_at
from .reasons import Reason
from .walks import Edge, Walk, partial_by


def blame(run: Run, ancestry: Ancestry, roots: list[int]) -> tuple[Reason, Maker] | None:
    """Returns the reason for the first operation that made a non-finite value among the values
    `roots`.
    """
    found = maker(run, ancestry, roots)
    return None if found is None else (_of_maker(run, found), found)


def blame_plain(run: Run, ancestry: Ancestry, value: Any) -> tuple[Reason, Maker] | None:
    """Returns the reason for a non-finite plain number, which isn't on the trace; None if the
    program wrote it so.
    """
    record = ancestry.trace.witness_of(value)
    if record is None:
        return None
    made = Maker(record.number, record)
    return _of_maker(run, made), made


def blame_value(
    run: Run, ancestry: Ancestry, record: Record, places: Any = None
) -> tuple[Reason, Maker] | None:
    """Returns the reason for a non-finite value of a record in some `places`, or of what it is
    computed from.

    None if all of that is finite.
    """
    found = maker_at(run, ancestry, record, places)
    return None if found is None else (_of_maker(run, found), found)


def blame_gradient(
    run: Run, ancestry: Ancestry, walk: Walk, source: int
) -> tuple[Reason, Maker] | None:
    """Returns the reason for the operation that made a gradient nan or infinite.

    It is the one whose derivative isn't finite, or, if that is only because a value isn't finite,
    the one that made the value.
    """
    at, steps = source, 0
    while at in walk.onward and steps <= run.trace.number:
        edge = walk.onward[at]
        record = ancestry.trace.at(edge.record)
        if math.isfinite(edge.cotangent):
            if math.isfinite(edge.share):
                text = "its shares in the gradient add up to more than the largest float"
                return Reason("overflow", text, record.site.span, _SCALE, record.calls), Maker(
                    at, None
                )
            partial = partial_by(run, record, at)
            places = _bad_places(run, partial, walk.bad.get((record.number, at)))
            found = blame_value(run, ancestry, record, places)
            return found or (
                _of_edge(record, edge, partial, first_place(run, places)),
                Maker(record.number, record),
            )
        at, steps = edge.record, steps + 1
    return None


def declared(run: Run, number: int) -> Variable | None:
    """Returns the variable whose leaf has this number."""
    return next(
        (v for v in (*run.declared.values(), *run.attached.values()) if v.number == number), None
    )


# ---- forwards ------------------------------------------------------------------------------------


def _of_maker(run: Run, made: Maker) -> Reason:
    record = made.record
    if record is None:
        variable = declared(run, made.number)
        if variable is None:
            return Reason(
                "nonfinite_input",
                "an argument is nan or infinite to begin with",
                None,
                "give finite numbers",
            )
        value = primal(variable.state)
        is_one = is_finite(value) or shape_of(value)
        text = (
            f"`{variable.name}` "
            f"{'has elements that are nan or infinite' if is_one else f'is {show(value)}'} to "
            "begin with"
        )
        return Reason("nonfinite_input", text, variable.span, "give finite numbers")
    op = record.site.of or record.site.op
    y, place = record.y, made.place
    values = [v for v in record.operands if v is not None]
    if type(y) is Lanes:  # rows are described by the one that is at fault
        values = [v.array if type(v) is Lanes else v for v in values]
        y = y.array
        place = first_place(run, ~run.backend.xp.isfinite(y))
    operands = [element(v, y, place) for v in values]
    result = element(y, y, place)
    where = " in some rows" if y is not record.y else f" at {list(place)}" if place else ""
    if record.site.of is not None:
        text = _of_derivative(record, "", f"gives {result}{where}")
        help = _SLOPES[op.name]([]) if op.name in _SLOPES else _SCALE
    elif type(record.b) is OwnCall:
        text = _of_value(record, "", f"gives {result}{where}")
        help = "look at the body of the function"
    else:
        text = _of_value(record, _called(op, operands), f"is {result}{where}")
        help = _advice(op, [number_at(v, y, place) for v in values])
    if made.operand is not None:
        return Reason(
            "nonfinite_input",
            f"{text}: an operand isn't finite to begin with",
            record.site.span,
            "give finite numbers",
            record.calls,
        )
    return Reason("nonfinite_value", text, record.site.span, help, record.calls)


def _of_value(record: Record, called: str, says: str) -> str:
    """Returns the sentence in which `says` is the predicate and the value of a record the subject.

    `called` is the operation on its actual values.
    """
    words, itself = _words(record)
    if not itself:
        return f"in `{words}`, {called or _named(record.site.op)} {says}"
    return f"`{words}` {says}{f' ({called})' if called not in ('', f'`{words}`') else ''}"


def _of_derivative(record: Record, at: str, says: str) -> str:
    """Returns the sentence in which `says` is the predicate and the derivative of a record the
    subject.

    `at` describes the values of its operands.
    """
    words, itself = _words(record)
    if not itself:
        return (
            f"in `{words}`, the derivative of {_named(record.site.of or record.site.op)}{at} {says}"
        )
    return f"the derivative of `{words}`{at} {says}"


def _words(record: Record) -> tuple[str, bool]:
    """Returns the program's text for a record, and whether it is the text of the operation itself.

    An operation inside the library has the text of the call that led there; an implicit one, such
    as the array of a list, the text of what it was made for.
    """
    span = record.site.span
    if span.source.is_library:
        call = next((call.span for call in record.calls if not call.span.source.is_library), span)
        return call.brief, False
    op = record.site.of or record.site.op
    names = (op.name, *op.infix.split()[-1:])
    return span.brief, type(record.b) is OwnCall or any(name in span.text for name in names)


def _named(op: Op) -> str:
    return f"`{op.infix or op.name}`"


def _called(op: Op, operands: list[str]) -> str:
    """Returns an operation on its actual values, as the program would write it."""
    if op.infix.startswith("unary"):
        return f"`{op.infix[-1]}{operands[0]}`"
    if op.infix and len(operands) == 2:
        right = f"({operands[1]})" if operands[1].startswith("-") else operands[1]
        left = (
            f"({operands[0]})" if operands[0].startswith("-") and op.name == "pow" else operands[0]
        )
        return f"`{left} {op.infix} {right}`" if op.name != "pow" else f"`{left}**{right}`"
    return f"`{op.name}` of {' and '.join(operands)}"


def element(value: Any, result: Any, place: tuple[int, ...]) -> str:
    """Returns a value in words: a number as it is, of an array the element at `place`, as
    broadcasting maps it.
    """
    if type(value) in (Blank, list, Lanes):
        return f"an array of shape {value.shape}" if type(value) is Blank else "several values"
    shape = shape_of(value)
    if not shape:
        return show(primal(value))
    at = number_at(value, result, place)
    return show(at) if at is not None else f"an array of shape {shape}"


def number_at(value: Any, result: Any, place: tuple[int, ...]) -> Any:
    """Returns the element of an operand that broadcasting maps to `place` of the result; None if
    there is none.
    """
    if type(value) in (Blank, list, Lanes) or value is None:
        return None
    shape = shape_of(value)
    if not shape:
        return primal(value)
    if len(shape) > len(place) or any(
        n not in (1, m) for n, m in zip(shape, shape_of(result)[-len(shape) :], strict=False)
    ):
        return None
    index = tuple(
        [0 if n == 1 else k for n, k in zip(shape, place[len(place) - len(shape) :], strict=True)]
    )
    return value[index].item()


# ---- on the way back -----------------------------------------------------------------------------


def _bad_places(run: Run, partial: Any, g: Any) -> Any:
    """Returns where a partial times the cotangent `g` isn't finite; None if it isn't an array."""
    if not shape_of(partial) or (shape_of(g) and shape_of(g) != partial.shape):
        return None
    bad = ~run.backend.xp.isfinite(partial)
    return bad & (g != 0) if g is not None else bad


def _of_edge(record: Record, edge: Edge, partial: Any, place: tuple[int, ...]) -> Reason:
    """Returns the reason why the derivative of a record isn't finite in a place, though its
    operands are.
    """
    op = record.site.of or record.site.op
    if partial is not None and (is_finite(partial) or (shape_of(partial) and not place)):
        text = (
            f"on the way back through `{_words(record)[0]}` the product of slopes is more than "
            "the largest float"
        )
        return Reason("overflow", text, record.site.span, _SCALE, record.calls)
    if partial is None:
        slope = "nan" if edge.share != edge.share else "infinite"
    else:
        slope = show(partial[place].item() if place else partial)
    like = partial if place else record.y
    at = [element(v, like, place) for v in record.operands if v is not None]
    says = record.site.of is None and at  # a second derivative has operands that nobody wrote
    where = (
        f" at {' and '.join(at)}"
        if says and not any(a.startswith(("an array", "several")) for a in at)
        else ""
    )
    text = _of_derivative(record, where, f"is {slope}")
    values = [number_at(v, like, place) for v in record.operands] if record.site.of is None else []
    help = _slope_advice(op, values)
    return Reason("infinite_slope", text, record.site.span, help, record.calls)


# ---- advice --------------------------------------------------------------------------------------

_SCALE = "the numbers outgrow floats: scale them, take smaller steps, or compute with logarithms"
_GUARD = "guard it: `where(b != 0, a / b, 0)` computes no gradient through what it discards"
_INSIDE = "keep the argument inside the domain, for example with `clip`"

_ADVICE: dict[str, str] = {
    "log": (
        "logarithms need positive numbers; `where(x > 0, log(x), 0)`, or `xlogy(x, y)` for `x * "
        "log(y)`"
    ),
    "sqrt": (
        "the root of a negative number is nan; `where(x > 0, sqrt(x), 0)`, or `abs` of the argument"
    ),
    "exp": (
        "`exp` overflows beyond 709.78; subtract the maximum first, or stay with logarithms "
        "(`logsumexp`, `log_softmax`)"
    ),
    "div": _GUARD,
    "asin": _INSIDE,
    "acos": _INSIDE,
    "atanh": _INSIDE,
    "acosh": _INSIDE,
    "erfinv": _INSIDE,
    "logit": _INSIDE,
    "ndtri": _INSIDE,
    "gamma": "`gamma` overflows beyond 171.6; compute with `lgamma`",
    "prod": "compute `exp(sum(log(x)))`, or stay with the logarithm",
    "inv": "the matrix is nearly singular; `solve` loses fewer digits",
    "mean": "there is nothing to take the mean of",
}
for _alias in ("log2", "log10"):
    _ADVICE[_alias] = _ADVICE["log"]
for _alias in ("exp2", "expm1", "cosh", "sinh"):
    _ADVICE[_alias] = _ADVICE["exp"]


def _advice(op: Op, values: list[Any]) -> str:
    if op.name == "pow" and len(values) == 2 and None not in values:
        a, b = values
        if a == 0:
            return "0 to a negative power is infinite; guard it with `where(x != 0, …, 0)`"
        if isinstance(a, float) and a < 0 and b != int(b):
            return (
                "a fractional power of a negative number is nan; take `abs(x)`, or `cbrt(x)` for "
                "a third"
            )
    if op.name == "log1p":
        return "`log1p(x)` needs x > -1"
    return _ADVICE.get(op.name, _SCALE)


_SLOPES: dict[str, Callable[[list[Any]], str]] = {
    "sqrt": lambda values: (
        "add a small number inside, `sqrt(x + 1e-12)`, or leave 0 out: `where(x > 0, sqrt(x), 0)`"
    ),
    "cbrt": lambda values: "leave 0 out: `where(x != 0, cbrt(x), 0)`",
    "log": lambda values: "leave 0 out: `where(x > 0, log(x), 0)`; `xlogy(x, y)` for `x * log(y)`",
    "div": lambda values: _GUARD,
    "pow": lambda values: (
        "a power less than 1 is infinitely steep at 0: leave 0 out, `where(x > 0, x**p, 0)`"
        if values[:1] in ([0.0], [])
        else (
            "the derivative by the exponent has the logarithm of the base: keep the base "
            "positive, or `detach` the exponent"
        )
    ),
    "asin": lambda values: (
        "keep the argument inside (-1, 1), for example with `clip(x, -0.999999, 0.999999)`"
    ),
}
for _alias in ("acos", "atanh"):
    _SLOPES[_alias] = _SLOPES["asin"]


def _slope_advice(op: Op, values: list[Any]) -> str:
    advice = _SLOPES.get(op.name)
    return (
        advice(values)
        if advice
        else "keep away from this point, for example with `where` or `clip`"
    )
