"""`plot`: curves over one range, a family of them, or contours over two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...diagnostics import Diagnostic, GradcliError
from ...lang import program
from ..evaluation import Options
from .contours import contours
from .curves import curves
from .function import Function
from .results import Axis, Curve, Plot

MOST_ORDERS = 4
MOST_CURVES = 12  # in one plot
_OF_THE_JOB = 4  # the exit code of limits


@dataclass(frozen=True, slots=True)
class Request:
    """What to plot, and how well.

    order      how many derivatives are shown
    family     the values of another input, a curve for each
    budget     points at which a curve is evaluated, at most
    tolerance  how far a curve may be from the line that is drawn, as a part of what it varies
    grid       points along each of two axes
    """

    axes: tuple[Axis, ...]
    order: int = 1
    family: tuple[str, list[float]] | None = None
    budget: int = 10_000
    tolerance: float = 1 / 1000
    grid: int = 100


def plot(
    node: program.Program, inputs: Mapping[str, Any], options: Options, request: Request
) -> Plot:
    """Evaluates a program for a plot. Raises GradcliError for what isn't in the program, or where
    it fails everywhere in the range."""
    _verify(request)
    answer = Plot(node.source.name, request.axes)
    members: list[tuple[str, Mapping[str, Any]]] = [("", inputs)]
    if request.family:
        name, values = request.family
        members = [(f"{name} = {value:g}", {**inputs, name: value}) for value in values]
    functions = [_add(answer, node, given, options, request, member) for member, given in members]
    function = functions[0]
    drawn = [*(c for c in answer.curves if c.pieces), *answer.contours]
    if not drawn:
        raise GradcliError(_nothing(function))
    answer.notes += _notes(functions, request)
    if len(answer.curves) > MOST_CURVES * (request.order + 1):
        help = "choose some by --of"
        raise GradcliError(Diagnostic("E001", f"more than {MOST_CURVES} curves at once", help=help))
    return answer


def _verify(request: Request) -> None:
    labels = [axis.label for axis in request.axes]
    family = request.family[0] if request.family else ""
    wrong, help = "", ""
    if len(labels) > 2:
        wrong, help = "--over is given more than twice", "one range makes curves, two a contour"
    elif len(set(labels)) < len(labels):
        wrong, help = f"--over: `{labels[0]}` stands twice", "give each variable one range"
    elif family in [axis.name for axis in request.axes]:
        wrong, help = f"--for: `{family}` is what the plot is over", "name another input"
    elif family and len(labels) == 2:
        wrong, help = (
            "--for together with two ranges",
            "leave out one --over for a family of curves",
        )
    elif not 0 <= request.order <= MOST_ORDERS:
        wrong, help = f"--order: {request.order}", f"it is from 0 to {MOST_ORDERS}"
    elif request.order > 1 and (len(labels) == 2 or request.axes[0].place):
        wrong = "--order: contours, and curves over an element, have first derivatives only"
        help = "leave out --order"
    if wrong:
        raise GradcliError(Diagnostic("E001", wrong, help=help))


def _add(
    answer: Plot,
    node: program.Program,
    inputs: Mapping[str, Any],
    options: Options,
    request: Request,
    member: str,
) -> Function:
    """Adds what one member of the family gives."""
    if len(request.axes) == 2:
        function = Function(node, inputs, options, request.axes, request.order)
        answer.contours += contours(function, request.grid)
    else:
        function, found = _curves(node, inputs, options, request, member)
        answer.curves += found
    answer.evaluations += function.evaluations
    return function


def _curves(
    node: program.Program,
    inputs: Mapping[str, Any],
    options: Options,
    request: Request,
    member: str,
) -> tuple[Function, list[Curve]]:
    """The curves, with the kinks of the last derivative, too, where it can be differentiated."""
    (axis,) = request.axes
    orders = request.order if axis.place and request.order else request.order + 1
    while True:
        function = Function(node, inputs, options, request.axes, orders)
        try:
            found = curves(function, request.order, request.budget, request.tolerance, member)
            return function, found
        except GradcliError as error:
            if orders == request.order or error.exit_code == _OF_THE_JOB:
                raise
            orders = request.order


def _nothing(function: Function) -> Diagnostic:
    """Why there is nothing to show."""
    if function.arrays:
        label, shape = next(iter(function.arrays.items()))
        help = f"a plot shows numbers: add an output such as `sum({label})`, or of one element"
        return Diagnostic("E001", f"`{label}` is an array of shape {shape}", help=help)
    message = "there is nothing to plot: no output is a number anywhere in the range"
    return Diagnostic("E001", message, help="--of names what to plot")


def _notes(functions: list[Function], request: Request) -> list[str]:
    """What the plot leaves out, and why."""
    found: dict[str, None] = {}
    by = " and ".join(f"`{axis.label}`" for axis in request.axes)
    for function in functions:
        for label, shape in function.arrays.items():
            found[f"`{label}` isn't shown: it is an array of shape {shape}"] = None
        for label, channels in function.connected.items():
            if request.order and channels == 1 and label not in function.arrays:
                found[
                    f"`{label}` has no derivative with respect to {by}; `gradcli why` tells why"
                ] = None
        if function.failed is not None:
            found[f"some points have no value: {function.failed.message}"] = None
    if any(function.is_long for function in functions):
        more = f"--points {10 * request.budget} draws it more closely"
        found[f"each point takes long, so there are few of them; {more}"] = None
    return list(found)
