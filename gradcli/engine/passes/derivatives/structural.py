"""Derivatives of structural entries in IR, by the rules of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ops.tangent import push
from ...ir.builder import Builder
from ...ir.instructions import Structural, Value
from ...ir.places import Scattered
from ...ir.structural import REFUSALS, Refused
from ...ir.types import ArrayType, Type, element_of, has_tangents
from ..rules import NoRule
from .rule_language import Held, Language


def shares(
    builder: Builder, made: Structural, g: Sequence[Value | None], active: Sequence[int]
) -> list[Value]:
    """The shares of the operands at the positions `active`, from the cotangents of the results,
    which may be None. Raises NoRule."""
    rule = _Rule(builder, made)
    given = [None if each is None else rule.held(each) for each in g]
    with builder.at(made.span):
        return [rule.share(given if len(given) > 1 else given[0], k) for k in active]


def tangents(builder: Builder, made: Structural, t: Sequence[Value | None]) -> list[Value]:
    """The tangents of the float results, from those of the operands. Raises NoRule."""
    rule = _Rule(builder, made)
    with builder.at(made.span):
        return rule.along([None if each is None else rule.held(each) for each in t])


class _Rule:
    """The rules of an entry at an instruction."""

    def __init__(self, builder: Builder, made: Structural) -> None:
        self.made, self.m = made, Language(builder)
        self.operands = [self.held(value) for value in made.operands]
        results = [self.held(value) for value in made.results]
        self.y: Any = results if len(results) > 1 else results[0]
        self.options = dict(made.options)

    def held(self, value: Value) -> Held:
        return Held(value, self.m)

    def share(self, g: Any, k: int) -> Value:
        op, like = self.made.op, self.made.operands[k].type
        given = (self.m, g, self.y)
        try:
            if op.accumulate is not None:
                total = self.held(self.m.builder.zero(like))
                found = op.accumulate(self.m, total, *given[1:], *self.operands, **self.options)
            elif callable(op.vjp):
                found = op.vjp(*given, k, *self.operands, **self.options)
            elif op.vjp is not None and (rule := op.vjp[k]) is not None:
                found = rule(*given, *self.operands, **self.options)
            else:
                raise NoRule(f"`{op.name}` has no derivative")
            return self.fitted(found, like, "sum_to")
        except (Refused, Scattered, *REFUSALS) as reason:
            raise NoRule(f"the derivative of `{op.name}`: {reason}") from None

    def along(self, t: Sequence[Held | None]) -> list[Value]:
        op = self.made.op
        if op.jvp is None and not (op.linear or op.multilinear):
            raise NoRule(f"`{op.name}` has no rule for forward mode")
        try:
            found = push(self.m, op, t, self.y, self.operands, self.options)
            parts = zip(found if type(found) is list else [found], self.made.results, strict=True)
            floats = [(part, value.type) for part, value in parts if has_tangents(value.type)]
            return [self.fitted(part, kind, "broadcast_to") for part, kind in floats]
        except (Refused, Scattered, *REFUSALS) as reason:
            raise NoRule(f"the derivative of `{op.name}`: {reason}") from None

    def fitted(self, found: Any, like: Type, change: str) -> Value:
        """A derivative in the shape and type of the value that it belongs to."""
        value = self.m.value(found)
        if isinstance(value.type, ArrayType) or isinstance(like, ArrayType):
            shape = like.shape if isinstance(like, ArrayType) else ()
            if not isinstance(value.type, ArrayType):
                assert isinstance(like, ArrayType)
                return self.m.builder.filled(like, value)
            if value.type.shape != shape:
                value = self.m.value(self.m.call(change, (found,), {"shape": shape}))
        return self.m.of_type(value, element_of(like))
