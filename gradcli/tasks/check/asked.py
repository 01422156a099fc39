"""The derivatives that a program asks for itself: the rules behind them, each at its actual
operands, to the order asked; and what it claims of derivatives, one order further.

Where a derivative is differentiated once more, so is the rule of each function that has one of its
own. A rule that gives the right numbers needn't have the right derivative: what it computes may be
cut off from its operands, or have a wrong rule itself. So its derivative, by a sweep over what it
computed, is compared with differences of the derivative of the body.

Where `expect mine ~= grad(y, x)` holds, and both sides depend on `x`, their derivatives by `x` are
equal, too, unless the two are equal at this point alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...diagnostics import Diagnostic, GradcliError
from ...engine.ad.derivatives import gradients, recording_view
from ...engine.ad.reverse import sweep
from ...engine.ad.rule_answers import POS
from ...engine.analysis.requests import is_request
from ...engine.backends.backend import CPU, shape_of
from ...engine.execution import running
from ...engine.replay.history import CUTS, History, Step, needed
from ...engine.replay.rounding import rounding
from ...engine.replay.value_trace import ValueTrace
from ...engine.trace.run import Expectation, Run
from ...engine.trace.tape import Site, Traced
from ...engine.values.boxes import primal
from ...engine.values.kinds import leaves, read, show
from ...engine.values.lanes import Lanes
from ...lang import program
from .blame import Call, Doubt, wrong_steps
from .differences import Estimate, Samples, extrapolated, one_sided
from .directions import Scatter, seed_of
from .finite import assigned
from .operation_slopes import WRONG, inner_product, like
from .point import Point

MANY_PLACES = 300  # of operations
FIRST = 0.05  # step, of vectors whose numbers are of the size of 1
DISTURBED = 3  # evaluations with other rounding errors
SMOOTH = 1e-2  # a relative distance between the slopes to both sides that is none


class Tested(NamedTuple):
    """At how many places operations were tested in the derivatives that a program asks for, those
    whose rule is wrong, and the calls whose rule has a wrong derivative, with what is wrong about
    it."""

    places: int
    doubts: list[Doubt]
    broken: list[tuple[Step, str]]


def asked_for(
    run: Run, sweeps: Sequence[tuple[list[Traced], set[int]]], outputs: Sequence[Traced]
) -> Tested:
    """The rules of the operations that these sweeps of the program itself went through, each place
    once: an output that is a gradient has none unasked, and what it rests on is tested so. The
    gradients of `outputs` go on from there."""
    doubts: list[Doubt] = []
    seen: dict[Any, int] = {}
    histories: list[History] = []
    for targets, wanted in sweeps:
        if len(seen) < MANY_PLACES:
            histories.append(History(run, targets, wanted))
            doubts += wrong_steps(histories[-1], seen)
    doubted = {doubt.step.site for doubt in doubts}
    again = [step for step in _derived_again(run, histories, outputs) if step.site not in doubted]
    broken = [(step, fault) for step in again if (fault := _fault(run, step))]
    # The body of a function need not say what its rule is of, where it cuts what it does off.
    return Tested(len(seen), [d for d in doubts if not d.surrogate and not d.is_cut], broken)


def _derived_again(run: Run, histories: Sequence[History], outputs: Sequence[Traced]) -> list[Step]:
    """The calls of functions with a rule of their own that one sweep passes, and whose derivative
    another one differentiates, or the gradient of an output; each place once."""
    calls = {
        step.site: step
        for history in histories
        for step in reversed(history.own_rules)
        if step.body is not None
    }
    results = {site.in_derivative(POS).on((0,)): site for site in calls}
    found: dict[Any, None] = {}
    for targets in [*(history.targets for history in histories), outputs] if calls else []:
        for site in _sites(run, targets):
            if site in results:
                found[results[site]] = None
    return [calls[site] for site in found]


def _sites(run: Run, targets: Sequence[Traced]) -> Iterator[Site]:
    """The sites that the targets come from, as far back as a program differentiates: not beyond its
    own `detach` and `pause`."""
    trace = run.trace
    assert isinstance(trace, ValueTrace)
    reached = {target[1] for target in targets}
    for record in needed(targets):
        number = record.number
        if (
            number in reached
            and record.site.op.name not in CUTS
            and not (number in trace.paused and number not in trace.active)
        ):
            reached.update(record.inputs)
            yield record.site


def _fault(run: Run, step: Step) -> str:
    """What is wrong about the derivative of the rule behind a call; "" if nothing is found."""
    if not run.trace.main.covers(step.number) or any(type(v) is Lanes for v in step.operands):
        return ""
    try:
        call = Call(run, step)
        if call.inner.cut is not None:
            return ""  # the body isn't what the rule is of
        moved = call.vectors()
        cotangent_moves = [None if g is None else like(call.scatter, g) for g in call.cotangents]
        ours, theirs = (
            _swept(call, moved, cotangent_moves),
            _differences(call, moved, cotangent_moves),
        )
    except GradcliError:
        return ""  # what can't be evaluated again can't be judged
    if (
        theirs is None
        or not abs(ours - theirs.value)
        > WRONG * max(abs(ours), abs(theirs.value)) + 100 * theirs.error
    ):
        return ""
    given = f"along a random direction it is {show(ours)}, and by differences {show(theirs.value)}"
    return (
        f"the rule of `{step.site.op.name}` is right, but its derivative, which this needs, is "
        f"wrong: {given}"
    )


def _swept(call: Call, moved: dict[int, Any], cotangent_moves: list[Any]) -> float:
    """The derivative, by the rules, of <the rule's result, tangent> where the inputs and the
    cotangents move."""
    run = call.run
    with recording_view(run) as window:
        leaves = [None if g is None else run.trace.leaf(g) for g in call.cotangents]
        first = call.pulled(leaves, recorded=True, window=window)
        seeds = [
            (g, seed_of(g, call.tangents[n]))
            for n, g in first.items()
            if n in call.tangents and type(g) is tuple
        ]
        vectors = {
            leaf[1]: t for leaf, t in zip(leaves, cotangent_moves, strict=True) if leaf is not None
        } | moved
        second = sweep(run, seeds, set(vectors), recorded=False, window=window)
    return sum(
        inner_product(primal(second[n]), vector) for n, vector in vectors.items() if n in second
    )


def _differences(call: Call, moved: dict[int, Any], cotangent_moves: list[Any]) -> Estimate | None:
    """The derivative that `_swept` has by rules, by differences of the derivative of the body; None
    where there is none, as at a kink."""

    def beside(h: float) -> tuple[dict[int, Any], list[Any]]:
        pairs = zip(call.cotangents, cotangent_moves, strict=True)
        return {n: h * v for n, v in moved.items()}, [
            None if g is None else g + h * t for g, t in pairs
        ]

    def slope(h: float) -> float:
        try:
            return call.slope(*beside(h))[0]
        except GradcliError:
            return float("nan")

    value, error = call.slope(*beside(0.0))
    samples = Samples(slope, value, FIRST, call.eps)
    if error:  # of differences, whose own differences say little
        return None
    samples.floor = max(
        abs(call.slope({}, call.cotangents, rounding(seed, call.eps))[0] - value)
        for seed in range(DISTURBED)
    )
    left, right = one_sided(samples)
    if (
        not abs(left.value - right.value)
        <= SMOOTH * max(abs(left.value), abs(right.value)) + left.error + right.error
    ):
        return None
    return extrapolated(samples)


# ---- claims: where `expect mine ~= grad(y, x)` holds, one order further --------------------------


CLOSE = 1e-6  # of what is added up to a derivative


def broken_claims(point: Point) -> Iterator[Expectation]:
    """An expectation that failed for each `expect A ~= B` in which a side is a derivative, and
    which holds at this point but not around it."""
    run, answer, claims = point.claims()
    for a, b, node in claims:
        names = [
            n
            for side in (node.value, node.close_to)
            for n in _variables(assigned(point.program.node, side))
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
