"""Regions of one operation, for every op on scalars, and points where they are compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod
from random import Random
from typing import Any

import numpy as np

from gradcli.engine.ir.builder import Builder
from gradcli.engine.ir.instructions import Block, Region, Value
from gradcli.engine.ir.scalars import on_scalars
from gradcli.engine.ir.types import BOOL, F64, I64, Scalar
from gradcli.engine.ir.verifier import verify
from gradcli.ops import OPS

HARD: dict[Scalar, list[Any]] = {
    F64: [
        *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -3.0, 1e-3, 7.25, 170.6, -745.2),
        *(math.inf, -math.inf, math.nan, 5e-324, -5e-324, 1e308, -1e308, 2.0**53, 709.9, math.pi),
    ],
    I64: [0, 1, -1, 2, -2, 3, 7, -10, 2**31, -(2**32), 3037000500, 2**63 - 1, -(2**63), 1 - 2**63],
    BOOL: [False, True],
}

MOST = 3000  # points of hard values, of all that there are


def operation(name: str, kind: Scalar) -> Region:
    """A region that applies an op to its parameters."""
    op = OPS[name]
    parameters = [Value(kind) for _ in op.signature.operands]
    if name == "where":
        parameters[0] = Value(BOOL)
    block = Block(tuple(parameters))
    block.results = (Builder(block).operation(op, parameters),)
    region = Region(name, block)
    verify([region])
    return region


def points_of(region: Region) -> list[list[Any]]:
    """Points of hard values, and of random ones of all magnitudes."""
    random, kinds = Random(region.name), [value.type for value in region.block.parameters]
    drawn: dict[Any, Callable[[], Any]] = {
        F64: lambda: random.gauss(0, 1) * 10 ** random.choice([0, 0, 1, -3, random.uniform(-9, 9)]),
        I64: lambda: random.randint(-(2**63), 2**63 - 1) >> random.randint(0, 63),
        BOOL: lambda: random.random() < 0.5,
    }
    known = [HARD[kind] for kind in kinds]  # type: ignore[index]
    places: Sequence[int] = range(prod(map(len, known)))
    if len(places) > MOST:
        places = random.sample(places, MOST)
    hard = zip(*np.unravel_index(places, [*map(len, known)]), strict=True)
    return [
        *[[values[k] for values, k in zip(known, point, strict=True)] for point in hard],
        *[[drawn[kind]() for kind in kinds] for _ in range(2000)],
    ]


SCALAR_OPS = [name for name, op in OPS.items() if on_scalars(op)]
KEEP = [name for name in SCALAR_OPS if OPS[name].integers in ("keep", "bool") or name == "where"]
