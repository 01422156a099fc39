"""A whole program as one region, and what of it is in none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...lang import program
from ...lang.program.walks import own_nodes
from ..ir.builder import Builder
from ..ir.instructions import Block, Region, Value
from ..ir.printer import text
from ..ir.types import BOOL, F64, I64, Scalar
from .lowering import Lowering, assigned
from .names import Name, NotCompiled, Unknown
from .structures import flat

_DTYPES = {"float": F64, "float64": F64, "int": I64, "int64": I64, "bool": BOOL}
# Of values from outside, where the program doesn't say: ints become floats.
_TYPES: dict[type, Scalar] = {float: F64, int: F64, bool: BOOL}


class Lowered(NamedTuple):
    """A program in IR.

    region    its parameters are the states of its variables, its results the outputs
    names     of the parameters, and of the results
    reasons   why statements aren't in it, in order
    """

    region: Region
    parameters: list[str]
    results: list[str]
    reasons: list[NotCompiled]

    @property
    def text(self) -> str:
        """The region as text."""
        return text([self.region])


def lower_program(node: program.Program, inputs: Mapping[str, Any]) -> Lowered:
    """The region of a program; `inputs` are values from outside, by name, of which only the types
    count."""
    return _Main(node, inputs).lowered()


class _Main:
    def __init__(self, node: program.Program, inputs: Mapping[str, Any]) -> None:
        self.node, self.inputs = node, inputs
        self.block = Block()
        self.lowering = Lowering(Builder(self.block))
        self.parameters: list[str] = []
        self.results: dict[str, Any] = {}
        self.reasons: list[NotCompiled] = []
        everything = own_nodes(node.body, frozenset())
        self.updates = any(isinstance(inner, program.Update) for inner in everything)

    def lowered(self) -> Lowered:
        for statement in self.node.body:
            self.statement(statement)
        if not self.results:
            for name, expression in self.node.results:
                self.output(name, expression)
        values = {name: value for name, value in self.results.items() if isinstance(value, Value)}
        self.block.results = tuple([v for held in values.values() for v in flat(held)])
        return Lowered(Region("main", self.block), self.parameters, list(values), self.reasons)

    def statement(self, node: Any) -> None:
        held, n = dict(self.lowering.names.held), len(self.block.instructions)
        try:
            if isinstance(node, program.Declare):
                self.declare(node)
            elif isinstance(node, program.Output):
                for name, expression in node.items:
                    self.output(name, expression)
            else:
                self.lowering.statement(node)
        except NotCompiled as reason:
            del self.block.instructions[n:]
            self.lowering.names.held = held
            self.lowering.frame = 1
            self.note(reason)
            self.forget(node, Unknown(reason.reason, reason.span))

    def forget(self, node: Any, unknown: Unknown) -> None:
        """What a statement that isn't compiled may have changed isn't known after it: the names
        that it assigns, and every list, which other names may share."""
        names = self.lowering.names.held
        names.update({Name(1, slot): unknown for slot in assigned([node])})
        names.update({name: unknown for name, held in names.items() if type(held) is tuple})

    def note(self, reason: NotCompiled) -> None:
        if all((r.reason, r.span) != (reason.reason, reason.span) for r in self.reasons):
            self.reasons.append(reason)

    def output(self, name: str, expression: Any) -> None:
        n = len(self.block.instructions)
        try:
            self.results[name] = self.lowering.expression(expression)
        except NotCompiled as reason:
            del self.block.instructions[n:]
            self.note(reason)

    def declare(self, node: program.Declare) -> None:
        """A declared variable is a parameter of the type that its state has."""
        name = node.slot.name
        with self.lowering.builder.inside(Block()):
            first = None if node.value is None else self.lowering.expression(node.value)
        kind = _TYPES.get(type(self.inputs.get(name)))
        if first is not None:
            kind = getattr(first, "type", None)
        if node.type is not None:
            kind = _DTYPES.get(node.type.dtype) if node.type.shape is None else None
        if not isinstance(kind, Scalar):
            raise NotCompiled(f"`{name}` is no number, or has no value", node.span)
        if node.slot.cell and self.updates:
            raise NotCompiled("functions may update this variable with `:=`", node.span)
        value = Value(kind)
        self.block.parameters += (value,)
        self.parameters.append(name)
        self.lowering.names.held[Name(1, node.slot.index)] = value
