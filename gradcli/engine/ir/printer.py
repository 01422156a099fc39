"""Regions as text.

    region f(%0: f64, %1: i64) -> (f64) {
      %2 = const 0.0 : f64
      %3, %4 = while (%5 = %0, %6 = %1) {
        %7 = gt %5, %2 : bool @ 3:7
        yield %7
      } do {
        %8 = cast %6 : f64
        %9 = sub %5, %8 : f64 @ 4:9
        yield %9, %6
      }
      return %3
    }

`;` begins a comment. Values are numbered in the order in which they are defined. `@ line:column` is
where an operation stands in the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...diagnostics import Span
from .instructions import (
    Affine,
    Block,
    Branch,
    Call,
    Cast,
    Check,
    Constant,
    Copy,
    Each,
    Element,
    For,
    Free,
    Instruction,
    NewArray,
    NewStack,
    Operation,
    Pop,
    Product,
    Push,
    Put,
    Region,
    Room,
    Structural,
    Value,
    While,
)

_SIDES = ("left", "right")


def text(regions: Iterable[Region]) -> str:
    """Regions in the order given, each numbered from 0."""
    return "\n".join(line for region in regions for line in _Printer().region(region)) + "\n"


class _Printer:
    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}

    def name(self, value: Value) -> str:
        return f"%{self.numbers.setdefault(id(value), len(self.numbers))}"

    def names(self, values: Sequence[Value]) -> str:
        return ", ".join(map(self.name, values))

    def region(self, region: Region) -> Iterator[str]:
        block = region.block
        parameters = ", ".join([f"{self.name(p)}: {p.type}" for p in block.parameters])
        results = ", ".join([str(r.type) for r in block.results])
        yield f"region {region.name}({parameters}) -> ({results}) {{"
        yield from self.block(block, "return", 1)
        yield "}"

    def block(self, block: Block, end: str, depth: int) -> Iterator[str]:
        indent = "  " * depth
        for instruction in block.instructions:
            yield from self.instruction(instruction, indent, depth)
        yield f"{indent}{end} {self.names(block.results)}".rstrip()

    def instruction(self, made: Instruction, indent: str, depth: int) -> Iterator[str]:
        if isinstance(made, Constant):
            yield f"{indent}{self.name(made.result)} = const {made.value!r} : {made.result.type}"
        elif isinstance(made, Cast):
            operand = self.name(made.operand)
            yield f"{indent}{self.name(made.result)} = cast {operand} : {made.result.type}"
        elif isinstance(made, Operation):
            operands = self.names(made.operands)
            result, place = made.result, _place(made.span)
            yield f"{indent}{self.name(result)} = {made.op.name} {operands} : {result.type}{place}"
        elif isinstance(made, NewStack):
            yield f"{indent}{self.name(made.result)} = new stack"
        elif isinstance(made, Push):
            yield f"{indent}{self.name(made.result)} = push {self.names(made.operands)}"
        elif isinstance(made, Pop):
            types = ", ".join([str(value.type) for value in made.entry])
            popped = f"pop {self.name(made.stack)} : ({types})"
            yield f"{indent}{self.names(made.results)} = {popped}"
        elif isinstance(made, NewArray):
            new = f"new {made.result.type} of {self.name(made.number)}"
            yield f"{indent}{self.name(made.result)} = {new}"
        elif isinstance(made, Room):
            yield f"{indent}{self.name(made.result)} = new {made.result.type}"
        elif isinstance(made, Affine):
            terms = zip(map(self.name, made.operands), made.steps, strict=True)
            place = f"place {made.offset} ({', '.join([f'{v}: {step}' for v, step in terms])})"
            yield f"{indent}{self.name(made.result)} = {place}"
        elif isinstance(made, Product):
            sizes = ", ".join(map(str, made.sizes))
            flags = "".join([f" {w}" for w, t in zip(_SIDES, made.transposed, strict=True) if t])
            found = f"product {self.names(made.operands)} ({sizes}){flags} : {made.result.type}"
            yield f"{indent}{self.name(made.result)} = {found}"
        elif isinstance(made, Structural):
            types = ", ".join([str(value.type) for value in made.results])
            found = f"apply {made.op.name} {self.names(made.operands)} {dict(made.options)!r}"
            yield f"{indent}{self.names(made.results)} = {found} : ({types}){_place(made.span)}"
        elif isinstance(made, Element):
            found = f"element {self.names(made.operands)} : {made.result.type}"
            yield f"{indent}{self.name(made.result)} = {found}"
        elif isinstance(made, Put):
            yield f"{indent}{self.name(made.result)} = put {self.names(made.operands)}"
        elif isinstance(made, Copy):
            yield f"{indent}{self.name(made.result)} = copy {self.name(made.array)}"
        elif isinstance(made, Free):
            yield f"{indent}free {self.name(made.array)}"
        elif isinstance(made, Check):
            yield f"{indent}check {self.name(made.condition)}"
        elif isinstance(made, Call):
            operands = self.names(made.operands)
            types = ", ".join([str(r.type) for r in made.results])
            head = f"{indent}{self.names(made.results)} = " if made.results else indent
            yield f"{head}call {made.region}({operands}) : ({types}){_place(made.span)}"
        elif isinstance(made, Branch):
            condition = self.name(made.condition)
            yield f"{self._head(made.results, indent)}if {condition} {{"
            yield from self.block(made.then, "yield", depth + 1)
            yield f"{indent}}} else {{"
            yield from self.block(made.otherwise, "yield", depth + 1)
            yield f"{indent}}}"
        elif isinstance(made, While):
            initial = self.names(made.initial).split(", ") if made.initial else []
            head = self._head(made.results, indent)
            carried = self._carried(made.condition.parameters, initial)
            yield f"{head}while ({carried}) {{"
            yield from self.block(made.condition, "yield", depth + 1)
            yield f"{indent}}} do ({self.names(made.body.parameters)}) {{"
            yield from self.block(made.body, "yield", depth + 1)
            yield f"{indent}}}"
        elif isinstance(made, For):
            initial = self.names(made.initial).split(", ") if made.initial else []
            head = self._head(made.results, indent)
            index, *parameters = made.body.parameters
            loop = f"{head}for {self.name(index)} in {self.name(made.count)}"
            yield f"{loop} with ({self._carried(parameters, initial)}) {{"
            yield from self.block(made.body, "yield", depth + 1)
            yield f"{indent}}}"

        elif isinstance(made, Each):
            axes = zip(map(self.name, made.body.parameters), made.shape, strict=True)
            given = zip(made.ways, map(self.name, made.initial), strict=True)
            head = self._head(made.results, indent)
            space = ", ".join([f"{index}: {size}" for index, size in axes])
            yield f"{head}each ({space}) with ({', '.join(map(' '.join, given))}) {{"
            yield from self.block(made.body, "yield", depth + 1)
            yield f"{indent}}}"

    def _head(self, results: Sequence[Value], indent: str) -> str:
        return f"{indent}{self.names(results)} = " if results else indent

    def _carried(self, parameters: Sequence[Value], initial: Sequence[str]) -> str:
        pairs = zip(parameters, initial, strict=True)
        return ", ".join([f"{self.name(p)} = {value}" for p, value in pairs])


def _place(span: Span | None) -> str:
    return "" if span is None else f" @ {span.line}:{span.column}"
