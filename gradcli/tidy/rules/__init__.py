"""The rules of `lint`: each is a function of the facts about a program, which yields findings."""

from __future__ import annotations

from . import commas, flow, loops, names, numerics

RULES = (
    names.unused,
    names.hides_outer,
    names.hides_builtin,
    names.rebound,
    names.int_variables,
    flow.unreachable,
    commas.decimal,
    numerics.float_equality,
    numerics.squared_norm,
    numerics.logarithm_near_one,
    numerics.exponential_less_one,
    numerics.norm_by_hand,
    loops.vectorisable,
)
