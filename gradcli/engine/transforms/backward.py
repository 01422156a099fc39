"""The builtin `backward`: it fills attached gradients and consumes the operations that it passed.

It sweeps over what `record` blocks recorded between its heads and the attached variables, and over
nothing else. Segments mark an operation as consumed; only a later `backward` reads that mark."""

from __future__ import annotations

from collections.abc import Set
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
from ..trace.tape import Segment, Site, Traced, reachable
from ..trace.windows import STRIDE, Window, inputs_of, stretch_at
from ..values.boxes import primal
from ..values.kinds import Variable, describe, leaves, read
from .attached import recorded

# ---- the operations between heads and attached variables -----------------------------------------


class BackwardWindow(Window):
    """A window that sees what `record` recorded between the heads of a `backward` and the attached
    variables.

    marked   the numbers of these operations, and of the variables that they lead to
    steps    the operations' numbers by segment: newest segment first, in it the oldest number first
    leaves   all leaves that the heads depend on
    outside  the newest operation on the way back that no `record` block recorded, where the way
             ends
    """

    __slots__ = ("leaves", "marked", "outside", "steps")

    def __init__(self, heads: list[Traced], attached: Set[int]) -> None:
        super().__init__(heads[0][2].trace, automatic=False)
        self.steps: list[tuple[Segment, list[int]]] = []
        self.outside: Site | None = None
        self.leaves = self._walk_back(heads)
        self.marked = set(self.leaves & attached)
        if self.outside is None and self.marked == self.leaves and not self.trace.keeps_all:
            for _, numbers in self.steps:  # every way back ends at an attached variable
                self.marked.update(numbers)
        else:
            self._mark()

    def _walk_back(self, heads: list[Traced]) -> set[int]:
        """Collects the operations that the heads depend on; returns the leaves among their
        inputs.
        """
        active = self.trace.active if isinstance(self.trace, KeepingTrace) else None
        pending = {head[1] for head in heads}
        for segment in reachable([head[2] for head in heads], 0):
            first, records = segment.first, segment.records
            newest = max(pending, default=-1)
            if newest < 0:
                break  # only leaves are left
            left = sum([number >= first for number in pending])
            inside, since = stretch_at(segment.stretches, newest)
            numbers: list[int] = []
            for number in range(newest, first - 1, -1):
                if number not in pending:
                    continue
                pending.remove(number)
                left -= 1
                if number < since:
                    inside, since = stretch_at(segment.stretches, number)
                k = (number - first) * STRIDE
                if active is not None and number not in active:
                    pass
                elif inside:
                    numbers.append(number)
                    for n in inputs_of(records[k + 1], records[k + 2]):
                        if n not in pending:
                            pending.add(n)
                            left += n >= first
                elif self.outside is None:
                    self.outside = records[k]
                if not left:
                    break
            if numbers:
                numbers.reverse()
                self.steps.append((segment, numbers))
        return pending

    def _mark(self) -> None:
        """Keeps, of the collected operations, those that depend on a variable in `marked`."""
        marked = self.marked
        for segment, numbers in reversed(self.steps):
            first, records = segment.first, segment.records
            kept = []
            for number in numbers:
                k = (number - first) * STRIDE
                in0, in1 = records[k + 1], records[k + 2]
                if (
                    in0 in marked
                    or in1 in marked
                    or (type(in0) is tuple and not marked.isdisjoint(in0))
                ):
                    marked.add(number)
                    kept.append(number)
            numbers[:] = kept

    def sees_all(self, wanted: set[int]) -> bool:
        return False

    def marks(self, segments: list[Segment], wanted: set[int]) -> tuple[set[int], set[int]]:
        return self.marked, set()

    def first_number(self) -> int:
        return self.steps[-1][0].first

    def consumed(self) -> tuple[Site, Span] | None:
        """Returns the newest operation that an earlier `backward` consumed, and the span of that
        `backward`.
        """
        for segment, numbers in self.steps:
            first, consumed = segment.first, segment.consumed
            for number in reversed(numbers) if consumed else ():
                k = number - first
                by = consumed[k] if k < len(consumed) else None
                if by is not None:
                    return segment.records[k * STRIDE], by
        return None

    def consume(self, by: Span) -> None:
        for segment, numbers in self.steps:
            segment.consumed += [None] * (len(segment) - len(segment.consumed))
            for number in numbers:
                segment.consumed[number - segment.first] = by


# ---- the builtin ---------------------------------------------------------------------------------


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
