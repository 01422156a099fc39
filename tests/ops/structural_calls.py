"""The calls that the structural entries get in their cases, with directions to differentiate them
along."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.engine.operations.rules import Language, Value
from gradcli.engine.values.boxes import primal
from gradcli.ops import OPS
from gradcli.ops.op import Op

from .structural_cases import CASES, A, V
from .sweeps import Session

Call = tuple[Op, list[Any], dict[str, Any]]
STRUCTURAL = [op for op in OPS.values() if op.compute and op.differentiable]


class Spy(Language):
    """The language of rules, which notes the operands and options of an op."""

    __slots__ = ("calls", "op")

    def call(
        self, name: str, arguments: tuple[Any, ...], options: dict[str, Any] | None = None
    ) -> Any:
        if name == self.op.name:
            given = {p.name: p.default for p in self.op.signature.options if not p.required}
            operands = [primal(a.v) if isinstance(a, Value) else a for a in arguments]
            if not self.op.signature.variadic:
                operands += [p.default for p in self.op.signature.operands[len(operands) :]]
            self.calls.append((self.op, operands, given | (options or {})))
        return super().call(name, arguments, options)


def noted(name: str) -> list[Call]:
    """The calls of an op in its cases."""
    calls: list[Call] = []
    for function, *values in CASES[name]:
        session = Session(*values)
        spy = Spy(session.run, session.m.site)
        spy.op, spy.calls = OPS[name], calls
        function(spy, *[Value(v, spy) for v in values])
    return calls


# What the cases reach through other ops only.
EXTRA: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("median_weights", [A], {"axis": 1}),
    ("setitem", [A, 1.5], {"index": (slice(None), 1), "inplace": False}),
    ("setitem", [A, V[:3]], {"index": (0,), "inplace": False}),
    ("index_add", [A, V[:2]], {"index": (slice(None), np.array([1, 1])), "inplace": False}),
    ("float32", [V.astype("float32")], {}),
]
CALLS: list[Call] = [call for name in CASES for call in noted(name)] + [
    (OPS[n], xs, options) for n, xs, options in EXTRA
]
IDS = [f"{op.name}-{k}" for k, (op, _, _) in enumerate(CALLS)]
every_call = pytest.mark.parametrize("call", CALLS, ids=IDS)


def movable(op: Op, operands: list[Any]) -> list[int]:
    return [
        k for k, x in enumerate(operands) if op.moves_with(k) and np.asarray(x).dtype.kind in "fc"
    ]


def subsets(op: Op, operands: list[Any]) -> list[list[int]]:
    """Each operand alone, and all together."""
    movers = movable(op, operands)
    return [[k] for k in movers] + ([movers] if len(movers) > 1 else [])


def random_like(x: Any, seed: int) -> Any:
    if type(x) is list:
        return [random_like(part, seed + 10 * k) for k, part in enumerate(x)]
    rng = np.random.default_rng(seed)
    x = np.asarray(x)
    found = rng.normal(size=x.shape) + (1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else 0)
    return found.astype(x.dtype)[()] if x.dtype == "float32" or x.shape else found.item()


def directions(operands: list[Any], moving: list[int], seed: int = 1) -> list[Any]:
    return [random_like(x, seed + k) if k in moving else None for k, x in enumerate(operands)]


def inner(a: Any, b: Any) -> float:
    """<a, b>, of real numbers or of pairs of them."""
    if type(a) is list:
        return sum(inner(p, q) for p, q in zip(a, b, strict=True))
    return float(np.real(np.sum(np.conj(a) * b)))


def product(m: Any, a: Any, b: Any) -> Any:
    """<a, b> in the language."""
    return m.sum(m.real(m.conj(a) * b) if "complex128" in (a.dtype, b.dtype) else a * b)


def parts(value: Any) -> list[Any]:
    return value if type(value) is list else [value]
