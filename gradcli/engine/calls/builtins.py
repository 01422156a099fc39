"""The builtins that need the engine: containers here, derivatives in `derivatives.py` and
`jacobians.py`. The table has their signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeAlias

from ...diagnostics import Span
from ...ops import OPS
from ...ops.op import Op
from ..ad.derivatives import detach, grad, hvp, jvp, vjp
from ..analysis.requests import is_request
from ..backends.backend import shape_of
from ..operations.apply import to_array
from ..operations.rows.separation import uniform_value
from ..operations.sequences import LAZY, RowRange
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.contents import plain
from ..values.kinds import List, Transform, describe, is_callable, read, show
from ..values.lanes import Lanes


def _listed(name: str) -> Callable[..., List]:
    def implementation(run: Run, site: Site, operands: list[Any], options: dict[str, Any]) -> List:
        values = LAZY[name](run, site, operands)
        if type(values) is RowRange:  # lists of one length only can be one
            values = range(
                *[uniform_value(run, v) for v in (values.start, values.stop, values.step)]
            )
        if type(values) is range:
            run.verify_allocation(8 * len(values), f"a list of {len(values)}", site.span)
        return List(list(values))

    return implementation


def _len(run: Run, site: Site, operands: list[Any], options: dict[str, Any]) -> int:
    value = primal(read(operands[0]))
    if type(value) in (List, dict, str):
        return len(value)
    if shape_of(value):
        return int(value.shape[0])
    run.fail("E301", f"{describe(value)} has no length", site.span)


def _append(run: Run, site: Site, operands: list[Any], options: dict[str, Any]) -> List:
    value = primal(read(operands[0]))
    if type(value) is not List:
        run.fail(
            "E301",
            f"`append` takes a list, and this is {describe(value)}",
            site.span,
            help="`concatenate` joins arrays",
        )
    return value.append(operands[1])


def _array(run: Run, site: Site, operands: list[Any], options: dict[str, Any]) -> Any:
    value = read(operands[0])
    if type(value) is List:
        return to_array(run, site, value)
    if shape_of(primal(value)) or type(primal(value)) in (float, int, bool, complex):
        return value
    run.fail("E301", f"`array` takes a list of numbers, and this is {describe(value)}", site.span)


Implementation: TypeAlias = "Callable[[Run, Site, list[Any], dict[str, Any]], Any]"

IMPLEMENTATIONS: dict[str, Implementation] = {
    "range": _listed("range"),
    "zip": _listed("zip"),
    "enumerate": _listed("enumerate"),
    "len": _len,
    "append": _append,
    "array": _array,
    "detach": detach,
    "stop_gradient": detach,
    "grad": grad,
    "hvp": hvp,
    "vjp": vjp,
    "jvp": jvp,
}


@cache
def _rarer() -> dict[str, Implementation]:
    """What most programs don't call, and start the faster for."""
    from ..jacobian.batches import batch_jacobian
    from ..jacobian.jacobians import hessian, jacobian
    from ..transforms.attached import attach_grad
    from ..transforms.backward import backward

    return {
        "attach_grad": attach_grad,
        "backward": backward,
        "jacobian": jacobian,
        "hessian": hessian,
        "batch_jacobian": batch_jacobian,
    }


def implementation(op: Op) -> Implementation:
    """The function that implements an engine builtin: `(run, site, operands, options) -> value`."""
    if op.transforms:
        return lambda run, site, operands, options: transform(
            run, site, operands[0], transform_options(run, site, options)
        )
    return IMPLEMENTATIONS.get(op.name) or _rarer()[op.name]


def transform(run: Run, site: Site, function: Any, options: dict[str, Any]) -> Transform:
    """Makes the function that a transform such as `grad(f)` is. Raises GradcliError (E314) for
    anything but a function."""
    function = read(function)
    if not is_callable(function):
        name = site.op.name
        values = (
            f"`{name}({', '.join(p.name for p in OPS[name].signature.operands)})`"
            if OPS[name].of_function
            else ""
        )
        help = f"of values it is {values}" if values else "it takes the function and gives one"
        run.fail(
            "E314",
            f"`{name}` of one argument takes a function, and this is {describe(function)}",
            site.span,
            help=help,
        )
    return Transform(site.op.name, function, **options)


def plain_options(run: Run, site: Site, given: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The options that a call gives to a structural builtin, as plain values. Raises GradcliError
    (E311) for a function, and where an option that is true or false gets something else."""
    defaults, options = site.op.signature.defaults, {}
    for name, value in given:
        option = options[name] = plain(value)
        if type(defaults.get(name)) is bool and type(option) not in (bool, Lanes):
            run.fail(
                "E311", f"`{name}` is {describe(option)}", site.span, help="it is true or false"
            )
        if is_callable(option):
            help = "it is a number, a string, or a list of these"
            run.fail("E311", f"`{name}` is {describe(option)}", site.span, help=help)
    return options


def transform_options(run: Run, site: Site, options: dict[str, Any]) -> dict[str, Any]:
    """The options of a transform as plain values. Raises GradcliError (E311) for those that can't
    be."""
    if "in_axes" in options:
        return {"in_axes": verify_axes(run, options["in_axes"], site.span)}
    from ..jacobian.jacobians import verify_mode

    wrt, mode = plain(options["wrt"]), options.get("mode", "auto")
    positions = wrt if isinstance(wrt, list) else [wrt]
    if (
        not positions
        or not all(type(k) is int and k >= 0 for k in positions)
        or len(set(positions)) < len(positions)
    ):
        message = f"`wrt` is {show(options['wrt'])}"
        run.fail(
            "E311",
            message,
            site.span,
            help="it is the position of an argument, from 0, or a list of these",
        )
    return {
        "wrt": wrt,
        "mode": verify_mode(run, mode, site.span),
        "sparse": bool(primal(read(options.get("sparse", False)))),
    }


def verify_axes(run: Run, in_axes: Any, span: Span) -> Any:
    """The value of `in_axes`: an int, None, or a list of these. Raises GradcliError (E311) for
    anything else."""
    axes = plain(in_axes)
    listed = axes if isinstance(axes, list) else [axes]
    if not listed or not all(a is None or type(a) is int for a in listed):
        help = (
            "it is the axis that the rows lie along, none for an argument that they share, or a "
            "list of these"
        )
        run.fail("E311", f"`in_axes` is {show(in_axes)}", span, help=help)
    return axes


def asks_of_values(op: Op) -> bool:
    """Whether an op asks for a derivative of values that have been computed, which needs a
    trace."""
    return is_request(op) and not op.transforms
