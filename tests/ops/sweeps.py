"""Derivatives of small functions written in the language of rules, by the engine's sweeps and by
central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.diagnostics import Source, Span
from gradcli.engine.ad.reverse import sweep
from gradcli.engine.execution import new_run
from gradcli.engine.operations.rules import Language, Value
from gradcli.engine.trace.run import Settings
from gradcli.engine.trace.tape import Site
from gradcli.engine.values.boxes import Dual, primal
from gradcli.ops import OPS

Function = Callable[..., Any]


class Session:
    """A run, its language, and values watched in it."""

    def __init__(self, *values: Any) -> None:
        self.run = new_run(Settings(), {})
        self.m = Language(self.run, Site(OPS["add"], Span(Source("<test>", "x"), 0, 1)))
        self.leaves = [self.run.trace.leaf(v) for v in values]
        self.operands = [Value(leaf, self.m) for leaf in self.leaves]

    def constant(self, value: Any) -> Value:
        """A value that nothing is differentiated by."""
        return Value(value, self.m)

    def dual(self, value: Any, tangent: Any, level: int = 1) -> Value:
        """A value with a tangent at a forward level."""
        self.run.level = max(self.run.level, level)
        return Value(Dual(value, tangent, level), self.m)

    def gradients(self, target: Any, recorded: bool = False) -> list[Any]:
        """The gradients of a scalar by every watched value; 0.0 for an unconnected one."""
        if type(target.v) is not tuple:
            return [0.0 for _ in self.leaves]
        found = sweep(self.run, [(target.v, 1.0)], {leaf[1] for leaf in self.leaves}, recorded)
        return [found.get(leaf[1], 0.0) for leaf in self.leaves]


def tangent(y: Value | Any) -> Any:
    """The tangent of a result at its highest level; 0.0 where it has none."""
    v = y.v if type(y) is Value else y
    return v.tangent if type(v) is Dual else 0.0


def weighed(m: Any, y: Any, seed: int = 0) -> Any:
    """A scalar that every element of `y` (or of a list of results) counts in, each with a weight of
    its own."""
    if type(y) is list:
        parts = [weighed(m, part, seed + k) for k, part in enumerate(y)]
        return sum(parts[1:], parts[0])
    weights = np.random.default_rng(seed).normal(size=y.shape) + 0.5
    return m.sum(y * (weights if y.shape else float(weights)))


def gradient(function: Function, *values: Any) -> list[Any]:
    """The gradients of the weighed result of `function(m, *operands)`, by reverse mode."""
    session = Session(*values)
    return [
        primal(g)
        for g in session.gradients(weighed(session.m, function(session.m, *session.operands)))
    ]


def second(function: Function, *values: Any) -> list[Any]:
    """The gradients of the weighed gradients of the weighed result: reverse over reverse."""
    session = Session(*values)
    first = session.gradients(
        weighed(session.m, function(session.m, *session.operands)), recorded=True
    )
    total = Value(0.0, session.m)
    for k, g in enumerate(first):
        total = total + weighed(session.m, Value(g, session.m), seed=100 + k)
    return [primal(g) for g in session.gradients(total)]


def value(function: Function, *values: Any) -> float:
    session = Session(*values)
    return float(primal(weighed(session.m, function(session.m, *session.operands)).v))


def weighed_gradient(function: Function, *values: Any) -> float:
    """What `second` differentiates, as a number."""
    total = 0.0
    for k, (g, v) in enumerate(zip(gradient(function, *values), values, strict=True)):
        weights = np.random.default_rng(100 + k).normal(size=np.shape(v)) + 0.5
        total += float(np.sum(weights * g))
    return total


def differences(function: Callable[..., float], *values: Any) -> list[Any]:
    """Central differences of a scalar function, extrapolated once: errors of about 1e-10."""
    gradients = []
    for k, v in enumerate(values):
        g = np.zeros(np.shape(v))
        for index in np.ndindex(*np.shape(v)):

            def slope(h: float, k: int = k, index: tuple[int, ...] = index) -> float:
                up, down = ([np.array(w, dtype=float) for w in values] for _ in range(2))
                up[k][index] += h
                down[k][index] -= h
                return (function(*_floats(up)) - function(*_floats(down))) / (2 * h)

            g[index] = (4 * slope(5e-4) - slope(1e-3)) / 3
        gradients.append(g)
    return gradients


def _floats(values: list[Any]) -> list[Any]:
    return [v if v.ndim else float(v) for v in values]
