"""Expectations: `expect` checks what a program claims about itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import Any

from ...diagnostics import Diagnostic, Span, shortened
from ...lang import program
from ...lang.program.statements import ATOL, RTOL
from ...lang.program.walks import own_nodes
from ..backends.backend import shape_of
from ..compilation.compiler import Closure, Compiler
from ..compilation.conditions import truth
from ..operations.equality import compare, same_value
from ..operations.rows.failing import row_of, tells_apart
from ..operations.rows.separation import operation_group
from ..trace.run import Expectation, Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.contents import plain
from ..values.kinds import (
    UNSET,
    List,
    describe,
    is_callable,
    is_number,
    read,
    show,
    show_shape,
    slot_value,
)
from ..values.lanes import Group, Lanes, narrow, spread
from .texts import compile_shown

# ---- what is claimed -----------------------------------------------------------------------------


_MAX_SHOWN = 4

Pairs = list[tuple[str, Any]]  # texts with their values

# Whether a claim holds, and what gives the values to show once it doesn't.
Claim = Callable[[list[Any]], tuple[Any, Callable[[list[Any]], Pairs]]]


def compile_claim(c: Compiler, node: program.Expression) -> Claim:
    """The closure of a claim. A comparison shows its operands, anything else the names in it."""
    if isinstance(node, program.Apply) and node.op.integers == "bool" and len(node.operands) == 2:
        return _comparison(c, node)
    value, names = c.value(node), list(_names(node))

    def claim(frame: list[Any]) -> tuple[Any, Callable[[list[Any]], Pairs]]:
        return value(frame), lambda frame: _known(
            [(n.slot.name, slot_value(frame, n.slot)) for n in names]
        )

    return claim


def _comparison(c: Compiler, node: program.Apply) -> Claim:
    site = Site(node.op, node.span)
    left, right = [(o, c.value(o)) for o in node.operands if o is not None]

    def claim(frame: list[Any]) -> tuple[Any, Callable[[list[Any]], Pairs]]:
        a, b = left[1](frame), right[1](frame)
        pairs = [
            (operand.span.brief, value)
            for operand, value in ((left[0], a), (right[0], b))
            if not isinstance(operand, program.Constant)
        ]
        return compare(frame[0], site, a, b), lambda frame: _known(pairs)

    return claim


def _names(node: program.Expression) -> Iterator[program.Read]:
    """The names that an expression reads, each once, in order."""
    found: dict[int, program.Read] = {}
    for inner in own_nodes([node]):
        if isinstance(inner, program.Read):
            found.setdefault(inner.slot.index, inner)
    yield from sorted(found.values(), key=lambda read: read.span.start)


def _known(pairs: Pairs) -> Pairs:
    return [
        (text, value) for text, value in pairs if value is not UNSET and not is_callable(value)
    ][:_MAX_SHOWN]


def listed(pairs: Pairs) -> str:
    """What a message shows of the values that decided a claim."""
    return ", ".join(
        [f"`{text}` is {shortened(' '.join(show(value).split()))}" for text, value in pairs]
    )


# ---- what is noted -------------------------------------------------------------------------------


Alone = Callable[[int], tuple[str, str]]  # the message and the label of a row


def note(
    run: Run,
    line: int,
    message: str,
    span: Span,
    bad: Any = None,
    group: Group | None = None,
    label: str = "",
    alone: Alone | None = None,
) -> None:
    """Records an expectation; an empty message means that it holds. Where that differs between rows
    of `group`, `bad` says for which it doesn't; else it is the same for all that run. `label` shows
    the values that decided, and `alone` says what a row of the group has by itself."""
    if not message:
        run.expectations.append(Expectation(line, True))
        return
    group = group or run.group
    rows: tuple[int, ...] = ()
    by_row: list[Diagnostic] = []
    if group is not None:
        xp, whole = run.backend.xp, group.outermost()
        failing = xp.arange(whole.size) if group is whole else group.way_to(whole)
        rows = tuple((failing if bad is None else failing[bad]).tolist())
        if alone is not None and tells_apart(run, group):
            numbers = range(group.size) if bad is None else xp.flatnonzero(bad).tolist()
            by_row = [Diagnostic("E601", text, span, own) for text, own in map(alone, numbers)]
    found = Diagnostic("E601", message, span, label)
    run.expectations.append(Expectation(line, False, message, found, rows, tuple(by_row)))


# ---- statements ----------------------------------------------------------------------------------


def compile_expect(c: Compiler, node: program.Expect) -> Callable[[list[Any]], None]:
    line, told = node.span.line, _compile_message(c, node.message)
    has_fixed_message = node.message is None or isinstance(node.message, program.Constant)
    if node.close_to is None:
        claim = compile_claim(c, node.value)

        def expect(frame: list[Any]) -> None:
            held, shown = claim(frame)
            holds = truth(frame[0], primal(held), node.value.span)  # it decides no path
            where, bad, group = "", None, None
            if type(holds) is Lanes:
                bad, group, holds = ~holds.array, holds.group, False
                where = f" in row {_first_row(frame[0], bad, group)} of `vmap`"
            if holds:
                note(frame[0], line, "", node.value.span)
                return
            message = f"{told(frame)}expected `{node.value.span.brief}`, and it is false"
            pairs = shown(frame)
            alone = None
            if has_fixed_message and all(_is_exact(frame[0], value) for _, value in pairs):
                alone = partial(_false_alone, frame[0], message, pairs)
            note(frame[0], line, message + where, node.value.span, bad, group, listed(pairs), alone)

        return expect
    value, other = c.value(node.value), c.value(node.close_to)
    options = [(name, c.value(expression)) for name, expression in node.options]

    def expect_close(frame: list[Any]) -> None:
        tolerances = {"rtol": RTOL, "atol": ATOL}
        for name, option in options:
            tolerances[name] = _tolerance(frame[0], name, option(frame), node.span)
        a, b = value(frame), other(frame)
        message = _mismatch(frame[0], a, b, **tolerances)
        if frame[0].claims is not None and not message:
            frame[0].claims.append((a, b, node))
        x, y = plain(a), plain(b)
        by_rows = (
            bool(message)
            and Lanes in (type(x), type(y))
            and is_number(x)
            and is_number(y)
            and shape_of(x) == shape_of(y)
        )
        bad, group = _bad_rows(frame[0], x, y, **tolerances) if by_rows else (None, None)
        text = message and f"{told(frame)}{message}"
        note(frame[0], line, text, node.span, bad, group)

    return expect_close


def _false_alone(run: Run, message: str, pairs: list[tuple[str, Any]], row: int) -> tuple[str, str]:
    """What a false claim says of a row by itself."""
    return message, listed([(text, _in_row(run, value, row)) for text, value in pairs])


def _is_exact(run: Run, value: Any) -> bool:
    """Whether each row's value has the bits that it has in the row alone. Computed floats may be
    rounded differently there."""
    value = primal(read(value))
    if type(value) is not Lanes:
        return is_number(value)
    return value.dtype.kind in "bi" or any(value is given for given in run.inputs.values())


def _in_row(run: Run, value: Any, row: int) -> Any:
    assert run.group is not None
    return row_of(run, narrow(primal(read(value)), run.group), row)


def _compile_message(c: Compiler, node: program.Expression | None) -> Closure:
    """The closure of what the program says of a failure, with what parts it from the rest."""
    if node is None:
        return lambda frame: ""
    message = compile_shown(c, node)
    return lambda frame: f"{show(message(frame))}: "


def _tolerance(run: Run, name: str, given: Any, span: Span) -> float:
    value = plain(given)
    if not isinstance(value, int | float) and not (
        hasattr(value, "dtype") and value.dtype.kind in "if" and value.size == 1
    ):
        run.fail(
            "E311",
            f"`{name}` is {describe(read(given))}",
            span,
            help="a tolerance is a number, such as `1e-6`",
        )
    return float(value)


def _first_row(run: Run, mask: Any, group: Group) -> int:
    """The first row where the mask holds, as the outermost `vmap` counts them."""
    row = int(run.backend.xp.flatnonzero(mask)[0])
    outer: Group | None = group
    while outer is not None and outer.parent is not None:
        row, outer = int(outer.origin[row]), outer.parent
    return row


# ---- closeness -----------------------------------------------------------------------------------


def _compare_rows(run: Run, x: Any, y: Any, rtol: float, atol: float) -> str:
    """Compares values that differ between rows. Returns what is wrong in the first row where
    something is, or ""."""
    if shape_of(x) != shape_of(y):
        return f"expected shape {show_shape(shape_of(y))}, got {show_shape(shape_of(x))}"
    bad, group = _bad_rows(run, x, y, rtol, atol)
    if not bool(bad.any()):
        return ""
    k = int(run.backend.xp.flatnonzero(bad)[0])
    mine, other = (
        run.backend.settle(spread(run.backend.xp, v, group).array[..., k].copy()) for v in (x, y)
    )
    return (
        f"{_mismatch(run, mine, other, rtol, atol)}, in row {_first_row(run, bad, group)} of `vmap`"
    )


def _bad_rows(run: Run, x: Any, y: Any, rtol: float, atol: float) -> tuple[Any, Group]:
    """The rows of the group in which values of one shape aren't close."""
    group = operation_group(run, (x, y), None)
    p, q = (spread(run.backend.xp, v, group).array for v in (x, y))
    return ~_good(run, p, q, rtol, atol).reshape(-1, group.size).all(axis=0), group


def _good(run: Run, x: Any, y: Any, rtol: float, atol: float) -> Any:
    xp = run.backend.xp
    # their differences would wrap, or be refused
    p, q = (v.astype("float64") if v.dtype.kind in "bi" else v for v in (x, y))
    return (
        (xp.isfinite(q) & (xp.abs(p - q) <= atol + rtol * xp.abs(q)))
        | (x == y)
        | ((x != x) & (y != y))
    )


def _mismatch(run: Run, a: Any, b: Any, rtol: float, atol: float) -> str:
    """Says what is wrong with `a ~= b`, "" if nothing: equal shapes, |a - b| <= atol + rtol |b| in
    each element, nan equal to nan. An infinity is close to itself only."""
    x, y = plain(a), plain(b)
    if isinstance(x, list) and isinstance(y, list) and len(x) == len(y):
        messages = [_mismatch(run, p, q, rtol, atol) for p, q in zip(x, y, strict=True)]
        return next((f"element {k}: {m}" for k, m in enumerate(messages) if m), "")
    if isinstance(x, dict) and isinstance(y, dict) and x.keys() == y.keys():
        messages = [_mismatch(run, x[k], y[k], rtol, atol) for k in x]
        return next((f"entry `{k}`: {m}" for k, m in zip(x, messages, strict=True) if m), "")
    if isinstance(x, list):
        x = _array(run, x)
    if isinstance(y, list):
        y = _array(run, y)
    if not (is_number(x) and is_number(y)):
        return (
            ""
            if _thing(x) and _thing(y) and same_value(run, a, b)
            else f"expected {show(b)}, got {show(a)}"
        )
    if Lanes in (type(x), type(y)):
        return _compare_rows(run, x, y, rtol, atol)
    if shape_of(x) != shape_of(y):
        return f"expected shape {show_shape(shape_of(y))}, got {show_shape(shape_of(x))}"
    if not shape_of(x):
        return (
            ""
            if _close(x, y, rtol, atol)
            else f"expected {show(y)}, got {show(x)}{_difference(x, y)}"
        )
    xp, good = run.backend.xp, _good(run, x, y, rtol, atol)
    if bool(good.all()):
        return ""
    flat_x, flat_y = x.ravel(), y.ravel()
    worst = int(xp.argmin(good.ravel()))
    return (
        f"expected {show(flat_y[worst])}, got {show(flat_x[worst])} at element {worst} of "
        f"{describe(x)}"
    )


def _array(run: Run, items: list[Any]) -> Any:
    if Lanes in map(type, items):
        group = operation_group(run, items, None)
        return Lanes(
            run.backend.xp.stack([spread(run.backend.xp, item, group).array for item in items]),
            group,
        )
    try:
        array = run.backend.xp.array(items)
    except ValueError:
        return items
    return items if array.dtype == object or array.dtype.kind in "US" else array


def _thing(value: Any) -> bool:
    return value is None or isinstance(value, str | dict | list | List)


def _close(x: Any, y: Any, rtol: float, atol: float) -> bool:
    return bool(
        x == y or (x != x and y != y) or (abs(y) < inf and abs(x - y) <= atol + rtol * abs(y))
    )


def _difference(x: Any, y: Any) -> str:
    difference = abs(x - y)
    return f", off by {difference:.3g}" + (
        f" (relative {difference / abs(y):.3g})" if y and difference == difference else ""
    )
