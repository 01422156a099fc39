"""What isn't finite: nothing can be compared with it, so a value or a gradient that is nan or
infinite is a failure, unless the program itself says that it is meant."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...engine.analysis.requests import named_outputs
from ...engine.backends.backend import CPU, is_inexact, shape_of
from ...engine.values.boxes import primal
from ...engine.values.kinds import leaves, read, show
from ...lang import program
from ...lang.program.walks import own_nodes
from .point import Case, Point
from .results import DISAGREE, SKIPPED, CheckOptions, Finding


def nonfinite(case: Case, options: CheckOptions) -> list[Finding]:
    """A finding for each gradient of an output that can't be compared, because it isn't finite or
    the output isn't; for an output that isn't finite and has no gradient one with variable ""."""
    meant = set() if options.nonfinite else _meant(case.point)

    def verdict(variable: str) -> str:
        return SKIPPED if options.nonfinite or (case.output, variable) in meant else DISAGREE

    for part in case.parts:
        if (at := _first(primal(part))) is not None:
            reason = f"`{case.output}`{at[0]} is {show(at[1])}"
            return [
                Finding(case.output, name, "finite", verdict(""), reason)
                for name in case.gradients or [""]
            ]
    found = []
    for name, gradient in case.gradients.items():
        if (at := _first(case.point.run.backend.to_host(gradient))) is not None:
            found.append(
                Finding(
                    case.output,
                    name,
                    "finite",
                    verdict(name),
                    f"the gradient is {show(at[1])}",
                    where=at[0],
                )
            )
    return found


def nonfinite_others(point: Point, options: CheckOptions) -> list[Finding]:
    """A finding for each output without gradients, such as a derivative that the program asks for,
    that isn't finite."""
    others = (
        {}
        if options.run.of
        else {n: v for n, v in point.answer.outputs.items() if n not in point.answer.targets}
    )
    found = []
    for name, value in others.items():
        at = next(filter(None, (_first(primal(part)) for part in map(read, leaves(value)))), None)
        if at is not None:
            meant = options.nonfinite or (name, "") in _meant(point)
            found.append(
                Finding(
                    name,
                    "",
                    "finite",
                    SKIPPED if meant else DISAGREE,
                    f"`{name}`{at[0]} is {show(at[1])}",
                )
            )
    return found


def _first(value: Any) -> tuple[str, Any] | None:
    """The place and value of the first number that isn't finite; None where all are."""
    xp = CPU.xp
    if not is_inexact(value) or bool(xp.all(xp.isfinite(value))):
        return None
    if not shape_of(value):
        return "", value
    index = tuple(int(k) for k in xp.argwhere(~xp.isfinite(value))[0])
    return f"[{','.join(map(str, index))}]", value[index]


# ---- what a program says of itself ---------------------------------------------------------------


def _meant(point: Point) -> set[tuple[str, str]]:
    """The outputs (with "") and the gradients, by output and variable, that an `expect` which held
    says aren't finite: `expect y == -inf`, `expect grad(y, x) ~= inf`."""
    node = point.program.node
    failed = {e.line for e in point.run.expectations if not e.passed}
    held = {e.line for e in point.run.expectations} - failed
    found: set[tuple[str, str]] = set()
    for item in own_nodes(node.body) if held else ():
        if isinstance(item, program.Expect) and item.span.line in held:
            sides = _sides(item)
            for what, number in (sides, sides[::-1]) if sides else ():
                if any(map(_is_nonfinite, own_nodes((number,)))):
                    found.update(_named(node, what))
    return found


def _sides(claim: program.Expect) -> tuple[Any, Any] | None:
    """The two sides of `A ~= B` or `A == B`."""
    if claim.close_to is not None:
        return claim.value, claim.close_to
    value = claim.value
    if isinstance(value, program.Apply) and value.op.name == "eq":
        return value.operands[0], value.operands[1]
    return None


def _is_nonfinite(node: Any) -> bool:
    return (
        isinstance(node, program.Constant)
        and isinstance(node.value, float)
        and not math.isfinite(node.value)
    )


def _named(node: program.Program, what: Any) -> Iterator[tuple[str, str]]:
    """The outputs that an expression is the value of, or the gradients."""
    outputs = named_outputs(node)

    def names(expression: Any) -> Iterator[str]:
        yield from (name for name, value in outputs if value == expression)
        if isinstance(expression, program.Read):
            yield expression.slot.name

    yield from ((name, "") for name in names(what))
    what = assigned(node, what)
    if isinstance(what, program.Apply) and what.op.name == "grad":
        target, source = what.operands[:2]
        sources = source.items if isinstance(source, program.ListDisplay) else (source,)
        yield from (
            (of, by.slot.name)
            for of in names(target)
            for by in sources
            if isinstance(by, program.Read)
        )


def assigned(node: program.Program, what: Any) -> Any:
    """What a name stands for where it is first assigned at the top level; else the expression."""
    if not isinstance(what, program.Read):
        return what
    found = (s.value for s in node.body if isinstance(s, program.Assign) and _is_to(s.target, what))
    return next(found, what)


def _is_to(target: Any, name: program.Read) -> bool:
    return isinstance(target, program.NameTarget) and target.slot.index == name.slot.index
