"""Reading what a function's own derivative rule returned: one gradient for each parameter."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import and_
from typing import Any, NoReturn

from ...diagnostics import CallSite, Diagnostic, GradcliError
from ...lang import program
from ...ops import OPS
from ...structs import Struct
from ..backends.backend import shape_of
from ..operations.apply import apply, to_array
from ..operations.sequences import unpacked
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import List, describe, leaves, read, show_shape
from ..values.lanes import Lanes, deepest, spread
from .targets import converted

POS = OPS["pos"]
WHERE = OPS["where"]


class RuleAnswer(Struct):
    """Reads what the rule of a function returned. `operands` are the inputs of the record, which
    say their shapes and dtypes."""

    run: Run
    function: program.Function
    rule: program.Function
    site: Site
    operands: Any

    def gradients(self, parameters: List, answer: Any, dy: Any) -> dict[int, Any]:
        """The gradients that aren't none, by positions of the record's inputs, in their shapes and
        dtypes. Raises GradcliError (E322) unless the answer has one gradient for each
        parameter."""
        names = [p.slot.name for p in self.function.parameters]
        answer = read(answer)
        if len(names) == 1 and not self._is_wrapped(parameters[0], answer):
            answer = List([answer])
        if type(answer) is not List or len(answer) != len(names):
            given = (
                describe(answer) if type(answer) is not List else _count(len(answer), "gradient")
            )
            self._fail(
                (
                    f"returned {given}, and `{self.function.name}` has "
                    f"{_count(len(names), 'parameter')}"
                ),
                help=(
                    "return a list of one gradient a parameter, "
                    f"[{', '.join(f'd_{n}' for n in names)}]; `none` is no gradient"
                ),
            )
        return {
            k: _strict(self.run, self.site, dy, self._fitted(name, g, self.operands[k]))
            for part, each, of in zip(parameters, answer, names, strict=True)
            for k, g, name in self._paired(part, each, of)
        }

    def _is_wrapped(self, part: Any, answer: Any) -> bool:
        """Whether the answer for a single parameter is a list with its gradient, rather than a
        gradient that is a list."""
        if type(answer) is not List or len(answer) != 1:
            return False
        inner = read(answer[0])
        if type(part) is List:
            return type(inner) is List and not (len(part) == 1 and type(part[0]) is List)
        return (
            type(part) is not int
            or inner is None
            or shape_of(primal(inner)) == shape_of(self.operands[part])
        )

    def _paired(self, part: Any, g: Any, name: str) -> Iterator[tuple[int, Any, str]]:
        """The inputs in an argument, each with its gradient and its name."""
        g = read(g)
        if g is None or part is None:
            return
        if type(part) is List:
            g = List(unpacked(self.run, self.site, g)) if shape_of(primal(g)) else g
            if type(g) is not List or len(g) != len(part):
                self._fail(f"returned {describe(g)} for `{name}`, which is a list of {len(part)}")
            for k, (inner, each) in enumerate(zip(part, g, strict=True)):
                yield from self._paired(inner, each, f"{name}[{k}]")
        elif type(part) is dict:
            if type(g) is not dict or g.keys() != part.keys():
                self._fail(
                    f"returned {describe(g)} for `{name}`, which is a dict of {', '.join(part)}"
                )
            for key, inner in part.items():
                yield from self._paired(inner, g[key], f"{name}.{key}")
        else:
            yield part, g, name

    def _fitted(self, name: str, g: Any, like: Any) -> Any:
        """A gradient in the dtype of its input. Raises GradcliError (E322) where the shapes
        differ."""
        run, site = self.run, self.site
        g = to_array(run, site, g) if type(g) is List else g
        value, shape = primal(g), shape_of(like)
        if not hasattr(value, "dtype") and type(value) not in (float, int, complex):
            self._fail(
                f"returned {describe(value)} for `{name}`",
                help="a gradient is a number or an array",
            )
        if shape_of(value) != shape:
            self._fail(
                (
                    f"returned a gradient of shape {show_shape(shape_of(value))} for `{name}`, "
                    f"whose shape is {show_shape(shape)}"
                ),
                help=(
                    "a gradient has the shape of its parameter: `sum` over the axes along which "
                    "the body repeats it"
                ),
            )
        return converted(run, site, g, like)

    def _fail(self, message: str, help: str = "") -> NoReturn:
        returns = [node for node in self.rule.body if isinstance(node, program.Return)]
        span = returns[0].span if len(returns) == 1 else self.rule.span
        calls = (CallSite(self.rule.name, self.site.span),)
        raise GradcliError(
            Diagnostic(
                "E322",
                f"the rule of `{self.function.name}` {message}",
                span,
                help=help,
                calls=calls,
            )
        )


def marked(run: Run, site: Site, g: Any) -> Any:
    """A gradient that a rule returned, with a record by which `check` recognises it. Where
    everything is kept, a plain number gets a record, too: that it depends on nothing is a statement
    about its derivative."""
    if primal(g) is g and run.trace.keeps_all:
        g = run.trace.leaf(g, origin=run.trace.leaves)
    return apply(run, site.in_derivative(POS), (g,)) if primal(g) is not g else g


def _strict(run: Run, site: Site, dy: Any, c: Any) -> Any:
    """A gradient made strict: non-finite elements are 0 where the cotangent is 0. That is decided
    element by element if gradient and cotangent have one shape, otherwise for the whole
    cotangent."""
    backend, value = run.backend, primal(c)
    if backend.is_finite(value):
        return c
    parts = [primal(part) for part in leaves(dy) if part is not None]
    group = deepest((value, *parts))
    whole, *cotangents = [
        backend.operand(v) if group is None else spread(backend.xp, v, group).array
        for v in (value, *parts)
    ]
    idle = [part == 0 for part in cotangents]
    if len(idle) > 1 or idle[0].shape != whole.shape:
        rows = int(group is not None)  # the last axis
        idle = [part.all(axis=tuple(range(part.ndim - rows))) for part in idle]
    unused = reduce(and_, idle, ~backend.xp.isfinite(whole))
    return apply(
        run,
        site.in_derivative(WHERE),
        (backend.settle(unused) if group is None else Lanes(unused, group), 0.0, c),
    )


def _count(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"
