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
    Plain,
    Pop,
    Product,
    Push,
    Put,
    Region,
    Room,
    Simple,
    Structural,
    Value,
    While,
)

# Instructions whose text is a word and operands, and for those in `TYPED` the type of the result.
WORDS: dict[str, type[Plain]] = {
    "cast": Cast, "check": Check, "copy": Copy, "element": Element, "free": Free, "put": Put,
}  # fmt: skip
TYPED = (Cast, Element)
_WORD_OF = {kind: word for word, kind in WORDS.items()}
_SIDES = ("left", "right")


def text(regions: Iterable[Region]) -> str:
    """The text of regions, in the order given. The values of each are numbered from 0."""
    return "\n".join(line for region in regions for line in _Printer().region(region)) + "\n"


def text_apart(made: Instruction, given: Sequence[Value]) -> str:
    """An instruction as a function of values from around it. Two that compute the same have the
    same text, wherever they stand in the program."""
    printer = _Printer(with_places=False)
    lines = list(printer.instruction(made, "", 0))
    kinds = ", ".join([str(value.type) for value in given])
    return "\n".join([*lines, f"of {printer.names(given)}: {kinds}"])


class _Printer:
    def __init__(self, with_places: bool = True) -> None:
        self.numbers: dict[int, int] = {}
        self.with_places = with_places

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
        inside = "yield", depth + 1
        if isinstance(made, Branch):
            yield f"{self._head(made, indent)}if {self.name(made.condition)} {{"
            yield from self.block(made.then, *inside)
            yield f"{indent}}} else {{"
            yield from self.block(made.otherwise, *inside)
            yield f"{indent}}}"
        elif isinstance(made, While):
            initial = list(map(self.name, made.initial))
            head = self._head(made, indent)
            yield f"{head}while ({self._carried(made.condition.parameters, initial)}) {{"
            yield from self.block(made.condition, *inside)
            yield f"{indent}}} do ({self.names(made.body.parameters)}) {{"
            yield from self.block(made.body, *inside)
            yield f"{indent}}}"
        elif isinstance(made, For):
            initial = list(map(self.name, made.initial))
            head = self._head(made, indent)
            index, *parameters = made.body.parameters
            loop = f"{head}for {self.name(index)} in {self.name(made.count)}"
            yield f"{loop} with ({self._carried(parameters, initial)}) {{"
            yield from self.block(made.body, *inside)
            yield f"{indent}}}"
        elif isinstance(made, Each):
            axes = zip(map(self.name, made.body.parameters), made.shape, strict=True)
            given = zip(made.ways, map(self.name, made.initial), strict=True)
            head = self._head(made, indent)
            space = ", ".join([f"{index}: {size}" for index, size in axes])
            yield f"{head}each ({space}) with ({', '.join(map(' '.join, given))}) {{"
            yield from self.block(made.body, *inside)
            yield f"{indent}}}"
        else:
            yield f"{self._head(made, indent)}{self.simple(made)}"

    def simple(self, made: Simple | Call) -> str:
        """The text after `=`, or the whole text of an instruction without results."""
        operands = self.names(made.operands)
        kinds = ", ".join([str(value.type) for value in made.results])
        if isinstance(made, Constant):
            return f"const {made.value!r} : {kinds}"
        if isinstance(made, Operation):
            return f"{made.op.name} {operands} : {kinds}{self._place(made)}"
        if isinstance(made, Pop):
            return f"pop {operands} : ({', '.join([str(value.type) for value in made.entry])})"
        if isinstance(made, NewArray):
            return f"new {kinds} of {operands}"
        if isinstance(made, NewStack | Room):
            return f"new {kinds}"
        if isinstance(made, Affine):
            terms = zip(map(self.name, made.operands), made.steps, strict=True)
            return f"place {made.offset} ({', '.join([f'{v}: {step}' for v, step in terms])})"
        if isinstance(made, Product):
            sizes = ", ".join(map(str, made.sizes))
            flags = "".join([f" {w}" for w, t in zip(_SIDES, made.transposed, strict=True) if t])
            return f"product {operands} ({sizes}){flags} : {kinds}"
        if isinstance(made, Structural):
            options = repr(dict(made.options))
            return f"apply {made.op.name} {operands} {options} : ({kinds}){self._place(made)}"
        if isinstance(made, Push):
            return f"push {operands}"
        if isinstance(made, Call):
            return f"call {made.region}({operands}) : ({kinds}){self._place(made)}"
        return f"{_WORD_OF[type(made)]} {operands}" + f" : {kinds}" * isinstance(made, TYPED)

    def _head(self, made: Instruction, indent: str) -> str:
        return f"{indent}{self.names(made.results)} = " if made.results else indent

    def _carried(self, parameters: Sequence[Value], initial: Sequence[str]) -> str:
        pairs = zip(parameters, initial, strict=True)
        return ", ".join([f"{self.name(p)} = {value}" for p, value in pairs])

    def _place(self, made: Operation | Structural | Call) -> str:
        """Where an instruction stands in the program."""
        span = made.span if self.with_places else None
        return "" if span is None else f" @ {span.line}:{span.column}"
