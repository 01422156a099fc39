"""The builtin `backward`: it fills attached gradients and consumes the operations that it passed.

It sweeps over what `record` blocks recorded between its heads and the attached variables, and over
nothing else. Segments mark an operation as consumed; only a later `backward` reads that mark.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ...diagnostics import Diagnostic, GradcliError, Span
from ...ops import OPS
from ..ad.derivatives import detach, gradients
from ..ad.targets import seeds_for, verify_target
from ..operations.apply import apply
from ..trace.changes import note
from ..trace.keeping import KeepingTrace
from ..trace.records import record_in
from ..trace.run import Run
from ..trace.tape import Site, Traced
from ..trace.windows import stretch_at
from ..values.boxes import primal
from ..values.kinds import Variable, describe, leaves, read
from .attached import recorded
from .backward_window import BackwardWindow

ADD, DETACH = OPS["add"], OPS["detach"]


def backward(run: Run, site: Site, operands: list[Any], options: dict[str, Any]) -> None:
    """Implements `backward(target)`: fills the gradient of every attached variable that the target
    depends on.

    All gradients are computed before the first is filled. Raises GradcliError: E325 for a target
    that no `record` block computed from an attached variable, E326 where an operation on the path
    was consumed.
    """
    target, span = operands[0], site.span
    retain, create = (_flag(run, name, options[name], span) for name in ("retain", "create"))
    heads = [_head(run, value, span) for value in leaves(target)]
    if len({head[2].trace for head in heads}) != 1:
        message = (
            "the heads of `backward` come from different transforms"
            if heads
            else "`backward` has no head"
        )
        run.fail("E325", message, span, help="go back from the values of one `record` block")
    seeds = seeds_for(run, heads, target, options["head"], site, given="head")
    attached = {v.number: v for v in run.attached.values() if v.req != "null"}
    path = BackwardWindow(heads, attached.keys())
    if path.marked.isdisjoint(head[1] for head in heads):
        _fail_unattached(run, path, span)
    _verify_not_consumed(run, path, span)
    variables = [v for number, v in attached.items() if number in path.marked]
    if create or path.trace.keeps_constants:  # closed forms are read through gradients, too
        filled = recorded(
            run, lambda: _filled(run, site, variables, gradients(run, seeds, variables, True, path))
        )
        if not create:  # nothing is differentiated through them
            cut = site.in_derivative(DETACH)
            filled = [detach(run, cut, [grad], {}) for grad in filled]
        # The gradients outlive a function that a transform calls: their numbers mustn't be reused.
        path.trace.switched += 1
    elif path.trace.level:  # its records hold values of the levels below
        found = gradients(run, seeds, variables, True, path)
        filled = _filled(run, site, variables, [primal(g) for g in found])
    else:
        plain_seeds = [(head, primal(cotangent)) for head, cotangent in seeds]
        filled = _filled(run, site, variables, gradients(run, plain_seeds, variables, False, path))
    for variable, grad in zip(variables, filled, strict=True):
        note(run, ("grad", variable))
        variable.grad = grad
    if not (retain or create):
        path.consume(span)


def _flag(run: Run, name: str, value: Any, span: Span) -> bool:
    value = primal(read(value))
    if type(value) is not bool:
        run.fail("E311", f"`{name}` is {describe(value)}", span, help="it is true or false")
    return value


def _filled(run: Run, site: Site, variables: list[Variable], found: list[Any]) -> list[Any]:
    """Returns the new gradients of the variables: replaced or added to, as each variable's `req`
    says.
    """
    return [
        v.grad
        if g is None
        else apply(run, site.in_derivative(ADD), (v.grad, g))
        if v.req == "add"
        else g
        for v, g in zip(variables, found, strict=True)
    ]


# ---- what is refused -----------------------------------------------------------------------------


def _head(run: Run, value: Any, span: Span) -> Traced:
    """Returns a head as the trace holds it.

    Raises GradcliError (E325) if no `record` block computed it.
    """
    verify_target(run, value, span)
    name = f"the variable `{value.name}`" if type(value) is Variable else "a variable"
    head = read(value)
    if type(head) is not tuple:
        _fail_plain(run, head, span)
    _, number, segment = head
    if isinstance(segment.trace, KeepingTrace) and number not in segment.trace.active:
        _fail_plain(run, head, span)
    if number < 0:
        help = "compute something from it inside `record { … }`"
        run.fail(
            "E325", f"the head of `backward` is {name} itself", span, "no operation made it", help
        )
    inside, _ = stretch_at(segment.stretches, number)
    if not inside:
        label = f"{_place(record_in(segment, number).site.span, span)} computed it"
        run.fail(
            "E325",
            "the head of `backward` wasn't computed inside `record`",
            span,
            label,
            "compute it inside `record { … }`",
        )
    return head


def _place(span: Span, seen_from: Span) -> str:
    return f"line {span.line}" if span.source is seen_from.source else str(span)


def _fail_plain(run: Run, head: Any, span: Span) -> NoReturn:
    """Fails for a head without a history.

    Only a run that keeps everything can say what cut the history.
    """
    message = f"the head of `backward` is a plain value: {describe(head)}"
    if type(head) is tuple and isinstance(trace := head[2].trace, KeepingTrace):
        from ..explain import reasons
        from ..explain.ancestry import Ancestry

        ancestry = Ancestry(trace)
        for variable in run.attached.values():
            reason = reasons.break_between(ancestry, variable.number, {head[1]})
            if reason is not None and reason.span is not None:
                label = f"{_place(reason.span, span)}: {reason.text}"
                raise GradcliError(
                    Diagnostic("E325", message, span, label, reason.help, reason.code)
                )
    help = (
        "compute it inside `record { … }`, from something with an attached gradient; `detach` "
        "and `pause` leave no history"
    )
    run.fail("E325", message, span, "nothing that led to it was recorded", help)


def _fail_unattached(run: Run, path: BackwardWindow, span: Span) -> NoReturn:
    message = "the head of `backward` depends on nothing with an attached gradient"
    if path.outside is not None:
        label = (
            f"{_place(path.outside.span, span)} was computed outside `record`, and counts as "
            "constant"
        )
        help = (
            "compute it inside `record { … }`; a variable is updated with `:=`, which keeps its "
            "gradient attached"
        )
        run.fail("E325", message, span, label, help)
    sources = [
        v
        for v in dict.fromkeys([*run.declared.values(), *run.attached.values()])
        if v.number in path.leaves
    ]
    label = f"it depends on {', '.join(f'`{v.name}`' for v in sources[:8])}" if sources else ""
    help = f"write `attach_grad({sources[0].name if sources else 'x'})` before the `record` block"
    if sources and sources[0].req == "null":
        label = f'`{sources[0].name}` is attached with `req = "null"`'
        help = 'attach it with "write" or "add"'
    run.fail("E325", message, span, label, help)


def _verify_not_consumed(run: Run, path: BackwardWindow, span: Span) -> None:
    found = path.consumed()
    if found is None:
        return
    site, consumer = found
    by = (
        "this `backward` itself"
        if consumer == span
        else f"the `backward` on {_place(consumer, span)}"
    )
    label = f"`{site.span.text}` on {_place(site.span, span)} was consumed by {by}"
    help = (
        f"write `retain = true` in the `backward` on {_place(consumer, span)} to go this way again"
    )
    run.fail("E326", "this `backward` needs an operation that was consumed", span, label, help)
