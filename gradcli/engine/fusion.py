"""Whole scalar expressions as one function, once they turn out to be hot.

`s*0.999 + sin(x*i)*0.01` on floats is five operations: five closures, five boxes, five rounds of book-keeping. When such
an expression has been evaluated `HOT` times, one function is written for it and for the kinds of its operands at hand
(float, int, traced float), which computes all of it and appends all records at once. What it records is exactly what the
closures record, so nothing else knows of it. Operands of other kinds, and results that Python refuses, go to the closures.

The source of the function has invented names only; operands come from frames, numbers of the program as constants.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..lang import program
from .backends import INT_MAX, INT_MIN
from .compiler import Closure
from .formulas import scalar_function
from .scalar_closures import EXACT_ON_INTS, INFIX
from .scalars import FAST
from .tape import STRIDE, Site
from .values import FRAME_HEAD, Variable

assert STRIDE == 6  # the records below are written out

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
    """An operand or result in the source: its expression, its kind, and the expression of its number if it is traced."""

    text: str
    kind: str
    number: str = ""


def _write(ops: list[_Op], leaves: list[int], kinds: tuple[str, ...]) -> Callable[[list[Any]], Any] | None:
    """The function of an expression for operands of these kinds; None where an int result would need `apply`."""
    names: dict[str, Any] = {"Variable": Variable, "MISS": _MISS, "INT_MIN": INT_MIN, "INT_MAX": INT_MAX}
    lines: list[str] = []
    values: list[_Value] = []
    for k, (slot, kind) in enumerate(zip(leaves, kinds, strict=True)):
        lines += [f"x{k} = frame[{slot}]", f"if type(x{k}) is Variable: x{k} = x{k}.box"]
        if kind == "traced":
            lines += [f"if type(x{k}) is not tuple: return MISS", f"p{k}, n{k}, o{k} = x{k}"]
            lines.append(f"if type(p{k}) is not float: return MISS")
            values.append(_Value(f"p{k}", "float", f"n{k}"))
        else:
            lines.append(f"if type(x{k}) is not {kind}: return MISS")
            values.append(_Value(f"x{k}", kind))
    results: list[_Value] = []
    records: list[str] = []
    lines.append("try:")
    for j, op in enumerate(ops):
        operands = [_operand(names, kind, value, values, results) for kind, value in op.operands]
        result = _compute(names, lines, j, op, operands)
        if result is None:
            return None
        active = tuple([k for k, operand in enumerate(operands) if operand.number])
        if active:
            names[f"s{j}"] = op.site.on(active)
            numbers = [operands[k].number for k in active]
            second = operands[1].text if len(operands) > 1 else "None"
            records += [f"s{j}", numbers[0], numbers[1] if len(active) > 1 else "None", operands[0].text, second, result.text]
            count = len(records) // STRIDE - 1
            result = result._replace(number=f"number + {count}" if count else "number")
        results.append(result)
    lines.append("except (ValueError, OverflowError, ZeroDivisionError): return MISS")
    lines += _record(kinds, records, results[-1])
    source = "def hot(frame):\n" + "".join(f"    {line}\n" for line in lines)
    exec(compile(source, "<fused expression>", "exec"), names)
    hot: Callable[[list[Any]], Any] = names["hot"]
    return hot


def _operand(names: dict[str, Any], kind: str, value: Any, leaves: list[_Value], results: list[_Value]) -> _Value:
    if kind != "number":
        found: _Value = (leaves if kind == "leaf" else results)[value]
        return found
    name = f"c{len(names)}"
    names[name] = value
    return _Value(name, type(value).__name__)


def _compute(names: dict[str, Any], lines: list[str], j: int, op: _Op, operands: list[_Value]) -> _Value | None:
    """The line that computes an operation; None for ints that only `apply` knows how to treat."""
    name = op.site.op.name
    on_ints = all(operand.kind == "int" for operand in operands)
    texts = [operand.text for operand in operands]
    kind = "float"
    if len(texts) == 2 and name in INFIX:
        expression = f"{texts[0]} {INFIX[name]} {texts[1]}"
        kind = "int" if on_ints and name in EXACT_ON_INTS else "float"
    elif name == "neg":
        expression, kind = f"-{texts[0]}", operands[0].kind
    elif on_ints and op.site.op.integers == "keep":
        return None
    else:
        names[f"f{j}"] = FAST.get(name) or scalar_function(op.site.op)
        expression = f"f{j}({', '.join(texts)})"
    lines.append(f"    t{j} = {expression}")
    if kind == "int":
        lines.append(f"    if not INT_MIN <= t{j} <= INT_MAX: return MISS")
    return _Value(f"t{j}", kind)


def _record(kinds: tuple[str, ...], records: list[str], result: _Value) -> list[str]:
    """The lines that append the records and return the result."""
    if not records:
        return [f"return {result.text}"]
    traced = [k for k, kind in enumerate(kinds) if kind == "traced"]
    lines = [
        f"trace = o{traced[0]}.trace",
        "segment = trace.segment",
        f"if segment is None: return {result.text}",
        "number = trace.number",
        f"if number + {len(records) // STRIDE} > trace.limit: segment = trace.advance()",
        *[f"if o{k} is not segment and o{k}.trace is not trace: return MISS" for k in traced[1:]],
        *[f"if o{k} is not segment: segment.reads(o{k})" for k in traced],
        f"trace.number = number + {len(records) // STRIDE}",
        f"segment.records.extend(({', '.join(records)}))",
    ]
    return [*lines, f"return {result.text}, {result.number}, segment" if result.number else f"return {result.text}"]
