"""The memory of a row of a CUDA kernel: its arrays, and its stacks.

It is measured in words of 8 bytes. The words of rows that run together are interleaved: word k of a
thread is beside word k of the next one, so that threads that do the same read one line of memory.
First come the arrays, in slots for as many of each kind as there can be at a time; then the stacks,
each with as much room as the launch gives. Where that isn't enough, the row returns `SHORT`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from ...ir.instructions import Copy, NewArray, Pop, Product, Region, Room, blocks_of, every
from ...ir.types import BOOL, I64, ArrayType, Type, is_float
from ..scalars import NotNative
from .scalars import Lines, Term

MOST_SLOTS = 64  # arrays of one kind at a time: a bit of a word for each
MOST_WORDS = 2**15  # of a row's arrays
MOST_WORK = 2**26  # about how many instructions a row runs before it steps back
_BITS = 64

ARRAYS = """\
template <typename T> struct Array {
    T *at;
    i64 step;
    int slot;
    __device__ T &operator[](i64 place) const { return at[place * step]; }
};
"""
_ROW = """\
struct Row {
    i64 left, room, threads, *words;
    FIELDS
    __device__ i64 &word(i64 k) const { return words[k * threads]; }
    template <typename T>
    __device__ bool take(u64 &free, i64 start, i64 size, Array<T> &found) const {
        if (free == 0) return false;
        found.slot = __ffsll(free) - 1;
        found.at = (T *)&word(start + found.slot * size);
        found.step = threads * (sizeof(i64) / sizeof(T));
        free &= free - 1;
        return true;
    }
};
"""


class Stack(NamedTuple):
    """A stack of a row, in CUDA C: its number, and the variable with the number of its words in
    use."""

    number: str
    used: str

    @property
    def parameters(self) -> list[str]:
        """The parameters by which it is passed."""
        return [f"const i64 {self.number}", f"i64 &{self.used}"]


def type_of(kind: Type) -> str:
    """A type of the IR as CUDA C has it. Raises NotNative."""
    if isinstance(kind, ArrayType):
        return f"Array<{type_of(kind.element)}>"
    if str(kind) not in ("f64", "f32", "i64", "bool"):
        raise NotNative(f"{kind} has no machine code here")
    return str(kind)


class Memory:
    """The layout of the memory of a row.

    words   of the arrays of a row
    stacks  the number of stacks
    """

    def __init__(self, regions: Iterable[Region]) -> None:
        """Raises NotNative where rows would need too much memory."""
        kinds: Counter[ArrayType] = Counter()
        owns = False
        for region in regions:
            for made in every(region.block):
                owns = owns or isinstance(made, NewArray | Room | Copy | Product | Pop)
                inner = [value for block in blocks_of(made) for value in block.parameters]
                for value in (*made.results, *inner):
                    if isinstance(value.type, ArrayType):
                        kinds[value.type] += 1
        self._slots = {kind: min(n, MOST_SLOTS) for kind, n in kinds.items() if owns}
        sizes = [kind.size * n for kind, n in self._slots.items()]
        *starts, self.words = accumulate(sizes, initial=0)
        self._starts = dict(zip(self._slots, starts, strict=True))
        self._numbers = {kind: k for k, kind in enumerate(self._slots)}
        self.stacks = 0
        if self.words > MOST_WORDS:
            raise NotNative("a row's arrays take too much memory")

    def row(self) -> str:
        """The struct that a thread has."""
        fields = [f"u64 free{k};" for k in self._numbers.values()]
        fields += [f"i64 used{k};" for k in range(self.stacks)]
        return _ROW.replace("FIELDS", " ".join(fields))

    def initial(self) -> str:
        """The initial values of such a struct. The room, the threads and the words have names."""
        free = [f"{2**n - 1}ULL" for n in self._slots.values()]
        used = ["0"] * self.stacks
        return ", ".join([f"{MOST_WORK}LL", "room", "threads", "words", *free, *used])

    # ---- arrays ----------------------------------------------------------------------------------

    def take(self, lines: Lines, kind: ArrayType) -> str:
        """Emits a new array, without values yet; returns its name."""
        name = lines.name()
        lines.add(f"{type_of(kind)} {name};")
        place = f"row.free{self._numbers[kind]}, {self._starts[kind]}, {kind.size}"
        lines.add(f"if (!row.take({place}, {name})) return BACK;")
        lines.add(f"row.left -= {kind.size};")
        return name

    def free(self, lines: Lines, kind: ArrayType, name: str) -> None:
        lines.add(f"row.free{self._numbers[kind]} |= 1ULL << {name}.slot;")

    # ---- stacks ----------------------------------------------------------------------------------

    def new_stack(self) -> Stack:
        """Another stack."""
        self.stacks += 1
        return Stack(f"{self.stacks - 1}", f"row.used{self.stacks - 1}")

    def _word(self, stack: Stack, k: int | str) -> str:
        """The place of word `k` from the end of a stack."""
        start = f"{self.words} + " if self.words else ""
        start += f"{stack.number} * row.room + " if stack.number != "0" else ""
        return f"row.word({start}{stack.used} + {k})"

    def push(self, lines: Lines, stack: Stack, entry: Sequence[Term]) -> None:
        """Emits a push of an entry: a word for each number, one for the bools, as its bits, and the
        words of the elements of arrays."""
        numbers, bools, arrays = _parts(entry)
        words = [_word_of(term.text, term.kind) for term in numbers]
        for some in bools:
            words.append(" | ".join([f"(i64){t.text} << {k}" for k, t in enumerate(some)]))
        if words:
            lines.add(f"if ({stack.used} + {len(words)} > row.room) return SHORT;")
        for k, word in enumerate(words):
            lines.add(f"{self._word(stack, k)} = {word};")
        lines.add(f"{stack.used} += {len(words)};")
        for name, kind in arrays:
            lines.add(f"if ({stack.used} + {kind.size} > row.room) return SHORT;")
            word = _word_of(f"{name}[k]", kind.element)
            lines.add(f"for (i64 k = 0; k < {kind.size}; k++) {self._word(stack, 'k')} = {word};")
            lines.add(f"{stack.used} += {kind.size};")

    def pop(self, lines: Lines, stack: Stack, entry: Sequence[Term]) -> None:
        """Emits a pop of an entry, whose names are new."""
        numbers, bools, arrays = _parts(entry)
        for name, kind in reversed(arrays):
            lines.add(f"{stack.used} -= {kind.size};")
            lines.add(f"const {type_of(kind)} {name} = {self.take(lines, kind)};")
            word = _of_word(self._word(stack, "k"), kind.element)
            lines.add(f"for (i64 k = 0; k < {kind.size}; k++) {name}[k] = {word};")
        lines.add(f"{stack.used} -= {len(numbers) + len(bools)};")
        for k, term in enumerate(numbers):
            value = _of_word(self._word(stack, k), term.kind)
            lines.add(f"const {term.kind} {term.text} = {value};")
        for j, some in enumerate(bools):
            bits = lines.defined(self._word(stack, len(numbers) + j), I64)
            for k, term in enumerate(some):
                lines.add(f"const bool {term.text} = {bits.text} >> {k} & 1;")


def _word_of(number: str, kind: Type) -> str:
    return f"__double_as_longlong({number})" if is_float(kind) else number


def _of_word(word: str, kind: Type) -> str:
    return f"({kind})__longlong_as_double({word})" if is_float(kind) else word


def _parts(
    entry: Sequence[Term],
) -> tuple[list[Term], list[list[Term]], list[tuple[str, ArrayType]]]:
    """The numbers of an entry, its bools in groups that fit into a word, and its arrays."""
    arrays = [(t.text, t.kind) for t in entry if isinstance(t.kind, ArrayType)]
    bools = [term for term in entry if term.kind == BOOL]
    groups = [bools[k : k + _BITS] for k in range(0, len(bools), _BITS)]
    numbers = [t for t in entry if t.kind != BOOL and not isinstance(t.kind, ArrayType)]
    return numbers, groups, arrays
