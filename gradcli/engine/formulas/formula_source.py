"""Source text of functions that compute formulas.

All names in it are generated: it contains nothing of the user's program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from ...ops import OPS
from . import scalars
from .reading import Formula, applied

_INFIX = frozenset(("add", "sub", "mul", "lt", "le", "gt", "ge", "eq", "ne"))
_INFIX_THAT_RAISES = _INFIX | {"div", "floordiv", "mod"}
DEEP = 40  # nested parentheses; Python accepts 200
# How Python refuses operations that have an IEEE value.
REFUSING = (ValueError, OverflowError, ZeroDivisionError)
REFUSED = f"except ({', '.join([error.__name__ for error in REFUSING])})"


def function_of(source: str, label: str, names: dict[str, Any]) -> Callable[..., Any]:
    """Returns the function that a source defines, with these values for its names."""
    # A copy of the code, since Python specialises it to the values that a function meets.
    return FunctionType(_code_of(source, label).replace(), names)


@lru_cache(maxsize=1024)
def _code_of(source: str, label: str) -> CodeType:
    """Returns the code of the function. Many functions share it, with other values for
    their names.
    """
    return next(part for part in compile(source, label, "exec").co_consts if type(part) is CodeType)


class FormulaSource:
    """The source of a function body that computes formulas and shares their common subexpressions.

    arrays  for arrays; else for floats
    fast    floats by Python's bare functions and operators, which may raise what `REFUSED` says,
            and strict products as plain ones, which are right where the result is finite
    strict  whether strict products are strict, as they are by default
    """

    def __init__(self, arrays: bool, fast: bool = False, strict: bool = True) -> None:
        self.arrays, self.strict = arrays, strict and not fast
        self.infix = _INFIX_THAT_RAISES if fast else _INFIX
        self.lines: list[str] = []
        self.conditions = 0
        self.names: dict[str, Any] = {"inf": float("inf"), "nan": float("nan")}
        self._text: dict[int, str] = {}
        self._depth: dict[int, int] = {}  # of the parentheses in it
        self._nodes: dict[tuple[Any, ...], Formula] = {}  # one node for each structure

    def value(self, formula: Formula) -> str:
        """Returns the expression that computes `formula`.

        Nodes that are used more than once, or nested deeply, get a local name.
        """
        formula = formula.evaluate(self._leaf, self._operation)
        nodes = [node for node in formula if id(node) not in self._text]
        uses = Counter([id(argument) for node in nodes for argument in node.arguments])
        for node in nodes:
            text = self._node(node)
            depth = 1 + max([self._depth[id(a)] for a in node.arguments], default=-1)
            if node.arguments and (uses[id(node)] > 1 or depth > DEEP):
                name = f"t{len(self.lines)}"
                self.lines.append(f"{name} = {text}")
                text, depth = name, 0
            self._text[id(node)], self._depth[id(node)] = text, depth
        return self._text[id(formula)]

    def _leaf(self, node: Formula) -> Formula:
        # The text tells -0.0 from 0.0, and 1 from 1.0.
        return self._nodes.setdefault((node.kind, repr(node.value)), node)

    def _operation(self, kind: str, arguments: list[Formula]) -> Formula:
        """Returns the one node of a subexpression, however often it is built."""
        if (found := simplified(kind, arguments)) is not None:
            return found if found.arguments else self._leaf(found)
        return self._nodes.setdefault((kind, *map(id, arguments)), applied(kind, arguments))

    def _node(self, node: Formula) -> str:
        if node.kind == "number":
            return (
                repr(node.value)
                if type(node.value) is not complex and node.value >= 0
                else f"({node.value!r})"
            )
        if node.kind == "operand":
            return "y" if node.value == "result" else f"x{node.value}"
        arguments = [self._text[id(a)] for a in node.arguments]
        if node.kind in self.infix:
            return f"({arguments[0]} {OPS[node.kind].infix} {arguments[1]})"
        if not self.strict and node.kind == "strict_mul":
            return f"({arguments[0]} * {arguments[1]})"
        if node.kind == "neg":
            return f"(-{arguments[0]})"
        if node.kind == "where":
            condition, then, otherwise = arguments
            if not self.arrays:
                return f"({then} if {condition} else {otherwise})"
            self.names["where"] = None
            # For scalar operands the condition is one bool, and only one side is computed.
            if len(then) + len(otherwise) < 200:
                self.conditions += 1
                c = f"c{self.conditions}"
                both = f"where({c}, {then}, {otherwise})"
                return (
                    f"({then} if ({c} := {condition}) is True else {otherwise} if {c} is False "
                    f"else {both})"
                )
        self.names[node.kind] = None  # filled in by the caller, who knows the backend
        return f"{node.kind}({', '.join(arguments)})"

    def function(
        self,
        parameters: str,
        result: str,
        lookup: Callable[[str], Any],
        refused: Callable[..., Any] | None = None,
    ) -> Callable[..., Any]:
        """Returns the compiled function.

        Where Python refuses an operation, `refused` computes the result instead.
        """
        names = {
            name: lookup(name) if value is None else value for name, value in self.names.items()
        }
        lines = [*self.lines, f"return {result}"]
        if refused is not None:
            names["refused"] = refused
            lines = [
                "try:",
                *[f"    {line}" for line in lines],
                f"{REFUSED}:",
                f"    return refused({parameters})",
            ]
        body = "".join(f"    {line}\n" for line in lines)
        return function_of(f"def f({parameters}):\n{body}", "<formula>", names)


def simplified(kind: str, arguments: Sequence[Formula]) -> Formula | None:
    """Returns an equivalent that is identical to the last bit, or None.

    `x**1`, `1*x` and `x/1` are x, and `2 - 1` is 1.
    """
    if kind == "where" and (condition := arguments[0]).kind == "eq":
        a, b = condition.arguments
        if a.kind == b.kind == "number":
            return arguments[1] if a.value == b.value else arguments[2]
    if len(arguments) != 2:
        return None
    a, b = arguments
    if kind in ("add", "sub", "mul") and a.kind == b.kind == "number":
        return Formula("number", scalars.FAST[kind](a.value, b.value))
    if (kind in ("pow", "div", "mul") and b.is_number(1.0)) and a.kind != "number":
        return a
    return b if kind == "mul" and a.is_number(1.0) and b.kind != "number" else None
