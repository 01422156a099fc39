"""What a program claims of its derivatives, one order further: where `expect mine ~= grad(y, x)`
holds, and both sides depend on `x`, their derivatives by `x` are equal, too, unless the two are
equal at this point alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...diagnostics import Diagnostic, GradcliError
from ...engine.ad.derivatives import gradients
from ...engine.analysis.requests import is_request
from ...engine.backends.backend import CPU, shape_of
from ...engine.execution import running
from ...engine.trace.run import Expectation, Run
from ...engine.values.boxes import primal
from ...engine.values.kinds import leaves, read, show
from ...lang import program
from .directions import seed_of
from .point import Point
from .scatter import Scatter

CLOSE = 1e-6  # of what is added up to a derivative


def broken_claims(point: Point) -> Iterator[Expectation]:
    """An expectation that failed for each `expect A ~= B` in which a side is a derivative, and
    which holds at this point but not around it."""
    run, answer, claims = point.claims()
    for a, b, node in claims:
        names = [
            n
            for side in (node.value, node.close_to)
            for n in _variables(side)
            if n in answer.sources
        ]
        sources = [answer.sources[name] for name in names]
        try:
            with running():
                left, right = (_slopes(run, side, sources) if sources else [] for side in (a, b))
        except GradcliError:
            continue  # what has no second derivative
        for name, p, q in zip(names, left, right, strict=True):
            if p is not None and q is not None and _are_apart(p, q):
                yield _failed(node, name, p, q)
                break


def _variables(side: Any) -> Iterator[str]:
    """The names by which an expression asks for a derivative, where it is a request for one:
    `grad(y, x)`, `grad(f)(x)`."""
    if isinstance(side, program.Apply) and is_request(side.op):
        sources: Any = side.operands[1] if len(side.operands) > 1 else None
        items = sources.items if isinstance(sources, program.ListDisplay) else (sources,)
    elif (
        isinstance(side, program.Call)
        and isinstance(side.callee, program.Apply)
        and is_request(side.callee.op)
    ):
        items = tuple(argument.value for argument in side.arguments[:1])
    else:
        items = ()
    yield from (item.slot.name for item in items if isinstance(item, program.Read))


def _slopes(run: Run, side: Any, sources: list[Any]) -> list[Any]:
    """The gradients of the weighted sum of a side's numbers, as arrays; None where there is
    none."""
    values = [read(v) for v in leaves(side)]
    if not all(type(v) is tuple for v in values):
        return [None] * len(sources)
    single, scatter = len(values) == 1, Scatter(len(values), 3)
    shapes = [shape_of(primal(v)) for v in values]
    seeds = [
        (v, seed_of(v, 1.0 if single and not s else scatter.sizes(s)))
        for v, s in zip(values, shapes, strict=True)
    ]
    found = gradients(run, seeds, sources, recorded=False)
    return [None if g is None else CPU.xp.asarray(run.backend.to_host(g)) for g in found]


def _are_apart(p: Any, q: Any) -> bool:
    size = CPU.xp.maximum(abs(p), abs(q)).max(initial=0.0)
    return bool(abs(p - q).max(initial=0.0) > CLOSE * size)


def _failed(node: program.Expect, name: str, left: Any, right: Any) -> Expectation:
    worst = int(abs(left - right).argmax())
    p, q = show(left.ravel()[worst].item()), show(right.ravel()[worst].item())
    text = node.span.text
    message = (
        f"`{text}` holds here alone: the derivative of its left side with respect to "
        f"`{name}` is {p}, of its right side {q}"
    )
    return Expectation(node.span.line, False, message, Diagnostic("E601", message, node.span))
