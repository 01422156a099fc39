"""Calls of the program's own functions: the body runs in a frame that holds the arguments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...diagnostics import CallSite, GradcliError, Span, did_you_mean
from ...ops.op import Op
from ..trace.run import MAX_DEPTH, Run
from ..trace.tape import Site
from ..values.kinds import RESULT, UNSET, Cell, Function

CALL = Op("call", "*arguments", "A call of a function.", internal=True, engine=True)


def call_function(
    run: Run,
    function: Function,
    arguments: list[Any],
    keywords: dict[str, Any],
    site: Site,
    path: str | None = None,
) -> Any:
    """Calls a function of the program; `path` is the name that its result is assigned to. Adds this
    call to the call stack of a GradcliError that it raises."""
    code = function.code
    frame = code.template.copy()
    frame[0] = run
    frame[RESULT] = path
    _bind(run, function, frame, arguments, keywords, site.span)
    if code.self_slot:
        frame[code.self_slot] = function
    for k in code.shared:
        frame[k] = Cell([frame[k]])
    for k, cell in zip(code.captured, function.cells, strict=True):
        frame[k] = cell
    run.depth += 1
    run.work += 1 + code.operations
    if run.depth > MAX_DEPTH:
        run.depth -= 1
        run.fail(
            "E406",
            f"`{code.name or 'fn'}` calls itself too deep",
            site.span,
            f"{MAX_DEPTH} calls are inside each other",
        )
    trace = run.trace
    calls = trace.calls
    trace.enter((site, code.name, calls))
    try:
        return code.body(frame)
    except GradcliError as error:
        call = CallSite(code.name or "fn", site.span)
        error.diagnostics[:] = [replace(d, calls=(*d.calls, call)) for d in error.diagnostics]
        raise
    finally:
        run.depth -= 1
        trace.enter(calls)


def _bind(
    run: Run,
    function: Function,
    frame: list[Any],
    arguments: list[Any],
    keywords: dict[str, Any],
    span: Span,
) -> None:
    """Puts the arguments into the frame. Raises GradcliError (E308) where they don't match the
    parameters."""
    parameters = function.code.parameters
    n = len(arguments)
    if n == len(parameters) and not keywords:
        for (_, k, _), value in zip(parameters, arguments, strict=True):
            frame[k] = value
        return
    name, names = function.name or "fn", [p[0] for p in parameters]
    are = "parameter is" if len(names) == 1 else "parameters are"
    known = f"its {are} {', '.join([f'`{each}`' for each in names])}" if names else ""
    if n > len(parameters):
        takes = "1 argument" if len(parameters) == 1 else f"{len(parameters)} arguments"
        run.fail("E308", f"`{name}` takes {takes}, and {n} are given", span, help=known)
    for keyword in keywords:
        position = names.index(keyword) if keyword in names else None
        if position is None:
            help = did_you_mean(keyword, names) or known
            run.fail("E308", f"`{name}` has no parameter `{keyword}`", span, help=help)
        if position < n:
            run.fail("E308", f"`{name}` got `{keyword}` twice, by position and by keyword", span)
    missing = []
    for i, (parameter, k, _) in enumerate(parameters):
        value = arguments[i] if i < n else keywords.get(parameter, function.defaults[i])
        if value is UNSET:
            missing.append(f"`{parameter}`")
        frame[k] = value
    if missing:
        run.fail("E308", f"`{name}` needs {' and '.join(missing)}", span, help=known)
