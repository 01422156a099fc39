"""Variables in IR: changes of their states by `:=`.

A variable is held by names, lists and arguments. Its state is held by a name of its own that no
program mentions. A new state has the derivatives of the old one, whatever it was computed from: it
is the variable, and begins anew.
"""

from __future__ import annotations

from typing import Any

from ....lang import program
from ...ir.instructions import Value
from ...ir.scalars import RESTATED
from ...ir.types import BOOL, FLOATS, I64, ArrayType, Scalar, has_tangents
from ..held.kinds import Array, Stored, array_kind, flat, kind_of, rebuilt, without_variable
from ..held.names import NotCompiled, Variable
from ..values.stored import Pending
from .mapping import RowMaps

# For the type of a state, the types of numbers that it can be set to.
_WIDER = {**dict.fromkeys(FLOATS, (*FLOATS, I64, BOOL)), I64: (I64, BOOL), BOOL: (BOOL,)}


class States(RowMaps):
    """The lowering of changes of states."""

    def update(self, node: program.Update) -> None:
        """`x := v`, and `x[i] := v`."""
        denoted = node.variable
        if isinstance(denoted, program.Index):
            holder = self.expression(denoted.object)
            if isinstance(holder, Variable):
                self.update_part(holder, self.steps(denoted.items), node)
                return
        held = self.expression(denoted)
        if not isinstance(held, Variable):
            raise NotCompiled("`:=` is compiled only for variables")
        value = self.lazy(node.value)  # which may change the state, too
        old = self.state_to_change(held)
        new = self.new_value(old, value, node)
        self.names.held[held.state] = self.restated(old, new)

    def update_part(self, variable: Variable, steps: Any, node: program.Update) -> None:
        """`x[i] := v`. `steps` lead to the part."""
        value = self.lazy(node.value)  # which may change the state, too
        old = self.state_to_change(variable)
        if not isinstance(old, Array | Stored):
            raise NotCompiled("a change of an element is compiled only for arrays")
        before = self.part(old, steps)
        value = self.new_value(before, value, node)
        if isinstance(before, Array | Stored) and not isinstance(value, Array | Stored | Pending):
            raise NotCompiled("a value that is broadcast into a part is not compiled")
        part = self.restated(before, value)
        new = self.with_part(without_variable(old), steps, without_variable(part))
        self.names.held[variable.state] = rebuilt(kind_of(old), flat(new))

    def state_to_change(self, variable: Variable) -> Any:
        if variable.state in self.copied:
            raise NotCompiled("a value that is a variable on only one path is not compiled")
        self.updated.add(variable.state)
        return self.value(variable)

    def new_value(self, old: Any, value: Any, node: program.Update) -> Any:
        if node.op is not None:
            value = self.apply(node.op, [without_variable(old), value])
        value = self.values(value)
        return self.as_array(value) if type(value) is tuple else value

    def restated(self, old: Any, value: Any) -> Any:
        """The new state of a variable, after `old`: a value of the same shape and type."""
        shape, kind = shape_and_type(old)
        if shape_and_type(value)[0] != shape:
            raise NotCompiled("a new state of another shape is not compiled")
        if shape_and_type(value)[1] not in _WIDER[kind]:
            raise NotCompiled("a new state of another type is not compiled")
        value = self.converted(value, kind) if kind != BOOL else value
        if has_tangents(kind):
            value = self.apply(RESTATED, [without_variable(old), value])
        value = self.whole(value)
        if not shape:
            return value
        return rebuilt(array_kind(ArrayType(kind, shape), variable=True), flat(value))


def shape_and_type(held: Any) -> tuple[tuple[int, ...], Scalar]:
    if isinstance(held, Array | Pending):
        return held.shape, held.type
    if isinstance(held, Stored) and not held.listed:
        return held.shape, held.type.element
    if not isinstance(held, Value) or not isinstance(held.type, Scalar):
        raise NotCompiled("a state that is no number and no array is not compiled", None)
    return (), held.type
