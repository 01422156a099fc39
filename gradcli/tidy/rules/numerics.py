"""Rules about formulas that another one replaces with more digits, or fewer operations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...diagnostics import Diagnostic
from ...lang import syntax
from ...lang.scopes import Scope, children
from ..facts import Facts
from ..findings import Finding, Fix

_PRIMARY = (
    syntax.Name | syntax.Number | syntax.ListDisplay | syntax.Member | syntax.Call | syntax.Index
)


def float_equality(facts: Facts) -> Iterator[Finding]:
    """W405: floats compared by `==` or `!=`."""
    stated = {id(inner) for node, _ in facts.of(syntax.Expect) for inner in _below(node)}
    for node, scope in facts.of(syntax.Comparison):
        if id(node) in stated:
            continue
        for left, sign, right in zip(node.operands, node.signs, node.operands[1:], strict=False):
            sides = [left, right]
            if sign not in ("==", "!=") or any(_is_exact(side) for side in sides):
                continue
            span = left.span.to(right.span)
            if any(_is_constant(side, "nan", scope) for side in sides):
                message = f"nothing is equal to nan: this is {'false' if sign == '==' else 'true'}"
                help = "`x != x` holds only for nan"
                yield Finding(Diagnostic("W405", message, span, help=help))
            elif any(facts.kind(side, scope) == "float" for side in sides):
                tolerance = "<" if sign == "==" else ">="
                help = f"write `abs(a - b) {tolerance} tolerance`"
                yield Finding(Diagnostic("W405", f"`{sign}` compares floats", span, help=help))


def squared_norm(facts: Facts) -> Iterator[Finding]:
    """W411: `norm(x)**2` is `sum(x**2)`."""
    for node, scope in facts.of(syntax.Power):
        if not _is_number(node.exponent, 2):
            continue
        call = facts.called(node.base, scope, "norm")
        if call is None or any(argument.keyword == "ord" for argument in call.arguments):
            continue
        operand = call.arguments[0].value
        text = f"sum({_operand(operand)}**2{_options(call)})"
        is_real = facts.kind(operand, scope) == "float" and not facts.has_complex
        is_safe = is_real and facts.is_builtin("sum", scope)
        yield _finding("W411", "the square of a norm", node, text, is_safe)


def logarithm_near_one(facts: Facts) -> Iterator[Finding]:
    """W412: `log(1 + x)` is `log1p(x)`."""
    for node, scope in facts.of(syntax.Call):
        call = facts.called(node, scope, "log")
        if call is None or len(call.arguments) > 1:
            continue
        text = _less_one(call.arguments[0].value)
        if text:
            message = "`log(1 + x)` loses the digits of a small x"
            is_safe = facts.is_builtin("log1p", scope)
            yield _finding("W412", message, node, f"log1p({text})", is_safe)


def _less_one(node: Any) -> str:
    """What is added to 1 in a sum; "" where it is no sum with 1."""
    if not isinstance(node, syntax.Arithmetic) or node.signs[0] not in "+-":
        return ""
    source = node.span.source.text
    first, second, last = node.operands[0], node.operands[1], node.operands[-1]
    if _is_number(first, 1):
        rest = source[second.span.end : last.span.end]
        head = second.span.text if node.signs[0] == "+" else f"-{_operand(second)}"
        return head + rest
    if _is_number(last, 1) and node.signs[-1] == "+":
        return source[first.span.start : node.operands[-2].span.end]
    return ""


def exponential_less_one(facts: Facts) -> Iterator[Finding]:
    """W413: `exp(x) - 1` is `expm1(x)`."""
    for node, scope in facts.of(syntax.Arithmetic):
        if node.signs[0] != "-":
            continue
        first, second = node.operands[:2]
        call, sign = facts.called(first, scope, "exp"), ""
        if call is None and _is_number(first, 1):
            call, sign, second = facts.called(second, scope, "exp"), "-", first
        if call is not None and len(call.arguments) == 1 and _is_number(second, 1):
            text = f"{sign}expm1({call.arguments[0].value.span.text})"
            message = "`exp(x) - 1` loses the digits of a small x"
            pair = (node.operands[0], node.operands[1])
            yield _finding("W413", message, pair, text, facts.is_builtin("expm1", scope))


def norm_by_hand(facts: Facts) -> Iterator[Finding]:
    """W414: `sqrt(sum(x**2))` is `norm(x)`."""
    for node, scope in facts.of(syntax.Call):
        root = facts.called(node, scope, "sqrt")
        total = facts.called(root.arguments[0].value, scope, "sum") if root else None
        if root is None or len(root.arguments) > 1 or total is None:
            continue
        operand = _squared(total.arguments[0].value)
        if operand is not None:
            text = f"norm({operand.span.text}{_options(total)})"
            message = "`sqrt(sum(x**2))` overflows, and has no gradient at 0"
            is_safe = not facts.has_complex and facts.is_builtin("norm", scope)
            yield _finding("W414", message, node, text, is_safe)


def _squared(node: Any) -> Any:
    """`x` in `x**2`, and in `x * x` where it is a name."""
    if isinstance(node, syntax.Power) and _is_number(node.exponent, 2):
        return node.base
    if isinstance(node, syntax.Arithmetic) and node.signs == ("*",):
        left, right = node.operands
        return left if isinstance(left, syntax.Name) and left == right else None
    return None


# ---- what they have in common ------------------------------------------------------------------


def _finding(code: str, message: str, where: Any, text: str, is_safe: bool) -> Finding:
    """A formula at a node, or at two operands, that `text` can replace; as a fix where that
    `is_safe` and no comment is lost."""
    first, last = where if isinstance(where, tuple) else (where, where)
    span = first.span.to(last.span)
    diagnostic = Diagnostic(code, message, span, help=f"write `{' '.join(text.split())}`")
    if not is_safe or "#" in span.text:
        return Finding(diagnostic)
    before = span.source.text[span.start - 1 : span.start]
    blank = " " if before.isalnum() else ""  # `return(exp(x) - 1)`
    return Finding(diagnostic, Fix(span.start, span.end, blank + text))


def _is_number(node: Any, value: float) -> bool:
    return isinstance(node, syntax.Number) and node.type != "complex" and node.value == value


def _is_exact(node: Any) -> bool:
    """Whether to compare with a value is what was meant: it is 0, infinite, or no number."""
    if isinstance(node, syntax.Unary):
        return _is_exact(node.operand)
    is_word = isinstance(node, syntax.Word | syntax.String)
    return is_word or _is_number(node, 0) or (isinstance(node, syntax.Name) and node.name == "inf")


def _is_constant(node: Any, name: str, scope: Scope) -> bool:
    return isinstance(node, syntax.Name) and node.name == name and scope.find(name) is None


def _operand(node: Any) -> str:
    """The text of an operand of `**` or a sign."""
    text: str = node.span.text
    return text if isinstance(node, _PRIMARY) else f"({text})"


def _options(call: syntax.Call) -> str:
    """The text of the options of a call, behind a comma."""
    return "".join([f", {argument.span.text}" for argument in call.arguments[1:]])


def _below(node: Any) -> Iterator[Any]:
    """A node and all those below it."""
    pending = [node]
    while pending:
        inner = pending.pop()
        yield inner
        pending += children(inner)
