"""Checks a call of a function of the program, where it is known which one is called."""

from __future__ import annotations

from ..diagnostics import Report, did_you_mean
from ..ops.elsewhere import keyword
from ..ops.op import BindingError, Op
from . import syntax


def verify_call(
    name: str, parameters: tuple[syntax.Parameter, ...], call: syntax.Call, report: Report
) -> None:
    """Reports the arguments that don't fit the parameters of `name`."""
    names = [parameter.name.name for parameter in parameters]
    positional = [argument for argument in call.arguments if not argument.keyword]
    if len(positional) > len(names):
        report.add(
            "E203",
            f"`{name}` takes {_count(len(names))}, {len(positional)} given",
            positional[len(names)].span,
            help=f"its signature is {signature(name, parameters)}",
        )
        return
    given = set(names[: len(positional)])
    for argument in call.arguments:
        if not argument.keyword:
            continue
        if argument.keyword not in names:
            report.add(
                "E203",
                f"`{name}` has no parameter `{argument.keyword}`",
                argument.span,
                help=did_you_mean(argument.keyword, names)
                or f"its signature is {signature(name, parameters)}",
            )
        elif argument.keyword in given:
            report.add(
                "E203",
                f"`{name}` got `{argument.keyword}` twice, by position and by keyword",
                argument.span,
            )
        given.add(argument.keyword)
    missing = [p.name.name for p in parameters if p.default is None and p.name.name not in given]
    if missing:
        words = " and ".join(f"`{m}`" for m in missing)
        report.add(
            "E203",
            f"`{name}` needs {words}",
            call.span,
            help=f"its signature is {signature(name, parameters)}",
        )


def meant_arguments(op: Op, node: syntax.Call, error: BindingError) -> str:
    """Help for arguments as other packages take them: `zeros(3, 2)`, `sum(x, dim = 0)`."""
    names = [parameter.name for parameter in op.signature.parameters]
    if isinstance(error.argument, str):
        known = keyword(error.argument)
        return f"did you mean `{known}`?" if known in names else ""
    given = [argument.value.span.brief for argument in node.arguments if not argument.keyword]
    if names[:1] == ["shape"] and len(given) > 1 and not op.signature.hint:
        return f"the shape is one list: `{op.name}([{', '.join(given)}])`"
    return ""


def signature(name: str, parameters: tuple[syntax.Parameter, ...]) -> str:
    """`f(a, b = 2.0)`."""
    texts = [
        p.name.name if p.default is None else f"{p.name.name} = {p.default.span.text}"
        for p in parameters
    ]
    return f"{name}({', '.join(texts)})"


def _count(n: int) -> str:
    return f"{n} argument" if n == 1 else f"{n} arguments"
