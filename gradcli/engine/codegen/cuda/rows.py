"""Regions on many rows as CUDA C: each thread computes rows, one after the other.

The text is plain C++ with invented names. A region is a function that returns whether it is done,
steps back (`BACK`), or needs more room on its stacks (`SHORT`). A value of the IR is a variable;
carried values of a loop and results of a branch are variables that are assigned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...ir.instructions import (
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
    blocks_of,
    every,
    size_of,
)
from ...ir.types import BOOL, F32, F64, I64, STACK, ArrayType, Type, element_of
from ..scalars import NotNative, Scalars
from .arrays import ALONG, Arrays
from .memory import ARRAYS, Memory, Stack, type_of
from .scalars import PREAMBLE, Cuda, Lines, Term, literal

KERNEL = "rows"
MOST_PARAMETERS = 500  # of a kernel, which may take 4 KiB
SHORT_LOOP = 2**16  # instructions, at most, of a loop whose work isn't counted
RESULTS = (F64, F32, I64, BOOL)  # the types of results; the columns of a type are in one array


class CudaText(NamedTuple):
    """The text of a kernel. Its parameters are, in this order:

        the number of rows
        the address of a byte for each row, which says how the row ended
        the room of a stack, in words
        the address of the words of all threads
        for each parameter of the region: the column, or the value that the rows share; for a column
          of arrays also the distance to the column of the next element
        for each of `RESULTS`: the columns of the results of that type, one after the other

    An array has a column for each element.

    words   that a row needs besides its stacks
    stacks  the number of stacks of a row
    """

    text: str
    words: int
    stacks: int


def rows_text(region: Region, others: Iterable[Region], by_row: Sequence[bool]) -> CudaText:
    """A kernel that computes a region for many rows. `by_row` says which parameters have columns.
    Raises NotNative."""
    regions = _callees_first(region, {each.name: each for each in others})
    memory, names = Memory(regions), {each.name: f"region{k}" for k, each in enumerate(regions)}
    functions = [Function(each, names, memory).text() for each in regions]
    kernel = _kernel(region.block, names[region.name], by_row, memory)
    text = "\n".join([PREAMBLE + ARRAYS + ALONG + memory.row(), *functions, kernel])
    return CudaText(text, memory.words, memory.stacks)


def _callees_first(region: Region, others: Mapping[str, Region]) -> list[Region]:
    """The regions, each after those that it calls."""
    found: dict[str, Region] = {}
    entered: set[str] = set()

    def visit(each: Region) -> None:
        if each.name in entered:
            raise NotNative("a function that calls itself is not compiled for a GPU")
        entered.add(each.name)
        for made in every(each.block):
            if isinstance(made, Call) and made.region not in found:
                visit(others[made.region])
        found[each.name] = each

    visit(region)
    return list(found.values())


def _kernel(block: Block, function: str, by_row: Sequence[bool], memory: Memory) -> str:
    """The function that loops over the rows."""
    parameters, given, lines = list[str](), list[str](), Lines()
    for k, (value, varies) in enumerate(zip(block.parameters, by_row, strict=True)):
        element = element_of(value.type)
        is_array, kind = element is not value.type, type_of(element)
        parameters.append(f"{kind} *p{k}" if varies or is_array else f"{kind} p{k}")
        if is_array and varies:
            parameters.append(f"i64 step{k}")
        place = f"p{k} + index" if varies else f"p{k}"
        array = f"Array<{kind}>{{{place}, {f'step{k}' if varies else '1'}, 0}}"
        given.append(array if is_array else f"p{k}[index]" if varies else f"p{k}")
    parameters += [f"{kind} *found_{kind}" for kind in RESULTS]
    if len(parameters) + 4 > MOST_PARAMETERS:
        raise NotNative("a row has too many columns for a GPU")
    head = ["i64 n, unsigned char *status, i64 room, i64 *all_words", *parameters]
    with lines.inside(f'extern "C" __global__ void {KERNEL}({", ".join(head)})'):
        lines.add("const i64 threads = (i64)gridDim.x * blockDim.x;")
        lines.add("const i64 thread = (i64)blockIdx.x * blockDim.x + threadIdx.x;")
        lines.add("i64 *words = all_words + thread;")
        with lines.inside("for (i64 index = thread; index < n; index += threads)"):
            lines.add(f"Row row = {{{memory.initial()}}};")
            results = [f"r{k}" for k in range(len(block.results))]
            for name, value in zip(results, block.results, strict=True):
                lines.add(f"{type_of(value.type)} {name};")
            call = f"{function}({', '.join(['row', *given, *results])})"
            lines.add(f"const int ended = status[index] = {call};")
            lines.add("if (ended != DONE) continue;")
            _store(lines, block.results)
    return "\n".join(lines.lines) + "\n"


def _store(lines: Lines, results: Sequence[Value]) -> None:
    """Emits the stores of a row's results into their columns."""
    columns: dict[Type, int] = dict.fromkeys(RESULTS, 0)
    for k, value in enumerate(results):
        kind = element_of(value.type)
        place = f"found_{kind}[{columns[kind]} * n + index]"
        if isinstance(value.type, ArrayType):
            size = value.type.size
            place = f"found_{kind}[({columns[kind]} + k) * n + index]"
            lines.add(f"for (i64 k = 0; k < {size}; k++) {place} = r{k}[k];")
            columns[kind] += size
        else:
            lines.add(f"{place} = r{k};")
            columns[kind] += 1


class Function(Arrays):
    """Emits a region as a function of a row."""

    def __init__(self, region: Region, functions: Mapping[str, str], memory: Memory) -> None:
        super().__init__(memory)
        self.region, self.functions = region, functions
        self.scalars = Scalars(Cuda(self.lines), exact=False)
        self.stacks: dict[Value, Stack] = {}
        self.constants: dict[Value, Any] = {}

    def text(self) -> str:
        """The definition of the function."""
        block, lines = self.region.block, self.lines
        parameters = ["Row &row"]
        for v in block.parameters:
            if v.type == STACK:
                self.stacks[v] = Stack(lines.name(), lines.name())
                parameters += self.stacks[v].parameters
            else:
                parameters.append(f"const {type_of(v.type)} {self.named(v)}")
        numbers = [v for v in block.results if v.type != STACK]
        parameters += [f"{type_of(v.type)} &r{k}" for k, v in enumerate(numbers)]
        first = self.memory.stacks
        with lines.inside(
            f"static __device__ int {self.functions[self.region.name]}({', '.join(parameters)})"
        ):
            start = len(lines.lines)
            self.run(block)
            for k, value in enumerate(numbers):
                lines.add(f"r{k} = {self.read(value)};")
            if self.stacks_of(block.results) != self.stacks_of(block.parameters):
                raise NotNative("a stack that leaves its region has no machine code")
            own = range(first, self.memory.stacks)
            lines.lines[start:start] = [f"    const i64 start{k} = row.used{k};" for k in own]
            for k in own:  # the caller may have entries on the same stack
                lines.add(f"row.used{k} = start{k};")
            lines.add("return DONE;")
        return "\n".join(lines.lines) + "\n"

    # ---- values ----------------------------------------------------------------------------------

    def declared(self, values: Iterable[Value]) -> None:
        """Emits variables for values that are assigned later."""
        for value in values:
            if value.type != STACK:
                self.lines.add(f"{type_of(value.type)} {self.named(value)};")

    def assigned(self, to: Sequence[Value], values: Sequence[Value]) -> None:
        """Emits the assignment of values to variables. All are read before one is written."""
        pairs = [
            (self.read(a), self.read(b), type_of(a.type))
            for a, b in zip(to, values, strict=True)
            if a.type != STACK and self.read(a) != self.read(b)
        ]
        if len(pairs) == 1:
            self.lines.add(f"{pairs[0][0]} = {pairs[0][1]};")
            return
        names = [self.lines.name() for _ in pairs]
        for name, (_, value, kind) in zip(names, pairs, strict=True):
            self.lines.add(f"const {kind} {name} = {value};")
        for name, (variable, _, _) in zip(names, pairs, strict=True):
            self.lines.add(f"{variable} = {name};")

    def stacks_of(self, values: Iterable[Value]) -> list[Stack]:
        """The stacks among values."""
        return [self.stacks[value] for value in values if value.type == STACK]

    def same_stacks(self, values: Sequence[Value], others: Sequence[Value]) -> None:
        """Declares stacks to be the same as others. Raises NotNative where they are known to
        differ."""
        for value, other in zip(values, others, strict=True):
            if value.type == STACK:
                stack = self.stacks[other]
                if self.stacks.setdefault(value, stack) != stack:
                    raise NotNative("stacks that change places have no machine code")

    # ---- instructions ----------------------------------------------------------------------------

    def run(self, block: Block) -> None:
        for made in block.instructions:
            self.instruction(made)

    def instruction(self, made: Instruction) -> None:
        lines = self.lines
        if isinstance(made, Constant):
            self.constants[made.result] = made.value
            self.terms[made.result] = literal(made.value, made.result.type)
        elif isinstance(made, Cast):
            self.terms[made.result] = self.scalars.converted(
                self.terms[made.operand], made.result.type
            )
        elif isinstance(made, Operation):
            operands = [self.terms[value] for value in made.operands]
            self.terms[made.result] = self.scalars.operation(made, operands)
        elif isinstance(made, NewStack):
            stack = self.stacks[made.result] = self.memory.new_stack()
            lines.add(f"{stack.used} = start{stack.number};")
        elif isinstance(made, Push):
            stack = self.stacks[made.result] = self.stacks[made.stack]
            self.memory.push(lines, stack, [self.terms[value] for value in made.entry])
        elif isinstance(made, Pop):
            stack = self.stacks[made.result] = self.stacks[made.stack]
            entry = [Term(self.named(value), value.type) for value in made.entry]
            self.memory.pop(lines, stack, entry)
        elif isinstance(made, NewArray | Room | Element | Put | Copy | Free):
            self.array(made)
        elif isinstance(made, Affine):
            self.place(made)
        elif isinstance(made, Product):
            self.product(made)
        elif isinstance(made, Structural):
            raise NotNative(f"`{made.op.name}` is NumPy's")
        elif isinstance(made, Each):
            self.each(made)
        elif isinstance(made, Check):
            lines.add(f"if (!{self.read(made.condition)}) return BACK;")
        elif isinstance(made, Branch):
            self.branch(made)
        elif isinstance(made, While | For):
            self.loop(made)
        elif isinstance(made, Call):
            self.call(made)

    def call(self, made: Call) -> None:
        """A call. A region returns the stacks that it takes, in the same order."""
        self.declared(made.results)
        stacks = iter(self.stacks_of(made.operands))
        self.stacks.update({v: next(stacks) for v in made.results if v.type == STACK})
        given: list[str] = []
        for v in made.operands:
            given += self.stacks[v] if v.type == STACK else [self.read(v)]
        given += [self.read(v) for v in made.results if v.type != STACK]
        ended, function = self.lines.name(), self.functions[made.region]
        self.lines.add(f"const int {ended} = {function}({', '.join(['row', *given])});")
        self.lines.add(f"if ({ended} != DONE) return {ended};")

    def branch(self, made: Branch) -> None:
        self.declared(made.results)
        for head, block in (
            (f"if ({self.read(made.condition)})", made.then),
            ("else", made.otherwise),
        ):
            with self.lines.inside(head):
                self.run(block)
                self.same_stacks(made.results, block.results)
                self.assigned(made.results, block.results)

    def loop(self, made: While | For) -> None:
        lines, body = self.lines, made.body
        self.declared(made.results)
        self.same_stacks(made.results, made.initial)
        self.assigned(made.results, made.initial)
        self.carry(made.carried, made.results)
        if isinstance(made, For):
            index = self.named(body.parameters[0])
            head = f"for (i64 {index} = 0; {index} < {self.read(made.count)}; {index}++)"
        else:
            self.carry(made.condition.parameters, made.results)
            head = "for (;;)"
        work = 1 + sum([size_of(block) for block in blocks_of(made)])
        with lines.inside(head):
            if isinstance(made, While):
                self.run(made.condition)
                lines.add(f"if (!{self.read(made.condition.results[0])}) break;")
            if not self.is_short(made, work):
                lines.add(f"if ((row.left -= {work}) < 0) return BACK;")
            self.run(body)
            self.same_stacks(made.results, body.results)
            self.assigned(made.results, body.results)

    def carry(self, parameters: Sequence[Value], results: Sequence[Value]) -> None:
        """Gives a carried value one variable, in a loop and after it."""
        self.same_stacks(parameters, results)
        for parameter, result in zip(parameters, results, strict=True):
            if result.type != STACK:
                self.terms[parameter] = self.terms[result]

    def is_short(self, made: While | For, work: int) -> bool:
        """Whether the work of a loop needn't be counted, because it is known to be little."""
        count = self.constants.get(made.count) if isinstance(made, For) else None
        inner = every(made.body)
        return (
            count is not None
            and count * work <= SHORT_LOOP
            and not any(isinstance(each, While | For | Call) for each in inner)
        )
