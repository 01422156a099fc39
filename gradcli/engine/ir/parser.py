"""Regions from text, as the printer writes it: tests and golden files are such texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops import OPS
from .instructions import (
    WAYS,
    Affine,
    Block,
    Branch,
    Call,
    Constant,
    Each,
    For,
    Instruction,
    NewArray,
    NewStack,
    Operation,
    Plain,
    Pop,
    Product,
    Push,
    Region,
    Room,
    Structural,
    Value,
    While,
)
from .printer import TYPED, WORDS
from .tokens import IRError, Tokens
from .types import BOOL, F32, F64, I64, STACK, ArrayType, Type

SCALARS = {scalar.name: scalar for scalar in (F64, F32, I64, BOOL)}
_TYPES: dict[str, Type] = {**SCALARS, "stack": STACK}


def parse(source: str) -> list[Region]:
    """The regions of a text, without places in a program. Raises IRError."""
    parser = _Parser(source)
    regions = []
    while parser.peek():
        regions.append(parser.region())
    return regions


class _Parser(Tokens):
    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.values: dict[str, Value] = {}

    # ---- values and types ------------------------------------------------------------------------

    def define(self, name: str, kind: Type) -> Value:
        if not name.startswith("%"):
            self.fail("a value")
        if name in self.values:
            raise IRError(f"{name} is defined twice")
        self.values[name] = Value(kind)
        return self.values[name]

    def use(self) -> Value:
        name = self.next()
        if name not in self.values:
            raise IRError(f"{name} is used before it is defined")
        return self.values[name]

    def uses(self, end: str = "") -> tuple[Value, ...]:
        found = []
        while self.peek().startswith("%"):
            found.append(self.use())
            if not self.accept(","):
                break
        if end:
            self.expect(end)
        return tuple(found)

    def type(self) -> Type:
        listed = self.accept("list")
        name = self.next()
        if name not in _TYPES:
            raise IRError(f"`{name}` is no type: {', '.join(_TYPES)}")
        if name not in SCALARS or not self.accept("["):
            if listed:
                raise IRError(f"`list {name}` has no shape: a list is `list f64[20]`")
            return _TYPES[name]
        shape = []
        while not self.accept("]"):
            shape.append(self.size())
            self.accept(",")
        return ArrayType(SCALARS[name], tuple(shape), listed)

    def size(self) -> int:
        text = self.next()
        if not text.isdecimal():
            raise IRError(f"`{text}` is no size of an array")
        return int(text)

    def types(self) -> list[Type]:
        self.expect("(")
        found: list[Type] = []
        while not self.accept(")"):
            found.append(self.type())
            self.accept(",")
        return found

    def place(self) -> None:
        if self.accept("@"):
            self.at += 1
            self.expect(":")
            self.at += 1

    # ---- structure -------------------------------------------------------------------------------

    def region(self) -> Region:
        self.values = {}
        self.expect("region")
        name = self.next()
        self.expect("(")
        parameters = []
        while not self.accept(")"):
            value = self.next()
            self.expect(":")
            parameters.append(self.define(value, self.type()))
            self.accept(",")
        self.expect("->")
        types = self.types()
        self.expect("{")
        block = self.block(tuple(parameters), "return")
        if [r.type for r in block.results] != types:
            raise IRError(f"`{name}` returns other types than it says")
        return Region(name, block)

    def block(self, parameters: tuple[Value, ...], end: str) -> Block:
        block = Block(parameters)
        while not self.accept(end):
            block.instructions.append(self.instruction())
        block.results = self.uses("}")
        return block

    def names(self) -> list[str]:
        """The names on the left of `=`; none where there is no `=`."""
        start, found = self.at, []
        while self.peek().startswith("%"):
            found.append(self.next())
            if not self.accept(","):
                break
        if found and self.accept("="):
            return found
        self.at = start
        return []

    def instruction(self) -> Instruction:
        names = self.names()
        word = self.next()
        if word == "if":
            return self.branch(names)
        if word == "while":
            return self.while_loop(names)
        if word == "for":
            return self.for_loop(names)
        if word == "each":
            return self.each(names)
        if word == "call":
            region = self.next()
            self.expect("(")
            operands = self.uses(")")
            self.expect(":")
            results = self.defined(names, self.types())
            self.place()
            return Call(region, operands, results)
        if word == "apply":
            return self.structural(names)
        if word in WORDS:
            return self.plain(names, WORDS[word])
        if word == "pop":
            stack = self.use()
            self.expect(":")
            result, *entry = self.defined(names, [stack.type, *self.types()])
            return Pop(stack, tuple(entry), result)
        if len(names) != 1:
            self.fail("one result")
        return self.simple(names[0], word)

    def simple(self, name: str, word: str) -> Instruction:
        if word == "const":
            value = self.literal()
            self.expect(":")
            return Constant(value, self.define(name, self.type()))
        if word == "new":
            return self.new(name)
        if word == "place":
            offset = self.integer()
            terms = self.sized(self.use)
            values, steps = tuple([v for v, _ in terms]), tuple([step for _, step in terms])
            return Affine(values, steps, offset, self.define(name, SCALARS["i64"]))
        if word == "product":
            return self.product(name)
        if word == "push":
            stack, *entry = self.uses()
            return Push(stack, tuple(entry), self.define(name, stack.type))
        if word not in OPS:
            raise IRError(f"`{word}` is no instruction, and no entry of the table")
        operands = self.uses()
        self.expect(":")
        kind = self.type()
        self.place()
        return Operation(OPS[word], operands, self.define(name, kind))

    def plain(self, names: list[str], kind: Any) -> Plain:
        """An instruction of `WORDS`. A result without a type has that of the first operand."""
        operands = self.uses()
        types = [operands[0].type] * len(kind.GIVES)
        if kind in TYPED:
            self.expect(":")
            types = [self.type()]
        made: Plain = kind(*operands, *self.defined(names, types))
        return made

    def new(self, name: str) -> Instruction:
        kind = self.type()
        if kind == STACK:
            return NewStack(self.define(name, STACK))
        if not self.accept("of"):
            return Room(self.define(name, kind))
        return NewArray(self.use(), self.define(name, kind))

    def product(self, name: str) -> Product:
        left, right = self.uses()
        self.expect("(")
        sizes = []
        while not self.accept(")"):
            sizes.append(self.size())
            self.accept(",")
        if len(sizes) != 4:
            self.fail("four sizes")
        transposed = (self.accept("left"), self.accept("right"))
        self.expect(":")
        count, m, k, n = sizes
        return Product(left, right, (count, m, k, n), transposed, self.define(name, self.type()))

    def structural(self, names: list[str]) -> Structural:
        op = self.next()
        if op not in OPS:
            raise IRError(f"`{op}` is no entry of the table")
        operands, options = self.uses(), list[tuple[str, Any]]()
        self.expect("{")
        while not self.accept("}"):
            name = self.next().strip("'")
            self.expect(":")
            options.append((name, self.option()))
            self.accept(",")
        self.expect(":")
        results = self.defined(names, self.types())
        self.place()
        return Structural(OPS[op], operands, tuple(options), results)

    def sized(self, item: Callable[[], Value]) -> list[tuple[Value, int]]:
        """Values in brackets, each with an int."""
        self.expect("(")
        found = []
        while not self.accept(")"):
            value = item()
            self.expect(":")
            found.append((value, self.integer()))
            self.accept(",")
        return found

    def each(self, names: list[str]) -> Each:
        axes = self.sized(lambda: self.define(self.next(), SCALARS["i64"]))
        self.expect("with", "(")
        ways, initial = [], []
        while not self.accept(")"):
            ways.append(self.next())
            if ways[-1] not in WAYS:
                raise IRError(f"`{ways[-1]}` is no way to combine numbers: {', '.join(WAYS)}")
            initial.append(self.use())
            self.accept(",")
        self.expect("{")
        body = self.block(tuple([index for index, _ in axes]), "yield")
        results = self.defined(names, [value.type for value in initial])
        shape = tuple([size for _, size in axes])
        return Each(shape, tuple(initial), tuple(ways), body, results)

    def defined(self, names: list[str], types: list[Type]) -> tuple[Value, ...]:
        if len(names) != len(types):
            raise IRError(f"{len(types)} results, and {len(names)} names")
        return tuple([self.define(n, t) for n, t in zip(names, types, strict=True)])

    def branch(self, names: list[str]) -> Branch:
        condition = self.use()
        self.expect("{")
        then = self.block((), "yield")
        self.expect("else", "{")
        otherwise = self.block((), "yield")
        return Branch(condition, then, otherwise, self.defined(names, _types(then)))

    def carried(self) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
        """The parameters of a loop's block, and the values of the first iteration."""
        self.expect("(")
        parameters, initial = [], []
        while not self.accept(")"):
            name = self.next()
            self.expect("=")
            initial.append(self.use())
            parameters.append(self.define(name, initial[-1].type))
            self.accept(",")
        return tuple(parameters), tuple(initial)

    def while_loop(self, names: list[str]) -> While:
        parameters, initial = self.carried()
        self.expect("{")
        condition = self.block(parameters, "yield")
        self.expect("do", "(")
        inside: list[Value] = []
        while not self.accept(")"):
            inside.append(self.define(self.next(), parameters[len(inside)].type))
            self.accept(",")
        self.expect("{")
        body = self.block(tuple(inside), "yield")
        return While(initial, condition, body, self.defined(names, [p.type for p in parameters]))

    def for_loop(self, names: list[str]) -> For:
        index = self.define(self.next(), SCALARS["i64"])
        self.expect("in")
        count = self.use()
        self.expect("with")
        parameters, initial = self.carried()
        self.expect("{")
        body = self.block((index, *parameters), "yield")
        return For(count, initial, body, self.defined(names, [p.type for p in parameters]))


def _types(block: Block) -> list[Type]:
    return [value.type for value in block.results]
