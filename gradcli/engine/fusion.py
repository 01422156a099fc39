"""Whole scalar expressions as one function and one record, once they turn out to be hot.

`s*0.999 + sin(x*i)*0.01` on floats is five operations: five closures, five boxes, five records. When such an expression
has been evaluated `HOT` times, one function is written for it and for the kinds of its operands at hand (float, int,
traced float), which computes all of it at once. What depends on a traced operand becomes one compound op
(`compound.py`), so that there is one record, and one step of a sweep. Operands of other kinds, and results that Python
refuses, go to the closures. A trace that keeps everything is filled by closures alone.

The source of the function has invented names only; operands come from frames, numbers of the program as constants.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..diagnostics import Span
from ..lang import program
from ..ops.formula import Formula
from ..ops.op import Op
from .backends import INT_MAX, INT_MIN
from .compiler import Closure
from .compound import compound
from .formulas import REFUSED, fast_by_name
from .scalar_calls import Operand, call_lines
from .scalar_closures import EXACT_ON_INTS, INFIX
from .scalars import FAST
from .tape import Site
from .values import FRAME_HEAD, Variable

HOT = 40  # evaluations; writing a function takes as long as some hundred of them
MAX_OPS = 40
MAX_VARIANTS = 4  # functions for different kinds of operands; an expression that needs more stays with its closures
_MISS = object()


class _Op(NamedTuple):
    """An operation of the expression; an operand is ("leaf" | "op" | "number", index or value)."""

    site: Site
    operands: tuple[tuple[str, Any], ...]


class Plan(NamedTuple):
    """The operations of an expression that can be one function, operands first, and the frame indices that it reads."""

    ops: list[_Op]
    leaves: list[int]


def plan(node: program.Apply) -> Plan | None:
    """The plan of an expression; None where it can't be one function, or there is nothing to gain."""
    found = Plan([], [])
    if _collect(node, found.ops, found.leaves, 0) is None or len(found.ops) < 2 or not found.leaves:
        return None
    return found


def fuse(found: Plan, cold: Closure) -> Closure:
    """The closure of an expression, `cold` at first, that turns to one function when it is hot."""
    ops, leaves = found
    variants: dict[tuple[str, ...], Callable[[list[Any]], Any] | None] = {}
    hot: Callable[[list[Any]], Any] | None = None
    count = 0

    def expression(frame: list[Any]) -> Any:
        nonlocal hot, count
        if hot is not None:
            y = hot(frame)
            if y is not _MISS:
                return y
        count += 1
        if count >= HOT:
            kinds = tuple([_kind(frame[k]) for k in leaves])
            if kinds not in variants and len(variants) < MAX_VARIANTS:
                variants[kinds] = None if "" in kinds else _write(ops, leaves, kinds)
            hot = variants.get(kinds)
        return cold(frame)

    return expression


def _collect(node: program.Expression, ops: list[_Op], leaves: list[int], depth: int) -> tuple[str, Any] | None:
    """Lists the operations below `node`, operands first, and the slots that they read; None if there is anything else."""
    if isinstance(node, program.Constant):
        return ("number", node.value) if type(node.value) in (float, int) else None
    if isinstance(node, program.Read):
        if node.checked or node.slot.cell:
            return None
        k = node.slot.index + FRAME_HEAD
        if k not in leaves:
            leaves.append(k)
        return "leaf", leaves.index(k)
    if not isinstance(node, program.Apply) or not node.op.elementwise or node.options or max(len(ops), depth) >= MAX_OPS:
        return None
    if node.op.integers == "bool" or not node.op.differentiable or len(node.operands) > 2:
        return None
    if len(node.operands) == 2 and node.op.name not in FAST:
        return None
    operands = []
    for operand in node.operands:
        found = None if operand is None else _collect(operand, ops, leaves, depth + 1)
        if found is None:
            return None
        operands.append(found)
    ops.append(_Op(Site(node.op, node.span), tuple(operands)))
    return "op", len(ops) - 1


def _kind(value: Any) -> str:
    """ "float", "int", "traced" (a traced float), or "" for anything else."""
    if type(value) is Variable:
        value = value.box
    if type(value) is tuple:
        return "traced" if type(value[0]) is float else ""
    return "float" if type(value) is float else "int" if type(value) is int else ""


# ---- writing the function --------------------------------------------------------------------------------------------


class _Value(NamedTuple):
    """An operand or result in the source: an expression of its kind, "float" or "int"; or, where it depends on a traced
    leaf, the formula of it, of the operands of the whole."""

    text: str
    kind: str
    formula: Formula | None = None


class _Writer:
    """Writes the function of an expression for operands of certain kinds."""

    def __init__(self, leaves: list[int], kinds: tuple[str, ...]) -> None:
        self.names: dict[str, Any] = {"Variable": Variable, "MISS": _MISS, "INT_MIN": INT_MIN, "INT_MAX": INT_MAX}
        self.head: list[str] = []  # what brings the leaves into locals
        self.inactive: list[str] = []  # what computes the operations on what isn't traced
        self.operands: list[Operand] = []
        self.values: list[_Value] = []
        self._formulas: dict[str, Formula] = {}  # of the operands, by the text of their primals
        for k, (slot, kind) in enumerate(zip(leaves, kinds, strict=True)):
            self.head += [f"x{k}_ = frame[{slot}]", f"if type(x{k}_) is Variable: x{k}_ = x{k}_.box"]
            if kind == "traced":
                self.head += [f"if type(x{k}_) is not tuple: return MISS", f"p{k}_, n{k}_, o{k}_ = x{k}_"]
                self.head.append(f"if type(p{k}_) is not float: return MISS")
                self.values.append(_Value(f"p{k}_", "float", self._operand(Operand(f"p{k}_", f"n{k}_", f"o{k}_"))))
            else:
                self.head.append(f"if type(x{k}_) is not {kind}: return MISS")
                self.values.append(_Value(f"x{k}_", kind))

    def _operand(self, operand: Operand) -> Formula:
        if operand.primal not in self._formulas:
            self._formulas[operand.primal] = Formula("operand", len(self.operands))
            self.operands.append(operand)
        return self._formulas[operand.primal]

    def compute(self, j: int, op: Op, operands: list[_Value]) -> _Value | None:
        """One operation: as a line if nothing is traced, else as a formula. None for ints that only `apply` can treat."""
        if any(operand.formula is not None for operand in operands):
            formulas = tuple([o.formula or self._constant(o) for o in operands])
            return _Value("", "float", Formula(op.name, None, formulas))
        on_ints = all(operand.kind == "int" for operand in operands)
        texts = [operand.text for operand in operands]
        kind = "float"
        if len(texts) == 2 and op.name in INFIX:
            expression = f"{texts[0]} {INFIX[op.name]} {texts[1]}"
            kind = "int" if on_ints and op.name in EXACT_ON_INTS else "float"
        elif op.name == "neg":
            expression, kind = f"-{texts[0]}", operands[0].kind
        elif on_ints and op.integers == "keep":
            return None
        else:
            self.names[f"f{j}"] = fast_by_name(op.name)
            expression = f"f{j}({', '.join(texts)})"
        self.inactive.append(f"t{j}_ = {expression}")
        if kind == "int":
            self.inactive.append(f"if not INT_MIN <= t{j}_ <= INT_MAX: return MISS")
        return _Value(f"t{j}_", kind)

    def _constant(self, value: _Value) -> Formula:
        """What isn't traced as a part of a formula: a number, or an operand."""
        if value.text in self.names:
            return Formula("number", self.names[value.text])
        return self._operand(Operand(value.text))

    def number(self, value: Any) -> _Value:
        name = f"c{len(self.names)}"
        self.names[name] = value
        return _Value(name, type(value).__name__)

    def function(self, span: Span, result: _Value) -> Callable[[list[Any]], Any]:
        lines = list(self.head)
        if result.formula is None:
            lines += ["try:", *[f"    {line}" for line in self.inactive], f"{REFUSED}: return MISS", f"return {result.text}"]
        else:
            op = compound("expression", result.formula, len(self.operands))
            active = tuple([k for k, operand in enumerate(self.operands) if operand.number])
            site = self.names["active"] = Site(op, span).on(active)
            site.scalar = True
            lines += call_lines(self.names, op, self.operands, "return MISS", "return MISS", self.inactive)
        source = "def hot(frame):\n" + "".join(f"    {line}\n" for line in lines)
        exec(compile(source, "<fused expression>", "exec"), self.names)
        hot: Callable[[list[Any]], Any] = self.names["hot"]
        return hot


def _write(ops: list[_Op], leaves: list[int], kinds: tuple[str, ...]) -> Callable[[list[Any]], Any] | None:
    """The function of an expression for operands of these kinds; None where an int result would need `apply`."""
    writer = _Writer(leaves, kinds)
    results: list[_Value] = []
    for j, op in enumerate(ops):
        operands = [
            writer.number(value) if kind == "number" else (writer.values if kind == "leaf" else results)[value]
            for kind, value in op.operands
        ]
        result = writer.compute(j, op.site.op, operands)
        if result is None:
            return None
        results.append(result)
    return writer.function(ops[-1].site.span, results[-1])
