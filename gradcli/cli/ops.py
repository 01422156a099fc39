"""`gradcli ops`: the table of builtins, as it is run."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import typer

from ..diagnostics import Diagnostic, GradcliError, did_you_mean
from ..ops import ALIASES, BUILTINS, INFIX, OPS, registry
from ..ops.formula import Formula, read_partial
from ..ops.op import Op
from . import options
from .terminal import Terminal


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A builtin or an operator.")
    ] = None,
    format: Annotated[
        Literal["text", "json"],
        typer.Option("--format", metavar="text|json", help="Output format."),
    ] = "text",
    color: options.Color = "auto",
) -> int:
    """List the builtins, or describe one.

    \b
    Examples:
      gradcli ops tanh
      gradcli ops '**' --format json
    """
    terminal = Terminal(color)
    bold = ("\x1b[1m", "\x1b[0m") if terminal.color else ("", "")
    if name is None:
        registry.load_packages()
    chosen = list(BUILTINS.values()) if name is None else [find(name)]
    if format == "json":
        entries = [as_object(op) for op in chosen]
        print(json.dumps(entries if name is None else entries[0], ensure_ascii=False, indent=1))
    elif name is None:
        print(listing(chosen, bold))
    else:
        print(page(chosen[0], bold))
    for message in registry.failures():
        terminal.diagnostic(Diagnostic("E008", message))
    return 0


def find(name: str) -> Op:
    """The builtin under a name or sign. Raises GradcliError with the closest one."""
    if op := INFIX.get(name) or OPS.get(name) or registry.find(name):
        return op
    close = f"did you mean `{ALIASES[name]}`?" if name in ALIASES else did_you_mean(name, OPS)
    raise GradcliError(
        Diagnostic("E001", f"no builtin `{name}`", help=close or "`gradcli ops` lists all of them")
    )


def listing(ops: list[Op], bold: tuple[str, str] = ("", "")) -> str:
    """All builtins under their headings, one line each."""
    headings: dict[str, list[str]] = {}
    for op in ops:
        headings.setdefault(op.category, []).append(f"  {usage(op):<42}  {op.summary}")
    return "\n\n".join(
        "\n".join([f"{bold[0]}{heading}{bold[1]}", *lines]) for heading, lines in headings.items()
    )


def page(op: Op, bold: tuple[str, str] = ("", "")) -> str:
    """Everything that the table says about one builtin."""
    lines = [f"{bold[0]}{usage(op)}{bold[1]}", f"  {op.summary}", ""]
    facts = [(f"∂/∂{operand}", formula) for operand, formula in derivatives(op).items()]
    if not facts:
        facts = [("derivative", _rule(op))]
    if op.of_function is not None:
        facts.append(
            (
                "of a function",
                f"{op.name}({op.of_function.signature.text}) is the function that gives it",
            )
        )
    facts += [("smooth for", text) for text in smooth_domain(op)]
    if op.note:
        facts.append(("convention", op.note))
    if accuracy := _accuracy(op):
        ulps = "{} ulps; first derivatives {}, second {}".format(*accuracy)
        facts.append(
            ("accuracy", f"{ulps}: of the result, or of an operand where that moves it more")
        )
    width = max(len(label) for label, _ in facts)
    return "\n".join([*lines, *(f"  {label:<{width}}  {text}" for label, text in facts)])


def as_object(op: Op) -> dict[str, Any]:
    return {
        "name": op.name,
        "signature": f"{op.name}({op.signature.text})",
        "of_function": ""
        if op.of_function is None
        else f"{op.name}({op.of_function.signature.text})",
        "infix": op.infix,
        "summary": op.summary,
        "category": op.category,
        "derivatives": derivatives(op),
        "rule": "" if derivatives(op) else _rule(op),
        "domain": smooth_domain(op),
        "convention": op.note,
        "ulps": _accuracy(op),
    }


def _accuracy(op: Op) -> list[int]:
    """The bounds that the tests hold an elementwise entry to; [] for others."""
    return list(op.ulps) if op.elementwise and op.differentiable else []


def usage(op: Op) -> str:
    call = f"{op.name}({op.signature.text})"
    return f"{op.infix}   {call}" if op.infix else call


def derivatives(op: Op) -> dict[str, str]:
    """The partial derivative by each operand as a formula in the operands and the result `y`; {}
    where the rule isn't one."""
    operands = [p.name for p in op.signature.operands]
    return {
        operand: write_formula(read_partial(partial, len(operands)), operands)
        for operand, partial in zip(operands, op.partials, strict=False)
        if partial is not None
    }


def _rule(op: Op) -> str:
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


def write_formula(formula: Formula, operands: list[str]) -> str:
    """A formula of the table in the language's own notation; the result is `y`."""
    return _write(formula, operands)[0]


def _write(node: Formula, names: list[str]) -> tuple[str, int]:
    """The text of a node, and how tightly its outermost operator binds."""
    if node.kind == "number":
        value = node.value
        text = (
            f"{value:g}"
            if isinstance(value, float) and float(f"{value:g}") == value
            else str(value)
        )
        return text, _UNARY if text.startswith("-") else _ATOM
    if node.kind == "operand":
        return names[node.value], _ATOM
    if node.kind == "result":
        return "y", _ATOM
    parts = [_write(argument, names) for argument in node.arguments]
    if node.kind == "neg":
        return "-" + _guard(parts[0], _UNARY), _UNARY
    if node.kind == "pow":
        return f"{_guard(parts[0], _ATOM)}**{_guard(parts[1], _UNARY)}", _POWER
    if node.kind in _BINDING:
        binding = _BINDING[node.kind]
        sign = OPS[node.kind].infix
        return f"{_guard(parts[0], binding)} {sign} {_guard(parts[1], binding + 1)}", binding
    return f"{node.kind}({', '.join(text for text, _ in parts)})", _ATOM


def _guard(part: tuple[str, int], binding: int) -> str:
    return part[0] if part[1] >= binding else f"({part[0]})"
