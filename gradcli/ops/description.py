"""What the table says about an entry, as text: for `gradcli ops`, editors and the reference."""

from __future__ import annotations

from typing import Any, TypeAlias

from . import OPS
from .op import Op
from .rule_values import evaluate


def call(op: Op) -> str:
    """`tanh(x)`."""
    return f"{op.name}({op.signature.text})"


def facts(op: Op) -> list[tuple[str, str]]:
    """Labels, and what stands behind them: the derivatives, where the function is smooth, its
    convention at kinks, and how accurate it is."""
    found = [(f"∂/∂{operand}", formula) for operand, formula in derivatives(op).items()]
    if not found:
        found = [("derivative", rule(op))]
    if op.of_function is not None:
        text = f"{call(op.of_function)} is the function that gives it"
        found.append(("of a function", text))
    found += [("smooth for", text) for text in smooth_domain(op)]
    if op.note:
        found.append(("convention", op.note))
    if bounds := accuracy(op):
        ulps = "{} ulps; first derivatives {}, second {}".format(*bounds)
        text = f"{ulps}: of the result, or of an operand where that moves it more"
        found.append(("accuracy", text))
    return found


def accuracy(op: Op) -> list[int]:
    """The bounds that the tests hold an elementwise entry to; [] for others."""
    return list(op.ulps) if op.elementwise and op.differentiable else []


def usage(op: Op) -> str:
    """The call, behind the sign of an operator."""
    return f"{op.infix}   {call(op)}" if op.infix else call(op)


def derivatives(op: Op) -> dict[str, str]:
    """The partial derivative by each operand as a formula in the operands and the result `y`; {}
    where the rule isn't one."""
    operands = [p.name for p in op.signature.operands]
    return {
        operand: _text(evaluate(partial, [_atom(name) for name in ("y", *operands)], _applied))[0]
        for operand, partial in zip(operands, op.partials, strict=False)
        if partial is not None
    }


def rule(op: Op) -> str:
    """What kind of rule an entry has that isn't a formula."""
    if not op.differentiable:
        return "none: the result doesn't move with the operands"
    return "found by the interpreter itself" if op.engine else "a rule for whole arrays"


def smooth_domain(op: Op) -> list[str]:
    """`0.1 < x`, for each operand whose domain has an end."""
    texts = []
    for operand, (low, high) in zip(op.signature.operands, op.domain, strict=False):
        left = f"{low:g} < " if low != float("-inf") else ""
        right = f" < {high:g}" if high != float("inf") else ""
        if left or right:
            texts.append(f"{left}{operand.name}{right}")
    return texts


# ---- formulas ------------------------------------------------------------------------------------

_BINDING = {
    "lt": 1,
    "le": 1,
    "gt": 1,
    "ge": 1,
    "eq": 1,
    "ne": 1,
    "add": 2,
    "sub": 2,
    "mul": 3,
    "div": 3,
    "mod": 3,
    "floordiv": 3,
}
_UNARY, _POWER, _ATOM = 4, 5, 6


# A formula in the language's own notation, and how tightly its outermost operator binds.
_Text: TypeAlias = tuple[str, int]


def _atom(name: str) -> _Text:
    return name, _ATOM


def _text(value: Any) -> _Text:
    """The text of a number; any other text as it is."""
    if type(value) is tuple:
        return value
    is_short = isinstance(value, float) and float(f"{value:g}") == value
    text = f"{value:g}" if is_short else str(value)
    return text, _UNARY if text.startswith("-") else _ATOM


def _applied(name: str, values: list[Any]) -> _Text:
    """The text of an op applied to texts and numbers."""
    parts = list(map(_text, values))
    if name == "neg":
        return "-" + _guard(parts[0], _UNARY), _UNARY
    if name == "pow":
        return f"{_guard(parts[0], _ATOM)}**{_guard(parts[1], _UNARY)}", _POWER
    if name in _BINDING:
        binding = _BINDING[name]
        sign = OPS[name].infix
        return f"{_guard(parts[0], binding)} {sign} {_guard(parts[1], binding + 1)}", binding
    return f"{name}({', '.join(text for text, _ in parts)})", _ATOM


def _guard(part: _Text, binding: int) -> str:
    return part[0] if part[1] >= binding else f"({part[0]})"
