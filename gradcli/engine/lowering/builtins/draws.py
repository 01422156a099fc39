"""Random numbers in IR. A draw is a function of the seed and of the number of draws before it; that
number is carried along as the states of variables are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ops import OPS
from ....ops.op import Op
from ...ir.instructions import Check, Value
from ...ir.types import F32
from ..held.names import SEED, Name, NotCompiled
from .calls import Builtins
from .reductions import Options

# The parameters of distributions of floats in their standard form.
_STANDARD = {"normal": {"mean": 0.0, "std": 1.0}, "uniform": {"low": 0.0, "high": 1.0}}


class Draws(Builtins):
    """The lowering of random builtins."""

    def begin_draws(self, seed: Value, draws: Value) -> None:
        """Allows draws from here on, after so many before."""
        self.names.put([self.seed, self.draws], [seed, draws])

    @property
    def seed(self) -> Name:
        return self.draws._replace(slot=SEED)

    def apply(self, op: Op, operands: Sequence[Any], options: Options | None = None) -> Any:
        if op.category != "random":
            return super().apply(op, operands, options)
        if self.draws not in self.names.held:
            raise NotCompiled(f"`{op.name}` draws random numbers, which is not compiled here")
        seed, draws = map(self.at_hand, self.names.of([self.seed, self.draws]))
        drawn = self.drawn(op, [seed, draws], dict(options or {}))
        self.names.held[self.draws] = self.builder.apply("add", [draws, self.builder.constant(1)])
        return drawn

    def drawn(self, op: Op, state: list[Value], options: dict[str, Any]) -> Any:
        """The result of a draw. Where the parameters of the distribution aren't known numbers, it
        is drawn in its standard form, then shifted and scaled."""
        standard = _STANDARD.get(op.name, {})
        if all(self.is_known(options.get(name)) for name in standard):
            if standard and self.builder.real == F32:
                options["dtype"] = "float32"
            return self.by_interpreter(op, state, options)
        given = {name: self.number_of(options.get(name, standard[name])) for name in standard}
        place, width = given.values()
        if op.name == "uniform":
            width = self.builder.apply("sub", [width, place])
        else:
            self.builder.add(Check(self.builder.apply("ge", [width, self.builder.constant(0.0)])))
        drawn = self.by_interpreter(op, state, {"shape": options.get("shape")})
        spread = self.apply(OPS["mul"], [width, drawn])
        return self.whole(self.apply(OPS["add"], [place, spread]))

    def is_known(self, held: Any) -> bool:
        return not isinstance(held, Value) or held in self.builder.known

    def number_of(self, held: Any) -> Value:
        """A number that decides a distribution. There is no derivative by it."""
        held = self.builder.constant(held) if type(held) is float else held
        held = self.apply(OPS["detach"], [held])
        if not isinstance(held, Value):
            raise NotCompiled("a distribution for each number is not compiled")
        return held

    def at_hand(self, value: Value) -> Value:
        """A value; a known one as a constant of this block, so that the block needs no other."""
        known = self.builder.known.get(value)
        return value if known is None else self.builder.constant(known)
