"""The members of a tape, such as `t.gradient(…)` and `t.watch(…)`, and how windows watch
variables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from ...diagnostics import did_you_mean
from ...ops.op import BindingError, Signature
from ..ad.derivatives import grad
from ..backends.backend import is_inexact
from ..trace.keeping import KeepingTrace
from ..trace.run import Run
from ..trace.tape import Site
from ..trace.variables import attach
from ..trace.windows import Window
from ..values.boxes import primal
from ..values.kinds import Instance, List, Tape, Variable, describe, read


def unwatch(run: Run, window: Window) -> None:
    """Ends a window's watch: its variables are no longer leaves, unless another window watches
    them.
    """
    for variable in window.watched or ():
        variable.watchers -= 1
        attach(run, variable)
    window.watched = None


# ---- watch ---------------------------------------------------------------------------------------


def watch(run: Run, window: Window, value: Any, span: Any) -> None:
    """Makes a window watch a value: a variable, a traced value, or a list or dict of these."""
    if type(value) is List or type(value) is dict:
        for item in value.values() if type(value) is dict else value:
            watch(run, window, item, span)
    elif type(value) is tuple:
        if isinstance(window.trace, KeepingTrace):
            window.trace.begin_at(value[1])
        window.add(value[1])
    elif type(value) is Variable:
        known = value.number != 0
        if window.watched is None:
            window.watched = WeakSet()
        if value not in window.watched:
            window.watched.add(value)
            value.watchers += 1
            attach(run, value)
        if value.number:
            window.add(value.number, new=not known)
    else:
        in_it = type(value) is Instance
        help = (
            "watch its `trainable_variables`, or single ones of them"
            if in_it
            else "give it a name, and watch that"
        )
        run.fail("E312", f"{describe(value)} can't be watched", span, help=help)


# ---- what a tape answers -------------------------------------------------------------------------


def call(
    run: Run, tape: Tape, name: str, arguments: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    """Calls a member of a tape, such as `t.gradient(…)`.

    Raises GradcliError (E309) for an unknown member.
    """
    if name not in _MEMBERS:
        run.fail(
            "E309", f"a tape has no member `{name}`", site.span, help=did_you_mean(name, _MEMBERS)
        )
    signature, member = _MEMBERS[name]
    try:
        operands, given = signature.bound(f"{tape.window.name}.{name}", arguments, keywords)
    except BindingError as error:
        run.fail("E308", error.message, site.span, help=error.help)
    return member(run, tape.window, site, operands, signature.defaults | given)


def _asked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a member that asks for a derivative.

    A tape that isn't persistent answers one such request, and doesn't record it in its own block.
    """

    def request(
        run: Run, window: Window, site: Site, operands: list[Any], options: dict[str, Any]
    ) -> Any:
        if window.spent and not window.persistent:
            run.fail(
                "E321",
                f"the tape `{window.name}` was asked before",
                site.span,
                "it answers once",
                f"open it with `tape {window.name} (persistent = true)` to ask it more than once",
            )
        window.spent = True
        paused = [] if window.persistent else window.trace.pause([window])
        try:
            return function(run, site, operands, options, window)
        finally:
            window.trace.resume(paused)

    return request


def _watch(
    run: Run, window: Window, site: Site, operands: list[Any], options: dict[str, Any]
) -> None:
    for value in operands:
        if (
            type(value) is not Variable
            and type(value) is not tuple
            and is_inexact(primal(read(value)))
        ):
            run.fail(
                "E312",
                "a plain value can only be watched by its name",
                site.span,
                help="write `t.watch(x)` as a statement",
            )
        watch(run, window, value, site.span)


def _watched_variables(
    run: Run, window: Window, site: Site, operands: list[Any], options: dict[str, Any]
) -> List:
    return List([variable for variable in window.uses if variable.kind not in ("const", "watched")])


def _reset(
    run: Run, window: Window, site: Site, operands: list[Any], options: dict[str, Any]
) -> None:
    unwatch(run, window)
    window.reset()


def _jacobian(*arguments: Any) -> Any:
    from ..jacobian.jacobians import jacobian  # not at every start

    return jacobian(*arguments)


def _batch_jacobian(*arguments: Any) -> Any:
    from ..jacobian.batches import batch_jacobian

    return batch_jacobian(*arguments)


_MEMBERS: dict[str, tuple[Signature, Callable[..., Any]]] = {
    "gradient": (Signature('target, sources; unconnected="none", seed=none'), _asked(grad)),
    "jacobian": (Signature('target, source; unconnected="none"'), _asked(_jacobian)),
    "batch_jacobian": (Signature("target, source"), _asked(_batch_jacobian)),
    "watch": (Signature("*values"), _watch),
    "watched_variables": (Signature(""), _watched_variables),
    "reset": (Signature(""), _reset),
}
