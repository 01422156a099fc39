"""Operations on real numbers with infinitesimal imaginary parts, for the complex step.

It rests on f(x + ih) = f(x) + ih f'(x), which holds for analytic functions f and tiny h. Most
functions of the array module are analytic as they are. `analytic_forms.py` has analytic forms of
those that aren't; operations without such a form are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...diagnostics import GradcliError
from ...ops import OPS
from ...ops.rule_values import evaluate
from ..backends.backend import shape_of
from ..operations.elementwise import elementwise
from ..operations.structural import structural
from ..trace.run import Run
from ..trace.tape import Site
from ..values.lanes import Lanes, deepest, narrow, with_rows
from .analytic_forms import FORMS, REFUSED


class NotAnalyticError(Exception):
    """Raised for an operation that has no continuation to complex numbers, or is complex
    already."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.op.name)
        self.site = site


def continued(run: Run, site: Site, operands: list[Any], options: Mapping[str, Any]) -> Any:
    """The op of `site` on operands of which some have an imaginary part. Raises NotAnalyticError
    where it has no analytic form, and GradcliError where it can't be computed."""
    op, xp = site.op, run.backend.xp
    operands = [in_double(v) for v in operands]
    if op.name in REFUSED or (op.name == "cast" and options["dtype"] != "float64"):
        raise NotAnalyticError(site)
    form = FORMS.get(op.name)
    if (form is not None or op.elementwise) and Lanes in map(type, operands):
        return _on_rows(run, site, operands, options)
    if form is not None:
        return run.backend.settle(form(xp, *operands, **options))
    if not op.elementwise:
        return structural(run, site, operands, options)
    if op.forward is not None:
        return _by_operations(run, site, op.forward, operands)
    try:
        return elementwise(run, site, operands)
    except (GradcliError, TypeError):
        raise NotAnalyticError(site) from None


def in_double(value: Any) -> Any:
    """A float32 value in double precision, as float32 can't hold such small imaginary parts; any
    other value as it is."""
    if type(value) is Lanes:
        return Lanes(in_double(value.array), value.group)
    if getattr(value, "dtype", None) != "float32":
        return value
    return value.astype("float64") if value.shape else float(value)


def _on_rows(run: Run, site: Site, operands: list[Any], options: Mapping[str, Any]) -> Lanes:
    """`continued` for lanes: all rows together for an elementwise op, otherwise row by row."""
    group, xp = deepest(operands), run.backend.xp
    if group is None:
        raise NotAnalyticError(site)
    if not site.op.elementwise:
        rows = [
            [
                v.array[..., k] if type(v) is Lanes else v
                for v in (narrow(v, group) for v in operands)
            ]
            for k in range(group.size)
        ]
        results = [continued(run, site, row, options) for row in rows]
        if any(type(y) is list for y in results):
            raise NotAnalyticError(site)
        return Lanes(xp.stack([xp.asarray(y) for y in results], axis=-1), group)
    arrays = [with_rows(v, group) for v in operands]
    y = continued(run, site, arrays, options)
    shape = xp.broadcast_shapes(*(shape_of(v) for v in arrays))
    return Lanes(xp.ascontiguousarray(xp.broadcast_to(y, shape)), group)


def _by_operations(run: Run, site: Site, forward: Callable[..., Any], operands: list[Any]) -> Any:
    """A rule of the table, with each of its operations in its analytic form."""

    def call(name: str, values: list[Any]) -> Any:
        if name == "where":
            return run.backend.settle(run.backend.where(*values))
        return continued(run, site.in_derivative(OPS[name]), values, {})

    return evaluate(forward, operands, call)
