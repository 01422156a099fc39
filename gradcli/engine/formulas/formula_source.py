"""Source text of functions that compute formulas.

All names in it are generated: it contains nothing of the user's program.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from . import scalars
from .reading import Formula

_INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}
_INFIX_THAT_RAISES = {**_INFIX, "div": "/", "floordiv": "//", "mod": "%"}
STRICT = frozenset(("strict_mul",))
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
        self._interns: dict[int, Formula] = {}  # the interned node, by the identity of a node
        # Keeps the formulas alive, so that no other node gets their identity.
        self._read: list[Formula] = []

    def value(self, formula: Formula) -> str:
        """Returns the expression that computes `formula`.

        Nodes that are used more than once, or nested deeply, get a local name.
        """
        return self.values([formula])[0]

    def values(self, formulas: list[Formula]) -> list[str]:
        """Returns the expressions that compute several formulas and share common subexpressions."""
        formulas = [self._interned(formula) for formula in formulas]
        nodes = {id(node): node for formula in formulas for node in formula.nodes_but(self._text)}
        uses: dict[int, int] = {}
        for formula in formulas:
            uses[id(formula)] = uses.get(id(formula), 0) + len(formulas) - 1
        for node in nodes.values():
            for argument in node.arguments:
                uses[id(argument)] = uses.get(id(argument), 0) + 1
        for node in nodes.values():
            text = self._node(node)
            depth = 1 + max([self._depth[id(a)] for a in node.arguments], default=-1)
            if node.arguments and (uses.get(id(node), 0) > 1 or depth > DEEP):
                name = f"t{len(self.lines)}"
                self.lines.append(f"{name} = {text}")
                text, depth = name, 0
            self._text[id(node)], self._depth[id(node)] = text, depth
        return [self._text[id(formula)] for formula in formulas]

    def _interned(self, formula: Formula) -> Formula:
        """Returns the formula with each subexpression as one node, however often it was built."""
        made = self._interns
        self._read.append(formula)
        for node in formula.nodes_but(made):
            arguments = tuple([made[id(a)] for a in node.arguments])
            found = simplified(node.kind, arguments) if arguments else None
            if found is None:
                # The text tells -0.0 from 0.0, and 1 from 1.0.
                key = (
                    (node.kind, node.value, *map(id, arguments))
                    if arguments
                    else (node.kind, repr(node.value))
                )
                found = self._nodes.get(key)
                if found is None:
                    found = self._nodes[key] = Formula(node.kind, node.value, arguments)
            made[id(node)] = found
        return made[id(formula)]

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
            return f"({arguments[0]} {self.infix[node.kind]} {arguments[1]})"
        if not self.strict and node.kind in STRICT:
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

    def found(self, lookup: Callable[[str], Any]) -> dict[str, Any]:
        """Returns the values of the names in the source; functions are found by `lookup`."""
        return {
            name: lookup(name) if value is None else value for name, value in self.names.items()
        }

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
        names = self.found(lookup)
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


def simplified(kind: str, arguments: tuple[Formula, ...]) -> Formula | None:
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
