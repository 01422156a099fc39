"""Checks derivative rules that a program gives to its own functions against the functions they are
for."""

from __future__ import annotations

from ..diagnostics import Report, Span
from . import syntax
from .arguments import signature
from .scopes import Binding, children


def verify_inline(name: str, rule: syntax.Rule, report: Report) -> None:
    """Reports what is wrong with `fn f(x) { … } backward (dy) { … }`."""
    _verify_answer(name, rule, report)
    if len(rule.parameters) != 1:
        message = (
            f"the rule of `{name}` has {_count(len(rule.parameters))}; it takes one, the "
            "gradient of the result"
        )
        help = (
            "write `backward (dy) { … }`: it sees the parameters and the names of the function "
            "as they are"
        )
        report.add("E223", message, _head_of(rule), help=help)


def verify_registered(
    name: str, function: syntax.Define, rule: syntax.Backward, report: Report
) -> None:
    """Reports what is wrong with `backward f(dy, x) { … }`: the parameters are the gradient of the
    result, and the function's own in their order. They may have other names, but not those of each
    other."""
    _verify_answer(name, rule, report)
    own = [parameter.name.name for parameter in function.parameters]
    given = [parameter.name for parameter in rule.parameters]
    help = f"write `{_head(name, function)}`"
    if len(given) != 1 + len(own):
        message = (
            f"the rule of `{name}` has {_count(len(given))}, and it takes {1 + len(own)}: the "
            "gradient of the result, and"
        )
        report.add("E223", f"{message} what `{name}` takes", rule.name.span, help=help)
        return
    for k, parameter in enumerate(given):
        if parameter.name in own and own.index(parameter.name) != k - 1:
            message = (
                f"`{parameter.name}` stands in another place than in "
                f"`{signature(name, function.parameters)}`"
            )
            report.add("E223", message, parameter.span, help=help)
            return


def why_not_registered(name: str, binding: Binding) -> tuple[str, str]:
    """Why a function can't be given a rule with `backward NAME`, and what to write; "" where it
    can."""
    function = binding.only("fn")
    if function is None:
        return (
            f"`{name}` is not the name of an `opaque fn`",
            "name the function as its `opaque fn` statement does",
        )
    if function.opaque:
        return "", ""
    if function.rule is not None:
        return f"`{name}` has its rule behind its body", "leave out one of the two"
    help = (
        f"declare it `opaque fn {name}`, or put the rule behind its body: `}} backward (dy) {{ … "
        f"}}`"
    )
    return f"`{name}` is differentiated through its body", help


def _head(name: str, function: syntax.Define) -> str:
    own = [parameter.name.name for parameter in function.parameters]
    dy = next(
        word for word in ("dy", "d_result", *(f"d{k}" for k in range(len(own)))) if word not in own
    )
    return f"backward {name}({', '.join([dy, *own])})"


def _verify_answer(name: str, rule: syntax.Rule | syntax.Backward, report: Report) -> None:
    """Reports a rule without `return`, which would say that nothing has a gradient."""
    pending: list[syntax.Node] = [rule.body]
    while pending:
        node = pending.pop()
        if isinstance(node, syntax.Return):
            return
        if not isinstance(node, syntax.Function | syntax.Define | syntax.Backward):
            pending.extend(children(node))
    help = (
        "`return` one gradient a parameter, in order, as a list (a bare value for one); `none` "
        "is no gradient"
    )
    report.add("E223", f"the rule of `{name}` returns nothing", _head_of(rule), help=help)


def _head_of(rule: syntax.Rule | syntax.Backward) -> Span:
    return rule.span._replace(end=rule.span.start + len("backward"))


def _count(n: int) -> str:
    return "no parameter" if n == 0 else "1 parameter" if n == 1 else f"{n} parameters"
