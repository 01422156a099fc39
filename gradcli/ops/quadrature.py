"""Integrals of densities over a half-line, by the quadrature of Gauss and Legendre.

By x the incomplete gamma and beta functions have densities as derivatives, which are formulas. By
their parameters they have integrals of densities times polynomials of log t, which have no closed
form. With t as an exponential of v these become integrals of exp(φ(v)) from 0, where φ falls faster
and faster: smooth, without poles, and of one sign but for the polynomial, so that quadrature gives
them almost all their digits. Each is taken over the side of x where less of the distribution lies,
so that tails keep theirs, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

NODES = 20  # a panel
PANEL = 3.0  # the longest panel: φ has features of length 1
DEPTH = 46.0  # exp(-DEPTH) is nothing beside 1
BLOCK = 2**18  # nodes times elements at a time
LOWEST, HIGHEST = -1040.0, 40.0  # powers of two between which the ends of integrals lie


@cache
def _legendre() -> tuple[list[float], list[float]]:
    """Nodes and weights of the rule by Gauss and Legendre on [0, 1]."""
    nodes, weights = [], []
    for k in range(NODES):
        x = math.cos(math.pi * (k + 0.75) / (NODES + 0.5))
        for _ in range(10):  # Newton's steps
            p, before = x, 1.0
            for n in range(2, NODES + 1):
                p, before = ((2 * n - 1) * x * p - (n - 1) * before) / n, p
            slope = NODES * (x * p - before) / (x * x - 1.0)
            x -= p / slope
        nodes.append(0.5 * (1.0 + x))
        weights.append(1.0 / ((1.0 - x * x) * slope * slope))
    return nodes, weights


def _end(xp: Any, phi: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Finds where φ has fallen to -DEPTH, within a part in a thousand: first between which powers
    of two, then by bisection."""
    low, high = xp.full_like(arguments[0], LOWEST), xp.full_like(arguments[0], HIGHEST)
    for _ in range(math.ceil(math.log2(HIGHEST - LOWEST))):
        middle = xp.floor(0.5 * (low + high))
        below = phi(2.0**middle, *arguments) > -DEPTH
        low, high = xp.where(below, middle, low), xp.where(below, high, middle)
    end = 2.0**high
    low = 0.5 * end
    for _ in range(10):
        middle = 0.5 * (low + end)
        reached = phi(middle, *arguments) <= -DEPTH
        low, end = xp.where(reached, low, middle), xp.where(reached, middle, end)
    return end


def integrate(xp: Any, phi: Callable[..., Any], weight: Callable[..., Any], *arguments: Any) -> Any:
    """The integral of exp(φ(v)) weight(v) over v from 0 on; both take v and the arguments, vectors.
    How many panels an element has is its own, so that its digits don't depend on its neighbours."""
    nodes, weights = (xp.asarray(numbers) for numbers in _legendre())
    end = _end(xp, phi, arguments)
    panels = 2.0 ** xp.ceil(xp.log2(xp.clip(end / PANEL, 4.0, 1024.0)))
    found = xp.zeros_like(end)
    for count in map(int, xp.unique(panels).tolist()):
        places, rows = xp.nonzero(panels == count)[0], BLOCK // (count * NODES)
        for start in range(0, places.size, rows):
            some = places[start : start + rows]
            part, length = [a[some, None] for a in arguments], end[some, None]
            v = length * ((xp.arange(count)[:, None] + nodes).reshape(1, -1) / count)
            values = (xp.exp(phi(v, *part)) * weight(v, *part)).reshape(v.shape[0], count, NODES)
            found[some] = xp.sum(values * weights, axis=(1, 2)) * length[:, 0] / count
    return found


def on_part(xp: Any, condition: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """Evaluates a function on the elements where the condition holds; the others are 0."""
    found = xp.zeros(condition.shape)
    if bool(xp.any(condition)):
        found[condition] = function(*[a[condition] for a in arguments])
    return found
