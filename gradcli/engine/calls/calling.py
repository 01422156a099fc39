"""Calls of any value: of functions, of what transforms make of them, of builtins and of
instances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnostics import Span
from ...ops.op import BindingError, Op
from ..backends.backend import shape_of
from ..compilation.compiler import Compiler
from ..lanes.mapping import call_mapped
from ..operations.apply import apply
from ..operations.instances import call_member
from ..operations.invoke import call_function
from ..operations.sequences import unpacked
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import Function, Instance, List, Transform, describe, read
from . import builtins


def caller(c: Compiler, span: Span) -> Callable[..., Any]:
    """The function that makes the calls at a place of the program: `call_value`, or a quicker one
    where calls are hot."""
    hot = c.handlers.hot_calls(c, span)
    return call_value if hot is None else hot.call


def call_value(
    run: Run,
    callee: Any,
    arguments: list[Any],
    keywords: dict[str, Any],
    site: Site,
    path: str | None = None,
) -> Any:
    """Calls any value: a function of the program, a builtin, or an instance by its `call`; `path`
    is where the result goes. Raises GradcliError (E308) for anything else."""
    if type(callee) is Function:
        return call_function(run, callee, arguments, keywords, site, path)
    if type(callee) is Transform:
        from ..transforms.transforms import call_transform  # not at every start

        return (call_mapped if callee.kind == "vmap" else call_transform)(
            run, callee, arguments, keywords, site
        )
    if isinstance(callee, Op):
        return call_op(run, callee, arguments, keywords, site.span)
    if type(callee) is Instance:
        return call_value(run, call_member(run, callee, site.span), arguments, keywords, site, path)
    run.fail(
        "E308",
        f"{describe(callee)} is not a function",
        site.span,
        help="an element is `x[i]`; indices count from 0"
        if type(callee) is List or shape_of(primal(read(callee)))
        else "only functions can be called",
    )


def call_op(run: Run, op: Op, arguments: list[Any], keywords: dict[str, Any], span: Span) -> Any:
    """Calls a builtin that is only known when the program runs, and binds the arguments to its
    signature."""
    op = op.called_with(len(arguments), list(keywords))
    try:
        operands, given = op.signature.bound(op.name, arguments, keywords, List)
    except BindingError as error:
        run.fail("E308", error.message, span, help=error.help)
    return run_op(run, Site(op, span), operands, given)


def run_op(run: Run, site: Site, operands: list[Any], given: dict[str, Any]) -> Any:
    """Applies a builtin of any kind to bound arguments."""
    op = site.op
    defaults = op.signature.defaults
    if op.engine:
        return builtins.implementation(op)(run, site, operands, defaults | given)
    options = defaults | builtins.plain_options(run, site, given.items())
    # `einsum("ii", a)` means `a` itself
    if op.signature.variadic and not op.signature.leading and len(operands) == 1:
        operands = unpacked(run, site, operands[0])
    return apply(run, site, tuple(operands), options)
